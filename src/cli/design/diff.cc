// weft diff.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"
#include "check/core/match.h"
#include "cli/design/diff_clusters.h"
#include "cli/design/render_jobs.h"
#include "cli/framework/context.h"
#include "render/core/manifest.h"
#include "render/core/rollout.h"
#include "render/core/target.h"
#include "render/switches/system.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownPerFile = 20;  // in a table; machine formats have all
constexpr std::size_t kShownValue = 60;
constexpr std::size_t kShownAround = 20;  // characters before and after what differs in a longer value
constexpr std::string_view kDots = "...";

// Source of the old text of each rendered file.
struct Against {
  std::string folder;                         // of a rendered tree, or of files laid out like one
  std::map<std::string, std::string> device;  // running config of a device: device name to path
  std::set<std::string> named;                // devices given as DEVICE=FILE
  std::optional<render::Manifest> manifest;
};

bool is_switch_target(std::string_view target) {
  return target == "sonic" || target == "nvue" || target == "nxos" || target == "eos";
}

// Compares each file as it is rendered and keeps only what differs.
class DiffSink : public render::FileSink {
 public:
  DiffSink(const Against& against, std::vector<render::ChangedFile>& changed) : against_(against), changed_(changed) {}

  void begin(std::string_view target) { target_ = target; }
  void add(render::RenderedFile file) override {
    seen_.insert(file.path);
    const auto running = against_.device.find(file.device);
    const bool is_running = running != against_.device.end() && is_switch_target(target_);
    if (!is_running && against_.folder.empty()) return;  // nothing to compare with
    compared_ = true;
    if (is_running) compared_devices_.insert(file.device);
    const Result<std::string> old =
        read_file(is_running ? running->second : against_.folder + "/" + file.path, 1U << 30U);
    if (old.ok() && *old == file.content) return;
    note(file, old, is_running);
  }
  void note(std::string /*text*/) override {}

  [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }
  [[nodiscard]] bool has_compared() const { return compared_; }
  [[nodiscard]] bool has_compared(const std::string& device) const { return compared_devices_.contains(device); }

 private:
  void note(const render::RenderedFile& file, const Result<std::string>& old, bool running) {
    render::ChangedFile changed;
    changed.stage = file.stage;
    render::FileChanges& changes = changed.changes;
    changes.path = file.path;
    changes.target = target_;
    changes.device = file.device;
    changes.apply = file.apply;
    changes.kind = old.ok() ? render::ChangeKind::changed : render::ChangeKind::added;
    if (old.ok()) {
      changes.changes = render::compare_texts(target_, file.path, *old, file.content, file.risk, {.running = running});
      if (changes.changes.empty()) return;  // only layout differs
      for (const render::Change& change : changes.changes) changes.risk = std::max(changes.risk, change.risk);
    } else {
      changes.risk = file.risk;
    }
    changed_.push_back(std::move(changed));
  }

  const Against& against_;
  std::vector<render::ChangedFile>& changed_;
  std::set<std::string> seen_;
  std::set<std::string> compared_devices_;
  std::string target_;
  bool compared_ = false;
};

void note_removed(const render::Manifest& manifest, const std::set<std::string>& seen,
                  const std::vector<std::string>& targets, std::vector<render::ChangedFile>& changed) {
  for (const render::ManifestEntry& entry : manifest.files) {
    const bool rendered = std::find(targets.begin(), targets.end(), entry.target) != targets.end();
    if (!rendered || seen.contains(entry.path)) continue;
    render::ChangedFile file;
    file.stage = entry.stage;
    file.changes.path = entry.path;
    file.changes.target = entry.target;
    file.changes.device = entry.device;
    file.changes.kind = render::ChangeKind::removed;
    file.changes.risk = entry.risk;
    changed.push_back(std::move(file));
  }
}

// A path is a rendered tree, a folder with the same layout, or running configs; DEVICE=FILE is always a running config.
bool read_against(Context& context, const model::Loaded& loaded, const std::string& argument, Against& against) {
  const std::size_t equals = argument.find('=');
  if (equals != std::string::npos &&
      loaded.cluster->find_device(argument.substr(0, equals)) != model::kNone<model::DeviceId>) {
    against.device[argument.substr(0, equals)] = argument.substr(equals + 1);
    against.named.insert(argument.substr(0, equals));
    return true;
  }
  std::error_code failed;
  if (!fs::exists(argument, failed)) {
    context.failed(Error{ErrorCode::not_found, "no such file or folder", argument});
    return false;
  }
  const std::string manifest_path = argument + "/" + std::string(render::kManifestName);
  if (fs::exists(manifest_path, failed)) {
    const Result<std::string> text = read_file(manifest_path, 1U << 30U);
    if (!text.ok()) {
      context.failed(text.error());
      return false;
    }
    Result<render::Manifest> manifest = render::read_manifest(*text, manifest_path);
    if (!manifest.ok()) {
      context.failed(manifest.error());
      return false;
    }
    against.manifest = std::move(*manifest);
    against.folder = argument;
    return true;
  }
  // A running config is recognized by its content, a switch by its host name.
  Sources sources;
  Diagnostics diagnostics;
  config::ConfigSet set;
  config::read_config(argument, sources, set, diagnostics);
  for (const config::SwitchConfig& one : set.switches) {
    for (const model::DeviceId device : check::devices_of(*loaded.cluster, set, one)) {
      against.device[loaded.cluster->name_of(device)] = set.file(one.file)->path;
    }
  }
  if (fs::is_directory(argument, failed)) {
    if (against.device.empty()) against.folder = argument;
    return true;
  }
  if (!against.device.empty()) return true;
  context.failed(Error{ErrorCode::invalid_input,
                       "does not match a device of this cluster; give DEVICE=FILE to name the device", argument});
  return false;
}

// A device without rendered files was not compared, which is not the same as no difference.
bool check_compared(Context& context, const model::Cluster& cluster, const Against& against, const DiffSink& sink,
                    const std::vector<render::ChangedFile>& changed) {
  const std::vector<std::string>& targets = context.arguments().values("target");
  const std::string by = targets.empty() ? std::string() : fmt::format(" by target {}", fmt::join(targets, ", "));
  for (const std::string& device : against.named) {
    if (sink.has_compared(device)) continue;
    const std::string_view system = render::system_of(cluster, cluster.find_device(device));
    const std::string runs = system.empty() ? std::string("not a switch") : fmt::format("it runs {}", system);
    context.failed(Error{ErrorCode::invalid_input,
                         fmt::format("no configuration is rendered{} to compare with ({})", by, runs), device});
    return false;
  }
  if (sink.has_compared() || !changed.empty()) return true;
  context.failed(Error{ErrorCode::invalid_input, fmt::format("nothing is rendered{} to compare with", by), {}});
  return false;
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }  // of a code point in UTF-8

// The text from `first` to `last`, with dots where more is left out than they take.
std::string cut(const std::string& text, std::size_t first, std::size_t last) {
  if (first <= kDots.size()) first = 0;
  if (last + kDots.size() >= text.size()) last = text.size();
  while (first > 0 && is_continuation(text[first])) --first;
  while (last < text.size() && is_continuation(text[last])) ++last;
  return fmt::format("{}{}{}", first > 0 ? kDots : "", text.substr(first, last - first),
                     last < text.size() ? kDots : "");
}

// Long values are cut around what differs, which is always shown.
std::pair<std::string, std::string> shorten_pair(const std::string& before, const std::string& after) {
  if (before.size() <= kShownValue && after.size() <= kShownValue) return {before, after};
  const std::size_t shorter = std::min(before.size(), after.size());
  const auto same = static_cast<std::size_t>(
      std::mismatch(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(shorter), after.begin()).first -
      before.begin());
  const auto same_end = static_cast<std::size_t>(
      std::mismatch(before.rbegin(), before.rbegin() + static_cast<std::ptrdiff_t>(shorter - same), after.rbegin())
          .first -
      before.rbegin());
  const std::size_t first = same > kShownAround ? same - kShownAround : 0;
  const auto shorten = [&](const std::string& text) {
    return cut(text, std::min(first, text.size()),
               std::max(text.size() - same_end + kShownAround, first + kShownValue));
  };
  return {shorten(before), shorten(after)};
}

std::string subject_of(const render::FileChanges& file) { return file.device.empty() ? file.target : file.device; }

// Where each change is. A line that was edited is a removed and an added one, whose text is all there is.
std::vector<std::string> shorten_places(const std::vector<render::Change>& changes) {
  using render::ChangeKind;
  const auto is_line = [](const render::Change& change) { return change.before.empty() && change.after.empty(); };
  std::vector<std::string> places;
  places.reserve(changes.size());
  for (const render::Change& change : changes) places.push_back(change.where);
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    const render::Change& one = changes[i];
    const render::Change& next = changes[i + 1];
    const bool edited = (one.kind == ChangeKind::removed && next.kind == ChangeKind::added) ||
                        (one.kind == ChangeKind::added && next.kind == ChangeKind::removed);
    if (!edited || !is_line(one) || !is_line(next)) continue;
    std::tie(places[i], places[i + 1]) = shorten_pair(one.where, next.where);
    ++i;
  }
  return places;
}

// `all`: every change of a file; `whole`: values in full.
TableSection changes_table(const std::vector<render::ChangedFile>& changed, bool all, bool whole) {
  TableSection table;
  table.key = "changes";
  table.title = "Changes";
  table.columns = {{.key = "device", .title = "Device"}, {.key = "file", .title = "File", .wide = true},
                   {.key = "change", .title = "Change"}, {.key = "where", .title = "Where"},
                   {.key = "before", .title = "Before"}, {.key = "after", .title = "After"},
                   {.key = "risk", .title = "Risk"},     {.key = "effect", .title = "Effect of applying it"}};
  for (const render::ChangedFile& file : changed) {
    const render::FileChanges& f = file.changes;
    if (f.kind != render::ChangeKind::changed) {
      table.rows.push_back({subject_of(f), f.path, render::to_text(f.kind), f.path, Cell(), Cell(),
                            render::to_text(f.risk),
                            f.kind == render::ChangeKind::added ? "new file" : "removed from the cluster"});
      continue;
    }
    const std::vector<std::string> places = shorten_places(f.changes);
    for (std::size_t i = 0; i < f.changes.size(); ++i) {
      if (!all && i == kShownPerFile) {
        table.rows.push_back({subject_of(f), f.path, "...",
                              fmt::format("{} more changes of {}", f.changes.size() - i, f.path), Cell(), Cell(),
                              render::to_text(f.risk), Cell()});
        break;
      }
      const render::Change& change = f.changes[i];
      auto [before, after] = whole ? std::pair(change.before, change.after) : shorten_pair(change.before, change.after);
      table.rows.push_back({subject_of(f), f.path, render::to_text(change.kind), whole ? change.where : places[i],
                            std::move(before), std::move(after), render::to_text(change.risk), change.effect});
    }
  }
  return table;
}

TableSection steps_table(const std::vector<render::RolloutStep>& steps) {
  TableSection table;
  table.key = "steps";
  table.title = "Safe order";
  table.columns = {{.key = "step", .title = "Step", .align = Column::Align::right},
                   {.key = "stage", .title = "Stage"},
                   {.key = "subject", .title = "Device"},
                   {.key = "changes", .title = "Changes", .align = Column::Align::right},
                   {.key = "risk", .title = "Risk"},
                   {.key = "before", .title = "Before"},
                   {.key = "apply", .title = "Apply"},
                   {.key = "after", .title = "After"}};
  for (const render::RolloutStep& step : steps) {
    table.rows.push_back({std::int64_t{step.number}, render::to_text(step.stage), step.subject,
                          static_cast<std::int64_t>(step.changes), render::to_text(step.risk), join(step.before, "; "),
                          join(step.apply, "; "), join(step.after, "; ")});
  }
  return table;
}

Exit run_diff(Context& context) {
  const Arguments& arguments = context.arguments();
  const std::vector<std::string>& words = arguments.words();
  if (words.size() > 1 && is_cluster_file(words[1])) {
    if (words.size() == 2) return run_diff_clusters(context, words[0], words[1]);
    return context.usage_error("two cluster files are compared at a time", {usage_of(context.command())});
  }
  render::RenderOptions options;
  std::vector<const render::RenderTarget*> targets;
  if (!read_render_options(context, options) || !chosen_targets(context, targets)) return Exit::usage;
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(arguments.word(0));
  std::vector<model::JobSpec> jobs;
  const bool readable = loaded->cluster != nullptr && read_jobs(context, *loaded, jobs);
  if (!context.report(*loaded) || !readable) return Exit::usage;
  Against against;
  for (std::size_t i = 1; i < arguments.words().size(); ++i) {
    if (!read_against(context, *loaded, arguments.word(i), against)) return Exit::usage;
  }

  const render::RenderPlan plan(*loaded->cluster);
  const render::RenderInput input{*loaded->cluster, plan, options, jobs};
  if (!check_named_targets(context, input, against.manifest ? against.manifest->targets : std::vector<std::string>{}))
    return Exit::usage;
  std::vector<render::ChangedFile> changed;
  DiffSink sink(against, changed);
  std::vector<std::string> rendered;
  for (const render::RenderTarget* target : targets) {
    // A partially rendered tree is compared in part.
    const bool in_tree = !against.manifest || !arguments.values("target").empty() ||
                         std::find(against.manifest->targets.begin(), against.manifest->targets.end(), target->name) !=
                             against.manifest->targets.end();
    if (!in_tree || !target->applies(input)) continue;
    context.detail(fmt::format("comparing {}", target->name));
    rendered.emplace_back(target->name);
    sink.begin(target->name);
    target->render(input, sink);
  }
  if (against.manifest) {
    // The files of a target that no longer applies are removed.
    for (const std::string& name : against.manifest->targets) {
      const bool chosen =
          arguments.values("target").empty() ||
          std::any_of(targets.begin(), targets.end(), [&](const render::RenderTarget* t) { return t->name == name; });
      if (chosen) rendered.push_back(name);
    }
    note_removed(*against.manifest, sink.seen(), rendered, changed);
  }

  if (!check_compared(context, *loaded->cluster, against, sink, changed)) return Exit::usage;
  const std::vector<render::RolloutStep> steps = render::plan_rollout(plan, changed);
  std::stable_sort(changed.begin(), changed.end(), [](const render::ChangedFile& a, const render::ChangedFile& b) {
    return subject_of(a.changes) < subject_of(b.changes);
  });
  const OutputFormat format = context.output_format();
  const bool all = arguments.has("all") || (format != OutputFormat::table && format != OutputFormat::wide);
  Document document;
  document.kind = "diff";
  if (!changed.empty()) {
    document.sections.emplace_back(changes_table(changed, all, all || format == OutputFormat::wide));
    document.sections.emplace_back(steps_table(steps));
  }
  std::size_t risky = 0;
  for (const render::RolloutStep& step : steps) risky += step.risk == render::Risk::traffic ? 1U : 0U;
  document.notes.push_back(changed.empty()
                               ? "No difference."
                               : fmt::format("{} changed; {}, {} of which affect traffic.",
                                             plural(changed.size(), "file"), plural(steps.size(), "step"), risky));
  return context.deliver(document, changed.empty() ? Exit::ok : Exit::findings);
}

}  // namespace

Command diff_command() {
  Command command;
  command.name = "diff";
  command.summary = "Show what re-rendering or another cluster file changes";
  command.usage = "CLUSTER AGAINST... [--target NAME]... [OPTIONS]";
  command.description = {
      "Renders the cluster in memory and compares it, by meaning rather than layout, with a tree written by `weft "
      "render`, with a folder of configuration files, or with running configs (matched by host name, or DEVICE=FILE). "
      "Of a running config only the tables and sections that weft writes are compared.",
      "Each change shows its effect on traffic. The safe order at the end starts with the out-of-band network, "
      "continues with one switch at a time (drain before, check after), and ends with the services on top.",
      "If AGAINST is another cluster file (a file with the key `weft`), the two files are compared by meaning, CLUSTER "
      "before and AGAINST after: settings with their locations, then what they change for devices, ports, cables, "
      "addresses, subnets, racks, power and the bill of materials. Addresses of existing devices that change come "
      "first. Comments, the order of keys and layout are no differences.",
      "Exit code 0 if there is no difference, 1 if there is one, 2 if a file has errors or nothing was compared: a "
      "target named with --target renders nothing for the cluster, or no target renders a configuration for DEVICE."};
  command.examples = {
      {"weft diff cluster.yaml out/", "Compare with an earlier render"},
      {"weft diff cluster.yaml running/ --target sonic", "Compare with running configs fetched from switches"},
      {"weft diff cluster.yaml be-spine001=config_db.json", "Compare with one switch"},
      {"weft diff cluster.yaml planned.yaml", "What a change of the cluster file means"},
  };
  command.arguments = {cluster_argument(),
                       {.name = "AGAINST",
                        .help = "a rendered tree, a folder, DEVICE=FILE, or another cluster file",
                        .hint = Hint::file,
                        .repeatable = true}};
  command.options = {
      {.name = "target",
       .letter = 't',
       .value = "NAME",
       .help = "compare only this target, or a group such as kubernetes",
       .repeatable = true},
      {.name = "job",
       .letter = 'j',
       .value = "FILE",
       .help = "job file that was rendered as well",
       .hint = Hint::file,
       .repeatable = true},
      {.name = "set",
       .value = "KEY=VALUE",
       .help = "a setting that the cluster file does not have; see `weft render --list`",
       .repeatable = true},
      {.name = "all", .help = "show all rows, not just the first 20 of each file or table"},
      output_option(),
      file_option(),
      catalog_option(),
  };
  command.run = run_diff;
  return command;
}

}  // namespace weft::cli

// RN: a tree written by `weft render`, compared with the current cluster file. Detects what other rules do not: manual
// edits, missing files, a tree older than the design.
#include <fmt/format.h>

#include <algorithm>

#include "check/core/rule.h"
#include "render/core/compare.h"
#include "render/core/manifest.h"
#include "render/core/target.h"

namespace weft::check {
namespace {

constexpr std::size_t kShownChanges = 3;

std::string describe_change(const render::Change& change) {
  const bool with_value = !change.before.empty() || !change.after.empty();
  switch (change.kind) {
    case render::ChangeKind::added:
      return with_value ? fmt::format("`{}: {}` is missing", change.where, change.after)
                        : fmt::format("`{}` is missing", change.where);
    case render::ChangeKind::removed:
      return fmt::format("`{}` is not part of the design", change.where);
    case render::ChangeKind::changed:
      return fmt::format("`{}` is `{}`, the design has `{}`", change.where, change.before, change.after);
  }
  return {};
}

// Re-renders file by file and reports the differences.
class DriftSink : public render::FileSink {
 public:
  DriftSink(const CheckInput& input, const config::ConfigSet::Tree& tree, Report& report)
      : input_(input), tree_(tree), report_(report) {}

  void begin(std::string_view target) { target_ = target; }
  void add(render::RenderedFile file) override {
    const auto found = tree_.files.find(file.path);
    if (found == tree_.files.end()) {
      report_.add(subject(file), {tree_.manifest, 0, 0},
                  fmt::format("{}{} is missing: {} cannot be configured", tree_.folder, file.path, file.consumer));
      return;
    }
    const std::string_view old = input_.sources().text(found->second);
    if (old == file.content) return;
    std::vector<render::Change> changes = render::compare_texts(target_, file.path, old, file.content, file.risk);
    if (!changes.empty()) report_changes(file, found->second, std::move(changes));
  }
  void note(std::string /*text*/) override {}

 private:
  static std::string subject(const render::RenderedFile& file) { return file.device.empty() ? file.path : file.device; }
  void report_changes(const render::RenderedFile& file, FileId id, std::vector<render::Change> changes) {
    std::string message;
    for (std::size_t i = 0; i < std::min(changes.size(), kShownChanges); ++i) {
      message += (i > 0 ? "; " : "") + describe_change(changes[i]);
    }
    if (changes.size() > kShownChanges) message += fmt::format("; and {} more", changes.size() - kShownChanges);
    report_.add(subject(file), {id, 1, std::max(1U, changes.front().line)}, std::move(message));
  }

  const CheckInput& input_;
  const config::ConfigSet::Tree& tree_;
  Report& report_;
  std::string_view target_;
};

std::vector<model::JobSpec> jobs_of(const CheckInput& input, const config::ConfigSet::Tree& tree) {
  std::vector<model::JobSpec> jobs;
  for (const auto& [path, file] : tree.files) {
    if (!path.starts_with("jobs/")) continue;
    Diagnostics ignored;  // an unreadable job shows up as files that are not rendered
    const auto root = parse_yaml(input.sources(), file, ignored);
    auto job = root ? model::read_job(*root, ignored) : std::nullopt;
    if (!job) continue;
    model::resolve(*job, input.cluster(), ignored);
    if (!ignored.has_errors()) jobs.push_back(std::move(*job));
  }
  return jobs;
}

Result<render::Manifest> manifest_of(const CheckInput& input, const config::ConfigSet::Tree& tree) {
  return render::read_manifest(input.sources().text(tree.manifest), input.sources().path(tree.manifest));
}

void check_rendered_drift(const CheckInput& input, Report& report) {
  if (input.config().trees.empty()) return;
  const render::RenderPlan plan(input.cluster());
  for (const config::ConfigSet::Tree& tree : input.config().trees) {
    const Result<render::Manifest> manifest = manifest_of(input, tree);
    if (!manifest.ok()) continue;
    render::RenderOptions options;
    for (const std::string& one : manifest->options) (void)options.set(one).ok();
    const std::vector<model::JobSpec> jobs = jobs_of(input, tree);
    const render::RenderInput render{input.cluster(), plan, options, jobs};
    DriftSink sink(input, tree, report);
    for (const render::RenderTarget& target : render::all_targets()) {
      const auto& targets = manifest->targets;
      if (std::find(targets.begin(), targets.end(), target.name) == targets.end() || !target.applies(render)) continue;
      sink.begin(target.name);
      target.render(render, sink);
    }
  }
}

void check_rendered_completeness(const CheckInput& input, Report& report) {
  for (const config::ConfigSet::Tree& tree : input.config().trees) {
    const Result<render::Manifest> manifest = manifest_of(input, tree);
    if (!manifest.ok()) {
      report.add(tree.folder, {tree.manifest, 0, 0}, manifest.error().message);
      continue;
    }
    std::size_t missing = 0;
    std::string first;
    for (const render::ManifestEntry& entry : manifest->files) {
      if (tree.files.contains(entry.path)) continue;
      if (missing++ == 0) first = entry.path;
    }
    if (missing == 0) continue;
    report.add(tree.folder, {tree.manifest, 0, 0},
               fmt::format("{} {} of the manifest {} missing, {} first", missing, missing == 1 ? "file" : "files",
                           missing == 1 ? "is" : "are", first));
  }
}

}  // namespace

std::vector<Rule> rendered_rules() {
  return {
      {.id = "RN001",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a rendered file differs from the cluster file",
       .reason = "The file was edited manually, or the cluster file has changed since. Re-rendering reverts the first, "
                 "and devices do not have the second yet.",
       .source = "configuration drift: desired compared with actual state",
       .fix = "add the change to the cluster file, or re-render",
       .example = {.file = "rendered/haproxy/haproxy.cfg", .from = "balance leastconn", .to = "balance roundrobin"},
       .run = check_rendered_drift},
      {.id = "RN002",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a rendered tree is incomplete",
       .reason = "Files that refer to a missing one fail when they are applied.",
       .source = "weft render: a tree is written completely or not at all",
       .fix = "re-render",
       .example = {.file = "rendered/manifest.json",
                   .from = "\"path\": \"haproxy/haproxy.cfg\"",
                   .to = "\"path\": \"haproxy/other.cfg\""},
       .run = check_rendered_completeness},
  };
}

}  // namespace weft::check

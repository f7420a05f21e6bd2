#include "cli/framework/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/diagnostic.h"
#include "base/file.h"
#include "base/utf8.h"
#include "base/wildcard.h"
#include "check/core/match.h"
#include "cli/framework/suggestions.h"
#include "cli/framework/terminal.h"
#include "design/checklist.h"

namespace weft::cli {
namespace {

// The model does not check the names of checklist items; without this check a misspelled one would have no effect.
void check_checklist_ids(model::Loaded& loaded) {
  if (!loaded.spec.has_value()) return;
  const std::vector<std::string_view> known = design::checklist_ids();
  for (const auto& [id, state] : loaded.spec->checklist.value) {
    if (std::find(known.begin(), known.end(), id) != known.end()) continue;
    loaded.diagnostics.error(state.place, "unknown checklist item " + in_backticks(id), did_you_mean(id, known),
                             id.size());
  }
}

Diagnostics errors_of(const Diagnostics& diagnostics) {
  Diagnostics errors;
  for (Diagnostic& diagnostic : diagnostics.sorted()) {
    if (diagnostic.severity == Severity::error) errors.add(std::move(diagnostic));
  }
  return errors;
}

// Whether the command can print the format that the configuration file asks for: one that follows events cannot print
// YAML.
bool takes_format(const Command& command, const std::string& format) {
  const Option* output = find_option(command, "output");
  if (output == nullptr || output->choices.empty()) return true;
  const std::vector<std::string> names = names_of(output->choices);
  return std::find(names.begin(), names.end(), format) != names.end();
}

bool is_machine_format(OutputFormat format) { return format != OutputFormat::table && format != OutputFormat::wide; }

}  // namespace

Exit exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input:
    case ErrorCode::not_found:
      return Exit::usage;
    case ErrorCode::conflict:
    case ErrorCode::refused:
      return Exit::refused;
    case ErrorCode::unavailable:
    case ErrorCode::timeout:
    case ErrorCode::internal:
      break;
  }
  return Exit::unavailable;
}

Context::Context(Io& io, const Command& command, const Arguments& arguments, UserDefaults defaults)
    : io_(io), command_(command), arguments_(arguments), defaults_(std::move(defaults)) {
  quiet_ = arguments.has("quiet");
  verbose_ = arguments.has("verbose") && !quiet_;
}

Exit Context::usage_error(std::string_view problem, const std::vector<std::string>& hints) {
  std::string text = fmt::format("weft {}: {}\n", command_.name, problem);
  for (const std::string& hint : hints) {
    if (!hint.empty()) text += fmt::format("  {}\n", hint);
  }
  io_.write_err(text);
  return Exit::usage;
}

Exit Context::failed(const Error& error) {
  std::string text = "weft: " + error.text();
  if (!text.ends_with('\n')) text += '\n';  // some carry rendered diagnostics
  io_.write_err(text + explain_unreadable(error));
  return exit_code_of(error.code);
}

void Context::note(std::string_view text) {
  if (!quiet_) io_.write_err(fmt::format("weft: {}\n", text));
}

void Context::detail(std::string_view text) {
  if (verbose_) note(text);
}

Exit Context::deliver(std::string_view text, Exit outcome) {
  if (!to_file()) {
    const Status written = print(text);
    if (!written.ok()) return failed(written.error());
    return outcome;
  }
  const std::string path = arguments_.value("file");
  const std::vector<std::string>& inputs = arguments_.words();
  const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const std::string& input) {
    std::error_code failed;
    return std::filesystem::equivalent(path, input, failed);
  });
  if (is_input) return failed({ErrorCode::refused, "is also read by this command: write to another file", path});
  const Status written = write_file(path, text);
  if (!written.ok()) {
    Error error = written.error();
    if (error.code == ErrorCode::refused) error.code = ErrorCode::unavailable;  // refused by the system, not by weft
    return failed(error);
  }
  detail(fmt::format("wrote {}, {} bytes", path, text.size()));
  return outcome;
}

Exit Context::deliver(const Document& document, Exit outcome) { return deliver(rendered(document), outcome); }

std::string Context::rendered(const Document& document) const {
  OutputStyle style;
  style.format = output_format();
  style.color = !is_machine_format(style.format) && colors_result();
  style.width = result_width();
  return write(document, style);
}

bool Context::to_file() const {
  if (find_option(command_, "file") == nullptr) return false;
  const std::string path = arguments_.value("file");
  return !path.empty() && path != "-";
}

// A view that is drawn again and again (--watch) needs the screen, not a pager.
Status Context::print(std::string_view text) {
  const bool repeated = find_option(command_, "watch") != nullptr && arguments_.has("watch");
  if (repeated || arguments_.has("no-pager")) return io_.write_out(text);
  return write_paged(io_, text, pager_of(io_, defaults_.pager.value));
}

std::string Context::default_cluster() {
  use_default_cluster(find_default_cluster(io_, defaults_));
  return default_cluster_.path;
}

// Which cluster file an action is about must be seen before it happens.
void Context::use_default_cluster(DefaultCluster cluster) {
  default_cluster_ = std::move(cluster);
  if (default_cluster_.path.empty()) return;
  const std::string text =
      fmt::format("cluster file {} ({})", printable(default_cluster_.path), default_cluster_.origin);
  if (find_option(command_, "yes") != nullptr) {
    note(text);
  } else {
    detail(text);
  }
}

Exit Context::missing_cluster(const std::string& usage) {
  return usage_error("missing CLUSTER", {usage, std::string(kClusterHint)});
}

bool Context::colors_result() const { return colored(io_.out_is_terminal && !to_file()); }

std::size_t Context::result_width() const { return to_file() ? 0 : output_width(io_); }

OutputFormat Context::output_format() const {
  std::string name = arguments_.value("output");
  if (name.empty() && takes_format(command_, defaults_.output.value)) name = defaults_.output.value;
  if (name == "wide") return OutputFormat::wide;
  if (name == "json") return OutputFormat::json;
  if (name == "yaml") return OutputFormat::yaml;
  if (name == "ndjson") return OutputFormat::ndjson;
  if (name == "csv") return OutputFormat::csv;
  return OutputFormat::table;
}

std::unique_ptr<model::Loaded> Context::open_catalog() const {
  return model::load_catalog(arguments_.values("catalog"));
}

std::unique_ptr<model::Loaded> Context::open_cluster(const std::string& path) const {
  const auto start = std::chrono::steady_clock::now();
  std::unique_ptr<model::Loaded> loaded = model::load_cluster(path, arguments_.values("catalog"));
  check_checklist_ids(*loaded);
  if (verbose_ && loaded->cluster != nullptr) {
    const auto spent = std::chrono::steady_clock::now() - start;
    const model::Cluster& cluster = *loaded->cluster;
    io_.write_err(fmt::format("weft: {}: {} devices, {} ports, {} links, compiled in {} ms\n", path,
                              cluster.devices().size(), cluster.ports().size(), cluster.cables().size(),
                              std::chrono::duration_cast<std::chrono::milliseconds>(spent).count()));
  }
  return loaded;
}

void Context::note_problems(const Diagnostics& problems, const Sources& sources) {
  if (quiet_ || problems.error_count() + problems.warning_count() == 0) return;
  io_.write_err(render_all(problems, sources, colored(io_.err_is_terminal)));
}

void read_configs(const std::vector<std::string>& paths, model::Loaded& loaded, config::ConfigSet& config) {
  Diagnostics found;
  for (const std::string& path : paths) config::read_config(path, loaded.sources, config, found);
  for (const config::ConfigSet::File& file : config.files) {
    if (file.applies_to.empty() || loaded.cluster == nullptr) continue;
    const std::span<const model::Device> devices = loaded.cluster->devices();
    const bool any = std::any_of(devices.begin(), devices.end(), [&](const model::Device& device) {
      const auto id = static_cast<model::DeviceId>(&device - devices.data());
      return wildcard_match(file.applies_to, loaded.cluster->name_of(id));
    });
    if (!any) {
      loaded.diagnostics.error({}, fmt::format("the cluster has no device {}", in_backticks(file.applies_to)),
                               "`weft show switches` and `weft show nodes` list them");
    }
  }
  for (Diagnostic& diagnostic : found.sorted()) {
    const bool about_a_line = diagnostic.place.known() && diagnostic.place.line > 0;
    (about_a_line ? config.problems : loaded.diagnostics).add(std::move(diagnostic));
  }
}

bool Context::report(const model::Loaded& loaded) {
  const Diagnostics& all = loaded.diagnostics;
  const Diagnostics shown = quiet_ ? errors_of(all) : all;
  if (shown.error_count() + shown.warning_count() > 0) {
    io_.write_err(render_all(shown, loaded.sources, colored(io_.err_is_terminal)));
  }
  if (loaded.read_error) (void)failed(*loaded.read_error);
  return !loaded.read_error && !all.has_errors();
}

// Who named the file, if not the command line, and which file may be meant.
std::string Context::explain_unreadable(const Error& error) const {
  if (error.where.empty() || !error.message.starts_with("cannot read")) return {};
  std::string text;
  if (error.where == default_cluster_.path && !default_cluster_.setting.empty())
    text += fmt::format("  the name comes from {}\n", default_cluster_.setting);
  if (const std::string hint = suggest_file(error.where); !hint.empty()) text += fmt::format("  {}\n", hint);
  return text;
}

bool Context::colored(bool is_terminal) const {
  std::string when = arguments_.value("color");
  if (when.empty()) when = defaults_.color.value;
  if (when == "always") return true;
  if (when == "never") return false;
  return is_terminal && io_.environment("NO_COLOR").empty() && io_.environment("TERM") != "dumb";
}

}  // namespace weft::cli

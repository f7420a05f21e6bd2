#include "cli/design/render_jobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"
#include "model/yaml_file.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMinConsumer = 3;  // letters of the name of a program

// A target or a group of a similar name, else the targets whose files a program of this name reads (`cumulus`: nvue).
std::string suggest_target(const std::string& name) {
  std::vector<std::string_view> known;
  for (const render::RenderTarget& target : render::all_targets()) {
    known.push_back(target.name);
    const std::string_view group = std::string_view(target.name).substr(0, target.name.find('/'));
    if (std::find(known.begin(), known.end(), group) == known.end()) known.push_back(group);
  }
  std::string hint = did_you_mean(name, known);
  if (!hint.empty() || name.size() < kMinConsumer) return hint;
  for (const render::RenderTarget& target : render::all_targets()) {
    if (to_lower(target.consumer).find(to_lower(name)) != std::string::npos)
      return fmt::format("{} reads the target `{}`", target.consumer, target.name);
  }
  return hint;
}

}  // namespace

bool read_render_options(Context& context, render::RenderOptions& options) {
  for (const std::string& assignment : context.arguments().values("set")) {
    const Status status = options.set(assignment);
    if (status.ok()) continue;
    context.failed(status.error());
    return false;
  }
  return true;
}

// All named targets, in the table's order; all targets if none was named.
bool chosen_targets(Context& context, std::vector<const render::RenderTarget*>& chosen) {
  const std::vector<std::string>& names = context.arguments().values("target");
  for (const std::string& name : names) {
    if (!render::find_targets(name).empty()) continue;
    context.usage_error("unknown target " + in_backticks(name),
                        {suggest_target(name), "run `weft render --list` for a list"});
    return false;
  }
  for (const render::RenderTarget& target : render::all_targets()) {
    const bool wanted = names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                          const auto found = render::find_targets(name);
                          return std::find(found.begin(), found.end(), &target) != found.end();
                        });
    if (wanted) chosen.push_back(&target);
  }
  return true;
}

bool check_named_targets(Context& context, const render::RenderInput& input, const std::vector<std::string>& rendered) {
  for (const std::string& name : context.arguments().values("target")) {
    const auto found = render::find_targets(name);
    const bool useful = std::any_of(found.begin(), found.end(), [&](const render::RenderTarget* target) {
      return target->applies(input) || std::find(rendered.begin(), rendered.end(), target->name) != rendered.end();
    });
    if (useful) continue;
    context.failed(
        Error{ErrorCode::invalid_input,
              fmt::format("target `{}` renders nothing for this cluster: nothing in it uses this target", name),
              {}});
    return false;
  }
  return true;
}

// Jobs in the order of the command line. False if one cannot be used; the reasons are in the diagnostics.
bool read_jobs(Context& context, model::Loaded& loaded, std::vector<model::JobSpec>& jobs) {
  for (const std::string& path : context.arguments().values("job")) {
    const Result<std::string> text = model::read_yaml_file(path);
    if (!text.ok()) {
      context.failed(text.error());
      return false;
    }
    const FileId file = loaded.sources.add(path, *text);
    const std::optional<YamlNode> root = parse_yaml(loaded.sources, file, loaded.diagnostics);
    if (!root) continue;
    std::optional<model::JobSpec> job = model::read_job(*root, loaded.diagnostics);
    if (!job) continue;
    model::resolve(*job, *loaded.cluster, loaded.diagnostics);
    jobs.push_back(std::move(*job));
  }
  return !loaded.diagnostics.has_errors();
}

}  // namespace weft::cli

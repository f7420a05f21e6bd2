// weft design: from a scale to a cluster file.
#include <fmt/format.h>

#include <algorithm>

#include "cli/design/design_request.h"
#include "cli/design/generated_file.h"
#include "cli/design/goal.h"
#include "cli/framework/context.h"
#include "design/designer.h"

namespace weft::cli {
namespace {

// Exactly one of --gpus, --servers and --power sets the size.
std::string check_scale(const Arguments& arguments) {
  const int given =
      (arguments.has("gpus") ? 1 : 0) + (arguments.has("servers") ? 1 : 0) + (arguments.has("power") ? 1 : 0);
  if (given == 0) return "the size is missing: give --gpus N, --servers N, --power POWER, or --goal GOAL";
  return given == 1 ? "" : "--gpus, --servers and --power are mutually exclusive";
}

// Language servers end the reference at a space.
bool is_reference(const std::string& schema) {
  return !schema.empty() && std::all_of(schema.begin(), schema.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Exit run_design(Context& context) {
  if (context.arguments().has("goal")) return run_goal(context);
  for (const Option& option : goal_options()) {
    if (!context.arguments().has(option.name)) continue;
    return context.usage_error(fmt::format("--{} applies to a search with --goal", option.name),
                               {"for example: weft design --goal \"train llama-3.1-70b on 2T tokens in 60 days\""});
  }
  if (const std::string problem = check_scale(context.arguments()); !problem.empty())
    return context.usage_error(problem, {"for example: weft design --gpus 256 -f cluster.yaml"});
  design::DesignRequest request;
  if (const Status read = read_design_options(context.command(), context.arguments(), request); !read.ok())
    return context.usage_error(read.error().text());
  const std::string schema =
      context.arguments().has("schema") ? context.arguments().value("schema") : std::string(kInstalledSchema);
  if (!is_reference(schema)) return context.usage_error("--schema: a path or URL without spaces, or none");
  const std::string path = context.arguments().value("file");
  if (const Status free = check_overwrite(path); !free.ok() && !context.arguments().has("force"))
    return context.failed(free.error());
  const std::unique_ptr<model::Loaded> loaded = context.open_catalog();
  if (!context.report(*loaded)) return Exit::usage;
  const Result<design::DesignAnswer> answer = design::design_cluster(request, loaded->catalog);
  if (!answer.ok()) return context.failed(answer.error());
  for (const std::string& note : answer->notes) context.note(note);
  return context.deliver(with_checksum(with_schema(answer->yaml, schema)));
}

std::vector<Option> scale_options() {
  return {
      {.name = "gpus", .value = "N", .help = "number of GPUs"},
      {.name = "servers", .value = "N", .help = "number of GPU servers"},
      {.name = "power", .value = "POWER", .help = "power budget, such as 800kW or 2MW: the largest cluster that fits"},
  };
}

Option schema_option() {
  return {
      .name = "schema",
      .value = "PATH|URL",
      .help =
          "where editors find the JSON Schema (see `weft help schema`): a path, absolute or relative to the file, a "
          "URL, or none for no such line",
      .fallback = std::string(kInstalledSchema)};
}

}  // namespace

Command design_command() {
  Command command;
  command.name = "design";
  command.summary = "Generate a cluster file for a size, or search one for a goal";
  command.usage = "--gpus N | --servers N | --power POWER | --goal GOAL [OPTIONS]";
  command.description = {
      "Sizes all four networks, storage, management and racks for the requested GPUs, and writes the cluster file to "
      "standard output. The decisions and their reasons are on standard error. Edit the file as needed, then view it "
      "with `weft show`.",
      "An existing file is overwritten only if it is as `weft design` wrote it, which the checksum in its last line "
      "shows. An edited file, or any other, is refused with exit code 4 unless --force is given.",
      "With --goal it searches the clusters that train a model in time: GPUs, sizes, networks, oversubscription, "
      "storage, "
      "spares and checkpoint intervals. Designs that could be the best are simulated with failures; printed are those "
      "that no other beats in days, power and cost. Options that set a choice (--gpu, --network, --oversubscription, "
      "--data) keep it fixed. Exit code 1: no design meets the goal."};
  command.examples = {
      {"weft design --gpus 256 -f cluster.yaml", "256 H100s on Ethernet"},
      {"weft design --servers 128 --network infiniband --name pod128 > pod128.yaml", "128 servers on InfiniBand"},
      {"weft design --power 2MW --gpu b200-sxm --inference 25",
       "As many B200s as 2 MW allows, a quarter for inference"},
      {"weft design --goal \"train llama-3.1-70b on 2T tokens in 60 days\" --max-power 2MW --page goal.html",
       "Designs that meet a goal, simulated with failures"},
  };
  command.options = scale_options();
  for (Option& option : design_choice_options()) command.options.push_back(std::move(option));
  for (Option& option : goal_options()) command.options.push_back(std::move(option));
  command.options.push_back(schema_option());
  command.options.push_back(catalog_option());
  command.options.push_back(file_option());
  command.options.push_back({.name = "force", .help = "overwrite the file even if it was edited, or is not from weft"});
  command.run = run_design;
  return command;
}

}  // namespace weft::cli

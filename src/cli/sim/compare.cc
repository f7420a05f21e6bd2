// weft sim compare: two simulated training jobs side by side.
#include "workload/life/compare.h"

#include <fmt/format.h>

#include "cli/sim/life_input.h"

namespace weft::cli {
namespace {

Exit run_compare(Context& context) {
  const std::vector<std::string>& words = context.arguments().words();
  if (words.size() != 3 && words.size() != 4) {
    return context.usage_error("give CLUSTER JOB CLUSTER JOB, or CLUSTER JOB JOB for two jobs on one cluster");
  }
  const std::string first_cluster = words[0];
  const std::string second_cluster = words.size() == 4 ? words[2] : words[0];
  const std::string second_job = words.back();
  std::vector<workload::LifeResult> lives;
  for (const auto& [cluster, job] : {std::pair(first_cluster, words[1]), std::pair(second_cluster, second_job)}) {
    LifeInput input;
    if (const auto exit = open_life(context, cluster, job, input)) return *exit;
    OptionReader reader(context.arguments());
    LifeRequest request;
    read_life_options(reader, *input.loaded->cluster, request);
    if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
    request.options.fidelity = request.fidelities.back();
    request.options.what_ifs = request.options.timeline = request.options.heat_maps = false;
    std::optional<workload::LifeResult> life = play_with_progress(context, input, request.options);
    if (!life) return Exit::usage;
    lives.push_back(std::move(*life));
  }
  const Exit delivered = context.deliver(workload::compare_document(lives[0], lives[1]));
  const bool both_run = lives[0].faults.restarts && lives[1].faults.restarts;
  return delivered == Exit::ok && !both_run ? Exit::partial : delivered;
}

}  // namespace

Command sim_compare_command() {
  Command command;
  command.name = "sim compare";
  command.summary = "Compare two jobs, or one job on two clusters, by simulation";
  command.usage = "CLUSTER JOB [CLUSTER] JOB [OPTIONS]";
  command.examples = {
      {"weft sim compare pod32.yaml small.yaml large.yaml", "Two jobs on one cluster"},
      {"weft sim compare one-to-one.yaml job.yaml two-to-one.yaml job.yaml", "One job on two clusters"}};
  command.arguments = {
      cluster_argument(),
      {.name = "JOB", .help = "job files, and the second cluster", .hint = Hint::file, .repeatable = true}};
  command.options = life_run_options();
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_compare;
  return command;
}

}  // namespace weft::cli

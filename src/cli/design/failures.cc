// weft failures: the impact of each failure, and the resiliency matrix.
#include "check/failures/failure_analysis.h"
#include "cli/framework/context.h"
#include "config/config_set.h"

namespace weft::cli {
namespace {

Exit run_failures(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  config::ConfigSet config;
  read_configs(context.arguments().values("config"), *loaded, config);
  if (!context.report(*loaded)) return Exit::usage;
  const model::Cluster& cluster = *loaded->cluster;
  const check::FailureAnalysis analysis(cluster);
  return context.deliver(context.arguments().has("matrix") ? check::resiliency_matrix(cluster, config, analysis)
                                                           : check::failures_document(cluster, analysis));
}

}  // namespace

Command failures_command() {
  Command command;
  command.name = "failures";
  command.summary = "Show the impact of each single failure";
  command.usage = "CLUSTER [--matrix] [OPTIONS]";
  command.description = {
      "Lists every kind of single failure (switch, cable, feed, rack, controller, quorum member) with its worst case: "
      "servers and GPUs lost, remaining bandwidth per fabric, quorum, and whether it is a single point of failure.",
      "--matrix prints the resiliency matrix of this design: thirteen failures from the load balancer to the control "
      "plane, the protection against each, and what is missing."};
  command.examples = {{"weft failures cluster.yaml", "Impact of single failures"},
                      {"weft failures cluster.yaml --matrix", "The resiliency matrix"}};
  command.arguments = {cluster_argument()};
  command.options = {{.name = "matrix", .help = "print the resiliency matrix"},
                     config_option(),
                     output_option(),
                     catalog_option(),
                     file_option()};
  command.run = run_failures;
  return command;
}

}  // namespace weft::cli

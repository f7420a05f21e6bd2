// weft sim nccl: what nccl-tests would print on this cluster.
#include <fmt/format.h>

#include <algorithm>

#include "cli/sim/life_input.h"
#include "workload/life/nccl_sweep.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;

netsim::Collective operation_named(const std::string& name) {
  using netsim::Collective;
  for (const Collective each : {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                Collective::broadcast, Collective::send_recv}) {
    if (to_text(each) == name) return each;
  }
  return Collective::all_reduce;
}

Exit run_nccl(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  OptionReader reader(context.arguments());
  LifeRequest run;
  read_life_options(reader, *loaded->cluster, run);
  workload::NcclSweepRequest request;
  request.pool = context.arguments().value("pool");
  request.operation = operation_named(context.arguments().value("op"));
  if (const auto ranks = reader.integer("ranks", 2, 10'000'000)) request.ranks = static_cast<std::uint32_t>(*ranks);
  if (const auto node = reader.integer("ranks-per-node", 1, 1'000))
    request.node_ranks = static_cast<std::uint32_t>(*node);
  if (const auto least = reader.bytes("min-bytes", 1, kMaxBytes)) request.least = *least;
  request.most = std::max(request.most, request.least);
  if (const auto most = reader.bytes("max-bytes", 1, kMaxBytes)) request.most = *most;
  if (const auto factor = reader.integer("factor", 2, 1'000'000)) request.factor = *factor;
  if (reader.ok() && request.most < request.least) reader.bad("max-bytes", "is below --min-bytes");
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  request.fabric.fidelity = run.fidelities.back();
  if (context.arguments().value("fidelity").empty()) request.fabric.fidelity = netsim::Fidelity::analytic;
  request.fabric.simulation = run.options.simulation;
  request.fabric.routing = run.options.routing;
  request.fabric.queue_pairs = run.options.queue_pairs;
  request.fabric.tcp = run.options.tcp;
  const Result<Document> document = workload::nccl_sweep(*loaded->cluster, request);
  if (!document.ok()) return context.failed(document.error());
  return context.deliver(*document);
}

}  // namespace

Command sim_nccl_command() {
  Command command;
  command.name = "sim nccl";
  command.summary = "What nccl-tests would print on this cluster";
  command.usage = "CLUSTER [--op NAME] [--ranks N] [OPTIONS]";
  command.description = {
      "NCCL's choice of algorithm, protocol and channels for each size, with its launch and protocol latencies and the "
      "rates that its kernels reach. With --fidelity flow or packet the bytes also travel over the backend as built: "
      "hashing, oversubscription and congestion show in the last column. `weft sim collective` simulates the network "
      "of "
      "a given algorithm alone."};
  command.examples = {
      {"weft sim nccl cluster.yaml --ranks 8", "All-reduce on one server, 8 B to 16 GiB"},
      {"weft sim nccl cluster.yaml --op all-to-all --fidelity flow --min-bytes 1MiB", "On the whole pool"}};
  command.arguments = {cluster_argument()};
  command.options = {{.name = "op",
                      .value = "NAME",
                      .help = "the collective",
                      .fallback = "all-reduce",
                      .choices = choices_named(
                          {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"})},
                     {.name = "pool", .value = "POOL", .help = "of GPU servers", .fallback = "the first"},
                     {.name = "ranks", .value = "N", .help = "the first N GPUs", .fallback = "all of the pool"},
                     {.name = "ranks-per-node", .value = "N", .help = "GPUs used of each server", .fallback = "all"},
                     {.name = "min-bytes", .value = "SIZE", .help = "the first size", .fallback = "8"},
                     {.name = "max-bytes", .value = "SIZE", .help = "no size beyond this", .fallback = "16GiB"},
                     {.name = "factor", .value = "N", .help = "from one size to the next", .fallback = "2"}};
  for (const Option& option : life_run_options()) command.options.push_back(option);
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_nccl;
  return command;
}

}  // namespace weft::cli

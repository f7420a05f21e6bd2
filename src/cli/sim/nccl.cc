// weft sim nccl: predicts the output of nccl-tests on a cluster.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
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

// "2.26" or "2.28.9". Empty: the default stays.
bool read_version(const std::string& text, std::uint32_t& out) {
  if (text.empty()) return true;
  std::uint32_t code = 0;
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() < 2 || parts.size() > 3) return false;
  for (std::size_t i = 0; i < 3; ++i) {
    const Result<std::int64_t> number = i < parts.size() ? parse_integer(parts[i]) : Result<std::int64_t>(0);
    if (!number.ok() || *number < 0 || *number > 99) return false;
    code = code * 100 + static_cast<std::uint32_t>(*number);
  }
  if (code < 21'800 || code >= 30'000) return false;
  out = code;
  return true;
}

Exit run_nccl(Context& context) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  OptionReader reader(context.arguments());
  LifeRequest run;
  read_backend_options(reader, *loaded->cluster, run);
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
  if (const auto launch = reader.time("launch")) request.launch = netsim::from_duration(*launch);
  if (!read_version(context.arguments().value("nccl"), request.version))
    reader.bad("nccl", fmt::format("`{}` is not a version of NCCL from 2.18 on, such as 2.26.2",
                                   context.arguments().value("nccl")));
  if (reader.ok() && request.most < request.least) reader.bad("max-bytes", "is less than --min-bytes");
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  request.fabric.fidelity = run.fidelities.back();
  if (context.arguments().value("fidelity").empty()) request.fabric.fidelity = netsim::Fidelity::analytic;
  request.fabric.simulation = run.options.simulation;
  request.fabric.routing = run.options.routing;
  request.fabric.queue_pairs = run.options.queue_pairs;
  request.fabric.tcp = run.options.tcp;
  request.faults = run.options.faults;
  const Result<workload::NcclSweep> sweep = workload::nccl_sweep(*loaded->cluster, request);
  if (!sweep.ok()) return context.failed(sweep.error());
  const Exit delivered = context.deliver(sweep->document);
  return delivered == Exit::ok && !sweep->runs ? Exit::partial : delivered;
}

}  // namespace

Command sim_nccl_command() {
  Command command;
  command.name = "sim nccl";
  command.summary = "Predict the output of nccl-tests on this cluster";
  command.usage = "CLUSTER [--op NAME] [--ranks N] [OPTIONS]";
  command.description = {
      "Models NCCL's choice of algorithm, protocol and channels for each size, its launch and protocol latencies and "
      "kernel rates. With --fidelity flow or packet the transfers are also simulated on the designed backend: hashing, "
      "oversubscription and congestion show in the last column. `weft sim collective` simulates only the network, with "
      "a given algorithm.",
      "With faults (--fail, --slow, --errors), the figures are for a communicator that is created afterwards. Exit "
      "code 3 if none can be."};
  command.examples = {
      {"weft sim nccl cluster.yaml --ranks 8", "All-reduce on one server, 8 B to 16 GiB"},
      {"weft sim nccl cluster.yaml --op all-to-all --fidelity flow --min-bytes 1MiB", "On the whole pool"},
      {"weft sim nccl cluster.yaml --ranks 64 --fail train001:gpu0", "With seven of eight rails"}};
  command.arguments = {cluster_argument()};
  command.options = {
      {.name = "op",
       .value = "NAME",
       .help = "collective operation",
       .fallback = "all-reduce",
       .choices =
           choices_named({"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"})},
      {.name = "pool", .value = "POOL", .help = "pool of GPU servers", .fallback = "the first"},
      {.name = "ranks", .value = "N", .help = "use the first N GPUs", .fallback = "all of the pool"},
      {.name = "ranks-per-node", .value = "N", .help = "GPUs used per server", .fallback = "all"},
      {.name = "min-bytes", .value = "SIZE", .help = "smallest size", .fallback = "8"},
      {.name = "max-bytes", .value = "SIZE", .help = "largest size", .fallback = "16GiB"},
      {.name = "factor", .value = "N", .help = "factor between consecutive sizes", .fallback = "2"},
      {.name = "launch",
       .value = "TIME",
       .help = "launch of every call, for programs that start each after a barrier",
       .fallback = "0us, as in nccl-tests"},
      {.name = "nccl", .value = "VERSION", .help = "version of NCCL, whose choices differ", .fallback = "2.30.7"}};
  for (const Option& option : backend_run_options("analytic")) command.options.push_back(option);
  for (const Option& option : {output_option(), file_option(), catalog_option()}) command.options.push_back(option);
  command.run = run_nccl;
  return command;
}

}  // namespace weft::cli

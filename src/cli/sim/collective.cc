// weft sim collective: a collective over a range of sizes, as nccl-tests prints it.
#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "cli/framework/progress.h"
#include "cli/sim/input.h"
#include "cli/sim/options.h"
#include "cli/sim/run.h"
#include "netsim/traffic/traffic.h"
#include "netsim/views/collective_view.h"
#include "netsim/views/diagnosis.h"
#include "netsim/views/result_cells.h"
#include "netsim/views/result_view.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMaxBytes = 1'000'000'000'000;

struct CollectiveRequest {
  netsim::CollectiveShape shape;
  std::vector<netsim::NodeId> ranks;
  Bytes least{1 << 20};
  Bytes most{1 << 30};
  std::int64_t factor = 4;
};

netsim::Collective operation_named(const std::string& name) {
  using netsim::Collective;
  for (const Collective each : {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all,
                                Collective::broadcast, Collective::send_recv}) {
    if (to_text(each) == name) return each;
  }
  return Collective::all_reduce;
}

// Number of ranks per node if they are contiguous and equal, otherwise 1.
std::uint32_t ranks_per_node(const netsim::Network& network, const std::vector<netsim::NodeId>& ranks) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    const std::uint32_t group = network.node(ranks[i]).group;
    std::size_t end = i;
    while (end < ranks.size() && network.node(ranks[end]).group == group) ++end;
    const auto run = static_cast<std::uint32_t>(end - i);
    if (length != 0 && run != length) return 1;
    length = run;
    i = end;
  }
  return std::max<std::uint32_t>(length, 1);
}

bool has_scale_up(const netsim::Network& network, const std::vector<netsim::NodeId>& ranks) {
  const std::span<const netsim::LinkId> links = network.out_links(ranks.front());
  return std::any_of(links.begin(), links.end(),
                     [&](netsim::LinkId link) { return network.node(network.link(link).to).scale_up; });
}

void read_sizes(OptionReader& reader, CollectiveRequest& request) {
  if (const auto least = reader.bytes("min-bytes", 4, kMaxBytes)) request.least = *least;
  request.most = std::max(request.most, request.least);
  if (const auto most = reader.bytes("max-bytes", 4, kMaxBytes)) request.most = *most;
  if (const auto factor = reader.integer("factor", 2, 1'000'000)) request.factor = *factor;
  if (request.most < request.least) reader.bad("max-bytes", "is less than --min-bytes");
}

void read_algorithm(OptionReader& reader, const netsim::Network& network, CollectiveRequest& request) {
  netsim::CollectiveShape& shape = request.shape;
  shape.operation = operation_named(reader.arguments().value("op"));
  shape.ranks_per_node = ranks_per_node(network, request.ranks);
  if (const auto given = reader.integer("ranks-per-node", 1, static_cast<std::int64_t>(request.ranks.size()))) {
    shape.ranks_per_node = static_cast<std::uint32_t>(*given);
  }
  const std::string name = reader.arguments().value("algorithm");
  const bool layered = shape.ranks_per_node > 1 && has_scale_up(network, request.ranks);
  shape.algorithm = layered ? netsim::Algorithm::hierarchical : netsim::Algorithm::ring;
  if (name == "ring") shape.algorithm = netsim::Algorithm::ring;
  if (name == "tree") shape.algorithm = netsim::Algorithm::tree;
  if (name == "hierarchical") shape.algorithm = netsim::Algorithm::hierarchical;
  const netsim::Algorithm used = algorithm_used(shape, request.ranks.size());
  if (!name.empty() && used != shape.algorithm) {
    reader.bad("algorithm", fmt::format("no {} {} is implemented for {} ranks with {} per node", name,
                                        to_text(shape.operation), request.ranks.size(), shape.ranks_per_node));
  }
  shape.algorithm = used;
  // One ring or tree per NIC of a node, as in NCCL; hierarchical uses all rails in one.
  if (used != netsim::Algorithm::hierarchical) shape.channels = shape.ranks_per_node;
  if (const auto channels = reader.integer("channels", 1, 1024)) shape.channels = static_cast<std::uint32_t>(*channels);
}

std::optional<Exit> read_request(Context& context, OptionReader& reader, const SimInput& input,
                                 CollectiveRequest& request) {
  const std::span<const netsim::NodeId> all = input.network.endpoints();
  request.ranks = chosen_ranks(reader, input.network, {all.begin(), all.end()});
  if (reader.ok() && request.ranks.size() < 2) reader.fail("a collective needs at least two ranks");
  if (reader.ok()) read_algorithm(reader, input.network, request);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  netsim::CollectiveShape largest = request.shape;
  largest.bytes = request.most;
  const std::uint64_t transfers = transfer_count(largest, request.ranks.size());
  if (transfers <= netsim::kMaxTransfers) return std::nullopt;
  return context.usage_error(fmt::format("{} transfers exceed the maximum of {}", group_digits(transfers),
                                         group_digits(netsim::kMaxTransfers)),
                             {"use fewer ranks, or --algorithm ring or hierarchical"});
}

class CollectiveRunner {
 public:
  CollectiveRunner(Context& context, const SimInput& input, SimSetup& setup, const CollectiveRequest& request)
      : context_(context), input_(input), setup_(setup), request_(request) {}

  // Returns an exit code if a run failed.
  std::optional<Exit> run() {
    for (Bytes bytes = request_.least; bytes <= request_.most && !stopped_; bytes = bytes * request_.factor) {
      if (const auto exit = run_size(bytes)) return exit;
    }
    return std::nullopt;
  }

  [[nodiscard]] Exit finish() {
    const netsim::CollectiveShape& shape = request_.shape;
    netsim::CollectiveContext view;
    view.operation = shape.operation;
    view.algorithm = shape.algorithm;
    view.ranks = static_cast<std::uint32_t>(request_.ranks.size());
    view.ranks_per_node = shape.ranks_per_node;
    view.channels = shape.channels;
    view.where = input_.where;
    view.transport = netsim::transport_words(setup_.options);
    view.routing = to_text(setup_.routing.mode);
    Document document = collective_document(view, rows_);
    for (const std::string& note : notes_) document.notes.push_back(note);
    if (!input_.caveat().empty()) document.notes.push_back(input_.caveat());
    const Exit outcome = partial_ ? Exit::partial : Exit::ok;
    const Exit delivered = context_.deliver(document, outcome);
    if (delivered != outcome) return delivered;
    return write_pictures(context_, input_.network, last_,
                          fmt::format("{} of {} over {} ranks ({})", to_text(shape.operation),
                                      to_text(rows_.back().bytes), view.ranks, to_text(shape.algorithm)),
                          input_.where, outcome);
  }

 private:
  std::optional<Exit> run_size(Bytes bytes) {
    netsim::CollectiveShape shape = request_.shape;
    shape.bytes = bytes;
    shape.queue_pairs = setup_.queue_pairs;
    netsim::TransferGraph graph;
    add_collective(graph, request_.ranks, shape);
    if (const Status status = graph.finish(input_.network); !status.ok()) return context_.failed(status.error());
    for (const netsim::Fidelity fidelity : setup_.fidelities) {
      setup_.options.fidelity = fidelity;
      netsim::Routes routes(input_.network, setup_.routing);
      const std::string label = fmt::format("{} {}", to_text(fidelity), to_text(bytes));
      Result<netsim::SimResult> result = run_simulation(context_, routes, graph, setup_.options, label);
      if (!result.ok()) return context_.failed(result.error());
      keep(bytes, std::move(result).value(), graph);
      if (stopped_) break;
    }
    return std::nullopt;
  }

  void keep(Bytes bytes, netsim::SimResult result, const netsim::TransferGraph& graph) {
    const netsim::Bound bound = netsim::bound_of(input_.network, graph, setup_.options, result);
    rows_.push_back({bytes, result.fidelity, result.end, result.complete, netsim::to_text(bound)});
    if (!result.complete) {
      partial_ = true;
      notes_.push_back(fmt::format("{}: {}", to_text(bytes), netsim::state_text(result, graph.size())));
    }
    for (const std::string& warning : result.warnings) {
      const std::string note = fmt::format("warning ({}): {}", to_text(result.fidelity), warning);
      if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
    }
    stopped_ = result.interrupted;
    last_ = std::move(result);
  }

  Context& context_;
  const SimInput& input_;
  SimSetup& setup_;
  const CollectiveRequest& request_;
  std::vector<netsim::CollectiveRow> rows_;
  std::vector<std::string> notes_;
  netsim::SimResult last_;
  bool stopped_ = false;
  bool partial_ = false;
};

Exit run_collective(Context& context) {
  OptionReader reader(context.arguments());
  SimSetup setup;
  CollectiveRequest request;
  read_sim_options(reader, netsim::Fidelity::flow, setup);
  read_sim_series(reader, setup.options);
  read_sizes(reader, request);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  SimInput input;
  if (const auto exit = open_sim_input(context, reader, model::FabricKind::backend, input)) return *exit;
  if (input.cluster() != nullptr) {
    setup = {};
    apply_cluster(*input.cluster(), input.fabric, setup);
    read_sim_options(reader, netsim::Fidelity::flow, setup);
    read_sim_series(reader, setup.options);
  }
  read_sim_faults(reader, input.network, setup.options);
  if (const auto exit = read_request(context, reader, input, request)) return *exit;
  const InterruptGuard guard;
  CollectiveRunner runner(context, input, setup, request);
  if (const auto exit = runner.run()) return *exit;
  return runner.finish();
}

std::vector<Option> collective_options() {
  std::vector<Option> options = {
      {.name = "op",
       .value = "NAME",
       .help = "collective operation",
       .fallback = "all-reduce",
       .choices =
           choices_named({"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"})},
      {.name = "algorithm",
       .value = "NAME",
       .help = "algorithm",
       .fallback = "hierarchical where hosts have NVLink switches, else ring",
       .choices = choices_named({"ring", "tree", "hierarchical"})},
      {.name = "min-bytes", .value = "SIZE", .help = "smallest size", .fallback = "1MiB"},
      {.name = "max-bytes", .value = "SIZE", .help = "largest size", .fallback = "1GiB"},
      {.name = "factor", .value = "N", .help = "factor between consecutive sizes", .fallback = "4"},
      {.name = "channels",
       .value = "N",
       .help = "number of rings or trees that share the data",
       .fallback = "ranks per node; hierarchical 1"},
      {.name = "ranks-per-node", .value = "N", .help = "ranks per host", .fallback = "as built"}};
  for (Option& option : options) option.section = "Traffic";
  return options;
}

}  // namespace

Command sim_collective_command() {
  Command command;
  command.name = "sim collective";
  command.summary = "Simulate a collective, as nccl-tests measures it";
  command.usage = "CLUSTER | --topology TOPOLOGY [--op NAME] [OPTIONS]";
  command.description = {
      "Ranks are the endpoints of the fabric in order: the GPUs of the first host, then of the second, and so on. Time "
      "is measured from the first byte to the last; sizes, counts and bandwidths are defined as in nccl-tests (GB is "
      "10^9 bytes).",
      "Only the network is simulated: the time excludes reduction on the GPU and kernel launches.",
      "Exit code 3 if a run did not complete: interrupted, cut by --until, or deadlocked."};
  command.examples = {
      {"weft sim collective cluster.yaml", "All-reduce over all GPUs, 1 MiB to 1 GiB"},
      {"weft sim collective cluster.yaml --op all-to-all --hosts 'train[001-004]' --max-bytes 64MB", "On four hosts"},
      {"weft sim collective cluster.yaml --algorithm ring --channels 8 --fidelity packet --max-bytes 16MB",
       "Eight rings, packet by packet"},
      {"weft sim collective --topology leaf-spine:8x16x16 --fidelity all --min-bytes 64MB --max-bytes 64MB",
       "Compare the fidelities at one size"},
  };
  command.arguments = {cluster_argument_or({"topology"})};
  for (std::vector<Option>& options :
       std::vector<std::vector<Option>>{collective_options(), sim_network_options(), sim_run_options("flow"),
                                        sim_result_options(), sim_fault_options(), sim_detail_options()}) {
    for (Option& option : options) command.options.push_back(std::move(option));
  }
  command.run = run_collective;
  return command;
}

}  // namespace weft::cli

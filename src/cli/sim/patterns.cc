#include "cli/sim/patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/diagnostic.h"
#include "base/human_format.h"
#include "base/utf8.h"
#include "netsim/traffic/traffic.h"
#include "netsim/views/result_cells.h"

namespace weft::cli {
namespace {

using netsim::NodeId;

constexpr std::int64_t kMaxBytes = 1'000'000'000'000;

struct Pattern {
  std::string_view name;
  std::string_view help;
  std::int64_t bytes;  // default size of a transfer
};
constexpr Pattern kPatterns[] = {
    {"permutation", "random permutation: each endpoint sends to one other and receives from one other", 10'000'000},
    {"affine", "permutation by formula, see --affine", 10'000'000},
    {"incast", "many endpoints send to one, see --to and --fan-in", 1'000'000},
    {"all-to-all", "each endpoint sends to all others, see --in-flight", 100'000},
    {"storage-reads", "clients read from storage targets, see --targets and --stripes", 16'000'000},
    {"checkpoint", "clients write to storage targets", 16'000'000},
    {"background", "transfers between random pairs at random times, see --load and --duration", 1'000'000},
};

const Pattern& pattern_named(std::string_view name) {
  return *std::find_if(std::begin(kPatterns), std::end(kPatterns), [&](const Pattern& p) { return p.name == name; });
}

class TrafficMaker {
 public:
  TrafficMaker(OptionReader& reader, const SimInput& input, const SimSetup& setup, netsim::TransferGraph& graph)
      : reader_(reader), input_(input), setup_(setup), graph_(graph) {
    bytes_ = reader.bytes("bytes", 1, kMaxBytes);
    const std::span<const NodeId> all = input.network.endpoints();
    ranks_ = chosen_ranks(reader, input.network, {all.begin(), all.end()});
    if (reader.ok() && ranks_.size() < 2) reader.fail("traffic needs at least two endpoints");
  }

  // Adds a pattern under a tag; returns its description.
  std::string add(const std::string& name, std::uint16_t tag) {
    shape_ = {};
    shape_.bytes = bytes_.value_or(Bytes(pattern_named(name).bytes));
    shape_.queue_pairs = setup_.queue_pairs;
    shape_.seed = setup_.options.seed;
    shape_.tag = tag;
    if (!reader_.ok()) return {};
    if (name == "affine") return affine();
    if (name == "incast") return incast();
    if (name == "all-to-all") return all_to_all();
    if (name == "storage-reads" || name == "checkpoint") return storage(name == "checkpoint");
    if (name == "background") return background();
    netsim::add_permutation(graph_, ranks_, shape_);
    return fmt::format("permutation of {} over {}", to_text(shape_.bytes), endpoints(ranks_.size()));
  }

 private:
  static std::string endpoints(std::size_t count) { return grouped_plural(count, "endpoint", "endpoints"); }

  std::string affine() {
    std::int64_t factor = 37;
    std::int64_t shift = 61;
    if (reader_.arguments().has("affine")) {
      const std::string given = reader_.arguments().value("affine");
      const std::size_t colon = given.find(':');
      const Result<std::int64_t> first = parse_integer(given.substr(0, colon));
      const Result<std::int64_t> second =
          colon == std::string::npos ? Result<std::int64_t>(std::int64_t{0}) : parse_integer(given.substr(colon + 1));
      if (!first.ok() || !second.ok() || first.value() < 1 || second.value() < 0) {
        reader_.bad("affine", in_backticks(given) + " is not FACTOR:SHIFT", "for example: --affine 37:61");
        return {};
      }
      factor = first.value();
      shift = second.value();
    }
    if (std::gcd(static_cast<std::uint64_t>(factor), ranks_.size()) != 1) {
      reader_.bad("affine", fmt::format("{} and {} have a common divisor: not a permutation", factor, ranks_.size()));
      return {};
    }
    netsim::add_affine_permutation(graph_, ranks_, static_cast<std::uint64_t>(factor),
                                   static_cast<std::uint64_t>(shift), shape_);
    return fmt::format("affine permutation ({} x source + {}) of {} over {}", factor, shift, to_text(shape_.bytes),
                       endpoints(ranks_.size()));
  }

  std::string incast() {
    NodeId target = ranks_.front();
    if (reader_.arguments().has("to")) {
      const Result<std::vector<NodeId>> named = net_endpoints(reader_.arguments().value("to"));
      if (!named.ok()) {
        reader_.bad("to", named.error().message);
        return {};
      }
      target = named.value().front();
    }
    std::vector<NodeId> sources = ranks_;
    std::erase(sources, target);
    if (const auto fan_in = reader_.integer("fan-in", 1, 100'000'000)) {
      if (static_cast<std::size_t>(*fan_in) > sources.size()) {
        reader_.bad("fan-in", fmt::format("only {} other endpoints exist", sources.size()));
        return {};
      }
      sources.resize(static_cast<std::size_t>(*fan_in));
    }
    netsim::add_incast(graph_, sources, target, shape_);
    return fmt::format("incast of {} from {} to {}", to_text(shape_.bytes), endpoints(sources.size()),
                       input_.network.name_of(target));
  }

  std::string all_to_all() {
    const std::uint64_t pairs = netsim::all_to_all_count(ranks_.size());
    if (pairs > netsim::kMaxTransfers) {
      reader_.fail(
          fmt::format("{} pairs exceed the maximum of {}", group_digits(pairs), group_digits(netsim::kMaxTransfers)),
          "select fewer endpoints with --ranks or --hosts");
      return {};
    }
    const std::int64_t in_flight = reader_.integer("in-flight", 0, 1'000'000).value_or(16);
    netsim::add_all_to_all(graph_, ranks_, static_cast<std::uint32_t>(in_flight), shape_);
    return fmt::format("all-to-all of {} to each peer over {}", to_text(shape_.bytes), endpoints(ranks_.size()));
  }

  std::string storage(bool write) {
    std::vector<NodeId> targets;
    std::vector<NodeId> clients;
    if (!storage_ends(clients, targets)) return {};
    const std::int64_t stripes = reader_.integer("stripes", 1, 65'536).value_or(4);
    const auto parts = static_cast<std::uint32_t>(stripes);
    if (clients.size() > netsim::kMaxTransfers / parts) {
      reader_.bad("stripes", "too many transfers; use fewer stripes or clients");
      return {};
    }
    if (write) {
      netsim::add_checkpoint(graph_, clients, targets, parts, shape_);
    } else {
      netsim::add_storage_reads(graph_, clients, targets, parts, shape_);
    }
    return fmt::format("{} of {} by {} {} {} in {}", write ? "checkpoint" : "reads", to_text(shape_.bytes),
                       grouped_plural(clients.size(), "client", "clients"), write ? "to" : "from",
                       grouped_plural(targets.size(), "storage target", "storage targets"),
                       grouped_plural(parts, "stripe", "stripes"));
  }

  // --targets, or the servers of storage pools, or the last eighth without a cluster. Clients are the training servers,
  // or all others if there are none.
  bool storage_ends(std::vector<NodeId>& clients, std::vector<NodeId>& targets) {
    if (reader_.arguments().has("targets")) {
      const Result<std::vector<NodeId>> named = net_endpoints(reader_.arguments().value("targets"));
      if (!named.ok()) {
        reader_.bad("targets", named.error().message);
        return false;
      }
      targets = named.value();
    } else if (input_.cluster() != nullptr) {
      targets = endpoints_of_role(input_, model::PoolRole::storage);
    } else {
      const std::span<const NodeId> all = input_.network.endpoints();
      targets.assign(all.end() - static_cast<std::ptrdiff_t>(std::max<std::size_t>(all.size() / 8, 1)), all.end());
    }
    std::vector<bool> stores(input_.network.nodes().size());
    for (const NodeId id : targets) stores[model::index_of(id)] = true;
    const bool chosen = reader_.arguments().has("hosts") || reader_.arguments().has("ranks");
    const std::vector<NodeId> training =
        chosen ? std::vector<NodeId>() : endpoints_of_role(input_, model::PoolRole::training);
    for (const NodeId id : training.empty() ? ranks_ : training) {
      if (!stores[model::index_of(id)]) clients.push_back(id);
    }
    if (targets.empty() || clients.empty()) {
      reader_.fail(targets.empty() ? "the fabric has no storage servers" : "no clients are left besides the targets",
                   targets.empty() ? "give --targets, or use --fabric storage" : "");
      return false;
    }
    return true;
  }

  std::string background() {
    const double load = reader_.real("load", 1e-6, 1).value_or(0.3);
    const Duration length = reader_.time("duration").value_or(milliseconds(1));
    if (length.count() < 1 || length > milliseconds(60'000)) {
      reader_.bad("duration", "must be greater than 0 and at most 60s");
      return {};
    }
    const netsim::SimTime until = netsim::from_duration(length);
    if (netsim::background_count(input_.network, ranks_, load, until, shape_) > 0.9 * netsim::kMaxTransfers) {
      reader_.fail("the background traffic exceeds 45 million transfers", "use a shorter --duration or larger --bytes");
      return {};
    }
    netsim::add_background(graph_, input_.network, ranks_, load, until, shape_);
    return fmt::format("background of {} at {} load for {}", to_text(shape_.bytes), format_short_percent(load),
                       format_fine_time(until));
  }

  [[nodiscard]] Result<std::vector<NodeId>> net_endpoints(const std::string& text) const {
    return endpoints_named(input_.network, text);
  }

  OptionReader& reader_;
  const SimInput& input_;
  const SimSetup& setup_;
  netsim::TransferGraph& graph_;
  std::optional<Bytes> bytes_;
  std::vector<NodeId> ranks_;
  netsim::TrafficShape shape_;
};

std::optional<Exit> make_from_file(Context& context, const SimInput& input, const SimSetup& setup,
                                   SimTraffic& traffic) {
  const std::string path = context.arguments().value("flows");
  if (const auto exit = read_flow_file(context, path, input.network, traffic.graph)) return exit;
  if (setup.queue_pairs > 1) {
    for (std::size_t i = 0; i < traffic.graph.size(); ++i) {
      traffic.graph.edit(static_cast<netsim::TransferId>(i)).queue_pairs = setup.queue_pairs;
    }
  }
  traffic.what = fmt::format("{} of {}", grouped_plural(traffic.graph.size(), "transfer", "transfers"), path);
  traffic.tags = {path};
  return std::nullopt;
}

}  // namespace

std::vector<Option> sim_pattern_options() {
  std::vector<Choice> patterns;
  for (const Pattern& pattern : kPatterns) patterns.push_back({std::string(pattern.name), std::string(pattern.help)});
  std::vector<Option> options = {
      {.name = "pattern",
       .letter = 'p',
       .value = "NAME",
       .help = "traffic pattern; may be repeated to run several together",
       .fallback = "permutation",
       .choices = patterns,
       .repeatable = true},
      {.name = "flows",
       .value = "FILE",
       .help = "read transfers from a file instead: weft's format (id source destination bytes start_ns after), "
               "htsim's .cm, or flow files of HPCC or SimAI",
       .hint = Hint::file},
      {.name = "bytes",
       .letter = 'b',
       .value = "SIZE",
       .help = "size of each transfer (all-to-all: per peer; storage: per client)",
       .fallback = "10MB; incast and background 1MB, storage 16MB, all-to-all 100KB"},
      {.name = "to", .value = "PLACE", .help = "receiver of an incast", .fallback = "the first endpoint"},
      {.name = "fan-in", .value = "N", .help = "number of senders of an incast", .fallback = "all others"},
      {.name = "in-flight", .value = "N", .help = "concurrent peers of all-to-all; 0: all", .fallback = "16"},
      {.name = "targets", .value = "HOSTS", .help = "storage targets", .fallback = "servers of storage pools"},
      {.name = "stripes", .value = "N", .help = "targets over which a client stripes its data", .fallback = "4"},
      {.name = "load", .value = "SHARE", .help = "background load as a share of the host links", .fallback = "0.3"},
      {.name = "duration", .value = "TIME", .help = "duration of background traffic", .fallback = "1ms"},
      {.name = "affine", .value = "A:B", .help = "destination = A x source + B", .fallback = "37:61"}};
  for (Option& option : options) option.section = "Traffic";
  return options;
}

bool wants_storage(const Arguments& arguments) {
  const std::vector<std::string>& patterns = arguments.values("pattern");
  return !patterns.empty() && std::all_of(patterns.begin(), patterns.end(), [](const std::string& name) {
    return name == "storage-reads" || name == "checkpoint";
  });
}

std::optional<Exit> make_traffic(Context& context, OptionReader& reader, const SimInput& input, const SimSetup& setup,
                                 SimTraffic& traffic) {
  if (reader.arguments().has("flows")) {
    if (reader.arguments().has("pattern")) return context.usage_error("--flows and --pattern are mutually exclusive");
    if (const auto exit = make_from_file(context, input, setup, traffic)) return exit;
  } else {
    std::vector<std::string> patterns = reader.arguments().values("pattern");
    if (patterns.empty()) patterns = {"permutation"};
    if (patterns.size() > 16) return context.usage_error("at most 16 patterns at a time");
    TrafficMaker maker(reader, input, setup, traffic.graph);
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const std::string words = maker.add(patterns[i], static_cast<std::uint16_t>(i));
      traffic.what += (i == 0 ? "" : "; ") + words;
      traffic.tags.push_back(patterns[i]);
    }
    if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  }
  if (traffic.graph.size() == 0) return context.usage_error("no transfers to simulate");
  const Status status = traffic.graph.finish(input.network);
  if (!status.ok()) return context.failed(status.error());
  return std::nullopt;
}

}  // namespace weft::cli

#include "cli/sim/input.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "base/diagnostic.h"
#include "base/file.h"
#include "base/host_range.h"
#include "base/text.h"
#include "base/utf8.h"
#include "netsim/network/from_cluster.h"
#include "netsim/readers/read_simulators.h"

namespace weft::cli {
namespace {

using netsim::NodeId;

Error bad(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// The words of the first non-blank line.
std::vector<std::string_view> first_words(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words = split_at_spaces(line, kLineSpaces);
    if (!words.empty()) return words;
  }
  return {};
}

bool starts_with_letter(const std::vector<std::string_view>& words) { return !words.empty() && is_letter(words[0][0]); }

std::optional<Exit> open_file(Context& context, const std::string& path, model::Loaded& loaded, FileId& file) {
  Result<std::string> text = read_file(path);
  if (!text.ok()) return context.failed(text.error());
  file = loaded.sources.add(path, std::move(text).value());
  return std::nullopt;
}

// htsim's topology files begin with a word, those of HPCC and SimAI with numbers.
std::optional<Exit> open_topology_file(Context& context, const std::string& path, SimInput& input) {
  model::Loaded loaded;
  FileId file = 0;
  if (const auto exit = open_file(context, path, loaded, file)) return exit;
  const bool htsim = starts_with_letter(first_words(loaded.sources.text(file)));
  std::optional<netsim::Network> network = htsim ? netsim::read_htsim_topology(loaded.sources, file, loaded.diagnostics)
                                                 : netsim::read_hpcc_topology(loaded.sources, file, loaded.diagnostics);
  if (!context.report(loaded) || !network) return Exit::usage;
  input.network = std::move(*network);
  input.where = path;
  return std::nullopt;
}

std::optional<Exit> open_topology(Context& context, OptionReader& reader, SimInput& input) {
  const std::string text = reader.arguments().value("topology");
  const TopologyDefaults defaults{reader.rate("link-rate"), reader.time("link-delay")};
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const bool is_file = text.find_first_of("/.") != std::string::npos || text.find(':') == std::string::npos;
  if (!names_generator(text) && is_file) return open_topology_file(context, text, input);
  Result<GeneratedTopology> made = generate_topology(text, defaults);
  if (!made.ok()) return context.usage_error("--topology: " + made.error().message);
  input.network = std::move(made->network);
  input.where = made->words;
  return std::nullopt;
}

model::FabricKind chosen_fabric(const Arguments& arguments, model::FabricKind fallback) {
  const std::string name = arguments.value("fabric");
  if (name == "backend") return model::FabricKind::backend;
  if (name == "storage") return model::FabricKind::storage;
  if (name == "oob") return model::FabricKind::oob;
  return name == "frontend" ? model::FabricKind::frontend : fallback;
}

// "train001" for "train001:gpu3".
std::string_view host_of(std::string_view name) { return name.substr(0, name.find(':')); }

}  // namespace

std::string SimInput::caveat() const {
  if (cluster() == nullptr || cluster()->fabric(fabric).network != model::NetworkKind::infiniband) return {};
  return "warning: InfiniBand credit-based flow control is simulated as PFC, and its congestion control as DCQCN";
}

std::optional<Exit> open_sim_input(Context& context, OptionReader& reader, model::FabricKind fallback,
                                   SimInput& input) {
  const Arguments& arguments = context.arguments();
  const bool has_cluster = !arguments.word(0).empty();
  if (has_cluster == arguments.has("topology")) {
    return context.usage_error(has_cluster ? "CLUSTER and --topology are mutually exclusive"
                                           : "missing network: give a cluster file or --topology",
                               {usage_of(context.command())});
  }
  if (!has_cluster) return open_topology(context, reader, input);
  for (const char* option : {"link-rate", "link-delay"}) {
    if (arguments.has(option)) return context.usage_error(fmt::format("--{} applies only with --topology", option));
  }
  input.loaded = context.open_cluster(arguments.word(0));
  if (!context.report(*input.loaded)) return Exit::usage;
  input.fabric = chosen_fabric(arguments, fallback);
  netsim::ClusterNetworkOptions options;
  options.fabric = input.fabric;
  Result<netsim::Network> network = netsim::network_of(*input.cluster(), options);
  if (!network.ok()) return context.failed(network.error());
  input.network = std::move(network).value();
  input.where = fmt::format("{}, {} fabric", input.cluster()->name(), model::to_text(input.fabric));
  return std::nullopt;
}

Result<std::vector<NodeId>> endpoints_named(const netsim::Network& network, std::string_view hosts) {
  const Result<std::vector<std::string>> names = expand_hosts(hosts);
  if (!names.ok()) return names.error();
  std::map<std::string_view, std::vector<NodeId>> by_name;
  for (const NodeId id : network.endpoints()) {
    const std::string_view name = network.name_of(id);
    by_name[name].push_back(id);
    if (host_of(name) != name) by_name[host_of(name)].push_back(id);
  }
  std::vector<NodeId> chosen;
  std::vector<bool> taken(network.nodes().size());
  for (const std::string& name : names.value()) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      std::vector<std::string_view> known;
      for (const auto& [each, ids] : by_name) {
        if (known.size() < 20'000) known.push_back(each);
      }
      const std::string near = did_you_mean(name, known);
      return bad(fmt::format("the network has no endpoint {}{}", in_backticks(name), near.empty() ? "" : "; " + near));
    }
    for (const NodeId id : found->second) {
      if (!taken[model::index_of(id)]) chosen.push_back(id);
      taken[model::index_of(id)] = true;
    }
  }
  return chosen;
}

std::vector<NodeId> chosen_ranks(OptionReader& reader, const netsim::Network& network, const std::vector<NodeId>& all) {
  std::vector<NodeId> ranks = all;
  if (reader.arguments().has("hosts")) {
    const Result<std::vector<NodeId>> named = endpoints_named(network, reader.arguments().value("hosts"));
    if (!named.ok()) {
      reader.bad("hosts", named.error().message);
      return {};
    }
    ranks = named.value();
  }
  const auto count = reader.integer("ranks", 1, std::numeric_limits<std::int32_t>::max());
  if (count && static_cast<std::size_t>(*count) > ranks.size()) {
    reader.bad("ranks", fmt::format("the network has only {} endpoints", ranks.size()));
  } else if (count) {
    ranks.resize(static_cast<std::size_t>(*count));
  }
  return ranks;
}

std::vector<NodeId> endpoints_of_role(const SimInput& input, model::PoolRole role) {
  const std::span<const NodeId> all = input.network.endpoints();
  const model::Cluster* cluster = input.cluster();
  if (cluster == nullptr) return {};
  std::vector<NodeId> found;
  for (const NodeId id : all) {
    const model::DeviceId device = input.network.node(id).device;
    if (device == model::kNone<model::DeviceId>) continue;
    const int pool = cluster->groups()[cluster->device(device).group].pool;
    if (pool >= 0 && *(*cluster->spec().pools)[static_cast<std::size_t>(pool)].role == role) found.push_back(id);
  }
  return found;
}

std::optional<Exit> read_flow_file(Context& context, const std::string& path, const netsim::Network& network,
                                   netsim::TransferGraph& graph) {
  model::Loaded loaded;
  FileId file = 0;
  if (const auto exit = open_file(context, path, loaded, file)) return exit;
  const std::vector<std::string_view> words = first_words(loaded.sources.text(file));
  std::optional<netsim::TransferGraph> read;
  if (starts_with_letter(words)) {
    read = netsim::read_htsim_matrix(loaded.sources, file, network, loaded.diagnostics);
  } else if (words.size() == 1) {
    read = netsim::read_hpcc_flows(loaded.sources, file, network, loaded.diagnostics);
  } else {
    read = netsim::read_flows(loaded.sources, file, network, loaded.diagnostics);
  }
  if (!context.report(loaded) || !read) return Exit::usage;
  graph = std::move(*read);
  return std::nullopt;
}

}  // namespace weft::cli

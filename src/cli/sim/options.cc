#include "cli/sim/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "model/lossless.h"

namespace weft::cli {
namespace {

using netsim::SimTime;

template <class E>
struct Named {
  std::string_view name;
  E value;
};

constexpr Named<netsim::Transport> kTransports[] = {
    {"dcqcn", netsim::Transport::dcqcn}, {"pfc-only", netsim::Transport::pfc_only}, {"hpcc", netsim::Transport::hpcc},
    {"nscc", netsim::Transport::nscc},   {"receiver", netsim::Transport::receiver}, {"tcp", netsim::Transport::tcp}};
constexpr Named<netsim::RoutingMode> kModes[] = {
    {"ecmp", netsim::RoutingMode::ecmp},           {"weighted", netsim::RoutingMode::weighted},
    {"resilient", netsim::RoutingMode::resilient}, {"d-mod-k", netsim::RoutingMode::d_mod_k},
    {"pinned", netsim::RoutingMode::pinned},       {"adaptive", netsim::RoutingMode::adaptive},
    {"flowlet", netsim::RoutingMode::flowlet},     {"spray", netsim::RoutingMode::spray}};
constexpr Named<netsim::HashFunction> kHashes[] = {{"crc32", netsim::HashFunction::crc32},
                                                   {"crc16", netsim::HashFunction::crc16},
                                                   {"xor16", netsim::HashFunction::xor16},
                                                   {"toeplitz", netsim::HashFunction::toeplitz},
                                                   {"mix64", netsim::HashFunction::mix64}};
constexpr Named<netsim::HashSeeds> kSeeds[] = {{"per-switch", netsim::HashSeeds::per_switch},
                                               {"per-tier", netsim::HashSeeds::per_tier},
                                               {"shared", netsim::HashSeeds::shared}};
constexpr Named<netsim::Watchdog> kWatchdogs[] = {
    {"off", netsim::Watchdog::off}, {"drop", netsim::Watchdog::drop}, {"forward", netsim::Watchdog::forward}};
constexpr Named<netsim::Recovery> kRecoveries[] = {{"go-back-n", netsim::Recovery::go_back_n},
                                                   {"selective", netsim::Recovery::selective}};

// The parser accepts only these names.
template <class E, std::size_t N>
void choice(const OptionReader& reader, std::string_view option, const Named<E> (&names)[N], E& out) {
  const std::string given = reader.arguments().value(option);
  for (const Named<E>& each : names) {
    if (each.name == given) out = each.value;
  }
}

// Times on the command line have a resolution of nanoseconds; no run simulates a day.
void read_time(OptionReader& reader, std::string_view option, SimTime& out) {
  const std::optional<Duration> given = reader.time(option);
  if (!given) return;
  if (given->count() > milliseconds(86'400'000).count())
    return reader.bad(option, "is more than a day of simulated time");
  out = netsim::from_duration(*given);
}

void read_fidelity(const OptionReader& reader, netsim::Fidelity fallback, SimSetup& setup) {
  const std::string given = reader.arguments().value("fidelity");
  using netsim::Fidelity;
  setup.fidelities = {fallback};
  if (given == "packet") setup.fidelities = {Fidelity::packet};
  if (given == "flow") setup.fidelities = {Fidelity::flow};
  if (given == "analytic") setup.fidelities = {Fidelity::analytic};
  if (given == "all") setup.fidelities = {Fidelity::analytic, Fidelity::flow, Fidelity::packet};
}

void read_transport(OptionReader& reader, netsim::TrafficClassOptions& traffic) {
  choice(reader, "transport", kTransports, traffic.transport.kind);
  if (traffic.transport.kind == netsim::Transport::tcp) netsim::use_tcp(traffic);
  if (const auto limit = reader.rate("host-limit", true)) traffic.transport.host_limit = *limit;
  read_time(reader, "host-overhead", traffic.transport.host_overhead);
  if (const auto mtu = reader.bytes("mtu", 64, 65'536)) traffic.transport.payload = *mtu;
}

// Packets sprayed over several paths arrive out of order: go-back-N would treat each as a loss.
void read_recovery(OptionReader& reader, const netsim::RoutingOptions& routing, netsim::TransportOptions& transport) {
  const bool several_ways = routing.mode == netsim::RoutingMode::spray || routing.mode == netsim::RoutingMode::adaptive;
  if (several_ways) transport.recovery = netsim::Recovery::selective;
  choice(reader, "recovery", kRecoveries, transport.recovery);
}

void read_ecn(OptionReader& reader, netsim::TrafficClassOptions& traffic) {
  if (!reader.arguments().has("ecn")) return;
  const std::string given = reader.arguments().value("ecn");
  if (given == "off") {
    traffic.ecn = false;
    return;
  }
  const std::size_t first = given.find(':');
  const std::size_t second = first == std::string::npos ? first : given.find(':', first + 1);
  const std::string hint = "for example: --ecn 400KB:1600KB:0.2";
  if (first == std::string::npos) return reader.bad("ecn", in_backticks(given) + " is not MIN:MAX:P or off", hint);
  const Result<Bytes> low = parse_bytes(given.substr(0, first));
  const Result<Bytes> high =
      parse_bytes(given.substr(first + 1, second == std::string::npos ? std::string::npos : second - first - 1));
  if (!low.ok()) return reader.bad("ecn", low.error().message, hint);
  if (!high.ok()) return reader.bad("ecn", high.error().message, hint);
  if (low.value() > high.value()) return reader.bad("ecn", "the minimum is above the maximum", hint);
  traffic.ecn = true;
  traffic.ecn_min = low.value();
  traffic.ecn_max = high.value();
  if (second == std::string::npos) return;
  const std::optional<double> probability = parse_share(std::string_view(given).substr(second + 1));
  if (!probability || *probability < 0 || *probability > 1) {
    return reader.bad("ecn", in_backticks(given.substr(second + 1)) + " is not a probability between 0 and 1", hint);
  }
  traffic.ecn_probability = *probability;
}

void read_switches(OptionReader& reader, netsim::SwitchOptions& switches) {
  constexpr std::int64_t kMaxBuffer = 100'000'000'000;
  if (const auto alpha = reader.real("alpha", 1e-6, 1e6)) switches.alpha = *alpha;
  if (const auto buffer = reader.bytes("buffer", 10'000, kMaxBuffer)) switches.buffer = *buffer;
  if (const auto headroom = reader.bytes("headroom", 1, kMaxBuffer)) switches.headroom = *headroom;
  if (reader.arguments().has("no-pfc")) switches.pfc = false;
  if (reader.arguments().has("cut-through")) switches.cut_through = true;
  choice(reader, "watchdog", kWatchdogs, switches.watchdog);
  read_time(reader, "watchdog-time", switches.watchdog_detection);
  if (reader.arguments().has("watchdog-time")) switches.watchdog_restoration = switches.watchdog_detection;
}

void read_routing(OptionReader& reader, netsim::RoutingOptions& routing) {
  choice(reader, "routing", kModes, routing.mode);
  choice(reader, "hash", kHashes, routing.hash);
  choice(reader, "hash-seeds", kSeeds, routing.seeds);
  if (reader.arguments().has("no-up-down")) routing.up_down = false;
  read_time(reader, "detection", routing.detection);
  read_time(reader, "propagation", routing.propagation);
}

netsim::RoutingMode mode_of(model::LoadBalancing balancing) {
  switch (balancing) {
    case model::LoadBalancing::ecmp:
      break;
    case model::LoadBalancing::adaptive:
      return netsim::RoutingMode::adaptive;
    case model::LoadBalancing::spray:
      return netsim::RoutingMode::spray;
  }
  return netsim::RoutingMode::ecmp;
}

netsim::Watchdog watchdog_of(const model::QosSpec& qos) {
  if (!*qos.pfc_watchdog || *qos.watchdog_action == model::WatchdogAction::alert) return netsim::Watchdog::off;
  return *qos.watchdog_action == model::WatchdogAction::drop ? netsim::Watchdog::drop : netsim::Watchdog::forward;
}

// ---- names ----

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t') out += c;
  }
  return out;
}

std::vector<std::string_view> node_names(const netsim::Network& network, std::size_t most) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min(most, network.nodes().size()); ++i) {
    names.push_back(network.name_of(static_cast<netsim::NodeId>(i)));
  }
  return names;
}

Error no_node(const netsim::Network& network, std::string_view name) {
  constexpr std::size_t kMaxCompared = 20'000;
  const std::string near = did_you_mean(name, node_names(network, kMaxCompared));
  return {ErrorCode::invalid_input,
          fmt::format("the network has no node {}{}", in_backticks(name), near.empty() ? "" : "; " + near),
          {}};
}

// A name followed by the last `separator` and a value: "be-leaf01>be-spine01@100us".
bool split_value(OptionReader& reader, std::string_view option, const std::string& text, char separator,
                 std::string_view example, std::pair<std::string, std::string>& out) {
  const std::size_t at = text.rfind(separator);
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    reader.bad(option, fmt::format("{} lacks {}", in_backticks(text), separator == '@' ? "@TIME" : "=VALUE"),
               fmt::format("for example: --{} '{}'", option, example));
    return false;
  }
  out = {text.substr(0, at), text.substr(at + 1)};
  return true;
}

class FaultReader {
 public:
  FaultReader(OptionReader& reader, netsim::Network& network, netsim::SimOptions& options)
      : reader_(reader), network_(network), options_(options) {}

  void read() {
    for (const std::string& text : reader_.arguments().values("fail"))
      state("fail", text, netsim::LinkEvent::Kind::down);
    for (const std::string& text : reader_.arguments().values("restore"))
      state("restore", text, netsim::LinkEvent::Kind::up);
    for (const std::string& text : reader_.arguments().values("errors")) errors(text);
    for (const std::string& text : reader_.arguments().values("link-mtu")) mtu(text);
    for (const std::string& text : reader_.arguments().values("slow")) slow(text);
    for (const std::string& text : reader_.arguments().values("storm")) storm(text);
    std::stable_sort(options_.link_events.begin(), options_.link_events.end(),
                     [](const netsim::LinkEvent& a, const netsim::LinkEvent& b) { return a.at < b.at; });
  }

 private:
  // A failure without a time: from the start.
  void state(std::string_view option, const std::string& text, netsim::LinkEvent::Kind kind) {
    std::pair<std::string, std::string> parts{text, "0s"};
    if (text.starts_with('@'))
      return reader_.bad(option, in_backticks(text) + " names no cable, switch, GPU or server");
    const bool timed = kind == netsim::LinkEvent::Kind::up || contains(text, "@");
    if (timed && !split_value(reader_, option, text, '@', "be-leaf01>be-spine01@100us", parts)) return;
    if (parts.first.empty()) return reader_.bad(option, "names no cable, switch, GPU or server");
    const Result<std::vector<netsim::LinkId>> links = find_links(network_, parts.first);
    if (!links.ok()) return reader_.bad(option, links.error().message);
    netsim::LinkEvent event;
    event.kind = kind;
    if (!time(option, parts.second, event.at)) return;
    for (const netsim::LinkId link : *links) {
      event.link = link;
      options_.link_events.push_back(event);
    }
  }

  void slow(const std::string& text) {
    std::pair<std::string, std::string> parts;
    if (!split_value(reader_, "slow", text, '=', "train001:gpu0>be-leaf01=100G", parts)) return;
    const Result<BitRate> rate = parse_bit_rate(parts.second);
    if (!rate.ok()) return reader_.bad("slow", rate.error().message);
    netsim::LinkId slowed{};
    if (!link("slow", parts.first, slowed)) return;
    if (*rate > network_.link(slowed).rate || rate->count() < 1'000'000) {
      return reader_.bad("slow", fmt::format("{} is not between 1M and the rate of the cable, {}", parts.second,
                                             to_text(network_.link(slowed).rate)));
    }
    network_.set_rate(slowed, *rate);
  }

  void errors(const std::string& text) {
    std::pair<std::string, std::string> parts;
    if (!split_value(reader_, "errors", text, '=', "be-leaf01>be-spine01=1e-4", parts)) return;
    netsim::LinkEvent event;
    event.kind = netsim::LinkEvent::Kind::errors;
    const std::optional<double> loss = parse_share(parts.second);
    if (!loss || *loss < 0 || *loss > 1) {
      return reader_.bad("errors", in_backticks(parts.second) + " is not a probability between 0 and 1");
    }
    event.loss = *loss;
    if (link("errors", parts.first, event.link)) options_.link_events.push_back(event);
  }

  void mtu(const std::string& text) {
    std::pair<std::string, std::string> parts;
    if (!split_value(reader_, "link-mtu", text, '=', "be-leaf01>be-spine01=1500", parts)) return;
    netsim::LinkEvent event;
    event.kind = netsim::LinkEvent::Kind::mtu;
    const Result<Bytes> size = parse_bytes(parts.second);
    if (!size.ok()) return reader_.bad("link-mtu", size.error().message);
    if (size.value().count() < 1) return reader_.bad("link-mtu", "must be greater than 0");
    event.mtu = size.value();
    if (link("link-mtu", parts.first, event.link)) options_.link_events.push_back(event);
  }

  void storm(const std::string& text) {
    std::pair<std::string, std::string> parts;
    if (!split_value(reader_, "storm", text, '@', "train001:gpu1@0us", parts)) return;
    netsim::PauseStorm storm;
    storm.endpoint = network_.find_node(parts.first);
    if (storm.endpoint == model::kNone<netsim::NodeId>)
      return reader_.bad("storm", no_node(network_, parts.first).message);
    if (network_.node(storm.endpoint).kind != netsim::NodeKind::endpoint) {
      return reader_.bad("storm", in_backticks(parts.first) + " is a switch; a storm must start at an endpoint");
    }
    const std::size_t dash = parts.second.find('-');
    if (!time("storm", parts.second.substr(0, dash), storm.from)) return;
    if (dash != std::string::npos && !time("storm", parts.second.substr(dash + 1), storm.until)) return;
    if (storm.until <= storm.from) return reader_.bad("storm", "the end is before the start");
    options_.pause_storms.push_back(storm);
  }

  bool link(std::string_view option, const std::string& text, netsim::LinkId& out) {
    const Result<netsim::LinkId> found = find_link(network_, text);
    if (!found.ok()) {
      reader_.bad(option, found.error().message);
      return false;
    }
    out = found.value();
    return true;
  }

  bool time(std::string_view option, const std::string& text, SimTime& out) {
    const Result<Duration> given = parse_duration(text);
    if (given.ok() && given.value().count() <= milliseconds(86'400'000).count()) {
      out = netsim::from_duration(given.value());
      return true;
    }
    reader_.bad(option, given.ok() ? "is more than a day of simulated time" : given.error().message);
    return false;
  }

  OptionReader& reader_;
  netsim::Network& network_;
  netsim::SimOptions& options_;
};

}  // namespace

void apply_cluster(const model::Cluster& cluster, model::FabricKind fabric, SimSetup& setup) {
  netsim::TrafficClassOptions& traffic = setup.options.classes.front();
  if (fabric == model::FabricKind::oob) return netsim::use_tcp(traffic);
  const model::FabricSpec& spec = cluster.data_fabric_spec(fabric);
  const model::FabricPlan& plan = cluster.fabric(fabric);
  if (!plan.present || plan.host_speed.count() <= 0) return;
  setup.routing.mode = mode_of(*spec.load_balancing);
  if (fabric == model::FabricKind::frontend) return netsim::use_tcp(traffic);
  const model::QosSpec& qos = *spec.qos;
  // The simulator scales thresholds with the port rate from 100 Gb/s; those of the file are for the host ports.
  const model::EcnThresholds thresholds = model::ecn_thresholds(qos, plan.host_speed);
  const auto at_100g = [&](Bytes bytes) {
    return Bytes(multiply_divide(bytes.count(), gigabits(100).count(), plan.host_speed.count()));
  };
  traffic.ecn = *qos.ecn;
  traffic.ecn_min = at_100g(thresholds.min);
  traffic.ecn_max = at_100g(thresholds.max);
  traffic.ecn_probability = static_cast<double>(*qos.ecn_percent) / 100;
  traffic.lossless = *qos.lossless && *qos.pfc != model::PfcMode::off;
  if (qos.priority.has_value()) {
    traffic.priority = static_cast<std::uint8_t>(std::clamp<std::int64_t>(*qos.priority, 0, 7));
  }
  setup.options.switches.watchdog = watchdog_of(qos);
  const model::WatchdogTimes times = model::watchdog_times(qos, 32);
  setup.options.switches.watchdog_detection = netsim::from_duration(times.detection);
  setup.options.switches.watchdog_restoration = netsim::from_duration(times.restoration);
}

void read_sim_options(OptionReader& reader, netsim::Fidelity fallback, SimSetup& setup) {
  netsim::SimOptions& options = setup.options;
  read_fidelity(reader, fallback, setup);
  read_transport(reader, options.classes.front());
  read_ecn(reader, options.classes.front());
  read_switches(reader, options.switches);
  read_routing(reader, setup.routing);
  read_recovery(reader, setup.routing, options.classes.front().transport);
  if (const auto seed = reader.seed("seed")) options.seed = *seed;
  setup.routing.seed = options.seed;
  if (const auto threads = reader.integer("threads", 1, 64)) options.threads = static_cast<int>(*threads);
  if (const auto pairs = reader.integer("queue-pairs", 1, 255)) setup.queue_pairs = static_cast<std::uint8_t>(*pairs);
  read_time(reader, "until", options.end);
  if (options.end.count() == 0) reader.bad("until", "must be greater than 0");
}

void read_sim_series(OptionReader& reader, netsim::SimOptions& options) {
  read_time(reader, "series", options.series_interval);
  if (reader.arguments().has("series") && options.series_interval.count() == 0) {
    reader.bad("series", "must be greater than 0");
  }
}

void read_sim_faults(OptionReader& reader, netsim::Network& network, netsim::SimOptions& options) {
  FaultReader(reader, network, options).read();
}

Result<std::vector<netsim::LinkId>> find_links(const netsim::Network& network, std::string_view text) {
  const std::string name = without_blanks(text);
  if (contains(name, ">")) {
    const Result<netsim::LinkId> link = find_link(network, text);
    if (!link.ok()) return link.error();
    return std::vector<netsim::LinkId>{*link};
  }
  std::vector<netsim::LinkId> links;
  for (std::size_t i = 0; i < network.nodes().size(); ++i) {
    const auto id = static_cast<netsim::NodeId>(i);
    const std::string& own = network.name_of(id);
    if (network.node(id).scale_up || (own != name && !own.starts_with(name + ":"))) continue;
    for (const netsim::LinkId link : network.out_links(id)) {
      const netsim::Node& to = network.node(network.link(link).to);
      if (!to.scale_up && (own == name || to.tier > 0)) links.push_back(link);
    }
  }
  if (links.empty()) return no_node(network, name);
  return links;
}

Result<netsim::LinkId> find_link(const netsim::Network& network, std::string_view text) {
  std::string name = without_blanks(text);
  std::int64_t number = 1;
  if (const std::size_t hash = name.find('#'); hash != std::string::npos) {
    const Result<std::int64_t> given = parse_integer(name.substr(hash + 1));
    if (!given.ok() || given.value() < 1) {
      return Error{ErrorCode::invalid_input, in_backticks(name.substr(hash)) + " is not a cable number", {}};
    }
    number = given.value();
    name.resize(hash);
  }
  const std::size_t arrow = name.find('>');
  if (arrow == std::string::npos) {
    return Error{ErrorCode::invalid_input, in_backticks(text) + " is not a link: write it as be-leaf01>be-spine01", {}};
  }
  const netsim::NodeId from = network.find_node(name.substr(0, arrow));
  const netsim::NodeId to = network.find_node(name.substr(arrow + 1));
  if (from == model::kNone<netsim::NodeId>) return no_node(network, name.substr(0, arrow));
  if (to == model::kNone<netsim::NodeId>) return no_node(network, name.substr(arrow + 1));
  for (const netsim::LinkId link : network.out_links(from)) {
    if (network.link(link).to == to && --number == 0) return link;
  }
  return Error{ErrorCode::invalid_input,
               fmt::format("no cable connects {} and {}{}", network.name_of(from), network.name_of(to),
                           number > 0 ? " with that number" : ""),
               {}};
}

}  // namespace weft::cli

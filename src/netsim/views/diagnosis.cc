#include "netsim/views/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "netsim/views/result_cells.h"
#include "netsim/views/storm_tree.h"

namespace weft::netsim {
namespace {

constexpr double kBusy = 0.6;  // utilization from which a link counts as the bottleneck
constexpr double kBusyTogether = 0.8;
constexpr double kAtLimit = 0.9;  // share of a transfer's time at its host's limit: links were not the bottleneck
constexpr double kFaster = 1.02;
constexpr double kUneven = 1.3;       // hottest relative to the mean of its siblings
constexpr double kNoteworthy = 0.01;  // share of packets or of link time from which a problem is reported

bool decides_by_packet(RoutingMode mode) {
  return mode == RoutingMode::adaptive || mode == RoutingMode::flowlet || mode == RoutingMode::spray;
}

bool is_scale_up(LinkClass kind) { return kind == LinkClass::scale_up_send || kind == LinkClass::scale_up_receive; }

bool is_between_switches(LinkClass kind) {
  return kind == LinkClass::leaf_up || kind == LinkClass::spine_down || kind == LinkClass::spine_up ||
         kind == LinkClass::core_down || kind == LinkClass::lateral;
}

SimTime longest_pause(const SimResult& result) {
  SimTime longest;
  for (const LinkStats& stats : result.links) longest = std::max(longest, stats.paused);
  return longest;
}

Bound::Reason reason_of(const SimResult& result, const Bound& bound) {
  if (bound.utilization >= kBusy) return Bound::Reason::links;
  if (bound.utilization + bound.scale_up >= kBusyTogether) return Bound::Reason::phases;
  if (result.end.count() > 0 && longest_pause(result) > result.end / 3) return Bound::Reason::pauses;
  if (result.totals.timeouts > 0) return Bound::Reason::losses;
  return result.totals.notifications > 0 ? Bound::Reason::control : Bound::Reason::latency;
}

// Time that transfers need at their hosts' limit, as a share of the time they took.
double host_share(const TransferGraph& transfers, const SimOptions& options, const SimResult& result) {
  double at_limit = 0;
  double taken = 0;
  for (std::size_t i = 0; i < std::min(transfers.size(), result.finished.size()); ++i) {
    if (result.finished[i] == kNever || result.started[i] == kNever) continue;
    const Transfer& t = transfers.transfers()[i];
    const auto time = static_cast<double>((result.finished[i] - result.started[i]).count());
    taken += time;
    const auto limit = static_cast<double>(options.classes[t.traffic_class].transport.host_limit.count());
    if (limit <= 0) continue;
    const double need = static_cast<double>(t.bytes.count()) * t.rounds * 8e12 / (limit * t.queue_pairs);
    if (need <= kFaster * time) at_limit += need;  // faster transfers used NVLink
  }
  return taken > 0 ? at_limit / taken : 0;
}

class Diagnosis {
 public:
  explicit Diagnosis(const DiagnosisInput& input)
      : in_(input),
        network_(input.network),
        result_(input.result),
        bound_(bound_of(network_, input.transfers, input.options, result_)) {}

  std::vector<std::string> find() && {
    deadlock();
    storm();
    failures();
    bound();
    polarised();
    losses();
    reordering();
    pauses();
    return std::move(found_);
  }

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> pattern, Args&&... args) {
    found_.push_back(fmt::format(pattern, std::forward<Args>(args)...));
  }

  void deadlock() {
    if (!result_.deadlock) return;
    std::string cycle;
    for (const LinkId link : result_.deadlock_cycle) {
      cycle += (cycle.empty() ? "" : ", ") + network_.link_name(link);
      if (cycle.size() > 300) {
        cycle += ", ...";
        break;
      }
    }
    say("deadlock: buffers wait for each other in a cycle ({}); up-down routing prevents this, and --watchdog drop "
        "would clear it",
        cycle.empty() ? "not recorded" : cycle);
  }

  void storm() {
    for (const PauseStorm& storm : in_.options.pause_storms) {
      const std::string end = result_.totals.watchdog_trips > 0
                                  ? fmt::format("the PFC watchdog stopped it after {}",
                                                format_fine_time(in_.options.switches.watchdog_detection))
                              : in_.options.switches.watchdog == Watchdog::off
                                  ? std::string("a PFC watchdog (--watchdog drop) would stop it")
                                  : std::string("the PFC watchdog did not trigger within the run");
      say("{} sends pause frames from {} on (--storm); {}", network_.name_of(storm.endpoint),
          format_fine_time(storm.from), end);
    }
  }

  void failures() {
    for (const LinkEvent& event : in_.options.link_events) {
      if (event.kind != LinkEvent::Kind::down || event.at >= result_.end) continue;
      say("{} fails at {}: its ends reroute {} later, the rest of the fabric after another {}", link_name(event.link),
          format_fine_time(event.at), format_fine_time(in_.routing.detection),
          format_fine_time(in_.routing.propagation));
    }
  }

  void bound() {
    if (result_.links.empty() || bound_.link == model::kNone<LinkId> || result_.deadlock) return;
    if (bound_.reason != Bound::Reason::links) return idle_links();
    if (is_between_switches(bound_.kind)) return fabric_bound();
    if (is_scale_up(bound_.kind)) {
      say("bounded by NVLink ({} at {}): the fabric between the hosts is not the limit", link_name(bound_.link),
          format_short_percent(bound_.utilization));
      return;
    }
    nic_bound();
  }

  // No link was full: why did it take so long?
  void idle_links() {
    const std::string busiest =
        fmt::format("{} at most {}", to_text(bound_.kind), format_short_percent(bound_.utilization));
    switch (bound_.reason) {
      case Bound::Reason::links:
      case Bound::Reason::pauses:  // reported by pauses()
        break;
      case Bound::Reason::phases:
        say("NVLink and the fabric are used in turn ({}, NVLink {}): more channels would overlap traffic inside the "
            "hosts with traffic between them",
            busiest, format_short_percent(bound_.scale_up));
        break;
      case Bound::Reason::losses:
        say("no link was busy for long ({}): senders waited for {}", busiest,
            grouped_plural(result_.totals.timeouts, "timeout", "timeouts"));
        break;
      case Bound::Reason::control:
        say("no link was busy for long ({}): {} slowed senders down, and they did not recover; fewer collisions (more "
            "queue pairs, adaptive routing), higher ECN thresholds or a transport that recovers faster would help",
            busiest, grouped_plural(result_.totals.notifications, "notification", "notifications"));
        break;
      case Bound::Reason::hosts:
        say("bounded by the hosts: their software moves {} per connection ({}); RDMA avoids it, and more "
            "connections (--queue-pairs) use more cores",
            to_text(bound_.host_limit), busiest);
        break;
      case Bound::Reason::latency:
        say("no link was busy for long ({}): latency and dependencies between transfers determine the time; larger "
            "messages or fewer dependent steps would change it, faster links would not",
            busiest);
        break;
    }
    if (is_between_switches(bound_.kind) && bound_.utilization >= 0.1) uneven_links();
  }

  void nic_bound() {
    const ClassLoad load = load_of(bound_.kind);
    const bool all_busy = load.mean_utilization > 0.75 * load.max_utilization;
    if (!all_busy && bound_.kind == LinkClass::nic_receive) {
      const std::uint64_t senders = senders_to(network_.link(bound_.link).to);
      say("incast: bounded by the receiver {} ({} busy, {}); fewer senders at a time or more receivers would "
          "shorten it",
          network_.name_of(network_.link(bound_.link).to), format_short_percent(bound_.utilization),
          grouped_plural(senders, "sender", "senders"));
      return;
    }
    say("bounded by the NICs ({} at {}, mean {}): the switches keep up; faster or more NICs would shorten it",
        link_name(bound_.link), format_short_percent(bound_.utilization), format_short_percent(load.mean_utilization));
  }

  void fabric_bound() {
    if (uneven_links()) return;
    say("bounded by the {} ({} at {}): they are evenly loaded, so only more of them (less oversubscription) or less "
        "traffic across them would shorten it",
        to_text(bound_.kind), link_name(bound_.link), format_short_percent(bound_.utilization));
  }

  // Whether the hottest link has more than its share; reports it.
  bool uneven_links() {
    const std::vector<LinkId> siblings = siblings_of(network_, bound_.link);
    double mean = 0;
    for (const LinkId link : siblings) mean += share(link);
    mean /= static_cast<double>(std::max<std::size_t>(siblings.size(), 1));
    if (siblings.size() < 2 || mean <= 0 || bound_.utilization <= kUneven * mean) return false;
    say("{} is the {}: {} busy where the {} of {} have a mean of {}{}", link_name(bound_.link),
        bound_.reason == Bound::Reason::links ? "bottleneck" : "hottest link", format_short_percent(bound_.utilization),
        to_text(bound_.kind), network_.name_of(network_.link(bound_.link).from), format_short_percent(mean), remedy());
    return true;
  }

  // Why one of several equal links has more than its share, and how to balance them.
  [[nodiscard]] std::string remedy() const {
    if (decides_by_packet(in_.routing.mode)) return "";
    if (in_.routing.mode == RoutingMode::d_mod_k || in_.routing.mode == RoutingMode::pinned) {
      return "; routes are static: --routing ecmp with several queue pairs, or adaptive routing, would spread them";
    }
    std::string why = ";";
    if (model::index_of(bound_.link) < in_.connections.size()) {
      const std::vector<LinkId> siblings = siblings_of(network_, bound_.link);
      std::uint64_t all = 0;
      for (const LinkId link : siblings) all += in_.connections[model::index_of(link)];
      why = fmt::format("; {} hash onto it (mean {:.1f}):",
                        grouped_plural(in_.connections[model::index_of(bound_.link)], "connection", "connections"),
                        static_cast<double>(all) / static_cast<double>(siblings.size()));
    }
    return why + (in_.routing.seeds == HashSeeds::shared
                      ? " more queue pairs, per-tier seeds or adaptive routing would spread them"
                      : " more queue pairs or adaptive routing would spread them");
  }

  // One seed for all tiers: flows that a leaf's hash sent to one spine, the spine's hash sends to one core.
  void polarised() {
    if (in_.routing.seeds != HashSeeds::shared || decides_by_packet(in_.routing.mode)) return;
    const ClassLoad load = load_of(LinkClass::spine_up);
    if (load.links == 0 || load.used == 0 || load.used * 2 > load.links) return;
    say("polarized: only {} of {} spine uplinks carry traffic, because leaves and spines share a hash seed; "
        "--hash-seeds per-tier would use the rest",
        load.used, load.links);
  }

  void losses() {
    const SimTotals& totals = result_.totals;
    if (totals.dropped == 0) return;
    const bool lossless = std::any_of(in_.options.classes.begin(), in_.options.classes.end(),
                                      [](const TrafficClassOptions& each) { return each.lossless; });
    std::string advice = "lower ECN thresholds or a deeper buffer would lose fewer";
    if (!in_.options.link_events.empty()) {
      advice = "links fail in this run";
    } else if (!in_.options.switches.pfc && lossless) {
      advice = "PFC is off: with PFC, a lossless class loses no packets";
    } else if (lossless && in_.options.switches.watchdog != Watchdog::off && totals.watchdog_trips > 0) {
      advice = fmt::format("the PFC watchdog triggered {}", grouped_plural(totals.watchdog_trips, "time", "times"));
    } else if (lossless && in_.options.switches.headroom.count() > 0) {
      advice = "the headroom is too small for the packets in flight when a pause is sent";
    }
    say("{} lost and {} retransmitted; {}", grouped_plural(totals.dropped, "packet was", "packets were"),
        group_digits(totals.retransmitted), advice);
  }

  void reordering() {
    const SimTotals& totals = result_.totals;
    if (totals.data_packets == 0) return;
    const double part = static_cast<double>(totals.out_of_order) / static_cast<double>(totals.data_packets);
    const bool resends = std::any_of(in_.options.classes.begin(), in_.options.classes.end(),
                                     [](const auto& each) { return each.transport.recovery == Recovery::go_back_n; });
    if (part < kNoteworthy || !resends) return;
    say("{} of the packets arrived out of order, which go-back-N treats as loss; --recovery selective keeps them",
        format_short_percent(part));
  }

  void pauses() {
    if (result_.totals.pauses == 0 || result_.end.count() <= 0 || result_.pauses.empty()) return;
    const StormTree tree = storm_tree(network_, result_);
    if (tree.empty()) return;
    const StormRoot& root = tree.roots.front();
    const double busiest =
        static_cast<double>(longest_pause(result_).count()) / static_cast<double>(result_.end.count());
    if (busiest < kNoteworthy) return;
    say("PFC paused links for up to {} of the run; most of it ({} over {}, {} deep) began at {}{}",
        format_short_percent(busiest), format_fine_time(root.paused), grouped_plural(root.links, "link", "links"),
        grouped_plural(root.deepest, "hop", "hops"), root_name(network_, root), pause_advice(root));
  }

  [[nodiscard]] std::string pause_advice(const StormRoot& root) const {
    if (root.endpoint != model::kNone<NodeId>) return "";
    const bool controlled = std::any_of(in_.options.classes.begin(), in_.options.classes.end(), [](const auto& each) {
      return each.ecn && each.transport.kind != Transport::pfc_only;
    });
    return controlled ? "; lower ECN thresholds make senders slow down before PFC triggers"
                      : "; end-to-end congestion control (--transport dcqcn with ECN) would keep queues below the PFC "
                        "threshold";
  }

  [[nodiscard]] double share(LinkId link) const {
    return utilization(network_.link(link), result_.links[model::index_of(link)], result_.end);
  }
  [[nodiscard]] std::string link_name(LinkId link) const { return network_.link_name(link); }
  [[nodiscard]] ClassLoad load_of(LinkClass kind) const {
    for (const ClassLoad& load : class_loads(network_, result_)) {
      if (load.kind == kind) return load;
    }
    return {};
  }
  [[nodiscard]] std::uint64_t senders_to(NodeId node) const {
    std::vector<std::uint32_t> senders;
    for (const Transfer& transfer : in_.transfers.transfers()) {
      if (transfer.destination == node) senders.push_back(model::index_of(transfer.source));
    }
    std::sort(senders.begin(), senders.end());
    return static_cast<std::uint64_t>(std::unique(senders.begin(), senders.end()) - senders.begin());
  }

  const DiagnosisInput& in_;
  const Network& network_;
  const SimResult& result_;
  Bound bound_;
  std::vector<std::string> found_;
};

}  // namespace

Bound bound_of(const Network& network, const SimResult& result) {
  Bound bound;
  double scale_up = 0;
  for (const ClassLoad& load : class_loads(network, result)) {
    if (load.used == 0) continue;
    if (is_scale_up(load.kind)) scale_up = std::max(scale_up, load.max_utilization);
    // Within 1 %, a link nearer to the core of the fabric is more informative than the NIC that feeds it.
    const bool nearer = is_between_switches(load.kind) && load.max_utilization > bound.utilization - 0.01;
    if (bound.link != model::kNone<LinkId> && load.max_utilization <= bound.utilization && !nearer) continue;
    bound.kind = load.kind;
    bound.link = load.hottest;
    bound.utilization = load.max_utilization;
  }
  if (!is_scale_up(bound.kind)) bound.scale_up = scale_up;
  bound.reason = reason_of(result, bound);
  return bound;
}

Bound bound_of(const Network& network, const TransferGraph& transfers, const SimOptions& options,
               const SimResult& result) {
  Bound bound = bound_of(network, result);
  const double hosts = host_share(transfers, options, result);
  if (hosts < kAtLimit && (hosts < kBusy || bound.utilization >= kBusy)) return bound;
  bound.reason = Bound::Reason::hosts;
  for (const TrafficClassOptions& c : options.classes) {
    bound.host_limit = std::max(bound.host_limit, c.transport.host_limit);
  }
  return bound;
}

std::string to_text(const Bound& bound) {
  if (bound.link == model::kNone<LinkId>) return "nothing was sent";
  std::string busiest = fmt::format("{} at {}", to_text(bound.kind), format_short_percent(bound.utilization));
  switch (bound.reason) {
    case Bound::Reason::links:
      break;
    case Bound::Reason::phases:
      return fmt::format("{}, NVLink at {} in turn", busiest, format_short_percent(bound.scale_up));
    case Bound::Reason::pauses:
      return fmt::format("pauses ({})", busiest);
    case Bound::Reason::losses:
      return fmt::format("timeouts ({})", busiest);
    case Bound::Reason::control:
      return fmt::format("congestion control ({})", busiest);
    case Bound::Reason::hosts:
      return fmt::format("host software at {} per connection ({})", to_text(bound.host_limit), busiest);
    case Bound::Reason::latency:
      return fmt::format("latency and waiting ({})", busiest);
  }
  return busiest;
}

std::vector<std::uint32_t> connections_by_link(Routes& routes, const TransferGraph& transfers, std::uint64_t seed,
                                               std::uint64_t limit) {
  if (decides_by_packet(routes.options().mode)) return {};
  std::uint64_t connections = 0;
  for (const Transfer& transfer : transfers.transfers()) connections += transfer.queue_pairs;
  if (connections > limit) return {};
  std::vector<std::uint32_t> counts(routes.network().links().size());
  std::vector<LinkId> path;
  for (const Transfer& transfer : transfers.transfers()) {
    for (std::uint32_t pair = 0; pair < transfer.queue_pairs; ++pair) {
      const FlowKey key = flow_key(routes.network(), transfer.source, transfer.destination, pair, seed);
      if (!routes.path(key, path)) continue;
      for (const LinkId link : path) ++counts[model::index_of(link)];
    }
  }
  return counts;
}

std::vector<std::string> diagnose(const DiagnosisInput& input) { return Diagnosis(input).find(); }

}  // namespace weft::netsim

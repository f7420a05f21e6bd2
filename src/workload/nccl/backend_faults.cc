#include "workload/nccl/backend_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/human_format.h"
#include "netsim/routing/routing.h"

namespace weft::workload {
namespace {

using netsim::LinkEvent;
using netsim::LinkId;
using netsim::Network;
using netsim::NodeId;

// PyTorch aborts a collective that has not ended after ten minutes (ProcessGroupNCCL's default). TCP itself would
// retransmit for about 15 (net.ipv4.tcp_retries2), so that this comes first.
constexpr SimTime kWatchdog = netsim::microseconds(600'000'000);
constexpr std::size_t kMaxCauses = 4;

std::int64_t number_of(const std::map<std::string, std::string>& environment, const char* name, std::int64_t least,
                       std::int64_t most, std::int64_t fallback) {
  const auto found = environment.find(name);
  if (found == environment.end()) return fallback;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool valid = error == std::errc() && end == text.data() + text.size() && value >= least && value <= most;
  return valid ? value : fallback;
}

LinkId cable_of(const Network& network, LinkId link) {
  const LinkId back = network.link(link).reverse;
  return back == model::kNone<LinkId> ? link : std::min(link, back);
}

using DownLinks = std::set<LinkId>;  // cables

class Judge {
 public:
  Judge(const BackendFaults& faults, const std::vector<NodeId>& ranks, std::uint32_t per_server,
        const netsim::RoutingOptions& routing, const RdmaTimeout& timeout, bool sockets)
      : faults_(faults),
        network_(faults.network),
        ranks_(ranks),
        per_server_(std::max(1U, per_server)),
        timeout_(timeout),
        sockets_(sockets),
        routing_(routing),
        routes_(network_, routing) {}

  FaultVerdict judge() {
    outcome().any = true;
    for (const LinkId link : faults_.down()) down_.insert(cable_of(network_, link));
    find_ports();
    for (const LinkId link : down_) routes_.set_link(link, false);
    find_partitions();
    find_black_holes();
    for (const LinkId link : down_) routes_.set_link(link, true);
    if (outcome().continues) find_stalls();
    describe_impaired();
    return std::move(verdict_);
  }

 private:
  FaultOutcome& outcome() { return verdict_.outcome; }

  [[nodiscard]] bool has_port(NodeId endpoint, const DownLinks& down) const {
    for (const LinkId link : network_.out_links(endpoint)) {
      const NodeId to = network_.link(link).to;
      const netsim::Node& next = network_.node(to);
      if (next.scale_up || down.contains(cable_of(network_, link))) continue;
      if (next.tier > 0) return true;
      for (const LinkId up : network_.out_links(to)) {  // a NIC that several GPUs share
        if (network_.node(network_.link(up).to).tier > 0 && !down.contains(cable_of(network_, up))) return true;
      }
    }
    return false;
  }

  void add_cause(std::string cause) {
    std::vector<std::string>& causes = outcome().causes;
    if (causes.size() < kMaxCauses)
      causes.push_back(std::move(cause));
    else if (causes.size() == kMaxCauses)
      causes.emplace_back("and more");
  }

  void end(std::string cause, bool restarts) {
    FaultOutcome& out = outcome();
    out.continues = false;
    out.restarts = out.restarts && restarts;
    add_cause(std::move(cause));
    out.ends_after = sockets_ ? kWatchdog : timeout_.total();
    out.ends_by = sockets_ ? "NCCL's watchdog ends the collective, which the sockets still retry"
                           : fmt::format("RDMA gives up after {} retries of {:.2f} s, and NCCL aborts",
                                         timeout_.retries, static_cast<double>(timeout_.retry.count()) / 1e12);
  }

  // Lost ports end a job on several servers: its queue pairs stay with the NIC on which they were created.
  void find_ports() {
    PortsLeft& left = verdict_.ports;
    left.endpoint = ranks_;
    left.lost.assign(ranks_.size(), false);
    outcome().ports = outcome().ports_left = per_server_;
    for (std::size_t first = 0; first < ranks_.size(); first += per_server_) {
      const std::size_t last = std::min(ranks_.size(), first + per_server_);
      std::vector<std::size_t> usable;
      for (std::size_t r = first; r < last; ++r) {
        left.lost[r] = !has_port(ranks_[r], down_);
        if (!left.lost[r]) usable.push_back(r);
      }
      outcome().ports_left = std::min(outcome().ports_left, static_cast<std::uint32_t>(usable.size()));
      if (usable.empty() && several_servers()) outcome().restarts = false;
      for (std::size_t r = first, next = 0; r < last && !usable.empty(); ++r) {
        if (left.lost[r]) left.endpoint[r] = ranks_[usable[next++ % usable.size()]];
      }
    }
    if (std::string lost = describe_lost(); !lost.empty() && several_servers()) end(std::move(lost), true);
  }

  // "train001:gpu0 and 7 other GPUs on 8 servers have no backend port"
  [[nodiscard]] std::string describe_lost() const {
    std::string name;
    std::size_t gpus = 0;
    std::set<std::size_t> servers;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (!verdict_.ports.lost[r]) continue;
      if (gpus++ == 0) name = network_.name_of(ranks_[r]);
      servers.insert(r / per_server_);
    }
    if (gpus == 0) return {};
    if (gpus == 1) return name + " has no backend port";
    if (servers.size() == 1 && gpus == per_server_) return name.substr(0, name.find(':')) + " has no backend port left";
    return fmt::format("{} and {} on {} have no backend port", name, plural(gpus - 1, "other GPU"),
                       plural(servers.size(), "server"));
  }

  [[nodiscard]] bool several_servers() const { return ranks_.size() > per_server_; }

  // Calls `visit` with pairs on one rail, where collectives and messages between stages run: all of them on up to 64
  // servers, else those at distances of rings and trees.
  template <class Visit>
  void for_each_pair(Visit visit) const {
    const std::size_t servers = ranks_.size() / per_server_;
    for (std::size_t distance = 1; distance<servers; distance = servers> 64 ? distance * 2 : distance + 1) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const std::size_t peer = (r + distance * per_server_) % ranks_.size();
        if (!verdict_.ports.lost[r] && !verdict_.ports.lost[peer]) visit(ranks_[r], ranks_[peer]);
      }
    }
  }

  bool find_path(NodeId from, NodeId to, std::vector<LinkId>& out) {
    out.clear();
    return routes_.path(netsim::flow_key(network_, from, to, 0, routing_.seed), out);
  }

  void find_partitions() {
    std::vector<LinkId> path;
    for_each_pair([&](NodeId from, NodeId to) {
      if (!find_path(from, to, path))
        end(fmt::format("no path is left from {} to {}", network_.name_of(from), network_.name_of(to)), false);
    });
  }

  // Links that are up and deliver no full packet: routing does not avoid them.
  void find_black_holes() {
    std::map<LinkId, std::string> holes;
    for (const LinkEvent& event : faults_.impaired) {
      if (event.kind == LinkEvent::Kind::errors && event.loss >= 1)
        holes[cable_of(network_, event.link)] = "loses all packets";
      if (event.kind == LinkEvent::Kind::mtu && event.mtu < faults_.payload)
        holes[cable_of(network_, event.link)] = fmt::format("drops packets above its MTU of {}", to_text(event.mtu));
    }
    if (holes.empty()) return;
    std::vector<LinkId> path;
    std::set<LinkId> met;
    for_each_pair([&](NodeId from, NodeId to) {
      if (!find_path(from, to, path)) return;
      for (const LinkId link : path) {
        const auto hole = holes.find(cable_of(network_, link));
        if (hole != holes.end() && met.insert(hole->first).second)
          end(fmt::format("{} {}", network_.link_name(hole->first), hole->second), false);
      }
    });
  }

  void describe_impaired() {
    for (const LinkEvent& event : faults_.impaired) {
      if (event.kind == LinkEvent::Kind::errors && event.loss > 0 && event.loss < 1)
        add_cause(fmt::format("{} loses {:.3g} % of packets", network_.link_name(event.link), 100 * event.loss));
    }
    for (const LinkId link : faults_.slowed)
      add_cause(fmt::format("{} runs at {}", network_.link_name(link), to_text(network_.link(link).rate)));
    for (const netsim::PauseStorm& storm : faults_.storms)
      add_cause(network_.name_of(storm.endpoint) + " sends pause frames");
  }

  // Lost packets are sent again at the next retry after a path is back.
  [[nodiscard]] SimTime until_retry(SimTime gone) const {
    if (sockets_) return gone * 2;  // the retransmission timeout doubles each time (RFC 6298)
    const std::int64_t tries = (gone.count() + timeout_.retry.count() - 1) / timeout_.retry.count();
    return timeout_.retry * tries;
  }

  void find_stalls() {
    std::set<LinkId> used;
    std::vector<LinkId> path;
    for_each_pair([&](NodeId from, NodeId to) {
      if (!find_path(from, to, path)) return;
      for (const LinkId link : path) used.insert(cable_of(network_, link));
    });
    // Cables that fail at the same moment are one event.
    std::map<std::pair<SimTime, SimTime>, DownLinks> events;
    for (const LinkOutage& outage : faults_.outages)
      events[{outage.from, outage.until}].insert(cable_of(network_, outage.link));
    for (const auto& [when, links] : events) {
      const SimTime gone = when.second == netsim::kNever ? netsim::kNever : when.second - when.first;
      if (std::none_of(links.begin(), links.end(), [&](LinkId link) { return used.contains(link); })) continue;
      add_stall(gone, links);
    }
  }

  void add_stall(SimTime gone, const DownLinks& links) {
    const auto without_port =
        std::find_if(ranks_.begin(), ranks_.end(), [&](NodeId rank) { return !has_port(rank, links); });
    SimTime away = gone;
    if (without_port == ranks_.end()) away = std::min(gone, routing_.detection + routing_.propagation);
    const SimTime most = sockets_ ? kWatchdog : timeout_.total();
    if (away >= most) {
      const std::string who = without_port != ranks_.end() ? network_.name_of(*without_port) + " has no backend port"
                                                           : network_.link_name(*links.begin()) + " is down";
      return end(fmt::format("{} for {:.2f} s", who, static_cast<double>(away.count()) / 1e12), true);
    }
    outcome().stall += until_retry(away);
    add_cause(
        fmt::format("{}{} down {}", network_.link_name(*links.begin()),
                    links.size() > 1 ? fmt::format(" and {} are", plural(links.size() - 1, "other cable")) : " is",
                    gone == netsim::kNever ? "and traffic takes other paths"
                                           : fmt::format("for {:.3f} s", static_cast<double>(gone.count()) / 1e12)));
  }

  const BackendFaults& faults_;
  const Network& network_;
  const std::vector<NodeId>& ranks_;
  std::uint32_t per_server_;
  RdmaTimeout timeout_;
  bool sockets_;
  netsim::RoutingOptions routing_;
  netsim::Routes routes_;
  DownLinks down_;
  FaultVerdict verdict_;
};

}  // namespace

RdmaTimeout rdma_timeout(const std::map<std::string, std::string>& environment) {
  RdmaTimeout timeout;
  const std::int64_t exponent = number_of(environment, "NCCL_IB_TIMEOUT", 1, 31, 20);
  timeout.retry = netsim::picoseconds(4'096'000) * (std::int64_t{1} << exponent);
  timeout.retries = number_of(environment, "NCCL_IB_RETRY_CNT", 1, 7, 7);
  return timeout;
}

std::vector<netsim::LinkId> BackendFaults::down() const {
  std::vector<LinkId> links;
  for (const LinkOutage& outage : outages) {
    if (outage.until == netsim::kNever) links.push_back(outage.link);
  }
  return links;
}

BackendFaults faults_from(const netsim::Network& built, netsim::Network network, const netsim::SimOptions& events) {
  BackendFaults faults{std::move(network), {}, {}, events.pause_storms, {}, events.classes.front().transport.payload};
  for (std::size_t i = 0; i < built.links().size(); ++i) {
    const auto link = static_cast<LinkId>(i);
    if (faults.network.link(link).rate < built.link(link).rate && cable_of(built, link) == link)
      faults.slowed.push_back(link);
  }
  std::map<LinkId, std::size_t> open;  // cable to its outage
  for (const LinkEvent& event : events.link_events) {
    const LinkId cable = cable_of(faults.network, event.link);
    const auto found = open.find(cable);
    switch (event.kind) {
      case LinkEvent::Kind::down:
        if (found != open.end()) break;
        open[cable] = faults.outages.size();
        faults.outages.push_back({event.link, event.at, netsim::kNever});
        break;
      case LinkEvent::Kind::up:
        if (found == open.end()) break;
        faults.outages[found->second].until = event.at;
        open.erase(found);
        break;
      case LinkEvent::Kind::errors:
      case LinkEvent::Kind::mtu:
        faults.impaired.push_back(event);
        faults.impaired.back().at = SimTime(0);
        break;
    }
  }
  return faults;
}

FaultVerdict judge_faults(const BackendFaults& faults, const std::vector<netsim::NodeId>& ranks,
                          std::uint32_t per_server, const netsim::RoutingOptions& routing, const RdmaTimeout& timeout,
                          bool sockets) {
  return Judge(faults, ranks, per_server, routing, timeout, sockets).judge();
}

}  // namespace weft::workload

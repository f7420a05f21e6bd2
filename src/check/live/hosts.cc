// Compares observed hosts with the model: ports, addresses, speeds, GPUs, kernel settings, counters.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/host_range.h"
#include "base/human_format.h"
#include "check/core/rule_tools.h"
#include "check/live/internal.h"

namespace weft::check {
namespace {

bool is_lossless(const model::QosSpec& qos, std::int64_t priority) {
  if (!*qos.lossless) return false;
  if (qos.pfc_priorities.has_value()) {
    return std::find(qos.pfc_priorities->begin(), qos.pfc_priorities->end(), priority) != qos.pfc_priorities->end();
  }
  return qos.priority.has_value() && *qos.priority == priority;
}

// The priority of a pause counter: rx_prio3_pause (mlx5), rx_pfc_ena_frames_pri3 (bnxt), tx_prio_3_pfc; -1 for other
// counters, including the matching duration counters.
int priority_of(std::string_view counter) {
  if (counter.find("duration") != std::string_view::npos || counter.find("transition") != std::string_view::npos) {
    return -1;
  }
  for (const std::string_view mark : {"prio_", "prio", "pri"}) {
    const std::size_t at = counter.find(mark);
    if (at == std::string_view::npos || at + mark.size() >= counter.size()) continue;
    const char digit = counter[at + mark.size()];
    if (digit >= '0' && digit <= '7') return digit - '0';
  }
  return -1;
}

class HostComparison {
 public:
  HostComparison(const LiveContext& parts, const LiveHost& host)
      : parts_(parts), cluster_(parts.cluster), host_(host), facts_(*host.facts) {}

  void compare() {
    if (host_.device == model::kNone<model::DeviceId>) {
      LiveDifference& difference = add_difference(LiveKind::unknown_device, facts_.place, "");
      difference.confidence = Confidence::certain;
      difference.seen = "host facts";
      difference.message = fmt::format("the facts are from host `{}`, which is not in the design", facts_.host);
      return;
    }
    for (const InterfaceGuess& guess : host_.guesses) {
      const config::HostInterface& interface = facts_.interfaces[guess.interface];
      if (guess.port != model::kNone<model::PortId>) {
        compare_port(guess, interface);
      } else {
        compare_stray(guess, interface);
      }
      compare_settings(guess, interface);
    }
    if (!facts_.interfaces.empty()) count_ports();
    count_gpus();
  }

 private:
  LiveDifference& add_difference(LiveKind kind, const SourceLocation& place, const std::string& port) {
    LiveDifference difference;
    difference.kind = kind;
    difference.device = host_.device == model::kNone<model::DeviceId> ? facts_.host : cluster_.name_of(host_.device);
    difference.port = port;
    difference.place = place;
    parts_.differences.push_back(std::move(difference));
    return parts_.differences.back();
  }
  void fill_difference(LiveDifference& difference, const InterfaceGuess& guess, std::string planned, std::string seen,
                       std::string what) const {
    difference.confidence = guess.confidence <= GuessConfidence::high ? Confidence::likely : Confidence::low;
    difference.planned = std::move(planned);
    difference.seen = std::move(seen);
    difference.what = std::move(what);
    const config::HostInterface& interface = facts_.interfaces[guess.interface];
    difference.message = fmt::format("{} ({}) of {} {}", difference.port.empty() ? "a port" : difference.port,
                                     interface.name, difference.device, difference.what);
  }

  void compare_port(const InterfaceGuess& guess, const config::HostInterface& interface) {
    const model::Port& port = cluster_.port(guess.port);
    const std::string name = cluster_.port_name(guess.port);
    if (interface.state == "down") {
      fill_difference(add_difference(LiveKind::link_down, interface.place, name), guess, "up", "down", "is down");
    } else if (interface.speed_mbps > 0 && interface.speed_mbps != port.speed_mbps) {
      const std::string seen = speed_text(interface.speed_mbps);
      const std::string planned = speed_text(port.speed_mbps);
      fill_difference(add_difference(LiveKind::wrong_speed, interface.place, name), guess, planned, seen,
                      fmt::format("runs at {} instead of {}", seen, planned));
    }
    if (cluster_.fabric(port.fabric).network == model::NetworkKind::infiniband)
      return;  // IP over InfiniBand is not planned
    compare_mtu(guess, interface, port, name);
    compare_address(guess, interface, port, name);
  }

  void compare_mtu(const InterfaceGuess& guess, const config::HostInterface& interface, const model::Port& port,
                   const std::string& name) {
    const model::FabricSpec* fabric = cluster_.find_fabric_spec(port.fabric);
    if (fabric == nullptr || interface.mtu == 0 || interface.mtu == *fabric->mtu) return;
    fill_difference(add_difference(LiveKind::wrong_mtu, interface.place, name), guess, std::to_string(*fabric->mtu),
                    std::to_string(interface.mtu),
                    fmt::format("has MTU {} instead of {}", interface.mtu, *fabric->mtu));
  }

  void compare_address(const InterfaceGuess& guess, const config::HostInterface& interface, const model::Port& port,
                       const std::string& name) {
    if (port.address.bits == 0 || port.subnet == model::kNone<model::SubnetId> || interface.state == "down") return;
    const model::FabricSpec* fabric = cluster_.find_fabric_spec(port.fabric);
    if (fabric != nullptr && *fabric->bond && interface.addresses.empty()) return;  // the bond has the address
    const Ipv4Prefix prefix = cluster_.subnet(port.subnet).prefix;
    const std::string planned = fmt::format("{}/{}", to_text(port.address), prefix.length);
    std::string seen;
    for (std::size_t i = 0; i < interface.addresses.size(); ++i) {
      const int length = i < interface.prefixes.size() ? interface.prefixes[i].length : 32;
      if (interface.addresses[i] == port.address && length == prefix.length) return;
      seen += fmt::format("{}{}/{}", seen.empty() ? "" : ", ", to_text(interface.addresses[i]), length);
    }
    LiveDifference& difference = add_difference(LiveKind::wrong_address, interface.place, name);
    fill_difference(difference, guess, planned, seen.empty() ? "none" : seen,
                    seen.empty() ? fmt::format("has no address instead of {}", planned)
                                 : fmt::format("has address {} instead of {}", seen, planned));
    difference.what.clear();
  }

  // An interface that matches none of the host's planned ports.
  void compare_stray(const InterfaceGuess& guess, const config::HostInterface& interface) {
    const bool planned_nowhere = !guess.fabric || *guess.fabric != model::FabricKind::oob;
    if (interface.state != "up" || !planned_nowhere || is_bmc_interface(interface)) return;
    LiveDifference& difference = add_difference(LiveKind::extra_interface, interface.place, interface.name);
    fill_difference(difference, guess, "port not found", interface.name, "is up but not one of its planned ports");
    difference.message =
        fmt::format("interface {} of {} is up but not one of its planned ports", interface.name, difference.device);
    if (!guess.reasons.empty()) difference.related.push_back({{}, guess.reasons.front()});
  }

  void compare_settings(const InterfaceGuess& guess, const config::HostInterface& interface) {
    if (!guess.fabric) return;
    const model::FabricSpec* fabric = cluster_.find_fabric_spec(*guess.fabric);
    if (fabric == nullptr) return;
    const std::string name =
        guess.port == model::kNone<model::PortId> ? interface.name : cluster_.port_name(guess.port);
    const std::string_view where = model::to_text(*guess.fabric);
    if (interface.default_route && !*fabric->default_route) {
      fill_difference(add_difference(LiveKind::default_route, interface.place, name), guess, "no default route",
                      "default route",
                      fmt::format("has a default route on the {} fabric, which must not have one", where));
    }
    if (*guess.fabric == model::FabricKind::frontend) return;
    compare_filter(guess, interface, name);
    compare_forwarding(guess, interface, name, where);
    compare_pauses(guess, interface, name, *fabric);
    if (*guess.fabric == model::FabricKind::backend && guess.port != model::kNone<model::PortId>)
      compare_functions(guess, interface, name);
  }

  // The kernel uses the larger of `all` and the interface's own value (Documentation/networking/ip-sysctl).
  void compare_filter(const InterfaceGuess& guess, const config::HostInterface& interface, const std::string& name) {
    const auto own = sysctl(interface.name, "rp_filter");
    const auto all = sysctl("all", "rp_filter");
    if (cluster_.fabric(*guess.fabric).rails < 2 || std::max(own.value, all.value) != 1) return;
    fill_difference(add_difference(LiveKind::strict_filter, own.value == 1 ? own.place : all.place, name), guess,
                    "0 or 2", "1", "has rp_filter 1 (strict), which drops packets that arrive over another rail");
  }

  void compare_forwarding(const InterfaceGuess& guess, const config::HostInterface& interface, const std::string& name,
                          std::string_view where) {
    Sysctl own = sysctl(interface.name, "forwarding");
    if (own.value < 0) own = setting("net.ipv4.ip_forward");  // sets it on every interface
    if (own.value != 1) return;
    fill_difference(add_difference(LiveKind::forwarding, own.place, name), guess, "0", "1",
                    fmt::format("forwards packets: the host routes into the {} fabric", where));
  }

  void compare_pauses(const InterfaceGuess& guess, const config::HostInterface& interface, const std::string& name,
                      const model::FabricSpec& fabric) {
    std::set<int> lossy;
    for (const auto& [counter, value] : interface.pause_counters) {
      const int priority = priority_of(counter);
      if (priority >= 0 && value > 0 && !is_lossless(*fabric.qos, priority)) lossy.insert(priority);
    }
    if (lossy.empty()) return;
    std::string list;
    for (const int priority : lossy) list += fmt::format("{}{}", list.empty() ? "" : ", ", priority);
    const bool one = lossy.size() == 1;
    fill_difference(add_difference(LiveKind::lossy_pause, interface.place, name), guess,
                    fabric.qos->priority.has_value() ? std::to_string(*fabric.qos->priority) : "none", list,
                    fmt::format("received pauses on {} {}, which {} planned as lossy", one ? "priority" : "priorities",
                                list, one ? "is" : "are"));
  }

  // A pod gets a virtual function of every backend port.
  void compare_functions(const InterfaceGuess& guess, const config::HostInterface& interface, const std::string& name) {
    const int pool_index = cluster_.group_of(host_.device).pool;
    if (pool_index < 0 || !runs_kubernetes(cluster_.spec())) return;
    const model::PoolSpec& pool = (*cluster_.spec().pools)[static_cast<std::size_t>(pool_index)];
    const std::int64_t needed = *pool.pods_per_node;
    if (!*pool.bios->sriov || interface.vfs_max < 0 || interface.vfs >= needed) return;
    const std::int64_t seen = std::max<std::int64_t>(interface.vfs, 0);
    fill_difference(add_difference(LiveKind::few_functions, interface.place, name), guess, std::to_string(needed),
                    std::to_string(seen),
                    fmt::format("has {} for {}", plural(seen, "virtual function", "virtual functions"),
                                plural(needed, "pod per node", "pods per node")));
  }

  struct Sysctl {
    int value = -1;
    SourceLocation place;
  };
  [[nodiscard]] Sysctl sysctl(std::string_view scope, std::string_view name) const {
    std::string key = "net.ipv4.conf.";
    for (const char c : scope) key += c == '.' ? '/' : c;
    return setting(fmt::format("{}.{}", key, name));
  }
  [[nodiscard]] Sysctl setting(std::string_view key) const {
    for (std::size_t i = 0; i < facts_.sysctls.size(); ++i) {
      if (facts_.sysctls[i].first != key) continue;
      const std::string& text = facts_.sysctls[i].second;
      const int value = text.size() == 1 && text[0] >= '0' && text[0] <= '9' ? text[0] - '0' : -1;
      return {value, i < facts_.sysctl_places.size() ? facts_.sysctl_places[i] : facts_.place};
    }
    return {};
  }

  void count_ports() {
    std::map<model::FabricKind, std::pair<int, int>> ports;  // planned, found
    for (const model::PortId id : cluster_.ports_of(host_.device)) {
      const model::FabricKind fabric = cluster_.port(id).fabric;
      if (fabric != model::FabricKind::oob) ++ports[fabric].first;
    }
    for (const InterfaceGuess& guess : host_.guesses) {
      if (guess.port != model::kNone<model::PortId> && *guess.fabric != model::FabricKind::oob)
        ++ports[*guess.fabric].second;
    }
    for (const auto& [fabric, count] : ports) {
      if (count.second >= count.first) continue;
      LiveDifference& difference = add_difference(LiveKind::few_ports, facts_.place, "");
      difference.planned = std::to_string(count.first);
      difference.seen = std::to_string(count.second);
      difference.what = fmt::format("has {} of {} planned {} ports", count.second, count.first, model::to_text(fabric));
      difference.message = fmt::format("{} {}", difference.device, difference.what);
    }
  }

  void count_gpus() {
    const model::ServerModel& server = cluster_.server_of(host_.device);
    const auto seen = static_cast<std::int64_t>(facts_.gpus.size());
    if (seen >= *server.gpus) return;
    const bool unread = std::any_of(facts_.not_read.begin(), facts_.not_read.end(),
                                    [](const std::string& line) { return line.starts_with("GPUs"); });
    if (unread) return;
    const SourceLocation& place = facts_.gpus_place.known() ? facts_.gpus_place : facts_.place;
    LiveDifference& difference = add_difference(LiveKind::few_gpus, place, "");
    difference.planned = std::to_string(*server.gpus);
    difference.seen = std::to_string(seen);
    difference.what = fmt::format("has {} instead of {}", plural(seen, "GPU", "GPUs"), *server.gpus);
    difference.message = fmt::format("{} {}", difference.device, difference.what);
  }

  const LiveContext& parts_;
  const model::Cluster& cluster_;
  const LiveHost& host_;
  const config::HostFacts& facts_;
};

// Jobs use one index for all ranks (NCCL_IB_GID_INDEX): it must be a RoCE v2 address on every backend port.
void compare_gids(const LiveContext& parts) {
  std::map<std::vector<int>, std::vector<std::pair<const LiveHost*, const InterfaceGuess*>>> tables;
  for (const LiveHost& host : parts.names.hosts()) {
    for (const InterfaceGuess& guess : host.guesses) {
      const config::HostInterface& interface = host.facts->interfaces[guess.interface];
      if (guess.port == model::kNone<model::PortId> || guess.fabric != model::FabricKind::backend) continue;
      if (!interface.gid_indices_rocev2.empty()) tables[interface.gid_indices_rocev2].emplace_back(&host, &guess);
    }
  }
  if (tables.size() < 2) return;
  const auto usual = std::max_element(tables.begin(), tables.end(),
                                      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  const auto text = [](const std::vector<int>& indices) {
    std::string out;
    for (const int index : indices) out += fmt::format("{}{}", out.empty() ? "" : ", ", index);
    return out;
  };
  for (const auto& [indices, ports] : tables) {
    if (indices == usual->first) continue;
    const bool common = std::any_of(indices.begin(), indices.end(), [&](int index) {
      return std::find(usual->first.begin(), usual->first.end(), index) != usual->first.end();
    });
    if (common) continue;
    for (const auto& [host, guess] : ports) {
      LiveDifference difference;
      difference.kind = LiveKind::mixed_gids;
      difference.device = parts.cluster.name_of(host->device);
      difference.port = parts.cluster.port_name(guess->port);
      difference.planned = text(usual->first);
      difference.seen = text(indices);
      difference.what =
          fmt::format("has its RoCE v2 address at GID index {}, others at {}", text(indices), text(usual->first));
      difference.message = fmt::format("{} of {} {}", difference.port, difference.device, difference.what);
      difference.place = host->facts->interfaces[guess->interface].place;
      parts.differences.push_back(std::move(difference));
    }
  }
}

// If most servers of a pool have facts, reports the rest.
void find_silent_hosts(const LiveContext& parts) {
  std::set<model::DeviceId> present;
  for (const LiveHost& host : parts.names.hosts()) present.insert(host.device);
  for (const model::DeviceGroup& group : parts.cluster.groups()) {
    if (group.kind != model::DeviceKind::server) continue;
    std::vector<std::string> silent;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      if (present.count(id) == 0) silent.push_back(parts.cluster.name_of(id));
    }
    if (silent.empty() || silent.size() * 2 >= group.count) continue;
    LiveDifference difference;
    difference.kind = LiveKind::silent;
    difference.planned = fmt::format("facts of {} servers", group.count);
    difference.seen = fmt::format("{} of them", group.count - silent.size());
    difference.device = fold_hosts(std::move(silent));
    difference.message = fmt::format("no facts of {}, unlike the rest of {}", difference.device, group.name);
    parts.differences.push_back(std::move(difference));
  }
}

}  // namespace

void compare_hosts(const LiveContext& parts) {
  for (const LiveHost& host : parts.names.hosts()) HostComparison(parts, host).compare();
  compare_gids(parts);
  find_silent_hosts(parts);
}

}  // namespace weft::check

#include "check/live/wiring.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/host_range.h"
#include "base/human_format.h"

namespace weft::check {
namespace {

// Ports first, by number: every end of a planned cable then sorts as in the plan.
auto end_key(const LiveEnd& end) {
  const bool unknown = end.port == model::kNone<model::PortId>;
  return std::tuple(model::index_of(end.port), model::index_of(end.device),
                    unknown ? std::string_view(end.system) : std::string_view(),
                    unknown ? std::string_view(end.name) : std::string_view());
}

bool same_link(const LiveLink& x, const LiveLink& y) {
  return end_key(x.a) == end_key(y.a) && end_key(x.b) == end_key(y.b);
}

Confidence confidence_of(const LiveLink& link) {
  if (link.a.inferred || link.b.inferred) return Confidence::low;
  return link.from_a && link.from_b ? Confidence::certain : Confidence::likely;
}

}  // namespace

LiveWiring::LiveWiring(const LiveContext& parts)
    : parts_(parts),
      cluster_(parts.cluster),
      at_(parts.cluster.ports().size(), 0),
      report_(parts.cluster.devices().size()),
      touched_(parts.cluster.ports().size(), false),
      seen_(parts.cluster.devices().size(), false),
      awaited_(parts.cluster.devices().size(), false) {
  for (const config::LldpReport& report : parts.config.lldp) add_lldp(report);
  add_host_neighbors();
  for (const config::IbFabric& fabric : parts.config.infiniband) add_infiniband(fabric);
  merge();
  drop_contradictions();
}

void LiveWiring::add_lldp(const config::LldpReport& report) {
  const model::DeviceId device = parts_.names.device_of_file(report.file, report.system);
  if (device == model::kNone<model::DeviceId>) {
    LiveDifference difference;
    difference.kind = LiveKind::unknown_device;
    difference.device = report.system;
    difference.seen = fmt::format("a report of {} neighbors", report.neighbors.size());
    difference.message = fmt::format("`{}` reports its neighbors but is not in the design", report.system);
    difference.place = SourceLocation{report.file, 1, 1};
    parts_.differences.push_back(std::move(difference));
  } else {
    report_[model::index_of(device)] = SourceLocation{report.file, 1, 1};
    seen_[model::index_of(device)] = true;
  }
  for (const config::LldpNeighbor& neighbor : report.neighbors) {
    LiveEnd local{device, parts_.names.port(device, {neighbor.local_port}), report.system, neighbor.local_port, false};
    const std::string& system = neighbor.remote_system.empty() ? neighbor.remote_chassis : neighbor.remote_system;
    const model::DeviceId far = parts_.names.device(system);
    LiveEnd remote{far, parts_.names.port(far, {neighbor.remote_port, neighbor.remote_port_description}), system,
                   neighbor.remote_port, false};
    add(std::move(local), std::move(remote), neighbor.place, false, 0);
  }
}

void LiveWiring::add_host_neighbors() {
  for (const LiveHost& host : parts_.names.hosts()) {
    if (host.device == model::kNone<model::DeviceId>) continue;
    for (const config::HostInterface& interface : host.facts->interfaces) {
      if (interface.lldp_system.empty()) continue;
      const model::DeviceId far = parts_.names.device(interface.lldp_system);
      add({host.device, parts_.names.port(host.device, {interface.name}), host.facts->host, interface.name, false},
          {far, parts_.names.port(far, {interface.lldp_port}), interface.lldp_system, interface.lldp_port, false},
          interface.place, false, 0);
    }
  }
}

void LiveWiring::add_infiniband(const config::IbFabric& fabric) {
  bool ours = fabric.links.empty();
  for (const config::IbLink& link : fabric.links) {
    if (link.a.node.find("Aggregation Node") != std::string::npos) continue;  // SHARP, inside the switch
    if (link.b.node.find("Aggregation Node") != std::string::npos) continue;
    LiveEnd a = parts_.names.infiniband_end(link.a);
    LiveEnd b = parts_.names.infiniband_end(link.b);
    ours = ours || a.device != model::kNone<model::DeviceId> || b.device != model::kNone<model::DeviceId>;
    for (const auto& [end, ib] : {std::pair(&a, &link.a), std::pair(&b, &link.b)}) {
      if (ib->is_switch && end->device != model::kNone<model::DeviceId>)
        report_[model::index_of(end->device)] = SourceLocation{fabric.file, 1, 1};
    }
    add(std::move(a), std::move(b), link.place, true, config::ib_rate_mbps(link.width, link.speed));
  }
  for (const config::IbEnd& down : fabric.down) {
    const LiveEnd end = parts_.names.infiniband_end(down);
    if (down.is_switch && end.device != model::kNone<model::DeviceId>)
      report_[model::index_of(end.device)] = SourceLocation{fabric.file, 1, 1};
  }
  if (ours) return;
  // A sweep of another fabric, or unset names: without a finding the cabling would appear to be as planned.
  LiveDifference difference;
  difference.kind = LiveKind::unknown_device;
  const config::IbEnd& first = fabric.links.front().a;
  difference.device = first.node.empty() ? first.guid : first.node;
  difference.seen = fmt::format("a sweep of {} links", fabric.links.size());
  difference.message = fmt::format("a sweep of {} links contains no device of the design: the first is `{}`",
                                   fabric.links.size(), difference.device);
  difference.place = SourceLocation{fabric.file, 1, 1};
  parts_.differences.push_back(std::move(difference));
}

// `both`: the report covers both ends of the link, such as one from a subnet manager.
void LiveWiring::add(LiveEnd local, LiveEnd remote, const SourceLocation& place, bool both, std::int64_t rate_mbps) {
  if (local.port == model::kNone<model::PortId>) infer(local, remote);
  if (remote.port == model::kNone<model::PortId>) infer(remote, local);
  for (const LiveEnd* end : {&local, &remote}) {
    if (end->device != model::kNone<model::DeviceId>) seen_[model::index_of(end->device)] = true;
    if (end->port != model::kNone<model::PortId>) touched_[model::index_of(end->port)] = true;
  }
  LiveLink link;
  const bool in_order = end_key(local) <= end_key(remote);
  if (!in_order) std::swap(local, remote);
  link.a = std::move(local);
  link.b = std::move(remote);
  link.from_a = both || in_order;
  link.from_b = both || !in_order;
  link.place = place;
  link.rate_mbps = rate_mbps;
  links_.push_back(std::move(link));
}

// Infers the port of a host that reported an unknown port name: the port planned for the far port, or the only one
// planned for the far switch.
void LiveWiring::infer(LiveEnd& unknown, const LiveEnd& known) const {
  if (unknown.device == model::kNone<model::DeviceId> || known.port == model::kNone<model::PortId>) return;
  if (cluster_.group_of(unknown.device).kind == model::DeviceKind::network_switch) return;
  const model::PortId planned = cluster_.peer_of(known.port);
  model::PortId only = model::kNone<model::PortId>;
  int count = 0;
  for (const model::PortId id : cluster_.ports_of(unknown.device)) {
    if (id == planned) {
      only = id;
      count = 1;
      break;
    }
    if (cluster_.port(cluster_.peer_of(id)).device == known.device) {
      only = id;
      ++count;
    }
  }
  if (count != 1) return;
  unknown.port = only;
  unknown.inferred = true;
}

void LiveWiring::merge() {
  std::stable_sort(links_.begin(), links_.end(), [](const LiveLink& x, const LiveLink& y) {
    return std::tuple(end_key(x.a), end_key(x.b)) < std::tuple(end_key(y.a), end_key(y.b));
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (kept > 0 && same_link(links_[kept - 1], links_[i])) {
      LiveLink& first = links_[kept - 1];
      LiveLink& again = links_[i];
      if (!first.other_place.known()) first.other_place = again.place;
      first.from_a = first.from_a || again.from_a;
      first.from_b = first.from_b || again.from_b;
      first.a.inferred = first.a.inferred && again.a.inferred;
      first.b.inferred = first.b.inferred && again.b.inferred;
      if (first.rate_mbps == 0) first.rate_mbps = again.rate_mbps;
    } else {
      if (kept != i) links_[kept] = std::move(links_[i]);
      ++kept;
    }
  }
  links_.resize(kept);
}

bool LiveWiring::is_planned(const LiveLink& link) const {
  return link.a.port != model::kNone<model::PortId> && link.b.port != model::kNone<model::PortId> &&
         cluster_.peer_of(link.a.port) == link.b.port;
}

// A port has one cable. If reports contain two, prefers the one that both ends report, then the planned one.
void LiveWiring::drop_contradictions() {
  const auto weight = [&](const LiveLink& link) {
    return (link.from_a && link.from_b ? 2 : 0) + (is_planned(link) ? 1 : 0);
  };
  for (std::size_t i = 0; i < links_.size(); ++i) {
    for (const model::PortId port : {links_[i].a.port, links_[i].b.port}) {
      if (port == model::kNone<model::PortId> || links_[i].dropped) continue;
      std::uint32_t& holder = at_[model::index_of(port)];
      if (holder != 0 && weight(links_[holder - 1]) >= weight(links_[i])) {
        links_[i].dropped = true;
      } else {
        if (holder != 0) links_[holder - 1].dropped = true;
        holder = static_cast<std::uint32_t>(i + 1);
      }
    }
  }
  // A link dropped at one end is also removed at the other.
  for (std::uint32_t& holder : at_) {
    if (holder != 0 && links_[holder - 1].dropped) holder = 0;
  }
  for (const LiveLink& link : links_) {
    if (!link.dropped) continue;
    LiveDifference& difference = add_difference(LiveKind::disagreement, link, link.a);
    difference.confidence = Confidence::low;
    difference.message = fmt::format("one report connects {} to {}, another contradicts it for one of the two",
                                     end_text(link.a), end_text(link.b));
    for (const model::PortId port : {link.a.port, link.b.port}) {
      if (port == model::kNone<model::PortId> || at_[model::index_of(port)] == 0) continue;
      const LiveLink& other = links_[at_[model::index_of(port)] - 1];
      difference.related.push_back(
          {other.place, fmt::format("here {} is connected to {}", end_text(other.a), end_text(other.b))});
    }
  }
}

std::string LiveWiring::end_text(const LiveEnd& end) const {
  if (end.port != model::kNone<model::PortId>) return cluster_.full_port_name(end.port);
  const std::string& system = end.device != model::kNone<model::DeviceId> ? cluster_.name_of(end.device) : end.system;
  return end.name.empty() ? system : system + ":" + end.name;
}

LiveDifference& LiveWiring::add_difference(LiveKind kind, const LiveLink& link, const LiveEnd& about) {
  LiveDifference difference;
  difference.kind = kind;
  difference.confidence = confidence_of(link);
  difference.device = about.device != model::kNone<model::DeviceId> ? cluster_.name_of(about.device) : about.system;
  difference.port = about.port != model::kNone<model::PortId> ? cluster_.port_name(about.port) : about.name;
  if (about.port != model::kNone<model::PortId>)
    difference.planned = cluster_.full_port_name(cluster_.peer_of(about.port));
  difference.seen = end_text(&about == &link.a ? link.b : link.a);
  difference.place = link.place;
  if (link.other_place.known()) difference.related.push_back({link.other_place, "the other end reports the same"});
  parts_.differences.push_back(std::move(difference));
  return parts_.differences.back();
}

// Host ports have a fabric and a rail; so do the leaves they may be cabled to.
LiveKind LiveWiring::kind_of(const LiveLink& link) const {
  const model::Port& x = cluster_.port(link.a.port);
  const model::Port& y = cluster_.port(link.b.port);
  if (x.fabric != y.fabric) return LiveKind::wrong_fabric;
  const bool x_host = cluster_.group_of(x.device).kind == model::DeviceKind::server;
  const bool y_host = cluster_.group_of(y.device).kind == model::DeviceKind::server;
  if (x_host == y_host) return LiveKind::miswired;
  const model::Port& host = x_host ? x : y;
  const model::Port& leaf = x_host ? y : x;
  const model::Port& meant = cluster_.port(cluster_.peer_of(x_host ? link.b.port : link.a.port));
  const bool rails = host.fabric == model::FabricKind::backend || host.fabric == model::FabricKind::storage;
  if (!rails || cluster_.group_of(meant.device).kind != model::DeviceKind::server || meant.rail == host.rail) {
    return LiveKind::miswired;
  }
  return cluster_.port(cluster_.peer_of(x_host ? link.a.port : link.b.port)).device == leaf.device
             ? LiveKind::miswired
             : LiveKind::wrong_rail;
}

// Two cables swapped at one side: a-b' and a'-b instead of a-b and a'-b'.
bool LiveWiring::find_swap(std::size_t index) {
  LiveLink& link = links_[index];
  const model::PortId a_meant = cluster_.peer_of(link.a.port);
  const model::PortId b_meant = cluster_.peer_of(link.b.port);
  const std::uint32_t holder = at_[model::index_of(a_meant)];
  if (holder == 0 || holder != at_[model::index_of(b_meant)] || holder - 1 == index) return false;
  LiveLink& other = links_[holder - 1];
  other.told = true;
  LiveDifference& difference = add_difference(LiveKind::swapped, link, link.a);
  difference.confidence = std::max(confidence_of(link), confidence_of(other));
  difference.message = fmt::format("the cables {} - {} and {} - {} are swapped: {} is connected to {} and {} to {}",
                                   cluster_.full_port_name(link.a.port), cluster_.full_port_name(a_meant),
                                   cluster_.full_port_name(b_meant), cluster_.full_port_name(link.b.port),
                                   cluster_.full_port_name(link.a.port), cluster_.full_port_name(link.b.port),
                                   cluster_.full_port_name(b_meant), cluster_.full_port_name(a_meant));
  const model::Port& x = cluster_.port(link.a.port);
  const model::Port& y = cluster_.port(b_meant);
  const bool hosts = cluster_.group_of(x.device).kind == model::DeviceKind::server;
  if (x.fabric != y.fabric) {
    difference.message += fmt::format(" (fabrics {} and {})", model::to_text(x.fabric), model::to_text(y.fabric));
  } else if (hosts && x.rail != y.rail) {
    difference.message += fmt::format(" (rails {} and {})", x.rail + 1, y.rail + 1);
  }
  difference.related.push_back({other.place, fmt::format("{} seen at {}", end_text(other.a), end_text(other.b))});
  return true;
}

void LiveWiring::check_planned(std::size_t index) {
  const LiveLink& link = links_[index];
  if (find_swap(index)) return;
  const bool b_is_host = cluster_.group_of(link.b.device).kind == model::DeviceKind::server;
  const LiveEnd& about = b_is_host ? link.b : link.a;
  const LiveEnd& far = b_is_host ? link.a : link.b;
  const LiveKind kind = kind_of(link);
  LiveDifference& difference = add_difference(kind, link, about);
  difference.message = fmt::format("{} is connected to {}; planned are {} there and {} here", end_text(about),
                                   end_text(far), cluster_.full_port_name(cluster_.peer_of(about.port)),
                                   cluster_.full_port_name(cluster_.peer_of(far.port)));
  if (kind == LiveKind::wrong_rail) {
    difference.message += fmt::format(" (rail {} on a leaf of rail {})", cluster_.port(about.port).rail + 1,
                                      cluster_.port(cluster_.peer_of(far.port)).rail + 1);
  } else if (kind == LiveKind::wrong_fabric) {
    difference.message += fmt::format(" ({} port on the {} fabric)", model::to_text(cluster_.port(about.port).fabric),
                                      model::to_text(cluster_.port(far.port).fabric));
  }
}

// One end is a cabled port of the design, the other is not.
void LiveWiring::judge_half(LiveLink& link, const LiveEnd& known, const LiveEnd& other) {
  const model::PortId meant = cluster_.peer_of(known.port);
  const model::DeviceId meant_device = cluster_.port(meant).device;
  if (cluster_.group_of(meant_device).kind == model::DeviceKind::external)
    return;  // the site network is not in the model
  if (other.device == model::kNone<model::DeviceId>) {
    LiveDifference& difference = add_difference(LiveKind::unknown_device, link, known);
    difference.message = fmt::format("{} is connected to `{}`, which is not in the design; planned is {}",
                                     end_text(known), end_text(other), cluster_.full_port_name(meant));
    return;
  }
  if (other.device == meant_device && cluster_.group_of(other.device).kind != model::DeviceKind::network_switch) return;
  LiveDifference& difference = add_difference(LiveKind::miswired, link, known);
  difference.message = fmt::format("{} is connected to {}; planned is {}", end_text(known), end_text(other),
                                   cluster_.full_port_name(meant));
}

void LiveWiring::classify_link(std::size_t index) {
  LiveLink& link = links_[index];
  if (link.dropped || link.told) return;
  link.told = true;
  const bool a_known = link.a.port != model::kNone<model::PortId>;
  const bool b_known = link.b.port != model::kNone<model::PortId>;
  if (a_known && b_known) {
    if (!is_planned(link)) check_planned(index);
    judge_rate(link);
  } else if (a_known || b_known) {
    judge_half(link, a_known ? link.a : link.b, a_known ? link.b : link.a);
  } else {
    const bool a_ours = link.a.device != model::kNone<model::DeviceId>;
    const bool b_ours = link.b.device != model::kNone<model::DeviceId>;
    if (!a_ours && !b_ours) return;                           // the report itself is from an unknown device
    const bool about_a = a_ours && (link.from_a || !b_ours);  // prefer the end that reports it
    const LiveEnd& about = about_a ? link.a : link.b;
    LiveDifference& difference = add_difference(LiveKind::unplanned, link, about);
    difference.message = fmt::format("{} is connected to {}; the design has no cable on that port", end_text(about),
                                     end_text(about_a ? link.b : link.a));
  }
}

void LiveWiring::judge_rate(const LiveLink& link) {
  const std::int64_t planned = cluster_.port(link.a.port).speed_mbps;
  if (link.rate_mbps == 0 || link.rate_mbps == planned) return;
  LiveDifference& difference = add_difference(LiveKind::wrong_speed, link, link.b);
  difference.confidence = Confidence::certain;
  difference.planned = speed_text(planned);
  difference.seen = speed_text(link.rate_mbps);
  difference.what = fmt::format("runs at {} instead of {}", difference.seen, difference.planned);
  difference.message = fmt::format("{} {}", end_text(link.b), difference.what);
}

bool LiveWiring::could_be_missed(const model::Cable& cable) const {
  if (cable.fabric == model::FabricKind::oob)
    return cable.role == model::CableRole::oob_uplink || cable.role == model::CableRole::oob_frontend;
  return cable.role != model::CableRole::external;
}

void LiveWiring::check_cables() {
  CableCount& count = parts_.cables;
  for (const model::Cable& cable : cluster_.cables()) {
    ++count.planned;
    const model::DeviceId a = cluster_.port(cable.a).device;
    const model::DeviceId b = cluster_.port(cable.b).device;
    const bool could = could_be_missed(cable);
    const std::uint32_t holder = at_[model::index_of(cable.a)];
    const bool matching = holder != 0 && is_planned(links_[holder - 1]);
    // If the port has another neighbor, its planned neighbor cannot be seen there.
    if (could && reported(a) && (matching || !touched_[model::index_of(cable.a)])) awaited_[model::index_of(b)] = true;
    if (could && reported(b) && (matching || !touched_[model::index_of(cable.b)])) awaited_[model::index_of(a)] = true;
    if (matching) {
      const LiveLink& link = links_[holder - 1];
      ++count.matching;
      if (link.from_a && link.from_b) ++count.certain;
    } else if (touched_[model::index_of(cable.a)] || touched_[model::index_of(cable.b)]) {
      ++count.differing;
    } else if (!could || (!reported(a) && !reported(b)) || !seen_[model::index_of(a)] || !seen_[model::index_of(b)]) {
      ++count.not_reported;
    } else {
      ++count.missing;
      report_missing(cable);
    }
  }
}

void LiveWiring::report_missing(const model::Cable& cable) {
  const model::DeviceId a = cluster_.port(cable.a).device;
  const model::DeviceId b = cluster_.port(cable.b).device;
  const bool both = reported(a) && reported(b);
  LiveDifference difference;
  difference.kind = LiveKind::missing;
  difference.confidence = both ? Confidence::certain : Confidence::likely;
  difference.device = cluster_.name_of(a);
  difference.port = cluster_.port_name(cable.a);
  difference.planned = cluster_.full_port_name(cable.b);
  difference.seen = "nothing";
  difference.place = report_[model::index_of(reported(b) ? b : a)];
  difference.message =
      fmt::format("the cable {} - {} is planned, but {} it", cluster_.full_port_name(cable.a),
                  cluster_.full_port_name(cable.b), both ? "neither end reports" : "the reporting end does not see");
  parts_.differences.push_back(std::move(difference));
}

// A device that no neighbor reports is a finding only if most of its group are seen: a pool without LLDP agents is
// intentional, a single host without one is a fault.
void LiveWiring::check_silent_group(const model::DeviceGroup& group) {
  std::size_t expected = 0;
  std::vector<std::string> silent;
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const std::uint32_t id = model::index_of(group.first) + i;
    if (!awaited_[id]) continue;
    ++expected;
    if (!seen_[id]) silent.push_back(cluster_.name_of(static_cast<model::DeviceId>(id)));
  }
  if (silent.empty()) return;
  if (silent.size() * 2 >= expected) {
    parts_.notes.push_back(
        fmt::format("Of {} devices of {} that were expected, {} were not seen: their cables could not be verified.",
                    expected, group.name, silent.size()));
    return;
  }
  LiveDifference difference;
  difference.kind = LiveKind::silent;
  difference.confidence = Confidence::likely;
  difference.planned = fmt::format("{} devices of {}", expected, group.name);
  difference.seen = fmt::format("{} of them", expected - silent.size());
  const std::size_t count = silent.size();
  difference.device = fold_hosts(std::move(silent));
  difference.message = fmt::format("{} {} not seen by any neighbor and did not report, unlike the other {} of {}",
                                   difference.device, count == 1 ? "was" : "were", expected - count, group.name);
  parts_.differences.push_back(std::move(difference));
}

// An inferred port is the planned one whatever is plugged, as long as it leads to a planned switch port.
void LiveWiring::note_inferred_ports() const {
  std::vector<std::string> hosts;
  std::size_t count = 0;
  for (const LiveLink& link : links_) {
    for (const LiveEnd* end : {&link.a, &link.b}) {
      if (link.dropped || !end->inferred) continue;
      ++count;
      hosts.push_back(cluster_.name_of(end->device));
    }
  }
  if (count == 0) return;
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  parts_.notes.push_back(fmt::format(
      "{} of {} {} known by interface names or addresses that are not in the design. Each was taken for the port "
      "planned "
      "at its switch port, so cables swapped between ports of one host were not looked for. Host files of `weft "
      "discover` say which interface is which port.",
      plural(count, "port"), fold_hosts(std::move(hosts)), count == 1 ? "is" : "are"));
}

void LiveWiring::compare() {
  for (std::size_t i = 0; i < links_.size(); ++i) classify_link(i);
  check_cables();
  for (const model::DeviceGroup& group : cluster_.groups()) check_silent_group(group);
  note_inferred_ports();
}

void compare_wiring(const LiveContext& parts) {
  if (parts.config.lldp.empty() && parts.config.infiniband.empty() && parts.config.hosts.empty()) return;
  LiveWiring(parts).compare();
}

}  // namespace weft::check

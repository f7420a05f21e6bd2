#include "check/reach/reachability.h"

#include <fmt/format.h>

#include <algorithm>

#include "check/reach/reachability_model.h"

namespace weft::check {
namespace {

// An end of a query: one address, or a zone.
struct ReachEnd {
  std::string name;
  ReachZone zone;  // with the addresses of the query
};

ReachEnd end_at(const ReachModel& model, std::string name, Ipv4 address) {
  ReachEnd end;
  end.name = std::move(name);
  const AddressSpace* space = model.space_of(address);
  end.zone.fabric = space != nullptr && space->segment >= 0 ? static_cast<int>(space->fabric) : -1;
  end.zone.kind = end.zone.fabric >= 0 ? static_cast<ZoneKind>(end.zone.fabric) : ZoneKind::site;
  end.zone.name = end.name;
  end.zone.addresses = {{address.bits, address.bits}};
  return end;
}

void ends_of_device(const ReachModel& model, model::DeviceId device, std::string_view port_name, bool source,
                    std::vector<ReachEnd>& out) {
  const model::Cluster& cluster = *model.cluster;
  const bool server = cluster.group_of(device).kind == model::DeviceKind::server;
  for (const model::PortId id : cluster.ports_of(device)) {
    const model::Port& port = cluster.port(id);
    if (port.address.bits == 0) continue;
    const std::string name = cluster.port_name(id);
    if (!port_name.empty() && name != port_name) continue;
    // Traffic of a server comes from its operating system, not its BMC, unless the BMC is named.
    if (source && port_name.empty() && server && name == "bmc") continue;
    out.push_back(end_at(model, cluster.full_port_name(id), port.address));
  }
  const Ipv4 management = cluster.oob_address(device);
  if (out.empty() && management.bits != 0) out.push_back(end_at(model, cluster.name_of(device), management));
}

Result<std::vector<ReachEnd>> ends_of(const ReachModel& model, std::string_view text, bool source) {
  std::vector<ReachEnd> out;
  if (model.cluster == nullptr) return Error{ErrorCode::invalid_input, "this needs a cluster file", {}};
  if (const auto address = parse_ipv4(text); address.ok()) {
    out.push_back(end_at(model, std::string(text), *address));
    return out;
  }
  for (const ReachZone& zone : model.zones) {
    if (zone.name == text) out.push_back({zone.name, zone});
  }
  const std::size_t cut = text.find_first_of(":.");
  model::DeviceId device = model.cluster->find_device(text);
  std::string_view port;
  if (device == model::kNone<model::DeviceId> && cut != std::string_view::npos) {
    device = model.cluster->find_device(text.substr(0, cut));
    port = text.substr(cut + 1);
  }
  if (out.empty() && device != model::kNone<model::DeviceId>) ends_of_device(model, device, port, source, out);
  if (!out.empty()) return out;
  std::vector<std::string_view> names;
  for (const ReachZone& zone : model.zones) names.push_back(zone.name);
  std::string message = fmt::format("`{}` is not a device, port with an address, zone or IPv4 address", text);
  const std::string hint = did_you_mean(text, names);
  if (!hint.empty()) message += "; " + hint;
  return Error{ErrorCode::not_found, std::move(message), {}};
}

// The packets of the query: this protocol and port.
PacketSet requested_packets(const ReachZone& from, const ReachZone& to, int protocol, int port) {
  PacketBox box;
  if (protocol >= 0) box.sides[2] = {static_cast<std::uint32_t>(protocol), static_cast<std::uint32_t>(protocol)};
  if (port >= 0) box.sides[3] = {static_cast<std::uint32_t>(port), static_cast<std::uint32_t>(port)};
  return PacketSet::between(from.addresses, to.addresses).intersect(box);
}

ReachTry try_reach(const ReachModel& model, const ReachEnd& from, const ReachEnd& to, int protocol, int port) {
  ReachTry out;
  out.from = from.name;
  out.to = to.name;
  const PacketSet packets = requested_packets(from.zone, to.zone, protocol, port);
  std::vector<std::pair<NodeId, PacketSet>> start;
  for (const NodeId node : model.nodes_of(from.zone, false)) start.emplace_back(node, packets);
  const ReachSearch search = model.search(start, {});
  out.gave_up = search.gave_up;
  const std::vector<NodeId> ends = model.nodes_of(to.zone, true);
  for (const NodeId node : ends) out.packets.unite(search.seen[node].intersect(packets));
  out.reached = out.gave_up || !out.packets.empty();
  const PacketSet::PacketPreferences wishes = model.wishes(from.zone, to.zone);
  if (const auto packet = out.packets.pick(wishes)) {
    for (std::size_t i = 0; i < search.steps.size() && !out.path; ++i) {
      const ReachStep& step = search.steps[i];
      if (std::find(ends.begin(), ends.end(), step.node) == ends.end() || !step.packets.contains(*packet)) continue;
      out.path = model.path_to(search, static_cast<std::uint32_t>(i), *packet, from.name, to.name);
    }
  }
  const auto lost = packets.subtract(out.packets).pick(wishes);
  out.whole = !lost;
  if (!out.reached && lost) out.stopped = model.stops(search, *lost);
  return out;
}

}  // namespace

Reachability::Reachability(const model::Cluster* cluster, const config::ConfigSet& config, const Sources& sources)
    : sources_(sources), model_(std::make_unique<ReachModel>(cluster, config)) {
  for (const ReachZone& from : model_->zones) {
    const ReachSearch search = model_->search_from(from, {});
    std::vector<ZoneReach>& row = matrix_.emplace_back();
    for (const ReachZone& to : model_->zones) row.push_back(model_->arrival(search, from, to));
  }
}

Reachability::~Reachability() = default;

const std::vector<ReachZone>& Reachability::zones() const { return model_->zones; }
const std::vector<Crossing>& Reachability::crossings() const { return model_->crossings; }
const std::vector<std::string>& Reachability::shared_switches() const { return model_->shared; }
bool Reachability::rails_joined(model::FabricKind fabric) const {
  return model_->joined[static_cast<std::size_t>(fabric)];
}

bool Reachability::allowed(std::size_t from, std::size_t to) const {
  const ReachZone& a = model_->zones[from];
  const ReachZone& b = model_->zones[to];
  if (a.fabric == b.fabric) return true;
  const auto outside = [](const ReachZone& zone) {
    return zone.fabric == static_cast<int>(model::FabricKind::frontend) || zone.kind == ZoneKind::site;
  };
  if (outside(a) && outside(b)) return true;
  // Operators reach the jump hosts from the site through a VPN.
  return (a.kind == ZoneKind::jump && b.kind == ZoneKind::site) ||
         (a.kind == ZoneKind::site && b.kind == ZoneKind::jump);
}

std::vector<ReachViolation> Reachability::violations() const {
  std::vector<ReachViolation> out;
  for (std::size_t from = 0; from < matrix_.size(); ++from) {
    for (std::size_t to = 0; to < matrix_.size(); ++to) {
      const ZoneReach& reach = matrix_[from][to];
      if (allowed(from, to) || !reach.reachable()) continue;
      out.push_back({from, to, reach.path.value_or(ReachPath{})});
    }
  }
  return out;
}

std::vector<ReachViolation> Reachability::proof(std::uint32_t crossing, std::size_t most) const {
  std::vector<ReachViolation> out;
  const auto collect = [&](const std::vector<bool>& open) {
    for (std::size_t from = 0; from < matrix_.size() && out.size() < most; ++from) {
      const ReachSearch search = model_->search_from(model_->zones[from], open);
      for (std::size_t to = 0; to < matrix_.size() && out.size() < most; ++to) {
        if (allowed(from, to)) continue;
        ZoneReach reach = model_->arrival(search, model_->zones[from], model_->zones[to]);
        if (!reach.path) continue;
        const auto& used = reach.path->crossings;
        if (std::find(used.begin(), used.end(), crossing) == used.end()) continue;
        out.push_back({from, to, std::move(*reach.path)});
      }
    }
  };
  std::vector<bool> alone(model_->crossings.size(), false);
  alone[crossing] = true;
  collect(alone);
  if (out.empty()) collect({});
  return out;
}

Result<std::vector<ReachTry>> Reachability::trace(std::string_view from, std::string_view to, int protocol,
                                                  int port) const {
  const auto sources = ends_of(*model_, from, true);
  if (!sources.ok()) return sources.error();
  const auto destinations = ends_of(*model_, to, false);
  if (!destinations.ok()) return destinations.error();
  std::vector<ReachTry> out;
  for (const ReachEnd& source : *sources) {
    for (const ReachEnd& destination : *destinations) {
      const bool same = source.zone.addresses == destination.zone.addresses;
      if (same && destinations->size() > 1) continue;
      out.push_back(try_reach(*model_, source, destination, protocol, port));
    }
  }
  return out;
}

}  // namespace weft::check

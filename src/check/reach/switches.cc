// The actual configuration of switches, which replaces the file's intent for them.
#include <fmt/format.h>

#include <algorithm>

#include "base/ip.h"
#include "check/core/match.h"
#include "check/reach/reachability_model.h"

namespace weft::check {
namespace {

bool named_for_management(std::string_view vrf) { return vrf == "mgmt" || vrf == "management"; }

const config::AclConfig* find_acl(const config::SwitchConfig& config, const config::Setting<std::string>& name) {
  if (!name.known()) return nullptr;
  for (const config::AclConfig& acl : config.acls) {
    if (acl.name == *name) return &acl;
  }
  return nullptr;
}

std::string vrf_text(std::string_view vrf) {
  return vrf.empty() ? std::string("the default VRF") : fmt::format("VRF `{}`", vrf);
}

}  // namespace

// One switch and its configuration.
class SwitchReader {
 public:
  SwitchReader(ReachModel& model, const config::SwitchConfig& config, model::DeviceId device)
      : model_(model),
        config_(config),
        device_(model.cluster->device(device)),
        fabric_(model.cluster->group_of(device).fabric),
        name_(model.cluster->name_of(device)) {}

  void read() {
    for (const config::InterfaceConfig& interface : config_.interfaces) read_interface(interface);
    for (const config::RouteConfig& route : config_.routes) read_route(route);
    for (const config::VrfConfig& vrf : config_.vrfs) read_imports(vrf);
    for (const config::NeighborConfig& neighbor : config_.neighbors) read_neighbor(neighbor);
  }

 private:
  struct Table {
    NodeId node = kNoNode;
    int fabric = -1;
  };

  // The routing table for a VRF of this switch: the fabric whose VRF has that name, else the switch's own fabric if the
  // VRF has an address of it or of no fabric, else the fabric of its addresses.
  const Table& table(const std::string& vrf) {
    const auto known = tables_.find(vrf);
    if (known != tables_.end()) return known->second;
    Table made;
    made.fabric = fabric_of(vrf);
    if (made.fabric >= 0) {
      const auto kind = static_cast<model::FabricKind>(made.fabric);
      made.node = model_.vrf_node(kind, kind == fabric_ ? &device_ : nullptr);
    } else {
      made.node = model_.add_node(fmt::format("{} on {}", vrf_text(vrf), name_), -1, true);
    }
    return tables_.emplace(vrf, made).first->second;
  }

  // A management VRF does not forward, except on out-of-band switches.
  [[nodiscard]] bool is_aside(std::string_view vrf) const {
    return named_for_management(vrf) && fabric_ != model::FabricKind::oob;
  }

  [[nodiscard]] int fabric_of(const std::string& vrf) const {
    if (named_for_management(vrf)) return static_cast<int>(model::FabricKind::oob);
    if (!vrf.empty() && model_.vrf_of(fabric_)->text == vrf) return static_cast<int>(fabric_);
    for (int kind = 0; kind < model::kFabrics; ++kind) {
      if (model_.vrf_of(static_cast<model::FabricKind>(kind))->text == vrf) return kind;
    }
    int other = -1;
    for (const config::InterfaceConfig& interface : config_.interfaces) {
      if (vrf_of(interface) != vrf || interface.kind == config::InterfaceConfig::Kind::management) continue;
      for (const Ipv4 address : interface.own) {
        const AddressSpace* space = model_.space_of(address);
        if (space == nullptr) continue;
        if (space->fabric == fabric_) return static_cast<int>(fabric_);
        other = static_cast<int>(space->fabric);
      }
    }
    return vrf.empty() && other < 0 ? static_cast<int>(fabric_) : other;
  }

  // SONiC's management port is in the default VRF unless MGMT_VRF_CONFIG is set; other systems use a management VRF.
  [[nodiscard]] std::string vrf_of(const config::InterfaceConfig& interface) const {
    if (interface.vrf.known()) return *interface.vrf;
    if (interface.kind != config::InterfaceConfig::Kind::management) return {};
    const auto is_management = [](const config::VrfConfig& vrf) { return named_for_management(vrf.name); };
    const bool own = config_.dialect != config::Dialect::sonic ||
                     std::any_of(config_.vrfs.begin(), config_.vrfs.end(), is_management);
    return own ? "mgmt" : "";
  }

  void join(CrossingKind kind, NodeId a, NodeId b, bool both, ReachEdge like) {
    if (a == kNoNode || b == kNoNode || a == b) return;
    like.crossing = model_.cross(kind, a, b, {name_, like.hop.place, like.hop.what});
    like.from = a;
    like.to = b;
    ReachEdge back = like;
    model_.add_edge(std::move(like));
    if (!both) return;
    std::swap(back.from, back.to);
    model_.add_edge(std::move(back));
  }

  void read_interface(const config::InterfaceConfig& interface) {
    if (interface.enabled.known() && !*interface.enabled) return;
    read_port_filter(interface);
    const std::string vrf = vrf_of(interface);
    if (interface.kind == config::InterfaceConfig::Kind::management) {
      if (!named_for_management(vrf)) read_management(interface, vrf);
      return;
    }
    if (is_aside(vrf)) return;
    for (std::size_t i = 0; i < interface.own.size(); ++i) {
      const AddressSpace* space = model_.space_of(interface.own[i]);
      if (space == nullptr) continue;
      const SourceLocation place = i < interface.addresses.size() ? interface.addresses[i].place : interface.place;
      attach(interface, vrf, *space, place);
    }
  }

  void attach(const config::InterfaceConfig& interface, const std::string& vrf, const AddressSpace& space,
              const SourceLocation& place) {
    const Table& own = table(vrf);
    const bool foreign = own.fabric != static_cast<int>(space.fabric);
    ReachHop hop{name_, fmt::format("{} of {} is in {}", interface.name, model::to_text(space.fabric), vrf_text(vrf)),
                 place};
    if (space.segment < 0) {
      if (foreign) {
        join(CrossingKind::foreign_address, own.node, model_.vrf_node(space.fabric, nullptr), true,
             {kNoNode, kNoNode, {}, {}, kNoCrossing, hop});
      }
      return;
    }
    const auto index = static_cast<std::size_t>(space.segment);
    const ReachSegment& segment = model_.segments[index];
    const config::AclConfig* in = find_acl(config_, interface.acl_in);
    const config::AclConfig* out = find_acl(config_, interface.acl_out);
    const auto edge = [&](NodeId from, NodeId to, const config::AclConfig* acl, std::vector<Interval> where) {
      ReachEdge made{from, to, std::move(where), {}, kNoCrossing, hop};
      if (acl != nullptr) made.acls.push_back(acl);
      if (acl == nullptr) made.hop.what += ", no access list";
      if (foreign) {
        made.crossing = model_.cross(CrossingKind::foreign_address, own.node, segment.in, {name_, place, hop.what});
      }
      model_.add_edge(std::move(made));
    };
    edge(segment.in, own.node, in, {});
    edge(own.node, segment.out, out, {interval_of(segment.prefix)});
    if (!foreign) seen_gateway_.push_back(index);
  }

  // The management port in a data VRF: the switch routes between the two networks.
  void read_management(const config::InterfaceConfig& interface, const std::string& vrf) {
    const Table& own = table(vrf);
    if (own.fabric == static_cast<int>(model::FabricKind::oob)) return;
    for (std::size_t i = 0; i < interface.own.size(); ++i) {
      const AddressSpace* space = model_.space_of(interface.own[i]);
      if (space == nullptr || space->segment < 0 || static_cast<int>(space->fabric) == own.fabric) continue;
      const ReachSegment& segment = model_.segments[static_cast<std::size_t>(space->segment)];
      const SourceLocation place = i < interface.addresses.size() ? interface.addresses[i].place : interface.place;
      const ReachHop hop{name_, fmt::format("{} shares {} with the data ports", interface.name, vrf_text(vrf)), place};
      const std::uint32_t crossing =
          model_.cross(CrossingKind::management_port, own.node, segment.in, {name_, place, hop.what});
      model_.add_edge({segment.in, own.node, {}, {}, crossing, hop});
      model_.add_edge({own.node, segment.in, {interval_of(segment.prefix)}, {}, crossing, hop});
    }
  }

  // Within a VLAN only access lists on the ports filter.
  void read_port_filter(const config::InterfaceConfig& interface) {
    if (!interface.access_vlan.known() || interface.kind != config::InterfaceConfig::Kind::front_panel) return;
    for (std::size_t i = 0; i < model_.segments.size(); ++i) {
      const ReachSegment& segment = model_.segments[i];
      if (segment.fabric != fabric_ || segment.vlan != *interface.access_vlan) continue;
      const config::AclConfig* acl = find_acl(config_, interface.acl_in);
      if (!model_.filters_.emplace(i, acl).second) continue;
      ReachEdge edge{
          segment.in, segment.out, {interval_of(segment.prefix)},
          {},         kNoCrossing, {name_, fmt::format("within VLAN {}", segment.vlan), interface.access_vlan.place}};
      if (acl != nullptr) edge.acls.push_back(acl);
      if (acl == nullptr) edge.hop.what += ", no access list on the ports";
      model_.add_edge(std::move(edge));
    }
  }

  void read_route(const config::RouteConfig& route) {
    if (is_aside(route.vrf) || route.interface.starts_with("Null") || route.interface == "blackhole") return;
    const Table own = table(route.vrf);
    const bool is_default = route.prefix.length == 0;
    const CrossingKind kind = is_default ? CrossingKind::default_route : CrossingKind::static_route;
    ReachEdge edge{own.node, kNoNode, {interval_of(route.prefix)}, {}, kNoCrossing, {name_, {}, route.place}};
    edge.hop.what = fmt::format("static route {} in {}", to_text(route.prefix), vrf_text(route.vrf));
    if (!route.next_hop_vrf.empty() && route.next_hop_vrf != route.vrf) {
      edge.hop.what +=
          fmt::format(" leads into {}", vrf_text(route.next_hop_vrf == "default" ? "" : route.next_hop_vrf));
      const Table next = table(route.next_hop_vrf == "default" ? "" : route.next_hop_vrf);
      return join(kind, own.node, next.node, false, std::move(edge));
    }
    const AddressSpace* space =
        model_.space_of(route.next_hop.bits != 0 ? route.next_hop : address_of(route.interface));
    if (route.next_hop.bits != 0) edge.hop.what += " via " + to_text(route.next_hop);
    if (space == nullptr) {
      if (own.fabric != static_cast<int>(model::FabricKind::frontend))
        join(kind, own.node, model_.site, false, std::move(edge));
      return;
    }
    if (static_cast<int>(space->fabric) != own.fabric) {
      return join(kind, own.node, model_.vrf_node(space->fabric, nullptr), false, std::move(edge));
    }
    if (space->segment < 0) return;
    edge.to = model_.segments[static_cast<std::size_t>(space->segment)].out;  // a host on it may forward
    model_.add_edge(std::move(edge));
  }

  [[nodiscard]] Ipv4 address_of(const std::string& interface) const {
    const config::InterfaceConfig* found = config_.find(interface);
    return found != nullptr && !found->own.empty() ? found->own.front() : Ipv4{};
  }

  void read_imports(const config::VrfConfig& vrf) {
    if (is_aside(vrf.name)) return;
    for (const config::Setting<std::string>& text : vrf.imports) {
      const std::string source = *text == "default" ? std::string() : *text;
      ReachEdge edge{kNoNode, kNoNode, {}, {}, kNoCrossing, {name_, {}, text.place}};
      edge.hop.what = fmt::format("VRF `{}` imports the routes of `{}`", vrf.name, *text);
      if (is_vrf(source)) {
        const NodeId own = table(vrf.name).node;
        join(CrossingKind::vrf_import, own, table(source).node, false, std::move(edge));
        continue;
      }
      const auto exported = model_.exports_.find(*text);  // a route target, on this or another switch
      if (exported == model_.exports_.end()) continue;
      for (const std::string& other : exported->second) {
        if (other == vrf.name || !is_vrf(other)) continue;
        const NodeId own = table(vrf.name).node;
        join(CrossingKind::vrf_import, own, table(other).node, false, edge);
      }
    }
  }

  [[nodiscard]] bool is_vrf(const std::string& name) const {
    if (name.empty()) return true;
    const auto same = [&](const config::VrfConfig& vrf) { return vrf.name == name; };
    if (std::any_of(config_.vrfs.begin(), config_.vrfs.end(), same)) return true;
    for (int kind = 0; kind < model::kFabrics; ++kind) {
      if (model_.vrf_of(static_cast<model::FabricKind>(kind))->text == name) return true;
    }
    return false;
  }

  void read_neighbor(const config::NeighborConfig& neighbor) {
    if (is_aside(neighbor.vrf)) return;
    const auto peer = parse_ipv4(neighbor.peer);
    if (!peer.ok()) return;
    const AddressSpace* space = model_.space_of(*peer);
    const Table own = table(neighbor.vrf);
    if (space == nullptr || static_cast<int>(space->fabric) == own.fabric) return;
    join(CrossingKind::bgp_session, own.node, model_.vrf_node(space->fabric, nullptr), true,
         {kNoNode,
          kNoNode,
          {},
          {},
          kNoCrossing,
          {name_,
           fmt::format("BGP neighbor {} of {} in {}", neighbor.peer, model::to_text(space->fabric),
                       vrf_text(neighbor.vrf)),
           neighbor.place}});
  }

 public:
  [[nodiscard]] const std::vector<std::size_t>& gateways() const { return seen_gateway_; }
  [[nodiscard]] model::FabricKind fabric() const { return fabric_; }

 private:
  ReachModel& model_;
  const config::SwitchConfig& config_;
  const model::Device& device_;
  model::FabricKind fabric_;
  std::string name_;
  std::map<std::string, Table> tables_;
  std::vector<std::size_t> seen_gateway_;
};

void ReachModel::add_switches() {
  std::vector<bool> configured(cluster->devices().size(), false);
  std::vector<bool> routed(segments.size(), false);
  for (const config::SwitchConfig& one : config.switches) {
    for (const config::VrfConfig& vrf : one.vrfs) {
      for (const config::Setting<std::string>& target : vrf.exports) {
        if (*target != "auto") exports_[*target].insert(vrf.name);
      }
    }
  }
  for (const config::SwitchConfig& one : config.switches) {
    for (const model::DeviceId id : devices_of(*cluster, config, one)) {
      if (cluster->group_of(id).kind != model::DeviceKind::network_switch) continue;
      SwitchReader reader(*this, one, id);
      reader.read();
      configured[model::index_of(id)] = true;
      for (const std::size_t segment : reader.gateways()) routed[segment] = true;
    }
  }
  if (config.switches.empty()) return;
  // Switches without a configuration use the intent: a segment is known if all its leaves are.
  for (std::size_t i = 0; i < segments.size(); ++i) {
    bool all = true;
    for (const model::DeviceGroup& group : cluster->groups()) {
      if (group.kind != model::DeviceKind::network_switch || group.fabric != segments[i].fabric ||
          group.tier != model::Tier::leaf)
        continue;
      const bool by_rail = !joined[static_cast<std::size_t>(group.fabric)] ||
                           cluster->fabric(group.fabric).wiring == model::Wiring::rail_optimized;
      for (std::uint32_t n = 0; n < group.count && all; ++n) {
        const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + n);
        const bool concerns =
            !by_rail || group.fabric == model::FabricKind::oob || cluster->device(id).rail == segments[i].rail;
        all = !concerns || configured[model::index_of(id)];
      }
    }
    ports_configured_[i] = all && segments[i].fabric == model::FabricKind::oob;
    // Files may be excerpts: a missing gateway address proves nothing. The out-of-band network is one segment; its
    // gateway is any device with the address.
    gateway_configured_[i] = routed[i] && (all || segments[i].fabric == model::FabricKind::oob);
  }
}

}  // namespace weft::check

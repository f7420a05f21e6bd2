#include "check/reach/reachability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "check/reach/reachability_model.h"
#include "model/load.h"

namespace weft::check {
namespace {

// Four networks with typical addresses: rails 10.60 and 10.61, storage 10.70, frontend 10.20.50, BMCs 10.128/10.
constexpr const char* kCluster = R"(weft: 1
name: t
pools:
  - {name: train, role: training, server: hgx-h100, count: 4}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
  - {name: flash, role: storage, server: storage-nvme-2u, count: 2}
  - {name: jump, role: jump, server: jump-1u, count: 2}
fabrics:
  backend: {leaf: sn5600}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c, external: {links: 4}}
  oob: {entry: vpn}
)";

std::unique_ptr<model::Loaded> load(std::string_view from = {}, std::string_view to = {}) {
  std::string text = kCluster;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  auto loaded = model::load_cluster_text("t.yaml", text);
  EXPECT_TRUE(loaded->cluster != nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded;
}

using Pairs = std::set<std::string>;

Pairs open_pairs(const Reachability& reachability) {
  Pairs out;
  for (const ReachViolation& violation : reachability.violations()) {
    out.insert(reachability.zones()[violation.from].name + ">" + reachability.zones()[violation.to].name);
  }
  return out;
}

Pairs open_pairs(const model::Loaded& loaded, const config::ConfigSet& config = {}) {
  return open_pairs(Reachability(loaded.cluster.get(), config, loaded.sources));
}

std::size_t zone(const Reachability& reachability, std::string_view name) {
  for (std::size_t i = 0; i < reachability.zones().size(); ++i) {
    if (reachability.zones()[i].name == name) return i;
  }
  ADD_FAILURE() << "no zone " << name;
  return 0;
}

Ipv4 ip(std::string_view text) { return *parse_ipv4(text); }
Ipv4Prefix net(std::string_view text) { return *parse_ipv4_prefix(text); }

// A configuration of one device, with a routed interface in its default VRF.
struct ConfigFixture {
  std::unique_ptr<model::Loaded> loaded;
  config::ConfigSet set;

  explicit ConfigFixture(std::unique_ptr<model::Loaded> given) : loaded(std::move(given)) {}

  config::SwitchConfig& add(const std::string& device, config::Dialect dialect = config::Dialect::nxos) {
    config::SwitchConfig config;
    config.dialect = dialect;
    config.file = loaded->sources.add(device + ".cfg", "hostname " + device + "\n");
    config.hostname = config::Setting<std::string>(device, SourceLocation{config.file, 1, 1}, "hostname");
    set.files.push_back({config.file, config::ConfigKind::nxos, {}});
    set.switches.push_back(config);
    return set.switches.back();
  }
  Reachability analyse() const { return Reachability(loaded->cluster.get(), set, loaded->sources); }
};

config::InterfaceConfig svi(const config::SwitchConfig& config, int vlan, std::string_view address,
                            std::string_view prefix, std::string_view vrf = {}) {
  config::InterfaceConfig out;
  out.name = "Vlan" + std::to_string(vlan);
  out.kind = config::InterfaceConfig::Kind::svi;
  out.svi_vlan = vlan;
  out.place = SourceLocation{config.file, 1, 10};
  out.own.push_back(ip(address));
  out.addresses.push_back(config::Setting<Ipv4Prefix>(net(prefix), SourceLocation{config.file, 1, 11}, "ip address"));
  if (!vrf.empty())
    out.vrf = config::Setting<std::string>(std::string(vrf), SourceLocation{config.file, 1, 12}, "vrf member");
  return out;
}

std::string a_leaf(const model::Cluster& cluster, model::FabricKind fabric) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::network_switch && group.fabric == fabric && group.tier == model::Tier::leaf) {
      return cluster.name_of(group.first);
    }
  }
  return {};
}

TEST(Reachability, IntentKeepsFabricsApart) {
  const auto loaded = load();
  const Reachability reachability(loaded->cluster.get(), {}, loaded->sources);
  EXPECT_EQ(open_pairs(reachability), Pairs{});
  EXPECT_TRUE(reachability.crossings().empty());
  // Intended traffic is allowed.
  const auto yes = [&](std::string_view from, std::string_view to) {
    return reachability.between(zone(reachability, from), zone(reachability, to)).reachable();
  };
  EXPECT_TRUE(yes("backend", "backend"));
  EXPECT_TRUE(yes("storage", "storage"));
  EXPECT_TRUE(yes("frontend", "site"));
  EXPECT_TRUE(yes("site", "frontend"));
  EXPECT_TRUE(yes("jump", "oob"));
  EXPECT_TRUE(yes("oob", "jump"));
  EXPECT_FALSE(yes("oob", "oob"));  // jump_only: not even between BMCs
}

TEST(Reachability, IntendedRoutesOpenBothWays) {
  EXPECT_EQ(open_pairs(*load("external: {links: 4}", "external: {links: 4}, routes_to: [storage]")),
            (Pairs{"frontend>storage", "storage>frontend", "site>storage", "storage>site"}));
  EXPECT_EQ(open_pairs(*load("backend: {leaf: sn5600", "backend: {leaf: sn5600, routes_to: [storage]")),
            (Pairs{"backend>storage", "storage>backend"}));
  EXPECT_EQ(open_pairs(*load("storage: {leaf: sn5600", "storage: {leaf: sn5600, external: {links: 2}")),
            (Pairs{"storage>site", "site>storage", "storage>frontend", "frontend>storage"}));
}

TEST(Reachability, JumpOnlyProtectsBmcsBehindAGateway) {
  // The list admits only jump hosts; it does not filter outgoing traffic.
  EXPECT_EQ(open_pairs(*load("entry: vpn", "entry: vpn, gateway: frontend")),
            (Pairs{"oob>frontend", "oob>site", "jump>frontend", "frontend>jump"}));
  const Pairs open = open_pairs(*load("entry: vpn", "entry: vpn, gateway: frontend, jump_only: false"));
  EXPECT_TRUE(open.contains("frontend>oob"));
  EXPECT_TRUE(open.contains("site>oob"));
  EXPECT_FALSE(open.contains("backend>oob"));
}

TEST(Reachability, OneVrfOnSharedSwitchesConnectsFabrics) {
  const std::string uplink = "entry: vpn, uplink_to_frontend: true";
  EXPECT_EQ(open_pairs(*load("entry: vpn", uplink)), Pairs{});
  EXPECT_TRUE(open_pairs(*load("entry: vpn", uplink + ", vrf: frontend")).contains("oob>frontend"));
  // The same VRF name on switches without a link connects nothing.
  EXPECT_EQ(open_pairs(*load("storage: {leaf: sn5600", "storage: {leaf: sn5600, vrf: backend")), Pairs{});
}

TEST(Reachability, StaticRouteIsFollowedToItsDestination) {
  ConfigFixture t(load());
  config::SwitchConfig& config = t.add(a_leaf(*t.loaded->cluster, model::FabricKind::backend));
  config::RouteConfig route;
  route.place = SourceLocation{config.file, 1, 42};
  route.prefix = net("10.70.0.0/16");
  route.next_hop = ip("10.70.0.1");
  config.routes.push_back(route);
  const Reachability reachability = t.analyse();
  EXPECT_EQ(open_pairs(reachability), Pairs{"backend>storage"});
  ASSERT_EQ(reachability.crossings().size(), 1U);
  EXPECT_EQ(reachability.crossings()[0].kind, CrossingKind::static_route);
  const auto proof = reachability.proof(0);
  ASSERT_EQ(proof.size(), 1U);
  // The example packet is between the two networks, and its path names the line.
  EXPECT_TRUE(net("10.60.0.0/14").contains(proof[0].path.packet.source) ||
              net("10.64.0.0/14").contains(proof[0].path.packet.source));
  EXPECT_TRUE(net("10.70.0.0/16").contains(proof[0].path.packet.destination));
  const auto& hops = proof[0].path.hops;
  EXPECT_TRUE(std::any_of(hops.begin(), hops.end(), [&](const ReachHop& hop) { return hop.place == route.place; }));
}

TEST(Reachability, RouteToAHostNeedsAHostThatForwards) {
  ConfigFixture t(load());
  config::SwitchConfig& config = t.add(a_leaf(*t.loaded->cluster, model::FabricKind::backend));
  config::RouteConfig route;
  route.prefix = net("10.70.0.0/16");
  route.next_hop = ip("10.60.0.2");  // a server on the rail
  config.routes.push_back(route);
  EXPECT_EQ(open_pairs(t.analyse()), Pairs{});
}

TEST(Reachability, RouteIntoAnotherVrfIsALeak) {
  ConfigFixture t(load());
  config::SwitchConfig& config = t.add(a_leaf(*t.loaded->cluster, model::FabricKind::frontend));
  config.vrfs.push_back({"storage", SourceLocation{config.file, 1, 5}, {}, {}});
  config::RouteConfig route;
  route.vrf = "frontend";
  route.prefix = net("10.70.0.0/16");
  route.next_hop = ip("10.70.0.1");
  route.next_hop_vrf = "storage";
  config.routes.push_back(route);
  const Reachability reachability = t.analyse();
  EXPECT_EQ(open_pairs(reachability), (Pairs{"frontend>storage", "site>storage"}));
}

TEST(Reachability, RouteImportIsOneWay) {
  ConfigFixture t(load());
  config::SwitchConfig& config = t.add(a_leaf(*t.loaded->cluster, model::FabricKind::frontend));
  const SourceLocation place{config.file, 1, 7};
  config.vrfs.push_back({"frontend", place, {config::Setting<std::string>("65000:700", place, "route-target")}, {}});
  config.vrfs.push_back({"storage", place, {}, {config::Setting<std::string>("65000:700", place, "route-target")}});
  EXPECT_EQ(open_pairs(t.analyse()), (Pairs{"frontend>storage", "site>storage"}));
}

config::AclConfig ssh_only(const config::SwitchConfig& config) {
  config::AclConfig acl;
  acl.name = "SSH";
  acl.place = SourceLocation{config.file, 1, 60};
  config::AclRule rule;
  rule.place = SourceLocation{config.file, 1, 61};
  rule.sequence = 10;
  rule.permit = true;
  rule.source = net("10.20.50.0/24");
  rule.protocol = 6;
  rule.port_low = rule.port_high = 22;
  acl.rules.push_back(rule);
  return acl;
}

TEST(Reachability, AccessListOnThePathFilters) {
  ConfigFixture t(load());
  config::SwitchConfig& config = t.add(a_leaf(*t.loaded->cluster, model::FabricKind::frontend));
  config.acls.push_back(ssh_only(config));
  config.interfaces.push_back(svi(config, 200, "10.20.50.2", "10.20.50.0/24", "frontend"));
  config.interfaces.push_back(svi(config, 999, "10.128.0.2", "10.128.0.0/10", "frontend"));
  config.interfaces.back().acl_out =
      config::Setting<std::string>("SSH", SourceLocation{config.file, 1, 13}, "ip access-group");
  const Reachability reachability = t.analyse();
  const ZoneReach& reach = reachability.between(zone(reachability, "frontend"), zone(reachability, "oob"));
  EXPECT_EQ(reach.packets.services(), "tcp 22");
  ASSERT_TRUE(reach.path);
  EXPECT_EQ(reach.path->packet.port, 22);
  const bool names_rule = std::any_of(reach.path->hops.begin(), reach.path->hops.end(),
                                      [&](const ReachHop& hop) { return hop.place.line == 61; });
  EXPECT_TRUE(names_rule);
  // The site's addresses are not in the list.
  EXPECT_FALSE(reachability.between(zone(reachability, "site"), zone(reachability, "oob")).reachable());
  // The reverse direction is not filtered.
  EXPECT_TRUE(reachability.between(zone(reachability, "oob"), zone(reachability, "frontend")).reachable());
}

TEST(Reachability, ManagementPortOutsideItsVrf) {
  for (const bool separate : {false, true}) {
    ConfigFixture t(load("entry: vpn", "entry: vpn, jump_only: false"));
    config::SwitchConfig& config =
        t.add(a_leaf(*t.loaded->cluster, model::FabricKind::backend), config::Dialect::sonic);
    if (separate) config.vrfs.push_back({"mgmt", SourceLocation{config.file, 1, 3}, {}, {}});
    config::InterfaceConfig eth0 = svi(config, 0, "10.130.0.1", "10.128.0.0/10");
    eth0.name = "eth0";
    eth0.kind = config::InterfaceConfig::Kind::management;
    config.interfaces.push_back(eth0);
    const Pairs open = open_pairs(t.analyse());
    EXPECT_EQ(open.contains("backend>oob"), !separate);
    EXPECT_EQ(open.contains("oob>backend"), !separate);
  }
}

TEST(Reachability, ForwardingHostIsARouter) {
  ConfigFixture t(load());
  config::SettingsFile file;
  file.kind = config::SettingsFile::Kind::sysctl;
  file.file = t.loaded->sources.add("sysctl.conf", "net.ipv4.ip_forward = 1\n");
  file.entries.push_back({"net.ipv4.ip_forward", "1", SourceLocation{file.file, 1, 1}});
  t.set.files.push_back({file.file, config::ConfigKind::sysctl, "train*"});
  t.set.settings.push_back(file);
  const Pairs open = open_pairs(t.analyse());
  EXPECT_TRUE(open.contains("backend>storage"));
  EXPECT_TRUE(open.contains("storage>frontend"));
  EXPECT_FALSE(open.contains("frontend>oob"));  // its BMC is not a port of the operating system
  // The receiving interface decides: rails without forwarding still get what the frontend interface accepts.
  t.set.settings[0].entries.resize(1);
  for (const char* name : {"be1", "be2", "be3", "be4", "be5", "be6", "be7", "be8", "sto1", "sto2"}) {
    t.set.settings[0].entries.push_back({std::string("net.ipv4.conf.") + name + ".forwarding", "0", {}});
  }
  // Traffic from the site does not get that far: the frontend VRF has no route to the rails.
  EXPECT_EQ(open_pairs(t.analyse()), (Pairs{"frontend>backend", "frontend>storage"}));
  t.set.settings[0].entries.push_back({"net.ipv4.conf.fe1.forwarding", "0", {}});
  t.set.settings[0].entries.push_back({"net.ipv4.conf.fe2.forwarding", "0", {}});
  EXPECT_EQ(open_pairs(t.analyse()), Pairs{});
  // On hosts of one fabric it has no effect.
  t.set.settings[0].entries.resize(1);
  t.set.files.back().applies_to = "jump*";
  EXPECT_EQ(open_pairs(t.analyse()), Pairs{});
}

TEST(Reachability, TraceReturnsPathOrReason) {
  const auto loaded = load();
  const Reachability reachability(loaded->cluster.get(), {}, loaded->sources);
  const auto blocked = reachability.trace("train001", "infra001.bmc", 6, 22);
  ASSERT_TRUE(blocked.ok());
  ASSERT_FALSE(blocked->empty());
  for (const ReachTry& one : *blocked) {
    EXPECT_FALSE(one.reached) << one.from;
    EXPECT_FALSE(one.stopped.empty()) << one.from;  // each try reports where it ended
  }
  const auto open = reachability.trace("jump001:mgmt1", "infra001:bmc", 6, 443);
  ASSERT_TRUE(open.ok());
  ASSERT_EQ(open->size(), 1U);
  EXPECT_TRUE((*open)[0].reached && (*open)[0].whole);
  ASSERT_TRUE((*open)[0].path);
  EXPECT_EQ((*open)[0].path->packet.port, 443);
  EXPECT_FALSE(reachability.trace("nobody", "frontend", -1, -1).ok());
  EXPECT_TRUE(reachability.trace("frontend", "192.0.2.7", -1, -1)->front().reached);
}

TEST(Reachability, NothingIsReachableWithoutACluster) {
  Sources sources;
  const config::ConfigSet config;
  const Reachability reachability(nullptr, config, sources);
  EXPECT_TRUE(reachability.zones().empty());
  EXPECT_TRUE(reachability.violations().empty());
  EXPECT_FALSE(reachability.trace("a", "b", -1, -1).ok());
}

// Random graphs of routes and lists over a few packets: the sets must contain exactly those packets that reach each
// node in a packet-by-packet walk.
TEST(ReachModel, SetsAgreeWithWalkingEveryPacket) {
  RandomStream random(23, "graph");
  for (int round = 0; round < 60; ++round) {
    const config::ConfigSet config;
    ReachModel model(nullptr, config);
    constexpr std::uint32_t kNodes = 6;
    std::vector<config::AclConfig> acls(4);
    for (config::AclConfig& acl : acls) {
      acl.permit_rest = random.chance(0.5);
      for (int i = 0; i < 3; ++i) {
        config::AclRule rule;
        rule.permit = random.chance(0.5);
        const auto length = static_cast<std::uint8_t>(random.between(29, 32));
        const std::uint32_t mask = ~std::uint32_t{0} << (32U - length);
        rule.source = {Ipv4{static_cast<std::uint32_t>(random.below(8)) & mask}, length};
        rule.destination = {Ipv4{static_cast<std::uint32_t>(random.below(8)) & mask}, length};
        rule.port_high = static_cast<int>(random.below(4));
        acl.rules.push_back(rule);
      }
    }
    for (std::uint32_t n = 0; n < kNodes; ++n) model.add_node("n", -1, true);
    for (int i = 0; i < 12; ++i) {
      ReachEdge edge;
      edge.from = static_cast<NodeId>(random.below(kNodes));
      edge.to = static_cast<NodeId>(random.below(kNodes));
      const auto low = static_cast<std::uint32_t>(random.below(8));
      if (random.chance(0.7)) edge.destinations = {{low, low + 2}, {6, 6}};
      if (random.chance(0.7)) edge.acls.push_back(&acls[random.below(acls.size())]);
      model.add_edge(edge);
    }
    PacketBox all;
    all.sides = {{{0, 7}, {0, 7}, {6, 6}, {0, 3}}};
    const ReachSearch search = model.search({{0, PacketSet(all)}}, {});
    for (std::uint32_t s = 0; s < 8; ++s) {
      for (std::uint32_t d = 0; d < 8; ++d) {
        for (int port = 0; port < 4; ++port) {
          const Packet packet{Ipv4{s}, Ipv4{d}, 6, port};
          std::set<NodeId> reached{0};
          for (bool more = true; more;) {
            more = false;
            for (const ReachEdge& edge : model.edges) {
              if (!reached.contains(edge.from) || reached.contains(edge.to)) continue;
              const bool routed = edge.destinations.empty() ||
                                  (d >= edge.destinations[0].low && d <= edge.destinations[0].high) || d == 6;
              const bool passed = std::all_of(edge.acls.begin(), edge.acls.end(),
                                              [&](const config::AclConfig* acl) { return permits(*acl, packet); });
              if (routed && passed) more = reached.insert(edge.to).second || more;
            }
          }
          for (NodeId n = 0; n < kNodes; ++n) ASSERT_EQ(search.seen[n].contains(packet), reached.contains(n)) << round;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::check

// NX-OS files checked with weft's own NX-OS parser (src/config) and with its rules: the configuration of every port is
// what the cluster file requires.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "check/core/checker.h"
#include "config/config_set.h"
#include "model/lossless.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;

struct Case {
  const char* name;
  const char* example;
  Edits edits;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const std::vector<Case>& cases() {
  static const std::string fe = "frontend: {leaf: sn4600c, external: {links: 4}}";
  static const std::vector<Case> all = {
      {"nexus8", "nexus8.yaml", {}},
      {"pod16", "pod16.yaml", {}},
      {"pod32", "pod32.yaml", {}},
      {"numbered", "nexus8.yaml", {{"    spines: 4\n", "    spines: 4\n    switch_links: numbered\n"}}},
      {"three_tiers", "nexus8.yaml", {{"    spines: 4\n", "    tiers: 3\n"}, {"    unit: 8\n", "    unit: 2\n"}}},
      {"pair", "pod16.yaml", {{fe, "frontend: {leaf: nexus-9336c-fx2, external: {links: 4}}"}}},
      {"pairs", "pod16.yaml", {{fe, "frontend: {leaf: nexus-9336c-fx2, tiers: 2, uplinks: 24, external: {links: 4}}"}}},
      {"split_ports",
       "pod32.yaml",
       {{"{leaf: sn5600, speed: 400G", "{leaf: nexus-9364e-sg2, speed: 400G"},
        {"storage: {leaf: sn5600}", "storage: {leaf: nexus-9364e-sg2}"}}},
      {"other_classes",
       "nexus8.yaml",
       {{"qos: {priority: 3, dscp: 26, cnp_priority: 6, cnp_dscp: 48, ecn_percent: 20, bandwidth_percent: 60}",
         "qos: {priority: 5, dscp: 40, cnp_priority: 7, cnp_dscp: 56, ecn_min: 300KB, ecn_max: 1500KB, "
         "ecn_percent: 7, bandwidth_percent: 80}"}}},
  };
  return all;
}

class RenderedNxos : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    made_ = load_example(GetParam().example, GetParam().edits);
    ASSERT_NE(made_, nullptr);
    made_->render("nxos");
    ASSERT_FALSE(made_->sink.files.empty());
  }

  [[nodiscard]] const model::Cluster& cluster() const { return made_->cluster(); }
  [[nodiscard]] const model::FabricSpec* fabric(model::FabricKind kind) const {
    const model::FabricsSpec& all = cluster().spec().fabrics.value;
    if (kind == model::FabricKind::oob) return nullptr;
    return kind == model::FabricKind::backend   ? &all.backend.value
           : kind == model::FabricKind::storage ? &all.storage.value
                                                : &all.frontend.value;
  }

  std::unique_ptr<Rendering> made_;
  Sources sources_;
};

// "p12/2" in the model is Ethernet1/12/2.
std::string interface_of(const model::Cluster& cluster, model::PortId id) {
  return "Ethernet1/" + cluster.port_name(id).substr(1);
}

bool is_management(const model::Cluster& cluster, model::PortId id) { return cluster.port_name(id) == "mgmt"; }

void expect_lossless(const config::SwitchConfig& config, const config::InterfaceConfig& port,
                     const model::QosSpec& spec, BitRate speed) {
  const config::PortQos& qos = config.qos[port.qos];
  const auto data = static_cast<std::size_t>(spec.priority.value);
  const auto notes = static_cast<std::size_t>(spec.cnp_priority.value);
  for (std::size_t i = 0; i < config::kDscps; ++i) {
    const std::int64_t expected = static_cast<std::int64_t>(i) == spec.dscp.value       ? spec.priority.value
                                  : static_cast<std::int64_t>(i) == spec.cnp_dscp.value ? spec.cnp_priority.value
                                                                                        : 0;
    EXPECT_EQ(*qos.dscp_to_class[i], expected) << port.name << " DSCP " << i;
  }
  for (std::size_t i = 0; i < config::kClasses; ++i) {
    EXPECT_EQ(*qos.pfc[i], i == data) << port.name << " " << i;
    EXPECT_EQ(*qos.groups[i].lossless, i == data) << port.name << " " << i;
    EXPECT_EQ(*qos.queues[i].ecn, i == data) << port.name << " " << i;
  }
  EXPECT_EQ(*qos.pfc_mode, model::PfcMode::on);
  const model::EcnThresholds marks = model::ecn_thresholds(spec, speed);
  EXPECT_EQ(qos.queues[data].ecn_min.value, marks.min) << port.name;
  EXPECT_EQ(qos.queues[data].ecn_max.value, marks.max) << port.name;
  EXPECT_EQ(*qos.queues[data].ecn_percent, spec.ecn_percent.value);
  EXPECT_EQ(*qos.queues[data].weight, spec.bandwidth_percent.value);
  EXPECT_EQ(*qos.queues[notes].scheduling, config::Scheduling::strict);
  EXPECT_TRUE(*qos.watchdog.on) << port.name;
}

void expect_port(const config::SwitchConfig& config, const model::Cluster& cluster, model::PortId id,
                 const model::FabricSpec* fabric) {
  const model::Port& port = cluster.port(id);
  const model::Port& far = cluster.port(cluster.peer_of(id));
  const config::InterfaceConfig* found = config.find(interface_of(cluster, id));
  ASSERT_NE(found, nullptr) << cluster.full_port_name(id);
  EXPECT_TRUE(*found->enabled) << found->name;
  EXPECT_EQ(*found->description, cluster.name_of(far.device) + " " + cluster.port_name(cluster.peer_of(id)));
  if (port.speed() > gigabits(1)) {
    EXPECT_EQ(found->speed.value, port.speed()) << found->name;
  }
  if (fabric != nullptr && fabric->mtu.value > 1500) {
    EXPECT_EQ(*found->mtu, 9216) << found->name;
  }
  const model::CableRole role = cluster.cable(port.cable).role;
  if (role == model::CableRole::host_leaf) {
    const int vlan = fabric == nullptr ? static_cast<int>(cluster.spec().fabrics->oob->vlan.value)
                                       : static_cast<int>(cluster.subnet(far.subnet).vlan);
    EXPECT_EQ(*found->access_vlan, vlan) << found->name;
  }
  if (role == model::CableRole::leaf_spine || role == model::CableRole::spine_core) {
    EXPECT_EQ(*found->vrf, fabric->vrf->text) << found->name;
    EXPECT_FALSE(found->access_vlan.known()) << found->name;
    ASSERT_EQ(found->own.size(), port.address.bits != 0 ? 1U : 0U) << found->name;
    if (port.address.bits != 0) {
      EXPECT_EQ(found->own.front(), port.address);
    }
    const std::string peer = port.address.bits != 0 ? to_text(far.address) : found->name;
    const auto neighbor = std::find_if(config.neighbors.begin(), config.neighbors.end(),
                                       [&](const config::NeighborConfig& one) { return one.peer == peer; });
    ASSERT_NE(neighbor, config.neighbors.end()) << peer;
    EXPECT_EQ(*neighbor->remote_asn, cluster.device(far.device).asn) << peer;
    EXPECT_EQ(neighbor->vrf, fabric->vrf->text);
    EXPECT_TRUE(*neighbor->bfd) << peer;
  }
  const bool data = role == model::CableRole::host_leaf || role == model::CableRole::leaf_spine ||
                    role == model::CableRole::spine_core;
  if (fabric != nullptr && fabric->qos->lossless.value && data)
    expect_lossless(config, *found, fabric->qos.value, port.speed());
}

// The gateway of a port's hosts is on the switch, or on its pair with HSRP (which the parser ignores).
void expect_gateway(const config::SwitchConfig& config, const model::Cluster& cluster, model::PortId id) {
  const model::Port& far = cluster.port(cluster.peer_of(id));
  if (far.fabric == model::FabricKind::oob || far.subnet == model::kNone<model::SubnetId>) return;
  const model::Subnet& subnet = cluster.subnet(far.subnet);
  const config::InterfaceConfig* svi = config.find("Vlan" + std::to_string(subnet.vlan));
  ASSERT_NE(svi, nullptr) << subnet.name;
  EXPECT_TRUE(*svi->enabled);
  const auto at = std::find_if(svi->addresses.begin(), svi->addresses.end(),
                               [&](const auto& prefix) { return *prefix == subnet.prefix; });
  ASSERT_NE(at, svi->addresses.end()) << subnet.name;
  const Ipv4 own = svi->own[static_cast<std::size_t>(at - svi->addresses.begin())];
  if (subnet.fabric == model::FabricKind::frontend) {
    EXPECT_GT(own.bits, subnet.gateway.bits);
    EXPECT_LT(own.bits, subnet.prefix.at(10).bits);
  } else {
    EXPECT_EQ(own, subnet.gateway);
  }
}

TEST_P(RenderedNxos, ReadsBackAsTheDesign) {
  for (const auto& [path, file] : made_->sink.files) {
    SCOPED_TRACE(path);
    Diagnostics diagnostics;
    const FileId id = sources_.add(path, file.content);
    ASSERT_EQ(config::detect_kind(path, file.content), config::ConfigKind::nxos);
    const auto config = config::read_nxos(sources_, id, diagnostics);
    EXPECT_EQ(diagnostics.error_count() + diagnostics.warning_count(), 0U) << render_all(diagnostics, sources_, false);
    ASSERT_TRUE(config.has_value());
    const model::DeviceId device = cluster().find_device(*config->hostname);
    ASSERT_NE(device, model::kNone<model::DeviceId>);
    ASSERT_EQ(file.device, cluster().name_of(device));
    const model::FabricKind kind = cluster().group_of(device).fabric;
    std::size_t cabled = 0;
    for (const model::PortId port : cluster().ports_of(device)) {
      if (is_management(cluster(), port)) continue;
      ++cabled;
      expect_port(*config, cluster(), port, fabric(kind));
      if (cluster().cable(cluster().cable_of(port)).role == model::CableRole::host_leaf) {
        expect_gateway(*config, cluster(), port);
      }
    }
    const auto front = std::count_if(config->interfaces.begin(), config->interfaces.end(), [](const auto& one) {
      return one.kind == config::InterfaceConfig::Kind::front_panel;
    });
    EXPECT_EQ(static_cast<std::size_t>(front), cabled);
    if (!config->neighbors.empty()) {
      EXPECT_EQ(*config->asn, cluster().device(device).asn);
    }
    if (kind == model::FabricKind::oob) continue;
    const config::InterfaceConfig* management = config->find("mgmt0");
    ASSERT_NE(management, nullptr);
    ASSERT_EQ(management->own.size(), 1U);
    EXPECT_EQ(management->own.front(), cluster().oob_address(device));
  }
}

std::vector<std::string> findings(const Rendering& made, bool with_files) {
  config::ConfigSet config;
  Sources& sources = made.loaded->sources;
  for (const auto& [path, file] : made.sink.files) {
    if (with_files) config::read_config_text(path, file.content, sources, config, config.problems);
  }
  const check::CheckInput input(&made.cluster(), config, sources, with_files);
  check::CheckOptions options;
  options.today = "2026-11-15";
  std::vector<std::string> out;
  for (const check::Finding& finding : check::run_checks(input, options).findings)
    out.push_back(std::string(finding.rule->id) + " " + finding.subject + ": " + finding.message);
  std::sort(out.begin(), out.end());
  return out;
}

TEST_P(RenderedNxos, AddsNoFinding) { EXPECT_EQ(findings(*made_, true), findings(*made_, false)); }

INSTANTIATE_TEST_SUITE_P(Clusters, RenderedNxos, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

// Tiers hash with different seeds, so that a spine does not repeat its leaf's choice (polarization).
TEST(RenderedSwitches, TiersHashWithDifferentSeeds) {
  const auto made =
      load_example("nexus8.yaml", {{"    spines: 4\n", "    tiers: 3\n"}, {"    unit: 8\n", "    unit: 2\n"}});
  made->render("nxos");
  std::map<model::Tier, std::int64_t> seeds;
  Sources sources;
  for (const auto& [path, file] : made->sink.files) {
    Diagnostics diagnostics;
    const auto config = config::read_nxos(sources, sources.add(path, file.content), diagnostics);
    const model::Tier tier = made->cluster().group_of(made->cluster().find_device(file.device)).tier;
    ASSERT_TRUE(config->ecmp_seed) << path;
    const auto [known, added] = seeds.emplace(tier, *config->ecmp_seed_value);
    EXPECT_EQ(known->second, *config->ecmp_seed_value) << path;
  }
  ASSERT_EQ(seeds.size(), 3U);
  EXPECT_NE(seeds[model::Tier::leaf], seeds[model::Tier::spine]);
  EXPECT_NE(seeds[model::Tier::spine], seeds[model::Tier::core]);
  EXPECT_NE(seeds[model::Tier::leaf], seeds[model::Tier::core]);
}

// One subnet on several pairs of leaves: every server is announced only by the two leaves it is cabled to.
TEST(RenderedSwitches, StretchedSubnetIsAnnouncedHostByHost) {
  const auto made = load_example("pod16.yaml", {{"frontend: {leaf: sn4600c, external: {links: 4}}",
                                                 "frontend: {leaf: nexus-9336c-fx2, tiers: 2, uplinks: 24}"}});
  made->render("nxos");
  const model::Cluster& cluster = made->cluster();
  ASSERT_GT(cluster.fabric(model::FabricKind::frontend).leaves, 2U);
  std::size_t servers = 0;
  for (const render::PoolPlan& pool : made->plan->pools()) {
    for (std::uint32_t i = 0; i < pool.group->count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
      const Ipv4 address = made->plan->frontend_address(id);
      if (address.bits == 0) continue;
      ++servers;
      std::vector<std::string> cabled;
      for (const model::PortId port : cluster.ports_of(id)) {
        if (cluster.port(port).fabric == model::FabricKind::frontend)
          cabled.push_back(cluster.name_of(cluster.port(cluster.peer_of(port)).device));
      }
      std::vector<std::string> announcing;
      for (const auto& [path, file] : made->sink.files) {
        if (file.content.find("      network " + to_text(address) + "/32\n") == std::string::npos) continue;
        announcing.push_back(file.device);
        EXPECT_NE(file.content.find("  ip route " + to_text(address) + "/32 Vlan200 " + to_text(address) + "\n"),
                  std::string::npos);
      }
      std::sort(cabled.begin(), cabled.end());
      EXPECT_EQ(announcing, cabled) << cluster.name_of(id);
    }
  }
  EXPECT_GT(servers, 20U);
  for (const auto& [path, file] : made->sink.files)
    EXPECT_EQ(file.content.find("network 10.20.50.0/24"), std::string::npos) << path;
}

// The access list of an out-of-band leaf, parsed: at least one address of each entry is a jump host's or a service's.
TEST(RenderedSwitches, OnlyJumpHostsPassTheGuard) {
  const auto made = load_example("pod16.yaml");
  made->render("nxos");
  std::vector<Ipv4> jump;
  for (const model::DeviceId id : made->plan->jump_hosts()) {
    for (const model::PortId port : made->cluster().ports_of(id)) {
      const model::Port& one = made->cluster().port(port);
      if (one.fabric == model::FabricKind::oob && one.rail > 0) jump.push_back(one.address);
    }
  }
  ASSERT_EQ(jump.size(), 2U);
  Sources sources;
  Diagnostics diagnostics;
  const std::string path = "nxos/oob-leaf001.cfg";
  const auto config = config::read_nxos(sources, sources.add(path, made->sink.content(path)), diagnostics);
  ASSERT_EQ(config->acls.size(), 1U);
  std::size_t open = 0;
  for (const config::AclRule& rule : config->acls.front().rules) {
    if (!rule.permit || rule.protocol == 17 || rule.protocol == 6) continue;  // services
    ++open;
    const bool from = rule.source.length == 32 && std::count(jump.begin(), jump.end(), rule.source.base) == 1;
    const bool to = rule.destination.length == 32 && std::count(jump.begin(), jump.end(), rule.destination.base) == 1;
    EXPECT_TRUE(from || to) << rule.sequence;
  }
  EXPECT_EQ(open, 4U);
  EXPECT_FALSE(config->acls.front().rules.back().permit);
}

}  // namespace
}  // namespace weft

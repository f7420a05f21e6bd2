// NVUE commands: how a shell splits them, and whether they match the design when parsed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/switch_config.h"
#include "lab.h"
#include "model/lossless.h"
#include "render/switches/system.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;

struct Variant {
  std::string name;
  std::string example;
  Edits edits;
};

std::vector<Variant> variants() {
  const std::string spines = "    spines: 4";
  const Edits everything{{"system: sonic", "system: cumulus"},
                         {"leaf: nexus-9348gc-fx3", "leaf: sn2201\n    system: cumulus"},
                         {"spine: nexus-9336c-fx2", "spine: sn4600c"}};
  Edits numbered = everything;
  numbered.emplace_back(spines, spines + "\n    switch_links: numbered\n    ipv6: 2001:db8:1::/48");
  Edits tiers = everything;
  tiers.emplace_back(spines, "    tiers: 3");
  Edits adaptive = everything;
  adaptive.emplace_back(spines, spines + "\n    load_balancing: adaptive");
  Edits lossy = everything;
  lossy.emplace_back("ecn_percent: 20,", "ecn_percent: 20, pfc: off, trust: pcp,");
  return {{"as_it_is", "pod16.yaml", {}},
          {"everything", "pod16.yaml", everything},
          {"numbered", "pod16.yaml", numbered},
          {"three_tiers", "pod16.yaml", tiers},
          {"adaptive_routing", "pod16.yaml", adaptive},
          {"no_pfc", "pod16.yaml", lossy},
          {"pod32", "pod32.yaml", {}},
          {"superpod", "superpod-h100-4su.yaml", {}}};
}

struct Switch {
  const Rendering& rendering;
  model::DeviceId id;
  config::SwitchConfig config;

  [[nodiscard]] const model::Cluster& cluster() const { return rendering.cluster(); }
  [[nodiscard]] const model::FabricSpec* fabric() const {
    return render::switch_fabric(cluster(), cluster().group_of(id).fabric);
  }
  [[nodiscard]] const config::InterfaceConfig* towards(model::PortId far) const {
    const std::string end = cluster().name_of(cluster().port(far).device) + " " + cluster().port_name(far);
    const config::InterfaceConfig* found = nullptr;
    for (const config::InterfaceConfig& one : config.interfaces) {
      if (one.kind != config::InterfaceConfig::Kind::front_panel || one.description.value != end) continue;
      EXPECT_EQ(found, nullptr) << end;
      found = &one;
    }
    return found;
  }
};

class NvueCommands : public ::testing::TestWithParam<Variant> {
 protected:
  void SetUp() override {
    rendering_ = load_example(GetParam().example, GetParam().edits);
    ASSERT_NE(rendering_, nullptr);
    rendering_->render("nvue");
    for (const auto& [path, file] : rendering_->sink.files) {
      const FileId id = sources_.add(path, file.content);
      auto config = config::read_nvue(sources_, id, diagnostics_);
      ASSERT_TRUE(config.has_value()) << path;
      switches_.push_back({*rendering_, rendering_->cluster().find_device(file.device), std::move(*config)});
    }
    EXPECT_EQ(diagnostics_.error_count(), 0U) << render_all(diagnostics_, sources_, false);
    ASSERT_FALSE(switches_.empty());
  }

  std::unique_ptr<Rendering> rendering_;
  Sources sources_;
  Diagnostics diagnostics_;
  std::vector<Switch> switches_;
};

TEST_P(NvueCommands, PortsMatchTheDesign) {
  for (const Switch& one : switches_) {
    EXPECT_EQ(one.config.hostname.value, one.cluster().name_of(one.id));
    std::size_t cabled = 0;
    for (const model::PortId id : one.cluster().ports_of(one.id)) {
      if (one.cluster().port_name(id) == "mgmt") continue;
      ++cabled;
      const model::Port& port = one.cluster().port(id);
      const config::InterfaceConfig* found = one.towards(one.cluster().peer_of(id));
      ASSERT_NE(found, nullptr) << one.cluster().full_port_name(id);
      EXPECT_EQ(found->cage, port.cage + 1);
      EXPECT_EQ(found->part, port.lane / port.lanes);
      if (found->speed.known()) {
        EXPECT_EQ(found->speed.value, port.speed());
      }
      EXPECT_EQ(found->enabled.value, true);
      if (one.fabric() != nullptr) {
        EXPECT_EQ(found->mtu.value, one.fabric()->switch_mtu.value);
      }
    }
    const auto panel = std::count_if(
        one.config.interfaces.begin(), one.config.interfaces.end(), [](const config::InterfaceConfig& face) {
          return face.kind == config::InterfaceConfig::Kind::front_panel && face.description.known();
        });
    EXPECT_EQ(static_cast<std::size_t>(panel), cabled);
  }
}

TEST_P(NvueCommands, HostsAreInTheirVlanAndFindTheirGateway) {
  for (const Switch& one : switches_) {
    for (const model::PortId id : one.cluster().ports_of(one.id)) {
      const model::PortId far = one.cluster().peer_of(id);
      const model::Port& host = one.cluster().port(far);
      if (one.cluster().cable(host.cable).role != model::CableRole::host_leaf ||
          host.subnet == model::kNone<model::SubnetId> || one.cluster().port_name(id) == "mgmt") {
        continue;
      }
      const model::Subnet& subnet = one.cluster().subnet(host.subnet);
      const config::InterfaceConfig* port = one.towards(far);
      ASSERT_NE(port, nullptr);
      if (port->port_channel.known()) port = one.config.find(port->port_channel.value);
      ASSERT_NE(port, nullptr);
      EXPECT_EQ(port->access_vlan.value, subnet.vlan) << one.cluster().full_port_name(far);
      const config::InterfaceConfig* svi = one.config.find("vlan" + std::to_string(subnet.vlan));
      ASSERT_NE(svi, nullptr);
      const bool there = std::any_of(svi->addresses.begin(), svi->addresses.end(),
                                     [&](const auto& prefix) { return prefix.value == subnet.prefix; });
      EXPECT_TRUE(there) << to_text(subnet.prefix);
    }
  }
}

TEST_P(NvueCommands, LosslessClassMatchesTheDesign) {
  for (const Switch& one : switches_) {
    const bool lossless = one.fabric() != nullptr && one.fabric()->qos->lossless.value;
    for (const config::InterfaceConfig& face : one.config.interfaces) {
      if (face.kind != config::InterfaceConfig::Kind::front_panel || !face.description.known()) continue;
      const config::PortQos& qos = one.config.qos[face.qos];
      for (std::size_t priority = 0; priority < qos.pfc.size(); ++priority) {
        const bool wanted = lossless && one.fabric()->qos->pfc.value == model::PfcMode::on &&
                            static_cast<std::int64_t>(priority) == one.fabric()->qos->priority.value;
        EXPECT_EQ(qos.pfc[priority].value, wanted) << face.name << " " << priority;
      }
      if (!lossless) continue;
      const model::QosSpec& design = one.fabric()->qos.value;
      const auto data = static_cast<std::size_t>(design.priority.value);
      EXPECT_EQ(qos.trust.value, design.trust.value);
      if (design.trust.value == model::TrustMode::dscp) {
        EXPECT_EQ(qos.dscp_to_class[static_cast<std::size_t>(design.dscp.value)].value, design.priority.value);
        EXPECT_EQ(std::count_if(qos.dscp_to_class.begin(), qos.dscp_to_class.end(),
                                [&](const auto& to) { return to.value == design.priority.value; }),
                  1);
      }
      EXPECT_EQ(qos.class_to_queue[data].value, design.priority.value);
      EXPECT_EQ(qos.queues[data].weight.value, design.bandwidth_percent.value);
      if (face.speed.known()) {
        EXPECT_EQ(qos.queues[data].ecn_min.value, model::ecn_thresholds(design, face.speed.value).min);
      }
    }
  }
}

TEST_P(NvueCommands, EveryLinkOfAFabricIsANeighbor) {
  for (const Switch& one : switches_) {
    std::map<std::string, std::int64_t> known;
    for (const config::NeighborConfig& neighbor : one.config.neighbors)
      known[neighbor.peer] = neighbor.remote_asn.value;
    for (const model::PortId id : one.cluster().ports_of(one.id)) {
      const model::Cable& cable = one.cluster().cable(one.cluster().port(id).cable);
      if (cable.role != model::CableRole::leaf_spine && cable.role != model::CableRole::spine_core) continue;
      const model::PortId far = one.cluster().peer_of(id);
      const config::InterfaceConfig* face = one.towards(far);
      ASSERT_NE(face, nullptr);
      const Ipv4 address = one.cluster().port(far).address;
      const std::string peer = address == Ipv4{} ? face->name : to_text(address);
      ASSERT_TRUE(known.contains(peer)) << peer;
      EXPECT_EQ(known[peer], one.cluster().device(one.cluster().port(far).device).asn);
      EXPECT_EQ(face->vrf.value, one.fabric()->vrf->text);
    }
  }
}

// The file is run by a shell: each line must reach `nv` as one command with intact words, and nothing else may run.
TEST_P(NvueCommands, ShellRunsNothingButNv) {
  Lab lab("nvue_shell");
  const auto& [path, file] = *rendering_->sink.files.begin();
  const auto lines = static_cast<std::size_t>(std::count(file.content.begin(), file.content.end(), '\n'));
  const std::string script = (lab.folder() / "commands.nv").string();
  ASSERT_TRUE(write_file(script, file.content).ok());
  const std::string nv = (lab.folder() / "nv").string();
  ASSERT_TRUE(write_file(nv, "#!/bin/sh\ntest \"$1\" = set && echo \"$#\"\n").ok());
  std::filesystem::permissions(nv, std::filesystem::perms(0755));
  const Outcome outcome =
      lab.run({"/usr/bin/env", "-i", "PATH=" + lab.folder().string(), "/bin/bash", "-eu", script}, 60);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  std::size_t commands = 0;
  for (std::size_t at = file.content.find("nv set "); at != std::string::npos;
       at = file.content.find("nv set ", at + 1)) {
    ++commands;
  }
  EXPECT_EQ(static_cast<std::size_t>(std::count(outcome.out.begin(), outcome.out.end(), '\n')), commands);
  EXPECT_GT(commands, 10U);
  EXPECT_LE(commands, lines);
}

INSTANTIATE_TEST_SUITE_P(Variants, NvueCommands, ::testing::ValuesIn(variants()),
                         [](const ::testing::TestParamInfo<Variant>& one) { return one.param.name; });

TEST(NvueLoadBalancing, AdaptiveRoutingOnSpectrum4Only) {
  const auto rendering = load_example("pod16.yaml", {{"system: sonic", "system: cumulus\n    load_balancing: adaptive"},
                                                     {"frontend: {", "frontend: {load_balancing: adaptive, "}});
  ASSERT_NE(rendering, nullptr);
  rendering->render("nvue");
  const std::string leaf = rendering->sink.content("nvue/be-train-u001-leaf1/commands.nv");
  EXPECT_NE(leaf.find("nv set router adaptive-routing enable on\n"), std::string::npos);
  EXPECT_NE(leaf.find(" router adaptive-routing enable on\n"), std::string::npos);
  EXPECT_EQ(rendering->sink.content("nvue/fe-leaf001a/commands.nv").find("adaptive"), std::string::npos);
  const std::vector<std::string>& notes = rendering->sink.notes;
  EXPECT_EQ(std::count_if(notes.begin(), notes.end(),
                          [](const std::string& note) { return note.find("`load_balancing: adaptive`") != note.npos; }),
            1);
}

}  // namespace
}  // namespace weft

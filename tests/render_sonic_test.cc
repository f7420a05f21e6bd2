// SONiC files validated against SONiC's own YANG models (libyang), and the properties of the design that they must
// have.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "lab.h"
#include "render/switches/switch_plan.h"
#include "render/switches/system.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_lab::Words;
using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;
using testing_rendered::source_path;
using testing_rendered::test_data_path;
using Json = nlohmann::json;

struct Variant {
  std::string name;
  std::string example;
  Edits edits;
};

// Every fabric on SONiC, with variants of its switches: models, tiers, addressing, trust, watchdog.
std::vector<Variant> variants() {
  const std::string pod = "pod16.yaml";
  const std::pair<std::string, std::string> storage{"system: cumulus", "system: sonic"};
  const std::pair<std::string, std::string> frontend{"leaf: sn4600c, external",
                                                     "leaf: sn4600c, system: sonic, external"};
  const std::pair<std::string, std::string> oob{"leaf: nexus-9348gc-fx3", "leaf: sn2201\n    system: sonic"};
  const std::pair<std::string, std::string> oob_above{"spine: nexus-9336c-fx2", "spine: sn4600c"};
  const std::string leaf = "leaf: sn5600";
  const std::string spines = "    spines: 4";
  return {
      {"as-it-is", pod, {}},
      {"all-sonic", pod, {storage, frontend, oob, oob_above}},
      {"plain-oob", pod, {{oob.first, "leaf: plain-1g-48"}, oob_above}},
      {"open-door", pod, {oob, oob_above, {"entry: vpn", "entry: vpn\n    jump_only: false"}}},
      {"numbered", pod, {{spines, spines + "\n    switch_links: numbered\n    ipv6: 2001:db8:1::/48"}}},
      {"three-tiers", pod, {{spines, "    tiers: 3"}}},
      {"tomahawk", pod, {{leaf, "leaf: th5-64x800"}}},
      {"arista", pod, {{leaf, "leaf: arista-7060x6-64pe"}}},
      {"sn5400", pod, {{leaf, "leaf: sn5400"}}},
      {"sn4700", pod, {{leaf, "leaf: sn4700"}, {"speed: 400G", "speed: 200G"}}},
      {"pcp", pod, {{"ecn_percent: 20,", "ecn_percent: 20, trust: pcp, watchdog_detection: 3s, ecn: false,"}}},
      {"class-zero", pod, {{"priority: 3, dscp: 26", "priority: 0, dscp: 0, pfc_priorities: [0, 3]"}}},
      {"no-pfc", pod, {{"ecn_percent: 20,", "ecn_percent: 20, pfc: off, pfc_watchdog: false,"}}},
      {"no-seeds-no-bfd", pod, {{spines, spines + "\n    hash_seeds: false\n    bfd: false"}}},
      {"long-vrf", pod, {{spines, spines + "\n    vrf: the-network-between-the-gpus"}}},
      {"free-text", pod, {{"syslog: 10.128.0.10", "syslog: '10.0.0.1\"], \"X\": [\"'"}}},
      {"slurm-alone", pod, {storage, frontend, {"kind: both", "kind: slurm"}}},
      {"pod32",
       "pod32.yaml",
       {{"{leaf: sn5600, speed", "{leaf: sn5600, system: sonic, speed"},
        {"storage: {leaf: sn5600}", "storage: {leaf: sn5600, system: sonic}"},
        {frontend.first, frontend.second}}},
      {"superpod",
       "superpod-h100-4su.yaml",
       {{"leaf: sn4600c", "leaf: sn4600c\n    system: sonic"}, {"leaf: sn2201", "leaf: sn2201\n    system: sonic"}}},
  };
}

constexpr int kSeconds = 60;  // far more than needed, for busy machines

#define NEEDS_YANG()                            \
  WEFT_NEEDS_DATA("schemas/sonic-yang-models"); \
  WEFT_NEEDS_PROGRAM("yanglint");               \
  WEFT_NEEDS_PROGRAM("/usr/bin/python3")

Outcome hold(Lab& lab, const std::string& mode, const Words& files) {
  Words words{"/usr/bin/python3", source_path("tests/sonic_yang.py"), test_data_path("schemas/sonic-yang-models"),
              mode};
  words.insert(words.end(), files.begin(), files.end());
  return lab.run(words, kSeconds);
}

// Renders a variant into the lab's folder and returns the paths of its config_db.json files.
Words write_variant(const Variant& variant, const Lab& lab) {
  auto rendering = load_example(variant.example, variant.edits);
  if (rendering == nullptr) return {};
  rendering->render("sonic");
  rendering->write_to(lab.folder() / variant.name);
  Words files;
  for (const auto& [path, file] : rendering->sink.files) files.push_back((lab.folder() / variant.name / path).string());
  EXPECT_FALSE(files.empty()) << variant.name;
  return files;
}

TEST(RenderSonic, SpoiltDocumentsAreRefused) {
  NEEDS_YANG();
  Lab lab("sonic_mutants");
  const auto all = variants();
  const auto everything =
      std::find_if(all.begin(), all.end(), [](const Variant& one) { return one.name == "all-sonic"; });
  Words chosen;
  for (const std::string& file : write_variant(*everything, lab)) {
    for (const char* device : {"/be-train-u001-leaf1/", "/fe-leaf001a/", "/oob-leaf001/"}) {
      if (file.find(device) != std::string::npos) chosen.push_back(file);
    }
  }
  ASSERT_EQ(chosen.size(), 3U);
  const Outcome outcome = hold(lab, "mutants", chosen);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  std::cout << outcome.out.substr(0, outcome.out.find('\n')) << "\n";
}

TEST(RenderSonic, ValidationAgreesWithSonicsOwnVectors) {
  NEEDS_YANG();
  Lab lab("sonic_vectors");
  const Outcome outcome = hold(lab, "vectors", {});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  std::cout << outcome.out.substr(0, outcome.out.find('\n')) << "\n";
}

// One rendered switch with the design.
struct Switch {
  const Rendering& rendering;
  model::DeviceId id;
  Json config;

  [[nodiscard]] const model::Cluster& cluster() const { return rendering.cluster(); }
  // A table, empty if it does not exist.
  [[nodiscard]] const Json& table(const std::string& name) const {
    static const Json empty = Json::object();
    return config.contains(name) ? config.at(name) : empty;
  }
  // The cabled port whose description names the far end.
  [[nodiscard]] std::map<std::string, std::string> by_far_end() const {
    std::map<std::string, std::string> out;
    for (const auto& [name, row] : table("PORT").items()) {
      if (!row.contains("description")) continue;
      EXPECT_TRUE(out.emplace(row.at("description").get<std::string>(), name).second) << row;
    }
    return out;
  }
};

std::vector<Switch> switches_of(const Rendering& rendering) {
  std::vector<Switch> out;
  for (const auto& [path, file] : rendering.sink.files) {
    out.push_back({rendering, rendering.cluster().find_device(file.device), Json::parse(file.content)});
  }
  return out;
}

class SonicProperties : public ::testing::TestWithParam<Variant> {};

TEST_P(SonicProperties, EveryDocumentFitsTheYangModels) {
  NEEDS_YANG();
  Lab lab("sonic_yang");
  const Words files = write_variant(GetParam(), lab);
  const Outcome outcome = hold(lab, "documents", files);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("validated " + std::to_string(files.size()) + " documents, 0 refused"), std::string::npos);
  std::cout << outcome.out.substr(0, outcome.out.find('\n')) << "\n";
}

TEST_P(SonicProperties, EveryCabledPortOnceWithTheDesignsSpeedAndFrameSize) {
  const auto rendering = load_example(GetParam().example, GetParam().edits);
  ASSERT_NE(rendering, nullptr);
  rendering->render("sonic");
  std::size_t switches = 0;
  for (const model::DeviceGroup& group : rendering->cluster().groups()) {
    if (render::is_ethernet_switch_of(rendering->cluster(), group, "sonic")) switches += group.count;
  }
  const auto all = switches_of(*rendering);
  EXPECT_EQ(all.size(), switches);
  for (const Switch& one : all) {
    const auto names = one.by_far_end();
    const model::FabricSpec* fabric = render::switch_fabric(one.cluster(), one.cluster().group_of(one.id).fabric);
    std::set<std::string> lanes;
    std::size_t cabled = 0;
    for (const model::PortId id : one.cluster().ports_of(one.id)) {
      if (one.cluster().port_name(id) == "mgmt") continue;
      ++cabled;
      const model::PortId far = one.cluster().peer_of(id);
      const std::string end =
          one.cluster().name_of(one.cluster().port(far).device) + " " + one.cluster().port_name(far);
      ASSERT_TRUE(names.contains(end)) << one.cluster().name_of(one.id) << " " << end;
      const Json& row = one.config.at("PORT").at(names.at(end));
      EXPECT_EQ(row.at("speed"), std::to_string(one.cluster().port(id).speed_mbps));
      if (fabric != nullptr) {
        EXPECT_EQ(row.at("mtu"), std::to_string(fabric->switch_mtu.value));
      }
      EXPECT_EQ(row.at("admin_status"), "up");
      EXPECT_EQ(row.at("index"), std::to_string(one.cluster().port(id).cage + 1));
    }
    EXPECT_EQ(names.size(), cabled);
    for (const auto& [name, row] : one.config.at("PORT").items()) {  // no SerDes lane serves two ports
      std::stringstream list(row.at("lanes").get<std::string>());
      for (std::string lane; std::getline(list, lane, ',');) EXPECT_TRUE(lanes.insert(lane).second) << name << lane;
    }
  }
}

TEST_P(SonicProperties, HostsAreInTheirVlanAndFindTheirGateway) {
  const auto rendering = load_example(GetParam().example, GetParam().edits);
  ASSERT_NE(rendering, nullptr);
  rendering->render("sonic");
  for (const Switch& one : switches_of(*rendering)) {
    const auto names = one.by_far_end();
    std::map<std::string, std::string> bundle;
    for (const auto& [key, row] : one.table("PORTCHANNEL_MEMBER").items()) {
      bundle[key.substr(key.find('|') + 1)] = key.substr(0, key.find('|'));
    }
    for (const model::PortId id : one.cluster().ports_of(one.id)) {
      const model::PortId far = one.cluster().peer_of(id);
      const model::Port& host = one.cluster().port(far);
      const model::CableRole role = one.cluster().cable(host.cable).role;
      if (role != model::CableRole::host_leaf || host.subnet == model::kNone<model::SubnetId>) continue;
      if (one.cluster().port_name(id) == "mgmt") continue;
      const model::Subnet& subnet = one.cluster().subnet(host.subnet);
      const std::string vlan = "Vlan" + std::to_string(subnet.vlan);
      const std::string port = names.at(one.cluster().name_of(host.device) + " " + one.cluster().port_name(far));
      const std::string member = bundle.contains(port) ? bundle.at(port) : port;
      ASSERT_TRUE(one.table("VLAN_MEMBER").contains(vlan + "|" + member)) << vlan << " " << member;
      EXPECT_EQ(one.table("VLAN_MEMBER").at(vlan + "|" + member).at("tagging_mode"), "untagged");
      if (subnet.fabric == model::FabricKind::oob) continue;  // nothing is routed there
      EXPECT_TRUE(one.table("VLAN_INTERFACE")
                      .contains(vlan + "|" + to_text(subnet.gateway) + "/" + std::to_string(subnet.prefix.length)));
    }
  }
}

// DSCP to class to group and queue: the data's own all the way, lossless if the design uses PFC, with ECN and its
// share.
TEST_P(SonicProperties, LosslessClassIsConsistentEndToEnd) {
  const auto rendering = load_example(GetParam().example, GetParam().edits);
  ASSERT_NE(rendering, nullptr);
  rendering->render("sonic");
  for (const Switch& one : switches_of(*rendering)) {
    const model::DeviceGroup& group = one.cluster().group_of(one.id);
    const model::FabricSpec* fabric = render::switch_fabric(one.cluster(), group.fabric);
    if (fabric == nullptr || !fabric->qos->lossless.value) {
      EXPECT_TRUE(one.table("PORT_QOS_MAP").empty());
      EXPECT_TRUE(one.table("BUFFER_PG").empty());
      continue;
    }
    EXPECT_FALSE(one.table("PORT_QOS_MAP").empty());
    const model::QosSpec& qos = fabric->qos.value;
    const bool by_dscp = qos.trust.value == model::TrustMode::dscp;
    const bool pauses = qos.pfc.value != model::PfcMode::off;
    const std::string priority = std::to_string(qos.priority.value);
    const std::string code = by_dscp ? std::to_string(qos.dscp.value) : priority;
    for (const auto& [port, map] : one.table("PORT_QOS_MAP").items()) {
      const Json& codes = by_dscp ? one.table("DSCP_TO_TC_MAP").at(map.at("dscp_to_tc_map").get<std::string>())
                                  : one.table("DOT1P_TO_TC_MAP").at(map.at("dot1p_to_tc_map").get<std::string>());
      EXPECT_EQ(codes.size(), by_dscp ? 64U : 8U);
      EXPECT_EQ(std::count_if(codes.begin(), codes.end(), [&](const Json& to) { return to == priority; }), 1);
      ASSERT_EQ(codes.at(code), priority);
      const std::string name = map.at("tc_to_pg_map");
      const std::string pg = one.table("TC_TO_PRIORITY_GROUP_MAP").at(name).at(priority);
      const std::string queue =
          one.table("TC_TO_QUEUE_MAP").at(map.at("tc_to_queue_map").get<std::string>()).at(priority);
      EXPECT_EQ(queue, priority);
      const Json& row = one.table("QUEUE").at(port + "|" + queue);
      EXPECT_EQ(one.table("SCHEDULER").at(row.at("scheduler").get<std::string>()).at("weight"),
                std::to_string(qos.bandwidth_percent.value));
      EXPECT_EQ(row.contains("wred_profile"), qos.ecn.value);
      if (qos.ecn.value) {
        const Json& wred = one.table("WRED_PROFILE").at(row.at("wred_profile").get<std::string>());
        const auto megabits = std::stoll(one.table("PORT").at(port).at("speed").get<std::string>());
        const model::EcnThresholds wanted = model::ecn_thresholds(qos, BitRate(megabits * 1'000'000));
        EXPECT_EQ(wred.at("green_min_threshold"), std::to_string(wanted.min.count()));
        EXPECT_EQ(wred.at("green_max_threshold"), std::to_string(wanted.max.count()));
      }
      EXPECT_EQ(map.contains("pfc_enable"), pauses);
      if (!pauses) continue;
      std::string wanted;
      for (const std::int64_t one_priority : qos.pfc_priorities.value) {
        wanted += (wanted.empty() ? "" : ",") + std::to_string(one_priority);
      }
      EXPECT_EQ(map.at("pfc_enable"), wanted);
      EXPECT_EQ(
          pg,
          one.table("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP").at(map.at("pfc_to_pg_map").get<std::string>()).at(priority));
      const std::string profile = one.table("BUFFER_PG").at(port + "|" + pg).at("profile");
      EXPECT_GT(std::stoll(one.table("BUFFER_PROFILE").at(profile).at("xoff").get<std::string>()), 0);
      EXPECT_EQ(one.table("PFC_WD").contains(port), qos.pfc_watchdog.value);
    }
    EXPECT_EQ(one.table("PORT_QOS_MAP").size(), one.by_far_end().size());
  }
}

// Both ends of every link between SONiC switches name each other's AS number, and all links of a fabric are in BGP.
TEST_P(SonicProperties, BothEndsOfALinkAgree) {
  const auto rendering = load_example(GetParam().example, GetParam().edits);
  ASSERT_NE(rendering, nullptr);
  rendering->render("sonic");
  for (const Switch& one : switches_of(*rendering)) {
    const auto names = one.by_far_end();
    for (const model::PortId id : one.cluster().ports_of(one.id)) {
      const model::Cable& cable = one.cluster().cable(one.cluster().port(id).cable);
      if (cable.role != model::CableRole::leaf_spine && cable.role != model::CableRole::spine_core) continue;
      const model::PortId far = one.cluster().peer_of(id);
      const model::Device& peer = one.cluster().device(one.cluster().port(far).device);
      const std::string end =
          one.cluster().name_of(one.cluster().port(far).device) + " " + one.cluster().port_name(far);
      const std::string vrf = one.config.at("VRF").begin().key();
      const Ipv4 address = one.cluster().port(far).address;
      const std::string key = vrf + "|" + (address == Ipv4{} ? names.at(end) : to_text(address));
      ASSERT_TRUE(one.table("BGP_NEIGHBOR").contains(key)) << key;
      EXPECT_EQ(one.table("BGP_NEIGHBOR").at(key).at("asn"), std::to_string(peer.asn));
      EXPECT_EQ(one.table("INTERFACE").at(names.at(end)).at("vrf_name"), vrf);
      if (address == Ipv4{}) continue;
      EXPECT_TRUE(
          one.table("INTERFACE").contains(names.at(end) + "|" + to_text(one.cluster().port(id).address) + "/31"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, SonicProperties, ::testing::ValuesIn(variants()),
                         [](const ::testing::TestParamInfo<Variant>& one) {
                           std::string name = one.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// `weft check` of the rendered files, SONiC and NVUE, must have no findings beyond those of the design alone.
TEST(RenderSonic, CheckFindsNothingInWhatWasRendered) {
  Lab lab("sonic_check");
  for (const char* example : {"pod16.yaml", "pod32.yaml", "nexus8.yaml", "superpod-h100-4su.yaml"}) {
    const auto rendering = load_example(example);
    ASSERT_NE(rendering, nullptr);
    rendering->render("sonic");
    rendering->render("nvue");
    const auto folder = lab.folder() / example;
    rendering->write_to(folder);
    ASSERT_FALSE(rendering->sink.files.empty());
    const std::string file = source_path(std::string("examples/") + example);
    const auto findings = [&](const Words& more) {
      Words words{weft_binary(), "check", file, "-o", "json"};
      words.insert(words.end(), more.begin(), more.end());
      const Outcome outcome = lab.run(words, kSeconds);
      std::multiset<std::string> out;
      const Json document = Json::parse(outcome.out);
      for (const Json& one : document.at("findings")) out.insert(one.dump());
      return out;
    };
    const auto design = findings({});
    const auto both = findings({"--config", folder.string()});
    std::vector<std::string> added;
    std::set_difference(both.begin(), both.end(), design.begin(), design.end(), std::back_inserter(added));
    EXPECT_TRUE(added.empty()) << example << ": " << added.size() << " more, " << (added.empty() ? "" : added.front());
  }
}

// Free text of the cluster file never becomes a separate server in a document.
TEST(RenderSonic, FreeTextStaysInItsPlace) {
  const auto rendering = load_example("pod16.yaml", {{"syslog: 10.128.0.10", "syslog: 'a b\"}, \"X'"}});
  ASSERT_NE(rendering, nullptr);
  rendering->render("sonic");
  rendering->render("nvue");
  for (const auto& [path, file] : rendering->sink.files) {
    if (path.ends_with(".json")) {
      EXPECT_FALSE(Json::parse(file.content).contains("SYSLOG_SERVER")) << path;
    }
    EXPECT_EQ(file.content.find("a b"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace weft

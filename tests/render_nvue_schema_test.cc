// NVUE commands checked against a schema of the object model that is part of the tests (nvue_grammar.h, nvue_rules.h),
// independent of weft's renderer and parser: every command must set a documented path to a value in its range, names
// must be defined, and the objects created by a file are checked together.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "nvue_rules.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_nvue::judge_nvue;
using testing_rendered::Edits;
using testing_rendered::load_example;

struct Case {
  const char* name;
  const char* example;
  Edits edits;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const char* const kSpines = "    spines: 4\n";
const char* const kQos = "qos: {priority: 3, dscp: 26, cnp_priority: 6, cnp_dscp: 48,";
const char* const kFrontend = "frontend: {leaf: sn4600c, external: {links: 4}}";

// Every fabric of pod16 on Cumulus, and more edits.
Edits everything(const Edits& more = {}) {
  Edits edits{{"system: sonic", "system: cumulus"},
              {"leaf: nexus-9348gc-fx3", "leaf: sn2201\n    system: cumulus"},
              {"spine: nexus-9336c-fx2", "spine: sn4600c"}};
  edits.insert(edits.end(), more.begin(), more.end());
  return edits;
}

std::vector<Case> cases() {
  return {
      {"pod16", "pod16.yaml", {}},
      {"pod32", "pod32.yaml", {}},
      {"nexus8", "nexus8.yaml", {}},
      {"superpod", "superpod-h100-4su.yaml", {}},
      {"everything", "pod16.yaml", everything()},
      {"numbered", "pod16.yaml", everything({{kSpines, "    spines: 4\n    switch_links: numbered\n"}})},
      {"dual_stack", "pod16.yaml", everything({{kSpines, "    spines: 4\n    ipv6: \"fd00:1::/48\"\n"}})},
      {"numbered_dual_stack", "pod16.yaml",
       everything({{kSpines, "    spines: 4\n    switch_links: numbered\n    ipv6: \"fd00:1::/48\"\n"}})},
      {"three_tiers", "pod16.yaml", everything({{kSpines, "    tiers: 3\n"}})},
      {"adaptive_routing", "pod16.yaml", everything({{kSpines, "    spines: 4\n    load_balancing: adaptive\n"}})},
      {"no_bfd_no_seeds", "pod16.yaml",
       everything({{kSpines, "    spines: 4\n    hash_seeds: false\n    bfd: false\n"}})},
      {"by_priority", "pod16.yaml", everything({{kQos, "qos: {trust: pcp, priority: 3, cnp_priority: 6,"}})},
      {"no_pfc", "pod16.yaml", everything({{kQos, "qos: {pfc: off, priority: 3, dscp: 26,"}})},
      {"no_watchdog_no_ecn", "pod16.yaml", everything({{kQos, "qos: {pfc_watchdog: false, ecn: false, priority: 5,"}})},
      {"class_zero", "pod16.yaml", everything({{kQos, "qos: {priority: 0, dscp: 0, pfc_priorities: [0, 3],"}})},
      {"pair_dual_stack", "pod16.yaml",
       everything({{kFrontend, "frontend: {leaf: sn4600c, ipv6: \"fd00:3::/48\", external: {links: 4}}"}})},
      {"pairs", "pod16.yaml",
       everything({{kFrontend, "frontend: {leaf: sn4600c, ipv6: \"fd00:3::/48\", tiers: 2, uplinks: 56}"}})},
      {"open_door", "pod16.yaml", everything({{"entry: vpn", "entry: vpn\n    jump_only: false"}})},
      {"long_vrf", "pod16.yaml", everything({{kSpines, "    spines: 4\n    vrf: the-network-between-the-gpus\n"}})},
  };
}

std::map<std::string, std::string> render(const Case& one) {
  std::map<std::string, std::string> texts;
  const auto made = load_example(one.example, one.edits);
  EXPECT_NE(made, nullptr);
  if (made == nullptr) return texts;
  made->render("nvue");
  for (const auto& [path, file] : made->sink.files) texts.emplace(file.device, file.content);
  return texts;
}

class NvueFiles : public ::testing::TestWithParam<Case> {};

TEST_P(NvueFiles, SetOnlyDocumentedPaths) {
  const auto texts = render(GetParam());
  ASSERT_FALSE(texts.empty());
  std::map<std::string, testing_nvue::Addresses> seen;
  for (const auto& [device, text] : texts) {
    const auto judgment = judge_nvue(text);
    EXPECT_TRUE(judgment.complaints.all().empty()) << device << "\n" << judgment.complaints.text();
    // No two switches have the same address: a pair shares only a VRR address. Gateways of pairs are separate, each in
    // a VLAN local to its pair.
    for (const auto& [vrf, addresses] : judgment.addresses) {
      for (const auto& [address, line] : addresses) {
        const std::string scope = line.text.find("interface vlan") == std::string::npos ? "" : judgment.pair;
        EXPECT_TRUE(seen[scope][vrf].emplace(address, line).second) << device << ": " << line.text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Clusters, NvueFiles, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

// One mistake in a rendered file, and the expected message.
struct Mistake {
  const char* device;
  std::string from;
  std::string to;
  const char* complaint;
};

const char* const kBackend = "be-train-u001-leaf1";
const char* const kOob = "oob-leaf001";
const char* const kPair = "fe-leaf001a";
const char* const kUnknown = "is not a path of the object model";

std::vector<Mistake> wrong_paths() {
  return {
      {kBackend, "nv set system hostname ", "nv set hostname ", kUnknown},
      {kBackend, " link speed 400G", " speed 400G", kUnknown},
      {kBackend, " link speed 400G", " link speeds 400G", kUnknown},
      {kBackend, " lanes-per-port 4", " lanes 4", kUnknown},
      {kBackend, "bridge domain br_default vlan", "bridge br_default vlan", kUnknown},
      {kBackend, "bridge domain br_default vlan", "bridge domain br_other vlan", kUnknown},
      {kBackend, " stp admin-edge on", " stp admin-edge enabled", kUnknown},
      {kBackend, "vrf backend loopback ip address", "vrf backend loopback address", kUnknown},
      {kBackend, "aspath-ignore on", "as-path-ignore on", kUnknown},
      {kBackend, "router bgp enable on", "router bgp state enabled", kUnknown},
      {kBackend, "qos mapping default-global trust", "qos mapping trust", kUnknown},
      {kBackend, "qos pfc default-global tx enable", "qos pfc default-global tx on", kUnknown},
      {kBackend, "ecn enable", "ecn on", kUnknown},
      {kBackend, "type unnumbered", "type un-numbered", kUnknown},
      {kBackend, "interface eth0 ip address", "interface eth0 address", kUnknown},
      {kBackend, "service ntp mgmt server", "service ntp server", kUnknown},
      {kOob, "match ip udp dest-port", "match udp dest-port", kUnknown},
      {kOob, "acl JUMP-ONLY inbound", "acl JUMP-ONLY in", kUnknown},
      {kPair, "bond mlag id", "bond mlag-id", kUnknown},
      {kPair, "nv set mlag", "nv set clag", kUnknown},
      {kPair, "ip vrr address 10", "ip vrrp address 10", kUnknown},
      {kBackend, "nv set system", "nv unset system", "is not an `nv set` command"},
      {kBackend, "'train001 be1'", "train001; reboot", "is not an `nv set` command"},
      {kBackend, "'train001 be1'", "'train001 be1", "is not an `nv set` command"},
      {kBackend, "'train001 be1'", "train001 be1", kUnknown},
  };
}

std::vector<Mistake> wrong_values() {
  return {
      {kBackend, "link mtu 9216", "link mtu 9217", kUnknown},
      {kBackend, "link speed 400G", "link speed 300G", kUnknown},
      {kBackend, "link fec rs", "link fec fc", kUnknown},
      {kBackend, "breakout 2x", "breakout 3x", kUnknown},
      {kBackend, "br_default vlan 600", "br_default vlan 4095", kUnknown},
      {kBackend, "ip address 10.60.0.1/26", "ip address 10.60.0.1/33", kUnknown},
      {kBackend, "ip address 10.60.0.1/26", "ip address 10.60.0.1", kUnknown},
      {kBackend, "ip address 10.60.0.1/26", "ip address 10.60.0.0/26", "the address of the subnet itself"},
      {kBackend, "router bgp autonomous-system ", "router bgp autonomous-system 9", kUnknown},
      {kBackend, "multipaths ebgp 128", "multipaths ebgp 129", kUnknown},
      {kBackend, "dscp 63 switch-priority 0", "dscp 64 switch-priority 0", kUnknown},
      {kBackend, "dscp 63 switch-priority 0", "dscp 63 switch-priority 8", kUnknown},
      {kBackend, "trust l3", "trust dscp", kUnknown},
      {kBackend, "polling-interval 200", "polling-interval 20", kUnknown},
      {kBackend, "robustness 2", "robustness 0", kUnknown},
      {kBackend, "cable-length 15", "cable-length 0", kUnknown},
      {kBackend, "probability 20", "probability 120", kUnknown},
      {kBackend, "bw-percent 40", "bw-percent 41", "shares add to 101 percent"},
      {kBackend, "traffic-class 1-2,4-5,7 mode", "traffic-class 1-2,4-5,8 mode", kUnknown},
      {kBackend, "min-threshold 800000", "min-threshold 8000000", "the minimum is above the maximum"},
      {kBackend, "port 514", "port 51400", kUnknown},
      {kBackend, "swp1-8s0-1 bridge", "swp1-8s0-8 bridge", kUnknown},
      {kBackend, "swp1-8s0-1 bridge", "swp8-1s0-1 bridge", kUnknown},
      {kOob, "stp priority 32768", "stp priority 32769", kUnknown},
      {kOob, "dest-port 514", "dest-port 65536", kUnknown},
      {kOob, "source-ip 10.128.0.0/10", "source-ip 10.128.0.1/10", kUnknown},
      {kPair, "mac-address 44:38:39:ff", "mac-address 44:38:39:fe", kUnknown},
      {kPair, "mac-address 00:00:5e:00:01:01", "mac-address 00:00:5e:00:01", kUnknown},
      {kPair, "init-delay 180", "init-delay 901", kUnknown},
      {kPair, "mlag id 2\n", "mlag id 0\n", kUnknown},
      {kPair, "max-prefix-len 32", "max-prefix-len 33", kUnknown},
  };
}

std::vector<Mistake> wrong_names() {
  return {
      {kBackend, "access 600", "access 601", "vlan 601 is not defined"},
      {kBackend, "interface vlan600 ip vrf", "interface vlan601 ip vrf", "vlan 601 is not defined"},
      {kBackend, "ip vrf backend", "ip vrf back", "vrf back is not defined"},
      {kBackend, "peer-group fabric\n", "peer-group fabrics\n", "peer-group fabrics is not defined"},
      {kBackend, "service dns mgmt", "service dns management", "vrf management is not defined"},
      {kBackend, "neighbor swp57s0 type", "neighbor swp56s0 type", "its interface is not of the VRF"},
      {kBackend, "interface swp57s0 ip vrf backend\n", "interface swp57s0 ip vrf default\n",
       "its interface is not of the VRF"},
      {kBackend, "interface swp57s0 description", "interface swp57s2 description",
       "swp57s2 is not a part of a split port"},
      {kBackend, "interface swp57s0 description", "interface swp57 description", "swp57 is split"},
      {kBackend, "interface swp1-8,swp57-64 link breakout", "interface swp1-8,swp58-64 link breakout",
       "not a part of a split"},
      {kBackend, "2x lanes-per-port 4", "2x lanes-per-port 8", "a port has eight lanes"},
      {kBackend, "backend router bgp router-id 10.252.0.1", "backend router bgp router-id 10.252.0.2",
       "the router-id is no"},
      {kOob, "swp1-40 acl JUMP-ONLY", "swp1-40 acl JUMP", "acl JUMP is not defined"},
      {kPair, "policy inbound prefix-list SERVICES", "policy inbound prefix-list SERVICE",
       "prefix-list SERVICE is not"},
      {kPair, "bond3 bond member swp3", "bond3 bond member swp2", "swp2 is a member of two bonds"},
      {kPair, "interface bond3 bond member swp3\n", "system hostname fe-leaf001a\n", "bond3 has no members"},
      {kPair, "mlag id 2\n", "mlag id 1\n", "mlag id 1 is of two bonds"},
      {kPair, "interface peerlink bond member swp61-62", "interface bond99 bond member swp61-62",
       "peerlink has no members"},
      {kPair, "nv set mlag peer-ip linklocal\n", "", "mlag has no peer-ip"},
      {kPair, "vrr address 10.20.50.1/24", "vrr address 10.20.51.1/24", "has no address of the switch's own beside it"},
      {kPair, "vrr address 10.20.50.1/24", "vrr address 10.20.50.2/24", "has no address of the switch's own beside it"},
  };
}

std::vector<Mistake> missing_objects() {
  return {
      {kBackend, "nv set qos mapping default-global dscp 63 switch-priority 0\n", "", "not every dscp has a priority"},
      {kBackend, "nv set qos egress-queue-mapping default-global switch-priority 7 traffic-class 0\n", "",
       "not every switch priority has a traffic class"},
      {kBackend, "1-2,4-5,7 mode strict", "1-2,4-5 mode strict", "not every traffic class has a mode"},
      {kBackend, "traffic-class 6 mode strict", "traffic-class 6 mode dwrr", "a dwrr class has a share"},
      {kBackend, "traffic-class 3 mode dwrr", "traffic-class 3 mode strict", "only a dwrr class has a share"},
      {kBackend, "traffic-class 6 mode strict", "traffic-class 3 mode strict", "has another value already: dwrr"},
      {kBackend, "interface swp57s0 ip vrf backend\n", "interface swp57s0 link mtu 1500\n",
       "has another value already"},
      {kBackend, "max-threshold 3200000\n", "min-threshold 800000\n", "marking has two thresholds"},
      {kBackend, "pfc default-global switch-priority 3", "pfc default-global switch-priority 0", "most traffic"},
      {kBackend, "nv set router bgp enable on\n", "", "bgp is not enabled"},
      {kBackend, "neighbor swp57s0 remote-as", "neighbor swp57s1 remote-as", "has no remote-as"},
      {kBackend, "neighbor swp57s0 type unnumbered", "neighbor swp57s0 type numbered", "is of another type"},
      {kBackend, "neighbor swp57s0 type unnumbered", "neighbor 10.9.9.9 type numbered", "is in no subnet of the VRF"},
      {kBackend, "interface swp57s0 ip vrf", "interface swp1s0 ip vrf", "is a port of the bridge and has an address"},
      {kOob, "nv set acl JUMP-ONLY rule 180 action deny\n", "", "a rule has an action"},
      {kOob, "nv set acl JUMP-ONLY rule 180 match ip source-ip ANY\n", "", "a rule matches something"},
      {kOob, "rule 50 match ip protocol udp", "rule 50 match ip protocol tcp", "ports of udp without the protocol"},
      {kOob, "swp49-50 bridge domain br_default vlan", "swp40 bridge domain br_default vlan",
       "either one VLAN or several"},
      {kPair, "peer-group fabric address-family ipv6-unicast enable on", "peer-group fabric bfd enable on",
       "ipv6-unicast is not enabled"},
      {kPair, "rule 10 action deny\n", "rule 20 action deny\n", "a rule has a match and an action"},
      {kPair, "ip vrr enable on", "ip vrr enable off", "vrr is not in use"},
      {kPair, "bond1 bond mlag id 1\nnv set interface bond1",
       "bond1 bond mlag id 1\nnv set interface swp1 acl X inbound\nnv set interface bond1",
       "swp1 is a member of bond1"},
  };
}

// The schema can fail: every mistake is found and named.
TEST(NvueSchema, FindsEveryMistake) {
  const auto all = cases();
  const auto at =
      std::find_if(all.begin(), all.end(), [](const Case& one) { return one.name == std::string("pair_dual_stack"); });
  ASSERT_NE(at, all.end());
  auto texts = render(*at);
  for (const auto& group : {wrong_paths(), wrong_values(), wrong_names(), missing_objects()}) {
    for (const Mistake& mistake : group) {
      SCOPED_TRACE(std::string(mistake.device) + ": " + mistake.from + " -> " + mistake.to);
      std::string text = texts[mistake.device];
      const std::size_t found = text.find(mistake.from);
      ASSERT_NE(found, std::string::npos);
      text.replace(found, mistake.from.size(), mistake.to);
      std::string said;
      const auto judgment = judge_nvue(text);
      for (const std::string& one : judgment.complaints.all()) said += one + "\n";
      EXPECT_FALSE(said.empty());
      EXPECT_NE(said.find(mistake.complaint), std::string::npos) << said;
    }
  }
}

// Every word of every command is validated.
TEST(NvueSchema, FindsACorruptedWordInEveryKindOfCommand) {
  const auto all = cases();
  const auto at =
      std::find_if(all.begin(), all.end(), [](const Case& one) { return one.name == std::string("pair_dual_stack"); });
  ASSERT_NE(at, all.end());
  auto texts = render(*at);
  std::size_t count = 0;
  for (const char* device : {kBackend, kOob, kPair}) {
    for (const auto& [line, text] : testing_grammar::spoil_words(texts[device], "description")) {
      testing_grammar::Complaints complaints;
      (void)testing_nvue::read_nvue_tree(text, complaints);
      EXPECT_FALSE(complaints.all().empty()) << device << ": " << line;
      ++count;
    }
  }
  EXPECT_GT(count, 400U);
}

// A misspelled type would make a form that never matches, unnoticed if the form is not used.
TEST(NvueSchema, EveryTypeOfAFormIsKnown) {
  const testing_grammar::Grammar grammar(testing_nvue::forms(), testing_nvue::value_types());
  EXPECT_EQ(grammar.unknown_types(), testing_grammar::Names{});
}

}  // namespace
}  // namespace weft

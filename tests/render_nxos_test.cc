// NX-OS files checked against a grammar of NX-OS commands that is part of the tests (nxos_grammar.h, nxos_rules.h),
// independent of weft's renderer and parser: every line must have a documented form in its section, with values in
// their ranges, defined names and enabled features; then lines are checked together.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "nxos_rules.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_nxos::judge_nxos;
using testing_rendered::Edits;
using testing_rendered::load_example;

struct Case {
  const char* name;
  const char* example;
  Edits edits;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const char* const kFrontend = "frontend: {leaf: sn4600c, external: {links: 4}}";
const char* const kSpines = "    spines: 4\n";
const char* const kQos = "qos: {priority: 3, dscp: 26, cnp_priority: 6, cnp_dscp: 48,";

std::vector<Case> cases() {
  const Edits nexus{{"leaf: sn5600", "leaf: nexus-9364d-gx2a"},
                    {"system: cumulus", "system: nxos"},
                    {kFrontend, "frontend: {leaf: nexus-9336c-fx2, external: {links: 4}}"},
                    {"leaf: arista-7010tx-48", "leaf: nexus-9348gc-fx3"},
                    {"spine: sn4600c", "spine: nexus-9336c-fx2"}};
  return {
      {"nexus8", "nexus8.yaml", {}},
      {"pod16", "pod16.yaml", {}},
      {"pod32", "pod32.yaml", {}},
      {"all_fabrics", "nexus8.yaml", nexus},
      {"numbered", "nexus8.yaml", {{kSpines, "    spines: 4\n    switch_links: numbered\n"}}},
      {"three_tiers", "nexus8.yaml", {{kSpines, "    tiers: 3\n"}, {"    unit: 8\n", "    unit: 2\n"}}},
      {"dual_stack", "nexus8.yaml", {{kSpines, "    spines: 4\n    ipv6: \"fd00:1::/48\"\n"}}},
      {"numbered_dual_stack",
       "nexus8.yaml",
       {{kSpines, "    spines: 4\n    switch_links: numbered\n    ipv6: \"fd00:1::/48\"\n"}}},
      {"no_bfd_no_seeds", "nexus8.yaml", {{kSpines, "    spines: 4\n    hash_seeds: false\n    bfd: false\n"}}},
      {"no_jumbo", "nexus8.yaml", {{"    mtu: 9000\n", "    mtu: 1500\n    switch_mtu: 1500\n"}}},
      {"by_priority", "nexus8.yaml", {{kQos, "qos: {trust: pcp, priority: 3, cnp_priority: 6,"}}},
      {"no_watchdog_no_ecn",
       "nexus8.yaml",
       {{kQos, "qos: {pfc_watchdog: false, ecn: false, priority: 5, dscp: 40, cnp_priority: 7, cnp_dscp: 56,"}}},
      {"slow_watchdog", "nexus8.yaml", {{kQos, "qos: {watchdog_detection: 3s, priority: 3, dscp: 26,"}}},
      {"no_pfc", "nexus8.yaml", {{kQos, "qos: {pfc: off, priority: 3, dscp: 26,"}}},
      {"pfc_negotiated", "nexus8.yaml", {{kQos, "qos: {pfc: auto, priority: 3, dscp: 26,"}}},
      {"class_zero", "nexus8.yaml", {{kQos, "qos: {priority: 0, dscp: 0, pfc_priorities: [0, 3],"}}},
      {"notifications_in_class_zero", "nexus8.yaml", {{kQos, "qos: {priority: 3, dscp: 26, cnp_priority: 0,"}}},
      {"split_ports",
       "pod32.yaml",
       {{"{leaf: sn5600, speed: 400G", "{leaf: nexus-9364e-sg2, speed: 400G"},
        {"storage: {leaf: sn5600}", "storage: {leaf: nexus-9364e-sg2}"}}},
      {"pair",
       "pod16.yaml",
       {{kFrontend, "frontend: {leaf: nexus-9336c-fx2, mtu: 9000, ipv6: \"fd00:3::/48\", external: {links: 4}}"}}},
      {"pairs",
       "pod16.yaml",
       {{kFrontend, "frontend: {leaf: nexus-9336c-fx2, ipv6: \"fd00:3::/48\", tiers: 2, uplinks: 24}"}}},
      {"open_door", "pod16.yaml", {{"entry: vpn", "entry: vpn\n    jump_only: false"}}},
      {"superpod", "superpod-h100-4su.yaml", {{"leaf: sn2201", "leaf: nexus-9348gc-fx3"}}},
  };
}

class NxosFiles : public ::testing::TestWithParam<Case> {};

TEST_P(NxosFiles, AreCommandsThatNxosAccepts) {
  const auto made = load_example(GetParam().example, GetParam().edits);
  ASSERT_NE(made, nullptr);
  made->render("nxos");
  ASSERT_FALSE(made->sink.files.empty());
  for (const auto& [path, file] : made->sink.files) {
    const auto complaints = judge_nxos(file.content);
    EXPECT_TRUE(complaints.all().empty()) << path << "\n" << complaints.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Clusters, NxosFiles, ::testing::ValuesIn(cases()),
                         [](const auto& one) { return std::string(one.param.name); });

// One mistake in a rendered file, and the expected message.
struct Mistake {
  const char* file;  // case:path
  std::string from;
  std::string to;
  const char* complaint;
};

const char* const kBackend = "nexus8:nxos/be-train-u001-leaf1.cfg";
const char* const kOob = "pod16:nxos/oob-leaf001.cfg";
const char* const kOobSpine = "pod16:nxos/oob-spine001.cfg";
const char* const kPair = "pairs:nxos/fe-leaf001a.cfg";
const char* const kSplit = "split_ports:nxos/be-train-u001-leaf1.cfg";
const char* const kUnknown = "is not a command of";

std::vector<Mistake> wrong_sections() {
  return {
      {kBackend, "interface Vlan600\n", "mtu 9216\ninterface Vlan600\n", kUnknown},
      {kBackend, "interface Vlan600\n", "interface Vlan600\n  switchport\n", kUnknown},
      {kBackend, "interface loopback0\n", "interface loopback0\n  no ip redirects\n", kUnknown},
      {kBackend, "    bestpath as-path multipath-relax\n", "    maximum-paths 8\n", kUnknown},
      {kBackend, "  log-neighbor-changes\n", "  bestpath as-path multipath-relax\n  bfd\n", kUnknown},
      {kBackend, "system qos\n", "system qos\n  service-policy type qos input ROCE-IN\n", kUnknown},
      {kBackend, "    set qos-group 3\n", "    pause pfc-cos 3\n", kUnknown},
      {kBackend, "vlan 600\n", "vlan 600\n  description rail\n", kUnknown},
      {kBackend, "feature bgp\n", "  feature bgp\n", "wrong indentation"},
      {kBackend, "  log-neighbor-changes\n", "   log-neighbor-changes\n", "wrong indentation"},
      {kOob, "ip access-list JUMP-ONLY\n", "ip access-list JUMP-ONLY\n  counters per-entry\n", kUnknown},
      {kPair, "  peer-switch\n", "  vpc peer-link\n", kUnknown},
      {kPair, "    preempt\n", "    switchport\n", kUnknown},
  };
}

std::vector<Mistake> wrong_words() {
  return {
      {kBackend, "hostname ", "hostnames ", kUnknown},
      {kBackend, "feature lldp", "feature llpd", kUnknown},
      {kBackend, "no switchport\n", "no switchport \n", kUnknown},
      {kBackend, "min_rx", "min-rx", kUnknown},
      {kBackend, "vrf member backend", "vrf backend", kUnknown},
      {kBackend, "vrf context backend", "vrf instance backend", kUnknown},
      {kBackend, "watch-dog-interval on", "watchdog-interval on", kUnknown},
      {kBackend, "pause pfc-cos 3", "pause no-drop", kUnknown},
      {kBackend, "c-out-8q-q3", "c-out-8q-q0", kUnknown},
      {kBackend, "c-8q-nq3", "c-8q-nq8", kUnknown},
      {kBackend, " weight 0 ecn", " weight 0 ecn ecn", kUnknown},
      {kBackend, "ipv6 address use-link-local-only", "ipv6 enable", kUnknown},
      {kBackend, "interface Ethernet1/1\n", "interface Ethernet1\n", kUnknown},
      {kBackend, "  description train001 be1\n", "  description \n", kUnknown},
      {kBackend, "use-vrf management", "vrf management", kUnknown},
      {kOob, " host 10.128.0.10", " 10.128.0.10", kUnknown},
      {kOob, "permit ip host", "permit ip hosts", kUnknown},
      {kPair, "mode active", "mode on-demand", kUnknown},
      {kPair, "    ip autoconfig\n", "    ip auto-config\n", kUnknown},
      {kSplit, "map 400g-2x", "map 400g-3x", kUnknown},
  };
}

std::vector<Mistake> wrong_values() {
  return {
      {kBackend, "  mtu 9216\n  speed", "  mtu 9217\n  speed", kUnknown},
      {kBackend, "  mtu 9216\n  speed", "  mtu 9000\n  speed", "not an MTU of a switched port"},
      {kBackend, "speed 400000", "speed 400g", kUnknown},
      {kBackend, "match dscp 26", "match dscp 64", kUnknown},
      {kBackend, "set qos-group 3", "set qos-group 8", kUnknown},
      {kBackend, "percent 40", "percent 41", "shares add to 101 percent"},
      {kBackend, "percent 40", "percent 101", kUnknown},
      {kBackend, "minimum-threshold 800", "minimum-threshold 8000", "the minimum is above the maximum"},
      {kBackend, "drop-probability 20", "drop-probability 120", kUnknown},
      {kBackend, "watch-dog interval 200", "watch-dog interval 2000", kUnknown},
      {kBackend, "shutdown-multiplier 1", "shutdown-multiplier 11", kUnknown},
      {kBackend, "bfd interval 100", "bfd interval 20", kUnknown},
      {kBackend, "vlan 600\n", "vlan 4000\n", kUnknown},
      {kBackend, "router bgp ", "router bgp 9", kUnknown},
      {kBackend, "maximum-paths 8", "maximum-paths 65", kUnknown},
      {kBackend, "ip address 10.60.0.1/27", "ip address 10.60.0.1/33", kUnknown},
      {kBackend, "ip address 10.60.0.1/27", "ip address 10.60.0.256/27", kUnknown},
      {kBackend, "ip address 10.60.0.1/27", "ip address 10.60.0.0/27", "the address of the subnet itself"},
      {kBackend, "network 10.60.0.0/27", "network 10.60.0.1/27", kUnknown},
      {kBackend, "universal-id 1", "universal-id 0", kUnknown},
      {kBackend, "10.128.0.10 6 use", "10.128.0.10 8 use", kUnknown},
      {kOob, "ing-ifacl 256", "ing-ifacl 300", kUnknown},
      {kOob, " eq 514\n", " eq 65536\n", kUnknown},
      {kOob, "  20 permit", "  10 permit", "not in order"},
      {kOob, "10.128.0.0/10\n", "10.128.0.1/10\n", kUnknown},
      {kOobSpine, "priority 12288", "priority 12289", kUnknown},
      {kPair, "vpc domain 1\n", "vpc domain 1001\n", kUnknown},
      {kPair, "role priority 100", "role priority 0", kUnknown},
      {kPair, "  hsrp 200\n", "  hsrp 4096\n", kUnknown},
      {kPair, "  hsrp version 2\n", "  hsrp version 1\n", "needs `hsrp version 2`"},
      {kPair, "    ip 10.20.50.1\n", "    ip 10.20.51.1\n", "is of no subnet of the interface"},
      {kPair, "    ip 10.20.50.1\n", "    ip 10.20.50.2\n", "is the switch's own address"},
  };
}

std::vector<Mistake> wrong_names() {
  return {
      {kBackend, "class-map type qos match-all CNP", "class-map type qos match-all CNPS",
       "class-map CNP is not defined"},
      {kBackend, "policy-map type qos ROCE-IN", "policy-map type qos ROCE", "qos-policy ROCE-IN is not defined"},
      {kBackend, "policy-map type queuing ROCE-OUT-400G", "policy-map type queuing X",
       "queuing-policy ROCE-OUT-400G is not"},
      {kBackend, "network-qos ROCE-LOSSLESS\n  class", "network-qos X\n  class",
       "network-qos-policy ROCE-LOSSLESS is not"},
      {kBackend, "access vlan 600", "access vlan 601", "vlan 601 is not defined"},
      {kBackend, "interface Vlan600", "interface Vlan601", "vlan 601 is not defined"},
      {kBackend, "vrf context backend", "vrf context back", "vrf backend is not defined"},
      {kBackend, "    neighbor Ethernet1/25\n", "    neighbor Ethernet1/24\n", "ethernet Ethernet1/24 is not defined"},
      {kBackend, "    neighbor Ethernet1/25\n", "    neighbor Ethernet1/1\n",
       "its interface has no link-local address"},
      {kBackend, "    neighbor Ethernet1/26\n", "    neighbor Ethernet1/25\n", "stands twice"},
      {kBackend, "interface Ethernet1/2\n", "interface Ethernet1/1\n", "Ethernet1/1 is defined twice"},
      {kBackend, "network 10.60.0.0/27", "network 10.60.0.0/26", "there is no such route in the VRF"},
      {kBackend, "router-id 10.252.0.1", "router-id 10.252.0.2", "its router-id is no address of the VRF"},
      {kBackend, "class class-default\n    set qos-group 0", "class class-default\n    set qos-group 3",
       "the lossless group"},
      {kBackend, "class CNP\n    set qos-group 6", "class CNP\n    set qos-group 5", "no class for qos-group 5"},
      {kOob, "ip access-list JUMP-ONLY", "ip access-list JUMP", "acl JUMP-ONLY is not defined"},
      {kOob, "logging source-interface Vlan999", "logging source-interface Vlan998", "svi 998 is not defined"},
      {kPair, "channel-group 1 mode", "channel-group 999 mode", "channel 999 is not defined"},
      {kPair, "channel-group 1 mode active\n", "", "a bundle without members"},
      {kPair, "prefix-list SERVICES seq", "prefix-list SERVICE seq", "prefix-list SERVICES is not defined"},
      {kPair, "  vpc peer-link\n", "  vpc 1000\n", "has 0 peer-links"},
      {kPair, "  vpc 2\n", "  vpc 1\n", "vpc 1 is defined twice"},
      {kPair, "    neighbor 10.20.50.3\n", "    neighbor 10.99.50.3\n", "is in no subnet of the VRF"},
      {kPair, "10.20.50.10/32 Vlan200", "10.20.50.10/32 Vlan201", "svi 201 is not defined"},
      {kSplit, "map 400g-2x", "map 200g-2x", "not the speed of its part"},
      {kSplit, "interface breakout", "! interface breakout", "is not as `interface breakout` splits the port"},
  };
}

std::vector<Mistake> missing_features_and_wrong_order() {
  return {
      {kBackend, "feature bgp\n", "", "needs `feature bgp`"},
      {kBackend, "feature bfd\n", "", "needs `feature bfd`"},
      {kBackend, "feature interface-vlan\n", "", "needs `feature interface-vlan`"},
      {kPair, "feature hsrp\n", "", "needs `feature hsrp`"},
      {kPair, "feature lacp\n", "", "needs `feature lacp`"},
      {kPair, "feature vpc\n", "", "needs `feature vpc`"},
      {kBackend, "  no switchport\n", "", "on a port that is not routed"},
      {kBackend, "  switchport\n", "", "on a port that is not switched"},
      {kBackend, "  switchport mode access\n", "", "not in access mode"},
      {kBackend, "  vrf member backend\n  no ip redirects\n  ip address 10.60.0.1/27\n",
       "  ip address 10.60.0.1/27\n  vrf member backend\n", "deletes the addresses before it"},
      {kBackend, "      remote-as 4200000001\n", "", "has no remote-as"},
      {kBackend, "    priority level 1\n", "    priority level 1\n    bandwidth percent 10\n",
       "a strict class has no share"},
      {kOob, "  switchport access vlan 999\n", "  switchport trunk allowed vlan 999\n", "not in trunk mode"},
      {kPair, "  peer-keepalive ", "  ! peer-keepalive ", "has no peer-keepalive"},
  };
}

// The grammar can fail: every mistake is found and named.
TEST(NxosGrammar, FindsEveryMistake) {
  std::map<std::string, std::string> texts;
  for (const Case& one : cases()) {
    const std::string name = one.name;
    if (name != "nexus8" && name != "pod16" && name != "pairs" && name != "split_ports") continue;
    const auto rendering = load_example(one.example, one.edits);
    ASSERT_NE(rendering, nullptr);
    rendering->render("nxos");
    for (const auto& [path, file] : rendering->sink.files) texts.emplace(name + ":" + path, file.content);
  }
  for (const auto& group :
       {wrong_sections(), wrong_words(), wrong_values(), wrong_names(), missing_features_and_wrong_order()}) {
    for (const Mistake& mistake : group) {
      SCOPED_TRACE(std::string(mistake.file) + ": " + mistake.from + " -> " + mistake.to);
      std::string text = texts[mistake.file];
      const std::size_t at = text.find(mistake.from);
      ASSERT_NE(at, std::string::npos);
      text.replace(at, mistake.from.size(), mistake.to);
      const std::string said = judge_nxos(text).text();
      EXPECT_NE(said.find(mistake.complaint), std::string::npos) << said;
    }
  }
}

// Every word of every line is validated.
TEST(NxosGrammar, FindsACorruptedWordInEveryKindOfLine) {
  const std::set<std::string> chosen{"be-train-u001-leaf1", "fe-leaf001a", "oob-leaf001", "oob-spine001"};
  std::size_t count = 0;
  for (const Case& one : cases()) {
    if (one.name != std::string("nexus8") && one.name != std::string("pairs")) continue;
    const auto made = load_example(one.example, one.edits);
    ASSERT_NE(made, nullptr);
    made->render("nxos");
    for (const auto& [path, file] : made->sink.files) {
      if (chosen.count(file.device) == 0) continue;
      for (const auto& [line, text] : testing_grammar::spoil_words(file.content, "description")) {
        testing_grammar::Complaints complaints;
        (void)testing_nxos::read_nxos_tree(text, complaints);
        EXPECT_FALSE(complaints.all().empty()) << path << ": " << line;
        ++count;
      }
    }
  }
  EXPECT_GT(count, 400U);
}

// A misspelled type would make a form that never matches, unnoticed if the form is not used.
TEST(NxosGrammar, EveryTypeOfAFormIsKnown) {
  const testing_grammar::Grammar grammar(testing_nxos::forms(), testing_nxos::value_types());
  EXPECT_EQ(grammar.unknown_types(), testing_grammar::Names{});
}

}  // namespace
}  // namespace weft

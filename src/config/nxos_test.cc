#include <gtest/gtest.h>

#include <string>

#include "config/switch_config.h"

namespace weft::config {
namespace {

struct NxosRead {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<SwitchConfig> config;

  [[nodiscard]] const PortQos& qos(std::string_view port) const { return config->qos[config->find(port)->qos]; }
  [[nodiscard]] std::string findings() const {
    std::string text;
    for (const Diagnostic& d : diagnostics.sorted()) text += std::to_string(d.place.line) + " " + d.message + "\n";
    return text;
  }
};

NxosRead read(std::string text) {
  NxosRead result;
  const FileId file = result.sources.add("leaf.cfg", std::move(text));
  result.config = read_nxos(result.sources, file, result.diagnostics);
  return result;
}

// The RoCE configuration of Cisco's design guides.
const char* const kRoce = R"(!Command: show running-config
version 10.3(2) Bios:version 05.47
hostname be-leaf1
feature bgp
feature lldp
priority-flow-control watch-dog-interval on
priority-flow-control watch-dog interval 200
priority-flow-control watch-dog shutdown-multiplier 2
class-map type qos match-any RDMA
  match dscp 26,cs3
class-map type qos match-all CNP
  match dscp 48
policy-map type qos ROCE-IN
  class RDMA
    set qos-group 3
  class CNP
    set qos-group 6
  class class-default
    set qos-group 0
policy-map type network-qos ROCE-NQ
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
policy-map type queuing ROCE-OUT
  class type queuing c-out-8q-q6
    priority level 1
  class type queuing c-out-8q-q3
    bandwidth remaining percent 60
    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
  class type queuing c-out-8q-q-default
    bandwidth remaining percent 40
system qos
  service-policy type network-qos ROCE-NQ
  service-policy type queuing output ROCE-OUT
interface Ethernet1/1-2
  description to train[001-002] ! not a comment
  no switchport
  mtu 9216
  speed 400000
  priority-flow-control mode on
  priority-flow-control watch-dog-interval on
  service-policy type qos input ROCE-IN
  no shutdown
interface Ethernet1/3/2
  priority-flow-control mode off
  flowcontrol receive on
interface Ethernet1/4
)";

TEST(Nxos, MapsAMarkingToQueueAndPause) {
  const NxosRead got = read(kRoce);
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  const PortQos& qos = got.qos("Ethernet1/2");
  EXPECT_EQ(*qos.trust, model::TrustMode::dscp);
  EXPECT_EQ(*qos.dscp_to_class[26], 3);
  EXPECT_EQ(*qos.dscp_to_class[24], 3);  // cs3
  EXPECT_EQ(qos.dscp_to_class[26].place.line, 15U);
  EXPECT_EQ(qos.dscp_to_class[26].path, "class RDMA");
  EXPECT_EQ(*qos.dscp_to_class[48], 6);
  EXPECT_EQ(*qos.dscp_to_class[0], 0);
  EXPECT_TRUE(*qos.pfc[3]);
  EXPECT_EQ(qos.pfc[3].place.line, 23U);
  EXPECT_FALSE(*qos.pfc[4]);
  EXPECT_EQ(*qos.pfc_mode, model::PfcMode::on);
  EXPECT_TRUE(*qos.groups[3].lossless);
  EXPECT_FALSE(*qos.groups[0].lossless);
  EXPECT_EQ(*qos.class_to_queue[3], 3);
  EXPECT_EQ(*qos.pfc_to_queue[3], 3);
}

TEST(Nxos, ReadsQueuesAndWatchdog) {
  const NxosRead got = read(kRoce);
  ASSERT_TRUE(got.config);
  const PortQos& qos = got.qos("Ethernet1/1");
  EXPECT_TRUE(*qos.queues[3].ecn);
  EXPECT_EQ(qos.queues[3].ecn_min.value.count(), 150'000);
  EXPECT_EQ(qos.queues[3].ecn_max.value.count(), 3'000'000);
  EXPECT_EQ(*qos.queues[3].ecn_percent, 7);
  EXPECT_EQ(*qos.queues[3].weight, 60);
  EXPECT_EQ(*qos.queues[6].scheduling, Scheduling::strict);
  EXPECT_FALSE(*qos.queues[6].ecn);
  EXPECT_EQ(*qos.queues[0].weight, 40);
  EXPECT_TRUE(*qos.watchdog.on);
  EXPECT_EQ(qos.watchdog.detection.value, milliseconds(400));
  EXPECT_EQ(got.config->watchdog_poll.value, milliseconds(200));
}

TEST(Nxos, ReadsInterfaces) {
  const NxosRead got = read(kRoce);
  ASSERT_TRUE(got.config);
  const InterfaceConfig* first = got.config->find("Ethernet1/1");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->cage, 1);
  EXPECT_EQ(*first->description, "to train[001-002] ! not a comment");
  EXPECT_EQ(*first->mtu, 9216);
  EXPECT_EQ(first->speed.value.count(), 400'000'000'000);
  EXPECT_TRUE(*first->enabled);
  const InterfaceConfig* piece = got.config->find("Ethernet1/3/2");
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->cage, 3);
  EXPECT_EQ(piece->part, 1);
  EXPECT_EQ(piece->parts, 2);
  EXPECT_TRUE(*piece->global_pause);
  EXPECT_EQ(*got.config->hostname, "be-leaf1");
  EXPECT_TRUE(*got.config->management.lldp);
  EXPECT_FALSE(*got.config->management.telnet);
}

TEST(Nxos, UnconfiguredPortsUseLossyGroupZero) {
  const NxosRead got = read(kRoce);
  ASSERT_TRUE(got.config);
  const PortQos& silent = got.qos("Ethernet1/4");
  EXPECT_EQ(*silent.dscp_to_class[26], 0);
  EXPECT_EQ(silent.dscp_to_class[26].by, Decided::vendor_default);
  EXPECT_EQ(*silent.pfc_mode, model::PfcMode::automatic);
  EXPECT_FALSE(silent.pfc_mode.given());
  EXPECT_FALSE(*silent.watchdog.on);  // on for the switch but not for the interface
  EXPECT_EQ(*got.qos("Ethernet1/3/2").pfc_mode, model::PfcMode::off);
  EXPECT_FALSE(*got.qos("Ethernet1/3/2").pfc[3]);
}

TEST(Nxos, WatchdogOffIsOffEvenWithoutIndentation) {
  const NxosRead got = read(
      "# Step 1\ninterface Ethernet 1/1-48\npriority-flow-control mode on\npriority-flow-control watch-dog-interval "
      "off\n"
      "mtu 9216\nclass-map type qos match-all RDMA\nmatch dscp 26\npolicy-map type qos P\nclass RDMA\nset qos-group 3\n"
      "system qos\nservice-policy type qos input P\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->interfaces.size(), 48U);
  const PortQos& qos = got.qos("Ethernet1/48");
  EXPECT_FALSE(*qos.watchdog.on);
  EXPECT_TRUE(qos.watchdog.on.given());
  EXPECT_EQ(qos.watchdog.on.place.line, 4U);
  EXPECT_EQ(*qos.pfc_mode, model::PfcMode::on);
  EXPECT_EQ(*got.config->find("Ethernet1/48")->mtu, 9216);
  EXPECT_EQ(*qos.dscp_to_class[26], 3);
}

TEST(Nxos, MatchAllNeedsEveryLine) {
  const NxosRead got = read(
      "class-map type qos match-all BOTH\n  match dscp 26\n  match cos 3\nclass-map type qos match-any ONE\n  match "
      "dscp 26\n"
      "  match cos 3\npolicy-map type qos P\n  class BOTH\n    set qos-group 5\n  class ONE\n    set qos-group 3\n"
      "    set dscp 24\ninterface Ethernet1/1\n  service-policy type qos input P\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(*got.qos("Ethernet1/1").dscp_to_class[26], 3);
  EXPECT_EQ(*got.qos("Ethernet1/1").pcp_to_class[3], 3);
  EXPECT_EQ(*got.qos("Ethernet1/1").rewrite[26], 24);
}

TEST(Nxos, CustomClassMapsNameTheirGroup) {
  const NxosRead got = read(
      "class-map type network-qos NQ\n  match qos-group 4\nclass-map type queuing Q\n  match qos-group 4\n"
      "policy-map type network-qos N\n  class type network-qos NQ\n    pause pfc-cos 3\n"
      "policy-map type queuing O\n  class type queuing Q\n    random-detect threshold burst-optimized ecn\n"
      "policy-map type queuing I\n  class type queuing Q\n    pause buffer-size 101400 pause-threshold 44500 "
      "resume-threshold 40000\n"
      "system qos\n  service-policy type network-qos N\n  service-policy type queuing output O\n  service-policy type "
      "queuing input I\n"
      "interface Ethernet1/1\n  priority-flow-control mode on\n");
  ASSERT_TRUE(got.config);
  const PortQos& qos = got.qos("Ethernet1/1");
  EXPECT_EQ(*qos.pfc_to_group[3], 4);
  EXPECT_TRUE(*qos.groups[4].lossless);
  EXPECT_EQ(qos.groups[4].xoff.value.count(), 101400 - 44500);
  EXPECT_TRUE(*qos.queues[4].ecn);
  EXPECT_FALSE(qos.queues[4].ecn_min.known());
}

TEST(Nxos, UnknownServicePolicyIsAnError) {
  const NxosRead got = read("interface Ethernet1/1\n  service-policy type qos input NONE\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "2 `service-policy` refers to `NONE`, which is not configured\n");
  EXPECT_FALSE(got.qos("Ethernet1/1").dscp_to_class[26].known());
}

TEST(Nxos, ErrorsInSharedPoliciesAreReportedOnce) {
  const NxosRead got = read(
      "policy-map type qos P\n  class NOWHERE\n    set qos-group 3\nsystem qos\n  service-policy type qos input P\n"
      "interface Ethernet1/1\n  priority-flow-control mode on\ninterface Ethernet1/2\n  priority-flow-control mode "
      "off\n");
  EXPECT_EQ(got.findings(), "2 class `NOWHERE` is not configured\n");
}

TEST(Nxos, ReadsSwitchports) {
  const NxosRead got = read(
      "vlan 1,10-12,999\nvlan 999\n  name OOB\ninterface Ethernet1/1\n  switchport mode access\n  switchport access "
      "vlan 999\n"
      "interface Ethernet1/2\n  switchport mode trunk\n  switchport trunk allowed vlan 10-11\n  switchport trunk "
      "allowed vlan add 999\n"
      "interface Ethernet1/3\n  switchport mode trunk\ninterface Ethernet1/4\n  switchport mode trunk\n"
      "  switchport trunk allowed vlan 2-4094\ninterface Ethernet1/5\n  channel-group 7 mode active\n"
      "interface Vlan999\n  vrf member oob\n  ip address 10.172.0.1/24\n  ip access-group JUMP in\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  ASSERT_EQ(got.config->vlans.size(), 5U);
  EXPECT_EQ(got.config->vlans.back().name, "OOB");
  EXPECT_EQ(*got.config->find("Ethernet1/1")->access_vlan, 999);
  const InterfaceConfig* trunk = got.config->find("Ethernet1/2");
  ASSERT_EQ(trunk->tagged_vlans.size(), 3U);
  EXPECT_EQ(*trunk->tagged_vlans[2], 999);
  EXPECT_TRUE(got.config->find("Ethernet1/3")->trunk_all);
  const InterfaceConfig* most = got.config->find("Ethernet1/4");
  EXPECT_EQ(most->tagged_vlans.size(), 4U);  // existing VLANs only
  EXPECT_EQ(*got.config->find("Ethernet1/5")->port_channel, "port-channel7");
  const InterfaceConfig* svi = got.config->find("Vlan999");
  EXPECT_EQ(svi->svi_vlan, 999);
  EXPECT_EQ(*svi->vrf, "oob");
  EXPECT_EQ(*svi->acl_in, "JUMP");
  EXPECT_FALSE(*svi->enabled);  // no `no shutdown`
  EXPECT_EQ(to_text(svi->addresses.at(0).value), "10.172.0.0/24");
}

TEST(Nxos, LineMayStartWithAnEmptyWord) {
  for (const char* odd : {"''\n", "  '' mtu 9216\n", "\"\" #\n", "leaf1# ''\n"}) {
    const NxosRead got = read(std::string("interface Ethernet1/1\n  mtu 9000\n") + odd + "  no shutdown\n");
    ASSERT_TRUE(got.config) << odd;
    EXPECT_EQ(*got.config->find("Ethernet1/1")->mtu, 9000) << odd;
  }
}

TEST(Nxos, ReadsAccessLists) {
  const NxosRead got = read(
      "object-group ip address JUMPS\n  10 host 10.128.0.8\n  20 10.128.0.10/31\nip access-list OOB\n  statistics "
      "per-entry\n"
      "  30 deny ip any any log\n  10 permit tcp addrgroup JUMPS 10.160.0.0/12 eq 443\n"
      "  20 permit udp 10.0.0.0 0.255.255.255 host 10.128.0.16 range 514 515\n  25 deny tcp any eq 22 any\n  27 permit "
      "nonsense\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "10 unsupported protocol `nonsense`\n");
  ASSERT_EQ(got.config->acls.size(), 1U);
  const auto& rules = got.config->acls[0].rules;
  ASSERT_EQ(rules.size(), 4U);
  EXPECT_EQ(to_text(rules[0].source), "10.128.0.8/32");
  EXPECT_EQ(rules[0].protocol, 6);
  EXPECT_EQ(rules[0].port_low, 443);
  EXPECT_EQ(to_text(rules[1].source), "10.128.0.10/31");
  EXPECT_EQ(to_text(rules[2].source), "10.0.0.0/8");
  EXPECT_EQ(rules[2].port_high, 515);
  EXPECT_FALSE(rules[3].permit);
  EXPECT_EQ(rules[3].source.length, 0);
  EXPECT_FALSE(got.config->acls[0].permit_rest);
}

TEST(Nxos, ReadsRoutingAndManagement) {
  const NxosRead got = read(
      "feature telnet\nvrf context oob\n  ip route 0.0.0.0/0 10.128.0.1\n  address-family ipv4 unicast\n"
      "    route-target import 65000:999\n    route-target export 65000:998\nip route 10.0.0.0/8 Ethernet1/1 10.9.0.1 "
      "vrf oob\n"
      "router bgp 65000.1\n  router-id 10.252.0.1\n  template peer SPINE\n    bfd\n    password 3 abc\n"
      "  neighbor 10.1.0.0\n    inherit peer SPINE\n    remote-as 4200000001\n    address-family ipv4 unicast\n"
      "  vrf oob\n    neighbor 10.2.0.0 remote-as 65010\nvpc domain 1\n  peer-keepalive destination 10.3.0.2 source "
      "10.3.0.1 vrf keepalive\n"
      "aaa group server tacacs+ TAC\n  server 10.128.0.18\naaa authentication login default group TAC local\n"
      "tacacs-server host 10.128.0.18 key 7 \"x\"\nlogging server 10.128.0.16 6 use-vrf oob\nntp server 10.128.0.17 "
      "use-vrf oob\n"
      "ip name-server 10.128.0.19 10.128.0.20 use-vrf oob\nsnmp-server community public group network-operator\n"
      "username admin password 5 $5$hash role network-admin\nip load-sharing address source-destination port "
      "source-destination universal-id 42\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  EXPECT_EQ(*got.config->asn, 65000LL * 65536 + 1);
  ASSERT_EQ(got.config->vrfs.size(), 1U);
  EXPECT_EQ(*got.config->vrfs[0].imports.at(0), "65000:999");
  EXPECT_EQ(*got.config->vrfs[0].exports.at(0), "65000:998");
  ASSERT_EQ(got.config->routes.size(), 2U);
  EXPECT_EQ(got.config->routes[0].vrf, "oob");
  EXPECT_EQ(got.config->routes[1].next_hop_vrf, "oob");
  EXPECT_EQ(got.config->routes[1].interface, "Ethernet1/1");
  ASSERT_EQ(got.config->neighbors.size(), 2U);
  EXPECT_TRUE(*got.config->neighbors[0].bfd);
  EXPECT_EQ(*got.config->neighbors[0].remote_asn, 4200000001);
  EXPECT_EQ(got.config->neighbors[1].vrf, "oob");
  EXPECT_FALSE(got.config->neighbors[1].bfd.known());
  EXPECT_TRUE(*got.config->vpc);
  EXPECT_EQ(*got.config->vpc_keepalive_vrf, "keepalive");
  const ManagementConfig& management = got.config->management;
  EXPECT_TRUE(*management.telnet);
  ASSERT_EQ(management.aaa_methods.size(), 2U);
  EXPECT_EQ(*management.aaa_methods[0], "tacacs+");
  EXPECT_EQ(*management.syslog.at(0), "10.128.0.16");
  EXPECT_EQ(*management.ntp.at(0), "10.128.0.17");
  EXPECT_EQ(management.dns.size(), 2U);
  EXPECT_EQ(*management.snmp_communities.at(0), "public");
  EXPECT_TRUE(management.default_users.empty());
  EXPECT_EQ(*got.config->ecmp_seed_value, 42);
}

TEST(Nxos, NamesFactoryUsers) {
  EXPECT_EQ(
      read("hostname a\nusername admin password 0 admin role network-admin\n").config->management.default_users.size(),
      1U);
  EXPECT_EQ(read("hostname a\nusername admin role network-admin\n").config->management.default_users.size(), 1U);
}

TEST(Nxos, PromptsAndBannersAreIgnored) {
  const NxosRead got = read(
      "leaf1# show running-config\nbanner motd #\ninterface Ethernet9/9\n#\nleaf1(config)# hostname leaf1\nint e1/7\n  "
      "mtu 9000\nend\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(*got.config->hostname, "leaf1");
  EXPECT_EQ(got.config->interfaces.size(), 1U);
  EXPECT_EQ(*got.config->find("Ethernet1/7")->mtu, 9000);
}

TEST(Nxos, BreakoutSetsTheNumberOfPorts) {
  const NxosRead got = read("interface breakout module 1 port 3-4 map 100g-4x\ninterface Ethernet1/3/1\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->find("Ethernet1/3/1")->parts, 4);
}

TEST(Nxos, BadLinesAreWarnings) {
  const NxosRead got = read(
      "interface Gigabit one\n  mtu 9000\ninterface Ethernet1/1\n  mtu 99999\n  ip address 10.0.0.300/24\nvlan "
      "5000\nip route 10.0.0.0/40 10.1.1.1\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.diagnostics.error_count(), 0U);
  EXPECT_EQ(got.diagnostics.warning_count(), 5U) << got.findings();
}

TEST(Nxos, HugeRangesStayBounded) {
  std::string text =
      "vlan 1-4093\ninterface Ethernet1/1-512\n  switchport mode trunk\n  switchport trunk allowed vlan 1-4094\n";
  const NxosRead got = read(text);
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->interfaces.size(), 512U);
  EXPECT_TRUE(got.config->find("Ethernet1/512")->trunk_all);
  for (int i = 0; i < 20000; ++i) text += "  switchport trunk allowed vlan 1-4094\n";
  EXPECT_EQ(read(text).diagnostics.warning_count(), 1U);
  EXPECT_EQ(read("interface Ethernet1/1-99999\n").config->interfaces.size(), 0U);
}

TEST(Nxos, OtherTextIsRejected) {
  EXPECT_FALSE(read("").config.has_value());
  EXPECT_FALSE(read("hello world\n  this is prose\n").config.has_value());
}

// Scripts may indent policies but not the lines below `interface`: NX-OS uses its mode, not indentation.
TEST(Nxos, BlockWithoutIndentInAFileThatIndents) {
  const NxosRead got = read(R"(hostname leaf1
priority-flow-control watch-dog-interval on
class-map type qos match-any ROCE
  match dscp 24-31   ! marked by the hosts
policy-map type qos IN
  class ROCE
    set qos-group 3
policy-map type network-qos NET
  class type network-qos c-8q-nq3
    pause pfc-cos 3
policy-map type queuing OUT
   class type queuing c-out-8q-q3
    bandwidth remaining percent 50
class type queuing c-out-8q-q7
    priority level 1
system qos
  service-policy type network-qos NET
  service-policy type queuing output OUT
interface Ethernet1/1-2
priority-flow-control mode on
priority-flow-control watch-dog-interval on
mtu 9216
service-policy type qos input IN
no shutdown
exit
vlan 20
)");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  const PortQos& qos = got.qos("Ethernet1/2");
  EXPECT_EQ(*qos.dscp_to_class[26], 3);
  EXPECT_TRUE(*qos.pfc[3]);
  EXPECT_TRUE(*qos.watchdog.on);
  EXPECT_EQ(*qos.queues[7].scheduling, Scheduling::strict);
  EXPECT_EQ(*got.config->find("Ethernet1/2")->mtu, 9216);
  ASSERT_EQ(got.config->vlans.size(), 1U);
}

}  // namespace
}  // namespace weft::config

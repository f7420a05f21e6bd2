#include <gtest/gtest.h>

#include <string>

#include "config/switch_config.h"

namespace weft::config {
namespace {

struct NvueRead {
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

NvueRead read(std::string text) {
  NvueRead result;
  const FileId file = result.sources.add("leaf.nvue", std::move(text));
  result.config = read_nvue(result.sources, file, result.diagnostics);
  return result;
}

// What `nv show qos roce` prints in the Cumulus Linux user guide.
void expect_roce_defaults(const PortQos& qos) {
  for (std::size_t dscp = 0; dscp < 64; ++dscp) EXPECT_EQ(*qos.dscp_to_class[dscp], static_cast<int>(dscp / 8));
  for (std::size_t sp = 0; sp < 8; ++sp) {
    EXPECT_EQ(*qos.class_to_queue[sp], sp == 3 ? 3 : sp == 6 ? 6 : 0);
    EXPECT_EQ(*qos.pfc[sp], sp == 3);
    EXPECT_EQ(*qos.groups[sp].lossless, sp == 3);
  }
  for (const std::size_t queue : {std::size_t{0}, std::size_t{3}}) {
    EXPECT_TRUE(*qos.queues[queue].ecn);
    EXPECT_EQ(qos.queues[queue].ecn_min.value.count(), 150'000);
    EXPECT_EQ(qos.queues[queue].ecn_max.value.count(), 1'500'000);
    EXPECT_EQ(*qos.queues[queue].ecn_percent, 100);
    EXPECT_EQ(*qos.queues[queue].weight, 50);
  }
  EXPECT_EQ(*qos.queues[6].scheduling, Scheduling::strict);
  EXPECT_FALSE(*qos.queues[6].ecn);
}

TEST(Nvue, RoceAppliesThePublishedDefaults) {
  for (const std::string command : {"nv set qos roce", "nv set qos roce enable on", "nv set qos roce mode lossless"}) {
    const NvueRead got = read(command + "\nnv set interface swp1 link mtu 9216\n");
    ASSERT_TRUE(got.config);
    expect_roce_defaults(got.qos("swp1"));
    EXPECT_EQ(*got.qos("swp1").trust, model::TrustMode::dscp);
    EXPECT_EQ(got.qos("swp1").pfc[3].place.line, 1U);
    EXPECT_EQ(*got.qos("swp1").pfc_mode, model::PfcMode::on);
  }
}

TEST(Nvue, LossyRoceDoesNotPause) {
  const NvueRead got = read("nv set qos roce mode lossy\nnv set interface swp1\n");
  ASSERT_TRUE(got.config);
  EXPECT_FALSE(*got.qos("swp1").pfc[3]);
  EXPECT_TRUE(got.qos("swp1").pfc[3].given());
  EXPECT_TRUE(*got.qos("swp1").queues[3].ecn);
  EXPECT_FALSE(*read("nv set qos roce enable off\n").config->qos[0].pfc[3]);
}

TEST(Nvue, WithoutQosTheFramePriorityDecides) {
  const NvueRead got = read("nv set interface swp1\n");
  ASSERT_TRUE(got.config);
  const PortQos& qos = got.qos("swp1");
  EXPECT_EQ(*qos.trust, model::TrustMode::pcp);
  EXPECT_FALSE(qos.trust.given());
  EXPECT_EQ(*qos.dscp_to_class[26], 0);
  EXPECT_EQ(*qos.pcp_to_class[3], 3);
  EXPECT_EQ(*qos.class_to_queue[5], 5);
  EXPECT_TRUE(*qos.queues[0].ecn);  // queue 0 by default
  EXPECT_FALSE(*qos.queues[3].ecn);
  EXPECT_EQ(*qos.queues[1].weight, 13);
  EXPECT_FALSE(*qos.pfc[3]);
  EXPECT_EQ(*qos.pfc_mode, model::PfcMode::off);
  EXPECT_FALSE(*qos.watchdog.on);
}

TEST(Nvue, ProfilesOverrideRoce) {
  const NvueRead got = read(
      "nv set qos roce\nnv set qos mapping default-global trust both\nnv set qos mapping default-global dscp 26,34 "
      "switch-priority 4\n"
      "nv set qos pfc default-global switch-priority 4\nnv set qos egress-queue-mapping default-global switch-priority "
      "4 traffic-class 3\n"
      "nv set qos egress-queue-mapping default-global switch-priority 3 traffic-class 0\n"
      "nv set qos congestion-control default-global traffic-class 3 min-threshold 400000\n"
      "nv set qos congestion-control default-global traffic-class 3 max-threshold 1600000\n"
      "nv set qos congestion-control default-global traffic-class 3 probability 20\n"
      "nv set qos egress-scheduler default-global traffic-class 3 mode dwrr\nnv set qos egress-scheduler "
      "default-global traffic-class 3 bw-percent 70\n"
      "nv set interface swp1\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  const PortQos& qos = got.qos("swp1");
  EXPECT_EQ(*qos.dscp_to_class[26], 4);
  EXPECT_EQ(qos.dscp_to_class[26].place.line, 3U);
  EXPECT_EQ(*qos.dscp_to_class[24], 3);
  EXPECT_TRUE(*qos.pfc[4]);
  EXPECT_FALSE(*qos.pfc[3]);
  EXPECT_EQ(*qos.class_to_queue[4], 3);
  EXPECT_EQ(*qos.class_to_queue[3], 0);
  EXPECT_EQ(*qos.pfc_to_queue[4], 3);
  EXPECT_EQ(qos.queues[3].ecn_min.value.count(), 400'000);
  EXPECT_EQ(*qos.queues[3].ecn_percent, 20);
  EXPECT_EQ(*qos.queues[3].weight, 70);
  EXPECT_TRUE(*qos.queues[0].ecn);
}

TEST(Nvue, PortTrustIgnoresMarkings) {
  const NvueRead got =
      read("nv set qos mapping default-global trust port\nnv set qos mapping default-global port-default-sp 3\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(*got.config->qos[0].dscp_to_class[46], 3);
  EXPECT_FALSE(got.config->qos[0].trust.known());
}

TEST(Nvue, ProfilesApplyWhereTheyAreNamed) {
  const NvueRead got = read(
      "nv set qos mapping mine trust l3\nnv set qos pfc lossless switch-priority 3,5\nnv set qos pfc lossless "
      "port-buffer 70000\n"
      "nv set qos pfc lossless xoff-threshold 18000\nnv set interface swp1-2 qos mapping profile mine\n"
      "nv set interface swp1-2 qos pfc profile lossless\nnv set interface swp2 qos pfc-watchdog state enabled\n"
      "nv set qos pfc-watchdog polling-interval 200\nnv set interface swp3\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(*got.qos("swp1").dscp_to_class[26], 3);
  EXPECT_TRUE(*got.qos("swp1").pfc[5]);
  EXPECT_EQ(got.qos("swp1").groups[5].xoff.value.count(), 52'000);
  EXPECT_FALSE(*got.qos("swp3").pfc[5]);
  EXPECT_FALSE(*got.qos("swp1").watchdog.on);
  EXPECT_TRUE(*got.qos("swp2").watchdog.on);
  EXPECT_EQ(got.qos("swp2").watchdog.detection.value, milliseconds(600));  // three polls
}

TEST(Nvue, UnknownProfileIsAnError) {
  const NvueRead got = read("nv set interface swp1 qos pfc profile none\n");
  EXPECT_EQ(got.findings(), "1 `qos pfc profile` refers to `none`, which is not configured\n");
}

TEST(Nvue, ReadsInterfaces) {
  const NvueRead got = read(
      "cumulus@leaf01:mgmt:~$ nv set system hostname leaf01\nnv set interface swp1-2 link breakout 2x\nnv set "
      "interface swp1s0-1 link speed 400G\n"
      "nv set interface swp1s0-1 link mtu 9216\nnv set interface swp3 link fec rs\nnv set interface swp4,swp6-7 "
      "description 'to flash[001-003]'\n"
      "nv set interface bond1 bond member swp8-9\nnv set interface vlan999 ip address 10.0.0.1/24\nnv set interface "
      "vlan999 ip vrf oob\n"
      "nv set interface lo ip address 10.253.0.1/32\nnv set interface eth0 ip address 10.144.0.0/10\n"
      "nv set interface swp3 bridge domain br_default access 999\nnv set interface swp4 bridge domain br_default vlan "
      "10-12\n"
      "nv set bridge domain br_default vlan 10-12,999\nnv set interface swp3 acl BLOCK inbound\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  EXPECT_EQ(*got.config->hostname, "leaf01");
  const InterfaceConfig* piece = got.config->find("swp1s1");
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->cage, 1);
  EXPECT_EQ(piece->part, 1);
  EXPECT_EQ(piece->parts, 2);
  EXPECT_EQ(piece->speed.value.count(), 400'000'000'000);
  EXPECT_EQ(*got.config->find("swp7")->description, "to flash[001-003]");
  EXPECT_EQ(*got.config->find("swp9")->port_channel, "bond1");
  EXPECT_EQ(got.config->find("vlan999")->svi_vlan, 999);
  EXPECT_EQ(*got.config->find("vlan999")->vrf, "oob");
  EXPECT_EQ(*got.config->find("swp3")->access_vlan, 999);
  EXPECT_FALSE(got.config->find("swp3")->trunk_all);
  EXPECT_EQ(got.config->find("swp4")->tagged_vlans.size(), 3U);
  EXPECT_EQ(*got.config->find("swp4")->access_vlan, 1);
  EXPECT_EQ(*got.config->find("swp3")->acl_in, "BLOCK");
  EXPECT_EQ(got.config->vlans.size(), 4U);
  EXPECT_EQ(got.config->find("eth0")->kind, InterfaceConfig::Kind::management);
  EXPECT_EQ(got.config->find("lo")->kind, InterfaceConfig::Kind::loopback);
}

TEST(Nvue, ReadsAccessListsRoutesAndManagement) {
  const NvueRead got = read(
      "nv set acl OOB type ipv4\nnv set acl OOB rule 20 match ip source-ip any\nnv set acl OOB rule 20 action deny\n"
      "nv set acl OOB rule 10 match ip tcp dest-port 443\nnv set acl OOB rule 10 match ip source-ip 10.128.0.8/32\n"
      "nv set acl OOB rule 10 match ip dest-ip 10.160.0.0/12\nnv set acl OOB rule 10 action permit\n"
      "nv set vrf oob router static 0.0.0.0/0 via 10.128.0.1 type ipv4-address\nnv set router bgp autonomous-system "
      "4201100001\n"
      "nv set vrf default router bgp peer-group up bfd enable on\nnv set vrf default router bgp neighbor swp1-2 "
      "peer-group up\n"
      "nv set vrf default router bgp neighbor swp1-2 remote-as external\nnv set vrf oob router bgp neighbor 10.1.0.1 "
      "remote-as 65001\n"
      "nv set vrf oob router bgp address-family ipv4-unicast route-import from-vrf list RED\nnv set mlag backup "
      "10.3.0.1 vrf mgmt\n"
      "nv set service syslog mgmt server 10.128.0.16 port 514\nnv set service ntp mgmt server 10.128.0.17\nnv set "
      "service dns mgmt server 10.128.0.18\n"
      "nv set system aaa tacacs server 1 host 10.128.0.19\nnv set system aaa authentication-order 1 tacacs\nnv set "
      "system aaa authentication-order 2 local\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  ASSERT_EQ(got.config->acls.size(), 1U);
  const AclConfig& acl = got.config->acls[0];
  ASSERT_EQ(acl.rules.size(), 2U);
  EXPECT_TRUE(acl.rules[0].permit);
  EXPECT_EQ(acl.rules[0].protocol, 6);
  EXPECT_EQ(acl.rules[0].port_low, 443);
  EXPECT_EQ(to_text(acl.rules[0].source), "10.128.0.8/32");
  EXPECT_FALSE(acl.rules[1].permit);
  EXPECT_TRUE(acl.permit_rest);
  ASSERT_EQ(got.config->routes.size(), 1U);
  EXPECT_EQ(got.config->routes[0].vrf, "oob");
  EXPECT_EQ(*got.config->asn, 4201100001);
  ASSERT_EQ(got.config->neighbors.size(), 3U);
  EXPECT_EQ(got.config->neighbors[1].peer, "swp2");
  EXPECT_TRUE(*got.config->neighbors[1].bfd);
  EXPECT_FALSE(got.config->neighbors[2].bfd.known());
  EXPECT_EQ(*got.config->vrfs.at(0).imports.at(0), "RED");
  EXPECT_EQ(*got.config->vpc_keepalive_vrf, "mgmt");
  EXPECT_EQ(*got.config->management.syslog.at(0), "10.128.0.16");
  EXPECT_EQ(*got.config->management.aaa_methods.at(0), "tacacs+");
  EXPECT_EQ(*got.config->management.aaa_servers.at(0), "10.128.0.19");
}

TEST(Nvue, ReadsTheYamlForm) {
  const NvueRead got = read(
      "- header:\n    model: sn5600\n- set:\n    system:\n      hostname: leaf01\n    qos:\n      roce:\n        "
      "enable: on\n"
      "        mode: lossless\n    interface:\n      swp1-2:\n        link:\n          mtu: 9000\n        type: swp\n  "
      "    lo:\n        ip:\n"
      "          address:\n            10.253.0.1/32: {}\n");
  ASSERT_TRUE(got.config) << got.findings();
  EXPECT_EQ(*got.config->hostname, "leaf01");
  EXPECT_EQ(got.config->hostname.place.line, 5U);
  EXPECT_EQ(*got.config->find("swp2")->mtu, 9000);
  EXPECT_EQ(got.config->find("swp2")->mtu.place.line, 13U);
  expect_roce_defaults(got.qos("swp1"));
  EXPECT_EQ(to_text(got.config->find("lo")->own.at(0)), "10.253.0.1");
}

TEST(Nvue, BadCommandsAreWarnings) {
  const NvueRead got = read(
      "nv set interface swp1 link mtu huge\nnv set qos mapping default-global dscp 64 switch-priority 3\n"
      "nv set qos congestion-control default-global traffic-class 9 ecn enable\nnv set interface swp9-1 link state "
      "up\nnv set system hostname x\n");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.diagnostics.error_count(), 0U);
  EXPECT_EQ(got.diagnostics.warning_count(), 4U) << got.findings();
  EXPECT_EQ(*got.config->hostname, "x");
}

TEST(Nvue, OtherTextIsRejected) {
  EXPECT_FALSE(read("").config.has_value());
  EXPECT_FALSE(read("hello: world\n").config.has_value());
  EXPECT_FALSE(read("interface Ethernet1/1\n  mtu 9216\n").config.has_value());
}

}  // namespace
}  // namespace weft::config

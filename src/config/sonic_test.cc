#include <gtest/gtest.h>

#include <string>

#include "config/switch_config.h"

namespace weft::config {
namespace {

struct SonicRead {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<SwitchConfig> config;

  [[nodiscard]] const PortQos& qos(std::string_view port) const { return config->qos[config->find(port)->qos]; }
  // "line message" of each diagnostic.
  [[nodiscard]] std::string findings() const {
    std::string text;
    for (const Diagnostic& d : diagnostics.sorted()) text += std::to_string(d.place.line) + " " + d.message + "\n";
    return text;
  }
};

SonicRead read(std::string text) {
  SonicRead result;
  const FileId file = result.sources.add("config_db.json", std::move(text));
  result.config = read_sonic(result.sources, file, result.diagnostics);
  return result;
}

// The lossless configuration that SONiC's own templates generate, for two ports.
const char* const kLossless = R"({
"DEVICE_METADATA": {"localhost": {"hostname": "leaf1", "hwsku": "ACS-SN5600", "bgp_asn": "65001"}},
"PORT": {
  "Ethernet0": {"index": "1", "lanes": "0,1,2,3", "alias": "etp1a", "speed": "400000", "mtu": "9216", "fec": "rs", "admin_status": "up"},
  "Ethernet4": {"index": "1", "lanes": "4,5,6,7", "alias": "etp1b", "speed": "400000", "mtu": "9100"},
  "Ethernet8": {"index": "2", "lanes": "8,9,10,11", "speed": "400000"}
},
"DSCP_TO_TC_MAP": {"AZURE": {"0": "1", "26": "3", "48": "6"}},
"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"1": "0", "3": "3", "6": "0"}},
"TC_TO_QUEUE_MAP": {"AZURE": {"1": "1", "3": "3", "6": "6"}},
"MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {"3": "3"}},
"PORT_QOS_MAP": {
  "Ethernet0,Ethernet4": {
    "dscp_to_tc_map": "AZURE", "tc_to_pg_map": "[TC_TO_PRIORITY_GROUP_MAP|AZURE]", "tc_to_queue_map": "AZURE",
    "pfc_to_queue_map": "AZURE",
    "pfc_enable": "3", "pfcwd_sw_enable": "3"
  }
},
"SCHEDULER": {"data": {"type": "DWRR", "weight": "60"}, "cnp": {"type": "STRICT", "meter_type": "bytes", "cir": "1", "pir": "5000000000"}},
"WRED_PROFILE": {"ECN": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": " 166912", "green_max_threshold": "1048576", "green_drop_probability": "5"}},
"QUEUE": {"Ethernet0,Ethernet4|3": {"scheduler": "data", "wred_profile": "ECN"}, "Ethernet0,Ethernet4|6": {"scheduler": "cnp"}},
"BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "100000000", "xoff": "2000000"}},
"BUFFER_PROFILE": {"lossless": {"pool": "ingress_lossless_pool", "size": "19456", "xon": "19456", "xoff": "283648", "dynamic_th": "0"},
  "lossy": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"}},
"BUFFER_PG": {"Ethernet0,Ethernet4|3-4": {"profile": "lossless"}, "Ethernet0|0": {"profile": "lossy"}},
"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"}, "Ethernet0,Ethernet4": {"action": "drop", "detection_time": "200", "restoration_time": "400"}}
})";

TEST(Sonic, MapsAMarkingToQueueAndGroup) {
  const SonicRead got = read(kLossless);
  ASSERT_TRUE(got.config);
  EXPECT_FALSE(got.diagnostics.has_errors()) << got.findings();
  const PortQos& qos = got.qos("Ethernet0");
  EXPECT_EQ(*qos.trust, model::TrustMode::dscp);
  EXPECT_EQ(*qos.dscp_to_class[26], 3);
  EXPECT_EQ(qos.dscp_to_class[26].path, "DSCP_TO_TC_MAP|AZURE|26");
  EXPECT_EQ(qos.dscp_to_class[26].place.line, 8U);
  EXPECT_TRUE(qos.dscp_to_class[26].given());
  EXPECT_EQ(*qos.dscp_to_class[5], 0);
  EXPECT_FALSE(qos.dscp_to_class[5].given());
  EXPECT_EQ(*qos.class_to_group[3], 3);
  EXPECT_EQ(*qos.class_to_queue[3], 3);
  EXPECT_EQ(*qos.pfc_to_queue[3], 3);
  EXPECT_EQ(*qos.pfc_to_group[3], 3);
  EXPECT_FALSE(qos.pfc_to_group[3].given());
  EXPECT_TRUE(*qos.pfc[3]);
  EXPECT_FALSE(*qos.pfc[4]);
  EXPECT_EQ(qos.pfc[3].place.line, 16U);
  EXPECT_EQ(*qos.pfc_mode, model::PfcMode::on);
}

TEST(Sonic, ReadsQueuesGroupsAndWatchdog) {
  const SonicRead got = read(kLossless);
  ASSERT_TRUE(got.config);
  const PortQos& qos = got.qos("Ethernet0");
  EXPECT_TRUE(*qos.queues[3].ecn);
  EXPECT_EQ(qos.queues[3].ecn_min.value.count(), 166912);
  EXPECT_EQ(qos.queues[3].ecn_max.value.count(), 1048576);
  EXPECT_EQ(*qos.queues[3].ecn_percent, 5);
  EXPECT_EQ(*qos.queues[3].scheduling, Scheduling::weighted);
  EXPECT_EQ(*qos.queues[3].weight, 60);
  EXPECT_EQ(*qos.queues[6].scheduling, Scheduling::strict);
  EXPECT_EQ(*qos.queues[6].strict_cap_percent, 10);  // 5 GB/s of 400 Gb/s
  EXPECT_FALSE(*qos.queues[0].ecn);
  EXPECT_TRUE(*qos.groups[3].lossless);
  EXPECT_TRUE(*qos.groups[4].lossless);
  EXPECT_FALSE(*qos.groups[0].lossless);
  EXPECT_TRUE(qos.groups[0].lossless.given());
  EXPECT_EQ(qos.groups[3].xoff.value.count(), 283648);
  EXPECT_EQ(qos.groups[3].xon.value.count(), 19456);
  EXPECT_EQ(*qos.groups[3].alpha, 0);
  EXPECT_TRUE(*qos.watchdog.on);
  EXPECT_EQ(qos.watchdog.detection.value.count(), 200'000'000);
  EXPECT_EQ(*qos.watchdog.action, model::WatchdogAction::drop);
  EXPECT_EQ(got.config->watchdog_poll.value.count(), 200'000'000);
  ASSERT_EQ(got.config->pools.size(), 1U);
  EXPECT_EQ(got.config->pools[0].shared_headroom.value.count(), 2'000'000);
}

TEST(Sonic, SpacesAroundANumberAreAWarning) {
  const SonicRead got = read(kLossless);
  EXPECT_EQ(got.findings(), "20 `green_min_threshold` has spaces around its value ` 166912`\n");
}

TEST(Sonic, NumbersCagesFromIndexAndLanes) {
  const SonicRead got = read(kLossless);
  ASSERT_TRUE(got.config);
  const InterfaceConfig* second = got.config->find("Ethernet4");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(second->cage, 1);
  EXPECT_EQ(second->part, 1);
  EXPECT_EQ(second->parts, 2);
  EXPECT_EQ(got.config->find("Ethernet8")->parts, 1);
  EXPECT_EQ(second->speed.value.count(), 400'000'000'000);
  EXPECT_EQ(*second->mtu, 9100);
  EXPECT_FALSE(*second->enabled);  // no admin_status
  EXPECT_EQ(*got.config->hostname, "leaf1");
  EXPECT_EQ(*got.config->hardware, "ACS-SN5600");
  EXPECT_EQ(*got.config->asn, 65001);
}

TEST(Sonic, ZeroBasedIndexesCountFromOne) {
  const SonicRead got =
      read(R"({"PORT": {"Ethernet0": {"index": "0", "lanes": "1"}, "Ethernet4": {"index": "1", "lanes": "5"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->find("Ethernet0")->cage, 1);
  EXPECT_EQ(got.config->find("Ethernet4")->cage, 2);
}

TEST(Sonic, WithoutARowEverythingIsLossyClassZero) {
  const SonicRead got = read(kLossless);
  ASSERT_TRUE(got.config);
  const PortQos& qos = got.qos("Ethernet8");
  EXPECT_EQ(got.config->find("Ethernet8")->qos, 0U);
  EXPECT_EQ(*qos.dscp_to_class[26], 0);
  EXPECT_EQ(qos.dscp_to_class[26].by, Decided::vendor_default);
  EXPECT_FALSE(qos.trust.known());
  EXPECT_FALSE(*qos.pfc[3]);
  EXPECT_EQ(*qos.pfc_mode, model::PfcMode::off);
  EXPECT_FALSE(*qos.groups[3].lossless);
  EXPECT_FALSE(*qos.watchdog.on);
}

TEST(Sonic, PortsWithEqualSettingsShareOneQos) {
  const SonicRead got = read(kLossless);
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->qos.size(), 3U);  // Ethernet0 has a row of its own in BUFFER_PG
  EXPECT_NE(got.config->find("Ethernet0")->qos, got.config->find("Ethernet4")->qos);
}

TEST(Sonic, GlobalMapAppliesToEveryPort) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {}},
    "DSCP_TO_TC_MAP": {"G": {"26": "3"}}, "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "G"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(*got.qos("Ethernet0").dscp_to_class[26], 3);
  EXPECT_EQ(*got.qos("Ethernet0").trust, model::TrustMode::dscp);
}

TEST(Sonic, DanglingReferenceIsAnErrorAndTheSettingIsIgnored) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {}},
"DSCP_TO_TC_MAP": {"AZURE": {"26": "3"}},
"PORT_QOS_MAP": {"Ethernet0": {
  "dscp_to_tc_map": "AZUR"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "4 `dscp_to_tc_map` refers to `AZUR`, which is not in DSCP_TO_TC_MAP\n");
  EXPECT_TRUE(got.diagnostics.has_errors());
  EXPECT_FALSE(got.qos("Ethernet0").dscp_to_class[26].known());
}

TEST(Sonic, DynamicBuffersAreLossless) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {"speed": "100000"}},
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER": {"AZURE": {"default_dynamic_th": "1"}},
    "BUFFER_PG": {"Ethernet0|3-4": {"profile": "NULL"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_TRUE(*got.qos("Ethernet0").groups[3].lossless);
  EXPECT_TRUE(got.qos("Ethernet0").groups[3].lossless.given());
  EXPECT_EQ(*got.qos("Ethernet0").groups[3].alpha, 1);
  EXPECT_FALSE(got.qos("Ethernet0").groups[3].xoff.known());
}

TEST(Sonic, BufferManagerAddsHeadroomToPfcPorts) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {"speed": "100000"}, "Ethernet4": {"speed": "100000"}},
    "CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet4": "0m"}},
    "PORT_QOS_MAP": {"Ethernet0": {"pfc_enable": "3"}, "Ethernet4": {"pfc_enable": "3"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->find("Ethernet0")->cable_length.value, meters(40));
  EXPECT_TRUE(*got.qos("Ethernet0").groups[3].lossless);
  EXPECT_FALSE(got.qos("Ethernet0").groups[3].lossless.given());
  EXPECT_FALSE(*got.qos("Ethernet4").groups[3].lossless);
}

TEST(Sonic, DisabledWredDoesNotMark) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {}},
    "WRED_PROFILE": {"A": {"ecn": "ecn_all", "wred_green_enable": "false"}, "B": {"ecn": "ecn_none"}},
    "QUEUE": {"Ethernet0|3": {"wred_profile": "A"}, "Ethernet0|4": {"wred_profile": "B"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_FALSE(*got.qos("Ethernet0").queues[3].ecn);
  EXPECT_FALSE(*got.qos("Ethernet0").queues[4].ecn);
  EXPECT_TRUE(got.qos("Ethernet0").queues[4].ecn.given());
}

TEST(Sonic, RewritesByTrafficClass) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {}},
    "DSCP_TO_TC_MAP": {"M": {"26": "3"}}, "TC_TO_DSCP_MAP": {"R": {"3": "46"}},
    "PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "M", "tc_to_dscp_map": "R"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(*got.qos("Ethernet0").rewrite[26], 46);
  EXPECT_FALSE(got.qos("Ethernet0").rewrite[10].known());
}

TEST(Sonic, OneBadRowDoesNotHideTheRest) {
  const SonicRead got = read(R"({"PORT": {
"Ethernet0": {"speed": "fast", "mtu": "99999"},
"Ethernet4": "oops",
"Ethernet8": {"speed": "100000"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(),
            "2 `speed` is `fast`: expected a number between 1 and 1600000\n"
            "2 `mtu` is `99999`: expected a number between 68 and 9216\n"
            "3 `PORT|Ethernet4` is text: expected an object\n");
  EXPECT_EQ(got.config->find("Ethernet8")->speed.value.count(), 100'000'000'000);
}

TEST(Sonic, ReadsAddressesVlansAndVrfs) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {}, "Ethernet4": {}}, "VRF": {"Vrf_oob": {}},
    "PORTCHANNEL": {"PortChannel1": {"mtu": "9100"}}, "PORTCHANNEL_MEMBER": {"PortChannel1|Ethernet4": {}},
    "VLAN": {"Vlan100": {"vlanid": "100"}}, "VLAN_MEMBER": {"Vlan100|Ethernet0": {"tagging_mode": "untagged"}, "Vlan100|PortChannel1": {"tagging_mode": "tagged"}},
    "VLAN_INTERFACE": {"Vlan100": {"vrf_name": "Vrf_oob"}, "Vlan100|10.1.0.1/24": {}},
    "INTERFACE": {"Ethernet0": {}, "Ethernet0|10.0.0.1/31": {}, "Ethernet0|fc00::1/64": {}},
    "LOOPBACK_INTERFACE": {"Loopback0|10.252.0.1/32": {}}, "MGMT_INTERFACE": {"eth0|10.160.0.0/10": {"gwaddr": "10.128.0.1"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  const InterfaceConfig* svi = got.config->find("Vlan100");
  ASSERT_NE(svi, nullptr);
  EXPECT_EQ(svi->kind, InterfaceConfig::Kind::svi);
  EXPECT_EQ(svi->svi_vlan, 100);
  EXPECT_EQ(*svi->vrf, "Vrf_oob");
  ASSERT_EQ(svi->addresses.size(), 1U);
  EXPECT_EQ(to_text(svi->addresses[0].value), "10.1.0.0/24");
  EXPECT_EQ(to_text(svi->own[0]), "10.1.0.1");
  const InterfaceConfig* port = got.config->find("Ethernet0");
  EXPECT_EQ(*port->access_vlan, 100);
  EXPECT_EQ(to_text(port->addresses[0].value), "10.0.0.0/31");
  EXPECT_EQ(*got.config->find("Ethernet4")->port_channel, "PortChannel1");
  EXPECT_EQ(got.config->find("PortChannel1")->tagged_vlans.at(0).value, 100);
  EXPECT_EQ(got.config->find("Loopback0")->kind, InterfaceConfig::Kind::loopback);
  EXPECT_EQ(got.config->find("eth0")->kind, InterfaceConfig::Kind::management);
}

TEST(Sonic, ManagementPortIsInTheManagementVrf) {
  const auto vrf_of_eth0 = [](const std::string& enabled) {
    const SonicRead got = read("{\"MGMT_VRF_CONFIG\": {\"vrf_global\": {\"mgmtVrfEnabled\": \"" + enabled +
                               "\"}}, \"MGMT_INTERFACE\": {\"eth0|10.160.0.0/10\": {}}}");
    return got.config->find("eth0")->vrf;
  };
  EXPECT_EQ(*vrf_of_eth0("true"), "mgmt");
  EXPECT_FALSE(vrf_of_eth0("false").known());
}

TEST(Sonic, ReadsRoutesNeighborsAndManagement) {
  const SonicRead got = read(R"({
    "STATIC_ROUTE": {"default|10.0.0.0/8": {"nexthop": "10.1.1.1,10.1.1.2", "ifname": ",Ethernet0", "nexthop-vrf": ",Vrf_b"}, "Vrf_a|0.0.0.0/0": {"nexthop": "10.9.9.9"}},
    "BGP_NEIGHBOR": {"10.0.0.1": {"asn": "65002", "bfd": "true"}, "Vrf_a|10.0.0.3": {"asn": "65003"}},
    "SYSLOG_SERVER": {"10.128.0.16": {}}, "NTP_SERVER": {"10.128.0.17": {}}, "TACPLUS_SERVER": {"10.128.0.18": {}},
    "AAA": {"authentication": {"login": "tacacs+,local"}}, "SNMP_COMMUNITY": {"public": {"TYPE": "RO"}},
    "SWITCH": {"switch": {"ecmp_hash_seed": "7"}}, "SOMETHING_NEW": {"a": {}, "b": {}}})");
  ASSERT_TRUE(got.config);
  ASSERT_EQ(got.config->routes.size(), 3U);
  EXPECT_EQ(got.config->routes[0].vrf, "Vrf_a");
  EXPECT_EQ(got.config->routes[2].next_hop_vrf, "Vrf_b");
  EXPECT_EQ(got.config->routes[2].interface, "Ethernet0");
  ASSERT_EQ(got.config->neighbors.size(), 2U);
  EXPECT_TRUE(*got.config->neighbors[0].bfd);
  EXPECT_EQ(got.config->neighbors[1].vrf, "Vrf_a");
  EXPECT_EQ(got.config->management.syslog.at(0).value, "10.128.0.16");
  ASSERT_EQ(got.config->management.aaa_methods.size(), 2U);
  EXPECT_EQ(*got.config->management.aaa_methods[0], "tacacs+");
  EXPECT_EQ(got.config->management.snmp_communities.at(0).value, "public");
  EXPECT_EQ(*got.config->ecmp_seed_value, 7);
  EXPECT_EQ(got.config->skipped, 2U);
}

TEST(Sonic, ReadsAccessListsHighestPriorityFirst) {
  const SonicRead got = read(R"({"PORT": {"Ethernet0": {}},
    "ACL_TABLE": {"OOB": {"type": "L3", "stage": "ingress", "ports": ["Ethernet0"]}, "MIRROR_IT": {"type": "MIRROR", "ports": ["Ethernet0"]}},
    "ACL_RULE": {"OOB|DENY": {"PRIORITY": "1", "PACKET_ACTION": "DROP", "IP_TYPE": "IPV4ANY"},
      "OOB|ALLOW": {"PRIORITY": "9000", "PACKET_ACTION": "FORWARD", "SRC_IP": "10.128.0.9/32", "DST_IP": "10.160.0.0/12", "IP_PROTOCOL": "6", "L4_DST_PORT_RANGE": "440-443"},
      "OOB|ODD": {"PRIORITY": "9001", "PACKET_ACTION": "DROP", "L4_SRC_PORT": "179"}}})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(), "");
  ASSERT_EQ(got.config->acls.size(), 1U);
  const AclConfig& acl = got.config->acls[0];
  ASSERT_EQ(acl.rules.size(), 2U);  // a drop that also matches source ports does not drop everything
  EXPECT_TRUE(acl.rules[0].permit);
  EXPECT_EQ(to_text(acl.rules[0].source), "10.128.0.9/32");
  EXPECT_EQ(acl.rules[0].port_low, 440);
  EXPECT_EQ(acl.rules[0].port_high, 443);
  EXPECT_FALSE(acl.rules[1].permit);
  EXPECT_TRUE(acl.permit_rest);
  EXPECT_EQ(*got.config->find("Ethernet0")->acl_in, "OOB");
}

TEST(Sonic, OtherJsonIsRejected) {
  EXPECT_FALSE(read("{\"kind\": \"Pod\"}").config.has_value());
  EXPECT_FALSE(read("[]").config.has_value());
  EXPECT_FALSE(read("{").config.has_value());
}

TEST(Sonic, ManyEqualPortsShareOneQos) {
  std::string ports;
  std::string list;
  for (int i = 0; i < 512; ++i) {
    const std::string name = "Ethernet" + std::to_string(i);
    ports += (i == 0 ? "" : ",") + ("\"" + name + "\": {\"speed\": \"100000\"}");
    list += (i == 0 ? "" : ",") + name;
  }
  const SonicRead got =
      read("{\"PORT\": {" + ports + "}, \"PORT_QOS_MAP\": {\"" + list + "\": {\"pfc_enable\": \"3,4\"}}}");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.config->interfaces.size(), 512U);
  EXPECT_EQ(got.config->qos.size(), 2U);
  EXPECT_TRUE(*got.qos("Ethernet511").pfc[4]);
}

// `sonic-cfggen` renders qos.json and buffers.json without the other tables: absent tables are not missing.
TEST(Sonic, PartWithoutPortTable) {
  const SonicRead got = read(R"({
"DSCP_TO_TC_MAP": {"AZURE": {"3": "3"}},
"TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {"3": "3"}},
"TC_TO_QUEUE_MAP": {"AZURE": {"3": "3"}},
"CABLE_LENGTH": {"AZURE": {"Ethernet0": "40m", "Ethernet4": "5m"}},
"PORT_QOS_MAP": {"Ethernet0": {"dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE", "tc_to_queue_map": "AZURE",
  "pfc_enable": "3,4"}}
})");
  ASSERT_TRUE(got.config);
  EXPECT_EQ(got.findings(),
            "5 CABLE_LENGTH refers to port `Ethernet0`, but the file has no PORT table and is read as a partial "
            "configuration\n");
  ASSERT_NE(got.config->find("Ethernet4"), nullptr);
  EXPECT_EQ(*got.config->find("Ethernet0")->cable_length, meters(40));
  EXPECT_TRUE(*got.qos("Ethernet0").pfc[3]);
  EXPECT_FALSE(got.qos("Ethernet0").watchdog.on.known());
  EXPECT_FALSE(got.qos("Ethernet0").groups[3].lossless.known());
  EXPECT_FALSE(got.qos("Ethernet0").queues[3].ecn.known());
}

}  // namespace
}  // namespace weft::config

// Samples of real output: lldpcli 1.0.16, SONiC and NX-OS as printed in their manuals, infiniband-diags 44.
#include "config/live_facts.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"

namespace weft::config {
namespace {

struct Read {
  Sources sources;
  Diagnostics diagnostics;
  FileId file = 0;
  explicit Read(std::string text, std::string path = "dir/leaf7.lldp") { file = sources.add(path, std::move(text)); }
  std::optional<LldpReport> lldp() { return read_lldp(sources, file, diagnostics); }
};

TEST(Lldp, JsonWithSeveralInterfaces) {
  Read read(R"({"lldp": {"interface": [
    {"eth1": {"via": "LLDP", "rid": "1", "age": "0 day, 00:00:02",
      "chassis": {"leaf1": {"id": {"type": "mac", "value": "02:00:00:00:00:01"}, "descr": "x",
                            "capability": [{"type": "Bridge", "enabled": true}]}},
      "port": {"id": {"type": "ifname", "value": "Ethernet8"}, "descr": "to h1", "ttl": "120"}}},
    {"eth2": {"via": "LLDP",
      "chassis": {"leaf2": {"id": {"type": "mac", "value": "02:00:00:00:00:02"}}},
      "port": {"id": {"type": "mac", "value": "02:00:00:00:00:09"}, "descr": "swp3"}}}]}})",
            "out/train001.lldp.json");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->system, "train001");
  EXPECT_EQ(report->format, "lldpcli-json");
  ASSERT_EQ(report->neighbors.size(), 2U);
  EXPECT_EQ(report->neighbors[0].local_port, "eth1");
  EXPECT_EQ(report->neighbors[0].remote_system, "leaf1");
  EXPECT_EQ(report->neighbors[0].remote_port, "Ethernet8");
  EXPECT_EQ(report->neighbors[0].place.line, 2U);
  EXPECT_EQ(report->neighbors[1].remote_port, "02:00:00:00:00:09");
  EXPECT_EQ(report->neighbors[1].remote_port_description, "swp3");
  EXPECT_EQ(report->neighbors[1].remote_chassis, "02:00:00:00:00:02");
}

TEST(Lldp, JsonWithOneInterfaceIsAnObject) {
  Read read(R"({"lldp": {"interface": {"eth1": {"chassis": {"leaf1": {"id": {"type": "mac", "value": "m"}}},
    "port": {"id": {"type": "ifname", "value": "Ethernet8"}}}}}})");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->neighbors.size(), 1U);
  EXPECT_EQ(report->neighbors[0].local_port, "eth1");
  EXPECT_EQ(report->neighbors[0].remote_system, "leaf1");
}

TEST(Lldp, ChassisWithoutAName) {
  Read read(R"({"lldp": {"interface": {"eth1": {"chassis": {"id": {"type": "mac", "value": "02:00:00:00:00:03"}},
    "port": {"id": {"type": "local", "value": "7"}}}}}})");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->neighbors.size(), 1U);
  EXPECT_EQ(report->neighbors[0].remote_system, "");
  EXPECT_EQ(report->neighbors[0].remote_chassis, "02:00:00:00:00:03");
}

TEST(Lldp, Json0WrapsEverythingInLists) {
  Read read(R"({"lldp": [{"interface": [{"name": "Ethernet0", "via": "LLDP",
    "chassis": [{"id": [{"type": "mac", "value": "m"}], "name": [{"value": "h1"}], "descr": [{"value": "Linux"}]}],
    "port": [{"id": [{"type": "mac", "value": "p"}], "descr": [{"value": "be2"}], "ttl": [{"value": "4"}]}]}]}]})");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->neighbors.size(), 1U);
  EXPECT_EQ(report->neighbors[0].local_port, "Ethernet0");
  EXPECT_EQ(report->neighbors[0].remote_system, "h1");
  EXPECT_EQ(report->neighbors[0].remote_port_description, "be2");
}

TEST(Lldp, NoNeighbors) {
  Read read(R"({"lldp": {}})");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->neighbors.empty());
}

TEST(Lldp, KeyValue) {
  Read read(
      "lldp.eth0.100.via=LLDP\nlldp.eth0.100.chassis.mac=02:00:00:00:00:01\nlldp.eth0.100.chassis.name=leaf1\n"
      "lldp.eth0.100.port.ifname=Ethernet4\nlldp.eth0.100.port.descr=spare\n");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  ASSERT_EQ(report->neighbors.size(), 1U);
  EXPECT_EQ(report->neighbors[0].local_port, "eth0.100");
  EXPECT_EQ(report->neighbors[0].remote_system, "leaf1");
  EXPECT_EQ(report->neighbors[0].remote_port, "Ethernet4");
}

TEST(Lldp, SonicTable) {
  Read read(
      "admin@be-leaf3:~$ show lldp table\n"
      "Capability codes: (R) Router, (B) Bridge, (O) Other\n"
      "LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr\n"
      "-----------  --------------  -----------------  ------------  -----------------\n"
      "Ethernet0    train001        02:00:00:00:00:09  R             be2\n"
      "Ethernet4    ARISTA01T1      Ethernet1                        a port\n"
      "--------------------------------------------------\n"
      "Total entries displayed:  2\n");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->system, "be-leaf3");
  EXPECT_EQ(report->format, "sonic-table");
  ASSERT_EQ(report->neighbors.size(), 2U);
  EXPECT_EQ(report->neighbors[0].remote_port, "02:00:00:00:00:09");
  EXPECT_EQ(report->neighbors[0].remote_port_description, "be2");
  EXPECT_EQ(report->neighbors[1].remote_port, "Ethernet1");
  EXPECT_EQ(report->neighbors[1].remote_port_description, "a port");
  EXPECT_EQ(report->neighbors[1].place.line, 6U);
}

TEST(Lldp, NxosTable) {
  Read read(
      "oob-leaf001# show lldp neighbors\n"
      "Capability codes:\n  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device\n"
      "  (W) WLAN Access Point, (P) Repeater, (S) Station, (O) Other\n"
      "Device ID            Local Intf      Hold-time  Capability  Port ID\n"
      "spine1               Eth1/49         120        BR          Ethernet1/3\n"
      "bmc-of-train001      Eth1/1          120                    b83f.d210.0001\n"
      "a-switch-with-a-name-too-long\n"
      "                     Eth1/50         120        B           Ethernet1/4\n"
      "Total entries displayed: 3\n");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->system, "oob-leaf001");
  EXPECT_EQ(report->format, "nxos-table");
  ASSERT_EQ(report->neighbors.size(), 3U);
  EXPECT_EQ(report->neighbors[0].remote_system, "spine1");
  EXPECT_EQ(report->neighbors[0].local_port, "Eth1/49");
  EXPECT_EQ(report->neighbors[0].remote_port, "Ethernet1/3");
  EXPECT_EQ(report->neighbors[1].remote_port, "b83f.d210.0001");
  EXPECT_EQ(report->neighbors[2].remote_system, "a-switch-with-a-name-too-long");
  EXPECT_EQ(report->neighbors[2].local_port, "Eth1/50");
}

TEST(Lldp, NxosDetail) {
  Read read(
      "Chassis id: 0c42.a1f0.1234\nPort id: Ethernet1/2\nLocal Port id: Eth1/1\nPort Description: to oob\n"
      "System Name: spine1\nSystem Description: Cisco NX-OS\nTime remaining: 100 seconds\n\n"
      "Chassis id: 0c42.a1f0.9999\nPort id: 0c42.a1f0.9999\nLocal Port id: Eth1/2\nPort Description: not advertised\n"
      "System Name: not advertised\n\nTotal entries displayed: 2\n",
      "oob-leaf002.txt");
  const auto report = read.lldp();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->system, "oob-leaf002");
  ASSERT_EQ(report->neighbors.size(), 2U);
  EXPECT_EQ(report->neighbors[0].remote_system, "spine1");
  EXPECT_EQ(report->neighbors[0].local_port, "Eth1/1");
  EXPECT_EQ(report->neighbors[1].remote_system, "");
  EXPECT_EQ(report->neighbors[1].remote_chassis, "0c42.a1f0.9999");
}

TEST(Lldp, OtherTextIsRejected) {
  for (const char* text : {"", "hello\n", "{\"lldp\": ", "{\"a\": 1}", "[]", "[[[1]]]"}) {
    Read read(text);
    EXPECT_FALSE(read.lldp()) << text;
    EXPECT_TRUE(read.diagnostics.has_errors()) << text;
  }
}

// ibnetdiscover output of a leaf, a spine and two adapters.
constexpr const char* kNetDiscover =
    "#\n# Topology file: generated on Sun Nov 15 06:38:54 2026\n#\n"
    "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x200001\nswitchguid=0x200001(200001)\n"
    "Switch\t64 \"S-0000000000200001\"\t\t# \"MF0;spine0:QM9700/U1\" enhanced port 0 lid 3 lmc 0\n"
    "[1]\t\"S-0000000000200000\"[63]\t\t# \"be-leaf1\" lid 2 4xNDR\n\n"
    "vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x200000\nswitchguid=0x200000(200000)\n"
    "Switch\t64 \"S-0000000000200000\"\t\t# \"be-leaf1\" enhanced port 0 lid 2 lmc 0\n"
    "[1]\t\"H-0000000000100000\"[1](100001) \t\t# \"train001 mlx5_0\" lid 1 4xNDR\n"
    "[2]\t\"H-0000000000100002\"[1](100003) \t\t# \"train002 mlx5_0\" lid 4 4xHDR\n"
    "[63]\t\"S-0000000000200001\"[1]\t\t# \"MF0;spine0:QM9700/U1\" lid 3 4xNDR\n\n"
    "vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x100002\ncaguid=0x100002\n"
    "Ca\t1 \"H-0000000000100002\"\t\t# \"train002 mlx5_0\"\n"
    "[1](100003) \t\"S-0000000000200000\"[2]\t\t# lid 4 lmc 0 \"be-leaf1\" lid 2 4xHDR\n\n"
    "vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x100000\ncaguid=0x100000\n"
    "Ca\t1 \"H-0000000000100000\"\t\t# \"train001 mlx5_0\"\n"
    "[1](100001) \t\"S-0000000000200000\"[1]\t\t# lid 1 lmc 0 \"be-leaf1\" lid 2 4xNDR\n";

TEST(InfiniBand, NetDiscoverReturnsEachLinkOnce) {
  Read read(kNetDiscover);
  const auto fabric = read_ibnetdiscover(read.sources, read.file, read.diagnostics);
  ASSERT_TRUE(fabric);
  ASSERT_EQ(fabric->links.size(), 3U);
  EXPECT_EQ(fabric->links[0].a.node, "MF0;spine0:QM9700/U1");
  EXPECT_TRUE(fabric->links[0].a.is_switch);
  EXPECT_EQ(fabric->links[0].a.port, 1);
  EXPECT_EQ(fabric->links[0].b.node, "be-leaf1");
  EXPECT_EQ(fabric->links[0].b.port, 63);
  EXPECT_EQ(fabric->links[1].b.node, "train001 mlx5_0");
  EXPECT_FALSE(fabric->links[1].b.is_switch);
  EXPECT_EQ(fabric->links[2].width, "4x");
  EXPECT_EQ(fabric->links[2].speed, "HDR");
}

TEST(InfiniBand, LinkInfo) {
  Read read(
      "CA: train001 mlx5_0:\n"
      "      0x0000000000100001      1    1[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>       2    1[  ] "
      "\"be-leaf1\" ( )\n"
      "Switch: 0x0000000000200000 be-leaf1:\n"
      "           2    1[  ] ==( 4X         106.25 Gbps Active/  LinkUp)==>       1    1[  ] \"train001 mlx5_0\" ( )\n"
      "           2    2[  ] ==( 2X          53.125 Gbps Active/  LinkUp)==>       3   63[  ] \"MF0;spine0:QM9700/U1\" "
      "(Could be 4X Could be 106.25 Gbps)\n"
      "           2    3[  ] ==(                Down/ Polling)==>             [  ] \"\" ( )\n"
      "Switch: 0x0000000000200001 MF0;spine0:QM9700/U1:\n"
      "           3   63[  ] ==( 2X          53.125 Gbps Active/  LinkUp)==>       2    2[  ] \"be-leaf1\" ( )\n");
  const auto fabric = read_iblinkinfo(read.sources, read.file, read.diagnostics);
  ASSERT_TRUE(fabric);
  ASSERT_EQ(fabric->links.size(), 2U);
  EXPECT_EQ(fabric->links[0].a.node, "train001 mlx5_0");
  EXPECT_FALSE(fabric->links[0].a.is_switch);
  EXPECT_TRUE(fabric->links[0].b.is_switch);
  EXPECT_EQ(fabric->links[0].speed, "NDR");
  EXPECT_EQ(fabric->links[1].width, "2x");
  EXPECT_EQ(fabric->links[1].speed, "HDR");
  EXPECT_EQ(fabric->links[1].b.port, 63);
  ASSERT_EQ(fabric->down.size(), 1U);
  EXPECT_EQ(fabric->down[0].port, 3);
  EXPECT_EQ(fabric->down[0].node, "be-leaf1");
}

TEST(InfiniBand, LinkInfoLineByLine) {
  Read read(
      "0x0000000000200000 \"                      be-leaf1\"      2    1[  ] ==( 4X         106.25 Gbps Active/  "
      "LinkUp)==>  0x0000000000100001      1    1[  ] \"train001 mlx5_0\" ( )\n"
      "0x0000000000200000 \"                      be-leaf1\"      2    2[  ] ==(                Down/ Polling)==>      "
      " "
      "      [  ] \"\" ( )\n"
      "0x0000000000100001 \"               train001 mlx5_0\"      1    1[  ] ==( 4X         106.25 Gbps Active/  "
      "LinkUp)==>  0x0000000000200000      2    1[  ] \"be-leaf1\" ( )\n");
  const auto fabric = read_iblinkinfo(read.sources, read.file, read.diagnostics);
  ASSERT_TRUE(fabric);
  ASSERT_EQ(fabric->links.size(), 1U);
  EXPECT_EQ(fabric->links[0].a.node, "be-leaf1");
  EXPECT_TRUE(fabric->links[0].a.is_switch);
  EXPECT_EQ(fabric->links[0].a.guid, "0x0000000000200000");
  EXPECT_EQ(fabric->links[0].b.node, "train001 mlx5_0");
  EXPECT_EQ(fabric->links[0].b.guid, "0x0000000000100001");
  EXPECT_FALSE(fabric->links[0].b.is_switch);
  ASSERT_EQ(fabric->down.size(), 1U);
  EXPECT_EQ(fabric->down[0].port, 2);
}

TEST(InfiniBand, RatesByName) {
  EXPECT_EQ(ib_rate_mbps("4x", "NDR"), 400'000);
  EXPECT_EQ(ib_rate_mbps("4x", "HDR"), 200'000);
  EXPECT_EQ(ib_rate_mbps("2x", "NDR"), 200'000);
  EXPECT_EQ(ib_rate_mbps("4x", "FDR"), 56'000);
  EXPECT_EQ(ib_rate_mbps("4x", "SDR"), 10'000);
  EXPECT_EQ(ib_rate_mbps("4x", "never"), 0);
  EXPECT_EQ(ib_rate_mbps("", "NDR"), 0);
}

TEST(InfiniBand, OtherTextIsRejected) {
  Read read("hello\n");
  EXPECT_FALSE(read_ibnetdiscover(read.sources, read.file, read.diagnostics));
  EXPECT_FALSE(read_iblinkinfo(read.sources, read.file, read.diagnostics));
  EXPECT_EQ(read.diagnostics.error_count(), 2U);
}

HostFacts sample() {
  HostFacts facts;
  facts.host = "train001";
  facts.kernel = "6.1 \"odd\"";
  HostInterface one;
  one.name = "eth0";
  one.address = "02:00:00:00:00:01";
  one.driver = "mlx5_core";
  one.pci = "0000:1a:00.0";
  one.pci_device = "15b3:1021";
  one.state = "up";
  one.speed_mbps = 400'000;
  one.mtu = 9000;
  one.numa = 1;
  one.vfs = 0;
  one.vfs_max = 16;
  one.physical = true;
  one.rdma_device = "mlx5_0";
  one.link_layer = "Ethernet";
  one.lldp_system = "leaf1";
  one.lldp_port = "Ethernet0";
  one.addresses = {Ipv4{0x0A3C0002}};
  one.prefixes = {Ipv4Prefix{Ipv4{0x0A3C0000}, 27}};
  one.default_route = true;
  one.pause_counters = {{"rx_prio3_pause", 12}};
  one.gid_indices_rocev2 = {3};
  HostInterface two;
  two.name = "eth0v0";
  two.virtual_function = true;
  facts.interfaces = {one, two};
  facts.gpus = {{"0000:1b:00.0", "H100", 0}};
  facts.sysctls = {{"net.ipv4.ip_forward", "0"}};
  facts.not_read = {"routes: none"};
  return facts;
}

TEST(HostFactsFile, ReadsBackWhatWasWritten) {
  const HostFacts facts = sample();
  const std::string text = write_host_facts(facts);
  Read read(text, "x.json");
  const auto again = read_host_facts(read.sources, read.file, read.diagnostics);
  ASSERT_TRUE(again) << render_all(read.diagnostics, read.sources, false);
  EXPECT_FALSE(read.diagnostics.has_errors());
  EXPECT_EQ(write_host_facts(*again), text);
  ASSERT_EQ(again->interfaces.size(), 2U);
  EXPECT_EQ(again->interfaces[0].addresses.at(0).bits, 0x0A3C0002U);
  EXPECT_EQ(again->interfaces[0].prefixes.at(0), (Ipv4Prefix{Ipv4{0x0A3C0000}, 27}));
  EXPECT_EQ(again->interfaces[0].vfs, 0);
  EXPECT_EQ(again->interfaces[1].vfs, -1);
  EXPECT_EQ(again->interfaces[0].place.line, 7U);
  EXPECT_EQ(again->kernel, "6.1 \"odd\"");
  ASSERT_EQ(again->sysctl_places.size(), 1U);
}

TEST(HostFactsFile, WrongTypesAreReportedWithTheirLocation) {
  Read read(R"({"schema_version": 1, "kind": "host", "host": "h",
 "interfaces": [{"name": "eth0", "mtu": "big", "physical": 3, "addresses": ["10.0.0.300/8", "fe80::1/64"]}, 7],
 "gpus": {}, "sysctls": []})");
  const auto facts = read_host_facts(read.sources, read.file, read.diagnostics);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->interfaces.size(), 2U);
  EXPECT_TRUE(facts->interfaces[0].addresses.empty());
  EXPECT_EQ(read.diagnostics.error_count(), 5U) << render_all(read.diagnostics, read.sources, false);
}

TEST(HostFactsFile, OtherFilesAreRejected) {
  for (const char* text : {"", "[]", "{}", R"({"kind": "host", "schema_version": 2})", R"({"kind": "pod"})", "{"}) {
    Read read(text);
    EXPECT_FALSE(read_host_facts(read.sources, read.file, read.diagnostics)) << text;
    EXPECT_TRUE(read.diagnostics.has_errors()) << text;
  }
}

}  // namespace
}  // namespace weft::config

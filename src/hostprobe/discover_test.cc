// A simulated machine made of files: an adapter with RDMA and virtual functions, one without a link, a BMC on USB, a
// bridge, GPUs and a display controller that is not a GPU.
#include "hostprobe/discover.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "config/live_facts.h"

namespace weft::hostprobe {
namespace {

namespace fs = std::filesystem;

class Discover : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft_probe_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void link(const std::string& path, const std::string& target) {
    fs::create_directories((root_ / path).parent_path());
    fs::create_symlink(target, root_ / path);
  }
  void interface(const std::string& name, const std::string& state, const std::string& speed, const std::string& mtu) {
    const std::string folder = "sys/class/net/" + name + "/";
    put(folder + "address", "b8:3f:d2:10:00:01\n");
    put(folder + "ifindex", "2\n");
    put(folder + "operstate", state + "\n");
    put(folder + "speed", speed + "\n");
    put(folder + "mtu", mtu + "\n");
  }
  void device(const std::string& name, const std::string& pci, const std::string& vendor, const std::string& id) {
    const std::string folder = "sys/devices/" + pci + "/";
    put(folder + "vendor", vendor + "\n");
    put(folder + "device", id + "\n");
    put(folder + "numa_node", "1\n");
    link("sys/class/net/" + name + "/device", "../../../devices/" + pci);
  }
  [[nodiscard]] config::HostFacts discover() const { return discover_host({root_.string()}); }
  static const config::HostInterface& find(const config::HostFacts& facts, const std::string& name) {
    static const config::HostInterface kNone;
    const auto at = std::find_if(facts.interfaces.begin(), facts.interfaces.end(),
                                 [&](const config::HostInterface& i) { return i.name == name; });
    EXPECT_NE(at, facts.interfaces.end()) << name;
    return at == facts.interfaces.end() ? kNone : *at;
  }
  fs::path root_;
};

TEST_F(Discover, ReadsAllPropertiesOfAnAdapter) {
  interface("enp26s0np0", "up", "400000", "9000");
  device("enp26s0np0", "0000:1a:00.0", "0x15b3", "0x1021");
  link("sys/devices/0000:1a:00.0/driver", "../../bus/pci/drivers/mlx5_core");
  put("sys/devices/0000:1a:00.0/sriov_numvfs", "8\n");
  put("sys/devices/0000:1a:00.0/sriov_totalvfs", "16\n");
  put("sys/devices/0000:1a:00.0/infiniband/mlx5_0/node_guid", "x\n");
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
  put(port + "link_layer", "Ethernet\n");
  const char* gids[] = {"fe80:0000:0000:0000:ba3f:d2ff:fe10:0001", "fe80:0000:0000:0000:ba3f:d2ff:fe10:0001",
                        "0000:0000:0000:0000:0000:ffff:0a3c:0002", "0000:0000:0000:0000:0000:ffff:0a3c:0002",
                        "0000:0000:0000:0000:0000:0000:0000:0000"};
  const char* types[] = {"IB/RoCE v1", "RoCE v2", "IB/RoCE v1", "RoCE v2", "RoCE v2"};
  for (int i = 0; i < 5; ++i) {
    put(port + "gids/" + std::to_string(i), std::string(gids[i]) + "\n");
    put(port + "gid_attrs/types/" + std::to_string(i), std::string(types[i]) + "\n");
  }
  put("sos_commands/networking/ip_-o_addr",
      "1: lo    inet 127.0.0.1/8 scope host lo\n"
      "2: enp26s0np0    inet 10.60.0.2/27 brd 10.60.0.31 scope global enp26s0np0\n"
      "2: enp26s0np0    inet6 fe80::1/64 scope link\n");
  put("sos_commands/networking/ethtool_-S_enp26s0np0",
      "NIC statistics:\n     rx_packets: 12\n     rx_prio3_pause: 7\n     tx_prio3_pause: 0\n");
  put("proc/net/route",
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "enp26s0np0\t00000000\t01003C0A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "enp26s0np0\t00003C0A\t00000000\t0001\t0\t0\t0\tE0FFFFFF\t0\t0\t0\n");
  put("proc/sys/net/ipv4/ip_forward", "1\n");
  put("proc/sys/net/ipv4/conf/enp26s0np0/rp_filter", "2\n");
  put("etc/hostname", "train001\n");
  const config::HostFacts facts = discover();
  EXPECT_EQ(facts.host, "train001");
  const config::HostInterface& found = find(facts, "enp26s0np0");
  EXPECT_EQ(found.driver, "mlx5_core");
  EXPECT_EQ(found.pci, "0000:1a:00.0");
  EXPECT_EQ(found.pci_device, "15b3:1021");
  EXPECT_EQ(found.speed_mbps, 400'000);
  EXPECT_EQ(found.mtu, 9000);
  EXPECT_EQ(found.numa, 1);
  EXPECT_EQ(found.vfs, 8);
  EXPECT_EQ(found.vfs_max, 16);
  EXPECT_TRUE(found.physical);
  EXPECT_FALSE(found.virtual_function);
  EXPECT_EQ(found.rdma_device, "mlx5_0");
  EXPECT_EQ(found.link_layer, "Ethernet");
  EXPECT_EQ(found.gid_indices_rocev2, (std::vector<int>{3}));  // the only RoCE v2 entry of an IPv4 address
  ASSERT_EQ(found.addresses.size(), 1U);
  EXPECT_EQ(to_text(found.addresses[0]), "10.60.0.2");
  EXPECT_EQ(to_text(found.prefixes[0]), "10.60.0.0/27");
  EXPECT_TRUE(found.default_route);
  EXPECT_EQ(found.pause_counters, (std::vector<std::pair<std::string, std::int64_t>>{{"rx_prio3_pause", 7}}));
  const auto sysctl = std::pair<std::string, std::string>("net.ipv4.conf.enp26s0np0.rp_filter", "2");
  EXPECT_NE(std::find(facts.sysctls.begin(), facts.sysctls.end(), sysctl), facts.sysctls.end());
}

TEST_F(Discover, ReadsVirtualFunctionsBridgesAndPortsWithoutALink) {
  interface("enp26s0v0", "down", "-1", "1500");
  device("enp26s0v0", "0000:1a:00.2", "0x15b3", "0x101e");
  link("sys/devices/0000:1a:00.2/physfn", "../0000:1a:00.2");
  interface("br0", "up", "", "1500");
  put("sys/class/net/bonding_masters", "");
  const config::HostFacts facts = discover();
  ASSERT_EQ(facts.interfaces.size(), 2U);
  EXPECT_TRUE(find(facts, "enp26s0v0").virtual_function);
  EXPECT_EQ(find(facts, "enp26s0v0").speed_mbps, 0);
  EXPECT_FALSE(find(facts, "br0").physical);
  EXPECT_EQ(find(facts, "br0").vfs, -1);
}

TEST_F(Discover, FindsGpusByVendorAndClass) {
  const struct {
    const char* pci;
    const char* vendor;
    const char* kind;
  } kDevices[] = {
      {"0000:1b:00.0", "0x10de", "0x030200"},
      {"0000:1c:00.0", "0x1002", "0x120000"},
      {"0000:03:00.0", "0x1a03", "0x030000"},  // the BMC's display controller
      {"0000:1d:00.0", "0x10de", "0x068000"},  // NVSwitch
  };
  for (const auto& d : kDevices) {
    const std::string folder = std::string("sys/bus/pci/devices/") + d.pci + "/";
    put(folder + "vendor", d.vendor);
    put(folder + "device", "0x2330");
    put(folder + "class", d.kind);
    put(folder + "numa_node", "0");
  }
  put("proc/driver/nvidia/gpus/0000:1b:00.0/information", "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 5\n");
  const config::HostFacts facts = discover();
  ASSERT_EQ(facts.gpus.size(), 2U);
  EXPECT_EQ(facts.gpus[0].name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(facts.gpus[1].name, "1002:2330");
}

TEST_F(Discover, EmptyMachineReportsWhatIsMissing) {
  const config::HostFacts facts = discover();
  EXPECT_TRUE(facts.interfaces.empty());
  EXPECT_GE(facts.not_read.size(), 4U);  // interfaces, addresses, routes, GPUs, settings
  const config::HostFacts nowhere = discover_host({(root_ / "not-there").string()});
  EXPECT_TRUE(nowhere.interfaces.empty());
}

TEST_F(Discover, ToleratesMalformedContent) {
  interface("eth0", "\xff\xfe weird \x01", "99999999999999999999", "abc");
  device("eth0", "x", "0xZZ", "");
  put("sys/devices/x/sriov_numvfs", "-7\n");
  fs::create_directories(root_ / "sys/class/net/eth0/device/infiniband/mlx5_0");
  put("sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/abc", "RoCE v2\n");
  fs::create_directories(root_ / "sys/class/infiniband/mlx5_0/ports/1/link_layer");  // a folder instead of a file
  put("proc/net/route", std::string(300'000, 'x') + "\n00000000");
  put("sos_commands/networking/ip_-o_addr", "2: eth0 inet 1.2.3/99 x\n2: eth0 inet 1.2.3.4/33\ninet\n2:\n");
  ASSERT_EQ(::mkfifo((root_ / "proc/sys_fifo").c_str(), 0600), 0);
  link("proc/sys/net/ipv4/ip_forward", "../../../sys_fifo");  // would block a plain open
  link("sys/class/net/loop", "loop");
  const config::HostFacts facts = discover();
  const config::HostInterface& found = find(facts, "eth0");
  EXPECT_EQ(found.speed_mbps, 0);
  EXPECT_EQ(found.mtu, 0);
  EXPECT_TRUE(found.addresses.empty());
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("odd.json", config::write_host_facts(facts));
  EXPECT_TRUE(config::read_host_facts(sources, file, diagnostics)) << render_all(diagnostics, sources, false);
}

TEST(DiscoverHere, ReadsThisMachine) {
  const config::HostFacts facts = discover_host();
  EXPECT_FALSE(facts.host.empty());
  const auto lo = std::find_if(facts.interfaces.begin(), facts.interfaces.end(),
                               [](const config::HostInterface& i) { return i.name == "lo"; });
  if (lo != facts.interfaces.end()) {
    EXPECT_FALSE(lo->physical);
  }
}

}  // namespace
}  // namespace weft::hostprobe

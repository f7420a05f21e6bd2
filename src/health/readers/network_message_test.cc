#include <gtest/gtest.h>

#include "health/readers/kernel_line_test_help.h"

// Lines are of public reports; each test names where they were found. What is expected was read from the line.
namespace weft::health {
namespace {

TEST(NetworkMessage, ReadsLinksOfMlx5) {
  // github.com/bigstack-oss/cubecos/issues/733
  EXPECT_EQ(describe_line("Mar 27 15:37:34 cc1 kernel: mlx5_core 0000:01:00.1 eth1: Link up"), "link:up [eth1]");
  EXPECT_EQ(describe_line("Mar 27 15:37:34 cc1 kernel: 8021q: adding VLAN 0 to HW filter on device eth1"), "-");
  // the same message of mlx5's ethernet driver for a link that goes down
  EXPECT_EQ(describe_message("mlx5_core 0000:98:00.0 ens1f0np0: Link down"), "link:down [ens1f0np0]");
  // a public article on DGX Spark
  EXPECT_EQ(describe_message("mlx5_core 0000:01:00.0 enp1s0f0np0: Link up"), "link:up [enp1s0f0np0]");
}

TEST(NetworkMessage, ReadsInfinibandPorts) {
  // github.com/leptonai/gpud/pull/1209
  EXPECT_EQ(
      describe_line("Feb 14 05:03:41 000-000-00000-1-gpu-1 kernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link INIT"),
      "-");
  EXPECT_EQ(describe_line("Feb 14 05:03:41 000-000-00000-1-gpu-1 kernel: mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link "
                          "ACTIVE"),
            "link:up [mlx5_5/1]");
  EXPECT_EQ(describe_message("mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN"), "link:down [mlx5_5/1]");
}

TEST(NetworkMessage, ReadsLinksOfOtherDrivers) {
  // github.com/sonic-net/sonic-buildimage/issues/7310, without the severity that SONiC adds
  EXPECT_EQ(
      describe_line("Apr  9 21:05:38.106121 str-s6100-acs-4 kernel: [10601.214044] igb 0000:00:14.0 eth0: igb: eth0 "
                    "NIC Link is Down"),
      "link:down [eth0]");
  // a public issue on a bridge of two ports
  EXPECT_EQ(describe_line("Apr 05 23:57:18 wn1 kernel: igc 0000:02:00.0 enp2s0: NIC Link is Down"),
            "link:down [enp2s0]");
  EXPECT_EQ(describe_message("iavf 0000:00:05.0 enp0s5: NIC Link is Up Speed is 10 Gbps Full Duplex"),
            "link:up [enp0s5]");
  // Linux mailing lists
  EXPECT_EQ(describe_message("r8169 0000:0c:00.0 eth0: Link is Up - 1Gbps/Full - flow control rx/tx"),
            "link:up [eth0]");
  EXPECT_EQ(describe_line("[  190.178748] r8169 0000:06:00.0 eth0: link down"), "link:down [eth0]");
  EXPECT_EQ(describe_message("mtk_soc_eth 15100000.ethernet eth2: Link is Down"), "link:down [eth2]");
  // posts on Ubuntu Forums
  EXPECT_EQ(describe_line("Jan 22 14:27:10 ubucomputer kernel: [  247.545137] eth0: link down"), "link:down [eth0]");
  EXPECT_EQ(describe_line("Sep  1 21:25:51 mocha kernel: [   18.173200] r8169: eth0: link down"), "link:down [eth0]");
  EXPECT_EQ(describe_message("e1000e: eth0 NIC Link is Up 1000 Mbps Full Duplex, Flow Control: Rx/Tx"),
            "link:up [eth0]");
}

TEST(NetworkMessage, IgnoresOtherLinks) {
  for (const char* message :
       {"ADDRCONF(NETDEV_UP): eth0: link is not ready", "IPv6: ADDRCONF(NETDEV_CHANGE): wlan0: link becomes ready",
        "ata1: SATA link down (SStatus 0 SControl 300)", "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "bond-wan: (slave eth2): link status down for interface, disabling it in 200 ms", "usb 1-1: link down",
        "tegra-pcie 1003000.pcie-controller: link 0 down, ignoring", "a: b: c: d: e: f: link down", "eth0: Link ",
        "0000:01:00.0: Link is Down", "eth0: hyperlink down"}) {
    EXPECT_EQ(describe_message(message), "-") << message;
  }
}

TEST(NetworkMessage, ReadsBonds) {
  // a public issue on a bridge of two ports
  EXPECT_EQ(
      describe_line("Apr 05 23:57:19 wn1 kernel: bond0: (slave enp2s0): link status definitely down, disabling slave"),
      "link:down [enp2s0] bond=bond0");
  // netdev mailing list
  EXPECT_EQ(describe_line("[  345.547358] bond0: (slave eth1): link status definitely up, 40000 Mbps full duplex"),
            "link:up [eth1] bond=bond0");
  // github.com/coreos/bugs/issues/2515
  EXPECT_EQ(describe_line("[ 1202.718785] bond0: link status definitely down for interface eno50, disabling it"),
            "link:down [eno50] bond=bond0");
  EXPECT_EQ(describe_line("[ 1203.467563] bond1: now running without any active interface!"), "-");
}

TEST(NetworkMessage, ReadsTransmitTimeouts) {
  // github.com/NVIDIA/NVSentinel/issues/1334 has the message without an example's names
  EXPECT_EQ(describe_message("mlx5_core 0000:98:00.0 ens1f0np0: TX timeout detected"), "nic:tx_timeout [ens1f0np0]");
  // github.com/geerlingguy/raspberry-pi-pcie-devices/issues/21
  EXPECT_EQ(describe_line("[   43.997620] NETDEV WATCHDOG: eth1 (mlx4_core): transmit queue 0 timed out"),
            "nic:tx_timeout [eth1] driver=mlx4_core queue=0");
  // linux-netdev mailing list, since kernel 6.7
  EXPECT_EQ(
      describe_message("ice 0000:b1:00.0 ens801f0np0: NETDEV WATCHDOG: CPU: 38: transmit queue 14 timed out 80692736 "
                       "ms"),
      "nic:tx_timeout [ens801f0np0] driver=ice queue=14");
  EXPECT_EQ(describe_message("virtio_net virtio0 eth0: NETDEV WATCHDOG: CPU: 1: transmit queue 0 timed out 5500 ms"),
            "nic:tx_timeout [eth0] driver=virtio_net queue=0");
  // a post of 2004
  EXPECT_EQ(describe_line("Aug 20 13:45:44 genipapo kernel: NETDEV WATCHDOG: eth0: transmit timed out"),
            "nic:tx_timeout [eth0]");
}

TEST(NetworkMessage, ReadsFailuresOfMlx5) {
  // NVIDIA/NVSentinel, end-to-end tests of the syslog health monitor
  EXPECT_EQ(
      describe_line("[   17.982092] mlx5_core 0000:41:00.0: poll_health:852:(pid 0): device's health compromised - "
                    "reached miss count"),
      "nic:fatal [PCI 0000:41:00.0]");
  EXPECT_EQ(
      describe_line("[   17.982217] mlx5_core 0000:41:00.0: print_health_info:458:(pid 0): synd 0x8: unrecoverable "
                    "hardware error"),
      "-");
  EXPECT_EQ(describe_line("[123.456794] mlx5_core 0000:5c:00.0: Port module event[error]: module 0, Cable error, High "
                          "Temperature"),
            "nic:module_temperature [PCI 0000:5c:00.0] module=0 error=High Temperature");
  EXPECT_EQ(describe_line("[    8.951695] mlx5_core 0000:63:00.1: Port module event: module 1, Cable unplugged"),
            "nic:cable_unplugged [PCI 0000:63:00.1] module=1");
  // drivers/net/ethernet/mellanox/mlx5/core/health.c prints the number of the sensor
  EXPECT_EQ(describe_message("mlx5_core 0000:41:00.0: poll_health:862:(pid 0): Fatal error 3 detected"),
            "nic:fatal [PCI 0000:41:00.0] code=3");
  // a public report on the linux-arm-kernel mailing list
  EXPECT_EQ(describe_line("[    2.935012] mlx5_core 0000:0b:00.0: Port module event: module 0, Cable plugged"), "-");
  // leptonai/gpud 4a8de33 components/accelerator/nvidia/infiniband/kmsg_matcher.go
  EXPECT_EQ(
      describe_message("mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, Cable error, High "
                       "Temperature"),
      "nic:module_temperature [] module=0 error=High Temperature");
  EXPECT_EQ(
      describe_message("mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 268269): Detected insufficient power on the "
                       "PCIe slot (27W)."),
      "nic:slot_power [PCI 0000:5c:00.0] watts=27");
  EXPECT_EQ(describe_message("mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:838:(pid 268269): ACCESS_REG(0x805) op_mod(0x1) "
                             "failed"),
            "-");
}

}  // namespace
}  // namespace weft::health

// Observed state: a host's interfaces (weft discover), LLDP neighbors, an InfiniBand sweep. Facts only; check/ compares
// them with the design.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/ip.h"
#include "base/quantity.h"
#include "config/setting.h"

namespace weft::config {

// Counters and settings of a network interface, as /sys and ethtool show them.
struct HostInterface {
  SourceLocation place;         // in the facts file
  std::string name;             // ens1f0np0
  std::string address;          // MAC
  std::string driver;           // mlx5_core
  std::string pci;              // 0000:1a:00.0
  std::string pci_device;       // vendor:device, "15b3:1021"
  std::string state;            // operstate: up, down
  std::int64_t speed_mbps = 0;  // 0: unknown
  std::int64_t mtu = 0;
  std::int64_t numa = -1;
  std::int64_t vfs = -1;  // configured; -1: no SR-IOV
  std::int64_t vfs_max = -1;
  bool physical = false;  // has a hardware device
  bool virtual_function = false;
  std::string rdma_device;  // mlx5_0
  std::string link_layer;   // Ethernet, InfiniBand
  std::string lldp_system;  // LLDP neighbor, if the host runs lldpd
  std::string lldp_port;
  std::vector<Ipv4Prefix> prefixes;
  std::vector<Ipv4> addresses;  // parallel to prefixes
  bool default_route = false;
  std::vector<std::pair<std::string, std::int64_t>> pause_counters;  // names with "pause" or "pfc"
  // Of port 1 of the RDMA device: the indices that map to an IPv4 address (all RoCE v2 indices if none does).
  std::vector<int> gid_indices_rocev2;
};

struct HostGpu {
  std::string pci;
  std::string name;  // product or vendor:device
  std::int64_t numa = -1;
};

struct HostFacts {
  std::string host;
  FileId file = 0;
  SourceLocation place;
  std::string kernel;
  std::vector<HostInterface> interfaces;
  std::vector<HostGpu> gpus;
  SourceLocation gpus_place;
  std::vector<std::pair<std::string, std::string>> sysctls;
  std::vector<SourceLocation> sysctl_places;  // parallel to sysctls, if they were read from a file
  std::vector<std::string> not_read;          // what could not be read, with the reason
};

// JSON form, schema_version 1, kind "host".
[[nodiscard]] std::string write_host_facts(const HostFacts& facts);
[[nodiscard]] std::optional<HostFacts> read_host_facts(const Sources& sources, FileId file, Diagnostics& diagnostics);

struct LldpNeighbor {
  std::string local_port;  // interface on the reporting system
  std::string remote_system;
  std::string remote_port;  // port id
  std::string remote_port_description;
  std::string remote_chassis;
  SourceLocation place;
};

// LLDP neighbors of one system: lldpcli -f json (show neighbors), SONiC `show lldp table`, NX-OS `show lldp neighbors`.
struct LldpReport {
  std::string system;  // the reporting system; from the file name if the output does not name it
  FileId file = 0;
  std::string format;  // lldpcli-json, lldpcli-keyvalue, sonic-table, nxos-table, nxos-detail
  std::vector<LldpNeighbor> neighbors;
};
[[nodiscard]] std::optional<LldpReport> read_lldp(const Sources& sources, FileId file, Diagnostics& diagnostics);

struct IbEnd {
  std::string node;  // description: "train001 mlx5_0", "be-leaf1"
  std::string guid;
  bool is_switch = false;
  int port = 0;
};
struct IbLink {
  IbEnd a;
  IbEnd b;
  std::string width;  // 4x
  std::string speed;  // NDR, HDR, or as printed
  bool up = true;
  SourceLocation place;
};
struct IbFabric {
  FileId file = 0;
  std::string format;         // ibnetdiscover, iblinkinfo
  std::vector<IbLink> links;  // each once
  std::vector<IbEnd> down;    // ports seen without a link (iblinkinfo)
};
[[nodiscard]] std::optional<IbFabric> read_ibnetdiscover(const Sources& sources, FileId file, Diagnostics& diagnostics);
[[nodiscard]] std::optional<IbFabric> read_iblinkinfo(const Sources& sources, FileId file, Diagnostics& diagnostics);
// Data rate in Mb/s by the usual names: 4x NDR is 400,000. 0 if either part is unknown.
[[nodiscard]] std::int64_t ib_rate_mbps(std::string_view width, std::string_view speed);

}  // namespace weft::config

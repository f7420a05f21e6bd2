#include "hostprobe/discover.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "config/live_text.h"
#include "hostprobe/kernel_network.h"

namespace weft::hostprobe {
namespace {

constexpr std::size_t kMaxInterfaces = 20'000;
constexpr std::size_t kMaxGids = 1024;
constexpr std::int64_t kNvidia = 0x10de;
constexpr std::int64_t kAmd = 0x1002;

std::string host_name(const ProbeFiles& files) {
  if (files.live()) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) return name.data();
  }
  return files.text("etc/hostname").value_or("");
}

// "0x15b3" and "0x1021" as "15b3:1021".
std::string pci_ids(const ProbeFiles& files, const std::string& device) {
  const auto vendor = files.number(device + "/vendor");
  const auto model = files.number(device + "/device");
  if (!vendor || !model) return {};
  return fmt::format("{:04x}:{:04x}", *vendor & 0xFFFF, *model & 0xFFFF);
}

// GIDs of IPv4 addresses are ::ffff:a.b.c.d, which sysfs writes as 0000:...:ffff:0a3c:0002.
bool is_ipv4_gid(std::string_view gid) { return gid.starts_with("0000:0000:0000:0000:0000:ffff:"); }

// Entries of the GID table that RoCE v2 can use. An unused entry has an all-zero GID and no readable type.
std::vector<int> roce_v2_gids(const ProbeFiles& files, const std::string& device) {
  const std::string port = "sys/class/infiniband/" + device + "/ports/1/";
  std::vector<int> all;
  std::vector<int> with_ipv4;
  const auto names = files.names(port + "gid_attrs/types");
  for (std::size_t i = 0; i < names.size() && i < kMaxGids; ++i) {
    const auto index = config::live_text::number_of<int>(names[i]);
    const auto type = files.text(port + "gid_attrs/types/" + names[i]);
    const auto gid = files.text(port + "gids/" + names[i]);
    if (!index || !type || *type != "RoCE v2" || !gid) continue;
    if (gid->find_first_not_of("0:") == std::string::npos) continue;
    all.push_back(*index);
    if (is_ipv4_gid(*gid)) with_ipv4.push_back(*index);
  }
  std::vector<int>& chosen = with_ipv4.empty() ? all : with_ipv4;
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void look_at_device(const ProbeFiles& files, const std::string& device, config::HostInterface& interface) {
  interface.driver = files.link_name(device + "/driver");
  interface.pci = files.link_name(device);
  interface.pci_device = pci_ids(files, device);
  interface.numa = files.number(device + "/numa_node").value_or(-1);
  interface.vfs = files.number(device + "/sriov_numvfs").value_or(-1);
  interface.vfs_max = files.number(device + "/sriov_totalvfs").value_or(-1);
  interface.virtual_function = files.exists(device + "/physfn");
  const auto rdma = files.names(device + "/infiniband");
  if (rdma.empty()) return;
  interface.rdma_device = rdma.front();
  interface.link_layer = files.text("sys/class/infiniband/" + rdma.front() + "/ports/1/link_layer").value_or("");
  interface.gid_indices_rocev2 = roce_v2_gids(files, rdma.front());
}

config::HostInterface look_at_interface(const ProbeFiles& files, const std::string& name) {
  config::HostInterface interface;
  const std::string folder = "sys/class/net/" + name;
  interface.name = name;
  interface.address = files.text(folder + "/address").value_or("");
  interface.state = files.text(folder + "/operstate").value_or("");
  interface.mtu = std::max<std::int64_t>(files.number(folder + "/mtu").value_or(0), 0);
  // -1 or an error if there is no link.
  interface.speed_mbps = std::max<std::int64_t>(files.number(folder + "/speed").value_or(0), 0);
  interface.physical = files.exists(folder + "/device");
  if (interface.physical) look_at_device(files, folder + "/device", interface);
  return interface;
}

void look_at_interfaces(const ProbeFiles& files, config::HostFacts& facts) {
  const auto names = files.names("sys/class/net");
  if (names.empty()) facts.not_read.emplace_back("interfaces: /sys/class/net cannot be read or is empty");
  for (const std::string& name : names) {
    if (!files.exists("sys/class/net/" + name + "/ifindex") && !files.exists("sys/class/net/" + name + "/address")) {
      continue;  // bonding_masters and other files that are not interfaces
    }
    if (facts.interfaces.size() == kMaxInterfaces) {
      facts.not_read.push_back(fmt::format("interfaces: only the first {} of {}", kMaxInterfaces, names.size()));
      break;
    }
    facts.interfaces.push_back(look_at_interface(files, name));
  }
}

// PCI class codes: 0x0300 VGA, 0x0302 3D controller, 0x1200 processing accelerator (AMD Instinct).
bool is_gpu(std::int64_t vendor, std::int64_t class_code) {
  const std::int64_t kind = class_code >> 8;
  if (vendor == kNvidia) return kind == 0x0300 || kind == 0x0302;
  return vendor == kAmd && (kind == 0x0300 || kind == 0x0302 || kind == 0x1200);
}

// "Model: \t\t NVIDIA H100 80GB HBM3" as reported by the driver, else the product name or the PCI IDs.
std::string gpu_name(const ProbeFiles& files, const std::string& pci) {
  if (const auto text = files.text("proc/driver/nvidia/gpus/" + pci + "/information")) {
    const std::size_t at = text->find("Model:");
    if (at != std::string::npos) {
      const std::string_view rest = std::string_view(*text).substr(at + 6);
      return std::string(trim(rest.substr(0, rest.find('\n'))));
    }
  }
  const std::string device = "sys/bus/pci/devices/" + pci;
  if (const auto product = files.text(device + "/product_name"); product && !product->empty()) return *product;
  return pci_ids(files, device);
}

void look_at_gpus(const ProbeFiles& files, config::HostFacts& facts) {
  if (!files.exists("sys/bus/pci/devices")) {
    facts.not_read.emplace_back("GPUs: /sys/bus/pci/devices is missing");
    return;
  }
  for (const std::string& pci : files.names("sys/bus/pci/devices")) {
    const std::string device = "sys/bus/pci/devices/" + pci;
    const auto vendor = files.number(device + "/vendor");
    const auto class_code = files.number(device + "/class");
    if (!vendor || !class_code || !is_gpu(*vendor, *class_code)) continue;
    facts.gpus.push_back({pci, gpu_name(files, pci), files.number(device + "/numa_node").value_or(-1)});
  }
}

void look_at_sysctls(const ProbeFiles& files, config::HostFacts& facts) {
  std::vector<std::string> keys = {"net/ipv4/ip_forward", "net/ipv4/tcp_ecn", "net/ipv6/conf/all/forwarding"};
  std::vector<std::string> scopes = {"all", "default"};
  for (const config::HostInterface& interface : facts.interfaces) {
    if (interface.physical && !interface.virtual_function) scopes.push_back(interface.name);
  }
  for (const std::string& scope : scopes) {
    for (const char* setting : {"rp_filter", "forwarding", "arp_ignore", "arp_announce"}) {
      keys.push_back(fmt::format("net/ipv4/conf/{}/{}", scope, setting));
    }
  }
  std::size_t missing = 0;
  for (const std::string& key : keys) {
    const auto value = files.text("proc/sys/" + key);
    if (!value) {
      ++missing;
      continue;
    }
    // As printed by sysctl(8): dots for slashes, and slashes for the dots of an interface's name.
    std::string name = key;
    for (char& c : name) c = c == '/' ? '.' : c == '.' ? '/' : c;
    facts.sysctls.emplace_back(std::move(name), *value);
  }
  if (missing > 0) {
    facts.not_read.push_back(fmt::format("kernel settings: {} of {} are missing in /proc/sys", missing, keys.size()));
  }
}

}  // namespace

config::HostFacts discover_host(const ProbeRoot& root) {
  const ProbeFiles files(root);
  config::HostFacts facts;
  facts.host = host_name(files);
  facts.kernel = files.text("proc/sys/kernel/osrelease").value_or("");
  look_at_interfaces(files, facts);
  read_addresses(files, facts);
  read_default_routes(files, facts);
  read_pause_counters(files, facts);
  look_at_gpus(files, facts);
  look_at_sysctls(files, facts);
  return facts;
}

}  // namespace weft::hostprobe

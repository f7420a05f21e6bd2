// Kernel settings of a pool and, if its nodes forward for pods, the rules that exclude the rails from forwarding.
#include <fmt/format.h>

#include <set>

#include "render/core/line_file.h"
#include "render/hosts/parts.h"

namespace weft::render {
namespace {

// Socket buffers: 64 MiB holds 5 ms of a 100 Gb/s stream, more than any path inside one site needs.
constexpr std::string_view kSocketBuffer = "67108864";

std::vector<std::string> rails_of_pool(const PoolPlan& pool) {
  std::vector<std::string> names;
  for (const RailPlan& rail : pool.rails) names.push_back(rail.interface);
  return names;
}

// Neighbor table size before garbage collection: a host may talk to every other on each of its networks.
std::int64_t neighbors(const model::Cluster& cluster) {
  std::int64_t servers = 0;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::server) servers += group.count;
  }
  std::int64_t entries = 4096;
  while (entries < 4 * servers) entries *= 2;
  return entries;
}

// The names of all ports that a server of the cluster may have.
std::set<std::string> all_port_names(const model::Cluster& cluster) {
  std::set<std::string> names;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::server || group.count == 0) continue;
    for (const model::PortId id : cluster.ports_of(group.first)) {
      if (host_is_system_port(cluster.port(id))) names.insert(cluster.port_name(id));
    }
  }
  return names;
}

// kubeadm requires ip_forward = 1. Linux checks the setting of the interface that receives a packet, so forwarding is
// disabled on each port of the design: only the pods' own interfaces forward, and the bond on which their replies
// arrive. The list covers all pools, so the file is valid on every host; sysctl ignores missing keys prefixed with '-'.
void forward_for_pods(const RenderInput& input, const PoolPlan& pool, LineFile& file) {
  const std::string frontend = input.plan.frontend_interface(pool);
  file.comment("Forwarding is on for pods, but off on rails and on bond members.");
  file.setting("net.ipv4.ip_forward", "1").setting("net.ipv6.conf.all.forwarding", "1");
  for (const std::string& name : all_port_names(input.cluster)) {
    if (name != frontend) file.setting(fmt::format("-net.ipv4.conf.{}.forwarding", name), "0");
  }
}

std::string forward_rules(const RenderInput& input, const PoolPlan& pool) {
  std::string rails;
  for (const std::string& name : rails_of_pool(pool)) {
    rails += fmt::format("{}\"{}\"", rails.empty() ? "" : ", ", config_word(name));
  }
  if (rails.empty()) return {};
  LineFile file(input.cluster, "Drops forwarded traffic from and to the rails of " + pool.name() + ".");
  file.line("table inet weft").line("delete table inet weft").line("table inet weft {");
  file.line(fmt::format("  set rails {{\n    type ifname\n    elements = {{ {} }}\n  }}", rails));
  file.line("  chain forward {").line("    type filter hook forward priority -10; policy accept;");
  file.line("    iifname @rails counter drop").line("    oifname @rails counter drop").line("  }").line("}");
  return file.take();
}

void several_networks(LineFile& file) {
  file.comment("Several ports: allow asymmetric paths (rp_filter 2, loose), and let a port answer ARP");
  file.comment("only for its own addresses.");
  for (const std::string_view scope : {"all", "default"}) {
    file.setting(fmt::format("net.ipv4.conf.{}.rp_filter", scope), "2");
    file.setting(fmt::format("net.ipv4.conf.{}.arp_ignore", scope), "1");
    file.setting(fmt::format("net.ipv4.conf.{}.arp_announce", scope), "2");
    file.setting(fmt::format("net.ipv4.conf.{}.accept_redirects", scope), "0");
    file.setting(fmt::format("net.ipv4.conf.{}.send_redirects", scope), "0");
    file.setting(fmt::format("net.ipv4.conf.{}.accept_source_route", scope), "0");
  }
}

void transport(const RenderInput& input, LineFile& file) {
  file.comment("TCP with ECN; queues and buffers for links of 100 Gb/s and more.");
  file.setting("net.ipv4.tcp_ecn", "1");
  file.setting("net.core.rmem_max", kSocketBuffer).setting("net.core.wmem_max", kSocketBuffer);
  file.setting("net.ipv4.tcp_rmem", fmt::format("4096 131072 {}", kSocketBuffer));
  file.setting("net.ipv4.tcp_wmem", fmt::format("4096 65536 {}", kSocketBuffer));
  file.setting("net.core.netdev_max_backlog", "250000").setting("net.core.somaxconn", "4096");
  file.setting("net.ipv4.tcp_mtu_probing", "1");
  const std::int64_t entries = neighbors(input.cluster);
  file.comment("Neighbor table: larger than the number of hosts of the cluster.");
  for (const std::string_view family : {"ipv4", "ipv6"}) {
    file.setting(fmt::format("net.{}.neigh.default.gc_thresh1", family), std::to_string(entries / 4));
    file.setting(fmt::format("net.{}.neigh.default.gc_thresh2", family), std::to_string(entries / 2));
    file.setting(fmt::format("net.{}.neigh.default.gc_thresh3", family), std::to_string(entries));
  }
}

void memory(const RenderInput& input, const PoolPlan& pool, LineFile& file) {
  file.comment("Memory: allocate from other NUMA nodes before reclaiming the page cache.");
  file.setting("vm.zone_reclaim_mode", "0").setting("vm.swappiness", "1");
  if (pool.has_gpus()) {
    file.comment("No automatic NUMA balancing: pages stay near the rank's GPU and NIC.");
    file.setting("kernel.numa_balancing", "0");
    file.setting("vm.max_map_count", "1048576");
  }
  if (input.plan.in_kubernetes(pool)) {
    file.setting("fs.inotify.max_user_instances", "8192").setting("fs.inotify.max_user_watches", "1048576");
  }
}

void add_huge_pages(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile file(input.cluster, "Transparent huge pages: fewer IOTLB misses when GPUs and NICs access host memory.");
  file.line("w /sys/kernel/mm/transparent_hugepage/enabled - - - - always");
  file.line("w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise");
  sink.add({.path = "host/" + pool.name() + "/tmpfiles.d/weft.conf",
            .content = file.take(),
            .device = pool.name(),
            .consumer = "systemd-tmpfiles",
            .install = "/etc/tmpfiles.d/weft.conf",
            .apply = "systemd-tmpfiles --create /etc/tmpfiles.d/weft.conf",
            .stage = Stage::hosts,
            .sources = {"pools." + pool.name() + ".bios.performance"}});
}

}  // namespace

void add_sysctl(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile file(input.cluster,
                fmt::format("Kernel settings of {} ({}).", pool.name(), host_role_name(pool.spec->role.value)));
  const bool forwards = input.plan.in_kubernetes(pool);
  if (forwards) {
    forward_for_pods(input, pool, file);
  } else {
    file.comment("No forwarding between the networks of a multi-homed host.");
    file.setting("net.ipv4.ip_forward", "0").setting("net.ipv6.conf.all.forwarding", "0");
  }
  several_networks(file);
  transport(input, file);
  memory(input, pool, file);
  sink.add({.path = "host/" + pool.name() + "/sysctl.d/90-weft.conf",
            .content = file.take(),
            .device = pool.name(),
            .consumer = "systemd-sysctl",
            .install = "/etc/sysctl.d/90-weft.conf",
            .apply = "systemctl restart systemd-sysctl",
            .stage = Stage::hosts,
            .sources = {"pools." + pool.name(), "fabrics"}});
  if (pool.has_gpus() && pool.spec->bios->performance.value) add_huge_pages(input, pool, sink);
  std::string rules = forwards ? forward_rules(input, pool) : std::string();
  if (rules.empty()) return;
  sink.add({.path = "host/" + pool.name() + "/nftables.d/weft.nft",
            .content = std::move(rules),
            .device = pool.name(),
            .consumer = "nftables",
            .install = "/etc/nftables.d/weft.nft",
            .apply = "nft --file /etc/nftables.d/weft.nft",
            .stage = Stage::hosts,
            .sources = {"pools." + pool.name(), "fabrics"}});
}

}  // namespace weft::render

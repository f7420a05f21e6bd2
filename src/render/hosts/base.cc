// Common settings of every host besides its network: names, time, limits, kernel modules, login access.
#include <fmt/format.h>

#include "model/server_ports.h"
#include "render/core/line_file.h"
#include "render/hosts/parts.h"

namespace weft::render {
namespace {

constexpr std::size_t kTimeServers = 4;  // more do not help chrony (three outvote a false one)

void add_pool_file(const PoolPlan& pool, FileSink& sink, RenderedFile file) {
  file.path = fmt::format("host/{}/{}", pool.name(), file.path);
  file.device = pool.name();
  file.stage = Stage::hosts;
  if (file.sources.empty()) file.sources = {"pools." + pool.name()};
  sink.add(std::move(file));
}

bool is_in(const std::vector<model::DeviceId>& list, const PoolPlan& pool) {
  for (const model::DeviceId id : list) {
    if (model::index_of(id) >= model::index_of(pool.group->first) &&
        model::index_of(id) < model::index_of(pool.group->first) + pool.group->count)
      return true;
  }
  return false;
}

void allow(const model::Cluster& cluster, model::FabricKind fabric, LineFile& file) {
  if (!cluster.fabric(fabric).present) return;
  for (const Ipv4Prefix& prefix : cluster.data_fabric_spec(fabric).subnets.value) file.line("allow " + to_text(prefix));
}

// Controllers sync with the site's servers, hosts on the frontend with the controllers, and hosts without a frontend
// port with the relays. Jump hosts serve time to the out-of-band network, which depends on nothing else.
void time_sources(const RenderInput& input, const PoolPlan& pool, LineFile& file) {
  const model::Cluster& cluster = input.cluster;
  const std::string site = config_word("ntp." + cluster.spec().site->domain.value);
  const bool frontend = host_has_fabric(cluster, pool, model::FabricKind::frontend);
  const bool controller = is_in(input.plan.controllers(), pool);
  std::size_t given = 0;
  if (frontend && !controller) {
    for (const model::DeviceId id : input.plan.controllers()) {
      const Ipv4 address = input.plan.frontend_address(id);
      if (address == Ipv4{} || given == kTimeServers) continue;
      file.line(fmt::format("server {} iburst", to_text(address)));
      ++given;
    }
  } else if (!frontend && pool.spec->role.value != model::PoolRole::jump) {
    for (const model::DeviceId id : host_relays(input)) {
      for (const model::PortId port : cluster.ports_of(id)) {
        if (cluster.port(port).fabric != model::FabricKind::storage || cluster.port(port).address == Ipv4{}) continue;
        file.line(fmt::format("server {} iburst", to_text(cluster.port(port).address)));
        ++given;
      }
    }
  }
  if (given == 0) file.line(fmt::format("pool {} iburst maxsources 4", site));
  if (controller) allow(cluster, model::FabricKind::frontend, file);
  if (is_in(host_relays(input), pool)) allow(cluster, model::FabricKind::storage, file);
  if (pool.spec->role.value == model::PoolRole::jump)
    file.line("allow " + to_text(cluster.spec().fabrics->oob->subnet.value));
  if (controller || pool.spec->role.value == model::PoolRole::jump) file.line("local stratum 10 orphan");
}

void add_chrony(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile file(input.cluster, "Time of " + pool.name() + ".");
  time_sources(input, pool, file);
  file.line("driftfile /var/lib/chrony/chrony.drift").line("makestep 1.0 3").line("rtcsync");
  add_pool_file(pool, sink,
                {.path = "chrony/weft.conf",
                 .content = file.take(),
                 .consumer = "chronyd",
                 .install = "/etc/chrony/conf.d/weft.conf",
                 .apply = "systemctl restart chrony",
                 .risk = Risk::reload,
                 .sources = {"control_plane", "fabrics.oob.services.time"}});
}

void add_limits(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  if (pool.rails.empty()) return;
  LineFile file(input.cluster, "RDMA pins memory: no limit on locked memory for jobs.");
  for (const std::string_view who : {"*", "root"}) {
    file.line(fmt::format("{} soft memlock unlimited", who)).line(fmt::format("{} hard memlock unlimited", who));
    file.line(fmt::format("{} soft nofile 1048576", who)).line(fmt::format("{} hard nofile 1048576", who));
  }
  add_pool_file(pool, sink,
                {.path = "limits.d/90-weft.conf",
                 .content = file.take(),
                 .consumer = "pam_limits",
                 .install = "/etc/security/limits.d/90-weft.conf"});
  LineFile system(input.cluster, "The same limit for services, which have no login session.");
  system.line("[Manager]").line("DefaultLimitMEMLOCK=infinity").line("DefaultLimitNOFILE=1048576");
  add_pool_file(pool, sink,
                {.path = "systemd/system.conf.d/90-weft.conf",
                 .content = system.take(),
                 .consumer = "systemd",
                 .install = "/etc/systemd/system.conf.d/90-weft.conf",
                 .apply = "systemctl daemon-reexec"});
}

bool has_nic_of(const RenderInput& input, const PoolPlan& pool, std::string_view vendor) {
  for (const model::PortGroup& group : pool.server->ports.value) {
    const model::NicModel* nic = input.cluster.catalog().nic(group.nic.value);
    if (nic != nullptr && nic->vendor.value == vendor) return true;
  }
  return false;
}

void add_modules(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  if (pool.rails.empty()) return;
  const bool mellanox = has_nic_of(input, pool, "NVIDIA");
  const bool nvidia = pool.has_gpus() && pool.gpu->vendor.value == "NVIDIA";
  LineFile load(input.cluster, "Kernel modules of " + pool.name() + " that are not loaded automatically.");
  if (mellanox) load.line("mlx5_core").line("mlx5_ib");
  for (const std::string_view name : {"ib_umad", "ib_uverbs", "rdma_cm", "rdma_ucm"}) load.line(name);
  for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (host_has_fabric(input.cluster, pool, fabric) && host_fabric_is_infiniband(input.cluster, fabric)) {
      load.line("ib_ipoib");
      break;
    }
  }
  if (nvidia) load.comment("GPUDirect RDMA, for drivers and kernels without dma-buf.").line("nvidia_peermem");
  add_pool_file(pool, sink,
                {.path = "modules-load.d/weft.conf",
                 .content = load.take(),
                 .consumer = "systemd-modules-load",
                 .install = "/etc/modules-load.d/weft.conf",
                 .apply = "systemctl restart systemd-modules-load"});
  LineFile options(input.cluster, "Module options of " + pool.name() + ".");
  options.line("options nvme_core multipath=Y");
  if (nvidia) {
    options.comment("GPU profiling counters, which can reveal other jobs, are restricted to root.");
    options.line("options nvidia NVreg_RestrictProfilingToAdminUsers=1");
  }
  add_pool_file(pool, sink,
                {.path = "modprobe.d/weft.conf",
                 .content = options.take(),
                 .consumer = "modprobe",
                 .install = "/etc/modprobe.d/weft.conf",
                 .apply = "update-initramfs -u"});
}

void add_sshd(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile file(input.cluster, "Key authentication only, also for root; forwarding only on jump hosts.");
  const bool jump = pool.spec->role.value == model::PoolRole::jump;
  const bool passes = jump || is_in(host_relays(input), pool);
  file.line("PasswordAuthentication no").line("KbdInteractiveAuthentication no");
  file.line(jump ? "PermitRootLogin no" : "PermitRootLogin prohibit-password");
  file.line("X11Forwarding no").line("AllowAgentForwarding no");
  file.line(fmt::format("AllowTcpForwarding {}", passes ? "yes" : "no"));
  file.line("MaxAuthTries 3").line("LoginGraceTime 30").line("ClientAliveInterval 300").line("LogLevel VERBOSE");
  // Logins only over the management network: not over a rail, nor over the other networks of a storage server.
  if (host_has_fabric(input.cluster, pool, model::FabricKind::frontend)) {
    file.comment("Reached over the frontend; the match rejects logins over the rails.");
    std::string rails;
    for (const model::FabricKind fabric : {model::FabricKind::backend, model::FabricKind::storage}) {
      if (!host_has_fabric(input.cluster, pool, fabric)) continue;
      for (const Ipv4Prefix& prefix : input.cluster.data_fabric_spec(fabric).subnets.value) {
        rails += (rails.empty() ? "" : ",") + to_text(prefix);
      }
    }
    if (!rails.empty()) file.line("Match LocalAddress " + rails).line("    DenyUsers *");
  }
  add_pool_file(pool, sink,
                {.path = "sshd_config.d/90-weft.conf",
                 .content = file.take(),
                 .consumer = "sshd",
                 .install = "/etc/ssh/sshd_config.d/90-weft.conf",
                 .apply = "sshd -t && systemctl reload ssh",
                 .mode = "0600",
                 .risk = Risk::reload});
}

}  // namespace

void add_base(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  add_chrony(input, pool, sink);
  add_limits(input, pool, sink);
  add_modules(input, pool, sink);
  add_sshd(input, pool, sink);
}

void add_hosts_file(const RenderInput& input, FileSink& sink) {
  const model::Cluster& cluster = input.cluster;
  const std::string& domain = cluster.spec().site->domain.value;
  LineFile file(cluster, "Every host, BMC and switch by name, for DNS outages.");
  file.line("127.0.0.1 localhost").line("::1 localhost ip6-localhost ip6-loopback");
  const auto add = [&](Ipv4 address, const std::string& name) {
    if (address != Ipv4{}) file.line(fmt::format("{} {}.{} {}", to_text(address), name, domain, name));
  };
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind == model::DeviceKind::external) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::DeviceId id = host_member(group, i);
      const std::string name = config_word(cluster.name_of(id));
      if (group.kind != model::DeviceKind::server) {
        add(cluster.oob_address(id), name);
        continue;
      }
      add(host_management_address(cluster, input.plan, id), name);
      add(cluster.oob_address(id), name + "-bmc");
      if (group.server->kind.value != model::ServerKind::storage) continue;
      for (const model::PortId port : cluster.ports_of(id)) {
        if (cluster.port(port).fabric == model::FabricKind::storage)
          add(cluster.port(port).address, name + "-" + cluster.port_name(port));
      }
    }
  }
  sink.add({.path = "host/common/hosts",
            .content = file.take(),
            .consumer = "libc",
            .install = "/etc/hosts",
            .stage = Stage::hosts,
            .sources = {"pools", "fabrics.frontend", "fabrics.oob"}});
}

}  // namespace weft::render

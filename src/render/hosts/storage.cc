// How hosts access storage: NVMe connections over every rail, mounts, multipath; and the exports of NFS servers.
#include <fmt/format.h>

#include <algorithm>

#include "base/quoting.h"
#include "render/core/line_file.h"
#include "render/hosts/parts.h"

namespace weft::render {
namespace {

constexpr int kNvmePort = 4420;  // IANA: nvme
constexpr std::size_t kLustreManagers = 2;
constexpr std::size_t kWekaBackends = 8;

// The addresses of one storage server, the first one per rail.
std::vector<model::Port> rails_of_server(const model::Cluster& cluster, model::DeviceId server) {
  std::vector<model::Port> ports;
  for (const model::PortId id : cluster.ports_of(server)) {
    const model::Port& port = cluster.port(id);
    if (port.fabric != model::FabricKind::storage || port.address == Ipv4{}) continue;
    const bool seen =
        std::any_of(ports.begin(), ports.end(), [&](const model::Port& p) { return p.rail == port.rail; });
    if (!seen) ports.push_back(port);
  }
  return ports;
}

std::vector<model::DeviceId> servers_of(const RenderInput& input, const model::StorageSpec& storage) {
  std::vector<model::DeviceId> servers;
  const PoolPlan* pool = input.plan.pool(storage.pool.value);
  for (std::uint32_t i = 0; pool != nullptr && i < pool->group->count; ++i)
    servers.push_back(host_member(*pool->group, i));
  return servers;
}

// The client's port on a rail, by name.
std::string interface_of(const PoolPlan& pool, std::uint32_t rail) {
  for (const RailPlan& plan : pool.rails) {
    if (plan.fabric == model::FabricKind::storage && plan.rail == rail) return plan.interface;
  }
  return {};
}

// nqn.yyyy-mm.reversed-domain:name (NVM Express base specification, "NVMe Qualified Names"); the date is one on which
// such a domain could be owned, and never changes.
std::string qualified_name(const model::Cluster& cluster, const model::StorageSpec& storage, model::DeviceId server) {
  std::string reversed;
  std::string_view domain = cluster.spec().site->domain.value;
  while (!domain.empty()) {
    const std::size_t dot = domain.rfind('.');
    const std::string_view label = dot == std::string_view::npos ? domain : domain.substr(dot + 1);
    reversed += fmt::format("{}{}", reversed.empty() ? "" : ".", label);
    domain = dot == std::string_view::npos ? std::string_view() : domain.substr(0, dot);
  }
  return config_word(fmt::format("nqn.2024-01.{}:{}.{}", reversed, storage.name->text, cluster.name_of(server)));
}

bool over_tcp(const model::Cluster& cluster, const model::StorageSpec& storage) {
  // NVMe over RDMA has no encryption of its own.
  return storage.security.value != model::StorageSecurity::sys ||
         (!host_fabric_is_infiniband(cluster, model::FabricKind::storage) &&
          !cluster.data_fabric_spec(model::FabricKind::storage).qos->lossless.value);
}

void connect(const RenderInput& input, const PoolPlan& pool, const model::StorageSpec& storage, LineFile& file) {
  const bool tcp = over_tcp(input.cluster, storage);
  for (const model::DeviceId server : servers_of(input, storage)) {
    const std::string target = qualified_name(input.cluster, storage, server);
    for (const model::Port& port : rails_of_server(input.cluster, server)) {
      const std::string address = to_text(port.address);
      std::string line =
          fmt::format("connected {0} {1} || nvme connect --transport={2} --traddr={1} --trsvcid={3} --nqn={0}",
                      shell_quote(target), address, tcp ? "tcp" : "rdma", kNvmePort);
      const std::string interface = interface_of(pool, port.rail);
      if (tcp && !interface.empty()) line += " --host-iface=" + shell_quote(interface);
      if (storage.security.value != model::StorageSecurity::sys) line += " --tls";
      file.line(line + " --ctrl-loss-tmo=-1 --reconnect-delay=5");
    }
  }
}

std::string connections(const RenderInput& input, const PoolPlan& pool) {
  LineFile file = LineFile::script(
      input.cluster,
      fmt::format("Connects {} to every NVMe target, over each storage rail. With "
                  "--tls the keys are in the kernel's\nkeyring (tlshd); `nvme gen-tls-key --insert` puts them there.",
                  pool.name()));
  file.line("connected() {  # NQN ADDRESS");
  file.line("  for controller in /sys/class/nvme/nvme*; do");
  file.line("    [ -e \"$controller/subsysnqn\" ] || continue");
  file.line(
      "    if [ \"$(cat \"$controller/subsysnqn\")\" = \"$1\" ] && grep -q \"traddr=$2,\" \"$controller/address\"; "
      "then");
  file.line("      return 0").line("    fi").line("  done").line("  return 1").line("}").blank();
  for (const model::StorageSpec& storage : input.cluster.spec().storage.value) {
    if (storage.kind.value == model::StorageKind::nvmeof) connect(input, pool, storage, file);
  }
  return file.take();
}

// "rw,vers=4.2,sec=krb5p,nconnect=8"
std::string nfs_options(const model::StorageSpec& storage, const model::VolumeSpec& volume) {
  std::string options = host_is_read_only(volume) ? "ro" : "rw";
  options += ",vers=4.2,nconnect=8,hard,noatime";
  if (storage.security.value == model::StorageSecurity::krb5p) options += ",sec=krb5p";
  if (storage.security.value == model::StorageSecurity::sys) options += ",sec=sys";
  if (storage.security.value == model::StorageSecurity::tls) options += ",sec=sys,xprtsec=mtls";  // RFC 9289
  return options;
}

// Volumes of a file server are spread over its servers; each is mounted by the name of the server's first storage port.
std::string nfs_source(const RenderInput& input, const model::StorageSpec& storage, std::size_t volume) {
  const auto servers = servers_of(input, storage);
  if (servers.empty()) return {};
  const model::DeviceId server = servers[volume % servers.size()];
  return fmt::format("{}-sto1.{}:/export/{}", input.cluster.name_of(server), input.cluster.spec().site->domain.value,
                     storage.volumes.value[volume].name->text);
}

// NIDs of the first servers; rails of a server separated by commas, servers by colons (mount.lustre(8)).
std::string lustre_source(const RenderInput& input, const model::StorageSpec& storage) {
  std::string source;
  const auto servers = servers_of(input, storage);
  for (std::size_t i = 0; i < std::min(servers.size(), kLustreManagers); ++i) {
    if (i > 0) source += ':';
    bool first = true;
    for (const model::Port& port : rails_of_server(input.cluster, servers[i])) {
      source += fmt::format("{}{}@o2ib", first ? "" : ",", to_text(port.address));
      first = false;
    }
  }
  return source + ":/" + storage.name->text.substr(0, 8);  // Lustre's file system names have at most 8 characters
}

std::string weka_source(const RenderInput& input, const model::StorageSpec& storage) {
  std::string source;
  const auto servers = servers_of(input, storage);
  for (std::size_t i = 0; i < std::min(servers.size(), kWekaBackends); ++i) {
    const auto ports = rails_of_server(input.cluster, servers[i]);
    if (!ports.empty()) source += (source.empty() ? "" : ",") + to_text(ports.front().address);
  }
  return source;
}

struct MountEntry {
  std::string source;
  std::string type;
  std::string options;
};

MountEntry mount_of(const RenderInput& input, const PoolPlan& pool, const model::StorageSpec& storage,
                    std::size_t index) {
  const model::VolumeSpec& volume = storage.volumes.value[index];
  const std::string& name = storage.name->text;
  const std::string& part = volume.name->text;
  const std::string access = host_is_read_only(volume) ? "ro" : "rw";
  switch (storage.kind.value) {
    case model::StorageKind::nfs:
    case model::StorageKind::vast:
      return {nfs_source(input, storage, index), "nfs4", nfs_options(storage, volume)};
    case model::StorageKind::nvmeof:  // block storage: only read-only volumes can be shared
      if (!host_is_read_only(volume)) return {};
      return {fmt::format("/dev/{}/{}", name, part), "xfs", "ro,noatime,norecovery,nouuid"};
    case model::StorageKind::lustre:
      return {lustre_source(input, storage) + "/" + part, "lustre", access + ",flock,noatime"};
    case model::StorageKind::gpfs:
      return {name, "gpfs", fmt::format("{},noatime,dev={},noauto", access, name)};
    case model::StorageKind::beegfs:
      return {"beegfs_nodev", "beegfs", fmt::format("{},relatime,cfgFile=/etc/beegfs/{}.conf", access, name)};
    case model::StorageKind::weka: {
      std::string options = access + ",noatime,num_cores=2";
      for (const RailPlan& rail : pool.rails) {
        if (rail.fabric == model::FabricKind::storage) options += ",net=" + rail.interface;
      }
      return {weka_source(input, storage) + "/" + part, "wekafs", options + ",x-systemd.requires=weka-agent.service"};
    }
    case model::StorageKind::object:
      break;
  }
  return {};
}

void add_client_file(const PoolPlan& pool, FileSink& sink, std::string_view name, std::string content,
                     std::string_view consumer, std::string_view install, std::string_view apply,
                     std::string_view mode = "0644") {
  sink.add({.path = fmt::format("host/{}/{}", pool.name(), name),
            .content = std::move(content),
            .device = pool.name(),
            .consumer = std::string(consumer),
            .install = std::string(install),
            .apply = std::string(apply),
            .mode = std::string(mode),
            .risk = Risk::reload,
            .stage = Stage::hosts,
            .sources = {"storage"}});
}

void add_mounts(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile file(input.cluster, fmt::format("Mounts of {}; a marked block of /etc/fstab.", pool.name()));
  bool any = false;
  for (const model::StorageSpec& storage : input.cluster.spec().storage.value) {
    for (std::size_t i = 0; i < storage.volumes->size(); ++i) {
      const MountEntry entry = mount_of(input, pool, storage, i);
      if (entry.source.empty()) continue;
      any = true;
      // Automount on first access: an unreachable storage system does not delay the boot.
      file.line(fmt::format("{} {} {} {},_netdev,nofail,x-systemd.automount 0 0", config_word(entry.source),
                            config_word(model::default_mount_path(input.cluster.spec(), storage.volumes.value[i])),
                            entry.type, config_word(entry.options)));
    }
  }
  if (any) add_client_file(pool, sink, "fstab", file.take(), "systemd", "/etc/fstab", "systemctl daemon-reload");
}

std::string_view io_policy(model::Multipath multipath) {
  switch (multipath) {
    case model::Multipath::round_robin:
      return "round-robin";
    case model::Multipath::queue_depth:
      return "queue-depth";  // Linux 6.11 and later
    case model::Multipath::active_standby:
      break;
  }
  return "numa";  // one path, the nearest; the others are standby
}

void add_nvme(const RenderInput& input, const PoolPlan& pool, const model::StorageSpec& first, FileSink& sink) {
  LineFile unit(input.cluster, "Connects NVMe targets before file systems are mounted.");
  unit.line("[Unit]")
      .line("Description=NVMe over Fabrics connections")
      .line("After=network-online.target tlshd.service");
  unit.line("Wants=network-online.target").line("Before=remote-fs-pre.target").blank();
  unit.line("[Service]").line("Type=oneshot").line("RemainAfterExit=yes");
  unit.line(fmt::format("ExecStartPre=-/sbin/modprobe -a nvme_fabrics {}",
                        over_tcp(input.cluster, first) ? "nvme_tcp" : "nvme_rdma"));
  unit.line("ExecStart=/usr/local/sbin/weft-nvme-connect")
      .blank()
      .line("[Install]")
      .line("WantedBy=remote-fs-pre.target");
  add_client_file(pool, sink, "systemd/weft-nvme-connect.service", unit.take(), "systemd",
                  "/etc/systemd/system/weft-nvme-connect.service", "systemctl daemon-reload");
  add_client_file(pool, sink, "nvme-connect.sh", connections(input, pool), "weft-nvme-connect.service",
                  "/usr/local/sbin/weft-nvme-connect", "systemctl enable --now weft-nvme-connect", "0755");
  LineFile rules(input.cluster, "I/O policy of native NVMe multipath.");
  rules.line(fmt::format(
      R"(ACTION=="add|change", SUBSYSTEM=="nvme-subsystem", ATTR{{subsystype}}=="nvm", ATTR{{iopolicy}}="{}")",
      io_policy(first.multipath.value)));
  add_client_file(pool, sink, "udev/72-weft-nvme.rules", rules.take(), "udev", "/etc/udev/rules.d/72-weft-nvme.rules",
                  "udevadm control --reload && udevadm trigger --subsystem-match=nvme-subsystem");
}

// The kernel handles multipath for NVMe subsystems itself; device-mapper multipath is for all other devices.
std::string multipath_conf(const RenderInput& input, bool nvme) {
  LineFile file(
      input.cluster,
      nvme ? "NVMe uses the kernel's native multipath (nvme_core.multipath=Y): shown, but not managed by multipathd."
           : "Multipath block devices; this cluster's storage has none.");
  file.line("defaults {").line("    user_friendly_names no").line("    find_multipaths strict");
  if (nvme) file.line("    enable_foreign \"nvme\"");
  file.line("}").line("blacklist {").line("    devnode \"^nvme\"");
  file.line("    devnode \"^(ram|zram|loop|fd|md|dm-|sr|scd|st|dcssblk|nbd)[0-9]\"").line("}");
  return file.take();
}

void add_lustre(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  std::string interfaces;
  for (const RailPlan& rail : pool.rails) {
    if (rail.fabric == model::FabricKind::storage) interfaces += (interfaces.empty() ? "" : ",") + rail.interface;
  }
  if (interfaces.empty()) return;
  LineFile file(input.cluster, "LNet runs over all storage rails (multi-rail).");
  file.line(fmt::format("options lnet networks=\"o2ib({})\"", config_word(interfaces)));
  add_client_file(pool, sink, "modprobe.d/weft-lnet.conf", file.take(), "modprobe", "/etc/modprobe.d/weft-lnet.conf",
                  "");
}

}  // namespace

bool host_is_read_only(const model::VolumeSpec& volume) {
  return volume.read_only.value || volume.purpose.value == model::VolumePurpose::dataset;
}

bool host_mounts_storage(const RenderInput& input, const PoolPlan& pool) {
  const model::PoolRole role = pool.spec->role.value;
  if (role == model::PoolRole::storage || !host_has_fabric(input.cluster, pool, model::FabricKind::storage))
    return false;
  return input.plan.in_slurm(pool) || !input.plan.in_kubernetes(pool);
}

void add_storage_client(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  if (!host_mounts_storage(input, pool) || input.cluster.spec().storage->empty()) return;
  const model::StorageSpec* nvme = nullptr;
  bool lustre = false;
  for (const model::StorageSpec& storage : input.cluster.spec().storage.value) {
    if (storage.kind.value == model::StorageKind::nvmeof && nvme == nullptr) nvme = &storage;
    lustre = lustre || storage.kind.value == model::StorageKind::lustre;
  }
  add_mounts(input, pool, sink);
  add_client_file(pool, sink, "multipath.conf", multipath_conf(input, nvme != nullptr), "multipathd",
                  "/etc/multipath.conf", "systemctl reload multipathd");
  if (nvme != nullptr) add_nvme(input, pool, *nvme, sink);
  if (lustre) add_lustre(input, pool, sink);
}

void add_storage_server(const RenderInput& input, const PoolPlan& pool, FileSink& sink) {
  LineFile file(input.cluster,
                fmt::format("Exports of the file servers of {}, to the storage network only.", pool.name()));
  bool any = false;
  for (const model::StorageSpec& storage : input.cluster.spec().storage.value) {
    if (storage.kind.value != model::StorageKind::nfs || storage.pool.value != pool.name()) continue;
    std::string security = "sec=krb5p";
    if (storage.security.value == model::StorageSecurity::sys) security = "sec=sys";
    if (storage.security.value == model::StorageSecurity::tls) security = "sec=sys,xprtsec=mtls";
    for (const model::VolumeSpec& volume : storage.volumes.value) {
      std::string line = config_word("/export/" + volume.name->text);
      for (const Ipv4Prefix& prefix : input.cluster.data_fabric_spec(model::FabricKind::storage).subnets.value) {
        line += fmt::format(" {}({},{},root_squash,sync,no_subtree_check)", to_text(prefix),
                            host_is_read_only(volume) ? "ro" : "rw", security);
      }
      file.line(line);
      any = true;
    }
  }
  if (any) add_client_file(pool, sink, "exports", file.take(), "nfsd", "/etc/exports.d/weft.exports", "exportfs -ra");
}

}  // namespace weft::render

// Alerts on storage as its clients see it: paths, latency, space, and the storage servers.
#include <fmt/format.h>

#include "render/monitoring/alerts.h"

namespace weft::render::watch {
namespace {

constexpr std::string_view kSource =
    "Metrics: node_exporter, collectors nvmesubsystem (off by default, since 1.11), diskstats, mountstats (off by\n"
    "default), filesystem. Designed paths per client: recording.yml. Namespaces of local drives are "
    "out\n"
    "excluded by their transport.";

bool has_kind(const Watch& watch, model::StorageKind kind) {
  for (const model::StorageSpec& system : watch.cluster().spec().storage.value) {
    if (system.kind.value == kind) return true;
  }
  return false;
}

const PoolPlan* client_pool(const Watch& watch) {
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (pool.spec->role.value == model::PoolRole::storage) continue;
    if (first_address(watch.cluster(), pool.group->first, model::FabricKind::storage) != Ipv4{}) return &pool;
  }
  return nullptr;
}

std::size_t storage_links(const PoolPlan& pool) {
  std::size_t links = 0;
  for (const RailPlan& rail : pool.rails) links += rail.fabric == model::FabricKind::storage ? 1U : 0U;
  return links;
}

void add_paths(const PoolPlan& pool, std::vector<Alert>& out) {
  const std::size_t links = storage_links(pool);
  const Labels labels = {{"instance", "host1"}, {"job", "node"}, {"pool", pool.name()}, {"subsystem", "nvme-subsys1"}};
  Labels path = labels;
  path.emplace_back("controller", "nvme1");
  path.emplace_back("state", "live");
  path.emplace_back("transport", "rdma");
  const TestSeries remote{"node_nvmesubsystem_path_state" + selector(path), "1+0x60"};
  const std::string live = "node_nvmesubsystem_paths_live" + selector(labels);
  const std::string over_network =
      "and on (instance, subsystem) node_nvmesubsystem_path_state{transport=~\"rdma|tcp\"}";
  if (links > 1) {
    out.push_back(
        {.name = "StoragePathsMissing",
         .expr = fmt::format("node_nvmesubsystem_paths_live\n"
                             "< on (pool) group_left () weft:storage_paths:designed\n{}",
                             over_network),
         .wait = "2m",
         .severity = "warning",
         .fabric = "storage",
         .summary = "{{ $labels.instance }}: path to {{ $labels.subsystem }} lost",
         .description = fmt::format("{{{{ $labels.instance }}}} reaches {{{{ $labels.subsystem }}}} over "
                                    "{{{{ $value | printf \"%.0f\" }}}} of {} paths; redundancy is reduced.",
                                    links),
         .action = "Run nvme list-subsys on the host: find the controller that is connecting or dead, and "
                   "its ANA state. Then check the rail (RdmaPortDown) and the target's port, and run nvme connect-all.",
         .cases = {
             fires({{live, fmt::format("{}+0x60", links - 1)}, remote}, "20m", labels, fmt::format("{}", links - 1)),
             silent({{live, fmt::format("{}+0x60", links)}, remote}, "20m"),
             // A local drive has one path and is not a storage system.
             silent({{live, "1+0x60"}}, "20m")}});
  }
  out.push_back(
      {.name = "StorageUnreachable",
       .expr = fmt::format("node_nvmesubsystem_paths_live == 0\n{}", over_network),
       .wait = "1m",
       .severity = "critical",
       .fabric = "storage",
       .summary = "{{ $labels.instance }}: {{ $labels.subsystem }} unreachable",
       .description = "{{ $labels.instance }} has no path left to {{ $labels.subsystem }}; I/O to its volumes blocks.",
       .action = "Check both storage rails of the host, then the target. Jobs on the host fail: drain it.",
       .cases = {fires({{live, "2+0x5 0+0x60"}, remote}, "20m", labels), silent({{live, "1+0x60"}, remote}, "20m")}});
}

void add_block_latency(std::vector<Alert>& out) {
  const Labels labels = {{"device", "nvme1n1"}, {"instance", "host1"}, {"job", "node"}};
  const std::string busy = "node_disk_read_time_seconds_total" + selector(labels);
  const std::string done = "node_disk_reads_completed_total" + selector(labels);
  out.push_back(
      {.name = "StorageReadSlow",
       .expr = fmt::format("1000 * rate(node_disk_read_time_seconds_total{{device=~\"nvme.+\"}}[5m])\n"
                           "/ (rate(node_disk_reads_completed_total{{device=~\"nvme.+\"}}[5m]) > 10) > {}",
                           kBlockLatencyMillis),
       .wait = "10m",
       .severity = "warning",
       .fabric = "storage",
       .summary = "{{ $labels.instance }} {{ $labels.device }}: high read latency",
       .description = "{{ $labels.instance }} {{ $labels.device }}: read latency is {{ $value | printf \"%.1f\" }} ms.",
       .action = "One host: check its rails and paths. All hosts: check the storage system (queue depth, a failed "
                 "controller, a rebuild). If PfcPauseStorm fires on the storage fabric too, the cause is incast.",
       // 60 s of read time per minute over 6,000 reads: 10 ms each.
       .cases = {fires({{busy, "0+60x60"}, {done, "0+6000x60"}}, "40m", labels, "10.0"),
                 silent({{busy, "0+1.2x60"}, {done, "0+6000x60"}}, "40m")}});
}

void add_file_latency(std::vector<Alert>& out) {
  const Labels labels = {
      {"export", "vault:/homes"}, {"instance", "host1"}, {"job", "node"}, {"operation", "READ"}, {"protocol", "tcp"}};
  const std::string waited = "node_mountstats_nfs_operations_response_time_seconds_total" + selector(labels);
  const std::string asked = "node_mountstats_nfs_operations_requests_total" + selector(labels);
  out.push_back(
      {.name = "NfsSlow",
       .expr = fmt::format(
           "1000 * rate(node_mountstats_nfs_operations_response_time_seconds_total{{operation=~\"READ|WRITE\"}}[5m])\n"
           "/ (rate(node_mountstats_nfs_operations_requests_total{{operation=~\"READ|WRITE\"}}[5m]) > 1) > {}",
           kFileLatencyMillis),
       .wait = "10m",
       .severity = "warning",
       .fabric = "storage",
       .summary = "{{ $labels.instance }}: high NFS latency of {{ $labels.export }}",
       .description = "{{ $labels.instance }}: latency of {{ $labels.operation }} on {{ $labels.export }} is "
                      "{{ $value | printf \"%.0f\" }} ms.",
       .action =
           "Run nfsiostat on the host: server time or queue time. For metadata load from small files, see dashboard "
           "storage, operations by kind.",
       .cases = {fires({{waited, "0+120x60"}, {asked, "0+1200x60"}}, "40m", labels, "100"),
                 silent({{waited, "0+1.2x60"}, {asked, "0+1200x60"}}, "40m")}});
}

void add_space(std::vector<Alert>& out) {
  const Labels labels = {{"fstype", "nfs4"}, {"instance", "host1"}, {"job", "node"}, {"mountpoint", "/data"}};
  const std::string left = "node_filesystem_avail_bytes" + selector(labels);
  const TestSeries size{"node_filesystem_size_bytes" + selector(labels), "1000+0x60"};
  out.push_back(
      {.name = "SharedVolumeFull",
       .expr = fmt::format("100 * node_filesystem_avail_bytes{{fstype=~\"nfs.*|lustre|gpfs|beegfs.*|wekafs\"}}\n"
                           "/ node_filesystem_size_bytes < {}",
                           kFilesystemPercent),
       .wait = "15m",
       .severity = "warning",
       .fabric = "storage",
       .summary = "{{ $labels.mountpoint }} is nearly full",
       .description = "{{ $labels.mountpoint }} (on {{ $labels.instance }}) has "
                      "{{ $value | printf \"%.0f\" }} % left; checkpoints will fail.",
       .action = "Remove old checkpoints; check quotas; add capacity.",
       .cases = {fires({{left, "40+0x60"}, size}, "40m", labels, "4"), silent({{left, "400+0x60"}, size}, "40m")}});
}

void add_servers(std::vector<Alert>& out) {
  const Labels labels = {{"fabric", "storage"}, {"instance", "flash001"}, {"job", "storage"}, {"pool", "flash"}};
  const std::string series = "up" + selector(labels);
  out.push_back({.name = "StorageServerDown",
                 .expr = "up{job=\"storage\"} == 0",
                 .wait = "2m",
                 .severity = "critical",
                 .fabric = "storage",
                 .summary = "Storage server {{ $labels.instance }} is down",
                 .description =
                     "{{ $labels.instance }} of {{ $labels.pool }} does not respond on the storage fabric; clients "
                     "use the paths of its HA partner.",
                 .action = "Check power and console through its BMC, both its rails, then its controllers. Do not "
                           "change the HA partner before it is back.",
                 .cases = {fires({{series, "1+0x5 0+0x60"}}, "20m", labels), silent({{series, "1+0x60"}}, "20m")}});
}

}  // namespace

AlertGroup storage_alerts(const Watch& watch) {
  AlertGroup group{"storage", kSource, {}};
  if (!watch.fabric(model::FabricKind::storage).present || watch.cluster().spec().storage->empty()) return group;
  const PoolPlan* client = client_pool(watch);
  if (client != nullptr && has_kind(watch, model::StorageKind::nvmeof)) {
    add_paths(*client, group.alerts);
    add_block_latency(group.alerts);
  }
  if (has_kind(watch, model::StorageKind::nfs)) add_file_latency(group.alerts);
  add_space(group.alerts);
  add_servers(group.alerts);
  return group;
}

}  // namespace weft::render::watch

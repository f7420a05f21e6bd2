// Acceptance: the tables of this cluster, fio and nccl-tests jobs, and the page with the pass criteria.
#include "render/monitoring/acceptance.h"

#include <fmt/format.h>

#include "base/asset.h"
#include "base/quoting.h"
#include "render/core/targets.h"

namespace weft::render {
namespace {

using acceptance::PoolLimits;
using acceptance::StorageLimits;
using watch::Watch;

constexpr std::string_view kFolder = "/opt/weft/acceptance/";

void add_file(FileSink& sink, const std::string& path, std::string content, std::string consumer, bool runs = false) {
  sink.add({.path = "acceptance/" + path,
            .content = std::move(content),
            .consumer = std::move(consumer),
            .install = std::string(kFolder) + path,
            .apply = runs ? fmt::format("sh {}{}", kFolder, path) : std::string(),
            .mode = runs ? "0755" : "0644",
            .risk = Risk::traffic,  // tests fully load fabrics, GPUs and storage
            .stage = Stage::acceptance,
            .sources = {"pools", "fabrics", "storage", "workload"}});
}

std::string listed(const std::vector<std::string>& words, std::string_view separator) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : std::string(separator)) + word;
  return out.empty() ? "-" : out;
}

// Megabits as decimal gigabits: "400", "2.5".
std::string gigabits_text(std::int64_t megabits) {
  if (megabits % 1000 == 0) return fmt::format("{}", megabits / 1000);
  return fmt::format("{}.{}", megabits / 1000, megabits % 1000 / 100);
}

std::string commented(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "# ";
  }
  return out + "\n";
}

std::string hosts_table(const Watch& watch) {
  const model::Cluster& cluster = watch.cluster();
  std::string out = "# name\tpool\tunit\tmanagement address\tports\n";
  for (const PoolPlan& pool : watch.plan().pools()) {
    const std::string front = watch.plan().frontend_interface(pool);
    for (std::uint32_t i = 0; i < pool.group->count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
      std::string ports;
      for (const model::PortId port : cluster.ports_of(id)) {
        if (cluster.port(port).fabric == model::FabricKind::oob || cluster.port(port).address == Ipv4{}) continue;
        if (!ports.empty()) ports += ',';
        // Bonded links have their address on the bond.
        const bool frontend = cluster.port(port).fabric == model::FabricKind::frontend;
        ports += (frontend ? front : cluster.port_name(port)) + "=" + to_text(cluster.port(port).address);
      }
      const Ipv4 managed = watch.plan().frontend_address(id);
      const std::string unit = watch.unit_name(id);
      out += fmt::format("{}\t{}\t{}\t{}\t{}\n", cluster.name_of(id), pool.name(), unit.empty() ? "-" : unit,
                         managed == Ipv4{} ? cluster.name_of(id) : to_text(managed), ports.empty() ? "-" : ports);
    }
  }
  return out;
}

std::string partition_of(const Watch& watch, const PoolPlan& pool) {
  if (!watch.plan().in_slurm(pool)) return "-";
  for (const model::PartitionSpec& partition : watch.cluster().spec().partitions.value) {
    for (const std::string& name : partition.pools.value) {
      if (name == pool.name()) return partition.name->text;
    }
  }
  return pool.name();
}

std::string pools_table(const Watch& watch, const std::vector<PoolLimits>& limits) {
  std::string out =
      "# pool\trole\tGPUs\tbackend devices\tGb/s per port\tmin Gb/s per pair\tstorage devices\tGb/s per port\tmin\t"
      "all-reduce GB/s\twithin one server\tall-to-all\tpartition\n";
  static constexpr std::string_view kRoles[] = {"training", "inference", "infrastructure", "cpu",
                                                "storage",  "login",     "management",     "jump"};
  for (const PoolLimits& one : limits) {
    if (one.pool->spec->role.value == model::PoolRole::jump) continue;
    out +=
        fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", one.pool->name(),
                    kRoles[static_cast<std::size_t>(one.pool->spec->role.value)], one.pool->server->gpus.value,
                    listed(one.backend_devices, ","), gigabits_text(one.backend_mbps), gigabits_text(one.backend_least),
                    listed(one.storage_devices, ","), gigabits_text(one.storage_mbps), gigabits_text(one.storage_least),
                    gigabits_text(one.all_reduce_least), gigabits_text(one.in_server_least),
                    gigabits_text(one.all_to_all_least), partition_of(watch, *one.pool));
  }
  return out;
}

std::string managers_table(const Watch& watch) {
  const model::Cluster& cluster = watch.cluster();
  const std::string protocol = cluster.spec().fabrics->oob->bmc->ipmi_over_lan.value ? "ipmi" : "redfish";
  std::string out = "# name\taddress\tprotocol\n";
  for (std::uint32_t i = 0; i < cluster.devices().size(); ++i) {
    const auto id = static_cast<model::DeviceId>(i);
    const Ipv4 address = cluster.oob_address(id);
    if (address == Ipv4{}) continue;
    const bool server = cluster.group_of(id).kind == model::DeviceKind::server;
    out += fmt::format("{}\t{}\t{}\n", cluster.name_of(id), to_text(address), server ? protocol : "ping");
  }
  return out;
}

std::string storage_table(const std::vector<StorageLimits>& limits) {
  const auto least = [](Bytes rate) { return multiply_divide(rate.count(), acceptance::kStoragePercent, 100); };
  std::string out = "# system\tnode read B/s\tnode write\tall read\tall write\n";
  for (const StorageLimits& one : limits) {
    out += fmt::format("{}\t{}\t{}\t{}\t{}\n", one.system->name->text, least(one.node_read), least(one.node_write),
                       least(one.all_read), least(one.all_write));
  }
  return out;
}

// One address per fabric, for the test that the other fabrics cannot reach it.
std::string foreign_addresses(const Watch& watch) {
  const model::Cluster& cluster = watch.cluster();
  std::string out;
  for (const model::FabricKind fabric :
       {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend, model::FabricKind::oob}) {
    Ipv4 found;
    // From the end: storage and control servers, which share no other fabric with compute servers.
    for (auto pool = watch.plan().pools().rbegin(); pool != watch.plan().pools().rend() && found == Ipv4{}; ++pool) {
      const auto last = static_cast<model::DeviceId>(model::index_of(pool->group->first) + pool->group->count - 1);
      found = watch::first_address(cluster, last, fabric);
    }
    if (found != Ipv4{}) out += fmt::format("{}{}={}", out.empty() ? "" : " ", model::to_text(fabric), to_text(found));
  }
  return out;
}

std::string value_in(const Environment& environment, std::string_view name) {
  for (const auto& [known, value] : environment) {
    if (known == name) return value;
  }
  return {};
}

std::string rdma_flags(const Watch& watch) {
  if (!watch.fabric(model::FabricKind::backend).ethernet) return {};
  for (const PoolPlan& pool : watch.plan().pools()) {
    const Environment environment = watch.plan().environment(pool, false);
    const std::string index = value_in(environment, "NCCL_IB_GID_INDEX");
    const std::string traffic = value_in(environment, "NCCL_IB_TC");
    // Values from the file are free text: only numbers are used on a command line.
    const auto number = [](const std::string& text) {
      return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    };
    if (number(index) && number(traffic)) return fmt::format("-x {} --tclass={}", index, traffic);
  }
  return {};
}

std::string fio_clients(const Watch& watch) {
  std::string out;
  for (const PoolPlan& pool : watch.plan().pools()) {
    if (pool.spec->role.value == model::PoolRole::storage || !pool.has_gpus()) continue;
    if (watch::first_address(watch.cluster(), pool.group->first, model::FabricKind::storage) == Ipv4{}) continue;
    out += (out.empty() ? "" : " ") + pool.name();
  }
  return out;
}

std::string environment_file(const Watch& watch) {
  const watch::FabricWatch& backend = watch.fabric(model::FabricKind::backend);
  bool infiniband = false;
  for (const watch::FabricWatch& fabric : watch.fabrics())
    infiniband = infiniband || (fabric.present && !fabric.ethernet);
  std::string out = commented(heading(watch.cluster(), "Settings of the acceptance scripts for this cluster.")) +
                    "# shellcheck shell=sh disable=SC2034\n";
  const auto put = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{}={}\n", name, shell_quote_always(value));
  };
  put("BACKEND_PAYLOAD", fmt::format("{}", backend.ping_payload()));
  put("STORAGE_PAYLOAD", fmt::format("{}", watch.fabric(model::FabricKind::storage).ping_payload()));
  put("FRONTEND_PAYLOAD", fmt::format("{}", watch.fabric(model::FabricKind::frontend).ping_payload()));
  put("FOREIGN", foreign_addresses(watch));
  put("RDMA_FLAGS", rdma_flags(watch));
  put("LOSSLESS_PRIORITY", backend.present && backend.lossless ? fmt::format("{}", backend.priority) : std::string());
  put("ACROSS_UNITS",
      watch.cluster().fabric(model::FabricKind::backend).wiring == model::Wiring::rail_only ? "no" : "yes");
  put("INFINIBAND", infiniband ? "yes" : "no");
  put("FIO_CLIENTS", fio_clients(watch));
  out += "export INFINIBAND\n";
  return out;
}

std::string fio_file(const Watch& watch, const StorageLimits& limits) {
  std::string out = commented(heading(
      watch.cluster(), fmt::format("fio, storage system {}: FIO_DIR=FOLDER fio --section=read {}.fio\n"
                                   "Design targets: one server {} read, {} write; all servers {} read, {} write.",
                                   limits.system->name->text, limits.system->name->text,
                                   byte_rate_text(limits.node_read), byte_rate_text(limits.node_write),
                                   byte_rate_text(limits.all_read), byte_rate_text(limits.all_write))));
  out +=
      "[global]\ndirectory=${FIO_DIR}\nioengine=libaio\ndirect=1\nbs=1M\niodepth=64\nnumjobs=32\nsize=4G\n"
      "filename_format=weft.$jobnum\ntime_based=1\nruntime=60\nramp_time=5\ngroup_reporting=1\n\n"
      "# Write first, so that there are files to read.\n[write]\nrw=write\nend_fsync=1\n\n[read]\nrw=read\n\n"
      "# Random 4 KiB reads, not part of the pass criteria.\n[random]\nrw=randread\nbs=4k\n";
  return out;
}

std::string nccl_script(const Watch& watch, const PoolPlan& pool) {
  const bool slurm = watch.plan().in_slurm(pool);
  std::string out =
      "#!/bin/sh\n" + commented(heading(watch.cluster(), fmt::format("nccl-tests on pool {}: {}.sh SERVERS COLLECTIVE",
                                                                     pool.name(), pool.name())));
  out += "set -eu\n";
  for (const auto& [name, value] : watch.plan().environment(pool, false)) {
    const bool plain =
        !name.empty() &&
        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
    if (plain && (name[0] < '0' || name[0] > '9'))
      out += fmt::format("export {}={}\n", name, shell_quote_always(value));
  }
  out += "TESTS=${NCCL_TESTS:-/opt/nccl-tests/build}\n";
  const std::int64_t gpus = pool.server->gpus.value;
  const std::string sizes = "-b 1G -e 16G -f 2 -g 1 -n 20 -w 5";
  if (slurm) {
    out += fmt::format(
        "exec srun --partition={} --nodes=\"$1\" --ntasks-per-node={} --gpus-per-node={} --exclusive --mpi=pmix \\\n"
        "  --export=ALL --time=30 \"$TESTS/$2\" {}\n",
        shell_quote_always(partition_of(watch, pool)), gpus, gpus, sizes);
    return out;
  }
  out += fmt::format(
      "HERE=$(cd \"$(dirname \"$0\")/..\" && pwd)\n"
      "hosts=$(awk -F '\\t' -v p={} -v n=\"$1\" '$2 == p && k < n {{ printf \"%s%s:{}\", k++ ? \",\" : \"\", $4 }}' "
      "\"$HERE/hosts.tsv\")\n"
      "handed=$(env | sed -n 's/^\\(\\(NCCL\\|UCX\\)_[A-Z_]*\\)=.*/-x \\1/p')\n"
      "# shellcheck disable=SC2086\n"
      "exec mpirun --host \"$hosts\" --map-by ppr:{}:node --bind-to numa $handed \"$TESTS/$2\" {}\n",
      shell_quote_always(pool.name()), gpus, gpus, sizes);
  return out;
}

std::string table_of_limits(const std::vector<PoolLimits>& pools, const std::vector<StorageLimits>& systems) {
  std::string out = "| test | subject | at least |\n| --- | --- | --- |\n";
  for (const PoolLimits& one : pools) {
    const std::string& name = one.pool->name();
    if (one.backend_least > 0)
      out += fmt::format("| rdma | {}, each pair on each of {} rails | {} of {} Gb/s |\n", name,
                         one.backend_devices.size(), gigabits_text(one.backend_least), gigabits_text(one.backend_mbps));
    if (one.in_server_least > 0)
      out += fmt::format("| nccl | {}, all_reduce_perf within one server | {} GB/s |\n", name,
                         gigabits_text(one.in_server_least));
    if (one.all_reduce_least > 0)
      out += fmt::format(
          "| nccl | {}, all_reduce, all_gather, reduce_scatter across all servers | {} GB/s |\n| nccl | {}, "
          "alltoall_perf across all servers | {} GB/s |\n",
          name, gigabits_text(one.all_reduce_least), name, gigabits_text(one.all_to_all_least));
  }
  for (const StorageLimits& one : systems) {
    const auto least = [](Bytes rate) {
      return about(Bytes(multiply_divide(rate.count(), acceptance::kStoragePercent, 100)));
    };
    out += fmt::format(
        "| storage | {}, one server | {}/s read, {}/s write |\n| storage | {}, all servers concurrently | {}/s read, "
        "{}/s write |\n",
        one.system->name->text, least(one.node_read), least(one.node_write), one.system->name->text,
        least(one.all_read), least(one.all_write));
  }
  return out;
}

std::string readme(const Watch& watch, const std::vector<PoolLimits>& pools,
                   const std::vector<StorageLimits>& systems) {
  const auto payload = [&](model::FabricKind kind) { return fmt::to_string(watch.fabric(kind).ping_payload()); };
  return fill_template(asset<"render/acceptance/README.md">(),
                       {{"CLUSTER", watch.cluster().name()},
                        {"BACKEND_PAYLOAD", payload(model::FabricKind::backend)},
                        {"STORAGE_PAYLOAD", payload(model::FabricKind::storage)},
                        {"FRONTEND_PAYLOAD", payload(model::FabricKind::frontend)},
                        {"RDMA_FLAGS", rdma_flags(watch)},
                        {"LIMITS", table_of_limits(pools, systems)},
                        {"ROCE_PERCENT", fmt::to_string(acceptance::kRocePercent)},
                        {"INFINIBAND_PERCENT", fmt::to_string(acceptance::kInfinibandPercent)},
                        {"COLLECTIVE_PERCENT", fmt::to_string(acceptance::kCollectivePercent)},
                        {"NVLINK_PERCENT", fmt::to_string(acceptance::kNvlinkPercent)},
                        {"STORAGE_PERCENT", fmt::to_string(acceptance::kStoragePercent)},
                        {"FOLDER", kFolder}});
}

}  // namespace

bool applies_acceptance(const RenderInput& /*input*/) { return true; }

void render_acceptance(const RenderInput& input, FileSink& sink) {
  const Watch watch(input);
  const std::vector<PoolLimits> pools = acceptance::pool_limits(watch);
  const std::vector<StorageLimits> systems = acceptance::storage_limits(watch);
  add_file(sink, "README.md", readme(watch, pools, systems), "people");
  for (const acceptance::Script& script : acceptance::scripts()) {
    add_file(sink, std::string(script.name), std::string(script.text()), "sh", script.name != "lib.sh");
  }
  add_file(sink, "env.sh", environment_file(watch), "sh");
  add_file(sink, "hosts.tsv", hosts_table(watch), "acceptance scripts");
  add_file(sink, "pools.tsv", pools_table(watch, pools), "acceptance scripts");
  add_file(sink, "bmc.tsv", managers_table(watch), "acceptance scripts");
  add_file(sink, "storage.tsv", storage_table(systems), "acceptance scripts");
  for (const StorageLimits& system : systems) {
    add_file(sink, fmt::format("fio/{}.fio", system.system->name->text), fio_file(watch, system), "fio");
  }
  for (const PoolLimits& one : pools) {
    if (one.in_server_least == 0 && one.all_reduce_least == 0) continue;
    add_file(sink, fmt::format("nccl/{}.sh", one.pool->name()), nccl_script(watch, *one.pool), "nccl-tests", true);
  }
}

}  // namespace weft::render

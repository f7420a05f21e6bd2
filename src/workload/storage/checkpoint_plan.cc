// Duration of a checkpoint and its effect on training: the copy out of GPU memory, the write with all ranks at once,
// the second volume, the renames, and reading it back.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/storage/io.h"
#include "workload/storage/limits.h"
#include "workload/storage/simulation.h"

namespace weft::workload {
namespace {

// The writing ranks: all ranks that hold a part, or one.
struct Writers {
  double size = 0;     // bytes in total
  double largest = 0;  // of the busiest rank
  double ranks = 1;
  std::vector<model::DeviceId> hosts;  // servers they run on
  bool gpudirect = false;
};

Writers writers_of(const model::JobSpec& job, const model::CheckpointSpec& checkpoint,
                   const std::vector<model::DeviceId>& hosts, Bytes size, Bytes largest, std::uint64_t count) {
  Writers writers;
  writers.size = static_cast<double>(size.count());
  writers.gpudirect = *checkpoint.gpudirect;
  if (*checkpoint.layout == model::CheckpointLayout::rank0) {
    writers.largest = writers.size;
    writers.hosts = {hosts.front()};
    return writers;
  }
  writers.ranks = std::max(1.0, static_cast<double>(count));
  writers.largest = std::max(static_cast<double>(largest.count()), writers.size / writers.ranks);
  const auto per_host = static_cast<double>(std::max<std::int64_t>(1, *job.gpus_per_node));
  const auto used =
      static_cast<std::size_t>(std::clamp(std::ceil(writers.ranks / per_host), 1.0, static_cast<double>(hosts.size())));
  writers.hosts.assign(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(used));
  return writers;
}

const model::GpuModel* gpu_of(const model::Cluster& cluster, model::DeviceId host) {
  const model::ServerModel& server = cluster.server_of(host);
  return server.gpu.has_value() ? cluster.catalog().gpu(*server.gpu) : nullptr;
}

// Ranks do not finish at the same time: the busiest one writes `largest`, so a per-rank rate limits the total to rate x
// size / largest.
double of_all(const Writers& writers, double rank_rate) { return rank_rate * writers.size / writers.largest; }

// Between GPU memory and the wire: one process per rank serializes (or cuFile moves pages directly), and the data
// passes a host's memory three times (copy in, copy to the client's buffers, NIC).
void add_host_limits(const model::Cluster& cluster, const Writers& writers, bool write, Limits& limits) {
  if (writers.gpudirect) {
    const double share = write ? kToHostShare : kToDeviceShare;
    limits.add("PCIe of the busiest rank", of_all(writers, pcie_rate(gpu_of(cluster, writers.hosts.front())) * share),
               "training.checkpoint.layout: sharded");
    return;
  }
  limits.add(fmt::format("serialization on {:.0f} rank{}", writers.ranks, writers.ranks > 1 ? "s" : ""),
             of_all(writers, write ? kSaveStream : kLoadStream),
             writers.ranks > 1 ? "training.checkpoint.gpudirect: true" : "training.checkpoint.layout: sharded");
  double memory = 0;
  for (const model::DeviceId host : writers.hosts) {
    memory += static_cast<double>(*cluster.server_of(host).sockets) * kSocketMemory / 3;
  }
  limits.add("host memory", memory, "training.checkpoint.gpudirect: true");
}

double copies_of(const StoragePath& path) {
  return path.volume != nullptr ? std::max(1.0, static_cast<double>(*path.volume->replicas)) : 1.0;
}

// Throughput of the fabric when all writers are active; nullopt if it is not simulated.
Result<std::optional<double>> fabric_rate(const model::Cluster& cluster, const StoragePath& path,
                                          const Writers& writers, const StorageOptions& options) {
  if (options.fidelity == netsim::Fidelity::analytic || path.local) return std::optional<double>();
  StorageTraffic traffic;
  traffic.write = true;
  traffic.clients = path.gateways ? path.clients.size() : writers.hosts.size();
  traffic.in_flight = static_cast<std::uint32_t>(std::ceil(writers.ranks / static_cast<double>(writers.hosts.size())));
  traffic.stripes = static_cast<std::uint32_t>(stripes_of(path));
  traffic.fidelity = options.fidelity;
  traffic.seed = options.seed;
  traffic.memory = options.memory;
  const Result<double> rate = storage_rate(cluster, path, traffic);
  if (!rate.ok()) return rate.error();
  return std::optional<double>(*rate);
}

Limits limits_of(const model::Cluster& cluster, const StoragePath& path, const Writers& writers, bool write,
                 std::optional<double> fabric) {
  Limits limits;
  add_path_limits(path, write, write ? copies_of(path) : 1.0, writers.hosts.size(), limits);
  const auto stripes = static_cast<double>(stripes_of(path));
  add_stripe_limit(path, write, writers.ranks, stripes, system_key(path, "stripe_count"), stripes, limits);
  add_host_limits(cluster, writers, write, limits);
  if (fabric) {
    limits.add(fmt::format("{} fabric with all ranks {}", model::to_text(path.fabric), write ? "writing" : "reading"),
               *fabric, path.fabric_remedy);
  }
  return limits;
}

// Metadata work for `files` files: created under a temporary name, closed, renamed (three operations each, Lustre's and
// NFS's own count); then the data is flushed and the marker of the last good checkpoint renamed: two more round trips.
double rename_seconds(const StoragePath& path, double files) {
  const double operations = 3 * files;
  return (path.opens > 0 ? operations / path.opens : 0.0) + 2 * read_latency(path);
}

// Whether a snapshot fits into host memory: the memory of the server model, minus a quarter for the job itself.
bool snapshot_fits(const model::Cluster& cluster, const Writers& writers) {
  double memory = 0;
  for (const model::DeviceId host : writers.hosts)
    memory += 0.75 * static_cast<double>(cluster.server_of(host).memory->count());
  return writers.size <= memory;
}

// While a checkpoint is written to the system that serves the samples, its drives and controllers do both. Reads get
// what writes leave, or half if both would use everything (servers alternate between requests). Links are full duplex:
// reads come in while checkpoints go out.
double read_share_of(const StoragePath& path, double write_rate, const ReadPlan& reads) {
  const double most = path.write / copies_of(path);
  const auto wanted = static_cast<double>(reads.available.per_second.count());
  if (most <= 0 || path.read <= 0 || wanted <= 0) return 1;
  const double left = path.read * std::max(0.5, 1 - write_rate / most);
  return std::min(1.0, left / wanted);
}

class Planner {
 public:
  Planner(const model::Cluster& cluster, const model::JobSpec& job, const std::vector<model::DeviceId>& hosts,
          const StorageOptions& options)
      : cluster_(cluster), job_(job), hosts_(hosts), options_(options) {}

  // The plan of the first volume; empty without storage.
  Result<CheckpointPlan> plan(Bytes size, Bytes largest, std::uint64_t count, const ReadPlan& reads) {
    const model::CheckpointSpec& spec = *job_.training->checkpoint;
    const Writers writers = writers_of(job_, spec, hosts_, size, largest, count);
    CheckpointPlan plan;
    plan.size = size;
    plan.largest_rank = Bytes(std::llround(writers.largest));
    // One file per writer, plus an index.
    plan.files = static_cast<std::uint64_t>(writers.ranks) + 1;
    const auto path = path_of(spec.volume, "training.checkpoint.volume");
    if (!path.ok()) return path.error();
    if (!path->has_value()) return plan;
    const Status status = fill(**path, writers, spec, reads, plan);
    if (!status.ok()) return status.error();
    return plan;
  }

 private:
  Result<std::optional<StoragePath>> path_of(const model::Sourced<std::string>& volume, std::string_view key) {
    auto path = storage_path(cluster_, job_, hosts_, volume, model::VolumePurpose::checkpoint, key, options_.tcp);
    if (path.ok() && path->has_value() && (*path)->volume != nullptr && *(*path)->volume->read_only) {
      return Error{ErrorCode::invalid_input, fmt::format("volume `{}` is read-only", (*path)->volume->name->text),
                   std::string(key)};
    }
    return path;
  }

  Status fill(const StoragePath& path, const Writers& writers, const model::CheckpointSpec& spec, const ReadPlan& reads,
              CheckpointPlan& plan) {
    const Result<std::optional<double>> fabric = fabric_rate(cluster_, path, writers, options_);
    if (!fabric.ok()) return fabric.error();
    const Limits limits = limits_of(cluster_, path, writers, true, *fabric);
    const auto files = static_cast<double>(plan.files);
    const double rate = limits.least();
    plan.any = true;
    plan.volume = path.volume != nullptr ? path.volume->name->text : path.system->name->text;
    plan.protocol = protocol_of(path);
    plan.fabric = path.fabric;
    plan.available = byte_rate(rate);
    plan.limits = limits.finish();
    double rename = rename_seconds(path, files);
    double write = writers.size / rate + rename;
    if (spec.second.has_value()) {
      const auto second = path_of(spec.second, "training.checkpoint.second");
      if (!second.ok()) return second.error();
      const Result<std::optional<double>> other = fabric_rate(cluster_, **second, writers, options_);
      if (!other.ok()) return other.error();
      rename += rename_seconds(**second, files);
      write +=
          writers.size / limits_of(cluster_, **second, writers, true, *other).least() + rename_seconds(**second, files);
    }
    const bool waits = *spec.mode == model::CheckpointMode::synchronous || !snapshot_fits(cluster_, writers);
    // A snapshot is copied to pinned memory; a direct write needs no copy, but then training waits for it.
    const bool copied = !writers.gpudirect || !waits;
    const double to_host = pcie_rate(gpu_of(cluster_, writers.hosts.front())) * kToHostShare;
    const double copy = copied ? writers.largest / to_host : 0.0;
    plan.copy_time = sim_time(copy);
    plan.rename_time = sim_time(rename);
    plan.write_time = sim_time(write);
    plan.stall = sim_time(waits ? copy + write : copy);
    const double part = path.gateways ? 1.0
                                      : static_cast<double>(writers.hosts.size()) /
                                            static_cast<double>(std::max<std::size_t>(1, path.clients.size()));
    plan.utilization = path.local ? 0.0 : std::min(1.0, rate / (path.client_links * part));
    // Links have the same rate in the other direction.
    const double back = limits_of(cluster_, path, writers, false, *fabric).least();
    plan.load_time = sim_time(read_latency(path) + writers.size / back + (path.opens > 0 ? files / path.opens : 0.0));
    share_with(path, rate, reads, plan);
    return {};
  }

  void share_with(const StoragePath& path, double rate, const ReadPlan& reads, CheckpointPlan& plan) const {
    if (!reads.any) return;
    const auto data = storage_path(cluster_, job_, hosts_, job_.training->data->volume, model::VolumePurpose::dataset,
                                   "training.data.volume", options_.tcp);
    if (!data.ok() || !data->has_value()) return;
    const StoragePath& other = **data;
    const bool same = other.system == path.system || (other.pool == path.pool && !path.local);
    plan.shares_reads = same || (!path.local && !other.local && other.fabric == path.fabric);
    if (same) plan.read_share = read_share_of(path, rate, reads);
  }

  const model::Cluster& cluster_;
  const model::JobSpec& job_;
  const std::vector<model::DeviceId>& hosts_;
  const StorageOptions& options_;
};

}  // namespace

Result<CheckpointPlan> plan_checkpoint(const model::Cluster& cluster, const model::JobSpec& job,
                                       const std::vector<model::DeviceId>& hosts, Bytes size, Bytes largest_rank,
                                       std::uint64_t writers, const ReadPlan& reads, const StorageOptions& options) {
  CHECK(job.training.has_value(), "a job without a training section writes nothing");
  if (hosts.empty() || size.count() <= 0) return CheckpointPlan();
  return Planner(cluster, job, hosts, options).plan(size, largest_rank, writers, reads);
}

}  // namespace weft::workload

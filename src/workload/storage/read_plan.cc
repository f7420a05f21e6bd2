// How fast a job's servers read their samples: every link of the chain from drives to GPU memory as a rate for all
// servers together; the lowest rate is the bottleneck.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workload/storage/io.h"
#include "workload/storage/limits.h"
#include "workload/storage/simulation.h"

namespace weft::workload {
namespace {

constexpr double kGib = 1'073'741'824.0;

// What a step reads, and how.
struct Reading {
  double samples = 0;       // per step
  double sample = 0;        // bytes
  double file_samples = 1;  // per file
  double opens = 0;         // files opened per sample
  double dataset = 0;       // bytes; 0: more than the run reads
  double workers = 1;       // loader processes in the whole job
  double gpus = 1;
  double hosts = 1;
  bool shuffle = true;
};

// Open files per process by default (RLIMIT_NOFILE's soft limit on Linux).
constexpr double kOpenFiles = 1024;

// In order, a file is opened once for all its samples. Shuffled, the probability that a sample's file is still open is
// the share of the data set's files that a process may keep open.
double opens_of(const Reading& reading, const model::VolumeSpec* volume) {
  if (!reading.shuffle) return 1 / reading.file_samples;
  if (reading.file_samples <= 1) return 1;
  double files = INFINITY;
  if (reading.dataset > 0) {
    files = reading.dataset / (reading.sample * reading.file_samples);
  } else if (volume != nullptr && volume->files.has_value()) {
    files = static_cast<double>(*volume->files);
  } else if (volume != nullptr && volume->size.has_value()) {
    files = static_cast<double>(volume->size->count()) / (reading.sample * reading.file_samples);
  }
  return std::max(1 / reading.file_samples, 1 - std::min(1.0, kOpenFiles / files));
}

Reading reading_of(const model::JobSpec& job, const model::DataSpec& data, const StoragePath& path, std::size_t hosts,
                   std::uint64_t step_samples, Bytes sample) {
  Reading reading;
  reading.samples = static_cast<double>(step_samples);
  reading.sample = std::max(1.0, static_cast<double>(sample.count()));
  reading.file_samples = data.file_samples.has_value() ? static_cast<double>(*data.file_samples)
                                                       : std::max(1.0, std::floor(kGib / reading.sample));
  reading.shuffle = *data.shuffle;
  reading.dataset = data.samples.has_value() ? static_cast<double>(*data.samples) * reading.sample : 0.0;
  reading.hosts = static_cast<double>(hosts);
  reading.gpus = reading.hosts * static_cast<double>(*job.gpus_per_node);
  reading.workers = reading.gpus * std::max(1.0, static_cast<double>(*data.workers));
  reading.opens = opens_of(reading, path.volume);
  return reading;
}

void add_metadata(const StoragePath& path, const Reading& reading, Limits& limits) {
  if (path.local || path.opens <= 0 || reading.opens <= 0) return;
  const double rate = path.opens / reading.opens * reading.sample;
  const std::string what = fmt::format("metadata service ({:.0f} opens per second)", path.opens);
  if (reading.file_samples <= 1) {
    limits.add(what, rate, "training.data.file_samples: 1000");
  } else if (!*path.system->metadata_striping) {
    limits.add(what, rate, system_key(path, "metadata_striping") + ": true");
  } else if (*path.system->metadata_servers > 0) {
    limits.add(what, rate, system_key(path, "metadata_servers"), static_cast<double>(*path.system->metadata_servers));
  } else {
    limits.add(what, rate, fmt::format("pools.{}.count", path.pool), static_cast<double>(path.servers.size()));
  }
}

// A loader process reads one sample after another, decodes each, and works `prefetch` batches ahead of the GPU
// (PyTorch's DataLoader): prefetching hides time, it does not add requests. Shuffled reads wait for each reply; in
// order, the client reads ahead.
void add_loaders(const StoragePath& path, const model::DataSpec& data, const Reading& reading, double latency,
                 Limits& limits) {
  const double decode = data.decode.has_value() ? static_cast<double>(data.decode->count()) / 1e9 : 0.0;
  const double stream = path.tcp ? std::min(kTcpConnection, kCoreCopy) : kCoreCopy;
  const double busy = (reading.shuffle ? latency : 0.0) + reading.sample / stream + decode;
  const auto workers = static_cast<double>(*data.workers);
  limits.add(reading.shuffle ? "loader processes, one sample at a time" : "loader processes",
             reading.workers * reading.sample / busy, "training.data.workers", std::max(1.0, workers));
}

// Decoding is CPU work: limited to the cores that ranks do not use.
void add_decoding(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts, const model::DataSpec& data,
                  const Reading& reading, Limits& limits) {
  if (!data.decode.has_value() || data.decode->count() <= 0) return;
  double cores = 0;
  for (const model::DeviceId host : hosts) {
    const model::ServerModel& server = cluster.server_of(host);
    cores += std::max(1.0, static_cast<double>(*server.cores - *server.gpus));
  }
  const double decode = static_cast<double>(data.decode->count()) / 1e9;
  limits.add(fmt::format("decoding on {:.0f} cores", cores), std::min(cores, reading.workers) / decode * reading.sample,
             "samples that are decoded before training, or on the GPU");
}

// Through the host, a byte is written to memory by the NIC, read and written by the copy out of the page cache, and
// read by the GPU's DMA; with GPUDirect only PCIe counts.
void add_host(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts, const model::DataSpec& data,
              Limits& limits) {
  double copies = 0;
  double memory = 0;
  double direct = 0;
  for (const model::DeviceId host : hosts) {
    const model::ServerModel& server = cluster.server_of(host);
    const model::GpuModel* gpu = server.gpu.has_value() ? cluster.catalog().gpu(*server.gpu) : nullptr;
    copies += static_cast<double>(*server.gpus) * pcie_rate(gpu) * kToDeviceShare;
    direct += static_cast<double>(*server.gpus) * pcie_rate(gpu);
    memory += static_cast<double>(*server.sockets) * kSocketMemory / 4;
  }
  if (*data.gpudirect) {
    limits.add("PCIe into the GPUs", direct, "servers with faster PCIe");
    return;
  }
  limits.add("host copies", std::min(copies, memory), "training.data.gpudirect: true");
}

// Server memory used by the job itself: its shared memory, and per rank a process with CUDA's context and pinned
// buffers (8 GB) and its loaders (1 GB each). A twentieth is for the system. Assumptions, not measurements.
double cache_bytes(const model::ServerModel& server, const model::JobSpec& job, const model::DataSpec& data) {
  if (*data.cache == model::DataCache::none) return 0;
  if (*data.cache == model::DataCache::local) return static_cast<double>(server.local_nvme->count());
  const auto ranks = static_cast<double>(*job.gpus_per_node);
  const double used =
      static_cast<double>(job.shared_memory->count()) + ranks * (8e9 + 1e9 * static_cast<double>(*data.workers));
  return std::max(0.0, 0.95 * static_cast<double>(server.memory->count()) - used);
}

// Later epochs: the probability that a shuffled sample is in this server's cache is the share of the data set that the
// cache holds. In order, a server reads its own part again and again: the page cache evicts what comes next (LRU)
// unless the part fits, while a cache on drives keeps its content. Direct reads into GPUs bypass the page cache.
double cached_share(const model::Cluster& cluster, const std::vector<model::DeviceId>& hosts, const model::JobSpec& job,
                    const model::DataSpec& data, const Reading& reading) {
  if (reading.dataset <= 0) return 0;
  if (*data.cache == model::DataCache::page && *data.gpudirect) return 0;
  double least = INFINITY;
  for (const model::DeviceId host : hosts) least = std::min(least, cache_bytes(cluster.server_of(host), job, data));
  if (reading.shuffle) return std::min(1.0, least / reading.dataset);
  const double part = reading.dataset / reading.hosts;
  if (*data.cache == model::DataCache::page) return least >= part ? 1.0 : 0.0;
  return std::min(1.0, least / part);
}

// Targets that one request uses at once: as many stripes as a sample covers, or all of a file's if it is read ahead in
// order.
double request_stripes(const StoragePath& path, const Reading& reading) {
  const auto stripes = static_cast<double>(stripes_of(path));
  if (!reading.shuffle) return stripes;
  const auto size = static_cast<double>(std::max<std::int64_t>(1, path.system->stripe_size->count()));
  return std::clamp(std::ceil(reading.sample / size), 1.0, stripes);
}

}  // namespace

Result<ReadPlan> plan_reads(const model::Cluster& cluster, const model::JobSpec& job,
                            const std::vector<model::DeviceId>& hosts, std::uint64_t step_samples, Bytes sample,
                            const StorageOptions& options) {
  CHECK(job.training.has_value(), "a job without a training section reads nothing");
  const model::DataSpec& data = *job.training->data;
  ReadPlan plan;
  if (hosts.empty() || step_samples == 0 || sample.count() <= 0) return plan;
  const Result<std::optional<StoragePath>> found = storage_path(
      cluster, job, hosts, data.volume, model::VolumePurpose::dataset, "training.data.volume", options.tcp);
  if (!found.ok()) return found.error();
  if (!found->has_value()) return plan;
  const StoragePath& path = **found;
  const Reading reading = reading_of(job, data, path, hosts.size(), step_samples, sample);
  const double latency = read_latency(path);
  const double stripes = request_stripes(path, reading);

  Limits limits;
  add_path_limits(path, false, 1, hosts.size(), limits);
  add_stripe_limit(path, false, reading.workers, stripes, "training.data.workers",
                   std::max(1.0, static_cast<double>(*data.workers)), limits);
  add_metadata(path, reading, limits);
  add_loaders(path, data, reading, latency, limits);
  add_decoding(cluster, hosts, data, reading, limits);
  add_host(cluster, hosts, data, limits);
  if (options.fidelity != netsim::Fidelity::analytic && !path.local) {
    StorageTraffic traffic;
    traffic.clients = path.clients.size();
    traffic.in_flight = static_cast<std::uint32_t>(std::min(64.0, std::ceil(reading.workers / reading.hosts)));
    traffic.stripes = static_cast<std::uint32_t>(stripes);
    traffic.fidelity = options.fidelity;
    traffic.seed = options.seed;
    traffic.memory = options.memory;
    const Result<double> rate = storage_rate(cluster, path, traffic);
    if (!rate.ok()) return rate.error();
    limits.add(fmt::format("{} fabric with all servers reading", model::to_text(path.fabric)), *rate,
               path.fabric_remedy);
  }

  plan.any = true;
  plan.volume = path.volume != nullptr ? path.volume->name->text : path.system->name->text;
  plan.protocol = protocol_of(path);
  plan.fabric = path.fabric;
  const double bytes = reading.samples * reading.sample;
  plan.step_bytes = Bytes(std::llround(std::min(bytes, 9e18)));
  plan.step_files = static_cast<std::uint64_t>(std::ceil(reading.samples * reading.opens - 1e-9));
  const double available = limits.least();
  plan.available = byte_rate(available);
  plan.cached = cached_share(cluster, hosts, job, data, reading);
  plan.latency = sim_time(latency);
  plan.step_time = sim_time(latency + bytes / available);
  plan.limits = limits.finish();
  plan.utilization = path.local ? 0.0 : std::min(1.0, available / path.client_links);
  return plan;
}

}  // namespace weft::workload

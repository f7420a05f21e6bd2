// What storage delivers to a job: how fast its servers read samples and write checkpoints on the storage fabric as
// built, the bottleneck of that chain, and how the two slow each other down when they share it. The chain: drives and
// controllers, metadata service, stripes over targets, storage links and switches, server links, PCIe and host memory,
// page cache and local NVMe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"
#include "netsim/sim/options.h"

namespace weft::workload {

using netsim::SimTime;

// One link of the chain with its rate for all servers of the job together; the lowest rate is the bottleneck.
struct IoLimit {
  std::string what;  // "storage links of pool store", "metadata service", "host copies"
  model::ByteRate rate;
  std::string remedy;  // what would raise it: "6 more storage servers", "gpudirect: true"
};

struct ReadPlan {
  bool any = false;  // false: the job reads nothing
  std::string volume;
  std::string protocol;                                   // "NVMe-oF/RDMA", "Lustre (LNet)", "NFS", ...
  model::FabricKind fabric = model::FabricKind::storage;  // or frontend, if the servers are not on a storage fabric
  Bytes step_bytes;                                       // per step, all servers together, first epoch
  std::uint64_t step_files = 0;                           // opened in one step
  model::ByteRate available;                              // all servers together, idle network
  double cached = 0;            // share of reads after the first epoch that are served from the server's own caches
  SimTime step_time;            // to read (and decode) one step's samples at `available`
  SimTime latency;              // of one unloaded read
  std::vector<IoLimit> limits;  // slowest first
  double utilization = 0;       // of the fabric's job-facing links while reading at `available`
};

struct CheckpointPlan {
  bool any = false;
  std::string volume;
  std::string protocol;
  model::FabricKind fabric = model::FabricKind::storage;
  Bytes size;          // one checkpoint, all ranks
  Bytes largest_rank;  // what the busiest rank writes
  std::uint64_t files = 0;
  model::ByteRate available;
  SimTime copy_time;    // GPU memory to host memory; training waits for it in both modes
  SimTime write_time;   // until all data is on stable storage, second volume and rename included
  SimTime rename_time;  // part of it: metadata work after the data (flush, temp-then-rename)
  SimTime stall;        // time that training waits: all of it, or only the copy if asynchronous
  SimTime load_time;    // to read it back on a restart
  std::vector<IoLimit> limits;
  double utilization = 0;
  bool shares_reads = false;  // written to the same system, or over the same links, as samples are read from
  double read_share = 1;      // share of the read rate that remains while a checkpoint is written
};

// Rates of storage traffic that were simulated on one cluster, by everything else that they depend on: changed jobs
// often read and write the same way.
struct StorageMemory {
  struct Key {
    std::string system;
    std::vector<model::DeviceId> clients;
    bool write = false;
    std::size_t writing = 1;  // clients
    std::uint32_t in_flight = 1;
    std::uint32_t stripes = 1;
    bool tcp = false;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, double> rates;  // bytes/s
};

struct StorageOptions {
  netsim::Fidelity fidelity = netsim::Fidelity::flow;  // for incast on the fabric; analytic: the chain's lowest rate
  std::uint64_t seed = 1;
  bool tcp = false;                       // storage without RDMA: kernel sockets
  std::shared_ptr<StorageMemory> memory;  // of this cluster, fidelity and seed; may be empty
};

// `job` is resolved and has a `training` section; `hosts` are the servers it runs on.
[[nodiscard]] Result<ReadPlan> plan_reads(const model::Cluster& cluster, const model::JobSpec& job,
                                          const std::vector<model::DeviceId>& hosts, std::uint64_t step_samples,
                                          Bytes sample, const StorageOptions& options);
// `size` and `largest_rank` come from the model; `writers` is the number of ranks that write (1 for rank0).
[[nodiscard]] Result<CheckpointPlan> plan_checkpoint(const model::Cluster& cluster, const model::JobSpec& job,
                                                     const std::vector<model::DeviceId>& hosts, Bytes size,
                                                     Bytes largest_rank, std::uint64_t writers, const ReadPlan& reads,
                                                     const StorageOptions& options);

}  // namespace weft::workload

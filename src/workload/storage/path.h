// The way between a job's servers and one storage system, as built: whose drives, over which fabric and links, with
// which rates. It says what there is; the plans (storage/read_plan.cc, storage/checkpoint_plan.cc) say what a job gets
// of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/job.h"

namespace weft::workload {

struct StoragePath {
  const model::StorageSpec* system = nullptr;
  const model::VolumeSpec* volume = nullptr;  // none where the file lists no volumes: the system as a whole
  std::string pool;                           // of the storage servers
  bool local = false;                         // drives of the job's own servers: nothing crosses a network
  bool tcp = false;                           // kernel sockets
  model::FabricKind fabric = model::FabricKind::storage;
  std::vector<model::DeviceId> clients;  // whose links are used: the job's servers, or the head nodes between
  std::string client_pool;
  bool gateways = false;  // clients are head nodes
  std::vector<model::DeviceId> servers;
  const model::ServerModel* server = nullptr;  // model of one
  std::int64_t targets = 1;
  // Bytes/s of all together; 0: not rated.
  double read = 0;
  double write = 0;
  bool read_stated = false;  // in the cluster file, for the system as a whole
  bool write_stated = false;
  double server_links = 0;
  double client_links = 0;
  std::optional<double> uplinks;  // nothing crosses an uplink when absent
  double opens = 0;               // a second; 0: not rated
  // What would widen the clients' links, the leaves' uplinks, and what hashing makes of them.
  std::string client_remedy;
  std::string uplink_remedy;
  std::string fabric_remedy;
};

// Which volume a plan is about: the named one; else the first of `purpose` among the job's mounts; else the first
// system that is not cold. Nothing where the cluster has no storage. An error for a name that leads nowhere and for
// servers that reach no storage; `key` is said in it ("training.data.volume").
[[nodiscard]] Result<std::optional<StoragePath>> storage_path(const model::Cluster& cluster, const model::JobSpec& job,
                                                              const std::vector<model::DeviceId>& hosts,
                                                              const model::Sourced<std::string>& volume,
                                                              model::VolumePurpose purpose, std::string_view key,
                                                              bool tcp);

// "NVMe-oF/RDMA", "Lustre (LNet/RDMA)", "NFS/TCP", ...
[[nodiscard]] std::string protocol_of(const StoragePath& path);
// Of one small read, nothing else going on (s).
[[nodiscard]] double read_latency(const StoragePath& path);
// Targets that one file is spread over.
[[nodiscard]] std::int64_t stripes_of(const StoragePath& path);
// TCP connections that one client holds to the system.
[[nodiscard]] std::int64_t connections_of(const StoragePath& path);
// Whether a client keeps to one path to a server while others stand by, instead of using all its links in turn.
[[nodiscard]] bool one_path(const StoragePath& path);

}  // namespace weft::workload

// The path between a job's servers and one storage system, as built: drives, fabric, links and their rates. It
// describes what exists; the plans (storage/read_plan.cc, storage/checkpoint_plan.cc) compute what a job gets of it.
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
  const model::VolumeSpec* volume = nullptr;  // null if the cluster file lists no volumes: the system as a whole
  std::string pool;                           // of the storage servers
  bool local = false;                         // drives of the job's own servers: nothing crosses a network
  bool tcp = false;                           // kernel sockets
  model::FabricKind fabric = model::FabricKind::storage;
  std::vector<model::DeviceId> clients;  // devices whose links are used: the job's servers, or head nodes in between
  std::string client_pool;
  bool gateways = false;  // clients are head nodes
  std::vector<model::DeviceId> servers;
  const model::ServerModel* server = nullptr;  // model of one storage server
  std::int64_t targets = 1;
  // Bytes/s in total; 0: not rated.
  double read = 0;
  double write = 0;
  bool read_stated = false;  // in the cluster file, for the system as a whole
  bool write_stated = false;
  double server_links = 0;
  double client_links = 0;
  std::optional<double> uplinks;  // absent if no traffic crosses an uplink
  double opens = 0;               // per second; 0: not rated
  // How to raise the clients' links, the leaves' uplinks, and the rate that hashing leaves of them.
  std::string client_remedy;
  std::string uplink_remedy;
  std::string fabric_remedy;
};

// Selects the volume of a plan: the named one; else the first of `purpose` among the job's mounts; else the first
// system that is not cold. Nullopt if the cluster has no storage. Returns an error for an unknown name and for servers
// that cannot reach storage; the error names `key` ("training.data.volume").
[[nodiscard]] Result<std::optional<StoragePath>> storage_path(const model::Cluster& cluster, const model::JobSpec& job,
                                                              const std::vector<model::DeviceId>& hosts,
                                                              const model::Sourced<std::string>& volume,
                                                              model::VolumePurpose purpose, std::string_view key,
                                                              bool tcp);

// "NVMe-oF/RDMA", "Lustre (LNet/RDMA)", "NFS/TCP", ...
[[nodiscard]] std::string protocol_of(const StoragePath& path);
// Latency of one small unloaded read (s).
[[nodiscard]] double read_latency(const StoragePath& path);
// Targets that one file is striped over.
[[nodiscard]] std::int64_t stripes_of(const StoragePath& path);
// TCP connections from one client to the system.
[[nodiscard]] std::int64_t connections_of(const StoragePath& path);
// Whether a client uses one active path per server, with the others on standby, instead of all its links in turn.
[[nodiscard]] bool one_path(const StoragePath& path);

}  // namespace weft::workload

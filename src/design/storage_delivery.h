// The throughput that a cluster's storage delivers: the minimum of each system's servers, drives and links. Whether
// that is enough is decided elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace weft::design {

// The lowest of several limits, and its name.
struct StorageBound {
  Bytes rate{INT64_MAX};
  std::string_view by = "nothing";

  void limit(Bytes other, std::string_view name) {
    if (other >= rate) return;
    rate = other;
    by = name;
  }
};

inline constexpr std::string_view kByServers = "servers";
inline constexpr std::string_view kByStated = "stated figure";
inline constexpr std::string_view kByServerLinks = "server links";
inline constexpr std::string_view kByClientLinks = "client links";
inline constexpr std::string_view kByUplinks = "leaf uplinks";

// The limits of one storage system, and the throughput it delivers.
struct StorageDelivery {
  const model::StorageSpec* system = nullptr;
  const model::ServerModel* server = nullptr;
  bool local = false;  // drives in the nodes themselves, not in storage servers
  std::int64_t servers = 0;
  Bytes server_read;
  Bytes server_write;
  Bytes server_links;
  Bytes client_links;
  std::optional<Bytes> uplinks;  // absent if no traffic crosses an uplink
  Bytes capacity;
  std::int64_t metadata_iops = 0;
  StorageBound read;
  StorageBound write;
};

[[nodiscard]] StorageDelivery delivery_of(const model::Cluster& cluster, const model::StorageSpec& system);
// Over the storage fabric.
[[nodiscard]] bool feeds_gpus(const StorageDelivery& delivery);

// All systems that feed GPUs, combined; they share the clients' links.
struct StorageSupply {
  StorageBound read{Bytes(), "no storage system"};
  StorageBound write{Bytes(), "no storage system"};
};

[[nodiscard]] StorageSupply supply_of(const std::vector<StorageDelivery>& deliveries);

[[nodiscard]] Bytes bytes_per_second(const model::Port& port);

}  // namespace weft::design

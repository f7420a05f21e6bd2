// What a cluster's storage delivers: each system's servers, drives and links, and the least of them. Whether that is
// enough is not known here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace weft::design {

// Least of several limits, and which of them it is.
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

// What one storage system has, and what of it arrives.
struct StorageDelivery {
  const model::StorageSpec* system = nullptr;
  const model::ServerModel* server = nullptr;
  bool local = false;  // drives of the nodes themselves, not of storage servers
  std::int64_t servers = 0;
  Bytes server_read;
  Bytes server_write;
  Bytes server_links;
  Bytes client_links;
  std::optional<Bytes> uplinks;  // nothing crosses an uplink when absent
  Bytes capacity;
  std::int64_t metadata_iops = 0;
  StorageBound read;
  StorageBound write;
};

[[nodiscard]] StorageDelivery delivery_of(const model::Cluster& cluster, const model::StorageSpec& system);
// Over the storage fabric, that is.
[[nodiscard]] bool feeds_gpus(const StorageDelivery& delivery);

// All systems that feed GPUs, together; they share the clients' links.
struct StorageSupply {
  StorageBound read{Bytes(), "no storage system"};
  StorageBound write{Bytes(), "no storage system"};
};

[[nodiscard]] StorageSupply supply_of(const std::vector<StorageDelivery>& deliveries);

[[nodiscard]] Bytes bytes_per_second(const model::Port& port);

}  // namespace weft::design

// What a compiled cluster has names for: devices, ports, cables, addresses, subnets, racks, units, pools, and what the
// cluster file defines on top of them. Finds things by their exact name, and suggests names like one that does not
// exist. Searching for parts of names is in inspect/search.h.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace weft::inspect {

enum class ThingKind : std::uint8_t {
  device,
  port,
  cable,
  splitter,
  address,
  subnet,
  rack,
  unit,
  pool,
  partition,
  tenant,
  storage,
  service,
};
inline constexpr std::size_t kThingKinds = 13;
[[nodiscard]] std::string_view to_text(ThingKind kind);

// `index` is that of the cluster's table of its kind, or the position in the cluster file's list. A splitter has that
// of its first cable. An address has none: several devices may have it.
struct Thing {
  ThingKind kind = ThingKind::device;
  std::uint32_t index = 0;
  std::string name;

  template <class Id>
  [[nodiscard]] Id id() const {
    return static_cast<Id>(index);
  }
};

inline constexpr std::size_t kMaxName = 256;  // bytes; no name is longer

// Everything with this name; several if a pool and a partition share it. Letter case is ignored if nothing has exactly
// this name. KIND/NAME finds things of one kind: rack/svc-r01.
[[nodiscard]] std::vector<Thing> find_things(const model::Cluster& cluster, std::string_view name);
// The nearest name, for a message; "" if none is near.
[[nodiscard]] std::string nearest_name(const model::Cluster& cluster, std::string_view name);

// Calls `note` for each thing, except ports, cables, splitters and addresses, which are too many to be named here.
void for_each_thing(const model::Cluster& cluster, const std::function<void(Thing)>& note);

// An address range of the cluster file that is not a subnet with hosts: loopbacks, links between switches, pods.
struct AddressRange {
  std::string name;  // "backend loopbacks"
  Ipv4Prefix prefix;
};
[[nodiscard]] std::vector<AddressRange> address_ranges(const model::Cluster& cluster);
[[nodiscard]] bool prefix_contains(const Ipv6Prefix& prefix, const Ipv6& address);

// One owner of an address: a port, or a device whose loopback it is.
struct AddressOwner {
  model::DeviceId device = model::kNone<model::DeviceId>;
  model::PortId port = model::kNone<model::PortId>;  // kNone: the loopback

  // "train001:be1", "be-spine001:lo"
  [[nodiscard]] std::string name(const model::Cluster& cluster) const;
};
[[nodiscard]] std::vector<AddressOwner> owners_of(const model::Cluster& cluster, Ipv4 address);
[[nodiscard]] std::vector<AddressOwner> owners_of(const model::Cluster& cluster, const Ipv6& address);

}  // namespace weft::inspect

// Compares two compiled clusters: what changing one cluster file into another means for devices, ports, cables,
// addresses, subnets, racks and the bill of materials. Devices are the same if they have the same name; one that is
// gone and one that is new are the same, renamed, if they are the same model at the same place of the floor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "design/bom.h"
#include "model/cluster.h"

namespace weft::inspect {

template <class Id>
struct Pair {
  Id before = model::kNone<Id>;
  Id after = model::kNone<Id>;
};

// One property of something that both clusters have.
struct PropertyChange {
  std::string subject;  // its name in the new cluster
  std::string property;
  std::string before;
  std::string after;
};

enum class AddressChange : std::uint8_t { renumbered, assigned, released, mask_or_gateway };
[[nodiscard]] std::string_view to_text(AddressChange change);

// An address of a device that both clusters have.
struct AddressDifference {
  AddressChange change = AddressChange::renumbered;
  model::DeviceId device = model::kNone<model::DeviceId>;  // in the new cluster
  std::string port;                                        // "be1", "lo"
  std::string before;                                      // "10.60.0.2/26 via 10.60.0.1"; "" for none
  std::string after;
  std::string held_by;  // another port that has the new address in the old cluster: both must change at once
};

struct BomDifference {
  design::BomLine line;  // without counts
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct ClusterDiff {
  std::vector<model::DeviceId> devices_added;    // ids of the new cluster
  std::vector<model::DeviceId> devices_removed;  // ids of the old cluster
  std::vector<Pair<model::DeviceId>> devices_renamed;
  std::vector<PropertyChange> device_changes;

  // Of devices that both clusters have.
  std::vector<model::PortId> ports_added;
  std::vector<model::PortId> ports_removed;
  std::vector<PropertyChange> port_changes;

  std::vector<model::CableId> cables_added;
  std::vector<model::CableId> cables_removed;
  std::vector<Pair<model::CableId>> cables_moved;      // one end stays
  std::vector<Pair<model::CableId>> cables_replaced;   // both ends stay; another part, length or speed
  std::vector<Pair<model::CableId>> cables_relabeled;  // both ends stay; another label

  std::vector<AddressDifference> addresses;
  std::vector<std::string> subnets_added;
  std::vector<std::string> subnets_removed;
  std::vector<PropertyChange> subnet_changes;

  std::vector<std::string> racks_added;
  std::vector<std::string> racks_removed;
  std::vector<PropertyChange> rack_changes;

  std::vector<BomDifference> bom;

  [[nodiscard]] bool empty() const;
};

[[nodiscard]] ClusterDiff compare_clusters(const model::Cluster& before, const model::Cluster& after);

}  // namespace weft::inspect

// One InfiniBand fabric for its subnet manager, ibsim and the GUID list generator: nodes with descriptions, simulated
// GUIDs, roles and partitions. Internal to the `infiniband` target.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "render/core/target.h"

namespace weft::render::ib {

// Role of a node in fat-tree routing.
enum class Role : std::uint8_t { root, inner, compute, io, manager };
[[nodiscard]] std::string_view to_text(Role role);

struct Link {
  int port = 0;
  std::uint32_t far = 0;  // index into Fabric::nodes
  int far_port = 0;
  BitRate speed;
  int lanes = 4;
};

struct Node {
  model::DeviceId device = model::kNone<model::DeviceId>;
  model::PortId adapter = model::kNone<model::PortId>;  // for adapters
  std::string description;                              // "be-spine001", "train001 mlx5_0"
  std::string renamed;                                  // "train001 mlx5_be1": if udev renames adapters
  std::uint64_t guid = 0;                               // in the simulator; on site it is set by the hardware
  int ports = 1;
  Role role = Role::inner;
  std::vector<Link> links;
  std::vector<std::uint32_t> tenants;  // indices into Fabric::tenants whose partition it is a full member of
  bool full = true;                    // member of the default partition: full or limited

  [[nodiscard]] bool is_switch() const { return adapter == model::kNone<model::PortId>; }
  [[nodiscard]] std::uint64_t port_guid() const { return is_switch() ? guid : guid + 1; }
};

// A tenant whose servers are on the fabric.
struct Tenant {
  std::string name;  // as a partition name: letters, digits and '_'
  int pkey = 0;
  bool first = false;  // index 0 of its members' P_Key tables: used by programs without partition support
};

struct Fabric {
  model::FabricKind kind = model::FabricKind::backend;
  const model::FabricSpec* spec = nullptr;
  const model::FabricPlan* plan = nullptr;
  std::vector<Node> nodes;  // switches first, then adapters
  std::vector<Tenant> tenants;
  std::vector<model::DeviceId> managers;  // where the subnet manager runs, in the order of priority
  std::uint32_t first_sm = 0;             // node of the first one
  bool has_managers = false;              // false: a server of a pool runs it
};

[[nodiscard]] bool has_fabric(const model::Cluster& cluster, model::FabricKind kind);
[[nodiscard]] Fabric plan_fabric(const RenderInput& input, model::FabricKind kind);

// IBTA code of an MTU, as used in partitions: 4 is 2048 bytes, 5 is 4096.
[[nodiscard]] int mtu_code(std::int64_t bytes);
[[nodiscard]] std::string guid_text(std::uint64_t guid);  // "0x0257454600000100"
[[nodiscard]] std::string subnet_prefix(model::FabricKind kind);
[[nodiscard]] std::string comment_heading(const model::Cluster& cluster, std::string_view what);

// Files; `simulated` ones contain the simulator's GUIDs and relative paths.
[[nodiscard]] std::string opensm_conf(const model::Cluster& cluster, const Fabric& fabric, bool simulated);
[[nodiscard]] std::string partitions_conf(const model::Cluster& cluster, const Fabric& fabric, bool simulated);
[[nodiscard]] std::string netlist(const model::Cluster& cluster, const Fabric& fabric);
[[nodiscard]] std::string node_table(const model::Cluster& cluster, const Fabric& fabric);
// "" if the system is neither MLNX-OS nor NVOS.
[[nodiscard]] std::string switch_config(const RenderInput& input, const Fabric& fabric, model::DeviceId id);

}  // namespace weft::render::ib

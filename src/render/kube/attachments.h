// Which pod network exists in which namespace, on which subnet, and where its CNI configuration is: in the
// NetworkAttachmentDefinition if one subnet serves every node that the namespace's pods may run on, otherwise on the
// nodes, per unit. Computed once for the target kubernetes/network.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "render/kube/platform.h"

namespace weft::render::kube_platform {

// A pod network in a namespace.
struct Attachment {
  const RailPlan* rail = nullptr;
  std::string space;
  model::SubnetId subnet = model::kNone<model::SubnetId>;  // kNone: the configuration is on the nodes
};

// Nodes with the same CNI files: a unit, a pool within one unit, a slice of the storage network, or a single host.
struct NodeFolder {
  std::string name;
  std::set<model::FabricKind> fabrics;  // whose networks it holds
  const PoolPlan* pool = nullptr;
  std::vector<model::SubnetId> subnets;  // by rail of the pool
  std::vector<std::string> hosts;
  std::vector<std::uint32_t> numbers;  // for a single host, by rail: its share of the subnet's addresses
};

// A subnet that pods get addresses from, and the hosts on it.
struct PodSubnet {
  model::SubnetId id = model::kNone<model::SubnetId>;
  const RailPlan* rail = nullptr;
  std::vector<const PoolPlan*> pools;
  std::vector<std::string> hosts;
  std::int64_t pods = 0;  // maximum on those hosts at the same time
  // nv-ipam and host-local: addresses per host, and the first address of all.
  std::int64_t block = 0;
  Ipv4 first;
  [[nodiscard]] bool has_room() const { return block > 0; }
};

class AttachmentPlan {
 public:
  explicit AttachmentPlan(const RenderInput& input);

  [[nodiscard]] const std::vector<Attachment>& attachments() const { return attachments_; }
  [[nodiscard]] const std::vector<NodeFolder>& folders() const { return folders_; }
  [[nodiscard]] const std::map<model::SubnetId, PodSubnet>& subnets() const { return subnets_; }
  // Whether nodes of the pool need the configuration of a network.
  [[nodiscard]] bool on_nodes(const PoolPlan& pool, const RailPlan& rail) const {
    return on_nodes_.count({&pool, rail.attachment}) > 0;
  }

  // CNI "ipam" section for pods of the rail on the subnet; empty if the subnet has no addresses for pods. `number` is
  // the host's share with host-local.
  [[nodiscard]] Value ipam(const RailPlan& rail, model::SubnetId subnet, std::uint32_t number = 0) const;
  // The plugins after the one that creates the interface: MTU and the RDMA device.
  [[nodiscard]] Value meta_plugins(const RailPlan& rail) const;
  // The whole configuration list.
  [[nodiscard]] Value config(const RailPlan& rail, model::SubnetId subnet, std::uint32_t number = 0) const;
  // The rail's prefix, which contains the subnets of all its units.
  [[nodiscard]] Ipv4Prefix rail_prefix(const RailPlan& rail) const;
  [[nodiscard]] static std::string pool_name(const model::Subnet& subnet);  // of nv-ipam's IPPool

 private:
  void survey();
  void size_blocks();
  void plan_attachments();
  void plan_folders();
  [[nodiscard]] std::vector<model::SubnetId> subnets_of(model::DeviceId server) const;
  [[nodiscard]] std::vector<NodeFolder> folders_of(const PoolPlan& pool,
                                                   std::map<model::SubnetId, std::uint32_t>& shares) const;
  [[nodiscard]] std::string folder_of(const PoolPlan& pool, model::DeviceId server) const;

  const RenderInput& input_;
  std::vector<const PoolPlan*> pools_;
  std::map<const PoolPlan*, std::vector<std::set<model::SubnetId>>> used_;  // by rail of the pool
  std::map<model::SubnetId, PodSubnet> subnets_;
  std::vector<Attachment> attachments_;
  std::set<std::pair<const PoolPlan*, std::string>> on_nodes_;
  std::vector<NodeFolder> folders_;
};

}  // namespace weft::render::kube_platform

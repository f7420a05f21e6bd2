// Names and numbers that several rendered files must agree on and that the Cluster does not hold itself: what an
// interface is called on a host and in a pod, which resource a rail is, which label finds a pool, which environment a
// job runs with. Worked out once; every renderer looks here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/cluster.h"

namespace weft::render {

// Labels of nodes and pods. The value of the first is the pool's name.
inline constexpr std::string_view kPoolLabel = "weft/pool";
inline constexpr std::string_view kUnitLabel = "weft/unit";  // scalable unit on the backend
inline constexpr std::string_view kRackLabel = "weft/rack";
inline constexpr std::string_view kFabricLabel = "weft/fabric";  // "frontend" on nodes that announce service addresses
inline constexpr std::string_view kExposeLabel = "weft/expose";  // "frontend" on Services whose address is announced
inline constexpr std::string_view kServiceLabel = "app.kubernetes.io/name";

// Namespaces of what belongs to no tenant.
inline constexpr std::string_view kNetworkOperatorSpace = "nvidia-network-operator";
inline constexpr std::string_view kGpuOperatorSpace = "gpu-operator";
inline constexpr std::string_view kMonitoringSpace = "monitoring";
inline constexpr std::string_view kGatewaySpace = "gateway";
inline constexpr std::string_view kResourcePrefix = "nvidia.com/";  // of SR-IOV and GPU resources

// Host numbers of the services in the out-of-band subnet, below the first that a device gets (16).
inline constexpr std::uint64_t kOobSyslogNumber = 10;  // where the file names no server
inline constexpr std::uint64_t kOobTimeNumber = 11;
inline constexpr std::uint64_t kOobNameNumber = 12;

// Ports of services that listen on the hosts' frontend addresses.
inline constexpr int kSlurmctldPort = 6817;
inline constexpr int kSlurmdPort = 6818;
inline constexpr int kSlurmdbdPort = 6819;
inline constexpr int kSlurmrestdPort = 6820;
inline constexpr int kNodeExporterPort = 9100;
inline constexpr int kDcgmExporterPort = 9400;
inline constexpr int kSlurmExporterPort = 9341;
inline constexpr int kPrometheusPort = 9090;
inline constexpr int kAlertmanagerPort = 9093;

// One backend or storage port that every server of a pool has, as hosts, pods and jobs call it.
struct RailPlan {
  model::FabricKind fabric = model::FabricKind::backend;
  std::uint32_t rail = 0;  // from 0
  std::uint32_t plane = 0;
  std::string interface;      // on the host: "be1", "sto2" (udev names it so)
  std::string rdma_device;    // on the host: "mlx5_be1"; a virtual function's name begins with it too
  std::string attachment;     // NetworkAttachmentDefinition: "roce-1", "ib-1", "sto-1"
  std::string resource;       // SR-IOV resource without prefix: "roce_1", "ib_1", "sto_1"
  std::string pod_interface;  // "net1": backend rails first, then storage
};

struct PoolPlan {
  const model::PoolSpec* spec = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::ServerModel* server = nullptr;
  const model::GpuModel* gpu = nullptr;  // null for servers without
  std::vector<RailPlan> rails;           // backend first
  std::int64_t virtual_functions = 0;    // of each port
  std::string hosts;                     // folded: "train[001-016]"
  std::string gpu_type;                  // Slurm's and labels' name of the GPU: "h100"
  bool one_subnet = true;                // all its servers share one subnet a rail (one unit)

  [[nodiscard]] bool has_gpus() const { return gpu != nullptr; }
  [[nodiscard]] const std::string& name() const { return spec->name->text; }
};

using Environment = std::vector<std::pair<std::string, std::string>>;

class RenderPlan {
 public:
  explicit RenderPlan(const model::Cluster& cluster);

  [[nodiscard]] const std::vector<PoolPlan>& pools() const { return pools_; }
  [[nodiscard]] const PoolPlan* pool(std::string_view name) const;  // null when there is none
  // Pools whose GPUs Slurm hands out, and those that Kubernetes does; by allocator, partitions and role.
  [[nodiscard]] bool in_slurm(const PoolPlan& pool) const;
  [[nodiscard]] bool in_kubernetes(const PoolPlan& pool) const;  // has a kubelet
  [[nodiscard]] bool has_kubernetes() const { return kubernetes_; }
  [[nodiscard]] bool has_slurm() const { return slurm_; }
  // "slurm-bridge-scheduler" where Slurm owns the GPUs that pods ask for, else "".
  [[nodiscard]] const std::string& pod_scheduler() const { return pod_scheduler_; }

  // Hosts of the control plane, in order; the first are the controllers of Slurm and members of etcd.
  [[nodiscard]] const std::vector<model::DeviceId>& controllers() const { return controllers_; }
  [[nodiscard]] const std::vector<model::DeviceId>& jump_hosts() const { return jump_hosts_; }
  // A server's address on the frontend (where it is managed from), none if it has no such port.
  [[nodiscard]] Ipv4 frontend_address(model::DeviceId server) const;
  // Addresses that LoadBalancer services get: the last eighth of the frontend's subnet, less the broadcast.
  [[nodiscard]] std::pair<Ipv4, Ipv4> service_addresses() const { return service_addresses_; }
  // The address of the n-th service of the file; the gateway's own is number 0, services count from 1.
  [[nodiscard]] Ipv4 service_address(std::size_t n) const;
  // Frontend leaves that nodes peer with (the first two), with the address each answers on in the hosts' subnet.
  struct Peer {
    model::DeviceId leaf = model::kNone<model::DeviceId>;
    Ipv4 address;
    std::uint32_t asn = 0;
  };
  [[nodiscard]] const std::vector<Peer>& frontend_peers() const { return frontend_peers_; }

  // What every rank of a job on the pool needs to use the fabrics as designed: NCCL_* and UCX_* with the HCA list, GID
  // index, traffic class of the backend, GDR level; the socket interface is "eth0" in a pod, the frontend's on a host;
  // then `workload.environment`, which wins.
  [[nodiscard]] Environment environment(const PoolPlan& pool, bool in_pod) const;
  // "fe1", or the bond of the frontend links: "bond-fe".
  [[nodiscard]] std::string frontend_interface(const PoolPlan& pool) const;

  [[nodiscard]] const model::Cluster& cluster() const { return cluster_; }

 private:
  void plan_pools();
  void plan_frontend();

  const model::Cluster& cluster_;
  std::vector<PoolPlan> pools_;
  std::vector<model::DeviceId> controllers_;
  std::vector<model::DeviceId> jump_hosts_;
  std::vector<Peer> frontend_peers_;
  std::pair<Ipv4, Ipv4> service_addresses_;
  std::string pod_scheduler_;
  bool kubernetes_ = false;
  bool slurm_ = false;
};

}  // namespace weft::render

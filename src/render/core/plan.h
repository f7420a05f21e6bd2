// Names and numbers that several rendered files must agree on and that are not in the Cluster: interface names on hosts
// and in pods, the resource of each rail, the label that selects a pool, the environment of a job. Computed once and
// used by every renderer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/cluster.h"

namespace weft::render {

// Labels of nodes and pods. The value of the first is the pool name.
inline constexpr std::string_view kPoolLabel = "weft/pool";
inline constexpr std::string_view kUnitLabel = "weft/unit";  // scalable unit on the backend
inline constexpr std::string_view kRackLabel = "weft/rack";
inline constexpr std::string_view kFabricLabel = "weft/fabric";  // "frontend" on nodes that announce service addresses
inline constexpr std::string_view kExposeLabel = "weft/expose";  // "frontend" on Services whose address is announced
inline constexpr std::string_view kServiceLabel = "app.kubernetes.io/name";

// Namespaces for objects without a tenant.
inline constexpr std::string_view kNetworkOperatorSpace = "nvidia-network-operator";
inline constexpr std::string_view kGpuOperatorSpace = "gpu-operator";
inline constexpr std::string_view kMonitoringSpace = "monitoring";
inline constexpr std::string_view kGatewaySpace = "gateway";
inline constexpr std::string_view kResourcePrefix = "nvidia.com/";  // of SR-IOV and GPU resources

// Host numbers of the services in the out-of-band subnet, below the first device address (16).
inline constexpr std::uint64_t kOobSyslogNumber = 10;  // if the file names no server
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

// One backend or storage port that every server of a pool has, with its names on hosts, in pods and in jobs.
struct RailPlan {
  model::FabricKind fabric = model::FabricKind::backend;
  std::uint32_t rail = 0;  // from 0
  std::uint32_t plane = 0;
  std::string interface;      // on the host: "be1", "sto2" (set by udev)
  std::string rdma_device;    // on the host: "mlx5_be1"; also the prefix of the names of virtual functions
  std::string attachment;     // NetworkAttachmentDefinition: "roce-1", "ib-1", "sto-1"
  std::string resource;       // SR-IOV resource without prefix: "roce_1", "ib_1", "sto_1"
  std::string pod_interface;  // "net1": backend rails first, then storage
};

struct PoolPlan {
  const model::PoolSpec* spec = nullptr;
  const model::DeviceGroup* group = nullptr;
  const model::ServerModel* server = nullptr;
  const model::GpuModel* gpu = nullptr;  // null for servers without GPUs
  std::vector<RailPlan> rails;           // backend first
  std::int64_t virtual_functions = 0;    // per port
  std::string hosts;                     // folded: "train[001-016]"
  std::string gpu_type;                  // name of the GPU in Slurm and in labels: "h100"
  bool one_subnet = true;                // all its servers share one subnet per rail (one unit)

  [[nodiscard]] bool has_gpus() const { return gpu != nullptr; }
  [[nodiscard]] const std::string& name() const { return spec->name->text; }
};

using Environment = std::vector<std::pair<std::string, std::string>>;

class RenderPlan {
 public:
  explicit RenderPlan(const model::Cluster& cluster);

  [[nodiscard]] const std::vector<PoolPlan>& pools() const { return pools_; }
  [[nodiscard]] const PoolPlan* pool(std::string_view name) const;  // null if there is none
  // Pools whose GPUs Slurm allocates, and those whose GPUs Kubernetes allocates; by allocator, partitions and role.
  [[nodiscard]] bool in_slurm(const PoolPlan& pool) const;
  [[nodiscard]] bool in_kubernetes(const PoolPlan& pool) const;  // has a kubelet
  [[nodiscard]] bool has_kubernetes() const { return kubernetes_; }
  [[nodiscard]] bool has_slurm() const { return slurm_; }
  // "slurm-bridge-scheduler" if Slurm owns the GPUs that pods request, else "".
  [[nodiscard]] const std::string& pod_scheduler() const { return pod_scheduler_; }

  // Control-plane hosts, in order; the first are the Slurm controllers and etcd members.
  [[nodiscard]] const std::vector<model::DeviceId>& controllers() const { return controllers_; }
  [[nodiscard]] const std::vector<model::DeviceId>& jump_hosts() const { return jump_hosts_; }
  // A server's frontend address (used to manage it); none if it has no frontend port.
  [[nodiscard]] Ipv4 frontend_address(model::DeviceId server) const;
  // Address range for LoadBalancer services: the last eighth of the frontend subnet, without the broadcast address.
  [[nodiscard]] std::pair<Ipv4, Ipv4> service_addresses() const { return service_addresses_; }
  // Address of the n-th service in the file; number 0 is the gateway's own, services start at 1.
  [[nodiscard]] Ipv4 service_address(std::size_t n) const;
  // Frontend leaves that nodes peer with (the first two), with the address of each in the hosts' subnet.
  struct Peer {
    model::DeviceId leaf = model::kNone<model::DeviceId>;
    Ipv4 address;
    std::uint32_t asn = 0;
  };
  [[nodiscard]] const std::vector<Peer>& frontend_peers() const { return frontend_peers_; }

  // Environment that every rank of a job on the pool needs to use the fabrics as designed: NCCL_* and UCX_* with the
  // HCA list, GID index, traffic class of the backend, GDR level; the socket interface is "eth0" in a pod, the
  // frontend's on a host; then `workload.environment`, which takes precedence.
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

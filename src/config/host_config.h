// Configuration of hosts and jobs: NICs, secondary networks, environments, mounts, kernel settings, Slurm. Read from
// Kubernetes objects, sbatch scripts and the usual files under /etc. Checks are elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/ip.h"
#include "base/yaml.h"
#include "config/port_qos.h"

namespace weft::config {

// A NIC as configured by a NicConfigurationTemplate (or a script with mlxconfig and mlnx_qos).
struct NicConfig {
  std::string name;
  SourceLocation place;
  std::string node_selector;  // "key=value,..." or "" for all
  std::string nic_type;       // PCI device id or name the template selects
  std::vector<std::string> interfaces;
  Setting<bool> roce_optimized;
  Setting<model::TrustMode> trust;
  Setting<int> tos;  // default type of service of RDMA traffic: DSCP << 2 | ECN
  std::array<Setting<bool>, kClasses> pfc;
  Setting<int> cnp_dscp;
  Setting<int> cnp_priority;
  Setting<bool> ecn;  // DCQCN on the lossless priorities
  Setting<std::int64_t> cc_priority_mask;
  Setting<std::int64_t> mtu;
  Setting<bool> global_pause;
  Setting<std::int64_t> virtual_functions;
  Setting<std::string> link_type;  // Ethernet, Infiniband
  Setting<bool> gpu_direct;
};

// A NetworkAttachmentDefinition, or an object that generates one, such as SriovNetwork.
struct AttachmentConfig {
  struct Route {
    SourceLocation place;
    Ipv4Prefix destination;
    Ipv4 gateway;
  };
  std::string kind;  // NetworkAttachmentDefinition, SriovNetwork, HostDeviceNetwork, MacvlanNetwork, ...
  std::string name;
  std::string space;  // namespace where pods find it
  SourceLocation place;
  Setting<std::string> plugin;    // CNI type: sriov, ib-sriov, macvlan, host-device, rdma
  Setting<std::string> resource;  // k8s.v1.cni.cncf.io/resourceName or spec.resourceName
  Setting<std::int64_t> mtu;
  Setting<std::int64_t> vlan;
  Setting<std::string> ipam;  // host-local, whereabouts, nv-ipam, static, dhcp
  std::vector<Setting<Ipv4Prefix>> subnets;
  std::vector<Route> routes;
  Setting<std::string> gateway;
  Setting<std::string> pool;  // IPPool or CIDRPool that nv-ipam allocates from
};

// SriovNetworkNodePolicy.
struct SriovPolicyConfig {
  std::string name;
  SourceLocation place;
  Setting<std::string> resource;
  Setting<std::int64_t> virtual_functions;
  Setting<std::int64_t> mtu;
  Setting<bool> rdma;
  Setting<std::string> device_type;
  std::vector<Setting<std::string>> interfaces;  // pfNames
  std::string node_selector;
};

// A pod template or a batch script, with the environment of its processes.
struct AppConfig {
  struct Variable {
    std::string name;
    Setting<std::string> value;
  };
  struct Network {
    std::string name;       // attachment
    std::string interface;  // net1, or "" if Multus assigns it
    SourceLocation place;
  };
  struct Resource {
    std::string name;  // nvidia.com/gpu
    Setting<std::string> amount;
  };
  struct Mount {
    std::string volume;
    std::string claim;  // PVC or ""
    std::string path;
    Setting<bool> read_only;
    SourceLocation place;
  };
  std::string kind;  // Pod, Job, PyTorchJob, TrainJob, Deployment, sbatch, environment
  std::string name;
  std::string space;
  std::string role;  // replica type of a job with several: Worker, Launcher
  SourceLocation place;
  std::vector<Variable> labels;  // of the pod, like the next
  std::vector<Variable> annotations;
  std::vector<Variable> environment;  // of all containers; the last of a name wins
  bool more_environment = false;      // more variables come from a source that is not read (envFrom)
  std::vector<Network> networks;
  std::vector<Resource> limits;  // of all main containers
  std::vector<Resource> requests;
  std::vector<Mount> mounts;
  std::vector<Setting<std::string>> constraints;  // nodeSelector entries, --constraint, --nodelist, affinity terms
  std::vector<Setting<std::string>> tolerations;  // key=value:Effect
  std::vector<std::string> containers;  // main containers; any beyond the first of a training pod are sidecars
  std::vector<Setting<std::string>> images;
  Setting<std::string> scheduler;  // schedulerName
  Setting<std::string> priority_class;
  Setting<bool> host_network;
  Setting<bool> privileged;
  Setting<std::string> shared_memory;  // sizeLimit of an emptyDir on /dev/shm
  Setting<std::string> readiness;      // httpGet, tcpSocket, exec
  Setting<std::string> liveness;
  Setting<std::int64_t> replicas;
  std::vector<Setting<std::string>> options;   // of sbatch: "--gres=gpu:8", "--gpu-bind=closest"
  std::vector<Setting<std::string>> commands;  // lines or arguments that rules check: torchrun flags

  [[nodiscard]] const Setting<std::string>* variable(std::string_view name) const;
  [[nodiscard]] const Setting<std::string>* limit(std::string_view name) const;
};

// Any Kubernetes object, complete, for rules about one kind.
struct KubeObject {
  std::string api_group;  // "" for core
  std::string api_version;
  std::string kind;
  std::string name;
  std::string space;
  SourceLocation place;
  YamlNode tree;

  // The node at "spec.template.spec.containers"; null if any part is missing.
  [[nodiscard]] const YamlNode* at(std::string_view path) const;
};

// A file of settings: slurm.conf, gres.conf, cgroup.conf, sysctl.conf, /etc/exports, fstab or the output of mount,
// munge key listing. One entry per line.
struct SettingsFile {
  enum class Kind : std::uint8_t { slurm, gres, cgroup, sysctl, exports, mounts, nvme, nccl };
  struct Entry {
    std::string key;    // lower case for slurm; export path or mount point
    std::string value;  // options or source
    SourceLocation place;
  };
  Kind kind = Kind::slurm;
  FileId file = 0;
  std::vector<Entry> entries;

  [[nodiscard]] const Entry* find(std::string_view key) const;  // the last of the name, as the programs use
};

}  // namespace weft::config

// HO001 to HO018: secondary networks of pods, their virtual functions, and the NICs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "check/core/host_rule_tools.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::check {
namespace {

void check_attachment_default_route(const CheckInput& input, Report& report) {
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    for (const config::AttachmentConfig::Route& route : attachment.routes) {
      if (route.destination.length != 0) continue;
      report.add(attachment.name, route.place,
                 fmt::format("pod network `{}` adds a default route: non-RDMA traffic of the pod leaves through it",
                             attachment.name));
    }
  }
}

void check_attachment_mtu(const CheckInput& input, Report& report) {
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    const auto fabric = fabric_of(input, attachment);
    // A subnet of another fabric is a separate finding, not an MTU mismatch.
    const bool rail = fabric == model::FabricKind::backend || fabric == model::FabricKind::storage;
    const model::FabricSpec* spec = rail ? fabric_spec(input, *fabric) : nullptr;
    if (spec == nullptr || !attachment.mtu.known() || !spec->mtu.has_value()) continue;
    if (*attachment.mtu == spec->mtu.value) continue;
    Finding& finding = report.add(attachment.name, attachment.mtu.place,
                                  fmt::format("pod network `{}` has MTU {}, the {} fabric {}", attachment.name,
                                              *attachment.mtu, model::to_text(*fabric), spec->mtu.value));
    finding.related.push_back(related(spec->mtu.place, "the fabric's MTU"));
  }
}

void check_sriov_policy_mtu(const CheckInput& input, Report& report) {
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (!attachment.mtu.known() || !attachment.resource.known()) continue;
    const config::SriovPolicyConfig* policy = find_policy(input.config(), *attachment.resource);
    if (policy == nullptr || !policy->mtu.known() || *policy->mtu >= *attachment.mtu) continue;
    Finding& finding =
        report.add(policy->name, policy->mtu.place,
                   fmt::format("policy `{}` sets the physical function to MTU {}, below the {} of pod network `{}`",
                               policy->name, *policy->mtu, *attachment.mtu, attachment.name));
    finding.related.push_back(related(attachment.mtu.place, "MTU of the virtual function"));
  }
}

bool takes_device(const config::AttachmentConfig& attachment) {
  const std::string& plugin = *attachment.plugin;
  return attachment.plugin.known() && (plugin == "sriov" || plugin == "ib-sriov" || plugin == "host-device");
}

void check_attachment_resource(const CheckInput& input, Report& report) {
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (!takes_device(attachment) || attachment.resource.known()) continue;
    report.add(
        attachment.name, attachment.place,
        fmt::format(
            "pod network `{}` of type {} has no resource annotation: the scheduler cannot account for its devices",
            attachment.name, *attachment.plugin));
  }
}

void check_attachment_resource_provider(const CheckInput& input, Report& report) {
  if (input.config().sriov.empty()) return;
  const auto provided = provided_resources(input.config());
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (!takes_device(attachment) || !attachment.resource.known()) continue;
    if (provided.count(resource_part(*attachment.resource)) > 0) continue;
    report.add(attachment.name, attachment.resource.place,
               fmt::format("no SriovNetworkNodePolicy provides `{}`, the resource of pod network `{}`",
                           *attachment.resource, attachment.name));
  }
}

bool requests(const config::AppConfig& app, std::string_view resource) {
  const auto is = [&](const config::AppConfig::Resource& entry) {
    return resource_part(entry.name) == resource_part(resource);
  };
  return std::any_of(app.limits.begin(), app.limits.end(), is) ||
         std::any_of(app.requests.begin(), app.requests.end(), is);
}

void check_pod_device_request(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  const AttachmentIndex attachments(input);
  const auto resources = provided_resources(input.config());
  for (const config::AppConfig& app : input.config().apps) {
    for (const config::AppConfig::Network& network : app.networks) {
      const AttachmentIndex::Entry* entry = attachments.find(network.name, app.space);
      const config::AttachmentConfig* attachment = entry == nullptr ? nullptr : entry->attachment;
      if (attachment == nullptr || !attachment->resource.known() || requests(app, *attachment->resource)) continue;
      const bool provided = input.config().sriov.empty() || resources.count(resource_part(*attachment->resource)) > 0;
      if (!provided) continue;  // a resource that no object provides is reported at the network
      findings.add(
          app, network.place,
          fmt::format("attaches `{}` but does not request its resource `{}`", network.name, *attachment->resource),
          {related(attachment->resource.place, "the network's resource")});
    }
  }
}

void check_requested_device_provider(const CheckInput& input, Report& report) {
  if (input.config().sriov.empty()) return;
  AppFindings findings(report);
  const auto provided = provided_resources(input.config());
  for (const config::AppConfig& app : input.config().apps) {
    for (const config::AppConfig::Resource& limit : app.limits) {
      if (!is_network_resource(limit.name) || provided.count(resource_part(limit.name)) > 0) continue;
      findings.add(
          app, limit.amount.place,
          fmt::format("requests `{}`, which no SriovNetworkNodePolicy provides: its pods remain pending", limit.name));
    }
  }
}

void check_attached_networks_exist(const CheckInput& input, Report& report) {
  if (input.config().attachments.empty()) return;
  AppFindings findings(report);
  const AttachmentIndex attachments(input);
  for (const config::AppConfig& app : input.config().apps) {
    for (const config::AppConfig::Network& network : app.networks) {
      if (is_placeholder(network.name) || attachments.find(network.name, app.space) != nullptr) continue;
      findings.add(app, network.place, fmt::format("attaches `{}`, which no file defines", network.name));
    }
  }
}

void check_rail_subnets(const CheckInput& input, Report& report) {
  // Sorted by address, a prefix can only overlap the one before: prefixes nest or are disjoint.
  std::vector<std::pair<const config::AttachmentConfig*, const config::Setting<Ipv4Prefix>*>> all;
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    for (const config::Setting<Ipv4Prefix>& subnet : attachment.subnets) all.emplace_back(&attachment, &subnet);
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    if (a.first->space != b.first->space) return a.first->space < b.first->space;
    const Ipv4Prefix& x = a.second->value;
    const Ipv4Prefix& y = b.second->value;
    return x.base != y.base ? x.base < y.base : x.length < y.length;
  });
  std::size_t outer = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const auto& [attachment, subnet] = all[i];
    const auto& [first, range] = all[outer];
    if (attachment->space != first->space || !range->value.overlaps(subnet->value)) {
      outer = i;
      continue;
    }
    if (attachment->name == first->name) continue;
    const bool later = comes_before(range->place, subnet->place);
    const auto& shown = later ? all[i] : all[outer];
    const auto& other = later ? all[outer] : all[i];
    Finding& finding = report.add(shown.first->name, shown.second->place,
                                  fmt::format("pod networks `{}` and `{}` share the subnet {}", other.first->name,
                                              shown.first->name, to_text(subnet->value)));
    finding.related.push_back(related(other.second->place, fmt::format("subnet of `{}`", other.first->name)));
  }
}

void check_attachment_subnet(const CheckInput& input, Report& report) {
  if (!input.has_cluster()) return;
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (attachment.subnets.empty() || fabric_of(input, attachment)) continue;
    report.add(
        attachment.name, attachment.subnets.front().place,
        fmt::format("subnet {} of pod network `{}` is not in any subnet of the cluster: no switch has an address in it",
                    to_text(*attachment.subnets.front()), attachment.name));
  }
}

void check_host_local_ipam(const CheckInput& input, Report& report) {
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (!attachment.ipam.known() || *attachment.ipam != "host-local") continue;
    report.add(
        attachment.name, attachment.ipam.place,
        fmt::format(
            "addresses of pod network `{}` are assigned per node (host-local): pods on two nodes get the same address",
            attachment.name));
  }
}

bool is_pool(const config::KubeObject& object) { return object.kind == "IPPool" || object.kind == "CIDRPool"; }

void check_address_pool_exists(const CheckInput& input, Report& report) {
  std::set<std::string_view> pools;
  for (const config::KubeObject& object : input.config().objects) {
    if (is_pool(object)) pools.insert(object.name);
  }
  if (pools.empty()) return;
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (!attachment.pool.known() || pools.count(*attachment.pool) > 0) continue;
    report.add(attachment.name, attachment.pool.place,
               fmt::format("pod network `{}` uses address pool `{}`, which no file defines", attachment.name,
                           *attachment.pool));
  }
}

// Pods that may run at once on one server of a training pool.
std::int64_t pods_per_server(const CheckInput& input) {
  std::int64_t most = 1;
  if (!input.has_cluster()) return most;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (pool.role.value == model::PoolRole::training) most = std::max(most, pool.pods_per_node.value);
  }
  return most;
}

void check_virtual_function_count(const CheckInput& input, Report& report) {
  const std::int64_t pods = pods_per_server(input);
  for (const config::SriovPolicyConfig& policy : input.config().sriov) {
    if (!policy.resource.known() || !policy.virtual_functions.known()) continue;
    std::int64_t wanted = 1;
    const config::AppConfig* asker = nullptr;
    for (const config::AppConfig& app : input.config().apps) {
      for (const config::AppConfig::Resource& limit : app.limits) {
        if (!is_network_resource(limit.name) || resource_part(limit.name) != resource_part(*policy.resource)) continue;
        const auto amount = parse_integer(limit.amount.value);
        if (!amount || *amount < 1 || *amount > 4096 || (asker != nullptr && *amount * pods <= wanted)) continue;
        wanted = std::max(wanted, *amount * pods);
        asker = &app;
      }
    }
    if (*policy.virtual_functions >= wanted) continue;
    Finding& finding = report.add(policy.name, policy.virtual_functions.place,
                                  fmt::format("policy `{}` creates {} virtual functions; pods of one server need {}",
                                              policy.name, *policy.virtual_functions, wanted));
    if (asker != nullptr) finding.related.push_back(related(asker->place, describe(*asker)));
  }
}

// The network that uses the policy's resource for RDMA; null if none does.
const config::AttachmentConfig* rdma_user(const CheckInput& input, const config::SriovPolicyConfig& policy) {
  if (!policy.resource.known()) return nullptr;
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    if (!attachment.resource.known() || resource_part(*attachment.resource) != resource_part(*policy.resource))
      continue;
    const auto fabric = fabric_of(input, attachment);
    if (fabric == model::FabricKind::storage || is_backend(input, attachment)) return &attachment;
  }
  return nullptr;
}

void check_sriov_policy_rdma(const CheckInput& input, Report& report) {
  for (const config::SriovPolicyConfig& policy : input.config().sriov) {
    const config::AttachmentConfig* user = rdma_user(input, policy);
    if (user == nullptr || !policy.rdma.known() || *policy.rdma) continue;
    Finding& finding = report.add(
        policy.name, policy.rdma.given() ? policy.rdma.place : policy.place,
        fmt::format("policy `{}` creates functions without RDMA for pod network `{}`", policy.name, user->name));
    finding.related.push_back(related(user->place, "the network that needs RDMA"));
  }
}

void check_sriov_policy_driver(const CheckInput& input, Report& report) {
  for (const config::SriovPolicyConfig& policy : input.config().sriov) {
    const config::AttachmentConfig* user = rdma_user(input, policy);
    if (user == nullptr || *policy.device_type != "vfio-pci") continue;
    Finding& finding = report.add(
        policy.name, policy.device_type.place,
        fmt::format("policy `{}` binds functions of pod network `{}` to vfio-pci, which removes the RDMA device",
                    policy.name, user->name));
    finding.related.push_back(related(user->place, "the network that needs RDMA"));
  }
}

void check_sriov_policy_overlap(const CheckInput& input, Report& report) {
  std::map<std::pair<std::string, std::string>, const config::SriovPolicyConfig*> owners;  // selector and interface
  for (const config::SriovPolicyConfig& policy : input.config().sriov) {
    for (const config::Setting<std::string>& interface : policy.interfaces) {
      if (contains(*interface, "#")) continue;  // a subset of the functions
      const auto [owner, added] = owners.insert({{policy.node_selector, *interface}, &policy});
      if (added || owner->second == &policy) continue;
      Finding& finding = report.add(policy.name, interface.place,
                                    fmt::format("policies `{}` and `{}` both claim all functions of `{}`",
                                                owner->second->name, policy.name, *interface));
      finding.related.push_back(related(owner->second->place, "the other policy"));
    }
  }
}

// mlx5 NICs create at most as many functions as the firmware is configured for.
void check_firmware_function_count(const CheckInput& input, Report& report) {
  for (const config::NicConfig& nic : input.config().nics) {
    if (!nic.virtual_functions.known() || nic.node_selector.empty()) continue;
    for (const config::SriovPolicyConfig& policy : input.config().sriov) {
      if (policy.node_selector != nic.node_selector || !policy.virtual_functions.known()) continue;
      if (*policy.virtual_functions <= *nic.virtual_functions) continue;
      Finding& finding =
          report.add(nic.name, nic.virtual_functions.place,
                     fmt::format("`{}` configures {} virtual functions, policy `{}` requests {}", nic.name,
                                 *nic.virtual_functions, policy.name, *policy.virtual_functions));
      finding.related.push_back(related(policy.virtual_functions.place, "the policy"));
      break;
    }
  }
}

void check_nic_link_type(const CheckInput& input, Report& report) {
  const model::FabricSpec* backend = fabric_spec(input, model::FabricKind::backend);
  if (backend == nullptr) return;
  const bool ethernet = backend->network.value == model::NetworkKind::ethernet;
  for (const config::NicConfig& nic : input.config().nics) {
    if (!nic.link_type.known() || contains(to_lower(nic.name), "storage")) continue;
    if ((to_lower(*nic.link_type) == "ethernet") == ethernet) continue;
    Finding& finding = report.add(nic.name, nic.link_type.place,
                                  fmt::format("`{}` sets its ports to {}, the backend is {}", nic.name, *nic.link_type,
                                              ethernet ? "Ethernet" : "InfiniBand"));
    finding.related.push_back(related(backend->network.place, "the backend"));
  }
}

}  // namespace

std::vector<Rule> host_network_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO001",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a secondary network adds a default route",
       .reason = "With two default routes the kernel selects by metric: registry pulls, logs and the NCCL bootstrap "
                 "use a rail without external connectivity, or the rail bypasses the frontend's policies.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), routing hygiene: default route only on eth0",
       .fix = "configure routes for the prefixes of the rail only",
       .example = {.file = "running/attachments.yaml",
                   .from = "{\"dst\": \"10.60.0.0/16\", \"gw\"",
                   .to = "{\"dst\": \"0.0.0.0/0\", \"gw\""},
       .run = check_attachment_default_route},
      {.id = "HO002",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod network's MTU differs from its fabric's",
       .reason = "RDMA does not discover the path MTU: a hop with a smaller MTU causes timeouts, an end with a smaller "
                 "MTU wastes bandwidth on headers.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), MTU: the same on VF, PF, switch ports and SVIs",
       .fix = "set the fabric's MTU",
       .example = {.file = "running/attachments.yaml",
                   .from = "\"mtu\": 9000, \"name\": \"mtu-2\"",
                   .to = "\"mtu\": 1500, \"name\": \"mtu-2\""},
       .run = check_attachment_mtu},
      {.id = "HO003",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a physical function's MTU is below that of its virtual functions",
       .reason =
           "The NIC drops frames larger than the physical function's MTU, even if the virtual function allows them.",
       .source = "SR-IOV network operator, SriovNetworkNodePolicy mtu; Container Networking Architecture for AI "
                 "Workloads (Patel), MTU 9000 on VF and PF",
       .fix = "set `mtu` of the policy to the fabric's",
       .example = {.file = "running/sriov.yaml",
                   .from = "resourceName: roce_2\n  numVfs: 4\n  mtu: 9000",
                   .to = "resourceName: roce_2\n  numVfs: 4\n  mtu: 1500"},
       .run = check_sriov_policy_mtu},
      {.id = "HO004",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "an SR-IOV network has no resource annotation",
       .reason = "Without the annotation Multus passes no device id to the plugin; the pod fails to start or uses a "
                 "function of another pod.",
       .source = "SR-IOV CNI: k8s.v1.cni.cncf.io/resourceName",
       .fix = "annotate the network with its resource",
       .example = {.file = "running/attachments.yaml",
                   .from = "k8s.v1.cni.cncf.io/resourceName: nvidia.com/roce_3",
                   .to = "example.com/note: rail 3"},
       .run = check_attachment_resource},
      {.id = "HO005",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "no policy provides a network's resource",
       .reason = "Pods that attach it remain pending: no node advertises the resource.",
       .source = "SR-IOV network operator: resourceName of network and policy must match",
       .fix = "correct the name, or add a SriovNetworkNodePolicy",
       .example = {.file = "running/attachments.yaml",
                   .from = "resourceName: nvidia.com/roce_4",
                   .to = "resourceName: nvidia.com/rail_4"},
       .run = check_attachment_resource_provider},
      {.id = "HO006",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod attaches a network without requesting its device",
       .reason =
           "The scheduler may place the pod on a node without a free function; the pod then fails at start repeatedly.",
       .source = "SR-IOV CNI and device plugin: a pod requests as many resources as it attaches networks",
       .fix = "add the resource to the container's limits",
       .example = {.file = "running/train-job.yaml", .from = "                  nvidia.com/roce_6: \"1\"\n", .to = ""},
       .run = check_pod_device_request},
      {.id = "HO007",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod requests a device that no policy provides",
       .reason = "No node advertises the resource, so the pod and its gang remain pending.",
       .source = "SR-IOV network operator: resourceName",
       .fix = "correct the name, or add a SriovNetworkNodePolicy",
       .example = {.file = "running/train-job.yaml",
                   .from = "                  nvidia.com/roce_5: \"1\"\n",
                   .to = "                  nvidia.com/roce_5: \"1\"\n                  nvidia.com/roce_9: \"1\"\n"},
       .run = check_requested_device_provider},
      {.id = "HO008",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod attaches a network that does not exist",
       .reason = "Multus cannot set up the pod: it remains in ContainerCreating.",
       .source = "Multus: k8s.v1.cni.cncf.io/networks",
       .fix = "define the network in the pod's namespace, or correct the name",
       .example = {.file = "running/train-job.yaml",
                   .from = "{\"name\": \"sto-2\", \"interface\": \"net10\"}",
                   .to = "{\"name\": \"sto-2\", \"interface\": \"net10\"},\n               {\"name\": \"sto-3\", "
                         "\"interface\": \"net11\"}"},
       .run = check_attached_networks_exist},
      {.id = "HO009",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "two rails share a subnet",
       .reason = "The kernel answers ARP requests for one rail on another and sends all traffic through one NIC: seven "
                 "of eight rails are idle.",
       .source = "NVIDIA/nccl #1109: one subnet across the NICs of a host gives ARP flux",
       .fix = "give each rail its own subnet",
       .example = {.file = "running/attachments.yaml",
                   .from =
                       "\"range\": \"10.65.0.0/26\", \"range_start\": \"10.65.0.18\", \"range_end\": \"10.65.0.30\"",
                   .to = "\"range\": \"10.64.0.0/26\", \"range_start\": \"10.64.0.2\", \"range_end\": \"10.64.0.17\""},
       .run = check_rail_subnets},
      {.id = "HO010",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod network's subnet is not in the cluster's address plan",
       .reason = "No leaf has a gateway in it: pods cannot reach hosts on other switch ports.",
       .source = "Container Networking Architecture for AI Workloads (Patel), per-rail subnets",
       .fix = "use a subnet of the rail (`weft show subnets`)",
       .example =
           {.file = "running/attachments.yaml",
            .from = "\"range\": \"10.66.0.0/26\", \"range_start\": \"10.66.0.18\", \"range_end\": \"10.66.0.30\"",
            .to =
                "\"range\": \"192.168.66.0/27\", \"range_start\": \"192.168.66.18\", \"range_end\": \"192.168.66.30\""},
       .run = check_attachment_subnet},
      {.id = "HO011",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "addresses are assigned per node (host-local)",
       .reason = "host-local stores its allocations on the node: two nodes assign the same address to two pods, and "
                 "RDMA connections reach the wrong one.",
       .source = "CNI host-local: addresses are unique on a single host only",
       .fix = "use whereabouts or nv-ipam, or a separate range per node",
       .example = {.file = "running/attachments.yaml",
                   .from = "\"type\": \"whereabouts\", \"range\": \"10.67.0.0/26\"",
                   .to = "\"type\": \"host-local\", \"subnet\": \"10.67.0.0/26\""},
       .run = check_host_local_ipam},
      {.id = "HO012",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "an address pool does not exist",
       .reason = "The pod gets no address and does not start.",
       .source = "nv-ipam: poolName names an IPPool or CIDRPool",
       .fix = "correct the name, or add the pool",
       .example = {.file = "running/attachments.yaml",
                   .from = "\"poolName\": \"sto-2\"",
                   .to = "\"poolName\": \"sto-9\""},
       .run = check_address_pool_exists},
      {.id = "HO013",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "fewer virtual functions than the pods of a server need",
       .reason = "The last pod cannot get a function: the job waits while it holds GPUs.",
       .source = "Container Networking Architecture for AI Workloads (Patel), VF allocation: one VF per rail and pod",
       .fix = "raise `numVfs`",
       .example = {.file = "running/sriov.yaml",
                   .from = "resourceName: roce_1\n  numVfs: 4",
                   .to = "resourceName: roce_1\n  numVfs: 0"},
       .run = check_virtual_function_count},
      {.id = "HO014",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "virtual functions for RDMA are created without RDMA",
       .reason =
           "The pod has a network interface but no RDMA device: NCCL falls back to TCP at a fraction of the bandwidth.",
       .source = "SR-IOV network operator: isRdma; Building Enterprise AI Infrastructure (Pabba, 2026), step 4",
       .fix = "set `isRdma: true`",
       .example = {.file = "running/sriov.yaml",
                   .from = "pfNames: [ens5np0]\n  deviceType: netdevice\n  isRdma: true",
                   .to = "pfNames: [ens5np0]\n  deviceType: netdevice\n  isRdma: false"},
       .run = check_sriov_policy_rdma},
      {.id = "HO015",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "virtual functions for RDMA are bound to vfio-pci",
       .reason = "vfio-pci is for user-space drivers; mlx5 RDMA needs the kernel's netdevice driver.",
       .source = "SR-IOV network operator: deviceType netdevice for Mellanox RDMA",
       .fix = "set `deviceType: netdevice`",
       .example = {.file = "running/sriov.yaml",
                   .from = "pfNames: [ens3np0]\n  deviceType: netdevice",
                   .to = "pfNames: [ens3np0]\n  deviceType: vfio-pci"},
       .run = check_sriov_policy_driver},
      {.id = "HO016",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "two policies claim the same physical function",
       .reason = "The operator applies one of them; the other policy gets no functions.",
       .source = "SR-IOV network operator: overlapping policies by priority",
       .fix = "name a physical function in one policy, or split it with `#0-3`",
       .example = {.file = "running/sriov.yaml", .from = "pfNames: [ens4np0]", .to = "pfNames: [ens3np0]"},
       .run = check_sriov_policy_overlap},
      {.id = "HO017",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "the firmware configures fewer functions than a policy requests",
       .reason = "The policy remains in progress and its nodes advertise no resources.",
       .source = "NVIDIA NIC configuration operator: numVfs sets NUM_OF_VFS",
       .fix = "raise `numVfs` of the template",
       .example = {.file = "running/nic-template.yaml", .from = "numVfs: 8", .to = "numVfs: 2"},
       .run = check_firmware_function_count},
      {.id = "HO018",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "NICs are set to another link type than the fabric",
       .reason = "A ConnectX port runs either Ethernet or InfiniBand; with the wrong type the link never comes up.",
       .source = "NVIDIA NIC configuration operator: linkType",
       .fix = "set the fabric's link type",
       .example = {.file = "running/nic-template.yaml",
                   .from = "numVfs: 8\n    linkType: Ethernet",
                   .to = "numVfs: 8\n    linkType: Infiniband"},
       .run = check_nic_link_type},
  };
}

}  // namespace weft::check

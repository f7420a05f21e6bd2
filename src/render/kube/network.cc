// Pods on the rails: virtual functions, their addresses and networks, and NIC settings.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/host_range.h"
#include "render/core/targets.h"
#include "render/kube/attachments.h"
#include "render/kube/nics.h"

namespace weft::render {
namespace {

using kube_platform::Attachment;
using kube_platform::AttachmentPlan;
using kube_platform::NodeFolder;
using kube_platform::PodSubnet;

constexpr std::string_view kFolder = "kubernetes/network/";
constexpr std::string_view kNodeConfigs = "/etc/cni/multus/net.d/";  // where Multus reads them (its `confDir`)
// The release whose CRDs the objects follow; kubernetes/gpu installs the same chart version.
constexpr std::string_view kOperatorImages = "nvcr.io/nvidia/mellanox";
constexpr std::string_view kOperatorVersion = "network-operator-v26.7.0";

std::string path_of(std::string_view name) { return std::string(kFolder) + std::string(name); }

std::vector<const PoolPlan*> pools_with_rails(const RenderInput& input) {
  std::vector<const PoolPlan*> pools = kube_platform::gpu_pools(input);
  std::erase_if(pools, [](const PoolPlan* pool) { return pool->rails.empty(); });
  return pools;
}

Value image(std::string_view name) { return Value::map({{"image", name}}); }

Value nic_cluster_policy(const RenderInput& input, bool templates) {
  Value names = Value::list();
  for (const PoolPlan* pool : pools_with_rails(input)) names.add(kube_platform::label_value(pool->name()));
  Value term = Value::map(
      {{"matchExpressions",
        Value::list({Value::map({{"key", kPoolLabel}, {"operator", "In"}, {"values", std::move(names)}})})}});
  Value spec = Value::map();
  spec.set("global", Value::map({{"repository", kOperatorImages}, {"version", kOperatorVersion}}));
  spec.set("nodeAffinity", Value::map({{"requiredDuringSchedulingIgnoredDuringExecution",
                                        Value::map({{"nodeSelectorTerms", Value::list({std::move(term)})}})}}));
  Value tolerations = kube_platform::tolerations_of(pools_with_rails(input));
  if (!tolerations.empty()) spec.set("tolerations", std::move(tolerations));
  spec.set("secondaryNetwork", Value::map({{"multus", image("multus-cni")}, {"cniPlugins", image("plugins")}}));
  if (input.options["ipam"] == "nv-ipam") spec.set("nvIpam", image("nvidia-k8s-ipam").set("enableWebhook", false));
  if (templates) {
    spec.set("nicConfigurationOperator",
             Value::map({{"operator", image("nic-configuration-operator")},
                         {"configurationDaemon", image("nic-configuration-operator-daemon")}}));
  }
  Value policy = kube_platform::object("mellanox.com/v1alpha1", "NicClusterPolicy", "nic-cluster-policy");
  policy.set("spec", std::move(spec));
  return policy;
}

Value hosts_expression(const std::vector<std::string>& hosts) {
  return Value::map({{"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", Value::texts(hosts)}});
}

// The nodes on a subnet: its pools, or its hosts by name if a pool has several subnets on the rail.
Value nodes_on(const PodSubnet& use) {
  std::size_t members = 0;
  Value names = Value::list();
  for (const PoolPlan* pool : use.pools) {
    members += pool->group->count;
    names.add(kube_platform::label_value(pool->name()));
  }
  Value expression = members == use.hosts.size()
                         ? Value::map({{"key", kPoolLabel}, {"operator", "In"}, {"values", std::move(names)}})
                         : hosts_expression(use.hosts);
  return Value::map(
      {{"nodeSelectorTerms", Value::list({Value::map({{"matchExpressions", Value::list({std::move(expression)})}})})}});
}

Value address_pool(const RenderInput& input, const AttachmentPlan& plan, const PodSubnet& use) {
  const model::Subnet& subnet = input.cluster.subnet(use.id);
  Value spec = Value::map({{"subnet", to_text(subnet.prefix)}, {"perNodeBlockSize", use.block}});
  // Addresses of the gateway and the servers, up to the first block that is only for pods.
  spec.set("exclusions", Value::list({Value::map({{"startIP", to_text(Ipv4{subnet.prefix.base.bits + 1})},
                                                  {"endIP", to_text(Ipv4{use.first.bits - 1})}})}));
  if (subnet.gateway != Ipv4{}) {
    spec.set("gateway", to_text(subnet.gateway));
    spec.set("defaultGateway", false);
    if (plan.rail_prefix(*use.rail) != subnet.prefix) {
      spec.set("routes", Value::list({Value::map({{"dst", to_text(plan.rail_prefix(*use.rail))}})}));
    }
  }
  spec.set("nodeSelector", nodes_on(use));
  Value pool = kube_platform::object("nv-ipam.nvidia.com/v1alpha1", "IPPool", AttachmentPlan::pool_name(subnet),
                                     kNetworkOperatorSpace);
  pool.set("spec", std::move(spec));
  return pool;
}

Value definition(const AttachmentPlan& plan, const Attachment& attachment) {
  Value document = kube_platform::object("k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition",
                                         attachment.rail->attachment, attachment.space);
  document["metadata"].set(
      "annotations",
      Value::map({{"k8s.v1.cni.cncf.io/resourceName", std::string(kResourcePrefix) + attachment.rail->resource}}));
  if (attachment.subnet != model::kNone<model::SubnetId>) {
    document.set("spec", Value::map({{"config", write_json(plan.config(*attachment.rail, attachment.subnet))}}));
  }
  return document;
}

// The same network as a resource of the SR-IOV operator, which creates the definition.
Value sriov_network(const RenderInput& input, const AttachmentPlan& plan, const Attachment& attachment) {
  const bool infiniband = kube_platform::on_infiniband(input, attachment.rail->fabric);
  Value document = kube_platform::object("sriovnetwork.openshift.io/v1", infiniband ? "SriovIBNetwork" : "SriovNetwork",
                                         attachment.rail->attachment, attachment.space);
  Value spec = Value::map({{"resourceName", attachment.rail->resource}});
  if (infiniband) spec.set("linkState", "enable");
  if (const Value ipam = plan.ipam(*attachment.rail, attachment.subnet); !ipam.empty()) {
    spec.set("ipam", write_json_line(ipam));
  }
  std::string plugins;
  const Value others = plan.meta_plugins(*attachment.rail);
  for (const Value& plugin : others.items()) {
    plugins += (plugins.empty() ? "" : ", ") + write_json_line(plugin);
  }
  spec.set("metaPlugins", std::move(plugins));
  document.set("spec", std::move(spec));
  return document;
}

std::vector<Value> networks(const RenderInput& input, const AttachmentPlan& plan) {
  const bool by_operator = input.options["attachments"] == "sriovnetwork";
  std::vector<Value> documents;
  for (const Attachment& attachment : plan.attachments()) {
    const bool order = by_operator && attachment.subnet != model::kNone<model::SubnetId>;
    documents.push_back(order ? sriov_network(input, plan, attachment) : definition(plan, attachment));
  }
  return documents;
}

void add_node_files(const AttachmentPlan& plan, FileSink& sink) {
  Value folders = Value::map();
  for (const NodeFolder& folder : plan.folders()) {
    bool any = false;
    for (std::size_t i = 0; i < std::min(folder.subnets.size(), folder.pool->rails.size()); ++i) {
      const RailPlan& rail = folder.pool->rails[i];
      if (!folder.fabrics.contains(rail.fabric) || !plan.on_nodes(*folder.pool, rail)) continue;
      any = true;
      const std::string name = rail.attachment + ".conflist";
      const std::uint32_t number = folder.numbers.empty() ? 0 : folder.numbers[i];
      sink.add({.path = fmt::format("{}cni/{}/{}", kFolder, folder.name, name),
                .content = write_json(plan.config(rail, folder.subnets[i], number)),
                .device = folder.pool->name(),
                .consumer = "Multus",
                .install = std::string(kNodeConfigs) + name,
                .mode = "0600",
                .stage = Stage::hosts,
                .sources = {"pools", "fabrics.backend.subnets", "fabrics.storage.subnets"}});
    }
    if (any) folders.put(folder.name, fold_hosts(folder.hosts));
  }
  if (folders.empty()) return;
  sink.add({.path = path_of("cni/folders.json"),
            .content = write_json(Value::map({{"install", kNodeConfigs}, {"folders", std::move(folders)}})),
            .consumer = "ansible-playbook",
            .stage = Stage::hosts,
            .sources = {"pools", "fabrics"}});
}

void note_on_addresses(const RenderInput& input, const AttachmentPlan& plan, FileSink& sink) {
  std::size_t without = 0;
  std::vector<std::string> small;
  for (const auto& [id, use] : plan.subnets()) {
    const model::Subnet& subnet = input.cluster.subnet(id);
    const std::int64_t room = std::int64_t{subnet.pods_last.bits} - std::int64_t{subnet.pods_first.bits} + 1;
    if (subnet.pods_first == Ipv4{}) {
      ++without;
    } else if (room < use.pods) {
      small.push_back(subnet.name);
    }
  }
  if (!small.empty()) {
    sink.note(
        fmt::format("subnets {} have fewer pod addresses than their servers run pods: the last pods get no address",
                    fold_hosts(std::move(small))));
  }
  if (without == 0) return;
  sink.note(fmt::format(
      "{} rail subnets have no pod addresses: their networks provide an RDMA device without an IP address", without));
}

constexpr std::string_view kAttachmentsText =
    "Pod networks: one per rail, with a route only to that rail and no default route.\n"
    "Rendered as NetworkAttachmentDefinition, not as SriovNetwork: both would create the same definition. `--set\n"
    "attachments=sriovnetwork` makes the SR-IOV operator create those with a single subnet.";
constexpr std::string_view kNodeConfigText =
    "\nA definition without `spec.config` has one subnet per unit: Multus reads the configuration of that name "
    "from\n"
    "/etc/cni/multus/net.d on the node. The files are cni/FOLDER/NETWORK.conflist; FOLDER is the node's unit (its "
    "label\n"
    "weft/unit), its pool if it has no unit, its slice of the storage network (sto-POOL-uNNN) if that is\nnot divided "
    "by unit, or the host itself; cni/folders.json lists the hosts of each.";

constexpr std::string_view kPolicyText =
    "Components of the NVIDIA Network Operator on the nodes: Multus, CNI plugins, the NIC configuration operator.\n"
    "The NICs keep the kernel's mlx5 driver: a driver container would interrupt the hosts' storage mounts.\n"
    "The SR-IOV operator manages SR-IOV (chart values in kubernetes/gpu), so no device plugin is rendered here.";

void add_operator_objects(const RenderInput& input, FileSink& sink) {
  const std::vector<Value> templates = kube_platform::nic_templates(input, sink);
  kube_platform::add_manifest(input, sink,
                              {.path = path_of("00-namespace.yaml"),
                               .what = "Namespace of the NVIDIA Network Operator.",
                               .consumer = "Kubernetes",
                               .documents = {kube_platform::privileged_space(kNetworkOperatorSpace)},
                               .sources = {"control_plane"}});
  kube_platform::add_manifest(input, sink,
                              {.path = path_of("10-nic-cluster-policy.yaml"),
                               .what = std::string(kPolicyText),
                               .consumer = "NVIDIA Network Operator",
                               .documents = {nic_cluster_policy(input, !templates.empty())},
                               .risk = Risk::reload,
                               .sources = {"pools", "fabrics"}});
  kube_platform::add_manifest(input, sink,
                              {.path = path_of("20-nic-configuration.yaml"),
                               .what = "Firmware and runtime settings of the NICs, by PCI device ID. A change of "
                                       "firmware settings reboots the node.",
                               .consumer = "NVIDIA NIC Configuration Operator",
                               .documents = templates,
                               .risk = Risk::traffic,
                               .sources = {"pools", "fabrics.backend.qos", "fabrics.storage.qos"}});
  kube_platform::add_manifest(
      input, sink,
      {.path = path_of("30-sriov-pools.yaml"),
       .what = "Number of nodes per pool that may be drained at once for SR-IOV, and the RDMA mode.",
       .consumer = "SR-IOV Network Operator",
       .documents = kube_platform::sriov_pools(input),
       .risk = Risk::traffic,
       .sources = {"pools"}});
  kube_platform::add_manifest(
      input, sink,
      {.path = path_of("31-sriov-policies.yaml"),
       .what = "Virtual functions of the rails. Port names are those of the hosts' udev rules. A change drains nodes.",
       .consumer = "SR-IOV Network Operator",
       .documents = kube_platform::sriov_policies(input),
       .risk = Risk::traffic,
       .sources = {"pools", "fabrics.backend", "fabrics.storage"}});
}

}  // namespace

bool applies_kube_network(const RenderInput& input) { return !pools_with_rails(input).empty(); }

void render_kube_network(const RenderInput& input, FileSink& sink) {
  const AttachmentPlan plan(input);
  add_operator_objects(input, sink);
  std::vector<Value> pools;
  if (input.options["ipam"] == "nv-ipam") {
    for (const auto& [id, use] : plan.subnets()) {
      if (use.has_room()) pools.push_back(address_pool(input, plan, use));
    }
  }
  kube_platform::add_manifest(input, sink,
                              {.path = path_of("40-address-pools.yaml"),
                               .what = "Pod addresses on the rails: one block of each subnet per node.",
                               .consumer = "nv-ipam",
                               .documents = std::move(pools),
                               .sources = {"fabrics.backend.subnets", "fabrics.storage.subnets"}});
  const bool on_nodes = !plan.folders().empty();
  kube_platform::add_manifest(input, sink,
                              {.path = path_of("50-attachments.yaml"),
                               .what = std::string(kAttachmentsText) + std::string(on_nodes ? kNodeConfigText : ""),
                               .consumer = "Multus",
                               .documents = networks(input, plan),
                               .stage = Stage::workloads,
                               .sources = {"tenants", "pools", "fabrics.backend", "fabrics.storage"}});
  add_node_files(plan, sink);
  note_on_addresses(input, plan, sink);
  if (input.options["ipam"] == "whereabouts") {
    sink.note("install whereabouts with its own chart: the Network Operator no longer includes it");
  }
}

}  // namespace weft::render

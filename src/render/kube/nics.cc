#include "render/kube/nics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "model/lossless.h"
#include "model/server_ports.h"

namespace weft::render::kube_platform {
namespace {

constexpr std::string_view kSriovApi = "sriovnetwork.openshift.io/v1";
constexpr std::string_view kMaintenanceApi = "maintenance.nvidia.com/v1alpha1";
constexpr std::string_view kNicApi = "configuration.net.nvidia.com/v1alpha1";
// mlx5 NICs with PCIe 4 and later have the highest throughput with the largest read request (ConnectX tuning guides).
constexpr std::int64_t kMaxReadRequest = 4096;

bool has_fabric(const PoolPlan& pool, model::FabricKind fabric) {
  return std::any_of(pool.rails.begin(), pool.rails.end(), [&](const RailPlan& r) { return r.fabric == fabric; });
}

Value sriov_policy(const RenderInput& input, const PoolPlan& pool, const RailPlan& rail) {
  const bool infiniband = on_infiniband(input, rail.fabric);
  const model::PortUse use =
      rail.fabric == model::FabricKind::backend ? model::PortUse::backend : model::PortUse::storage;
  const model::NicModel* nic = nic_of(input, pool, use);
  Value selector = Value::map();
  if (nic != nullptr && !pci_vendor(*nic).empty()) selector.set("vendor", pci_vendor(*nic));
  selector.set("pfNames", Value::list({rail.interface}));
  Value spec = Value::map({{"resourceName", rail.resource},
                           {"nodeSelector", pool_selector(pool)},
                           {"nicSelector", std::move(selector)},
                           {"numVfs", pool.virtual_functions},
                           {"deviceType", "netdevice"},
                           {"isRdma", nic == nullptr || nic->rdma.value},
                           {"linkType", infiniband ? "ib" : "eth"}});
  // The subnet manager sets the MTU of InfiniBand.
  if (!infiniband) spec.set("mtu", input.cluster.data_fabric_spec(rail.fabric).mtu.value);
  Value policy = object(kSriovApi, "SriovNetworkNodePolicy", label_name(rail.attachment + "-" + pool.name()),
                        kNetworkOperatorSpace);
  policy.set("spec", std::move(spec));
  return policy;
}

// Which of the fabrics a kind of NIC serves in a server.
struct NicUse {
  const model::NicModel* nic = nullptr;
  std::vector<model::PortUse> uses;
};

std::map<std::string, NicUse> nics_by_type(const RenderInput& input, const PoolPlan& pool) {
  std::map<std::string, NicUse> kinds;
  for (const model::PortUse use : {model::PortUse::backend, model::PortUse::storage, model::PortUse::frontend}) {
    const bool wired =
        use == model::PortUse::frontend ||
        has_fabric(pool, use == model::PortUse::backend ? model::FabricKind::backend : model::FabricKind::storage);
    const model::NicModel* nic = wired ? nic_of(input, pool, use) : nullptr;
    if (nic == nullptr || nic_type(*nic).empty()) continue;
    NicUse& kind = kinds[nic_type(*nic)];
    if (kind.nic == nullptr || nic->ports.value > kind.nic->ports.value) kind.nic = nic;
    kind.uses.push_back(use);
  }
  return kinds;
}

std::string pfc_list(const model::QosSpec& qos) {
  std::array<bool, 8> on{};
  if (qos.lossless.value && qos.pfc.value != model::PfcMode::off) {
    std::vector<std::int64_t> priorities{qos.priority.value};
    if (qos.pfc_priorities.has_value()) priorities = qos.pfc_priorities.value;
    for (const std::int64_t priority : priorities) {
      if (priority >= 0 && priority < 8) on[static_cast<std::size_t>(priority)] = true;
    }
  }
  std::string list;
  for (const bool one : on) list += one ? ",1" : ",0";
  return list.substr(1);
}

Value roce_settings(const model::QosSpec& qos) {
  Value settings = Value::map({{"trust", qos.trust.value == model::TrustMode::dscp ? "dscp" : "pcp"},
                               {"pfc", pfc_list(qos)},
                               {"tos", model::traffic_class_of(static_cast<int>(qos.dscp.value))},
                               {"pauseFrames", Value::map({{"enabled", qos.global_pause.value}})},
                               {"ecn", Value::map({{"enabled", qos.ecn.value}, {"priority", qos.priority.value}})}});
  return Value::map({{"enabled", true}, {"roceMode", 2}, {"qos", std::move(settings)}});
}

// Firmware parameters per port; the operator skips those of ports that the card does not have.
Value cnp_parameters(const model::QosSpec& qos, std::int64_t ports) {
  Value list = Value::list();
  for (std::int64_t port = 1; port <= ports; ++port) {
    const auto add = [&](std::string_view name, std::int64_t value) {
      list.add(Value::map({{"name", fmt::format("{}_P{}", name, port)}, {"value", std::to_string(value)}}));
    };
    add("CNP_DSCP", qos.cnp_dscp.value);
    add("CNP_802P_PRIO", qos.cnp_priority.value);
    add("ROCE_CC_PRIO_MASK", 255);  // congestion control on every priority, like the operator's default
  }
  return list;
}

bool is_infiniband(const RenderInput& input, model::PortUse use) {
  if (use == model::PortUse::frontend) return false;
  return on_infiniband(input, use == model::PortUse::backend ? model::FabricKind::backend : model::FabricKind::storage);
}

std::string_view use_name(model::PortUse use) {
  return use == model::PortUse::backend ? "backend" : use == model::PortUse::storage ? "storage" : "frontend";
}

Value base_template(const PoolPlan& pool, bool infiniband, bool gpu_direct) {
  Value settings =
      Value::map({{"numVfs", pool.virtual_functions}, {"linkType", infiniband ? "Infiniband" : "Ethernet"}});
  settings.set("pciPerformanceOptimized", Value::map({{"enabled", true}, {"maxReadRequest", kMaxReadRequest}}));
  // Only together with the line above, and only on bare metal (nic-configuration-operator).
  if (gpu_direct) settings.set("gpuDirectOptimized", Value::map({{"enabled", true}, {"env", "Baremetal"}}));
  return settings;
}

Value nic_template(const PoolPlan& pool, const std::string& name, const std::string& type, Value settings) {
  Value object_of = object(kNicApi, "NicConfigurationTemplate", label_name(name), kNetworkOperatorSpace);
  object_of.set("spec", Value::map({{"nodeSelector", pool_selector(pool)},
                                    {"nicSelector", Value::map({{"nicType", type}})},
                                    {"template", std::move(settings)}}));
  return object_of;
}

Value template_of_one(const RenderInput& input, const PoolPlan& pool, const std::string& type, const NicUse& kind) {
  const model::PortUse use = kind.uses.front();
  const bool infiniband = is_infiniband(input, use);
  Value settings = base_template(pool, infiniband, use == model::PortUse::backend);
  if (!infiniband) {
    const model::QosSpec& qos =
        input.cluster
            .data_fabric_spec(use == model::PortUse::backend ? model::FabricKind::backend : model::FabricKind::storage)
            .qos.value;
    settings.set("roceOptimized", roce_settings(qos));
    settings.set("rawNvConfig", cnp_parameters(qos, kind.nic->ports.value));
  }
  return nic_template(pool, fmt::format("{}-{}", use_name(use), pool.name()), type, std::move(settings));
}

std::string listed(const std::vector<model::PortUse>& uses) {
  std::vector<std::string> names;
  names.reserve(uses.size());
  for (const model::PortUse use : uses) names.emplace_back(use_name(use));
  return join(names, ", ", " and ");
}

// One NIC model on several fabrics: the operator selects NICs by type, part, serial number or PCI address, none of
// which tell the fabrics apart at design time, and rejects two templates for one NIC. Common settings are here; QoS is
// set by the hosts' own service, which identifies ports by name.
void add_shared_template(const RenderInput& input, const PoolPlan& pool, const std::string& type, const NicUse& kind,
                         std::vector<Value>& documents, FileSink& sink) {
  const bool infiniband = is_infiniband(input, kind.uses.front());
  const bool mixed = std::any_of(kind.uses.begin(), kind.uses.end(),
                                 [&](model::PortUse use) { return is_infiniband(input, use) != infiniband; });
  if (mixed) {
    return sink.note(
        fmt::format("pool {}: NICs of PCI device ID {} are on {}, both InfiniBand and Ethernet: set their link types "
                    "by PCI address; a NicConfigurationTemplate cannot",
                    pool.name(), type, listed(kind.uses)));
  }
  Value settings = base_template(pool, infiniband, kind.uses.front() == model::PortUse::backend);
  // Without these the operator would reset the firmware's CNP settings to its defaults.
  const model::FabricKind fabric =
      kind.uses.front() == model::PortUse::backend ? model::FabricKind::backend : model::FabricKind::storage;
  if (!infiniband)
    settings.set("rawNvConfig",
                 cnp_parameters(input.cluster.data_fabric_spec(fabric).qos.value, kind.nic->ports.value));
  documents.push_back(nic_template(pool, fmt::format("nic-{}-{}", type, pool.name()), type, std::move(settings)));
  if (infiniband) return;
  sink.note(
      fmt::format("pool {}: NICs of PCI device ID {} are on {}: their NicConfigurationTemplate has only the common "
                  "settings; the hosts' QoS service (target host) sets trust, PFC and DSCP by port",
                  pool.name(), type, listed(kind.uses)));
}

}  // namespace

std::string pci_vendor(const model::NicModel& nic) {
  // pci-ids.ucw.cz
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kVendors = {
      {{"NVIDIA", "15b3"}, {"Broadcom", "14e4"}, {"Intel", "8086"}, {"Cisco", "1137"}}};
  for (const auto& [name, id] : kVendors) {
    if (nic.vendor.value == name) return std::string(id);
  }
  return {};
}

std::string nic_type(const model::NicModel& nic) {
  if (pci_vendor(nic) != "15b3") return {};
  // pci-ids.ucw.cz, vendor 15b3; by prefix of the catalog id, longer prefixes first.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTypes = {{{"connectx-6-dx", "101d"},
                                                                                           {"connectx-6-lx", "101f"},
                                                                                           {"connectx-6", "101b"},
                                                                                           {"connectx-7", "1021"},
                                                                                           {"connectx-8", "1023"},
                                                                                           {"bluefield-2", "a2d6"},
                                                                                           {"bluefield-3", "a2dc"}}};
  for (const auto& [prefix, id] : kTypes) {
    if (nic.id->text.starts_with(prefix)) return std::string(id);
  }
  return {};
}

const model::NicModel* nic_of(const RenderInput& input, const PoolPlan& pool, model::PortUse use) {
  const model::PortGroup* group = model::port_group(*pool.server, use);
  return group == nullptr ? nullptr : input.cluster.catalog().nic(group->nic.value);
}

std::vector<Value> sriov_policies(const RenderInput& input) {
  std::vector<Value> documents;
  for (const PoolPlan* pool : gpu_pools(input)) {
    for (const RailPlan& rail : pool->rails) documents.push_back(sriov_policy(input, *pool, rail));
  }
  return documents;
}

std::vector<Value> sriov_pools(const RenderInput& input) {
  std::vector<Value> documents;
  for (const PoolPlan* pool : gpu_pools(input)) {
    if (pool->rails.empty()) continue;
    Value document = object(kSriovApi, "SriovNetworkPoolConfig", label_name(pool->name()), kNetworkOperatorSpace);
    // The rdma plugin moves a function's RDMA device into its pod, which the kernel supports only in exclusive mode.
    document.set("spec", Value::map({{"nodeSelector", Value::map({{"matchLabels", pool_selector(*pool)}})},
                                     {"maxUnavailable", std::max<std::int64_t>(1, pool->spec->spares.value)},
                                     {"rdmaMode", "exclusive"}}));
    documents.push_back(std::move(document));
  }
  return documents;
}

std::vector<Value> nic_templates(const RenderInput& input, FileSink& sink) {
  std::vector<Value> documents;
  for (const PoolPlan* pool : gpu_pools(input)) {
    for (const auto& [type, kind] : nics_by_type(input, *pool)) {
      if (kind.uses.front() == model::PortUse::frontend) continue;  // only on the frontend: no RDMA settings
      if (kind.uses.size() == 1) {
        documents.push_back(template_of_one(input, *pool, type, kind));
      } else {
        add_shared_template(input, *pool, type, kind, documents, sink);
      }
    }
  }
  if (documents.empty()) return documents;
  // Firmware settings restart nodes: one node at a time.
  Value maintenance = object(kMaintenanceApi, "MaintenanceOperatorConfig", "default", kNetworkOperatorSpace);
  maintenance.set("spec", Value::map({{"maxParallelOperations", 1}, {"maxUnavailable", 1}}));
  documents.insert(documents.begin(), std::move(maintenance));
  return documents;
}

}  // namespace weft::render::kube_platform

#include "design/checklist.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <variant>

#include "base/utf8.h"
#include "design/sizing.h"
#include "design/views_common.h"

namespace weft::design {

namespace {

struct Verdict {
  ItemState state = ItemState::unknown;
  std::string why;
};

Verdict done(std::string why) { return {ItemState::done, std::move(why)}; }
Verdict not_done(std::string why) { return {ItemState::not_done, std::move(why)}; }
Verdict unknown(std::string why) { return {ItemState::unknown, std::move(why)}; }

const std::vector<model::PoolSpec>& pools_of(const model::Cluster& cluster) { return *cluster.spec().pools; }

bool has_role(const model::Cluster& cluster, model::PoolRole role) {
  const auto& pools = pools_of(cluster);
  return std::any_of(pools.begin(), pools.end(), [&](const model::PoolSpec& pool) { return *pool.role == role; });
}

bool is_gpu_role(model::PoolRole role) {
  return role == model::PoolRole::training || role == model::PoolRole::inference;
}

bool slurm_only(const model::Cluster& cluster) {
  return *cluster.spec().control_plane->kind == model::ControlKind::slurm;
}

const model::GpuModel* gpu_of(const model::Cluster& cluster, const model::PoolSpec& pool) {
  const model::ServerModel* server = cluster.catalog().server(*pool.server);
  return server == nullptr || *server->gpus == 0 ? nullptr : cluster.catalog().gpu(*server->gpu);
}

bool uses_mig(const model::PoolSpec& pool) { return pool.mig.has_value() && !pool.mig->empty(); }

// Appends to a comma-separated list of names: "train, infer".
void append_name(std::string& list, std::string_view name) { list += (list.empty() ? "" : ", ") + std::string(name); }

Verdict workload_ratio(const model::Cluster& cluster) {
  const model::WorkloadSpec& workload = *cluster.spec().workload;
  if (!workload.training_percent.from_file() && !workload.inference_percent.from_file()) {
    return unknown("state `workload.training_percent` and `workload.inference_percent`");
  }
  const std::int64_t training = *workload.training_percent;
  const std::int64_t inference = *workload.inference_percent;
  if (training + inference != 100) {
    return not_done(fmt::format("{} % training and {} % inference do not add up to 100 %", training, inference));
  }
  if (training > 0 && !has_role(cluster, model::PoolRole::training)) {
    return not_done(fmt::format("{} % training, but no training pool", training));
  }
  if (inference > 0 && !has_role(cluster, model::PoolRole::inference)) {
    return not_done(fmt::format("{} % inference, but no inference pool", inference));
  }
  return done(fmt::format("{} % training, {} % inference", training, inference));
}

Verdict backend_sized(const model::Cluster& cluster) {
  const model::FabricPlan& plan = cluster.fabric(model::FabricKind::backend);
  if (!plan.present) return not_done("there is no backend fabric");
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.pool < 0 || group.count == 0) continue;
    if (*pools_of(cluster)[static_cast<std::size_t>(group.pool)].role != model::PoolRole::training) continue;
    BitRate rate;
    for (const model::PortId id : cluster.ports_of(group.first)) {
      if (cluster.port(id).fabric == model::FabricKind::backend) rate += cluster.port(id).speed();
    }
    if (rate < gigabits(400)) {
      return not_done(
          fmt::format("{} has {} of backend bandwidth per server; plan 400G or more", group.name, to_text(rate)));
    }
  }
  const Ratio& ratio = plan.oversubscription;
  if (ratio.numerator > 2 * ratio.denominator) {
    return not_done(fmt::format("leaves are oversubscribed {}; all-reduce tolerates at most 2:1", to_text(ratio)));
  }
  return done(fmt::format("{} GPUs on {} rails of {}, {} leaves, {} spines, {} cores, {} at the leaves",
                          cluster.gpu_count(), plan.rails, to_text(plan.host_speed), plan.leaves, plan.spines,
                          plan.cores, to_text(ratio)));
}

Verdict rdma_choice(const model::Cluster& cluster) {
  const model::FabricSpec& backend = *cluster.spec().fabrics->backend;
  const std::string_view name =
      *backend.network == model::NetworkKind::infiniband ? "InfiniBand" : "RoCE v2 over Ethernet";
  if (backend.network.from_file() || backend.leaf.from_file()) return done(fmt::format("{}, {}", name, *backend.leaf));
  return unknown(fmt::format("the cluster file uses the default ({}); set `fabrics.backend.network`", name));
}

std::optional<Cell> find_fact(const Document& document, std::string_view key) {
  for (const auto& section : document.sections) {
    const auto* facts = std::get_if<FactsSection>(&section);
    if (facts == nullptr) continue;
    for (const Fact& fact : facts->facts) {
      if (fact.key == key) return fact.value;
    }
  }
  return std::nullopt;
}

Verdict storage_sized(const model::Cluster& cluster) {
  if (cluster.gpu_count() == 0) return done("no GPUs");
  if (cluster.spec().storage->empty()) return not_done("the cluster file has no storage system");
  // The same result as in the storage sizing view.
  const Document view = storage_view(cluster);
  const auto sized = find_fact(view, "sized");
  const auto read = find_fact(view, "read_bytes_per_s");
  const auto write = find_fact(view, "write_bytes_per_s");
  if (!sized || !read || !write) return unknown("no sizing for this cluster");
  const std::string delivered = fmt::format("read {}; write {}", read->shown, write->shown);
  const bool* enough = std::get_if<bool>(&sized->value);
  return enough != nullptr && *enough
             ? done(delivered)
             : not_done(delivered + "; insufficient for the data class or the checkpoints, see the storage sizing");
}

Verdict control_racks(const model::Cluster& cluster) {
  const model::ControlPlaneSpec& control = *cluster.spec().control_plane;
  if (!control.pool.has_value()) return not_done("no infrastructure pool for the control plane");
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.name != *control.pool) continue;
    if (group.count < 3) return not_done(fmt::format("{} has {} servers; a quorum needs 3", group.name, group.count));
    std::set<model::RackId> racks;
    const std::int64_t members = std::min<std::int64_t>(*control.etcd_members, group.count);
    for (std::int64_t i = 0; i < members; ++i) {
      racks.insert(
          cluster.device(static_cast<model::DeviceId>(model::index_of(group.first) + static_cast<std::uint32_t>(i)))
              .rack);
    }
    if (static_cast<std::int64_t>(racks.size()) < members) {
      return not_done(
          fmt::format("{} control-plane members are in {} racks: each needs its own rack", members, racks.size()));
    }
    return done(fmt::format("{} control-plane members in {} racks", members, racks.size()));
  }
  return not_done(fmt::format("no servers in pool {}", *control.pool));
}

Verdict topology(const model::Cluster& cluster) {
  Verdict control = control_racks(cluster);
  if (control.state != ItemState::done) return control;
  if (*cluster.spec().site->feeds < 2) return not_done("one power feed for everything");
  std::string names;
  for (const model::PoolSpec& pool : pools_of(cluster)) append_name(names, pool.name->text);
  return done(fmt::format("pools {}; {}", names, control.why));
}

// How GPUs of inference pools are shared; training uses whole GPUs.
Verdict gpu_sharing(const model::Cluster& cluster) {
  std::string how;
  for (const model::PoolSpec& pool : pools_of(cluster)) {
    const model::GpuModel* gpu = gpu_of(cluster, pool);
    if (*pool.role != model::PoolRole::inference || gpu == nullptr) continue;
    const std::string& name = pool.name->text;
    if (uses_mig(pool)) {
      std::vector<std::pair<std::string, std::int64_t>> wanted;
      for (const auto& [profile, count] : *pool.mig) wanted.emplace_back(profile, *count);
      const MigPlacement placement = place_mig(*gpu, wanted);
      if (!placement.fits) return not_done(fmt::format("{}: the MIG plan does not fit: {}", name, placement.why_not));
      append_name(how, fmt::format("{}: {} MIG instances per GPU", name, placement.placed.size()));
    } else if (*pool.time_slices > 1) {
      append_name(how, fmt::format("{}: {} time slices per GPU", name, *pool.time_slices));
    } else if (gpu->mig.has_value()) {
      return not_done(fmt::format("{} serves one replica per GPU; set `mig` or `time_slices`", name));
    } else {
      append_name(how, fmt::format("{}: whole GPUs, no MIG on {}", name, gpu->id->text));
    }
  }
  return done(how.empty() ? "no inference pool: whole GPUs for training" : how);
}

std::optional<model::ChecklistState> stated(const model::Cluster& cluster, std::string_view id) {
  for (const auto& [key, state] : *cluster.spec().checklist) {
    if (key == id) return *state;
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 5> kProcurement = {
    "procurement.switches", "procurement.storage", "procurement.servers", "procurement.gpus", "procurement.cabling"};

// A file does not show orders, but it does show their sequence: an item ordered after one that should follow it is a
// common mistake (GPUs before the network).
Verdict ordered(const model::Cluster& cluster, std::string_view id) {
  if (stated(cluster, id) == model::ChecklistState::done) return unknown("");
  bool after = false;
  for (const std::string_view other : kProcurement) {
    if (other == id) {
      after = true;
    } else if (after && stated(cluster, other) == model::ChecklistState::done) {
      return not_done(
          fmt::format("`{}` is already ordered, but this must be ordered first: its lead time is the longest", other));
    }
  }
  return unknown("orders are not in the cluster file; `weft show bom` lists what to buy");
}

Verdict order_switches(const model::Cluster& cluster) { return ordered(cluster, "procurement.switches"); }
Verdict order_storage(const model::Cluster& cluster) { return ordered(cluster, "procurement.storage"); }
Verdict order_servers(const model::Cluster& cluster) { return ordered(cluster, "procurement.servers"); }
Verdict order_gpus(const model::Cluster& cluster) { return ordered(cluster, "procurement.gpus"); }
Verdict order_cabling(const model::Cluster& cluster) { return ordered(cluster, "procurement.cabling"); }

Verdict racked(const model::Cluster& cluster) {
  return unknown(fmt::format("{} cables ({} links) and {} racks are planned (`weft show cables`)",
                             views::count_cables(cluster), views::count_links(cluster), cluster.racks().size()));
}

Verdict lldp(const model::Cluster&) { return unknown("compare LLDP neighbors with the cabling plan"); }

Verdict qos(const model::Cluster& cluster) {
  const model::FabricsSpec& fabrics = *cluster.spec().fabrics;
  for (const model::FabricSpec* fabric : {&*fabrics.backend, &*fabrics.storage}) {
    if (*fabric->network == model::NetworkKind::infiniband) continue;  // credit-based flow control, no PFC
    const std::string_view name = fabric == &*fabrics.backend ? "backend" : "storage";
    if (!*fabric->qos->lossless) return not_done(fmt::format("the {} has no lossless class", name));
    if (!*fabric->qos->pfc_watchdog) return not_done(fmt::format("the PFC watchdog of the {} is off", name));
  }
  return unknown("designed: PFC, ECN, DSCP and watchdog are in the rendered switch configuration");
}

Verdict rdma_test(const model::Cluster& cluster) {
  const BitRate speed = cluster.fabric(model::FabricKind::backend).host_speed;
  return unknown(fmt::format("run ib_write_bw between nodes: 350 Gb/s or more on 400G ({} here)", to_text(speed)));
}

Verdict server_profiles(const model::Cluster&) { return unknown("BIOS (NUMA, SR-IOV, performance) and NIC policies"); }

Verdict platform_deployed(const model::Cluster& cluster) {
  return unknown(
      fmt::format("{} on {}", model::text_of(*cluster.spec().control_plane->kind),
                  cluster.spec().control_plane->pool.has_value() ? *cluster.spec().control_plane->pool : "no pool"));
}

Verdict taints(const model::Cluster& cluster) {
  if (slurm_only(cluster)) return done("Slurm partitions separate the pools");
  std::string bare;
  for (const model::PoolSpec& pool : pools_of(cluster)) {
    if (is_gpu_role(*pool.role) && pool.taints->empty()) append_name(bare, pool.name->text);
  }
  if (!bare.empty()) return not_done(fmt::format("GPU pools without taints: {}", bare));
  return done("every GPU pool has taints; `weft render` writes them");
}

Verdict nfd(const model::Cluster& cluster) {
  if (slurm_only(cluster)) return done("not needed: Slurm allocates");
  if (!*cluster.spec().control_plane->node_feature_discovery) {
    return not_done("`control_plane.node_feature_discovery` is false: the scheduler would have no hardware labels");
  }
  return unknown("planned");
}

Verdict gpu_operator(const model::Cluster&) { return unknown("driver, toolkit, device plugin, DCGM"); }

Verdict network_operator(const model::Cluster& cluster) {
  if (slurm_only(cluster)) return done("not needed: Slurm jobs use the host's interfaces");
  return unknown("SR-IOV, RDMA, Multus");
}

Verdict mig_profiles(const model::Cluster& cluster) {
  if (!has_role(cluster, model::PoolRole::inference)) return done("no inference nodes");
  return gpu_sharing(cluster);
}

bool limits_anything(const model::QuotaSpec& quota) {
  return quota.gpus.has_value() || quota.mig.has_value() || quota.cpus.has_value() || quota.memory.has_value() ||
         quota.storage.has_value() || quota.volume_claims.has_value();
}

Verdict quotas(const model::Cluster& cluster) {
  const auto& tenants = *cluster.spec().tenants;
  if (tenants.empty())
    return not_done("no tenants: without quotas, batch jobs of one team can starve services of another");
  std::string open;
  for (const model::TenantSpec& tenant : tenants) {
    if (!limits_anything(*tenant.quota)) append_name(open, tenant.name->text);
  }
  if (!open.empty()) return not_done(fmt::format("tenants without a quota: {}", open));
  if (cluster.spec().priorities->size() < 2)
    return not_done("one priority class cannot separate services from batch jobs");
  return done(
      fmt::format("{} tenants with quotas, {} priority classes", tenants.size(), cluster.spec().priorities->size()));
}

Verdict autoscaling(const model::Cluster& cluster) {
  if (!has_role(cluster, model::PoolRole::inference)) return done("no inference nodes");
  if (slurm_only(cluster)) return not_done("Slurm does not autoscale services: run them on Kubernetes");
  const auto& services = *cluster.spec().services;
  if (services.empty()) return not_done("no services: define them under `services:` with min and max replicas");
  for (const model::ServiceSpec& service : services) {
    if (*service.max_replicas <= *service.min_replicas) {
      return not_done(fmt::format("{} cannot autoscale: {} to {} replicas", service.name->text, *service.min_replicas,
                                  *service.max_replicas));
    }
  }
  return done(fmt::format("{} services scale on GPU utilization", services.size()));
}

Verdict prometheus(const model::Cluster&) {
  return unknown("scrape and alert rules are rendered; deployment is not checked");
}
Verdict dcgm(const model::Cluster&) { return unknown("the ServiceMonitor is rendered; deployment is not checked"); }
Verdict alerts(const model::Cluster&) { return unknown("the DCGM thresholds are rendered; deployment is not checked"); }
Verdict telemetry(const model::Cluster&) { return unknown("BMC telemetry joined with scheduler and fabric state"); }
Verdict as_code(const model::Cluster&) {
  return unknown("keep the cluster file and the rendered files under version control");
}

struct Item {
  std::string_view id;
  std::string_view phase;
  std::string_view text;
  Verdict (*judge)(const model::Cluster&);
};

// The deployment checklist, phase by phase, in its original order.
constexpr std::array<Item, 29> kItems = {{
    {"design.workload-ratio", "design", "Define the ratio of training to inference", workload_ratio},
    {"design.backend-sized", "design", "Size the backend for the GPU count, 400G or more per server", backend_sized},
    {"design.rdma-choice", "design", "Choose RoCE v2 or InfiniBand", rdma_choice},
    {"design.storage-sized", "design", "Select storage and size it for aggregate throughput", storage_sized},
    {"design.topology", "design", "Define node pools, zones and rack placement", topology},
    {"design.gpu-sharing", "design", "Define MIG or time-slicing for each workload", gpu_sharing},
    {kProcurement[0], "procurement", "Order network switches", order_switches},
    {kProcurement[1], "procurement", "Order storage arrays", order_storage},
    {kProcurement[2], "procurement", "Order servers and adapters", order_servers},
    {kProcurement[3], "procurement", "Order GPUs", order_gpus},
    {kProcurement[4], "procurement", "Order cables, optics, PDUs and rack space", order_cabling},
    {"infrastructure.racked", "infrastructure", "Rack and cable by the physical design", racked},
    {"infrastructure.lldp", "infrastructure", "Validate cabling with LLDP neighbors", lldp},
    {"infrastructure.qos", "infrastructure", "Configure PFC, ECN and DSCP marking", qos},
    {"infrastructure.rdma-test", "infrastructure", "Validate RDMA bandwidth node to node", rdma_test},
    {"infrastructure.server-profiles", "infrastructure", "Apply server profiles (BIOS, NIC policies)", server_profiles},
    {"platform.deployed", "platform", "Deploy the orchestrator on the nodes", platform_deployed},
    {"platform.taints", "platform", "Apply node taints and labels by pool", taints},
    {"platform.nfd", "platform", "Install Node Feature Discovery", nfd},
    {"platform.gpu-operator", "platform", "Install the GPU Operator", gpu_operator},
    {"platform.network-operator", "platform", "Install the Network Operator", network_operator},
    {"platform.mig", "platform", "Configure MIG profiles on inference nodes", mig_profiles},
    {"platform.quotas", "platform", "Deploy quotas and priority classes by team", quotas},
    {"platform.autoscaling", "platform", "Configure autoscaling for inference services", autoscaling},
    {"observability.prometheus", "observability", "Deploy Prometheus and Grafana", prometheus},
    {"observability.dcgm", "observability", "Add the DCGM exporter's ServiceMonitor", dcgm},
    {"observability.alerts", "observability", "Configure alerts for GPU health", alerts},
    {"observability.telemetry", "observability", "Build the telemetry correlation pipeline", telemetry},
    {"observability.as-code", "observability", "Codify all configuration", as_code},
}};

// Evidence in the file overrides a statement that an item is done; a statement that it is not done always wins.
Verdict settle(const Verdict& judged, const std::optional<model::ChecklistState>& said, std::string_view id) {
  if (said == model::ChecklistState::not_done && judged.state != ItemState::not_done) {
    return not_done("set in the cluster file");
  }
  if (said == model::ChecklistState::done && judged.state == ItemState::not_done) {
    return not_done(fmt::format("set to done in the cluster file, but: {}", judged.why));
  }
  if (judged.state != ItemState::unknown) return judged;
  if (said == model::ChecklistState::done) return done("set in the cluster file");
  return unknown(
      fmt::format("{}{}set `checklist: {{{}: done}}` when done", judged.why, judged.why.empty() ? "" : "; ", id));
}

std::string_view state_text(ItemState state) {
  switch (state) {
    case ItemState::done:
      return "done";
    case ItemState::not_done:
      return "not done";
    case ItemState::unknown:
      return "unknown";
  }
  return "?";
}

}  // namespace

std::vector<ChecklistItem> checklist(const model::Cluster& cluster) {
  std::vector<ChecklistItem> out;
  out.reserve(kItems.size());
  for (const Item& item : kItems) {
    Verdict verdict = settle(item.judge(cluster), stated(cluster, item.id), item.id);
    out.push_back(
        {std::string(item.id), std::string(item.phase), std::string(item.text), verdict.state, std::move(verdict.why)});
  }
  return out;
}

std::vector<std::string_view> checklist_ids() {
  std::vector<std::string_view> out;
  out.reserve(kItems.size());
  for (const Item& item : kItems) out.push_back(item.id);
  return out;
}

Document checklist_view(const model::Cluster& cluster) {
  using Align = Column::Align;
  TableSection items{"items",
                     "Checklist",
                     {{"phase", "phase"}, {"id", "id"}, {"item", "item"}, {"state", "state"}, {"why", "why"}},
                     {}};
  TableSection phases{"phases",
                      "By phase",
                      {{"phase", "phase"},
                       {"done", "done", Align::right},
                       {"not_done", "not done", Align::right},
                       {"unknown", "unknown", Align::right}},
                      {}};
  std::vector<std::array<std::int64_t, 3>> counts;
  std::vector<std::string> names;
  for (const ChecklistItem& item : checklist(cluster)) {
    items.rows.push_back({item.phase, item.id, item.text, state_text(item.state), item.why});
    if (names.empty() || names.back() != item.phase) {
      names.push_back(item.phase);
      counts.push_back({});
    }
    ++counts.back()[static_cast<std::size_t>(item.state)];
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    phases.rows.push_back({names[i], counts[i][0], counts[i][1], counts[i][2]});
  }
  Document document;
  document.kind = "checklist";
  document.sections.emplace_back(std::move(items));
  document.sections.emplace_back(std::move(phases));
  const std::vector<std::string_view> known = checklist_ids();
  for (const auto& entry : *cluster.spec().checklist) {
    if (std::find(known.begin(), known.end(), entry.first) != known.end()) continue;
    const std::string hint = did_you_mean(entry.first, known);
    document.notes.push_back(fmt::format("`checklist` has an unknown item: {}{}", in_backticks(entry.first),
                                         hint.empty() ? "." : ": " + hint));
  }
  return document;
}

}  // namespace weft::design

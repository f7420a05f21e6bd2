// BE: the GPU-to-GPU fabric as designed. Marking, queues and buffers are in rules/qos.cc.
#include <fmt/format.h>

#include <map>

#include "base/host_range.h"
#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

const model::FabricSpec& backend(const CheckInput& input) { return input.spec().fabrics->backend.value; }
bool is_roce(const CheckInput& input) {
  return input.cluster().fabric(model::FabricKind::backend).present &&
         backend(input).network.value == model::NetworkKind::ethernet;
}
const model::Sourced<std::string>* variable(const CheckInput& input, std::string_view name) {
  for (const auto& [key, value] : input.spec().workload->environment.value) {
    if (key == name) return &value;
  }
  return nullptr;
}

void check_backend_oversubscription(const CheckInput& input, Report& report) {
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::backend);
  if (!plan.present || plan.tiers < 2) return;
  const Ratio& ratio = plan.oversubscription;
  if (ratio.numerator <= 2 * ratio.denominator) return;
  report.at(backend(input).oversubscription, backend(input).place, "backend",
            fmt::format("leaves are oversubscribed {}; heavy all-reduce tolerates at most 2:1", to_text(ratio)));
}

void check_gpus_per_backend_port(const CheckInput& input, Report& report) {
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (pool.role.value != model::PoolRole::training) continue;
    const std::int64_t rails = pool.links->backend.value;
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (server == nullptr || rails < 1 || server->gpus.value <= rails) continue;
    report.at(pool.links->backend, pool.place, pool.name->text,
              fmt::format("{} GPUs share {} backend ports in each server of `{}`", server->gpus.value, rails,
                          pool.name->text));
  }
}

void check_backend_mtu(const CheckInput& input, Report& report) {
  if (!is_roce(input) || backend(input).mtu.value >= 8900) return;
  report.at(backend(input).mtu, backend(input).place, "backend",
            fmt::format("backend MTU is {} bytes; RoCE needs jumbo frames of 9000 bytes end to end",
                        backend(input).mtu.value));
}

void check_backend_bonding(const CheckInput& input, Report& report) {
  if (!input.cluster().fabric(model::FabricKind::backend).present || !backend(input).bond.value) return;
  report.at(backend(input).bond, backend(input).place, "backend", "RDMA ports of the backend are bonded with LACP");
}

void check_backend_port_speed(const CheckInput& input, Report& report) {
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::backend);
  if (!plan.present) return;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (pool.role.value != model::PoolRole::training || server == nullptr || pool.links->backend.value == 0) continue;
    for (const model::PortGroup& group : server->ports.value) {
      if (group.use.value != model::PortUse::backend || group.speeds->empty()) continue;
      BitRate best = group.speeds->front();
      for (const BitRate speed : group.speeds.value) best = std::max(best, speed);
      if (plan.planes > 1 || plan.host_speed >= best) continue;
      report.at(backend(input).speed, backend(input).place, pool.name->text,
                fmt::format("backend ports of `{}` run at {}; they support {}", pool.name->text,
                            to_text(plan.host_speed), to_text(best)));
    }
  }
}

void check_backend_load_balancing(const CheckInput& input, Report& report) {
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::backend);
  if (!is_roce(input) || plan.tiers < 3 || backend(input).load_balancing.value != model::LoadBalancing::ecmp) return;
  report.at(backend(input).load_balancing, backend(input).place, "backend",
            "three tiers balance few, large flows by ECMP hashing alone");
}

void check_rdma_enabled(const CheckInput& input, Report& report) {
  const auto complain = [&](const model::Sourced<std::string>& value, std::string_view name) {
    report.add("environment", value.place, fmt::format("`{}={}` disables RDMA for collectives", name, value.value))
        .length = static_cast<std::uint16_t>(value->size());
  };
  if (!input.cluster().fabric(model::FabricKind::backend).present) return;
  if (const auto* value = variable(input, "NCCL_IB_DISABLE"); value != nullptr && value->value == "1") {
    complain(*value, "NCCL_IB_DISABLE");
  }
  if (const auto* value = variable(input, "NCCL_NET"); value != nullptr && value->value == "Socket") {
    complain(*value, "NCCL_NET");
  }
  if (const auto* value = variable(input, "UCX_TLS"); value != nullptr && value->value.starts_with("tcp")) {
    complain(*value, "UCX_TLS");
  }
}

void check_nccl_cross_nic(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = backend(input);
  const model::FabricPlan& plan = input.cluster().fabric(model::FabricKind::backend);
  if (!plan.present || plan.wiring != model::Wiring::rail_only || plan.rails < 2) return;
  const auto* value = variable(input, "NCCL_CROSS_NIC");
  if (value != nullptr && value->value == "0") return;
  report.add("backend",
             value != nullptr              ? value->place
             : fabric.wiring.place.known() ? fabric.wiring.place
                                           : fabric.place,
             "rails are not connected to each other, but `workload.environment` does not set NCCL_CROSS_NIC=0");
}

void check_shared_gid_index(const CheckInput& input, Report& report) {
  const auto* value = variable(input, "NCCL_IB_GID_INDEX");
  if (!is_roce(input) || value == nullptr || value->value == "-1") return;
  report.add(
      "environment", value->place,
      fmt::format("NCCL_IB_GID_INDEX={} is set for every host; the index of the RoCEv2 address differs between hosts",
                  value->value));
}

void check_gpu_models_per_pool(const CheckInput& input, Report& report) {
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (pool.role.value != model::PoolRole::training) continue;
    const model::ServerModel* usual = server_of(input.cluster(), pool);
    for (const model::HostOverride& entry : pool.overrides.value) {
      if (!entry.server.has_value() || entry.server.value == pool.server.value || usual == nullptr) continue;
      const model::ServerModel* other = input.cluster().catalog().server(entry.server.value);
      if (other == nullptr || other->gpu.value == usual->gpu.value) continue;
      report.add(entry.hosts.value, entry.server.place,
                 fmt::format("{} has different GPUs ({}) than the rest of `{}` ({})", entry.hosts.value,
                             other->gpu.value, pool.name->text, usual->gpu.value));
    }
  }
}

void check_rail_cabling(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  const model::FabricPlan& plan = cluster.fabric(model::FabricKind::backend);
  if (!plan.present || (plan.wiring != model::Wiring::rail_optimized && plan.wiring != model::Wiring::rail_only))
    return;
  std::map<std::string, std::vector<std::string>> across;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.fabric != model::FabricKind::backend || cable.role != model::CableRole::host_leaf) continue;
    const model::Port& host = cluster.port(cable.a);
    const model::Device& leaf = cluster.device(cluster.port(cable.b).device);
    // Leaves count rails from 0 or carry several; one that carries the host's rail is correct.
    const std::uint32_t leaf_rail = leaf.rail;
    if (plan.leaves < plan.rails || leaf_rail == host.rail) continue;
    across[fmt::format("port be{} on the leaf of rail {}", host.rail + 1, leaf_rail + 1)].push_back(
        cluster.name_of(host.device));
  }
  for (auto& [what, hosts] : across) {
    const std::string range = fold_hosts(hosts);
    const SourceLocation place =
        input.spec().cables->empty() ? backend(input).place : input.spec().cables->front().place;
    report.add(range, place, fmt::format("{}: {}", range, what));
  }
}

}  // namespace

std::vector<Rule> backend_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "BE001",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the backend is oversubscribed beyond 2:1",
       .reason = "All-reduce sends from every GPU at once. Traffic beyond the uplink capacity of a leaf queues there, "
                 "ECN throttles all senders, and every iteration takes longer.",
       .source =
           "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), capacity sheet: oversubscription at "
           "most 2:1 for heavy all-reduce; DGX SuperPOD and Meta's training clusters build 1:1 in the first tier",
       .fix = "set `fabrics.backend.oversubscription` to 2:1 or better, or keep jobs inside one unit",
       .example = {.file = "pod16.yaml", .from = "oversubscription: 1:1\n", .to = "oversubscription: 4:1\n"},
       .run = check_backend_oversubscription},
      {.id = "BE002",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "several GPUs share one backend port",
       .reason = "One rail per GPU lets every GPU send at line rate without crossing a CPU socket. With fewer ports, "
                 "GPUs share the bandwidth of one NIC.",
       .source = "Container Networking Architecture for AI Workloads (Patel): 2 to 8 NICs per server, one per GPU "
                 "rail; NVIDIA DGX reference architectures",
       .fix = "use as many backend ports as the server has GPUs (`pools[].links.backend`)",
       .example = {.file = "pod16.yaml", .from = "    spares: 1\n", .to = "    spares: 1\n    links: {backend: 4}\n"},
       .run = check_gpus_per_backend_port},
      {.id = "BE003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the backend does not carry jumbo frames",
       .reason = "RDMA does not discover the path MTU: it uses the configured size. With 1500-byte frames a 400G port "
                 "handles six times as many packets, and one hop with a smaller MTU causes timeouts.",
       .source = "Container Networking Architecture for AI Workloads (Patel), MTU & buffers: 9000 on VF, PF, switch "
                 "ports and SVIs",
       .fix = "set `fabrics.backend.mtu` to 9000",
       .example = {.file = "pod16.yaml",
                   .from = "    spines: 4\n    mtu: 9000\n",
                   .to = "    spines: 4\n    mtu: 1500\n"},
       .run = check_backend_mtu},
      {.id = "BE004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "RDMA ports are bonded",
       .reason = "A queue pair is bound to one port. NCCL spreads flows over several NICs and keeps rails separate; "
                 "LACP moves flows between links without NCCL's control, joins the rails and hides a failed link.",
       .source = "Container Networking Architecture for AI Workloads (Patel): do not bond RDMA links, use multi-NIC in "
                 "the framework",
       .fix = "set `fabrics.backend.bond: false` and let NCCL or UCX use the rails",
       .example = {.file = "pod16.yaml", .from = "    spines: 4\n", .to = "    spines: 4\n    bond: true\n"},
       .run = check_backend_bonding},
      {.id = "BE005",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "backend ports run below their maximum speed",
       .reason = "NICs that are faster than their switch ports waste bandwidth, and switch ports, optics and cables "
                 "for the higher speed have lead times of months.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), The Architect's Checklist: size the backend for "
                 "the GPU count times 400GbE",
       .fix = "set `fabrics.backend.speed` to the NIC's maximum speed, or suppress this rule with the reason",
       .example = {.file = "pod16.yaml", .from = "    speed: 400G\n", .to = "    speed: 200G\n"},
       .run = check_backend_port_speed},
      {.id = "BE006",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "a three-tier fabric relies on ECMP hashing alone",
       .reason = "Collectives open few, large, synchronized flows. Over two stages of equal-cost paths some links "
                 "carry several of them while others are idle, and the slowest link limits the whole job.",
       .source = "Life of an AI Job in Fabric: synchronized all-reduce breaks ECMP and motivates adaptive routing; "
                 "SIGCOMM 2024, RDMA over Ethernet at Meta",
       .fix = "set `fabrics.backend.load_balancing` to adaptive or spray if switches and NICs support it",
       .example = {.file = "pod16.yaml",
                   .from = "oversubscription: 1:1\n",
                   .to = "oversubscription: 1:1\n    tiers: 3\n"},
       .run = check_backend_load_balancing},
      {.id = "BE007",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "jobs are configured not to use RDMA",
       .reason = "TCP costs CPU time and latency: 30 to 60 % of the throughput of a distributed job.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), backend fabric: TCP compared with RoCEv2",
       .fix = "remove the variable from `workload.environment`",
       .example = {.file = "pod16.yaml",
                   .from = "  elastic: true\n",
                   .to = "  elastic: true\n  environment: {NCCL_IB_DISABLE: \"1\"}\n"},
       .run = check_rdma_enabled},
      {.id = "BE008",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "rails are isolated but NCCL_CROSS_NIC is not 0",
       .reason = "NCCL does not detect whether rails can reach each other; NCCL_CROSS_NIC only declares it. On a "
                 "rail-only fabric a ring that crosses rails opens queue pairs that never connect, and the job hangs.",
       .source = "NVIDIA/nccl #1933 and #2193; NCCL environment variables",
       .fix = "set NCCL_CROSS_NIC to 0 in `workload.environment`",
       .example = {.file = "pod16.yaml", .from = "    wiring: rail-optimized\n", .to = "    wiring: rail-only\n"},
       .run = check_nccl_cross_nic},
      {.id = "BE009",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "one GID index for all hosts",
       .reason = "The index of a RoCEv2 address depends on the order in which a host's addresses were configured. A "
                 "fixed index is correct on some hosts and selects RoCEv1 or no address on others; NCCL then hangs "
                 "without an error message.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), pitfalls: NCCL hanging due to "
                 "mixed GID; NCCL default NCCL_IB_GID_INDEX=-1",
       .fix = "leave NCCL_IB_GID_INDEX out and set NCCL_IB_ROCE_VERSION_NUM=2",
       .example = {.file = "pod16.yaml",
                   .from = "  elastic: true\n",
                   .to = "  elastic: true\n  environment: {NCCL_IB_GID_INDEX: \"3\"}\n"},
       .run = check_shared_gid_index},
      {.id = "BE010",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a training pool mixes GPU models",
       .reason = "Ranks synchronize at every step: a job that spans both models runs at the speed of the slower one.",
       .source = "AI Cluster Architecture (SLURM + Kubernetes + RDMA + Parallel FS), topology-aware placement; "
                 "synchronous data parallelism",
       .fix = "move these hosts to a separate pool",
       .example = {.file = "pod16.yaml",
                   .from = "    spares: 1\n",
                   .to = "    spares: 1\n    overrides: [{hosts: \"train[015-016]\", server: hgx-h200}]\n"},
       .run = check_gpu_models_per_pool},
      {.id = "BE011",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a backend port is cabled to the leaf of another rail",
       .reason = "Traffic that could be switched by one leaf crosses the spines, both rails lose bandwidth, and jobs "
                 "that pin GPUs to rails hang or slow down without an error counter that shows the cause.",
       .source = "NVIDIA/nccl #1109: rails are defined by physical wiring; scitix/sichek pull request 133",
       .fix = "remove the entry from `cables:`, or correct the port it names",
       .example = {.file = "pod16.yaml",
                   .from = "\noperations:\n",
                   .to = "\ncables:\n  - {from: \"train001:be1\", to: \"be-train-u001-leaf2:p30/1\"}\n\noperations:\n"},
       .run = check_rail_cabling},
  };
}

}  // namespace weft::check

// QO001 to QO029: lossless classes as specified in the cluster file. They do not apply to InfiniBand fabrics.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "check/qos/intent_qos.h"
#include "check/rules/qos.h"
#include "model/lossless.h"

namespace weft::check {

namespace {

using Values = model::NamedValues<std::string>;

const model::Sourced<std::string>* job_variable(const CheckInput& input, std::string_view name) {
  const Values& environment = *input.spec().workload->environment;
  const auto found =
      std::find_if(environment.begin(), environment.end(), [&](const auto& v) { return v.first == name; });
  return found == environment.end() ? nullptr : &found->second;
}

std::optional<int> traffic_class(const model::Sourced<std::string>* variable) {
  if (variable == nullptr) return std::nullopt;
  const auto value = parse_integer(**variable);
  if (!value || *value < 0 || *value > 255) return std::nullopt;
  return static_cast<int>(*value);
}

const LosslessFabric* backend_of(const std::vector<LosslessFabric>& fabrics) {
  return fabrics.empty() || fabrics[0].kind != model::FabricKind::backend ? nullptr : &fabrics[0];
}

void check_job_traffic_class(const CheckInput& input, Report& report) {
  const std::vector<LosslessFabric> fabrics = lossless_class_fabrics(input);
  const LosslessFabric* backend = backend_of(fabrics);
  for (const char* name : {"NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS"}) {
    const model::Sourced<std::string>* variable = job_variable(input, name);
    const auto value = traffic_class(variable);
    if (backend == nullptr || !value || *value / 4 == *backend->qos.dscp) continue;
    report.add(
        "workload", variable->place,
        fmt::format("`{}` {} marks DSCP {}, but the backend's lossless class has DSCP {}: use {}", name, *value,
                    *value / 4, *backend->qos.dscp, model::traffic_class_of(static_cast<int>(*backend->qos.dscp))));
  }
}

void check_job_ecn_bits(const CheckInput& input, Report& report) {
  const std::vector<LosslessFabric> fabrics = lossless_class_fabrics(input);
  const LosslessFabric* backend = backend_of(fabrics);
  for (const char* name : {"NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS"}) {
    const model::Sourced<std::string>* variable = job_variable(input, name);
    const auto value = traffic_class(variable);
    if (backend == nullptr || !value || *value / 4 != *backend->qos.dscp || (*value & 3) != 0) continue;
    report.add("workload", variable->place,
               fmt::format("`{}` {} has DSCP {} but no ECT bits: use {}", name, *value, *value / 4, *value | 2));
  }
}

void check_job_control_class(const CheckInput& input, Report& report) {
  const std::vector<LosslessFabric> fabrics = lossless_class_fabrics(input);
  const LosslessFabric* backend = backend_of(fabrics);
  const model::Sourced<std::string>* variable = job_variable(input, "NCCL_IB_FIFO_TC");
  const auto value = traffic_class(variable);
  if (backend == nullptr || !value) return;
  const std::int64_t dscp = *value / 4;
  if (dscp == *backend->qos.dscp || dscp == *backend->qos.cnp_dscp) return;
  report.add("workload", variable->place,
             fmt::format("`NCCL_IB_FIFO_TC` {} marks DSCP {}, which is best effort on the backend", *value, dscp));
}

void check_fabric_trust_mode(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (*fabric.qos.trust == model::TrustMode::dscp) continue;
    report.at(fabric.qos.trust, place_of(fabric), fabric.name,
              fmt::format("{} classifies by PCP, but its ports are routed and carry no VLAN tag", fabric.name));
  }
}

const model::SwitchModel* lossy_model(const CheckInput& input, model::FabricKind kind) {
  for (const model::DeviceGroup& group : input.cluster().groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != kind || group.tier == model::Tier::none)
      continue;
    if (group.count > 0 && !*group.network_switch->lossless) return group.network_switch;
  }
  return nullptr;
}

void check_lossless_class_pfc(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    const std::vector<std::int64_t>& list = *qos.pfc_priorities;
    if (*qos.pfc == model::PfcMode::off) {
      report.at(qos.pfc, place_of(fabric), fabric.name,
                fmt::format("{} has a lossless class but priority flow control is off", fabric.name));
    } else if (std::find(list.begin(), list.end(), *qos.priority) == list.end()) {
      report.at(qos.pfc_priorities, place_of(fabric), fabric.name,
                fmt::format("{} carries its data on priority {}, which is not among `pfc_priorities`", fabric.name,
                            *qos.priority));
    }
    if (const model::SwitchModel* model = lossy_model(input, fabric.kind)) {
      report.at(fabric.spec.leaf, place_of(fabric), fabric.name,
                fmt::format("{} has a lossless class, which {} does not support", fabric.name, *model->name));
    }
  }
}

void check_pfc_negotiation(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (*fabric.qos.pfc != model::PfcMode::automatic) continue;
    report.at(fabric.qos.pfc, place_of(fabric), fabric.name,
              fmt::format("priority flow control of {} depends on negotiation", fabric.name));
  }
}

// The switch of a fabric that reserves the largest share of its buffer.
struct Reserved {
  const model::SwitchModel* model = nullptr;
  model::HeadroomTotal total;
  bool estimated = false;
  [[nodiscard]] bool too_much() const { return model != nullptr && total.all > *model->buffer / 2; }
};

Reserved most_reserved(const CheckInput& input, const LosslessFabric& fabric) {
  const model::Cluster& cluster = input.cluster();
  Reserved out;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != fabric.kind || group.count == 0) continue;
    const auto asic = model::asic_headroom(*group.network_switch->asic);
    if (!asic || group.tier == model::Tier::none) continue;
    model::HeadroomSum sum(*asic, *fabric.spec.switch_mtu,
                           static_cast<std::int64_t>(fabric.qos.pfc_priorities->size()));
    for (const model::PortId id : cluster.ports_of(group.first)) {
      const model::Port& port = cluster.port(id);
      if (port.fabric == fabric.kind) sum.add(port.speed(), Length(cluster.cable(port.cable).length_mm), port.lanes);
    }
    if (out.model == nullptr || sum.total().all > out.total.all) {
      out = {group.network_switch, sum.total(), asic->estimated};
    }
  }
  return out;
}

void check_pfc_priority_count(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    std::vector<std::int64_t> extra;
    for (const std::int64_t p : *qos.pfc_priorities) {
      if (p != *qos.priority && p != *qos.cnp_priority) extra.push_back(p);
    }
    if (extra.empty() || most_reserved(input, fabric).too_much()) continue;
    report.at(qos.pfc_priorities, place_of(fabric), fabric.name,
              fmt::format("{} also pauses priority {}, but only {} carries lossless data", fabric.name,
                          fmt::join(extra, ", "), *qos.priority));
  }
}

void check_headroom_share(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const Reserved reserved = most_reserved(input, fabric);
    if (!reserved.too_much()) continue;
    report.at(fabric.qos.pfc_priorities, place_of(fabric), fabric.name,
              fmt::format("{} lossless classes on {} ports of {} reserve {}{} of its {} buffer",
                          fabric.qos.pfc_priorities->size(), reserved.total.ports, *reserved.model->name,
                          reserved.estimated ? "an estimated " : "", about(reserved.total.all),
                          about(*reserved.model->buffer)));
  }
}

void check_cnp_priority(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    const std::vector<std::int64_t>& list = *qos.pfc_priorities;
    if (std::find(list.begin(), list.end(), *qos.cnp_priority) == list.end()) continue;
    report.at(qos.pfc_priorities, place_of(fabric), fabric.name,
              fmt::format("congestion notifications of {} use priority {}, which can be paused", fabric.name,
                          *qos.cnp_priority));
  }
}

void check_cnp_marking(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (*fabric.qos.cnp_dscp != *fabric.qos.dscp) continue;
    report.at(fabric.qos.cnp_dscp, place_of(fabric), fabric.name,
              fmt::format("data and congestion notifications of {} both have DSCP {}", fabric.name, *fabric.qos.dscp));
  }
}

void check_global_pause(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (!*fabric.qos.global_pause) continue;
    report.at(fabric.qos.global_pause, place_of(fabric), fabric.name,
              fmt::format("{} uses 802.3x pause together with priority flow control", fabric.name));
  }
}

void check_shared_lossless_class(const CheckInput& input, Report& report) {
  const std::vector<LosslessFabric> fabrics = lossless_class_fabrics(input);
  if (fabrics.size() < 2 || fabrics[1].kind != model::FabricKind::storage) return;
  const model::QosSpec& a = fabrics[0].qos;
  const model::QosSpec& b = fabrics[1].qos;
  if (*a.dscp != *b.dscp && *a.priority != *b.priority) return;
  const bool by_dscp = *a.dscp == *b.dscp;
  report.at(
      by_dscp ? b.dscp : b.priority, place_of(fabrics[1]), "storage",
      fmt::format("backend and storage share {} {}", by_dscp ? "DSCP" : "priority", by_dscp ? *a.dscp : *a.priority));
}

void check_frontend_lossless_class(const CheckInput& input, Report& report) {
  const model::FabricSpec& frontend = *input.spec().fabrics->frontend;
  if (!input.cluster().fabric(model::FabricKind::frontend).present || !*frontend.qos->lossless) return;
  report.at(frontend.qos->lossless, frontend.place, "frontend", "the frontend has a lossless class");
}

void check_dscp_priority_mapping(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (*qos.dscp / 8 != *qos.priority) {
      report.at(qos.dscp, place_of(fabric), fabric.name,
                fmt::format("NICs map DSCP {} to priority {}, the switches of {} pause priority {}", *qos.dscp,
                            *qos.dscp / 8, fabric.name, *qos.priority));
    } else if (*qos.cnp_dscp / 8 != *qos.cnp_priority && *qos.cnp_dscp != *qos.dscp) {
      report.at(qos.cnp_dscp, place_of(fabric), fabric.name,
                fmt::format("NICs map DSCP {} of notifications to priority {}, the switches of {} to {}", *qos.cnp_dscp,
                            *qos.cnp_dscp / 8, fabric.name, *qos.cnp_priority));
    }
  }
}

void check_lossless_bandwidth_share(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const std::int64_t percent = *fabric.qos.bandwidth_percent;
    if (percent >= 30 && percent <= 95) continue;
    report.at(fabric.qos.bandwidth_percent, place_of(fabric), fabric.name,
              percent < 30
                  ? fmt::format("the lossless class of {} has only {} % of a link guaranteed", fabric.name, percent)
                  : fmt::format("{} % for the lossless class of {} leaves no bandwidth for routing and monitoring",
                                percent, fabric.name));
  }
}

void check_fabric_switch_mtu(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (*fabric.spec.switch_mtu >= *fabric.spec.mtu) continue;
    report.at(fabric.spec.switch_mtu, fabric.spec.place, fabric.name,
              fmt::format("hosts of {} send frames of {} bytes, its switches forward at most {}", fabric.name,
                          *fabric.spec.mtu, *fabric.spec.switch_mtu));
  }
}

constexpr std::string_view kBackendQos =
    "    qos: {priority: 3, dscp: 26, cnp_priority: 6, cnp_dscp: 48, ecn_percent: 20, bandwidth_percent: 60}\n";
constexpr std::string_view kElastic = "  elastic: true\n";
constexpr std::string_view kDesignGuide =
    "Container Networking Architecture for AI Workloads (Patel), QoS: backend and storage in separate lossless classes "
    "(RoCEv2), PFC and ECN with watchdog";

}  // namespace

std::vector<LosslessFabric> lossless_class_fabrics(const CheckInput& input) {
  std::vector<LosslessFabric> out;
  for (const model::FabricKind kind : lossless_fabrics(input.cluster())) {
    const model::FabricSpec& spec = input.cluster().data_fabric_spec(kind);
    out.push_back({kind, spec, *spec.qos, std::string(model::to_text(kind))});
  }
  return out;
}

SourceLocation place_of(const LosslessFabric& fabric) {
  return fabric.spec.qos.place.known() ? fabric.spec.qos.place : fabric.spec.place;
}

std::vector<model::FabricKind> lossless_fabrics(const model::Cluster& cluster) {
  std::vector<model::FabricKind> out;
  for (const model::FabricKind kind : {model::FabricKind::backend, model::FabricKind::storage}) {
    if (has_lossless_class(cluster, kind)) out.push_back(kind);
  }
  return out;
}

Bytes bandwidth_delay(BitRate speed) {
  constexpr std::int64_t kRoundTrip = 20;  // microseconds
  return Bytes(multiply_divide(speed.count(), kRoundTrip, 8'000'000));
}

std::vector<Rule> qos_design_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "QO001",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "jobs mark their traffic for a different class than the fabric's",
       .reason = "Traffic without the lossless DSCP is best effort: switches drop it under load, and one lost packet "
                 "stalls a collective until the timeout of its queue pair. The default of NCCL is traffic class 0.",
       .source = "NVIDIA/nccl src/transport/net_ib (NCCL_IB_TC default 0); NVIDIA/nccl #2383: queue pairs on traffic "
                 "class 0 hung",
       .fix = "set `NCCL_IB_TC` to DSCP x 4 + 2 of the backend's class, 106 for DSCP 26",
       .example = {.file = "pod16.yaml",
                   .from = kElastic,
                   .to = "  elastic: true\n  environment: {NCCL_IB_TC: \"0\"}\n"},
       .run = check_job_traffic_class},
      {.id = "QO002",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "jobs mark a DSCP without the ECN-capable bits",
       .reason = "A traffic class is the whole byte: DSCP and two ECN bits. With ECN bits 00 a congested switch drops "
                 "packets instead of marking them, or the queue grows until it pauses.",
       .source = "RFC 3168 section 5; NCCL_IB_TC 106 = 26 x 4 + 2",
       .fix = "add 2 (ECT(0)) to the traffic class",
       .example = {.file = "pod16.yaml",
                   .from = kElastic,
                   .to = "  elastic: true\n  environment: {NCCL_IB_TC: \"104\"}\n"},
       .run = check_job_ecn_bits},
      {.id = "QO003",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "NCCL control messages are best effort",
       .reason = "The receiver's clear-to-send messages control every transfer. In a lossy class they are dropped "
                 "first, and the data waits for a retransmission timeout.",
       .source = "NVIDIA/nccl net_ib: NCCL_IB_FIFO_TC, which follows NCCL_IB_TC when it is not set",
       .fix = "leave `NCCL_IB_FIFO_TC` unset, or set it to the traffic class of the data or of the notifications",
       .example = {.file = "pod16.yaml",
                   .from = kElastic,
                   .to = "  elastic: true\n  environment: {NCCL_IB_FIFO_TC: \"66\"}\n"},
       .run = check_job_control_class},
      {.id = "QO004",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a routed fabric classifies by PCP",
       .reason =
           "PCP is part of the VLAN tag. RoCEv2 between routed ports is untagged, so every packet becomes priority 0.",
       .source = "IEEE 802.1Q; NVIDIA mlnx_qos manual: trust dscp for RoCEv2",
       .fix = "set `qos.trust: dscp`",
       .example =
           {.file = "pod16.yaml",
            .from = kBackendQos,
            .to = "    qos: {priority: 3, dscp: 26, cnp_priority: 6, cnp_dscp: 48, ecn_percent: 20, trust: pcp}\n"},
       .run = check_fabric_trust_mode},
      {.id = "QO005",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a lossless class has no effective PFC",
       .reason = "Without PFC on the data's priority a full buffer drops packets. RoCE retransmits from the lost "
                 "packet on, and the whole job waits.",
       .source = "IEEE 802.1Qbb; Building Enterprise AI Infrastructure (Pabba, 2026): RoCE traffic must never see "
                 "packet drops, PFC is not optional",
       .fix = "enable `qos.pfc` for the data's priority, on switches that support it",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, pfc: off, cnp_priority: 6,"},
       .run = check_lossless_class_pfc},
      {.id = "QO006",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "priority flow control depends on negotiation",
       .reason = "In auto mode PFC is active only if the NIC offers it by DCBX. Otherwise the port is lossy, without "
                 "any warning.",
       .source = "AI networking from the ground up: leaving PFC in auto means occasional packet drops",
       .fix = "set `qos.pfc: on`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, pfc: auto, cnp_priority: 6,"},
       .run = check_pfc_negotiation},
      {.id = "QO007",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "PFC is enabled on more priorities than carry lossless data",
       .reason = "Every paused class spreads congestion to traffic that could be dropped, and takes headroom from the "
                 "lossless classes.",
       .source = "Container Networking Architecture for AI Workloads (Patel): PFC only on the training class",
       .fix = "list only the data's priority in `qos.pfc_priorities`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, pfc_priorities: [4, 5], cnp_priority: 6,"},
       .run = check_pfc_priority_count},
      {.id = "QO008",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "PFC headroom uses most of the switch's buffer",
       .reason = "Headroom is reserved per port and lossless class. Above half of the buffer too little is left to "
                 "absorb bursts; above the whole buffer the switch rejects the configuration.",
       .source = "SONiC HLD, dynamic headroom calculation: accumulative headroom checked against the pool",
       .fix = "make fewer classes lossless, or use a shared headroom pool",
       .example = {.file = "pod32.yaml",
                   .from = "wiring: rail-optimized, oversubscription: 1:1}",
                   .to =
                       "wiring: rail-optimized, oversubscription: 1:1, qos: {pfc_priorities: [0, 1, 2, 3, 4, 5, 7]}}"},
       .run = check_headroom_share},
      {.id = "QO009",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "congestion notifications can be paused",
       .reason = "Notifications tell senders to slow down. If their class can be paused, they are delayed by the "
                 "congestion that they report.",
       .source = "DCQCN (SIGCOMM 2015), section 3; NVIDIA and Juniper guides: CNP in a separate strict-priority class "
                 "without PFC",
       .fix = "remove `cnp_priority` from `pfc_priorities`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, pfc_priorities: [4, 6], cnp_priority: 6,"},
       .run = check_cnp_priority},
      {.id = "QO010",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "congestion notifications have the same DSCP as data",
       .reason = "Switches distinguish them by DSCP only. With the same DSCP both use the data's queue.",
       .source = "DCQCN (SIGCOMM 2015), section 3",
       .fix = "use a separate DSCP for notifications, usually 48",
       .example = {.file = "pod16.yaml",
                   .from = "cnp_dscp: 48, ecn_percent: 20",
                   .to = "cnp_dscp: 26, ecn_percent: 20"},
       .run = check_cnp_marking},
      {.id = "QO011",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "802.3x pause is enabled together with priority flow control",
       .reason = "A link pause stops all classes at once, including notifications and routing; most NICs disable "
                 "priority flow control while link pause is on.",
       .source = "IEEE 802.1Qbb; Container Networking Architecture for AI Workloads (Patel): disable global pause",
       .fix = "set `qos.global_pause: false`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, global_pause: true, cnp_priority: 6,"},
       .run = check_global_pause},
      {.id = "QO019",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "backend and storage share a lossless class",
       .reason = "On devices that carry both (a server's NIC, a converged switch) a checkpoint pauses the collectives "
                 "of its own job.",
       .source = kDesignGuide,
       .fix = "use a separate DSCP and priority for storage, for example 34 and 4",
       .example = {.file = "pod16.yaml", .from = "priority: 4, dscp: 34,", .to = "priority: 3, dscp: 26,"},
       .run = check_shared_lossless_class},
      {.id = "QO020",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the frontend has a lossless class",
       .reason = "The frontend carries TCP, which needs drops to adapt its rate. Pauses spread the effect of one slow "
                 "client to every server of the leaf.",
       .source = "Container Networking Architecture for AI Workloads (Patel): no PFC or ECN classes on the frontend, "
                 "queues remain lossy",
       .fix = "remove `fabrics.frontend.qos.lossless`",
       .example = {.file = "pod16.yaml",
                   .from = "frontend: {leaf: sn4600c,",
                   .to = "frontend: {leaf: sn4600c, qos: {lossless: true},"},
       .run = check_frontend_lossless_class},
      {.id = "QO021",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "NICs and switches map one DSCP to different priorities",
       .reason = "NICs that trust DSCP use its upper three bits as the priority. If the switch pauses another "
                 "priority, the NIC continues to send and the switch's headroom overflows.",
       .source = "NVIDIA mlnx_qos manual: default dscp2prio is DSCP / 8; IEEE 802.1Qbb",
       .fix = "choose `dscp` so that dscp / 8 is `priority`, and `cnp_dscp` likewise",
       .example = {.file = "pod16.yaml", .from = "dscp: 26, cnp_priority: 6", .to = "dscp: 42, cnp_priority: 6"},
       .run = check_dscp_priority_mapping},
      {.id = "QO022",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the lossless class has too small or too large a share of a link",
       .reason = "Below a third the class is throttled whenever other traffic is present; near 100 %, routing "
                 "protocols and monitoring are delayed until sessions time out.",
       .source = "IEEE 802.1Qaz; Cumulus RoCE default 50 %",
       .fix = "set `qos.bandwidth_percent` between 30 and 95",
       .example = {.file = "pod16.yaml", .from = "bandwidth_percent: 60", .to = "bandwidth_percent: 10"},
       .run = check_lossless_bandwidth_share},
      {.id = "QO023",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "switch ports have a smaller MTU than hosts",
       .reason = "RDMA neither fragments nor discovers the path MTU: frames that do not fit are dropped silently.",
       .source = "Container Networking Architecture for AI Workloads (Patel): 9000 on VF, PF, switch ports and SVIs, "
                 "validate end to end",
       .fix = "set `switch_mtu` to 9216, or leave it unset",
       .example = {.file = "pod16.yaml",
                   .from = "    system: cumulus\n    mtu: 9000\n",
                   .to = "    system: cumulus\n    mtu: 9000\n    switch_mtu: 4200\n"},
       .run = check_fabric_switch_mtu},
  };
}

}  // namespace weft::check

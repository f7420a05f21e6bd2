// QO030 to QO059: the path of a class through actual configuration. Each rule covers some causes of the class trace;
// only the first fault on a path is reported, since the rest follow from it. Faults of the cluster file alone are
// reported by QO001 to QO029.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host_range.h"
#include "check/core/match.h"
#include "check/qos/class_trace.h"
#include "check/qos/intent_qos.h"
#include "check/qos/lossless_ports.h"
#include "check/qos/trace_ends.h"
#include "check/rules/qos.h"
#include "check/rules/trace_report.h"
#include "model/lossless.h"

namespace weft::check {

namespace {

enum class Blamed { job, nic, network };

Blamed blame(const CheckInput& input, const Trace& trace, const TraceLeg& leg) {
  const TraceStep* marked = marking_step(leg);
  if (marked == nullptr || marked->said_by == SaidBy::intent) return Blamed::network;
  if (leg.dscp == find_expected_dscp(input, trace, leg)) return Blamed::network;
  return marked->what == "default ToS" ? Blamed::nic : Blamed::job;
}

// Only one direction is lossy: the return path uses another class (reported by QO043).
bool one_way(const Trace& trace) {
  if (trace.legs.size() < 2) return false;
  const TraceStep* there = trace.legs[0].first(StepVerdict::lossy);
  const TraceStep* back = trace.legs[1].first(StepVerdict::lossy);
  const TraceStep* only = there != nullptr ? there : back;
  return (there == nullptr) != (back == nullptr) && only->cause == Cause::class_lossy;
}

void report_class(const CheckInput& input, Report& report, Blamed wanted) {
  TraceReporter reporter(input);
  for (const Trace& trace : input.traces().all()) {
    if (one_way(trace)) continue;
    for (const TraceLeg& leg : trace.legs) {
      const TraceStep* step = find_deciding_step(leg);
      if (leg.notice || step == nullptr || step->cause != Cause::class_lossy || only_intent(leg, *step)) continue;
      const TraceStep* marked = marking_step(leg);
      if (marked != nullptr && marked->cause == Cause::application_unmarked) continue;  // QO033
      if (blame(input, trace, leg) != wanted) continue;
      const TraceStep& at = wanted == Blamed::network || marked == nullptr ? *step : *marked;
      reporter.add(leg, *step, at, describe_cause(leg, *step));
    }
  }
  reporter.report(report);
}

void check_traced_job_class(const CheckInput& input, Report& report) { report_class(input, report, Blamed::job); }

// The NIC's default matters even if jobs set a class: all other traffic uses it.
void check_traced_nic_class(const CheckInput& input, Report& report) {
  report_class(input, report, Blamed::nic);
  if (!input.has_cluster()) return;
  std::set<const config::NicConfig*> seen;
  for (const Finding& finding : report.findings()) {
    for (const config::NicConfig& nic : input.config().nics) {
      if (finding.rule->id == "QO031" && finding.subject == nic.name) seen.insert(&nic);
    }
  }
  for (const model::FabricKind fabric : lossless_fabrics(input.cluster())) {
    const std::int64_t dscp = *input.cluster().data_fabric_spec(fabric).qos->dscp;
    for (const config::NicConfig* nic : nics_of(input.config(), fabric)) {
      if (!nic->tos.known() || *nic->tos / 4 == dscp || !seen.insert(nic).second) continue;
      report.add(nic->name, nic->tos.place.known() ? nic->tos.place : nic->place,
                 fmt::format("`{}` marks DSCP {} by default, the lossless class of {} has DSCP {}", nic->name,
                             *nic->tos / 4, model::to_text(fabric), dscp));
    }
  }
}

void check_traced_switch_class(const CheckInput& input, Report& report) {
  report_class(input, report, Blamed::network);
}

void check_traced_direction(const CheckInput& input, Report& report) {
  TraceReporter reporter(input);
  for (const Trace& trace : input.traces().all()) {
    if (!one_way(trace)) continue;
    const TraceLeg& bad = trace.legs[trace.legs[0].first(StepVerdict::lossy) != nullptr ? 0 : 1];
    const TraceStep* step = find_deciding_step(bad);
    if (only_intent(bad, *step)) continue;
    reporter.add(bad, *step, *step, describe_cause(bad, *step) + ", while the other direction is lossless");
  }
  reporter.report(report);
}

bool rdma_over_ethernet(const CheckInput& input) {
  if (input.has_cluster()) return has_lossless_class(input.cluster(), model::FabricKind::backend);
  return !nics_of(input.config(), model::FabricKind::backend).empty() || !input.config().switches.empty();
}

void check_traced_job_marking(const CheckInput& input, Report& report) {
  if (!rdma_over_ethernet(input)) return;
  const std::vector<const config::NicConfig*> nics = nics_of(input.config(), model::FabricKind::backend);
  const bool covered = !nics.empty() && std::all_of(nics.begin(), nics.end(), [](const config::NicConfig* nic) {
    return nic->tos.known() && *nic->tos != 0;
  });
  std::vector<std::string> names;
  SourceLocation place;
  for (const config::AppConfig& app : input.config().apps) {
    if (!uses_nccl(app)) continue;
    const TraceMarking marking = marking_of(input.config(), app, Flow::nccl);
    if (*marking.traffic_class != 0) continue;
    names.push_back(app.name);
    if (!place.known()) place = marking.traffic_class.place;
  }
  if (names.empty()) return;
  const std::string who = fold_hosts(names);
  Finding& finding = report.add(
      who, place,
      covered ? fmt::format("{}: NCCL uses traffic class 0 and depends on the NIC's default", who)
              : fmt::format("{}: NCCL does not mark packets, its traffic is best effort at the first switch", who));
  if (covered) finding.severity = Severity::warning;
  for (const config::NicConfig* nic : nics) {
    finding.related.push_back({nic->tos.place.known() ? nic->tos.place : nic->place,
                               fmt::format("NIC `{}`: default ToS {}", nic->name, nic->tos.known() ? *nic->tos : 0)});
  }
}

void check_traced_control_class(const CheckInput& input, Report& report) {
  if (!input.has_cluster() || !has_lossless_class(input.cluster(), model::FabricKind::backend)) return;
  const model::QosSpec& qos = *input.spec().fabrics->backend->qos;
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* variable = app.variable("NCCL_IB_FIFO_TC");
    if (variable == nullptr) continue;
    const auto value = parse_integer(variable->value);
    if (!value || *value < 0 || *value > 255) continue;
    if (*value / 4 == *qos.dscp || *value / 4 == *qos.cnp_dscp) continue;
    report.add(
        app.name, variable->place,
        fmt::format("`NCCL_IB_FIFO_TC` {} marks DSCP {}, which is best effort on the backend", *value, *value / 4));
  }
}

void check_traced_ecn_bits(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::not_ecn_capable});
}
void check_traced_nic_trust(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::nic_trust});
}
void check_traced_nic_pfc(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::nic_without_pfc});
}
void check_traced_switch_trust(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::switch_trust});
}
void check_traced_class_maps(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::port_without_maps});
}
void check_traced_headroom(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::group_map, Cause::group_without_headroom});
}
void check_traced_pfc(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::pfc_off, Cause::queue_not_paused});
}
void check_traced_pfc_mismatch(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::priority_mismatch});
}
void check_traced_dscp_rewrite(const CheckInput& input, Report& report) {
  TraceReporter reporter(input);
  for (const Trace& trace : input.traces().all()) {
    for (const TraceLeg& leg : trace.legs) {
      for (const TraceStep& step : leg.steps) {
        if (step.cause == Cause::rewritten) reporter.add(leg, step, step, describe_cause(leg, step));
      }
    }
  }
  reporter.report(report);
}

// Switch files alone: without markings no path can be traced, but the ports with PFC are known.
template <class Judge>
void report_ports(const CheckInput& input, Report& report, Judge judge) {
  if (input.has_cluster() || !input.traces().all().empty()) return;
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const auto pauses = std::find_if(port.qos->pfc.begin(), port.qos->pfc.end(), is_on);
    if (pauses == port.qos->pfc.end() || port.queue < 0) continue;
    judge(port, pauses->place.known() ? pauses->place : port.interface->place, lines);
  }
  lines.report(report);
}

void check_traced_ecn(const CheckInput& input, Report& report) {
  report_steps(input, report, Cause::ecn_off);
  report_ports(input, report, [](const LosslessPort& port, const SourceLocation& pauses, FindingGroups& lines) {
    const config::Setting<bool>& ecn = port.qos->queues[static_cast<std::size_t>(port.queue)].ecn;
    if (!ecn.known() || *ecn) return;
    lines.add(port.name, ecn.place.known() ? ecn.place : pauses,
              fmt::format("queue {}, which pauses, has no ECN marking", port.queue));
  });
}

void check_traced_watchdog(const CheckInput& input, Report& report) {
  report_steps(input, report, Cause::watchdog_off);
  report_ports(input, report, [](const LosslessPort& port, const SourceLocation& pauses, FindingGroups& lines) {
    const config::Setting<bool>& watchdog = port.qos->watchdog.on;
    if (!watchdog.known() || *watchdog || watchdog.given()) return;  // QO091 reports a disabled one
    lines.add(port.name, pauses, "PFC is enabled on the port without a watchdog to end a stuck pause");
  });
}
void check_traced_pfc_negotiation(const CheckInput& input, Report& report) {
  report_steps(input, report, Cause::pfc_automatic);
}
void check_traced_strict_priority(const CheckInput& input, Report& report) {
  report_steps(input, report, Cause::data_strict);
}
void check_traced_nic_ecn(const CheckInput& input, Report& report) {
  report_steps(input, report, Cause::nic_without_ecn);
}
void check_traced_cnp_class(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::notice_lossless, Cause::notice_with_data});
}
void check_traced_cnp_queue(const CheckInput& input, Report& report) {
  report_causes(input, report, {Cause::notice_not_strict});
}

}  // namespace

std::vector<Rule> qos_trace_rules() {  // NOLINT(readability-function-size): a table
  static constexpr std::string_view kJob = "running/train-job.yaml";
  static constexpr std::string_view kNic = "running/nic-template.yaml";
  static constexpr std::string_view kLeaf = "running/be-train-u001-leaf1.json";
  static constexpr std::string_view kNexus = "running-nexus/be-train-u001-leaf1.cfg";
  static constexpr std::string_view kJobClass = "                - {name: NCCL_IB_TC, value: \"106\"}\n";
  static constexpr std::string_view kNicEcn = "ecn: {enabled: true, priority: 3}\n";
  return {
      {.id = "QO030",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a job marks its traffic for a lossy class",
       .reason = "The settings of the job, the NIC and the switch are each valid; but the DSCP that the job sets is "
                 "mapped to a class without headroom. Under load its packets are dropped, and every collective waits "
                 "for retransmission timeouts.",
       .source = "NVIDIA/nccl #2383; IEEE 802.1Qbb",
       .fix = "set NCCL_IB_TC (UCX_IB_TRAFFIC_CLASS) to four times the lossless DSCP plus 2, or map its DSCP to the "
              "lossless class on every switch of the path",
       .example = {.file = kJob, .from = kJobClass, .to = "                - {name: NCCL_IB_TC, value: \"66\"}\n"},
       .run = check_traced_job_class},
      {.id = "QO031",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "the NIC's default mark is not in the lossless class",
       .reason = "Traffic without an explicit traffic class uses the NIC's default: other libraries, queue pairs "
                 "created on the GPU, storage. The operator's own default is ToS 0.",
       .source = "Mellanox/nic-configuration-operator README: roceOptimized defaults to ToS 0; NVIDIA/nccl #2383",
       .fix = "set `qos.tos` to four times the lossless DSCP plus 2, 106 for DSCP 26",
       .example = {.file = kNic, .from = "tos: 106 ", .to = "tos: 98 "},
       .run = check_traced_nic_class},
      {.id = "QO032",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a switch maps the lossless DSCP to a lossy class",
       .reason = "Jobs and NICs mark correctly, but this switch maps the DSCP to a class without headroom. SONiC's "
                 "generic maps do so for every DSCP except 3 and 4.",
       .source = "sonic-net/sonic-buildimage qos_config.j2: DSCP 3 and 4 lossless, 26 in class 1",
       .fix = "map the DSCP to the lossless class on this switch",
       .example = {.file = kLeaf, .from = "\"26\": \"3\"", .to = "\"26\": \"1\""},
       .run = check_traced_switch_class},
      {.id = "QO033",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "NCCL uses its default traffic class 0",
       .reason = "NCCL does not mark packets unless NCCL_IB_TC is set. A default in the NIC does not cover every kind "
                 "of queue pair: those that NCCL creates on the GPU fell back to 0 and hung.",
       .source = "NVIDIA/nccl src/transport/net_ib: NCCL_IB_TC defaults to 0; NVIDIA/nccl #2383",
       .fix = "set NCCL_IB_TC in the job's environment or in nccl.conf",
       .example = {.file = kJob, .from = kJobClass, .to = ""},
       .run = check_traced_job_marking},
      {.id = "QO034",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "lossless traffic is not ECN-capable",
       .reason = "A traffic class is the whole byte: DSCP and two ECN bits. With ECN bits 00 switches cannot mark the "
                 "packets, queues grow until they pause, and pauses spread.",
       .source = "RFC 3168 section 5; NCCL_IB_TC 106 = 26 x 4 + 2",
       .fix = "add 2 to the traffic class",
       .example = {.file = kJob, .from = kJobClass, .to = "                - {name: NCCL_IB_TC, value: \"104\"}\n"},
       .run = check_traced_ecn_bits},
      {.id = "QO035",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "the NIC classifies by PCP",
       .reason = "Routed RoCE is untagged, so a NIC that trusts PCP maps everything to priority 0 and does not pause "
                 "the lossless priority.",
       .source = "NVIDIA mlnx_qos manual: the default is pcp, RoCEv2 needs dscp",
       .fix = "set trust to dscp",
       .example = {.file = kNic,
                   .from = "trust: dscp\n        pfc: \"0,0,0,1,0,0,0,0\"",
                   .to = "trust: pcp\n        pfc: \"0,0,0,1,0,0,0,0\""},
       .run = check_traced_nic_trust},
      {.id = "QO036",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "the NIC has no PFC on the priority of the lossless class",
       .reason = "A NIC that ignores pauses overruns its leaf's headroom; one that sends none drops packets it cannot "
                 "receive.",
       .source = "IEEE 802.1Qbb; Mellanox/nic-configuration-operator, `qos.pfc`",
       .fix = "enable PFC on the NIC for the priority of the data's DSCP (DSCP / 8)",
       .example = {.file = kNic, .from = "pfc: \"0,0,0,1,0,0,0,0\"", .to = "pfc: \"0,0,0,0,0,0,0,0\""},
       .run = check_traced_nic_pfc},
      {.id = "QO037",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a switch port classifies by PCP",
       .reason = "Routed RoCE is untagged: the port maps every packet to priority 0.",
       .source = "IEEE 802.1Q; Cumulus Linux user guide: trust l3 for RoCE",
       .fix = "trust DSCP on the ports of the fabric",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "",
                   .to = "nv set qos mapping default-global trust l2\n"},
       .run = check_traced_switch_trust},
      {.id = "QO038",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a port that carries RDMA has no class maps",
       .reason = "The port was omitted when classes were configured. All traffic received there is class 0. SONiC's "
                 "CLI then accepts PFC settings for it without effect.",
       .source =
           "sonic-net/sonic-mgmt #25442: `config interface pfc priority` silently fails without a PORT_QOS_MAP entry",
       .fix = "bind the same maps to every port of the fabric",
       .example = {.file = kLeaf, .from = "\"Ethernet0\": {\"dscp_to_tc_map\": \"ROCE\", ", .to = "\"Ethernet0\": {"},
       .run = check_traced_class_maps},
      {.id = "QO039",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "the lossless class has no headroom",
       .reason = "A pause takes effect only after the delay of the cable. Without headroom for the data in flight, a "
                 "class with PFC drops packets like any other.",
       .source = "SONiC HLD, dynamic headroom calculation; IEEE 802.1Qbb annex",
       .fix = "map the class to a priority group with a lossless buffer profile",
       .example = {.file = kLeaf,
                   .from = "\"Ethernet0|3\": {\"profile\": \"pg_lossless_400000_10m_profile\"}",
                   .to = "\"Ethernet0|3\": {\"profile\": \"ingress_lossy_profile\"}"},
       .run = check_traced_headroom},
      {.id = "QO040",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "no priority with PFC belongs to the lossless class",
       .reason = "Its priority group has headroom, but no priority with PFC belongs to it: the buffer fills, no sender "
                 "is paused, and packets are dropped.",
       .source = "IEEE 802.1Qbb; SONiC PORT_QOS_MAP pfc_enable",
       .fix = "enable PFC on the priority of the lossless class, for its group and its queue",
       .example = {.file = kLeaf, .from = "\"ROCE\": {\"3\": \"3\"}", .to = "\"ROCE\": {\"3\": \"0\"}"},
       .run = check_traced_pfc},
      {.id = "QO041",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "the two ends of a link pause different priorities",
       .reason = "The receiver pauses one priority while the sender uses another for the data. No traffic stops.",
       .source = "IEEE 802.1Qbb: a pause frame names the priority",
       .fix = "use one priority for the class on every NIC and switch",
       .example = {.file = kNexus, .from = "pause pfc-cos 3", .to = "pause pfc-cos 4"},
       .run = check_traced_pfc_mismatch},
      {.id = "QO042",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "only one direction is lossless",
       .reason = "Bandwidth tests send in one direction and show no problem. Reads, acknowledgments and the other half "
                 "of every collective use the lossy direction.",
       .source = "openucx/ucx #10325: traffic class applied in one direction only",
       .fix = "bind the same class maps to all ports of the switch",
       .example = {.file = kNexus,
                   .from = "",
                   .to = "policy-map type qos OTHER-IN\n  class RDMA\n    set qos-group 0\n  class CNP\n    set "
                         "qos-group 6\ninterface Ethernet1/2\n  service-policy type qos input OTHER-IN\n"},
       .run = check_traced_direction},
      {.id = "QO043",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "a switch rewrites the DSCP",
       .reason = "The next hop, and the NIC that replies, get a different class than was sent. This works only if "
                 "every later hop is configured for it.",
       .source = "RFC 2474 section 4: a DSCP may be changed at a boundary",
       .fix = "do not rewrite between the hosts of one fabric",
       .example = {.file = "running/sto-train-u001-leaf1.nvue",
                   .from = "",
                   .to = "nv set qos remark default-global rewrite l3\nnv set qos remark default-global "
                         "switch-priority 4 dscp 36\n"},
       .run = check_traced_dscp_rewrite},
      {.id = "QO044",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the queue of the lossless class has no ECN marking",
       .reason = "Without marks senders continue at full rate until PFC pauses them, together with other traffic.",
       .source = "DCQCN (SIGCOMM 2015); sonic-net/sonic-buildimage #21891: no marks on the wire",
       .fix = "bind an ECN profile to the queue of the lossless class on every port",
       .example = {.file = kLeaf,
                   .from = "\"Ethernet0|3\": {\"scheduler\": \"rdma\", \"wred_profile\": \"ROCE_ECN\"}",
                   .to = "\"Ethernet0|3\": {\"scheduler\": \"rdma\"}"},
       .run = check_traced_ecn},
      {.id = "QO045",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "no PFC watchdog on lossless ports",
       .reason = "A NIC that keeps sending pauses stops its leaf port, then the spines that feed it, then every server "
                 "that sends there.",
       .source = "RDMA over commodity Ethernet at scale (SIGCOMM 2016), section 4.3",
       .fix = "start the watchdog on every port with PFC",
       .example = {.file = kLeaf,
                   .from = "    \"Ethernet0\": {\"action\": \"drop\", \"detection_time\": \"400\", "
                           "\"restoration_time\": \"400\"},\n",
                   .to = ""},
       .run = check_traced_watchdog},
      {.id = "QO046",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "PFC of a port depends on negotiation",
       .reason = "In auto mode PFC is active only if the NIC offers it by DCBX. Otherwise the port is lossy, without "
                 "any warning.",
       .source = "AI networking from the ground up: leaving PFC in auto means occasional packet drops",
       .fix = "set priority-flow-control mode on",
       .example = {.file = kNexus, .from = "", .to = "interface Ethernet1/1\n  priority-flow-control mode auto\n"},
       .run = check_traced_pfc_negotiation},
      {.id = "QO047",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "congestion notifications use a class that can be paused",
       .reason = "They report congestion to its senders. In a paused class they are delayed by it. The operator's "
                 "default DSCP of 4 is a lossless class in SONiC's generic maps.",
       .source =
           "DCQCN (SIGCOMM 2015), section 3; nic-configuration-operator CNP_DSCP 4, sonic-buildimage qos_config.j2",
       .fix = "mark notifications with a DSCP that every switch maps to a strict class without PFC, usually 48",
       .example =
           {.file = kNic,
            .from = "ecn: {enabled: true, priority: 3}\n    rawNvConfig:\n      - {name: CNP_DSCP_P1, value: \"48\"}",
            .to = "ecn: {enabled: true, priority: 3}\n    rawNvConfig:\n      - {name: CNP_DSCP_P1, value: \"26\"}"},
       .run = check_traced_cnp_class},
      {.id = "QO048",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "congestion notifications use a weighted queue",
       .reason = "A delayed notification lets its sender continue at full rate. Notifications are small: a "
                 "strict-priority queue for them costs almost no bandwidth.",
       .source = "Cumulus RoCE default and Juniper's validated design: notifications in a strict queue",
       .fix = "use strict priority for the queue of notifications",
       .example =
           {.file = kNic,
            .from = "ecn: {enabled: true, priority: 3}\n    rawNvConfig:\n      - {name: CNP_DSCP_P1, value: \"48\"}",
            .to = "ecn: {enabled: true, priority: 3}\n    rawNvConfig:\n      - {name: CNP_DSCP_P1, value: \"4\"}"},
       .run = check_traced_cnp_queue},
      {.id = "QO049",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the lossless class has strict priority",
       .reason = "A collective fills its links for seconds. In a strict-priority queue it starves routing, monitoring "
                 "and all other traffic.",
       .source = "IEEE 802.1Qaz; Cumulus RoCE default: 50 % for the lossless class, strict for notifications alone",
       .fix = "use a weight for the lossless class instead",
       .example = {.file = kLeaf,
                   .from = "\"rdma\": {\"type\": \"DWRR\", \"weight\": \"60\"}",
                   .to = "\"rdma\": {\"type\": \"STRICT\"}"},
       .run = check_traced_strict_priority},
      {.id = "QO050",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the NIC does not react to congestion",
       .reason = "Switches mark and receivers notify, but this NIC does not slow down: only pauses stop it, and they "
                 "affect other traffic.",
       .source = "DCQCN (SIGCOMM 2015); nic-configuration-operator `qos.ecn`",
       .fix = "enable ECN on the NIC for the priority of the lossless class",
       .example = {.file = kNic, .from = kNicEcn, .to = "ecn: {enabled: false, priority: 3}\n"},
       .run = check_traced_nic_ecn},
      {.id = "QO051",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "NCCL control messages of a job are best effort",
       .reason = "The receiver's clear-to-send messages control every transfer. In a lossy class they are dropped "
                 "first, and the data waits for a retransmission timeout.",
       .source = "NVIDIA/nccl net_ib: NCCL_IB_FIFO_TC, which follows NCCL_IB_TC when it is not set",
       .fix = "leave NCCL_IB_FIFO_TC unset, or set it to the traffic class of the data or of the notifications",
       .example = {.file = kJob,
                   .from = kJobClass,
                   .to = "                - {name: NCCL_IB_TC, value: \"106\"}\n                - {name: "
                         "NCCL_IB_FIFO_TC, value: \"2\"}\n"},
       .run = check_traced_control_class},
  };
}

}  // namespace weft::check

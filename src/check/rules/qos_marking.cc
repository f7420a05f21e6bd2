// QO012 to QO018: watchdogs and marking as specified in the cluster file.
#include <fmt/format.h>

#include <algorithm>

#include "check/rules/qos.h"
#include "model/lossless.h"

namespace weft::check {

namespace {

void check_watchdog_enabled(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (*fabric.qos.pfc_watchdog) continue;
    report.at(fabric.qos.pfc_watchdog, place_of(fabric), fabric.name,
              fmt::format("{} has no PFC watchdog", fabric.name));
  }
}

void check_watchdog_poll_interval(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (!*qos.pfc_watchdog || !qos.watchdog_poll.has_value()) continue;
    for (const auto* time : {&qos.watchdog_detection, &qos.watchdog_restoration}) {
      if (!time->has_value() || **time >= *qos.watchdog_poll) continue;
      report.add(fabric.name, time->place,
                 fmt::format("the watchdog of {} polls every {}, but its detection time is {}", fabric.name,
                             to_text(*qos.watchdog_poll), to_text(**time)));
      break;
    }
  }
}

// Cabled ports of the switch with the most: the watchdog polls each of them in turn.
std::int64_t most_ports(const CheckInput& input, model::FabricKind kind) {
  std::size_t most = 0;
  for (const model::DeviceGroup& group : input.cluster().groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != kind || group.count == 0) continue;
    most = std::max(most, input.cluster().ports_of(group.first).size());
  }
  return static_cast<std::int64_t>(most);
}

void check_watchdog_detection_time(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (!*qos.pfc_watchdog || !qos.watchdog_detection.has_value()) continue;
    if (qos.watchdog_poll.has_value() && *qos.watchdog_detection < *qos.watchdog_poll) continue;  // reported by QO013
    const std::int64_t ports = most_ports(input, fabric.kind);
    const Duration rule = model::watchdog_times(model::QosSpec{}, ports).detection;
    if (*qos.watchdog_detection >= rule) continue;
    report.add(
        fabric.name, qos.watchdog_detection.place,
        fmt::format("a detection time of {} is too short for a switch of {} ports: 200 ms per 32 ports require {}",
                    to_text(*qos.watchdog_detection), ports, to_text(rule)));
  }
}

void check_watchdog_action(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (!*fabric.qos.pfc_watchdog || *fabric.qos.watchdog_action == model::WatchdogAction::drop) continue;
    report.at(fabric.qos.watchdog_action, place_of(fabric), fabric.name,
              fmt::format("the watchdog of {} does not clear a stuck queue", fabric.name));
  }
}

void check_lossless_class_ecn(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (*fabric.qos.ecn) continue;
    report.at(fabric.qos.ecn, place_of(fabric), fabric.name,
              fmt::format("{} is lossless without ECN: only pauses slow down senders", fabric.name));
  }
}

void check_ecn_thresholds(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (!*qos.ecn || (!qos.ecn_min.has_value() && !qos.ecn_max.has_value())) continue;
    const model::FabricPlan& plan = input.cluster().fabric(fabric.kind);
    const BitRate speed = std::max(plan.host_speed, plan.uplink_speed);
    const Bytes delay = bandwidth_delay(speed);
    const model::EcnThresholds set = model::ecn_thresholds(qos, speed);
    const model::Sourced<Bytes>& blame = qos.ecn_max.has_value() ? qos.ecn_max : qos.ecn_min;
    if (set.max * 4 < delay) {
      report.add(fabric.name, blame.place,
                 fmt::format("at {} marking reaches its maximum at {} bytes, a small part of the {} bytes in flight",
                             to_text(speed), set.max.count(), delay.count()));
    } else if (set.min > delay * 8) {
      report.add(fabric.name, blame.place,
                 fmt::format("at {} marking starts at {} bytes, many times the {} bytes in flight", to_text(speed),
                             set.min.count(), delay.count()));
    }
  }
}

void check_ecn_marking_probability(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : lossless_class_fabrics(input)) {
    if (!*fabric.qos.ecn || *fabric.qos.ecn_percent >= 5) continue;
    report.at(fabric.qos.ecn_percent, place_of(fabric), fabric.name,
              fmt::format("a full queue of {} marks only {} % of its packets", fabric.name, *fabric.qos.ecn_percent));
  }
}

}  // namespace

std::vector<Rule> qos_marking_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "QO012",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "no PFC watchdog",
       .reason = "A NIC that keeps sending pauses stops its leaf port, then the spines that feed it, then every server "
                 "that sends there. Only a watchdog ends this.",
       .source = "RDMA over commodity Ethernet at scale (SIGCOMM 2016), section 4.3, PFC storms; Container Networking "
                 "Architecture for AI Workloads (Patel), QoS: PFC and ECN with watchdog",
       .fix = "set `qos.pfc_watchdog: true`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, pfc_watchdog: false, cnp_priority: 6,"},
       .run = check_watchdog_enabled},
      {.id = "QO013",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the watchdog polling interval is longer than its detection time",
       .reason =
           "The watchdog detects a storm only when it polls. SONiC's YANG models reject such times, its CLI does not.",
       .source = "sonic-net/sonic-buildimage #27865, sonic-utilities #4520",
       .fix = "set detection and restoration times to at least the polling interval",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, watchdog_poll: 900ms, watchdog_detection: 800ms, cnp_priority: 6,"},
       .run = check_watchdog_poll_interval},
      {.id = "QO014",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the watchdog detection time is too short for the number of ports",
       .reason = "The watchdog polls every port and queue in turn. If the time is too short, it mistakes normal "
                 "congestion for a storm and drops lossless traffic.",
       .source = "sonic-utilities pfcwd start_default: 200 ms per 32 ports; sonic-net/SONiC #1535, false positives",
       .fix = "leave `watchdog_detection` unset, or set it to at least 200 ms per 32 ports",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, watchdog_detection: 200ms, cnp_priority: 6,"},
       .run = check_watchdog_detection_time},
      {.id = "QO015",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the watchdog does not clear a stuck queue",
       .reason = "`forward` keeps sending to a receiver that sent a pause, `alert` does not end the storm. Only `drop` "
                 "releases the ports behind it.",
       .source = "SONiC HLD, PFC watchdog: actions drop, forward, alert",
       .fix = "set `qos.watchdog_action: drop`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, watchdog_action: alert, cnp_priority: 6,"},
       .run = check_watchdog_action},
      {.id = "QO016",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a lossless class has no ECN",
       .reason = "PFC alone stops whole ports, including flows that do not cause the congestion. ECN slows down the "
                 "senders that fill the queue before pauses are needed.",
       .source = "DCQCN (SIGCOMM 2015); Building Enterprise AI Infrastructure (Pabba, 2026): enable ECN so that "
                 "senders back off",
       .fix = "set `qos.ecn: true`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, ecn: false, cnp_priority: 6,"},
       .run = check_lossless_class_ecn},
      {.id = "QO017",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "ECN thresholds do not match the link speed",
       .reason = "Thresholds are queue lengths in bytes. A threshold for 25G marks everything at 400G; a threshold for "
                 "400G never marks at 25G.",
       .source = "HPCC (SIGCOMM 2019) artifact: 4 and 16 KB per Gb/s; Huawei AI Fabric: Kmax 2 to 3 times rate x 20 us",
       .fix = "leave `ecn_min` and `ecn_max` unset so that they follow the speed, or scale them with it",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, ecn_min: 7000, ecn_max: 50000, cnp_priority: 6,"},
       .run = check_ecn_thresholds},
      {.id = "QO018",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the ECN marking probability is too low",
       .reason = "With a low probability the queue reaches the pause threshold before senders slow down.",
       .source = "published settings: 5 % (SONiC), 10 to 30 % (Huawei), 20 % (HPCC), 100 % (Cumulus, Juniper)",
       .fix = "set `qos.ecn_percent` to 5 or more",
       .example = {.file = "pod16.yaml", .from = "ecn_percent: 20", .to = "ecn_percent: 1"},
       .run = check_ecn_marking_probability},
  };
}

}  // namespace weft::check

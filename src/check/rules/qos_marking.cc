// QO012 to QO018: watchdogs and marking as the cluster file asks for them.
#include <fmt/format.h>

#include <algorithm>

#include "check/rules/qos.h"
#include "model/lossless.h"

namespace weft::check {

namespace {

void check_watchdog_enabled(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
    if (*fabric.qos.pfc_watchdog) continue;
    report.at(fabric.qos.pfc_watchdog, place_of(fabric), fabric.name,
              fmt::format("{} has no PFC watchdog", fabric.name));
  }
}

void check_watchdog_poll_interval(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (!*qos.pfc_watchdog || !qos.watchdog_poll.has_value()) continue;
    for (const auto* time : {&qos.watchdog_detection, &qos.watchdog_restoration}) {
      if (!time->has_value() || **time >= *qos.watchdog_poll) continue;
      report.add(fabric.name, time->place,
                 fmt::format("the watchdog of {} looks every {}, but is to act after {}", fabric.name,
                             to_text(*qos.watchdog_poll), to_text(**time)));
      break;
    }
  }
}

// Cabled ports of the busiest switch: the watchdog visits each of them in turn.
std::int64_t most_ports(const CheckInput& input, model::FabricKind kind) {
  std::size_t most = 0;
  for (const model::DeviceGroup& group : input.cluster().groups()) {
    if (group.kind != model::DeviceKind::network_switch || group.fabric != kind || group.count == 0) continue;
    most = std::max(most, input.cluster().ports_of(group.first).size());
  }
  return static_cast<std::int64_t>(most);
}

void check_watchdog_detection_time(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (!*qos.pfc_watchdog || !qos.watchdog_detection.has_value()) continue;
    if (qos.watchdog_poll.has_value() && *qos.watchdog_detection < *qos.watchdog_poll) continue;  // QO013's
    const std::int64_t ports = most_ports(input, fabric.kind);
    const Duration rule = model::watchdog_times(model::QosSpec{}, ports).detection;
    if (*qos.watchdog_detection >= rule) continue;
    report.add(fabric.name, qos.watchdog_detection.place,
               fmt::format("{} is short for a switch of {} ports: 200 ms for each 32 make {}",
                           to_text(*qos.watchdog_detection), ports, to_text(rule)));
  }
}

void check_watchdog_action(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
    if (!*fabric.qos.pfc_watchdog || *fabric.qos.watchdog_action == model::WatchdogAction::drop) continue;
    report.at(fabric.qos.watchdog_action, place_of(fabric), fabric.name,
              fmt::format("the watchdog of {} does not clear a stuck queue", fabric.name));
  }
}

void check_lossless_class_ecn(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
    if (*fabric.qos.ecn) continue;
    report.at(fabric.qos.ecn, place_of(fabric), fabric.name,
              fmt::format("{} is lossless without ECN: only pauses slow senders down", fabric.name));
  }
}

void check_ecn_thresholds(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
    const model::QosSpec& qos = fabric.qos;
    if (!*qos.ecn || (!qos.ecn_min.has_value() && !qos.ecn_max.has_value())) continue;
    const model::FabricPlan& plan = input.cluster().fabric(fabric.kind);
    const BitRate speed = std::max(plan.host_speed, plan.uplink_speed);
    const Bytes delay = bandwidth_delay(speed);
    const model::EcnThresholds set = model::ecn_thresholds(qos, speed);
    const model::Sourced<Bytes>& blame = qos.ecn_max.has_value() ? qos.ecn_max : qos.ecn_min;
    if (set.max * 4 < delay) {
      report.add(fabric.name, blame.place,
                 fmt::format("at {} marking is complete at {} bytes, a small part of the {} bytes in flight",
                             to_text(speed), set.max.count(), delay.count()));
    } else if (set.min > delay * 8) {
      report.add(fabric.name, blame.place,
                 fmt::format("at {} marking starts at {} bytes, many times the {} bytes in flight", to_text(speed),
                             set.min.count(), delay.count()));
    }
  }
}

void check_ecn_marking_probability(const CheckInput& input, Report& report) {
  for (const LosslessFabric& fabric : asked_fabrics(input)) {
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
       .reason = "A NIC that keeps pausing stops its leaf port, then the spines that feed it, then every server that "
                 "sends there. Only a watchdog ends that.",
       .source = "RDMA over commodity Ethernet at scale (SIGCOMM 2016), section 4.3, PFC storms; requirement: PFC with "
                 "watchdog",
       .fix = "set `qos.pfc_watchdog: true`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, pfc_watchdog: false, cnp_priority: 6,"},
       .run = check_watchdog_enabled},
      {.id = "QO013",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "the watchdog looks less often than it is to act",
       .reason = "A storm can be seen only when the watchdog looks. SONiC's YANG refuses such times, its command line "
                 "does not.",
       .source = "sonic-net/sonic-buildimage #27865, sonic-utilities #4520",
       .fix = "make detection and restoration times at least the polling interval",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, watchdog_poll: 900ms, watchdog_detection: 800ms, cnp_priority: 6,"},
       .run = check_watchdog_poll_interval},
      {.id = "QO014",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the watchdog is too quick for so many ports",
       .reason = "It visits every port and queue in turn. With too short a time it takes ordinary congestion for a "
                 "storm and drops lossless traffic.",
       .source =
           "sonic-utilities pfcwd start_default: 200 ms for each 32 ports; sonic-net/SONiC #1535, false positives",
       .fix = "leave `watchdog_detection` out, or make it at least 200 ms for each 32 ports",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, watchdog_detection: 200ms, cnp_priority: 6,"},
       .run = check_watchdog_detection_time},
      {.id = "QO015",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the watchdog does not clear a stuck queue",
       .reason = "`forward` sends on into a receiver that asked for silence, `alert` leaves the storm as it is. Only "
                 "`drop` frees the ports behind.",
       .source = "SONiC HLD, PFC watchdog: actions drop, forward, alert",
       .fix = "set `qos.watchdog_action: drop`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, watchdog_action: alert, cnp_priority: 6,"},
       .run = check_watchdog_action},
      {.id = "QO016",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a lossless class without ECN",
       .reason = "PFC alone stops whole ports, and with them flows that are not to blame. ECN slows down the senders "
                 "that cause the queue, before anything pauses.",
       .source = "DCQCN (SIGCOMM 2015); enterprise AI architecture: enable ECN so that senders back off",
       .fix = "set `qos.ecn: true`",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, ecn: false, cnp_priority: 6,"},
       .run = check_lossless_class_ecn},
      {.id = "QO017",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "ECN thresholds out of proportion to the link speed",
       .reason = "Thresholds are queue lengths in bytes. What is right at 25G marks everything at 400G; what is right "
                 "at 400G never marks at 25G.",
       .source =
           "HPCC (SIGCOMM 2019) artefact: 4 and 16 KB for each Gb/s; Huawei AI Fabric: Kmax 2 to 3 times rate x 20 us",
       .fix = "leave `ecn_min` and `ecn_max` out, so that they follow the speed, or scale them with it",
       .example = {.file = "pod16.yaml",
                   .from = "dscp: 34, cnp_priority: 6,",
                   .to = "dscp: 34, ecn_min: 7000, ecn_max: 50000, cnp_priority: 6,"},
       .run = check_ecn_thresholds},
      {.id = "QO018",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "ECN hardly ever marks",
       .reason = "With so small a probability a queue grows to the pause threshold before senders hear of it.",
       .source = "published settings: 5 % (SONiC), 10 to 30 % (Huawei), 20 % (HPCC), 100 % (Cumulus, Juniper)",
       .fix = "set `qos.ecn_percent` to 5 or more",
       .example = {.file = "pod16.yaml", .from = "ecn_percent: 20", .to = "ecn_percent: 1"},
       .run = check_ecn_marking_probability},
  };
}

}  // namespace weft::check

// EOS: classes, the lossless queue, marking, the PFC watchdog. "Quality of Service" of the EOS User Manual: QoS maps,
// QoS profiles, ECN, priority flow control.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "render/switches/eos_config.h"

namespace weft::render {
namespace {

// Chips with separate queues for unicast and multicast call the former uc-tx-queue.
bool has_unicast_queues(const SwitchPlan& plan) {
  const std::string& asic = plan.group->network_switch->asic.value;
  return asic.find("Tomahawk") != std::string::npos || asic.find("Trident") != std::string::npos;
}

// EOS maps each DSCP to the class of its upper bits by default, so that 24 to 31 would all be lossless: everything that
// is neither data nor notification is mapped to one other class. EOS itself puts unmarked traffic into class 1.
std::int64_t other_class(const ClassPlan& classes) {
  const bool taken = classes.priority == 1 || classes.cnp_priority == 1 || classes.is_paused(1);
  return taken ? classes.best_effort : 1;
}

void maps(CliWriter& out, const model::QosSpec& qos, const ClassPlan& classes) {
  const bool by_dscp = qos.trust.value == model::TrustMode::dscp;
  const std::int64_t data = by_dscp ? qos.dscp.value : qos.priority.value;
  const std::int64_t notes = by_dscp ? qos.cnp_dscp.value : qos.cnp_priority.value;
  std::string others;
  for (int mark = 0; mark < (by_dscp ? 64 : 8); ++mark) {
    if (mark == data || mark == notes) continue;
    others += (others.empty() ? "" : " ") + std::to_string(mark);
  }
  const char* what = by_dscp ? "dscp" : "cos";
  out.separate();
  const auto map = [&](const std::string& marks, std::int64_t to) {
    out.line({"qos", "map", what, CliToken::rest(marks, 200), "to", "traffic-class", to});
  };
  map(others, other_class(classes));
  map(std::to_string(data), qos.priority.value);
  map(std::to_string(notes), qos.cnp_priority.value);
}

void queues(CliWriter& out, const SwitchPlan& plan, const ClassPlan& classes, BitRate speed) {
  const model::QosSpec& qos = plan.fabric->qos.value;
  const char* word = has_unicast_queues(plan) ? "uc-tx-queue" : "tx-queue";
  // In numerical order, as the switch shows them. `no priority` ends strict priority for the queue and those below it.
  std::set<std::int64_t> numbers{other_class(classes), qos.priority.value, qos.cnp_priority.value};
  for (const std::int64_t number : numbers) {
    const auto queue = out.section({word, number});
    if (number == qos.cnp_priority.value) {
      out.line({"priority", "strict"});
      continue;
    }
    const bool data = number == qos.priority.value;
    out.line({"no", "priority"});
    out.line({"bandwidth", "percent", data ? qos.bandwidth_percent.value : 100 - qos.bandwidth_percent.value});
    if (!data || !qos.ecn.value) continue;
    const model::EcnThresholds marks = model::ecn_thresholds(qos, speed);
    const auto kilo = [](Bytes bytes) { return std::max<std::int64_t>(1, bytes.count() / 1000); };
    out.line({"random-detect", "ecn", "minimum-threshold", kilo(marks.min), "kbytes", "maximum-threshold",
              kilo(marks.max), "kbytes", "max-mark-probability", std::max<std::int64_t>(1, qos.ecn_percent.value)});
  }
}

void profile(CliWriter& out, const SwitchPlan& plan, const ClassPlan& classes, BitRate speed) {
  const model::QosSpec& qos = plan.fabric->qos.value;
  const auto section = out.section({"qos", "profile", eos_profile_name(speed)});
  out.line({"qos", "trust", qos.trust.value == model::TrustMode::dscp ? "dscp" : "cos"});
  queues(out, plan, classes, speed);
  if (qos.pfc.value == model::PfcMode::off) return;
  out.separate_nested();
  out.line({"priority-flow-control", "on"});
  for (const std::int64_t priority : qos.pfc_priorities.value)
    out.line({"priority-flow-control", "priority", priority, "no-drop"});
  if (qos.pfc_watchdog.value) out.line({"priority-flow-control", "pause", "watchdog"});
}

// Seconds with at most three decimals.
std::string seconds(Duration time) {
  const std::int64_t milli = std::max<std::int64_t>(10, time.count() / 1'000'000);
  std::string text = fmt::format("{}.{:03}", milli / 1000, milli % 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

void watchdog(CliWriter& out, const model::QosSpec& qos, const model::WatchdogTimes& times) {
  if (!qos.pfc_watchdog.value || qos.pfc.value == model::PfcMode::off) return;
  out.separate();
  out.line({"priority-flow-control", "pause", "watchdog", "default", "timeout", seconds(times.detection)});
  out.line({"priority-flow-control", "pause", "watchdog", "default", "recovery-time", seconds(times.restoration)});
  // Polls at least twice within the detection time.
  const Duration poll = std::min(times.poll, times.detection / 2);
  out.line({"priority-flow-control", "pause", "watchdog", "default", "polling-interval", seconds(poll)});
  out.line({"priority-flow-control", "pause", "watchdog", "action",
            qos.watchdog_action.value == model::WatchdogAction::drop ? "drop" : "no-drop"});
}

}  // namespace

std::string eos_profile_name(BitRate speed) { return fmt::format("ROCE-{}", to_text(speed)); }

bool eos_has_qos(const SwitchPlan& plan) { return plan.lossless() && !plan.ports.empty(); }

void eos_qos(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (!eos_has_qos(plan)) return;
  const ClassPlan classes = plan_classes(input.cluster(), plan);
  maps(out, plan.fabric->qos.value, classes);
  std::set<BitRate> speeds;
  for (const SwitchPort& port : plan.ports) {
    if (port.use == SwitchPort::Use::host || port.use == SwitchPort::Use::fabric) speeds.insert(port.speed);
  }
  for (const BitRate speed : speeds) profile(out, plan, classes, speed);
  watchdog(out, plan.fabric->qos.value, classes.watchdog);
}

}  // namespace weft::render

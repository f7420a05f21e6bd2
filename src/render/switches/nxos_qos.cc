// NX-OS: lossless class, congestion notifications, marking and the PFC watchdog. Quality of Service Configuration
// Guide, "Configuring Priority Flow Control", "Configuring Queuing and Scheduling", "Configuring Network QoS";
// structured as in Cisco's "Data Center Networking Blueprint for AI/ML Applications".
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "render/switches/nxos_config.h"

namespace weft::render {
namespace {

// The watchdog counts in intervals of 100 to 1000 ms; a queue is shut down after 1 to 10 of them and restored after 0
// to 100 quiet ones.
struct NxosWatchdog {
  std::int64_t interval_ms = 100;
  std::int64_t shutdown = 1;
  std::int64_t restore = 1;
};

NxosWatchdog watchdog_of(const model::WatchdogTimes& times) {
  const auto milli = [](Duration time) { return time.count() / 1'000'000; };
  NxosWatchdog out;
  out.interval_ms = std::clamp<std::int64_t>((milli(times.poll) + 50) / 100 * 100, 100, 1000);
  const auto steps = [&](Duration time) { return (milli(time) + out.interval_ms - 1) / out.interval_ms; };
  out.shutdown = std::clamp<std::int64_t>(steps(times.detection), 1, 10);
  out.restore = std::clamp<std::int64_t>(steps(times.restoration), 1, 100);
  return out;
}

// Names of the built-in classes: group 0 is the default one of its kind.
std::string network_class(std::int64_t group) {
  return group == 0 ? std::string("c-8q-nq-default") : fmt::format("c-8q-nq{}", group);
}

std::string queuing_class(std::int64_t group) {
  return group == 0 ? std::string("c-out-8q-q-default") : fmt::format("c-out-8q-q{}", group);
}

void classify(CliWriter& out, const model::QosSpec& qos, const ClassPlan& classes) {
  const bool by_dscp = qos.trust.value == model::TrustMode::dscp;
  const auto match = [&](std::string_view name, std::int64_t dscp, std::int64_t priority) {
    const auto map = out.section({"class-map", "type", "qos", "match-all", name});
    out.line({"match", by_dscp ? "dscp" : "cos", by_dscp ? dscp : priority});
  };
  match("RDMA", qos.dscp.value, qos.priority.value);
  match("CNP", qos.cnp_dscp.value, qos.cnp_priority.value);
  const auto policy = out.section({"policy-map", "type", "qos", "ROCE-IN"});
  const auto set = [&](std::string_view name, std::int64_t group) {
    const auto entry = out.section({"class", name});
    out.line({"set", "qos-group", group});
  };
  set("RDMA", qos.priority.value);
  set("CNP", qos.cnp_priority.value);
  set("class-default", classes.best_effort);
}

void network(CliWriter& out, const ClassPlan& classes, std::int64_t mtu) {
  const auto policy = out.section({"policy-map", "type", "network-qos", "ROCE-LOSSLESS"});
  for (const int priority : classes.pfc) {
    const auto entry = out.section({"class", "type", "network-qos", network_class(priority)});
    out.line({"mtu", mtu});
    out.line({"pause", "pfc-cos", priority});
  }
  for (const int group : std::set<int>{0, classes.best_effort}) {
    if (classes.is_paused(group)) continue;
    const auto rest = out.section({"class", "type", "network-qos", network_class(group)});
    out.line({"mtu", mtu});
  }
}

void queuing(CliWriter& out, const model::QosSpec& qos, const ClassPlan& classes, BitRate speed) {
  const auto policy = out.section({"policy-map", "type", "queuing", nxos_queuing_name(speed)});
  {
    const auto notes = out.section({"class", "type", "queuing", queuing_class(qos.cnp_priority.value)});
    out.line({"priority", "level", 1});
  }
  {
    const auto data = out.section({"class", "type", "queuing", queuing_class(qos.priority.value)});
    out.line({"bandwidth", "remaining", "percent", qos.bandwidth_percent.value});
    if (qos.ecn.value) {
      const model::EcnThresholds marks = model::ecn_thresholds(qos, speed);
      const auto kilo = [](Bytes bytes) { return std::max<std::int64_t>(1, bytes.count() / 1000); };
      out.line({"random-detect", "minimum-threshold", kilo(marks.min), "kbytes", "maximum-threshold", kilo(marks.max),
                "kbytes", "drop-probability", qos.ecn_percent.value, "weight", 0, "ecn"});
    }
  }
  const auto rest = out.section({"class", "type", "queuing", queuing_class(classes.best_effort)});
  out.line({"bandwidth", "remaining", "percent", 100 - qos.bandwidth_percent.value});
}

std::map<BitRate, std::size_t> speeds_of(const SwitchPlan& plan) {
  std::map<BitRate, std::size_t> counts;
  for (const SwitchPort& port : plan.ports) {
    if (port.use == SwitchPort::Use::host || port.use == SwitchPort::Use::fabric) ++counts[port.speed];
  }
  return counts;
}

}  // namespace

std::string nxos_queuing_name(BitRate speed) { return fmt::format("ROCE-OUT-{}", to_text(speed)); }

bool nxos_has_qos(const SwitchPlan& plan) { return plan.lossless() && !plan.ports.empty(); }

BitRate nxos_usual_speed(const SwitchPlan& plan) {
  BitRate usual;
  std::size_t most = 0;
  for (const auto& [speed, count] : speeds_of(plan)) {
    if (count < most) continue;
    usual = speed;
    most = count;
  }
  return usual;
}

void nxos_qos(CliWriter& out, const CliSwitch& input) {
  const SwitchPlan& plan = input.plan;
  if (!nxos_has_qos(plan)) return;
  const model::QosSpec& qos = plan.fabric->qos.value;
  const ClassPlan classes = plan_classes(input.cluster(), plan);
  out.separate();
  out.comment(
      fmt::format("RDMA data is DSCP {}, class {}, lossless. Congestion notifications are DSCP {}, class {}, "
                  "strict.",
                  qos.dscp.value, qos.priority.value, qos.cnp_dscp.value, qos.cnp_priority.value));
  if (qos.pfc_watchdog.value) {
    const NxosWatchdog watchdog = watchdog_of(classes.watchdog);
    out.line({"priority-flow-control", "watch-dog-interval", "on"});
    out.line({"priority-flow-control", "watch-dog", "interval", watchdog.interval_ms});
    out.line({"priority-flow-control", "watch-dog", "shutdown-multiplier", watchdog.shutdown});
    out.line({"priority-flow-control", "auto-restore", "multiplier", watchdog.restore});
  }
  classify(out, qos, classes);
  network(out, classes, plan.fabric->switch_mtu.value > 1500 ? 9216 : 1500);
  for (const auto& [speed, count] : speeds_of(plan)) queuing(out, qos, classes, speed);
  const auto system = out.section({"system", "qos"});
  out.line({"service-policy", "type", "network-qos", "ROCE-LOSSLESS"});
  out.line({"service-policy", "type", "queuing", "output", nxos_queuing_name(nxos_usual_speed(plan))});
}

}  // namespace weft::render

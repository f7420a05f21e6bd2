// NVUE: classes of a lossless fabric. Commands follow the Cumulus Linux 5 user guide, Quality of Service; the switch
// computes headroom from speed, frame size and cable length.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "render/switches/nvue_commands.h"

namespace weft::render::nvue_render {
namespace {

constexpr std::string_view kGlobal = "default-global";
constexpr int kClassCount = 8;
constexpr int kDscpCount = 64;
constexpr std::int64_t kPollMilliseconds = 200;

std::string at(std::string_view what, std::string_view profile = kGlobal) {
  return fmt::format("qos {} {}", what, profile);
}

void add_mapping(Commands& commands, const model::QosSpec& qos, const ClassPlan& classes) {
  const bool by_dscp = qos.trust.value == model::TrustMode::dscp;
  commands.set_at(at("mapping"), {"trust", by_dscp ? "l3" : "l2"});
  // Every DSCP is mapped explicitly: by default Cumulus would put eight adjacent DSCPs into the lossless class.
  for (int code = 0; code < (by_dscp ? kDscpCount : kClassCount); ++code) {
    const int data = by_dscp ? classes.dscp : classes.priority;
    const int cnp = by_dscp ? classes.cnp_dscp : classes.cnp_priority;
    const int to = code == data ? classes.priority : code == cnp ? classes.cnp_priority : classes.best_effort;
    commands.set_at(at("mapping"),
                    {by_dscp ? "dscp" : "pcp", std::to_string(code), "switch-priority", std::to_string(to)});
  }
  for (int priority = 0; priority < kClassCount; ++priority) {
    const bool own = priority == classes.priority || priority == classes.cnp_priority;
    commands.set_at(at("egress-queue-mapping"), {"switch-priority", std::to_string(priority), "traffic-class",
                                                 std::to_string(own ? priority : classes.best_effort)});
  }
}

void add_scheduler(Commands& commands, const ClassPlan& classes) {
  std::vector<int> unused;
  for (int number = 0; number < kClassCount; ++number) {
    if (number != classes.priority && number != classes.cnp_priority && number != classes.best_effort)
      unused.push_back(number);
  }
  const auto share = [&](int number, int percent) {
    commands.set_at(at("egress-scheduler"), {"traffic-class", std::to_string(number), "mode", "dwrr"});
    commands.set_at(at("egress-scheduler"),
                    {"traffic-class", std::to_string(number), "bw-percent", std::to_string(percent)});
  };
  share(classes.best_effort, 100 - classes.bandwidth_percent);
  share(classes.priority, classes.bandwidth_percent);
  commands.set_at(at("egress-scheduler"), {"traffic-class", std::to_string(classes.cnp_priority), "mode", "strict"});
  // No DSCP is mapped to these; they must not keep their default bandwidth shares.
  if (!unused.empty())
    commands.set_at(at("egress-scheduler"), {"traffic-class", number_list(unused), "mode", "strict"});
}

void set_marking(Commands& commands, const model::QosSpec& qos, const ClassPlan& classes, std::string_view profile,
                 BitRate speed) {
  const model::EcnThresholds thresholds = model::ecn_thresholds(qos, speed);
  const std::string number = std::to_string(classes.priority);
  const std::string place = at("congestion-control", profile);
  commands.set_at(place, {"traffic-class", number, "ecn", "enable"});
  commands.set_at(place, {"traffic-class", number, "min-threshold", std::to_string(thresholds.min.count())});
  commands.set_at(place, {"traffic-class", number, "max-threshold", std::to_string(thresholds.max.count())});
  commands.set_at(place, {"traffic-class", number, "probability", std::to_string(qos.ecn_percent.value)});
}

// Thresholds depend on the speed: those of the most common speed apply to all ports, other speeds have a profile.
void add_marking(Commands& commands, const SwitchPlan& plan, const ClassPlan& classes) {
  const model::QosSpec& qos = plan.fabric->qos.value;
  if (!qos.ecn.value) {
    commands.set_at(at("congestion-control"), {"traffic-class", std::to_string(classes.priority), "ecn", "disable"});
    return;
  }
  std::map<BitRate, std::size_t> count;
  for (const SwitchPort& port : plan.ports) ++count[port.speed];
  BitRate most;
  for (const auto& [speed, ports] : count) {
    if (most.count() == 0 || ports >= count[most]) most = speed;
  }
  for (const auto& [speed, ports] : count) {
    const std::string profile = speed == most ? std::string(kGlobal) : fmt::format("roce-{}", to_text(speed));
    set_marking(commands, qos, classes, profile, speed);
    if (speed == most) continue;
    const BitRate wanted = speed;
    const std::string names = names_where(plan, [&](const SwitchPort& port) { return port.speed == wanted; });
    commands.set({"interface", names, "qos", "congestion-control", "profile", profile});
  }
}

void add_pfc(Commands& commands, const SwitchPlan& plan, const ClassPlan& classes) {
  if (classes.pfc.empty()) return;
  Length longest;
  for (const SwitchPort& port : plan.ports) longest = std::max(longest, port.cable);
  for (const int priority : classes.pfc) commands.set_at(at("pfc"), {"switch-priority", std::to_string(priority)});
  commands.set_at(at("pfc"), {"tx", "enable"});
  commands.set_at(at("pfc"), {"rx", "enable"});
  commands.set_at(at("pfc"),
                  {"cable-length", std::to_string(std::max<std::int64_t>(1, (longest.count() + 999) / 1000))});
  if (!plan.fabric->qos->pfc_watchdog.value) return;
  const bool given = plan.fabric->qos->watchdog_poll.has_value();
  const std::int64_t poll =
      std::clamp<std::int64_t>(given ? classes.watchdog.poll.count() / 1'000'000 : kPollMilliseconds, 100, 5000);
  const std::int64_t detection = classes.watchdog.detection.count() / 1'000'000;
  const std::int64_t rounds = std::clamp<std::int64_t>((detection + poll - 1) / poll, 1, 1000);
  commands.set({"qos", "pfc-watchdog", "polling-interval", std::to_string(poll)});
  commands.set({"qos", "pfc-watchdog", "robustness", std::to_string(rounds)});
  commands.set({"interface", names_where(plan, [](const SwitchPort&) { return true; }), "qos", "pfc-watchdog", "state",
                "enable"});
}

}  // namespace

void add_qos(Commands& commands, const model::Cluster& cluster, const SwitchPlan& plan) {
  if (!plan.lossless() || plan.ports.empty()) return;
  const model::QosSpec& qos = plan.fabric->qos.value;
  const ClassPlan classes = plan_classes(cluster, plan);
  commands.comment(
      fmt::format("Data: DSCP {}, switch priority {}, lossless. Congestion notifications: DSCP {}, "
                  "priority {}, strict.",
                  classes.dscp, classes.priority, classes.cnp_dscp, classes.cnp_priority));
  add_mapping(commands, qos, classes);
  add_pfc(commands, plan, classes);
  add_marking(commands, plan, classes);
  add_scheduler(commands, classes);
}

}  // namespace weft::render::nvue_render

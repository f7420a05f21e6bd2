#include "check/qos/trace_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/lossless.h"

namespace weft::check {

namespace {

constexpr int kUnknown = -1;
constexpr int kNobody = -2;

std::size_t slot(int value) { return static_cast<std::size_t>(value); }
bool is_class(int value) { return value >= 0 && value < config::kClasses; }

// Whether any DSCP is mapped: a map is bound, or the system has a default one.
bool sorts_by_dscp(const config::PortQos& qos) {
  return std::any_of(qos.dscp_to_class.begin(), qos.dscp_to_class.end(),
                     [](const config::Setting<int>& s) { return s.given() || (s.known() && *s != 0); });
}

// Priorities that pause on behalf of a group (or stop a queue). Without a map entry the priority is the number itself,
// as in SAI.
template <class Map>
std::vector<int> find_pausing_priorities(const config::PortQos& qos, const Map& map, int target) {
  std::vector<int> out;
  for (int p = 0; p < config::kClasses; ++p) {
    if (!qos.pfc[slot(p)].known() || !*qos.pfc[slot(p)]) continue;
    const int mapped = map[slot(p)].known() ? *map[slot(p)] : p;
    if (mapped == target) out.push_back(p);
  }
  return out;
}

bool pfc_known(const config::PortQos& qos) {
  return std::any_of(qos.pfc.begin(), qos.pfc.end(), [](const config::Setting<bool>& s) { return s.known(); });
}

std::string list_of(const std::vector<int>& numbers) { return fmt::format("{}", fmt::join(numbers, ", ")); }

// The cluster file's NIC has no name of its own.
std::string nic_subject(const TraceEnd& end) { return end.intent || end.nic == nullptr ? "" : end.nic->name; }

class Walk {
 public:
  Walk(const TraceEnd& from, const TraceEnd& to, bool notice, bool backward) : from_(from), to_(to) {
    leg_.notice = notice;
    leg_.backward = backward;
    leg_.from = from.name;
    leg_.to = to.name;
  }

  // `data_dscp`: the DSCP of the data in the other direction, to decide whether notifications share its class.
  TraceLeg run(const std::vector<TraceHop>& hops, int forced_dscp, int data_dscp) {
    data_dscp_ = data_dscp;
    leg_.notice ? mark_notice() : mark_data(forced_dscp);
    if (dscp_ == kUnknown) return std::move(leg_);
    leg_.dscp = dscp_;
    send_from_nic();
    for (const TraceHop& hop : hops) walk_hop(hop);
    if (!leg_.notice) receive_at_nic();
    blame_nic();
    return std::move(leg_);
  }

 private:
  template <class T>
  TraceStep& step(const std::string& hop, const std::string& device, const char* what, std::string value,
                  const config::Setting<T>& by, bool intent) {
    TraceStep out;
    out.hop = hop;
    out.device = device;
    out.what = what;
    out.value = std::move(value);
    out.path = by.path;
    out.place = by.place;
    out.near = near_;
    out.said_by = !by.known() ? SaidBy::none : intent ? SaidBy::intent : by.given() ? SaidBy::file : SaidBy::vendor;
    if (!by.known()) out.verdict = StepVerdict::unknown;
    leg_.steps.push_back(std::move(out));
    return leg_.steps.back();
  }
  static void set_verdict(TraceStep& at, StepVerdict verdict, Cause cause, std::string why) {
    at.verdict = verdict;
    at.cause = cause;
    at.why = std::move(why);
  }

  void mark_data(int forced_dscp);
  void mark_notice();
  void send_from_nic();
  void receive_at_nic();
  std::optional<int> nic_priority(const TraceEnd& end, bool sending);
  void nic_pfc(const TraceEnd& end, int priority, bool sending);
  void blame_nic();
  void walk_hop(const TraceHop& hop);
  std::optional<int> classify(const TraceHop& hop);
  void judge_class(const TraceHop& hop, TraceStep& at, int group, int chosen);
  void ingress(const TraceHop& hop, int chosen);
  void ingress_pfc(const TraceHop& hop, int group);
  void ingress_watchdog(const TraceHop& hop);
  void compare_pfc(const std::string& hop, const std::string& device, int priority, const config::Setting<bool>& by,
                   bool intent);
  void egress(const TraceHop& hop, int chosen);
  void egress_ecn(const TraceHop& hop, int queue);
  void egress_schedule(const TraceHop& hop, int queue);
  void egress_pause(const TraceHop& hop, int queue);
  void notice_buffer(const TraceHop& hop, int chosen, int group);
  void rewrite(const TraceHop& hop);

  const TraceEnd& from_;
  const TraceEnd& to_;
  TraceLeg leg_;
  int dscp_ = kUnknown;
  int data_dscp_ = kUnknown;
  SourceLocation near_;
  static constexpr std::size_t kNoStep = static_cast<std::size_t>(-1);
  std::size_t deaf_ = kNoStep;  // step of a NIC without PFC on the traffic's priority
  int obeyed_ = kUnknown;       // priority on which the sender of this link stops the data
  std::string sender_;
};

void Walk::mark_data(int forced_dscp) {
  if (forced_dscp >= 0) {
    dscp_ = forced_dscp;
    step("request", "", "marking", fmt::format("DSCP {}", dscp_), config::vendor_default(dscp_, "explicit"), false);
    return;
  }
  const config::Setting<int>& wanted = from_.marking.traffic_class;
  const bool nic_says = from_.nic != nullptr && from_.nic->tos.known();
  const bool nic_wins = nic_says && (!wanted.known() || (*wanted == 0 && *from_.nic->tos != 0) ||
                                     (!from_.marking.explicitly && *from_.nic->tos != 0));
  near_ = from_.marking.place;
  if (wanted.known() && nic_wins) {
    step(from_.marking.name, from_.marking.subject, "traffic class", fmt::format("{}", *wanted), wanted,
         from_.marking.intent);
  }
  if (nic_wins && from_.nic != nullptr) near_ = from_.nic->place;
  if (!nic_wins && !wanted.known()) {
    step(from_.name, "", "marking", "unknown", config::Setting<int>(), false);
    return;
  }
  const config::Setting<int>& decides = nic_wins ? from_.nic->tos : wanted;
  dscp_ = (*decides >> 2) & 63;
  leg_.marked = leg_.steps.size();
  TraceStep& at = step(nic_wins ? from_.name : from_.marking.name,
                       nic_wins ? nic_subject(from_) : from_.marking.subject, nic_wins ? "default ToS" : "DSCP",
                       fmt::format("{} -> DSCP {}, {}", *decides, dscp_, (*decides & 3) == 0 ? "not ECT" : "ECT"),
                       decides, nic_wins ? from_.intent : from_.marking.intent);
  if (*decides == 0 && !nic_wins) {
    set_verdict(at, StepVerdict::unmarked, Cause::application_unmarked,
                fmt::format("{} uses traffic class 0", from_.marking.name));
  } else if (*decides == 0) {
    set_verdict(at, StepVerdict::unmarked, Cause::nic_unmarked, "the NIC's default type of service is 0");
  } else if ((*decides & 3) == 0) {
    set_verdict(at, StepVerdict::unmarked, Cause::not_ecn_capable,
                fmt::format("traffic class {} has DSCP {} but no ECT bits; {} has them", *decides, dscp_,
                            model::traffic_class_of(dscp_)));
  }
}

void Walk::mark_notice() {
  if (from_.nic != nullptr) near_ = from_.nic->place;
  if (from_.nic == nullptr || !from_.nic->cnp_dscp.known()) {
    step(from_.name, nic_subject(from_), "CNP DSCP", "unknown", config::Setting<int>(), false);
    return;
  }
  const int value = *from_.nic->cnp_dscp;
  dscp_ = value >= 0 && value < config::kDscps ? value : kUnknown;
  step(from_.name, nic_subject(from_), "CNP DSCP", fmt::format("{}", value), from_.nic->cnp_dscp, from_.intent);
}

// mlx5: trust dscp results in priority DSCP / 8; trust pcp needs a VLAN tag, which routed RoCE does not have.
std::optional<int> Walk::nic_priority(const TraceEnd& end, bool sending) {
  if (end.nic == nullptr || !end.nic->trust.known()) return std::nullopt;
  const bool by_dscp = *end.nic->trust == model::TrustMode::dscp;
  const int priority = by_dscp ? dscp_ / 8 : 0;
  near_ = end.nic->place;
  TraceStep& at =
      step(end.name, nic_subject(end), sending ? "NIC trust" : "NIC receives",
           fmt::format("{} -> priority {}", by_dscp ? "dscp" : "pcp", priority), end.nic->trust, end.intent);
  if (!by_dscp && !leg_.notice) {
    set_verdict(at, StepVerdict::lossy, Cause::nic_trust,
                "the NIC classifies by PCP, but routed RDMA traffic has no VLAN tag: it is priority 0");
  }
  return priority;
}

// A NIC without PFC on this priority is the cause only if the network keeps the class lossless; otherwise the class is
// wrong, and the switch's map is the better location.
void Walk::blame_nic() {
  if (deaf_ == kNoStep || leg_.first(StepVerdict::lossy) != nullptr) return;
  leg_.steps[deaf_].verdict = StepVerdict::lossy;
  leg_.steps[deaf_].cause = Cause::nic_without_pfc;
  deaf_ = kNoStep;
}

void Walk::nic_pfc(const TraceEnd& end, int priority, bool sending) {
  const config::Setting<bool>& pfc = end.nic->pfc[slot(priority)];
  TraceStep& at =
      step(end.name, nic_subject(end), "NIC PFC",
           pfc.known() ? fmt::format("priority {} {}", priority, *pfc ? "on" : "off") : "unknown", pfc, end.intent);
  if (pfc.known() && !*pfc) {
    set_verdict(at, StepVerdict::warning, Cause::none,
                fmt::format("the NIC {} pauses on priority {}, to which it maps DSCP {}",
                            sending ? "ignores" : "does not send", priority, dscp_));
    deaf_ = leg_.steps.size() - 1;
    if (!sending) blame_nic();
  }
}

void Walk::send_from_nic() {
  sender_ = from_.name;
  obeyed_ = kUnknown;
  if (leg_.notice) return;
  const auto priority = nic_priority(from_, true);
  if (!priority) return;
  nic_pfc(from_, *priority, true);
  const config::Setting<bool>& pfc = from_.nic->pfc[slot(*priority)];
  obeyed_ = !pfc.known() ? kUnknown : *pfc ? *priority : kNobody;
  if (from_.nic->ecn.known() && !*from_.nic->ecn) {
    TraceStep& at = step(from_.name, nic_subject(from_), "NIC ECN", "off", from_.nic->ecn, from_.intent);
    set_verdict(at, StepVerdict::warning, Cause::nic_without_ecn,
                "the NIC does not slow down on congestion notifications");
  }
}

void Walk::receive_at_nic() {
  const auto priority = nic_priority(to_, false);
  if (!priority) return;
  nic_pfc(to_, *priority, false);
  const config::Setting<bool>& pfc = to_.nic->pfc[slot(*priority)];
  if (pfc.known() && *pfc) compare_pfc(to_.name, nic_subject(to_), *priority, pfc, to_.intent);
}

void Walk::walk_hop(const TraceHop& hop) {
  near_ = hop.in_place;
  if (hop.in_qos == nullptr || hop.out_qos == nullptr) {
    step(hop.in, hop.device, "class maps", "unknown", config::Setting<int>(), hop.intent);
    obeyed_ = kUnknown;
    return;
  }
  const auto chosen = classify(hop);
  if (!chosen) {
    obeyed_ = kUnknown;
    sender_ = hop.out;
    rewrite(hop);
    return;
  }
  ingress(hop, *chosen);
  egress(hop, *chosen);
  rewrite(hop);
}

std::optional<int> Walk::classify(const TraceHop& hop) {
  const config::PortQos& qos = *hop.in_qos;
  const bool maps = sorts_by_dscp(qos);
  if (!maps && hop.others_have_maps) {
    TraceStep& at = step(hop.in, hop.device, "class maps", "none on this port", config::Setting<int>(), hop.intent);
    if (leg_.notice) return std::nullopt;  // reported on the data leg
    set_verdict(at, StepVerdict::lossy, Cause::port_without_maps,
                "the port has no class maps, but other ports of the switch do");
    return std::nullopt;
  }
  const bool by_pcp = qos.trust.known() && *qos.trust == model::TrustMode::pcp;
  TraceStep& trust = step(hop.in, hop.device, "trust",
                          !qos.trust.known() ? "unknown"
                          : by_pcp           ? "pcp"
                                             : "dscp",
                          qos.trust, hop.intent);
  if (by_pcp) {
    const std::string why = "the port classifies by PCP, but routed RDMA traffic has no VLAN tag: it is priority 0";
    if (leg_.notice) {
      set_verdict(trust, StepVerdict::warning, Cause::switch_trust, why);
    } else {
      set_verdict(trust, StepVerdict::lossy, Cause::switch_trust, why);
    }
  }
  const config::Setting<int>& to_class = by_pcp ? qos.pcp_to_class[0] : qos.dscp_to_class[slot(dscp_)];
  if (!to_class.known() || !is_class(*to_class)) {
    step(hop.in, hop.device, "DSCP -> TC", fmt::format("{} -> unknown", dscp_), config::Setting<int>(), hop.intent);
    return std::nullopt;
  }
  if (trust.verdict == StepVerdict::unknown && maps) leg_.steps.pop_back();  // a bound DSCP map implies trust
  step(hop.in, hop.device, by_pcp ? "PCP -> TC" : "DSCP -> TC", fmt::format("{} -> {}", by_pcp ? 0 : dscp_, *to_class),
       to_class, hop.intent);
  return *to_class;
}

// Selects the wrong line: the class map if another class would be lossless, the group map if the class's own group
// would be, the buffers if no group is.
void Walk::judge_class(const TraceHop& hop, TraceStep& at, int group, int chosen) {
  const config::PortQos& qos = *hop.in_qos;
  const auto lossless = [&](int g) { return qos.groups[slot(g)].lossless.known() && *qos.groups[slot(g)].lossless; };
  const bool own = chosen != group && (lossless(chosen) || (qos.pfc[slot(chosen)].known() && *qos.pfc[slot(chosen)]));
  bool any = false;
  for (int g = 0; g < config::kClasses; ++g) any = any || lossless(g);
  if (own) {
    set_verdict(at, StepVerdict::lossy, Cause::group_map,
                fmt::format("class {} maps to priority group {}, which has no headroom", chosen, group));
    return;
  }
  if (any) {
    for (auto step = leg_.steps.rbegin(); step != leg_.steps.rend(); ++step) {
      if (step->what != "DSCP -> TC" && step->what != "PCP -> TC") continue;
      at.verdict = StepVerdict::ok;
      set_verdict(
          *step, StepVerdict::lossy, Cause::class_lossy,
          fmt::format("DSCP {} maps to class {}, whose priority group {} has no headroom", dscp_, chosen, group));
      return;
    }
  }
  set_verdict(at, StepVerdict::lossy, Cause::group_without_headroom,
              fmt::format("priority group {} has no headroom, and neither has any other group of the port", group));
}

void Walk::ingress(const TraceHop& hop, int chosen) {
  const config::PortQos& qos = *hop.in_qos;
  const config::Setting<int>& to_group = qos.class_to_group[slot(chosen)];
  if (!to_group.known() || !is_class(*to_group)) {
    step(hop.in, hop.device, "TC -> PG", fmt::format("{} -> unknown", chosen), config::Setting<int>(), hop.intent);
    return;
  }
  const int group = *to_group;
  const std::size_t group_step = leg_.steps.size();
  step(hop.in, hop.device, "TC -> PG", fmt::format("{} -> {}", chosen, group), to_group, hop.intent);
  if (leg_.notice) {
    notice_buffer(hop, chosen, group);
    return;
  }
  const config::GroupQos& buffer = qos.groups[slot(group)];
  const config::Setting<bool>& lossless = buffer.lossless;
  if (!lossless.known()) {
    step(hop.in, hop.device, "PG buffer", "unknown", lossless, hop.intent);
  } else if (*lossless) {
    const std::string room = buffer.xoff.known() ? fmt::format("lossless, {} bytes headroom", buffer.xoff.value.count())
                                                 : std::string("lossless");
    step(hop.in, hop.device, "PG buffer", room, lossless, hop.intent);
  } else {
    TraceStep& at = step(hop.in, hop.device, "PG buffer", "lossy", lossless, hop.intent);
    judge_class(hop, at, group, chosen);
    if (at.cause == Cause::group_map) {  // the map's line is the one to change
      std::swap(at.verdict, leg_.steps[group_step].verdict);
      std::swap(at.cause, leg_.steps[group_step].cause);
      std::swap(at.why, leg_.steps[group_step].why);
    }
    return;
  }
  blame_nic();
  ingress_pfc(hop, group);
  ingress_watchdog(hop);
}

void Walk::ingress_pfc(const TraceHop& hop, int group) {
  const config::PortQos& qos = *hop.in_qos;
  if (!pfc_known(qos)) {
    step(hop.in, hop.device, "PFC", "unknown", config::Setting<bool>(), hop.intent);
    return;
  }
  const std::vector<int> priorities = find_pausing_priorities(qos, qos.pfc_to_group, group);
  if (priorities.empty()) {
    const config::Setting<bool>& by = qos.pfc[slot(group)];
    TraceStep& at = step(hop.in, hop.device, "PFC", "off", by, hop.intent);
    set_verdict(at, StepVerdict::lossy, Cause::pfc_off,
                fmt::format("no priority with PFC belongs to priority group {}: its headroom is never used", group));
    return;
  }
  const config::Setting<bool>& by = qos.pfc[slot(priorities[0])];
  TraceStep& at = step(hop.in, hop.device, "PFC", fmt::format("priority {}", list_of(priorities)), by, hop.intent);
  if (qos.pfc_mode.known() && *qos.pfc_mode == model::PfcMode::off) {
    at.place = qos.pfc_mode.place;
    at.path = qos.pfc_mode.path;
    set_verdict(at, StepVerdict::lossy, Cause::pfc_off, "priority flow control is off on the port");
  } else if (qos.pfc_mode.known() && *qos.pfc_mode == model::PfcMode::automatic) {
    at.place = qos.pfc_mode.place;
    at.path = qos.pfc_mode.path;
    set_verdict(at, StepVerdict::warning, Cause::pfc_automatic,
                "priority flow control depends on DCBX negotiation with the other end");
  }
  if (std::find(priorities.begin(), priorities.end(), obeyed_) == priorities.end()) {
    compare_pfc(hop.in, hop.device, priorities[0], by, hop.intent);
  }
}

// Whether the pauses that this end sends on `priority` stop the data at the sending end of the link.
void Walk::compare_pfc(const std::string& hop, const std::string& device, int priority, const config::Setting<bool>& by,
                       bool intent) {
  if (obeyed_ == kUnknown || obeyed_ == kNobody || obeyed_ == priority) return;
  TraceStep& at =
      step(hop, device, "link", fmt::format("{} pauses {}, {} obeys {}", hop, priority, sender_, obeyed_), by, intent);
  set_verdict(
      at, StepVerdict::lossy, Cause::priority_mismatch,
      fmt::format("{} pauses priority {}, but {} has this traffic on priority {}", hop, priority, sender_, obeyed_));
}

void Walk::ingress_watchdog(const TraceHop& hop) {
  const config::WatchdogQos& watchdog = hop.in_qos->watchdog;
  if (!watchdog.on.known()) return;
  TraceStep& at = step(hop.in, hop.device, "PFC watchdog", *watchdog.on ? "on" : "off", watchdog.on, hop.intent);
  if (!*watchdog.on) {
    set_verdict(at, StepVerdict::warning, Cause::watchdog_off, "no watchdog ends a stuck pause");
  }
}

void Walk::notice_buffer(const TraceHop& hop, int chosen, int group) {
  const config::PortQos& qos = *hop.in_qos;
  const config::Setting<bool>& lossless = qos.groups[slot(group)].lossless;
  if (!lossless.known()) return;
  step(hop.in, hop.device, "PG buffer", *lossless ? "lossless" : "lossy", lossless, hop.intent);
  if (!*lossless) return;
  const bool with_data =
      data_dscp_ >= 0 && qos.dscp_to_class[slot(data_dscp_)].known() && *qos.dscp_to_class[slot(data_dscp_)] == chosen;
  for (auto found = leg_.steps.rbegin(); found != leg_.steps.rend(); ++found) {  // the map's line is the one to change
    if (found->what != "DSCP -> TC" && found->what != "PCP -> TC") continue;
    set_verdict(*found, StepVerdict::warning, with_data ? Cause::notice_with_data : Cause::notice_lossless,
                fmt::format("notifications with DSCP {} use class {}, {}", dscp_, chosen,
                            with_data ? "the class of the data" : "which can be paused"));
    return;
  }
}

void Walk::egress(const TraceHop& hop, int chosen) {
  const config::PortQos& qos = *hop.out_qos;
  const config::Setting<int>& to_queue = qos.class_to_queue[slot(chosen)];
  sender_ = hop.out;
  near_ = hop.out_place;
  if (!to_queue.known() || !is_class(*to_queue)) {
    step(hop.out, hop.device, "TC -> queue", fmt::format("{} -> unknown", chosen), config::Setting<int>(), hop.intent);
    obeyed_ = kUnknown;
    return;
  }
  const int queue = *to_queue;
  step(hop.out, hop.device, "TC -> queue", fmt::format("{} -> {}", chosen, queue), to_queue, hop.intent);
  if (!leg_.notice) egress_ecn(hop, queue);
  egress_schedule(hop, queue);
  if (!leg_.notice) egress_pause(hop, queue);
}

void Walk::egress_ecn(const TraceHop& hop, int queue) {
  const config::QueueQos& q = hop.out_qos->queues[slot(queue)];
  std::string value = !q.ecn.known() ? "unknown" : *q.ecn ? "marks" : "off";
  if (q.ecn.known() && *q.ecn && q.ecn_min.known() && q.ecn_max.known()) {
    value = fmt::format("marks from {} to {} bytes", q.ecn_min.value.count(), q.ecn_max.value.count());
  }
  TraceStep& at = step(hop.out, hop.device, "ECN", std::move(value), q.ecn, hop.intent);
  if (q.ecn.known() && !*q.ecn) {
    set_verdict(at, StepVerdict::unmarked, Cause::ecn_off,
                fmt::format("queue {} does not mark: only pauses slow down senders", queue));
  }
}

void Walk::egress_schedule(const TraceHop& hop, int queue) {
  const config::QueueQos& q = hop.out_qos->queues[slot(queue)];
  if (!q.scheduling.known()) return;
  const bool strict = *q.scheduling == config::Scheduling::strict;
  std::string value = strict ? "strict" : "weighted";
  if (!strict && q.weight.known()) value += fmt::format(" {}", *q.weight);
  TraceStep& at = step(hop.out, hop.device, "scheduler", std::move(value), q.scheduling, hop.intent);
  if (leg_.notice && !strict) {
    set_verdict(at, StepVerdict::warning, Cause::notice_not_strict,
                fmt::format("notifications wait in weighted queue {}, behind the congestion that they report", queue));
  } else if (!leg_.notice && strict) {
    set_verdict(at, StepVerdict::warning, Cause::data_strict,
                fmt::format("queue {} of the data starves every other queue", queue));
  }
}

void Walk::egress_pause(const TraceHop& hop, int queue) {
  const config::PortQos& qos = *hop.out_qos;
  if (!pfc_known(qos)) {
    obeyed_ = kUnknown;
    return;
  }
  const std::vector<int> priorities = find_pausing_priorities(qos, qos.pfc_to_queue, queue);
  if (priorities.empty()) {
    obeyed_ = kNobody;
    if (leg_.first(StepVerdict::lossy) != nullptr) return;  // already reported
    TraceStep& at = step(hop.out, hop.device, "obeys PFC", "none", qos.pfc[slot(queue)], hop.intent);
    set_verdict(at, StepVerdict::lossy, Cause::queue_not_paused,
                fmt::format("queue {} does not react to pauses: the next hop's headroom overflows", queue));
    return;
  }
  obeyed_ = priorities[0];
  step(hop.out, hop.device, "obeys PFC", fmt::format("priority {}", list_of(priorities)), qos.pfc[slot(obeyed_)],
       hop.intent);
}

void Walk::rewrite(const TraceHop& hop) {
  near_ = hop.out_place;
  const config::Setting<int>& to = hop.out_qos->rewrite[slot(dscp_)];
  if (!to.known() || *to == dscp_ || *to < 0 || *to >= config::kDscps) return;
  TraceStep& at = step(hop.out, hop.device, "DSCP rewrite", fmt::format("{} -> {}", dscp_, *to), to, hop.intent);
  set_verdict(at, StepVerdict::warning, Cause::rewritten, fmt::format("DSCP {} is rewritten to {}", dscp_, *to));
  dscp_ = *to;
}

std::vector<TraceHop> reverse_hops(const std::vector<TraceHop>& hops) {
  std::vector<TraceHop> out(hops.rbegin(), hops.rend());
  for (TraceHop& hop : out) {
    std::swap(hop.in, hop.out);
    std::swap(hop.in_qos, hop.out_qos);
    std::swap(hop.in_place, hop.out_place);
  }
  return out;
}

}  // namespace

std::vector<TraceLeg> walk_legs(const TracePlan& plan) {
  const std::vector<TraceHop> back = reverse_hops(plan.hops);
  std::vector<TraceLeg> legs;
  legs.push_back(Walk(plan.from, plan.to, false, false).run(plan.hops, plan.dscp, kUnknown));
  legs.push_back(Walk(plan.to, plan.from, false, true).run(back, plan.dscp, kUnknown));
  // The receiver of marked data sends the notification: those for forward data travel backward.
  legs.push_back(Walk(plan.to, plan.from, true, true).run(back, kUnknown, legs[0].dscp));
  legs.push_back(Walk(plan.from, plan.to, true, false).run(plan.hops, kUnknown, legs[1].dscp));
  return legs;
}

}  // namespace weft::check

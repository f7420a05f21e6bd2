#include "twin/incident_finder.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/text.h"

namespace weft::twin {

using control::PartEnd;
using sched::Moment;

namespace {

constexpr Duration kReport = sched::seconds(1);         // from the end of a process to its report
constexpr Duration kNear = sched::seconds(300);         // a failure this long before the report of its node
constexpr Duration kSameSignal = sched::seconds(1800);  // the same, if both name the same signal
constexpr Duration kAfter = sched::seconds(600);        // a failure of another node's process after the report
constexpr Duration kPatience = sched::seconds(900);     // the twin's people wait this long for an automatic repair
constexpr std::size_t kMaxName = 40;
constexpr std::string_view kProcessFailed = "process failed";
constexpr std::string_view kReboot = "node rebooted";

Duration median(std::vector<Duration> values, Duration fallback) {
  if (values.empty()) return fallback;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// An attempt that failed.
struct Failure {
  std::int32_t job = 0;
  const HistoryAttempt* attempt = nullptr;
  const HistoryPart* part = nullptr;  // that failed first; null: the controller stopped the attempt
  Moment at{};
  bool explained = false;
  [[nodiscard]] bool is_on(sched::NodeId node) const { return part != nullptr && part->node == node; }
  [[nodiscard]] const HistoryPart* find(sched::NodeId node) const {
    const auto& parts = attempt->parts;
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& each) { return each.node == node; });
    return found == parts.end() ? nullptr : &*found;
  }
};

class Finder {
 public:
  explicit Finder(const History& history) : history_(history) {}

  FoundIncidents run(double node_days) {
    FaultModel& faults = found_.faults;
    const FaultModel defaults = default_faults();
    const Duration cycle = median(history_.boots, defaults.power_cycle + defaults.boot);
    faults.power_cycle = std::min(defaults.power_cycle, Duration(cycle.count() / 10));
    faults.boot = cycle - faults.power_cycle;
    faults.validate = median(history_.validations, defaults.validate);
    faults.source = history_.source;
    collect();
    for (const Trouble& trouble : history_.troubles) attach(trouble, true);
    for (const Trouble& trouble : history_.troubles) attach(trouble, false);
    for (std::size_t t = 0; t < history_.troubles.size(); ++t) add_trouble(history_.troubles[t]);
    for (const Failure& failure : failures_) {
      if (!failure.explained) add_failure(failure);
    }
    std::stable_sort(found_.incidents.begin(), found_.incidents.end(),
                     [](const Incident& a, const Incident& b) { return a.at < b.at; });
    finish_causes(node_days);
    return std::move(found_);
  }

 private:
  void collect() {
    for (std::size_t j = 0; j < history_.jobs.size(); ++j) {
      for (const HistoryAttempt& attempt : history_.jobs[j].attempts) {
        if (!attempt.interrupted) continue;
        Failure failure;
        failure.job = static_cast<std::int32_t>(j);
        failure.attempt = &attempt;
        if (attempt.failed) failure.part = &attempt.parts[*attempt.failed];
        failure.at = failure.part != nullptr             ? failure.part->ended
                     : attempt.stopping != sched::kNever ? attempt.stopping
                                                         : attempt.ended;
        failures_.push_back(failure);
        ++found_.interruptions;
      }
    }
  }

  // `direct`: processes of that node failed. Otherwise those of a job that ran there did, or it was stopped.
  void attach(const Trouble& trouble, bool direct) {
    for (Failure& failure : failures_) {
      if (failure.explained || failure.is_on(trouble.node) != direct || failure.find(trouble.node) == nullptr) continue;
      const bool same = failure.part != nullptr && failure.part->text == trouble.signal;
      const Moment from(trouble.at.count() - (direct && same ? kSameSignal : kNear).count());
      Moment until = failure.part == nullptr || direct ? trouble.ended : trouble.detected + kAfter;
      if (trouble.listed) until = std::min(until, trouble.detected + kSameSignal);  // lists often lack the repair
      if (failure.at < from || failure.at > until) continue;
      failure.explained = true;
      by_trouble_[&trouble].push_back(&failure);
    }
  }

  void add_trouble(const Trouble& trouble) {
    Incident incident;
    incident.node = trouble.node;
    const Failure* first = nullptr;
    for (const Failure* each : by_trouble_[&trouble]) first = first == nullptr || each->at < first->at ? each : first;
    Effect effect = Effect::exit;
    Moment at = trouble.listed ? trouble.at : Moment(trouble.at.count() - kReport.count());
    const auto is_gone_there = [&] {
      const PartEnd end = first->find(trouble.node)->end;
      return end == PartEnd::off || end == PartEnd::rebooted;
    };
    if (first != nullptr && trouble.listed) {
      effect = is_gone_there() ? Effect::down : Effect::exit;
    } else if (first != nullptr && !first->is_on(trouble.node)) {
      effect = is_gone_there() ? Effect::down : Effect::hang;
      if (first->part != nullptr) {  // its processes gave up by themselves
        at = std::min(at, Moment(first->at.count() - 2 * kReport.count()));
        incident.abort = kReport;
      }
    } else if (first != nullptr) {
      at = std::min(at, Moment(first->at.count() - kReport.count()));
    }
    if (trouble.effect) effect = *trouble.effect;
    if (trouble.listed && effect != Effect::exit && first != nullptr && first->at > at) incident.abort = first->at - at;
    incident.at = std::max(at - history_.from, Duration());
    incident.detect = std::max(trouble.detected - (history_.from + incident.at), milliseconds(1));
    repair_of(trouble, incident);
    incident.cause = cause(trouble.signal, effect);
    found_.incidents.push_back(incident);
  }

  void repair_of(const Trouble& trouble, Incident& incident) const {
    // What is not repaired at the end is not repaired in the replay either.
    const Duration rest = history_.until - trouble.detected + sched::seconds(86'400);
    incident.fix = trouble.ended == sched::kNever && !trouble.listed ? Fix::person : trouble.fix;
    if (incident.fix != Fix::person) return;
    const bool open = trouble.ended == sched::kNever;
    if (trouble.session && trouble.person != sched::kNever) {
      incident.repair = open ? rest : std::min(trouble.resumed, trouble.ended) - trouble.person;
    } else if (trouble.listed) {
      incident.repair = open ? rest : trouble.ended - trouble.detected;
    } else {
      incident.repair = (open ? rest : trouble.ended - trouble.detected) - kPatience;
      if (incident.repair.count() <= 0 && history_.repair) incident.fix = Fix::power_cycle;
    }
    incident.repair = std::max(incident.repair, milliseconds(1));
    if (incident.fix != Fix::person) incident.repair = {};
  }

  void add_failure(const Failure& failure) {
    Incident incident;
    incident.fix = Fix::restart;
    const auto is_gone = [](const HistoryPart& each) {
      return each.end == PartEnd::rebooted || each.end == PartEnd::off;
    };
    const auto& parts = failure.attempt->parts;
    const auto gone = std::find_if(parts.begin(), parts.end(), is_gone);
    const HistoryPart& part = failure.part != nullptr ? *failure.part : gone != parts.end() ? *gone : parts.front();
    incident.node = part.node;
    if (!is_gone(part)) {
      incident.job = failure.job;
      incident.at = std::max(Moment(failure.at.count() - kReport.count()) - history_.from, Duration());
      incident.cause = cause(kProcessFailed, Effect::exit);
      found_.incidents.push_back(incident);
      return;
    }
    // A job that waits for the node ends with its next boot.
    Moment at(failure.at.count() - found_.faults.boot.count());
    at = std::max({at, failure.attempt->start, history_.from});
    if (!failure.attempt->checkpoints.empty()) at = std::max(at, failure.attempt->checkpoints.back().at);
    incident.at = at - history_.from;
    incident.cause = cause(kReboot, Effect::down);
    const auto same = [&](const Incident& each) {
      return each.cause == incident.cause && each.node == incident.node &&
             std::abs((each.at - incident.at).count()) <= kNear.count();
    };
    if (std::none_of(found_.incidents.begin(), found_.incidents.end(), same)) found_.incidents.push_back(incident);
  }

  std::uint32_t cause(std::string_view signal, Effect effect) {
    const auto [found, added] = causes_.try_emplace({std::string(signal), effect}, found_.faults.causes.size());
    if (!added) return static_cast<std::uint32_t>(found->second);
    Cause cause;
    cause.name = cause_name(signal);
    const auto is_used = [&](const std::string& name) {
      const auto& causes = found_.faults.causes;
      return std::any_of(causes.begin(), causes.end(), [&](const Cause& each) { return each.name == name; });
    };
    const std::string base = cause.name;
    for (int n = 2; is_used(cause.name); ++n) cause.name = base + "-" + std::to_string(n);
    cause.title = cause.signal = signal.empty() ? cause.name : std::string(signal);
    cause.effect = effect;
    found_.faults.causes.push_back(std::move(cause));
    return static_cast<std::uint32_t>(found->second);
  }

  // The rates, shares and times of the causes, for those who use them as a fault file.
  void finish_causes(double node_days) {
    for (std::size_t c = 0; c < found_.faults.causes.size(); ++c) {
      Cause& cause = found_.faults.causes[c];
      std::vector<Duration> detects;
      std::vector<Duration> repairs;
      double all = 0;
      double restarts = 0;
      double cycles = 0;
      for (const Incident& incident : found_.incidents) {
        if (incident.cause != c) continue;
        ++all;
        restarts += incident.fix == Fix::restart ? 1 : 0;
        cycles += incident.fix == Fix::power_cycle ? 1 : 0;
        if (incident.detect.count() > 0) detects.push_back(incident.detect);
        if (incident.fix == Fix::person) repairs.push_back(incident.repair);
      }
      if (node_days > 0) cause.rate = std::min(std::round(all / node_days * 1e6) / 1e3, 1e6);
      cause.restart = std::floor(restarts / all * 100) / 100;
      cause.power_cycle = restarts + cycles == all ? 1 - cause.restart : std::floor(cycles / all * 100) / 100;
      cause.detect = median(detects, cause.restart < 1 ? sched::seconds(60) : Duration());
      cause.repair = median(repairs, cause.restart + cause.power_cycle < 1 ? sched::seconds(3600) : Duration());
    }
  }

  const History& history_;
  FoundIncidents found_;
  std::vector<Failure> failures_;
  std::map<const Trouble*, std::vector<const Failure*>> by_trouble_;
  std::map<std::pair<std::string, Effect>, std::size_t> causes_;
};

}  // namespace

std::string cause_name(std::string_view text) {
  std::string name;
  for (const char each : text) {
    const char small = to_lower(each);
    const bool kept = (small >= 'a' && small <= 'z') || is_digit(small);
    if (kept) {
      name += small;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
    if (name.size() >= kMaxName) break;
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  if (name.empty()) return "fault";
  return name.front() >= 'a' && name.front() <= 'z' ? name : "fault-" + name;
}

FoundIncidents find_incidents(const History& history, double node_days) { return Finder(history).run(node_days); }

}  // namespace weft::twin

#include "health/judge/monitor.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "base/random.h"

namespace weft::health {
namespace {

constexpr std::size_t kMaxSeen = 256;      // of a node: entries of a log that is read again
constexpr std::size_t kMaxWindows = 4096;  // of a node
// Names that sources make up must not fill the memory.
constexpr std::size_t kMaxNames = 65'536;
constexpr std::size_t kMaxStrings = std::size_t{1} << 20;
// The same event reported by two sources (kernel and BMC) within this time is one.
constexpr Duration kSameEvent = sched::seconds(30);
constexpr Duration kReturns = sched::seconds(24LL * 3600);

std::uint32_t bit_of(SignalSource source) { return 1U << static_cast<unsigned>(source); }

std::optional<std::uint64_t> read_code(std::string_view text) {
  std::uint64_t code = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return code;
}

// What the driver asks for, if the signal says so.
std::optional<std::uint64_t> advice_of(const Signal& signal) {
  if (signal.name == "xid:154") return read_code(signal.detail("action"));
  if (signal.name == "dcgm:recovery_action" && signal.value && *signal.value >= 0 && *signal.value < 256)
    return static_cast<std::uint64_t>(*signal.value);
  return std::nullopt;
}

}  // namespace

Monitor::Monitor(std::shared_ptr<const Rules> rules, std::vector<std::string> nodes) : rules_(std::move(rules)) {
  nodes_.resize(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes_[i].name = std::move(nodes[i]);
    nodes_[i].health.reason = "nothing was heard of it";
  }
}

const Incident* Monitor::open_incident(NodeIndex node) const {
  return nodes_[node].open ? &*nodes_[node].open : nullptr;
}

std::vector<NodeIndex> Monitor::take_changed() {
  std::vector<NodeIndex> out = std::exchange(changed_, {});
  for (const NodeIndex index : out) nodes_[index].changed = false;
  std::sort(out.begin(), out.end());
  return out;
}

void Monitor::mark(NodeIndex index) {
  nodes_[index].dirty = true;
  if (std::exchange(nodes_[index].changed, true)) return;
  changed_.push_back(index);
}

// Rules by the name alone; details are tested per signal.
const std::vector<const Rule*>& Monitor::rules_for(const std::string& signal) {
  static const std::vector<const Rule*> none;
  const auto found = by_signal_.find(signal);
  if (found != by_signal_.end()) return found->second;
  std::vector<const Rule*> matching;
  for (const Rule& rule : rules_->rules) {
    const auto matches = [&](const SignalPattern& pattern) { return pattern.matches(signal); };
    if (std::any_of(rule.signals.begin(), rule.signals.end(), matches)) matching.push_back(&rule);
  }
  if (by_signal_.size() >= kMaxNames) return none;
  return by_signal_.emplace(signal, std::move(matching)).first->second;
}

bool Monitor::is_repeated(NodeState& node, const Signal& signal, sched::Moment at) {
  if (signal.at == sched::Moment()) return false;
  const std::uint64_t hash = hash64(fmt::format("{}\n{}\n{}", signal.name, signal.part, signal.text));
  const auto same = [&](const Seen& seen) { return seen.hash == hash && seen.at == at; };
  if (std::any_of(node.seen.begin(), node.seen.end(), same)) return true;
  node.seen.push_back({hash, at});
  if (node.seen.size() > kMaxSeen) node.seen.pop_front();
  return false;
}

void Monitor::note(NodeIndex index, const Signal& signal, sched::Moment now) {
  NodeState& node = nodes_[index];
  const sched::Moment at = signal.at == sched::Moment() ? now : std::min(signal.at, now);
  now_ = std::max(now_, now);
  if ((node.expected & bit_of(signal.source)) != 0) heard(index, signal.source, now);
  if (at <= node.repaired && node.repaired != sched::Moment()) return;
  if (!signal.value && is_repeated(node, signal, at)) return;
  if (const auto code = advice_of(signal)) note_advice(node, signal.part, *code, at);
  apply(index, signal, at);
}

void Monitor::apply(NodeIndex index, const Signal& signal, sched::Moment at) {
  const std::vector<const Rule*>& matching = rules_for(signal.name);
  if (matching.empty()) ++unmatched_;
  const bool ends = signal.detail("state") == "deasserted" || signal.detail("state") == "resolved";
  bool measured = false;
  for (const Rule* rule : matching) {
    if (!rule->matches(signal)) continue;
    if (ends) {
      end_condition(index, *rule, signal.part, at);
    } else if (rule->kind == ConditionKind::event) {
      note_event(index, *rule, signal, at);
    } else {
      measured = measured || signal.value.has_value();
    }
  }
  if (!measured) return;
  const WatchedSeries series = add_series(index, signal.name, signal.part);
  if (series != kNotWatched) sample(series, *signal.value, at);
}

void Monitor::note_event(NodeIndex index, const Rule& rule, const Signal& signal, sched::Moment at) {
  NodeState& node = nodes_[index];
  if (rule.at_least > 1 && count_event(node, rule, signal, at) < rule.at_least) return;
  Finding finding{&rule, signal.part, at, at, 1, signal.text, signal.value, true};
  if (!rule.alone) return raise(index, std::move(finding));
  const auto mine = [&](const Finding& each) { return each.rule == &rule && each.part == signal.part; };
  const auto found = std::find_if(node.tentative.begin(), node.tentative.end(), mine);
  if (found == node.tentative.end()) return node.tentative.push_back(std::move(finding));
  found->count += 1;
  found->last = std::max(found->last, at);
}

// An event that two sources report (the kernel's line and DCGM's counter) is counted once.
std::size_t Monitor::count_event(NodeState& node, const Rule& rule, const Signal& signal, sched::Moment at) {
  const auto mine = [&](const EventWindow& window) { return window.rule == &rule && window.part == signal.part; };
  auto found = std::find_if(node.windows.begin(), node.windows.end(), mine);
  if (found == node.windows.end()) {
    if (node.windows.size() >= kMaxWindows) node.windows.erase(node.windows.begin());
    node.windows.push_back({&rule, signal.part, {}});
    found = node.windows.end() - 1;
  }
  std::deque<Counted>& events = found->events;
  const auto same = [&](const Counted& each) {
    const Duration between = each.at < at ? at - each.at : each.at - at;
    return each.source != signal.source && between <= kSameEvent;
  };
  if (std::none_of(events.begin(), events.end(), same)) {
    const auto later = [](sched::Moment moment, const Counted& each) { return moment < each.at; };
    events.insert(std::upper_bound(events.begin(), events.end(), at, later), {at, signal.source});
  }
  while (events.back().at - events.front().at > rule.within || events.size() > rule.at_least) events.pop_front();
  return events.size();
}

void Monitor::note_advice(NodeState& node, const std::string& part, std::uint64_t code, sched::Moment at) {
  const auto mine = [&](const DriverAdvice& each) { return each.part == part; };
  const auto found = std::find_if(node.advice.begin(), node.advice.end(), mine);
  if (found == node.advice.end()) {
    node.advice.push_back({part, code, at});
  } else if (at >= found->at) {
    *found = {part, code, at};
  }
  node.dirty = true;
}

void Monitor::open(NodeIndex index, const Finding& first) {
  Incident incident;
  incident.id = ++last_incident_;
  incident.node = index;
  incident.opened = first.first;
  incident.last = first.last;
  nodes_[index].open = std::move(incident);
}

// An incident takes what is found until the node is silent, and what is found again of it. Something worse after that
// is a case of its own, with what still holds.
void Monitor::raise(NodeIndex index, Finding finding) {
  NodeState& node = nodes_[index];
  const Rule& rule = *finding.rule;
  const auto mine = [&](const Finding& each) { return each.rule == &rule && each.part == finding.part; };
  if (rule.severity == Severity::info) infos_ += finding.count;
  if (rule.severity == Severity::info && !node.open) return;
  if (node.open && node.open->settled && rule.severity > node.open->severity && rule.severity >= Severity::degraded) {
    std::vector<Finding> held;
    for (const Finding& each : node.open->findings) {
      if (each.holds) held.push_back(each);
    }
    close(index, "continued by a worse one", finding.first);
    open(index, finding);
    node.open->findings = std::move(held);
  }
  if (!node.open) open(index, finding);
  Incident& incident = *node.open;
  const auto found = std::find_if(incident.findings.begin(), incident.findings.end(), mine);
  const bool fresh = found == incident.findings.end() || !found->holds;
  if (rule.severity > Severity::info) incident.last = std::max(incident.last, finding.last);
  incident.severity = std::max(incident.severity, rule.severity);
  if (found != incident.findings.end()) {
    found->count += finding.count;
    found->last = std::max(found->last, finding.last);
    found->holds = true;
    found->text = finding.text;
    found->value = finding.value;
  } else if (incident.findings.size() < kMaxFindings) {
    incident.findings.push_back(finding);
  } else {
    incident.findings.back().count += 1;
  }
  mark(index);
  if (!fresh || rule.severity != Severity::fatal) return;
  const bool returned = std::any_of(node.before.begin(), node.before.end(), [&](const Finding& each) {
    return mine(each) && finding.first - each.last <= kReturns;
  });
  derive(index, "health:fatal", finding, finding.last);
  if (returned) derive(index, "health:returned", finding, finding.last);
}

// Signals that follow from findings, for rules about repeat offenders; they cause no further ones.
void Monitor::derive(NodeIndex index, const char* name, const Finding& finding, sched::Moment at) {
  if (std::any_of(finding.rule->signals.begin(), finding.rule->signals.end(),
                  [](const SignalPattern& pattern) { return pattern.family == "health"; }))
    return;
  Signal signal;
  signal.name = name;
  signal.part = finding.part;
  signal.at = at;
  signal.text = finding.rule->title;
  apply(index, signal, at);
}

void Monitor::end_condition(NodeIndex index, const Rule& rule, std::string_view part, sched::Moment at) {
  NodeState& node = nodes_[index];
  if (!node.open) return;
  for (Finding& each : node.open->findings) {
    if (each.rule != &rule || each.part != part || !each.holds || each.last > at) continue;
    each.holds = false;
    mark(index);
  }
}

std::optional<std::uint32_t> Monitor::intern(std::string_view text) {
  const auto found = string_index_.find(std::string(text));
  if (found != string_index_.end()) return found->second;
  if (strings_.size() >= kMaxStrings) return std::nullopt;
  strings_.emplace_back(text);
  return string_index_.emplace(text, static_cast<std::uint32_t>(strings_.size() - 1)).first->second;
}

std::vector<const Rule*> Monitor::rules_watching(const std::string& signal) {
  std::vector<const Rule*> out;
  for (const Rule* rule : rules_for(signal)) {
    if (rule->kind != ConditionKind::event && rule->where.empty()) out.push_back(rule);
  }
  return out;
}

WatchedSeries Monitor::add_series(NodeIndex node, std::string_view signal, std::string_view part) {
  const std::string name(signal);
  const std::vector<const Rule*> watching = rules_watching(name);
  const bool advises = name == "dcgm:recovery_action";
  if (watching.empty() && !advises) return kNotWatched;
  const auto name_id = intern(name);
  const auto part_id = intern(part);
  if (!name_id || !part_id) return kNotWatched;
  const std::uint64_t key = std::uint64_t{node} << 40 | std::uint64_t{*name_id} << 20 | *part_id;
  const auto [found, added] = series_index_.emplace(key, static_cast<WatchedSeries>(series_.size()));
  if (!added) return found->second;
  series_.push_back({node, *part_id, static_cast<std::uint32_t>(watches_.size()),
                     static_cast<std::uint16_t>(watching.size()), advises});
  for (const Rule* rule : watching) watches_.emplace_back(*rule);
  return found->second;
}

void Monitor::sample(WatchedSeries id, double value, sched::Moment at) {
  const Series& series = series_[id];
  for (std::uint32_t i = series.first; i < series.first + series.count; ++i) {
    const Watch::Change change = watches_[i].add(value, at);
    if (change == Watch::Change::none) continue;
    const Rule& rule = watches_[i].rule();
    if (change == Watch::Change::ends) {
      end_condition(series.node, rule, strings_[series.part], at);
    } else {
      raise(series.node, {&rule, strings_[series.part], at, at, 1, {}, value, true});
    }
  }
  if (series.advises && value >= 0 && value < 256)
    note_advice(nodes_[series.node], strings_[series.part], static_cast<std::uint64_t>(value), at);
}

void Monitor::expect(NodeIndex node, SignalSource source) { nodes_[node].expected |= bit_of(source); }

void Monitor::heard(NodeIndex index, SignalSource source, sched::Moment at) {
  NodeState& node = nodes_[index];
  sched::Moment& last = node.heard[static_cast<std::size_t>(source)];
  const bool first = (node.expected & bit_of(source)) == 0 || last == sched::Moment();
  last = std::max(last, at);
  node.expected |= bit_of(source);
  if (first || node.health.state == HealthState::unknown) node.dirty = true;
}

void Monitor::repaired(NodeIndex index, Repair repair, std::string_view part, sched::Moment at) {
  NodeState& node = nodes_[index];
  if (repair != Repair::gpu_reset) {
    if (at <= node.repaired) return;
    node.repaired = at;
    node.advice.clear();
    node.tentative.clear();
    const auto of_past = [](const EventWindow& window) {
      return std::none_of(window.rule->signals.begin(), window.rule->signals.end(),
                          [](const SignalPattern& pattern) { return pattern.family == "health"; });
    };
    node.windows.erase(std::remove_if(node.windows.begin(), node.windows.end(), of_past), node.windows.end());
  } else {
    const auto mine = [&](const DriverAdvice& each) { return each.part == part; };
    node.advice.erase(std::remove_if(node.advice.begin(), node.advice.end(), mine), node.advice.end());
  }
  bool ended = false;
  if (node.open) {
    for (Finding& each : node.open->findings) {
      const bool by_repair = each.rule->kind == ConditionKind::event && each.rule->ends != Ends::person;
      const bool here = repair != Repair::gpu_reset || (each.part == part && each.rule->scope == Scope::gpu);
      if (!each.holds || each.last > at || !(by_repair || repair == Repair::person) || !here) continue;
      each.holds = false;
      ended = true;
      node.before.push_back(each);
      if (node.before.size() > kMaxSeen) node.before.erase(node.before.begin());
    }
  }
  mark(index);
  if (!ended) return;
  Signal signal;
  signal.name = "health:repair";
  signal.at = at;
  signal.text = "the node was repaired";
  apply(index, signal, at);
}

void Monitor::close(NodeIndex index, std::string why, sched::Moment at) {
  NodeState& node = nodes_[index];
  node.open->closed = at;
  node.open->why_closed = std::move(why);
  closed_.push_back(*std::move(node.open));
  if (closed_.size() > kMaxClosed) closed_.pop_front();
  node.open.reset();
  mark(index);
}

// What counts only alone is decided when the burst is over.
void Monitor::settle(NodeIndex index, sched::Moment now) {
  NodeState& node = nodes_[index];
  std::vector<Finding> alone;
  std::vector<Finding> waiting;
  for (Finding& each : node.tentative) {
    const auto together = [&](const Finding& other) {
      return other.rule->severity > Severity::info && each.first - other.last <= rules_->burst &&
             other.first - each.last <= rules_->burst;
    };
    if (node.open && std::any_of(node.open->findings.begin(), node.open->findings.end(), together)) {
      infos_ += each.count;
    } else {
      (now - each.last >= rules_->burst ? alone : waiting).push_back(std::move(each));
    }
  }
  node.tentative = std::move(waiting);
  for (Finding& each : alone) raise(index, std::move(each));
}

std::string Monitor::find_silent(const NodeState& node, sched::Moment now) const {
  if (node.expected == 0) return "nothing was heard of it";
  for (const auto& [name, source] : choices_of(SignalSource{})) {
    if ((node.expected & bit_of(source)) == 0) continue;
    const sched::Moment last = node.heard[static_cast<std::size_t>(source)];
    if (last == sched::Moment()) return fmt::format("source {} has not reported yet", name);
    if (now - last > rules_->stale_after) return fmt::format("source {} is silent", name);
  }
  return {};
}

void Monitor::advance_node(NodeIndex index, sched::Moment now) {
  NodeState& node = nodes_[index];
  if (!node.tentative.empty()) settle(index, now);
  if (node.open) {
    bool holds = false;
    for (Finding& each : node.open->findings) {
      const Rule& rule = *each.rule;
      const bool expires =
          rule.kind == ConditionKind::event &&
          (rule.severity == Severity::info || (rule.ends == Ends::time && now - each.last >= rule.clears_after));
      if (each.holds && expires) {
        each.holds = false;
        mark(index);
      }
      holds = holds || each.holds;
    }
    const bool over = now - node.open->last >= rules_->burst;
    if (over && !node.open->settled) {
      node.open->settled = true;
      mark(index);
    }
    if (over && !holds) close(index, "nothing of it holds", now);
  }
  const std::string silent = find_silent(node, now);
  const bool was_silent = node.health.state == HealthState::unknown;
  if (!node.dirty && silent.empty() != was_silent) return;
  static const std::vector<Finding> none;
  NodeHealth health = judge(*rules_, node.open ? node.open->findings : none, node.advice, silent);
  health.incident = node.open ? node.open->id : 0;
  node.dirty = false;
  if (health == node.health) return;
  node.health = std::move(health);
  mark(index);
  node.dirty = false;
}

void Monitor::advance(sched::Moment now) {
  now_ = std::max(now_, now);
  for (NodeIndex i = 0; i < nodes_.size(); ++i) advance_node(i, now);
}

}  // namespace weft::health

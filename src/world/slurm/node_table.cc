#include "world/slurm/node_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <utility>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "world/local/part_plan.h"

namespace weft::world {
namespace {

using control::Health;

constexpr Duration kReportInterval = sched::seconds(10);
constexpr std::int64_t kClockSlack = 30;  // seconds: slurmd computes its boot time again at every registration
constexpr std::uint32_t kSettledAnswers = 2;
constexpr std::string_view kFormat = "weft slurm boots 1";

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

NodeTable::NodeTable(std::vector<std::string> names, std::string cluster, std::string path)
    : cluster_(std::move(cluster)), path_(std::move(path)) {
  for (std::string& name : names) {
    by_name_.emplace(name, sched::NodeId{static_cast<std::uint32_t>(entries_.size())});
    Entry entry;
    entry.name = std::move(name);
    entries_.push_back(std::move(entry));
  }
}

const sched::NodeId* NodeTable::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

Status NodeTable::load() {
  if (::access(path_.c_str(), F_OK) != 0) return {};
  const Result<std::string> text = read_file(path_);
  if (!text.ok()) return text.error();
  const std::vector<std::string_view> lines = split_lines(*text);
  const Error damaged{ErrorCode::invalid_input, "the file of boot ids is damaged", path_};
  if (lines.size() < 2 || lines.front() != kFormat || lines.back() != "end") return damaged;
  std::map<std::string, Entry*, std::less<>> by_file_name;
  for (Entry& entry : entries_) by_file_name[encode_file_name(entry.name)] = &entry;
  for (std::size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::vector<std::string_view> words = split(lines[i], ' ');
    Entry read;
    if (words.size() != 4 || !read_number(words[1], read.boot) || !read_number(words[2], read.boot_time) ||
        !read_number(words[3], read.slurmd_start))
      return damaged;
    const auto found = by_file_name.find(words[0]);
    if (found == by_file_name.end()) continue;
    found->second->boot = read.boot;
    found->second->boot_time = read.boot_time;
    found->second->slurmd_start = read.slurmd_start;
  }
  return {};
}

Status NodeTable::store() const {
  std::string text = fmt::format("{}\n", kFormat);
  for (const Entry& entry : entries_) {
    if (entry.boot == 0) continue;
    append_format(text, "{} {} {} {}\n", encode_file_name(entry.name), entry.boot, entry.boot_time, entry.slurmd_start);
  }
  return write_file(path_, text + "end\n");
}

// A boot restarts slurmd and moves the boot time. The boot time alone also moves when the node's clock is set, and
// slurmd alone is also restarted by people.
bool NodeTable::update_boot(Entry& entry, const SlurmNode& node) {
  if (node.boot_time == 0 || node.slurmd_start == 0) return false;
  const bool restarted = node.slurmd_start != entry.slurmd_start;
  const bool booted = entry.boot == 0 || (restarted && node.boot_time > entry.boot_time + kClockSlack);
  if (!booted && !restarted && node.boot_time == entry.boot_time) return false;
  if (booted) {
    entry.boot = hash64(fmt::format("{} {} {}", entry.name, node.boot_time, node.slurmd_start));
    if (entry.boot == 0) entry.boot = 1;
  }
  entry.boot_time = node.boot_time;
  entry.slurmd_start = node.slurmd_start;
  return true;
}

Status NodeTable::apply(const std::vector<SlurmNode>& nodes, sched::Moment observed) {
  std::vector<Entry> before = entries_;
  for (Entry& entry : entries_) entry.listed = false;
  bool changed = false;
  for (const SlurmNode& node : nodes) {
    const sched::NodeId* id = find(node.name);
    if (id == nullptr) continue;
    Entry& entry = entries_[index_of(*id)];
    const Entry& last = before[index_of(*id)];
    entry.listed = true;
    if (node.responds()) changed = update_boot(entry, node) || changed;
    entry.seen = node;
    if (entry.answers == 0) entry.since = observed;
    entry.answers = node.responds() && entry.boot != 0 ? std::min(entry.answers, 1'000'000U) + 1 : 0;
    entry.report_health = entry.report_health || (entry.answers > 0) != (last.answers > 0) ||
                          node.state != last.seen.state || node.flags != last.seen.flags || entry.boot != last.boot;
    entry.report_cordon = entry.report_cordon || cordon_owner(node) != cordon_owner(last.seen);
  }
  for (Entry& entry : entries_) {
    if (!entry.listed) entry.answers = 0;
  }
  if (changed) {
    if (Status stored = store(); !stored.ok()) {
      entries_ = std::move(before);
      return stored;
    }
  }
  observed_ = observed;
  return {};
}

bool NodeTable::is_settled(sched::NodeId node, Duration answering) const {
  const Entry& entry = entries_[index_of(node)];
  return entry.answers >= kSettledAnswers && observed_ - entry.since >= answering && !entry.seen.has_flag("COMPLETING");
}

bool NodeTable::has_answered_since(sched::NodeId node, sched::Moment moment) const {
  const Entry& entry = entries_[index_of(node)];
  return entry.answers > 0 && entry.since <= moment;
}

std::string NodeTable::drain_reason(control::SessionId session, std::string_view rule) const {
  return rule.empty() ? fmt::format("weft:{}:{}", session, cluster_)
                      : fmt::format("weft:{}:{}:{}", session, rule, cluster_);
}

std::string NodeTable::cordon_owner(const SlurmNode& node) const {
  if (!node.is_drained()) return {};
  const std::vector<std::string_view> parts = split(node.reason, ':');
  control::SessionId session = 0;
  const bool has_form = parts.size() == 3 || parts.size() == 4;  // with a rule in watch mode
  if (has_form && parts[0] == "weft" && read_number(parts[1], session) && parts.back() == cluster_)
    return fmt::format("weft:{}", session);
  // Never equal to a mark of ours.
  return fmt::format("Slurm: {}{}{}", node.reason.empty() ? "drained" : node.reason,
                     node.reason_user.empty() ? "" : ", by ", node.reason_user);
}

control::NodeReport NodeTable::health_of(const Entry& entry) const {
  control::NodeReport report;
  report.observed = observed_;
  report.boot = entry.boot;
  report.health = Health::healthy;
  if (!entry.listed) {
    report.health = Health::unknown;
    report.signal = "Slurm does not list it";
  } else if (entry.answers == 0) {
    const bool silent = entry.seen.has_flag("NOT_RESPONDING") || entry.seen.state == "unknown";
    report.health = silent || entry.boot == 0 ? Health::unknown : Health::degraded;
    report.signal = silent ? "Slurm: not responding"
                           : fmt::format("Slurm: {}{}{}", entry.seen.state, entry.seen.reason.empty() ? "" : ", ",
                                         entry.seen.reason);
  }
  if (entry.answers == 0) report.boot = 0;  // not a sign of life
  return report;
}

void NodeTable::report_cordon(sched::NodeId node) { entries_[index_of(node)].report_cordon = true; }

void NodeTable::report(std::vector<control::Event>& events) {
  const bool all = reported_ == sched::Moment() || observed_ - reported_ >= kReportInterval;
  if (all) reported_ = observed_;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (all || std::exchange(entry.report_health, false)) {
      control::NodeReport report = health_of(entry);
      report.node = sched::NodeId{i};
      events.emplace_back(std::move(report));
    }
    if (entry.listed && (all || std::exchange(entry.report_cordon, false))) {
      const std::string owner = cordon_owner(entry.seen);
      events.emplace_back(control::CordonReport{sched::NodeId{i}, !owner.empty(), owner, observed_});
    }
  }
}

}  // namespace weft::world

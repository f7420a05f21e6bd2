// The complete QO table. QO001 to QO029 check the cluster file, QO030 to QO059 the path of a class through actual
// configuration, QO060 to QO079 buffers, marking and watchdogs, QO080 and up the ports themselves.
#include "check/rules/qos.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/host_range.h"

namespace weft::check {

namespace {

constexpr std::size_t kMaxRelated = 8;
constexpr std::size_t kMaxNamed = 60;  // characters of names in a message

std::string summarize_devices(const std::set<std::string>& devices, const std::string& folded) {
  if (folded.size() <= kMaxNamed) return folded;
  const std::size_t comma = folded.find(',');
  if (comma == std::string::npos) return folded;  // one long name, such as a file name
  if (devices.size() == 1) return folded.substr(0, comma) + " and others";
  return fmt::format("{} and {} more", *devices.begin(), devices.size() - 1);
}

}  // namespace

void FindingGroups::add(const std::string& key, const std::string& device, const SourceLocation& place,
                        std::string text, std::vector<Finding::Related> related) {
  const auto [found, added] = by_key_.emplace(key, entries_.size());
  if (added) entries_.push_back({place, std::move(text), std::move(related), {}, 0});
  Entry& entry = entries_[found->second];
  entry.devices.insert(device);
  ++entry.times;
  const bool known =
      place == entry.place || std::any_of(entry.related.begin(), entry.related.end(),
                                          [&](const Finding::Related& other) { return other.place == place; });
  if (!known && entry.related.size() < kMaxRelated) entry.related.push_back({place, "here too: " + device});
}

void FindingGroups::report(Report& report) const {
  for (const Entry& entry : entries_) {
    const std::string subject = fold_hosts({entry.devices.begin(), entry.devices.end()});
    const std::string times = entry.times > 1 ? fmt::format(" ({} times)", entry.times) : "";
    report
        .add(subject, entry.place,
             fmt::format("{}: {}{}", summarize_devices(entry.devices, subject), entry.text, times))
        .related = entry.related;
  }
}

std::vector<Rule> qos_rules() {  // NOLINT(readability-function-size): a table
  std::vector<Rule> all;
  for (auto table :
       {qos_design_rules, qos_marking_rules, qos_trace_rules, qos_buffer_rules, qos_port_rules, qos_switch_rules}) {
    std::vector<Rule> some = table();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace weft::check

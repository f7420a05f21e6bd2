// The incident list of people: a CSV from tickets.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "sched/traces/reader.h"
#include "twin/slurm_history.h"

namespace weft::twin {
namespace {

using sched::Cell;
using sched::Moment;

constexpr Duration kDetect = sched::seconds(60);  // if the list does not say when the failure was noticed
constexpr std::size_t kMaxIncidents = 1'000'000;

struct Columns {
  int time, node, cause, detected, repaired, fix, effect;
};

class ListReader {
 public:
  ListReader(const Sources& sources, FileId file, const sched::Machine& machine, Diagnostics& diagnostics)
      : table_(file, sources, diagnostics), cells_(diagnostics), machine_(machine), diagnostics_(diagnostics) {}

  std::optional<std::vector<Trouble>> read() {
    if (!table_.open()) return std::nullopt;
    at_ = {table_.need("time"),     table_.need("node"), table_.need("cause"), table_.find("detected"),
           table_.find("repaired"), table_.find("fix"),  table_.find("effect")};
    if (std::min({at_.time, at_.node, at_.cause}) < 0) return std::nullopt;
    while (table_.next()) {
      if (troubles_.size() == kMaxIncidents) {
        diagnostics_.error(table_.start(), fmt::format("more than {} incidents", kMaxIncidents));
        break;
      }
      read_row();
    }
    if (diagnostics_.has_errors()) return std::nullopt;
    std::stable_sort(troubles_.begin(), troubles_.end(),
                     [](const Trouble& a, const Trouble& b) { return a.at < b.at; });
    return std::move(troubles_);
  }

 private:
  void read_row() {
    Trouble trouble;
    trouble.listed = true;
    const Cell node = table_.cell(at_.node);
    const std::optional<sched::NodeId> found = machine_.find(node.field.str());
    if (!found) {
      cells_.error(node, fmt::format("the cluster has no node {}", in_backticks(node.text())));
      return;
    }
    trouble.node = *found;
    trouble.signal = table_.cell(at_.cause).field.str();
    std::int64_t time = 0;
    if (!cells_.time(table_.cell(at_.time), time)) return;
    trouble.at = Moment(time);
    trouble.detected = trouble.at + kDetect;
    if (!read_later(at_.detected, trouble.at, "the incident", trouble.detected)) return;
    if (!read_later(at_.repaired, trouble.detected, "it was detected", trouble.ended)) return;
    if (!read_choice(at_.fix, trouble.fix)) return;
    if (at_.fix < 0 || table_.cell(at_.fix).empty())
      trouble.fix = trouble.ended == sched::kNever ? Fix::power_cycle : Fix::person;
    Effect effect = Effect::exit;
    if (!read_choice(at_.effect, effect)) return;
    if (at_.effect >= 0 && !table_.cell(at_.effect).empty()) trouble.effect = effect;
    if (effect == Effect::slow) {
      cells_.error(table_.cell(at_.effect), "an incident list has exit, hang and down only");
      return;
    }
    troubles_.push_back(std::move(trouble));
  }

  // An empty cell leaves the value as it is.
  bool read_later(int column, Moment earliest, const char* what, Moment& value) {
    const Cell cell = table_.cell(column);
    if (column < 0 || cell.empty()) return true;
    std::int64_t time = 0;
    if (!cells_.time(cell, time)) return false;
    if (Moment(time) < earliest) {
      cells_.error(cell, fmt::format("{} is before {}", in_backticks(cell.text()), what));
      return false;
    }
    value = Moment(time);
    return true;
  }

  template <class T>
  bool read_choice(int column, T& value) {
    const Cell cell = table_.cell(column);
    if (column < 0 || cell.empty()) return true;
    std::vector<std::string_view> names;
    for (const auto& [name, choice] : choices_of(T{})) {
      names.push_back(name);
      if (name != cell.text()) continue;
      value = choice;
      return true;
    }
    cells_.error(cell, fmt::format("unknown {} {}", cell.name, in_backticks(cell.text())),
                 did_you_mean(cell.text(), names));
    return false;
  }

  sched::TraceTable table_;
  sched::CellReader cells_;
  const sched::Machine& machine_;
  Diagnostics& diagnostics_;
  Columns at_{};
  std::vector<Trouble> troubles_;
};

}  // namespace

std::optional<std::vector<Trouble>> read_incident_list(const Sources& sources, FileId file,
                                                       const sched::Machine& machine, Diagnostics& diagnostics) {
  return ListReader(sources, file, machine, diagnostics).read();
}

}  // namespace weft::twin

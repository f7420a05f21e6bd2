#include "oob/bmc/consolidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/host_range.h"
#include "base/utf8.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxText = 240;  // bytes; meaningful SEL and Redfish messages are shorter

}  // namespace

void Consolidation::add(std::string_view key, std::uint32_t target) {
  by_key_.try_emplace(std::string(key)).first->second.push_back(target);
}

std::vector<FoldedRow> Consolidation::rows() const {
  std::vector<FoldedRow> rows;
  rows.reserve(by_key_.size());
  for (const auto& [key, targets] : by_key_) {
    FoldedRow row{key, targets};
    std::sort(row.targets.begin(), row.targets.end());
    row.targets.erase(std::unique(row.targets.begin(), row.targets.end()), row.targets.end());
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [](const FoldedRow& a, const FoldedRow& b) {
    if (a.targets.size() != b.targets.size()) return a.targets.size() > b.targets.size();
    if (natural_less(a.key, b.key)) return true;
    if (natural_less(b.key, a.key)) return false;
    return a.key < b.key;  // "01" and "1" are equal in natural order
  });
  return rows;
}

void add_unreached(Document& document, const Inventory& inventory, const std::vector<Unreached>& unreached) {
  Consolidation failed;
  Consolidation without;
  for (const Unreached& device : unreached) {
    const bool answered = device.error.code == ErrorCode::not_found;
    (answered ? without : failed).add(reason_of(device.error), device.target);
  }
  for (const auto& [key, title, reasons] :
       {std::tuple("unreached", "Unreachable", &failed), {"without", "Not available", &without}}) {
    TableSection table{key, title, {}, {}};
    table.columns = {{.key = "devices", .title = "Devices"},
                     {.key = "count", .title = "Count", .align = Column::Align::right},
                     {.key = "reason", .title = "Why"}};
    for (const FoldedRow& row : reasons->rows()) {
      table.rows.push_back({inventory.fold(row.targets), static_cast<std::uint64_t>(row.targets.size()), row.key});
    }
    if (!table.rows.empty()) document.sections.emplace_back(std::move(table));
  }
}

std::string reason_of(const Error& error) {
  return told(std::string_view(error.message).substr(0, error.message.find("; ")));
}

std::string told(std::string_view text) { return printable(text, kMaxText); }

}  // namespace weft::oob

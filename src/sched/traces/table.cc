#include <fmt/format.h>

#include <algorithm>

#include "sched/traces/reader.h"

namespace weft::sched {

bool TraceTable::open() {
  if (!csv_.next()) {
    diagnostics_->error(SourceLocation{file_, 1, 1}, "the file has no header line");
    return false;
  }
  header_.assign(csv_.row().begin(), csv_.row().end());
  std::vector<const CsvField*> sorted;
  for (const CsvField& field : header_) sorted.push_back(&field);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CsvField* a, const CsvField* b) { return a->text < b->text; });
  bool fine = true;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i]->text.empty() || sorted[i]->text != sorted[i - 1]->text) continue;
    diagnostics_->error(sorted[i]->place, fmt::format("duplicate column `{}`", sorted[i]->text), {},
                        sorted[i]->text.size());
    fine = false;
  }
  return fine;
}

int TraceTable::find(std::string_view name) const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (header_[i].text == name) return static_cast<int>(i);
  }
  return -1;
}

int TraceTable::need(std::string_view name) {
  const int column = find(name);
  if (column < 0) {
    std::vector<std::string_view> names;
    for (const CsvField& field : header_) names.push_back(field.text);
    diagnostics_->error(header_.front().place, fmt::format("missing column `{}`", name), did_you_mean(name, names));
  }
  return column;
}

bool TraceTable::next() {
  while (csv_.next()) {
    const std::size_t count = csv_.row().size();
    if (count == header_.size()) return true;
    const SourceLocation place = count < header_.size() ? csv_.end() : csv_.row()[header_.size()].place;
    diagnostics_->error(place, fmt::format("the row has {} fields, the header {}", count, header_.size()));
  }
  return false;
}

Cell TraceTable::cell(int column) const {
  if (column < 0) return {{}, {{}, csv_.start(), false}};
  const auto index = static_cast<std::size_t>(column);
  return {header_[index].text, csv_.row()[index]};
}

}  // namespace weft::sched

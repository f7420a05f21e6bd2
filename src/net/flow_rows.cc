#include "net/flow_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::net {

void RowIds::add(std::int64_t id, const Word& place) {
  sorted_ = sorted_ && (rows_.empty() || rows_.back().id < id);
  rows_.push_back({id, static_cast<std::uint32_t>(rows_.size()), place.line});
}

bool RowIds::finish(LineReader& lines, std::string_view what) {
  if (sorted_) return true;
  std::sort(rows_.begin(), rows_.end(),
            [](const Row& a, const Row& b) { return std::pair(a.id, a.number) < std::pair(b.id, b.number); });
  sorted_ = true;
  bool unique = true;
  for (std::size_t i = 1; i < rows_.size(); ++i) {
    if (rows_[i].id != rows_[i - 1].id) continue;
    unique = false;
    lines.error({{}, rows_[i].line, 1},
                fmt::format("{} {} is given again; it was on line {}", what, rows_[i].id, rows_[i - 1].line));
  }
  return unique;
}

std::uint32_t RowIds::find(std::int64_t id) const {
  const auto at =
      std::lower_bound(rows_.begin(), rows_.end(), id, [](const Row& row, std::int64_t x) { return row.id < x; });
  return at == rows_.end() || at->id != id ? kNoRow : at->number;
}

bool HostColumns::read_pair(Transfer& transfer) {
  const Word source = lines_.word();
  return set_pair(source, lines_.word(), transfer);
}

bool HostColumns::set_pair(const Word& source, const Word& destination, Transfer& transfer) {
  transfer.source = host(source, "the source host");
  if (transfer.source == kNone<NodeId>) return false;
  transfer.destination = host(destination, "the destination host");
  if (transfer.destination == kNone<NodeId>) return false;
  if (transfer.source != transfer.destination) return true;
  lines_.error(destination, fmt::format("host {} sends to itself", quoted(destination.text)));
  return false;
}

NodeId HostColumns::host(const Word& word, std::string_view what) {
  const std::size_t count = network_.endpoints().size();
  if (count == 0) {
    lines_.error(word, "the network has no hosts");
    return kNone<NodeId>;
  }
  const auto number = lines_.integer(word, what, 0, static_cast<std::int64_t>(count) - 1);
  return number ? network_.endpoints()[static_cast<std::size_t>(*number)] : kNone<NodeId>;
}

}  // namespace weft::net

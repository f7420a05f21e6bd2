#include "netsim/readers/flow_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weft::netsim {

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
                fmt::format("duplicate {} {}; first given on line {}", what, rows_[i].id, rows_[i - 1].line));
  }
  return unique;
}

std::uint32_t RowIds::find(std::int64_t id) const {
  const auto at =
      std::lower_bound(rows_.begin(), rows_.end(), id, [](const Row& row, std::int64_t x) { return row.id < x; });
  return at == rows_.end() || at->id != id ? kNoRow : at->number;
}

std::uint32_t find_cycle(std::size_t rows, const std::vector<RowEdge>& edges) {
  std::vector<std::uint32_t> offsets(rows + 1, 0);
  std::vector<std::uint32_t> waiting(rows, 0);
  for (const RowEdge& edge : edges) {
    ++offsets[edge.earlier + 1];
    ++waiting[edge.later];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<std::uint32_t> later(edges.size());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  for (const RowEdge& edge : edges) later[next[edge.earlier]++] = edge.later;
  std::vector<std::uint32_t> ready;
  for (std::uint32_t row = 0; row < rows; ++row) {
    if (waiting[row] == 0) ready.push_back(row);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (std::uint32_t at = offsets[ready[i]]; at < offsets[ready[i] + 1]; ++at) {
      if (--waiting[later[at]] == 0) ready.push_back(later[at]);
    }
  }
  if (ready.size() == rows) return kNoRow;
  // Each remaining row waits for another one. This many steps back from any of them end inside a cycle.
  std::vector<std::uint32_t> before(rows, kNoRow);
  std::uint32_t row = kNoRow;
  for (const RowEdge& edge : edges) {
    if (waiting[edge.earlier] == 0 || waiting[edge.later] == 0) continue;
    before[edge.later] = edge.earlier;
    row = edge.later;
  }
  for (std::size_t i = ready.size(); i < rows; ++i) row = before[row];
  return row;
}

HostColumns::HostColumns(LineReader& lines, const Network& network, bool by_node)
    : lines_(lines),
      network_(network),
      by_node_(by_node && !network.nodes().empty() && network.name_of(NodeId{0}) == "node0") {}

bool HostColumns::read_pair(Transfer& transfer) {
  const Word source = lines_.word();
  return set_pair(source, lines_.word(), transfer);
}

bool HostColumns::set_pair(const Word& source, const Word& destination, Transfer& transfer) {
  transfer.source = host(source, "the source host");
  if (transfer.source == model::kNone<NodeId>) return false;
  transfer.destination = host(destination, "the destination host");
  if (transfer.destination == model::kNone<NodeId>) return false;
  if (transfer.source != transfer.destination) return true;
  lines_.error(destination, fmt::format("host {} sends to itself", quoted(destination.text)));
  return false;
}

NodeId HostColumns::host(const Word& word, std::string_view what) {
  const std::size_t count = network_.endpoints().size();
  if (count == 0) {
    lines_.error(word, "the network has no hosts");
    return model::kNone<NodeId>;
  }
  const std::size_t numbers = by_node_ ? network_.nodes().size() : count;
  const auto number = lines_.integer(word, what, 0, static_cast<std::int64_t>(numbers) - 1);
  if (number && by_node_) {
    const auto id = static_cast<NodeId>(*number);
    if (network_.node(id).kind == NodeKind::endpoint) return id;
    lines_.error(word, fmt::format("{} is node {}, which is a switch", what, *number));
    return model::kNone<NodeId>;
  }
  return number ? network_.endpoints()[static_cast<std::size_t>(*number)] : model::kNone<NodeId>;
}

}  // namespace weft::netsim

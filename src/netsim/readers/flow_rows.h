// Shared by the readers of flow files: the two host columns, ids in any order, and the search for circular waits
// between flows.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "netsim/network/network.h"
#include "netsim/readers/line_reader.h"
#include "netsim/traffic/transfer.h"

namespace weft::netsim {

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// Ids of rows (flows, triggers), each with its source location. Rows are numbered in order of adding.
class RowIds {
 public:
  void add(std::int64_t id, const Word& place);
  // Call after adding all rows. Reports an error for each duplicate id, and returns false.
  bool finish(LineReader& lines, std::string_view what);
  [[nodiscard]] std::uint32_t find(std::int64_t id) const;  // kNoRow if not found

 private:
  struct Row {
    std::int64_t id;
    std::uint32_t number;
    std::uint32_t line;
  };
  std::vector<Row> rows_;  // by id, once finished
  bool sorted_ = true;
};

// `later` waits for `earlier`, both rows.
struct RowEdge {
  std::uint32_t earlier;
  std::uint32_t later;
};
// A row that waits for itself, directly or indirectly; kNoRow if there is none.
[[nodiscard]] std::uint32_t find_cycle(std::size_t rows, const std::vector<RowEdge>& edges);

// Host numbers: indices into the endpoints of a network or, if its nodes are named by id ("node0" first, as in a
// topology file of HPCC) and `by_node` is set, ids of nodes.
class HostColumns {
 public:
  HostColumns(LineReader& lines, const Network& network, bool by_node = false);

  // Reads source and destination from the next two words. Reports an error and returns false if either is not a host or
  // both are the same.
  bool read_pair(Transfer& transfer);
  bool set_pair(const Word& source, const Word& destination, Transfer& transfer);

 private:
  NodeId host(const Word& word, std::string_view what);

  LineReader& lines_;
  const Network& network_;
  bool by_node_;
};

}  // namespace weft::netsim

// What the readers of flow files share: the two columns that name hosts, ids that may come in any order, and the search
// for flows that wait for themselves.
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

// Ids of rows (flows, triggers), each with the place that gave it. Rows are numbered in order of adding.
class RowIds {
 public:
  void add(std::int64_t id, const Word& place);
  // Call once all are added. An error for each id that was given twice, and false.
  bool finish(LineReader& lines, std::string_view what);
  [[nodiscard]] std::uint32_t find(std::int64_t id) const;  // kNoRow when there is none

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
// A row that waits for itself, directly or through others; kNoRow when there is none.
[[nodiscard]] std::uint32_t find_cycle(std::size_t rows, const std::vector<RowEdge>& edges);

// Host numbers: indices into the endpoints of a network or, where its nodes are named for their ids ("node0" first, as
// a topology file of HPCC gives them) and `by_node` says so, ids of nodes.
class HostColumns {
 public:
  HostColumns(LineReader& lines, const Network& network, bool by_node = false);

  // The next two words: source and destination. An error, and false, for what is no host, or one and the same.
  bool read_pair(Transfer& transfer);
  bool set_pair(const Word& source, const Word& destination, Transfer& transfer);

 private:
  NodeId host(const Word& word, std::string_view what);

  LineReader& lines_;
  const Network& network_;
  bool by_node_;
};

}  // namespace weft::netsim

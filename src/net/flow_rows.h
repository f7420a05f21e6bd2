// What the readers of flow files share: the two columns that name hosts, and ids that may come in any order.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "net/line_reader.h"
#include "net/network.h"
#include "net/transfer.h"

namespace weft::net {

inline constexpr std::uint32_t kNoRow = UINT32_MAX;

// Ids of rows (flows, triggers), each with the place that gave it. Rows are numbered in order of adding.
class RowIds {
 public:
  void add(std::int64_t id, const Word& place);
  // Call once all are added. An error for each id that was given twice, and false.
  bool finish(LineReader& lines, std::string_view what);
  [[nodiscard]] std::uint32_t find(std::int64_t id) const;  // kNoRow when there is none
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    std::int64_t id;
    std::uint32_t number;
    std::uint32_t line;
  };
  std::vector<Row> rows_;  // by id, once finished
  bool sorted_ = true;
};

// Host numbers as indices into the endpoints of a network.
class HostColumns {
 public:
  HostColumns(LineReader& lines, const Network& network) : lines_(lines), network_(network) {}

  // The next two words: source and destination. An error, and false, for what is no host, or one and the same.
  bool read_pair(Transfer& transfer);
  bool set_pair(const Word& source, const Word& destination, Transfer& transfer);

 private:
  NodeId host(const Word& word, std::string_view what);

  LineReader& lines_;
  const Network& network_;
};

}  // namespace weft::net

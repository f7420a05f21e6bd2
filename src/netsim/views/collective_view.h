// Collectives as nccl-tests prints them: size, count, time, algorithm and bus bandwidth, plus the bottleneck of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/document.h"
#include "netsim/sim/result.h"
#include "netsim/traffic/collective.h"

namespace weft::netsim {

struct CollectiveRow {
  Bytes bytes;
  Fidelity fidelity = Fidelity::flow;
  SimTime time;
  bool complete = true;
  std::string bound;
};

struct CollectiveContext {
  Collective operation = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;  // as used
  std::uint32_t ranks = 0;
  std::uint32_t ranks_per_node = 0;
  std::uint32_t channels = 1;
  std::string where;
  std::string transport;
  std::string routing;
};

// Bytes per second: bytes / time, and the same times bus_factor(); 0 for a run of no length.
[[nodiscard]] double algorithm_bandwidth(const CollectiveRow& row);
[[nodiscard]] double bus_bandwidth(const CollectiveContext& context, const CollectiveRow& row);
// Elements of 4 bytes as nccl-tests counts them: per rank if the buffer is gathered or scattered.
[[nodiscard]] std::int64_t element_count(const CollectiveContext& context, Bytes bytes);

// Rows of one size are adjacent, the coarsest fidelity first; if there are several, each has its error against the
// next.
[[nodiscard]] Document collective_document(const CollectiveContext& context, const std::vector<CollectiveRow>& rows);

}  // namespace weft::netsim

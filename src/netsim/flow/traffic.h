// Link traffic, counted per path and distributed over links at the end, and the hash of a run: the part of the report
// that the flow and the analytic engine share.
#pragma once

#include <cstdint>
#include <vector>

#include "netsim/flow/corrections.h"
#include "netsim/flow/paths.h"
#include "netsim/sim/result.h"

namespace weft::netsim {

class FlowTraffic {
 public:
  // Counts `messages` messages of `payload` bytes each over a path. Parts of a message can be counted and subtracted.
  void add(std::uint32_t path, const FlowClass& traffic_class, Bytes payload, std::int64_t messages);
  void add_part(std::uint32_t path, const FlowClass& traffic_class, Bytes payload, double part);
  [[nodiscard]] double payload() const { return payload_; }
  // Fills `links` and the packet counts of `totals`.
  void report(const Network& network, const FlowPaths& paths, SimResult& result) const;

 private:
  struct Count {  // on the wire
    std::int64_t bytes = 0;
    std::int64_t packets = 0;
    std::int64_t acknowledgements = 0;
    std::int64_t acknowledgement_bytes = 0;
  };
  Count& at(std::uint32_t path);

  std::vector<Count> counts_;  // by path
  std::uint64_t packets_ = 0;
  double payload_ = 0;
};

// Hashes transfers in order of start and end; also sets `end` and `unfinished` from them.
void conclude(SimResult& result);

}  // namespace weft::netsim

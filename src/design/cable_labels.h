// The labels of cables and splitters, as printed on their ends: "BE-000001", "BE-S00001". They are numbered per fabric,
// in the order of the cluster's cables. A splitter (a breakout cable, or several links in one plug) has a label of its
// own besides those of its legs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"

namespace weft::design {

class CableLabels {
 public:
  explicit CableLabels(const model::Cluster& cluster);

  [[nodiscard]] std::string label(model::CableId id) const;
  [[nodiscard]] std::string splitter(model::CableId id) const;  // "" for a cable of one link
  [[nodiscard]] std::string leg(model::CableId id) const;       // "1/2"; "" for a cable of one link
  // Cables of the same splitter, in order, with this one; one cable if it is no splitter.
  [[nodiscard]] std::vector<model::CableId> legs(model::CableId id) const;
  // The cable with this label, in any letter case; kNone if there is none.
  [[nodiscard]] model::CableId find(std::string_view label) const;
  // The first leg of the splitter with this label; kNone if there is none.
  [[nodiscard]] model::CableId find_splitter(std::string_view label) const;

 private:
  struct Numbers {
    std::uint32_t cable = 0;     // from 1, within the fabric
    std::uint32_t splitter = 0;  // from 1, within the fabric; 0 for a cable of one link
    std::uint32_t leg = 0;       // from 1
  };
  const model::Cluster& cluster_;
  std::vector<Numbers> numbers_;      // per cable
  std::vector<std::uint32_t> links_;  // per assembly
};

}  // namespace weft::design

// The bill of materials of a compiled cluster, in procurement order: switches first, because of their lead time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/document.h"
#include "design/prices.h"
#include "model/cluster.h"

namespace weft::design {

enum class BomPhase { network, storage, servers, cabling, power };

struct BomLine {
  BomPhase phase = BomPhase::network;
  std::string category;  // switch, transceiver, cable, storage, server, manager, pdu, rack
  std::optional<model::FabricKind> fabric;
  std::string item;  // catalog id
  std::string name;
  std::string purpose;  // "leaf", "spine", "train", "host-leaf 400G, 10 m"
  std::int64_t count = 0;
  Power power;           // total, maximum
  Power included_power;  // total, maximum; part of the power of other lines
  std::optional<Money> unit_price;
  std::optional<Duration> lead_time;
};

struct Bom {
  std::vector<BomLine> lines;  // procurement order
  std::optional<Money> total;  // only if every line has a price
  std::optional<Money> network_total;
  std::optional<Money> oob_total;
  std::vector<std::string> unpriced;  // catalog ids without a price
};

[[nodiscard]] Bom make_bom(const model::Cluster& cluster, const Prices* prices);
[[nodiscard]] Document bom_view(const model::Cluster& cluster, const Bom& bom, const Prices* prices);

}  // namespace weft::design

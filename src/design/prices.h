// A price file: prices and lead times of items. weft ships no authoritative prices; examples/prices.yaml is an
// illustration. Format: `currency: USD`, `items: [{item: sn5600, price: 60000, lead_time: 14w}]`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/yaml.h"
#include "model/catalog.h"

namespace weft::design {

struct PriceItem {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> item;  // catalog id, or a category: switch, server, gpu, cable, transceiver, pdu, rack
  model::Sourced<Money> price;
  model::Sourced<Duration> lead_time;
};

struct Prices {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> currency{std::string("USD")};
  model::Sourced<std::vector<PriceItem>> items;

  [[nodiscard]] const PriceItem* find(std::string_view id, std::string_view category) const;
};

[[nodiscard]] std::optional<Prices> read_prices(const YamlNode& root, const model::Catalog& catalog,
                                                Diagnostics& diagnostics);

}  // namespace weft::design

#include "design/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/utf8.h"

namespace weft::model {

template <>
const Schema& schema_of<design::PriceItem>() {
  static const Schema kSchema =
      SchemaBuilder<design::PriceItem>("price-item", "Price and lead time of a catalog item or a category.")
          .field("item", &design::PriceItem::item,
                 "Catalog id, or a category (switch, storage, server, manager, gpu, transceiver, cable, pdu, rack) "
                 "for all its items without their own entry")
          .required()
          .field("price", &design::PriceItem::price, "Unit price, in the currency of the file")
          .field("lead_time", &design::PriceItem::lead_time, "Lead time from order to delivery")
          .build();
  return kSchema;
}

template <>
const Schema& schema_of<design::Prices>() {
  static const Schema kSchema =
      SchemaBuilder<design::Prices>("prices", "Prices and lead times for the bill of materials.")
          .field("currency", &design::Prices::currency, "Currency of every price in the file")
          .field("items", &design::Prices::items, "One entry per item")
          .required()
          .build();
  return kSchema;
}

}  // namespace weft::model

namespace weft::design {
namespace {

constexpr std::array<std::string_view, 9> kCategories = {"switch",      "storage", "server", "manager", "gpu",
                                                         "transceiver", "cable",   "pdu",    "rack"};

template <class Model>
void append_ids(const std::vector<Model>& models, std::vector<std::string_view>& out) {
  for (const Model& model : models) out.emplace_back(model.id->text);
}

// All items that can be on a bill of materials.
std::vector<std::string_view> known_items(const model::Catalog& catalog) {
  std::vector<std::string_view> out(kCategories.begin(), kCategories.end());
  append_ids(catalog.gpus(), out);
  append_ids(catalog.servers(), out);
  append_ids(catalog.switches(), out);
  append_ids(catalog.transceivers(), out);
  append_ids(catalog.cables(), out);
  append_ids(catalog.pdus(), out);
  append_ids(catalog.racks(), out);
  return out;
}

void check_item(const PriceItem& item, const model::Catalog& catalog, const std::vector<std::string_view>& known,
                Diagnostics& diagnostics) {
  const std::string& id = *item.item;
  if (std::find(known.begin(), known.end(), id) == known.end()) {
    // An unused price is an error: the user would assume that it is in the total.
    if (catalog.nic(id) != nullptr) {
      diagnostics.error(item.item.place, fmt::format("{} is included in a server", in_backticks(id)),
                        "price the server instead", id.size());
    } else {
      diagnostics.error(item.item.place, fmt::format("unknown item {}", in_backticks(id)), did_you_mean(id, known),
                        id.size());
    }
  }
  if (!item.price.has_value() && !item.lead_time.has_value()) {
    diagnostics.error(item.place, fmt::format("{} has neither a price nor a lead time", in_backticks(id)));
  }
}

}  // namespace

const PriceItem* Prices::find(std::string_view id, std::string_view category) const {
  const PriceItem* general = nullptr;
  for (const PriceItem& candidate : *items) {
    if (*candidate.item == id) return &candidate;
    if (general == nullptr && *candidate.item == category) general = &candidate;
  }
  return general;
}

std::optional<Prices> read_prices(const YamlNode& root, const model::Catalog& catalog, Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  Prices prices;
  if (!model::Codec<Prices>::read(root, diagnostics, prices)) return std::nullopt;
  if (prices.currency->empty()) diagnostics.error(prices.currency.place, "the currency is empty");
  const std::vector<std::string_view> known = known_items(catalog);
  std::vector<std::string_view> seen;
  for (const PriceItem& item : *prices.items) {
    if (!item.item.has_value()) continue;  // reported by the reader
    check_item(item, catalog, known, diagnostics);
    if (std::find(seen.begin(), seen.end(), *item.item) != seen.end()) {
      diagnostics.error(item.item.place, fmt::format("{} is listed twice", in_backticks(*item.item)),
                        "keep one of the two entries", item.item->size());
    }
    seen.emplace_back(*item.item);
  }
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return prices;
}

}  // namespace weft::design

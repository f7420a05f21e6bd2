// The catalog as documents: all items in tables, or one item with every fact and its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "model/catalog.h"

namespace weft::cli {

// "gpus", "nics", ...: the tables, in the order of the listing.
[[nodiscard]] std::vector<std::string> catalog_tables();
// All tables, or the one named.
[[nodiscard]] Document catalog_list_view(const model::Catalog& catalog, std::string_view table);
// Empty if there is no such item.
[[nodiscard]] std::optional<Document> catalog_item_view(const model::Catalog& catalog, std::string_view id);
[[nodiscard]] std::vector<std::string_view> catalog_ids(const model::Catalog& catalog);

}  // namespace weft::cli

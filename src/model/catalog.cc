#include "model/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/embedded.h"

namespace weft::model {
namespace {

// Replaces the item with the same id, or appends it. Ids are unique within a file.
template <class Item>
void merge(std::vector<Item>& table, std::vector<Item>& more, Diagnostics& diagnostics) {
  std::set<std::string> seen;
  for (Item& item : more) {
    if (!item.id.has_value()) continue;  // reported already
    if (!seen.insert(item.id->text).second) {
      diagnostics.error(item.id.place, fmt::format("`{}` is defined twice in this file", item.id->text), {},
                        item.id->text.size());
      continue;
    }
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Item& other) { return other.id.value == item.id.value; });
    if (found != table.end()) {
      *found = std::move(item);
    } else {
      table.push_back(std::move(item));
    }
  }
}

template <class Item>
const Item* find_in(const std::vector<Item>& table, std::string_view id) {
  for (const Item& item : table) {
    if (item.id->text == id) return &item;
  }
  return nullptr;
}

}  // namespace

Catalog Catalog::built_in(Sources& sources, Diagnostics& diagnostics) {
  Catalog catalog;
  for (std::size_t i = 0; i < kEmbeddedCatalogSize; ++i) {
    const EmbeddedFile& file = kEmbeddedCatalog[i];
    const FileId id = sources.add(std::string("built-in:") + file.path, std::string(file.text, file.size));
    const auto root = parse_yaml(sources, id, diagnostics);
    if (root) catalog.add(*root, diagnostics);
  }
  return catalog;
}

void Catalog::add(const YamlNode& root, Diagnostics& diagnostics) {
  if (root.kind == YamlNode::Kind::null) {
    diagnostics.error(root.place, "the catalog file is empty");
    return;
  }
  CatalogFile file;
  if (!Codec<CatalogFile>::read(root, diagnostics, file)) return;
  for (auto& [id, reference] : file.references.value) references_.emplace_back(id, reference);
  merge(gpus_, file.gpus.value, diagnostics);
  merge(nics_, file.nics.value, diagnostics);
  merge(servers_, file.servers.value, diagnostics);
  merge(switches_, file.switches.value, diagnostics);
  merge(transceivers_, file.transceivers.value, diagnostics);
  merge(cables_, file.cables.value, diagnostics);
  merge(pdus_, file.pdus.value, diagnostics);
  merge(racks_, file.racks.value, diagnostics);
}

const GpuModel* Catalog::gpu(std::string_view id) const { return find_in(gpus_, id); }
const NicModel* Catalog::nic(std::string_view id) const { return find_in(nics_, id); }
const ServerModel* Catalog::server(std::string_view id) const { return find_in(servers_, id); }
const SwitchModel* Catalog::switch_model(std::string_view id) const { return find_in(switches_, id); }
const TransceiverModel* Catalog::transceiver(std::string_view id) const { return find_in(transceivers_, id); }
const CableModel* Catalog::cable(std::string_view id) const { return find_in(cables_, id); }
const PduModel* Catalog::pdu(std::string_view id) const { return find_in(pdus_, id); }
const RackModel* Catalog::rack(std::string_view id) const { return find_in(racks_, id); }

}  // namespace weft::model

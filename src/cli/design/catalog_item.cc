// `weft catalog show`: every fact of one item, read through the schema, with its source.
#include <fmt/format.h>

#include <algorithm>

#include "cli/framework/catalog_view.h"

namespace weft::model {

// Defined next to their tables.
template <>
const Schema& schema_of<GpuModel>();
template <>
const Schema& schema_of<NicModel>();
template <>
const Schema& schema_of<ServerModel>();
template <>
const Schema& schema_of<SwitchModel>();
template <>
const Schema& schema_of<TransceiverModel>();
template <>
const Schema& schema_of<CableModel>();
template <>
const Schema& schema_of<PduModel>();
template <>
const Schema& schema_of<RackModel>();

}  // namespace weft::model

namespace weft::cli {

namespace {

// The fields that items of all tables have in common.
struct AnyItem {
  const char* table;
  const model::Schema* schema;
  const void* record;
  std::string_view id;
  const std::string* source;
  const model::NamedValues<std::string>* sources;
};

template <class Item, class Visit>
void visit_items(const char* table, const std::vector<Item>& items, Visit visit) {
  for (const Item& item : items) {
    visit(
        AnyItem{table, &model::schema_of<Item>(), &item, item.id.value.text, &item.source.value, &item.sources.value});
  }
}

template <class Visit>
void visit_all(const model::Catalog& catalog, Visit visit) {
  visit_items("gpus", catalog.gpus(), visit);
  visit_items("nics", catalog.nics(), visit);
  visit_items("servers", catalog.servers(), visit);
  visit_items("switches", catalog.switches(), visit);
  visit_items("transceivers", catalog.transceivers(), visit);
  visit_items("cables", catalog.cables(), visit);
  visit_items("pdus", catalog.pdus(), visit);
  visit_items("racks", catalog.racks(), visit);
}

bool is_list_of_scalars(const YamlNode& node) {
  return std::all_of(node.items.begin(), node.items.end(),
                     [](const YamlNode& item) { return item.kind == YamlNode::Kind::scalar; });
}

// One row per leaf: "ports[0].speeds" is "400G, 200G".
void flatten(const std::string& path, const YamlNode& node, std::vector<std::pair<std::string, Cell>>& out) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      out.emplace_back(path, Cell());
      return;
    case YamlNode::Kind::scalar: {
      const Result<std::int64_t> number = parse_integer(node.scalar);
      out.emplace_back(path, number.ok() && !node.quoted ? Cell(number.value()) : Cell(node.scalar));
      return;
    }
    case YamlNode::Kind::sequence: {
      std::string joined;
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        if (!is_list_of_scalars(node)) {
          flatten(fmt::format("{}[{}]", path, i), node.items[i], out);
        } else {
          joined += (i == 0 ? "" : ", ") + node.items[i].scalar;
        }
      }
      if (is_list_of_scalars(node)) out.emplace_back(path, Cell(joined));
      return;
    }
    case YamlNode::Kind::mapping:
      for (const YamlEntry& entry : node.entries) flatten(path + "." + entry.key, entry.value, out);
      return;
  }
}

// The value as in the file format, so this code does not depend on its type.
std::vector<std::pair<std::string, Cell>> leaves_of(const model::Field& field, const void* record) {
  model::YamlWriter writer;
  writer.open();
  writer.key(field.key);
  field.write(record, writer);
  writer.close();
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_yaml(sources, sources.add("item", writer.finish()), diagnostics);
  CHECK(root.has_value() && root->entries.size() == 1, "a written value is not YAML");
  std::vector<std::pair<std::string, Cell>> leaves;
  flatten(std::string(field.key), root->entries.front().value, leaves);
  return leaves;
}

bool is_bookkeeping(std::string_view key) { return key == "source" || key == "sources"; }

std::string source_of(const AnyItem& item, std::string_view key) {
  for (const auto& [name, source] : *item.sources) {
    if (name == key) return source.value;
  }
  return *item.source;
}

TableSection facts_of(const AnyItem& item, std::vector<std::string>& used) {
  TableSection table;
  table.key = "facts";
  table.title = std::string(item.id);
  table.columns = {{"fact", "Fact"}, {"value", "Value"}, {"source", "Source"}, {"meaning", "Meaning", {}, true}};
  for (const model::Field& field : item.schema->fields()) {
    const model::Origin origin = field.origin(item.record);
    if (origin == model::Origin::unset || is_bookkeeping(field.key)) continue;
    const std::string source = origin == model::Origin::file ? source_of(item, field.key) : "default";
    if (origin == model::Origin::file && std::find(used.begin(), used.end(), source) == used.end())
      used.push_back(source);
    for (auto& [path, value] : leaves_of(field, item.record)) {
      table.rows.push_back({Cell(std::move(path)), std::move(value), Cell(source), Cell(field.help)});
    }
  }
  return table;
}

TableSection sources_of(const model::Catalog& catalog, const std::vector<std::string>& used) {
  TableSection table;
  table.key = "sources";
  table.title = "Sources";
  table.columns = {{"source", "Source"}, {"title", "Title"}, {"publisher", "Publisher"},
                   {"date", "Date"},     {"url", "URL"},     {"estimate", "Estimate"}};
  for (const auto& [id, reference] : catalog.references()) {
    if (std::find(used.begin(), used.end(), id) == used.end()) continue;
    const model::Reference& from = reference.value;
    table.rows.push_back({Cell(id), Cell(from.title.value), Cell(from.publisher.value), Cell(from.date.value),
                          Cell(from.url.value), Cell(from.estimate.value)});
  }
  return table;
}

}  // namespace

std::vector<std::string_view> catalog_ids(const model::Catalog& catalog) {
  std::vector<std::string_view> ids;
  visit_all(catalog, [&](const AnyItem& item) { ids.push_back(item.id); });
  return ids;
}

std::optional<Document> catalog_item_view(const model::Catalog& catalog, std::string_view id) {
  std::optional<Document> document;
  visit_all(catalog, [&](const AnyItem& item) {
    if (item.id != id || document.has_value()) return;
    document.emplace();
    document->kind = "catalog-item";
    std::vector<std::string> used;
    document->sections.emplace_back(facts_of(item, used));
    document->sections.emplace_back(sources_of(catalog, used));
  });
  return document;
}

}  // namespace weft::cli

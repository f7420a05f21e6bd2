// The tables of `weft catalog list`.
#include <fmt/format.h>

#include "cli/framework/catalog_view.h"

namespace weft::cli {
namespace {

using Row = std::vector<Cell>;

Column text_column(std::string key, std::string title) { return {std::move(key), std::move(title)}; }
Column number_column(std::string key, std::string title) {
  return {std::move(key), std::move(title), Column::Align::right};
}
Column wide_column(std::string key, std::string title) {
  return {std::move(key), std::move(title), Column::Align::left, true};
}

Cell cell(const model::Sourced<std::string>& given) { return given.has_value() ? Cell(given.value) : Cell(); }
Cell cell(const model::Sourced<std::int64_t>& given) { return given.has_value() ? Cell(given.value) : Cell(); }
// In the common unit, as a whole number if possible.
Cell scaled(std::int64_t count, std::int64_t unit, std::string shown) {
  if (count % unit == 0) return {count / unit, std::move(shown)};
  return {static_cast<double>(count) / static_cast<double>(unit), std::move(shown)};
}
Cell cell(const model::Sourced<Bytes>& given) {
  return given.has_value() ? Cell(given.value.count(), to_text(given.value)) : Cell();
}
Cell cell(const model::Sourced<BitRate>& given) {
  return given.has_value() ? Cell(given.value.count(), to_text(given.value)) : Cell();
}
Cell cell(const model::Sourced<Power>& given) {
  return given.has_value() ? scaled(given.value.count(), watts(1).count(), to_text(given.value)) : Cell();
}
Cell cell(const model::Sourced<Length>& given) {
  return given.has_value() ? scaled(given.value.count(), meters(1).count(), to_text(given.value)) : Cell();
}
Cell cell(const model::Sourced<model::ByteRate>& given) {
  if (!given.has_value()) return {};
  return {given.value.per_second.count(), byte_rate_text(given.value.per_second)};
}
template <class E>
requires std::is_enum_v<E> Cell cell(const model::Sourced<E>& given) {
  return given.has_value() ? Cell(model::text_of(given.value)) : Cell();
}

std::string text_in_list(const std::string& value) { return value; }
std::string text_in_list(const model::Breakout& value) { return model::to_text(value); }
std::string text_in_list(BitRate value) { return to_text(value); }
std::string text_in_list(Length value) { return to_text(value); }
template <class E>
requires std::is_enum_v<E> std::string text_in_list(E value) { return std::string(model::text_of(value)); }

// "400G,200G"
template <class T>
Cell cell(const model::Sourced<std::vector<T>>& given) {
  if (!given.has_value()) return {};
  std::string text;
  for (const T& value : given.value) text += (text.empty() ? "" : ",") + text_in_list(value);
  return text;
}

Cell flops_of(const model::GpuModel& gpu, std::string_view kind) {
  for (const auto& [name, flops] : gpu.dense_flops.value) {
    if (name == kind) return scaled(flops.value.count(), 1'000'000, to_text(flops.value));
  }
  return {};
}

// "8x400G" for the ports of one use; groups of different speed are added: "2x200G+2x100G".
Cell ports_for(const model::ServerModel& server, model::PortUse use) {
  std::string text;
  for (const model::PortGroup& group : server.ports.value) {
    if (group.use.value != use) continue;
    const std::string speed = group.speeds.value.empty() ? "?" : to_text(group.speeds.value.front());
    text += fmt::format("{}{}x{}", text.empty() ? "" : "+", group.count.value, speed);
  }
  return text.empty() ? Cell() : Cell(text);
}

// "48 rj45, 4 sfp28"
Cell cages_of(const model::SwitchModel& model) {
  std::string text;
  for (const model::CageGroup& group : model.cages.value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", group.count.value, model::text_of(group.form.value));
  }
  return text;
}

// Every table begins with id and name and ends, when wide, with vendor and source.
template <class Item, class Facts>
TableSection table_of(const char* key, const char* title, const std::vector<Item>& items, std::vector<Column> columns,
                      Facts facts) {
  TableSection table;
  table.key = key;
  table.title = title;
  table.columns = {text_column("id", "Id"), text_column("name", "Name")};
  for (Column& column : columns) table.columns.push_back(std::move(column));
  table.columns.push_back(wide_column("vendor", "Vendor"));
  table.columns.push_back(wide_column("source", "Source"));
  for (const Item& item : items) {
    Row row = {Cell(item.id.value.text), cell(item.name)};
    for (Cell& each : facts(item)) row.push_back(std::move(each));
    row.push_back(cell(item.vendor));
    row.push_back(cell(item.source));
    table.rows.push_back(std::move(row));
  }
  return table;
}

TableSection gpus(const model::Catalog& catalog) {
  return table_of(
      "gpus", "GPUs", catalog.gpus(),
      {text_column("form", "Form"), number_column("memory_bytes", "Memory"),
       number_column("memory_bandwidth_bytes_per_s", "Bandwidth"), number_column("dense_bf16_tflops", "BF16, dense"),
       number_column("nvlink_bandwidth_bytes_per_s", "NVLink"), number_column("tdp_w", "TDP"),
       number_column("mig_profiles", "MIG profiles")},
      [](const model::GpuModel& gpu) -> Row {
        return {cell(gpu.form),
                cell(gpu.memory),
                cell(gpu.memory_bandwidth),
                flops_of(gpu, "bf16"),
                cell(gpu.nvlink_bandwidth),
                cell(gpu.tdp),
                Cell(gpu.mig.value.size())};
      });
}

TableSection nics(const model::Catalog& catalog) {
  return table_of("nics", "NICs", catalog.nics(),
                  {number_column("ports", "Ports"), text_column("form", "Form"), text_column("speeds", "Speeds"),
                   number_column("bandwidth_bps", "Bandwidth"), text_column("networks", "Networks"),
                   number_column("virtual_functions", "VFs")},
                  [](const model::NicModel& nic) -> Row {
                    return {cell(nic.ports),     cell(nic.form),     cell(nic.speeds),
                            cell(nic.bandwidth), cell(nic.networks), cell(nic.virtual_functions)};
                  });
}

TableSection servers(const model::Catalog& catalog) {
  return table_of(
      "servers", "Servers", catalog.servers(),
      {text_column("server_kind", "Kind"), number_column("height_u", "U"), text_column("gpu", "GPU"),
       number_column("gpus", "GPUs"), text_column("backend_ports", "Backend"), text_column("storage_ports", "Storage"),
       text_column("frontend_ports", "Frontend"), number_column("power_w", "Power"), number_column("cores", "Cores"),
       number_column("memory_bytes", "Memory")},
      [](const model::ServerModel& server) -> Row {
        return {cell(server.kind),
                cell(server.height),
                cell(server.gpu),
                cell(server.gpus),
                ports_for(server, model::PortUse::backend),
                ports_for(server, model::PortUse::storage),
                ports_for(server, model::PortUse::frontend),
                cell(server.power),
                cell(server.cores),
                cell(server.memory)};
      });
}

TableSection switches(const model::Catalog& catalog) {
  return table_of(
      "switches", "Switches", catalog.switches(),
      {text_column("network", "Network"), text_column("cages", "Cages"), number_column("radix", "Ports"),
       number_column("radix_speed_bps", "Speed"), number_column("capacity_bps", "Capacity"),
       number_column("height_u", "U"), number_column("power_w", "Power"), text_column("systems", "Systems")},
      [](const model::SwitchModel& model) -> Row {
        return {cell(model.network),  cages_of(model),    cell(model.radix), cell(model.radix_speed),
                cell(model.capacity), cell(model.height), cell(model.power), cell(model.systems)};
      });
}

TableSection transceivers(const model::Catalog& catalog) {
  return table_of("transceivers", "Transceivers", catalog.transceivers(),
                  {text_column("form", "Form"), text_column("networks", "Networks"), text_column("modes", "Modes"),
                   text_column("fibre", "Fiber"), number_column("reach_m", "Reach"), number_column("power_w", "Power")},
                  [](const model::TransceiverModel& model) -> Row {
                    return {cell(model.form),  cell(model.networks), cell(model.modes),
                            cell(model.fibre), cell(model.reach),    cell(model.power)};
                  });
}

TableSection cables(const model::Catalog& catalog) {
  return table_of("cables", "Cables", catalog.cables(),
                  {text_column("cable_kind", "Kind"), number_column("speed_bps", "Speed"), text_column("from", "From"),
                   text_column("to", "To"), number_column("branches", "Branches"), text_column("fibre", "Fiber"),
                   text_column("lengths", "Lengths")},
                  [](const model::CableModel& model) -> Row {
                    return {cell(model.kind),     cell(model.speed), cell(model.from),   cell(model.to),
                            cell(model.branches), cell(model.fibre), cell(model.lengths)};
                  });
}

TableSection pdus(const model::Catalog& catalog) {
  return table_of("pdus", "PDUs", catalog.pdus(),
                  {number_column("rating_w", "Rating"), number_column("outlets", "Outlets")},
                  [](const model::PduModel& model) -> Row {
                    return {cell(model.rating), cell(model.outlets)};
                  });
}

TableSection racks(const model::Catalog& catalog) {
  return table_of(
      "racks", "Racks", catalog.racks(),
      {number_column("height_u", "U"), number_column("width_m", "Width"), number_column("depth_m", "Depth")},
      [](const model::RackModel& model) -> Row {
        return {cell(model.height), cell(model.width), cell(model.depth)};
      });
}

struct TableMaker {
  const char* name;
  TableSection (*make)(const model::Catalog&);
};

constexpr TableMaker kTables[] = {
    {"gpus", gpus},     {"nics", nics}, {"servers", servers}, {"switches", switches}, {"transceivers", transceivers},
    {"cables", cables}, {"pdus", pdus}, {"racks", racks}};

}  // namespace

std::vector<std::string> catalog_tables() {
  std::vector<std::string> names;
  for (const TableMaker& table : kTables) names.emplace_back(table.name);
  return names;
}

Document catalog_list_view(const model::Catalog& catalog, std::string_view table) {
  Document document;
  document.kind = "catalog";
  for (const TableMaker& maker : kTables) {
    if (table.empty() || table == maker.name) document.sections.emplace_back(maker.make(catalog));
  }
  return document;
}

}  // namespace weft::cli

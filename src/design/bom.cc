#include "design/bom.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::design {

namespace {

// Adds to the line with the same item and purpose, or starts a new one.
BomLine& line_for(std::vector<BomLine>& lines, BomLine wanted) {
  for (BomLine& line : lines) {
    if (line.category == wanted.category && line.fabric == wanted.fabric && line.item == wanted.item &&
        line.purpose == wanted.purpose) {
      return line;
    }
  }
  lines.push_back(std::move(wanted));
  return lines.back();
}

template <class Model>
BomLine make_line(BomPhase phase, std::string_view category, std::optional<model::FabricKind> fabric,
                  const Model& model, std::string purpose) {
  BomLine line;
  line.phase = phase;
  line.category = category;
  line.fabric = fabric;
  line.item = model.id->text;
  line.name = model.name.has_value() ? *model.name : model.id->text;
  line.purpose = std::move(purpose);
  return line;
}

void add_switches(const model::Cluster& cluster, std::vector<BomLine>& lines) {
  for (int fabric = 0; fabric < model::kFabrics; ++fabric) {
    for (const model::DeviceGroup& group : cluster.groups()) {
      if (group.network_switch == nullptr || group.fabric != static_cast<model::FabricKind>(fabric)) continue;
      BomLine& line = line_for(lines, make_line(BomPhase::network, "switch", group.fabric, *group.network_switch,
                                                std::string(model::to_text(group.tier))));
      line.count += group.count;
      line.power += *group.network_switch->power * group.count;
    }
  }
}

bool is_storage_group(const model::Cluster& cluster, const model::DeviceGroup& group) {
  if (group.pool < 0) return group.server->kind.value == model::ServerKind::storage;
  return *(*cluster.spec().pools)[static_cast<std::size_t>(group.pool)].role == model::PoolRole::storage;
}

// Servers of one group, by hardware model (overrides may set another model for some hosts).
void add_servers_of(const model::Cluster& cluster, const model::DeviceGroup& group, BomLine pattern,
                    std::vector<BomLine>& lines) {
  for (std::uint32_t i = 0; i < group.count; ++i) {
    const model::ServerModel& server =
        cluster.server_of(static_cast<model::DeviceId>(model::index_of(group.first) + i));
    pattern.item = server.id->text;
    pattern.name = server.name.has_value() ? *server.name : server.id->text;
    BomLine& line = line_for(lines, pattern);
    ++line.count;
    line.power += *server.power;
  }
}

void add_pools(const model::Cluster& cluster, bool storage, std::vector<BomLine>& lines) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || group.manager || is_storage_group(cluster, group) != storage) continue;
    BomLine pattern = make_line(storage ? BomPhase::storage : BomPhase::servers, storage ? "storage" : "server",
                                std::nullopt, *group.server, group.name);
    add_servers_of(cluster, group, std::move(pattern), lines);
  }
}

// GPUs are included in their servers: the line is for information, and has a price only if the price file lists one.
// Their power is in the servers' lines.
void add_gpus(const model::Cluster& cluster, std::vector<BomLine>& lines) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const model::ServerModel& server =
          cluster.server_of(static_cast<model::DeviceId>(model::index_of(group.first) + i));
      const model::GpuModel* gpu = *server.gpus > 0 ? cluster.catalog().gpu(*server.gpu) : nullptr;
      if (gpu == nullptr) continue;
      line_for(lines, make_line(BomPhase::servers, "gpu", std::nullopt, *gpu, group.name)).count += *server.gpus;
    }
  }
}

void add_managers(const model::Cluster& cluster, std::vector<BomLine>& lines) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr || !group.manager) continue;
    add_servers_of(cluster, group, make_line(BomPhase::servers, "manager", group.fabric, *group.server, group.name),
                   lines);
  }
}

std::string_view side_of(const model::Cluster& cluster, model::DeviceId device) {
  const model::DeviceGroup& group = cluster.group_of(device);
  if (group.kind == model::DeviceKind::network_switch) return "switch side";
  return group.manager ? "manager side" : "host side";
}

// One transceiver per cage with a fiber link: a twin-port cage has one, whether one or both of its ports are used
// (NVIDIA DGX SuperPOD H100 RA-11333-001 V11, table 8: 1536 = (32 x 64 + 16 x 64) / 2 on the switches).
void add_transceivers(const model::Cluster& cluster, std::vector<BomLine>& lines) {
  struct Plug {
    model::DeviceId device;
    std::uint16_t cage;
    model::FabricKind fabric;
    const model::TransceiverModel* model;
  };
  std::vector<Plug> plugs;
  const auto note = [&](model::PortId id, model::FabricKind fabric, const model::TransceiverModel* model) {
    const model::Port& port = cluster.port(id);
    // The far end of an external link belongs to the site's network.
    if (model == nullptr || cluster.group_of(port.device).kind == model::DeviceKind::external) return;
    plugs.push_back({port.device, port.cage, fabric, model});
  };
  for (const model::Cable& cable : cluster.cables()) {
    const model::Medium& medium = cluster.media()[cable.medium];
    note(cable.a, cable.fabric, medium.at_a);
    note(cable.b, cable.fabric, medium.at_b);
  }
  const auto place = [](const Plug& plug) { return std::tuple(plug.device, plug.cage); };
  std::stable_sort(plugs.begin(), plugs.end(), [&](const Plug& a, const Plug& b) { return place(a) < place(b); });
  plugs.erase(
      std::unique(plugs.begin(), plugs.end(), [&](const Plug& a, const Plug& b) { return place(a) == place(b); }),
      plugs.end());

  std::map<std::tuple<model::FabricKind, std::string_view, std::string_view>,
           std::pair<const model::TransceiverModel*, std::int64_t>>
      counts;
  for (const Plug& plug : plugs) {
    auto& [model, count] = counts[{plug.fabric, side_of(cluster, plug.device), std::string_view(plug.model->id->text)}];
    model = plug.model;
    ++count;
  }
  for (const auto& [key, value] : counts) {
    BomLine line =
        make_line(BomPhase::cabling, "transceiver", std::get<0>(key), *value.first, std::string(std::get<1>(key)));
    line.count = value.second;
    if (value.first->power.has_value()) line.included_power = *value.first->power * line.count;
    lines.push_back(std::move(line));
  }
}

// One line per kind of cable and ordered length; a splitter is one assembly although it has several links.
void add_cables(const model::Cluster& cluster, std::vector<BomLine>& lines) {
  struct Kind {
    const model::CableModel* model = nullptr;
    std::int64_t count = 0;
  };
  std::map<std::tuple<model::FabricKind, model::CableRole, std::string_view, std::uint32_t, std::uint32_t>, Kind> kinds;
  std::vector<bool> seen;
  for (const model::Cable& cable : cluster.cables()) {
    if (cable.assembly >= seen.size()) seen.resize(cable.assembly + std::size_t{1});
    if (seen[cable.assembly]) continue;
    seen[cable.assembly] = true;
    const model::CableModel* model = cluster.media()[cable.medium].cable;
    if (model == nullptr) continue;
    Kind& kind = kinds[{cable.fabric, cable.role, std::string_view(model->id->text), cluster.port(cable.a).speed_mbps,
                        cable.length_mm}];
    kind.model = model;
    ++kind.count;
  }
  for (const auto& [key, kind] : kinds) {
    const auto& [fabric, role, id, speed_mbps, length_mm] = key;
    BomLine line =
        make_line(BomPhase::cabling, "cable", fabric, *kind.model,
                  fmt::format("{} {}, {}", model::to_text(role), to_text(BitRate(std::int64_t{speed_mbps} * 1'000'000)),
                              to_text(Length(length_mm))));
    line.count = kind.count;
    lines.push_back(std::move(line));
  }
}

void add_power(const model::Cluster& cluster, std::vector<BomLine>& lines) {
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.pdu == nullptr) continue;
    line_for(lines, make_line(BomPhase::power, "pdu", std::nullopt, *group.pdu, group.name)).count += group.count;
  }
  for (const bool service : {false, true}) {
    for (const model::Rack& rack : cluster.racks()) {
      if (rack.model == nullptr || (rack.pool < 0) != service) continue;
      ++line_for(lines, make_line(BomPhase::power, "rack", std::nullopt, *rack.model,
                                  service ? "service"
                                          : (*cluster.spec().pools)[static_cast<std::size_t>(rack.pool)].name->text))
            .count;
    }
  }
}

// Uses price and lead time of the item's own entry, and of its category's entry if one of them is missing.
void price_line(const Prices& prices, BomLine& line) {
  const PriceItem* own = prices.find(line.item, line.item);
  const PriceItem* general = prices.find(line.category, line.category);
  for (const PriceItem* entry : {own, general}) {
    if (entry == nullptr) continue;
    if (!line.unit_price && entry->price.has_value()) line.unit_price = *entry->price;
    if (!line.lead_time && entry->lead_time.has_value()) line.lead_time = *entry->lead_time;
  }
  if (line.category == "gpu" && !line.unit_price) line.unit_price = Money(0);  // included in the price of its server
}

// The cost of a line; saturates, since a price file may contain any value.
Money cost_of(const BomLine& line, Money unit_price) {
  return Money(multiply_divide(unit_price.count(), line.count, 1));
}

template <class Wanted>
std::optional<Money> total_of(const std::vector<BomLine>& lines, const Wanted& wanted) {
  Uint128 total = 0;
  for (const BomLine& line : lines) {
    if (!wanted(line)) continue;
    if (!line.unit_price) return std::nullopt;
    total += static_cast<std::uint64_t>(cost_of(line, *line.unit_price).count());  // never negative
  }
  return Money(static_cast<std::int64_t>(std::min<Uint128>(total, INT64_MAX)));
}

}  // namespace

Bom make_bom(const model::Cluster& cluster, const Prices* prices) {
  Bom bom;
  // RDMA switches have the longest lead time, so they are ordered first; then storage, servers, cables and power, as in
  // the usual procurement checklist.
  add_switches(cluster, bom.lines);
  add_pools(cluster, true, bom.lines);
  add_pools(cluster, false, bom.lines);
  add_gpus(cluster, bom.lines);
  add_managers(cluster, bom.lines);
  add_transceivers(cluster, bom.lines);
  add_cables(cluster, bom.lines);
  add_power(cluster, bom.lines);
  if (prices == nullptr) return bom;

  for (BomLine& line : bom.lines) {
    price_line(*prices, line);
    if (!line.unit_price && std::find(bom.unpriced.begin(), bom.unpriced.end(), line.item) == bom.unpriced.end()) {
      bom.unpriced.push_back(line.item);
    }
  }
  bom.total = total_of(bom.lines, [](const BomLine&) { return true; });
  bom.network_total = total_of(bom.lines, [](const BomLine& line) { return line.fabric.has_value(); });
  bom.oob_total = total_of(bom.lines, [](const BomLine& line) { return line.fabric == model::FabricKind::oob; });
  return bom;
}

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr Duration kWeek(7 * 86'400 * kSecond);
// Share of the network budget for the out-of-band fabric, by the industry guideline.
constexpr double kOobShareLow = 3.0;
constexpr double kOobShareHigh = 5.0;

std::string_view phase_name(BomPhase phase) {
  switch (phase) {
    case BomPhase::network:
      return "network";
    case BomPhase::storage:
      return "storage";
    case BomPhase::servers:
      return "servers";
    case BomPhase::cabling:
      return "cabling";
    case BomPhase::power:
      return "power";
  }
  return "?";
}

Cell money_cell(const std::optional<Money>& money) { return money ? Cell(money->count(), to_text(*money)) : Cell(); }

Cell duration_cell(const std::optional<Duration>& duration) {
  return duration ? Cell(duration->count() / kSecond, to_text(*duration)) : Cell();
}

Cell power_cell(Power power) { return power.count() == 0 ? Cell() : Cell(power.count() / 1000, about(power)); }

std::optional<Duration> longest_lead(const Bom& bom) {
  std::optional<Duration> longest;
  for (const BomLine& line : bom.lines) {
    if (line.lead_time && (!longest || *line.lead_time > *longest)) longest = line.lead_time;
  }
  return longest;
}

// Latest time to order the line so that it arrives no later than the line with the longest lead time, counted from the
// first order.
std::optional<Duration> order_after(const BomLine& line, const std::optional<Duration>& longest) {
  if (!line.lead_time || !longest) return std::nullopt;
  return *longest - *line.lead_time;
}

std::string week_text(Duration after) { return fmt::format("week {}", after / kWeek); }

TableSection lines_table(const Bom& bom) {
  using Align = Column::Align;
  TableSection table{"lines",
                     "Bill of materials, in order of purchase",
                     {{"phase", "phase"},
                      {"category", "category"},
                      {"fabric", "fabric"},
                      {"item", "item"},
                      {"name", "name", Align::left, true},
                      {"purpose", "purpose"},
                      {"count", "count", Align::right},
                      {"unit_price_cents", "unit price", Align::right},
                      {"total_cents", "total", Align::right},
                      {"lead_time_s", "lead time", Align::right},
                      {"order_after_s", "order by", Align::right},
                      {"power_w", "power", Align::right}},
                     {}};
  const std::optional<Duration> longest = longest_lead(bom);
  for (const BomLine& line : bom.lines) {
    const std::optional<Duration> after = order_after(line, longest);
    const bool included = line.category == "gpu" && line.unit_price == Money(0);
    const std::optional<Money> total =
        line.unit_price ? std::optional(cost_of(line, *line.unit_price)) : std::optional<Money>();
    table.rows.push_back({phase_name(line.phase), line.category,
                          line.fabric ? Cell(model::to_text(*line.fabric)) : Cell(), line.item, line.name, line.purpose,
                          line.count, included ? Cell(std::int64_t{0}, "in server") : money_cell(line.unit_price),
                          included ? Cell(std::int64_t{0}, "") : money_cell(total), duration_cell(line.lead_time),
                          after ? Cell(after->count() / kSecond, week_text(*after)) : Cell(), power_cell(line.power)});
  }
  return table;
}

TableSection phases_table(const Bom& bom) {
  using Align = Column::Align;
  TableSection table{"phases",
                     "By phase",
                     {{"phase", "phase"},
                      {"lines", "lines", Align::right},
                      {"pieces", "pieces", Align::right},
                      {"total_cents", "total", Align::right},
                      {"longest_lead_time_s", "longest lead time", Align::right},
                      {"power_w", "power", Align::right}},
                     {}};
  for (const BomPhase phase :
       {BomPhase::network, BomPhase::storage, BomPhase::servers, BomPhase::cabling, BomPhase::power}) {
    std::int64_t lines = 0;
    std::int64_t pieces = 0;
    Power power;
    std::optional<Duration> longest;
    for (const BomLine& line : bom.lines) {
      if (line.phase != phase) continue;
      ++lines;
      if (line.category != "gpu") pieces += line.count;  // included in the servers
      power += line.power;
      if (line.lead_time && (!longest || *line.lead_time > *longest)) longest = line.lead_time;
    }
    if (lines == 0) continue;
    table.rows.push_back({phase_name(phase), lines, pieces,
                          money_cell(total_of(bom.lines, [&](const BomLine& line) { return line.phase == phase; })),
                          duration_cell(longest), power_cell(power)});
  }
  return table;
}

std::string join(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > most) out += fmt::format(" and {} more", words.size() - most);
  return out;
}

// Distinct items of the lines that match.
template <class Wanted>
std::vector<std::string> items_where(const Bom& bom, const Wanted& wanted) {
  std::vector<std::string> out;
  for (const BomLine& line : bom.lines) {
    if (wanted(line) && std::find(out.begin(), out.end(), line.item) == out.end()) out.push_back(line.item);
  }
  return out;
}

std::optional<double> oob_share(const Bom& bom) {
  if (!bom.network_total || !bom.oob_total || bom.network_total->count() <= 0) return std::nullopt;
  return 100.0 * static_cast<double>(bom.oob_total->count()) / static_cast<double>(bom.network_total->count());
}

FactsSection bom_facts(const model::Cluster& cluster, const Bom& bom, const Prices* prices) {
  FactsSection facts{"facts", "", {}};
  if (prices != nullptr) {
    facts.facts.push_back({"currency", "Currency", *prices->currency});
    facts.facts.push_back({"total_cents", "Total", money_cell(bom.total)});
    facts.facts.push_back({"network_total_cents", "Network", money_cell(bom.network_total)});
    facts.facts.push_back({"oob_total_cents", "Out-of-band cost", money_cell(bom.oob_total)});
    const std::optional<double> share = oob_share(bom);
    facts.facts.push_back({"oob_share_percent", "Out-of-band share of the network",
                           share ? Cell(*share, fmt::format("{:.1f} % (guideline 3-5 %)", *share)) : Cell()});
  }
  facts.facts.push_back({"power_w", "Power, maximum", power_cell(cluster.total_power())});
  Power transceivers;
  for (const BomLine& line : bom.lines) transceivers += line.included_power;
  facts.facts.push_back({"transceiver_power_w", "Of that, transceivers", power_cell(transceivers)});
  const std::optional<Duration> longest = longest_lead(bom);
  if (longest) {
    facts.facts.push_back({"longest_lead_time_s", "Longest lead time", duration_cell(longest)});
    facts.facts.push_back({"gating_items", "Gated by",
                           join(items_where(bom, [&](const BomLine& line) { return line.lead_time == longest; }), 8)});
  }
  return facts;
}

void note_lead_times(const Bom& bom, std::vector<std::string>& notes) {
  const std::optional<Duration> longest = longest_lead(bom);
  if (!longest) {
    notes.emplace_back("No lead times are given. Order switches first: RDMA-capable switches take 12 to 16 weeks.");
    return;
  }
  const auto gates = [&](const BomLine& line) { return line.lead_time == longest; };
  notes.push_back(
      fmt::format("Delivery completes {} after the first order at the earliest, the lead time of {}: order them first. "
                  "The column \"order by\" gives the latest week to order each other line without further delay.",
                  to_text(*longest), join(items_where(bom, gates), 8)));
  const std::vector<std::string> open =
      items_where(bom, [](const BomLine& line) { return !line.lead_time && line.category != "gpu"; });
  if (!open.empty()) notes.push_back(fmt::format("No lead time for {}.", join(open, 8)));
}

void note_oob_share(const Bom& bom, std::vector<std::string>& notes) {
  const std::optional<double> share = oob_share(bom);
  if (!share) {
    const auto lacks = [](const BomLine& line) { return line.fabric.has_value() && !line.unit_price; };
    notes.push_back(fmt::format("The out-of-band share of the network budget is unknown: no price for {}.",
                                join(items_where(bom, lacks), 8)));
    return;
  }
  const double total = static_cast<double>(bom.network_total->count());
  if (*share < kOobShareLow) {
    const double more =
        (kOobShareLow / 100.0 * total - static_cast<double>(bom.oob_total->count())) / (1.0 - kOobShareLow / 100.0);
    notes.push_back(
        fmt::format("The out-of-band fabric takes {:.1f} % of the network budget; the guideline is 3-5 %. Another {} "
                    "would reach 3 %: redundant leaves, a second uplink path, console servers, logging.",
                    *share, to_text(Money(static_cast<std::int64_t>(more) / 100 * 100))));
  } else if (*share > kOobShareHigh) {
    notes.push_back(
        fmt::format("The out-of-band fabric takes {:.1f} % of the network budget; the guideline is 3-5 %. This is "
                    "usual for small clusters, where a pair of switches is the minimum.",
                    *share));
  }
}

}  // namespace

Document bom_view(const model::Cluster& cluster, const Bom& bom, const Prices* prices) {
  Document document;
  document.kind = "bom";
  document.sections.emplace_back(lines_table(bom));
  document.sections.emplace_back(phases_table(bom));
  document.sections.emplace_back(bom_facts(cluster, bom, prices));
  note_lead_times(bom, document.notes);
  if (prices == nullptr) {
    document.notes.emplace_back("No price file (--prices): costs are not calculated.");
    return document;
  }
  note_oob_share(bom, document.notes);
  if (!bom.unpriced.empty()) {
    document.notes.push_back(fmt::format(
        "The total is incomplete: no price for {}. Add a price for the ID or its category.", join(bom.unpriced, 12)));
  }
  document.notes.emplace_back(
      "Transceiver power is included in the power of switches and servers. GPUs are included in their servers.");
  return document;
}

}  // namespace weft::design

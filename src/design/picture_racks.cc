// Draws racks from the front: each rack if there are few, and each kind of rack once if there are many.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/host_range.h"
#include "base/human_format.h"
#include "design/picture_style.h"
#include "design/pictures.h"
#include "design/views_common.h"
#include "html/svg.h"

namespace weft::design {

using namespace picture;  // NOLINT(google-build-using-namespace): a picture is written in its terms
namespace {

constexpr std::size_t kMaxRacks = 64;  // drawn one by one; also the most kinds drawn
constexpr double kMargin = 24;
constexpr double kUnitHeight = 11;
constexpr double kRackWidth = 104;
constexpr double kGutter = 14;  // unit numbers, left of a rack
constexpr double kPduWidth = 6;
constexpr double kGap = 8;
constexpr double kPitch = kGutter + kPduWidth + kRackWidth + kPduWidth + kGap;
constexpr double kHeader = 34;
constexpr double kFooter = 34;
constexpr std::size_t kMaxInLine = 17;

// Racks that look the same; only the first is drawn.
struct RackKind {
  std::vector<model::RackId> racks;
};

// Racks under one heading; short sections share a line.
struct Section {
  std::string heading;
  std::vector<RackKind> kinds;
};
using Line = std::vector<Section>;

// A heading may be wider than its racks.
std::size_t places(const Section& section) {
  const auto heading = static_cast<std::size_t>(text_width(section.heading, 14, true) / kPitch) + 1;
  return std::max(section.kinds.size(), heading);
}

std::size_t places(const Line& line) {
  std::size_t sum = 0;
  for (const Section& section : line) sum += places(section);
  return sum;
}

std::string signature(const model::Cluster& cluster, model::RackId id) {
  const model::Rack& rack = cluster.rack(id);
  std::string text =
      fmt::format("{} {} {} {};", rack.model->id->text, rack.pool, rack.power.count(), rack.limit.count());
  for (const model::DeviceId device : cluster.devices_in(id)) {
    const model::DeviceGroup& group = cluster.group_of(device);
    text += fmt::format("{}:{}:{};", cluster.device(device).rack_unit, look_of(cluster, group).meaning,
                        views::model_id(cluster, device));
  }
  return text;
}

void add_section(Section section, std::vector<Line>& lines) {
  if (lines.empty() || places(lines.back()) + places(section) > kMaxInLine) lines.emplace_back();
  lines.back().push_back(std::move(section));
}

// Splits a row into lines of about equal length.
void add_lines(const std::string& heading, std::vector<RackKind> kinds, std::vector<Line>& lines) {
  const std::size_t count = (kinds.size() + kMaxInLine - 1) / kMaxInLine;
  for (std::size_t i = 0; i < count; ++i) {
    const auto first = kinds.begin() + static_cast<std::ptrdiff_t>(kinds.size() * i / count);
    const auto last = kinds.begin() + static_cast<std::ptrdiff_t>(kinds.size() * (i + 1) / count);
    add_section(
        {i == 0 ? heading : heading + " (continued)", {std::make_move_iterator(first), std::make_move_iterator(last)}},
        lines);
  }
}

std::string row_name(std::int32_t row) {
  return row < 0 ? fmt::format("Service row {}", -row) : fmt::format("Row {}", row);
}

std::vector<Line> rows_of_racks(const model::Cluster& cluster) {
  std::map<std::int32_t, std::vector<model::RackId>> rows;
  for (std::uint32_t r = 0; r < cluster.racks().size(); ++r) {
    rows[cluster.racks()[r].row].push_back(static_cast<model::RackId>(r));
  }
  std::vector<Line> lines;
  for (auto& [row, racks] : rows) {
    std::stable_sort(racks.begin(), racks.end(),
                     [&](model::RackId a, model::RackId b) { return cluster.rack(a).column < cluster.rack(b).column; });
    std::vector<RackKind> kinds;
    kinds.reserve(racks.size());
    for (const model::RackId rack : racks) kinds.push_back({{rack}});
    add_lines(row_name(row), std::move(kinds), lines);
  }
  return lines;
}

std::vector<Line> kinds_of_racks(const model::Cluster& cluster, std::size_t& left_out) {
  std::vector<RackKind> kinds;
  std::unordered_map<std::string, std::size_t> known;
  for (std::uint32_t r = 0; r < cluster.racks().size(); ++r) {
    const auto id = static_cast<model::RackId>(r);
    const auto [found, added] = known.emplace(signature(cluster, id), kinds.size());
    if (added) kinds.emplace_back();
    kinds[found->second].racks.push_back(id);
  }
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const RackKind& a, const RackKind& b) { return a.racks.size() > b.racks.size(); });
  left_out = 0;
  for (std::size_t i = kMaxRacks; i < kinds.size(); ++i) left_out += kinds[i].racks.size();
  if (kinds.size() > kMaxRacks) kinds.resize(kMaxRacks);
  std::vector<RackKind> server;
  std::vector<RackKind> service;
  for (RackKind& kind : kinds) {
    const bool serves = cluster.rack(kind.racks.front()).pool < 0;
    (serves ? service : server).push_back(std::move(kind));
  }
  std::vector<Line> lines;
  add_lines("Server racks, one per kind", std::move(server), lines);
  add_lines("Service racks, one per kind", std::move(service), lines);
  return lines;
}

void draw_power(Svg& svg, const model::Rack& rack, const Box& frame) {
  const Box bar{frame.x, frame.bottom() + 5, frame.width, 8};
  svg.rect(bar, Paint{"#ffffff", kFrame, 0.8, 1, {}, 2});
  const double limit = real(rack.limit.count());
  const double share = limit > 0 ? real(rack.power.count()) / limit : 0.0;
  const std::string_view color = share > 1.0 ? "#d55e00" : share > 0.9 ? "#e69f00" : "#56b4e9";
  if (share > 0) svg.rect({bar.x, bar.y, bar.width * std::min(share, 1.0), bar.height}, Paint{color});
  const std::string text = limit > 0
                               ? fmt::format("{} {} {}", about(rack.power), share > 1.0 ? ">" : "of", about(rack.limit))
                               : about(rack.power);
  svg.text({bar.center().x, bar.bottom() + 12}, fit_text(text, 10, kPitch - 4, share > 1.0),
           TextStyle{10, share > 1.0 ? "#a04000" : kSoftInk, Anchor::middle, share > 1.0});
}

void draw_unit_numbers(Svg& svg, const Box& frame, std::int64_t units) {
  for (std::int64_t u = 1; u <= units; ++u) {
    if (u != 1 && u % 6 != 0) continue;
    const double y = frame.bottom() - real(u) * kUnitHeight + 0.78 * kUnitHeight;
    svg.text({frame.x - kPduWidth - 3, y}, std::to_string(u), TextStyle{8, kSoftInk, Anchor::end});
  }
}

// PDUs are vertical, next to the frame: odd ones on the left, even ones on the right.
void draw_pdus(Svg& svg, const model::Cluster& cluster, const model::Rack& rack, const Box& frame) {
  const std::uint32_t levels = (rack.pdus + 1) / 2;
  for (std::uint32_t i = 0; i < rack.pdus; ++i) {
    const auto id = static_cast<model::DeviceId>(model::index_of(rack.first_pdu) + i);
    const double height = frame.height / real(levels);
    const double x = i % 2 == 0 ? frame.x - kPduWidth : frame.right();
    const Box box{x + 0.5, frame.y + real(i / 2) * height + 1, kPduWidth - 1, height - 2};
    const std::string feed = views::feed_name(cluster.feed_of_pdu(id));
    svg.rect(box,
             Paint{feed == "A"   ? "#4a4f55"
                   : feed == "B" ? "#6d737a"
                                 : "#5a4a7a"},
             fmt::format("{}: {}, feed {}", cluster.name_of(id), views::model_id(cluster, id), feed));
    svg.text({box.center().x, box.center().y + 3}, feed, TextStyle{7, "#ffffff", Anchor::middle, true});
  }
}

// Long names are shrunk before they are truncated.
void draw_name(Svg& svg, const Box& box, std::string_view name, double size, const Look& look) {
  while (size > 6.5 && text_width(name, size) > box.width - 4) size -= 0.5;
  svg.text_in(box, name, TextStyle{size, look.ink});
}

void draw_device(Svg& svg, const model::Cluster& cluster, model::DeviceId id, const Box& frame, bool alone) {
  const model::Device& device = cluster.device(id);
  const std::int64_t height = views::height_of(cluster, id);
  if (device.rack_unit == 0 || height <= 0) return;
  const model::DeviceGroup& group = cluster.group_of(id);
  const Look& look = look_of(cluster, group);
  const double top = frame.bottom() - real(device.rack_unit + height - 1) * kUnitHeight;
  const Box box{frame.x + 1, top + 0.4, frame.width - 2, real(height) * kUnitHeight - 0.8};
  const std::string model = views::model_id(cluster, id);
  const std::string tooltip =
      fmt::format("{}: {}, {}, U{}{}", alone ? cluster.name_of(id) : group.name, model, views::role_of(cluster, group),
                  device.rack_unit, height > 1 ? fmt::format("-{}", device.rack_unit + height - 1) : "");
  if (alone) mark_device(svg, id);
  svg.rect(box, Paint{look.fill, look.stroke, 0.8, 1, {}, 1.5}, tooltip);
  const double size = height > 1 ? 9.5 : 8.0;
  if (height >= 4 && alone) {
    draw_name(svg, {box.x, box.center().y - 12, box.width, 12}, cluster.name_of(id), size, look);
    draw_name(svg, {box.x, box.center().y, box.width, 12}, model, 8, look);
  } else {
    draw_name(svg, box, alone ? cluster.name_of(id) : model, size, look);
  }
}

void draw_rack(Svg& svg, const model::Cluster& cluster, const RackKind& kind, const Point& at, double height) {
  const model::RackId id = kind.racks.front();
  const model::Rack& rack = cluster.rack(id);
  const bool alone = kind.racks.size() == 1;
  std::vector<std::string> names;
  for (const model::RackId member : kind.racks) names.push_back(cluster.rack(member).name);
  const std::string name = fold_hosts(std::move(names));
  const std::int64_t units = *rack.model->height;
  const double tall = real(units) * kUnitHeight;
  const Box frame{at.x + kGutter + kPduWidth, at.y + kHeader + height - tall, kRackWidth, tall};
  svg.open_group(
      fmt::format("{}: {} of {} U, {} of {}", name, rack.used_units, units, about(rack.power), about(rack.limit)));
  const double room = kPitch - 6;
  const double middle = frame.center().x;
  svg.text({middle, frame.y - 18}, fit_text(name, 11.5, room, true), TextStyle{11.5, kInk, Anchor::middle, true});
  const std::string what = rack.pool >= 0 ? views::pool_name(cluster, rack.pool) : std::string("service");
  const std::string under = alone ? what : fmt::format("{} × {}", what, group_digits(kind.racks.size()));
  svg.text({middle, frame.y - 5}, fit_text(under, 10, room), TextStyle{10, kSoftInk, Anchor::middle, !alone});
  svg.rect(frame, Paint{kPanel, kFrame, 1.2});
  draw_unit_numbers(svg, frame, units);
  draw_pdus(svg, cluster, rack, frame);
  for (const model::DeviceId device : cluster.devices_in(id)) draw_device(svg, cluster, device, frame, alone);
  draw_power(svg, rack, frame);
  svg.close_group();
}

std::vector<LegendItem> rack_legend(const model::Cluster& cluster) {
  std::vector<LegendItem> items;
  std::vector<std::string_view> known;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.count == 0 || group.kind == model::DeviceKind::external) continue;
    const Look& look = look_of(cluster, group);
    if (std::find(known.begin(), known.end(), look.meaning) != known.end()) continue;
    known.push_back(look.meaning);
    std::string text(look.meaning);
    if (group.kind == model::DeviceKind::pdu) text += " with its feed";
    items.push_back({look.fill, look.stroke, std::move(text), false});
  }
  items.push_back({"#56b4e9", kFrame, "maximum power, share of the rack's limit", false});
  items.push_back({"#e69f00", kFrame, "above 90%", false});
  items.push_back({"#d55e00", kFrame, "over the limit", false});
  return items;
}

std::string facts_line(const model::Cluster& cluster, bool each, std::size_t left_out) {
  std::uint64_t servers = 0;
  std::uint64_t switches = 0;
  for (const model::DeviceGroup& group : cluster.groups()) {
    servers += group.kind == model::DeviceKind::server ? group.count : 0;
    switches += group.kind == model::DeviceKind::network_switch ? group.count : 0;
  }
  std::string facts = fmt::format("{} · {} · {} · {} maximum power", grouped_plural(cluster.gpu_count(), "GPU", "GPUs"),
                                  grouped_plural(servers, "server", "servers"),
                                  grouped_plural(switches, "switch", "switches"), about(cluster.total_power()));
  if (!each) facts += " · racks with the same content are drawn once";
  if (left_out > 0)
    facts += fmt::format(" · {} of less common kinds omitted", grouped_plural(left_out, "rack", "racks"));
  return facts;
}

double draw_line(Svg& svg, const model::Cluster& cluster, const Line& line, double y) {
  std::int64_t tallest = 1;
  for (const Section& section : line) {
    for (const RackKind& kind : section.kinds) {
      tallest = std::max(tallest, *cluster.rack(kind.racks.front()).model->height);
    }
  }
  const double height = real(tallest) * kUnitHeight;
  double x = kMargin;
  for (const Section& section : line) {
    svg.text({x, y + 14}, section.heading, TextStyle{14, kInk, Anchor::start, true});
    for (std::size_t i = 0; i < section.kinds.size(); ++i) {
      draw_rack(svg, cluster, section.kinds[i], {x + real(i) * kPitch, y + 24}, height);
    }
    x += real(places(section)) * kPitch;
  }
  return y + 24 + kHeader + height + kFooter + 16;
}

}  // namespace

std::string racks_svg(const model::Cluster& cluster) {
  std::size_t left_out = 0;
  const bool each = cluster.racks().size() <= kMaxRacks;
  const std::vector<Line> lines = each ? rows_of_racks(cluster) : kinds_of_racks(cluster, left_out);
  std::size_t longest = 1;
  for (const Line& line : lines) longest = std::max(longest, places(line));
  const double width = std::max(960.0, 2 * kMargin + kPitch * real(longest));
  const std::string title =
      fmt::format("{}: {}", cluster.name(), grouped_plural(cluster.racks().size(), "rack", "racks"));
  Svg svg;
  double y = draw_heading(svg, {kMargin, kMargin}, width - 2 * kMargin, title, facts_line(cluster, each, left_out));
  y = draw_legend(svg, {kMargin, y}, width - 2 * kMargin, rack_legend(cluster)) + 10;
  for (const Line& line : lines) y = draw_line(svg, cluster, line, y);
  return svg.finish(width, y + kMargin - 16, title);
}

}  // namespace weft::design

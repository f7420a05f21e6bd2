#include "design/picture_style.h"

#include <fmt/format.h>

#include <array>

namespace weft::design {
namespace {

constexpr Look kTraining{"#d3e9f8", "#3d9bd1", "#10324a", "training server"};
constexpr Look kInference{"#fbe5b4", "#c98a00", "#4a3300", "inference server"};
constexpr Look kStorage{"#c8ebdf", "#009e73", "#00402e", "storage server"};
constexpr Look kCompute{"#f8f4b8", "#a99c00", "#3d3900", "CPU or infrastructure server"};
constexpr Look kService{"#e4e6e8", "#70767c", "#24282c", "login, management or jump server"};
constexpr Look kManager{"#f4dbe8", "#b8588a", "#4d1f38", "fabric manager"};
constexpr Look kPdu{"#4a4f55", "#30343a", "#ffffff", "PDU"};
constexpr Look kExternal{"#ffffff", "#70767c", "#24282c", "site network"};

constexpr std::array<Look, model::kFabrics> kSwitches = {Look{"#b84c00", "#7a3200", "#ffffff", "backend switch"},
                                                         Look{"#007a59", "#00513b", "#ffffff", "storage switch"},
                                                         Look{"#0072b2", "#004b76", "#ffffff", "frontend switch"},
                                                         Look{"#a8558a", "#73335c", "#ffffff", "out-of-band switch"}};

// Okabe-Ito without black, its yellow darkened so that a thin line is visible on white, and gray as the eighth.
constexpr std::array<std::string_view, 8> kRails = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                                    "#56b4e9", "#d55e00", "#b5a600", "#5c6066"};

}  // namespace

void mark_device(picture::Svg& svg, model::DeviceId id) { svg.set_data("d", std::to_string(model::index_of(id))); }

void mark_link(picture::Svg& svg, model::DeviceId a, model::DeviceId b) {
  svg.set_data("l", fmt::format("{} {}", model::index_of(a), model::index_of(b)));
}

const Look& look_of(const model::Cluster& cluster, const model::DeviceGroup& group) {
  if (group.kind == model::DeviceKind::network_switch) return switch_look(group.fabric);
  if (group.kind == model::DeviceKind::pdu) return kPdu;
  if (group.kind == model::DeviceKind::external) return kExternal;
  if (group.manager || group.pool < 0) return kManager;
  switch (*(*cluster.spec().pools)[static_cast<std::size_t>(group.pool)].role) {
    case model::PoolRole::training:
      return kTraining;
    case model::PoolRole::inference:
      return kInference;
    case model::PoolRole::storage:
      return kStorage;
    case model::PoolRole::infrastructure:
    case model::PoolRole::cpu:
      return kCompute;
    case model::PoolRole::login:
    case model::PoolRole::management:
    case model::PoolRole::jump:
      break;
  }
  return kService;
}

const Look& switch_look(model::FabricKind fabric) { return kSwitches[static_cast<std::size_t>(fabric)]; }

std::string_view rail_color(std::uint32_t rail) { return kRails[rail % kRails.size()]; }

std::string_view fabric_words(model::FabricKind fabric) {
  return fabric == model::FabricKind::oob ? std::string_view("out-of-band") : model::to_text(fabric);
}

double draw_legend(picture::Svg& svg, const picture::Point& at, double width, const std::vector<LegendItem>& items) {
  constexpr double kSize = 12;
  constexpr double kLine = 22;
  double x = at.x;
  double y = at.y;
  for (const LegendItem& item : items) {
    const double wanted = 18 + 6 + picture::text_width(item.text, kSize) + 22;
    if (x > at.x && x + wanted > at.x + width) {
      x = at.x;
      y += kLine;
    }
    if (item.line) {
      svg.line({x, y + 7}, {x + 18, y + 7}, picture::Paint{"none", item.stroke, 2.5});
    } else {
      svg.rect({x, y, 18, 14}, picture::Paint{item.fill, item.stroke, 1, 1, {}, 2});
    }
    svg.text({x + 24, y + 11.5}, item.text, picture::TextStyle{kSize, kInk});
    x += wanted;
  }
  return y + kLine;
}

double draw_heading(picture::Svg& svg, const picture::Point& at, double width, std::string_view title,
                    std::string_view subtitle) {
  svg.text({at.x, at.y + 20}, picture::fit_text(title, 22, width, true),
           picture::TextStyle{22, kInk, picture::Anchor::start, true});
  double y = at.y + 32;
  // Facts are separated by " · "; lines break there.
  std::string line;
  const auto flush = [&] {
    if (line.empty()) return;
    y += 17;
    svg.text({at.x, y}, line, picture::TextStyle{13, kSoftInk});
    line.clear();
  };
  while (!subtitle.empty()) {
    const std::size_t end = subtitle.find(" · ");
    const std::string_view fact = subtitle.substr(0, end);
    const std::string longer = line.empty() ? std::string(fact) : line + " · " + std::string(fact);
    if (!line.empty() && picture::text_width(longer, 13) > width) {
      flush();
      line = fact;
    } else {
      line = longer;
    }
    subtitle = end == std::string_view::npos ? std::string_view() : subtitle.substr(end + 4);
  }
  flush();
  return y + 14;
}

}  // namespace weft::design

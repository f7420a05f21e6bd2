#include "design/cluster_page.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/asset.h"
#include "base/human_format.h"
#include "base/quoting.h"
#include "base/text.h"
#include "design/picture_style.h"
#include "design/pictures.h"
#include "design/views_common.h"
#include "html/page.h"
#include "html/svg.h"

namespace weft::design {
namespace {

constexpr std::size_t kMaxCables = 200'000;  // about 5 MB

// Texts that many devices and cables share, each written once.
class TextTable {
 public:
  std::size_t index_of(const std::string& text) {
    const auto [found, added] = known_.emplace(text, known_.size());
    if (added) texts_ += (texts_.empty() ? "" : ",") + json_quote(text);
    return found->second;
  }
  [[nodiscard]] const std::string& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> known_;
  std::string texts_;
};

std::string devices_json(const model::Cluster& cluster, TextTable& texts) {
  std::string out;
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    const model::DeviceGroup& group = cluster.group_of(id);
    append_format(out, "{}[{},{},{},{},{},{}]", d > 0 ? ",\n" : "", json_quote(cluster.name_of(id)),
                  texts.index_of(views::model_id(cluster, id)), texts.index_of(views::role_of(cluster, group)),
                  texts.index_of(views::rack_name(cluster, id)), cluster.device(id).rack_unit,
                  group.kind == model::DeviceKind::network_switch ? static_cast<int>(group.fabric) : -1);
  }
  return out;
}

// Flat: both devices and ports, speed, cable, length in centimeters, fabric.
std::string cables_json(const model::Cluster& cluster, TextTable& texts) {
  std::string out;
  if (cluster.cables().size() > kMaxCables) return out;
  for (const model::Cable& cable : cluster.cables()) {
    const model::Medium& medium = cluster.media()[cable.medium];
    const std::string kind = medium.cable == nullptr ? "-" : std::string(model::text_of(*medium.cable->kind));
    append_format(out, "{}{},{},{},{},{},{},{},{}", out.empty() ? "" : ",\n",
                  model::index_of(cluster.port(cable.a).device), texts.index_of(cluster.port_name(cable.a)),
                  model::index_of(cluster.port(cable.b).device), texts.index_of(cluster.port_name(cable.b)),
                  texts.index_of(to_text(cluster.port(cable.a).speed())), texts.index_of(kind), cable.length_mm / 10,
                  static_cast<int>(cable.fabric));
  }
  return out;
}

std::string picture_html(std::string_view id, std::string_view title, const std::string& svg) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>\n<div class=\"zoom\" role=\"group\" "
      "tabindex=\"0\" aria-label=\"{1}: picture\">{2}</div></section>\n",
      id, title, svg);
}

constexpr std::string_view kTools =
    R"(<div class="find" id="find-box" hidden><label for="find">Search a device</label>
<input id="find" type="search" autocomplete="off" spellcheck="false"><output id="found" for="find"></output></div>
<ul id="hits" aria-label="Devices found" hidden></ul>
<p class="note">A click on a device marks it, its cables and its neighbors in every picture. To zoom: the buttons, two
fingers, Ctrl + wheel, or the wheel and + and - once a picture has the focus; drag or arrow keys to move.</p>
<noscript><p class="note">Zoom and search need JavaScript, which is disabled.</p></noscript>
<aside id="device" aria-label="Chosen device" aria-live="polite" hidden></aside>
)";

}  // namespace

std::string cluster_page(const model::Cluster& cluster) {
  const std::string script = std::string(asset<"base/zoom.js">()) + std::string(asset<"design/cluster_page.js">());
  const std::string title = "Cluster " + cluster.name();
  const html::PageFrame frame{title, asset<"design/cluster_page.css">(), script};
  std::string body;
  std::string links;
  const auto add = [&](std::string_view id, std::string_view name, const std::string& svg) {
    links += fmt::format("<a href=\"#{}\">{}</a> ", id, name);
    body += picture_html(id, name, svg);
  };
  constexpr std::array<std::pair<model::FabricKind, std::string_view>, model::kFabrics> kNames = {
      {{model::FabricKind::backend, "Backend"},
       {model::FabricKind::storage, "Storage network"},
       {model::FabricKind::frontend, "Frontend"},
       {model::FabricKind::oob, "Out-of-band network"}}};
  for (const auto& [fabric, name] : kNames) add(model::to_text(fabric), name, fabric_svg(cluster, fabric));
  add("racks", "Racks", racks_svg(cluster));
  TextTable texts;
  const std::string devices = devices_json(cluster, texts);
  const std::string cables = cables_json(cluster, texts);
  std::string out = html::page_head(frame);
  out += fmt::format(
      "<a class=\"skip\" href=\"#backend\">Skip to the pictures</a>\n<header>\n<p class=\"kind\">Cluster</p>\n"
      "<h1>{}</h1>\n<p class=\"sub\">{}, {}, {}</p>\n",
      picture::xml_escape(cluster.name()), grouped_plural(cluster.devices().size(), "device", "devices"),
      grouped_plural(cluster.gpu_count(), "GPU", "GPUs"), grouped_plural(cluster.cables().size(), "cable", "cables"));
  out += fmt::format("<nav aria-label=\"Pictures\">{}</nav>\n{}", links, kTools);
  if (cables.empty() && !cluster.cables().empty()) {
    out += "<p class=\"note\">The list of cables is left out for its size: `weft show cables` writes it.</p>\n";
  }
  out += "</header>\n<main>\n" + body + "</main>\n<script type=\"application/json\" id=\"cluster\">";
  out += html::json_in_script(fmt::format("{{\"d\":[{}],\n\"c\":[{}],\n\"s\":[{}]}}", devices, cables, texts.texts()));
  out += "</script>\n" + html::page_foot(frame);
  return out;
}

}  // namespace weft::design

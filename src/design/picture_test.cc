#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "design/pictures.h"
#include "html/svg.h"
#include "model/load.h"

namespace weft::design {
namespace {

std::string cluster_text(int train, int store, int login) {
  const auto pool = [](const std::string& what, int count, const std::string& more) {
    return "  - {" + what + ", count: " + std::to_string(count) + more + "}\n";
  };
  return "weft: 1\nname: demo\nsite: {pdus_per_rack: 4, row_length: 32, row_pitch: 2m}\npools:\n" +
         pool("name: train, role: training, server: dgx-h100", train, ", per_rack: 4") +
         pool("name: store, role: storage, server: storage-400g-2u", store, "") +
         pool("name: infra, role: infrastructure, server: control-1u", 3, "") +
         pool("name: login, role: login, server: login-1u", login, "") +
         "fabrics: {frontend: {subnets: [10.20.0.0/16]}}\n";
}

std::shared_ptr<const model::Cluster> make(const std::string& text) {
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("demo.yaml", text);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  if (loaded->cluster == nullptr) std::abort();
  return loaded->cluster;
}

const model::Cluster& small() {
  static const auto kCluster = make(cluster_text(32, 4, 2));
  return *kCluster;
}

const model::Cluster& large() {
  static const auto kCluster = make(cluster_text(2000, 64, 8));
  return *kCluster;
}

std::vector<std::string> pictures_of(const model::Cluster& cluster) {
  std::vector<std::string> pictures = {racks_svg(cluster)};
  for (int f = 0; f < model::kFabrics; ++f) pictures.push_back(fabric_svg(cluster, static_cast<model::FabricKind>(f)));
  return pictures;
}

// A strict parser for the subset of XML used by the pictures: elements, quoted attributes, the five entities.
struct XmlCheck {
  std::string_view text;
  std::vector<std::string_view> open;
  std::size_t elements = 0;
  std::string problem;

  static bool entity_ok(std::string_view rest) {
    for (const std::string_view known : {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"}) {
      if (rest.substr(0, known.size()) == known) return true;
    }
    return false;
  }

  void fail(const std::string& why, std::size_t where) {
    problem = why + " near: " + std::string(text.substr(where, 60));
  }

  void tag(std::size_t begin, std::size_t end) {
    std::string_view inside = text.substr(begin + 1, end - begin - 1);
    if (!inside.empty() && inside.front() == '/') {
      if (open.empty() || open.back() != inside.substr(1)) return fail("wrong end tag", begin);
      open.pop_back();
      return;
    }
    ++elements;
    const bool alone = !inside.empty() && inside.back() == '/';
    if (alone) inside.remove_suffix(1);
    std::size_t quotes = 0;
    for (const char c : inside) quotes += c == '"' ? 1U : 0U;
    if (quotes % 2 != 0) return fail("open quote", begin);
    if (!alone) open.push_back(inside.substr(0, inside.find(' ')));
  }

  void run() {
    for (std::size_t i = 0; i < text.size() && problem.empty(); ++i) {
      if (text[i] == '&' && !entity_ok(text.substr(i))) fail("bare &", i);
      if (text[i] == '>') fail("bare >", i);
      if (text[i] != '<') continue;
      const std::size_t end = text.find('>', i);
      if (end == std::string_view::npos) return fail("open tag", i);
      tag(i, end);
      i = end;
    }
    if (problem.empty() && !open.empty()) problem = "left open: " + std::string(open.back());
  }
};

XmlCheck checked(const std::string& svg) {
  XmlCheck check{svg, {}, 0, {}};
  check.run();
  return check;
}

double attribute(std::string_view element, const std::string& name, double fallback) {
  const std::size_t at = element.find(" " + name + "=\"");
  if (at == std::string_view::npos) return fallback;
  return std::strtod(std::string(element.substr(at + name.size() + 3, 24)).c_str(), nullptr);
}

struct Written {
  picture::Box box;
  std::string text;
};

// The box of each text, by the width estimate used for layout, slightly less than its full height.
std::vector<Written> texts_of(const std::string& svg) {
  std::vector<Written> texts;
  for (std::size_t i = svg.find("<text"); i != std::string::npos; i = svg.find("<text", i + 1)) {
    const std::size_t end = svg.find('>', i);
    const std::string_view element = std::string_view(svg).substr(i, end - i);
    Written written;
    written.text = svg.substr(end + 1, svg.find("</text>", end) - end - 1);
    const double size = attribute(element, "font-size", 12);
    const double width = 0.92 * picture::text_width(written.text, size, element.find("bold") != std::string::npos);
    const double x = attribute(element, "x", 0);
    const double y = attribute(element, "y", 0);
    const double shift = element.find("\"middle\"") != std::string::npos ? width / 2
                         : element.find("\"end\"") != std::string::npos  ? width
                                                                         : 0;
    written.box = {x - shift, y - 0.7 * size, width, 0.7 * size};
    if (element.find("rotate(-90") != std::string::npos) {
      written.box = {x - 0.7 * size, y - width + shift, 0.7 * size, width};
    }
    texts.push_back(std::move(written));
  }
  return texts;
}

bool overlap(const picture::Box& a, const picture::Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

void expect_readable(const std::string& svg) {
  const XmlCheck check = checked(svg);
  EXPECT_EQ(check.problem, "");
  EXPECT_EQ(svg.find("<svg"), 0U);
  EXPECT_NE(svg.find("viewBox=\"0 0 "), std::string::npos);
  const std::string_view root = std::string_view(svg).substr(0, svg.find('>'));
  const double width = attribute(root, "width", 0);
  const double height = attribute(root, "height", 0);
  EXPECT_GT(width, 300);
  EXPECT_LE(width, 2400);
  const std::vector<Written> texts = texts_of(svg);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_GE(texts[i].box.x, 0) << texts[i].text;
    EXPECT_LE(texts[i].box.right(), width) << texts[i].text;
    EXPECT_LE(texts[i].box.bottom(), height) << texts[i].text;
    for (std::size_t j = i + 1; j < texts.size(); ++j) {
      EXPECT_FALSE(overlap(texts[i].box, texts[j].box)) << texts[i].text << " and " << texts[j].text;
    }
  }
}

TEST(Svg, EscapesWhatXmlReserves) {
  EXPECT_EQ(picture::xml_escape("a<b> & \"c\" 'd'"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(picture::xml_escape("× …"), "× …");
  EXPECT_EQ(picture::xml_escape(std::string_view("a\x01z\xFFq", 5)), "a\xEF\xBF\xBDz\xEF\xBF\xBDq");
}

TEST(Svg, IsWellFormedWithAnyText) {
  picture::Svg svg;
  svg.open_group("<&>");
  svg.rect({0, 0, 10, 10}, {"#ffffff", "#000000"}, "\"tip\" </title>");
  svg.line({0, 0}, {5, 5}, {"none", "#000000"}, "x > y");
  svg.link({0, 0}, {5, 5}, {"none", "#000000"});
  svg.text({1, 1}, "</text><script>", {});
  svg.label({50, 50}, "a & b", {});
  svg.close_group();
  const std::string picture = svg.finish(100.2, 50, "<title>");
  EXPECT_EQ(checked(picture).problem, "");
  EXPECT_EQ(picture.find("<script"), std::string::npos);
  EXPECT_NE(picture.find("viewBox=\"0 0 101 50\""), std::string::npos);
  EXPECT_EQ(svg.marks(), 6U);
}

TEST(Svg, TruncatesTextToFit) {
  EXPECT_EQ(picture::fit_text("short", 10, 100), "short");
  const std::string cut = picture::fit_text("a-rather-long-name-of-a-switch", 10, 60);
  EXPECT_LE(picture::text_width(cut, 10), 60);
  EXPECT_EQ(cut.substr(cut.size() - 3), "…");
  EXPECT_EQ(picture::fit_text("long", 10, 8), "");
  EXPECT_GT(picture::text_width("mmmm", 10), picture::text_width("iiii", 10));
  EXPECT_GT(picture::text_width("abc", 10, true), picture::text_width("abc", 10));
}

TEST(Pictures, AreReadableWith32Nodes) {
  for (const std::string& svg : pictures_of(small())) {
    SCOPED_TRACE(svg.substr(svg.find("<title>"), 80));
    expect_readable(svg);
  }
}

TEST(Pictures, ShowEveryDeviceWith32Nodes) {
  const model::Cluster& cluster = small();
  const std::string racks = racks_svg(cluster);
  for (std::uint32_t d = 0; d < cluster.devices().size(); ++d) {
    const auto id = static_cast<model::DeviceId>(d);
    if (cluster.device(id).rack == model::kNone<model::RackId>) continue;
    EXPECT_NE(racks.find("<title>" + cluster.name_of(id) + ":"), std::string::npos) << cluster.name_of(id);
  }
  const std::string backend = fabric_svg(cluster, model::FabricKind::backend);
  for (const char* host : {">train001<", ">train032<"}) EXPECT_NE(backend.find(host), std::string::npos) << host;
  std::size_t links = 0;
  for (std::size_t i = backend.find("<path"); i != std::string::npos; i = backend.find("<path", i + 1)) ++links;
  EXPECT_GE(links, 256U);  // 32 servers with 8 links
}

TEST(Pictures, AreReadableAndSmallWith2000Nodes) {
  for (const std::string& svg : pictures_of(large())) {
    SCOPED_TRACE(svg.substr(svg.find("<title>"), 80));
    expect_readable(svg);
    EXPECT_LE(checked(svg).elements, 9000U);
    EXPECT_LE(svg.size(), 1'500'000U);
  }
}

TEST(Pictures, AreReadableWith128Nodes) {
  const auto cluster = make(cluster_text(128, 8, 4));
  for (const std::string& svg : pictures_of(*cluster)) {
    SCOPED_TRACE(svg.substr(svg.find("<title>"), 80));
    expect_readable(svg);
  }
}

TEST(Pictures, AreReadableForEveryWiring) {
  for (const char* backend : {"wiring: tor, oversubscription: 3:1", "wiring: dual-tor",
                              "wiring: rail-only, leaf: sn4700", "planes: 2", "network: infiniband"}) {
    for (const char* count : {"24", "64", "200"}) {
      SCOPED_TRACE(std::string(backend) + ", " + count);
      const bool planes = std::string_view(backend) == "planes: 2";
      const auto cluster = make(
          std::string("weft: 1\nname: wiring\nsite: {pdus_per_rack: 6}\npools:\n  - {name: train, role: training, ") +
          "per_rack: 2, server: " + (planes ? "dgx-b300" : "dgx-h100") + ", count: " + count +
          "}\nfabrics: {oob: {uplink_to_frontend: true}, frontend: {subnets: [10.20.0.0/16], external: {links: 4}}, "
          "backend: {" +
          backend + "}}\n");
      for (const std::string& svg : pictures_of(*cluster)) {
        SCOPED_TRACE(svg.substr(svg.find("<title>"), 80));
        expect_readable(svg);
      }
    }
  }
}

TEST(Pictures, DrawRepeatedRacksOnce) {
  const std::string racks = racks_svg(large());
  EXPECT_NE(racks.find("train × "), std::string::npos);
  EXPECT_EQ(racks.find(">train0777<"), std::string::npos);
}

TEST(Pictures, AreDeterministic) {
  EXPECT_EQ(racks_svg(small()), racks_svg(small()));
  EXPECT_EQ(fabric_svg(small(), model::FabricKind::storage), fabric_svg(small(), model::FabricKind::storage));
}

}  // namespace
}  // namespace weft::design

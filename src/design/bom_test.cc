#include "design/bom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/load.h"

namespace weft::design {
namespace {

using testing::Contains;
using testing::HasSubstr;

std::unique_ptr<model::Loaded> load(const std::string& text) {
  auto loaded = model::load_cluster_text("t.yaml", "weft: 1\nname: t\n" + text);
  EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  return loaded;
}

Prices prices(model::Loaded& loaded, std::string text) {
  Diagnostics diagnostics;
  const FileId file = loaded.sources.add("prices.yaml", std::move(text));
  const auto root = parse_yaml(loaded.sources, file, diagnostics);
  EXPECT_TRUE(root.has_value());
  auto out = read_prices(*root, *loaded.catalog, diagnostics);
  EXPECT_TRUE(out.has_value()) << render_all(diagnostics, loaded.sources, false);
  return out.value_or(Prices{});
}

std::int64_t count(const Bom& bom, std::string_view category, std::optional<model::FabricKind> fabric,
                   std::string_view purpose = {}, std::string_view item = {}) {
  std::int64_t total = 0;
  for (const BomLine& line : bom.lines) {
    if (line.category == category && line.fabric == fabric && line.purpose.find(purpose) != std::string::npos &&
        line.item.find(item) != std::string::npos) {
      total += line.count;
    }
  }
  return total;
}

// One scalable unit of DGX H100 without managers: 8 leaves, 4 spines, 31 x 8 host cables, 256 leaf-spine cables (NVIDIA
// DGX SuperPOD H100 RA-11333-001 V11, table 4); optics by the rule of table 8.
TEST(Bom, CountsOneScalableUnitLikeTheReferenceArchitecture) {
  const auto loaded = load(
      "pools:\n"
      "  - {name: dgx, server: dgx-h100, count: 31}\n"
      "fabrics:\n"
      "  backend: {network: infiniband, leaf: qm9700, media: [fibre]}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Bom bom = make_bom(*loaded->cluster, nullptr);
  EXPECT_EQ(count(bom, "switch", model::FabricKind::backend, "leaf", "qm9700"), 8);
  EXPECT_EQ(count(bom, "switch", model::FabricKind::backend, "spine", "qm9700"), 4);
  EXPECT_EQ(count(bom, "cable", model::FabricKind::backend, "host-leaf"), 31 * 8);
  EXPECT_EQ(count(bom, "cable", model::FabricKind::backend, "leaf-spine"), 256);
  EXPECT_EQ(count(bom, "transceiver", model::FabricKind::backend, "host"), 31 * 4);  // twin-port cages
  EXPECT_EQ(count(bom, "transceiver", model::FabricKind::backend, "switch"), (8 * 64 + 4 * 64) / 2);
  EXPECT_EQ(count(bom, "server", std::nullopt, "dgx", "dgx-h100"), 31);
  EXPECT_EQ(count(bom, "gpu", std::nullopt, "dgx", "h100-sxm"), 248);
  EXPECT_FALSE(bom.total.has_value());
  EXPECT_TRUE(bom.unpriced.empty());
}

// Two 200G storage ports on each of four servers. One OSFP cage of a leaf serves four of them through two splitters.
TEST(Bom, ASplitterIsOneCable) {
  const auto loaded = load(
      "pools:\n"
      "  - {name: train, server: hgx-h100, count: 4}\n"
      "fabrics:\n"
      "  storage: {leaf: sn5600, media: [fibre]}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Bom bom = make_bom(*loaded->cluster, nullptr);
  EXPECT_EQ(count(bom, "switch", model::FabricKind::storage, "leaf"), 2);
  EXPECT_EQ(count(bom, "cable", model::FabricKind::storage, "host-leaf", "split2"), 4);
  EXPECT_EQ(count(bom, "transceiver", model::FabricKind::storage, "switch"), 2);
  EXPECT_EQ(count(bom, "transceiver", model::FabricKind::storage, "host"), 8);
}

TEST(Bom, OrdersSwitchesFirst) {
  const auto loaded = load(
      "pools:\n"
      "  - {name: train, server: hgx-h100, count: 4}\n"
      "  - {name: sto, role: storage, server: storage-400g-2u, count: 2}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Bom bom = make_bom(*loaded->cluster, nullptr);
  for (std::size_t i = 1; i < bom.lines.size(); ++i) EXPECT_LE(bom.lines[i - 1].phase, bom.lines[i].phase) << i;
  EXPECT_EQ(bom.lines.front().category, "switch");
  EXPECT_EQ(bom.lines.front().fabric, model::FabricKind::backend);
  EXPECT_EQ(count(bom, "storage", std::nullopt, "sto", "storage-400g-2u"), 2);
  EXPECT_EQ(count(bom, "server", std::nullopt, "sto"), 0);
}

TEST(Bom, ListsEveryDeviceCableAndRack) {
  const auto loaded = load(
      "pools:\n"
      "  - {name: train, server: hgx-h100, count: 8}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: sto, role: storage, server: storage-400g-2u, count: 2}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const model::Cluster& cluster = *loaded->cluster;
  const Bom bom = make_bom(cluster, nullptr);
  std::int64_t devices = 0;
  std::int64_t racks = 0;
  Power power;
  for (const BomLine& line : bom.lines) {
    power += line.power;
    if (line.category == "rack") racks += line.count;
    if (line.category == "switch" || line.category == "server" || line.category == "storage" ||
        line.category == "manager" || line.category == "pdu") {
      devices += line.count;
    }
  }
  std::int64_t expected = 0;
  for (const model::DeviceGroup& group : cluster.groups())
    expected += group.kind == model::DeviceKind::external ? 0 : group.count;
  EXPECT_EQ(devices, expected);
  EXPECT_EQ(racks, static_cast<std::int64_t>(cluster.racks().size()));
  EXPECT_EQ(power, cluster.total_power());
}

TEST(Bom, OverriddenHostsAreListedWithTheirOwnModel) {
  const auto loaded = load(
      "pools:\n"
      "  - {name: train, server: hgx-h100, count: 4, overrides: [{hosts: train004, server: hgx-h200}]}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  const Bom bom = make_bom(*loaded->cluster, nullptr);
  EXPECT_EQ(count(bom, "server", std::nullopt, "train", "hgx-h100"), 3);
  EXPECT_EQ(count(bom, "server", std::nullopt, "train", "hgx-h200"), 1);
  EXPECT_EQ(count(bom, "gpu", std::nullopt, "train", "h200-sxm"), 8);
}

const char* const kSmall =
    "pools:\n"
    "  - {name: train, server: hgx-h100, count: 4}\n";
const char* const kEverything =
    "items:\n"
    "  - {item: switch, price: 1000, lead_time: 12w}\n"
    "  - {item: sn5600, price: 50000, lead_time: 16w}\n"
    "  - {item: server, price: 200000, lead_time: 10w}\n"
    "  - {item: transceiver, price: 10, lead_time: 4w}\n"
    "  - {item: cable, price: 1, lead_time: 2w}\n"
    "  - {item: pdu, price: 100, lead_time: 2w}\n"
    "  - {item: rack, price: 500, lead_time: 2w}\n";

TEST(Bom, TotalsAddUp) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  const Prices table = prices(*loaded, kEverything);
  const Bom bom = make_bom(*loaded->cluster, &table);
  ASSERT_TRUE(bom.total && bom.network_total && bom.oob_total);
  const auto pieces = [&](std::string_view category, std::string_view item = {}) {
    std::int64_t total = 0;
    for (const BomLine& line : bom.lines) {
      if (line.category == category && line.item.find(item) != std::string::npos) total += line.count;
    }
    return total;
  };
  const std::int64_t large = pieces("switch", "sn5600");
  const std::int64_t network =
      large * 50'000 + (pieces("switch") - large) * 1000 + pieces("transceiver") * 10 + pieces("cable");
  EXPECT_EQ(bom.network_total->count(), network * 100);
  EXPECT_EQ(bom.total->count(), (network + 4 * 200'000 + pieces("pdu") * 100 + pieces("rack") * 500) * 100);
  EXPECT_EQ(bom.oob_total->count(),
            (count(bom, "switch", model::FabricKind::oob) * 1000 +
             count(bom, "transceiver", model::FabricKind::oob) * 10 + count(bom, "cable", model::FabricKind::oob)) *
                100);
  EXPECT_TRUE(bom.unpriced.empty());
}

TEST(Bom, GpuIsPricedOnlyIfThePriceFileListsIt) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  const Prices without = prices(*loaded, kEverything);
  const Prices with = prices(*loaded, std::string(kEverything) + "  - {item: h100-sxm, price: 30000}\n");
  const Bom cheap = make_bom(*loaded->cluster, &without);
  const Bom dear = make_bom(*loaded->cluster, &with);
  ASSERT_TRUE(cheap.total && dear.total);
  EXPECT_EQ((*dear.total - *cheap.total).count(), std::int64_t{32} * 30'000 * 100);
}

TEST(Bom, AbsurdPricesSaturate) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  const Prices table = prices(*loaded, std::string(kEverything) + "  - {item: h100-sxm, price: 90000000000000000}\n");
  const Bom bom = make_bom(*loaded->cluster, &table);
  ASSERT_TRUE(bom.total.has_value());
  EXPECT_EQ(bom.total->count(), INT64_MAX);
}

TEST(Bom, ListsItemsWithoutAPrice) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  const Prices table = prices(*loaded, "items: [{item: sn5600, price: 1}, {item: cable, price: 1}]\n");
  const Bom bom = make_bom(*loaded->cluster, &table);
  EXPECT_FALSE(bom.total.has_value());
  EXPECT_FALSE(bom.network_total.has_value());
  EXPECT_THAT(bom.unpriced, Contains("hgx-h100"));
  EXPECT_THAT(bom.unpriced, testing::Not(Contains("sn5600")));
  const Document view = bom_view(*loaded->cluster, bom, &table);
  EXPECT_THAT(view.notes, Contains(HasSubstr("The total is incomplete: no price for")));
  EXPECT_THAT(view.notes, Contains(HasSubstr("share of the network budget is unknown")));
}

const FactsSection& facts(const Document& document) {
  static const FactsSection kNone;
  for (const auto& section : document.sections) {
    if (const auto* found = std::get_if<FactsSection>(&section)) return *found;
  }
  ADD_FAILURE() << "no facts";
  return kNone;
}

const Cell* fact(const Document& document, std::string_view key) {
  for (const Fact& candidate : facts(document).facts) {
    if (candidate.key == key) return &candidate.value;
  }
  return nullptr;
}

TEST(BomView, NamesTheLongestLeadTimeAndLatestOrderDates) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  const Prices table = prices(*loaded, kEverything);
  const Document view = bom_view(*loaded->cluster, make_bom(*loaded->cluster, &table), &table);
  ASSERT_NE(fact(view, "longest_lead_time_s"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(fact(view, "longest_lead_time_s")->value), 16 * 7 * 86'400);
  EXPECT_EQ(std::get<std::string>(fact(view, "gating_items")->value), "sn5600");
  const auto& lines = std::get<TableSection>(view.sections.front());
  for (const auto& row : lines.rows) {
    if (std::get<std::string>(row[3].value) == "hgx-h100") {
      EXPECT_EQ(row[10].shown, "week 6");  // 16 - 10
    }
  }
}

TEST(BomView, ComparesTheOutOfBandShareWithTheGuideline) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  Bom bom = make_bom(*loaded->cluster, nullptr);
  const Prices table = prices(*loaded, kEverything);
  bom.network_total = Money(100'000'00);
  const auto notes = [&](std::int64_t oob) {
    bom.oob_total = Money(oob * 100);
    return bom_view(*loaded->cluster, bom, &table).notes;
  };
  // x more of both is 3 %: (1000 + x) / (100000 + x) = 0.03, so x = 2000 / 0.97.
  EXPECT_THAT(notes(1000), Contains(testing::AllOf(HasSubstr("takes 1.0 %"), HasSubstr("Another 2,061"))));
  EXPECT_THAT(notes(4000), testing::Not(Contains(HasSubstr("guideline is 3-5 %"))));
  EXPECT_THAT(notes(8000), Contains(HasSubstr("takes 8.0 %")));
}

TEST(BomView, ListsItemsWithoutPrices) {
  const auto loaded = load(kSmall);
  ASSERT_NE(loaded->cluster, nullptr);
  const Document view = bom_view(*loaded->cluster, make_bom(*loaded->cluster, nullptr), nullptr);
  EXPECT_THAT(view.notes, Contains(HasSubstr("12 to 16 weeks")));
  EXPECT_EQ(fact(view, "total_cents"), nullptr);
}

}  // namespace
}  // namespace weft::design

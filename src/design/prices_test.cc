#include "design/prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"

namespace weft::design {
namespace {

using testing::HasSubstr;

struct Read {
  std::optional<Prices> prices;
  std::string errors;
};

Read read(std::string text) {
  const auto loaded = model::load_catalog({});
  EXPECT_NE(loaded->catalog, nullptr);
  Read out;
  Diagnostics diagnostics;
  const FileId file = loaded->sources.add("prices.yaml", std::move(text));
  const auto root = parse_yaml(loaded->sources, file, diagnostics);
  if (root) out.prices = read_prices(*root, *loaded->catalog, diagnostics);
  out.errors = render_all(diagnostics, loaded->sources, false);
  return out;
}

TEST(Prices, ReadsItemsAndCategories) {
  const Read result = read(
      "currency: EUR\n"
      "items:\n"
      "  - {item: sn5600, price: 60000.50, lead_time: 14w}\n"
      "  - {item: switch, price: 1000}\n"
      "  - {item: cable, lead_time: 2w}\n");
  ASSERT_TRUE(result.prices.has_value()) << result.errors;
  EXPECT_EQ(*result.prices->currency, "EUR");
  EXPECT_EQ(result.prices->find("sn5600", "switch")->price->count(), 6'000'050);
  EXPECT_EQ(result.prices->find("qm9700", "switch")->price->count(), 100'000);
  EXPECT_EQ(result.prices->find("dgx-h100", "server"), nullptr);
  EXPECT_FALSE(result.prices->find("any", "cable")->price.has_value());
}

TEST(Prices, ItemOverridesItsCategoryInAnyOrder) {
  const Read result = read("items: [{item: switch, price: 1}, {item: sn5600, price: 2}]\n");
  ASSERT_TRUE(result.prices.has_value()) << result.errors;
  EXPECT_EQ(result.prices->find("sn5600", "switch")->price->count(), 200);
  EXPECT_EQ(*result.prices->currency, "USD");
}

TEST(Prices, UnknownItemsAreErrorsWithASuggestion) {
  const Read result = read("items: [{item: sn5601, price: 1}]\n");
  EXPECT_FALSE(result.prices.has_value());
  EXPECT_THAT(result.errors, HasSubstr("prices.yaml:1:16: error: unknown item `sn5601`"));
  EXPECT_THAT(result.errors, HasSubstr("did you mean `sn5600`?"));
}

TEST(Prices, NicIsPartOfItsServer) {
  const Read result = read("items: [{item: connectx-7, price: 1}]\n");
  EXPECT_FALSE(result.prices.has_value());
  EXPECT_THAT(result.errors, HasSubstr("included in a server"));
}

TEST(Prices, RejectsDuplicatesAndEmptyEntries) {
  const Read twice = read("items: [{item: sn5600, price: 1}, {item: sn5600, price: 2}]\n");
  EXPECT_FALSE(twice.prices.has_value());
  EXPECT_THAT(twice.errors, HasSubstr("`sn5600` is listed twice"));
  EXPECT_THAT(read("items: [{item: sn5600}]\n").errors, HasSubstr("neither a price nor a lead time"));
  EXPECT_THAT(read("items: [{price: 1}]\n").errors, HasSubstr("item"));
  EXPECT_THAT(read("currency: ''\nitems: []\n").errors, HasSubstr("currency is empty"));
}

TEST(Prices, RejectsInvalidFiles) {
  EXPECT_FALSE(read("").prices.has_value());
  EXPECT_FALSE(read("[1, 2]\n").prices.has_value());
  EXPECT_FALSE(read("items: {item: sn5600}\n").prices.has_value());
  EXPECT_FALSE(read("items: [{item: sn5600, price: -1}]\n").prices.has_value());
  EXPECT_FALSE(read("items: []\nprices: []\n").prices.has_value());
}

TEST(Prices, ExampleIsValidAndFollowsTheRuleForRdmaSwitches) {
  const auto text = read_file(source_dir() + "/examples/prices.yaml");
  ASSERT_TRUE(text.ok());
  const Read result = read(*text);
  ASSERT_TRUE(result.prices.has_value()) << result.errors;
  constexpr Duration kWeek(7 * 86'400'000'000'000);
  for (const char* id : {"qm9700", "q3400", "sn5600", "sn5400", "sn4700", "nexus-9364d-gx2a", "th5-64x800"}) {
    const PriceItem* item = result.prices->find(id, "switch");
    EXPECT_GE(*item->lead_time, 12 * kWeek) << id;
    EXPECT_LE(*item->lead_time, 16 * kWeek) << id;
  }
  for (const char* category : {"switch", "storage", "server", "manager", "transceiver", "cable", "pdu", "rack"}) {
    ASSERT_NE(result.prices->find(category, category), nullptr) << category;
    EXPECT_TRUE(result.prices->find(category, category)->price.has_value()) << category;
  }
}

}  // namespace
}  // namespace weft::design

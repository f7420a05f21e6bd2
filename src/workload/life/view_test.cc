#include "workload/life/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "workload/life/view_cells.h"
#include "workload/result/life_sample.h"

namespace weft::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::Not;

YamlNode as_json(const Document& document) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("life.json", write(document, {.format = OutputFormat::json}));
  std::optional<YamlNode> node = parse_json(sources, file, diagnostics);
  EXPECT_TRUE(node.has_value()) << render_all(diagnostics, sources, false);
  return node.value_or(YamlNode());
}

double number(const YamlNode* node) { return node == nullptr ? -1 : std::stod(node->scalar); }

TEST(LifeCells, Times) {
  EXPECT_EQ(format_time(sample::ms(1460)), "1.46 s");
  EXPECT_EQ(format_time(SimTime(999'960'000)), "1 ms");
  EXPECT_EQ(format_time(sample::ms(195'000)), "3.25 min");
  EXPECT_EQ(format_time(sample::ms(3'600'000)), "1 h");
  EXPECT_EQ(format_time(sample::ms(86'400'000) * 12), "12 days");
  EXPECT_EQ(format_time(Duration(86'400'000'000'000 * 200)), "200 days");
  EXPECT_EQ(format_time(Duration(86'400'000'000'000 * 1'461)), "4 years");
  EXPECT_EQ(format_time(netsim::kNever), "never");
  EXPECT_EQ(format_time(SimTime()), "0 s");
}

TEST(LifeView, VerdictComesBeforeTheTables) {
  const std::string text = write(life_document(sample::life()), {});
  EXPECT_THAT(text, HasSubstr("Bounded by:  tensor communication"));
  EXPECT_THAT(text, HasSubstr("+10.4 %"));
  EXPECT_THAT(text.find("Verdict"), Lt(text.find("Key figures")));
  EXPECT_THAT(text.find("What to change"), Lt(text.find("Key figures")));
  EXPECT_THAT(text, HasSubstr("1.46 s"));
  EXPECT_THAT(text, HasSubstr("54.5 %"));
  EXPECT_THAT(text, HasSubstr("63.4 GB"));  // 4.41 + 8.83 + 3.31 + 41.2 + 5.6
  EXPECT_THAT(text, HasSubstr("RoCEv2 RDMA write"));
  EXPECT_THAT(text, HasSubstr("assumed: the registry"));
}

TEST(LifeView, DarkNetworksAreListed) {
  const std::string text = write(life_document(sample::life()), {});
  std::istringstream lines(text);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Submit, schedule") != std::string::npos) first = line;
  }
  std::size_t dark = 0;
  for (std::size_t i = first.find("dark"); i != std::string::npos; i = first.find("dark", i + 1)) ++dark;
  EXPECT_EQ(dark, 3U) << first;  // backend, storage, NVLink
  EXPECT_THAT(first, HasSubstr("14.2 %"));
}

TEST(LifeView, JsonHasRawValuesUnderKeysWithUnits) {
  const YamlNode root = as_json(life_document(sample::life()));
  ASSERT_NE(root.find("figures"), nullptr);
  EXPECT_DOUBLE_EQ(number(root.find("figures")->find("step_s")), 1.46);
  EXPECT_DOUBLE_EQ(number(root.find("figures")->find("mfu_percent")), 54.5);
  ASSERT_NE(root.find("states"), nullptr);
  ASSERT_EQ(root.find("states")->items.size(), 5U);
  const YamlNode& first = root.find("states")->items[0];
  EXPECT_DOUBLE_EQ(number(first.find("duration_s")), 74.2);
  EXPECT_DOUBLE_EQ(number(first.find("frontend_peak_percent")), 91);
  EXPECT_DOUBLE_EQ(number(first.find("frontend_bytes")), 319'500'000'000);
  EXPECT_EQ(first.find("dark")->scalar, "backend, storage, nvlink");
  EXPECT_EQ(root.find("events")->items.size(), 5U + 4 + 3 + 2 + 3);
  EXPECT_EQ(root.find("changes")->items.size(), 3U);
  EXPECT_EQ(root.find("job")->find("trace_hash"), nullptr);
  EXPECT_EQ(root.find("figures")->find("trace_hash")->scalar, "1234abcd5678ef90");
}

TEST(LifeView, PartsAddUpToTheStep) {
  const YamlNode root = as_json(life_document(sample::life()));
  double sum = 0;
  double share = 0;
  double step = 0;
  for (const YamlNode& row : root.find("step_parts")->items) {
    if (row.find("part")->scalar == "step") {
      step = number(row.find("time_s"));
      continue;
    }
    sum += number(row.find("time_s"));
    share += number(row.find("share_percent"));
  }
  EXPECT_NEAR(sum, step, 1e-9);
  EXPECT_NEAR(share, 100, 1e-2);
}

// Shares of a step of 0 s, of a GPU of 0 bytes and of networks without capacity are 0, not 0/0, which would be `null`
// in JSON.
TEST(LifeView, EmptyResultIsShown) {
  const Document document = life_document(LifeResult());
  const YamlNode root = as_json(document);
  for (const char* figure : {"step_s", "tokens_per_s", "mfu_percent", "hfu_percent", "checkpoint_overhead_percent"}) {
    const YamlNode* value = root.find("figures")->find(figure);
    ASSERT_NE(value, nullptr) << figure;
    EXPECT_EQ(value->scalar, "0") << figure;
  }
  ASSERT_EQ(root.find("states")->items.size(), 5U);
  for (const YamlNode& state : root.find("states")->items) {
    for (const YamlEntry& entry : state.entries) {
      if (!entry.key.ends_with("_percent") && !entry.key.ends_with("_s") && !entry.key.ends_with("_bytes")) continue;
      EXPECT_EQ(entry.value.scalar, "0") << entry.key;
    }
  }
  EXPECT_TRUE(root.find("events")->items.empty());
  for (const OutputFormat format :
       {OutputFormat::table, OutputFormat::wide, OutputFormat::json, OutputFormat::csv, OutputFormat::ndjson}) {
    const std::string text = write(document, {.format = format});
    EXPECT_FALSE(text.empty());
    for (const char* wrong : {"nan", "inf", "null"}) EXPECT_THAT(text, Not(HasSubstr(wrong))) << text;
  }
}

}  // namespace
}  // namespace weft::workload

#include "oob/manage/metrics_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<Target> machines(int count) {
  std::vector<Target> targets;
  for (int i = 1; i <= count; ++i) {
    targets.push_back(fake_target(fmt::format("node{}", i)));
    targets.back().model = "hgx";
  }
  return targets;
}

Metric metric_of(const std::string& part, const std::string& name, const std::string& value,
                 const std::string& time = "2026-01-02T03:04:05Z") {
  return {"report", part, name, value, time, false};
}

TEST(MetricNumber, NumbersAndDurations) {
  const auto value = [](std::string_view text) -> std::optional<double> {
    const std::optional<MetricNumber> number = metric_number(text);
    return number ? std::optional(number->value) : std::nullopt;
  };
  EXPECT_EQ(value("33.604000"), 33.604);
  EXPECT_EQ(value("-4"), -4);
  EXPECT_EQ(value("1e3"), 1000);
  EXPECT_EQ(value("PT0S"), 0);
  EXPECT_EQ(value("PT1M30.5S"), 90.5);
  EXPECT_EQ(value("P2DT3H"), 183'600);
  EXPECT_EQ(value("P1W"), 604'800);
  EXPECT_TRUE(metric_number("PT5S")->is_duration);
  for (const char* text :
       {"", "nan", "inf", "-inf", "1e999", "12 W", "P", "PT", "P1Y", "PT1D", "P1DT", "PTS", "LinkUp"})
    EXPECT_EQ(value(text), std::nullopt) << text;
}

TEST(MetricFleet, EqualPartsShareARow) {
  const Inventory inventory(machines(3), {});
  MetricFleet fleet(inventory, "", false);
  for (std::uint32_t target = 0; target < 3; ++target) {
    MetricReports reports;
    for (int gpu = 0; gpu < 4; ++gpu) {
      const bool slow = target == 1 && gpu == 2;
      const std::string part = fmt::format("GPU_{}", gpu);
      reports.metrics.push_back(metric_of(part, "Speed", slow ? "900.0" : "1980"));
      reports.metrics.push_back(metric_of(part, "Throttled", slow ? "PT7S" : "PT0S"));
      reports.metrics.push_back(metric_of(part, "State", slow ? "Throttling" : "Normal"));
      reports.metrics.push_back(metric_of(part, "Errors", "nan"));
      reports.metrics.push_back(metric_of(part, "Limit", "700"));
    }
    fleet.add(target, reports);
  }
  const std::string text = write(metrics_document(inventory, fleet, {}), {});
  EXPECT_THAT(text, testing::ContainsRegex("Speed +GPU_\\* +12 +900 +1,?980 +1,?980 +node2 GPU_2"));
  EXPECT_THAT(text, testing::ContainsRegex("Throttled +GPU_\\* +12 +0 s +0 s +7 s +node2 GPU_2"));
  EXPECT_THAT(text, testing::ContainsRegex("State +GPU_\\* +Throttling +1 +node2 GPU_2"));
  EXPECT_THAT(text, testing::ContainsRegex("State +GPU_\\* +Normal +11 +node\\[1-3\\] \\(11\\)"));
  EXPECT_LT(text.find("Throttled"), text.find("Limit")) << "what differs comes first";
  EXPECT_THAT(text, HasSubstr("12 metrics without a reading"));
  EXPECT_THAT(text, Not(HasSubstr("Errors")));
}

TEST(MetricFleet, InstancesOfAPartShareARow) {
  const Inventory inventory(machines(1), {});
  MetricFleet fleet(inventory, "", false);
  MetricReports reports;
  for (int core = 0; core < 72; ++core)
    reports.metrics.push_back(metric_of("CPU_0", fmt::format("Module_0_CPU_0_CoreUtil_{}", core), "1"));
  for (int sensor = 0; sensor < 2; ++sensor)
    reports.metrics.push_back(metric_of("GPU_0", fmt::format("TEMP_{}", sensor), "40"));
  fleet.add(0, reports);
  std::vector<std::string> names;
  for (const MetricFleet::Series& series : fleet.series())
    names.push_back(fmt::format("{} {} {}", series.part, series.name, series.samples.size()));
  EXPECT_THAT(names, ElementsAre("CPU_* Module_*_CPU_*_CoreUtil_* 72", "GPU_* TEMP_0 1", "GPU_* TEMP_1 1"))
      << "two sensors of a GPU may measure different things";
}

TEST(MetricFleet, TheLatestOfAHistory) {
  const Inventory inventory(machines(1), {});
  MetricFleet fleet(inventory, "", true);
  fleet.add(0, {{metric_of("Chassis 1", "MaxPower", "2100", "2026-01-02T01:00:00Z"),
                 metric_of("Chassis 1", "MaxPower", "2300", "2026-01-02T03:00:00Z"),
                 metric_of("Chassis 1", "MaxPower", "2200", "2026-01-02T02:00:00Z")},
                {}});
  ASSERT_EQ(fleet.series().size(), 1U);
  EXPECT_EQ(fleet.series().front().samples.size(), 1U);
  EXPECT_EQ(fleet.series().front().samples.front().text, "2300");
  EXPECT_EQ(fleet.rows().size(), 3U);
}

TEST(MetricFleet, WhatIsChosenAndWhatIsMissing) {
  const Inventory inventory(machines(3), {});
  MetricFleet fleet(inventory, "ecc", true);
  fleet.add(1, {{metric_of("GPU_0", "CorrectableECCErrorCount", "0"), metric_of("GPU_0", "Speed", "1")},
                {{"Broken", {ErrorCode::timeout, "timed out", {}}}}});
  fleet.add_without_telemetry(2);
  fleet.add_without_telemetry(0);
  EXPECT_EQ(fleet.rows().size(), 1U);
  EXPECT_THAT(fleet.without_telemetry(), ElementsAre(0, 2));
  ASSERT_EQ(fleet.unread().size(), 1U);
  EXPECT_EQ(fleet.unread().front().report, "Broken");
  OutputStyle json;
  json.format = OutputFormat::json;
  const std::string text = write(metric_rows(inventory, fleet, {}), json);
  EXPECT_THAT(text, HasSubstr("\"CorrectableECCErrorCount\""));
  EXPECT_THAT(text, HasSubstr("2 devices without telemetry: node[1,3]"));
}

TEST(MetricFleet, NothingToShowIsExplained) {
  const Inventory inventory(machines(1), {});
  MetricFleet fleet(inventory, "nosuch", false);
  EXPECT_THAT(metrics_document(inventory, fleet, {}).notes, IsEmpty()) << "no device answered";
  fleet.add(0, {});
  EXPECT_THAT(metrics_document(inventory, fleet, {}).notes, ElementsAre("no report has a value"));
  fleet.add(0, {{metric_of("GPU_0", "Speed", "1"), metric_of("GPU_1", "Speed", "1")}, {}});
  EXPECT_THAT(metrics_document(inventory, fleet, {}).sections, IsEmpty());
  EXPECT_THAT(metrics_document(inventory, fleet, {}).notes,
              ElementsAre("2 values were read; none has `nosuch` in its name or part"));
}

}  // namespace
}  // namespace weft::oob

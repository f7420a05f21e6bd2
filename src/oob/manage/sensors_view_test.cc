#include "oob/manage/sensors_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Inventory machines(int count) {
  std::vector<Target> targets;
  for (int i = 1; i <= count; ++i) {
    targets.push_back(fake_target(fmt::format("train{:02}", i)));
    targets.back().model = "hgx-h100";
  }
  return {std::move(targets), {}};
}

SensorReading inlet(double celsius, Health health = Health::ok) {
  return {"Inlet Temp", "temperature", celsius, "C", health, 45, std::nullopt};
}

// Worked example of Iglewicz and Hoaglin (1993): median 3.15, MAD about 0.44; only 10.7 is an outlier.
TEST(SensorOutliers, FarValueIsFound) {
  const std::vector<double> values = {2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3};
  // Median 2.45, median of the distances 0.15: 8.2 is (5.75 / 0.22239) = 25.9 away.
  EXPECT_THAT(outliers_of(values), ElementsAre(8, 9));
}

TEST(SensorOutliers, ThresholdIsStrictlyAboveThreeAndAHalf) {
  // Five at -1, five at 1 and the value under test: median 1 or less by one step; MAD is 1 by algebra for x beyond 1.
  std::vector<double> values = {-1, -1, -1, -1, -1, 0, 1, 1, 1, 1, 1};
  values[5] = 0;
  EXPECT_THAT(outliers_of(values), IsEmpty());
  values.insert(values.end(), {0, -1, 1, 3.5 * 1.4826 + 0.01});
  values.push_back(-(3.5 * 1.4826) + 0.01);
  // Median 0, MAD 1: the first is beyond 3.5 x 1.4826, the second not.
  EXPECT_THAT(outliers_of(values), ElementsAre(14));
}

TEST(SensorOutliers, EqualValuesHaveNone) { EXPECT_THAT(outliers_of(std::vector<double>(50, 25.0)), IsEmpty()); }

TEST(SensorOutliers, MeanDeviationIsUsedIfMostValuesAreEqual) {
  std::vector<double> values(99, 25.0);
  values.push_back(90.0);
  EXPECT_THAT(outliers_of(values), ElementsAre(99));
  std::vector<double> steps(60, 25.0);
  steps.insert(steps.end(), 40, 26.0);  // one step of the sensor: 1 / (1.2533 x 0.4) = 2
  EXPECT_THAT(outliers_of(steps), IsEmpty());
}

TEST(SensorOutliers, FewValuesHaveNone) {
  EXPECT_THAT(outliers_of({1, 1, 1, 1, 1, 1, 1, 1, 1000}), IsEmpty());
  EXPECT_THAT(outliers_of({}), IsEmpty());
}

TEST(Sensors, LowestMedianAndHighestAreShownWithDevices) {
  const Inventory inventory = machines(4);
  SensorFleet fleet(inventory);
  fleet.add(2, {inlet(31)});
  fleet.add(0, {inlet(24)});
  fleet.add(3, {inlet(28)});
  fleet.add(1, {inlet(25)});
  const std::vector<SensorSeries> series = fleet.series("");
  ASSERT_EQ(series.size(), 1U);
  const SensorSummary summary = summarize(series[0]);
  EXPECT_EQ(summary.lowest, 24);
  EXPECT_EQ(summary.median, 26.5);
  EXPECT_EQ(summary.highest, 31);
  EXPECT_EQ(summary.highest_at, 2U);
  EXPECT_EQ(fleet.limits(series[0].samples[0].limits).high_critical, 45);
}

TEST(Sensors, NonNumbersAreUnreadable) {
  const Inventory inventory = machines(3);
  SensorFleet fleet(inventory);
  fleet.add(0, {inlet(std::numeric_limits<double>::quiet_NaN())});
  fleet.add(1, {inlet(std::numeric_limits<double>::infinity())});
  fleet.add(2, {{"Inlet Temp", "temperature", std::nullopt, "C", Health::unknown, std::nullopt, std::nullopt}});
  const SensorSummary summary = summarize(fleet.series("")[0]);
  EXPECT_THAT(summary.unreadable, ElementsAre(0, 1, 2));
  EXPECT_FALSE(summary.median.has_value());
}

TEST(Sensors, RowsAreCriticalThenWarningsThenOutliers) {
  const Inventory inventory = machines(12);
  SensorFleet fleet(inventory);
  for (std::uint32_t i = 0; i < 12; ++i) {
    const SensorReading fan{"Fan 1",      "fan",       i == 7 ? 2'000.0 : 9'000.0 + i, "RPM", Health::ok,
                            std::nullopt, std::nullopt};
    const SensorReading calm{"Calm", "voltage", 12.0, "V", Health::ok, std::nullopt, std::nullopt};
    const SensorReading hot{"Zone", "temperature", 50.0, "C", i == 3 ? Health::critical : Health::ok, 90, std::nullopt};
    fleet.add(i, {fan, calm, hot, inlet(25, i < 2 ? Health::warning : Health::ok)});
  }
  const SensorsReport report = sensors_report(inventory, fleet, "", false, {});
  EXPECT_TRUE(report.critical);
  const auto& table = std::get<TableSection>(report.document.sections.at(0));
  std::vector<std::string> names;
  for (const auto& row : table.rows) names.push_back(std::get<std::string>(row[0].value));
  EXPECT_THAT(names, ElementsAre("Zone", "Inlet Temp", "Fan 1", "Calm"));
  const std::string text = write(report.document, {});
  EXPECT_THAT(text, HasSubstr("train[01-02]"));
  EXPECT_THAT(text, HasSubstr("train08"));
  EXPECT_THAT(text, HasSubstr("1 reading is further"));
  const SensorsReport bad = sensors_report(inventory, fleet, "", true, {});
  EXPECT_EQ(std::get<TableSection>(bad.document.sections.at(0)).rows.size(), 3U);
  const SensorsReport fans = sensors_report(inventory, fleet, "fan", false, {});
  EXPECT_FALSE(fans.critical);
  EXPECT_EQ(std::get<TableSection>(fans.document.sections.at(0)).rows.size(), 1U);
}

TEST(Sensors, MachineRowsNameDeviceAndSensor) {
  const Inventory inventory = machines(2);
  SensorFleet fleet(inventory);
  fleet.add(1, {inlet(47, Health::critical)});
  fleet.add(0, {inlet(25)});
  const SensorsReport all = sensor_rows(inventory, fleet, "", false, {});
  const std::string text = write(all.document, {.format = OutputFormat::ndjson});
  EXPECT_THAT(text, HasSubstr("\"device\":\"train01\""));
  EXPECT_LT(text.find("train01"), text.find("train02"));
  EXPECT_TRUE(all.critical);
  const SensorsReport bad = sensor_rows(inventory, fleet, "", true, {});
  EXPECT_EQ(std::get<TableSection>(bad.document.sections.at(0)).rows.size(), 1U);
}

TEST(Sensors, ModelsAreNotMixed) {
  std::vector<Target> targets{fake_target("a"), fake_target("b")};
  targets[0].model = "hgx-h100";
  targets[1].model = "control-1u";
  const Inventory inventory(std::move(targets), {});
  SensorFleet fleet(inventory);
  fleet.add(0, {inlet(25)});
  fleet.add(1, {inlet(35)});
  EXPECT_EQ(fleet.series("").size(), 2U);
}

TEST(Sensors, NumberOfSensorsIsBounded) {
  const Inventory inventory = machines(1);
  SensorFleet fleet(inventory);
  std::vector<SensorReading> readings;
  for (int i = 0; i < 10'000; ++i) readings.push_back({fmt::format("s{}", i), "fan", 1.0, "RPM", Health::ok, {}, {}});
  fleet.add(0, readings);
  EXPECT_EQ(fleet.series("").size(), 4096U);
}

}  // namespace
}  // namespace weft::oob

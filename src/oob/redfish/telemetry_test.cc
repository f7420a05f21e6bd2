#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"
#include "oob/redfish/test_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;

TEST(MetricPlace, ResourcesAndProperties) {
  const auto told = [](std::string_view property) {
    const MetricPlace place = metric_place(property);
    return place.part + " | " + place.name;
  };
  EXPECT_EQ(told("/redfish/v1/Systems/HGX_Baseboard_0/Processors/GPU_2/ProcessorMetrics#/CacheMetricsTotal/LifeTime/"
                 "UncorrectableECCErrorCount"),
            "GPU_2 | CacheMetricsTotal/LifeTime/UncorrectableECCErrorCount");
  EXPECT_EQ(
      told("/redfish/v1/Systems/B/Processors/GPU_0/Ports/NVLink_17/Metrics#/Oem/Nvidia/NVLinkErrors/RuntimeError"),
      "GPU_0/NVLink_17 | NVLinkErrors/RuntimeError");
  EXPECT_EQ(told("/redfish/v1/Systems/B/Processors/GPU_0/Oem/Nvidia/ProcessorResetMetrics#/LastResetType"),
            "GPU_0 | LastResetType");
  EXPECT_EQ(told("/redfish/v1/Chassis/HGX_GPU_SXM_1/Sensors/HGX_GPU_SXM_1_Power_0"), "HGX_GPU_SXM_1 | Power_0");
  EXPECT_EQ(told("/redfish/v1/Chassis/CPU_0/Sensors/Module_0_Temp_0"), "CPU_0 | Module_0_Temp_0");
  EXPECT_EQ(told("/redfish/v1/Chassis/1/Power#/PowerControl/0"), "Chassis 1 | PowerControl/0");
  EXPECT_EQ(told("/redfish/v1/Systems/B/Processors/Link_0/Ports/#/Status/State"), "Link_0 | Status/State");
  EXPECT_EQ(told(""), " | ");
  EXPECT_EQ(told("#/Oem"), " | Oem");
}

class TelemetryTest : public RedfishBmcTest {
 protected:
  void offer(const std::string& service) {
    service_->merge("/redfish/v1/", R"({"TelemetryService": {"@odata.id": "/redfish/v1/TelemetryService"}})");
    service_->put("/redfish/v1/TelemetryService", service);
  }
};

TEST_F(TelemetryTest, ReportsAndOnesThatCannotBeRead) {
  serve();
  offer(R"({"MetricReports": {"@odata.id": "/redfish/v1/TelemetryService/MetricReports"}})");
  service_->collection("/redfish/v1/TelemetryService/MetricReports", {"/redfish/v1/TelemetryService/MetricReports/A",
                                                                      "/redfish/v1/TelemetryService/MetricReports/B"});
  service_->put("/redfish/v1/TelemetryService/MetricReports/A", R"({"Id": "A", "MetricValues": [
    {"MetricId": "MeanPower", "MetricProperty": "/redfish/v1/Chassis/1/Power#/PowerControl/0", "MetricValue": "2159",
     "Timestamp": "2026-01-02T03:04:05Z"},
    {"MetricProperty": "/redfish/v1/Systems/B/Processors/GPU_0/ProcessorMetrics#/Speed", "MetricValue": 1980.5,
     "Oem": {"Nvidia": {"MetricValueStale": true}}},
    {"MetricProperty": "/redfish/v1/Systems/B/Processors/GPU_0#/X", "MetricValue": null}, {"MetricValue": "1"}, 7]})");
  const Result<MetricReports> reports = bmc().metrics();
  ASSERT_TRUE(reports.ok()) << reports.error().text();
  std::vector<std::string> all;
  for (const Metric& one : reports->metrics)
    all.push_back(fmt::format("{} {} {} {} {} {}", one.report, one.part, one.name, one.value, one.time, one.stale));
  EXPECT_THAT(all, ElementsAre("A Chassis 1 MeanPower 2159 2026-01-02T03:04:05Z false", "A GPU_0 Speed 1980.5  true"));
  ASSERT_EQ(reports->unread.size(), 1U);
  EXPECT_EQ(reports->unread.front().report, "B");
}

TEST_F(TelemetryTest, WithoutTelemetry) {
  serve();
  EXPECT_EQ(bmc().metrics().error().code, ErrorCode::not_found);
  for (const char* service : {"{}", R"({"ServiceEnabled": false, "MetricReports": {"@odata.id": "/redfish/v1/x"}})"}) {
    bmc_.reset();
    serve();
    offer(service);
    EXPECT_EQ(bmc().metrics().error().code, ErrorCode::not_found) << service;
  }
}

}  // namespace
}  // namespace weft::oob

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "oob/redfish/test_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;

TEST_F(RedfishBmcTest, ReadsSensorsOneByOneOrExpanded) {
  serve();
  service_->collection("/redfish/v1/Chassis", {"/redfish/v1/Chassis/1"});
  service_->put("/redfish/v1/Chassis/1", R"({"@odata.id": "/redfish/v1/Chassis/1",
    "Sensors": {"@odata.id": "/redfish/v1/Chassis/1/Sensors"}})");
  const std::string inlet = R"({"@odata.id": "/redfish/v1/Chassis/1/Sensors/Inlet", "Name": "Inlet", "Reading": 23.5,
    "ReadingType": "Temperature", "ReadingUnits": "Cel", "Status": {"Health": "OK"},
    "Thresholds": {"UpperCritical": {"Reading": 45}, "LowerCritical": {"Reading": 3}}})";
  const std::string fan = R"({"@odata.id": "/redfish/v1/Chassis/1/Sensors/Fan", "Id": "Fan", "Reading": null,
    "ReadingType": "Rotational", "ReadingUnits": "{rev}/min", "Status": {"Health": "Critical", "State": "Enabled"}})";
  service_->put("/redfish/v1/Chassis/1/Sensors/Inlet", inlet);
  service_->put("/redfish/v1/Chassis/1/Sensors/Fan", fan);
  service_->collection("/redfish/v1/Chassis/1/Sensors",
                       {"/redfish/v1/Chassis/1/Sensors/Inlet", "/redfish/v1/Chassis/1/Sensors/Gone",
                        "/redfish/v1/Chassis/1/Sensors/Fan"});
  for (const bool expand : {false, true}) {
    if (expand) {
      service_->merge("/redfish/v1/",
                      R"({"ProtocolFeaturesSupported": {"ExpandQuery": {"NoLinks": true, "Levels": true}}})");
      service_->put("/redfish/v1/Chassis/1/Sensors", "{\"Members\": [" + inlet + "," + fan + "]}");
      bmc_.reset();
    }
    const Result<std::vector<SensorReading>> sensors = bmc().sensors();
    ASSERT_TRUE(sensors.ok()) << sensors.error().text();
    ASSERT_EQ(sensors->size(), 2U);
    EXPECT_EQ(sensors->at(0).name, "Inlet");
    EXPECT_EQ(sensors->at(0).kind, "temperature");
    EXPECT_EQ(sensors->at(0).value, 23.5);
    EXPECT_EQ(sensors->at(0).unit, "C");
    EXPECT_EQ(sensors->at(0).health, Health::ok);
    EXPECT_EQ(sensors->at(0).high_critical, 45);
    EXPECT_EQ(sensors->at(0).low_critical, 3);
    EXPECT_EQ(sensors->at(1).name, "Fan");
    EXPECT_EQ(sensors->at(1).kind, "fan");
    EXPECT_EQ(sensors->at(1).value, std::nullopt);
    EXPECT_EQ(sensors->at(1).unit, "RPM");
    EXPECT_EQ(sensors->at(1).health, Health::critical);
  }
  EXPECT_EQ(service_->server().count("GET", "/redfish/v1/Chassis/1/Sensors?$expand=.($levels=1)"), 1);
}

// A stored mockup of a service with pages, as DMTF's mockup server serves it: the first page has all members, expanded;
// the next ones have some of them again, as links.
TEST_F(RedfishBmcTest, PagesThatOverlapHaveEachSensorOnce) {
  serve();
  service_->collection("/redfish/v1/Chassis", {"/redfish/v1/Chassis/1"});
  service_->put("/redfish/v1/Chassis/1", R"({"@odata.id": "/redfish/v1/Chassis/1",
    "Sensors": {"@odata.id": "/redfish/v1/Chassis/1/Sensors"}})");
  service_->put("/redfish/v1/Chassis/1/Sensors", R"({"Members": [
    {"@odata.id": "/redfish/v1/s/1", "Id": "1", "Name": "Inlet", "Reading": 20, "ReadingUnits": "Cel"},
    {"@odata.id": "/redfish/v1/s/2", "Id": "2", "Name": "Outlet", "Reading": 30, "ReadingUnits": "Cel"}],
    "Members@odata.nextLink": "/redfish/v1/Chassis/1/More"})");
  service_->put("/redfish/v1/Chassis/1/More", R"({"Members": [
    {"@odata.id": "/redfish/v1/s/2"}, {"@odata.id": "/redfish/v1/s/3"}]})");
  service_->put("/redfish/v1/s/2", R"({"Id": "2", "Name": "Outlet", "Reading": 30, "ReadingUnits": "Cel"})");
  service_->put("/redfish/v1/s/3", R"({"Id": "3", "Name": "CPU", "Reading": 40, "ReadingUnits": "Cel"})");
  const Result<std::vector<SensorReading>> sensors = bmc().sensors();
  ASSERT_TRUE(sensors.ok()) << sensors.error().text();
  std::vector<std::string> names;
  for (const SensorReading& sensor : *sensors) names.push_back(sensor.name);
  EXPECT_THAT(names, testing::ElementsAre("Inlet", "Outlet", "CPU"));
}

TEST_F(RedfishBmcTest, SensorsThermalAndPowerAreOneList) {
  serve();
  service_->collection("/redfish/v1/Chassis",
                       {"/redfish/v1/Chassis/Box", "/redfish/v1/Chassis/Board", "/redfish/v1/Chassis/Disks"});
  service_->put("/redfish/v1/Chassis/Box", R"({"@odata.id": "/redfish/v1/Chassis/Box",
    "Sensors": {"@odata.id": "/redfish/v1/Chassis/Box/Sensors"}, "Thermal": {"@odata.id": "/redfish/v1/Chassis/Box/Thermal"}})");
  service_->put("/redfish/v1/Chassis/Board", R"({"@odata.id": "/redfish/v1/Chassis/Board",
    "Links": {"ContainedBy": {"@odata.id": "/redfish/v1/Chassis/Box"}},
    "Sensors": {"@odata.id": "/redfish/v1/Chassis/Board/Sensors"}})");
  service_->put("/redfish/v1/Chassis/Disks", R"({"@odata.id": "/redfish/v1/Chassis/Disks",
    "Thermal": {"@odata.id": "/redfish/v1/Chassis/Disks/Thermal"}})");
  service_->put("/redfish/v1/Chassis/Box/Sensors", R"({"Members": [
    {"@odata.id": "/redfish/v1/Chassis/Box/Sensors/1", "Name": "CPU", "ReadingType": "Temperature", "Reading": 50}]})");
  service_->put("/redfish/v1/Chassis/Board/Sensors", R"({"Members": [
    {"@odata.id": "/redfish/v1/Chassis/Board/Sensors/1", "Name": "CPU", "ReadingType": "Temperature", "Reading": 51},
    {"@odata.id": "/redfish/v1/Chassis/Board/Sensors/2", "Name": "CPU", "ReadingType": "Power", "Reading": 300}]})");
  service_->put("/redfish/v1/Chassis/Box/Thermal", R"({"Temperatures": [{"Name": "cpu", "ReadingCelsius": 52},
    {"Name": "Slot", "ReadingCelsius": 30}, {"Name": "Slot", "ReadingCelsius": 31}]})");
  service_->put("/redfish/v1/Chassis/Disks/Thermal", R"({"Temperatures": [{"Name": "CPU", "ReadingCelsius": 20},
    {"Name": "Bay", "ReadingCelsius": 0, "Status": {"State": "Absent", "Health": "Critical"}}]})");
  const Result<std::vector<SensorReading>> sensors = bmc().sensors();
  ASSERT_TRUE(sensors.ok()) << sensors.error().text();
  std::vector<std::string> lines;
  for (const SensorReading& one : *sensors) {
    lines.push_back(fmt::format("{} {} {}", one.name, one.kind, one.value ? fmt::format("{}", *one.value) : "-"));
    EXPECT_EQ(one.health, Health::unknown);
  }
  EXPECT_THAT(lines, ElementsAre("CPU temperature 50", "CPU power 300", "Slot temperature 30",
                                 "Slot (2) temperature 31", "CPU temperature 20", "Bay temperature -"));
}

TEST_F(RedfishBmcTest, OlderServicesHaveThermalAndPower) {
  serve();
  service_->collection("/redfish/v1/Chassis", {"/redfish/v1/Chassis/1"});
  service_->put("/redfish/v1/Chassis/1", R"({"@odata.id": "/redfish/v1/Chassis/1",
    "Thermal": {"@odata.id": "/redfish/v1/Chassis/1/Thermal"}, "Power": {"@odata.id": "/redfish/v1/Chassis/1/Power"}})");
  service_->put("/redfish/v1/Chassis/1/Thermal", R"({"Temperatures": [{"Name": "CPU1", "ReadingCelsius": 61,
    "UpperThresholdCritical": 90, "Status": {"Health": "Warning"}}, 3],
    "Fans": [{"FanName": "Fan 1", "Reading": 80, "ReadingUnits": "Percent"}]})");
  service_->put("/redfish/v1/Chassis/1/Power", R"({"PowerControl": [{"Name": "Server", "PowerConsumedWatts": 8000}],
    "Voltages": [{"Name": "12V", "ReadingVolts": 12.1}],
    "PowerSupplies": [{"Name": "PSU1", "LastPowerOutputWatts": 2600, "Status": {"State": "Absent"}}]})");
  const Result<std::vector<SensorReading>> sensors = bmc().sensors();
  ASSERT_TRUE(sensors.ok()) << sensors.error().text();
  std::vector<std::string> lines;
  for (const SensorReading& one : *sensors) {
    lines.push_back(
        fmt::format("{} {} {} {}", one.name, one.kind, one.value ? fmt::format("{}", *one.value) : "-", one.unit));
  }
  EXPECT_THAT(lines, ElementsAre("CPU1 temperature 61 C", "Fan 1 fan 80 %", "Server power 8000 W", "12V voltage 12.1 V",
                                 "PSU1 power - W"));
}

}  // namespace
}  // namespace weft::oob

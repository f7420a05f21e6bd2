#include "oob/redfish/bmc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "oob/bmc/connector.h"
#include "oob/redfish/test_service.h"

namespace weft::oob {
namespace {

using test::ServerAnswer;
using test::ServerRequest;
using test::TestService;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSystem = "/redfish/v1/Systems/1";
constexpr const char* kReset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
constexpr const char* kProtocol = "/redfish/v1/Managers/BMC/NetworkProtocol";

// A session on the test service; waits take no time.
class RedfishBmcTest : public testing::Test {
 protected:
  void serve(TestService::Hook hook = nullptr) { service_ = std::make_unique<TestService>(std::move(hook)); }
  Bmc& bmc() {
    if (bmc_ == nullptr) {
      Result<std::unique_ptr<Bmc>> dialled =
          dial_redfish(service_->endpoint(), TestService::kUser, Secret(TestService::kPassword), clock_);
      CHECK(dialled.ok(), "the test's service takes its own password");
      bmc_ = std::move(dialled).value();
    }
    return *bmc_;
  }
  void TearDown() override {
    bmc_.reset();
    EXPECT_EQ(service_->open_sessions(), 0U);
  }

  ManualClock clock_;
  std::unique_ptr<TestService> service_;
  std::unique_ptr<Bmc> bmc_;
};

TEST_F(RedfishBmcTest, ReportsIdentity) {
  serve();
  const Result<BmcIdentity> identity = bmc().identity();
  ASSERT_TRUE(identity.ok()) << identity.error().text();
  EXPECT_EQ(*identity, (BmcIdentity{"Contoso", "3500RX", "437XR1138R2", "38947555-7742-3448-3784-823347823834",
                                    "1.45.455b66-rev4", "P79 v1.45"}));
}

TEST_F(RedfishBmcTest, ReadsPowerInFewRequests) {
  serve();
  Result<PowerReading> power = bmc().power();
  ASSERT_TRUE(power.ok()) << power.error().text();
  EXPECT_EQ(power->state, PowerState::on);
  EXPECT_EQ(power->boot_id, "2026-01-02T03:04:05Z");
  EXPECT_EQ(power->boot_progress, "OSRunning");
  EXPECT_EQ(service_->server().requests().size(), 4U);  // root, login, Systems, the system
  service_->merge(kSystem, R"({"PowerState": "PoweringOff"})");
  power = bmc().power();
  ASSERT_TRUE(power.ok());
  EXPECT_EQ(power->state, PowerState::powering_off);
  EXPECT_EQ(service_->server().requests().size(), 5U);
}

TEST_F(RedfishBmcTest, OffersTheResetsOfTheBmc) {
  serve();
  const Result<std::vector<ResetAction>> actions = bmc().reset_actions();
  ASSERT_TRUE(actions.ok());
  EXPECT_THAT(*actions, ElementsAre(ResetAction::on, ResetAction::force_off, ResetAction::graceful_shutdown,
                                    ResetAction::force_restart));
  const Status cycle = bmc().reset(ResetAction::power_cycle);
  ASSERT_FALSE(cycle.ok());
  EXPECT_EQ(cycle.error().code, ErrorCode::not_found);
  EXPECT_THAT(cycle.error().message, HasSubstr("does not offer PowerCycle; it offers On, ForceOff"));
  EXPECT_EQ(service_->server().count("POST", kReset), 0);
}

TEST_F(RedfishBmcTest, ReadsTheActionInfoIfTheActionListsNoValues) {
  serve();
  service_->merge(kSystem, R"({"Actions": {"#ComputerSystem.Reset": {"ResetType@Redfish.AllowableValues": null,
    "@Redfish.ActionInfo": "/redfish/v1/Systems/1/ResetActionInfo"}}})");
  service_->put(
      "/redfish/v1/Systems/1/ResetActionInfo",
      R"({"Parameters": [{"Name": "Other"}, {"Name": "ResetType", "AllowableValues": ["ForceOn", "PowerCycle"]}]})");
  const Result<std::vector<ResetAction>> actions = bmc().reset_actions();
  ASSERT_TRUE(actions.ok());
  EXPECT_THAT(*actions, ElementsAre(ResetAction::on, ResetAction::power_cycle));
  ASSERT_TRUE(bmc().reset(ResetAction::on).ok());
  EXPECT_EQ(service_->server().requests().back().body, R"({"ResetType":"ForceOn"})");
}

TEST_F(RedfishBmcTest, ResetsByTheActionsTarget) {
  serve();
  ASSERT_TRUE(bmc().reset(ResetAction::force_off).ok());
  const ServerRequest last = service_->server().requests().back();
  EXPECT_EQ(last.method, "POST");
  EXPECT_EQ(last.path, kReset);
  EXPECT_EQ(last.body, R"({"ResetType":"ForceOff"})");
}

// Answers a reset with a task, and the monitor with the given responses in order.
TestService::Hook task_of(std::vector<ServerAnswer> answers) {
  return [answers = std::move(answers),
          next = std::make_shared<std::size_t>(0)](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == kReset) {
      return ServerAnswer{.status = 202, .headers = {{"Location", "/redfish/v1/TaskService/TaskMonitors/1"}}};
    }
    if (!request.path.starts_with("/redfish/v1/TaskService")) return std::nullopt;
    return answers[std::min((*next)++, answers.size() - 1)];
  };
}

TEST_F(RedfishBmcTest, WaitsForTheTaskOfAReset) {
  serve(task_of({{.status = 202, .headers = {{"Retry-After", "2"}}}, {.status = 202}, {.status = 204}}));
  EXPECT_TRUE(bmc().reset(ResetAction::force_off).ok());
  EXPECT_EQ(service_->server().count("GET", "/redfish/v1/TaskService"),
            2);  // 1 s, then 2 s: the limit of 3 s is reached
  EXPECT_EQ(clock_.now(), milliseconds(3'000));
}

TEST_F(RedfishBmcTest, FailedTaskIsAnError) {
  for (const char* state : {"Exception", "Killed", "Cancelled"}) {
    serve(task_of({{.status = 202, .body = R"({"TaskState": "Running"})"},
                   {.status = 200,
                    .body = fmt::format(R"({{"TaskState": "{}", "Messages": [{{"Message": "no fuse"}}]}})", state)}}));
    const Status reset = bmc().reset(ResetAction::force_off);
    ASSERT_FALSE(reset.ok());
    EXPECT_EQ(reset.error().message, fmt::format("accepted, but its task ended as {}: no fuse", state));
    bmc_.reset();
  }
  serve(task_of({{.status = 400, .body = R"({"error": {"message": "not in this state"}})"}}));
  const Status reset = bmc().reset(ResetAction::force_off);
  ASSERT_FALSE(reset.ok());
  EXPECT_EQ(reset.error().message, "HTTP 400: not in this state");
}

TEST_F(RedfishBmcTest, RunningOrVanishedTaskCountsAsAccepted) {
  serve(task_of({{.status = 202}}));
  EXPECT_TRUE(bmc().reset(ResetAction::force_off).ok());
  EXPECT_LE(clock_.now(), milliseconds(3'000));
  bmc_.reset();
  serve(task_of({{.status = 404}}));
  EXPECT_TRUE(bmc().reset(ResetAction::force_off).ok());
  bmc_.reset();
  serve(task_of({{.status = 200, .body = R"({"TaskState": "Completed", "TaskStatus": "OK"})"}}));
  EXPECT_TRUE(bmc().reset(ResetAction::force_off).ok());
}

TEST_F(RedfishBmcTest, SystemWithTheMostMemoryIsTheHost) {
  serve();
  service_->put("/redfish/v1/Systems", R"({"Members": [{"@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0"},
    {"@odata.id": "/redfish/v1/Systems/1"}, {"@odata.id": "https://evil.example/redfish/v1/Systems/9"},
    {"@odata.id": "/redfish/v1/../../x"}, {"@odata.id": 5}, 7, null]})");
  service_->put("/redfish/v1/Systems/HGX_Baseboard_0",
                R"({"@odata.id": "/redfish/v1/Systems/HGX_Baseboard_0", "PowerState": "Off",
    "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/HGX_Baseboard_0/Actions/X"}}})");
  service_->merge(kSystem, R"({"MemorySummary": {"TotalSystemMemoryGiB": 2048}})");
  const Result<PowerReading> power = bmc().power();
  ASSERT_TRUE(power.ok()) << power.error().text();
  EXPECT_EQ(power->state, PowerState::on);
}

TEST_F(RedfishBmcTest, ChassisIsResetIfThereIsNoSystem) {
  serve();
  service_->collection("/redfish/v1/Systems", {});
  service_->collection("/redfish/v1/Chassis", {"/redfish/v1/Chassis/Enclosure"});
  service_->put("/redfish/v1/Chassis/Enclosure", R"({"@odata.id": "/redfish/v1/Chassis/Enclosure", "PowerState": "Off",
    "Actions": {"#Chassis.Reset": {"target": "/redfish/v1/Chassis/Enclosure/Actions/Chassis.Reset"}}})");
  const Result<PowerReading> power = bmc().power();
  ASSERT_TRUE(power.ok()) << power.error().text();
  EXPECT_EQ(power->state, PowerState::off);
  EXPECT_TRUE(bmc().reset(ResetAction::on).ok());
  EXPECT_EQ(service_->server().count("POST", "/redfish/v1/Chassis/Enclosure/Actions"), 1);
}

TEST_F(RedfishBmcTest, WrongTypesCountAsAbsentAndAreReportedIfRequired) {
  serve();
  service_->put(kSystem, R"({"@odata.id": "/redfish/v1/Systems/1", "PowerState": 17, "BootProgress": [], "Model": {},
    "LastResetTime": false, "Actions": {"#ComputerSystem.Reset": {"target": "/redfish/v1/Systems/1/R",
    "ResetType@Redfish.AllowableValues": "On"}}})");
  const Result<PowerReading> power = bmc().power();
  ASSERT_TRUE(power.ok()) << power.error().text();
  EXPECT_EQ(power->state, PowerState::unknown);
  EXPECT_EQ(power->boot_id, "");
  bmc_.reset();
  service_->put(kSystem, R"({"@odata.id": "/redfish/v1/Systems/1", "Actions": []})");
  const Result<PowerReading> none = bmc().power();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
}

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

TEST_F(RedfishBmcTest, ModelAndSerialMayBeThoseOfTheChassis) {
  serve();
  service_->merge(kSystem, R"({"Model": null, "SerialNumber": ""})");
  service_->collection("/redfish/v1/Chassis", {"/redfish/v1/Chassis/BMC", "/redfish/v1/Chassis/Zone",
                                               "/redfish/v1/Chassis/Tray", "/redfish/v1/Chassis/Other"});
  const auto put = [&](std::string_view id, std::string_view type, std::string_view serial, std::string_view system) {
    service_->put(fmt::format("/redfish/v1/Chassis/{}", id), fmt::format(R"({{"@odata.id": "/redfish/v1/Chassis/{}",
      "ChassisType": "{}", "Model": "{}", "SerialNumber": "{}",
      "Links": {{"ComputerSystems": [{{"@odata.id": "{}"}}]}}}})",
                                                                         id, type, id, serial, system));
  };
  put("BMC", "Component", "B1", kSystem);
  put("Zone", "RackMount", "N/A", kSystem);
  put("Tray", "Shelf", "T1", kSystem);
  put("Other", "RackMount", "O1", "/redfish/v1/Systems/2");
  const Result<BmcIdentity> identity = bmc().identity();
  ASSERT_TRUE(identity.ok()) << identity.error().text();
  EXPECT_EQ(identity->model, "Tray");
  EXPECT_EQ(identity->serial, "T1");
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

TEST_F(RedfishBmcTest, ReadsTheSelPageByPageAndClearsIt) {
  serve();
  service_->collection("/redfish/v1/Systems/1/LogServices",
                       {"/redfish/v1/Systems/1/LogServices/Diary", "/redfish/v1/Systems/1/LogServices/SEL"});
  service_->put("/redfish/v1/Systems/1/LogServices/Diary", R"({"@odata.id": "/redfish/v1/Systems/1/LogServices/Diary",
    "Id": "Diary", "Entries": {"@odata.id": "/redfish/v1/Systems/1/LogServices/Diary/Entries"}})");
  service_->put("/redfish/v1/Systems/1/LogServices/SEL", R"({"@odata.id": "/redfish/v1/Systems/1/LogServices/SEL",
    "Id": "SEL", "Entries": {"@odata.id": "/redfish/v1/Systems/1/LogServices/SEL/Entries"},
    "Actions": {"#LogService.ClearLog": {"target": "/redfish/v1/Systems/1/LogServices/SEL/Actions/LogService.ClearLog"}}})");
  service_->put("/redfish/v1/Systems/1/LogServices/SEL/Entries", R"({"Members": [
    {"@odata.id": "/redfish/v1/e/1", "Id": "1", "Created": "2026-05-06T07:08:09Z", "Severity": "Critical",
     "SensorType": "Temperature", "Message": "too\u0000 hot\n"}],
    "Members@odata.nextLink": "/redfish/v1/Systems/1/LogServices/SEL/More"})");
  service_->put("/redfish/v1/Systems/1/LogServices/SEL/More", R"({"Members": [
    {"@odata.id": "/redfish/v1/e/2", "Id": "2", "Created": "1970-01-01T00:00:07Z", "Severity": "OK", "Message": "on"}],
    "Members@odata.nextLink": "/redfish/v1/Systems/1/LogServices/SEL/Entries"})");
  const Result<std::vector<LogEvent>> events = bmc().events();
  ASSERT_TRUE(events.ok()) << events.error().text();
  ASSERT_EQ(events->size(), 2U);
  EXPECT_EQ(events->at(0).id, "1");
  EXPECT_EQ(events->at(0).time, "2026-05-06T07:08:09Z");
  EXPECT_EQ(events->at(0).severity, Health::critical);
  EXPECT_EQ(events->at(0).source, "Temperature");
  EXPECT_EQ(events->at(0).message, "too? hot");
  EXPECT_EQ(events->at(1).time, "");
  ASSERT_TRUE(bmc().clear_events().ok());
  EXPECT_EQ(service_->server().requests().back().path,
            "/redfish/v1/Systems/1/LogServices/SEL/Actions/LogService.ClearLog");
}

TEST_F(RedfishBmcTest, EndlessLogIsBounded) {
  // Every page has a new entry and a link to a further one.
  serve([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    const std::string base = "/redfish/v1/Systems/1/LogServices/SEL/Entries";
    if (!request.path.starts_with(base)) return std::nullopt;
    const std::size_t mark = request.path.find("?n=");
    const int n = mark == std::string::npos ? 0 : std::stoi(request.path.substr(mark + 3));
    return ServerAnswer{.body = fmt::format(R"({{"Members": [{{"@odata.id": "/redfish/v1/e/{}", "Id": "{}"}}],
      "Members@odata.nextLink": "{}?n={}"}})",
                                            n, n, base, n + 1)};
  });
  service_->collection("/redfish/v1/Systems/1/LogServices", {"/redfish/v1/Systems/1/LogServices/SEL"});
  service_->put("/redfish/v1/Systems/1/LogServices/SEL",
                R"({"Id": "SEL", "Entries": {"@odata.id": "/redfish/v1/Systems/1/LogServices/SEL/Entries"}})");
  const Result<std::vector<LogEvent>> events = bmc().events();
  ASSERT_TRUE(events.ok()) << events.error().text();
  EXPECT_EQ(events->size(), 250U);
}

// A chassis in a system, with a log each; the chassis has an entry of the system's log, too.
void put_two_logs(TestService& service) {
  service.collection("/redfish/v1/Chassis", {"/redfish/v1/Chassis/GPU_1"});
  service.put("/redfish/v1/Chassis/GPU_1", R"({"@odata.id": "/redfish/v1/Chassis/GPU_1",
    "LogServices": {"@odata.id": "/redfish/v1/Chassis/GPU_1/LogServices"}})");
  service.collection("/redfish/v1/Chassis/GPU_1/LogServices", {"/redfish/v1/Chassis/GPU_1/LogServices/XID"});
  service.put("/redfish/v1/Chassis/GPU_1/LogServices/XID", R"({"Id": "XID",
    "@odata.id": "/redfish/v1/Chassis/GPU_1/LogServices/XID",
    "Entries": {"@odata.id": "/redfish/v1/Chassis/GPU_1/LogServices/XID/Entries"}})");
  service.put("/redfish/v1/Chassis/GPU_1/LogServices/XID/Entries", R"({"Members": [
    {"@odata.id": "/redfish/v1/e/2", "Id": "2", "Message": "XID 79"}]})");
  service.collection("/redfish/v1/Systems/1/LogServices",
                     {"/redfish/v1/Systems/1/LogServices/Empty", "/redfish/v1/Systems/1/LogServices/SEL"});
  service.put("/redfish/v1/Systems/1/LogServices/Empty", R"({"Id": "Empty",
    "Entries": {"@odata.id": "/redfish/v1/Systems/1/LogServices/Empty/Entries"}})");
  service.put("/redfish/v1/Systems/1/LogServices/Empty/Entries", R"({"Members": []})");
  service.put("/redfish/v1/Systems/1/LogServices/SEL", R"({"Id": "SEL",
    "Entries": {"@odata.id": "/redfish/v1/Systems/1/LogServices/SEL/Entries"}})");
  service.put("/redfish/v1/Systems/1/LogServices/SEL/Entries", R"({"Members": [
    {"@odata.id": "/redfish/v1/e/1", "Id": "1", "MessageId": "Acme.1.0.Hot", "MessageArgs": ["CPU 1"]}],
    "Members@odata.nextLink": "/redfish/v1/Systems/1/LogServices/SEL/More"})");
  service.put("/redfish/v1/Systems/1/LogServices/SEL/More", R"({"Members": [
    {"@odata.id": "/redfish/v1/e/2", "Id": "2", "Message": "XID 79"}]})");
}

std::vector<std::string> lines_of(const EventLogs& logs) {
  std::vector<std::string> lines;
  for (const LogEvent& event : logs.events)
    lines.push_back(fmt::format("{} {} {}", event.log, event.id, event.message));
  return lines;
}

TEST_F(RedfishBmcTest, AllLogsAreReadAndEachEntryOnce) {
  serve();
  put_two_logs(*service_);
  service_->merge("/redfish/v1/", R"({"Registries": {"@odata.id": "/redfish/v1/Registries"}})");
  service_->collection("/redfish/v1/Registries", {"/redfish/v1/Registries/Acme"});
  service_->put("/redfish/v1/Registries/Acme", R"({"Registry": "Acme.1.0",
    "Location": [{"Language": "en", "Uri": "/redfish/v1/Registries/Acme/en"}]})");
  service_->put("/redfish/v1/Registries/Acme/en", R"({"Messages": {"Hot": {"Message": "%1 is too hot"}}})");
  Result<EventLogs> logs = bmc().event_logs("");
  ASSERT_TRUE(logs.ok()) << logs.error().text();
  EXPECT_THAT(logs->unread, IsEmpty());
  EXPECT_THAT(lines_of(*logs), ElementsAre("Chassis/GPU_1/XID 2 XID 79", "Systems/1/SEL 1 CPU 1 is too hot"));
  logs = bmc().event_logs("sel");
  ASSERT_TRUE(logs.ok()) << logs.error().text();
  EXPECT_THAT(lines_of(*logs), ElementsAre("Systems/1/SEL 1 CPU 1 is too hot", "Systems/1/SEL 2 XID 79"));
  logs = bmc().event_logs("Chassis/GPU_1/XID");
  ASSERT_TRUE(logs.ok()) << logs.error().text();
  EXPECT_THAT(lines_of(*logs), ElementsAre("Chassis/GPU_1/XID 2 XID 79"));
  EXPECT_EQ(bmc().event_logs("Chassis").error().code, ErrorCode::not_found);
}

TEST_F(RedfishBmcTest, ALogThatCannotBeReadIsNamed) {
  serve([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path != "/redfish/v1/Chassis/GPU_1/LogServices/XID/Entries" &&
        request.path != "/redfish/v1/Systems/1/LogServices/SEL/More")
      return std::nullopt;
    return ServerAnswer{.status = 500, .body = "{}"};
  });
  put_two_logs(*service_);
  const Result<EventLogs> logs = bmc().event_logs("");
  ASSERT_TRUE(logs.ok()) << logs.error().text();
  EXPECT_THAT(lines_of(*logs), ElementsAre("Systems/1/SEL 1 Acme.1.0.Hot"));
  ASSERT_EQ(logs->unread.size(), 2U);
  EXPECT_EQ(logs->unread[0].log, "Chassis/GPU_1/XID");
  EXPECT_EQ(logs->unread[1].log, "Systems/1/SEL");
}

class RedfishAccounts : public RedfishBmcTest {
 protected:
  void serve_accounts(TestService::Hook hook = nullptr) {
    serve(std::move(hook));
    service_->put("/redfish/v1/AccountService",
                  R"({"Accounts": {"@odata.id": "/redfish/v1/AccountService/Accounts"}})");
    service_->collection("/redfish/v1/AccountService/Accounts",
                         {"/redfish/v1/AccountService/Accounts/1", "/redfish/v1/AccountService/Accounts/2",
                          "/redfish/v1/AccountService/Accounts/3"});
    service_->put("/redfish/v1/AccountService/Accounts/1", R"({"@odata.id": "/redfish/v1/AccountService/Accounts/1",
      "Id": "1", "UserName": "", "Enabled": false, "RoleId": "None"})");
    service_->put("/redfish/v1/AccountService/Accounts/2", R"({"@odata.id": "/redfish/v1/AccountService/Accounts/2",
      "@odata.etag": "W/\"42\"", "Id": "2", "UserName": "admin", "Enabled": true, "RoleId": "Administrator"})");
    service_->put("/redfish/v1/AccountService/Accounts/3", R"({"@odata.id": "/redfish/v1/AccountService/Accounts/3",
      "Id": "3", "UserName": "guest", "Enabled": true, "Locked": true, "RoleId": "ReadOnly"})");
  }
};

TEST_F(RedfishAccounts, AreListedWithTheirRoles) {
  serve_accounts();
  const Result<std::vector<BmcUser>> users = bmc().users();
  ASSERT_TRUE(users.ok()) << users.error().text();
  ASSERT_EQ(users->size(), 2U);
  EXPECT_EQ(users->at(0).name, "admin");
  EXPECT_EQ(users->at(0).role, UserRole::administrator);
  EXPECT_TRUE(users->at(0).enabled);
  EXPECT_EQ(users->at(1).role, UserRole::read_only);
  EXPECT_TRUE(users->at(1).locked);
}

TEST_F(RedfishAccounts, PasswordsAreSetWithTheEtagAndUsedAfterwards) {
  serve_accounts();
  ASSERT_TRUE(bmc().set_password("admin", Secret("n\"ew\\1")).ok());
  ServerRequest last = service_->server().requests().back();
  EXPECT_EQ(last.method, "PATCH");
  EXPECT_EQ(last.path, "/redfish/v1/AccountService/Accounts/2");
  EXPECT_EQ(last.headers["if-match"], "W/\"42\"");
  EXPECT_EQ(nlohmann::json::parse(last.body), nlohmann::json({{"Password", "n\"ew\\1"}}));
  // The service drops the session: login now requires the new password.
  service_->forget_sessions();
  EXPECT_FALSE(bmc().users().ok());
  EXPECT_EQ(nlohmann::json::parse(service_->server().requests().back().body)["Password"], "n\"ew\\1");
  const Status nobody = bmc().set_password("nobody", Secret("x"));
  ASSERT_FALSE(nobody.ok());
}

TEST_F(RedfishAccounts, InitialPasswordCanBeChangedWhenNothingElseIsAllowed) {
  serve_accounts([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.path == "/redfish/v1/" || request.path.starts_with("/redfish/v1/SessionService")) return std::nullopt;
    if (request.path == "/redfish/v1/AccountService/Accounts/2") return std::nullopt;
    return ServerAnswer{.status = 403, .body = R"({"error": {"@Message.ExtendedInfo": [
      {"MessageId": "Base.1.18.PasswordChangeRequired", "Message": "change it",
       "MessageArgs": ["/redfish/v1/AccountService/Accounts/2"]}]}})"};
  });
  const Result<PowerReading> power = bmc().power();
  ASSERT_FALSE(power.ok());
  EXPECT_EQ(power.error().code, ErrorCode::refused);
  EXPECT_THAT(power.error().message, HasSubstr("password must be changed"));
  EXPECT_TRUE(bmc().set_password("admin", Secret("fresh")).ok());
  EXPECT_EQ(service_->at("/redfish/v1/AccountService/Accounts/2")["Password"], "fresh");
  EXPECT_FALSE(bmc().set_password("guest", Secret("fresh")).ok());
}

TEST_F(RedfishAccounts, RejectedPasswordIsNotInTheMessage) {
  serve_accounts([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.method != "PATCH") return std::nullopt;
    return ServerAnswer{.status = 400, .body = R"({"error": {"@Message.ExtendedInfo": [{"MessageId":
      "Base.1.8.PropertyValueFormatError", "Message": "The value hunter2 for Password is of another format"}]}})"};
  });
  const Status status = bmc().set_password("guest", Secret("hunter2"));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "HTTP 400: The value *** for Password is of another format");
}

TEST_F(RedfishAccounts, EnablingIsReadBack) {
  // Logging out after the test also calls the hook.
  const auto ignore = std::make_shared<std::atomic<bool>>(false);
  serve_accounts([ignore](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (*ignore && request.method == "PATCH") return ServerAnswer{.status = 204};
    return std::nullopt;
  });
  EXPECT_TRUE(bmc().set_user_enabled("guest", false).ok());
  EXPECT_EQ(service_->at("/redfish/v1/AccountService/Accounts/3")["Enabled"], false);
  *ignore = true;
  const Status status = bmc().set_user_enabled("guest", true);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::conflict);
  EXPECT_THAT(status.error().message, HasSubstr("accepted but not applied"));
}

class RedfishSettings : public RedfishBmcTest {
 protected:
  void serve_settings(TestService::Hook hook = nullptr) {
    serve(std::move(hook));
    service_->merge("/redfish/v1/", R"({"Oem": {"Weft": {}}})");
    service_->merge("/redfish/v1/Managers/BMC",
                    R"({"HostInterfaces": {"@odata.id": "/redfish/v1/Managers/BMC/HostInterfaces"}})");
    service_->collection("/redfish/v1/Managers/BMC/HostInterfaces", {"/redfish/v1/Managers/BMC/HostInterfaces/1"});
    service_->put("/redfish/v1/Managers/BMC/HostInterfaces/1",
                  R"({"@odata.id": "/redfish/v1/Managers/BMC/HostInterfaces/1", "InterfaceEnabled": true})");
    service_->put(kProtocol, R"({"IPMI": {"ProtocolEnabled": true, "Port": 623}, "HTTP": {"ProtocolEnabled": false},
      "SSH": {"ProtocolEnabled": true}, "NTP": {"ProtocolEnabled": true, "NTPServers": ["10.0.0.1", ""]}})");
    service_->merge("/redfish/v1/Managers/BMC",
                    R"({"Oem": {"Weft": {"Syslog": {"Servers": []}, "Firewall": {"Allow": ["10.0.0.0/8"]}}}})");
  }
};

TEST_F(RedfishSettings, AreRead) {
  serve_settings();
  const Result<BmcSettings> settings = bmc().settings();
  ASSERT_TRUE(settings.ok()) << settings.error().text();
  EXPECT_EQ(settings->ipmi_over_lan, true);
  EXPECT_EQ(settings->http, false);
  EXPECT_EQ(settings->ssh, true);
  EXPECT_EQ(settings->snmp, std::nullopt);
  EXPECT_EQ(settings->host_interface, true);
  EXPECT_THAT(*settings->ntp, ElementsAre("10.0.0.1"));
  EXPECT_THAT(*settings->syslog, IsEmpty());
  EXPECT_THAT(*settings->firewall, ElementsAre("10.0.0.0/8"));
}

TEST_F(RedfishSettings, AreChangedAndReadBack) {
  serve_settings();
  SettingsChange change;
  change.ipmi_over_lan = false;
  change.syslog = {"10.1.1.1", "10.1.1.2"};
  change.firewall = {"10.2.0.0/16", "10.1.0.0/16"};
  change.ntp = {"10.9.9.9"};
  const Status status = bmc().change(change);
  ASSERT_TRUE(status.ok()) << status.error().text();
  const nlohmann::json now = service_->at(kProtocol);
  EXPECT_EQ(now["IPMI"]["ProtocolEnabled"], false);
  EXPECT_EQ(now["IPMI"]["Port"], 623);
  EXPECT_EQ(now["NTP"]["NTPServers"], nlohmann::json({"10.9.9.9"}));
  EXPECT_EQ(service_->at("/redfish/v1/Managers/BMC")["Oem"]["Weft"]["Syslog"]["Servers"],
            nlohmann::json({"10.1.1.1", "10.1.1.2"}));
  EXPECT_EQ(now["SSH"]["ProtocolEnabled"], true);
}

TEST_F(RedfishSettings, MissingSettingIsNotFoundAndNothingChanges) {
  serve_settings();
  SettingsChange change;
  change.ipmi_over_lan = false;
  change.snmp = false;
  const Status status = bmc().change(change);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::not_found);
  EXPECT_THAT(status.error().message, HasSubstr("SNMP"));
  EXPECT_EQ(service_->server().count("PATCH"), 0);
}

TEST_F(RedfishSettings, AcceptedButNotAppliedIsAnError) {
  serve_settings([](const ServerRequest& request) -> std::optional<ServerAnswer> {
    if (request.method == "PATCH") return ServerAnswer{.status = 200, .body = "{}"};
    return std::nullopt;
  });
  SettingsChange change;
  change.ipmi_over_lan = false;
  const Status status = bmc().change(change);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::conflict);
  EXPECT_EQ(status.error().message, "accepted but not applied: IPMI over LAN");
}

TEST_F(RedfishBmcTest, HasNoConsoleOfItsOwn) {
  serve();
  const Result<std::unique_ptr<ConsoleStream>> none = bmc().console();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("`console:`"));
}

TEST_F(RedfishBmcTest, HostilePathsAreNeverRequested) {
  serve();
  service_->merge("/redfish/v1/", R"({"Systems": {"@odata.id": "https://evil.example/redfish/v1/Systems"},
    "Chassis": {"@odata.id": "/redfish/v1/../admin"}, "Managers": {"@odata.id": "/redfish/v1/M\r\nX: y"},
    "AccountService": {"@odata.id": "/redfish//evil.example/"}})");
  EXPECT_EQ(bmc().power().error().code, ErrorCode::not_found);
  EXPECT_EQ(bmc().sensors().error().code, ErrorCode::not_found);
  EXPECT_EQ(bmc().settings().error().code, ErrorCode::not_found);
  EXPECT_EQ(bmc().users().error().code, ErrorCode::not_found);
  EXPECT_EQ(bmc().events().error().code, ErrorCode::not_found);
  EXPECT_EQ(bmc().identity().error().code, ErrorCode::not_found);
  EXPECT_EQ(service_->server().requests().size(), 2U);
}

}  // namespace
}  // namespace weft::oob

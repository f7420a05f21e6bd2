#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "oob/redfish/test_bmc.h"

namespace weft::oob {
namespace {

using test::ServerAnswer;
using test::ServerRequest;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace weft::oob

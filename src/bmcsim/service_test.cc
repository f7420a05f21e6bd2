#include "bmcsim/service.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "bmcsim/resource.h"

namespace weft::bmcsim {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;

std::string header_of(const SimReply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return {};
}

class SimServiceTest : public testing::Test {
 protected:
  SimServiceTest() {
    world_.devices = {{.name = "train001", .gpus = 2}, {.name = "r1-pdu1", .offset = 1, .kind = SimKind::pdu}};
    world_.wall_start_ms = oob::ManualClock::kStartMs;
    world_.password = world_.digest_of("secret-word");
    world_.factory_password = world_.digest_of("admin");
    bmcs_.emplace_back(world_, 0U, clock_.now());
    bmcs_.emplace_back(world_, 1U, clock_.now());
  }

  SimReply ask(HttpMethod method, const std::string& target, const std::string& body = {},
               std::vector<std::pair<std::string, std::string>> headers = {}) {
    SimHttpRequest request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (target.find('?') != std::string::npos) request.query = target.substr(target.find('?') + 1);
    request.body = body;
    request.headers = std::move(headers);
    const bool named = std::any_of(request.headers.begin(), request.headers.end(), [](const auto& header) {
      return header.first == "authorization" || header.first == "x-auth-token";
    });
    if (!named && basic_)
      request.headers.emplace_back("authorization", "Basic YWRtaW46c2VjcmV0LXdvcmQ=");  // admin:secret-word
    bmcs_[device_].advance(clock_.now());
    return sim_answer(bmcs_[device_], request);
  }
  Json get(const std::string& target) {
    const SimReply reply = ask(HttpMethod::get, target);
    EXPECT_EQ(reply.status, 200) << target << " " << reply.body;
    return Json::parse(reply.body, nullptr, false);
  }
  SimReply post(const std::string& target, const std::string& body) { return ask(HttpMethod::post, target, body); }
  SimReply patch(const std::string& target, const std::string& body) { return ask(HttpMethod::patch, target, body); }
  void ill(FaultKind kind, std::int64_t argument = 0) {
    FaultSet set;
    set.add(kind, argument);
    bmcs_[0].set_faults(set);
  }
  std::string log_in(const std::string& user, const std::string& password) {
    return header_of(
        post("/redfish/v1/SessionService/Sessions", Json{{"UserName", user}, {"Password", password}}.dump()),
        "X-Auth-Token");
  }

  const std::string reset_ = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
  SimWorld world_;
  oob::ManualClock clock_;
  std::vector<SimBmc> bmcs_;
  std::size_t device_ = 0;
  bool basic_ = true;
};

// Every link resolves to a resource whose @odata.id is that link, with the properties that DSP0266 requires.
TEST_F(SimServiceTest, EveryLinkResolves) {
  for (device_ = 0; device_ < 2; ++device_) {
    std::set<std::string> seen;
    std::vector<std::string> open{"/redfish/v1/"};
    const std::function<void(const Json&)> collect = [&](const Json& json) {
      if (json.is_object() && json.contains("@odata.id")) open.push_back(json["@odata.id"].get<std::string>());
      if (json.is_structured()) std::for_each(json.begin(), json.end(), collect);
    };
    while (!open.empty()) {
      const std::string path = open.back();
      open.pop_back();
      if (path.find('#') != std::string::npos || !seen.insert(path).second) continue;
      const Json json = get(path);
      EXPECT_EQ(json.value("@odata.id", ""), path);
      EXPECT_THAT(json.value("@odata.type", ""), HasSubstr("#"));
      EXPECT_FALSE(json.value("Name", "").empty()) << path;
      if (json.contains("Members")) {
        EXPECT_EQ(json["Members"].size(), json["Members@odata.count"].get<std::size_t>());
      }
      const std::string type = json.value("@odata.type", "#").substr(1);
      EXPECT_THAT(sim_metadata(), HasSubstr("Namespace=\"" + type.substr(0, type.rfind('.')) + "\""));
      collect(json);
    }
    EXPECT_GT(seen.size(), device_ == 0 ? 55U : 65U);
  }
}

TEST_F(SimServiceTest, OnlyTheRootIsReadableWithoutLogin) {
  basic_ = false;
  for (const char* path : {"/redfish", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"}) {
    EXPECT_EQ(ask(HttpMethod::get, path).status, 200) << path;
  }
  const SimReply closed = ask(HttpMethod::get, "/redfish/v1/Systems");
  EXPECT_EQ(closed.status, 401);
  EXPECT_THAT(header_of(closed, "WWW-Authenticate"), HasSubstr("Basic"));
  EXPECT_THAT(closed.body, HasSubstr("@Message.ExtendedInfo"));
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Nothing").status, 401);
  EXPECT_EQ(ask(HttpMethod::get, "/elsewhere").status, 404);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems", {}, {{"x-auth-token", "0123"}}).status, 401);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems", {}, {{"authorization", "Basic !!"}}).status, 401);
  EXPECT_EQ(ask(HttpMethod::post, "/redfish/v1/", "{}").status, 405);
}

TEST_F(SimServiceTest, MethodsAndVersions) {
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Nothing").status, 404);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems//1").status, 404);
  const SimReply wrong = ask(HttpMethod::remove, "/redfish/v1/Systems/1");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(header_of(wrong, "Allow"), "GET, HEAD, PATCH");
  EXPECT_EQ(ask(HttpMethod::get, reset_).status, 405);
  EXPECT_EQ(ask(HttpMethod::other, "/redfish/v1/Systems/1").status, 405);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/", {}, {{"odata-version", "3.0"}}).status, 412);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems?$filter=a").status, 501);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems?$top=x").status, 400);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems?unknown=1").status, 200);
  EXPECT_EQ(ask(HttpMethod::patch, "/redfish/v1/Systems/1", "{}", {{"content-type", "text/plain"}}).status, 415);
}

TEST_F(SimServiceTest, ResetRequestsAreValidated) {
  EXPECT_EQ(post(reset_, "not json").status, 400);
  EXPECT_EQ(post(reset_, "[]").status, 400);
  EXPECT_THAT(post(reset_, "{}").body, HasSubstr("ActionParameterMissing"));
  EXPECT_THAT(post(reset_, R"({"ResetType": 1})").body, HasSubstr("ActionParameterValueTypeError"));
  EXPECT_THAT(post(reset_, R"({"ResetType": "Explode"})").body, HasSubstr("ActionParameterNotSupported"));
  EXPECT_THAT(post(reset_, R"({"ResetType": "On", "Now": true})").body, HasSubstr("ActionParameterUnknown"));
  EXPECT_EQ(bmcs_[0].counters.all_resets(), 0U);
  EXPECT_EQ(post(reset_, R"({"ResetType": "ForceOff"})").status, 204);
  clock_.sleep(milliseconds(100));
  EXPECT_EQ(get("/redfish/v1/Systems/1")["PowerState"], "Off");
  EXPECT_EQ(post(reset_, R"({"ResetType": "PowerCycle"})").status, 409);
  ill(FaultKind::no_power_cycle);
  EXPECT_EQ(post(reset_, R"({"ResetType": "PowerCycle"})").status, 400);
  const Json listed =
      get("/redfish/v1/Systems/1")["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"];
  EXPECT_EQ(std::count(listed.begin(), listed.end(), "PowerCycle"), 0);
  EXPECT_EQ(std::count(listed.begin(), listed.end(), "ForceOff"), 1);
}

TEST_F(SimServiceTest, SessionsOpenAndClose) {
  const std::string token = log_in("admin", "secret-word");
  ASSERT_EQ(token.size(), 32U);
  EXPECT_EQ(log_in("admin", "wrong"), "");
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems/1", {}, {{"x-auth-token", token}}).status, 200);
  EXPECT_EQ(get("/redfish/v1/SessionService/Sessions")["Members@odata.count"], 1);
  EXPECT_EQ(ask(HttpMethod::remove, "/redfish/v1/SessionService/Sessions/1", {}, {{"x-auth-token", token}}).status,
            204);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems/1", {}, {{"x-auth-token", token}}).status, 401);
  EXPECT_EQ(ask(HttpMethod::remove, "/redfish/v1/SessionService/Sessions/1").status, 404);
  ill(FaultKind::session_limited, 1);
  EXPECT_NE(log_in("admin", "secret-word"), "");
  const SimReply full = post("/redfish/v1/SessionService/Sessions", R"({"UserName":"admin","Password":"secret-word"})");
  EXPECT_EQ(full.status, 503);
  EXPECT_THAT(full.body, HasSubstr("SessionLimitExceeded"));
}

TEST_F(SimServiceTest, PatchesAreAtomic) {
  EXPECT_EQ(patch("/redfish/v1/Systems/1", R"({"AssetTag": "a", "Color": 1})").status, 400);
  EXPECT_EQ(get("/redfish/v1/Systems/1")["AssetTag"], "");
  EXPECT_THAT(patch("/redfish/v1/Systems/1", R"({"PowerState": "On"})").body, HasSubstr("PropertyNotWritable"));
  EXPECT_THAT(patch("/redfish/v1/Systems/1", "{}").body, HasSubstr("NoOperation"));
  EXPECT_THAT(patch("/redfish/v1/Systems/1", R"({"Boot": 1})").body, HasSubstr("PropertyValueTypeError"));
  EXPECT_EQ(patch("/redfish/v1/Systems/1",
                  R"({"Boot": {"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"}})")
                .status,
            204);
  EXPECT_EQ(get("/redfish/v1/Systems/1")["Boot"]["BootSourceOverrideTarget"], "Pxe");
  post(reset_, R"({"ResetType": "ForceRestart"})");
  EXPECT_EQ(get("/redfish/v1/Systems/1")["Boot"]["BootSourceOverrideEnabled"], "Disabled");
  const std::string manager = "/redfish/v1/Managers/BMC";
  EXPECT_EQ(patch(manager,
                  R"({"Oem": {"Weft": {"Syslog": {"Servers": ["log1:514"]}, "Firewall": {"Allow": ["10.0.0.0/8"]}}}})")
                .status,
            204);
  EXPECT_EQ(get(manager)["Oem"]["Weft"]["Syslog"]["Servers"][0], "log1:514");
  EXPECT_EQ(
      patch(manager + "/NetworkProtocol", R"({"IPMI": {"ProtocolEnabled": false}, "NTP": {"NTPServers": ["t1"]}})")
          .status,
      204);
  const Json protocols = get(manager + "/NetworkProtocol");
  EXPECT_EQ(protocols["IPMI"]["ProtocolEnabled"], false);
  EXPECT_EQ(protocols["SSH"]["ProtocolEnabled"], true);
  EXPECT_EQ(protocols["NTP"]["NTPServers"][0], "t1");
  EXPECT_EQ(patch(manager + "/NetworkProtocol", R"({"HTTPS": {"ProtocolEnabled": false}})").status, 400);
  EXPECT_EQ(patch(manager + "/HostInterfaces/1", R"({"InterfaceEnabled": true})").status, 204);
  EXPECT_EQ(patch("/redfish/v1/SessionService", R"({"SessionTimeout": 10})").status, 400);
}

TEST_F(SimServiceTest, ETagsGuardWritesButIgnoreBootProgress) {
  const std::string system = "/redfish/v1/Systems/1";
  post(reset_, R"({"ResetType": "ForceRestart"})");
  const std::string tag = header_of(ask(HttpMethod::get, system), "ETag");
  clock_.sleep(milliseconds(5'000));  // the boot progressed
  EXPECT_NE(header_of(ask(HttpMethod::get, system), "ETag"), tag);
  EXPECT_EQ(ask(HttpMethod::patch, system, R"({"AssetTag": "x"})", {{"if-match", tag}}).status, 204);
  EXPECT_EQ(ask(HttpMethod::patch, system, R"({"AssetTag": "y"})", {{"if-match", tag}}).status, 412);
  EXPECT_EQ(get(system)["AssetTag"], "x");
  const std::string now = header_of(ask(HttpMethod::get, system), "ETag");
  EXPECT_EQ(ask(HttpMethod::get, system, {}, {{"if-none-match", now}}).status, 304);
  ill(FaultKind::stale_etag);
  EXPECT_EQ(ask(HttpMethod::patch, system, R"({"AssetTag": "z"})", {{"if-match", now}}).status, 412);
}

TEST_F(SimServiceTest, AccountsAndRoles) {
  const std::string accounts = "/redfish/v1/AccountService/Accounts";
  EXPECT_EQ(post(accounts, R"({"UserName":"op","Password":"short","RoleId":"Operator"})").status, 400);
  const SimReply made = post(accounts, R"({"UserName":"op","Password":"long-enough","RoleId":"Operator"})");
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(header_of(made, "Location"), accounts + "/2");
  EXPECT_THAT(made.body, testing::Not(HasSubstr("long-enough")));
  const std::string token = log_in("op", "long-enough");
  const std::vector<std::pair<std::string, std::string>> as_op{{"x-auth-token", token}};
  EXPECT_EQ(ask(HttpMethod::post, reset_, R"({"ResetType":"Nmi"})", as_op).status, 204);
  EXPECT_EQ(ask(HttpMethod::patch, accounts + "/1", R"({"Password":"taken-over"})", as_op).status, 403);
  EXPECT_EQ(ask(HttpMethod::patch, accounts + "/2", R"({"Password":"own-new-one"})", as_op).status, 204);
  EXPECT_EQ(log_in("op", "long-enough"), "");
  EXPECT_NE(log_in("op", "own-new-one"), "");
  EXPECT_EQ(patch(accounts + "/2", R"({"Enabled": false, "RoleId": "ReadOnly"})").status, 204);
  EXPECT_EQ(log_in("op", "own-new-one"), "");
  EXPECT_EQ(ask(HttpMethod::get, accounts, {}, as_op).status, 401);
  EXPECT_EQ(ask(HttpMethod::remove, accounts + "/2").status, 204);
  EXPECT_EQ(ask(HttpMethod::remove, accounts + "/1").status, 400);
  EXPECT_EQ(bmcs_[0].counters.password_changes, 1U);
}

TEST_F(SimServiceTest, PasswordThatMustBeChanged) {
  ill(FaultKind::password_change_required);
  const SimReply in = post("/redfish/v1/SessionService/Sessions", R"({"UserName":"admin","Password":"secret-word"})");
  EXPECT_EQ(in.status, 201);
  EXPECT_THAT(in.body, HasSubstr("PasswordChangeRequired"));
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems").status, 403);
  EXPECT_EQ(patch("/redfish/v1/AccountService/Accounts/1", R"({"Password":"a-new-password"})").status, 204);
  basic_ = false;
  const std::vector<std::pair<std::string, std::string>> token{{"x-auth-token", header_of(in, "X-Auth-Token")}};
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems", {}, token).status, 200);
}

TEST_F(SimServiceTest, LogIsPaginated) {
  for (int i = 0; i < 120; ++i) bmcs_[0].add_event(SimEventKind::nmi);
  std::string next = "/redfish/v1/Systems/1/LogServices/SEL/Entries";
  std::set<std::string> ids;
  int pages = 0;
  while (!next.empty() && pages < 10) {
    const Json page = get(next);
    EXPECT_EQ(page["Members@odata.count"], 121);
    for (const Json& entry : page["Members"]) ids.insert(entry["Id"].get<std::string>());
    next = page.value("Members@odata.nextLink", "");
    ++pages;
  }
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(ids.size(), 121U);
  EXPECT_EQ(get("/redfish/v1/Systems/1/LogServices/SEL/Entries?$skip=119&$top=5")["Members"].size(), 2U);
  EXPECT_EQ(post("/redfish/v1/Systems/1/LogServices/SEL/Actions/LogService.ClearLog", "").status, 204);
  EXPECT_EQ(get("/redfish/v1/Systems/1/LogServices/SEL/Entries")["Members"].size(), 1U);
}

TEST_F(SimServiceTest, ExpandsAndFindsTheOnlyMember) {
  const Json sensors = get("/redfish/v1/Chassis/1/Sensors?$expand=.($levels=1)");
  for (const Json& sensor : sensors["Members"]) EXPECT_TRUE(sensor.contains("Reading")) << sensor;
  EXPECT_EQ(get("/redfish/v1/Systems?only")["PowerState"], "On");
  const Json system = get("/redfish/v1/Systems/1?$expand=~");
  EXPECT_EQ(system["Links"]["Chassis"][0]["ChassisType"], "RackMount");
  EXPECT_EQ(system["LogServices"].size(), 1U);
  EXPECT_TRUE(get("/redfish/v1?$expand=*($levels=9)")["Systems"]["Members"][0].contains("PowerState"));
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Systems?$expand=x").status, 400);
}

TEST_F(SimServiceTest, TasksEndUnlessEndless) {
  ill(FaultKind::async_reset, 1'000'000'000);
  const SimReply started = post(reset_, R"({"ResetType":"ForceRestart"})");
  EXPECT_EQ(started.status, 202);
  const std::string monitor = header_of(started, "Location");
  EXPECT_EQ(ask(HttpMethod::get, monitor).status, 202);
  clock_.sleep(milliseconds(1'001));
  EXPECT_EQ(ask(HttpMethod::get, monitor).status, 200);
  EXPECT_EQ(get("/redfish/v1/TaskService/Tasks/1")["TaskState"], "Completed");
  ill(FaultKind::task_never_ends);
  const std::string endless = header_of(post(reset_, R"({"ResetType":"ForceRestart"})"), "Location");
  clock_.sleep(milliseconds(86'400'000));
  EXPECT_EQ(ask(HttpMethod::get, endless).status, 202);
}

TEST_F(SimServiceTest, FaultsOfAnswers) {
  const std::string system = "/redfish/v1/Systems/1";
  ill(FaultKind::malformed);
  EXPECT_TRUE(Json::parse(ask(HttpMethod::get, system).body, nullptr, false).is_discarded());
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/").status, 200);
  EXPECT_FALSE(Json::parse(ask(HttpMethod::get, "/redfish/v1/").body, nullptr, false).is_discarded());
  ill(FaultKind::malformed, 1);
  EXPECT_TRUE(Json::parse(ask(HttpMethod::get, "/redfish/v1/").body, nullptr, false).is_discarded());
  ill(FaultKind::http_500);
  EXPECT_EQ(ask(HttpMethod::get, system).status, 500);
  ill(FaultKind::busy, 2);
  EXPECT_EQ(ask(HttpMethod::get, system).status, 503);
  EXPECT_EQ(header_of(ask(HttpMethod::get, system), "Retry-After"), "1");
  EXPECT_EQ(ask(HttpMethod::get, system).status, 200);
  ill(FaultKind::redirect);
  EXPECT_THAT(header_of(ask(HttpMethod::get, system), "Location"), HasSubstr("https://127.16.0.2:"));
  ill(FaultKind::wrong_content_type);
  EXPECT_EQ(ask(HttpMethod::get, system).content_type, "text/html");
  ill(FaultKind::unauthorized_always);
  EXPECT_EQ(ask(HttpMethod::get, system).status, 401);
  ill(FaultKind::no_boot_progress);
  EXPECT_FALSE(get(system).contains("BootProgress"));
  EXPECT_FALSE(get(system).contains("LastResetTime"));
  ill(FaultKind::endless);
  EXPECT_EQ(ask(HttpMethod::get, system).shape, ReplyShape::endless_body);
  ill(FaultKind::truncated);
  EXPECT_EQ(ask(HttpMethod::get, system).shape, ReplyShape::truncated);
}

TEST_F(SimServiceTest, OutletsOfAPdu) {
  const std::string outlet = "/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/3";
  EXPECT_EQ(ask(HttpMethod::get, outlet).status, 404);  // a server has none
  device_ = 1;
  EXPECT_EQ(get(outlet)["PowerState"], "On");
  EXPECT_EQ(post(outlet + "/Actions/Outlet.PowerControl", R"({"PowerState":"Off"})").status, 204);
  EXPECT_EQ(get(outlet)["PowerState"], "Off");
  EXPECT_EQ(post("/redfish/v1/PowerEquipment/RackPDUs/1/Outlets/25/Actions/Outlet.PowerControl", "{}").status, 404);
}

// What `weft oob sensors` reads and what the reports have is the same at every moment.
TEST_F(SimServiceTest, MetricsAreTheReadingsOfSensors) {
  for (const char* kind : {"On", "ForceOff"}) {
    post(reset_, fmt::format(R"({{"ResetType":"{}"}})", kind));
    clock_.sleep(milliseconds(10'000));
    std::size_t count = 0;
    const Json reports = get("/redfish/v1/TelemetryService/MetricReports");
    for (const Json& link : reports["Members"]) {
      const Json report = get(link["@odata.id"]);
      for (const Json& metric : report["MetricValues"]) {
        const Json sensor = get(metric["MetricProperty"]);
        EXPECT_EQ(metric["MetricValue"], fmt::format("{:.1f}", sensor["Reading"].get<double>())) << sensor;
        ++count;
      }
    }
    EXPECT_EQ(count, 12U);  // eight of the machine, two of each GPU
  }
  EXPECT_EQ(get("/redfish/v1/Chassis/HGX_GPU_SXM_2/Sensors/HGX_GPU_SXM_2_Power_0")["Reading"].get<double>(), 0);
  EXPECT_EQ(get("/redfish/v1/TelemetryService/MetricReportDefinitions/HGX_PlatformEnvironmentMetrics_0")["MetricReport"]
                                                                                                        ["@odata.id"],
            "/redfish/v1/TelemetryService/MetricReports/HGX_PlatformEnvironmentMetrics_0");
  device_ = 1;  // a PDU has no GPUs
  EXPECT_EQ(get("/redfish/v1/TelemetryService/MetricReports")["Members"].size(), 1U);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Chassis/HGX_GPU_SXM_1").status, 404);
}

TEST_F(SimServiceTest, XidsAreInTheLogOfTheirGpu) {
  const std::string log = "/redfish/v1/Chassis/HGX_GPU_SXM_2/LogServices/XID";
  EXPECT_EQ(get(log + "/Entries")["Members"].size(), 0U);
  ill(FaultKind::xid, to_argument({.gpu = 2, .code = 48}));
  const Json entry = get(log + "/Entries")["Members"][0];
  EXPECT_THAT(entry["Message"].get<std::string>(), HasSubstr("GPU_SXM_2 Driver Event Message"));
  EXPECT_THAT(entry["Message"].get<std::string>(), HasSubstr("XID 48'"));
  EXPECT_EQ(entry["MessageId"], "ResourceEvent.1.0.ResourceErrorsDetected");
  EXPECT_EQ(get(entry["@odata.id"])["Severity"], "Critical");
  EXPECT_EQ(get("/redfish/v1/Chassis/HGX_GPU_SXM_1/LogServices/XID/Entries")["Members"].size(), 0U);
  // The event log of the system is another one, and to clear it leaves the XIDs.
  EXPECT_EQ(get("/redfish/v1/Systems/1/LogServices/SEL/Entries")["Members"].size(), 1U);
  EXPECT_EQ(post("/redfish/v1/Systems/1/LogServices/SEL/Actions/LogService.ClearLog", "").status, 204);
  EXPECT_EQ(get(log + "/Entries")["Members"].size(), 1U);
  EXPECT_EQ(post(log + "/Actions/LogService.ClearLog", "").status, 404);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Chassis/HGX_GPU_SXM_3").status, 404);
  EXPECT_EQ(ask(HttpMethod::get, "/redfish/v1/Chassis/HGX_GPU_SXM_02").status, 404);
  EXPECT_EQ(patch("/redfish/v1/Chassis/HGX_GPU_SXM_2", R"({"AssetTag":"x"})").status, 405);
}

TEST_F(SimServiceTest, EventStreamsAreSubscriptions) {
  const std::string service = "/redfish/v1/EventService";
  EXPECT_EQ(get(service)["ServerSentEventUri"], service + "/SSE");
  EXPECT_EQ(get(service)["SSEFilterPropertiesSupported"]["EventFormatType"], true);
  const SimReply stream = ask(HttpMethod::get, service + "/SSE");
  ASSERT_TRUE(stream.stream.has_value());
  EXPECT_EQ(stream.content_type, "text/event-stream");
  EXPECT_THAT(to_wire(stream, true, true, 0), HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_EQ(get(service + "/Subscriptions/1")["SubscriptionType"], "SSE");
  EXPECT_EQ(ask(HttpMethod::remove, service + "/Subscriptions/1").status, 204);
  EXPECT_TRUE(stream.stream->is_over(bmcs_[0]));
  const SimReply push = post(service + "/Subscriptions", R"({"Destination":"https://127.0.0.1/"})");
  EXPECT_EQ(push.status, 405);
  EXPECT_THAT(push.body, HasSubstr("ServerSentEventUri"));
  for (const char* good :
       {"?$filter=EventFormatType%20eq%20Event", "?$filter=EventFormatType%20eq%20'Event'", "?x=1"}) {
    EXPECT_EQ(ask(HttpMethod::get, service + "/SSE" + good).status, 200) << good;
  }
  for (const char* bad : {"?$filter=", "?$filter=EventFormatType%20eq%20MetricReport", "?$filter=MessageId%20eq%20x",
                          "?$filter=EventFormatType%20eq%20Event%20or%20MessageId%20eq%20x"}) {
    EXPECT_EQ(ask(HttpMethod::get, service + "/SSE" + bad).status, 400) << bad;
  }
  EXPECT_EQ(ask(HttpMethod::get, service + "/SSE?$expand=.").status, 501);
  ill(FaultKind::no_events);
  EXPECT_EQ(ask(HttpMethod::get, service).status, 404);
  EXPECT_EQ(ask(HttpMethod::get, service + "/SSE").status, 404);
  EXPECT_FALSE(get("/redfish/v1/").contains("EventService"));
  basic_ = false;
  EXPECT_EQ(ask(HttpMethod::get, service + "/SSE").status, 401);
}

TEST_F(SimServiceTest, NamesAreStableAndDiffer) {
  EXPECT_EQ(sim_uuid("train001"), sim_uuid("train001"));
  EXPECT_NE(sim_uuid("train001"), sim_uuid("train002"));
  const std::string uuid = sim_uuid("x");
  EXPECT_EQ(uuid.size(), 36U);
  EXPECT_EQ(uuid[14], '8');
  EXPECT_THAT(std::string("89ab"), HasSubstr(std::string(1, uuid[19])));
}

TEST_F(SimServiceTest, SensorsFollowThePower) {
  const auto watts_now = [&] { return get("/redfish/v1/Chassis/1/Sensors/TotalPower")["Reading"].get<double>(); };
  EXPECT_NEAR(watts_now(), 700 * 0.7, 700 * 0.7 * 0.03);
  EXPECT_NEAR(get("/redfish/v1/Chassis/1/Power")["PowerControl"][0]["PowerConsumedWatts"].get<double>(), watts_now(),
              20);
  post(reset_, R"({"ResetType":"ForceOff"})");
  clock_.sleep(milliseconds(100));
  EXPECT_LT(watts_now(), 20);
  EXPECT_EQ(get("/redfish/v1/Chassis/1/Sensors/Fan1")["Reading"].get<double>(), 0);
}

}  // namespace
}  // namespace weft::bmcsim

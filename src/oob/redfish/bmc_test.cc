#include "oob/redfish/bmc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "oob/redfish/test_bmc.h"

namespace weft::oob {
namespace {

using test::ServerAnswer;
using test::ServerRequest;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSystem = "/redfish/v1/Systems/1";
constexpr const char* kReset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
constexpr const char* kProtocol = "/redfish/v1/Managers/BMC/NetworkProtocol";

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

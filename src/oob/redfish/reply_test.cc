#include "oob/redfish/reply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/quoting.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Value json(std::string_view text) {
  Result<Value> value = read_json_reply(text);
  CHECK(value.ok(), "the test's JSON is JSON");
  return std::move(value).value();
}

TEST(RedfishJson, ParsesEveryKindOfValue) {
  const Value value =
      json(R"({"a": [1, -2, 18446744073709551615, 2.5, true, null, "x\u00e4"], "b": {"c": {"d": "deep"}}})");
  EXPECT_EQ(write_json_line(value),
            R"({"a": [1, -2, 1.8446744073709552e+19, 2.5, true, null, "xä"], "b": {"c": {"d": "deep"}}})");
  EXPECT_EQ(raw_text(value, {"b", "c", "d"}), "deep");
  EXPECT_EQ(member_at(value, "b/c/d")->text(), "deep");
  EXPECT_EQ(member_at(value, "a/c"), nullptr);
  EXPECT_EQ(number(value, {"a"}), std::nullopt);
}

TEST(RedfishJson, FirstOfDuplicateKeysIsFound) { EXPECT_EQ(raw_text(json(R"({"a": "1", "a": "2"})"), {"a"}), "1"); }

TEST(RedfishJson, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1}x", "nul", "'a'", "{\"a\":1e999}", "\"\xff\"", "\xef\xbb\xbf"}) {
    const Result<Value> value = read_json_reply(text);
    ASSERT_FALSE(value.ok()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_input);
  }
}

TEST(RedfishJson, DepthIsBounded) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(read_json_reply(nested(kMaxJsonDepth)).ok());
  EXPECT_FALSE(read_json_reply(nested(kMaxJsonDepth + 1)).ok());
}

TEST(RedfishJson, QuotesSpecialCharactersInPasswords) {
  EXPECT_EQ(json(json_quote_secret("a\"b\\c\n\x01ü")).text(), "a\"b\\c\n\x01ü");
}

TEST(RedfishJson, TrustsOnlyRedfishPaths) {
  for (const char* good : {"/redfish/v1/Systems/1", "/redfish/v1/Chassis/1/Sensors?$skip=50", "/redfish/v1/",
                           "/redfish/v1/Systems/System.Embedded.1"}) {
    EXPECT_TRUE(is_trusted_path(good)) << good;
  }
  for (const std::string& bad :
       {std::string(""), std::string("/"), std::string("/redfish"), std::string("redfish/v1/"), std::string("/admin"),
        std::string("//evil/redfish/"), std::string("https://evil/redfish/v1/"), std::string("/redfish/v1/../x"),
        std::string("/redfish/v1/%2e%2E/x"), std::string("/redfish/v1/.%2e/x"), std::string("/redfish//evil/"),
        std::string("/redfish/a b"), std::string("/redfish/a\r\nX-Evil: 1"), std::string("/redfish/a\0b", 12),
        std::string("/redfish/\\evil"), std::string("/redfish/\xc3\xa4"), "/redfish/" + std::string(600, 'a')}) {
    EXPECT_FALSE(is_trusted_path(bad)) << bad;
  }
  EXPECT_EQ(path_of(json(R"({"t": {"@odata.id": "/redfish/v1/Chassis/1/Thermal#/Fans/0"}})"), {"t"}),
            "/redfish/v1/Chassis/1/Thermal");
}

TEST(RedfishReply, LocationsAreCutToTheirPath) {
  EXPECT_EQ(location_path("/redfish/v1/x"), "/redfish/v1/x");
  EXPECT_EQ(location_path("https://bmc.example:8443/redfish/v1/x"), "/redfish/v1/x");
  EXPECT_EQ(location_path("https://bmc.example"), "");
  EXPECT_EQ(location_path("https://bmc.example/admin"), "");
  EXPECT_EQ(location_path("ftp://bmc.example/redfish/v1/x"), "");
}

TEST(RedfishReply, MessagesAreFoundByNameInAnyRegistry) {
  const ReplyMessages messages =
      parse_messages(json(R"({"error": {"code": "Base.1.5.GeneralError", "message": "general",
    "@Message.ExtendedInfo": [{"MessageId": "IDRAC.2.1.RAC0218", "Message": "The maximum number of user sessions is reached."},
    {"MessageId": 7}, "x"]}})"));
  EXPECT_TRUE(messages.has("RAC0218"));
  EXPECT_FALSE(messages.has("0218"));
  EXPECT_FALSE(messages.has("SessionLimitExceeded"));
  EXPECT_EQ(messages.text, "The maximum number of user sessions is reached.");
  // Older services return a code and no extended information.
  const ReplyMessages old =
      parse_messages(json(R"({"error": {"code": "Base.1.0.SessionLimitExceeded", "message": "no"}})"));
  EXPECT_TRUE(old.has("SessionLimitExceeded"));
  EXPECT_EQ(old.text, "no");
  EXPECT_EQ(parse_messages(json("[]")).text, "");
}

TEST(RedfishReply, TasksEndInOneOfThreeWays) {
  const auto end = [](const char* text) { return parse_task(json(text)).end; };
  EXPECT_EQ(end(R"({"TaskState": "Running"})"), TaskEnd::running);
  EXPECT_EQ(end(R"({"TaskState": "Completed", "TaskStatus": "OK"})"), TaskEnd::done);
  EXPECT_EQ(end(R"({"TaskState": "Completed", "TaskStatus": "Critical"})"), TaskEnd::failed);
  EXPECT_EQ(end(R"({"TaskState": "Cancelled"})"), TaskEnd::failed);
  EXPECT_FALSE(parse_task(json("{}")).task);
}

TEST(RedfishReply, BootIdIsConstantDuringABoot) {
  const auto id = [](const char* text) { return parse_resettable(json(text)).power.boot_id; };
  EXPECT_EQ(id(R"({"LastResetTime": "a", "BootProgress": {"LastState": "OSRunning", "LastStateTime": "b"}})"), "a");
  EXPECT_EQ(id(R"({"BootProgress": {"LastState": "OSRunning", "LastStateTime": "b"}})"), "");
  EXPECT_EQ(id(R"({"BootProgress": {"LastState": "PrimaryProcessorInitializationStarted", "LastStateTime": "b"}})"),
            "b");
}

TEST(RedfishReply, CollectionsKeepOnlyTrustedPaths) {
  const Value value = json(R"({"Members": [{"@odata.id": "/redfish/v1/a"}, {"@odata.id": "/etc"}, 5,
    {"@odata.id": "/redfish/v1/b", "Name": "b"}], "Members@odata.nextLink": "http://x/redfish/v1/"})");
  const Collection collection = parse_collection(value);
  EXPECT_THAT(collection.members, ElementsAre("/redfish/v1/a", "/redfish/v1/b"));
  EXPECT_EQ(collection.expanded.size(), 1U);
  EXPECT_EQ(collection.next, "");
}

TEST(RedfishReply, NtpThatIsOffHasNoServers) {
  EXPECT_THAT(*parse_network_protocol(json(R"({"NTP": {"ProtocolEnabled": false, "NTPServers": ["x"]}})")).ntp,
              IsEmpty());
  EXPECT_THAT(*parse_network_protocol(json(R"({"NTP": {"NTPServers": ["x", ""]}})")).ntp, ElementsAre("x"));
  EXPECT_EQ(parse_network_protocol(json("{}")).ntp, std::nullopt);
}

}  // namespace
}  // namespace weft::oob

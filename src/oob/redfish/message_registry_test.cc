#include "oob/redfish/message_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Value json(std::string_view text) {
  Result<Value> value = read_json_reply(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

TEST(MessageId, OfARegistry) {
  // DSP0266 and public dumps: the second has an errata number, as early services write it.
  EXPECT_EQ(parse_message_id("iLOEvents.3.7.ServerPoweredOn")->registry, "iLOEvents.3.7");
  EXPECT_EQ(parse_message_id("Base.1.8.0.Success")->registry, "Base.1.8.0");
  EXPECT_EQ(parse_message_id("Base.1.8.0.Success")->key, "Success");
  for (const char* text : {"", ".", "0xA401FF", "7e012790", "OpenBMC.0.1", "Base.1.8.", ".1.8.Success", "Success"})
    EXPECT_FALSE(parse_message_id(text)) << text;
}

TEST(MessageNeed, OnlyWithoutAText) {
  EXPECT_FALSE(message_need(json(R"({"Message": "hot", "MessageId": "A.1.0.Hot"})")));
  EXPECT_FALSE(message_need(json(R"({"Message": "100 % full", "MessageId": "A.1.0.Full"})")));
  EXPECT_FALSE(message_need(json(R"({"MessageId": "7e012790"})")));
  EXPECT_FALSE(message_need(json(R"({"MessageId": 7, "MessageArgs": "x"})")));
  EXPECT_TRUE(message_need(json(R"({"Message": "A.1.0.Hot", "MessageId": "A.1.0.Hot"})")));
  const auto need =
      message_need(json(R"({"Message": "%1 is hot", "MessageId": "A.1.0.Hot", "MessageArgs": ["x", 2]})"));
  ASSERT_TRUE(need);
  EXPECT_EQ(need->id.key, "Hot");
  EXPECT_THAT(need->arguments, ElementsAre("x", ""));
}

TEST(RegistryPlace, EnglishAndTheRightVersion) {
  const Value file = json(R"({"Registry": "Events.3.7", "Location": [
    {"Language": "ja", "Uri": "/redfish/v1/store/ja"}, {"Language": "en", "Uri": "/redfish/v1/store/en"}]})");
  EXPECT_EQ(registry_place(file, "Events.3.7").path, "/redfish/v1/store/en");
  EXPECT_TRUE(registry_place(file, "Events.3.7").exact);
  EXPECT_TRUE(registry_place(file, "Events.3.7.1").exact);
  EXPECT_FALSE(registry_place(file, "Events.3.71").exact);
  EXPECT_EQ(registry_place(file, "Events.2.0").path, "/redfish/v1/store/en");
  EXPECT_EQ(registry_place(file, "Eventss.3.7").path, "");
  EXPECT_EQ(
      registry_place(json(R"({"Registry": "E.1.0", "Location": [{"Uri": "https://evil/redfish/v1/x"}]})"), "E.1.0")
          .path,
      "");
}

TEST(MessageRegistry, TextsAreFilled) {
  const MessageTexts texts = parse_message_registry(
      json(R"({"Messages": {"Use": {"Message": "%1 uses %2 %, %1 again"}, "None": {}, "Odd": 3}})"));
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_EQ(fill_message(texts.at("Use"), {"CPU", "90"}), "CPU uses 90 %, CPU again");
  EXPECT_EQ(fill_message(texts.at("Use"), {"%2", "%1"}), "%2 uses %1 %, %2 again");  // not filled twice
  EXPECT_FALSE(fill_message(texts.at("Use"), {"CPU"}));
  EXPECT_FALSE(fill_message("%0", {"CPU"}));
  EXPECT_FALSE(fill_message("%99999999999999999999", {"CPU"}));
  EXPECT_EQ(fill_message("ends with %", {}), "ends with %");
  EXPECT_THAT(parse_message_registry(json(R"({"Messages": []})")), IsEmpty());
}

}  // namespace
}  // namespace weft::oob

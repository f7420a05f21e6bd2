#include <gtest/gtest.h>

#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"

namespace weft::oob {
namespace {

LogEvent entry(std::string_view text) {
  const Result<Value> value = read_json_reply(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? parse_log_entry(*value) : LogEvent();
}

TEST(LogEntry, EntryCodeSaysWhetherAConditionEnded) {
  EXPECT_EQ(entry(R"({"EntryCode": "Assert"})").state, EventState::asserted);
  const LogEvent over = entry(R"({"EntryCode": "Deassert", "Severity": "Critical"})");
  EXPECT_EQ(over.state, EventState::deasserted);
  EXPECT_EQ(over.severity, Health::critical);
  EXPECT_EQ(severity_of(over), Health::ok);
  EXPECT_EQ(entry(R"({"EntryCode": "Informational"})").state, EventState::unknown);
  EXPECT_EQ(entry(R"({"EntryCode": 1})").state, EventState::unknown);
}

TEST(LogEntry, RecordsOfAmiAreRead) {
  const LogEvent event = entry(R"({"Id": "75", "Message": "Event_Data_1 : 0, Record_Type : system event record, )"
                               R"(Sensor_Number : 113, Event_Dir : Deassertion event, Event_Data_2 : 255, )"
                               R"(Event_Type : Drive Presence, Record_ID : 75, Sensor_Type : Drive Slot/Bay, "})");
  EXPECT_EQ(event.message, "Drive Presence (sensor 113)");
  EXPECT_EQ(event.source, "Drive Slot/Bay");
  EXPECT_EQ(event.state, EventState::deasserted);
  // Not a record, although it has one of the words.
  EXPECT_EQ(entry(R"({"Message": "Event_Type : unknown"})").message, "Event_Type : unknown");
}

TEST(LogEntry, SourceIsWhatSaysMost) {
  EXPECT_EQ(entry(R"({"SensorType": "Fan", "EntryType": "SEL"})").source, "Fan");
  EXPECT_EQ(entry(R"({"SensorType": null, "OemSensorType": "System NIC", "EntryType": "SEL"})").source, "System NIC");
  EXPECT_EQ(entry(R"({"Oem": {"Hpe": {"ClassDescription": "Drive Array"}}, "EntryType": "Oem"})").source,
            "Drive Array");
  EXPECT_EQ(entry(R"({"Links": {"OriginOfCondition": {"@odata.id": "/redfish/v1/Chassis/GPU_1"}}})").source, "GPU_1");
  EXPECT_EQ(entry(R"({"Links": {"OriginOfCondition": {"@odata.id": "https://evil/x"}}, "EntryType": "Event"})").source,
            "Event");
}

TEST(LogEntry, TimeIsThatOfTheEvent) {
  EXPECT_EQ(entry(R"({"Created": "2024-07-08T16:40:04Z", "EventTimestamp": "2024-07-08T16:38:52Z"})").time,
            "2024-07-08T16:38:52Z");
  EXPECT_EQ(entry(R"({"Created": "2024-07-08T16:40:04Z", "EventTimestamp": "1970-01-01T00:00:20Z"})").time,
            "2024-07-08T16:40:04Z");
}

TEST(LogEntry, WithoutAMessageItHasItsIdOrName) {
  EXPECT_EQ(entry(R"({"MessageId": "A.1.0.Hot", "Name": "Entry"})").message, "A.1.0.Hot");
  EXPECT_EQ(entry(R"({"Name": "BMC Dump Entry"})").message, "BMC Dump Entry");
}

TEST(LogName, IsThePathWithoutWhatIsAlwaysThere) {
  EXPECT_EQ(log_name("/redfish/v1/Chassis/GPU_1/LogServices/XID"), "Chassis/GPU_1/XID");
  EXPECT_EQ(log_name("/redfish/v1/Chassis/GPU_1/"), "Chassis/GPU_1");
  EXPECT_EQ(log_name(""), "");
}

}  // namespace
}  // namespace weft::oob

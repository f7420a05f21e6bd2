// Sensor, event and inventory records as BMCs send them, valid and corrupt.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>

#include "oob/ipmi/events.h"
#include "oob/ipmi/identity.h"
#include "oob/ipmi/sensors.h"

namespace weft::oob {
namespace {

// A full sensor record (IPMI 2.0, table 43-1) of a fan: y = 50 x RPM.
IpmiBytes fan_record() {
  IpmiBytes record(48);
  const std::string name = "FAN 1";
  record[0] = 7;      // id
  record[2] = 0x51;   // version
  record[3] = 0x01;   // full
  record[5] = 0x20;   // owner: the BMC
  record[7] = 0x30;   // sensor number
  record[12] = 0x04;  // fan
  record[13] = 0x01;  // thresholds
  record[21] = 18;    // base unit: RPM
  record[24] = 50;    // m
  record[47] = static_cast<std::uint8_t>(0xC0 | name.size());
  record.insert(record.end(), name.begin(), name.end());
  record[4] = static_cast<std::uint8_t>(record.size() - 5);
  return record;
}

TEST(IpmiRecords, FullRecordsAreDecoded) {
  const std::vector<IpmiSensor> sensors = parse_ipmi_record(fan_record());
  ASSERT_EQ(sensors.size(), 1U);
  EXPECT_EQ(sensors[0].name, "FAN 1");
  EXPECT_EQ(sensors[0].owner, 0x20);
  EXPECT_EQ(sensors[0].number, 0x30);
  EXPECT_EQ(sensors[0].unit, "RPM");
  EXPECT_EQ(sensors[0].decode(100), 5000.0);
  EXPECT_EQ(sensors[0].decode(0), 0.0);
}

TEST(IpmiRecords, SharedCompactRecordsAreSeveralSensors) {
  IpmiBytes record(32);  // table 43-2
  const std::string name = "DIMM";
  record[2] = 0x51;
  record[3] = 0x02;
  record[5] = 0x20;
  record[7] = 0x80;
  record[12] = 0x0C;  // memory
  record[13] = 0x6F;  // the sensor type's own states
  record[23] = 0x04;  // four sensors, their names end in numbers
  record[24] = 0x01;  // from 1
  record[31] = static_cast<std::uint8_t>(0xC0 | name.size());
  record.insert(record.end(), name.begin(), name.end());
  record[4] = static_cast<std::uint8_t>(record.size() - 5);
  const std::vector<IpmiSensor> sensors = parse_ipmi_record(record);
  ASSERT_EQ(sensors.size(), 4U);
  EXPECT_EQ(sensors[0].name, "DIMM1");
  EXPECT_EQ(sensors[3].name, "DIMM4");
  EXPECT_EQ(sensors[3].number, 0x83);
  EXPECT_FALSE(sensors[0].decode(5).has_value());
}

IpmiBytes event(std::uint32_t time, std::uint8_t number, std::uint8_t direction_and_type, std::uint8_t data1) {
  return {0x2A,
          0x01,
          0x02,
          static_cast<std::uint8_t>(time),
          static_cast<std::uint8_t>(time >> 8U),
          static_cast<std::uint8_t>(time >> 16U),
          static_cast<std::uint8_t>(time >> 24U),
          0x20,
          0x00,
          0x04,
          0x04,
          number,
          direction_and_type,
          data1,
          20,
          30};
}

TEST(IpmiRecords, EventsAreDecoded) {
  const std::vector<IpmiSensor> sensors = parse_ipmi_record(fan_record());
  // Lower critical, going low, with reading and threshold; 2026-11-16T02:03:04Z.
  const LogEvent low = parse_ipmi_event(event(1794794584, 0x30, 0x01, 0x52), sensors);
  EXPECT_EQ(low.id, "298");
  EXPECT_EQ(low.time, "2026-11-16T02:03:04Z");
  EXPECT_EQ(low.source, "FAN 1");
  EXPECT_EQ(low.severity, Health::critical);
  EXPECT_EQ(low.message, "Lower Critical - going low, reading 1000 RPM, threshold 1500 RPM (asserted)");
  const LogEvent over = parse_ipmi_event(event(0x1FFFFFFF, 0x31, 0x81, 0x52), sensors);
  EXPECT_EQ(over.time, "");  // counted from the BMC's start
  EXPECT_EQ(over.source, "Fan #31h");
  EXPECT_NE(over.message.find("(deasserted)"), std::string::npos);
  EXPECT_EQ(parse_ipmi_event(event(0xFFFFFFFF, 0x30, 0x01, 0x52), sensors).time, "");
  IpmiBytes vendor = event(1794794584, 0, 0, 0);
  vendor[2] = 0xC1;
  EXPECT_EQ(parse_ipmi_event(vendor, sensors).time, "2026-11-16T02:03:04Z");
  EXPECT_EQ(parse_ipmi_event(vendor, sensors).message, "record type C1h: 20 00 04 04 00 00 00 14 1E");
  vendor[2] = 0xE0;
  EXPECT_EQ(parse_ipmi_event(vendor, sensors).time, "");
}

// An inventory (Platform Management FRU Information Storage Definition, section 8 and 12): header, then a product area.
TEST(IpmiRecords, InventoryIdentifiesTheMachine) {
  IpmiBytes inventory{0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0xFE};
  IpmiBytes area{0x01, 0x00, 25};  // version, length, English
  for (const std::string& text : {std::string("ACME"), std::string("GPU Server 8"), std::string("P1"),
                                  std::string("v2"), std::string("SN-0042")}) {
    area.push_back(static_cast<std::uint8_t>(0xC0 | text.size()));
    area.insert(area.end(), text.begin(), text.end());
  }
  area.insert(area.end(), {0xC0, 0xC0, 0xC1});  // no asset tag, no file id, the end
  while (area.size() % 8 != 7) area.push_back(0);
  area[1] = static_cast<std::uint8_t>((area.size() + 1) / 8);
  unsigned sum = 0;
  for (const std::uint8_t byte : area) sum += byte;
  area.push_back(static_cast<std::uint8_t>(0x100U - (sum & 0xFFU)));
  inventory.insert(inventory.end(), area.begin(), area.end());
  BmcIdentity identity;
  identity.manufacturer = "enterprise 42";
  parse_ipmi_inventory(inventory, identity);
  EXPECT_EQ(identity.manufacturer, "ACME");
  EXPECT_EQ(identity.model, "GPU Server 8");
  EXPECT_EQ(identity.serial, "SN-0042");
}

// All input is parsed or ignored: no crash, no endless loop, and only printable text.
TEST(IpmiRecords, GarbageIsHandledSafely) {
  std::mt19937 random(7);
  const auto byte = [&] { return static_cast<std::uint8_t>(random() & 0xFFU); };
  const auto printable = [](const std::string& text) {
    for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
  };
  const std::vector<IpmiSensor> sensors = parse_ipmi_record(fan_record());
  for (int round = 0; round < 400; ++round) {
    IpmiBytes record = fan_record();
    for (unsigned flips = random() % 8; flips > 0; --flips) record[random() % record.size()] = byte();
    if (random() % 3 == 0) record.resize(random() % (record.size() + 1));
    for (const IpmiSensor& sensor : parse_ipmi_record(record)) {
      printable(sensor.name);
      (void)sensor.decode(byte());
    }
    IpmiBytes entry(16);
    for (std::uint8_t& part : entry) part = byte();
    if (random() % 2 == 0) entry[2] = 0x02;
    printable(parse_ipmi_event(entry, sensors).message);
    if (round % 8 == 0) {
      IpmiBytes inventory(random() % 200);
      for (std::uint8_t& part : inventory) part = byte();
      if (inventory.size() > 8) {
        inventory[0] = 1;
        unsigned sum = 0;
        for (std::size_t i = 0; i < 7; ++i) sum += inventory[i];
        inventory[7] = static_cast<std::uint8_t>(0x100U - (sum & 0xFFU));
      }
      BmcIdentity identity;
      parse_ipmi_inventory(inventory, identity);
      printable(identity.model);
    }
  }
}

}  // namespace
}  // namespace weft::oob

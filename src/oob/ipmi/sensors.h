// Sensors of a BMC: reads the sensor data records (IPMI 2.0, sections 33 and 43) over a session into memory and decodes
// readings with them. FreeIPMI decodes; the record walk is implemented here because FreeIPMI's needs a cache file and
// has no timeout. The walk stops after kIpmiWalkLimit if a BMC returns records without end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/durable/clock.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

// A slow BMC takes 30 ms per request and about five requests per record: a thousand records fit.
inline constexpr std::int64_t kIpmiWalkSeconds = 150;
// Maximum number of records accepted. Large servers have about 300.
inline constexpr std::size_t kIpmiMostRecords = 8192;

// A sensor as its record describes it (full and compact records).
struct IpmiSensor {
  std::string name;
  std::uint8_t owner = 0x20;  // 20h: the BMC itself
  std::uint8_t lun = 0;
  std::uint8_t number = 0;
  std::uint8_t type = 0;        // table 42-3
  std::uint8_t event_type = 0;  // table 42-1; 1: thresholds
  bool analog = false;          // the reading is a number
  std::string unit;
  // y = L((m * x + b * 10^b_exponent) * 10^r_exponent), section 36.3
  std::int16_t m = 0;
  std::int16_t b = 0;
  std::int8_t r_exponent = 0;
  std::int8_t b_exponent = 0;
  std::uint8_t linearization = 0;
  std::uint8_t format = 0;

  // Empty if the value is not a number.
  [[nodiscard]] std::optional<double> decode(std::uint8_t raw) const;
};

[[nodiscard]] Result<std::vector<IpmiSensor>> read_ipmi_records(IpmiSession& session, Clock& clock);
// One raw record, at least its 5-byte header. Empty if it does not describe a sensor or is invalid.
[[nodiscard]] std::vector<IpmiSensor> parse_ipmi_record(const IpmiBytes& record);
[[nodiscard]] Result<std::vector<SensorReading>> read_ipmi_sensors(IpmiSession& session,
                                                                   const std::vector<IpmiSensor>& sensors,
                                                                   Clock& clock);

}  // namespace weft::oob

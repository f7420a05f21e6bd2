// Sensors of a BMC: the sensor data records (IPMI 2.0, sections 33 and 43) read over a session into memory, and the
// readings decoded by them. FreeIPMI decodes; the walk over the records is ours, because FreeIPMI's wants a file to
// cache them in and has no limit of time: a BMC that invents records without end is left after kIpmiWalkLimit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/durable/clock.h"
#include "oob/ipmi/session.h"

namespace weft::oob {

// A slow BMC takes 30 ms for a request and some five requests for a record: a thousand records fit.
inline constexpr std::int64_t kIpmiWalkSeconds = 150;
// The most records that are believed. Large servers have some 300.
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

  // Nothing where it is no number.
  [[nodiscard]] std::optional<double> decode(std::uint8_t raw) const;
};

[[nodiscard]] Result<std::vector<IpmiSensor>> read_ipmi_records(IpmiSession& session, Clock& clock);
// One record as it came, at least its 5 bytes of header. Empty where it describes no sensor or makes no sense.
[[nodiscard]] std::vector<IpmiSensor> parse_ipmi_record(const IpmiBytes& record);
[[nodiscard]] Result<std::vector<SensorReading>> read_ipmi_sensors(IpmiSession& session,
                                                                   const std::vector<IpmiSensor>& sensors,
                                                                   Clock& clock);

}  // namespace weft::oob

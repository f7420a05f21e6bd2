#include "oob/ipmi/sensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "oob/ipmi/error.h"
#include "oob/ipmi/health.h"
#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint8_t kReserveRecords = 0x22;  // section 33.11
constexpr std::uint8_t kGetRecord = 0x23;       // section 33.12
constexpr std::uint8_t kGetReading = 0x2D;      // section 35.14
constexpr std::uint8_t kGetThresholds = 0x27;   // section 35.9
constexpr std::uint8_t kCancelled = 0xC5;
constexpr std::uint16_t kLastRecord = 0xFFFF;
constexpr std::size_t kHeader = 5;  // record id, version, type, bytes that follow
constexpr std::uint8_t kBmc = 0x20;
constexpr std::uint8_t kThresholdType = 0x01;

struct CloseRecords {
  void operator()(ipmi_sdr_ctx_t context) const { ipmi_sdr_ctx_destroy(context); }
};
struct CloseInterpreter {
  void operator()(ipmi_interpret_ctx_t context) const { ipmi_interpret_ctx_destroy(context); }
};

class Walk {
 public:
  Walk(IpmiSession& session, Clock& clock)
      : session_(session), clock_(clock), end_(Steady::now() + std::chrono::seconds(kIpmiWalkSeconds)) {}

  Result<std::vector<IpmiSensor>> run() {
    if (const Status reserved = reserve(); !reserved) return reserved.error();
    std::vector<IpmiSensor> found;
    std::set<std::uint16_t> seen;
    for (std::uint16_t id = 0; id != kLastRecord;) {
      // A cycle, or more records than any machine has.
      if (!seen.insert(id).second || seen.size() > kIpmiMostRecords) {
        return Error{ErrorCode::invalid_input, "the BMC's sensor records exceed the limit", device()};
      }
      std::uint16_t next = kLastRecord;
      const Result<IpmiBytes> record = read(id, next);
      // No record at all: an empty repository.
      if (!record && record.error().code == ErrorCode::not_found && found.empty() && id == 0) return found;
      if (!record) return record.error();
      for (IpmiSensor& sensor : parse_ipmi_record(*record)) found.push_back(std::move(sensor));
      id = next;
    }
    return found;
  }

 private:
  [[nodiscard]] const std::string& device() const { return session_.options().device; }

  Status in_time() const {
    if (clock_.stopped()) return Error{ErrorCode::unavailable, "stopped", device()};
    if (Steady::now() < end_) return {};
    return Error{ErrorCode::timeout, "the BMC takes too long to send its sensor records", device()};
  }

  // A repository that changes only with firmware updates needs no reservation, and some BMCs do not support it: then it
  // is 0.
  Status reserve() {
    const Result<IpmiBytes> answer =
        session_.command({.function = kNetStorage, .command = kReserveRecords, .what = "reserve the sensor records"});
    reservation_ = 0;
    if (!answer) return answer.error().code == ErrorCode::not_found ? Status() : Status(answer.error());
    if (answer->size() >= 2) reservation_ = static_cast<std::uint16_t>((*answer)[0] | ((*answer)[1] << 8));
    return {};
  }

  Result<IpmiBytes> part(std::uint16_t id, std::size_t at, std::size_t count) {
    const auto low = [](std::uint16_t value) { return static_cast<std::uint8_t>(value & 0xFF); };
    const auto high = [](std::uint16_t value) { return static_cast<std::uint8_t>(value >> 8); };
    return session_.command_with_code({.function = kNetStorage,
                                       .command = kGetRecord,
                                       .data = {low(reservation_), high(reservation_), low(id), high(id),
                                                static_cast<std::uint8_t>(at), static_cast<std::uint8_t>(count)},
                                       .what = "read the sensor records"});
  }

  // Reads one record, in parts as large as the BMC allows.
  Result<IpmiBytes> read(std::uint16_t id, std::uint16_t& next) {
    IpmiBytes record;
    std::size_t whole = kHeader;
    for (int cancelled = 0; record.size() < whole;) {
      if (const Status go = in_time(); !go) return go.error();
      const std::size_t wanted = std::min(record.empty() ? kHeader : chunk_, whole - record.size());
      Result<IpmiBytes> got = part(id, record.size(), wanted);
      if (!got) return got.error();
      const std::uint8_t code = got->front();
      if (code == kCancelled && ++cancelled < 5) {  // records were added in the meantime: restart this one
        if (const Status reserved = reserve(); !reserved) return reserved.error();
        record.clear();
        whole = kHeader;
        continue;
      }
      // CAh, or the code that BMCs return instead, if a part exceeds their message size.
      if (code != 0 && !record.empty() && chunk_ > kSmallestChunk) {
        chunk_ /= 2;
        continue;
      }
      if (code != 0) return completion_error(code, "read the sensor records", device());
      if (got->size() < 3 + wanted) {
        return Error{ErrorCode::invalid_input, "the BMC sent a truncated sensor record", device()};
      }
      if (record.empty()) next = static_cast<std::uint16_t>((*got)[1] | ((*got)[2] << 8));
      record.insert(record.end(), got->begin() + 3, got->begin() + 3 + static_cast<std::ptrdiff_t>(wanted));
      if (record.size() == kHeader) whole = kHeader + record[4];
    }
    return record;
  }

  static constexpr std::size_t kSmallestChunk = 8;

  IpmiSession& session_;
  Clock& clock_;
  Steady::time_point end_;
  std::uint16_t reservation_ = 0;
  std::size_t chunk_ = 48;
};

std::string kind_of(const IpmiSensor& sensor) {
  if (sensor.unit == "W") return "power";
  switch (sensor.type) {
    case IPMI_SENSOR_TYPE_TEMPERATURE:
      return "temperature";
    case IPMI_SENSOR_TYPE_VOLTAGE:
      return "voltage";
    case IPMI_SENSOR_TYPE_CURRENT:
      return "current";
    case IPMI_SENSOR_TYPE_FAN:
      return "fan";
    default:
      return sensor.analog ? "other" : "discrete";
  }
}

Health health_of(ipmi_interpret_ctx_t interpreter, const IpmiSensor& sensor, std::uint16_t states) {
  unsigned int state = IPMI_INTERPRET_STATE_UNKNOWN;
  if (ipmi_interpret_sensor(interpreter, sensor.event_type, sensor.type, states, &state) < 0) return Health::unknown;
  return health_of_state(state);
}

// An unreadable sensor is listed without a value; only a session failure ends the list.
bool only_this_sensor(const Error& error) {
  return error.code == ErrorCode::not_found || error.code == ErrorCode::conflict ||
         error.code == ErrorCode::invalid_input || error.code == ErrorCode::refused;
}

Status read_thresholds(IpmiSession& session, const IpmiSensor& sensor, SensorReading& reading) {
  const Result<IpmiBytes> answer = session.command({.function = kNetSensor,
                                                    .command = kGetThresholds,
                                                    .data = {sensor.number},
                                                    .what = "read the thresholds of '" + sensor.name + "'",
                                                    .lun = sensor.lun});
  if (!answer) return only_this_sensor(answer.error()) ? Status() : Status(answer.error());
  // Readable thresholds, then lower non-critical, critical, non-recoverable, and the same for the upper side.
  if (answer->size() < 7) return {};
  if (((*answer)[0] & 0x02) != 0) reading.low_critical = sensor.decode((*answer)[2]);
  if (((*answer)[0] & 0x10) != 0) reading.high_critical = sensor.decode((*answer)[5]);
  return {};
}

Result<SensorReading> read_one(IpmiSession& session, const IpmiSensor& sensor, ipmi_interpret_ctx_t interpreter) {
  SensorReading reading;
  reading.name = sensor.name;
  reading.kind = kind_of(sensor);
  reading.unit = sensor.unit;
  if (sensor.owner != kBmc) return reading;  // behind another controller; needs bridging
  const Result<IpmiBytes> answer = session.command({.function = kNetSensor,
                                                    .command = kGetReading,
                                                    .data = {sensor.number},
                                                    .what = "read '" + sensor.name + "'",
                                                    .lun = sensor.lun});
  if (!answer && !only_this_sensor(answer.error())) return answer.error();
  // Bit 5: no reading available (the part is absent or off); bit 6 clear: scanning is disabled.
  if (!answer || answer->size() < 2 || ((*answer)[1] & 0x20) != 0 || ((*answer)[1] & 0x40) == 0) return reading;
  reading.value = sensor.decode((*answer)[0]);
  std::uint16_t states = 0;
  if (answer->size() >= 3) states = (*answer)[2];
  if (sensor.event_type == kThresholdType) {
    states &= 0x3F;  // bits 6 and 7 are reserved and read as 1
  } else if (answer->size() >= 4) {
    states = static_cast<std::uint16_t>(states | (((*answer)[3] & 0x7F) << 8));
  }
  reading.health = health_of(interpreter, sensor, states);
  if (sensor.event_type == kThresholdType && sensor.analog) {
    if (const Status read = read_thresholds(session, sensor, reading); !read) return read.error();
  }
  return reading;
}

std::string unit_of(ipmi_sdr_ctx_t context, const IpmiBytes& record) {
  std::uint8_t percentage = 0;
  std::uint8_t modifier = 0;
  std::uint8_t rate = 0;
  std::uint8_t base = 0;
  std::uint8_t second = 0;
  if (ipmi_sdr_parse_sensor_units(context, record.data(), static_cast<unsigned int>(record.size()), &percentage,
                                  &modifier, &rate, &base, &second) < 0) {
    return {};
  }
  std::array<char, 64> text{};
  if (ipmi_sensor_units_string(percentage, modifier, rate, base, second, text.data(),
                               static_cast<unsigned int>(text.size()), 1) <= 0) {
    return {};
  }
  return text.data();
}

// Names are bytes from a BMC, padded with spaces.
std::string clean_name(const char* text) {
  std::string clean = printable(text);
  while (!clean.empty() && clean.back() == ' ') clean.pop_back();
  return clean;
}

void decoding_of(ipmi_sdr_ctx_t context, const IpmiBytes& record, IpmiSensor& sensor) {
  const auto size = static_cast<unsigned int>(record.size());
  if (ipmi_sdr_parse_sensor_decoding_data(context, record.data(), size, &sensor.r_exponent, &sensor.b_exponent,
                                          &sensor.m, &sensor.b, &sensor.linearization, &sensor.format) < 0) {
    return;
  }
  // Format 3 is "not a number"; linearizations from 70h up need factors that differ with each reading (section 43.1).
  sensor.analog =
      sensor.format != IPMI_SDR_ANALOG_DATA_FORMAT_NOT_ANALOG && IPMI_SDR_LINEARIZATION_IS_LINEAR(sensor.linearization);
  sensor.unit = sensor.analog ? unit_of(context, record) : std::string();
}

}  // namespace

std::optional<double> IpmiSensor::decode(std::uint8_t raw) const {
  if (!analog) return std::nullopt;
  double value = 0;
  if (ipmi_sensor_decode_value(r_exponent, b_exponent, m, b, linearization, format, raw, &value) < 0 ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::vector<IpmiSensor> parse_ipmi_record(const IpmiBytes& record) {
  const std::unique_ptr<ipmi_sdr_ctx, CloseRecords> context(ipmi_sdr_ctx_create());
  if (!context || record.size() < kHeader) return {};
  const std::uint8_t kind = record[3];
  if (kind != IPMI_SDR_FORMAT_FULL_SENSOR_RECORD && kind != IPMI_SDR_FORMAT_COMPACT_SENSOR_RECORD) return {};
  const auto size = static_cast<unsigned int>(record.size());
  IpmiSensor sensor;
  std::uint8_t owner_kind = 0;
  std::uint8_t owner = 0;
  std::uint8_t channel = 0;
  std::array<char, IPMI_SDR_MAX_SENSOR_NAME_LENGTH + 1> name{};
  if (ipmi_sdr_parse_sensor_owner_id(context.get(), record.data(), size, &owner_kind, &owner) < 0 ||
      ipmi_sdr_parse_sensor_owner_lun(context.get(), record.data(), size, &sensor.lun, &channel) < 0 ||
      ipmi_sdr_parse_sensor_number(context.get(), record.data(), size, &sensor.number) < 0 ||
      ipmi_sdr_parse_sensor_type(context.get(), record.data(), size, &sensor.type) < 0 ||
      ipmi_sdr_parse_event_reading_type_code(context.get(), record.data(), size, &sensor.event_type) < 0 ||
      ipmi_sdr_parse_id_string(context.get(), record.data(), size, name.data(),
                               static_cast<unsigned int>(name.size() - 1)) < 0) {
    return {};
  }
  sensor.owner = static_cast<std::uint8_t>((owner << 1) | owner_kind);  // as encoded in table 43-1
  sensor.name = clean_name(name.data());
  if (kind == IPMI_SDR_FORMAT_FULL_SENSOR_RECORD) decoding_of(context.get(), record, sensor);
  std::uint8_t shares = 1;
  std::uint8_t modifier = 0;
  std::uint8_t offset = 0;
  std::uint8_t sharing = 0;
  if (kind == IPMI_SDR_FORMAT_COMPACT_SENSOR_RECORD) {
    (void)ipmi_sdr_parse_sensor_record_sharing(context.get(), record.data(), size, &shares, &modifier, &offset,
                                               &sharing);
  }
  if (shares <= 1) return {sensor};
  // One compact record may describe up to 15 sensors with consecutive numbers (section 43.2).
  std::vector<IpmiSensor> all(shares, sensor);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].number = static_cast<std::uint8_t>(sensor.number + i);
    all[i].name = fmt::format("{}{}", sensor.name, offset + i);
  }
  return all;
}

Result<std::vector<IpmiSensor>> read_ipmi_records(IpmiSession& session, Clock& clock) {
  return Walk(session, clock).run();
}

Result<std::vector<SensorReading>> read_ipmi_sensors(IpmiSession& session, const std::vector<IpmiSensor>& sensors,
                                                     Clock& clock) {
  const std::unique_ptr<ipmi_interpret_ctx, CloseInterpreter> interpreter(ipmi_interpret_ctx_create());
  const std::string& device = session.options().device;
  if (!interpreter) return Error{ErrorCode::internal, "out of memory", device};
  const auto end = Steady::now() + std::chrono::seconds(kIpmiWalkSeconds);
  std::vector<SensorReading> readings;
  readings.reserve(sensors.size());
  for (const IpmiSensor& sensor : sensors) {
    if (clock.stopped()) return Error{ErrorCode::unavailable, "stopped", device};
    if (Steady::now() > end)
      return Error{ErrorCode::timeout, "the BMC takes too long to send its sensor readings", device};
    Result<SensorReading> reading = read_one(session, sensor, interpreter.get());
    if (!reading) return reading.error();
    readings.push_back(std::move(reading).value());
  }
  return readings;
}

}  // namespace weft::oob

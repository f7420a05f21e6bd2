#include "oob/ipmi/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "base/human_format.h"
#include "oob/ipmi/error.h"
#include "oob/ipmi/health.h"
#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint8_t kReserveLog = 0x42;  // section 31.4
constexpr std::uint8_t kGetEntry = 0x43;    // section 31.5
constexpr std::uint8_t kClearLog = 0x47;    // section 31.9
constexpr std::uint16_t kLastEntry = 0xFFFF;
constexpr std::size_t kEntry = 16;
constexpr std::uint8_t kThresholdType = 0x01;
constexpr std::uint8_t kTimestampedVendor = 0xC0;  // record types from here are vendor-specific, with a timestamp
constexpr std::uint8_t kBareVendor = 0xE0;         // and from here without a timestamp

struct CloseLog {
  void operator()(ipmi_sel_ctx_t context) const { ipmi_sel_ctx_destroy(context); }
};
struct CloseInterpreter {
  void operator()(ipmi_interpret_ctx_t context) const { ipmi_interpret_ctx_destroy(context); }
};

// Up to 20000000h the time counts from the BMC's start, FFFFFFFFh is "unspecified" (section 37): its clock was never
// set.
std::string time_of(const IpmiBytes& record) {
  if (record[2] >= kBareVendor) return {};
  const std::uint32_t time = static_cast<std::uint32_t>(record[3]) | (static_cast<std::uint32_t>(record[4]) << 8U) |
                             (static_cast<std::uint32_t>(record[5]) << 16U) |
                             (static_cast<std::uint32_t>(record[6]) << 24U);
  if (time <= 0x20000000U || time == 0xFFFFFFFFU) return {};
  std::string text = format_utc(static_cast<std::int64_t>(time) * 1000);
  text.replace(text.find('.'), std::string::npos, "Z");  // the log has whole seconds
  return text;
}

Health severity_of(ipmi_interpret_ctx_t interpreter, const IpmiBytes& record) {
  unsigned int state = IPMI_INTERPRET_STATE_UNKNOWN;
  if (interpreter == nullptr ||
      ipmi_interpret_sel(interpreter, record.data(), static_cast<unsigned int>(record.size()), &state) < 0) {
    return Health::unknown;
  }
  return health_of_state(state);
}

std::string words(ipmi_sel_ctx_t context, const char* format, const IpmiBytes& record) {
  std::array<char, 512> text{};
  if (context == nullptr ||
      ipmi_sel_parse_read_record_string(context, format, record.data(), static_cast<unsigned int>(record.size()),
                                        text.data(), static_cast<unsigned int>(text.size() - 1),
                                        IPMI_SEL_STRING_FLAGS_IGNORE_UNAVAILABLE_FIELD) <= 0) {
    return {};
  }
  std::string clean(text.data());
  std::replace_if(
      clean.begin(), clean.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return clean;
}

// Bytes 2 and 3 of a threshold event are the reading and the threshold if flagged in byte 1 (table 29-6).
std::string reading_text(const IpmiBytes& record, const IpmiSensor* sensor) {
  if (sensor == nullptr || (record[12] & 0x7F) != kThresholdType || (record[13] >> 4) != 0x5) return {};
  const std::optional<double> reading = sensor->decode(record[14]);
  const std::optional<double> threshold = sensor->decode(record[15]);
  if (!reading || !threshold) return {};
  return fmt::format(", reading {:g} {}, threshold {:g} {}", *reading, sensor->unit, *threshold, sensor->unit);
}

std::string hexadecimal(const IpmiBytes& record, std::size_t from) {
  std::string text;
  for (std::size_t i = from; i < record.size(); ++i) text += fmt::format("{}{:02X}", i == from ? "" : " ", record[i]);
  return text;
}

class Translator {
 public:
  explicit Translator(const std::vector<IpmiSensor>& sensors)
      : sensors_(sensors), log_(ipmi_sel_ctx_create(nullptr, nullptr)), interpreter_(ipmi_interpret_ctx_create()) {}

  LogEvent operator()(const IpmiBytes& record) const {
    LogEvent event;
    event.id = std::to_string(record[0] | (record[1] << 8));
    event.log = "SEL";
    event.time = time_of(record);
    if (record[2] >= kTimestampedVendor) {
      event.source = "vendor";
      event.message =
          fmt::format("record type {:02X}h: {}", record[2], hexadecimal(record, record[2] >= kBareVendor ? 3 : 7));
      return event;
    }
    event.severity = severity_of(interpreter_.get(), record);
    const auto sensor = std::find_if(sensors_.begin(), sensors_.end(), [&](const IpmiSensor& known) {
      return known.owner == record[7] && known.number == record[11];
    });
    const IpmiSensor* known = sensor == sensors_.end() ? nullptr : &*sensor;
    const char* type = ipmi_get_sensor_type_string(record[10]);
    event.source =
        known != nullptr ? known->name : fmt::format("{} #{:02X}h", type != nullptr ? type : "sensor", record[11]);
    const std::string what =
        words(log_.get(), known != nullptr && !reading_text(record, known).empty() ? "%e" : "%E", record);
    event.state = (record[12] & 0x80) != 0 ? EventState::deasserted : EventState::asserted;
    event.message = (what.empty() ? "event data " + hexadecimal(record, 13) : what) + reading_text(record, known) +
                    fmt::format(" ({})", to_text(event.state));
    return event;
  }

 private:
  const std::vector<IpmiSensor>& sensors_;
  std::unique_ptr<ipmi_sel_ctx, CloseLog> log_;
  std::unique_ptr<ipmi_interpret_ctx, CloseInterpreter> interpreter_;
};

Error stopped(const std::string& device) { return {ErrorCode::unavailable, "stopped", device}; }

}  // namespace

LogEvent parse_ipmi_event(const IpmiBytes& record, const std::vector<IpmiSensor>& sensors) {
  IpmiBytes whole = record;
  whole.resize(kEntry);
  return Translator(sensors)(whole);
}

Result<std::vector<LogEvent>> read_ipmi_events(IpmiSession& session, const std::vector<IpmiSensor>& sensors,
                                               Clock& clock) {
  const std::string& device = session.options().device;
  const auto end = Steady::now() + std::chrono::seconds(kIpmiWalkSeconds);
  const Translator translate(sensors);
  std::vector<LogEvent> events;
  std::set<std::uint16_t> seen;
  for (std::uint16_t id = 0; id != kLastEntry;) {
    if (clock.stopped()) return stopped(device);
    if (Steady::now() > end) return Error{ErrorCode::timeout, "the BMC takes too long to send its event log", device};
    if (!seen.insert(id).second)
      return Error{ErrorCode::invalid_input, "the BMC's event log exceeds the limit", device};
    // A whole entry in one request needs no reservation; the last two bytes are offset 0 and "entire record".
    const Result<IpmiBytes> answer = session.command(
        {.function = kNetStorage,
         .command = kGetEntry,
         .data = {0, 0, static_cast<std::uint8_t>(id & 0xFF), static_cast<std::uint8_t>(id >> 8), 0, 0xFF},
         .what = "read the event log"});
    if (!answer && id == 0 && answer.error().code == ErrorCode::not_found) return events;  // empty: CBh
    // Cleared or deleted in the meantime: keep the entries read so far.
    if (!answer && answer.error().code == ErrorCode::not_found) return events;
    if (!answer) return answer.error();
    if (answer->size() < 2 + kEntry) {
      return Error{ErrorCode::invalid_input, "the BMC sent a truncated event", device};
    }
    events.push_back(translate(IpmiBytes(answer->begin() + 2, answer->begin() + 2 + kEntry)));
    id = static_cast<std::uint16_t>((*answer)[0] | ((*answer)[1] << 8));
  }
  return events;
}

Status clear_ipmi_events(IpmiSession& session, Clock& clock) {
  const std::string& device = session.options().device;
  const Result<IpmiBytes> reserved =
      session.command({.function = kNetStorage, .command = kReserveLog, .what = "reserve the event log"});
  if (!reserved) return reserved.error();
  if (reserved->size() < 2) return Error{ErrorCode::invalid_input, "the BMC sent a truncated reservation", device};
  constexpr std::uint8_t kStart = 0xAA;
  constexpr std::uint8_t kAsk = 0x00;
  const auto end = Steady::now() + std::chrono::seconds(kIpmiWalkSeconds);
  for (std::uint8_t action = kStart;; action = kAsk) {
    const Result<IpmiBytes> answer = session.command({.function = kNetStorage,
                                                      .command = kClearLog,
                                                      .data = {(*reserved)[0], (*reserved)[1], 'C', 'L', 'R', action},
                                                      .what = "clear the event log"});
    if (!answer) return answer.error();
    if (answer->empty() || ((*answer)[0] & 0x0F) == 1) return {};  // 1: erasure is complete
    if (Steady::now() > end) return Error{ErrorCode::timeout, "the BMC never finished clearing its event log", device};
    if (!clock.sleep(milliseconds(200))) return stopped(device);
  }
}

}  // namespace weft::oob

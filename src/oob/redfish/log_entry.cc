// Log entries for redfish/reply.h, with the spellings of vendors.
#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/utf8.h"
#include "oob/redfish/json.h"
#include "oob/redfish/reply.h"

namespace weft::oob {
namespace {

// Of one message; the longest in public dumps has 600.
constexpr std::size_t kMaxEventBytes = 2048;

std::string message_text(const Value& value, std::initializer_list<std::string_view> keys) {
  return printable(trim(raw_text(value, keys)), kMaxEventBytes);
}

// AMI firmware without a text for an IPMI record lists its fields: "Event_Data_1 : 2, ..., Event_Type : Drive Presence,
// ". Empty if there is no such field.
std::string_view ami_field(std::string_view text, std::string_view name) {
  const std::string start = fmt::format("{} : ", name);
  std::size_t at = text.find(start);
  while (at != std::string_view::npos && at != 0 && text[at - 1] != ' ') at = text.find(start, at + 1);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + start.size());
  return trim(text.substr(0, text.find(", ")), " ,");  // the last field has a comma, too
}

void read_ami_record(std::string_view text, LogEvent& event) {
  const std::string_view what = ami_field(text, "Event_Type");
  const std::string_view direction = ami_field(text, "Event_Dir");
  if (what.empty() || direction.empty()) return;
  event.message = what;
  if (const std::string_view sensor = ami_field(text, "Sensor_Number"); !sensor.empty())
    event.message += fmt::format(" (sensor {})", sensor);
  if (event.source.empty()) event.source = ami_field(text, "Sensor_Type");
  if (event.state != EventState::unknown) return;
  event.state = direction.starts_with("Deassert") ? EventState::deasserted : EventState::asserted;
}

EventState state_of(std::string_view entry_code) {
  // LogEntry.LogEntryCode of DSP2046; the others ("Lower Critical - going low") say how it was asserted.
  if (entry_code == "Assert") return EventState::asserted;
  if (entry_code == "Deassert") return EventState::deasserted;
  return EventState::unknown;
}

// The last segment of a path.
std::string id_in(std::string_view path) { return clean(path.substr(path.rfind('/') + 1)); }

// "Oem": {"Hpe": {"ClassDescription": "Drive Array"}}, {"Supermicro": {"Category": "Account"}}.
std::string vendor_category(const Value& value) {
  const Value* oem = member(value, {"Oem"});
  if (oem == nullptr || !oem->is_map()) return {};
  for (const Value::Entry& vendor : oem->entries()) {
    if (!vendor.value.is_map()) continue;
    for (const std::string_view name : {"ClassDescription", "Category"}) {
      if (std::string found = clean_text(vendor.value, {name}); !found.empty()) return found;
    }
  }
  return {};
}

std::string source_of(const Value& value) {
  for (const std::string_view name : {"SensorType", "OemSensorType"}) {
    if (std::string found = clean_text(value, {name}); !found.empty()) return found;
  }
  if (std::string found = vendor_category(value); !found.empty()) return found;
  return id_in(path_of(value, {"Links", "OriginOfCondition"}));
}

// iLO has one entry for an event that repeats: "Oem": {"Hpe": {"Count": 3}}.
std::uint64_t repetitions(const Value& value) {
  constexpr double kMax = 1e9;
  const Value* oem = member(value, {"Oem"});
  if (oem == nullptr || !oem->is_map()) return 1;
  for (const std::string_view vendor : {"Hpe", "Hp"}) {
    const double count = number(*oem, {vendor, "Count"}).value_or(1);
    if (count > 1 && count <= kMax) return static_cast<std::uint64_t>(count);
  }
  return 1;
}

// "Systems/1/SEL" of the path of an entry; nothing for another path.
std::optional<std::string> log_of_entry(std::string_view path) {
  const std::size_t entries = path.rfind("/Entries/");
  if (entries == std::string_view::npos || path.find("/LogServices/") == std::string_view::npos) return std::nullopt;
  return log_name(path.substr(0, entries));
}

// A clock that was never set starts at its epoch.
std::string time_in(const Value& value, std::string_view name) {
  std::string time = clean_text(value, {name});
  if (time.starts_with("1970-01-01") || time.starts_with("0000")) time.clear();
  return time;
}

}  // namespace

LogEvent parse_log_entry(const Value& value) {
  LogEvent event;
  event.id = clean_text(value, {"Id"});
  // When it happened; Created is when the entry was written.
  event.time = time_in(value, "EventTimestamp");
  if (event.time.empty()) event.time = time_in(value, "Created");
  event.severity = parse_health(raw_text(value, {"Severity"}));
  event.state = state_of(raw_text(value, {"EntryCode"}));
  if (truth(value, {"Resolved"}) == true) event.state = EventState::deasserted;
  event.count = repetitions(value);
  event.source = source_of(value);
  event.message_id = clean_text(value, {"MessageId"});
  event.resolution = message_text(value, {"Resolution"});
  const std::string text = message_text(value, {"Message"});
  event.message = text;
  read_ami_record(text, event);
  if (event.source.empty()) event.source = clean_text(value, {"EntryType"});
  if (event.message.empty()) event.message = event.message_id;
  // An entry of a log of dumps has a name alone: "BMC Dump Entry".
  if (event.message.empty()) event.message = clean_text(value, {"Name"});
  event.path = path_of(value, {"@odata.id"});
  return event;
}

EventServiceInfo parse_event_service(const Value& value) {
  EventServiceInfo info;
  info.enabled = truth(value, {"ServiceEnabled"}).value_or(true);
  info.stream = location_path(raw_text(value, {"ServerSentEventUri"}));
  info.by_format = truth(value, {"SSEFilterPropertiesSupported", "EventFormatType"}).value_or(false);
  return info;
}

LogEvent parse_event_record(const Value& value) {
  LogEvent event;
  event.id = clean_text(value, {"EventId"});
  event.time = time_in(value, "EventTimestamp");
  event.severity = parse_health(raw_text(value, {"MessageSeverity"}));
  if (event.severity == Health::unknown) event.severity = parse_health(raw_text(value, {"Severity"}));
  event.message_id = clean_text(value, {"MessageId"});
  event.resolution = message_text(value, {"Resolution"});
  event.message = message_text(value, {"Message"});
  if (event.message.empty()) event.message = event.message_id;
  const std::string origin = path_of(value, {"OriginOfCondition"});
  event.path = path_of(value, {"LogEntry"});
  // OpenBMC names the entry as the origin.
  if (event.path.empty() && log_of_entry(origin).has_value()) event.path = origin;
  if (event.path != origin) event.source = id_in(origin);
  if (const std::optional<std::string> log = log_of_entry(event.path)) event.log = *log;
  return event;
}

std::string log_name(std::string_view path) {
  constexpr std::string_view kRoot = "/redfish/v1/";
  constexpr std::string_view kServices = "/LogServices/";
  if (path.starts_with(kRoot)) path.remove_prefix(kRoot.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t at = path.find(kServices);
  if (at == std::string_view::npos) return clean(path);
  return clean(fmt::format("{}/{}", path.substr(0, at), path.substr(at + kServices.size())));
}

}  // namespace weft::oob

#include "bmcsim/event.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/human_format.h"
#include "bmcsim/resource.h"
#include "bmcsim/sensor.h"

namespace weft::bmcsim {
namespace {

struct EventRule {
  SimEventKind kind = SimEventKind::started;
  std::string_view message;  // {}: the subject
  std::string_view severity;
  std::string_view sensor;  // SensorType of LogEntry, from IPMI 2.0 table 42-3
  std::string_view id;
};
constexpr std::array<EventRule, 13> kRules{{
    {SimEventKind::started, "BMC started", "OK", "Management Subsystem Health", "WeftSim.1.0.Started"},
    {SimEventKind::power_on, "Power turned on", "OK", "System ACPI PowerState", "WeftSim.1.0.PowerOn"},
    {SimEventKind::power_off, "Power turned off", "OK", "System ACPI PowerState", "WeftSim.1.0.PowerOff"},
    {SimEventKind::hard_reset, "Processors were reset", "Warning", "System Boot/Restart Initiated",
     "WeftSim.1.0.HardReset"},
    {SimEventKind::nmi, "Diagnostic interrupt", "Critical", "Critical Interrupt", "WeftSim.1.0.Nmi"},
    {SimEventKind::log_cleared, "Log cleared", "OK", "Event Logging Disabled", "WeftSim.1.0.LogCleared"},
    {SimEventKind::locked_out, "Account locked after wrong passwords", "Warning", "Session Audit",
     "WeftSim.1.0.LockedOut"},
    {SimEventKind::account_added, "Account {} added", "OK", "Session Audit", "WeftSim.1.0.AccountAdded"},
    {SimEventKind::account_changed, "Account {} changed", "OK", "Session Audit", "WeftSim.1.0.AccountChanged"},
    {SimEventKind::account_removed, "Account {} removed", "OK", "Session Audit", "WeftSim.1.0.AccountRemoved"},
    {SimEventKind::update_done, "Firmware of the {} updated", "OK", "Version Change", "WeftSim.1.0.UpdateDone"},
    {SimEventKind::update_failed, "Firmware update of the {} failed", "Critical", "Version Change",
     "WeftSim.1.0.UpdateFailed"},
    // The message id of NVIDIA's baseboards; the message registry "ResourceEvent" is a standard one (DSP2046).
    {SimEventKind::xid, "", "Critical", "", "ResourceEvent.1.0.ResourceErrorsDetected"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

const EventRule& rule_of(const SimEvent& event) { return kRules[static_cast<std::size_t>(event.kind)]; }

bool is_update(const SimEvent& event) {
  return event.kind == SimEventKind::update_done || event.kind == SimEventKind::update_failed;
}

struct EventText {
  std::string message;
  std::vector<std::string> arguments;
};

// As the HGX H100 baseboard writes what the GPU driver reports.
EventText xid_text(const SimEvent& event) {
  const std::time_t seconds = event.wall_ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> date{};
  const std::size_t size = std::strftime(date.data(), date.size(), "%a %b %e %H:%M:%S UTC %Y", &parts);
  std::string part = fmt::format("GPU_SXM_{} Driver Event Message", event.gpu);
  std::string error = fmt::format("[{}] XID {}", std::string_view(date.data(), size), event.subject);
  std::string message = fmt::format("The resource property {} has detected errors of type '{}'.", part, error);
  return {std::move(message), {std::move(part), std::move(error)}};
}

EventText text_of(const SimEvent& event) {
  if (event.kind == SimEventKind::xid) return xid_text(event);
  const std::string_view message = rule_of(event).message;
  const std::size_t at = message.find("{}");
  if (at == std::string_view::npos) return {std::string(message), {}};
  std::string subject = is_update(event) ? event.subject == 0 ? "BMC" : "BIOS" : fmt::format("{}", event.subject);
  std::string text = fmt::format("{}{}{}", message.substr(0, at), subject, message.substr(at + 2));
  return {std::move(text), {std::move(subject)}};
}

std::string entry_path(const SimEvent& event) { return fmt::format("{}/Entries/{}", log_path_of(event), event.id); }

// Only an XID says more with it than its log does.
void put_origin(Value& value, const SimEvent& event) {
  if (event.kind != SimEventKind::xid) return;
  value.put("OriginOfCondition", link_to(fmt::format("/redfish/v1/Chassis/{}", gpu_chassis_id(event.gpu))));
}

// An Event (DSP0268) around one record.
Value event_of(std::uint32_t id, Value record) {
  Value value = Value::map();
  value.put("@odata.type", "#Event.v1_7_0.Event");
  value.put("Id", fmt::format("{}", id));
  value.put("Name", "Event");
  value.put("Context", "");
  value.put("Events", Value::list({std::move(record)}));
  return value;
}

}  // namespace

std::string log_path_of(const SimEvent& event) {
  if (event.kind != SimEventKind::xid) return "/redfish/v1/Systems/1/LogServices/SEL";
  return fmt::format("/redfish/v1/Chassis/{}/LogServices/XID", gpu_chassis_id(event.gpu));
}

Value log_entry_value(const SimEvent& event) {
  const EventRule& rule = rule_of(event);
  const bool is_xid = event.kind == SimEventKind::xid;
  const EventText text = text_of(event);
  Value entry = resource_head(entry_path(event), "LogEntry.v1_14_0.LogEntry", fmt::format("{}", event.id), "Log Entry");
  entry.put("EntryType", is_xid ? "Event" : "SEL");
  if (!is_xid) entry.put("EntryCode", "Assert");
  if (!rule.sensor.empty()) entry.put("SensorType", rule.sensor);
  entry.put("Severity", rule.severity);
  entry.put("Created", format_utc(event.wall_ms));
  entry.put("Message", text.message);
  entry.put("MessageId", rule.id);
  if (!text.arguments.empty()) entry.put("MessageArgs", Value::texts(text.arguments));
  if (is_xid) {
    entry.put("Resolved", false);
    Value links = Value::map();
    put_origin(links, event);
    entry.put("Links", std::move(links));
  }
  return entry;
}

Value event_value(const SimEvent& event) {
  const EventRule& rule = rule_of(event);
  const EventText text = text_of(event);
  Value record = Value::map();
  record.put("MemberId", "0");
  record.put("EventId", fmt::format("{}", event.id));
  record.put("EventTimestamp", format_utc(event.wall_ms));
  record.put("MessageSeverity", rule.severity);
  record.put("Message", text.message);
  record.put("MessageId", rule.id);
  if (!text.arguments.empty()) record.put("MessageArgs", Value::texts(text.arguments));
  put_origin(record, event);
  record.put("LogEntry", link_to(entry_path(event)));
  return event_of(event.id, std::move(record));
}

Value buffer_exceeded_value(std::uint32_t id, std::int64_t wall_ms) {
  Value record = Value::map();
  record.put("MemberId", "0");
  record.put("EventId", fmt::format("lost-{}", id));
  record.put("EventTimestamp", format_utc(wall_ms));
  record.put("MessageSeverity", "Critical");
  record.put("Message", "Undelivered events have been lost due to the lack of buffer space in the service.");
  record.put("MessageId", "Base.1.13.EventBufferExceeded");
  return event_of(id, std::move(record));
}

}  // namespace weft::bmcsim

// Bytes as a BMC's reply: JSON into every struct that weft reads from Redfish, and settings read and written at every
// vendor's path. For any input nothing is thrown, displayed text is printable, and only trusted paths are requested.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/quoting.h"
#include "base/utf8.h"
#include "oob/redfish/json.h"
#include "oob/redfish/message_registry.h"
#include "oob/redfish/oem_settings.h"
#include "oob/redfish/quirks.h"
#include "oob/redfish/reply.h"
#include "oob/redfish/software.h"

namespace weft::oob {
namespace {

void check_text(const std::string& text) {
  CHECK(text == printable(text), "a text for people is printable");
  CHECK(text.size() <= kMaxTextBytes + 8, "a text for people is short");
}

void check_message(const std::string& text) {
  CHECK(text == printable(text), "a message is printable");
  CHECK(text.size() <= 2048 + 8, "a message is bounded");
}

void check_event(const LogEvent& event) {
  for (const std::string& text : {event.id, event.time, event.message_id}) check_text(text);
  for (const std::string& text : {event.source, event.message, event.resolution}) check_message(text);
  CHECK(event.path.empty() || is_trusted_path(event.path), "a path can be trusted");
}

void check_path(const std::string& path) { CHECK(path.empty() || is_trusted_path(path), "a path can be trusted"); }

void read_system(const Value& value) {
  const ServiceRoot root = parse_service_root(value);
  for (const std::string& path : {root.systems, root.managers, root.chassis, root.accounts, root.sessions})
    check_path(path);
  const Resettable thing = parse_resettable(value);
  for (const std::string& path :
       {thing.path, thing.reset_target, thing.action_info, thing.log_services, thing.manager}) {
    check_path(path);
  }
  for (const std::string& text :
       {thing.identity.manufacturer, thing.identity.model, thing.identity.serial, thing.identity.uuid,
        thing.identity.bios, thing.power.boot_id, thing.power.boot_progress}) {
    check_text(text);
  }
  CHECK(known_resets(thing.reset_types).size() <= kResetActions, "each reset once");
  (void)known_resets(parse_action_info(value));
  const ManagerInfo manager = parse_manager(value);
  for (const std::string& path :
       {manager.path, manager.network_protocol, manager.log_services, manager.host_interfaces}) {
    check_path(path);
  }
  const ChassisInfo chassis = parse_chassis(value);
  for (const std::string& path : {chassis.sensors, chassis.thermal, chassis.power, chassis.path, chassis.within})
    check_path(path);
}

void read_firmware(const Value& value) {
  const FirmwareItem item = parse_software(value);
  check_path(item.path);
  for (const std::string& text : {item.id, item.name, item.component, item.version, item.state}) check_text(text);
  const UpdateLinks links = parse_update_links(value);
  const UpdateService service = parse_update_service(value);
  for (const std::string& path : {links.firmware, links.software, service.path, service.multipart, service.push})
    check_path(path);
  if (const std::optional<UpdateTask> task = parse_update_task(value)) {
    check_path(task->path);
    for (const std::string& text : {task->state_text, task->message}) check_text(text);
  }
}

void read_messages(const Value& value) {
  const std::optional<MessageNeed> need = message_need(value);
  if (!need) return;
  check_path(registry_place(value, need->id.registry).path);
  for (const auto& [key, text] : parse_message_registry(value)) {
    if (const std::optional<std::string> filled = fill_message(text, need->arguments)) check_message(*filled);
  }
  if (const auto filled = fill_message(need->id.key, need->arguments)) check_message(*filled);
}

void read_records(const Value& value) {
  const Collection collection = parse_collection(value);
  CHECK(collection.members.size() <= kMaxMembers && collection.expanded.size() <= collection.members.size(), "bounded");
  for (const std::string& path : collection.members) check_path(path);
  for (const Value* item : collection.expanded) {
    check_text(parse_sensor(*item).name);
    check_event(parse_log_entry(*item));
  }
  check_path(collection.next);
  const SensorReading sensor = parse_sensor(value);
  for (const std::string& text : {sensor.name, sensor.kind, sensor.unit}) check_text(text);
  for (const SensorReading& one : parse_thermal(value)) check_text(one.name);
  for (const SensorReading& one : parse_power(value)) check_message(one.name);
  check_event(parse_log_entry(value));
  check_event(parse_event_record(value));
  check_path(parse_event_service(value).stream);
  for (const Metric& metric : parse_metric_report(value, "/redfish/v1/TelemetryService/MetricReports/1")) {
    for (const std::string& text : {metric.report, metric.part, metric.name, metric.value, metric.time})
      check_text(text);
  }
  const LogService log = parse_log_service(value);
  for (const std::string& path : {log.path, log.entries, log.clear_target}) check_path(path);
  const Account account = parse_account(value);
  check_path(account.path);
  check_text(account.user.name);
}

void read_answers(const Value& value) {
  check_path(parse_session(value).path);
  const TaskInfo task = parse_task(value);
  check_path(task.monitor);
  check_text(task.message);
  const ReplyMessages messages = parse_messages(value);
  check_path(messages.change_account);
  CHECK(messages.text.size() <= 3 * 4096, "messages are bounded");
  (void)messages.has("SessionLimitExceeded");
}

void read_settings(const Value& value) {
  BmcSettings settings = parse_network_protocol(value);
  SettingsChange change;
  change.ipmi_over_lan = false;
  change.ntp = settings.ntp;
  (void)unknown_settings(change, settings);
  (void)untaken_settings(change, settings);
  (void)any_interface_enabled({value});
  for (const Quirk& quirk : all_quirks()) {
    for (const SettingPlace* place : {&quirk.syslog, &quirk.firewall}) {
      if (!place->known()) continue;
      const std::optional<std::vector<std::string>> now = read_setting(*place, value);
      if (!now) continue;
      for (const std::string& text : *now) check_text(text);
      (void)write_setting(*place, value, *now);
      (void)write_setting(*place, value, {"10.0.0.0/8"});
    }
  }
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 65536) return 0;
  const std::string text(data, data + size);
  const std::string location = weft::oob::location_path(text);
  CHECK(location.empty() || weft::oob::is_trusted_path(location), "a location can be trusted");
  const weft::Result<weft::Value> quoted = weft::oob::read_json_reply(weft::json_quote_secret(text));
  CHECK(!quoted.ok() || quoted->text() == text, "what is quoted is read back");
  const weft::Result<weft::Value> value = weft::oob::read_json_reply(text);
  if (!value.ok()) {
    CHECK(!value.error().message.empty(), "an error says what");
    return 0;
  }
  weft::oob::read_firmware(*value);
  weft::oob::read_system(*value);
  weft::oob::read_records(*value);
  weft::oob::read_messages(*value);
  weft::oob::read_answers(*value);
  weft::oob::read_settings(*value);
  return 0;
}

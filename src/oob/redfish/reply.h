// Parses Redfish resources from JSON into plain structs (schemas: DMTF DSP8010; protocol: DSP0266). Pure functions that
// do not throw on any input. A member that is absent, of the wrong type, or an untrusted path is empty in the struct.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "oob/bmc/bmc.h"

namespace weft::oob {

// The maximum number of collection members and of log entries that weft reads.
inline constexpr std::size_t kMaxMembers = 1'000;
inline constexpr std::size_t kMaxEvents = 10'000;

struct ServiceRoot {
  std::string vendor{};
  std::string product{};
  std::string uuid{};
  std::vector<std::string> oem{};  // keys of Oem: "Dell", "Supermicro", ...
  std::string systems{};
  std::string managers{};
  std::string chassis{};
  std::string accounts{};      // the AccountService
  std::string sessions{};      // the collection of sessions
  std::string registries{};    // the collection of message registry files
  std::string update{};        // the UpdateService
  std::string tasks{};         // the TaskService
  std::string events{};        // the EventService
  std::string telemetry{};     // the TelemetryService
  bool expand_links = false;   // $expand=. is supported
  bool expand_levels = false;  // ... with $levels
};
[[nodiscard]] ServiceRoot parse_service_root(const Value& value);

struct Collection {
  std::vector<std::string> members{};  // trusted paths
  // Members that were returned expanded; in the same order as `members` if all were.
  std::vector<const Value*> expanded{};
  std::string next{};  // the next page
};
// The result points into `value`.
[[nodiscard]] Collection parse_collection(const Value& value);

// A resource that can be reset: a ComputerSystem, or a Chassis if there is no system.
struct Resettable {
  std::string path{};
  std::string reset_target{};
  std::string action_info{};
  std::vector<std::string> reset_types{};  // in the BMC's spelling; empty: not listed here
  std::string log_services{};
  std::string manager{};  // Links.ManagedBy, the first
  double memory_gib = 0;
  BmcIdentity identity{};  // without the BMC firmware version
  PowerReading power{};
};
[[nodiscard]] Resettable parse_resettable(const Value& value);
// Values of the ResetType parameter of an ActionInfo.
[[nodiscard]] std::vector<std::string> parse_action_info(const Value& value);
// The values that weft supports, each once. "ForceOn" counts as On if On is not offered.
[[nodiscard]] std::vector<ResetAction> known_resets(const std::vector<std::string>& types);

struct ManagerInfo {
  std::string path{};
  std::string model{};
  std::string firmware{};
  std::string uuid{};
  std::string network_protocol{};
  std::string log_services{};
  std::string host_interfaces{};
};
[[nodiscard]] ManagerInfo parse_manager(const Value& value);

struct ChassisInfo {
  std::string path{};
  std::string sensors{};
  std::string thermal{};
  std::string power{};
  std::string within{};                // the chassis that it is a part of
  std::vector<std::string> systems{};  // that it is a part of
  std::string type{};                  // ChassisType: "RackMount", "Component"
  BmcIdentity identity{};              // manufacturer, model and serial
};
[[nodiscard]] ChassisInfo parse_chassis(const Value& value);

[[nodiscard]] SensorReading parse_sensor(const Value& value);
// Temperatures and Fans of a Thermal, voltages, power supplies and PowerControl of a Power resource.
[[nodiscard]] std::vector<SensorReading> parse_thermal(const Value& value);
[[nodiscard]] std::vector<SensorReading> parse_power(const Value& value);
[[nodiscard]] Health parse_health(std::string_view text);
// The messages of a resource's Status.Conditions, worst first; empty if it has none.
[[nodiscard]] std::string conditions_text(const Value& value);

struct LogService {
  std::string path{};
  std::string id{};
  std::string entries{};
  std::string clear_target{};
  bool sel = false;  // LogEntryType is that of the system event log
};
[[nodiscard]] LogService parse_log_service(const Value& value);
// "Chassis/GPU_1/XID" for /redfish/v1/Chassis/GPU_1/LogServices/XID.
[[nodiscard]] std::string log_name(std::string_view path);
[[nodiscard]] LogEvent parse_log_entry(const Value& value);

struct EventServiceInfo {
  bool enabled = true;
  std::string stream{};    // of server-sent events
  bool by_format = false;  // the stream can be limited to events, without metric reports
};
[[nodiscard]] EventServiceInfo parse_event_service(const Value& value);
// One of the `Events` of an Event (DSP2046).
[[nodiscard]] LogEvent parse_event_record(const Value& value);

// The values of a MetricReport (DSP2051). `report`: its Id, or the last segment of `path`.
[[nodiscard]] std::vector<Metric> parse_metric_report(const Value& value, std::string_view path);
// What a MetricProperty is about: the resource without its collections, and the property without the name of its
// vendor.
struct MetricPlace {
  std::string part{};
  std::string name{};
};
[[nodiscard]] MetricPlace metric_place(std::string_view property);

struct Account {
  std::string path{};
  std::string etag{};
  std::string role_path{};
  BmcUser user{};
};
[[nodiscard]] Account parse_account(const Value& value);
// What the privileges of a Role resource amount to.
[[nodiscard]] UserRole parse_role(const Value& value);

// IPMI, HTTP, SSH, SNMP and NTP of a ManagerNetworkProtocol.
[[nodiscard]] BmcSettings parse_network_protocol(const Value& value);

struct SessionInfo {
  std::string path{};
  std::string user{};
  std::string context{};
  std::string created{};
};
[[nodiscard]] SessionInfo parse_session(const Value& value);

enum class TaskEnd : std::uint8_t { running, done, failed };
struct TaskInfo {
  bool task = false;  // whether it is a Task at all
  std::string path{};
  std::string monitor{};
  TaskEnd end = TaskEnd::running;
  std::string state{};
  std::string message{};
};
[[nodiscard]] TaskInfo parse_task(const Value& value);

// The extended information of an error reply, or of a success with messages (DSP0266, "Error responses").
struct ReplyMessages {
  std::vector<std::string> ids{};  // "Base.1.8.SessionLimitExceeded"
  std::string text{};              // joined, unsanitized, at most 4 KiB
  std::string change_account{};    // account whose password must be changed, from PasswordChangeRequired's arguments
  // Whether a MessageId ends in this name, in any registry and version.
  [[nodiscard]] bool has(std::string_view name) const;
};
[[nodiscard]] ReplyMessages parse_messages(const Value& value);

// The path of a Location header; its host is ignored, since requests always go to the configured BMC. Empty if it is
// not a trusted path.
[[nodiscard]] std::string location_path(std::string_view location);

}  // namespace weft::oob

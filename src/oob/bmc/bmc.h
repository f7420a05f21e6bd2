// Interface to one BMC, independent of the protocol. Implemented by Redfish and IPMI, and by fakes in tests. A Bmc is
// one session, used by one thread; calls block until the BMC has answered or the endpoint's timeout has expired. No
// retries, fleets or journals here: a call is one attempt, and reset() only reports that the request was accepted.
// Verification is in power/loop.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"
#include "oob/credentials/secret.h"
#include "oob/durable/clock.h"

namespace weft::oob {

enum class Health : std::uint8_t { unknown, ok, warning, critical };

enum class PowerState : std::uint8_t { unknown, off, on, powering_on, powering_off };

// The machine's power state as reported by the BMC in one query.
struct PowerReading {
  PowerState state = PowerState::unknown;
  // A string that changes with every boot (Redfish: LastResetTime, else BootProgress.LastStateTime of the first state),
  // empty if the BMC reports none. Only compared for equality.
  std::string boot_id;
  std::string boot_progress;        // Redfish BootProgress.LastState ("OSRunning"), empty if the BMC reports none
  Health health = Health::unknown;  // of the machine with its parts (Redfish Status)
  std::string condition{};          // why, if the BMC says so (Redfish Status.Conditions)
};

// The Redfish ResetType values that weft uses.
enum class ResetAction : std::uint8_t { on, force_off, graceful_shutdown, power_cycle, force_restart };
inline constexpr int kResetActions = 5;

struct BmcIdentity {
  std::string manufacturer;
  std::string model;     // of the server
  std::string serial;    // of the server
  std::string uuid;      // of the server or the BMC; distinguishes two BMCs that answer on one address
  std::string firmware;  // of the BMC
  std::string bios;
  std::string service_tag{};     // Dell; the serial is that of the board
  std::string other_firmware{};  // of further managers: "HGX_BMC_0 24.09-1, CMC 2.1"
  bool operator==(const BmcIdentity&) const = default;
};

struct SensorReading {
  std::string name;
  std::string kind;             // "temperature", "fan", "voltage", "power", "current", "discrete", ...
  std::optional<double> value;  // none: absent or not readable
  std::string unit;             // "C", "RPM", "V", "W", "A", "%"
  Health health = Health::unknown;
  std::optional<double> high_critical;
  std::optional<double> low_critical;
};

// Readings, and where some are missing.
struct UnreadSensors {
  std::string place;  // "Chassis/HGX_GPU_SXM_1"
  Error error;
};
struct SensorReadings {
  std::vector<SensorReading> readings;
  std::vector<UnreadSensors> unread;
};

// Whether an event says that a condition began or that it ended.
enum class EventState : std::uint8_t { unknown, asserted, deasserted };

struct LogEvent {
  std::string id;
  std::string time;                   // as reported by the BMC, ISO 8601 if possible, empty if its clock was never set
  Health severity = Health::unknown;  // as reported; see severity_of()
  std::string source;                 // sensor or component
  std::string message;
  std::string log{};         // "Systems/1/SEL", "Chassis/HGX_GPU_SXM_1/XID"; IPMI: "SEL"
  std::string message_id{};  // "ResourceEvent.1.0.ResourceErrorsDetected"
  std::string resolution{};  // what the BMC suggests
  EventState state = EventState::unknown;
  std::uint64_t count = 1;  // how often it occurred, if the BMC counts repetitions in one entry
  std::string path{};       // of the log entry, "" if there is none or it is not known
};
// The end of a condition is no problem, whatever severity the BMC gives it.
[[nodiscard]] Health severity_of(const LogEvent& event);

struct UnreadLog {
  std::string log;
  Error error;
};
struct EventLogs {
  std::vector<LogEvent> events;   // log by log, in the order of the BMC
  std::vector<UnreadLog> unread;  // logs of which some or all entries are missing
};

// Events as a BMC sends them (Redfish: server-sent events), until the connection ends. The session must outlive it.
struct SentEvents {
  std::vector<LogEvent> events;
  bool incomplete = false;  // the BMC says that it lost some
};
class EventStream {
 public:
  EventStream() = default;
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;
  virtual ~EventStream() = default;
  // What arrived within `wait`, possibly nothing; an error if the stream ended.
  [[nodiscard]] virtual Result<SentEvents> read(Duration wait) = 0;
  // For the stream that goes on from here; "" if the BMC does not number its events.
  [[nodiscard]] virtual std::string last_id() const { return {}; }
};

// One value of the telemetry of a BMC (Redfish: MetricReport).
struct Metric {
  std::string report;  // "HGX_ProcessorMetrics_0"
  std::string part;    // what was measured: "GPU_2", "GPU_2/NVLink_0", "Chassis 1"
  std::string name;    // "CacheMetricsTotal/LifeTime/CorrectableECCErrorCount"
  std::string value;   // as the BMC wrote it
  std::string time;    // ISO 8601, or empty
  bool stale = false;  // the BMC says that the value is old
};
struct UnreadReport {
  std::string report;
  Error error;
};
struct MetricReports {
  std::vector<Metric> metrics;
  std::vector<UnreadReport> unread;
};

enum class UserRole : std::uint8_t { none, read_only, operating, administrator };

struct BmcUser {
  std::string id;  // account id (Redfish) or slot (IPMI)
  std::string name;
  UserRole role = UserRole::none;
  bool enabled = false;
  bool locked = false;
};

// What a BMC answers to plain HTTP (audit/http_probe.h).
enum class HttpAnswer : std::uint8_t { none, redirect, plain };

// BMC settings as reported; empty members are not reported by the BMC.
struct BmcSettings {
  std::optional<bool> ipmi_over_lan;
  std::vector<int> cipher_suites;  // allowed for IPMI sessions, ascending; empty if not reported
  std::optional<bool> http;        // without TLS
  std::uint16_t http_port = 80;
  std::optional<HttpAnswer> http_answer;  // if it was probed
  std::optional<bool> ssh;
  std::optional<bool> snmp;
  std::optional<bool> host_interface;                // the operating system may access its BMC
  std::optional<std::vector<std::string>> syslog;    // remote targets; an empty list: none configured
  std::optional<std::vector<std::string>> firewall;  // allowed subnets; an empty list: no restriction
  std::optional<std::vector<std::string>> ntp;
};

// Settings to change; empty members stay unchanged.
struct SettingsChange {
  std::optional<bool> ipmi_over_lan;
  std::optional<bool> http;
  std::optional<bool> ssh;
  std::optional<bool> snmp;
  std::optional<std::vector<std::string>> syslog;
  std::optional<std::vector<std::string>> firewall;
  std::optional<std::vector<std::string>> ntp;
};

// A serial console. read() returns what arrived within `wait`, possibly nothing; an error if the console is closed.
class ConsoleStream {
 public:
  ConsoleStream() = default;
  ConsoleStream(const ConsoleStream&) = delete;
  ConsoleStream& operator=(const ConsoleStream&) = delete;
  virtual ~ConsoleStream() = default;
  [[nodiscard]] virtual Result<std::string> read(Duration wait) = 0;
  [[nodiscard]] virtual Status write(std::string_view text) = 0;
};

class FirmwareAccess;

// Errors: unavailable (no answer, no route), timeout, refused (credentials, privileges, TLS, or the BMC declined the
// request: nothing was done), invalid_input (the BMC sent an invalid response: the state is unknown), not_found (the
// BMC has no such resource), conflict (temporarily refused: session limit, busy). An error's location is the device
// name. Error texts never contain a password or a token.
class Bmc {
 public:
  Bmc() = default;
  Bmc(const Bmc&) = delete;
  Bmc& operator=(const Bmc&) = delete;
  virtual ~Bmc() = default;  // ends the session in all cases

  [[nodiscard]] virtual Result<BmcIdentity> identity() = 0;
  [[nodiscard]] virtual Result<PowerReading> power() = 0;
  // The actions that the BMC reports as supported. Empty: not reported.
  [[nodiscard]] virtual Result<std::vector<ResetAction>> reset_actions() = 0;
  // Ok only means that the BMC accepted the request.
  [[nodiscard]] virtual Status reset(ResetAction action) = 0;
  [[nodiscard]] virtual Result<std::vector<SensorReading>> sensors() = 0;
  // The same, with the parts that could not be read while others could.
  [[nodiscard]] virtual Result<SensorReadings> all_sensors();
  // The event log of the machine, which is the one that clear_events() clears.
  [[nodiscard]] virtual Result<std::vector<LogEvent>> events() = 0;
  [[nodiscard]] virtual Status clear_events() = 0;
  // The entries of all logs of the BMC, each once; of those with the id or name `only`, unless it is empty. not_found:
  // there is no such log.
  [[nodiscard]] virtual Result<EventLogs> event_logs(const std::string& only);
  // not_found if the BMC has no telemetry.
  [[nodiscard]] virtual Result<MetricReports> metrics();
  // not_found if the BMC sends no events. `last_id`: of the stream before it, or empty.
  [[nodiscard]] virtual Result<std::unique_ptr<EventStream>> event_stream(const std::string& last_id);
  [[nodiscard]] virtual Result<std::vector<BmcUser>> users() = 0;
  [[nodiscard]] virtual Status set_password(const std::string& user, const Secret& password) = 0;
  [[nodiscard]] virtual Status set_user_enabled(const std::string& user, bool enabled) = 0;
  [[nodiscard]] virtual Result<BmcSettings> settings() = 0;
  // not_found if the BMC has no such setting; nothing was changed then.
  [[nodiscard]] virtual Status change(const SettingsChange& change) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<ConsoleStream>> console() = 0;
  // bmc/firmware.h. Null if the protocol has none (IPMI).
  [[nodiscard]] virtual FirmwareAccess* firmware() { return nullptr; }
};

// Opens sessions. The fleet code uses only this interface.
class BmcConnector {
 public:
  BmcConnector() = default;
  BmcConnector(const BmcConnector&) = delete;
  BmcConnector& operator=(const BmcConnector&) = delete;
  virtual ~BmcConnector() = default;
  // One attempt to log in. Safe to call from many threads.
  [[nodiscard]] virtual Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string& user,
                                                          const Secret& password) = 0;
};

[[nodiscard]] std::string_view to_text(EventState state);
[[nodiscard]] std::string_view to_text(PowerState state);    // "powering on"
[[nodiscard]] std::string_view to_text(ResetAction action);  // as Redfish spells it: "ForceOff"
[[nodiscard]] std::optional<ResetAction> reset_action_named(std::string_view redfish);
[[nodiscard]] std::string_view to_text(Health health);
[[nodiscard]] std::string_view to_text(UserRole role);

}  // namespace weft::oob

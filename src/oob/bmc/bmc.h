// One BMC, spoken to: the seam between what weft wants of a machine's controller and the protocol that carries it.
// Redfish and IPMI stand behind it, and fakes in tests. A Bmc is one session, used by one thread; calls block until the
// BMC answered or the endpoint's time limit passed. It knows nothing of retries, fleets or journals: a call is one
// attempt, and "accepted" is all that reset() says. Proof is power/loop.h's business.
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

enum class PowerState : std::uint8_t { unknown, off, on, powering_on, powering_off };

// What a BMC tells of the machine's power in one look.
struct PowerReading {
  PowerState state = PowerState::unknown;
  // A text that changes with every boot (Redfish: LastResetTime, else BootProgress.LastStateTime of the first state),
  // empty where the BMC tells none. Only ever compared for equality.
  std::string boot_id;
  std::string boot_progress;  // Redfish BootProgress.LastState ("OSRunning"), empty where the BMC tells none
};

// Redfish ResetType, those that weft uses.
enum class ResetAction : std::uint8_t { on, force_off, graceful_shutdown, power_cycle, force_restart };
inline constexpr int kResetActions = 5;

struct BmcIdentity {
  std::string manufacturer;
  std::string model;     // of the server
  std::string serial;    // of the server
  std::string uuid;      // of the server or the BMC; tells two BMCs apart that answer on one address
  std::string firmware;  // of the BMC
  std::string bios;
  bool operator==(const BmcIdentity&) const = default;
};

enum class Health : std::uint8_t { unknown, ok, warning, critical };

struct SensorReading {
  std::string name;
  std::string kind;             // "temperature", "fan", "voltage", "power", "current", "discrete", ...
  std::optional<double> value;  // none: absent or not readable
  std::string unit;             // "C", "RPM", "V", "W", "A", "%"
  Health health = Health::unknown;
  std::optional<double> high_critical;
  std::optional<double> low_critical;
};

struct LogEvent {
  std::string id;
  std::string time;  // as the BMC tells it, ISO 8601 where that is known, empty where its clock was never set
  Health severity = Health::unknown;
  std::string source;  // sensor or component
  std::string message;
};

enum class UserRole : std::uint8_t { none, read_only, operating, administrator };

struct BmcUser {
  std::string id;  // account id (Redfish) or slot (IPMI)
  std::string name;
  UserRole role = UserRole::none;
  bool enabled = false;
  bool locked = false;
};

// How a BMC is set up, as far as it tells; what it does not tell is empty.
struct BmcSettings {
  std::optional<bool> ipmi_over_lan;
  std::vector<int> cipher_suites;  // those an IPMI session may use, ascending; empty when not told
  std::optional<bool> http;        // without TLS
  std::optional<bool> ssh;
  std::optional<bool> snmp;
  std::optional<bool> host_interface;                // the operating system may talk to its BMC
  std::optional<std::vector<std::string>> syslog;    // remote targets; an empty list: none set
  std::optional<std::vector<std::string>> firewall;  // subnets let in; an empty list: everyone
  std::optional<std::vector<std::string>> ntp;
};

// What is to be changed; what is empty stays.
struct SettingsChange {
  std::optional<bool> ipmi_over_lan;
  std::optional<bool> http;
  std::optional<bool> ssh;
  std::optional<bool> snmp;
  std::optional<std::vector<std::string>> syslog;
  std::optional<std::vector<std::string>> firewall;
  std::optional<std::vector<std::string>> ntp;
};

// A serial console. read() gives what came within `wait`, empty when nothing did; an error when the console is gone.
class ConsoleStream {
 public:
  ConsoleStream() = default;
  ConsoleStream(const ConsoleStream&) = delete;
  ConsoleStream& operator=(const ConsoleStream&) = delete;
  virtual ~ConsoleStream() = default;
  [[nodiscard]] virtual Result<std::string> read(Duration wait) = 0;
  [[nodiscard]] virtual Status write(std::string_view text) = 0;
};

// Errors: unavailable (no answer, no route), timeout, refused (credentials, privileges, TLS, or the
// BMC declined the request: nothing was done), invalid_input (the BMC sent rubbish: nothing is known), not_found (the
// BMC has no such thing), conflict (the BMC says not now: session limit, busy). The place of an error is the device's
// name. No error text ever holds a password or a token.
class Bmc {
 public:
  Bmc() = default;
  Bmc(const Bmc&) = delete;
  Bmc& operator=(const Bmc&) = delete;
  virtual ~Bmc() = default;  // ends the session, whatever happened

  [[nodiscard]] virtual Result<BmcIdentity> identity() = 0;
  [[nodiscard]] virtual Result<PowerReading> power() = 0;
  // What the BMC says it can do. Empty: it does not say.
  [[nodiscard]] virtual Result<std::vector<ResetAction>> reset_actions() = 0;
  // Ok means accepted, and no more.
  [[nodiscard]] virtual Status reset(ResetAction action) = 0;
  [[nodiscard]] virtual Result<std::vector<SensorReading>> sensors() = 0;
  [[nodiscard]] virtual Result<std::vector<LogEvent>> events() = 0;
  [[nodiscard]] virtual Status clear_events() = 0;
  [[nodiscard]] virtual Result<std::vector<BmcUser>> users() = 0;
  [[nodiscard]] virtual Status set_password(const std::string& user, const Secret& password) = 0;
  [[nodiscard]] virtual Status set_user_enabled(const std::string& user, bool enabled) = 0;
  [[nodiscard]] virtual Result<BmcSettings> settings() = 0;
  // Refused with not_found when the BMC has no such setting; then nothing was changed.
  [[nodiscard]] virtual Status change(const SettingsChange& change) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<ConsoleStream>> console() = 0;
};

// Opens sessions. The fleet code sees only this.
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

[[nodiscard]] std::string_view to_text(PowerState state);    // "powering on"
[[nodiscard]] std::string_view to_text(ResetAction action);  // as Redfish spells it: "ForceOff"
[[nodiscard]] std::optional<ResetAction> reset_action_named(std::string_view redfish);
[[nodiscard]] std::string_view to_text(Health health);
[[nodiscard]] std::string_view to_text(UserRole role);

}  // namespace weft::oob

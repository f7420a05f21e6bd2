// Simulated BMCs: any number of Redfish services in one process and one thread, each on its own loopback address, with
// power states that take time, sessions, accounts, logs, latency and faults. For tests, drills and benchmarks of
// anything that uses Redfish; verified with stock clients. No IPMI, no console.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"
#include "base/quantity.h"
#include "base/result.h"
#include "bmcsim/fault.h"
#include "oob/bmc/bmc.h"
#include "oob/credentials/secret.h"

namespace weft::bmcsim {

enum class SimKind : std::uint8_t { server, network_switch, pdu };

struct SimDevice {
  std::string name{};
  std::uint32_t offset = 0;  // its address is SimOptions::base plus this
  SimKind kind = SimKind::server;
  Power power = watts(700);  // maximum draw
  std::uint32_t gpus = 0;
};

struct SimOptions {
  Ipv4 base{0x7F100001U};  // 127.16.0.1; all addresses are in 127.0.0.0/8
  std::uint16_t port = 0;  // 0: any
  bool tls = true;
  std::string user = "admin";
  oob::Secret password = oob::Secret("weft-simulated");
  std::uint64_t seed = 1;
  Duration latency{};  // mean response time, drawn from 0.5 to 1.5 times this
  // Mean durations, each drawn from 0.5 to 1.5 times this.
  Duration power_time = milliseconds(300);       // off to on; a forced off takes a tenth
  Duration shutdown_time = milliseconds(1'000);  // of an operating system
  Duration boot_time = milliseconds(2'000);      // from power to OSRunning
  Duration flash_time = milliseconds(3'000);     // of a firmware update
  Duration restart_time = milliseconds(2'000);   // of the BMC after it; not drawn
  bool powered = true;                           // initial power state
  std::uint32_t sessions = 16;                   // at most, per BMC
  Duration session_timeout = milliseconds(300'000);
  std::uint32_t lockout = 10;  // consecutive wrong passwords that lock an account; 0: never
  Duration lockout_time = milliseconds(60'000);
  Duration keep_alive = milliseconds(15'000);  // between comments on an event stream without events
  std::vector<NamedFault> faults{};
  std::string authority{};  // folder that stores ca.pem and ca.key; empty: a new CA each time
};

// The Redfish ResetType values that simulated systems support.
enum class SimReset : std::uint8_t {
  on,
  force_off,
  graceful_shutdown,
  graceful_restart,
  force_restart,
  nmi,
  force_on,
  push_power_button,
  power_cycle
};
inline constexpr std::size_t kSimResets = 9;
[[nodiscard]] std::string_view to_text(SimReset reset);  // "ForceOff"

// Counters of one BMC, or of all.
struct SimCounters {
  std::uint64_t connections = 0;
  std::uint64_t requests = 0;
  std::uint32_t in_flight = 0;       // requests received and not yet answered
  std::uint32_t most_in_flight = 0;  // per BMC
  std::uint32_t sessions = 0;        // open now
  std::uint32_t most_sessions = 0;   // per BMC
  std::uint64_t logins = 0;          // sessions that were opened
  std::uint64_t refused = 0;         // wrong passwords
  std::uint64_t password_changes = 0;
  std::uint32_t streams = 0;                       // of events that were opened
  std::uint32_t images = 0;                        // of firmware that were accepted
  std::array<std::uint32_t, kSimResets> resets{};  // answered with 2xx, regardless of the outcome

  [[nodiscard]] std::uint32_t all_resets() const;
};

// An invalid fault or address is an error of make(). All calls are safe while the fleet is serving.
class SimFleet {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SimFleet>> make(std::vector<SimDevice> devices, SimOptions options);
  SimFleet(const SimFleet&) = delete;
  SimFleet& operator=(const SimFleet&) = delete;
  ~SimFleet();  // stops

  // Serves from its own thread until stop(), which returns when that thread has ended.
  [[nodiscard]] Status start();
  void stop();

  [[nodiscard]] std::uint16_t port() const;
  [[nodiscard]] const std::string& ca_pem() const;  // empty without TLS
  [[nodiscard]] const std::vector<SimDevice>& devices() const;
  [[nodiscard]] std::string address(std::uint32_t device) const;  // "127.16.0.1"
  [[nodiscard]] std::string url(std::uint32_t device) const;      // "https://127.16.0.1:41234"

  [[nodiscard]] SimCounters counters(std::uint32_t device) const;
  [[nodiscard]] SimCounters totals() const;
  // The actual state, regardless of what the BMC reports.
  [[nodiscard]] oob::PowerState power(std::uint32_t device) const;
  // Whether the account accepts this password.
  [[nodiscard]] bool opens(std::uint32_t device, const std::string& user, const oob::Secret& password) const;

  // Outside of Redfish: AC power lost or restored, faults set or cleared, a restart of the BMC.
  void set_power(std::uint32_t device, bool on);
  void set_faults(std::uint32_t device, const FaultSet& faults);
  void restart_bmc(std::uint32_t device);  // sessions are dropped, accounts are kept

  // Counters of every BMC that received requests, and the totals, as JSON.
  [[nodiscard]] std::string report() const;

 private:
  class Impl;
  explicit SimFleet(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::bmcsim

// The state of one simulated BMC and how it changes over time: power, boot, sessions, accounts, log, tasks. A few
// hundred bytes each, so tens of thousands fit; nothing runs between requests: callers first advance the state to the
// current time. Independent of HTTP.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "bmcsim/event.h"
#include "bmcsim/event_feed.h"
#include "bmcsim/fleet.h"

namespace weft::bmcsim {

using SimDigest = std::array<unsigned char, 32>;  // of a password, salted

enum class SimRole : std::uint8_t { administrator, operating, read_only };
[[nodiscard]] std::string_view to_text(SimRole role);  // "Administrator", as Redfish names it
[[nodiscard]] std::optional<SimRole> sim_role_named(std::string_view name);

struct SimAccount {
  std::uint32_t id = 1;
  std::string user;
  SimDigest digest{};
  SimRole role = SimRole::administrator;
  bool enabled = true;
  bool must_change = false;  // the password must be changed before anything else
};

struct SimSession {
  std::uint32_t id = 0;
  std::uint32_t account = 0;
  std::array<char, 32> token{};  // hexadecimal digits
  Duration last_used;
  std::int64_t created_ms = 0;
};

struct SimTask {
  std::uint32_t id = 0;
  std::int64_t started_ms = 0;
  Duration ends;
  bool endless = false;
  bool update = false;  // of firmware
  bool failed = false;
  bool waits = false;  // for a reset
};
inline constexpr std::size_t kMaxSimTasks = 16;
// In all logs of a BMC. The SEL of old BMCs holds 512 entries (IPMI 2.0 section 31 leaves it to the vendor); the oldest
// are dropped first.
inline constexpr std::size_t kMaxSimEvents = 512;

struct SimFirmware {
  std::string bmc = "2.14.0";
  std::string bios = "1.8.2";
  bool bmc_broken = false;  // half-flashed
  bool bios_broken = false;
};

struct SimFlashOrder {
  bool bios = false;
  std::string version;
  bool on_reset = false;
};

struct SimFlash {
  SimFlashOrder order;
  Duration ends;
  std::uint32_t task = 0;
  bool restarts = false;  // the BMC, at the end
  bool done = false;
  bool staged = false;  // takes effect at the next boot
};

enum class SimBootTarget : std::uint8_t { none, pxe, hdd, usb, bios_setup };
enum class SimBootEnabled : std::uint8_t { disabled, once, continuous };

enum class SimProtocol : std::uint8_t { http, https, ssh, ipmi, snmp, ntp, host_interface };
inline constexpr std::size_t kSimProtocols = 7;

// Settings that few BMCs have: allocated on first write.
struct SimExtras {
  std::vector<SimAccount> accounts;
  std::vector<std::string> syslog;
  std::vector<std::string> firewall;
  std::vector<std::string> ntp;
  std::string asset_tag;
  SimFirmware firmware;
  std::optional<SimFlash> flash;  // the last
  bool push_on_reset = false;     // ApplyTime of HttpPushUri
};

// Shared by all BMCs of a fleet.
struct SimWorld {
  SimOptions options;
  std::vector<SimDevice> devices;
  SimDigest password{};          // of options.user
  SimDigest factory_password{};  // of admin/admin
  std::array<unsigned char, 16> salt{};
  std::uint16_t port = 0;
  std::int64_t wall_start_ms = 0;  // wall-clock time when the steady clock was 0
  std::vector<FaultSet> fault_sets{FaultSet()};
  std::vector<std::uint32_t> pending_streams;  // devices whose streams may have something to send, or end; each once

  [[nodiscard]] std::int64_t wall_ms(Duration now) const { return wall_start_ms + now.count() / 1'000'000; }
  [[nodiscard]] SimDigest digest_of(std::string_view password) const;
  // The index of an equal set, added if there is none.
  [[nodiscard]] std::uint16_t number_of(const FaultSet& set);
};

class SimBmc {
 public:
  SimBmc(SimWorld& world, std::uint32_t device, Duration now);

  // Advances the state to `now`; all calls below refer to that time.
  void advance(Duration now);

  [[nodiscard]] const SimDevice& device() const { return world_->devices[device_]; }
  [[nodiscard]] SimWorld& world() const { return *world_; }
  [[nodiscard]] const FaultSet& faults() const { return world_->fault_sets[faults_]; }
  [[nodiscard]] bool has(FaultKind kind) const { return faults().has(kind); }
  // A GPU that gets the fault `xid` while its machine runs raises that XID at once.
  void set_faults(const FaultSet& faults);

  // The actual power state, and the reported one.
  [[nodiscard]] oob::PowerState power() const { return power_; }
  [[nodiscard]] oob::PowerState told_power() const;
  [[nodiscard]] bool listed(SimReset reset) const {
    return reset != SimReset::power_cycle || !has(FaultKind::no_power_cycle);
  }
  // False: not possible in the current power state.
  [[nodiscard]] bool possible(SimReset reset) const;
  // Executes the reset, subject to faults, and counts it.
  void reset(SimReset reset);
  void plug(bool on);
  [[nodiscard]] std::int64_t last_reset_ms() const { return last_reset_ms_; }
  struct Boot {
    std::string_view state;
    std::int64_t since_ms = 0;
  };
  [[nodiscard]] Boot boot() const;

  // Sessions. A token identifies at most one; using it keeps it alive.
  [[nodiscard]] const std::vector<SimSession>& sessions() const { return sessions_; }
  [[nodiscard]] std::uint32_t session_limit() const;
  [[nodiscard]] const SimSession* open_session(std::uint32_t account);  // null: session limit reached
  [[nodiscard]] const SimSession* use_session(std::string_view token);
  bool close_session(std::uint32_t id);
  void restart();

  // Accounts. `accounts()` has one entry before anything is changed.
  [[nodiscard]] std::vector<SimAccount> accounts() const;
  [[nodiscard]] std::vector<SimAccount>& writable_accounts();
  [[nodiscard]] std::optional<SimAccount> account(std::uint32_t id) const;
  // The account that accepts this password; counts failures and locks the account.
  [[nodiscard]] std::optional<SimAccount> log_in(std::string_view user, std::string_view password);
  [[nodiscard]] bool opens(std::string_view user, std::string_view password) const;
  [[nodiscard]] bool locked() const { return locked_until_ > now_; }
  void unlock();

  // Of all logs.
  [[nodiscard]] const std::vector<SimEvent>& events() const { return events_; }
  void add_event(SimEventKind kind, std::uint32_t subject = 0, std::uint8_t gpu = 0);
  void clear_events();  // of the system's log

  // Event streams. Null before the first one is opened.
  [[nodiscard]] const SimEventFeed* feed() const { return feed_.get(); }
  // The id of the new subscription; 0 if there are too many.
  [[nodiscard]] std::uint32_t subscribe(std::uint32_t session);
  bool unsubscribe(std::uint32_t id);
  void clear_pending_streams() { has_pending_streams_ = false; }  // they were removed from SimWorld::pending_streams
  // The next time at which the state changes by itself; the largest duration if it does not.
  [[nodiscard]] Duration next_change() const;

  [[nodiscard]] const std::vector<SimTask>& tasks() const { return tasks_; }
  const SimTask& add_task();
  [[nodiscard]] bool ended(const SimTask& task) const { return !task.endless && task.ends <= now_; }

  // bmcsim/update.cc
  [[nodiscard]] bool is_flashing() const;
  const SimTask& begin_flash(const SimFlashOrder& order);

  [[nodiscard]] bool enabled(SimProtocol protocol) const {
    return ((protocols_ >> static_cast<unsigned>(protocol)) & 1U) != 0;
  }
  void enable(SimProtocol protocol, bool on);
  [[nodiscard]] const SimExtras& extras() const;
  [[nodiscard]] SimExtras& writable_extras();

  // A duration with jitter from this BMC's own random stream.
  [[nodiscard]] Duration drawn(Duration mean);
  [[nodiscard]] RandomStream& random() { return random_; }
  [[nodiscard]] Duration now() const { return now_; }
  // Whether a BMC that flaps, or restarts after a flash, is unreachable now.
  [[nodiscard]] bool away(Duration now) const;
  // Whether a busy BMC still returns 503; each call counts.
  [[nodiscard]] bool still_busy();

  SimBootTarget boot_target = SimBootTarget::none;
  SimBootEnabled boot_enabled = SimBootEnabled::disabled;
  std::uint32_t outlets_off = 0;  // of a PDU, one bit per outlet
  bool indicator = false;         // the locator LED
  Duration session_timeout;
  SimCounters counters;

 private:
  void begin_on();
  void begin_boot();
  void begin_off(Duration time, bool then_on);
  void arrive();
  void end_flash();
  void apply_flash();
  [[nodiscard]] bool is_restarting(Duration now) const;
  void raise_xid();
  void wake_streams();  // something happened, or will happen at another time than before
  [[nodiscard]] Duration flapping_phase(Duration now) const;

  SimWorld* world_;
  std::uint32_t device_;
  std::uint16_t faults_ = 0;
  std::uint8_t protocols_ = 0;
  oob::PowerState power_ = oob::PowerState::off;
  bool on_after_off_ = false;
  bool has_pending_streams_ = false;
  std::uint32_t swallowed_ = 0;  // resets dropped by silent_accept
  std::uint32_t said_busy_ = 0;
  std::uint32_t wrong_passwords_ = 0;  // in a row
  std::uint32_t next_session_ = 1;
  std::uint32_t next_event_ = 1;
  std::uint32_t next_task_ = 1;
  Duration now_;
  Duration power_changes_;  // when powering on or off ends, or the off period of a cycle
  Duration boot_started_;
  Duration boot_time_;
  Duration xid_due_;  // when the GPU driver of this boot finds the error; 0: it does not
  Duration locked_until_;
  std::int64_t last_reset_ms_ = 0;
  RandomStream random_;
  std::vector<SimSession> sessions_;
  std::vector<SimEvent> events_;
  std::vector<SimTask> tasks_;
  std::unique_ptr<SimExtras> extras_;
  std::unique_ptr<SimEventFeed> feed_;
};

}  // namespace weft::bmcsim

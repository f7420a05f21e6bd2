// A scripted machine with its BMC, for tests on any Clock: time advances only with the clock, common BMC faults can be
// injected, and what was actually done to the machine is recorded. Header only, for tests only. Not a Redfish or IPMI
// service: see bmcsim for one that real clients can use.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "oob/bmc/bmc.h"
#include "oob/bmc/cause.h"
#include "oob/bmc/fleet.h"
#include "oob/bmc/inventory.h"
#include "oob/credentials/credentials.h"

namespace weft::oob {

// Counts of -1 mean "always".
struct FakeFaults {
  bool dead = false;                // never answers
  bool refuses_login = false;       // rejects every password
  int busy_dials = 0;               // that many dials find no free session
  int most_sessions = 0;            // open at the same time; 0: unlimited
  int session_requests = 0;         // a session expires after that many requests; 0: never
  Duration latency{};               // of every request and dial
  int silent_accepts = 0;           // that many resets are accepted and ignored
  int lost_answers = 0;             // that many resets are executed, but the response is lost
  int declined_resets = 0;          // that many resets are answered with "busy", and not executed
  bool wrong_reset = false;         // a cycle or a reset ends in power off
  int flaps = 0;                    // every other one of that many power queries reports the opposite
  std::optional<PowerState> lie{};  // what every power query reports
  bool stuck_off = false;           // On is accepted, the machine stays off
  bool stuck_on = false;            // ForceOff is accepted, the machine stays on
  bool hung = false;                // the operating system ignores GracefulShutdown
  bool no_power_cycle = false;
  bool no_force_restart = false;
  bool no_graceful = false;
  bool hides_actions = false;  // does not list its actions
  bool no_boot_id = false;
  bool no_boot_progress = false;
  // How long the machine takes to change state.
  Duration on_time = milliseconds(1'000);
  Duration off_time = milliseconds(1'000);
  Duration soft_time = milliseconds(20'000);
  Duration reset_time = milliseconds(500);
  Duration cycle_gap = milliseconds(3'000);   // off time within a PowerCycle; IPMI 2.0, 28.3 requires at least 1 s
  Duration post_time = milliseconds(60'000);  // from power on to a running system
};

struct FakeReset {
  Duration at{};
  ResetAction action = ResetAction::on;
  bool was_on = false;
};

class FakeMachine {
 public:
  FakeMachine(std::string name, Clock& clock, bool on = true, FakeFaults faults = {})
      : faults_(faults), name_(std::move(name)), clock_(clock), on_(on), boots_(on ? 1 : 0) {}

  // Called before each dial and request ("dial", "power", "reset", ...); an error it returns becomes the response.
  std::function<std::optional<Error>(const std::string& call)> before_call;
  BmcIdentity identity{"Weft", "Fake", "S1", "", "1.0", "2.0"};
  std::vector<SensorReading> sensors;
  std::vector<LogEvent> events;
  std::vector<BmcUser> users;
  BmcSettings settings;
  Secret password;  // if not empty, the only one that opens a session

  [[nodiscard]] const std::string& name() const { return name_; }
  void set_faults(const FakeFaults& faults) {
    const std::lock_guard lock(mutex_);
    faults_ = faults;
  }
  [[nodiscard]] bool is_on() {
    const std::lock_guard lock(mutex_);
    play();
    return on_;
  }
  // Every reset that reached the BMC, executed or not.
  [[nodiscard]] std::vector<FakeReset> resets() {
    const std::lock_guard lock(mutex_);
    return resets_;
  }
  // How often the running workload was interrupted.
  [[nodiscard]] int losses() {
    const std::lock_guard lock(mutex_);
    play();
    return losses_;
  }
  [[nodiscard]] int boots() {
    const std::lock_guard lock(mutex_);
    play();
    return boots_;
  }
  // Whether an accepted action is still to be executed.
  [[nodiscard]] bool pending() {
    const std::lock_guard lock(mutex_);
    play();
    return !planned_.empty();
  }
  [[nodiscard]] int sessions() {
    const std::lock_guard lock(mutex_);
    return sessions_;
  }
  // What the operating system would report: a boot id while it runs, an error otherwise.
  [[nodiscard]] Result<std::string> host_boot_id() {
    const std::lock_guard lock(mutex_);
    play();
    if (!on_ || clock_.now() < booted_at_ + faults_.post_time) return Error{ErrorCode::unavailable, "no answer", name_};
    return fmt::format("host-boot-{}", boots_);
  }

  // The BMC's side; called by FakeBmc.
  [[nodiscard]] Status dialled(const Secret& given) {
    if (Status spent = spend("dial"); !spent.ok()) return spent;
    const std::lock_guard lock(mutex_);
    if (faults_.refuses_login || (!password.empty() && !(given == password)))
      return Error{ErrorCode::refused, std::string(kLoginRefused), name_};
    if (counted(faults_.busy_dials) || (faults_.most_sessions > 0 && sessions_ >= faults_.most_sessions))
      return Error{ErrorCode::conflict, "no free session", name_};
    ++sessions_;
    return {};
  }
  void hung_up() {
    const std::lock_guard lock(mutex_);
    --sessions_;
  }
  [[nodiscard]] Status request(const std::string& call, int requests_before) {
    if (Status spent = spend(call); !spent.ok()) return spent;
    const std::lock_guard lock(mutex_);
    if (faults_.session_requests > 0 && requests_before >= faults_.session_requests)
      return Error{ErrorCode::refused, "the session has expired", name_};
    return {};
  }
  [[nodiscard]] PowerReading look() {
    const std::lock_guard lock(mutex_);
    play();
    PowerReading reading;
    reading.state = on_ ? PowerState::on : PowerState::off;
    if (faults_.flaps != 0 && (++looks_ % 2) == 0 && counted(faults_.flaps))
      reading.state = on_ ? PowerState::off : PowerState::on;
    if (faults_.lie) reading.state = *faults_.lie;
    if (!faults_.no_boot_id) reading.boot_id = fmt::format("boot-{}", boots_);
    if (!faults_.no_boot_progress && on_) {
      reading.boot_progress =
          clock_.now() < booted_at_ + faults_.post_time ? "MemoryInitializationStarted" : "OSRunning";
    }
    return reading;
  }
  [[nodiscard]] std::vector<ResetAction> actions() {
    const std::lock_guard lock(mutex_);
    if (faults_.hides_actions) return {};
    std::vector<ResetAction> list{ResetAction::on, ResetAction::force_off};
    if (!faults_.no_graceful) list.push_back(ResetAction::graceful_shutdown);
    if (!faults_.no_power_cycle) list.push_back(ResetAction::power_cycle);
    if (!faults_.no_force_restart) list.push_back(ResetAction::force_restart);
    return list;
  }
  [[nodiscard]] Status reset(ResetAction action) {
    const std::lock_guard lock(mutex_);
    play();
    const bool missing = (action == ResetAction::power_cycle && faults_.no_power_cycle) ||
                         (action == ResetAction::force_restart && faults_.no_force_restart) ||
                         (action == ResetAction::graceful_shutdown && faults_.no_graceful);
    if (missing) return Error{ErrorCode::not_found, "there is no such reset", name_};
    resets_.push_back({clock_.now(), action, on_});
    if (counted(faults_.declined_resets)) return Error{ErrorCode::conflict, "not now", name_};
    // IPMI 2.0, table 28-4: a cycle or a reset of a powered-off machine may be answered with D5h.
    if (!on_ && (action == ResetAction::power_cycle || action == ResetAction::force_restart))
      return Error{ErrorCode::conflict, "command not supported in present state", name_};
    if (!counted(faults_.silent_accepts)) begin(action);
    if (counted(faults_.lost_answers)) return Error{ErrorCode::timeout, "no answer in time", name_};
    return {};
  }

 private:
  enum class Happening : std::uint8_t { goes_on, goes_off, restarts };
  struct Planned {
    Duration at{};
    Happening what = Happening::goes_on;
  };

  // Decrements a count; false if it was zero.
  static bool counted(int& count) {
    if (count > 0)
      --count;
    else if (count == 0)
      return false;
    return true;
  }
  Status spend(const std::string& call) {
    if (before_call) {
      if (std::optional<Error> error = before_call(call)) return *error;
    }
    bool dead = false;
    Duration latency;
    {
      const std::lock_guard lock(mutex_);
      dead = faults_.dead;
      latency = faults_.latency;
    }
    if (latency.count() > 0) (void)clock_.sleep(latency);
    if (dead) return Error{ErrorCode::unavailable, "no answer", name_};
    return {};
  }
  void begin(ResetAction action) {
    const Duration now = clock_.now();
    switch (action) {
      case ResetAction::on:
        if (!on_ && !faults_.stuck_off) planned_.push_back({now + faults_.on_time, Happening::goes_on});
        return;
      case ResetAction::force_off:
        if (!faults_.stuck_on) planned_.push_back({now + faults_.off_time, Happening::goes_off});
        return;
      case ResetAction::graceful_shutdown:
        if (!faults_.hung) planned_.push_back({now + faults_.soft_time, Happening::goes_off});
        return;
      case ResetAction::power_cycle:
        planned_.push_back({now + faults_.off_time, Happening::goes_off});
        if (!faults_.wrong_reset && !faults_.stuck_off)
          planned_.push_back({now + faults_.off_time + faults_.cycle_gap, Happening::goes_on});
        return;
      case ResetAction::force_restart:
        planned_.push_back({now + faults_.reset_time, faults_.wrong_reset ? Happening::goes_off : Happening::restarts});
        return;
    }
  }
  // Executes everything that was due by now.
  void play() {
    std::stable_sort(planned_.begin(), planned_.end(), [](const Planned& a, const Planned& b) { return a.at < b.at; });
    std::size_t played = 0;
    for (; played < planned_.size() && planned_[played].at <= clock_.now(); ++played) happen(planned_[played]);
    planned_.erase(planned_.begin(), planned_.begin() + static_cast<std::ptrdiff_t>(played));
  }
  void happen(const Planned& event) {
    if (on_ && event.what != Happening::goes_on) ++losses_;
    const bool boots = event.what == Happening::restarts ? on_ : event.what == Happening::goes_on && !on_;
    if (event.what != Happening::restarts) on_ = event.what == Happening::goes_on;
    if (!boots) return;
    ++boots_;
    booted_at_ = event.at;
  }

  std::mutex mutex_;
  FakeFaults faults_;
  std::string name_;
  Clock& clock_;
  bool on_;
  int boots_;
  Duration booted_at_ = milliseconds(-3'600'000);  // one hour before the test
  int losses_ = 0;
  int looks_ = 0;
  int sessions_ = 0;
  std::vector<Planned> planned_;
  std::vector<FakeReset> resets_;
};

class FakeBmc final : public Bmc {
 public:
  explicit FakeBmc(std::shared_ptr<FakeMachine> machine) : machine_(std::move(machine)) {}
  FakeBmc(const FakeBmc&) = delete;
  FakeBmc& operator=(const FakeBmc&) = delete;
  ~FakeBmc() override { machine_->hung_up(); }

  [[nodiscard]] Result<BmcIdentity> identity() override { return answered("identity", machine_->identity); }
  [[nodiscard]] Result<PowerReading> power() override {
    if (Status request = ask("power"); !request.ok()) return request.error();
    return machine_->look();
  }
  [[nodiscard]] Result<std::vector<ResetAction>> reset_actions() override {
    if (Status request = ask("reset_actions"); !request.ok()) return request.error();
    return machine_->actions();
  }
  [[nodiscard]] Status reset(ResetAction action) override {
    if (Status request = ask("reset"); !request.ok()) return request;
    return machine_->reset(action);
  }
  [[nodiscard]] Result<std::vector<SensorReading>> sensors() override { return answered("sensors", machine_->sensors); }
  [[nodiscard]] Result<std::vector<LogEvent>> events() override { return answered("events", machine_->events); }
  [[nodiscard]] Status clear_events() override {
    Status request = ask("clear_events");
    if (request.ok()) machine_->events.clear();
    return request;
  }
  [[nodiscard]] Result<std::vector<BmcUser>> users() override { return answered("users", machine_->users); }
  [[nodiscard]] Status set_password(const std::string& /*user*/, const Secret& password) override {
    Status request = ask("set_password");
    if (request.ok()) machine_->password = password;
    return request;
  }
  [[nodiscard]] Status set_user_enabled(const std::string& user, bool enabled) override {
    if (Status request = ask("set_user_enabled"); !request.ok()) return request;
    for (BmcUser& known : machine_->users) {
      if (known.name != user) continue;
      known.enabled = enabled;
      return {};
    }
    return Error{ErrorCode::not_found, "there is no such user", machine_->name()};
  }
  [[nodiscard]] Result<BmcSettings> settings() override { return answered("settings", machine_->settings); }
  [[nodiscard]] Status change(const SettingsChange& change) override {
    if (Status request = ask("change"); !request.ok()) return request;
    BmcSettings& settings = machine_->settings;
    if (change.ipmi_over_lan) settings.ipmi_over_lan = change.ipmi_over_lan;
    if (change.http) settings.http = change.http;
    if (change.ssh) settings.ssh = change.ssh;
    if (change.snmp) settings.snmp = change.snmp;
    if (change.syslog) settings.syslog = change.syslog;
    if (change.firewall) settings.firewall = change.firewall;
    if (change.ntp) settings.ntp = change.ntp;
    return {};
  }
  [[nodiscard]] Result<std::unique_ptr<ConsoleStream>> console() override {
    if (Status request = ask("console"); !request.ok()) return request.error();
    return Error{ErrorCode::not_found, "there is no console", machine_->name()};
  }

 private:
  Status ask(const std::string& call) { return machine_->request(call, requests_++); }
  template <class T>
  Result<T> answered(const std::string& call, const T& value) {
    if (Status request = ask(call); !request.ok()) return request.error();
    return value;
  }

  std::shared_ptr<FakeMachine> machine_;
  int requests_ = 0;
};

// Finds machines by the endpoint's device; unknown ones do not answer.
class FakeConnector final : public BmcConnector {
 public:
  std::map<std::string, std::shared_ptr<FakeMachine>> machines;

  [[nodiscard]] Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string& /*user*/,
                                                  const Secret& password) override {
    const auto found = machines.find(endpoint.device);
    if (found == machines.end()) return Error{ErrorCode::unavailable, "no answer", endpoint.device};
    if (Status dialled = found->second->dialled(password); !dialled.ok()) return dialled.error();
    return std::unique_ptr<Bmc>(std::make_unique<FakeBmc>(found->second));
  }
};

class FakeCredentials final : public CredentialStore {
 public:
  [[nodiscard]] Result<Credential> find(const std::string& device, const std::string& /*group*/) const override {
    const std::lock_guard lock(mutex_);
    const auto found = own_.find(device);
    return found == own_.end() ? Credential{"admin", Secret("fake"), std::nullopt} : found->second;
  }
  [[nodiscard]] bool has_own(const std::string& device) const override {
    const std::lock_guard lock(mutex_);
    return own_.count(device) > 0;
  }
  [[nodiscard]] Status put(const std::string& device, const Credential& credential) override {
    const std::lock_guard lock(mutex_);
    own_[device] = credential;
    return {};
  }
  [[nodiscard]] bool writable() const override { return true; }
  [[nodiscard]] std::string name() const override { return "fake"; }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Credential> own_;
};

// A fleet of fakes: the inventory is given as targets, each with a machine that is on or off.
struct FakeFleet {
  explicit FakeFleet(Clock& clock, Journal& journal, std::vector<Target> targets, std::vector<FeedBudget> feeds = {},
                     bool on = true)
      : inventory(std::move(targets), std::move(feeds)), fleet{inventory, connector, credentials, clock, journal, 1} {
    for (const Target& target : inventory.targets())
      connector.machines[target.name] = std::make_shared<FakeMachine>(target.name, clock, on);
  }
  FakeFleet(const FakeFleet&) = delete;
  FakeFleet& operator=(const FakeFleet&) = delete;
  [[nodiscard]] FakeMachine& machine(const std::string& name) { return *connector.machines.at(name); }

  Inventory inventory;
  FakeConnector connector;
  FakeCredentials credentials;
  Fleet fleet;
};

[[nodiscard]] inline Target fake_target(const std::string& name, Role role = Role::server) {
  Target target;
  target.name = name;
  target.role = role;
  target.endpoint.device = name;
  target.endpoint.host = "192.0.2.1";  // RFC 5737
  return target;
}

}  // namespace weft::oob

#include "bmcsim/bmc.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/enum_names.h"
#include "lazy/crypto.h"

namespace weft::bmcsim {
namespace {

constexpr std::array<std::string_view, kSimResets> kResetNames{
    "On",  "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart",
    "Nmi", "ForceOn",  "PushPowerButton",  "PowerCycle"};

// BootProgress.LastState of ComputerSystem, in boot order (DSP0268).
constexpr std::array<std::string_view, 8> kBootStates{"PrimaryProcessorInitializationStarted",
                                                      "BusInitializationStarted",
                                                      "MemoryInitializationStarted",
                                                      "SecondaryProcessorInitializationStarted",
                                                      "PCIResourceConfigStarted",
                                                      "SystemHardwareInitializationComplete",
                                                      "OSBootStarted",
                                                      "OSRunning"};

SimAccount first_account(const SimWorld& world, bool factory, bool must_change) {
  SimAccount account;
  account.user = factory ? "admin" : world.options.user;
  account.digest = factory ? world.factory_password : world.password;
  account.must_change = must_change;
  return account;
}

}  // namespace

std::string_view to_text(SimReset reset) { return kResetNames[static_cast<std::size_t>(reset)]; }

std::uint32_t SimCounters::all_resets() const {
  std::uint32_t sum = 0;
  for (const std::uint32_t count : resets) sum += count;
  return sum;
}

std::string_view to_text(SimRole role) {
  return role == SimRole::administrator ? "Administrator" : role == SimRole::operating ? "Operator" : "ReadOnly";
}

std::optional<SimRole> sim_role_named(std::string_view name) {
  return find_enum({SimRole::administrator, SimRole::operating, SimRole::read_only}, name);
}

SimDigest SimWorld::digest_of(std::string_view word) const {
  std::string salted(salt.begin(), salt.end());
  salted += word;
  SimDigest digest{};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libcrypto takes bytes
  SHA256(reinterpret_cast<const unsigned char*>(salted.data()), salted.size(), digest.data());
  OPENSSL_cleanse(salted.data(), salted.size());
  return digest;
}

std::uint16_t SimWorld::number_of(const FaultSet& set) {
  const auto found = std::find(fault_sets.begin(), fault_sets.end(), set);
  if (found == fault_sets.end()) {
    CHECK(fault_sets.size() < std::numeric_limits<std::uint16_t>::max(), "fewer than 65535 different sets of faults");
    fault_sets.push_back(set);
    return static_cast<std::uint16_t>(fault_sets.size() - 1);
  }
  return static_cast<std::uint16_t>(found - fault_sets.begin());
}

SimBmc::SimBmc(SimWorld& world, std::uint32_t device, Duration now)
    : session_timeout(world.options.session_timeout),
      world_(&world),
      device_(device),
      now_(now),
      last_reset_ms_(world.wall_ms(now)),
      random_(world.options.seed, world.devices[device].name) {
  for (const SimProtocol protocol : {SimProtocol::https, SimProtocol::ssh, SimProtocol::ipmi, SimProtocol::ntp}) {
    enable(protocol, true);
  }
  enable(SimProtocol::http, !world.options.tls);
  if (world.options.powered) {
    power_ = oob::PowerState::on;
    boot_time_ = world.options.boot_time;
    boot_started_ = now - boot_time_;
  }
  add_event(SimEventKind::started);
}

void SimBmc::advance(Duration now) {
  now_ = std::max(now, now_);
  // At most two steps: off, then on again.
  for (int step = 0; step < 3 && power_changes_ != Duration() && power_changes_ <= now_; ++step) arrive();
  if (xid_due_ != Duration() && xid_due_ <= now_) raise_xid();
  if (is_flashing() && !has(FaultKind::update_stuck) && extras_->flash->ends <= now_) end_flash();
  if (!has(FaultKind::session_limited)) {
    std::erase_if(sessions_, [&](const SimSession& each) {
      return each.last_used + session_timeout <= now_ && (!feed_ || !feed_->has_session(each.id));
    });
    counters.sessions = static_cast<std::uint32_t>(sessions_.size());
  }
}

// Completes the power change in progress.
void SimBmc::arrive() {
  const Duration when = std::exchange(power_changes_, Duration());
  const Duration present = std::exchange(now_, when);
  if (power_ == oob::PowerState::powering_on) {
    power_ = oob::PowerState::on;
    add_event(SimEventKind::power_on);
    begin_boot();
  } else if (power_ == oob::PowerState::powering_off) {
    power_ = oob::PowerState::off;
    add_event(SimEventKind::power_off);
    if (on_after_off_) power_changes_ = when + drawn(world_->options.power_time);
  } else if (power_ == oob::PowerState::off && on_after_off_) {
    on_after_off_ = false;
    begin_on();
  }
  now_ = present;
}

void SimBmc::begin_on() {
  if (has(FaultKind::stuck_off)) return;
  power_ = oob::PowerState::powering_on;
  on_after_off_ = false;
  power_changes_ = now_ + drawn(world_->options.power_time);
  wake_streams();
}

void SimBmc::begin_off(Duration time, bool then_on) {
  if (has(FaultKind::stuck_on)) return;
  power_ = oob::PowerState::powering_off;
  xid_due_ = Duration();
  on_after_off_ = then_on;
  power_changes_ = now_ + drawn(time);
  wake_streams();
}

void SimBmc::begin_boot() {
  boot_started_ = now_;
  boot_time_ = drawn(world_->options.boot_time);
  xid_due_ = has(FaultKind::xid) ? boot_started_ + boot_time_ : Duration();
  wake_streams();
  if (extras_ && extras_->flash && extras_->flash->staged) apply_flash();
  // LastResetTime of two boots differs by at least the one millisecond that it shows.
  last_reset_ms_ = std::max(world_->wall_ms(now_), last_reset_ms_ + 1);
  if (boot_enabled == SimBootEnabled::once) {
    boot_enabled = SimBootEnabled::disabled;
    boot_target = SimBootTarget::none;
  }
}

oob::PowerState SimBmc::told_power() const {
  if (!has(FaultKind::lying_state)) return power_;
  return faults().argument(FaultKind::lying_state) == kLieOn ? oob::PowerState::on : oob::PowerState::off;
}

bool SimBmc::possible(SimReset reset) const {
  const bool needs_power = reset == SimReset::graceful_restart || reset == SimReset::force_restart ||
                           reset == SimReset::power_cycle || reset == SimReset::nmi;
  return !needs_power || power_ == oob::PowerState::on || has(FaultKind::lying_state);
}

void SimBmc::reset(SimReset reset) {
  ++counters.resets[static_cast<std::size_t>(reset)];
  if (has(FaultKind::silent_accept)) {
    const std::int64_t lost = faults().argument(FaultKind::silent_accept);
    if (lost == 0 || swallowed_ < lost) {
      ++swallowed_;
      return;
    }
  }
  const Duration hard_off = world_->options.power_time / 10;
  const Duration soft_off = world_->options.shutdown_time;
  const bool runs = power_ == oob::PowerState::on || power_ == oob::PowerState::powering_on;
  const bool wrong = has(FaultKind::wrong_reset);
  switch (reset) {
    case SimReset::on:
    case SimReset::force_on:
      if (power_ == oob::PowerState::powering_off) {
        on_after_off_ = true;
      } else if (!runs) {
        begin_on();
      }
      return;
    case SimReset::force_off:
      if (power_ != oob::PowerState::off) {
        begin_off(hard_off, false);
      } else {
        on_after_off_ = false;  // ends a cycle in progress
        power_changes_ = Duration();
      }
      return;
    case SimReset::graceful_shutdown:
      if (runs) begin_off(soft_off, false);
      return;
    case SimReset::push_power_button:
      return runs ? begin_off(soft_off, false) : begin_on();
    case SimReset::power_cycle:
      if (runs) begin_off(hard_off, true);
      return;
    case SimReset::graceful_restart:
      if (runs) begin_off(wrong ? hard_off : soft_off, !wrong);
      return;
    case SimReset::force_restart:
      if (!runs) return;
      if (wrong) return begin_off(soft_off, false);
      if (power_ == oob::PowerState::on) begin_boot();  // power stays on, the processors restart
      add_event(SimEventKind::hard_reset);
      return;
    case SimReset::nmi:
      add_event(SimEventKind::nmi);
      return;
  }
}

void SimBmc::plug(bool on) {
  on_after_off_ = false;
  power_changes_ = Duration();
  if (!on) xid_due_ = Duration();
  if (on && power_ != oob::PowerState::on) begin_on();
  if (!on && power_ != oob::PowerState::off) {
    power_ = oob::PowerState::off;
    add_event(SimEventKind::power_off);
  }
}

SimBmc::Boot SimBmc::boot() const {
  if (power_ != oob::PowerState::on) return {"None", world_->wall_ms(now_)};
  const auto last = static_cast<std::int64_t>(kBootStates.size()) - 1;
  const std::int64_t length = std::max<std::int64_t>(1, boot_time_.count());
  const std::int64_t step =
      std::clamp<std::int64_t>(multiply_divide((now_ - boot_started_).count(), last, length), 0, last);
  const Duration since = boot_started_ + Duration(multiply_divide(length, step, last));
  return {kBootStates[static_cast<std::size_t>(step)], world_->wall_ms(since)};
}

std::uint32_t SimBmc::session_limit() const {
  if (!has(FaultKind::session_limited)) return world_->options.sessions;
  return static_cast<std::uint32_t>(faults().argument(FaultKind::session_limited));
}

const SimSession* SimBmc::open_session(std::uint32_t account) {
  if (sessions_.size() >= session_limit()) return nullptr;
  SimSession session;
  session.id = next_session_++;
  session.account = account;
  session.last_used = now_;
  session.created_ms = world_->wall_ms(now_);
  std::array<unsigned char, 16> bytes{};
  CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "the system has random bytes");
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    session.token[2 * i] = digits[bytes[i] >> 4U];
    session.token[2 * i + 1] = digits[bytes[i] & 15U];
  }
  sessions_.push_back(session);
  ++counters.logins;
  counters.sessions = static_cast<std::uint32_t>(sessions_.size());
  counters.most_sessions = std::max(counters.most_sessions, counters.sessions);
  return &sessions_.back();
}

const SimSession* SimBmc::use_session(std::string_view token) {
  SimSession* found = nullptr;
  for (SimSession& session : sessions_) {
    if (token.size() == session.token.size() && CRYPTO_memcmp(token.data(), session.token.data(), token.size()) == 0) {
      found = &session;
    }
  }
  if (found != nullptr) found->last_used = now_;
  return found;
}

bool SimBmc::close_session(std::uint32_t id) {
  const bool gone = std::erase_if(sessions_, [&](const SimSession& each) { return each.id == id; }) > 0;
  if (feed_ && feed_->has_session(id)) {
    feed_->end_session(id);
    wake_streams();
  }
  if (sessions_.empty()) std::vector<SimSession>().swap(sessions_);
  counters.sessions = static_cast<std::uint32_t>(sessions_.size());
  return gone;
}

void SimBmc::restart() {
  std::vector<SimSession>().swap(sessions_);
  std::vector<SimTask>().swap(tasks_);
  counters.sessions = 0;
  unlock();
  wake_streams();
  if (feed_) feed_->clear();
  add_event(SimEventKind::started);
}

void SimBmc::set_faults(const FaultSet& faults) {
  const bool is_new = faults.has(FaultKind::xid) && (!has(FaultKind::xid) || this->faults().argument(FaultKind::xid) !=
                                                                                 faults.argument(FaultKind::xid));
  faults_ = world_->number_of(faults);
  if (!faults.has(FaultKind::xid)) xid_due_ = Duration();
  if (is_new && power_ == oob::PowerState::on) raise_xid();
  wake_streams();
}

void SimBmc::raise_xid() {
  const XidFault fault = xid_fault(faults().argument(FaultKind::xid));
  const Duration when = std::exchange(xid_due_, Duration());
  const Duration present = now_;
  if (when != Duration()) now_ = when;
  add_event(SimEventKind::xid, fault.code, static_cast<std::uint8_t>(fault.gpu));
  now_ = present;
}

std::vector<SimAccount> SimBmc::accounts() const {
  if (extras_ && !extras_->accounts.empty()) return extras_->accounts;
  return {first_account(*world_, has(FaultKind::default_credentials), has(FaultKind::password_change_required))};
}

std::vector<SimAccount>& SimBmc::writable_accounts() {
  std::vector<SimAccount> now = accounts();
  SimExtras& extras = writable_extras();
  if (extras.accounts.empty()) extras.accounts = std::move(now);
  return extras.accounts;
}

std::optional<SimAccount> SimBmc::account(std::uint32_t id) const {
  for (SimAccount& account : accounts()) {
    if (account.id == id) return std::move(account);
  }
  return std::nullopt;
}

bool SimBmc::opens(std::string_view user, std::string_view password) const {
  const SimDigest digest = world_->digest_of(password);
  bool open = false;
  for (const SimAccount& account : accounts()) {
    const bool same = CRYPTO_memcmp(digest.data(), account.digest.data(), digest.size()) == 0;
    open = open || (same && account.enabled && account.user == user);
  }
  return open;
}

std::optional<SimAccount> SimBmc::log_in(std::string_view user, std::string_view password) {
  if (!has(FaultKind::unauthorized_always) && !locked() && opens(user, password)) {
    for (SimAccount& account : accounts()) {
      if (account.user != user) continue;
      wrong_passwords_ = 0;
      return std::move(account);
    }
  }
  ++counters.refused;
  if (!locked() && world_->options.lockout != 0 && ++wrong_passwords_ >= world_->options.lockout) {
    locked_until_ = now_ + world_->options.lockout_time;
    wrong_passwords_ = 0;
    add_event(SimEventKind::locked_out);
  }
  return std::nullopt;
}

void SimBmc::unlock() {
  locked_until_ = Duration();
  wrong_passwords_ = 0;
}

void SimBmc::add_event(SimEventKind kind, std::uint32_t subject, std::uint8_t gpu) {
  if (events_.size() >= kMaxSimEvents) events_.erase(events_.begin());
  events_.push_back({next_event_++, kind, gpu, subject, world_->wall_ms(now_)});
  if (feed_) feed_->add(events_.back());
  wake_streams();
}

void SimBmc::clear_events() {
  std::erase_if(events_, [](const SimEvent& event) { return event.kind != SimEventKind::xid; });
  add_event(SimEventKind::log_cleared);
}

std::uint32_t SimBmc::subscribe(std::uint32_t session) {
  if (!feed_) feed_ = std::make_unique<SimEventFeed>(next_event_ - 1);
  return feed_->subscribe(session);
}

bool SimBmc::unsubscribe(std::uint32_t id) {
  if (!feed_) return false;
  // A stream is a use of its session, to the end.
  const std::uint32_t owner = feed_->session_of(id);
  for (SimSession& session : sessions_) {
    if (session.id == owner) session.last_used = now_;
  }
  wake_streams();
  return feed_->unsubscribe(id);
}

void SimBmc::wake_streams() {
  if (!feed_ || has_pending_streams_) return;
  has_pending_streams_ = true;
  world_->pending_streams.push_back(device_);
}

Duration SimBmc::next_change() const {
  Duration next(std::numeric_limits<std::int64_t>::max());
  const auto add = [&](Duration when) {
    if (when > now_) next = std::min(next, when);
  };
  add(power_changes_);
  add(xid_due_);
  if (is_flashing() && !has(FaultKind::update_stuck)) add(extras_->flash->ends);
  if (has(FaultKind::flapping)) {
    const std::int64_t period = std::max<std::int64_t>(1, faults().argument(FaultKind::flapping));
    add(now_ + Duration(period - flapping_phase(now_).count() % period));
  }
  return next;
}

const SimTask& SimBmc::add_task() {
  if (tasks_.size() >= kMaxSimTasks) tasks_.erase(tasks_.begin());
  SimTask task;
  task.id = next_task_++;
  task.started_ms = world_->wall_ms(now_);
  task.endless = has(FaultKind::task_never_ends);
  task.ends = now_ + faults().time(FaultKind::async_reset);
  tasks_.push_back(task);
  return tasks_.back();
}

void SimBmc::enable(SimProtocol protocol, bool on) {
  const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(protocol));
  protocols_ = static_cast<std::uint8_t>(on ? protocols_ | bit : protocols_ & ~bit);
}

const SimExtras& SimBmc::extras() const {
  static const SimExtras none;
  return extras_ ? *extras_ : none;
}

SimExtras& SimBmc::writable_extras() {
  if (!extras_) extras_ = std::make_unique<SimExtras>();
  return *extras_;
}

Duration SimBmc::drawn(Duration mean) {
  if (mean.count() <= 1) return Duration(1);
  return Duration(random_.between(mean.count() / 2, mean.count() + mean.count() / 2));
}

bool SimBmc::away(Duration now) const {
  if (is_restarting(now)) return true;
  if (!has(FaultKind::flapping)) return false;
  const std::int64_t period = std::max<std::int64_t>(1, faults().argument(FaultKind::flapping));
  return flapping_phase(now).count() / period == 1;
}

// How much of two periods, reachable and unreachable, has passed. They begin at another time for each BMC.
Duration SimBmc::flapping_phase(Duration now) const {
  const std::int64_t both = 2 * std::max<std::int64_t>(1, faults().argument(FaultKind::flapping));
  const auto offset = static_cast<std::int64_t>(hash64(device().name) % static_cast<std::uint64_t>(both));
  return Duration((now.count() + offset) % both);
}

bool SimBmc::still_busy() {
  if (!has(FaultKind::busy)) return false;
  const std::int64_t times = faults().argument(FaultKind::busy);
  if (times != 0 && said_busy_ >= times) return false;
  ++said_busy_;
  return true;
}

}  // namespace weft::bmcsim

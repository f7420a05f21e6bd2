#include "oob/power/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weft::oob {
namespace {

constexpr std::size_t kMaxEvidence = 64;  // a BMC that flaps for hours must not fill the journal
// Logins refused in a row before weft stops: accounts are locked after three (the usual AccountLockoutThreshold).
constexpr int kMaxRefusals = 2;
constexpr int kMaxLost = 4;  // lost sessions that are journaled
constexpr Duration kProbeLimit = milliseconds(10'000);
constexpr std::size_t kMaxText = 64;  // of a boot id: dates have 25 characters, UUIDs 36

// Boot ids are compared with those in the journal: one that would not round-trip, or is too long, is replaced by its
// hash.
std::string comparable(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
  return plain && text.size() <= kMaxText ? text : fmt::format("hash:{:016x}", hash64(text));
}

Value before_value(const PowerBefore& before) {
  return Value::map()
      .set("state", to_text(before.state))
      .set("boot_id", before.boot_id)
      .set("boot_progress", before.boot_progress)
      .set("probe", before.probe);
}

}  // namespace

std::optional<int> boot_progress_rank(std::string_view state) {
  // In boot order: BootProgressTypes of Redfish ComputerSystem v1_13 and later.
  static constexpr std::array<std::string_view, 10> order = {"None",
                                                             "PrimaryProcessorInitializationStarted",
                                                             "BusInitializationStarted",
                                                             "MemoryInitializationStarted",
                                                             "SecondaryProcessorInitializationStarted",
                                                             "PCIResourceConfigStarted",
                                                             "SystemHardwareInitializationComplete",
                                                             "SetupEntered",
                                                             "OSBootStarted",
                                                             "OSRunning"};
  const auto found = std::find(order.begin(), order.end(), state);
  if (found == order.end()) return std::nullopt;
  return static_cast<int>(found - order.begin());
}

PowerWatch::PowerWatch(const Fleet& fleet, std::uint32_t target, PowerVerb verb, const PowerOptions& options,
                       const std::string& operation)
    : fleet_(fleet),
      index_(target),
      target_(fleet.inventory.targets()[target]),
      verb_(verb),
      options_(options),
      operation_(operation),
      random_(options.seed, target_.name),
      began_(fleet.clock.now()),
      last_look_(began_ - options.look_every),
      sent_at_(began_),
      state_since_(began_),
      probed_at_(began_ - options.probe_every) {}

Duration PowerWatch::now() { return fleet_.clock.now() - began_; }
Duration PowerWatch::since_sent() { return fleet_.clock.now() - sent_at_; }
Duration PowerWatch::settled_for() { return fleet_.clock.now() - state_since_; }

bool PowerWatch::time_left() {
  if (fleet_.clock.stopped()) stopped_ = true;
  return !stopped_ && !gave_up_ && now() < options_.deadline;
}

bool PowerWatch::pause(Duration time) {
  if (!time_left()) return false;
  time = std::min(time, options_.deadline - now());
  if (time.count() > 0 && !fleet_.clock.sleep(time)) stopped_ = true;
  return time_left();
}

Duration PowerWatch::backoff(int failures) {
  Duration time = options_.first_backoff;
  for (int i = 1; i < failures && time < options_.most_backoff; ++i) time += time;
  time = std::min(time, options_.most_backoff);
  // Jitter between one half and the whole, so machines that failed together do not retry together.
  return time / 2 + Duration(random_.between(0, time.count() / 2));
}

Duration PowerWatch::pace() {
  return since_sent() < options_.look_fast_for ? options_.look_first : options_.look_every;
}

void PowerWatch::add(EvidenceKind kind, std::string text) {
  // Keep the beginning and the end.
  if (evidence_.size() >= kMaxEvidence) evidence_.erase(evidence_.begin() + kMaxEvidence / 2);
  evidence_.push_back({kind, now(), std::move(text)});
}

void PowerWatch::failed(const Error& error) {
  ++failures_;
  last_error_ = error;
  run_ = 0;
  changed_run_ = 0;
  fell_run_ = 0;
  // A session that the BMC dropped, or whose connection is closed, cannot be used any more.
  const bool lost = error.code == ErrorCode::refused || error.code == ErrorCode::unavailable ||
                    error.code == ErrorCode::timeout || error.code == ErrorCode::internal;
  if (lost && bmc_) {
    bmc_.reset();
    if (++lost_ <= kMaxLost) add(EvidenceKind::session, error.message);
  }
}

bool PowerWatch::open() {
  if (bmc_) return true;
  Result<OpenBmc> opened = open_bmc(fleet_, index_);
  if (opened.ok()) {
    bmc_ = std::move(opened->bmc);
    return true;
  }
  failed(opened.error());
  const bool hopeless = opened.error().code == ErrorCode::not_found;  // no credentials, no protocol
  if (hopeless || (opened.error().code == ErrorCode::refused && ++refusals_ >= (sends_ > 0 ? kMaxRefusals : 1)))
    gave_up_ = true;
  return false;
}

bool PowerWatch::look() {
  if (!pause(last_look_ + pace() - fleet_.clock.now())) return false;
  for (;;) {
    if (open()) {
      if (!time_left()) return false;
      const Result<PowerReading> reading = bmc_->power();
      last_look_ = fleet_.clock.now();
      if (reading.ok()) {
        took(*reading);
        return true;
      }
      failed(reading.error());
      // A BMC that opens sessions and rejects requests in them, or never had a system to control, will not recover by
      // retrying. One that restarts may lack it for a while: after its state was read once, that is waited for.
      const ErrorCode code = reading.error().code;
      const bool is_permanent = code == ErrorCode::refused || (code == ErrorCode::not_found && !reached_);
      if (is_permanent && ++refusals_ > kMaxRefusals) gave_up_ = true;
    }
    if (!pause(backoff(failures_))) return false;
  }
}

bool PowerWatch::look_settled() {
  do {
    if (!look()) return false;
  } while (!settled());
  return true;
}

void PowerWatch::took(const PowerReading& reading) {
  reached_ = true;
  failures_ = 0;
  refusals_ = 0;
  if (run_ > 0 && reading.state == reading_.state) {
    ++run_;
  } else {
    run_ = 1;
    state_since_ = fleet_.clock.now();
  }
  reading_ = {reading.state, comparable(reading.boot_id), comparable(reading.boot_progress)};
  if (run_ == 2 && told_ != reading_.state) {
    add(EvidenceKind::state_seen, std::string(to_text(reading_.state)));
    told_ = reading_.state;
  }
  if (!comparing_) return;
  if (settled(PowerState::off)) off_seen_ = true;
  const bool other = !before_.boot_id.empty() && !reading_.boot_id.empty() && reading_.boot_id != before_.boot_id;
  changed_run_ = other ? changed_run_ + 1 : 0;
  if (changed_run_ >= 2 && !boot_changed_) {
    boot_changed_ = true;
    add(EvidenceKind::boot_id_changed, fmt::format("{} to {}", before_.boot_id, reading_.boot_id));
  }
  const std::optional<int> rank = boot_progress_rank(reading_.boot_progress);
  const std::optional<int> rank_before = boot_progress_rank(before_.boot_progress);
  fell_run_ = rank && rank_before && *rank < *rank_before ? fell_run_ + 1 : 0;
  if (fell_run_ >= 2 && !progress_fell_) {
    progress_fell_ = true;
    add(EvidenceKind::boot_progress, fmt::format("{} to {}", before_.boot_progress, reading_.boot_progress));
  }
  if (settled(PowerState::on)) ask_probe();
}

void PowerWatch::ask_probe() {
  if (!options_.probe || probe_changed_ || fleet_.clock.now() - probed_at_ < options_.probe_every) return;
  if (!time_left()) return;
  const Result<std::string> answer = options_.probe(target_.name, std::min(kProbeLimit, options_.deadline - now()));
  probed_at_ = fleet_.clock.now();
  if (!answer.ok() || answer->empty()) return;
  probe_ = comparable(*answer);
  const bool first = !probe_answered_;
  probe_answered_ = true;
  if (!before_.probe.empty() && probe_ != before_.probe) {
    probe_changed_ = true;
    add(EvidenceKind::probe, fmt::format("{} to {}", before_.probe, probe_));
  } else if (first && before_.probe.empty()) {
    add(EvidenceKind::probe, probe_);
  }
}

void PowerWatch::probe_before() {
  if (!options_.probe || !time_left()) return;
  const Result<std::string> answer = options_.probe(target_.name, std::min(kProbeLimit, options_.deadline - now()));
  if (answer.ok()) probe_ = comparable(*answer);
}

void PowerWatch::compare_with(const PowerBefore& before) {
  before_ = before;
  comparing_ = true;
  boot_changed_ = progress_fell_ = probe_changed_ = probe_answered_ = false;
  changed_run_ = fell_run_ = 0;
  off_seen_ = before.state == PowerState::off;
}

bool PowerWatch::complete() const {
  if (!settled(PowerState::on)) return false;
  if (!options_.probe) return restarted();
  return before_.probe.empty() ? probe_answered_ && restarted() : probe_changed_;
}

bool PowerWatch::proven_unchanged() const {
  return settled(before_.state) && !before_.boot_id.empty() && reading_.boot_id == before_.boot_id && !restarted() &&
         !probe_changed_;
}

std::vector<ResetAction> PowerWatch::actions() {
  if (!time_left() || !open() || !time_left()) return {};
  Result<std::vector<ResetAction>> list = bmc_->reset_actions();
  if (list.ok()) return std::move(list).value();
  if (list.error().code != ErrorCode::not_found) {
    const int run = run_;  // earlier reads still count
    failed(list.error());
    run_ = run;
  }
  return {};
}

Sent PowerWatch::send(ResetAction action) {
  if (!time_left()) return Sent::not_sent;
  while (!open()) {
    if (!pause(backoff(failures_))) return Sent::not_sent;
  }
  if (!time_left()) return Sent::not_sent;
  JournalEntry intent;
  intent.operation = operation_;
  intent.phase = Phase::intent;
  intent.verb = journal_verb(verb_);
  intent.device = target_.name;
  intent.detail = Value::map().set("action", to_text(action)).set("before", before_value(now_is()));
  if (Status written = fleet_.journal.append(std::move(intent)); !written.ok()) {
    journal_error_ = written.error();
    gave_up_ = true;
    return Sent::not_sent;
  }
  ++sends_;
  const Status answer = bmc_->reset(action);
  sent_at_ = last_look_ = fleet_.clock.now();
  run_ = changed_run_ = fell_run_ = 0;
  told_.reset();
  if (answer.ok()) {
    add(EvidenceKind::accepted, std::string(to_text(action)));
    return Sent::accepted;
  }
  const Error& error = answer.error();
  // Only a response of the BMC proves that nothing was done; in all other cases the result is unknown.
  const bool no =
      error.code == ErrorCode::not_found || error.code == ErrorCode::refused || error.code == ErrorCode::conflict;
  add(no ? EvidenceKind::declined : EvidenceKind::no_answer, fmt::format("{}: {}", to_text(action), error.message));
  if (error.code != ErrorCode::not_found) failed(error);
  if (error.code == ErrorCode::not_found) return Sent::unsupported;
  if (error.code == ErrorCode::refused && ++refusals_ > kMaxRefusals) gave_up_ = true;
  return no ? Sent::declined : Sent::maybe;
}

}  // namespace weft::oob

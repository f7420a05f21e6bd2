#include "oob/power/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/enum_names.h"
#include "base/process.h"
#include "oob/power/watch.h"

namespace weft::oob {
namespace {

constexpr std::array<std::string_view, kPowerVerbs> kVerbNames = {"on", "off", "soft", "cycle", "reset"};
constexpr std::string_view kVerbPrefix = "power.";

bool passing(PowerState state) { return state == PowerState::powering_on || state == PowerState::powering_off; }

class PowerLoop {
 public:
  PowerLoop(const Fleet& fleet, std::uint32_t target, PowerVerb verb, const PowerOptions& options,
            const std::string& operation)
      : options_(options), verb_(verb), watch_(fleet, target, verb, options, operation) {}

  PowerOutcome run(const PowerResume* resume) {
    PowerOutcome outcome;
    switch (verb_) {
      case PowerVerb::on:
        outcome = plain(PowerState::on, ResetAction::on);
        break;
      case PowerVerb::off:
        outcome = plain(PowerState::off, ResetAction::force_off);
        break;
      case PowerVerb::soft:
        outcome = soft();
        break;
      case PowerVerb::cycle:
      case PowerVerb::reset:
        outcome = resume != nullptr ? resumed(*resume) : restart();
        break;
    }
    outcome.evidence = std::move(watch_.evidence());
    outcome.took = watch_.now();
    outcome.sends = watch_.sends();
    outcome.reached = watch_.reached();
    outcome.stopped = watch_.stopped() && outcome.end != PowerEnd::done;
    return outcome;
  }

 private:
  enum class Reach : std::uint8_t { reached, unsupported, late, exhausted, ended };
  // silent: proven to have had no effect. unproven: no effect was seen, and none can be verified.
  enum class Change : std::uint8_t { changed, left_off, unsupported, declined, silent, unproven, ended };

  static PowerOutcome ends(PowerEnd end, std::string reason, std::string next = {}) {
    PowerOutcome outcome;
    outcome.end = end;
    outcome.reason = std::move(reason);
    outcome.next = std::move(next);
    return outcome;
  }
  static PowerOutcome done(std::string reason) { return ends(PowerEnd::done, std::move(reason)); }
  static PowerOutcome not_done(std::string reason, std::string next) {
    return ends(PowerEnd::not_done, std::move(reason), std::move(next));
  }
  static PowerOutcome unknown(std::string reason, std::string next) {
    return ends(PowerEnd::unknown, std::move(reason), std::move(next));
  }

  PowerOutcome plain(PowerState goal, ResetAction action);
  PowerOutcome soft();
  PowerOutcome restart();
  PowerOutcome resumed(const PowerResume& resume);
  PowerOutcome judge(Change change, bool resumed);
  PowerOutcome back_on(bool hold);

  Reach reach(PowerState goal, ResetAction action, Duration until);
  [[nodiscard]] bool ripe(int tries, Duration wait);
  Change disturb(ResetAction action, bool already_sent);
  Change decline(int tries);
  [[nodiscard]] bool blind() const;

  PowerOutcome nothing_sent();
  PowerOutcome stopped();
  PowerOutcome journal_full();
  PowerOutcome give_up(PowerState goal);
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] std::string attempts() const {
    return fmt::format("{} attempt{}", watch_.sends(), watch_.sends() == 1 ? "" : "s");
  }
  [[nodiscard]] std::string resend_text() const {
    return fmt::format("check its console; if it did not restart, run {} again", to_text(verb_));
  }

  const PowerOptions& options_;
  PowerVerb verb_;
  PowerWatch watch_;
};

// Verbs that name a target state: on and off.
PowerOutcome PowerLoop::plain(PowerState goal, ResetAction action) {
  if (!watch_.look_settled()) return nothing_sent();
  watch_.compare_with(watch_.now_is());
  const bool already = watch_.settled(goal);
  switch (reach(goal, action, options_.deadline)) {
    case Reach::reached:
      return done(fmt::format("{} {}", already ? "was already" : "is", to_text(goal)));
    case Reach::unsupported:
      return not_done(fmt::format("its BMC has no {}", to_text(action)),
                      fmt::format("power it {} manually or by its power outlets", to_text(goal)));
    case Reach::late:
    case Reach::exhausted:
    case Reach::ended:
      break;
  }
  return give_up(goal);
}

PowerOutcome PowerLoop::soft() {
  if (!watch_.look_settled()) return nothing_sent();
  watch_.compare_with(watch_.now_is());
  if (watch_.settled(PowerState::off)) return done("was already off");
  const Duration grace = options_.force ? options_.deadline / 3 * 2 : options_.deadline;
  const Reach asked = reach(PowerState::off, ResetAction::graceful_shutdown, grace);
  if (asked == Reach::reached) return done("is off");
  if (asked == Reach::ended) return give_up(PowerState::off);
  if (!options_.force) {
    if (asked == Reach::unsupported)
      return not_done("its BMC has no GracefulShutdown", "shut it down from its operating system, or use off");
    return give_up(PowerState::off);
  }
  if (reach(PowerState::off, ResetAction::force_off, options_.deadline) == Reach::reached)
    return done("is off, by force: its operating system did not shut down");
  return give_up(PowerState::off);
}

// Whether the next attempt of an idempotent action is due.
bool PowerLoop::ripe(int tries, Duration wait) {
  if (!watch_.settled()) return false;
  // In transition: leave it alone for a while.
  if (passing(watch_.reading().state) && watch_.settled_for() < options_.silent_window) return false;
  return tries == 0 || (tries < options_.most_sends && watch_.since_sent() >= wait);
}

PowerLoop::Reach PowerLoop::reach(PowerState goal, ResetAction action, Duration until) {
  int tries = 0;
  Duration wait;
  for (;;) {
    const bool there = watch_.settled(goal);
    if (there && (goal != PowerState::on || watch_.probe_content())) return Reach::reached;
    if (watch_.now() >= until) return Reach::late;
    if (!there && tries >= options_.most_sends && watch_.settled() && watch_.since_sent() >= wait)
      return Reach::exhausted;
    if (!there && ripe(tries, wait)) {
      const Sent sent = watch_.send(action);
      if (sent == Sent::not_sent) return Reach::ended;
      if (sent == Sent::unsupported) return Reach::unsupported;
      const Duration longer = options_.repeat_after * (std::int64_t{1} << std::min(tries, 16));
      // "Not now" is often over in seconds, but not within one.
      wait = sent == Sent::declined ? watch_.backoff(tries + 3) : longer;
      ++tries;
    }
    if (!watch_.look()) return Reach::ended;
  }
}

PowerOutcome PowerLoop::restart() {
  do {
    if (!watch_.look_settled()) return nothing_sent();
  } while (passing(watch_.reading().state));
  // IPMI 2.0, 28.3: a machine that is off answers a cycle with D5h, or acts as for On.
  if (watch_.settled(PowerState::off)) return not_done("is off", "use on");
  if (!watch_.settled(PowerState::on))
    return not_done("its BMC does not report the power state", "check the machine, then use off and on");
  watch_.probe_before();
  watch_.compare_with(watch_.now_is());
  const std::vector<ResetAction> can = watch_.actions();
  const auto lacks = [&](ResetAction action) {
    return !can.empty() && std::find(can.begin(), can.end(), action) == can.end();
  };
  if (verb_ == PowerVerb::reset) {
    const bool missing = lacks(ResetAction::force_restart);
    return judge(missing ? Change::unsupported : disturb(ResetAction::force_restart, false), false);
  }
  Change change = lacks(ResetAction::power_cycle) ? Change::unsupported : disturb(ResetAction::power_cycle, false);
  // A PowerCycle that is unsupported, or was proven to have no effect, is replaced by ForceOff and On.
  if (change != Change::unsupported && change != Change::silent) return judge(change, false);
  change = disturb(ResetAction::force_off, false);
  return change == Change::left_off ? back_on(true) : judge(change, false);
}

// The step in the journal may have been sent or not. It is not repeated; its effect is checked.
PowerOutcome PowerLoop::resumed(const PowerResume& resume) {
  watch_.compare_with(resume.before);
  // On is sent only after off was seen, and is idempotent.
  if (resume.action == ResetAction::on) return back_on(false);
  const Change change = disturb(resume.action, true);
  if (change == Change::left_off && resume.action == ResetAction::force_off) return back_on(true);
  return judge(change, true);
}

PowerOutcome PowerLoop::judge(Change change, bool resumed) {
  switch (change) {
    case Change::changed:
      return done("has restarted");
    case Change::left_off:
      if (verb_ == PowerVerb::reset && !options_.finish_on)
        return not_done("the reset left it off", "use on; its BMC ends a reset as off");
      return back_on(false);
    case Change::unsupported:
      return verb_ == PowerVerb::reset
                 ? not_done("its BMC has no ForceRestart", "use cycle")
                 : not_done("its BMC has neither PowerCycle nor ForceOff", "cycle its power outlets");
    case Change::declined:
      return not_done(fmt::format("its BMC rejected it after {}: {}", attempts(), error_text()),
                      "check its event log and retry; if it persists, reset the BMC");
    case Change::silent:
      return not_done(fmt::format("accepted, but without effect after {}", attempts()),
                      "reset its BMC, or cycle its power outlets");
    case Change::unproven:
      return resumed ? unknown("an earlier attempt may have been sent, and nothing shows that it had an effect",
                               resend_text())
                     : unknown("its BMC accepted it, but reports nothing that shows a restart", resend_text());
    case Change::ended:
      break;
  }
  if (watch_.stopped()) return watch_.sends() > 0 || resumed ? stopped() : nothing_sent();
  if (watch_.journal_error()) return journal_full();
  if (watch_.sends() == 0 && !resumed) return nothing_sent();
  if (watch_.answering() && watch_.settled(PowerState::off)) return not_done("is off and did not come back", "use on");
  if (watch_.restarted())
    return unknown("it went down, but did not come back before the deadline", "check its console");
  if (!watch_.answering()) return unknown(fmt::format("its BMC stopped responding: {}", error_text()), resend_text());
  return unknown("nothing shows that it restarted", resend_text());
}

// The machine was seen off, and must end up on.
PowerOutcome PowerLoop::back_on(bool hold) {
  if (hold) (void)watch_.pause(options_.hold);
  const Reach end = reach(PowerState::on, ResetAction::on, options_.deadline);
  if (end == Reach::reached) {
    while (!watch_.complete()) {
      if (!watch_.look()) return judge(Change::ended, true);
    }
    return done("was off and is on again");
  }
  if (watch_.stopped()) return stopped();
  if (watch_.journal_error()) return journal_full();
  if (watch_.answering() && watch_.settled(PowerState::off))
    return not_done("is off: it did not come back on", "use on; check its event log and power supplies");
  return unknown(fmt::format("it went down and did not come back on: {}", error_text()),
                 "run on, then check its console");
}

// After the BMC rejected it: whether the machine is unchanged, so a retry is safe.
PowerLoop::Change PowerLoop::decline(int tries) {
  if (!watch_.pause(watch_.backoff(tries + 2)) || !watch_.look_settled()) return Change::ended;
  return watch_.settled(watch_.before().state) && !watch_.restarted() ? Change::declined : Change::unproven;
}

// The BMC reports neither boot id nor progress, and there is no other source.
bool PowerLoop::blind() const {
  return !options_.probe && (watch_.before().boot_id.empty() || watch_.reading().boot_id.empty()) &&
         (!boot_progress_rank(watch_.before().boot_progress) || !boot_progress_rank(watch_.reading().boot_progress));
}

// Sends a disruptive action once and waits for its effect. Repeats it only if the machine is proven to be unchanged.
PowerLoop::Change PowerLoop::disturb(ResetAction action, bool already_sent) {
  bool out = already_sent;
  int tries = 0;
  for (;;) {
    if (!out) {
      if (tries >= options_.most_sends) return Change::silent;
      const Sent sent = watch_.send(action);
      if (sent == Sent::not_sent) return Change::ended;
      if (sent == Sent::unsupported) return Change::unsupported;
      ++tries;
      out = true;
      if (sent == Sent::declined) {
        const Change after = decline(tries);
        if (after == Change::ended) return after;
        if (after == Change::declined && tries >= options_.most_sends) return after;
        if (after == Change::declined) {
          out = false;
          continue;
        }
      }
    }
    if (!watch_.look()) return Change::ended;
    if (watch_.complete()) return Change::changed;
    if (watch_.settled(PowerState::off) &&
        (action == ResetAction::force_off || watch_.settled_for() >= options_.off_window))
      return Change::left_off;
    if (watch_.since_sent() < options_.silent_window || !watch_.settled(PowerState::on)) continue;
    if (watch_.restarted()) continue;  // wait for the probe
    if (already_sent || blind()) return Change::unproven;
    if (!watch_.proven_unchanged()) continue;
    watch_.add(EvidenceKind::no_effect, std::string(to_text(action)));
    if (action == ResetAction::power_cycle) return Change::silent;
    out = false;
  }
}

std::string PowerLoop::error_text() const { return watch_.last_error() ? watch_.last_error()->message : "no answer"; }

PowerOutcome PowerLoop::stopped() {
  return unknown("stopped by the operator before the result was verified", "resume the operation");
}

PowerOutcome PowerLoop::journal_full() {
  const std::string reason = fmt::format("the journal cannot be written: {}", watch_.journal_error()->message);
  if (watch_.sends() > 0) return unknown(reason, "free disk space for the journal, then resume the operation");
  return not_done(reason, "free disk space for the journal, then retry");
}

PowerOutcome PowerLoop::nothing_sent() {
  if (watch_.stopped()) return not_done("stopped by the operator before anything was sent", "resume the operation");
  if (watch_.journal_error()) return journal_full();
  if (watch_.answering()) return not_done("its power state keeps changing", "check its BMC; nothing was sent");
  if (!watch_.last_error()) return not_done("the deadline passed before its state was read", "use a longer --deadline");
  switch (watch_.last_error()->code) {
    case ErrorCode::refused:
      return not_done(error_text(), "check the credentials of its BMC; nothing was sent");
    case ErrorCode::conflict:
      return not_done(error_text(), "end the sessions that its BMC holds, or reset the BMC; nothing was sent");
    case ErrorCode::not_found:
      return not_done(error_text(), "check its endpoint and credentials; nothing was sent");
    case ErrorCode::invalid_input:
      return not_done(error_text(), "its BMC sends invalid responses; update or reset it; nothing was sent");
    case ErrorCode::unavailable:
    case ErrorCode::timeout:
    case ErrorCode::internal:
      break;
  }
  return not_done(error_text(), "check its BMC and the out-of-band network; nothing was sent");
}

// On or off was not reached.
PowerOutcome PowerLoop::give_up(PowerState goal) {
  if (watch_.stopped()) return watch_.sends() > 0 ? stopped() : nothing_sent();
  if (watch_.journal_error()) return journal_full();
  if (watch_.settled(goal))
    return unknown("its BMC reports on, but the host probe got no response", "check its console");
  if (watch_.sends() == 0) return nothing_sent();
  if (watch_.answering() && watch_.settled()) {
    const std::string reason = fmt::format("is still {} after {}", to_text(watch_.reading().state), attempts());
    if (verb_ == PowerVerb::soft && !options_.force)
      return not_done(reason, "its operating system does not shut down; use off, or soft with --force");
    return not_done(reason, goal == PowerState::on ? "check its event log; cycle its power outlets, then use on again"
                                                   : "reset its BMC, or switch its power outlets off");
  }
  if (watch_.answering())
    return unknown("its power state keeps changing", "check the machine itself; its BMC is unreliable");
  return unknown(fmt::format("its BMC stopped responding: {}", error_text()),
                 fmt::format("check its state; if it is not {}, run {} again", to_text(goal), to_text(verb_)));
}

Value evidence_value(const std::vector<Evidence>& evidence) {
  Value list = Value::list();
  for (const Evidence& item : evidence) {
    list.add(
        Value::map().set("kind", to_text(item.kind)).set("at_ms", item.at.count() / 1'000'000).set("text", item.text));
  }
  return list;
}

const std::string* text_of(const Value& map, std::string_view key) {
  const Value* value = map.is_map() ? map.find(key) : nullptr;
  return value != nullptr && value->is_text() ? &value->text() : nullptr;
}

}  // namespace

bool record_outcome(const Fleet& fleet, std::uint32_t target, PowerVerb verb, const std::string& operation,
                    const PowerOutcome& outcome) {
  JournalEntry entry;
  entry.operation = operation;
  entry.verb = journal_verb(verb);
  entry.device = fleet.inventory.targets()[target].name;
  if (!outcome.evidence.empty()) {
    entry.phase = Phase::seen;
    entry.detail = Value::map().set("evidence", evidence_value(outcome.evidence));
    if (!fleet.journal.append(entry).ok()) return false;
  }
  if (outcome.stopped) return true;
  entry.phase = Phase::outcome;
  entry.detail = Value::map()
                     .set("end", to_text(outcome.end))
                     .set("reason", outcome.reason)
                     .set("next", outcome.next)
                     .set("sends", outcome.sends);
  return fleet.journal.append(std::move(entry)).ok();
}

PowerOutcome run_power(const Fleet& fleet, std::uint32_t target, PowerVerb verb, const PowerOptions& options,
                       const std::string& operation, const PowerResume* resume) {
  PowerOutcome outcome = PowerLoop(fleet, target, verb, options, operation).run(resume);
  outcome.journalled = record_outcome(fleet, target, verb, operation, outcome);
  return outcome;
}

Result<std::function<Result<std::string>(const std::string&, Duration)>> program_probe(std::string_view command,
                                                                                       Clock& clock) {
  Result<std::vector<std::string>> words = split_words(command);
  if (!words.ok()) return words.error();
  if (words->empty()) return Error{ErrorCode::invalid_input, "the host probe command is empty", ""};
  return std::function<Result<std::string>(const std::string&, Duration)>(
      [words = std::move(words).value(), &clock](const std::string& host, Duration limit) -> Result<std::string> {
        ProcessRequest request;
        request.words = words;
        for (std::string& word : request.words) {
          for (std::size_t at = word.find("%h"); at != std::string::npos; at = word.find("%h", at + host.size()))
            word.replace(at, 2, host);
        }
        request.limit = limit;
        request.most_output = 4'096;  // a boot id, possibly after a banner
        request.stopped = [&clock] { return clock.stopped(); };
        const Result<ProcessOutcome> outcome = run_process(request);
        if (!outcome.ok()) return outcome.error();
        if (outcome->code != 0)
          return Error{ErrorCode::unavailable, fmt::format("the host probe exited with code {}", outcome->code), host};
        return outcome->out.substr(0, outcome->out.find_first_of("\r\n"));
      });
}

std::string_view to_text(PowerVerb verb) { return kVerbNames.at(static_cast<std::size_t>(verb)); }

std::optional<PowerVerb> power_verb_named(std::string_view text) { return find_enum<PowerVerb>(kVerbNames, text); }

std::string journal_verb(PowerVerb verb) { return fmt::format("{}{}", kVerbPrefix, to_text(verb)); }

std::optional<PowerVerb> power_verb_of_journal(std::string_view text) {
  if (!text.starts_with(kVerbPrefix)) return std::nullopt;
  return power_verb_named(text.substr(kVerbPrefix.size()));
}

std::string_view to_text(PowerEnd end) {
  switch (end) {
    case PowerEnd::done:
      return "done";
    case PowerEnd::not_done:
      return "not done";
    case PowerEnd::unknown:
      break;
  }
  return "unknown";
}

std::optional<PowerEnd> power_end_named(std::string_view text) {
  return find_enum({PowerEnd::done, PowerEnd::not_done, PowerEnd::unknown}, text);
}

std::string_view to_text(EvidenceKind kind) {
  switch (kind) {
    case EvidenceKind::state_seen:
      return "state";
    case EvidenceKind::accepted:
      return "accepted";
    case EvidenceKind::declined:
      return "declined";
    case EvidenceKind::no_answer:
      return "no answer";
    case EvidenceKind::no_effect:
      return "no effect";
    case EvidenceKind::boot_id_changed:
      return "boot id";
    case EvidenceKind::boot_progress:
      return "boot progress";
    case EvidenceKind::probe:
      return "probe";
    case EvidenceKind::session:
      break;
  }
  return "session lost";
}

std::optional<PowerResume> resume_of(const JournalEntry& intent) {
  if (intent.phase != Phase::intent || !power_verb_of_journal(intent.verb)) return std::nullopt;
  const std::string* action = text_of(intent.detail, "action");
  const std::optional<ResetAction> named = action != nullptr ? reset_action_named(*action) : std::nullopt;
  if (!named) return std::nullopt;
  PowerResume resume;
  resume.action = *named;
  const Value* before = intent.detail.find("before");
  if (before == nullptr) return resume;
  if (const std::string* state = text_of(*before, "state")) {
    for (const PowerState known :
         {PowerState::off, PowerState::on, PowerState::powering_on, PowerState::powering_off}) {
      if (to_text(known) == *state) resume.before.state = known;
    }
  }
  if (const std::string* text = text_of(*before, "boot_id")) resume.before.boot_id = *text;
  if (const std::string* text = text_of(*before, "boot_progress")) resume.before.boot_progress = *text;
  if (const std::string* text = text_of(*before, "probe")) resume.before.probe = *text;
  return resume;
}

std::string evidence_text(const std::vector<Evidence>& evidence) {
  std::string text;
  for (const Evidence& item : evidence) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{:.1f}s {}: {}", static_cast<double>(item.at.count()) * 1e-9, to_text(item.kind), item.text);
  }
  return text;
}

}  // namespace weft::oob

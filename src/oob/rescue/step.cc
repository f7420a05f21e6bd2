// Lifecycle of one step: needed? allowed? intent, action, evidence, outcome; and recovery after a crash.
#include "oob/rescue/step.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::oob {
namespace {

// Evidence is polled at once, then with growing intervals: a switch takes minutes to boot.
constexpr Duration kFirstPoll = milliseconds(2'000);
constexpr Duration kSlowestPoll = milliseconds(15'000);
constexpr std::size_t kLongestWhy = 1000;  // bytes of a reason in the journal

std::string bounded(const std::string& text) { return text.substr(0, kLongestWhy); }

bool passed(RescueOutcome outcome) { return outcome == RescueOutcome::done || outcome == RescueOutcome::skipped; }

}  // namespace

RescueRunner::Next RescueRunner::take(const RescueStep& step) {
  started_ = clock_.now();
  RescueStepRecord& before = record(step);
  if (before.outcome == RescueOutcome::asked) return answered(step);
  if (before.outcome != RescueOutcome::none) return over(step);
  if (before.going_back) return go_back(step, before.failure);
  if (!before.begun) return start(step);
  if (before.acted) return prove(step, false);
  return recover(step);
}

// The operator was asked about the step in an earlier run.
RescueRunner::Next RescueRunner::answered(const RescueStep& step) {
  if (terms_.confirmed.contains(step.id)) return close(step, RescueOutcome::done, "confirmed by the operator");
  if (terms_.repeated.contains(step.id)) return send(step);
  person_.push_back(
      fmt::format("check step `{}` ({}), then resume with --confirm {} if it is done or --repeat {} to do it again",
                  step.id, record(step).why, step.id, step.id));
  return RescueEnd::waiting;
}

// The outcome is in the journal; its consequences may not have happened yet.
RescueRunner::Next RescueRunner::over(const RescueStep& step) {
  const RescueOutcome outcome = record(step).outcome;
  if (passed(outcome)) return std::nullopt;
  if (outcome == RescueOutcome::failed && step.on_failure == RunbookOnFailure::go_on) {
    partial_ = true;
    return std::nullopt;
  }
  return RescueEnd::failed;
}

RescueRunner::Next RescueRunner::start(const RescueStep& step) {
  if (step.absent) return close(step, RescueOutcome::skipped, "this cluster has no such device");
  tell(fmt::format("{}: {}", step.id, step.title));
  RescueChecker checker(hands_, clock_, *folder_, record_);
  if (!step.skip_if.empty()) {
    const RescueVerdict verdict = checker.all(step.skip_if, kRescueNeedsLimit);
    if (verdict.holds) return close(step, RescueOutcome::skipped, "not needed: " + verdict.seen);
  }
  if (const std::optional<std::string> missing = unmet(step)) {
    if (clock_.stopped()) return RescueEnd::stopped;
    // Nothing was sent, so there is nothing to roll back.
    if (step.on_failure != RunbookOnFailure::back) return fail(step, *missing);
    const Next next = close(step, RescueOutcome::failed, *missing);
    return next ? next : RescueEnd::failed;
  }
  if (clock_.stopped()) return RescueEnd::stopped;
  if (step.action.kind == RunbookDo::confirm) return confirm(step);
  return send(step);
}

// Preconditions that fail; empty if all hold.
std::optional<std::string> RescueRunner::unmet(const RescueStep& step) {
  for (const std::string& id : step.after) {
    const auto found = record_.steps.find(id);
    if (found == record_.steps.end() || !passed(found->second.outcome))
      return fmt::format("step `{}` was not done", id);
  }
  if (step.needs.empty()) return std::nullopt;
  RescueChecker checker(hands_, clock_, *folder_, record_);
  const Duration end = clock_.now() + kRescueNeedsLimit;
  for (;;) {
    const RescueVerdict verdict = checker.all(step.needs, kRescueNeedsLimit);
    if (verdict.holds) return std::nullopt;
    if (clock_.now() >= end || !clock_.sleep(kFirstPoll)) return "precondition: " + verdict.seen;
  }
}

RescueRunner::Next RescueRunner::confirm(const RescueStep& step) {
  const bool said = terms_.confirmed.contains(step.id) || (terms_.ask && terms_.ask(step));
  if (!said) {
    person_.push_back(fmt::format("{}; then resume with --confirm {}", step.action.text, step.id));
    return RescueEnd::waiting;
  }
  started_ = clock_.now();
  if (!log(Phase::intent, step, Value::map().set("what", "do").set("does", describe(step.action))))
    return RescueEnd::stopped;
  record(step).begun = true;
  return acted(step, {Did::ok, "confirmed by the operator", {}});
}

RescueRunner::Next RescueRunner::send(const RescueStep& step, const std::vector<std::string>& only) {
  started_ = clock_.now();
  RescueStepRecord& now = record(step);
  const std::set<std::string> kept = now.hosts_done;
  now = {};
  now.hosts_done = kept;
  now.begun = true;
  now.begun_ms = clock_.wall_ms();
  Value detail = Value::map().set("what", "do").set("does", bounded(describe(step.action))).set("danger", step.danger);
  if (step.action.kind == RunbookDo::power) {
    now.operation = new_operation_id();
    now.hosts = only;
    detail.set("operation", now.operation);
    if (!only.empty()) detail.set("hosts", Value::texts(only));
  }
  if (!log(Phase::intent, step, detail)) return RescueEnd::stopped;
  tell(fmt::format("  {}", describe(step.action)));
  return acted(step, act(step, step.action, false));
}

// An intent without an outcome: the action may have been sent, or not.
RescueRunner::Next RescueRunner::recover(const RescueStep& step) {
  tell(fmt::format("{}: was in progress when the previous run ended", step.id));
  if (step.action.kind == RunbookDo::power) return recover_power(step);
  if (step.action.kind == RunbookDo::confirm) return acted(step, {Did::ok, "confirmed by the operator", {}});
  // A restore tracks per host which config is in place.
  if (step.repeat_safe || step.action.kind == RunbookDo::restore) return acted(step, act(step, step.action, false));
  return prove(step, true);
}

RescueRunner::Next RescueRunner::recover_power(const RescueStep& step) {
  const RescuePowerCall call = power_call(step, step.action, record(step).operation, record(step).hosts);
  const std::optional<RescuePowerAnswer> answer = hands_.recall_power(call);
  if (clock_.stopped()) return RescueEnd::stopped;
  // It never began: the intent is written, and it is sent under the same id.
  if (!answer) return acted(step, act(step, step.action, false));
  if (answer->end == RescuePowerEnd::done) return acted(step, {Did::ok, answer->text, {}});
  // Sent again only to hosts on which it is proven to have changed nothing.
  if (answer->end == RescuePowerEnd::not_done && !answer->rest.empty()) return send(step, answer->rest);
  if (step.repeat_safe) return send(step);
  return prove(step, true);
}

RescueRunner::Next RescueRunner::acted(const RescueStep& step, const Act& act) {
  if (!broken_.ok() || act.did == Did::stopped) return RescueEnd::stopped;
  if (act.did == Did::failed) return fail(step, act.text);
  RescueStepRecord& now = record(step);
  now.file = act.file;
  now.acted_text = act.text;
  // Whether it happened is unknown: the evidence decides.
  if (act.did == Did::unknown) return prove(step, !step.repeat_safe);
  now.acted = true;
  if (!log(Phase::seen, step, Value::map().set("what", "acted").set("text", bounded(act.text)).set("file", act.file)))
    return RescueEnd::stopped;
  return prove(step, false);
}

// `or_ask`: without evidence the result is unknown, and the operator must check.
RescueRunner::Next RescueRunner::prove(const RescueStep& step, bool or_ask) {
  RescueChecker checker(hands_, clock_, *folder_, record_);
  if (step.expect.empty()) return close(step, RescueOutcome::done, record(step).acted_text);
  Duration pause = kFirstPoll;
  for (;;) {
    const RescueVerdict verdict = checker.all(step.expect, std::max(left(step), milliseconds(1'000)));
    if (verdict.holds) return close(step, RescueOutcome::done, verdict.seen);
    if (clock_.stopped()) return RescueEnd::stopped;
    if (left(step) <= Duration(0)) {
      const std::string why = fmt::format("not seen within {}: {}", weft::to_text(step.within), verdict.seen);
      return or_ask ? ask(step, "unknown whether it was sent; " + why) : fail(step, why);
    }
    if (!clock_.sleep(std::min(pause, left(step)))) return RescueEnd::stopped;
    pause = std::min(pause * 2, kSlowestPoll);
  }
}

RescueRunner::Next RescueRunner::fail(const RescueStep& step, const std::string& why) {
  if (clock_.stopped()) return RescueEnd::stopped;
  switch (step.on_failure) {
    case RunbookOnFailure::ask:
      return ask(step, why);
    case RunbookOnFailure::back:
      return go_back(step, why);
    case RunbookOnFailure::go_on: {
      partial_ = true;
      return close(step, RescueOutcome::failed, why);
    }
    case RunbookOnFailure::stop:
      break;
  }
  if (!step.back.empty()) person_.push_back(fmt::format("roll back `{}` if needed: {}", step.id, describe(step.back)));
  const Next next = close(step, RescueOutcome::failed, why);
  return next ? next : RescueEnd::failed;
}

RescueRunner::Next RescueRunner::go_back(const RescueStep& step, const std::string& why) {
  tell(fmt::format("  failed: {}; rolling back", why));
  RescueStepRecord& now = record(step);
  now.going_back = true;
  now.failure = why;
  for (std::size_t part = 0; part < step.back.size(); ++part) {
    const RescueBack& back = step.back[part];
    if (back.action) {
      if (now.back_done.contains(part)) continue;
      Value detail = Value::map().set("what", "back").set("part", static_cast<std::int64_t>(part));
      detail.set("failure", bounded(why)).set("does", bounded(describe(*back.action)));
      if (!log(Phase::intent, step, detail)) return RescueEnd::stopped;
      started_ = clock_.now();
      tell(fmt::format("  back: {}", describe(*back.action)));
      const Act result = act(step, *back.action, true);
      if (!broken_.ok() || result.did == Did::stopped) return RescueEnd::stopped;
      if (result.did != Did::ok) {
        person_.push_back(fmt::format("finish the rollback of `{}` manually: {}", step.id, describe(step.back)));
        const Next next =
            close(step, RescueOutcome::back_failed, fmt::format("{}; the rollback failed too: {}", why, result.text));
        return next ? next : RescueEnd::failed;
      }
      if (!log(Phase::seen, step,
               Value::map()
                   .set("what", "back")
                   .set("part", static_cast<std::int64_t>(part))
                   .set("text", bounded(result.text))))
        return RescueEnd::stopped;
      now.back_done.insert(part);
    } else {
      person_.push_back(back.tell);
    }
  }
  const Next next = close(step, RescueOutcome::backed, why);
  return next ? next : RescueEnd::failed;
}

RescueRunner::Next RescueRunner::ask(const RescueStep& step, const std::string& why) {
  if (const Next next = close(step, RescueOutcome::asked, why)) return next;
  person_.push_back(
      fmt::format("check step `{}` ({}), then resume with --confirm {} if it is done or --repeat {} to do it again",
                  step.id, why, step.id, step.id));
  return RescueEnd::waiting;
}

RescueRunner::Next RescueRunner::close(const RescueStep& step, RescueOutcome outcome, const std::string& why) {
  RescueStepRecord& now = record(step);
  const std::int64_t took_ms = (clock_.now() - started_).count() / 1'000'000;
  Value detail = Value::map().set("result", std::string(to_text(outcome))).set("why", bounded(why));
  detail.set("took_ms", took_ms).set("file", now.file);
  if (!log(Phase::outcome, step, detail)) return RescueEnd::stopped;
  now.outcome = outcome;
  now.begun = false;
  now.why = why;
  now.took_ms = took_ms;
  now.ended_ms = clock_.wall_ms();
  tell(fmt::format("  {}: {}", to_text(outcome), why));
  return std::nullopt;
}

}  // namespace weft::oob

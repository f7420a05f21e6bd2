// The actions of a step, through RescueActions. Their output goes to files in the rescue's folder.
#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "base/human_format.h"
#include "oob/rescue/runbook_pattern.h"
#include "oob/rescue/step.h"

namespace weft::oob {

RescueRunner::Act RescueRunner::act(const RescueStep& step, const RescueAction& action, bool back) {
  switch (action.kind) {
    case RunbookDo::power:
      return back ? act_power(step, action, new_operation_id(), {})
                  : act_power(step, action, record(step).operation, record(step).hosts);
    case RunbookDo::console:
      return act_console(step, action);
    case RunbookDo::run:
      return act_run(step, action, back);
    case RunbookDo::wait:
      return act_wait(step, action);
    case RunbookDo::backup:
      return act_backup(step, action);
    case RunbookDo::restore:
      return act_restore(step, action, back);
    case RunbookDo::reach:
      return act_reach(step, action);
    case RunbookDo::confirm:
    case RunbookDo::note:
      break;
  }
  tell("  " + action.text);
  return {Did::ok, action.text, {}};
}

RescuePowerCall RescueRunner::power_call(const RescueStep& step, const RescueAction& action,
                                         const std::string& operation, const std::vector<std::string>& only) const {
  return {.verb = action.verb,
          .hosts = only.empty() ? action.hosts : only,
          .operation = operation,
          .reason = fmt::format("rescue {} {}: {}", record_.operation, step.id, terms_.reason),
          .limit = step.within};
}

RescueRunner::Act RescueRunner::act_power(const RescueStep& step, const RescueAction& action,
                                          const std::string& operation, const std::vector<std::string>& only) {
  const RescuePowerAnswer answer = hands_.power(power_call(step, action, operation, only));
  // An action in progress when the operator stopped the command is judged on resume.
  if (clock_.stopped() && answer.end != RescuePowerEnd::done) return {Did::stopped, answer.text, {}};
  switch (answer.end) {
    case RescuePowerEnd::done:
      return {Did::ok, answer.text, {}};
    case RescuePowerEnd::not_done:
      return {Did::failed, answer.text, {}};
    case RescuePowerEnd::unknown:
      break;
  }
  return {Did::unknown, answer.text, {}};
}

RescueRunner::Act RescueRunner::act_console(const RescueStep& step, const RescueAction& action) {
  // One file per capture: a second one, after a crash, must not look like a second boot.
  std::string file = file_name(step, "console");
  for (int attempt = 2; folder_->read(file).ok(); ++attempt) file = file_name(step, fmt::format("{}.console", attempt));
  std::optional<RunbookPattern> pattern;
  if (!action.until.empty()) {
    Result<RunbookPattern> made = RunbookPattern::make(action.until);
    if (!made.ok()) return {Did::failed, made.error().message, {}};
    pattern.emplace(std::move(made).value());
  }
  Status kept = folder_->append(file, fmt::format("--- {} {}\n", format_utc(clock_.wall_ms()), action.hosts.front()));
  if (!kept.ok()) return {Did::failed, kept.error().text(), {}};
  std::size_t searched = 0;  // lines before this byte were already searched
  const auto until = [&](const std::string& text) {
    if (!pattern) return false;
    const bool seen = pattern->count(std::string_view(text).substr(searched)) > 0;
    const std::size_t line = text.rfind('\n');
    if (line != std::string::npos) searched = line + 1;
    return seen;
  };
  const auto sink = [&](std::string_view piece) {
    if (kept.ok()) kept = folder_->append(file, piece);
  };
  const Result<RescueConsoleAnswer> answer =
      hands_.console(action.hosts.front(), std::min(action.time, left(step)), until, sink);
  (void)folder_->append(file, "\n");
  if (clock_.stopped()) return {Did::stopped, {}, file};
  if (!answer.ok()) return {Did::failed, "console: " + answer.error().text(), file};
  if (!kept.ok()) return {Did::failed, kept.error().text(), file};
  if (pattern && !answer->seen)
    return {Did::failed, fmt::format("the console of {} did not show `{}`", action.hosts.front(), action.until), file};
  return {Did::ok, fmt::format("{} bytes from the console of {}", answer->text.size(), action.hosts.front()), file};
}

RescueRunner::Act RescueRunner::act_run(const RescueStep& step, const RescueAction& action, bool back) {
  const std::string file = file_name(step, back ? "back.txt" : "txt");
  const Duration limit = back ? step.within : left(step);
  const Result<RescueRunAnswer> answer = hands_.run(action.words, limit);
  if (clock_.stopped()) return {Did::stopped, {}, {}};
  if (!answer.ok()) {
    // Started and not finished: it may have had its effect.
    const bool started = answer.error().code == ErrorCode::timeout;
    return {started ? Did::unknown : Did::failed, answer.error().text(), {}};
  }
  if (const Status kept = folder_->write(file, answer->out); !kept.ok()) return {Did::failed, kept.error().text(), {}};
  if (!answer->err.empty()) (void)folder_->write(file + ".err", answer->err);
  if (answer->code != 0) return {Did::failed, fmt::format("{} exits {}", action.words.front(), answer->code), file};
  return {Did::ok, fmt::format("{} exits 0", action.words.front()), file};
}

// After a crash it waits for the remaining time.
RescueRunner::Act RescueRunner::act_wait(const RescueStep& step, const RescueAction& action) {
  const std::int64_t begun = record(step).begun_ms;
  const Duration passed = begun == 0 ? Duration(0) : milliseconds(std::max<std::int64_t>(0, clock_.wall_ms() - begun));
  const Duration rest = std::max(Duration(0), action.time - passed);
  if (!clock_.sleep(rest)) return {Did::stopped, {}, {}};
  return {Did::ok, fmt::format("waited {}", weft::to_text(action.time)), {}};
}

RescueRunner::Act RescueRunner::act_backup(const RescueStep& step, const RescueAction& action) {
  std::vector<std::string> missing;
  std::string why;
  for (const std::string& host : action.hosts) {
    if (clock_.stopped()) return {Did::stopped, {}, {}};
    // The first backup counts: a config that the rescue itself changed is not the original one.
    if (folder_->read(kept_config_name(step.id, host)).ok()) continue;
    const Result<std::string> config = hands_.config_now(host);
    const Status kept = config.ok() ? folder_->write(kept_config_name(step.id, host), *config) : Status(config.error());
    if (kept.ok()) continue;
    missing.push_back(host);
    why = kept.error().text();
  }
  if (!missing.empty())
    return {Did::failed, fmt::format("no config of {}: {}", fold_hosts(std::move(missing)), why), {}};
  return {Did::ok, fmt::format("backed up the configs of {}", fold_hosts(action.hosts)), {}};
}

RescueRunner::Act RescueRunner::act_restore(const RescueStep& step, const RescueAction& action, bool back) {
  for (const std::string& host : action.hosts) {
    if (clock_.stopped()) return {Did::stopped, {}, {}};
    Act one = restore_one(step, action, host, back);
    if (one.did != Did::ok) return one;
  }
  return {Did::ok, fmt::format("restored {} from `{}`", fold_hosts(action.hosts), action.from), {}};
}

RescueRunner::Act RescueRunner::restore_one(const RescueStep& step, const RescueAction& action, const std::string& host,
                                            bool back) {
  RescueStepRecord& now = record(step);
  if (!back && now.hosts_done.contains(host)) return {Did::ok, {}, {}};
  const Result<std::string> wanted = wanted_config(hands_, *folder_, action.from, host);
  if (!wanted.ok()) return {Did::failed, fmt::format("{}: no config to restore: {}", host, wanted.error().text()), {}};
  // Begun in an earlier run: the config on the switch is the evidence.
  bool in_place = false;
  if (!back && now.hosts_begun.contains(host)) {
    const Result<std::string> held = hands_.config_now(host);
    if (!held.ok())
      return {
          Did::unknown, fmt::format("{}: unknown whether its config was replaced: {}", host, held.error().text()), {}};
    in_place = hands_.same_config(host, *held, *wanted);
  }
  if (!in_place) {
    if (!back && !log(Phase::intent, step, Value::map().set("what", "host").set("host", host))) return {};
    now.hosts_begun.insert(host);
    if (const Status status = hands_.install_config(host, *wanted); !status.ok()) {
      const bool may_be = status.error().code == ErrorCode::timeout || status.error().code == ErrorCode::unavailable;
      return {may_be ? Did::unknown : Did::failed, fmt::format("{}: {}", host, status.error().text()), {}};
    }
  }
  if (back) return {Did::ok, {}, {}};
  now.hosts_done.insert(host);
  if (!log(Phase::seen, step, Value::map().set("what", "host").set("host", host))) return {};
  return {Did::ok, {}, {}};
}

RescueRunner::Act RescueRunner::act_reach(const RescueStep& step, const RescueAction& action) {
  const std::vector<RescueHostAnswer> answers = hands_.status(action.hosts);
  std::string text;
  std::vector<std::string> silent;
  for (std::size_t i = 0; i < action.hosts.size() && i < answers.size(); ++i) {
    const RescueHostAnswer& answer = answers[i];
    text += fmt::format("{} {}\n", action.hosts[i],
                        answer.answered ? std::string(to_text(answer.state)) : "no answer: " + answer.why);
    if (!answer.answered) silent.push_back(action.hosts[i]);
  }
  const std::string file = file_name(step, "txt");
  if (const Status kept = folder_->write(file, text); !kept.ok()) return {Did::failed, kept.error().text(), {}};
  if (silent.empty()) return {Did::ok, fmt::format("all {} respond", action.hosts.size()), file};
  return {Did::ok, fmt::format("{} of {} do not respond: {}", silent.size(), action.hosts.size(), fold_hosts(silent)),
          file};
}

}  // namespace weft::oob

#include "oob/rescue/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host_range.h"
#include "base/text.h"
#include "oob/rescue/runbook_pattern.h"

namespace weft::oob {
namespace {

// Timeout of one command, port or ping check: a longer one would use up the step's time without a retry.
constexpr Duration kLookLimit = milliseconds(30'000);
constexpr Duration kConnectLimit = milliseconds(5'000);

// Whether enough hosts pass, and which do not.
RescueVerdict share_verdict(const std::vector<std::string>& hosts, const std::vector<bool>& fine, int share,
                            std::string_view good, std::string_view bad) {
  if (hosts.empty()) return {true, "this cluster has no such device"};
  std::vector<std::string> not_fine;
  std::size_t count = 0;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (i < fine.size() && fine[i]) {
      ++count;
    } else {
      not_fine.push_back(hosts[i]);
    }
  }
  RescueVerdict verdict;
  verdict.holds = count * 100 >= hosts.size() * static_cast<std::size_t>(share);
  verdict.seen = not_fine.empty() ? fmt::format("{} {}", fold_hosts(hosts), good)
                                  : fmt::format("{} of {} {}; {} {}", count, hosts.size(), good,
                                                fold_hosts(std::move(not_fine)), bad);
  return verdict;
}

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    std::string_view words = trim_end(line, kLineSpaces);
    words.remove_prefix(std::min(words.find_first_not_of(kTabsAndSpaces), words.size()));
    if (!words.empty()) lines.emplace(words);
  }
  return lines;
}

}  // namespace

RescueVerdict RescueChecker::all(const std::vector<RescueCheck>& checks, Duration limit) {
  RescueVerdict verdict{.holds = true, .seen = {}};
  for (const RescueCheck& check : checks) {
    RescueVerdict one = look(check, std::min(limit, kLookLimit));
    if (!one.holds) return one;
    verdict.seen += (verdict.seen.empty() ? "" : "; ") + one.seen;
  }
  return verdict;
}

RescueVerdict RescueChecker::look(const RescueCheck& check, Duration limit) {
  switch (check.kind) {
    case RunbookSee::power:
    case RunbookSee::reachable:
      return look_power(check);
    case RunbookSee::command:
      return look_command(check, limit);
    case RunbookSee::console:
      return look_console(check);
    case RunbookSee::port:
      return look_port(check, limit);
    case RunbookSee::ping:
      return look_ping(check, limit);
    case RunbookSee::since:
      return look_since(check);
    case RunbookSee::lines_kept:
      return look_lines(check);
    case RunbookSee::config:
      break;
  }
  return look_config(check);
}

RescueVerdict RescueChecker::look_power(const RescueCheck& check) {
  const std::vector<RescueHostAnswer> answers = hands_.status(check.hosts);
  std::vector<bool> fine;
  fine.reserve(answers.size());
  for (const RescueHostAnswer& answer : answers) {
    const bool state =
        check.kind == RunbookSee::reachable || answer.state == (check.on ? PowerState::on : PowerState::off);
    fine.push_back(answer.answered && state);
  }
  if (check.kind == RunbookSee::reachable)
    return share_verdict(check.hosts, fine, check.share, "respond", "do not respond");
  return share_verdict(check.hosts, fine, check.share, check.on ? "on" : "off", check.on ? "not on" : "not off");
}

RescueVerdict RescueChecker::look_command(const RescueCheck& check, Duration limit) {
  const Result<RescueRunAnswer> answer = hands_.run(check.words, limit);
  if (!answer.ok()) return {false, fmt::format("{}: {}", check.words.front(), answer.error().text())};
  if (check.code != kAnyExit && answer->code != check.code)
    return {false, fmt::format("{} exits {}, not {}", check.words.front(), answer->code, check.code)};
  if (!check.matches.empty()) {
    const Result<RunbookPattern> pattern = RunbookPattern::make(check.matches);
    if (!pattern.ok() || pattern->count(answer->out) == 0)
      return {false, fmt::format("{} prints no line with `{}`", check.words.front(), check.matches)};
  }
  if (!check.lacks.empty()) {
    const Result<RunbookPattern> pattern = RunbookPattern::make(check.lacks);
    if (!pattern.ok() || pattern->count(answer->out) > 0)
      return {false, fmt::format("{} prints `{}`", check.words.front(), check.lacks)};
  }
  return {true, describe(check)};
}

Result<std::string> RescueChecker::brought(const std::string& step) const {
  const auto found = record_.steps.find(step);
  if (found == record_.steps.end() || found->second.file.empty())
    return Error{ErrorCode::not_found, fmt::format("step `{}` produced no output", step), {}};
  return folder_.read(found->second.file);
}

RescueVerdict RescueChecker::look_console(const RescueCheck& check) {
  const Result<std::string> text = brought(check.step);
  if (!text.ok()) return {false, text.error().text()};
  const Result<RunbookPattern> pattern = RunbookPattern::make(check.matches);
  if (!pattern.ok()) return {false, pattern.error().message};
  const auto count = static_cast<std::int64_t>(pattern->count(*text));
  const bool holds = count >= check.least && (check.most < 0 || count <= check.most);
  return {holds, fmt::format("console shows `{}` {} time{}", check.matches, count, count == 1 ? "" : "s")};
}

RescueVerdict RescueChecker::look_port(const RescueCheck& check, Duration limit) {
  const std::vector<bool> fine = hands_.connect(check.addresses, check.port, std::min(limit, kConnectLimit));
  return share_verdict(check.hosts, fine, check.share, fmt::format("respond on port {}", check.port),
                       fmt::format("do not respond on port {}", check.port));
}

RescueVerdict RescueChecker::look_ping(const RescueCheck& check, Duration limit) {
  std::vector<bool> fine;
  fine.reserve(check.addresses.size());
  for (const std::string& address : check.addresses) {
    // Two echo requests, two seconds each.
    const Result<RescueRunAnswer> answer = hands_.run({"ping", "-n", "-c", "2", "-W", "2", "--", address}, limit);
    fine.push_back(answer.ok() && answer->code == 0);
  }
  return share_verdict(check.hosts, fine, check.share, "respond to ping", "do not respond to ping");
}

// By wall-clock time: a rescue may be resumed after a reboot of the jump host.
RescueVerdict RescueChecker::look_since(const RescueCheck& check) {
  const auto found = record_.steps.find(check.step);
  const std::int64_t ended = found == record_.steps.end() ? 0 : found->second.ended_ms;
  if (ended == 0) return {false, fmt::format("step `{}` has not ended", check.step)};
  const Duration passed = milliseconds(std::max<std::int64_t>(0, clock_.wall_ms() - ended));
  return {passed >= check.time, fmt::format("{} s since `{}`", passed.count() / 1'000'000'000, check.step)};
}

RescueVerdict RescueChecker::look_lines(const RescueCheck& check) {
  const Result<std::string> before = brought(check.step);
  const Result<std::string> after = brought(check.later);
  if (!before.ok()) return {false, before.error().text()};
  if (!after.ok()) return {false, after.error().text()};
  const std::set<std::string> kept = lines_of(*after);
  std::size_t lost = 0;
  std::string first;
  const std::set<std::string> wanted = lines_of(*before);
  for (const std::string& line : wanted) {
    if (kept.contains(line)) continue;
    if (lost++ == 0) first = line.substr(0, 60);
  }
  if (lost > 0) return {false, fmt::format("{} of {} lines are missing, the first: {}", lost, wanted.size(), first)};
  return {true, fmt::format("all {} lines of `{}` are in `{}`", wanted.size(), check.step, check.later)};
}

RescueVerdict RescueChecker::look_config(const RescueCheck& check) {
  std::vector<bool> fine;
  fine.reserve(check.hosts.size());
  for (const std::string& host : check.hosts) {
    const Result<std::string> wanted = wanted_config(hands_, folder_, check.from, host);
    const Result<std::string> now = hands_.config_now(host);
    fine.push_back(wanted.ok() && now.ok() && hands_.same_config(host, *wanted, *now));
  }
  return share_verdict(check.hosts, fine, check.share, fmt::format("have the config of `{}`", check.from),
                       fmt::format("do not have the config of `{}`", check.from));
}

std::string kept_config_name(const std::string& step, const std::string& host) {
  return fmt::format("{}.{}.config", step, host);
}

Result<std::string> wanted_config(RescueActions& hands, const RescueFolder& folder, const std::string& from,
                                  const std::string& host) {
  if (!from.starts_with(kOfStep)) return hands.config_kept(host, from);
  return folder.read(kept_config_name(from.substr(kOfStep.size()), host));
}

}  // namespace weft::oob

#include "oob/rescue/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/host_range.h"
#include "base/utf8.h"
#include "base/value.h"
#include "oob/rescue/path.h"
#include "oob/rescue/runbook_pattern.h"

namespace weft::oob {
namespace {

bool is_hosts(RunbookKind kind) {
  return kind == RunbookKind::host || kind == RunbookKind::hosts || kind == RunbookKind::network_switch;
}

class RescuePlanner {
 public:
  RescuePlanner(const Runbook& book, const RescueHosts& hosts, const std::map<std::string, std::string>& settings,
                Diagnostics& diagnostics)
      : book_(book), hosts_(hosts), settings_(settings), diagnostics_(diagnostics) {}

  std::optional<RescuePlan> make() {
    const std::size_t before = diagnostics_.error_count();
    check_settings();
    for (const RunbookParameter& parameter : book_.parameters) fill(parameter);
    if (diagnostics_.error_count() != before) return std::nullopt;
    plan_.runbook = book_.name;
    plan_.title = book_.title;
    plan_.hash = book_.hash;
    plan_.cluster = hosts_.cluster().name();
    plan_.steps.reserve(book_.steps.size());
    for (const RunbookStep& step : book_.steps) plan_.steps.push_back(resolve(step));
    std::vector<std::string> down;
    for (const std::string& item : book_.assume_down) down.push_back(substitute(item, SourceLocation{}, false));
    if (diagnostics_.error_count() != before) return std::nullopt;
    add_up();
    judge_rescue_paths(plan_, hosts_, down, diagnostics_);
    if (diagnostics_.error_count() != before) return std::nullopt;
    return std::move(plan_);
  }

 private:
  struct Filled {
    RunbookKind kind = RunbookKind::text;
    std::string text;
    std::vector<std::uint32_t> targets;
  };

  void check_settings() {
    std::vector<std::string_view> known;
    known.reserve(book_.parameters.size());
    for (const RunbookParameter& parameter : book_.parameters) known.emplace_back(parameter.name);
    for (const auto& [name, value] : settings_) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      diagnostics_.error({}, fmt::format("runbook `{}` has no parameter {}", book_.name, in_backticks(name)),
                         did_you_mean(name, known));
    }
  }

  void fill(const RunbookParameter& parameter) {
    const auto given = settings_.find(parameter.name);
    const SourceLocation place = given == settings_.end() ? parameter.place : SourceLocation{};
    if (given == settings_.end() && !parameter.fallback) {
      diagnostics_.error({}, fmt::format("parameter `{}` is not set", parameter.name),
                         fmt::format("{}: --set {}=...", parameter.help, parameter.name));
      return;
    }
    Filled filled;
    filled.kind = parameter.kind;
    // Operator values are literal; only texts of the file have placeholders.
    filled.text = given != settings_.end() ? given->second : substitute(*parameter.fallback, place, false);
    if (const std::optional<std::string> problem = judge(parameter, filled))
      diagnostics_.error(place, fmt::format("parameter `{}`: {}", parameter.name, *problem));
    plan_.parameters.emplace_back(parameter.name, filled.text);
    filled_.emplace(parameter.name, std::move(filled));
  }

  std::optional<std::string> judge(const RunbookParameter& parameter, Filled& filled) {
    if (filled.text.size() > kLongestRunbookText || filled.text.find('\0') != std::string::npos)
      return "too long, or contains a NUL byte";
    if (is_hosts(parameter.kind)) return choose(parameter, filled);
    if (filled.text.empty()) return "empty";
    switch (parameter.kind) {
      case RunbookKind::number: {
        const Result<std::int64_t> number = parse_integer(filled.text);
        if (!number.ok() || *number < 0 || *number > 1'000'000) return "not a number between 0 and 1000000";
        break;
      }
      case RunbookKind::duration: {
        const Result<Duration> time = parse_duration(filled.text);
        if (!time.ok() || time->count() <= 0 || *time > milliseconds(7LL * 24 * 3'600'000))
          return "not a duration of at most 7d";
        break;
      }
      case RunbookKind::pattern: {
        const Result<RunbookPattern> pattern = RunbookPattern::make(filled.text);
        if (!pattern.ok()) return pattern.error().message;
        break;
      }
      default:
        break;
    }
    return std::nullopt;
  }

  std::optional<std::string> choose(const RunbookParameter& parameter, Filled& filled) {
    Result<std::vector<std::uint32_t>> chosen = hosts_.select(filled.text);
    if (!chosen.ok()) return chosen.error().message;
    filled.targets = std::move(chosen).value();
    if (parameter.kind != RunbookKind::hosts && filled.targets.size() != 1)
      return fmt::format("`{}` matches {} devices, not one", filled.text, filled.targets.size());
    if (parameter.kind == RunbookKind::network_switch &&
        hosts_.inventory().targets()[filled.targets.front()].role != Role::network_switch)
      return fmt::format("`{}` is not a switch", filled.text);
    filled.text = hosts_.fold(filled.targets);
    return std::nullopt;
  }

  // A placeholder's value; empty after an error, which is reported.
  std::string value_of(const std::string& whole, const SourceLocation& place) {
    const std::size_t dot = whole.find('.');
    const auto found = filled_.find(whole.substr(0, dot));
    if (found == filled_.end()) {
      diagnostics_.error(place, fmt::format("`{}` is not defined here", printable(whole, 60)),
                         "a default may use the parameters before it");
      return {};
    }
    if (dot == std::string::npos || found->second.targets.empty()) return found->second.text;
    const Result<std::string> address = hosts_.address(found->second.targets.front(), whole.substr(dot + 1));
    if (address.ok()) return *address;
    diagnostics_.error(place, address.error().message);
    return {};
  }

  std::string substitute(std::string_view text, const SourceLocation& place, bool in_pattern) {
    std::string out;
    for (;;) {
      const std::size_t at = text.find("{{");
      const std::size_t end = at == std::string_view::npos ? at : text.find("}}", at);
      if (end == std::string_view::npos) break;
      out += text.substr(0, at);
      const std::string whole(text.substr(at + 2, end - at - 2));
      const std::string value = value_of(whole, place);
      const auto found = filled_.find(whole);
      const bool is_pattern = found != filled_.end() && found->second.kind == RunbookKind::pattern;
      out += in_pattern && !is_pattern ? RunbookPattern::quote(value) : value;
      text.remove_prefix(end + 2);
    }
    return out += text;
  }

  std::vector<std::string> substitute_words(const std::vector<std::string>& words, const SourceLocation& place) {
    std::vector<std::string> out;
    out.reserve(words.size());
    for (const std::string& word : words) {
      out.push_back(substitute(word, place, false));
      // A value that turns a word into an option would change what the program does (ssh -oProxyCommand=...).
      if (word.starts_with("{{") && out.back().starts_with("-"))
        diagnostics_.error(place, fmt::format("{} would become an option of the command", in_backticks(out.back())));
      if (out.back().find('\0') != std::string::npos || (out.size() == 1 && out.back().empty()))
        diagnostics_.error(place, "the command has no program");
    }
    return out;
  }

  std::string pattern(const std::string& text, const SourceLocation& place) {
    if (text.empty()) return text;
    std::string made = substitute(text, place, true);
    if (const Result<RunbookPattern> compiled = RunbookPattern::make(made); !compiled.ok())
      diagnostics_.error(place, compiled.error().message);
    return made;
  }

  Duration time(const std::string& text, const SourceLocation& place) {
    if (text.empty()) return Duration(0);
    const Result<Duration> parsed = parse_duration(substitute(text, place, false));
    if (parsed.ok()) return *parsed;
    diagnostics_.error(place, parsed.error().message);
    return Duration(0);
  }

  std::vector<std::uint32_t> select(const std::string& expression, const SourceLocation& place) {
    Result<std::vector<std::uint32_t>> chosen = hosts_.select(substitute(expression, place, false));
    if (chosen.ok()) return std::move(chosen).value();
    diagnostics_.error(place, chosen.error().message);
    return {};
  }

  RescueAction resolve(const RunbookAction& action) {
    RescueAction out;
    out.kind = action.kind;
    out.verb = action.verb;
    if (!action.hosts.empty()) out.targets = select(action.hosts, action.place);
    out.hosts = hosts_.names(out.targets);
    if (action.kind == RunbookDo::console && out.targets.size() > 1)
      diagnostics_.error(action.place,
                         fmt::format("a console step needs exactly one host, not {}", out.targets.size()));
    if (action.kind == RunbookDo::restore || action.kind == RunbookDo::backup) only_switches(out.targets, action.place);
    out.words = substitute_words(action.words, action.place);
    out.over = action.over;
    out.text = substitute(action.text, action.place, false);
    out.until = pattern(action.until, action.place);
    out.time = time(action.time, action.place);
    out.from = version(action.from, action.place);
    return out;
  }

  std::string version(const std::string& from, const SourceLocation& place) {
    if (from.starts_with(kOfStep) || from.empty()) return from;
    std::string made = substitute(from, place, false);
    if (made.empty() || made.starts_with(kOfStep))
      diagnostics_.error(place, fmt::format("{} is not a version of a config", in_backticks(made)));
    return made;
  }

  void only_switches(const std::vector<std::uint32_t>& targets, const SourceLocation& place) {
    for (const std::uint32_t target : targets) {
      const Target& host = hosts_.inventory().targets()[target];
      if (host.role != Role::network_switch)
        return diagnostics_.error(place, fmt::format("{} is not a switch: it has no config to restore", host.name));
    }
  }

  RescueCheck resolve(const RunbookCheck& check) {
    RescueCheck out;
    out.kind = check.kind;
    if (!check.hosts.empty()) out.targets = select(check.hosts, check.place);
    out.hosts = hosts_.names(out.targets);
    out.at = check.at;
    if (!check.address.empty()) {
      out.addresses = {substitute(check.address, check.place, false)};
      out.hosts = out.addresses;
      if (out.addresses.front().empty() || out.addresses.front().starts_with("-"))
        diagnostics_.error(check.place, fmt::format("{} is not an address", in_backticks(out.addresses.front())));
    } else if (check.kind == RunbookSee::port || check.kind == RunbookSee::ping) {
      for (const std::uint32_t target : out.targets) add_address(target, check, out);
    }
    out.on = check.on;
    out.share = check.share;
    out.words = substitute_words(check.words, check.place);
    out.code = check.code;
    out.matches = pattern(check.matches, check.place);
    out.lacks = pattern(check.lacks, check.place);
    out.step = check.step;
    out.later = check.later;
    out.from = version(check.from, check.place);
    if (check.kind == RunbookSee::port) {
      const Result<std::int64_t> port = parse_integer(substitute(check.port, check.place, false));
      if (!port.ok() || *port < 1 || *port > 65535) {
        diagnostics_.error(check.place, "a port must be a number between 1 and 65535");
      } else {
        out.port = static_cast<std::uint16_t>(*port);
      }
    }
    out.time = time(check.time, check.place);
    out.least = check.least;
    out.most = check.most;
    return out;
  }

  void add_address(std::uint32_t target, const RunbookCheck& check, RescueCheck& out) {
    const Result<std::string> address = hosts_.address(target, check.at);
    if (address.ok()) {
      out.addresses.push_back(*address);
    } else {
      diagnostics_.error(check.place, address.error().message);
    }
  }

  std::vector<RescueCheck> resolve(const std::vector<RunbookCheck>& checks) {
    std::vector<RescueCheck> out;
    out.reserve(checks.size());
    for (const RunbookCheck& check : checks) out.push_back(resolve(check));
    return out;
  }

  RescueStep resolve(const RunbookStep& step) {
    RescueStep out;
    out.id = step.id;
    out.title = substitute(step.title, step.place, false);
    out.after = step.after;
    out.needs = resolve(step.needs);
    out.action = resolve(step.action);
    out.expect = resolve(step.expect);
    out.within = time(step.within, step.place);
    for (const RunbookBack& back : step.back) {
      RescueBack made;
      if (back.action) made.action = resolve(*back.action);
      made.tell = substitute(back.tell, step.place, false);
      out.back.push_back(std::move(made));
    }
    out.on_failure = step.on_failure;
    out.danger = step.danger;
    out.repeat_safe = step.repeat_safe;
    out.skip_if = resolve(step.skip_if);
    out.absent = out.action.needs_hosts() && out.action.targets.empty();
    return out;
  }

  void add_up() {
    std::set<std::uint32_t> hit;
    std::set<std::uint32_t> felt;
    Duration longest_back(0);
    for (const RescueStep& step : plan_.steps) {
      if (step.absent) continue;
      if (!step.needs.empty()) plan_.longest += kRescueNeedsLimit;
      plan_.longest += std::max(step.within, step.action.kind == RunbookDo::wait ? step.action.time : Duration(0));
      if (step.action.kind == RunbookDo::confirm) ++plan_.people;
      if (!step.back.empty())
        longest_back = std::max(longest_back, step.within * static_cast<std::int64_t>(step.back.size()));
      const bool takes = step.action.kind == RunbookDo::restore ||
                         (step.action.kind == RunbookDo::power && step.action.verb != RunbookPower::on);
      if (takes) hit.insert(step.action.targets.begin(), step.action.targets.end());
    }
    plan_.longest += longest_back;
    for (const std::uint32_t target : hit) {
      if (hosts_.inventory().targets()[target].role != Role::network_switch) continue;
      for (const std::uint32_t server : hosts_.behind(target)) felt.insert(server);
    }
    plan_.hit.assign(hit.begin(), hit.end());
    plan_.felt.assign(felt.begin(), felt.end());
    plan_.digest = digest();
  }

  static Value value_of(const RescueAction& action) {
    return Value::map()
        .set("do", std::string(to_text(action.kind)))
        .set("verb", std::string(to_text(action.verb)))
        .set("hosts", Value::texts(action.hosts))
        .set("words", Value::texts(action.words))
        .set("until", action.until)
        .set("time", action.time.count())
        .set("from", action.from)
        .set("text", action.text);
  }

  [[nodiscard]] std::string digest() const {
    Value steps = Value::list();
    for (const RescueStep& step : plan_.steps) {
      Value one = value_of(step.action);
      one.set("id", step.id).set("within", step.within.count());
      Value back = Value::list();
      for (const RescueBack& part : step.back) back.add(part.action ? value_of(*part.action) : Value(part.tell));
      one.set("back", std::move(back)).set("expect", describe(step.expect)).set("needs", describe(step.needs));
      steps.add(std::move(one));
    }
    return sha256(plan_.hash + "\n" + plan_.cluster + "\n" + write_json_line(steps));
  }

  const Runbook& book_;
  const RescueHosts& hosts_;
  const std::map<std::string, std::string>& settings_;
  Diagnostics& diagnostics_;
  std::map<std::string, Filled, std::less<>> filled_;
  RescuePlan plan_;
};

}  // namespace

bool RescueAction::needs_hosts() const {
  return kind == RunbookDo::power || kind == RunbookDo::console || kind == RunbookDo::backup ||
         kind == RunbookDo::restore || kind == RunbookDo::reach;
}

bool RescuePlan::refused() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const RescueFinding& finding) { return finding.severity == RescueSeverity::error; });
}

bool RescuePlan::dangerous() const {
  return std::any_of(steps.begin(), steps.end(), [](const RescueStep& step) { return step.danger && !step.absent; });
}

const RescueStep* RescuePlan::find(std::string_view id) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const RescueStep& step) { return step.id == id; });
  return found == steps.end() ? nullptr : &*found;
}

std::optional<RescuePlan> make_rescue_plan(const Runbook& book, const RescueHosts& hosts,
                                           const std::map<std::string, std::string>& settings,
                                           Diagnostics& diagnostics) {
  return RescuePlanner(book, hosts, settings, diagnostics).make();
}

}  // namespace weft::oob

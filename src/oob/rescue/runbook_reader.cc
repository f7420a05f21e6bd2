// Parses the actions and checks of a runbook; runbook_file.cc parses the file as a whole.
#include "oob/rescue/runbook_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/quantity.h"
#include "base/utf8.h"
#include "oob/rescue/runbook_pattern.h"

namespace weft::oob {

void RunbookReader::error(const SourceLocation& place, std::string message, std::string hint, std::size_t length) {
  diagnostics_.error(place, std::move(message), std::move(hint), length);
}

bool RunbookReader::mapping(const YamlNode& node, std::string_view what, const std::vector<std::string_view>& allowed) {
  if (node.kind != YamlNode::Kind::mapping) {
    error(node.place, fmt::format("{} is a mapping, not {}", what, describe_kind(node)));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    if (std::find(allowed.begin(), allowed.end(), entry.key) != allowed.end()) continue;
    std::string hint = did_you_mean(entry.key, allowed);
    if (hint.empty()) hint = fmt::format("{} has: {}", what, fmt::join(allowed, ", "));
    error(entry.key_place, fmt::format("unknown key {}", in_backticks(entry.key)), std::move(hint), entry.key.size());
  }
  return true;
}

std::string RunbookReader::text(const YamlNode& node, std::string_view what) {
  if (node.kind != YamlNode::Kind::scalar || node.scalar.empty()) {
    error(node.place, fmt::format("{} is a text, not {}", what,
                                  node.kind == YamlNode::Kind::scalar ? "an empty one" : describe_kind(node)));
    return {};
  }
  if (node.scalar.size() > kLongestRunbookText) {
    error(node.place, fmt::format("{} has at most {} bytes", what, kLongestRunbookText));
    return {};
  }
  if (node.scalar.find('\0') != std::string::npos) {
    error(node.place, fmt::format("{} holds a zero byte", what));
    return {};
  }
  placeholders(node, node.scalar);
  return node.scalar;
}

std::string RunbookReader::required_text(const YamlNode& map, std::string_view key, std::string_view what) {
  const YamlNode* node = map.find(key);
  if (node != nullptr) return text(*node, fmt::format("`{}`", key));
  error(map.place, fmt::format("{} needs `{}`", what, key));
  return {};
}

std::string RunbookReader::optional_text(const YamlNode& map, std::string_view key) {
  const YamlNode* node = map.find(key);
  return node == nullptr ? std::string() : text(*node, fmt::format("`{}`", key));
}

std::vector<std::string> RunbookReader::texts(const YamlNode& node, std::string_view what) {
  if (node.kind == YamlNode::Kind::scalar) return {text(node, what)};
  std::vector<std::string> all;
  if (node.kind != YamlNode::Kind::sequence) {
    error(node.place, fmt::format("{} is a list of texts, not {}", what, describe_kind(node)));
    return all;
  }
  if (node.items.size() > kMaxRunbookWords) {
    error(node.place, fmt::format("{} has at most {} items", what, kMaxRunbookWords));
    return all;
  }
  all.reserve(node.items.size());
  for (const YamlNode& item : node.items) all.push_back(text(item, what));
  return all;
}

std::vector<std::string> RunbookReader::words(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::sequence || node.items.empty()) {
    error(node.place, "a command is a list of words, the program first",
          "no shell reads it: [squeue, --noheader, --format=%A]");
    return {};
  }
  if (node.items.front().kind == YamlNode::Kind::scalar && node.items.front().scalar.starts_with("-"))
    error(node.items.front().place, "a program's name does not begin with a dash");
  return texts(node, "a command");
}

bool RunbookReader::truth(const YamlNode& node, std::string_view what) {
  const bool plain = node.kind == YamlNode::Kind::scalar && !node.quoted;
  if (plain && (node.scalar == "true" || node.scalar == "false")) return node.scalar == "true";
  error(node.place, fmt::format("{} is true or false", what));
  return false;
}

int RunbookReader::integer(const YamlNode& node, std::string_view what, int low, int high) {
  if (node.kind == YamlNode::Kind::scalar) {
    const Result<std::int64_t> number = parse_integer(node.scalar);
    if (number.ok() && *number >= low && *number <= high) return static_cast<int>(*number);
  }
  error(node.place, low == high ? fmt::format("{} is {}", what, low)
                                : fmt::format("{} is a whole number from {} to {}", what, low, high));
  return low;
}

std::string RunbookReader::duration(const YamlNode& node) {
  std::string value = text(node, "a time");
  if (value.empty() || value.starts_with("{{")) {
    const auto found = value.size() > 4 ? parameters_.find(value.substr(2, value.size() - 4)) : parameters_.end();
    if (!value.empty() && (found == parameters_.end() || found->second != RunbookKind::duration))
      error(node.place, fmt::format("{} is not a parameter of kind `duration`", in_backticks(value)), {}, value.size());
    return value;
  }
  const Result<Duration> parsed = parse_duration(value);
  // A week: longer than any real outage, and 10,000 of them fit in 64 bits.
  if (!parsed.ok() || parsed->count() <= 0 || *parsed > milliseconds(7LL * 24 * 3'600'000))
    error(node.place, fmt::format("{} is not a duration of at most 7d", in_backticks(value)), "such as 30s, 5m or 2h",
          value.size());
  return value;
}

std::string RunbookReader::pattern(const YamlNode& node) {
  std::string value = text(node, "a pattern");
  if (value.empty()) return value;
  // A pattern with parameters is checked when their values are known.
  if (value.find("{{") != std::string::npos) return value;
  if (const Result<RunbookPattern> made = RunbookPattern::make(value); !made.ok())
    error(node.place, made.error().message, {}, value.size());
  return value;
}

std::string RunbookReader::name(const YamlNode& node, std::string_view what) {
  const std::string& value = node.scalar;
  const bool good = node.kind == YamlNode::Kind::scalar && !value.empty() && value.size() <= 40 &&
                    std::islower(static_cast<unsigned char>(value.front())) != 0 &&
                    value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == std::string::npos;
  if (good) return value;
  error(node.place,
        fmt::format("{} has lower case letters, digits, - and _, begins with a letter and has at most 40", what));
  return {};
}

std::size_t RunbookReader::choice(const YamlNode& node, std::string_view what,
                                  const std::vector<std::string_view>& choices) {
  if (node.kind == YamlNode::Kind::scalar) {
    const auto found = std::find(choices.begin(), choices.end(), node.scalar);
    if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  }
  error(node.place, fmt::format("{} is one of: {}", what, fmt::join(choices, ", ")), did_you_mean(node.scalar, choices),
        std::max<std::size_t>(1, node.scalar.size()));
  return 0;
}

void RunbookReader::placeholders(const YamlNode& node, const std::string& value) {
  std::vector<std::string> names;
  if (const std::optional<std::string> problem = find_placeholders(value, names)) return error(node.place, *problem);
  for (const std::string& whole : names) {
    const std::size_t dot = whole.find('.');
    const std::string base = whole.substr(0, dot);
    const auto known = parameters_.find(base);
    if (known == parameters_.end()) {
      std::vector<std::string_view> candidates;
      candidates.reserve(parameters_.size());
      for (const auto& [key, kind] : parameters_) candidates.emplace_back(key);
      error(node.place, fmt::format("unknown parameter {}", in_backticks(base)), did_you_mean(base, candidates));
      continue;
    }
    if (dot == std::string::npos) continue;
    const std::string_view field = std::string_view(whole).substr(dot + 1);
    const bool single = known->second == RunbookKind::host || known->second == RunbookKind::network_switch;
    if (!single) {
      error(node.place, fmt::format("`{}` has no `{}`: it is not one host", base, printable(field, 40)));
    } else if (field != "oob" && field != "bmc" && field != "frontend") {
      error(node.place, fmt::format("a host has no `{}`", printable(field, 40)),
            "its addresses are oob, bmc and frontend");
    }
  }
}

std::string RunbookReader::earlier_step(const YamlNode& node, std::string_view what) {
  std::string id = node.kind == YamlNode::Kind::scalar ? node.scalar : std::string();
  if (steps_.contains(id)) return id;
  std::vector<std::string_view> candidates;
  candidates.reserve(steps_.size());
  for (const auto& [key, kind] : steps_) candidates.emplace_back(key);
  error(node.place, fmt::format("{}: no earlier step is named {}", what, in_backticks(id)),
        did_you_mean(id, candidates), std::max<std::size_t>(1, id.size()));
  return id;
}

RunbookAction RunbookReader::read_action(const YamlNode& node) {
  const std::vector<std::string_view> kinds = {"power",  "console", "run",   "wait", "confirm",
                                               "backup", "restore", "reach", "note"};
  RunbookAction action;
  action.place = node.place;
  if (!mapping(node, "an action", kinds)) return action;
  if (node.entries.size() != 1) {
    error(node.place, fmt::format("an action is exactly one of: {}", fmt::join(kinds, ", ")));
    return action;
  }
  const auto kind = std::find(kinds.begin(), kinds.end(), node.entries.front().key);
  if (kind == kinds.end()) return action;
  action.kind = static_cast<RunbookDo>(kind - kinds.begin());
  const YamlNode& value = node.entries.front().value;
  switch (action.kind) {
    case RunbookDo::power:
      read_power(value, action);
      break;
    case RunbookDo::console:
      read_console(value, action);
      break;
    case RunbookDo::run:
      read_run(value, action);
      break;
    case RunbookDo::wait:
      action.time = duration(value);
      break;
    case RunbookDo::restore:
      read_restore(value, action);
      break;
    case RunbookDo::backup:
    case RunbookDo::reach:
      action.hosts = hosts_of(value, to_text(action.kind));
      break;
    case RunbookDo::confirm:
    case RunbookDo::note:
      action.text = text(value, to_text(action.kind));
      break;
  }
  return action;
}

std::string RunbookReader::hosts_of(const YamlNode& value, std::string_view what) {
  if (value.kind == YamlNode::Kind::scalar) return text(value, "hosts");
  if (!mapping(value, fmt::format("`{}`", what), {"hosts"})) return {};
  return required_text(value, "hosts", fmt::format("`{}`", what));
}

void RunbookReader::read_power(const YamlNode& value, RunbookAction& action) {
  if (!mapping(value, "`power`", {"verb", "hosts"})) return;
  if (const YamlNode* verb = value.find("verb"); verb == nullptr) {
    error(value.place, "`power` needs `verb`", "on, off, cycle or reset");
  } else {
    action.verb = static_cast<RunbookPower>(choice(*verb, "`verb`", {"on", "off", "cycle", "reset"}));
  }
  action.hosts = required_text(value, "hosts", "`power`");
}

void RunbookReader::read_console(const YamlNode& value, RunbookAction& action) {
  if (!mapping(value, "`console`", {"host", "for", "until"})) return;
  action.hosts = required_text(value, "host", "`console`");
  if (const YamlNode* time = value.find("for"); time == nullptr) {
    error(value.place, "`console` needs `for`: how long it listens at most");
  } else {
    action.time = duration(*time);
  }
  if (const YamlNode* until = value.find("until")) action.until = pattern(*until);
}

void RunbookReader::read_run(const YamlNode& value, RunbookAction& action) {
  if (value.kind != YamlNode::Kind::mapping) {
    action.words = words(value);
    return;
  }
  if (!mapping(value, "`run`", {"words", "over"})) return;
  if (const YamlNode* list = value.find("words"); list == nullptr) {
    error(value.place, "`run` needs `words`");
  } else {
    action.words = words(*list);
  }
  if (const YamlNode* over = value.find("over")) {
    const std::vector<std::string_view> fabrics = {"oob", "frontend", "storage", "backend"};
    action.over = fabrics[choice(*over, "`over`", fabrics)];
  }
}

void RunbookReader::read_restore(const YamlNode& value, RunbookAction& action) {
  if (!mapping(value, "`restore`", {"hosts", "from"})) return;
  action.hosts = required_text(value, "hosts", "`restore`");
  action.from = backup_named(value, "`restore`");
}

std::string RunbookReader::backup_named(const YamlNode& map, std::string_view what) {
  const YamlNode* from = map.find("from");
  if (from == nullptr) {
    error(map.place, fmt::format("{} needs `from`", what),
          "good, latest, before, a parameter, or an earlier step that does `backup`");
    return {};
  }
  const bool scalar = from->kind == YamlNode::Kind::scalar;
  if (scalar && (from->scalar == "good" || from->scalar == "latest" || from->scalar == "before")) return from->scalar;
  if (scalar && from->scalar.starts_with("{{")) return text(*from, "`from`");
  const std::string id = earlier_step(*from, "`from`");
  const auto step = steps_.find(id);
  if (step != steps_.end() && step->second != RunbookDo::backup)
    error(from->place, fmt::format("step `{}` makes no backup", id), {}, id.size());
  return std::string(kOfStep) + id;
}

std::vector<RunbookCheck> RunbookReader::read_checks(const YamlNode& node, std::string_view what) {
  std::vector<RunbookCheck> checks;
  if (node.kind == YamlNode::Kind::mapping) {
    checks.push_back(read_check(node));
    return checks;
  }
  if (node.kind != YamlNode::Kind::sequence || node.items.empty() || node.items.size() > kMaxRunbookWords) {
    error(node.place, fmt::format("{} is a list of 1 to {} checks", what, kMaxRunbookWords));
    return checks;
  }
  checks.reserve(node.items.size());
  for (const YamlNode& item : node.items) checks.push_back(read_check(item));
  return checks;
}

RunbookCheck RunbookReader::read_check(const YamlNode& node) {
  const std::vector<std::string_view> kinds = {"power", "reachable", "command",    "console", "port",
                                               "ping",  "since",     "lines_kept", "config"};
  RunbookCheck check;
  check.place = node.place;
  if (!mapping(node, "a check", kinds)) return check;
  if (node.entries.size() != 1) {
    error(node.place, fmt::format("a check is exactly one of: {}", fmt::join(kinds, ", ")));
    return check;
  }
  const auto kind = std::find(kinds.begin(), kinds.end(), node.entries.front().key);
  if (kind == kinds.end()) return check;
  check.kind = static_cast<RunbookSee>(kind - kinds.begin());
  const YamlNode& value = node.entries.front().value;
  switch (check.kind) {
    case RunbookSee::power:
    case RunbookSee::reachable:
    case RunbookSee::config:
      read_hosts_check(value, check);
      break;
    case RunbookSee::command:
      read_command(value, check);
      break;
    case RunbookSee::console:
      read_console_check(value, check);
      break;
    case RunbookSee::port:
    case RunbookSee::ping:
      read_port(value, check);
      break;
    case RunbookSee::since:
    case RunbookSee::lines_kept:
      read_step_check(value, check);
      break;
  }
  return check;
}

void RunbookReader::read_hosts_check(const YamlNode& value, RunbookCheck& check) {
  const bool power = check.kind == RunbookSee::power;
  const bool config = check.kind == RunbookSee::config;
  if (value.kind == YamlNode::Kind::scalar && !power && !config) {
    check.hosts = text(value, "hosts");
    return;
  }
  const std::string what = fmt::format("`{}`", to_text(check.kind));
  std::vector<std::string_view> keys = {"hosts", "share"};
  if (power) keys.emplace_back("state");
  if (config) keys.emplace_back("from");
  if (!mapping(value, what, keys)) return;
  check.hosts = required_text(value, "hosts", what);
  if (const YamlNode* share = value.find("share")) check.share = integer(*share, "`share` (percent)", 1, 100);
  if (config) check.from = backup_named(value, what);
  if (!power) return;
  if (const YamlNode* state = value.find("state"); state == nullptr) {
    error(value.place, "`power` needs `state`", "on or off");
  } else {
    check.on = choice(*state, "`state`", {"on", "off"}) == 0;
  }
}

void RunbookReader::read_command(const YamlNode& value, RunbookCheck& check) {
  if (!mapping(value, "`command`", {"run", "exit", "matches", "lacks"})) return;
  if (const YamlNode* list = value.find("run"); list == nullptr) {
    error(value.place, "`command` needs `run`");
  } else {
    check.words = words(*list);
  }
  if (const YamlNode* code = value.find("exit")) {
    const bool any = code->kind == YamlNode::Kind::scalar && code->scalar == "any";
    check.code = any ? kAnyExit : integer(*code, "`exit` (or `any`)", 0, 255);
  }
  if (const YamlNode* matches = value.find("matches")) check.matches = pattern(*matches);
  if (const YamlNode* lacks = value.find("lacks")) check.lacks = pattern(*lacks);
}

void RunbookReader::read_console_check(const YamlNode& value, RunbookCheck& check) {
  if (!mapping(value, "`console`", {"step", "text", "at_least", "at_most"})) return;
  if (const YamlNode* step = value.find("step")) check.step = earlier_step(*step, "`console`");
  if (check.step.empty()) check.step = current_;  // its own capture
  if (const YamlNode* wanted = value.find("text"); wanted == nullptr) {
    error(value.place, "`console` needs `text`: a pattern");
  } else {
    check.matches = pattern(*wanted);
  }
  if (const YamlNode* least = value.find("at_least")) check.least = integer(*least, "`at_least`", 0, 1'000'000);
  if (const YamlNode* most = value.find("at_most")) check.most = integer(*most, "`at_most`", 0, 1'000'000);
  if (check.most >= 0 && value.find("at_least") == nullptr) check.least = 0;
  if (check.most >= 0 && check.most < check.least) error(value.place, "`at_most` is below `at_least`");
}

void RunbookReader::read_port(const YamlNode& value, RunbookCheck& check) {
  const bool port = check.kind == RunbookSee::port;
  const std::string what = fmt::format("`{}`", to_text(check.kind));
  if (!mapping(value, what,
               port ? std::vector<std::string_view>{"hosts", "address", "at", "port", "share"}
                    : std::vector<std::string_view>{"hosts", "address", "at", "share"}))
    return;
  check.hosts = optional_text(value, "hosts");
  check.address = optional_text(value, "address");
  if (check.hosts.empty() == check.address.empty()) error(value.place, what + " has either `hosts` or `address`");
  if (const YamlNode* at = value.find("at")) {
    const std::vector<std::string_view> places = {"oob", "bmc", "frontend"};
    check.at = places[choice(*at, "`at`", places)];
    if (!check.address.empty()) error(at->place, "`at` goes with `hosts`");
  } else if (check.address.empty()) {
    error(value.place, what + " needs `at`: which address of the hosts", "oob, bmc or frontend");
  }
  if (const YamlNode* share = value.find("share")) check.share = integer(*share, "`share` (percent)", 1, 100);
  if (!port) return;
  const YamlNode* number = value.find("port");
  if (number == nullptr) return error(value.place, "`port` needs `port`: a number");
  check.port = text(*number, "a port");
  if (check.port.find("{{") == std::string::npos) (void)integer(*number, "a port", 1, 65535);
}

void RunbookReader::read_step_check(const YamlNode& value, RunbookCheck& check) {
  const bool since = check.kind == RunbookSee::since;
  if (!mapping(value, fmt::format("`{}`", to_text(check.kind)),
               since ? std::vector<std::string_view>{"step", "at_least"} : std::vector<std::string_view>{"from", "in"}))
    return;
  const YamlNode* first = value.find(since ? "step" : "from");
  const YamlNode* second = value.find(since ? "at_least" : "in");
  if (first == nullptr || (second == nullptr && since))
    return error(value.place,
                 since ? "`since` needs `step` and `at_least`" : "`lines_kept` needs `from`: an earlier step");
  check.step = earlier_step(*first, fmt::format("`{}`", to_text(check.kind)));
  if (since) {
    check.time = duration(*second);
  } else {
    check.later = second == nullptr || second->scalar == current_ ? current_ : earlier_step(*second, "`in`");
  }
}

}  // namespace weft::oob

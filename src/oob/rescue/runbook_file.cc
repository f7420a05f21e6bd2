#include "oob/rescue/runbook_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/utf8.h"
#include "oob/rescue/runbook_reader.h"

namespace weft::oob {
namespace {

// Reserved words of `weft rescue`.
constexpr std::array<std::string_view, 5> kReserved = {"list", "show", "plan", "run", "resume"};

}  // namespace

const RunbookStep* Runbook::find(std::string_view id) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const RunbookStep& step) { return step.id == id; });
  return found == steps.end() ? nullptr : &*found;
}

void RunbookReader::read(const YamlNode& root, Runbook& book) {
  if (root.kind == YamlNode::Kind::null)
    return error(root.place, "the file is empty", "it starts with `weft_runbook: 1`");
  if (!mapping(root, "a runbook", {"weft_runbook", "name", "title", "when", "assume_down", "parameters", "steps"}))
    return;
  if (const YamlNode* version = root.find("weft_runbook"); version == nullptr) {
    error(root.place, "`weft_runbook` is missing", "the file starts with `weft_runbook: 1`");
  } else {
    (void)integer(*version, "the version", 1, 1);
  }
  if (const YamlNode* node = root.find("name"); node == nullptr) {
    error(root.place, "`name` is missing");
  } else {
    book.name = name(*node, "a runbook's name");
    if (std::find(kReserved.begin(), kReserved.end(), book.name) != kReserved.end())
      error(node->place, fmt::format("a runbook cannot be called `{}`", book.name),
            "`weft rescue` has that word already", book.name.size());
  }
  book.title = required_text(root, "title", "a runbook");
  if (const YamlNode* when = root.find("when")) book.when = texts(*when, "`when`");
  if (const YamlNode* node = root.find("parameters")) read_parameters(*node, book);
  if (const YamlNode* down = root.find("assume_down")) book.assume_down = texts(*down, "`assume_down`");
  const YamlNode* steps = root.find("steps");
  if (steps == nullptr) return error(root.place, "`steps` is missing");
  read_steps(*steps, book);
}

void RunbookReader::read_parameters(const YamlNode& node, Runbook& book) {
  if (node.kind != YamlNode::Kind::sequence)
    return error(node.place, fmt::format("`parameters` is a list, not {}", describe_kind(node)));
  for (const YamlNode& item : node.items) read_parameter(item, book);
}

void RunbookReader::read_parameter(const YamlNode& node, Runbook& book) {
  if (!mapping(node, "a parameter", {"name", "help", "kind", "default"})) return;
  RunbookParameter parameter;
  parameter.place = node.place;
  if (const YamlNode* given = node.find("name"); given == nullptr) {
    error(node.place, "a parameter needs a `name`");
  } else {
    parameter.name = name(*given, "a parameter's name");
  }
  parameter.help = required_text(node, "help", "a parameter");
  if (const YamlNode* kind = node.find("kind"); kind == nullptr) {
    error(node.place, "a parameter needs a `kind`", "host, hosts, switch, text, number, duration or pattern");
  } else {
    parameter.kind = static_cast<RunbookKind>(
        choice(*kind, "a kind", {"host", "hosts", "switch", "text", "number", "duration", "pattern"}));
  }
  if (const YamlNode* fallback = node.find("default")) {
    const bool is_pattern = parameter.kind == RunbookKind::pattern;
    parameter.fallback = is_pattern                                ? pattern(*fallback)
                         : parameter.kind == RunbookKind::duration ? duration(*fallback)
                                                                   : text(*fallback, "a default");
    if (parameter.kind == RunbookKind::number) (void)integer(*fallback, "a default", 0, 1'000'000);
  }
  if (parameters_.contains(parameter.name))
    error(node.place, fmt::format("there are two parameters `{}`", parameter.name));
  if (book.parameters.size() >= kMaxRunbookWords)
    return error(node.place, fmt::format("a runbook has at most {} parameters", kMaxRunbookWords));
  parameters_.emplace(parameter.name, parameter.kind);
  book.parameters.push_back(std::move(parameter));
}

void RunbookReader::read_steps(const YamlNode& node, Runbook& book) {
  if (node.kind != YamlNode::Kind::sequence || node.items.empty())
    return error(node.place,
                 fmt::format("`steps` is a list of steps, not {}",
                             node.items.empty() && node.kind == YamlNode::Kind::sequence ? "an empty one"
                                                                                         : describe_kind(node)));
  if (node.items.size() > kMaxRunbookSteps)
    return error(node.place, fmt::format("a runbook has at most {} steps", kMaxRunbookSteps));
  for (const YamlNode& item : node.items) read_step(item, book);
}

void RunbookReader::read_step(const YamlNode& node, Runbook& book) {
  if (!mapping(
          node, "a step",
          {"id", "title", "needs", "do", "expect", "within", "back", "on_failure", "danger", "skip_if", "repeat_safe"}))
    return;
  RunbookStep step;
  step.place = node.place;
  if (const YamlNode* id = node.find("id"); id == nullptr) {
    error(node.place, "a step needs an `id`");
  } else {
    step.id = name(*id, "a step's id");
    if (steps_.contains(step.id))
      error(id->place, fmt::format("there are two steps `{}`", step.id), {}, step.id.size());
  }
  current_ = step.id;
  step.title = required_text(node, "title", "a step");
  if (const YamlNode* needs = node.find("needs")) read_needs(*needs, step);
  if (const YamlNode* action = node.find("do"); action == nullptr) {
    error(node.place, "a step needs a `do`", "a step that only looks does `note`");
  } else {
    step.action = read_action(*action);
  }
  if (const YamlNode* expect = node.find("expect")) step.expect = read_checks(*expect, "`expect`");
  if (const YamlNode* skip = node.find("skip_if")) step.skip_if = read_checks(*skip, "`skip_if`");
  if (const YamlNode* within = node.find("within")) step.within = duration(*within);
  if (const YamlNode* back = node.find("back")) read_back(*back, step);
  if (const YamlNode* policy = node.find("on_failure"))
    step.on_failure =
        static_cast<RunbookOnFailure>(choice(*policy, "`on_failure`", {"stop", "continue", "back", "ask"}));
  judge_danger(node, step);
  judge_limits(node, step);
  judge_references(step);
  steps_.emplace(step.id, step.action.kind);
  book.steps.push_back(std::move(step));
}

void RunbookReader::read_needs(const YamlNode& node, RunbookStep& step) {
  if (node.kind != YamlNode::Kind::sequence)
    return error(node.place, fmt::format("`needs` is a list of steps and checks, not {}", describe_kind(node)));
  for (const YamlNode& item : node.items) {
    if (step.after.size() + step.needs.size() >= kMaxRunbookSteps)
      return error(item.place, fmt::format("a step needs at most {} things", kMaxRunbookSteps));
    if (item.kind == YamlNode::Kind::scalar) {
      step.after.push_back(earlier_step(item, "`needs`"));
    } else {
      step.needs.push_back(read_check(item));
    }
  }
}

void RunbookReader::read_back(const YamlNode& node, RunbookStep& step) {
  const auto add = [&](const YamlNode& item) {
    RunbookBack back;
    if (item.kind == YamlNode::Kind::scalar) {
      back.tell = text(item, "`back`");
    } else {
      back.action = read_action(item);
      const bool twice = back.action->kind == RunbookDo::power &&
                         (back.action->verb == RunbookPower::cycle || back.action->verb == RunbookPower::reset);
      const bool waits = back.action->kind == RunbookDo::confirm || back.action->kind == RunbookDo::console;
      if (twice) error(item.place, "a way back is safe to repeat: power off and on, not cycle or reset");
      if (waits) error(item.place, fmt::format("`{}` cannot be used as a rollback", to_text(back.action->kind)));
    }
    step.back.push_back(std::move(back));
  };
  if (node.kind != YamlNode::Kind::sequence) return add(node);
  if (node.items.size() > kMaxRunbookWords)
    return error(node.place, fmt::format("a way back has at most {} parts", kMaxRunbookWords));
  for (const YamlNode& item : node.items) add(item);
}

// Powering off and replacing configs are always dangerous. A cycle or reset is never safe to repeat; a restore or a
// dangerous command is only if the file says so.
void RunbookReader::judge_danger(const YamlNode& node, RunbookStep& step) {
  const RunbookAction& action = step.action;
  const bool interrupts = action.kind == RunbookDo::power && action.verb != RunbookPower::on;
  const bool once =
      action.kind == RunbookDo::power && (action.verb == RunbookPower::cycle || action.verb == RunbookPower::reset);
  step.danger = interrupts || action.kind == RunbookDo::restore;
  if (const YamlNode* danger = node.find("danger")) {
    const bool said = truth(*danger, "`danger`");
    if (!said && step.danger) error(danger->place, fmt::format("`{}` is dangerous", to_text(action.kind)));
    step.danger = step.danger || said;
  }
  step.repeat_safe = !once && action.kind != RunbookDo::restore && (action.kind != RunbookDo::run || !step.danger);
  if (const YamlNode* repeat = node.find("repeat_safe")) {
    const bool said = truth(*repeat, "`repeat_safe`");
    if (said && once)
      error(repeat->place, fmt::format("a power {} is never safe to repeat", to_text(action.verb)),
            "`off`, then `on`, in two steps is");
    step.repeat_safe = said && !once;
  }
}

void RunbookReader::judge_limits(const YamlNode& node, const RunbookStep& step) {
  const RunbookDo kind = step.action.kind;
  const bool timeless = kind == RunbookDo::note || kind == RunbookDo::confirm || kind == RunbookDo::wait;
  if (step.within.empty() && (!timeless || !step.expect.empty()))
    error(node.place, fmt::format("step `{}` needs a time limit: `within`", step.id), "such as `within: 5m`");
  if (step.on_failure == RunbookOnFailure::back && step.back.empty())
    error(node.place, fmt::format("step `{}` goes back on failure, but has no `back`", step.id));
  if (!step.repeat_safe && step.expect.empty())
    error(node.place, fmt::format("step `{}` needs evidence: `expect`", step.id),
          "after a crash only it shows whether the step was done");
  if (step.danger && step.back.empty())
    error(node.place, fmt::format("step `{}` is dangerous and needs a way `back`", step.id),
          "give an action, or a sentence for the operator");
}

// The output that a check reads must be written by the step that it names.
void RunbookReader::judge_references(const RunbookStep& step) {
  const auto kind_of = [&](const std::string& id) {
    const auto known = steps_.find(id);
    return known == steps_.end() ? step.action.kind : known->second;
  };
  for (const std::vector<RunbookCheck>* checks : {&step.needs, &step.expect, &step.skip_if}) {
    for (const RunbookCheck& check : *checks) {
      const bool own = check.step == step.id || check.later == step.id;
      if (own && checks != &step.expect) error(check.place, "only `expect` can look at what the step itself brings");
      if (check.kind == RunbookSee::console && kind_of(check.step) != RunbookDo::console)
        error(check.place, fmt::format("step `{}` captures no console", check.step));
      if (check.kind != RunbookSee::lines_kept) continue;
      for (const std::string& id : {check.step, check.later}) {
        if (kind_of(id) != RunbookDo::run) error(check.place, fmt::format("step `{}` runs no command", id));
      }
    }
  }
}

std::optional<Runbook> read_runbook(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.error_count();
  // 1 MiB and 50,000 nodes: 200 steps of the most detailed kind need a tenth of it.
  const std::optional<YamlNode> root =
      parse_yaml(sources, file, diagnostics, {.bytes = 1U << 20U, .nodes = 50'000, .depth = 16});
  if (!root) return std::nullopt;
  Runbook book;
  RunbookReader(diagnostics).read(*root, book);
  if (diagnostics.error_count() != before) return std::nullopt;
  book.hash = sha256(sources.text(file));
  return book;
}

std::optional<std::string> find_placeholders(std::string_view text, std::vector<std::string>& names) {
  std::size_t at = 0;
  while ((at = text.find("{{", at)) != std::string_view::npos) {
    const std::size_t end = text.find("}}", at + 2);
    if (end == std::string_view::npos) return "`{{` without `}}`";
    names.emplace_back(text.substr(at + 2, end - at - 2));
    at = end + 2;
  }
  return std::nullopt;
}

std::string_view to_text(RunbookKind kind) {
  constexpr std::array<std::string_view, 7> kWords = {"host",   "hosts",    "switch", "text",
                                                      "number", "duration", "pattern"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view to_text(RunbookDo kind) {
  constexpr std::array<std::string_view, 9> kWords = {"power",  "console", "run",   "wait", "confirm",
                                                      "backup", "restore", "reach", "note"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view to_text(RunbookPower verb) {
  constexpr std::array<std::string_view, 4> kWords = {"on", "off", "cycle", "reset"};
  return kWords[static_cast<std::size_t>(verb)];
}

std::string_view to_text(RunbookSee kind) {
  constexpr std::array<std::string_view, 9> kWords = {"power", "reachable", "command",    "console", "port",
                                                      "ping",  "since",     "lines_kept", "config"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view to_text(RunbookOnFailure policy) {
  constexpr std::array<std::string_view, 4> kWords = {"stop", "continue", "back", "ask"};
  return kWords[static_cast<std::size_t>(policy)];
}

}  // namespace weft::oob

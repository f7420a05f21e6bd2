#include "oob/rescue/runbook_file.h"

#include <gmock/gmock.h>

#include "oob/rescue/runbook_store.h"

namespace weft::oob {
namespace {

using testing::HasSubstr;

// A runbook with every action and every check.
constexpr const char* kWhole = R"(weft_runbook: 1
name: whole
title: Everything at once
when: [a symptom]
assume_down: [backend, "{{tor}}"]
parameters:
  - {name: tor, kind: switch, help: a switch}
  - {name: all, kind: hosts, help: hosts, default: gpu servers}
  - {name: user, kind: text, help: a user, default: admin}
  - {name: port, kind: number, help: a port, default: 22}
  - {name: limit, kind: duration, help: a time, default: 5m}
  - {name: prompt, kind: pattern, help: a pattern, default: "login:"}
steps:
  - id: look
    title: Look
    do: {reach: "{{all}}"}
    expect: {reachable: {hosts: "{{all}}", share: 90}}
    within: 1m
  - id: listen
    title: Listen
    needs: [look]
    do: {console: {host: "{{tor}}", for: 30s, until: "{{prompt}}"}}
    expect: {console: {text: "{{prompt}}", at_least: 1, at_most: 3}}
    within: "{{limit}}"
    on_failure: continue
  - id: keep
    title: Keep
    do: {backup: "{{tor}}"}
    within: 2m
  - id: put
    title: Put back
    needs: [keep]
    do: {restore: {hosts: "{{tor}}", from: keep}}
    expect: {config: {hosts: "{{tor}}", from: keep}}
    within: 5m
    back: [{restore: {hosts: "{{tor}}", from: good}}, "by hand"]
    on_failure: back
  - id: before
    title: Before
    do: {run: [squeue, -h, "--format=%A"]}
    within: 1m
  - id: cycle
    title: Cycle
    needs: [listen, {power: {hosts: "{{tor}}", state: on}}, {since: {step: listen, at_least: 10s}}]
    skip_if: {port: {hosts: "{{tor}}", at: oob, port: "{{port}}"}}
    do: {power: {verb: cycle, hosts: "{{tor}}"}}
    danger: true
    expect:
      - {ping: {hosts: "{{tor}}", at: oob}}
      - {command: {run: [ssh, "{{user}}@{{tor.oob}}", uptime], exit: 0, matches: "up", lacks: "down"}}
    within: 10m
    on_failure: ask
    back: go there
  - id: rest
    title: Rest
    do: {wait: 30s}
  - id: person
    title: Person
    do: {confirm: "look at {{tor}}"}
  - id: after
    title: After
    do: {run: {words: [squeue, -h], over: frontend}}
    expect: {lines_kept: {from: before}}
    within: 1m
)";

std::string errors_of(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<Runbook> book = read_runbook(sources, sources.add("mine.yaml", text), diagnostics);
  EXPECT_EQ(book.has_value(), !diagnostics.has_errors()) << text;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) {
    EXPECT_TRUE(diagnostic.place.known()) << diagnostic.message;
    EXPECT_GT(diagnostic.place.line, 0U) << diagnostic.message;
    EXPECT_FALSE(diagnostic.message.empty());
  }
  return render_all(diagnostics, sources, false);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(RunbookFile, ParsesEveryActionAndCheck) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<Runbook> book = read_runbook(sources, sources.add("mine.yaml", kWhole), diagnostics);
  ASSERT_TRUE(book.has_value()) << render_all(diagnostics, sources, false);
  EXPECT_EQ(book->name, "whole");
  EXPECT_EQ(book->hash.size(), 64U);
  EXPECT_EQ(book->parameters.size(), 6U);
  EXPECT_EQ(book->steps.size(), 9U);
  const RunbookStep& cycle = *book->find("cycle");
  EXPECT_TRUE(cycle.danger);
  EXPECT_FALSE(cycle.repeat_safe);
  EXPECT_EQ(cycle.after, std::vector<std::string>{"listen"});
  EXPECT_EQ(cycle.needs.size(), 2U);
  EXPECT_EQ(cycle.expect[1].words[1], "{{user}}@{{tor.oob}}");
  EXPECT_EQ(book->find("put")->action.from, "step:keep");
  EXPECT_TRUE(book->find("put")->danger);  // implied by the action
  EXPECT_TRUE(book->find("before")->repeat_safe);
  EXPECT_EQ(book->find("after")->expect[0].later, "after");
}

TEST(RunbookFile, FiveRunbooksAreShipped) {
  EXPECT_EQ(runbook_names(), (std::vector<std::string>{"bad-config-push", "cold-start", "pfc-storm", "scheduler-dead",
                                                       "tor-boot-loop"}));
  for (const std::string& name : runbook_names()) {
    Sources sources;
    Diagnostics diagnostics;
    const Result<Runbook> book = open_runbook(name, sources, diagnostics);
    ASSERT_TRUE(book.ok()) << render_all(diagnostics, sources, false);
    EXPECT_EQ(book->name, name);
    EXPECT_FALSE(book->when.empty());
    for (const RunbookStep& step : book->steps) {
      EXPECT_TRUE(!step.danger || !step.back.empty()) << name << " " << step.id;
    }
  }
  Sources sources;
  Diagnostics diagnostics;
  const Result<Runbook> none = open_runbook("pfc-strom", sources, diagnostics);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("did you mean `pfc-storm`?"));
  const Result<Runbook> unlike = open_runbook("x", sources, diagnostics);
  ASSERT_FALSE(unlike.ok());
  for (const std::string& name : runbook_names()) EXPECT_THAT(unlike.error().message, HasSubstr(name));
}

struct Mutation {
  const char* from;
  const char* to;
  const char* message;
};

// Common mistakes and their messages.
TEST(RunbookFile, ReportsMistakesWithTheirLocation) {
  const std::vector<Mutation> mutations = {
      {"weft_runbook: 1\n", "", "`weft_runbook` is missing"},
      {"weft_runbook: 1", "weft_runbook: 2", "the version is 1"},
      {"name: whole", "name: Whole", "a runbook's name has lower case letters"},
      {"name: whole", "name: plan", "a runbook cannot be called `plan`"},
      {"name: whole\n", "", "`name` is missing"},
      {"title: Everything at once\n", "", "a runbook needs `title`"},
      {"title: Everything", "titel: Everything", "did you mean `title`?"},
      {"when: [a symptom]", "when: {a: b}", "`when` is a list of texts"},
      {"\"{{tor}}\"]\nparameters", "\"{{tro}}\"]\nparameters", "unknown parameter `tro`"},
      {"kind: switch", "kind: swich", "did you mean `switch`?"},
      {"kind: switch, ", "", "a parameter needs a `kind`"},
      {"kind: hosts, help: hosts", "kind: hosts", "a parameter needs `help`"},
      {"name: all, kind", "name: tor, kind", "there are two parameters `tor`"},
      {"default: 22", "default: ssh", "a default is a whole number"},
      {"default: 5m", "default: 5 minutes", "is not a duration of at most 7d"},
      {"default: 5m", "default: 10d", "is not a duration of at most 7d"},
      {"default: \"login:\"", "default: \"log(in\"", "not a pattern"},
      {"default: \"login:\"", "default: \"(a)\\\\1\"", "back-references"},
      {"id: look", "id: 9look", "a step's id has lower case letters"},
      {"id: listen", "id: look", "there are two steps `look`"},
      {"  - id: look\n    title: Look\n", "  - title: Look\n", "a step needs an `id`"},
      {"    title: Listen\n", "", "a step needs `title`"},
      {"    do: {backup: \"{{tor}}\"}\n", "", "a step needs a `do`"},
      {"do: {backup: \"{{tor}}\"}", "do: {backup: \"{{tor}}\", wait: 1s}", "an action is exactly one of"},
      {"do: {backup: \"{{tor}}\"}", "do: {bakup: \"{{tor}}\"}", "did you mean `backup`?"},
      {"do: {backup: \"{{tor}}\"}", "do: backup", "an action is a mapping"},
      {"do: {backup: \"{{tor}}\"}", "do: {}", "an action is exactly one of"},
      {"do: {backup: \"{{tor}}\"}", "do: {backup: [a]}", "`backup` is a mapping"},
      {"needs: [look]", "needs: [lok]", "did you mean `look`?"},
      {"needs: [look]", "needs: look", "`needs` is a list"},
      {"needs: [look]", "needs: [cycle]", "no earlier step is named `cycle`"},
      {"for: 30s", "for: 30", "is not a duration"},
      {"for: 30s, ", "", "`console` needs `for`"},
      {"host: \"{{tor}}\", for", "hosts: \"{{tor}}\", for", "did you mean `host`?"},
      {"within: 1m\n  - id: listen", "\n  - id: listen", "needs a time limit"},
      {"within: 1m\n  - id: listen", "within: -1m\n  - id: listen", "is not a duration"},
      {"within: \"{{limit}}\"", "within: \"{{user}}\"", "is not a parameter of kind `duration`"},
      {"within: \"{{limit}}\"", "within: \"{{limit\"", "`{{` without `}}`"},
      {"on_failure: continue", "on_failure: contine", "did you mean `continue`?"},
      {"on_failure: continue", "on_failure: back", "goes back on failure, but has no `back`"},
      {"share: 90", "share: 101", "whole number from 1 to 100"},
      {"share: 90", "shar: 90", "did you mean `share`?"},
      {"expect: {reachable: {hosts", "expect: {reachabel: {hosts", "did you mean `reachable`?"},
      {"expect: {reachable: {hosts", "expect: {power: {hosts", "`power` needs `state`"},
      {"at_most: 3", "at_most: 0", "`at_most` is below `at_least`"},
      {"text: \"{{prompt}}\", ", "", "`console` needs `text`"},
      {"{console: {text: \"{{prompt}}\"", "{console: {step: look, text: \"{{prompt}}\"", "captures no console"},
      {"from: keep}}\n    expect", "from: look}}\n    expect", "step `look` makes no backup"},
      {"from: keep}}\n    expect", "from: never}}\n    expect", "no earlier step is named `never`"},
      {", from: keep}}\n    expect", "}}\n    expect", "`restore` needs `from`"},
      {"{config: {hosts: \"{{tor}}\", from: keep}}", "{config: {hosts: \"{{tor}}\"}}", "`config` needs `from`"},
      {"    expect: {config: {hosts: \"{{tor}}\", from: keep}}\n", "", "needs evidence: `expect`"},
      {"back: [{restore: {hosts: \"{{tor}}\", from: good}}, \"by hand\"]\n    on_failure: back", "on_failure: stop",
       "is dangerous and needs a way `back`"},
      {"back: [{restore: {hosts: \"{{tor}}\", from: good}}", "back: [{power: {verb: cycle, hosts: \"{{tor}}\"}}",
       "a way back is safe to repeat"},
      {"back: [{restore: {hosts: \"{{tor}}\", from: good}}", "back: [{confirm: look}",
       "`confirm` cannot be used as a rollback"},
      {"run: [squeue, -h, \"--format=%A\"]", "run: squeue -h", "a command is a list of words"},
      {"run: [squeue, -h, \"--format=%A\"]", "run: []", "a command is a list of words"},
      {"run: [squeue, -h, \"--format=%A\"]", "run: [-h]", "does not begin with a dash"},
      {"run: [squeue, -h, \"--format=%A\"]", "run: [squeue, {a: b}]", "a command is a text"},
      {"run: [squeue, -h, \"--format=%A\"]", "run: [squeue, \"\"]", "a command is a text"},
      {"run: [squeue, -h, \"--format=%A\"]", "run: {over: frontend}", "`run` needs `words`"},
      {"state: on", "state: up", "`state` is one of: on, off"},
      {"at_least: 10s", "at_least: soon", "is not a duration"},
      {"{since: {step: listen, at_least: 10s}}", "{since: {step: listen}}", "`since` needs `step` and `at_least`"},
      {"verb: cycle", "verb: cylce", "did you mean `cycle`?"},
      {"verb: cycle, ", "", "`power` needs `verb`"},
      {"{power: {verb: cycle, hosts: \"{{tor}}\"}}", "{power: {verb: cycle}}", "`power` needs `hosts`"},
      {"danger: true", "danger: false", "`power` is dangerous"},
      {"danger: true", "danger: \"true\"", "`danger` is true or false"},
      {"danger: true", "repeat_safe: true", "a power cycle is never safe to repeat"},
      {"danger: true", "repeat_safe: perhaps", "`repeat_safe` is true or false"},
      {"port: \"{{port}}\"", "port: \"{{user.oob}}\"", "it is not one host"},
      {"port: \"{{port}}\"", "port: 70000", "whole number from 1 to 65535"},
      {", port: \"{{port}}\"", "", "`port` needs `port`"},
      {"at: oob, port", "at: bco, port", "`at` is one of"},
      {"{hosts: \"{{tor}}\", at: oob, port", "{hosts: \"{{tor}}\", port", "needs `at`"},
      {"{hosts: \"{{tor}}\", at: oob, port", "{address: a, hosts: \"{{tor}}\", at: oob, port", "either `hosts` or"},
      {"{hosts: \"{{tor}}\", at: oob, port", "{at: oob, port", "either `hosts` or `address`"},
      {"exit: 0", "exit: 256", "whole number from 0 to 255"},
      {"matches: \"up\"", "matches: \"[up\"", "not a pattern"},
      {"lacks: \"down\"", "lacks: \"\"", "a pattern is a text"},
      {"{{tor.oob}}", "{{tor.ipmi}}", "a host has no `ipmi`"},
      {"{{tor.oob}}", "{{all.oob}}", "`all` has no `oob`: it is not one host"},
      {"wait: 30s", "wait: -1s", "is not a duration"},
      {"wait: 30s", "wait: [1]", "a time is a text"},
      {"confirm: \"look at {{tor}}\"", "confirm: \"look at {{tor}\"", "`{{` without `}}`"},
      {"over: frontend", "over: fronted", "did you mean `frontend`?"},
      {"{lines_kept: {from: before}}", "{lines_kept: {in: before}}", "`lines_kept` needs `from`"},
      {"{lines_kept: {from: before}}", "{lines_kept: {from: look}}", "step `look` runs no command"},
      {"{lines_kept: {from: before}}", "[]", "a list of 1 to"},
      {"{lines_kept: {from: before}}", "true", "a list of 1 to"},
      {"steps:\n", "setps:\n", "did you mean `steps`?"},
      {"title: Rest", "title: [Rest]", "`title` is a text"},
      {"title: Rest", "title: ''", "`title` is a text, not an empty one"},
  };
  for (const Mutation& mutation : mutations) {
    const std::string said = errors_of(replaced(kWhole, mutation.from, mutation.to));
    EXPECT_THAT(said, HasSubstr(mutation.message)) << mutation.from << " -> " << mutation.to;
    EXPECT_THAT(said, HasSubstr("mine.yaml:"));
  }
  EXPECT_GE(mutations.size(), 90U);
}

// Removes each key, replaces each value, cuts each line: never a crash, always a location.
TEST(RunbookFile, SurvivesMechanicalMutations) {
  std::vector<std::string> lines;
  const std::string whole = kWhole;
  for (std::size_t start = 0; start < whole.size();) {
    const std::size_t end = whole.find('\n', start);
    lines.push_back(whole.substr(start, end - start));
    start = end + 1;
  }
  std::size_t tried = 0;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (int kind = 0; kind < 6; ++kind) {
      std::vector<std::string> changed = lines;
      std::string& line = changed[i];
      if (kind == 0) line.clear();
      if (kind == 1) line = line.substr(0, line.size() / 2);
      if (kind == 2) line += " ]";
      if (kind == 3 && line.find(':') != std::string::npos)
        line = line.substr(0, line.find(':') + 1) + " {x: [1, {y: 2}]}";
      if (kind == 4) line = std::string(line.find_first_not_of(' '), ' ') + "odd: " + std::string(5000, 'z');
      if (kind == 5 && line.find(':') != std::string::npos) line.insert(line.find(':'), "x");
      std::string text;
      for (const std::string& each : changed) text += each + "\n";
      ++tried;
      if (!errors_of(text).empty()) ++refused;
    }
  }
  EXPECT_GT(tried, 300U);
  EXPECT_GT(refused, tried / 2);
}

TEST(RunbookFile, LimitsFileContents) {
  EXPECT_THAT(errors_of(""), HasSubstr("the file is empty"));
  EXPECT_THAT(errors_of("[]"), HasSubstr("a runbook is a mapping"));
  EXPECT_THAT(errors_of("weft_runbook: 1\nname: a\ntitle: b\nsteps: []\n"), HasSubstr("an empty one"));
  std::string many = "weft_runbook: 1\nname: a\ntitle: b\nsteps:\n";
  for (int i = 0; i <= 200; ++i) many += "  - {id: s" + std::to_string(i) + ", title: t, do: {note: n}}\n";
  EXPECT_THAT(errors_of(many), HasSubstr("at most 200 steps"));
  EXPECT_THAT(errors_of("weft_runbook: 1\nname: a\ntitle: " + std::string(5000, 'x') +
                        "\nsteps: [{id: a, title: b, do: {note: c}}]\n"),
              HasSubstr("at most 4096 bytes"));
}

}  // namespace
}  // namespace weft::oob

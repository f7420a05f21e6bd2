// A runbook: steps to recover from a failure, in a file that people read, edit and rehearse. This is the parsed file,
// every part with its location; rescue/plan.h resolves its devices, rescue/run.h runs it. docs/rescue.md describes the
// format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"

namespace weft::oob {

enum class RunbookKind : std::uint8_t { host, hosts, network_switch, text, number, duration, pattern };

struct RunbookParameter {
  std::string name{};
  std::string help{};
  RunbookKind kind = RunbookKind::text;
  std::optional<std::string> fallback{};  // for hosts: an expression on the cluster ("first control servers")
  SourceLocation place{};
};

// Prefix of a step id that refers to the step's backup.
inline constexpr std::string_view kOfStep = "step:";

enum class RunbookDo : std::uint8_t { power, console, run, wait, confirm, backup, restore, reach, note };
enum class RunbookPower : std::uint8_t { on, off, cycle, reset };

// One action. Only the members of its kind are set; texts may contain {{parameter}}.
struct RunbookAction {
  RunbookDo kind = RunbookDo::note;
  RunbookPower verb = RunbookPower::on;
  std::string hosts{};               // power, backup, restore, reach: several; console: one
  std::vector<std::string> words{};  // run: a program and its arguments, never a shell
  std::string over{};                // run: the fabric it uses; empty: none
  std::string text{};                // confirm, note
  std::string until{};               // console: a pattern that ends the capture; empty: none
  std::string time{};                // console, wait: a duration
  std::string
      from{};  // restore: a version of the stored configs ("good", "latest", "before"), or kOfStep and a step's id
  SourceLocation place{};
};

enum class RunbookSee : std::uint8_t { power, reachable, command, console, port, ping, since, lines_kept, config };

inline constexpr int kAnyExit = -1;

// One check. Only the members of its kind are set.
struct RunbookCheck {
  RunbookSee kind = RunbookSee::reachable;
  std::string hosts{};               // power, reachable, port, ping, config
  std::string address{};             // port, ping: instead of hosts
  std::string at{};                  // port, ping: which address of the hosts: oob, bmc or frontend
  bool on = true;                    // power: the wanted state
  int share = 100;                   // percent of the hosts for which it must hold
  std::vector<std::string> words{};  // command
  int code = 0;                      // command: exit status, or kAnyExit
  std::string matches{};             // command, console: a pattern that at least one line matches
  std::string lacks{};               // command: a pattern that no line matches
  std::string step{};                // console, since: whose capture, since whose end; lines_kept: the earlier output
  std::string from{};                // config: the backup that the hosts must hold, as in restore
  std::string later{};               // lines_kept: the later output
  std::string port{};                // number
  std::string time{};                // since
  int least = 1;                     // console: lines that match
  int most = -1;                     // console; -1: any number
  SourceLocation place{};
};

enum class RunbookOnFailure : std::uint8_t { stop, go_on, back, ask };

// One part of the rollback: an action, or a manual instruction.
struct RunbookBack {
  std::optional<RunbookAction> action{};
  std::string tell{};
};

struct RunbookStep {
  std::string id{};
  std::string title{};
  std::vector<std::string> after{};   // steps that must be done first
  std::vector<RunbookCheck> needs{};  // preconditions
  RunbookAction action{};
  std::vector<RunbookCheck> expect{};  // evidence, all true at the same time
  std::string within{};                // timeout of action and evidence; empty if not needed
  std::vector<RunbookBack> back{};
  RunbookOnFailure on_failure = RunbookOnFailure::stop;
  bool danger = false;                  // declared, or implied by the action
  bool repeat_safe = true;              // may be sent again if it is unknown whether it was sent
  std::vector<RunbookCheck> skip_if{};  // all true: not needed
  SourceLocation place{};
};

struct Runbook {
  std::string name{};
  std::string title{};
  std::vector<std::string> when{};         // symptoms, for people
  std::vector<std::string> assume_down{};  // fabrics and hosts that are assumed down during the rescue
  std::vector<RunbookParameter> parameters{};
  std::vector<RunbookStep> steps{};
  std::string hash{};  // SHA-256 of the text

  [[nodiscard]] const RunbookStep* find(std::string_view id) const;
};

// Limits on file contents: far above any usable runbook, far below a resource problem.
inline constexpr std::size_t kMaxRunbookSteps = 200;
inline constexpr std::size_t kMaxRunbookWords = 64;
inline constexpr std::size_t kLongestRunbookText = 4096;

// Reports all problems of the file; returns a Runbook only if there are none.
[[nodiscard]] std::optional<Runbook> read_runbook(const Sources& sources, FileId file, Diagnostics& diagnostics);

// Names of {{placeholders}} in a text, as written: "tor" or "tor.oob". An error if one is not closed.
[[nodiscard]] std::optional<std::string> find_placeholders(std::string_view text, std::vector<std::string>& names);

[[nodiscard]] std::string_view to_text(RunbookKind kind);
[[nodiscard]] std::string_view to_text(RunbookDo kind);
[[nodiscard]] std::string_view to_text(RunbookPower verb);
[[nodiscard]] std::string_view to_text(RunbookSee kind);
[[nodiscard]] std::string_view to_text(RunbookOnFailure policy);

}  // namespace weft::oob

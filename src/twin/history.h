// What happened on a real cluster, as far as a source tells: jobs with their attempts and checkpoints, and what was
// seen of the nodes. Filled by the readers of sources (the journal of `weft serve`, Slurm's accounting), turned into a
// recording by history_recording.h. Plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/job_spec.h"
#include "control/transitions.h"
#include "twin/fault_source.h"

namespace weft::twin {

struct HistoryCheckpoint {
  sched::Moment at{};  // complete
  std::int64_t step = 0;
  Duration took{};
};

// The part of an attempt on one node.
struct HistoryPart {
  sched::NodeId node{};
  std::int64_t milli = 0;  // GPUs
  bool running = false;    // seen
  sched::Moment ended = sched::kNever;
  control::PartEnd end = control::PartEnd::exited;
  std::int32_t code = 0;
  std::string text;
};

struct HistoryAttempt {
  sched::Moment start{};                   // the start was sent
  sched::Moment running = sched::kNever;   // every part ran
  sched::Moment stopping = sched::kNever;  // a stop was sent
  sched::Moment ended = sched::kNever;
  std::optional<Duration> verify;  // of the checkpoints, before the start
  bool cut = false;                // it began before the history: when, and how long its start took, is not known
  bool restored = false;
  std::int64_t step = 0;  // of the checkpoint that it restored
  std::vector<HistoryCheckpoint> checkpoints;
  std::vector<HistoryPart> parts;
  // It computed or was about to, and ended because something failed.
  bool interrupted = false;
  std::optional<std::size_t> failed;  // the part that failed by itself, before a stop was sent
};

struct HistoryJob {
  control::JobSpec spec;
  sched::Moment submitted{};
  sched::Moment ended = sched::kNever;
  std::optional<control::JobState> end;  // none: it has not ended
  bool held = false;                     // at the end
  bool released = false;                 // by a person, after it was held
  std::int32_t failures = 0;             // of the application
  std::vector<HistoryAttempt> attempts;
};

// A node that was broken, or that people repaired.
struct Trouble {
  sched::NodeId node{};
  sched::Moment at{};                     // the first evidence of the node itself
  sched::Moment detected{};               // known to the controller
  sched::Moment ended = sched::kNever;    // in service again
  sched::Moment person = sched::kNever;   // a session was handed to people
  sched::Moment resumed = sched::kNever;  // they handed it back
  std::string signal;
  Fix fix = Fix::person;
  bool session = false;          // of the automatic repair
  bool listed = false;           // in an incident list: a person wrote down when it began
  std::optional<Effect> effect;  // on jobs, if the source says so
};

struct History {
  sched::Moment from{};
  sched::Moment until{};
  std::vector<HistoryJob> jobs;
  std::vector<Trouble> troubles;
  bool has_checkpoints = true;  // the source tells which were written
  bool repair = true;           // nodes were repaired automatically
  // Measured times of repair sessions.
  std::vector<Duration> boots;  // power cycle included
  std::vector<Duration> validations;
  std::string source;              // for people
  std::vector<std::string> notes;  // what is assumed or left out
};

}  // namespace weft::twin

// A recording of the operation of a cluster: jobs, incidents and settings, with what came of them. `weft twin run
// --recording` and `weft twin record` write one, and people can: an incident list from tickets, jobs from accounting.
// Replayed unchanged, a recording of the twin gives the same journal; replayed with a change, it says what the change
// would have saved. The nodes are not in it, only their names: they are those of a cluster file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "model/schema.h"
#include "twin/result.h"
#include "twin/twin.h"

namespace weft::twin {

struct RecordedIncident {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<Duration> at;
  model::Sourced<std::string> node;
  model::Sourced<std::string> cause;
  model::Sourced<std::string> job;  // whose own process failed
  model::Sourced<Fix> fix;
  model::Sourced<Duration> detect;
  model::Sourced<Duration> abort;
  model::Sourced<Duration> respond;
  model::Sourced<Duration> repair;
  model::Sourced<Duration> lasts;
  model::Sourced<Duration> returns;
};

struct RecordedJob {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> spec;
  model::Sourced<Duration> submitted;
  model::Sourced<Duration> work;
  model::Sourced<Duration> launch;
  model::Sourced<Duration> load;
  model::Sourced<Duration> restore;
  model::Sourced<Duration> stall;
  model::Sourced<Duration> write;
  model::Sourced<Duration> step;
  model::Sourced<Duration> stop;
  model::Sourced<Duration> verify;
  // What came of it.
  model::Sourced<Duration> ended;
  model::Sourced<std::int64_t> attempts;
  model::Sourced<std::int64_t> interruptions;
};

// What came of it: integers, so that a file has them exactly.
struct RecordedOutcome {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> journal;      // hash of the journal of the twin
  model::Sourced<std::int64_t> productive;  // GPU-seconds
  model::Sourced<std::int64_t> held;        // GPU-seconds held by jobs
  model::Sourced<std::int64_t> all;         // GPU-seconds of the cluster
  model::Sourced<std::int64_t> interruptions;
};

struct RecordingSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> recording;
  model::Sourced<std::string> cluster;
  model::Sourced<std::string> nodes;  // hash of their names
  model::Sourced<Duration> length;
  model::Sourced<std::string> seed;
  model::Sourced<bool> repair;
  model::Sourced<FaultSpec> faults;
  model::Sourced<std::vector<RecordedJob>> jobs;
  model::Sourced<std::vector<RecordedIncident>> incidents;
  model::Sourced<RecordedOutcome> outcome;
};

[[nodiscard]] RecordedOutcome outcome_of(const TwinResult& result);
[[nodiscard]] RecordedJob recorded_job(const TwinJob& job);
[[nodiscard]] RecordedIncident recorded_incident(const Incident& incident, const FaultModel& faults,
                                                 const std::string& node);
// As YAML.
[[nodiscard]] std::string write_recording(const RecordingSpec& spec);
[[nodiscard]] std::string write_recording(const TwinPlan& plan, const TwinResult& result);

// What came of a job.
struct JobOutcome {
  std::optional<Duration> ended;
  std::optional<std::int64_t> attempts;
  std::optional<std::int64_t> interruptions;
};

struct Recording {
  TwinPlan plan;                 // without machine and tenants
  std::vector<JobOutcome> jobs;  // of the plan's
  std::string nodes;
  std::vector<std::pair<std::string, Incident>> incidents;  // with the names of their nodes
  std::optional<RecordedOutcome> outcome;
};
// Reports every error at its place. None if there were errors.
[[nodiscard]] std::optional<Recording> read_recording(const Sources& sources, FileId file, Diagnostics& diagnostics);
[[nodiscard]] std::optional<Recording> read_recording(const RecordingSpec& spec, Diagnostics& diagnostics);

// A hash of the names of a machine's nodes in their order: equal if a recording is replayed on the same ones.
[[nodiscard]] std::string names_hash(const sched::Machine& machine);
// Gives the plan its machine and its incidents; those of nodes that the machine lacks are left out and counted.
[[nodiscard]] std::size_t place_incidents(Recording& recording, std::shared_ptr<const sched::Machine> machine);

}  // namespace weft::twin

namespace weft::model {
template <>
const Schema& schema_of<twin::RecordedIncident>();
template <>
const Schema& schema_of<twin::RecordedJob>();
template <>
const Schema& schema_of<twin::RecordedOutcome>();
template <>
const Schema& schema_of<twin::RecordingSpec>();
}  // namespace weft::model

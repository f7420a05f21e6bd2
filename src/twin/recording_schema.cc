// The schema of a recording: every key, its meaning and its limits.
#include "twin/recording.h"

namespace weft::model {

template <>
const Schema& schema_of<twin::RecordedIncident>() {
  static const Schema schema = [] {
    using R = twin::RecordedIncident;
    SchemaBuilder<R> b("incident", "An incident: when, on which node, and what repaired it.");
    b.field("at", &R::at, "since the start of the recording").required();
    b.field("node", &R::node, "name of the node").required();
    b.field("cause", &R::cause, "a cause of `faults`").required();
    b.field(
        "job", &R::job,
        "name of the job whose own process failed: the incident strikes it wherever it runs, and if it does not run "
        "then, as soon as it does; unset: the incident belongs to the node");
    b.field("fix", &R::fix, "what repaired it: restart (the node was intact), power_cycle or person").required();
    b.field("detect", &R::detect, "until telemetry reported the node as failed; 0: it did not");
    b.field("abort", &R::abort, "until the processes of a job that stood still ended by themselves; 0: they did not");
    b.field("respond", &R::respond, "until people began with the repair");
    b.field("repair", &R::repair, "how long people worked on it");
    b.field("lasts", &R::lasts, "how long it lasted, of a cause with `effect: slow`");
    b.field("returns", &R::returns, "after the repair, until the fault came back; 0: it did not");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<twin::RecordedJob>() {
  static const Schema schema = [] {
    using R = twin::RecordedJob;
    SchemaBuilder<R> b("recorded-job", "A job: what was submitted, and its times.");
    b.field("spec", &R::spec, "the job in the form of the journal of weft serve").required();
    b.field("submitted", &R::submitted, "since the start of the recording").required();
    b.field("work", &R::work, "time that it computes without an interruption; unset: until the end");
    b.field("launch", &R::launch, "until its processes run").required();
    b.field("load", &R::load, "from there to the first step").required();
    b.field("restore", &R::restore, "additionally, to load a checkpoint").required();
    b.field("stall", &R::stall, "wait per checkpoint").required();
    b.field("write", &R::write, "until a checkpoint is complete").required();
    b.field("step", &R::step, "one step of training").required();
    b.field("stop", &R::stop, "from the order to stop until its processes have ended; default: 2s");
    b.field("verify", &R::verify, "of its checkpoints, before a start; default: 1s");
    b.field("ended", &R::ended, "since the start of the recording, as it was; unset: it had not ended");
    b.field("attempts", &R::attempts, "how often it was started, as it was").range(0, INT64_MAX);
    b.field("interruptions", &R::interruptions, "how often a failure interrupted it, as it was").range(0, INT64_MAX);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<twin::RecordedOutcome>() {
  static const Schema schema = [] {
    using R = twin::RecordedOutcome;
    SchemaBuilder<R> b("outcome", "What came of it, in GPU-seconds.");
    b.field("journal", &R::journal, "hash of the journal, of a recording of the twin");
    b.field("productive", &R::productive, "computing that was kept").range(0, INT64_MAX);
    b.field("held", &R::held, "held by jobs").range(0, INT64_MAX);
    b.field("all", &R::all, "of the cluster").range(0, INT64_MAX);
    b.field("interruptions", &R::interruptions, "of jobs").range(0, INT64_MAX);
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<twin::RecordingSpec>() {
  static const Schema schema = [] {
    using R = twin::RecordingSpec;
    SchemaBuilder<R> b("recording", "A recording of the operation of a cluster, for `weft twin replay`.");
    b.field("recording", &R::recording, "version of the file format").required().range(1, 1);
    b.field("cluster", &R::cluster, "name of the cluster");
    b.field("nodes", &R::nodes, "hash of the names of its nodes");
    b.field("length", &R::length, "time recorded").required();
    b.field("seed", &R::seed, "seed of the run of the twin");
    b.field("repair", &R::repair, "whether nodes were repaired automatically; default: true");
    b.field("faults", &R::faults, "the causes of incidents, and the times of repair").required();
    b.field("jobs", &R::jobs, "in the order of their submissions").required();
    b.field("incidents", &R::incidents, "in the order of their times").required();
    b.field("outcome", &R::outcome, "what came of it");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model

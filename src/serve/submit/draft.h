// JobDraft: a job between its file and control::JobSpec, with the location of every value. Each reader fills one;
// finish_draft() adds what the file leaves out, by the rules of weft job files. Internal to serve/submit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/yaml.h"
#include "control/job_spec.h"
#include "model/cluster.h"
#include "model/sourced.h"
#include "sched/machine/machine.h"
#include "serve/submit/submission.h"

namespace weft::serve {

using model::Sourced;

struct SubmitContext {
  const Sources& sources;
  FileId file;
  const model::Cluster& cluster;
  const sched::Machine& machine;
  const Submitter& submitter;
  Diagnostics& diagnostics;
  std::size_t errors_before;  // of this file

  [[nodiscard]] bool failed() const { return diagnostics.error_count() > errors_before; }
  void error(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1) const {
    diagnostics.error(place, std::move(message), std::move(hint), length);
  }
  void warn(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1) const {
    diagnostics.warning(place, std::move(message), std::move(hint), length);
  }
};

// Of the nodes of a pool: two with hyper-threading.
[[nodiscard]] int threads_per_core(const model::Cluster& cluster, std::string_view pool);

struct JobDraft {
  SourceLocation place;  // of the job, for errors about what is absent
  Sourced<std::string> name;
  Sourced<std::string> tenant;
  Sourced<std::string> partition;
  Sourced<std::string> pool;
  Sourced<std::string> priority;
  Sourced<Duration> time_limit;
  bool unlimited_time = false;  // asked for explicitly
  bool all_pools = false;       // every pool of the partition, not only `pool`
  bool resolved = false;        // the owner is resolved already (weft job files)

  // Per node. Counts as CPUs of the operating system, which are threads where hyper-threading is on.
  Sourced<std::int64_t> nodes{1};
  Sourced<std::int64_t> min_nodes;  // unset: nodes
  Sourced<std::int64_t> gpus{0};
  Sourced<std::int64_t> cpu_milli;   // unset: the share of the GPUs
  Sourced<std::int64_t> memory_mib;  // unset: the share of the GPUs
  Sourced<std::int64_t> scratch_gib{0};
  bool exclusive = false;  // all GPUs and CPUs of the node
  bool all_memory = false;
  std::uint64_t models = 0;  // bits of Machine::models; 0: any
  std::uint64_t pools = 0;   // a further restriction; 0: none

  control::JobSpec spec;  // command, environment, files, checkpoints, restarts; topology in its shape
};

[[nodiscard]] SourceLocation place_at(FileId file, std::size_t line, std::size_t column);
template <class T>
[[nodiscard]] Sourced<T> given_at(T value, const SourceLocation& place) {
  Sourced<T> out;
  out.value = std::move(value);
  out.place = place;
  out.origin = model::Origin::file;
  return out;
}

// The readers of each format: nullopt after an error that leaves no draft.
[[nodiscard]] std::optional<JobDraft> read_weft_job(const SubmitContext& context);
[[nodiscard]] std::optional<JobDraft> read_sbatch_job(const SubmitContext& context);
[[nodiscard]] std::optional<JobDraft> read_manifest(const SubmitContext& context);

// Fills in tenant, pools, resources and limits, and checks the whole.
[[nodiscard]] std::optional<control::JobSpec> finish_draft(JobDraft draft, const SubmitContext& context);

// A whole number in [low, high]; otherwise an error that names `what`.
[[nodiscard]] std::optional<std::int64_t> read_count(const SubmitContext& context, std::string_view text,
                                                     std::string_view what, std::int64_t low, std::int64_t high,
                                                     const SourceLocation& place);
// Bits of the GPU models of this name: "h100-sxm" or its type in Slurm, "h100". 0 if there is none, after an error.
[[nodiscard]] std::uint64_t models_named(const SubmitContext& context, std::string_view name,
                                         const SourceLocation& place);
// The bit of a pool of the machine; 0 if it has none of this name.
[[nodiscard]] std::uint64_t pool_bit(const sched::Machine& machine, std::string_view pool);
// GPUs and CPUs of the operating system of the first node that the draft can run on; 0 if there is none.
struct NodeSize {
  std::int64_t gpus = 0;
  std::int64_t cpus = 0;
};
[[nodiscard]] NodeSize node_size(const JobDraft& draft, const SubmitContext& context);

// Adds or replaces a variable; drops those that the engine sets, with a warning.
void set_variable(JobDraft& draft, const SubmitContext& context, std::string_view name, std::string value,
                  const SourceLocation& place);
// A command whose torchrun options for rendezvous and restarts are replaced by the engine's rendezvous; other commands
// run as they are, with the same variables.
void set_command(JobDraft& draft, std::vector<std::string> words, std::int64_t processes_per_node);

// How long a stopped job may take to write a checkpoint, as in rendered files.
[[nodiscard]] Duration default_grace(const model::Cluster& cluster);
// Checkpoint policy of the cluster file for these directories.
void set_checkpoints(JobDraft& draft, const SubmitContext& context, std::vector<std::string> volumes);

[[nodiscard]] bool is_variable_name(std::string_view name);
// Absolute, printable and without "..".
[[nodiscard]] bool is_absolute_path(std::string_view path);

}  // namespace weft::serve

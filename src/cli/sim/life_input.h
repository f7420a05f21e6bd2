// Shared by `weft sim life`, `compare` and `sweep`: reads and resolves a cluster and a job, reads the options of a run,
// and simulates one job timeline with progress on the terminal.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "model/job.h"
#include "workload/life/play_life.h"

namespace weft::cli {

struct LifeInput {
  std::unique_ptr<model::Loaded> loaded;
  std::optional<model::JobSpec> job;
};

[[nodiscard]] std::vector<Option> life_run_options();
// Those of them that concern the backend; `fidelity` is the one without --fidelity.
[[nodiscard]] std::vector<Option> backend_run_options(const std::string& fidelity);

// A job file with a training section, for the cluster of `loaded`; problems are in its diagnostics.
[[nodiscard]] std::optional<model::JobSpec> read_training_job(const std::string& path, std::string text,
                                                              model::Loaded& loaded);
// Reads both files and reports their problems. Returns the exit code if they cannot be used.
[[nodiscard]] std::optional<Exit> open_life(Context& context, const std::string& cluster, const std::string& job,
                                            LifeInput& input);
// The same for texts in memory, without output: problems are in the diagnostics of `input.loaded`.
[[nodiscard]] bool read_life_texts(const std::string& cluster_path, std::string cluster_text,
                                   const std::string& job_path, std::string job_text,
                                   const std::vector<std::string>& catalogs, LifeInput& input);

// Options of the command line, and the requested fidelities (several with `all`), coarsest first.
struct LifeRequest {
  workload::LifeOptions options;
  std::vector<netsim::Fidelity> fidelities;
};
// Problems stay in the reader. The cluster's backend settings apply unless an option overrides them.
void read_life_options(OptionReader& reader, const model::Cluster& cluster, LifeRequest& request);
void read_backend_options(OptionReader& reader, const model::Cluster& cluster, LifeRequest& request);

// Simulates with progress on standard error. Empty on failure, after reporting why.
[[nodiscard]] std::optional<workload::LifeResult> play_with_progress(Context& context, LifeInput& input,
                                                                     const workload::LifeOptions& options);

}  // namespace weft::cli

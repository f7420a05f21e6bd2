// What `weft sim life`, `compare` and `sweep` share: a cluster and a job read and resolved, the options of a run, and
// one life played with its progress on the terminal.
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

// Reads both files and says what is wrong with them. Gives the exit code when they cannot be used.
[[nodiscard]] std::optional<Exit> open_life(Context& context, const std::string& cluster, const std::string& job,
                                            LifeInput& input);
// The same of texts in memory, silently: problems are in the diagnostics of `input.loaded`.
[[nodiscard]] bool read_life_texts(const std::string& cluster_path, std::string cluster_text,
                                   const std::string& job_path, std::string job_text,
                                   const std::vector<std::string>& catalogs, LifeInput& input);

// Options of the command line, and the fidelities asked for (several with `all`), coarsest first.
struct LifeRequest {
  workload::LifeOptions options;
  std::vector<netsim::Fidelity> fidelities;
};
// Problems stay in the reader. What the cluster says of its backend holds unless the line says otherwise.
void read_life_options(OptionReader& reader, const model::Cluster& cluster, LifeRequest& request);

// Plays with progress on standard error. Nothing when it cannot be played: all is said.
[[nodiscard]] std::optional<workload::LifeResult> play_with_progress(Context& context, LifeInput& input,
                                                                     const workload::LifeOptions& options);

}  // namespace weft::cli

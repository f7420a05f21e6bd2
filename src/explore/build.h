// Builds a candidate: the cluster file as `weft design` writes it, the job file, and their figures by one simulated
// step as `weft sim life` has it. What the files say is all that the figures depend on: a user who runs the commands on
// them gets the same.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "explore/candidate.h"
#include "explore/question.h"
#include "model/cluster.h"
#include "model/job.h"

namespace weft::explore {

struct BuiltCandidate {
  std::string cluster_file;
  std::string job_file;
  std::shared_ptr<const model::Cluster> cluster;
};

// The cluster of a choice: `name` is that of the file.
[[nodiscard]] Result<BuiltCandidate> build_candidate(const Question& question, const Choice& choice,
                                                     const Layout& layout, const std::string& name);
// The job of a choice, resolved against its cluster.
[[nodiscard]] Result<model::JobSpec> read_job(const BuiltCandidate& built);

// With an interval of 0 in the choice, first_interval() sets it.
[[nodiscard]] Result<Figures> figures_of(const Question& question, Choice& choice, const Layout& layout);
// The figures with another interval between checkpoints.
void set_interval(const Question& question, const Choice& choice, Figures& figures);

// The job file of the question with these servers, layout and number of steps.
[[nodiscard]] std::string job_file(const Question& question, const Choice& choice, const Layout& layout,
                                   std::int64_t sequence);

// The cluster request of a choice.
[[nodiscard]] design::DesignRequest request_of(const Question& question, const Choice& choice, const std::string& name);

// Steps that train on the tokens of the goal, rounded up.
[[nodiscard]] std::int64_t steps_for(std::int64_t tokens, std::int64_t global_batch, std::int64_t sequence);

// The model of the question's job; an error names what is wrong.
[[nodiscard]] Result<workload::ModelShape> read_shape(const Question& question);

}  // namespace weft::explore

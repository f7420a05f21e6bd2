// What weft renders for a job file is accepted by `weft job submit`, and means the same job.
#include "serve/submit/submission.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "rendered.h"
#include "sched/machine/machine.h"

namespace weft::serve {
namespace {

using testing_rendered::Edits;
using testing_rendered::Rendering;

struct Accepted {
  std::optional<control::JobSpec> spec;
  std::string messages;
};

Accepted submit(const model::Cluster& cluster, const std::string& name, const std::string& text) {
  const Result<sched::Machine> machine = sched::Machine::of(cluster);
  EXPECT_TRUE(machine.ok());
  Sources sources;
  Diagnostics diagnostics;
  const Submitter submitter{1000, 1000, "ada", "/home/ada", {}};
  Accepted out;
  out.spec = read_submission(sources, sources.add(name, text), cluster, *machine, submitter, diagnostics);
  out.messages = render_all(diagnostics, sources, false);
  return out;
}

void expect_same_job(const control::JobSpec& got, const control::JobSpec& job) {
  EXPECT_EQ(got.shape.name, job.shape.name);
  EXPECT_EQ(got.shape.tenant, job.shape.tenant);
  EXPECT_EQ(got.shape.priority, job.shape.priority);
  EXPECT_EQ(got.shape.preemptible, job.shape.preemptible);
  EXPECT_EQ(got.shape.tasks, job.shape.tasks);
  EXPECT_EQ(got.shape.min_tasks, job.shape.min_tasks);
  EXPECT_EQ(got.shape.task.gpus, job.shape.task.gpus);
  EXPECT_EQ(got.shape.task.pools, job.shape.task.pools);
  EXPECT_EQ(got.shape.limit, job.shape.limit);
  EXPECT_FALSE(got.restart.on_success_only);
  for (const auto& variable : job.environment) {
    if (variable.first.starts_with("PET_")) continue;
    EXPECT_THAT(got.environment, ::testing::Contains(variable));
  }
}

// A job file rendered for a cluster and submitted in each form.
void check_forms(const std::string& cluster, const std::string& job_text, const Edits& edits = {}) {
  const std::unique_ptr<Rendering> loaded = testing_rendered::load_example(cluster, edits);
  ASSERT_NE(loaded, nullptr);
  Rendering& rendering = *loaded;
  rendering.add_job(job_text);
  rendering.render("kubernetes/training");
  rendering.render("slurm");
  const Accepted job = submit(rendering.cluster(), "job.yaml", job_text);
  ASSERT_TRUE(job.spec.has_value()) << job.messages;
  int forms = 0;
  for (const auto& [path, file] : rendering.sink.files) {
    const bool manifest = path.starts_with("kubernetes/training/");
    if (!manifest && !path.ends_with(".sbatch")) continue;
    SCOPED_TRACE(path);
    ++forms;
    const Accepted got = submit(rendering.cluster(), path, file.content);
    ASSERT_TRUE(got.spec.has_value()) << got.messages;
    control::JobSpec expected = *job.spec;
    // A script sets its variables itself.
    if (!manifest) expected.environment.clear();
    expect_same_job(*got.spec, expected);
    if (manifest) {
      EXPECT_EQ(got.spec->command, job.spec->command);
      // In a script, torchrun itself restarts its ranks max_restarts times.
      EXPECT_EQ(got.spec->restart.max_failures, job.spec->restart.max_failures);
      EXPECT_EQ(got.spec->checkpoint.volumes, job.spec->checkpoint.volumes);
      EXPECT_EQ(got.spec->shape.grace, job.spec->shape.grace);
      EXPECT_THAT(got.spec->environment, ::testing::IsSupersetOf(job.spec->environment));
    } else {
      sched::Request task = got.spec->shape.task;
      task.models = 0;  // --gpus-per-node names the only model of the pool
      EXPECT_EQ(task, job.spec->shape.task);
      EXPECT_EQ(got.spec->checkpoint.notice, control::CheckpointNotice::signal);
    }
  }
  EXPECT_EQ(forms, 4);
}

std::string example_job() {
  const Result<std::string> text = read_file(testing_rendered::source_path("examples/train.job.yaml"));
  EXPECT_TRUE(text.ok());
  return text.value_or("");
}

TEST(Submission, AcceptsWhatIsRenderedForTheExample) { check_forms("pod16.yaml", example_job()); }

TEST(Submission, AcceptsWhatIsRenderedForAFixedSize) {
  check_forms("pod16.yaml",
              "job: 1\nname: small\nnodes: 2\ngpus_per_node: 4\ncommand: [train.py, \"it's $(HOME) $x\", \"a b\"]\n"
              "environment: {A: \"x y\", B: $(A)}\npriority: batch-low\nmax_restarts: 5\n");
}

TEST(Submission, AcceptsWhatIsRenderedForKubernetesAsOwner) {
  check_forms("pod16.yaml", example_job(), {{"allocator: slurm", "allocator: kubernetes"}});
}

TEST(Submission, AcceptsWhatIsRenderedWithAnImage) {
  check_forms("pod16.yaml", example_job() + "image: registry.example.com/ai/pytorch:2\n");
}

}  // namespace
}  // namespace weft::serve

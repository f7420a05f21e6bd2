#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "serve/submit/submission_test_help.h"

namespace weft::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kJob = "job: 1\nname: llm\nnodes: 4\ncommand: [train.py, --epochs, \"3\"]\n";

std::vector<std::string> words_of(const Submitted& out) {
  const std::vector<std::string>& command = out.job().command;
  return {command.begin() + std::min<std::ptrdiff_t>(4, std::ssize(command)), command.end()};
}

TEST(WeftJob, IsTheExample) {
  const Result<std::string> text = read_file(source_dir() + "/examples/train.job.yaml");
  ASSERT_TRUE(text.ok());
  const Submitted out = submit(*text);
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  const sched::Job& shape = out.job().shape;
  EXPECT_EQ(shape.name, "llm-pretrain");
  EXPECT_EQ(shape.tenant, "team-alpha");
  EXPECT_EQ(shape.tasks, 8);
  EXPECT_EQ(shape.min_tasks, 4);
  EXPECT_EQ(shape.task.gpus, 8);
  EXPECT_EQ(shape.task.cpu, 112'000);
  EXPECT_EQ(shape.task.memory_mib, pod16().machine->nodes()[0].memory_mib);
  EXPECT_EQ(shape.task.pools, 1U);
  EXPECT_EQ(shape.priority, 500'000);
  EXPECT_TRUE(shape.preemptible);
  EXPECT_EQ(shape.limit, sched::seconds(2 * 86'400));
  EXPECT_EQ(shape.grace, sched::seconds(90));
  EXPECT_EQ(shape.checkpoint_interval, sched::seconds(1800));
  EXPECT_THAT(out.job().checkpoint.volumes, ElementsAre("/checkpoints"));
  EXPECT_EQ(out.job().checkpoint.interval, Duration());
  EXPECT_EQ(out.job().checkpoint.write_time, sched::seconds(90));
  EXPECT_EQ(out.job().restart.max_failures, 3);
  EXPECT_FALSE(out.job().restart.on_success_only);
  EXPECT_EQ(out.job().directory, "/home/ada/run");
  EXPECT_EQ(out.job().output, "");
  EXPECT_THAT(words_of(out), ElementsAre("torchrun", "train.py", "--config", "configs/llm-7b.yaml", "--save_every",
                                         "500", "--resume_from_checkpoint", "/checkpoints/latest"));
  EXPECT_EQ(out.variable("PET_NPROC_PER_NODE"), "8");
  EXPECT_EQ(out.variable("OMP_NUM_THREADS"), "14");
}

TEST(WeftJob, RunsOtherProgramsAsTheyAre) {
  const auto words = [](const std::string& command) {
    return words_of(submit("job: 1\nname: llm\nnodes: 1\ncommand: " + command + "\n"));
  };
  EXPECT_THAT(words("[/opt/train, -x]"), ElementsAre("/opt/train", "-x"));
  EXPECT_THAT(words("[python3, train.py]"), ElementsAre("python3", "train.py"));
  EXPECT_THAT(words("[/opt/train.py]"), ElementsAre("torchrun", "/opt/train.py"));
  EXPECT_THAT(words("[torchrun, --nnodes=2, --rdzv-backend, c10d, --tee, \"3\", train.py, --nnodes=1]"),
              ElementsAre("torchrun", "--tee", "3", "train.py", "--nnodes=1"));
}

TEST(WeftJob, SharesAServerByItsGpus) {
  const Submitted out = submit(kJob + "gpus_per_node: 2\n");
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.task.gpus, 2);
  EXPECT_EQ(out.job().shape.task.cpu, 28'000);
  EXPECT_EQ(out.job().shape.task.memory_mib, pod16().machine->nodes()[0].memory_mib / 4);
}

TEST(WeftJob, RunsWithoutGpus) {
  const Submitted out = submit("job: 1\nname: cpu\nnodes: 1\ngpus_per_node: 0\ncommand: [prepare.py]\n");
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.job().shape.task.gpus, 0);
  EXPECT_EQ(out.job().shape.task.cpu, 1'000);  // one CPU, as for a batch script without options
  EXPECT_THAT(words_of(out), ElementsAre("python3", "prepare.py"));
}

TEST(WeftJob, AFailureMayBeFinal) {
  EXPECT_TRUE(submit(kJob + "restart: {on_failure: fail}\n").job().restart.on_success_only);
  EXPECT_FALSE(submit(kJob + "restart: {on_failure: restart}\n").job().restart.on_success_only);
}

TEST(WeftJob, ReadsCheckpointsAndRestarts) {
  const Submitted out = submit(kJob +
                               "checkpoint: {volumes: [checkpoints, /scratch/ada], interval: 10m, notice: signal, "
                               "signal: USR2}\nrestart: {max_failures: 7, backoff: 20m}\nmax_restarts: 2\n");
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_THAT(out.job().checkpoint.volumes, ElementsAre("/checkpoints", "/scratch/ada"));
  EXPECT_EQ(out.job().checkpoint.interval, sched::seconds(600));
  EXPECT_EQ(out.job().checkpoint.notice, control::CheckpointNotice::signal);
  EXPECT_EQ(out.job().checkpoint.notice_signal, SIGUSR2);
  EXPECT_TRUE(out.job().shape.checkpoint_on_notice);
  EXPECT_EQ(out.job().shape.checkpoint_interval, sched::seconds(600));
  EXPECT_EQ(out.job().restart.max_failures, 7);
  EXPECT_EQ(out.job().restart.backoff, sched::seconds(1200));
  EXPECT_EQ(out.job().restart.max_backoff, sched::seconds(1200));
  EXPECT_EQ(submit(kJob + "max_restarts: 2\n").job().restart.max_failures, 2);
  EXPECT_EQ(submit(kJob + "checkpoint: {notice: file}\n").job().checkpoint.notice, control::CheckpointNotice::file);
  EXPECT_TRUE(submit(kJob + "checkpoint: {volumes: []}\n").job().checkpoint.volumes.empty());
}

TEST(WeftJob, WarnsThatTheImageIsNotUsed) {
  EXPECT_THAT(submit(kJob + "image: a/b:1\n").messages,
              HasSubstr("job.txt:5:8: warning: the image `a/b:1` is not used"));
  EXPECT_EQ(submit(kJob).warnings, 0U);
  EXPECT_EQ(submit(kJob + "image: a/b:1\n").job().image, "");
}

TEST(WeftJob, TheImageIsUsedByAnEngineWithContainers) {
  const Submitted out = submit_to_containers(kJob + "image: a/b:1\n");
  EXPECT_EQ(out.job().image, "a/b:1");
  EXPECT_EQ(out.warnings, 0U) << out.messages;
  EXPECT_EQ(submit_to_containers(kJob).job().image, "");  // the engine's
}

TEST(WeftJob, MountsInAContainerOfApptainer) {
  const std::string text =
      kJob + "image: a/b:1\nmounts: [{volume: datasets, path: /data, read_only: true}, {volume: checkpoints}]\n";
  const auto to_apptainer = [](const std::string& job) {
    return submit(job, "job.txt", {}, pod16(), ContainerRuntime::apptainer);
  };
  EXPECT_EQ(to_apptainer(text).job().image, "a/b:1");
  EXPECT_EQ(to_apptainer(text).variable("APPTAINER_BIND"), "/data:/data:ro,/checkpoints");
  EXPECT_EQ(to_apptainer(text + "environment: {APPTAINER_BIND: /x}\n").variable("APPTAINER_BIND"), "/x");
  EXPECT_EQ(to_apptainer(kJob).variable("APPTAINER_BIND"), "(unset)");
  EXPECT_EQ(submit_to_containers(text).variable("APPTAINER_BIND"), "(unset)");
}

TEST(WeftJob, OverridesTheTenant) {
  EXPECT_EQ(submit(kJob + "tenant: other\n", "job.txt", "team-alpha").job().shape.tenant, "team-alpha");
  EXPECT_FALSE(submit(kJob, "job.txt", "team-beta").spec.has_value());  // may not use the partition
}

class WeftJobRefuses : public ::testing::TestWithParam<RefusedFile> {};
TEST_P(WeftJobRefuses, WithItsLine) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Keys, WeftJobRefuses,
    ::testing::Values(
        RefusedFile{"command", "job: 1\nname: a\nnodes: 1\n", "1:1", "torchrun needs a script"},
        RefusedFile{"simulated", "job: 1\nname: a\nnodes: 1\ntraining: {model: llama-2-7b}\n", "1:1",
                    "the job has no command"},
        RefusedFile{"key", kJob + "gpu_per_node: 8\n", "5:1", "gpus_per_node"},
        RefusedFile{"on_failure", kJob + "restart: {on_failure: hold}\n", "5:23", "not an action on failure"},
        RefusedFile{"twice", kJob + "name: b\n", "5:1", "name"},
        RefusedFile{"tab", kJob + "\tpool: train\n", "5:1", "tab"},
        RefusedFile{"volume", kJob + "checkpoint: {volumes: [chekpoints]}\n", "5:24", "did you mean `checkpoints`?"},
        RefusedFile{"path", kJob + "checkpoint: {volumes: [/a/../b]}\n", "5:24", "is not a valid path"},
        RefusedFile{"interval", kJob + "checkpoint: {interval: 0s}\n", "5:24", "interval is zero"},
        RefusedFile{"signal", kJob + "checkpoint: {signal: TERM}\n", "5:22", "no effect without"},
        RefusedFile{"unknown", kJob + "checkpoint: {notice: signal, signal: KILL}\n", "5:38", "KILL"},
        RefusedFile{"nowhere", kJob + "mounts: []\ncheckpoint: {notice: file}\n", "6:22", "no volume to write them to"},
        RefusedFile{"backoff", kJob + "restart: {backoff: 0s}\n", "5:20", "shorter than 100 ms"},
        RefusedFile{"failures", kJob + "restart: {max_failures: 99999}\n", "5:25", "99999"},
        RefusedFile{"text", "hello\n", "1:1", "mapping"}),
    [](const auto& test) { return std::string(test.param.what); });

}  // namespace
}  // namespace weft::serve

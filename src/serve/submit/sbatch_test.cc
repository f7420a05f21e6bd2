#include <gmock/gmock.h>

#include <csignal>

#include "base/text.h"
#include "serve/submit/submission_test_help.h"

namespace weft::serve {
namespace {

using ::testing::HasSubstr;

// A script with these directives; the first is on line 2.
std::string script(const std::string& directives, const std::string& body = "srun python3 train.py\n") {
  std::string out = "#!/bin/bash\n";
  for (const std::string_view line : split_lines(directives)) out += "#SBATCH " + std::string(line) + "\n";
  return out + body;
}

const sched::Job& shape(const Submitted& out) { return out.job().shape; }

TEST(Sbatch, ReadsTheUsualOptions) {
  const Submitted out =
      submit(script("--job-name=train\n--partition=train\n--account=team-alpha\n--nodes=4\n"
                    "--gpus-per-node=h100:8\n--time=1-12:00:00\n--output=%x-%j.log\n--chdir=/work"));
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(shape(out).name, "train");
  EXPECT_EQ(shape(out).tenant, "team-alpha");
  EXPECT_EQ(shape(out).user, "ada");
  EXPECT_EQ(shape(out).tasks, 4);
  EXPECT_EQ(shape(out).min_tasks, 0);
  EXPECT_EQ(shape(out).task.gpus, 8);
  EXPECT_EQ(shape(out).task.cpu, 112'000);
  EXPECT_EQ(shape(out).limit, sched::seconds(36 * 3600));
  EXPECT_EQ(shape(out).priority, 500'000);
  EXPECT_EQ(shape(out).task.pools, 1U);
  EXPECT_EQ(out.job().directory, "/work");
  EXPECT_EQ(out.job().output, "/work/train-%j.log");
  EXPECT_EQ(out.job().uid, 1000U);
  EXPECT_EQ(out.job().gid, 100U);
  ASSERT_EQ(out.job().command.size(), 5U);
  EXPECT_EQ(out.job().command.at(0), "/bin/bash");
  EXPECT_EQ(out.job().command.at(1), "-c");
  EXPECT_EQ(out.job().command.at(3), "train");
  EXPECT_THAT(out.job().command.at(4), HasSubstr("srun python3 train.py\n"));
  EXPECT_EQ(out.variable("SLURM_JOB_NAME"), "train");
  EXPECT_EQ(out.variable("SLURM_GPUS_ON_NODE"), "8");
  EXPECT_EQ(out.warnings, 0U) << out.messages;
}

TEST(Sbatch, TheImageIsUsedByAnEngineWithContainers) {
  const std::string text = script("--account=team-alpha\n--nodes=2\n--gpus-per-node=8\n--container-image=a/b:1");
  EXPECT_EQ(submit(text, "job.txt", {}, pod16(), ContainerRuntime::apptainer).job().image, "a/b:1");
  const Submitted bare = submit(text);
  EXPECT_EQ(bare.job().image, "");
  EXPECT_THAT(bare.messages, HasSubstr("--container-image: not used: the job runs on the host"));
}

TEST(Sbatch, ReadsShortOptionsInEveryForm) {
  for (const char* text : {"-N 4 -G 32 -t 60 -J a", "-N4 -G32 -t60 -Ja", "--nodes 4 --gpus 32 --time 60 --job-name a",
                           "--nodes=4 --gpus=32 --time=60 --job-name=a", "\t-N  4\t--gpus='32'   -t \"60\" -J a # note",
                           "-QN4 -G32 -t60 -Ja"}) {
    const Submitted out = submit(script(text));
    ASSERT_TRUE(out.spec.has_value()) << text << "\n" << out.messages;
    EXPECT_EQ(shape(out).tasks, 4);
    EXPECT_EQ(shape(out).task.gpus, 8);
    EXPECT_EQ(shape(out).limit, sched::seconds(3600));
    EXPECT_EQ(shape(out).name, "a");
  }
}

TEST(Sbatch, AcceptsUniqueBeginningsOfOptions) {
  const Submitted out = submit(script("--part=train\n--cpus-per-t=4\n--nodes=1"));
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(shape(out).task.cpu, 4000);
  expect_refused({"ambiguous", script("--mem-per=4G"), "2:9", "unknown option `--mem-per`"});
}

TEST(Sbatch, NamesTheJobAfterTheScript) {
  EXPECT_EQ(shape(submit("#!/bin/sh\ntrue\n", "/home/ada/my job.sh")).name, "my_job.sh");
  EXPECT_EQ(shape(submit("#!/bin/sh\ntrue\n", "-")).name, "sbatch");
}

TEST(Sbatch, ReadsARangeOfNodesAsElastic) {
  const Submitted out = submit(script("--nodes=8-12\n--gpus-per-node=8\n--no-kill"));
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(shape(out).tasks, 12);
  EXPECT_EQ(shape(out).min_tasks, 8);
  EXPECT_EQ(out.warnings, 0U) << out.messages;
}

struct SizeCase {
  const char* options;
  int nodes;
  int gpus;
  int cpu;  // thousandths
  int tasks_per_node = 1;
};

TEST(Sbatch, DerivesNodesAndTheirShares) {
  for (const SizeCase& each :
       {SizeCase{"--gpus=16", 2, 8, 112'000}, SizeCase{"--gpus=4", 1, 4, 56'000},
        SizeCase{"--ntasks=16 --gpus-per-task=1", 2, 8, 112'000, 8},
        SizeCase{"--ntasks=16 --ntasks-per-node=4 --gpus-per-node=4", 4, 4, 56'000, 4},
        SizeCase{"--nodes=2 --ntasks=16 --gres=gpu:8", 2, 8, 112'000, 8},
        SizeCase{"--nodes=2 --gres=gpu:h100:2 --cpus-per-gpu=10", 2, 2, 20'000}, SizeCase{"--gres=gpu", 1, 1, 14'000},
        SizeCase{"--ntasks=8 --cpus-per-task=14", 1, 0, 112'000, 8}, SizeCase{"--ntasks=224", 2, 0, 112'000, 112},
        SizeCase{"--nodes=3", 3, 0, 1000}, SizeCase{"--nodes=2 --exclusive", 2, 8, 112'000},
        SizeCase{"-c 7", 1, 0, 7000}}) {
    const Submitted out = submit(script(each.options));
    ASSERT_TRUE(out.spec.has_value()) << each.options << "\n" << out.messages;
    EXPECT_EQ(shape(out).tasks, each.nodes) << each.options;
    EXPECT_EQ(shape(out).task.gpus, each.gpus) << each.options;
    EXPECT_EQ(shape(out).task.cpu, each.cpu) << each.options;
    EXPECT_THAT(out.job().command.at(2), HasSubstr("\n  tasks=" + std::to_string(each.tasks_per_node) + "\n"))
        << each.options;
  }
}

TEST(Sbatch, ReadsMemory) {
  const std::int32_t all = pod16().machine->nodes()[0].memory_mib;
  const auto memory = [](const std::string& options) { return shape(submit(script(options))).task.memory_mib; };
  EXPECT_EQ(memory("--gpus=8 --mem=64G"), 65536);
  EXPECT_EQ(memory("--gpus=8 --mem=0"), all);
  EXPECT_EQ(memory("--gpus=1 --mem=0"), all);
  EXPECT_EQ(memory("--gpus=4 --mem-per-gpu=10G"), 40960);
  EXPECT_EQ(memory("--gpus=4 -c 8 --mem-per-cpu=1G"), 8192);
  EXPECT_EQ(memory("--gpus=4"), all / 2);
  EXPECT_EQ(memory("--exclusive"), all);
  EXPECT_EQ(shape(submit(script("--gpus=1 --tmp=10G"))).task.scratch_gib, 10);
  expect_refused({"two", script("--mem=1G\n--mem-per-gpu=1G"), "2:9", "mutually exclusive"});
}

TEST(Sbatch, ReadsSignalsAsNotice) {
  const Submitted batch = submit(script("--gpus=8\n--signal=B:USR1@120"));
  ASSERT_TRUE(batch.spec.has_value()) << batch.messages;
  EXPECT_EQ(batch.job().checkpoint.notice, control::CheckpointNotice::signal);
  EXPECT_EQ(batch.job().checkpoint.notice_signal, SIGUSR1);
  EXPECT_EQ(shape(batch).grace, sched::seconds(120));
  EXPECT_TRUE(shape(batch).checkpoint_on_notice);
  EXPECT_THAT(batch.job().command.at(2), ::testing::Not(HasSubstr("weft_signal 10")));
  const Submitted steps = submit(script("--gpus=8\n--signal=USR2@60"));
  EXPECT_THAT(steps.job().command.at(2), HasSubstr("trap 'weft_signal 12' 12\n"));
  const Submitted none = submit(script("--gpus=8"));
  EXPECT_EQ(none.job().checkpoint.notice, control::CheckpointNotice::none);
  EXPECT_EQ(shape(none).grace, sched::seconds(90));
}

TEST(Sbatch, RestartsAsSlurmDoes) {
  EXPECT_TRUE(submit(script("--gpus=8")).job().restart.on_success_only);
  EXPECT_TRUE(submit(script("--gpus=8\n--requeue")).job().restart.on_success_only);
  const Submitted requeues = submit(script("--gpus=8\n--requeue", "srun a || scontrol requeue $SLURM_JOB_ID\n"));
  ASSERT_TRUE(requeues.spec.has_value()) << requeues.messages;
  EXPECT_FALSE(requeues.job().restart.on_success_only);
  EXPECT_EQ(requeues.job().restart.max_failures, 3);
  const Submitted never = submit(script("--gpus=8\n--no-requeue", "srun a || scontrol requeue $SLURM_JOB_ID\n"));
  EXPECT_TRUE(never.job().restart.on_success_only);
  EXPECT_THAT(never.messages, HasSubstr("still restarted after it is preempted"));
}

TEST(Sbatch, ReadsTopology) {
  const Submitted one = submit(script("--nodes=4 --gpus-per-node=8 --switches=1@02:00:00"));
  ASSERT_TRUE(one.spec.has_value()) << one.messages;
  EXPECT_EQ(shape(one).preferred, sched::Level::leaf);
  EXPECT_EQ(shape(one).preference_wait, sched::seconds(7200));
  EXPECT_EQ(shape(submit(script("--nodes=4 --switches=2"))).preferred, sched::Level::pod);
  EXPECT_EQ(shape(submit(script("--nodes=4 --segment=2"))).segment, 2);
  expect_refused({"segment", script("--nodes=4 --segment=3"), "1:1", "segments of 3 tasks do not divide"});
}

TEST(Sbatch, ReadsVariables) {
  const Submitted out = submit(script("--gpus=1\n--export=ALL,A=1,B=x=y"));
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(out.variable("A"), "1");
  EXPECT_EQ(out.variable("B"), "x=y");
  EXPECT_THAT(out.messages, HasSubstr("job.txt:3:9: warning: the environment of the submitter is not passed on"));
  EXPECT_EQ(submit(script("--gpus=1\n--export=NONE")).warnings, 0U);
  EXPECT_THAT(submit(script("--gpus=1\n--export=RANK=3")).messages, HasSubstr("`RANK` is ignored"));
}

TEST(Sbatch, ReadsConstraints) {
  EXPECT_EQ(shape(submit(script("--gpus=8\n--constraint=h100&train"))).task.pools, 1U);
  expect_refused({"feature", script("--gpus=8\n--constraint=trian"), "3:9", "did you mean `train`?"});
  expect_refused({"operator", script("--gpus=8\n-C a|b"), "3:9", "joined with &"});
  expect_refused({"apart", script("--gpus=8\n-p train\n-C infer"), "1:1", "no pool of partition `train`"});
}

TEST(Sbatch, MergesStandardError) {
  const Submitted out = submit(script("--gpus=1\n-o out.%j\n-e err.%j"));
  EXPECT_EQ(out.job().output, "/home/ada/run/out.%j");
  EXPECT_THAT(out.messages, HasSubstr("4:9: warning: standard output and standard error go to the same file"));
  EXPECT_EQ(submit(script("--gpus=1\n-e err")).job().output, "/home/ada/run/err");
  EXPECT_EQ(submit(script("--gpus=1")).job().output, "/home/ada/run/slurm-%j.out");
  EXPECT_EQ(submit(script("--gpus=1\n-o a\n-e a")).warnings, 0U);
}

TEST(Sbatch, OverridesTheTenant) {
  const Submitted out = submit(script("-A team-gamma --gpus=1 -p train"), "job.txt", "team-alpha");
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(shape(out).tenant, "team-alpha");
  EXPECT_FALSE(submit(script("--gpus=1"), "job.txt", "team-gamma").spec.has_value());
}

TEST(Sbatch, UsesTheLastOfRepeatedOptions) {
  const Submitted out = submit(script("-N 2 --gpus-per-node=1\n--nodes=3"));
  EXPECT_EQ(shape(out).tasks, 3);
  EXPECT_THAT(out.messages, HasSubstr("2:9: warning: `--nodes` is given again on line 3"));
}

TEST(Sbatch, StopsAtTheFirstCommand) {
  const Submitted out = submit("#!/bin/bash\n#SBATCH -N 1\n\n# comment\n##SBATCH -N 7\nset -e\n#SBATCH -N 9\nsrun a\n");
  EXPECT_EQ(shape(out).tasks, 1);
  EXPECT_THAT(out.messages, HasSubstr("7:1: warning: sbatch ignores directives after the first command"));
  EXPECT_THAT(submit("#!/bin/bash\n  #SBATCH -N 9\nsrun a\n").messages,
              HasSubstr("2:3: warning: sbatch ignores a directive that is indented"));
}

TEST(Sbatch, AcceptsLoginShells) {
  EXPECT_EQ(submit("#!/bin/bash -l\ntrue\n").job().command.at(1), "-l");
  EXPECT_EQ(submit("#!/usr/bin/env bash\ntrue\n").job().command.at(1), "bash");
  EXPECT_EQ(submit("#! /bin/sh -eu\ntrue\n").job().command.at(0), "/bin/sh");
}

TEST(Sbatch, WarnsWhereSlurmWouldRunOnTheFirstNode) {
  const Submitted before = submit(script("-N 4", "export A=1\nmkdir -p out\nrm -f x\nsrun a\n"));
  EXPECT_THAT(before.messages, HasSubstr("4:1: warning: `mkdir` runs on all 4 nodes"));
  EXPECT_EQ(before.warnings, 1U) << before.messages;
  EXPECT_THAT(submit(script("-N 4", "python3 train.py\n")).messages,
              HasSubstr("2:9: warning: the script runs on all 4 nodes"));
  EXPECT_EQ(submit(script("-N 1", "mkdir -p out\nsrun a\n")).warnings, 0U);
  EXPECT_EQ(submit(script("-N 4", "module load cuda\ncd /x\nsrun a\n")).warnings, 0U);
}

TEST(Sbatch, ChecksSrun) {
  for (const char* fine :
       {"srun a\n", "A=1 srun --label a -b\n",
        "srun -N4 -n 32 --ntasks-per-node=8 \\\n  --kill-on-bad-exit=1 python x &\nwait\n", "srun $ARGS a\n",
        "srun --nodes=$SLURM_NNODES a\n", "if ! srun -- a; then exit 1; fi\n", "srun -lu a\n",
        "srun --mpi=none --gpus-per-task=1 --export=ALL,A=b a\n", "(srun a | tee log)\n"}) {
    const Submitted out = submit(script("-N 4", fine));
    EXPECT_TRUE(out.spec.has_value()) << fine << "\n" << out.messages;
  }
}

class SbatchRefuses : public ::testing::TestWithParam<RefusedFile> {};
TEST_P(SbatchRefuses, WithItsLine) { expect_refused(GetParam()); }

INSTANTIATE_TEST_SUITE_P(
    Options, SbatchRefuses,
    ::testing::Values(
        RefusedFile{"array", script("-N 1\n--array=0-7"), "3:9", "job arrays are not supported"},
        RefusedFile{"dependency", script("-d afterok:7"), "2:9", "dependencies between jobs are not supported"},
        RefusedFile{"nodelist", script("-w train[001-004]"), "2:9", "weft chooses the nodes"},
        RefusedFile{"exclude", script("-N 1   --exclude=train001"), "2:16", "drain a node"},
        RefusedFile{"hold", script("--hold"), "2:9", "hold the job after submitting it"},
        RefusedFile{"typo", script("--ntask-per-node=8"), "2:9", "did you mean `ntasks-per-node`?"},
        RefusedFile{"letter", script("-Y 3"), "2:9", "unknown option `-Y`"},
        RefusedFile{"word", script("-J my job"), "2:15", "quote values that contain spaces"},
        RefusedFile{"missing", script("--nodes"), "2:9", "needs a value"},
        RefusedFile{"empty", script("--nodes="), "2:9", "has an empty value"},
        RefusedFile{"flag", script("--requeue=yes"), "2:9", "has no value"},
        RefusedFile{"quote", script("-J 'a"), "2:1", "unterminated quote"},
        RefusedFile{"name", script("-J 'a b'"), "2:9", "is not a valid job name"},
        RefusedFile{"control", script("-J a\x01"), "2:9", "is not a valid job name"},
        RefusedFile{"time", script("-t 2h"), "2:9", "`2h` is not a time"},
        RefusedFile{"long", script("-t 30-0"), "2:9", "exceeds the limit of partition `train`, 1w"},
        RefusedFile{"huge", script("-N 99999999999999999999"), "2:9", "is not a number of nodes"},
        RefusedFile{"many", script("-N 2000000"), "2:9", "expected 1 to 1000000"},
        RefusedFile{"tasks", script("-n 0"), "2:9", "not a whole number between 1 and"},
        RefusedFile{"uneven", script("-N 3 -n 8"), "2:14", "8 tasks cannot be divided equally among 3 nodes"},
        RefusedFile{"gpus", script("-N 3 --gpus=8"), "2:14", "8 GPUs cannot be divided equally"},
        RefusedFile{"conflict", script("-N 2\n--gpus-per-node=8\n--gpus=8"), "4:9", "means 4 GPUs per node"},
        RefusedFile{"type", script("--gres=gpu:a100:8"), "2:9", "the cluster has no GPU of type `a100`"},
        RefusedFile{"resource", script("--gres=license:1"), "2:9", "only gpu is supported"},
        RefusedFile{"server", script("--gpus-per-node=9"), "2:9", "9 GPUs per server requested"},
        RefusedFile{"partition", script("-p tarin"), "2:9", "tarin"},
        RefusedFile{"account", script("-A team-alfa"), "2:9", "team-alfa"},
        RefusedFile{"qos", script("-q fast"), "2:9", "fast"},
        RefusedFile{"output", script("-o %a.log"), "2:9", "`%a` in a file name is not supported"},
        RefusedFile{"input", script("-i data"), "2:9", "only /dev/null is supported"},
        RefusedFile{"variable", script("--export=HOME"), "2:9", "write NAME=value"},
        RefusedFile{"chdir", script("-D ../x"), "1:1", "is not a valid path"},
        RefusedFile{"signal", script("--signal=USR9"), "2:9", "`USR9` is not a signal"},
        RefusedFile{"hetjob", script("hetjob"), "2:9", "heterogeneous jobs are not supported"}),
    [](const auto& test) { return std::string(test.param.what); });

INSTANTIATE_TEST_SUITE_P(
    Scripts, SbatchRefuses,
    ::testing::Values(
        RefusedFile{"interpreter", "#!/usr/bin/python3\nprint()\n", "1:3",
                    "interpreter `/usr/bin/python3` is not supported"},
        RefusedFile{"env", "#!/usr/bin/env python3\nprint()\n", "1:3", "is not supported"},
        RefusedFile{"shebang", "#SBATCH -N 1\ntrue\n", "1:1", "must name its interpreter"},
        RefusedFile{"option", "#!/bin/bash -c\ntrue\n", "1:3", "option `-c` of the interpreter"},
        RefusedFile{"bare", "#!\ntrue\n", "1:3", "is not supported"},
        RefusedFile{"crlf", "#!/bin/bash\r\n#SBATCH -N 1\r\ntrue\r\n", "1:12", "DOS line ends"},
        RefusedFile{"open", script("-N 1", "echo 'a\nsrun b\n"), "3:6", "unterminated quote"},
        RefusedFile{"head", script("-N 4", "ip=$(srun -N1 -n1 -w \"$head\" hostname)\nsrun a\n"), "3:19",
                    "$MASTER_ADDR"},
        RefusedFile{"nodes", script("-N 4", "srun --nodes=1 a\n"), "3:6", "runs on every node of the job (4)"},
        RefusedFile{"ntasks", script("-N 4", "srun -n 6 a\n"), "3:6", "6 tasks cannot be divided equally"},
        RefusedFile{"unknown", script("-N 4", "srun --lable a\n"), "3:6", "did you mean `label`?"},
        RefusedFile{"redirect", script("-N 1", "srun -o log a\n"), "3:6", "redirect the output"},
        RefusedFile{"mpi", script("-N 1", "srun --mpi=pmix a\n"), "3:6", "--mpi=pmix is not supported"},
        RefusedFile{"none", script("-N 1", "srun\n"), "3:1", "no program to run"},
        RefusedFile{"value", script("-N 1", "srun --ntasks\n"), "3:6", "needs a value"},
        RefusedFile{"path", script("-N 1", "/usr/bin/srun a\n"), "3:1", "called by its path"},
        RefusedFile{"exec", script("-N 1", "exec srun a\n"), "3:6", "srun inside `exec`"},
        RefusedFile{"nested", script("-N 1", "bash -c 'srun a'\n"), "3:9", "srun inside `bash`"},
        RefusedFile{"squeue", script("-N 1", "while squeue -j 1; do sleep 1; done\n"), "3:7",
                    "`squeue` is not supported"},
        RefusedFile{"mpirun", script("-N 1", "mpirun -np 8 a\n"), "3:1", "start it with srun"},
        RefusedFile{"scontrol", script("-N 1", "scontrol update x\n"), "3:1", "scontrol show hostnames"},
        RefusedFile{"scancel", script("-N 1", "scancel $SLURM_JOB_ID\n"), "3:1", "scancel --signal"},
        RefusedFile{"mounts", script("-N 1", "srun --container-mounts=/a:/b c\n"), "3:6", "would not be mounted"}),
    [](const auto& test) { return std::string(test.param.what); });

TEST(Sbatch, ReportsEveryErrorInOneRun) {
  const Submitted out = submit(script("--array=1\n--nodes=x\n--time=2h", "squeue\nsrun --wat a\n"));
  EXPECT_EQ(out.errors, 5U) << out.messages;
}

TEST(Sbatch, AcceptsTheRunningExample) {
  const Result<std::string> text = read_file(source_dir() + "/examples/running/train.sbatch");
  ASSERT_TRUE(text.ok());
  const Submitted out = submit(*text, "train.sbatch");
  ASSERT_TRUE(out.spec.has_value()) << out.messages;
  EXPECT_EQ(shape(out).tasks, 8);
  EXPECT_EQ(shape(out).task.gpus, 8);
  EXPECT_EQ(shape(out).task.cpu, 96'000);
}

}  // namespace
}  // namespace weft::serve

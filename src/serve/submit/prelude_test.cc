// Runs the command of a submitted script or job in real shells, with the variables that an engine sets.
#include <gmock/gmock.h>

#include "base/process.h"
#include "base/text.h"
#include "serve/submit/submission_test_help.h"

namespace weft::serve {
namespace {

using ::testing::HasSubstr;

using Variables = std::vector<std::pair<std::string, std::string>>;

// One task of the job: rank 1 of 2 nodes, unless told otherwise.
ProcessOutcome run_task(const Submitted& job, const Variables& more = {}) {
  ProcessRequest request;
  request.words = job.job().command;
  request.environment = job.job().environment;
  for (const auto& [name, value] : Variables{{"WEFT_JOB_ID", "42"},
                                             {"WEFT_ATTEMPT", "3"},
                                             {"RANK", "1"},
                                             {"WORLD_SIZE", "2"},
                                             {"MASTER_ADDR", "n1"},
                                             {"MASTER_PORT", "29500"},
                                             {"WEFT_NODELIST", "n1,n2"},
                                             {"CUDA_VISIBLE_DEVICES", "4,5,6,7"}}) {
    request.environment.emplace_back(name, value);
  }
  for (const auto& variable : more) request.environment.push_back(variable);
  if (request.words.empty()) return {};
  const Result<ProcessOutcome> outcome = run_process(request);
  if (outcome.ok()) return *outcome;
  ADD_FAILURE() << outcome.error().text();
  return {};
}

class Prelude : public ::testing::TestWithParam<const char*> {
 protected:
  static Submitted script(const std::string& body, const std::string& directives = "#SBATCH -N 2\n") {
    return submit("#!" + std::string(GetParam()) + "\n" + directives + body);
  }
  static std::string output(const std::string& body, const std::string& directives = "#SBATCH -N 2\n") {
    const ProcessOutcome outcome = run_task(script(body, directives));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
};

TEST_P(Prelude, SetsVariablesOfSlurm) {
  EXPECT_EQ(output("echo $SLURM_JOB_ID $SLURM_NNODES $SLURM_NTASKS $SLURM_NODEID $SLURM_PROCID $SLURM_JOB_NODELIST "
                   "$SLURMD_NODENAME $SLURM_RESTART_COUNT $SLURM_JOB_NAME\n",
                   "#SBATCH -N 2 --ntasks-per-node=4 -J llm\n"),
            "42 2 8 1 4 n1,n2 n2 2 llm\n");
  EXPECT_EQ(output("scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1\nscontrol show hostnames\n"),
            "n1\nn1\nn2\n");
}

TEST_P(Prelude, RunsTheProgramOfSrun) {
  EXPECT_EQ(
      output("echo before\nA=1 srun --label -N 2 --cpu-bind none sh -c 'echo \"$A $0 $1\" $SLURM_PROCID' x 'y  z'\n"
             "echo after\n"),
      "before\n1 x y  z 1\nafter\n");
  EXPECT_EQ(output("set -eu\nsrun -- echo -n a\nv=$(srun echo b)\necho $v\necho c | srun cat\n"), "ab\nc\n");
  EXPECT_EQ(output("OPTIONS='-l -u --gres=gpu:8'\nsrun $OPTIONS echo a\n"), "a\n");
}

TEST_P(Prelude, StartsTasksOfANode) {
  const std::string tasks =
      "srun sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $RANK/$WORLD_SIZE $LOCAL_RANK $CUDA_VISIBLE_DEVICES' | sort\n";
  EXPECT_EQ(output(tasks, "#SBATCH -N 2 --ntasks-per-node=2\n"), "2 0 2/4 0 4,5,6,7\n3 1 3/4 1 4,5,6,7\n");
  EXPECT_EQ(output(tasks, "#SBATCH -N 2 -n 4 --gpus-per-task=2\n"), "2 0 2/4 0 4,5\n3 1 3/4 1 6,7\n");
  EXPECT_EQ(output("srun -n 4 sh -c 'echo $SLURM_PROCID' | sort\n"), "2\n3\n");
}

TEST_P(Prelude, ReturnsTheStatusOfTheProgram) {
  EXPECT_EQ(run_task(script("srun sh -c 'exit 7'\n")).code, 7);
  EXPECT_EQ(run_task(script("srun false || echo failed\n")).out, "failed\n");
  EXPECT_EQ(run_task(script("srun sh -c 'exit $SLURM_PROCID'\n", "#SBATCH -N 2 --ntasks-per-node=3\n")).code, 5);
  EXPECT_EQ(run_task(script("srun sh -c 'exit 3' &\nstep=$!\nwait $step\nexit $?\n")).code, 3);
  EXPECT_EQ(run_task(script("srun no-such-program-here\n")).code, 127);
  EXPECT_EQ(run_task(script("scontrol requeue $SLURM_JOB_ID\necho not reached\n")).code, 75);
}

TEST_P(Prelude, StopsOtherTasksIfAsked) {
  const Submitted job = script("srun --kill-on-bad-exit=1 sh -c '[ $SLURM_LOCALID = 0 ] || exit 5; exec sleep 20'\n",
                               "#SBATCH -N 2 -n 4\n");
  EXPECT_EQ(run_task(job).code, 143);  // of the task that was stopped
}

TEST_P(Prelude, RefusesOptionsThatAreKnownOnlyNow) {
  const ProcessOutcome unknown = run_task(script("A=--wat\nsrun $A echo a\n"));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("srun: --wat is not supported"));
  const ProcessOutcome nodes = run_task(script("N=1\nsrun --nodes=$N echo a\n"));
  EXPECT_EQ(nodes.code, 2);
  EXPECT_THAT(nodes.err, HasSubstr("the job has 2 nodes"));
  EXPECT_EQ(run_task(script("A=\nsrun $A\n")).code, 2);
}

TEST_P(Prelude, PassesSignalsOnToSteps) {
  // The signal is sent once the program handles it, which a file that it removes shows.
  const auto send = [](const std::string& signal) {
    return "ready=$(mktemp)\n(while [ -e \"$ready\" ]; do sleep 0.05; done; kill -s " + signal + " $$) &\n";
  };
  const std::string program =
      "sh -c 'trap \"echo saved; exit 0\" USR1 TERM; rm \"$0\"; while :; do sleep 0.05; done' \"$ready\"";
  // A trap of the script, as in what weft renders.
  EXPECT_EQ(output("trap 'scancel --signal=TERM \"$SLURM_JOB_ID\"' USR1\n" + send("USR1") + "srun " + program +
                       " &\nstep=$!\nwait $step || wait $step\necho done\n",
                   "#SBATCH -N 2 --signal=B:USR1@60\n"),
            "saved\ndone\n");
  // Without B: the script does not handle it.
  EXPECT_EQ(output(send("USR1") + "srun " + program + "\necho done\n", "#SBATCH -N 2 --signal=USR1@60\n"),
            "saved\ndone\n");
  EXPECT_EQ(output(send("TERM") + "srun " + program + "\necho done\n"), "saved\ndone\n");
}

TEST_P(Prelude, ChangesDirectoryAndVariablesOfTheStepOnly) {
  EXPECT_EQ(output("cd /usr\nsrun -D / --export=ALL,X=5 sh -c 'echo $PWD $X'\necho $PWD ${X:-none}\n"),
            "/ 5\n/usr none\n");
}

INSTANTIATE_TEST_SUITE_P(Shells, Prelude, ::testing::Values("/bin/bash", "/bin/sh", "/bin/bash -eu"));

TEST(Launch, SetsTheRendezvousOfTorchrun) {
  const Submitted job = submit(
      "job: 1\nname: a\nnodes: 2\ncommand: [/bin/sh, -c, \"echo $PET_NNODES $PET_NODE_RANK "
      "$PET_MASTER_ADDR:$PET_MASTER_PORT "
      "$PET_NPROC_PER_NODE $PET_MAX_RESTARTS $JOB_COMPLETION_INDEX $0\", \"x y\"]\n");
  const ProcessOutcome outcome = run_task(job);
  EXPECT_EQ(outcome.out, "2 1 n1:29500 8 0 1 x y\n") << outcome.err;
}

}  // namespace
}  // namespace weft::serve

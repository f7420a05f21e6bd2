// Slurm and Kubernetes on the same nodes, each node leased to one of them at a time: jobs of both, moves, what a person
// submits beside weft, processes that outlive their job (slurm-bridge #36), restarts in the middle of moves
// (slurm-bridge #43). No node is ever used by both, as the processes that use the GPUs' stand-ins see it themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <map>

#include "kube_apply.h"
#include "two_engines_fixture.h"

namespace weft {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing_lab::Lab;
using testing_program::contents;

class TwoEnginesTest : public testing_slurm::TwoEngines {
 protected:
  void TearDown() override {
    if (lab_ != nullptr && HasFailure()) {
      std::cerr << weft({"lease", "list"}).out << weft({"job", "list", "--all"}).out << slurm({"squeue", "-a"})
                << slurm({"sinfo", "-N", "-l"});
    }
    kubelets_.reset();
    TwoEngines::TearDown();
  }
  void move(const std::string& nodes, const std::string& engine, bool preempt = false) {
    std::vector<std::string> words = {"lease", "move", nodes, "--to", engine, "--reason", "test"};
    if (preempt) words.emplace_back("--preempt");
    const ProcessOutcome moved = weft(words);
    EXPECT_EQ(moved.code, 0) << moved.err;
  }
  void expect_no_violation() const { EXPECT_EQ(contents(file("violations")), ""); }

  // One part of the two engines, or weft itself, ends without notice and is started again.
  void crash(RandomStream& random) {
    const int node = static_cast<int>(random.below(4));
    switch (random.below(8)) {
      case 0:
      case 1:
        stop_server(SIGKILL);
        start_both(halves_);
        ASSERT_TRUE(wait_for([&] { return weft({"status"}).code == 0; })) << history();
        break;
      case 2:  // SIGTERM: killed within five seconds of a change, slurmctld loses jobs by itself
        ::kill(controller_, SIGTERM);
        ASSERT_TRUE(wait_for([&] { return !lab_->alive(controller_); }));
        start_controller();
        break;
      case 3:  // its steps go on
        kill_process(slurmds_[node_name(node)]);
        start_slurmd(node);
        break;
      case 4:
        space_.cluster().kill_apiserver();
        ASSERT_EQ(space_.cluster().start_apiserver(), "");
        break;
      default:
        break;
    }
  }
  const std::vector<std::string> halves_ = {"--first-owner", "kubernetes:" + node_name(2) + "," + node_name(3)};
};

TEST_F(TwoEnginesTest, NodesMoveBetweenSlurmAndKubernetes) {
  start_both();
  ASSERT_TRUE(wait_for([&] { return are_held("slurm"); })) << history();
  // Kubernetes keeps away from nodes that are not its own.
  ASSERT_TRUE(wait_for([&] {
    const Result<Value> node = space_.cluster().admin().client.get(kube::kNodes, {"", node_name(0)});
    return node.ok() && !kube::list(*node, {"spec", "taints"}).empty();
  }));

  // A job for Kubernetes waits until Kubernetes has a node.
  const std::string pods = hold("kubernetes", "600", "pods.stop");
  const std::string batch = hold("slurm", "600", "batch.stop");
  ASSERT_TRUE(wait_for([&] { return state_of(batch) == "running"; })) << history();
  EXPECT_EQ(state_of(pods), "queued");
  const std::string busy = job(batch).value("nodes", "");
  int busy_node = 0;
  while (testing_slurm::SlurmFixture::node_name(busy_node) != busy) ++busy_node;
  const int idle_node = busy_node == 0 ? 1 : 0;

  // An idle node moves; the one with a job waits for it and says so.
  move(node_name(idle_node), "kubernetes");
  move(busy, "kubernetes");
  ASSERT_TRUE(wait_for([&] { return is_held(idle_node, "kubernetes"); })) << history();
  ASSERT_TRUE(wait_for([&] { return state_of(pods) == "running"; })) << history();
  ASSERT_TRUE(wait_for([&] { return !users_of(idle_node).empty(); }));
  EXPECT_THAT(users_of(idle_node).front(), HasSubstr("kubernetes."));
  EXPECT_THAT(lease(busy_node).value("state", ""), HasSubstr("moves to kubernetes"));
  EXPECT_THAT(lease(busy_node).value("waits", ""), HasSubstr("job " + batch + " of weft"));

  // A person's job on a node of Kubernetes does not start: Slurm has drained the node, and the gate is closed.
  lab_->put("person.sh", "#!/bin/sh\ntouch " + file("person.ran") + "\n");
  const std::string person(
      trim(slurm({"sbatch", "--parsable", "-w", node_name(idle_node), "-o", "/dev/null", file("person.sh")})));
  // A person's pod that names its node itself, past every scheduler, is refused at the gate of a node of Slurm.
  int slurm_node = 0;
  while (slurm_node == busy_node || slurm_node == idle_node) ++slurm_node;
  ASSERT_TRUE(is_held(slurm_node, "slurm"));
  const ProcessOutcome refused =
      weft_gate(node_name(slurm_node), {"check", "--owner", "kubernetes", "--entry", "person"});
  EXPECT_EQ(refused.code, 4) << refused.out << refused.err;

  // The server is killed in the middle of the move, which continues.
  stop_server(SIGKILL);
  start_both();
  lab_->put("batch.stop", "");
  ASSERT_TRUE(wait_for([&] { return is_held(busy_node, "kubernetes"); })) << history();
  ASSERT_TRUE(wait_for([&] { return state_of(batch) == "done"; })) << history();
  EXPECT_EQ(state_of(pods), "running") << "it was not touched by the restart";
  EXPECT_EQ(job(pods).value("attempt", 0), 1);
  EXPECT_FALSE(testing_slurm::fs::exists(file("person.ran")));

  // Back to Slurm, with preemption: the job for Kubernetes goes to another node of Kubernetes.
  move(node_name(idle_node), "slurm", true);
  ASSERT_TRUE(wait_for([&] { return is_held(idle_node, "slurm"); })) << history();
  ASSERT_TRUE(wait_for([&] { return testing_slurm::fs::exists(file("person.ran")); })) << slurm({"squeue"});
  ASSERT_TRUE(wait_for([&] { return state_of(pods) == "running" && job(pods).value("nodes", "") == busy; }))
      << history();
  lab_->put("pods.stop", "");
  ASSERT_TRUE(wait_for([&] { return state_of(pods) == "done"; })) << history();
  expect_no_violation();
}

// slurm-bridge #36: the scheduler says that the job has ended, and a process of it still uses the GPU.
TEST_F(TwoEnginesTest, AProcessThatOutlivesItsJobKeepsTheNode) {
  start_both();
  ASSERT_TRUE(wait_for([&] { return are_held("slurm"); })) << history();
  lab_->put("escape.sh", "#!/bin/sh\nsetsid sh -c 'exec 3<" + file("dev/" + node_name(0) + ".gpu0") +
                             "; while [ ! -e " + file("escape.stop") + " ]; do sleep 0.1; done' >/dev/null 2>&1 &\n" +
                             "while ! ls -l /proc/$!/fd 2>/dev/null | grep -q gpu0; do sleep 0.1; done\n");
  slurm({"sbatch", "--parsable", "-w", node_name(0), "-o", "/dev/null", "--wait", file("escape.sh")});
  const std::string pods = hold("kubernetes", "1");
  move(node_name(0), "kubernetes");
  ASSERT_TRUE(wait_for([&] { return contains(lease(0).value("waits", ""), "a process uses its GPUs"); })) << history();
  stop_server(SIGKILL);  // slurm-bridge #43: after a restart nothing is known, which is not "nothing runs"
  start_both();
  ASSERT_TRUE(wait_for([&] { return contains(lease(0).value("waits", ""), "a process uses its GPUs"); })) << history();
  EXPECT_EQ(state_of(pods), "queued");
  lab_->put("escape.stop", "");
  ASSERT_TRUE(wait_for([&] { return state_of(pods) == "done"; })) << history();
  expect_no_violation();
}

// With the rights of the rendered roles, and not with those of an administrator.
TEST_F(TwoEnginesTest, TheRenderedRolesSuffice) {
  testing_kube::KubeLab& cluster = space_.cluster();
  lab_->put("both.yaml", contents(file("cluster.yaml")) + "control_plane: {kind: both}\n");
  const ProcessOutcome rendered =
      weft({"render", file("both.yaml"), "-o", file("tree"), "--target", "kubernetes/serve"});
  ASSERT_EQ(rendered.code, 0) << rendered.err;
  for (const char* path : {"10-namespaces.yaml", "20-access.yaml"})
    ASSERT_NO_FATAL_FAILURE(testing_kube::apply_file(cluster, file(std::string("tree/kubernetes/serve/") + path)));
  space_.put_kubeconfig("role.kubeconfig", testing_kube::account_token(cluster, {"weft", "weft"}));
  const std::vector<std::string> access = {"--kubeconfig", space_.file("role.kubeconfig"), "--namespace", "weft-jobs"};
  start_both(access);
  int status = 0;
  ASSERT_TRUE(wait_for([&] { return ::waitpid(server_, &status, WNOHANG) == server_; })) << history();
  server_ = 0;
  EXPECT_EQ(WEXITSTATUS(status), 4) << history();
  EXPECT_THAT(history(), HasSubstr("pods"));
  ASSERT_NO_FATAL_FAILURE(testing_kube::apply_file(cluster, file("tree/kubernetes/serve/leases/10-pods.yaml")));
  start_both(access);
  ASSERT_TRUE(wait_for([&] { return are_held("slurm"); })) << history();
  move(node_name(0), "kubernetes");
  ASSERT_TRUE(wait_for([&] { return is_held(0, "kubernetes"); })) << history();
  move(node_name(0), "slurm");
  ASSERT_TRUE(wait_for([&] { return is_held(0, "slurm"); })) << history();
}

// Pattern A on one server: CPU steps on the nodes of Kubernetes, GPU steps on those of Slurm.
TEST_F(TwoEnginesTest, APipelineUsesBothEnginesOfOneServer) {
  start_both({"--first-owner", "kubernetes:" + node_name(3)});
  ASSERT_TRUE(wait_for([&] { return is_held(0, "slurm") && is_held(3, "kubernetes"); })) << history();
  lab_->put("both.pipeline.yaml",
            "pipeline: 1\nname: both\nsteps:\n"
            "  - {name: prepare, job: {command: [/bin/touch, " +
                file("prepared") +
                "]}}\n"
                "  - {name: train, needs: [prepare], job: {gpus_per_node: 8, tenant: team-a, command: [/bin/sh, -c, "
                "'test -e " +
                file("prepared") + " && echo trained on $SLURMD_NODENAME']}}\n");
  const pid_t run = lab_->start({weft_binary(), "pipeline", "run", file("both.pipeline.yaml"), "--on",
                                 "kubernetes=" + file("s"), "--on", "slurm=" + file("s"), "--state", file("runs")});
  ASSERT_TRUE(wait_for([&] { return !lab_->alive(run); }));
  const ProcessOutcome shown = weft({"pipeline", "show", "both-1", "--state", file("runs"), "-o", "json"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("trained on train00"));
  EXPECT_THAT(history(), HasSubstr("job 1: attempt 1 placed on " + node_name(3)));
  EXPECT_THAT(history(), HasSubstr("job 2: attempt 1 placed on train00"));
  EXPECT_THAT(history(), ::testing::Not(HasSubstr("job 2: attempt 1 placed on " + node_name(3))));
}

// Random submissions, moves and crashes of weft serve, slurmctld, slurmd and the API server. WEFT_TWO_ENGINE_ROUNDS
// sets another number of rounds.
TEST_F(TwoEnginesTest, RandomMovesLoseNoJobAndShareNoNode) {
  const char* wanted = std::getenv("WEFT_TWO_ENGINE_ROUNDS");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  const int rounds = wanted == nullptr ? 8 : std::atoi(wanted);
  RandomStream random(20'261'117, "two engines");
  start_both(halves_);
  ASSERT_TRUE(wait_for([&] {
    return is_held(0, "slurm") && is_held(1, "slurm") && is_held(2, "kubernetes") && is_held(3, "kubernetes");
  })) << history();
  std::vector<std::string> jobs;
  const char* engines[] = {"slurm", "kubernetes"};
  for (int round = 0; round < rounds; ++round) {
    for (const char* each : engines) jobs.push_back(hold(each, std::to_string(random.below(4))));
    const int node = static_cast<int>(random.below(4));
    const char* engine = engines[random.below(2)];
    move(node_name(node), engine, random.below(2) == 0);
    crash(random);
    ASSERT_FALSE(HasFatalFailure());
    // Most moves end before the next one, and some are overtaken. An engine without a node lets its jobs wait.
    if (random.below(4) != 0)
      (void)wait_for([&] { return lease(node).value("state", "") == "held" || random.below(200) == 0; });
    const std::size_t open = jobs.size() > 8 ? jobs.size() - 8 : 0;
    (void)wait_for([&] { return open == 0 || state_of(jobs[open - 1]) != "queued" || random.below(64) == 0; });
  }
  // Both engines have a node in the end, so that every job can run.
  move(node_name(0), "slurm");
  move(node_name(3), "kubernetes");
  for (const std::string& number : jobs) {
    ASSERT_TRUE(wait_for([&] { return state_of(number) == "done"; })) << number << "\n" << history();
  }
  expect_no_violation();
  std::map<std::string, int> moves;
  for (int i = 0; i < nodes_; ++i) moves[node_name(i)] = lease(i).value("moves", 0);
  int total = 0;
  for (const auto& [node, count] : moves) total += count;
  EXPECT_GT(total, 0) << "the test must move nodes";
  RecordProperty("moves", total);
}

}  // namespace
}  // namespace weft

// Jobs of engine kubernetes as their users see them: images, checkpoints on shared volumes, output. The API server is
// real; the kubelets are simulated and run containers as processes of this machine (kubelet_sim.h).
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine_kube_fixture.h"
#include "kube/json_fields.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing_kube::KubeletSim;
using testing_lab::Lab;

class EngineKubeJobs : public testing_kube::EngineKubeTest {
 protected:
  [[nodiscard]] std::string variable(const std::string& pod, const std::string& name) {
    const Result<Value> found = cluster_->admin().client.get(kube::kPods, {space(), pod});
    if (!found.ok()) return found.error().text();
    for (const Value& each : kube::list(kube::list(*found, {"spec", "containers"}).at(0), {"env"})) {
      if (kube::raw_text(each, {"name"}) == name) return kube::raw_text(each, {"value"});
    }
    return "(none)";
  }
  void put_training_job() {
    std::filesystem::create_directories(file("a"));
    std::filesystem::create_directories(file("b"));
    space_.folder().put("train.yaml",
                        "job: 1\nname: train\nnodes: 2\nimage: registry.example/train:7\ncommand: [python3, " +
                            source_dir() +
                            "/examples/tiny_train.py, --steps, \"1000000\", --step-time, \"0.02\", "
                            "--checkpoint-steps, \"5\", --pause-step, \"12\", --pause-file, " +
                            file("go") + "]\ncheckpoint: {volumes: [" + file("a") + ", " + file("b") +
                            "], notice: file}\nrestart: {backoff: 100ms}\n");
  }
  [[nodiscard]] bool wait_checkpoint(const std::string& number, int step) {
    return wait([&] { return job(number).value("checkpoint_step", 0) == step; });
  }
};

TEST_F(EngineKubeJobs, AGangRestoresItsLastIntactCheckpoint) {
  boot_ = KubeletSim::kernel_boot_id();
  start_cluster("restore");
  if (IsSkipped() || HasFatalFailure()) return;
  kubelets_->run_processes();
  put_training_job();
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit("train.yaml");
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
  ASSERT_TRUE(wait_checkpoint(number, 10)) << log();  // the training waits after step 12
  const std::string pod = "weft-" + number + "-1-0";
  const Result<Value> made = cluster_->admin().client.get(kube::kPods, {space(), pod});
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(kube::raw_text(kube::list(*made, {"spec", "containers"}).at(0), {"image"}), "registry.example/train:7");
  EXPECT_EQ(variable(pod, "WEFT_RESTORE"), "");

  // The newest checkpoint is damaged, and a process dies: the gang restores the one before.
  const std::string older = file("a/job-" + number + "/step-000000000005");
  const std::string newer = file("b/job-" + number + "/step-000000000010");
  ASSERT_TRUE(std::filesystem::exists(older) && std::filesystem::exists(newer));
  std::ofstream(newer + "/state.json") << "torn";
  kubelets_->kill_process("weft-" + number + "-1-1");
  ASSERT_TRUE(wait_state(number, "running", 2)) << log();
  EXPECT_EQ(variable("weft-" + number + "-2-0", "WEFT_RESTORE"), older);

  // A weft that restarts while the job runs knows its volumes from the pods: new checkpoints are seen.
  ASSERT_TRUE(wait_checkpoint(number, 10)) << log();
  stop_server(SIGTERM);
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  space_.folder().put("go", "");
  ASSERT_TRUE(wait([&] { return job(number).value("checkpoint_step", 0) > 10; })) << log();

  // A drill: it is asked for a checkpoint by a file on the volume, stopped, and restored on other nodes.
  ProcessOutcome drill;
  std::atomic<bool> ended{false};
  std::thread user([&] {
    drill = weft({"drill", "run", "checkpoint", "--job", number});
    ended = true;
  });
  const bool finished = wait([&] { return ended.load(); });
  user.join();
  ASSERT_TRUE(finished) << log();
  EXPECT_EQ(drill.code, 0) << drill.err << log();
  EXPECT_THAT(drill.out, HasSubstr("passed"));
  EXPECT_EQ(job(number)["attempt"], 3);
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  ASSERT_TRUE(wait([&] { return job(number).value("state", "") == "canceled"; })) << log();
}

// A node on which something else is at the path of the volume: its checkpoints would never be found again.
TEST_F(EngineKubeJobs, ANodeWithAnotherVolumeStartsNothing) {
  boot_ = KubeletSim::kernel_boot_id();
  start_cluster("volumes");
  if (IsSkipped() || HasFatalFailure()) return;
  kubelets_->run_processes();
  kubelets_->map_volume(file("b"), file("elsewhere"));
  put_training_job();
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit("train.yaml");
  ASSERT_TRUE(wait([&] { return contains(log(), "does not have the checkpoint volume"); })) << log();
  EXPECT_FALSE(std::filesystem::exists(file("a/job-" + number + "/step-000000000005")));
  // And a volume that weft itself does not have is named before any pod exists.
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  std::filesystem::remove_all(file("a"));
  const std::string second = submit("train.yaml");
  ASSERT_TRUE(wait([&] { return contains(log(), "a checkpoint volume cannot be read: " + file("a/job-" + second)); }))
      << log();
  for (const auto& [pod, place] : pods()) EXPECT_FALSE(pod.starts_with("weft-" + second + "-")) << pod;
}

TEST_F(EngineKubeJobs, LogsAreReadThroughTheApiServer) {
  start_cluster("logs");
  if (IsSkipped() || HasFatalFailure()) return;
  std::filesystem::create_directories(file("logs"));
  space_.folder().start({"sh", "-c",
                         "exec python3 " + source_dir() + "/tests/kubelet_logs.py " + file("logs") + " " +
                             cluster_->file("server.crt") + " " + cluster_->file("server.key") + " > " + file("port")});
  ASSERT_TRUE(Lab::wait(30, [&] { return contains(Lab::contents(file("port")), "\n"); }));
  kubelets_->serve_logs(std::stoi(Lab::contents(file("port"))));
  for (int i = 1; i <= 5; ++i) ASSERT_EQ(kubelets_->report_node(node(i), "True"), "");
  start_server();
  ASSERT_TRUE(wait_ready()) << log();
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log();
  const std::string first = file("logs/weft-" + number + "-1-0.rank0");
  const auto add = [&](const std::string& text) { std::ofstream(first, std::ios::app) << text; };
  EXPECT_NE(weft({"job", "logs", number, "--task", "1"}).code, 0);  // the kubelet has no such file
  add("2025-10-09T08:53:20.000000001Z one\n2025-10-09T08:53:20.000000001Z two\n");
  std::ofstream(file("logs/weft-" + number + "-1-1.rank1")) << "2025-10-09T08:53:20.5Z other\n";
  const ProcessOutcome whole = weft({"job", "logs", number});
  EXPECT_EQ(whole.out, "one\ntwo\n") << whole.err;
  EXPECT_EQ(weft({"job", "logs", number, "--task", "1"}).out, "other\n");

  // What is added is printed once, also within the same second and with the same time.
  space_.folder().start({"sh", "-c",
                         "WEFT_SOCKET=" + file("s") + " exec " + weft_binary() + " job logs " + number +
                             " --follow > " + file("followed")});
  const auto followed = [&] { return Lab::contents(file("followed")); };
  ASSERT_TRUE(wait([&] { return followed() == "one\ntwo\n"; })) << followed();
  add("2025-10-09T08:53:20.000000001Z three\n");
  ASSERT_TRUE(wait([&] { return followed() == "one\ntwo\nthree\n"; })) << followed();
  add("2025-10-09T08:53:20.9Z four\n2025-10-09T08:53:21Z five\n");
  ASSERT_TRUE(wait([&] { return followed() == "one\ntwo\nthree\nfour\nfive\n"; })) << followed();
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  EXPECT_TRUE(wait([&] { return job(number).value("state", "") == "canceled"; })) << log();
  // Its pods are gone now, and with them the output.
  ASSERT_TRUE(wait([&] { return pods().empty(); }));
  const ProcessOutcome gone = weft({"job", "logs", number});
  EXPECT_NE(gone.code, 0);
  EXPECT_THAT(gone.err, HasSubstr("Kubernetes keeps the output of a container as long as its pod"));
}

}  // namespace
}  // namespace weft

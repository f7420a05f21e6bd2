// Pipelines over two engines, as a user runs them: steps with GPUs on a real Slurm; steps without on Kubernetes (a real
// API server; the kubelets are simulated and run containers as processes) or, where there is none, on engine local. One
// step fails, one is canceled, and `weft pipeline run` is killed and continued.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "kube_fixture.h"
#include "kubelet_sim.h"
#include "slurm_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using testing_kube::KubeletSim;
using testing_lab::Lab;
using testing_program::contents;

// @CPU@ is an engine without GPUs, @DIR@ the folder of the test. Each program notes that it started.
constexpr const char* kPipeline = R"(pipeline: 1
name: mixed
parameters: {shard: none}
steps:
  - name: prepare
    engine: @CPU@
    outputs: {shard: @DIR@/shard}
    job: {command: [sh, -c, "echo x >> @DIR@/prepare; echo {{parameters.shard}} > @DIR@/shard"]}
  - name: train
    needs: [prepare]
    job:
      gpus_per_node: 8
      command: [sh, -c, "echo x >> @DIR@/train; until [ -e @DIR@/go ]; do sleep 0.1; done; echo trained-$0",
                "{{steps.prepare.outputs.shard}}"]
  - name: report
    engine: @CPU@
    needs: [train]
    job: {command: [sh, -c, "echo x >> @DIR@/report; echo report of $0", "{{steps.train.outputs.result}}"]}
  - name: broken
    retries: 1
    retry_delay: 100ms
    job: {gpus_per_node: 1, command: [sh, -c, "echo x >> @DIR@/broken; exit 3"]}
  - name: after-broken
    engine: @CPU@
    needs: [broken]
    job: {command: [touch, "@DIR@/never"]}
  - name: endless
    job: {gpus_per_node: 1, command: [sh, -c, "echo x >> @DIR@/endless; exec sleep 100000"]}
  - name: after-endless
    needs: [endless]
    engine: @CPU@
    job: {command: [touch, "@DIR@/never"]}
)";

class PipelineTest : public testing_slurm::SlurmFixture {
 protected:
  void TearDown() override {
    stop_kubelets_ = true;
    if (kubelet_thread_.joinable()) kubelet_thread_.join();
    for (const pid_t pid : {cpu_server_, runner_}) {
      if (pid <= 0) continue;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    if (HasFailure()) std::cerr << contents(file("cpu.log")) << contents(file("runner.log"));
    SlurmFixture::TearDown();
  }

  pid_t launch(std::vector<std::string> words, const std::string& log) const {
    words.insert(words.begin(), weft_binary());
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    const int out = ::open(file(log).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }

  void start_local() {
    cpu_ = "local";
    cpu_server_ =
        launch({"serve", file("cluster.yaml"), "--state", file("cpu"), "--socket", file("c"), "-v"}, "cpu.log");
  }

  void start_kubernetes() {
    cpu_ = "kubernetes";
    ASSERT_EQ(space_.open("pipeline"), "");
    testing_kube::KubeLab& cluster = space_.cluster();
    user_ = cluster.make_user(cluster.access());
    kubelets_ = std::make_unique<KubeletSim>(user_->client, space_.name());
    kubelets_->run_processes();
    fs::create_directories(file("logs"));
    kubelets_->keep_output(file("logs"));
    lab_->start({"sh", "-c",
                 "exec python3 " + source_dir() + "/tests/kubelet_logs.py " + file("logs") + " " +
                     cluster.file("server.crt") + " " + cluster.file("server.key") + " > " + file("log-port")});
    ASSERT_TRUE(Lab::wait(30, [&] { return contains(contents(file("log-port")), "\n"); }));
    kubelets_->serve_logs(std::stoi(contents(file("log-port"))));
    for (int i = 1; i <= 2; ++i) {
      ASSERT_EQ(kubelets_->add_node(space_.prefix() + "00" + std::to_string(i), KubeletSim::kernel_boot_id()), "");
    }
    lab_->put("kube.yaml", "weft: 1\nname: kube2\npools:\n  - {name: " + space_.prefix() +
                               ", role: training, server: hgx-h100, count: 2, per_rack: 1}\n");
    cpu_server_ = launch(
        {"serve", file("kube.yaml"), "--state", file("cpu"), "--socket", file("c"), "--engine", "kubernetes", "--image",
         "busybox", "--kubeconfig", cluster.file("admin.kubeconfig"), "--namespace", space_.name(), "-v"},
        "cpu.log");
    kubelet_thread_ = std::thread([this] {
      while (!stop_kubelets_) {
        (void)kubelets_->step();
        pause();
      }
    });
  }

  void wait_cpu_ready() {
    ASSERT_TRUE(Lab::wait(120, [&] {
      const ProcessOutcome status = weft({"status", "-o", "json", "--socket", file("c")});
      const json facts = json::parse(status.out, nullptr, false);
      return status.code == 0 && facts["server"]["nodes"] == facts["server"]["usable_nodes"];
    })) << contents(file("cpu.log"));
  }

  [[nodiscard]] std::vector<std::string> run_words(const std::string& name) const {
    return {"pipeline",
            "run",
            file(name),
            "--on",
            "slurm=" + file("s"),
            "--on",
            cpu_ + "=" + file("c"),
            "--state",
            file("runs"),
            "--directory",
            lab_->folder(),
            "-o",
            "json"};
  }
  json steps(const std::string& run) const {
    json found = json::object();
    const ProcessOutcome shown = weft({"pipeline", "show", run, "--state", file("runs"), "-o", "json"});
    const json view = json::parse(shown.out, nullptr, false);
    if (shown.code != 0 || !view.is_object()) return found;
    for (const json& step : view["steps"]) found[step["step"].get<std::string>()] = step;
    return found;
  }
  std::string state_of(const std::string& step) const { return steps("mixed-1")[step].value("state", ""); }
  [[nodiscard]] std::size_t starts(const std::string& step) const { return split_lines(contents(file(step))).size(); }
  [[nodiscard]] std::size_t jobs_of(const std::string& socket) const {
    const ProcessOutcome list = weft({"job", "list", "--all", "-o", "json", "--socket", file(socket)});
    return json::parse(list.out)["jobs"].size();
  }

  // The acceptance test of pattern A.
  void run_mixed() {
    start_server();
    wait_ready();
    wait_cpu_ready();
    if (HasFatalFailure()) return;
    lab_->put("mixed.yaml", replace_all(replace_all(kPipeline, "@CPU@", cpu_), "@DIR@", lab_->folder().string()));
    std::vector<std::string> words = run_words("mixed.yaml");
    words.insert(words.end(), {"--set", "shard=seven"});
    runner_ = launch(words, "runner.log");
    const auto is_midway = [&] {
      return starts("train") == 1 && starts("endless") == 1 && state_of("broken") == "failed" &&
             state_of("after-broken") == "skipped";
    };
    ASSERT_TRUE(Lab::wait(120, is_midway)) << contents(file("runner.log"));
    EXPECT_EQ(state_of("prepare"), "done");

    // Killed: the jobs run on, and one of them ends meanwhile.
    ::kill(runner_, SIGKILL);
    ::waitpid(runner_, nullptr, 0);
    runner_ = 0;
    lab_->put("go", "");

    // Canceled while no process continues the run: the Slurm job has ended when the command returns.
    const ProcessOutcome canceled = weft({"pipeline", "cancel", "mixed-1", "endless", "--state", file("runs")});
    EXPECT_EQ(canceled.code, 0) << canceled.err;
    EXPECT_EQ(state_of("endless"), "canceled");
    EXPECT_EQ(state_of("report"), "waiting") << "cancel must start nothing";

    const ProcessOutcome resumed = weft({"pipeline", "resume", "mixed-1", "--state", file("runs"), "-o", "json"});
    EXPECT_EQ(resumed.code, 1) << resumed.err;  // a step failed
    const json all = steps("mixed-1");
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"prepare", "done"},         {"train", "done"},       {"report", "done"},          {"broken", "failed"},
        {"after-broken", "skipped"}, {"endless", "canceled"}, {"after-endless", "skipped"}};
    for (const auto& [step, state] : expected) EXPECT_EQ(all[step]["state"], state) << step << resumed.err;
    EXPECT_EQ(all["report"]["result"], "report of trained-seven");
    EXPECT_EQ(all["broken"]["tries"], 2);
    EXPECT_THAT(all["broken"]["reason"].get<std::string>(), HasSubstr("3"));
    // Nothing ran twice, and each step where it belongs.
    for (const char* step : {"prepare", "train", "report", "endless"}) EXPECT_EQ(starts(step), 1U) << step;
    EXPECT_EQ(starts("broken"), 2U);
    EXPECT_FALSE(fs::exists(file("never")));
    EXPECT_EQ(jobs_of("s"), 4U);
    EXPECT_EQ(jobs_of("c"), 2U);
    EXPECT_EQ(trim(slurm({"squeue", "-h", "-t", "running,pending"})), "");
  }

  std::string cpu_;
  pid_t cpu_server_ = 0;
  pid_t runner_ = 0;
  testing_kube::KubeSpace space_;
  std::unique_ptr<testing_kube::KubeUser> user_;
  std::unique_ptr<KubeletSim> kubelets_;
  std::thread kubelet_thread_;
  std::atomic<bool> stop_kubelets_{false};
};

class EngineSlurmPipeline : public PipelineTest {};
class EngineKubePipeline : public PipelineTest {};

TEST_F(EngineSlurmPipeline, FailsCancelsAndContinues) {
  if (IsSkipped() || HasFatalFailure()) return;
  start_local();
  run_mixed();
}

TEST_F(EngineKubePipeline, FailsCancelsAndContinues) {
  if (IsSkipped() || HasFatalFailure()) return;
  WEFT_NEEDS_KUBERNETES();
  start_kubernetes();
  if (HasFatalFailure()) return;
  run_mixed();
}

// The example Workflow: its GPU task is a Slurm job, and uses the result of the script that ran in a pod.
TEST_F(EngineKubePipeline, AWorkflowUsesBothEngines) {
  if (IsSkipped() || HasFatalFailure()) return;
  WEFT_NEEDS_KUBERNETES();
  start_kubernetes();
  if (HasFatalFailure()) return;
  start_server();
  wait_ready();
  wait_cpu_ready();
  if (HasFatalFailure()) return;
  // The container of the GPU step runs in Slurm by Apptainer, here a stand-in.
  put_apptainer();
  lab_->put("workflow.yaml",
            replace_all(contents(source_dir() + "/examples/nightly.workflow.yaml"), "        image: pytorch/pytorch\n",
                        "        image: pytorch/pytorch\n        env: [{name: PATH, value: \"" +
                            lab_->folder().string() + ":/usr/bin:/bin\"}]\n"));
  std::vector<std::string> words = run_words("workflow.yaml");
  words.insert(words.end(), {"--set", "rows=21"});
  const ProcessOutcome outcome = weft(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json all = steps("nightly-1");
  EXPECT_EQ(all["prepare"]["engine"], "kubernetes");
  EXPECT_EQ(all["prepare"]["result"], "42");
  EXPECT_EQ(all["train"]["engine"], "slurm");
  EXPECT_EQ(all["train"]["result"], "trained on 42 rows");
  EXPECT_THAT(contents(file("calls")), HasSubstr("docker://pytorch/pytorch"));
  EXPECT_EQ(jobs_of("s"), 1U);
  EXPECT_EQ(jobs_of("c"), 1U);
}

// A server that is not what --on says is refused before anything is submitted.
TEST_F(EngineSlurmPipeline, TheServersAreChecked) {
  if (IsSkipped() || HasFatalFailure()) return;
  start_local();
  wait_cpu_ready();
  if (HasFatalFailure()) return;
  lab_->put("p.yaml", "pipeline: 1\nname: p\nsteps: [{name: a, job: {gpus_per_node: 1, command: [\"true\"]}}]\n");
  const ProcessOutcome outcome =
      weft({"pipeline", "run", file("p.yaml"), "--on", "slurm=" + file("c"), "--state", file("runs")});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("needs a server with engine slurm, but this one has local"));
  EXPECT_FALSE(fs::exists(file("runs")));
  EXPECT_EQ(jobs_of("c"), 0U);
}

}  // namespace
}  // namespace weft

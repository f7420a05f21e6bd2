// weft sim sweep --array kubernetes on a real API server, Job controller and scheduler (1.20.2), with simulated
// kubelets that run the containers as processes. That server has no Indexed Jobs: each task is a Job of its own, as on
// every server that drops the mode. The Indexed Job is validated with the current OpenAPI schemas instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "kube/json_fields.h"
#include "kube/timestamp.h"
#include "kube_fixture.h"
#include "kube_schema.h"
#include "kubelet_sim.h"
#include "program.h"
#include "workload/sweep/results.h"
#include "world/kube/kube_arrays.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using testing_lab::Lab;

class SweepKube : public ::testing::Test {
 protected:
  void SetUp() override {
    WEFT_NEEDS_KUBERNETES();
    ASSERT_EQ(space_.open("sweep", true), "");
    testing_kube::KubeLab& cluster = space_.cluster();
    user_ = cluster.make_user(cluster.access());
    kubelets_ = std::make_unique<testing_kube::KubeletSim>(user_->client, space_.name());
    kubelets_->run_processes();
    kubelets_->map_program("weft", weft_binary());
    std::filesystem::create_directories(file("logs"));
    kubelets_->keep_output(file("logs"));
    space_.folder().start({"sh", "-c",
                           "exec python3 " + source_dir() + "/tests/kubelet_logs.py " + file("logs") + " " +
                               cluster.file("server.crt") + " " + cluster.file("server.key") + " > " +
                               file("log-port")});
    ASSERT_TRUE(Lab::wait(60, [&] { return Lab::contents(file("log-port")).ends_with("\n"); }));
    kubelets_->serve_logs(std::stoi(Lab::contents(file("log-port"))));
    for (const char* suffix : {"001", "002"}) add_node(space_.prefix() + suffix);
  }
  void TearDown() override {
    if (kubelets_ == nullptr) return;
    stop_kubelets_ = true;
    if (thread_.joinable()) thread_.join();
    kubelets_.reset();
    for (const char* suffix : {"001", "002"}) (void)admin().remove(kube::kNodes, {"", space_.prefix() + suffix});
  }
  void add_node(const std::string& node) {
    ASSERT_EQ(kubelets_->add_node(node, testing_kube::KubeletSim::kernel_boot_id()), "");
    const Value amounts = Value::map({{"cpu", Value("64")}, {"memory", Value("900Gi")}, {"pods", Value("100")}});
    const Value status = Value::map({{"capacity", amounts}, {"allocatable", amounts}});
    ASSERT_TRUE(admin().patch(kube::kNodes, {"", node}, Value::map({{"status", status}}), "status").ok());
  }
  // The node controller marks a node whose kubelet is silent for eight seconds, and nothing is scheduled there.
  void heartbeat(const std::string& node) {
    Value ready = Value::map({{"type", Value("Ready")}, {"status", Value("True")}, {"reason", Value("KubeletReady")}});
    ready.set("lastHeartbeatTime", Value(kube::format_timestamp(user_->clock.wall_ms())));
    const Value status = Value::map({{"conditions", Value::list({std::move(ready)})}});
    (void)user_->client.patch(kube::kNodes, {"", node}, Value::map({{"status", status}}), "status");
  }
  void start_kubelets() {
    thread_ = std::thread([this] {
      while (!stop_kubelets_) {
        for (const char* suffix : {"001", "002"}) heartbeat(space_.prefix() + suffix);
        (void)kubelets_->step();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    });
  }

  kube::Client& admin() { return space_.cluster().admin().client; }
  [[nodiscard]] std::string file(const std::string& name) const { return space_.file(name); }
  [[nodiscard]] testing_lab::Words sweep(int points, const std::string& results, bool array,
                                         const std::string& kubeconfig = {}) const {
    std::string values = "job.training.steps=";
    for (int i = 0; i < points; ++i) values += (i == 0 ? "" : ",") + std::to_string(1'000 + i);
    testing_lab::Words words = {weft_binary(),
                                "sim",
                                "sweep",
                                source_dir() + "/examples/pod32.yaml",
                                source_dir() + "/examples/llama-70b.job.yaml",
                                "--set",
                                values,
                                "--results",
                                file(results),
                                "--fidelity",
                                "analytic"};
    if (!array) return words;
    const std::string access = kubeconfig.empty() ? space_.cluster().file("admin.kubeconfig") : kubeconfig;
    words.insert(words.end(), {"--array", "kubernetes", "--image", "registry.example/weft:1", "--at-once", "6",
                               "--namespace", space_.name(), "--kubeconfig", access});
    return words;
  }
  [[nodiscard]] std::size_t rows() const {
    const auto loaded = workload::load_sweep_rows(file("sweep.ndjson"));
    EXPECT_TRUE(loaded.ok());
    return loaded.ok() ? loaded->size() : 0;
  }
  [[nodiscard]] std::vector<Value> objects(const kube::Resource& resource) {
    const Result<kube::ObjectList> list = admin().list(resource, {space_.name(), world::kArrayLabel, ""});
    EXPECT_TRUE(list.ok());
    return list.ok() ? list->items : std::vector<Value>();
  }
  // Results by point, as the file has them.
  [[nodiscard]] std::map<std::uint64_t, std::string> lines(const std::string& results) const {
    std::map<std::uint64_t, std::string> found;
    for (const workload::SweepRow& row : workload::load_sweep_rows(file(results)).value_or({}))
      found[row.index] = workload::sweep_line(row);
    return found;
  }

  testing_kube::KubeSpace space_;
  std::unique_ptr<testing_kube::KubeUser> user_;
  std::unique_ptr<testing_kube::KubeletSim> kubelets_;
  std::thread thread_;
  std::atomic<bool> stop_kubelets_{false};
};

TEST_F(SweepKube, AnInterruptedSweepIsContinuedAndCollected) {
  const char* text = std::getenv("WEFT_SWEEP_POINTS");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  const int points = text != nullptr ? std::atoi(text) : 24;
  start_kubelets();
  const pid_t first = space_.folder().start(sweep(points, "sweep.ndjson", true));
  ASSERT_TRUE(Lab::wait(300, [&] { return rows() >= 3; }));
  ::kill(first, SIGINT);
  ASSERT_TRUE(Lab::wait(60, [&] { return !space_.folder().alive(first); }));
  // Two more calls at most: one for what still runs, one for tasks that were not created yet.
  testing_lab::Outcome outcome = space_.folder().run(sweep(points, "sweep.ndjson", true), 3'000, true);
  if (outcome.code != 0) outcome = space_.folder().run(sweep(points, "sweep.ndjson", true), 3'000, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(rows(), static_cast<std::size_t>(points));
  EXPECT_TRUE(Lab::wait(60, [&] { return objects(kube::kJobs).empty() && objects(kube::kConfigMaps).empty(); }));
  // The tasks computed what weft computes here.
  const testing_lab::Outcome here = space_.folder().run(sweep(points, "here.ndjson", false), 600, true);
  ASSERT_EQ(here.code, 0) << here.out;
  EXPECT_EQ(lines("sweep.ndjson"), lines("here.ndjson"));
  const std::string all = Lab::contents(file("sweep.ndjson"));
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), points) << "each result once";
}

TEST_F(SweepKube, TasksThatWereDeletedRunAgain) {
  const pid_t first = space_.folder().start(sweep(4, "sweep.ndjson", true));  // no kubelet works: nothing runs
  ASSERT_TRUE(Lab::wait(120, [&] { return objects(kube::kJobs).size() == 4; }));
  for (const Value& job : objects(kube::kJobs)) {
    const kube::ObjectName name{space_.name(), kube::raw_text(job, {"metadata", "name"})};
    ASSERT_TRUE(admin().remove(kube::kJobs, name, {0, {}, {}, "Background"}).ok());
  }
  ASSERT_TRUE(Lab::wait(120, [&] { return !space_.folder().alive(first); }));
  EXPECT_EQ(rows(), 0U);
  start_kubelets();
  const testing_lab::Outcome second = space_.folder().run(sweep(4, "sweep.ndjson", true), 600, true);
  EXPECT_EQ(second.code, 0) << second.out;
  EXPECT_THAT(second.out, HasSubstr("submitted 4 points"));
  EXPECT_EQ(rows(), 4U);
}

TEST_F(SweepKube, APermissionThatIsMissingIsNamed) {
  space_.put_kubeconfig("small.kubeconfig", "weft-token-9");  // a user without a role
  const testing_lab::Outcome outcome =
      space_.folder().run(sweep(4, "sweep.ndjson", true, file("small.kubeconfig")), 120, true);
  EXPECT_EQ(outcome.code, 4) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("list"));
  EXPECT_THAT(outcome.out, HasSubstr("jobs"));
}

TEST(SweepKubeObjects, AreValidInCurrentKubernetes) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  world::KubeArrayPlan plan;
  plan.name = "weft-sweep-0123456789ab";
  plan.image = "registry.example/weft:1";
  plan.command = {"weft", "sim", "sweep", "--point", world::kTaskIndexWord};
  plan.files = {{"cluster.yaml", "weft: 1\n"}, {"points", "0\n1\n"}};
  plan.tasks = 2;
  for (const Value& object : {world::indexed_job(plan, 1), world::task_job(plan, 1, 1), world::array_files(plan, 1)}) {
    const auto report = kube_schema::validate_documents("sweep.yaml", write_yaml(object));
    EXPECT_TRUE(report.ok()) << report.text();
  }
}

}  // namespace
}  // namespace weft

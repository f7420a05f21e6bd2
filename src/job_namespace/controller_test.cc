#include "job_namespace/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "job_namespace/job_files.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube/object.h"
#include "kube/transport.h"
#include "oob/durable/clock.h"

namespace weft::job_namespace {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::int64_t kNow = 1'794'957'300;

// An API server in memory: objects by path, labels of nodes, and the two things that a real one may lack.
class FakeServer final : public kube::Transport {
 public:
  bool keeps_on_nodes = true;
  bool counts_pods = true;
  std::map<std::string, Value> objects;  // by path
  int changes = 0;
  int tokens = 0;

  [[nodiscard]] Result<kube::ApiResponse> send(const kube::ApiRequest& request) override {
    const std::string path = request.target.substr(0, request.target.find('?'));
    const Value body = kube::read_reply_json(request.body).value_or(Value());
    if (request.method == "GET") return list(path, request.target.substr(path.size()));
    if (contains(request.target, "dryRun=All")) return reply(201, probe(body));
    if (path.ends_with("/token")) {
      ++tokens;
      return reply(201, Value::map({{"status", Value::map({{"token", Value("t")},
                                                           {"expirationTimestamp", Value("2026-11-18T23:15:00Z")}})}}));
    }
    ++changes;
    const std::string name = kube::raw_text(body, {"metadata", "name"});
    if (request.method == "POST") return create(path + "/" + name, body);
    if (request.method == "DELETE") {
      objects.erase(path);
      return reply(200, Value::map());
    }
    if (!path.starts_with("/api/v1/nodes/")) return apply(path, body);
    if (!objects.contains(path)) return missing();
    const Value* labels = kube::member(body, {"metadata", "labels"});
    for (const auto& [label, value] : labels->entries()) objects[path]["metadata"]["labels"].set(label, value);
    return reply(200, objects[path]);
  }
  [[nodiscard]] Result<std::unique_ptr<kube::ResponseStream>> open(const kube::ApiRequest&) override {
    return Error{ErrorCode::unavailable, "no watches", {}};
  }

  void put_node(const std::string& name) {
    objects["/api/v1/nodes/" + name] = Value::map({{"metadata", meta(Value::map({{"name", Value(name)}}))}});
  }

 private:
  static Value meta(Value metadata) {
    metadata.set("uid", Value("u"));
    metadata.set("resourceVersion", Value("1"));
    return metadata;
  }
  static Result<kube::ApiResponse> reply(int status, const Value& body) {
    return kube::ApiResponse{status, {}, write_json_line(body)};
  }
  static Result<kube::ApiResponse> missing() {
    return reply(404, Value::map({{"kind", Value("Status")}, {"code", Value(404)}, {"reason", Value("NotFound")}}));
  }
  Result<kube::ApiResponse> list(const std::string& collection, const std::string& query) {
    if (objects.contains(collection)) return reply(200, objects[collection]);
    const bool ours = contains(query, "labelSelector=weft%2Finstance");
    Value items = Value::list();
    for (const auto& [path, object] : objects) {
      if (path.starts_with(collection + "/") && path.find('/', collection.size() + 1) == std::string::npos &&
          (!ours || kube::label_of(object, kInstanceLabel) == "0a1b2c3d"))
        items.add(object);
    }
    const std::string plural = collection.substr(collection.rfind('/') + 1);
    const char* kind = plural == "namespaces" ? "NamespaceList" : plural == "nodes" ? "NodeList" : "PodList";
    return reply(200, Value::map({{"kind", Value(kind)},
                                  {"metadata", Value::map({{"resourceVersion", Value("1")}})},
                                  {"items", items}}));
  }
  Result<kube::ApiResponse> create(const std::string& path, Value object) {
    if (objects.contains(path))
      return reply(409,
                   Value::map({{"kind", Value("Status")}, {"code", Value(409)}, {"reason", Value("AlreadyExists")}}));
    object.set("metadata", meta(object["metadata"]));
    objects[path] = object;
    return reply(201, object);
  }
  Result<kube::ApiResponse> apply(const std::string& path, Value object) {
    object.set("metadata", meta(object["metadata"]));
    if (contains(path, "/resourcequotas/") && counts_pods) {
      object["status"].set("hard", *kube::member(object, {"spec", "hard"}));
      object["status"].set("used", *kube::member(object, {"spec", "hard"}));
    }
    objects[path] = object;
    return reply(200, object);
  }
  Value probe(Value pod) {
    const std::string space = kube::raw_text(pod, {"metadata", "namespace"});
    const Value* owner = &objects["/api/v1/namespaces/" + space];
    const Value* annotations = kube::member(*owner, {"metadata", "annotations"});
    const std::string selector = annotations->find("scheduler.alpha.kubernetes.io/node-selector")->text();
    const std::size_t equals = selector.find('=');
    if (keeps_on_nodes) pod["spec"]["nodeSelector"].set(selector.substr(0, equals), Value(selector.substr(equals + 1)));
    return pod;
  }
};

class NamespaceController : public ::testing::Test {
 protected:
  NamespaceController() {
    root_ = testing::TempDir() + "weft names " + std::to_string(::getpid()) + " " +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(root_);
    server_.put_node("n1");
    runs_ = {run(12, kNow - 60)};
    restart();
  }
  ~NamespaceController() override { fs::remove_all(root_); }

  static world::JobRun run(std::uint32_t id, std::int64_t started) {
    world::JobRun run;
    run.id = id;
    run.started = started;
    run.state = world::SlurmState::running;
    run.uid = ::geteuid();
    run.gid = ::getegid();
    run.comment = "weft:namespace";
    run.nodes = {"n1"};
    run.gpus = {8};
    run.cpus = 64;
    return run;
  }
  void restart() {
    SlurmSource slurm;
    slurm.list_runs = [this]() -> Result<std::vector<world::JobRun>> {
      if (slurm_is_down_) return Error{ErrorCode::unavailable, "no slurmctld", {}};
      return runs_;
    };
    slurm.list_nodes = []() -> Result<std::vector<world::SlurmNode>> {
      world::SlurmNode node;
      node.name = "n1";
      node.cpus = 64;
      node.gpus = 8;
      return std::vector{node};
    };
    slurm.accounted_end = [this](std::uint32_t, std::int64_t) { return accounted_; };
    ControllerOptions options;
    options.state = root_;
    options.access.server = "https://10.0.0.1:6443";
    options.objects.instance = "0a1b2c3d";
    options.log = [this](std::string_view line) { log_ += std::string(line) + "\n"; };
    controller_ = std::make_unique<Controller>(client_, slurm, options);
  }
  Status turn(std::int64_t after = 0) {
    Status turned = controller_->turn(kNow + after);
    if (!turned.ok()) log_ += turned.error().text() + "\n";
    return turned;
  }
  [[nodiscard]] bool exists(const std::string& key) const {
    return server_.objects.contains("/api/v1/namespaces/slurm-" + key);
  }
  [[nodiscard]] std::string problem(const std::string& key) const {
    return read_file(problem_path(root_, key)).value_or("");
  }

  std::string root_;
  FakeServer server_;
  oob::ManualClock clock_;
  kube::Client client_{server_, clock_, RandomStream(1, "test"), {}};
  std::vector<world::JobRun> runs_;
  bool slurm_is_down_ = false;
  std::optional<bool> accounted_;
  std::unique_ptr<Controller> controller_;
  std::string log_;
  const std::string key_ = "12-1794957240";
};

TEST_F(NamespaceController, MakesOneAndThenChangesNothing) {
  ASSERT_TRUE(turn().ok()) << log_;
  EXPECT_TRUE(exists(key_)) << log_;
  EXPECT_TRUE(fs::exists(kubeconfig_path(root_, key_)));
  const int changes = server_.changes;
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(server_.changes, changes);
  EXPECT_EQ(server_.tokens, 1);
  ASSERT_TRUE(turn(86'000).ok());
  EXPECT_EQ(server_.tokens, 2) << "renewed";
}

// Only what Slurm says ends a run.
TEST_F(NamespaceController, AnAbsentRunIsNotOver) {
  ASSERT_TRUE(turn().ok());
  slurm_is_down_ = true;
  EXPECT_FALSE(turn(1'000).ok());
  EXPECT_TRUE(exists(key_));
  slurm_is_down_ = false;
  runs_.clear();
  ASSERT_TRUE(turn(1'010).ok());
  ASSERT_TRUE(turn(1'500).ok());
  EXPECT_TRUE(exists(key_)) << "slurmctld may have lost its newest state";
  accounted_ = false;
  ASSERT_TRUE(turn(5'000).ok());
  EXPECT_TRUE(exists(key_)) << "the accounting says that it runs";
  accounted_ = true;
  ASSERT_TRUE(turn(5'010).ok());
  EXPECT_FALSE(exists(key_));
  EXPECT_FALSE(fs::exists(kubeconfig_path(root_, key_)));
  EXPECT_THAT(write_json_line(server_.objects["/api/v1/nodes/n1"]),
              HasSubstr("\"slurm-job.weft/12-1794957240\": null"));
}

TEST_F(NamespaceController, WithoutAccountingALongAbsenceIsAnEnd) {
  ASSERT_TRUE(turn().ok());
  runs_.clear();
  ASSERT_TRUE(turn(10).ok());
  ASSERT_TRUE(turn(609).ok());
  EXPECT_TRUE(exists(key_));
  ASSERT_TRUE(turn(610).ok());
  EXPECT_FALSE(exists(key_));
}

TEST_F(NamespaceController, EndedRequeuedAndReusedIds) {
  for (const world::SlurmState state : {world::SlurmState::completing, world::SlurmState::canceled,
                                        world::SlurmState::pending, world::SlurmState::node_fail}) {
    runs_ = {run(12, kNow - 60)};
    restart();
    ASSERT_TRUE(turn().ok());
    ASSERT_TRUE(exists(key_));
    runs_[0].state = state;
    ASSERT_TRUE(turn(2).ok());
    EXPECT_FALSE(exists(key_)) << to_text(state);
  }
  runs_ = {run(12, kNow - 60)};
  restart();
  ASSERT_TRUE(turn().ok());
  runs_ = {run(12, kNow + 5)};  // the same id, another run
  ASSERT_TRUE(turn(6).ok());
  EXPECT_FALSE(exists(key_));
  EXPECT_TRUE(exists("12-1794957305"));
  runs_[0].state = world::SlurmState::unknown;
  ASSERT_TRUE(turn(8).ok());
  EXPECT_TRUE(exists("12-1794957305")) << "a state that weft does not know ends nothing";
}

TEST_F(NamespaceController, ARestartContinues) {
  server_.counts_pods = false;  // killed before the namespace was complete
  ASSERT_TRUE(turn().ok());
  EXPECT_TRUE(exists(key_));
  EXPECT_FALSE(fs::exists(kubeconfig_path(root_, key_))) << "pods would not be counted";
  EXPECT_EQ(problem(key_), "");
  server_.counts_pods = true;
  restart();
  ASSERT_TRUE(turn(2).ok());
  EXPECT_TRUE(fs::exists(kubeconfig_path(root_, key_))) << log_;
  // Killed between the namespace and the labels.
  server_.objects.erase("/api/v1/namespaces/slurm-" + key_);
  runs_.clear();
  restart();
  ASSERT_TRUE(turn(4).ok());
  EXPECT_THAT(write_json_line(server_.objects["/api/v1/nodes/n1"]),
              HasSubstr("\"slurm-job.weft/12-1794957240\": null"));
}

TEST_F(NamespaceController, AServerThatDoesNotKeepPodsOnNodesIsRefused) {
  server_.keeps_on_nodes = false;
  ASSERT_TRUE(turn().ok());
  EXPECT_THAT(problem(key_), HasSubstr("PodNodeSelector"));
  EXPECT_FALSE(fs::exists(kubeconfig_path(root_, key_)));
  EXPECT_EQ(server_.tokens, 0);
  const int changes = server_.changes;
  ASSERT_TRUE(turn(2).ok());
  EXPECT_EQ(server_.changes, changes) << "not with every turn";
  server_.keeps_on_nodes = true;
  ASSERT_TRUE(turn(20).ok());
  EXPECT_TRUE(fs::exists(kubeconfig_path(root_, key_)));
  EXPECT_EQ(problem(key_), "");
}

TEST_F(NamespaceController, AQuotaThatIsNotEnforcedIsToldAfterAMinute) {
  server_.counts_pods = false;
  ASSERT_TRUE(turn().ok());
  ASSERT_TRUE(turn(30).ok());
  EXPECT_EQ(problem(key_), "");
  ASSERT_TRUE(turn(61).ok());
  EXPECT_THAT(problem(key_), HasSubstr("kube-controller-manager"));
}

TEST_F(NamespaceController, OthersAreLeftAlone) {
  server_.objects["/api/v1/namespaces/slurm-" + key_] =
      Value::map({{"metadata", Value::map({{"name", Value("slurm-" + key_)},
                                           {"uid", Value("x")},
                                           {"resourceVersion", Value("1")},
                                           {"labels", Value::map({{"weft/instance", Value("ffffffff")}})}})}});
  ASSERT_TRUE(turn().ok());
  EXPECT_THAT(problem(key_), HasSubstr("is not of this weft"));
  EXPECT_EQ(server_.tokens, 0);
}

TEST_F(NamespaceController, DeletedByAnAdministrator) {
  ASSERT_TRUE(turn().ok());
  server_.objects.erase("/api/v1/namespaces/slurm-" + key_);
  ASSERT_TRUE(turn(2).ok());
  EXPECT_FALSE(exists(key_)) << "not made again";
  EXPECT_THAT(problem(key_), HasSubstr("was deleted while the job runs"));
}

}  // namespace
}  // namespace weft::job_namespace

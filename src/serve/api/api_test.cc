// The API without a socket: who may do what, when requests are answered, and what followers of the events receive.
#include "serve/api/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/load.h"
#include "serve/http/sse.h"
#include "store/memory_store.h"

namespace weft::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::uint32_t kServerUid = 4'000'000'001;  // accounts that no machine has
constexpr std::uint32_t kUserUid = 4'000'000'002;
constexpr std::uint32_t kOtherUid = 4'000'000'003;

// Nodes that are healthy and do nothing.
class IdleWorld final : public world::World {
 public:
  explicit IdleWorld(std::uint32_t nodes) : nodes_(nodes) {}
  void send(const control::Command& command, sched::Moment /*now*/) override {
    if (const auto* query = std::get_if<control::QueryInventory>(&command)) term_ = query->term;
  }
  void poll(sched::Moment now, std::vector<control::Event>& events) override {
    control::Inventory inventory;
    inventory.observed = now;
    for (std::uint32_t n = 0; n < nodes_; ++n) {
      events.emplace_back(control::NodeReport{sched::NodeId{n}, 7, control::Health::healthy, {}, now});
      inventory.nodes.push_back({sched::NodeId{n}, 7, {}, term_});
    }
    events.emplace_back(std::move(inventory));
  }

 private:
  std::uint32_t nodes_;
  control::Term term_ = 0;
};

class TestConnection final : public HttpConnection {
 public:
  void respond(const HttpResponse& given) override {
    response = given;
    ++responses;
  }
  bool open_stream() override { return streaming = true; }
  [[nodiscard]] bool has_reader() const override { return true; }
  bool send_event(std::uint64_t id, std::string_view event, std::string_view data) override {
    events.push_back({id, std::string(event), std::string(data)});
    return streaming;
  }
  void end_stream() override { streaming = false; }
  [[nodiscard]] bool is_streaming() const override { return streaming; }
  [[nodiscard]] std::size_t buffered_bytes() const override { return 0; }
  void notify_when_drained(std::function<void()> callback) override { (void)callback; }

  HttpResponse response;
  int responses = 0;
  bool streaming = false;
  std::vector<ServerEvent> events;
};

class ApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    loaded_ =
        model::load_cluster_text("cluster.yaml",
                                 "weft: 1\nname: lab\npools:\n  - {name: train, role: training, server: hgx-h100, "
                                 "count: 2}\ntenants:\n  - {name: team}\n");
    ASSERT_NE(loaded_->cluster, nullptr);
    machine_ = std::make_shared<const sched::Machine>(*sched::Machine::of(*loaded_->cluster));
    world_ = std::make_unique<IdleWorld>(static_cast<std::uint32_t>(machine_->nodes().size()));
    control::ControllerOptions control;
    control.engines = engines_;
    auto opened = world::ControlLoop::open(machine_, std::move(control), store_, *world_);
    ASSERT_TRUE(opened.ok());
    loop_ = std::move(*opened);
    ApiOptions options;
    options.engines = engines_;
    options.server_uid = kServerUid;
    api_ = std::make_unique<Api>(*loop_, store_, loaded_->cluster, options);
    world::TurnResult result;
    ASSERT_TRUE(loop_->begin(now(), result).ok());
    turn();
    turn();
  }

  [[nodiscard]] sched::Moment now() const {
    return sched::Moment(1'760'000'000'000'000'000) + sched::seconds(seconds_);
  }

  void turn() {
    ++seconds_;
    world::TurnResult result;
    ASSERT_TRUE(loop_->turn(now(), api_->take_requests(), true, result).ok());
    api_->finish_turn(result);
    api_->publish();
  }

  std::shared_ptr<TestConnection> send(const std::string& method, const std::string& target,
                                       const std::string& body = {}, std::uint32_t uid = kServerUid,
                                       const std::string& key = {}) {
    auto connection = std::make_shared<TestConnection>();
    const Result<Target> parsed = parse_target(target);
    EXPECT_TRUE(parsed.ok());
    HttpRequest request;
    request.method = method;
    request.path = parsed->path;
    request.query = parsed->query;
    request.body = body;
    request.peer.uid = uid;
    request.peer.gid = uid;
    request.idempotency_key = key;
    api_->set_time(now());
    api_->handle(std::move(request), Responder(connection));
    return connection;
  }
  int status(const std::string& method, const std::string& target, const std::string& body = {},
             std::uint32_t uid = kServerUid) {
    const auto connection = send(method, target, body, uid);
    if (connection->responses == 0) turn();
    EXPECT_EQ(connection->responses, 1);
    return connection->response.status;
  }

  static std::string submission() {
    return json{{"text", "job: 1\nname: train\ntenant: team\nnodes: 1\ncommand: [/bin/true]\n"}, {"directory", "/tmp"}}
        .dump();
  }

  std::unique_ptr<model::Loaded> loaded_;
  std::shared_ptr<const sched::Machine> machine_;
  store::MemoryStore store_;
  std::unique_ptr<IdleWorld> world_;
  std::unique_ptr<world::ControlLoop> loop_;
  std::unique_ptr<Api> api_;
  std::int64_t seconds_ = 0;
  std::vector<lease::LeaseOwner> engines_;
};

class LeaseApiTest : public ApiTest {
 protected:
  LeaseApiTest() { engines_ = {lease::LeaseOwner::slurm, lease::LeaseOwner::kubernetes}; }
};

TEST_F(LeaseApiTest, LeasesAreShownAndMoved) {
  const auto list = send("GET", "/v1/leases");
  ASSERT_EQ(list->response.status, 200);
  const json leases = json::parse(list->response.body)["leases"];
  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(leases[0]["state"], "none");
  EXPECT_EQ(leases[0]["waits"], "its gate has not reported since the controller started");
  EXPECT_EQ(status("GET", "/v1/leases/train001"), 200);
  EXPECT_EQ(status("GET", "/v1/leases/nowhere"), 404);
  const auto body = [](const std::string& nodes, const std::string& to, const std::string& preempt) {
    return json{{"nodes", nodes}, {"to", to}, {"preempt", preempt}}.dump();
  };
  EXPECT_EQ(status("POST", "/v1/leases/move", body("nowhere", "kubernetes", "no")), 404);
  EXPECT_EQ(status("POST", "/v1/leases/move", body("train[001", "kubernetes", "no")), 400);
  EXPECT_EQ(status("POST", "/v1/leases/move", body("train001", "nomad", "no")), 400);
  EXPECT_EQ(status("POST", "/v1/leases/move", body("train001", "kubernetes", "perhaps")), 400);
  EXPECT_EQ(status("POST", "/v1/leases/move", body("train001", "weft", "yes")), 400) << "not an engine of this server";
  EXPECT_EQ(status("POST", "/v1/leases/move", body("train001", "kubernetes", "yes")), 409) << "not leased yet";
  EXPECT_EQ(status("POST", "/v1/leases/move", body("train001", "kubernetes", "yes"), 4242), 403);
}

TEST_F(LeaseApiTest, AJobNamesItsEngine) {
  json submission = json::parse(ApiTest::submission());
  submission["engine"] = "kubernetes";
  EXPECT_EQ(status("POST", "/v1/jobs", submission.dump()), 201);
  EXPECT_EQ(loop_->controller().state().find_job(1)->spec->engine, lease::LeaseOwner::kubernetes);
  submission["engine"] = "nomad";
  EXPECT_EQ(status("POST", "/v1/jobs", submission.dump()), 400);
  submission["engine"] = "weft";
  EXPECT_EQ(status("POST", "/v1/jobs", submission.dump()), 400) << "not an engine of this server";
}

TEST_F(ApiTest, AServerWithOneEngineHasNoLeases) {
  EXPECT_EQ(status("GET", "/v1/leases"), 409);
  json submission = json::parse(ApiTest::submission());
  submission["engine"] = "slurm";
  EXPECT_EQ(status("POST", "/v1/jobs", submission.dump()), 400);
}

TEST_F(ApiTest, ASubmissionIsAnsweredWhenItIsDurable) {
  const auto connection = send("POST", "/v1/jobs", submission(), kServerUid, "key-1");
  EXPECT_EQ(connection->responses, 0);
  turn();
  ASSERT_EQ(connection->responses, 1);
  EXPECT_EQ(connection->response.status, 201) << connection->response.body;
  EXPECT_EQ(*connection->response.find_header("Location"), "/v1/jobs/1");
  EXPECT_EQ(json::parse(connection->response.body)["answer"]["job"], 1);
  const auto again = send("POST", "/v1/jobs", submission(), kServerUid, "key-1");
  turn();
  EXPECT_EQ(again->response.status, 200);
  EXPECT_EQ(json::parse(again->response.body)["answer"]["job"], 1);
  const auto view = send("GET", "/v1/jobs/1");
  EXPECT_EQ(json::parse(view->response.body)["job"]["name"], "train");
  EXPECT_EQ(*view->response.find_header(kSequenceHeader), std::to_string(store_.durable()));
}

TEST_F(ApiTest, AFullDisk) {
  store_.set_full(true);
  const auto waiting = send("POST", "/v1/jobs", submission(), kServerUid, "key-1");
  turn();
  ASSERT_EQ(waiting->responses, 1);
  EXPECT_EQ(waiting->response.status, 503);
  EXPECT_EQ(status("POST", "/v1/jobs", submission()), 503);
  EXPECT_EQ(status("GET", "/v1/jobs"), 200);
  EXPECT_THAT(send("GET", "/v1/server")->response.body, HasSubstr("no space left"));
  store_.set_full(false);
  turn();
  turn();
  const auto again = send("POST", "/v1/jobs", submission(), kServerUid, "key-1");  // it took effect meanwhile
  turn();
  EXPECT_EQ(json::parse(again->response.body)["answer"]["message"], "already submitted");
}

TEST_F(ApiTest, UsersChangeOnlyTheirOwnJobs) {
  EXPECT_EQ(status("POST", "/v1/jobs", submission(), kUserUid), 403);  // the server is not root: it cannot run them
  EXPECT_EQ(status("POST", "/v1/jobs", submission()), 201);
  EXPECT_EQ(status("GET", "/v1/jobs/1", {}, kOtherUid), 200);
  EXPECT_EQ(status("POST", "/v1/jobs/1/cancel", {}, kOtherUid), 403);
  EXPECT_EQ(status("GET", "/v1/jobs/1/logs", {}, kOtherUid), 403);
  const std::string node = machine_->node(sched::NodeId{0}).name;
  EXPECT_EQ(status("POST", "/v1/nodes/" + node + "/drain", {}, kOtherUid), 403);
  EXPECT_EQ(status("POST", "/v1/nodes/" + node + "/drain", R"({"reason": "firmware"})"), 200);
  EXPECT_EQ(status("POST", "/v1/nodes/" + node + "/drain"), 409);
  EXPECT_EQ(status("POST", "/v1/nodes/" + node + "/resume", {}, 0), 200);  // root
  const auto other = send("GET", "/v1/jobs/1", {}, kOtherUid);
  EXPECT_FALSE(json::parse(other->response.body)["job"].contains("command"));
  EXPECT_TRUE(json::parse(send("GET", "/v1/jobs/1")->response.body)["job"].contains("command"));
  EXPECT_EQ(status("POST", "/v1/jobs/1/cancel", R"({"reason": "enough"})"), 200);
  EXPECT_EQ(status("POST", "/v1/jobs/2/cancel"), 404);
}

TEST_F(ApiTest, InvalidSubmissionsNameTheLine) {
  const std::string text = json{{"text", "job: 1\nname: x\nnodes: many\n"}, {"name", "x.yaml"}}.dump();
  const auto connection = send("POST", "/v1/jobs", text);
  EXPECT_EQ(connection->response.status, 422);
  EXPECT_THAT(connection->response.body, HasSubstr("x.yaml:3"));
  EXPECT_EQ(store_.durable(), loop_->sequence());
}

TEST_F(ApiTest, EventsResumeWhereTheyEnded) {
  const auto follower = send("GET", "/v1/events?since=0");
  ASSERT_TRUE(follower->streaming);
  EXPECT_EQ(follower->events.size(), store_.durable());
  EXPECT_EQ(status("POST", "/v1/jobs", submission()), 201);
  ASSERT_EQ(follower->events.size(), store_.durable());
  for (std::size_t i = 0; i < follower->events.size(); ++i) EXPECT_EQ(follower->events[i].id, i + 1);
  const auto filtered = send("GET", "/v1/events?job=1&since=0");
  ASSERT_FALSE(filtered->events.empty());
  EXPECT_EQ(filtered->events.front().name, "job_submitted");
  EXPECT_EQ(status("GET", "/v1/events?since=" + std::to_string(store_.durable() + 1)), 400);
  // Records that a snapshot replaced cannot be sent again: the client must read the state.
  ASSERT_TRUE(store_.save_snapshot({store_.durable(), loop_->controller().state().to_text()}).ok());
  EXPECT_EQ(status("POST", "/v1/jobs", submission()), 201);
  const store::Sequence replaced = store_.durable();
  ASSERT_TRUE(store_.save_snapshot({replaced, loop_->controller().state().to_text()}).ok());
  ASSERT_TRUE(store_.compact(3).ok()) << store_.compact(3).error().text();
  EXPECT_EQ(status("GET", "/v1/events?since=2"), 410);
  EXPECT_TRUE(send("GET", "/v1/events?since=3")->streaming);
}

TEST_F(ApiTest, EveryRouteAnswers) {
  EXPECT_EQ(status("POST", "/v1/jobs", submission()), 201);
  for (const Api::RouteInfo& route : Api::routes()) {
    if (route.pattern == "/v1/events") continue;
    std::string target(route.pattern);
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"{job}", "1"}, {"{node}", "nowhere"}}) {
      if (const std::size_t at = target.find(name); at != std::string::npos) target.replace(at, name.size(), value);
    }
    const int code = status(std::string(route.method), target, "{}");
    EXPECT_TRUE(code == 200 || code == 404 || code == 409 || code == 400 || code == 403 || code == 422)
        << route.method << " " << target << ": " << code;
    EXPECT_EQ(status("PATCH", target), 405) << target;
  }
  for (const char* format : {"table", "wide", "json", "yaml", "ndjson", "csv"}) {
    for (const char* path : {"/v1/server", "/v1/jobs", "/v1/jobs/1", "/v1/jobs/1/why", "/v1/nodes", "/v1/queue"}) {
      const auto connection = send("GET", std::string(path) + "?output=" + format);
      EXPECT_EQ(connection->response.status, 200) << path;
      EXPECT_FALSE(connection->response.body.empty());
    }
  }
}

}  // namespace
}  // namespace weft::serve

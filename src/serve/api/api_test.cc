// The API without a socket: who may do what, when requests are answered, and what followers of the events receive.
#include "serve/api/api.h"

#include <fmt/format.h>
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
    if (!reads) buffered += data.size();
    return streaming;
  }
  void end_stream() override { streaming = false; }
  [[nodiscard]] bool is_streaming() const override { return streaming; }
  [[nodiscard]] std::size_t buffered_bytes() const override { return buffered; }
  void notify_when_drained(std::function<void()> callback) override { when_drained = std::move(callback); }

  HttpResponse response;
  int responses = 0;
  bool streaming = false;
  bool reads = true;  // its events
  std::size_t buffered = 0;
  std::function<void()> when_drained;
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
    request.content_type = "application/json";
    request.if_match = if_match_;
    request.if_none_match = if_none_match_;
    request.request_id = "r-7";
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
  std::string if_match_;  // of the next requests
  std::string if_none_match_;
  std::vector<lease::LeaseOwner> engines_;
};

// History that its reader does not see must not keep the server from its other work.
TEST_F(ApiTest, ALongHistoryIsReadInPieces) {
  std::vector<std::string> last;
  ASSERT_TRUE(store_
                  .read(store_.durable(),
                        [&](const store::Entry& entry) -> Status {
                          last.emplace_back(entry.bytes);
                          return {};
                        })
                  .ok());
  const store::Sequence before = store_.durable();
  const std::vector<std::string> unseen(20'000, "not a record");
  (void)store_.append(unseen);
  (void)store_.append(last);
  (void)store_.append(unseen);
  (void)store_.append(last);
  ASSERT_TRUE(store_.sync().ok());
  const auto from_start = send("GET", fmt::format("/api/v1/events?since={}", before));
  const auto also = send("GET", fmt::format("/api/v1/events?since={}", before));
  const auto at_end = send("GET", fmt::format("/api/v1/events?since={}", store_.durable() - 1));
  ASSERT_TRUE(at_end->streaming);
  int turns = 0;
  int turns_of_last = 0;
  while (api_->has_unsent_events()) {
    ASSERT_LT(turns, 1000);
    ++turns;
    api_->publish();
    if (at_end->events.empty()) turns_of_last = turns;
  }
  EXPECT_GE(turns, 10) << "40,002 records twice, a few thousand at a time";
  EXPECT_LE(turns_of_last, 1) << "behind two that read much";
  for (const auto& each : {from_start, also}) {
    ASSERT_EQ(each->events.size(), 2U) << "each once";
    EXPECT_EQ(each->events[0].id, before + unseen.size() + 1);
    EXPECT_EQ(each->events[1].id, store_.durable());
  }
  ASSERT_EQ(at_end->events.size(), 1U);
  EXPECT_EQ(at_end->events[0].id, store_.durable());
  (void)store_.append(last);
  ASSERT_TRUE(store_.sync().ok());
  api_->publish();
  EXPECT_EQ(from_start->events.size(), 3U);
  EXPECT_EQ(at_end->events.size(), 2U);
}

// A client that reads slowly: what is not read is bounded, and what follows comes when it has read.
TEST_F(ApiTest, AFollowerThatReadsSlowlyMissesNothing) {
  std::vector<std::string> last;
  ASSERT_TRUE(store_
                  .read(store_.durable(),
                        [&](const store::Entry& entry) -> Status {
                          last.emplace_back(entry.bytes);
                          return {};
                        })
                  .ok());
  const store::Sequence before = store_.durable();
  (void)store_.append(std::vector<std::string>(6'000, last.front()));
  ASSERT_TRUE(store_.sync().ok());
  api_->publish();
  const auto slow = send("GET", fmt::format("/api/v1/events?since={}", before));
  slow->reads = false;
  while (api_->has_unsent_events()) api_->publish();
  const std::size_t unread = slow->events.size();
  EXPECT_GT(unread, 0U);
  EXPECT_LT(unread, 6'000U);
  api_->publish();
  EXPECT_EQ(slow->events.size(), unread) << "it has more than it reads";
  slow->reads = true;
  slow->buffered = 0;
  ASSERT_TRUE(slow->when_drained);
  std::exchange(slow->when_drained, nullptr)();
  while (api_->has_unsent_events()) api_->publish();
  ASSERT_EQ(slow->events.size(), 6'000U);
  for (std::size_t i = 0; i < slow->events.size(); ++i) ASSERT_EQ(slow->events[i].id, before + 1 + i);
}

TEST_F(ApiTest, OneUserHasALimitedNumberOfStreams) {
  std::vector<std::shared_ptr<TestConnection>> streams;
  for (int i = 0; i < 64; ++i) {
    streams.push_back(send("GET", "/api/v1/events", {}, kUserUid));
    ASSERT_TRUE(streams.back()->streaming) << i;
  }
  const auto refused = send("GET", "/api/v1/events", {}, kUserUid);
  EXPECT_FALSE(refused->streaming);
  EXPECT_EQ(refused->response.status, 429);
  EXPECT_THAT(refused->response.body, HasSubstr("64 streams"));
  EXPECT_NE(refused->response.find_header("Retry-After"), nullptr);
  EXPECT_TRUE(send("GET", "/api/v1/events", {}, kOtherUid)->streaming) << "another user";
  streams.front() = nullptr;  // the client has closed it
  streams.front() = send("GET", "/api/v1/events", {}, kUserUid);
  EXPECT_TRUE(streams.front()->streaming);
  EXPECT_EQ(send("GET", "/api/v1/events", {}, kUserUid)->response.status, 429);
}

class LeaseApiTest : public ApiTest {
 protected:
  LeaseApiTest() { engines_ = {lease::LeaseOwner::slurm, lease::LeaseOwner::kubernetes}; }
};

TEST_F(LeaseApiTest, LeasesAreShownAndMoved) {
  const auto list = send("GET", "/api/v1/leases");
  ASSERT_EQ(list->response.status, 200);
  const json leases = json::parse(list->response.body)["leases"];
  ASSERT_EQ(leases.size(), 2U);
  EXPECT_EQ(leases[0]["state"], "none");
  EXPECT_EQ(leases[0]["waits"], "its gate has not reported since the controller started");
  EXPECT_EQ(status("GET", "/api/v1/leases/train001"), 200);
  EXPECT_EQ(status("GET", "/api/v1/leases/nowhere"), 404);
  const auto body = [](const std::string& nodes, const std::string& to, const std::string& preempt) {
    return json{{"nodes", nodes}, {"to", to}, {"preempt", json::parse(preempt)}}.dump();
  };
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("nowhere", "kubernetes", "false")), 404);
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("train[001", "kubernetes", "false")), 400);
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("train001", "nomad", "false")), 400);
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("train001", "kubernetes", "\"perhaps\"")), 400);
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("train001", "weft", "true")), 400)
      << "not an engine of this server";
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("train001", "kubernetes", "true")), 409) << "not leased yet";
  EXPECT_EQ(status("POST", "/api/v1/leases/move", body("train001", "kubernetes", "true"), 4242), 403);
}

TEST_F(LeaseApiTest, AJobNamesItsEngine) {
  json submission = json::parse(ApiTest::submission());
  submission["engine"] = "kubernetes";
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission.dump()), 201);
  EXPECT_EQ(loop_->controller().state().find_job(1)->spec->engine, lease::LeaseOwner::kubernetes);
  submission["engine"] = "nomad";
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission.dump()), 400);
  submission["engine"] = "weft";
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission.dump()), 400) << "not an engine of this server";
}

TEST_F(ApiTest, AServerWithOneEngineHasNoLeases) {
  EXPECT_EQ(status("GET", "/api/v1/leases"), 409);
  json submission = json::parse(ApiTest::submission());
  submission["engine"] = "slurm";
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission.dump()), 400);
}

TEST_F(ApiTest, ASubmissionIsAnsweredWhenItIsDurable) {
  const auto connection = send("POST", "/api/v1/jobs", submission(), kServerUid, "key-1");
  EXPECT_EQ(connection->responses, 0);
  turn();
  ASSERT_EQ(connection->responses, 1);
  EXPECT_EQ(connection->response.status, 201) << connection->response.body;
  EXPECT_EQ(*connection->response.find_header("Location"), "/api/v1/jobs/1");
  EXPECT_EQ(json::parse(connection->response.body)["answer"]["job"], 1);
  const auto again = send("POST", "/api/v1/jobs", submission(), kServerUid, "key-1");
  turn();
  EXPECT_EQ(again->response.status, 200);
  EXPECT_EQ(json::parse(again->response.body)["answer"]["job"], 1);
  const auto view = send("GET", "/api/v1/jobs/1");
  EXPECT_EQ(json::parse(view->response.body)["job"]["name"], "train");
  EXPECT_EQ(*view->response.find_header(kSequenceHeader), std::to_string(store_.durable()));
}

TEST_F(ApiTest, AFullDisk) {
  store_.set_full(true);
  const auto waiting = send("POST", "/api/v1/jobs", submission(), kServerUid, "key-1");
  turn();
  ASSERT_EQ(waiting->responses, 1);
  EXPECT_EQ(waiting->response.status, 503);
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 503);
  EXPECT_EQ(status("GET", "/api/v1/jobs"), 200);
  EXPECT_THAT(send("GET", "/api/v1/server")->response.body, HasSubstr("no space left"));
  store_.set_full(false);
  turn();
  turn();
  const auto again = send("POST", "/api/v1/jobs", submission(), kServerUid, "key-1");  // it took effect meanwhile
  turn();
  EXPECT_EQ(json::parse(again->response.body)["answer"]["message"], "already submitted");
}

TEST_F(ApiTest, UsersChangeOnlyTheirOwnJobs) {
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission(), kUserUid), 403);  // the server is not root: it cannot run them
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  EXPECT_EQ(status("GET", "/api/v1/jobs/1", {}, kOtherUid), 200);
  EXPECT_EQ(status("POST", "/api/v1/jobs/1/cancel", {}, kOtherUid), 403);
  EXPECT_EQ(status("GET", "/api/v1/jobs/1/logs", {}, kOtherUid), 403);
  const std::string node = machine_->node(sched::NodeId{0}).name;
  EXPECT_EQ(status("POST", "/api/v1/nodes/" + node + "/drain", {}, kOtherUid), 403);
  EXPECT_EQ(status("POST", "/api/v1/nodes/" + node + "/drain"), 400) << "it needs a reason";
  EXPECT_EQ(status("POST", "/api/v1/nodes/" + node + "/drain", R"({"reason": "firmware"})"), 200);
  EXPECT_EQ(status("POST", "/api/v1/nodes/" + node + "/drain", R"({"reason": "firmware"})"), 409);
  EXPECT_EQ(status("POST", "/api/v1/nodes/" + node + "/resume", {}, 0), 200);  // root
  const auto other = send("GET", "/api/v1/jobs/1", {}, kOtherUid);
  EXPECT_FALSE(json::parse(other->response.body)["job"].contains("command"));
  EXPECT_TRUE(json::parse(send("GET", "/api/v1/jobs/1")->response.body)["job"].contains("command"));
  EXPECT_EQ(status("POST", "/api/v1/jobs/1/cancel", R"({"reason": "enough"})"), 200);
  EXPECT_EQ(status("POST", "/api/v1/jobs/2/cancel"), 404);
}

TEST_F(ApiTest, InvalidSubmissionsNameTheLine) {
  const std::string text = json{{"text", "job: 1\nname: x\nnodes: many\n"}, {"name", "x.yaml"}}.dump();
  const auto connection = send("POST", "/api/v1/jobs", text);
  EXPECT_EQ(connection->response.status, 422);
  EXPECT_THAT(connection->response.body, HasSubstr("x.yaml:3"));
  EXPECT_EQ(store_.durable(), loop_->sequence());
}

TEST_F(ApiTest, EventsResumeWhereTheyEnded) {
  const auto follower = send("GET", "/api/v1/events?since=0");
  ASSERT_TRUE(follower->streaming);
  EXPECT_EQ(follower->events.size(), store_.durable());
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  ASSERT_EQ(follower->events.size(), store_.durable());
  for (std::size_t i = 0; i < follower->events.size(); ++i) EXPECT_EQ(follower->events[i].id, i + 1);
  const auto filtered = send("GET", "/api/v1/events?job=1&since=0");
  ASSERT_FALSE(filtered->events.empty());
  EXPECT_EQ(filtered->events.front().name, "job_submitted");
  EXPECT_EQ(status("GET", "/api/v1/events?since=" + std::to_string(store_.durable() + 1)), 400);
  // Records that a snapshot replaced cannot be sent again: the client must read the state.
  ASSERT_TRUE(store_.save_snapshot({store_.durable(), loop_->controller().state().to_text()}).ok());
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  const store::Sequence replaced = store_.durable();
  ASSERT_TRUE(store_.save_snapshot({replaced, loop_->controller().state().to_text()}).ok());
  ASSERT_TRUE(store_.compact(3).ok()) << store_.compact(3).error().text();
  EXPECT_EQ(status("GET", "/api/v1/events?since=2"), 410);
  EXPECT_TRUE(send("GET", "/api/v1/events?since=3")->streaming);
}

TEST_F(ApiTest, EveryRouteAnswers) {
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  for (const RouteRow& row : route_rows()) {
    if (row.id == "event.follow") continue;
    std::string target = std::string(kApiPrefix) + std::string(row.pattern);
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"{job}", "1"}, {"{node}", "nowhere"}}) {
      if (const std::size_t at = target.find(name); at != std::string::npos) target.replace(at, name.size(), value);
    }
    const int code = status(std::string(row.method), target, row.method == "GET" ? "" : "{}");
    // 501: what the gatekeeper answers, and there is none here.
    EXPECT_TRUE(code == 200 || code == 404 || code == 409 || code == 400 || code == 403 || code == 422 || code == 501)
        << row.method << " " << target << ": " << code;
    EXPECT_EQ(status("PATCH", target), 405) << target;
  }
  for (const char* format : {"table", "wide", "json", "yaml", "ndjson", "csv"}) {
    for (const char* path : {"/server", "/jobs", "/jobs/1", "/jobs/1/why", "/nodes", "/queue"}) {
      const auto connection = send("GET", std::string(kApiPrefix) + path + "?output=" + format);
      EXPECT_EQ(connection->response.status, 200) << path;
      EXPECT_FALSE(connection->response.body.empty());
    }
  }
}

TEST_F(ApiTest, ErrorsNameThePlaceInTheRequest) {
  const auto errors_of = [&](const std::string& method, const std::string& target, const std::string& body = {}) {
    const auto connection = send(method, target, body);
    EXPECT_EQ(connection->response.status, 400) << connection->response.body;
    EXPECT_EQ(connection->response.content_type, "application/problem+json");
    return json::parse(connection->response.body)["errors"];
  };
  EXPECT_EQ(errors_of("GET", "/api/v1/queue?limit=many")[0]["parameter"], "limit");
  EXPECT_EQ(errors_of("GET", "/api/v1/queue?limits=3")[0]["parameter"], "limits");
  EXPECT_EQ(errors_of("GET", "/api/v1/queue?limit=1&limit=2")[0]["parameter"], "limit");
  EXPECT_EQ(errors_of("GET", "/api/v1/jobs?sort=size")[0]["parameter"], "sort");
  EXPECT_EQ(errors_of("POST", "/api/v1/jobs/1/cancel", R"({"reason": 7})")[0]["pointer"], "/reason");
  EXPECT_EQ(errors_of("POST", "/api/v1/jobs/1/cancel", R"({"why": "x"})")[0]["pointer"], "/why");
  EXPECT_EQ(errors_of("POST", "/api/v1/jobs", R"({"name": "x"})")[0]["pointer"], "/text");
  const json both = errors_of("POST", "/api/v1/reservations", R"({"name": 1, "in": "soon"})");
  EXPECT_EQ(both.size(), 4U) << "two are wrong, and `nodes` and `for` are missing: " << both;
  EXPECT_EQ(errors_of("POST", "/api/v1/nodes/train001/confirm-off", "{}")[0]["pointer"], "/reason");
  const auto repeated = errors_of("POST", "/api/v1/jobs/1/cancel", R"({"reason": "a", "reason": "b"})");
  EXPECT_EQ(repeated.size(), 1U);
  const auto file =
      send("POST", "/api/v1/jobs", json{{"text", "job: 1\nname: x\nnodes: many\n"}, {"name", "x.yaml"}}.dump());
  const json place = json::parse(file->response.body)["errors"][0];
  EXPECT_EQ(place["source"], "x.yaml");
  EXPECT_EQ(place["line"], 3);
}

TEST_F(ApiTest, ARequestMayDependOnWhatWasRead) {
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  const std::string tag = *send("GET", "/api/v1/jobs/1")->response.find_header("ETag");
  if_match_ = "\"other\"";
  EXPECT_EQ(status("POST", "/api/v1/jobs/1/cancel"), 412);
  if_match_ = "\"other\", " + tag;
  const auto first = send("POST", "/api/v1/jobs/1/cancel");
  const auto second = send("POST", "/api/v1/jobs/1/cancel");  // of the same turn: the first one changes the job
  turn();
  EXPECT_EQ(first->response.status, 200) << first->response.body;
  EXPECT_EQ(second->response.status, 412);
  if_match_ = tag;
  EXPECT_EQ(status("GET", "/api/v1/jobs/1"), 400) << "this request does not depend on anything";
}

TEST_F(ApiTest, AnAnswerThatHasNotChangedIsNotSentAgain) {
  EXPECT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  const std::string tag = *send("GET", "/api/v1/jobs/1")->response.find_header("ETag");
  for (const std::string& condition : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
    if_none_match_ = condition;
    const auto same = send("GET", "/api/v1/jobs/1");
    EXPECT_EQ(same->response.status, 304) << condition;
    EXPECT_EQ(same->response.body, "");
    EXPECT_EQ(*same->response.find_header("ETag"), tag);
  }
  if_none_match_ = tag;
  EXPECT_EQ(status("POST", "/api/v1/jobs/1/cancel"), 200);
  EXPECT_EQ(status("GET", "/api/v1/jobs/1"), 200) << "it has changed";
  EXPECT_EQ(status("GET", "/api/v1/jobs/77"), 404);
  if_none_match_.clear();
  if_match_ = "W/" + *send("GET", "/api/v1/jobs/1")->response.find_header("ETag");
  EXPECT_EQ(status("POST", "/api/v1/jobs/1/cancel"), 412) << "If-Match compares strongly";
}

TEST_F(ApiTest, AWaitingJobHasAnExpectedStart) {
  const auto submit = [&] {
    const json body{{"text", "job: 1\nname: long\ntenant: team\nnodes: 2\ntime_limit: 1h\ncommand: [/bin/true]\n"},
                    {"directory", "/tmp"},
                    {"expect", true}};
    const auto connection = send("POST", "/api/v1/jobs", body.dump());
    seconds_ += 60;  // the turn that decides it is later than the request
    turn();
    EXPECT_EQ(connection->response.status, 201) << connection->response.body;
    return json::parse(connection->response.body, nullptr, false)["answer"]["expected_start"];
  };
  EXPECT_TRUE(submit().is_string());
  EXPECT_TRUE(submit().is_string());
  api_->set_time({});  // as of a request that came before the turn and is handled after it
  const json check{{"text", "job: 1\nname: x\ntenant: team\nnodes: 1\ncommand: [/bin/true]\n"}, {"directory", "/tmp"}};
  EXPECT_EQ(status("POST", "/api/v1/jobs/check", check.dump()), 200);
  EXPECT_EQ(status("GET", "/api/v1/jobs/2/why"), 200);
}

TEST_F(ApiTest, AProblemHasTheIdOfItsRequest) {
  for (const auto& [method, target] : {std::pair{"GET", "/api/v1/jobs/77"},
                                       {"GET", "/api/v1/jobs?limit=x"},
                                       {"GET", "/api/v1/nothing"},
                                       {"DELETE", "/api/v1/jobs"}}) {
    const HttpResponse response = send(method, target)->response;
    EXPECT_GE(response.status, 400);
    const json problem = json::parse(response.body, nullptr, false);
    EXPECT_EQ(problem["request_id"], "r-7") << response.body;
    EXPECT_EQ(problem["status"], response.status);
  }
}

TEST_F(ApiTest, NamesAreSortedNaturally) {
  for (const char* name : {"n10", "n9", "n100", "n09"}) {
    const json body{{"text", fmt::format("job: 1\nname: {}\ntenant: team\nnodes: 1\ncommand: [/bin/true]\n", name)},
                    {"directory", "/tmp"}};
    ASSERT_EQ(status("POST", "/api/v1/jobs", body.dump()), 201);
  }
  std::vector<std::string> seen;
  std::string page;
  for (int pages = 0; pages < 4; ++pages) {
    const auto answer = send("GET", "/api/v1/jobs?limit=1&sort=name" + page);
    const json body = json::parse(answer->response.body);
    for (const json& row : body["jobs"]) seen.push_back(row["name"]);
    const std::string* next = answer->response.find_header(kNextPageHeader);
    page = next == nullptr ? "" : "&page=" + *next;
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"n09", "n9", "n10", "n100"}));
}

TEST_F(ApiTest, ListsArePagedSortedAndFiltered) {
  for (int i = 0; i < 5; ++i) {
    const json body{
        {"text", "job: 1\nname: n" + std::to_string(i % 2) + "\ntenant: team\nnodes: 1\ncommand: [/bin/true]\n"},
        {"directory", "/tmp"}};
    ASSERT_EQ(status("POST", "/api/v1/jobs", body.dump()), 201);
  }
  std::vector<int> seen;
  std::string page;
  do {
    const auto answer = send("GET", "/api/v1/jobs?limit=2&sort=-job" + (page.empty() ? page : "&page=" + page));
    ASSERT_EQ(answer->response.status, 200) << answer->response.body;
    const json rows = json::parse(answer->response.body)["jobs"];
    for (const json& row : rows) seen.push_back(row["job"]);
    const std::string* next = answer->response.find_header(kNextPageHeader);
    page = next == nullptr ? "" : *next;
    // A job that comes in between is before the place, and repeats nothing.
    if (!page.empty()) ASSERT_EQ(status("POST", "/api/v1/jobs", submission()), 201);
  } while (!page.empty());
  EXPECT_EQ(seen, (std::vector<int>{5, 4, 3, 2, 1}));
  const json filtered = json::parse(send("GET", "/api/v1/jobs?name=n1&sort=job")->response.body)["jobs"];
  ASSERT_EQ(filtered.size(), 2U);
  EXPECT_EQ(filtered[0]["job"], 2);
  EXPECT_EQ(status("GET", "/api/v1/jobs?page=zz"), 400);
}

TEST_F(ApiTest, AJobCanBeCheckedBeforeItIsSubmitted) {
  const auto checked = send("POST", "/api/v1/jobs/check", submission());
  ASSERT_EQ(checked->response.status, 200) << checked->response.body;
  const json answer = json::parse(checked->response.body)["job_check"];
  EXPECT_EQ(answer["tenant"], "team");
  EXPECT_TRUE(answer["expected_start"].is_string()) << answer;
  EXPECT_TRUE(loop_->controller().state().jobs().empty());
  json body = json::parse(submission());
  body["expect"] = true;
  const auto submitted = send("POST", "/api/v1/jobs", body.dump());
  turn();
  EXPECT_TRUE(json::parse(submitted->response.body)["answer"]["expected_start"].is_string())
      << submitted->response.body;
}

}  // namespace
}  // namespace weft::serve

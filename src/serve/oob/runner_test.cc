#include "serve/oob/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oob/redfish/json.h"
#include "serve/oob/test_fleet.h"

namespace weft::serve {
namespace {

using oob::raw_text;
using ::testing::HasSubstr;

// Answers a dry run at once; carries a change out when the file "go" is there.
constexpr const char* kFakePower = R"(
for word in "$@"; do
  [ "$word" = --dry-run ] && echo "weft: power.off would affect 1 device" >&2 && echo '{"waves": []}' && exit 0
done
echo "$WEFT_ON_BEHALF_OF $WEFT_SERVE_OPERATION $*" >> "FOLDER/ran"
echo "weft: wave 1 of 1" >&2
while [ ! -e FOLDER/go ]; do sleep 0.02; done
echo '{"operation": {"done": 1}}'
exit CODE
)";

class OobRunnerTest : public ::testing::Test {
 protected:
  void TearDown() override {
    go();
    runner_.reset();
  }

  void begin(const std::string& script) {
    options_.config.executable = folder_.script(script);
    options_.config.cluster_file = "pod16.yaml";
    options_.config.state = folder_.file("state");
    options_.cluster = test_cluster();
    options_.inventory = test_inventory();
    options_.folder = folder_.file("operations");
    options_.post = [this](std::function<void()> call) { loop_.post(std::move(call)); };
    options_.clock = &clock_;
    restart();
  }
  void restart() {
    runner_.reset();
    Result<std::unique_ptr<OobRunner>> runner = OobRunner::open(options_);
    ASSERT_TRUE(runner.ok()) << runner.error().text();
    runner_ = std::move(*runner);
  }
  [[nodiscard]] std::string power(int code = 0) const {
    std::string text = kFakePower;
    const auto replace = [&](const std::string& from, const std::string& to) {
      for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    replace("FOLDER", folder_.file("."));
    replace("CODE", std::to_string(code));
    return text;
  }
  void go() const { std::ofstream(folder_.file("go")) << "x"; }

  OobAnswer ask(const std::string& route, OobValues values, const std::string& user = "alice") {
    return loop_.ask(*runner_, {route, std::move(values), user, "r1", kOobPlanAge});
  }
  OobAnswer power_off(const std::string& devices, OobValues more = {}) {
    more["action"] = "off";
    more["devices"] = devices;
    return ask("oob.power", std::move(more));
  }
  std::string plan_of(const std::string& devices) {
    const OobAnswer plan = power_off(devices);
    EXPECT_EQ(plan.status, 200) << plan.detail;
    return raw_text(plan.body, {"plan_id"});
  }
  OobAnswer execute(const std::string& devices, const std::string& plan_id) {
    return power_off(devices, {{"plan", "false"}, {"plan_id", plan_id}, {"reason", "XID 79"}});
  }
  OobAnswer show(const std::string& id) { return ask("oob.operation-show", {{"operation", id}}); }
  OobAnswer wait_for(const std::string& id) {
    for (;;) {
      OobAnswer shown = show(id);
      const std::string state = raw_text(shown.body, {"state"});
      if (shown.status != 200 || (state != "queued" && state != "running")) return shown;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void wait_for_lines(std::size_t lines) const {
    for (;;) {
      const std::string ran = folder_.text("ran");
      if (static_cast<std::size_t>(std::count(ran.begin(), ran.end(), '\n')) >= lines) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  OobTestFolder folder_;
  TestLoop loop_;
  oob::SystemClock real_clock_;
  oob::ManualClock clock_;
  OobRunnerOptions options_;
  std::unique_ptr<OobRunner> runner_;
};

TEST_F(OobRunnerTest, ExitCodesBecomeStatuses) {
  struct Case {
    const char* script;
    int status;
    const char* result;
  };
  for (const Case& one : std::initializer_list<Case>{
           {"echo '{}'; exit 0", 200, "ok"},
           {"exit 0", 200, "ok"},
           {"echo '{\"a\": 1}'; exit 1", 200, "findings"},
           {"echo 'weft: no credentials' >&2; exit 2", 422, "usage"},
           {"echo '{}'; exit 3", 200, "partial"},
           {"exit 3", 502, "partial"},
           {"echo '{}'; exit 4", 409, "refused"},
           {"echo 'weft: refused' >&2; exit 4", 409, "refused"},
           {"echo '{}'; exit 5", 200, "unavailable"},
           {"exit 5", 503, "unavailable"},
           {"exit 6", 500, "crashed"},
           {"exit 127", 500, "crashed"},
           {"kill -ABRT $$; sleep 1000", 500, "crashed"},
           {"echo '{'; exit 0", 500, "invalid"},
           {"echo 'not JSON'; exit 3", 500, "invalid"},
           {"printf '\\377\\376\\000'; exit 0", 500, "invalid"},
           {"echo '{} {}'; exit 0", 500, "invalid"},
           {"i=0; while [ $i -lt 100 ]; do printf '['; i=$((i+1)); done; exit 0", 500, "invalid"},
           {"head -c 3000000 /dev/zero | tr '\\0' a; exit 0", 422, "too_large"}}) {
    options_.max_output = 1'000'000;
    begin(one.script);
    const OobAnswer answer = ask("oob.status", {});
    EXPECT_EQ(answer.status, one.status) << one.script << answer.detail;
    EXPECT_EQ(raw_text(answer.body, {"result"}), one.result) << one.script;
    EXPECT_EQ(answer.detail.empty(), answer.status == 200) << one.script;
  }
}

TEST_F(OobRunnerTest, ReadingsPassDataAndNotesOn) {
  begin("echo \"weft: 1 device has no controller\" >&2; echo '{\"devices\": [{\"host\": \"train001\"}]}'; exit 3");
  const OobAnswer answer = ask("oob.device-sensors", {{"device", "train001"}, {"bad", "true"}});
  EXPECT_EQ(
      write_json_line(answer.body),
      R"({"result": "partial", "data": {"devices": [{"host": "train001"}]}, "notes": ["1 device has no controller"]})");
  EXPECT_EQ(ask("oob.runbook", {{"runbook", "pfc-storm"}}).status, 502) << "exit 3 without a document";
}

TEST_F(OobRunnerTest, WrongRequestsRunNothing) {
  begin("touch " + folder_.file("ran"));
  EXPECT_EQ(ask("oob.none", {}).status, 404);
  EXPECT_EQ(ask("oob.status", {{"devices", "--yes"}}).status, 400);
  EXPECT_EQ(ask("oob.status", {{"devices", "--yes"}}).parameter, "devices");
  EXPECT_EQ(ask("oob.device-events", {{"device", "train999"}}).status, 404);
  EXPECT_EQ(ask("oob.status", {}, "").status, 400);
  EXPECT_EQ(ask("oob.status", {}, "a\nb").status, 400);
  EXPECT_EQ(ask("oob.backup", {{"plan", "false"}}).status, 400) << "it has no plan";
  EXPECT_EQ(ask("oob.operation-show", {{"operation", "../../etc/passwd"}}).status, 404);
  EXPECT_EQ(power_off("train001", {{"reason", "a\x1b"}}).parameter, "reason");
  EXPECT_EQ(power_off("train001", {{"plan", "no"}}).parameter, "plan");
  EXPECT_FALSE(folder_.has("ran"));
}

TEST_F(OobRunnerTest, APlanIsTheDefaultAndHasTheBlastRadius) {
  std::vector<std::string> asked;
  options_.jobs_on = [&](const std::vector<std::string>& devices) {
    asked = devices;
    return Value::list({Value("job 7 of tenant research")});
  };
  begin(power());
  const OobAnswer plan = power_off("train[001-002]");
  EXPECT_EQ(plan.status, 200) << plan.detail;
  EXPECT_EQ(asked, (std::vector<std::string>{"train001", "train002"}));
  const Value* radius = plan.body.find("blast_radius");
  ASSERT_NE(radius, nullptr);
  EXPECT_EQ(oob::number(*radius, {"devices"}), 2.0);
  EXPECT_EQ(raw_text(*radius, {"hosts"}), "train[001-002]");
  EXPECT_EQ(oob::list(*radius, {"running"}).size(), 1U);
  EXPECT_EQ(raw_text(plan.body, {"plan_id"}).size(), 32U);
  EXPECT_FALSE(folder_.has("ran"));
  EXPECT_TRUE(oob::list(ask(std::string(kOobOperationList), {}).body, {"operations"}).empty());
}

TEST_F(OobRunnerTest, MoreDevicesThanTheLimitGetNoPlanId) {
  begin(power());
  const OobAnswer plan = power_off("train[001-002]", {{"limit", "1"}});
  EXPECT_EQ(oob::truth(plan.body, {"allowed"}), false);
  EXPECT_THAT(raw_text(plan.body, {"refusal"}), HasSubstr("2 devices exceed the limit of 1"));
  EXPECT_EQ(raw_text(plan.body, {"plan_id"}), "");
}

TEST_F(OobRunnerTest, ASwitchHasItsServersInTheBlastRadius) {
  std::size_t asked = 0;
  options_.jobs_on = [&](const std::vector<std::string>& devices) {
    asked = devices.size();
    return Value();
  };
  begin(power());
  const std::string leaf = [] {
    for (const oob::Target& target : test_inventory().targets())
      if (target.role == oob::Role::network_switch && !target.spine && target.fabric == "backend") return target.name;
    return std::string();
  }();
  const OobAnswer plan = ask("oob.restore", {{"devices", leaf}});
  ASSERT_EQ(plan.status, 200) << plan.detail;
  EXPECT_GT(oob::number(plan.body, {"blast_radius", "servers_behind", "devices"}).value_or(0), 0);
  EXPECT_GT(asked, 1U);
}

TEST_F(OobRunnerTest, OnlyAPlannedChangeIsCarriedOut) {
  begin(power());
  EXPECT_EQ(power_off("train001", {{"plan", "false"}, {"reason", "x"}}).status, 409) << "no plan";
  EXPECT_EQ(execute("train001", "0123").status, 409) << "no such plan";
  const std::string id = plan_of("train001");
  EXPECT_EQ(execute("train002", id).status, 409) << "of other devices";
  EXPECT_EQ(ask("oob.power",
                {{"action", "cycle"}, {"devices", "train001"}, {"plan", "false"}, {"plan_id", id}, {"reason", "x"}})
                .status,
            409)
      << "of another action";
  EXPECT_EQ(power_off("train001", {{"plan", "false"}, {"plan_id", id}}).parameter, "reason");
  EXPECT_EQ(power_off("train001", {{"plan_id", id}}).parameter, "plan_id") << "plan is true by default";
  (void)clock_.sleep(kOobPlanAge + milliseconds(1));
  EXPECT_EQ(execute("train001", id).status, 409) << "too old";
  EXPECT_EQ(plan_of("train001"), id);
  EXPECT_FALSE(folder_.has("ran"));
  const OobAnswer begun = execute("train001", id);
  EXPECT_EQ(begun.status, 202) << begun.detail;
  EXPECT_EQ(execute("train001", id).status, 409) << "a plan is carried out once";
}

TEST_F(OobRunnerTest, AnOperationIsFollowedToItsEnd) {
  begin(power());
  const OobAnswer begun = execute("train001", plan_of("train001"));
  ASSERT_EQ(begun.status, 202) << begun.detail;
  const std::string id = raw_text(begun.body, {"operation"});
  wait_for_lines(1);
  const OobAnswer running = show(id);
  EXPECT_EQ(raw_text(running.body, {"state"}), "running");
  EXPECT_EQ(raw_text(running.body, {"who"}), "alice");
  EXPECT_EQ(raw_text(running.body, {"reason"}), "XID 79");
  EXPECT_THAT(folder_.text("ran"), HasSubstr("alice " + id + " oob power --output=json"));
  EXPECT_THAT(folder_.text("ran"), HasSubstr("--reason=XID 79 --yes -- off pod16.yaml train001"));
  go();
  const OobAnswer done = wait_for(id);
  EXPECT_EQ(raw_text(done.body, {"state"}), "done");
  EXPECT_EQ(oob::number(done.body, {"exit_code"}), 0.0);
  EXPECT_EQ(oob::number(done.body, {"data", "operation", "done"}), 1.0);
  EXPECT_EQ(oob::list(done.body, {"progress"}).size(), 1U);
  restart();
  EXPECT_EQ(write_json_line(show(id).body), write_json_line(done.body)) << "also after a restart";
}

TEST_F(OobRunnerTest, WhatIsNotAllDoneHasFailed) {
  begin(power(3));
  go();
  const OobAnswer failed = wait_for(raw_text(execute("train001", plan_of("train001")).body, {"operation"}));
  EXPECT_EQ(raw_text(failed.body, {"state"}), "failed");
  EXPECT_EQ(raw_text(failed.body, {"result"}), "partial");
  EXPECT_EQ(oob::number(failed.body, {"data", "operation", "done"}), 1.0) << "with its result";
}

TEST_F(OobRunnerTest, ChangesOfTheSameDevicesExcludeEachOther) {
  begin(power());
  const std::string other = plan_of("train[001-002]");
  const std::string apart = plan_of("train003");
  ASSERT_EQ(execute("train001", plan_of("train001")).status, 202);
  const OobAnswer refused = execute("train[001-002]", other);
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.detail, HasSubstr("is changing some of these devices: train001"));
  EXPECT_EQ(execute("train003", apart).status, 202) << "other devices at the same time";
  wait_for_lines(2);
}

TEST_F(OobRunnerTest, QueuesAreBounded) {
  options_.readers = 1;
  options_.changers = 1;
  options_.max_waiting = 1;
  begin(power());
  std::vector<std::string> plans;
  for (int i = 1; i <= 3; ++i) plans.push_back(plan_of("train00" + std::to_string(i)));
  ASSERT_EQ(execute("train001", plans[0]).status, 202);
  wait_for_lines(1);
  ASSERT_EQ(execute("train002", plans[1]).status, 202);
  const OobAnswer full = execute("train003", plans[2]);
  EXPECT_EQ(full.status, 503);
  EXPECT_THAT(full.detail, HasSubstr("retry later"));
  EXPECT_EQ(oob::list(ask(std::string(kOobOperationList), {}).body, {"operations"}).size(), 2U);
}

TEST_F(OobRunnerTest, DeadlinesEndReadings) {
  options_.deadline = milliseconds(50);
  options_.read_grace = milliseconds(50);
  begin("exec sleep 1000");
  const OobAnswer answer = ask("oob.status", {});
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(raw_text(answer.body, {"result"}), "timeout");
}

TEST_F(OobRunnerTest, AChangeThatRunsIsFinishedBeforeTheServerStops) {
  options_.clock = &clock_;
  begin(power());
  options_.changers = 1;
  restart();
  const std::string waits = plan_of("train002");
  const std::string first = raw_text(execute("train001", plan_of("train001")).body, {"operation"});
  wait_for_lines(1);
  const std::string second = raw_text(execute("train002", waits).body, {"operation"});
  runner_->stop();
  EXPECT_EQ(ask("oob.status", {}).status, 503);
  go();
  restart();
  EXPECT_EQ(raw_text(show(first).body, {"state"}), "done");
  EXPECT_EQ(raw_text(show(second).body, {"state"}), "failed");
  EXPECT_EQ(raw_text(show(second).body, {"result"}), "not_started");
}

TEST_F(OobRunnerTest, AChangeThatDoesNotEndIsStoppedAtTheLimitAndIsNotDone) {
  options_.stop_limit = Duration(0);
  begin(
      "case \"$*\" in *--dry-run*) echo '{}'; exit 0;; esac\n"
      "trap 'echo \"weft: operation 4f1c is incomplete\" >&2; echo \"{}\"; exit 3' TERM\n"
      "echo x >> " +
      folder_.file("ran") + "\nwhile :; do sleep 0.02; done");
  const std::string id = raw_text(execute("train001", plan_of("train001")).body, {"operation"});
  wait_for_lines(1);
  restart();
  const OobAnswer shown = show(id);
  EXPECT_EQ(raw_text(shown.body, {"state"}), "failed");
  EXPECT_EQ(raw_text(shown.body, {"result"}), "stopped");
  EXPECT_THAT(raw_text(shown.body, {"detail"}), HasSubstr("the journal says what was carried out"));
}

TEST_F(OobRunnerTest, AnInterruptedOperationIsNotDone) {
  begin(power());
  runner_.reset();
  OobOperation running;
  running.id = "00112233aabbccdd";
  running.state = OobState::running;
  running.since_ms = clock_.wall_ms();
  const OobOperationStore store(options_.folder);
  ASSERT_TRUE(store.save(running).ok());
  restart();
  const OobAnswer shown = show(running.id);
  EXPECT_EQ(raw_text(shown.body, {"state"}), "interrupted");
  EXPECT_NE(shown.body.find("journal"), nullptr);
}

TEST_F(OobRunnerTest, OperationsAreKeptForADay) {
  begin(power());
  go();
  const std::string id = raw_text(execute("train001", plan_of("train001")).body, {"operation"});
  (void)wait_for(id);
  (void)clock_.sleep(milliseconds(24 * 3'600'000 + 1));
  (void)wait_for(raw_text(execute("train001", plan_of("train001")).body, {"operation"}));
  EXPECT_EQ(show(id).status, 404);
  EXPECT_FALSE(folder_.has("operations/" + id + ".json"));
  EXPECT_FALSE(folder_.has("operations/" + id + ".result"));
}

TEST_F(OobRunnerTest, AnOperationThatCannotBeRecordedIsNotBegun) {
  begin(power());
  const std::string plan = plan_of("train001");
  std::filesystem::remove_all(options_.folder);
  std::ofstream(options_.folder) << "a file";
  EXPECT_EQ(execute("train001", plan).status, 503);
  EXPECT_FALSE(folder_.has("ran"));
}

TEST_F(OobRunnerTest, ConcurrentReadingsAreAllAnswered) {
  begin("echo '{}'");
  std::atomic<int> answers{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 8; ++i)
        runner_->handle({"oob.status", {}, "alice", "", kOobPlanAge}, [&](const OobAnswer& /*answer*/) { ++answers; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (answers < 32) loop_.run_one();
  runner_.reset();
  EXPECT_EQ(answers, 32);
}

}  // namespace
}  // namespace weft::serve

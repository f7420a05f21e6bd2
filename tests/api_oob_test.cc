// End-to-end tests of the out-of-band operations of the API: OobRunner with the weft executable on simulated BMCs. The
// table of verbs is compared with the commands it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "bmcsim/fleet.h"
#include "cli/framework/command.h"
#include "oob/journal/journal.h"
#include "oob/redfish/json.h"
#include "program.h"
#include "serve/oob/test_fleet.h"

namespace weft {
namespace {

using oob::raw_text;
using serve::OobAnswer;
using serve::OobValues;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_program::Outcome;
using testing_program::ProgramTest;

class ApiOob : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("api_oob"); }
  void TearDown() override { runner_.reset(); }

  void begin(bmcsim::SimOptions sim = {}) {
    std::vector<bmcsim::SimDevice> devices;
    for (std::uint32_t i = 0; i < 4; ++i) devices.push_back({.name = "train00" + std::to_string(i + 1), .offset = i});
    sim.base = Ipv4{(127U << 24U) | (19U << 16U) | ((static_cast<std::uint32_t>(::getpid()) & 0x3FFFU) << 2U)};
    sim.power_time = milliseconds(40);
    sim.boot_time = milliseconds(80);
    Result<std::unique_ptr<bmcsim::SimFleet>> fleet = bmcsim::SimFleet::make(std::move(devices), std::move(sim));
    ASSERT_TRUE(fleet.ok()) << fleet.error().text();
    fleet_ = std::move(*fleet);
    ASSERT_TRUE(fleet_->start().ok());
    serve::OobConfig& config = options_.config;
    config.executable = weft_binary();
    config.cluster_file = source_dir() + "/examples/pod16.yaml";
    config.state = (folder_ / ::testing::UnitTest::GetInstance()->current_test_info()->name()).string();
    config.endpoints = file("endpoints.yaml", "weft_endpoints: 1\ndefaults: {ca: " + file("ca.pem", fleet_->ca_pem()) +
                                                  "}\nendpoints:\n  train[001-004]: {host: " + fleet_->address(0) +
                                                  ", port: " + std::to_string(fleet_->port()) + "}\n");
    const std::string credentials =
        file("credentials.yaml", "weft_credentials: 1\ndefault: {user: admin, password: weft-simulated}\n");
    ::chmod(credentials.c_str(), 0600);
    config.credentials = "file:" + credentials;
    config.syslog = "none";
    options_.cluster = serve::test_cluster();
    options_.inventory = serve::test_inventory();
    options_.folder = config.state + "/operations";
    options_.post = [this](std::function<void()> call) { loop_.post(std::move(call)); };
    options_.clock = &clock_;
    restart();
  }
  void restart() {
    runner_.reset();
    Result<std::unique_ptr<serve::OobRunner>> runner = serve::OobRunner::open(options_);
    ASSERT_TRUE(runner.ok()) << runner.error().text();
    runner_ = std::move(*runner);
  }

  OobAnswer ask(const std::string& route, OobValues values) {
    return loop_.ask(*runner_, {route, std::move(values), "alice", "request-1", serve::kOobPlanAge});
  }
  // Plan and execution; the id of the operation.
  std::string begin_change(const std::string& route, OobValues values) {
    const OobAnswer plan = ask(route, values);
    EXPECT_EQ(plan.status, 200) << plan.detail << write_json(plan.body);
    EXPECT_EQ(raw_text(plan.body, {"refusal"}), "");
    values["plan"] = "false";
    values["plan_id"] = raw_text(plan.body, {"plan_id"});
    values["reason"] = "XID 79";
    const OobAnswer begun = ask(route, values);
    EXPECT_EQ(begun.status, 202) << begun.detail;
    return raw_text(begun.body, {"operation"});
  }
  OobAnswer wait_for(const std::string& id) {
    for (;;) {
      OobAnswer shown = ask("oob.operation-show", {{"operation", id}});
      const std::string state = raw_text(shown.body, {"state"});
      if (shown.status != 200 || (state != "queued" && state != "running")) return shown;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  [[nodiscard]] std::string journal_path() const { return options_.config.state + "/journal.ndjson"; }
  [[nodiscard]] std::vector<oob::JournalEntry> journal() {
    const auto opened = oob::open_journal(journal_path(), "judge", clock_);
    EXPECT_TRUE(opened.ok());
    return opened.ok() ? (*opened)->read().value_or({}) : std::vector<oob::JournalEntry>();
  }
  // No file of the server, and no answer, has the password.
  void expect_no_secret(const OobAnswer& answer) const {
    EXPECT_THAT(answer.detail + write_json(answer.body), ::testing::Not(HasSubstr("weft-simulated")));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.config.state)) {
      if (!entry.is_regular_file()) continue;
      EXPECT_THAT(read_file(entry.path().string()).value_or(""), ::testing::Not(HasSubstr("weft-simulated")))
          << entry.path();
    }
  }

  std::unique_ptr<bmcsim::SimFleet> fleet_;
  serve::TestLoop loop_;
  oob::SystemClock clock_;
  serve::OobRunnerOptions options_;
  std::unique_ptr<serve::OobRunner> runner_;
};

TEST_F(ApiOob, StatusIsReadFromTheBmcs) {
  bmcsim::SimOptions sim;
  sim.faults = *bmcsim::parse_fault("train003=dead:reset");
  begin(std::move(sim));
  const OobAnswer some = ask("oob.status", {{"devices", "train[001-004]"}});
  EXPECT_EQ(some.status, 200) << some.detail;
  EXPECT_EQ(raw_text(some.body, {"result"}), "partial");
  EXPECT_THAT(write_json(some.body), HasSubstr("train001"));
  const OobAnswer none = ask("oob.status", {{"devices", "train003"}});
  EXPECT_EQ(none.status, 200) << "that no device answered is a result";
  EXPECT_EQ(raw_text(none.body, {"result"}), "unavailable");
  EXPECT_EQ(ask("oob.device-sensors", {{"device", "train001"}}).status, 200);
  EXPECT_EQ(ask("oob.device-events", {{"device", "train001"}, {"level", "warning"}}).status, 200);
  EXPECT_EQ(ask("oob.users", {{"devices", "train001"}}).status, 200);
  EXPECT_EQ(ask("oob.settings", {{"devices", "train001"}}).status, 200);
  EXPECT_EQ(ask("oob.inventory", {}).status, 200);
  EXPECT_EQ(raw_text(ask("oob.runbooks", {}).body, {"result"}), "ok");
  EXPECT_THAT(raw_text(ask("oob.runbook", {{"runbook", "pfc-storm"}}).body, {"data", "text"}), HasSubstr("steps:"));
  expect_no_secret(some);
}

TEST_F(ApiOob, APlanChangesNothing) {
  begin();
  for (const auto& [route, values] : std::vector<std::pair<std::string, OobValues>>{
           {"oob.power", {{"action", "off"}, {"devices", "train[001-002]"}}},
           {"oob.rotate", {{"devices", "train001"}}},
           {"oob.settings-change", {{"devices", "train001"}, {"ntp", "10.0.0.9"}}},
           {"oob.events-clear", {{"devices", "train001"}}}}) {
    const OobAnswer plan = ask(route, values);
    EXPECT_EQ(plan.status, 200) << route << plan.detail << write_json(plan.body);
    EXPECT_EQ(raw_text(plan.body, {"plan_id"}).size(), 32U) << route << write_json(plan.body);
    expect_no_secret(plan);
  }
  const OobAnswer unknown = ask("oob.user-disable", {{"devices", "train001"}, {"user", "guest"}});
  EXPECT_EQ(unknown.status, 422);
  EXPECT_THAT(unknown.detail, HasSubstr("no device has an account `guest`"));
  EXPECT_EQ(fleet_->totals().all_resets(), 0U);
  EXPECT_EQ(fleet_->totals().password_changes, 0U);
  const OobAnswer rescue =
      ask("oob.rescue", {{"runbook", "pfc-storm"}, {"parameters", "tor=" + std::string("be-train-u001-leaf1")}});
  EXPECT_EQ(rescue.status, 200) << rescue.detail << write_json(rescue.body);
}

TEST_F(ApiOob, PowerIsCarriedOutAndTheJournalNamesThePerson) {
  begin();
  const std::string id = begin_change("oob.power", {{"action", "off"}, {"devices", "train[001-002]"}});
  const OobAnswer done = wait_for(id);
  EXPECT_EQ(raw_text(done.body, {"state"}), "done") << write_json(done.body);
  EXPECT_EQ(raw_text(done.body, {"result"}), "ok");
  EXPECT_EQ(oob::list(done.body, {"data", "devices"}).size(), 2U) << write_json(done.body);
  EXPECT_GT(oob::list(done.body, {"progress"}).size(), 1U) << write_json(done.body);
  EXPECT_EQ(fleet_->totals().all_resets(), 2U);
  expect_no_secret(done);

  const std::vector<oob::JournalEntry> entries = journal();
  const auto of_alice = std::count_if(entries.begin(), entries.end(), [&](const oob::JournalEntry& entry) {
    return entry.who.starts_with("alice via weft serve (") && entry.who.ends_with(", operation " + id + ")");
  });
  EXPECT_EQ(of_alice, static_cast<std::ptrdiff_t>(entries.size()));
  EXPECT_GT(of_alice, 4);
  EXPECT_TRUE(oob::verify_journal(journal_path())->problems.empty());
  EXPECT_EQ(raw_text(ask("oob.journal-verify", {}).body, {"result"}), "ok");
  EXPECT_THAT(write_json(ask("oob.journal", {}).body), HasSubstr("alice via weft serve ("));
  const Result<Value> found = serve::find_in_journal(journal_path(), id);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(oob::truth(oob::list(*found, {"operations"}).at(0), {"ended"}), true);
}

TEST_F(ApiOob, AnOperationThatTheServerStopsIsIncompleteAndResumed) {
  bmcsim::SimOptions sim;
  sim.faults = *bmcsim::parse_fault("train001=stuck_off");
  sim.powered = false;
  options_.stop_limit = Duration(0);
  begin(std::move(sim));
  const std::string id = begin_change("oob.power", {{"action", "on"}, {"devices", "train001"}});
  while (fleet_->totals().all_resets() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  restart();
  const OobAnswer shown = ask("oob.operation-show", {{"operation", id}});
  EXPECT_EQ(raw_text(shown.body, {"state"}), "failed") << write_json(shown.body);
  EXPECT_EQ(raw_text(shown.body, {"result"}), "stopped");
  const OobAnswer open = ask("oob.power-incomplete", {});
  const Value::List& rows = oob::list(open.body, {"data", "operations"});
  ASSERT_EQ(rows.size(), 1U) << write_json(open.body);
  const std::string journaled = raw_text(rows[0], {"operation"});
  EXPECT_EQ(ask("oob.power-abandon", {{"operation", "0000000000000000"}}).status, 404);
  const OobAnswer abandoned = wait_for(begin_change("oob.power-abandon", {{"operation", journaled}}));
  EXPECT_TRUE(abandoned.body.find("exit_code") != nullptr && raw_text(abandoned.body, {"result"}) != "usage")
      << write_json(abandoned.body);
  EXPECT_TRUE(oob::list(ask("oob.power-incomplete", {}).body, {"data", "operations"}).empty());
}

TEST_F(ApiOob, APersonIsTrustedOnlyFromTheOwnerOfTheJournal) {
  begin();
  const auto status = [&](const std::string& person, const std::string& operation) {
    return run({"/usr/bin/env", "WEFT_ON_BEHALF_OF=" + person, "WEFT_SERVE_OPERATION=" + operation, weft_binary(),
                "oob", "audit", options_.config.cluster_file, "train001", "--try-defaults", "--reason", "x",
                "--endpoints", options_.config.endpoints, "--credentials", options_.config.credentials, "--state",
                options_.config.state, "--syslog", "none"});
  };
  const Outcome quoted = status("bob via weft serve (root@host)", "");
  EXPECT_NE(quoted.code, 4) << quoted.err;
  const std::vector<oob::JournalEntry> entries = journal();
  ASSERT_FALSE(entries.empty());
  EXPECT_THAT(entries.front().who, StartsWith("\"bob via weft serve (root@host)\" via weft serve ("));
  EXPECT_EQ(status("a\nb", "").code, 4);
  EXPECT_EQ(status(std::string(300, 'a'), "").code, 4);
  EXPECT_EQ(status("alice", "x) root").code, 4);
  if (::geteuid() != 0) return;
  // Root may open the journal of another user, but is not that user.
  ASSERT_EQ(::chown(journal_path().c_str(), 65534, 65534), 0);
  const Outcome other = status("alice", "");
  EXPECT_EQ(other.code, 4);
  EXPECT_THAT(other.err, HasSubstr("belongs to another user"));
}

// Every option that the table writes is one of the command's.
TEST(ApiOobTable, WritesOptionsThatTheCommandsHave) {
  serve::OobConfig config;
  config.cluster_file = "pod16.yaml";
  config.catalogs = {"catalog.yaml"};
  config.state = config.endpoints = config.credentials = config.ca = config.syslog = config.advisories = "x";
  config.host_probe = config.jump = config.login = config.via = "x";
  config.insecure = true;
  for (const serve::OobVerb& verb : serve::oob_verbs()) {
    std::string name(verb.command.front());
    if (verb.command.size() > 1) name += " " + std::string(verb.command[1]);
    const cli::Command* command = cli::find_command(name);
    ASSERT_NE(command, nullptr) << name;
    serve::OobCall call;
    call.verb = &verb;
    for (const serve::OobParameter& parameter : verb.parameters) {
      if (parameter.option.empty()) continue;
      const bool flag = parameter.field.type == serve::FieldType::boolean;
      call.options.push_back("--" + std::string(parameter.option) + (flag ? "" : "=x"));
    }
    for (const serve::OobMode mode : {serve::OobMode::plan, serve::OobMode::execute}) {
      for (const std::string& word : serve::oob_command_line(config, call, mode, "why")) {
        if (!word.starts_with("--") || word == "--") continue;
        const std::string option = word.substr(2, word.find('=') - 2);
        const cli::Option* found = cli::find_option(*command, option);
        ASSERT_NE(found, nullptr) << verb.id << " writes " << word;
        EXPECT_EQ(found->value.empty(), word.find('=') == std::string::npos) << verb.id << " writes " << word;
      }
    }
  }
}

}  // namespace
}  // namespace weft

#include "oob/manage/rotate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "base/test_places.h"
#include "model/load.h"

namespace weft::oob {
namespace {

// weft died here.
struct Crash {};

// Fake BMCs, their passwords, a store and a journal. Every external call of weft is a step; `crash_at` makes it die
// right before or right after a step took effect. After each step the invariant is checked: the password in force is in
// the store.
struct World {
  struct Fault {
    bool silent = false;          // reports success and does nothing
    bool lies = false;            // reports an error and sets it
    bool denies = false;          // rejects it
    bool dies_on_set = false;     // no response, and the password is set
    bool deaf_after_set = false;  // never responds again
    std::size_t keeps = 20;       // bytes of a password that it stores
    int late = 0;                 // logins until a new password takes effect
    bool mangles = false;         // stores another password than the one sent
    bool no_put_back = false;     // rejects a password that was in force before
  };
  std::map<std::string, std::string> in_force{};  // by device
  std::map<std::string, std::vector<std::pair<int, std::string>>>
      coming{};  // remaining logins, and the password after them
  std::map<std::string, Fault> faults{};
  std::map<std::string, Credential> entries{};
  std::set<std::string> dead{};
  std::vector<JournalEntry> journal{};
  std::string used{};  // passwords that were in force, for no_put_back
  int step = 0;
  int crash_at = -1;
  int sets = 0;
  int put_fails_at = -1;
  int puts = 0;
  int journal_fails_at = -1;

  void pass() {
    check();
    if (step++ == crash_at) throw Crash{};
  }
  [[nodiscard]] bool known(const std::string& device, const std::string& password) const {
    const auto found = entries.find(device);
    if (found == entries.end()) return password == "default";
    const Credential& entry = found->second;
    return password == entry.password.reveal() ||
           (entry.pending &&
            (password == entry.pending->reveal() || password == entry.pending->reveal().substr(0, 16)));
  }
  void check() const {
    for (const auto& [device, password] : in_force) {
      if (faults.count(device) > 0 && faults.at(device).mangles) continue;
      EXPECT_TRUE(known(device, password)) << device << " has a password that nobody knows, at step " << step;
    }
  }
};

class FakeBmc final : public Bmc {
 public:
  FakeBmc(World& world, std::string device) : world_(world), device_(std::move(device)) {}

  Status set_password(const std::string& user, const Secret& password) override {
    EXPECT_EQ(user, "admin");
    const World::Fault fault = world_.faults[device_];
    world_.pass();
    ++world_.sets;
    if (fault.denies) return Error{ErrorCode::refused, "password policy", device_};
    if (fault.no_put_back && password.reveal() == "default")
      return Error{ErrorCode::invalid_input, "password was used before", device_};
    std::string text = password.reveal().substr(0, fault.keeps);
    if (fault.mangles && text != "default") text = "mangled";
    if (!fault.silent && fault.late == 0) world_.in_force[device_] = text;
    if (!fault.silent && fault.late > 0) world_.coming[device_].emplace_back(fault.late, text);
    if (fault.deaf_after_set) world_.dead.insert(device_);
    world_.pass();
    if (fault.dies_on_set) return Error{ErrorCode::timeout, "no answer", device_};
    if (fault.lies) return Error{ErrorCode::invalid_input, "internal error", device_};
    return {};
  }
  Result<BmcIdentity> identity() override { return none(); }
  Result<PowerReading> power() override { return none(); }
  Result<std::vector<ResetAction>> reset_actions() override { return none(); }
  Status reset(ResetAction) override { return none(); }
  Result<std::vector<SensorReading>> sensors() override { return none(); }
  Result<std::vector<LogEvent>> events() override { return none(); }
  Status clear_events() override { return none(); }
  Result<std::vector<BmcUser>> users() override { return none(); }
  Status set_user_enabled(const std::string&, bool) override { return none(); }
  Result<BmcSettings> settings() override { return none(); }
  Status change(const SettingsChange&) override { return none(); }
  Result<std::unique_ptr<ConsoleStream>> console() override { return none(); }

 private:
  [[nodiscard]] Error none() const { return {ErrorCode::not_found, "not here", device_}; }
  World& world_;
  std::string device_;
};

class FakeConnector final : public BmcConnector {
 public:
  explicit FakeConnector(World& world) : world_(world) {}
  Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string&, const Secret& password) override {
    world_.pass();
    auto& coming = world_.coming[endpoint.device];
    for (auto& [left, text] : coming) {
      if (--left == 0) world_.in_force[endpoint.device] = text;
    }
    std::erase_if(coming, [](const auto& one) { return one.first <= 0; });
    world_.check();
    if (world_.dead.count(endpoint.device) > 0) return Error{ErrorCode::unavailable, "no route", endpoint.device};
    // A BMC that stores fewer bytes compares fewer.
    const std::string given = password.reveal();
    if (given != world_.in_force[endpoint.device])
      return Error{ErrorCode::refused, "wrong user or password", endpoint.device};
    return std::unique_ptr<Bmc>(std::make_unique<FakeBmc>(world_, endpoint.device));
  }

 private:
  World& world_;
};

class FakeStore final : public CredentialStore {
 public:
  explicit FakeStore(World& world) : world_(world) {}
  Result<Credential> find(const std::string& device, const std::string&) const override {
    const auto found = world_.entries.find(device);
    if (found != world_.entries.end()) return found->second;
    return Credential{"admin", Secret("default"), std::nullopt};
  }
  bool has_own(const std::string& device) const override { return world_.entries.count(device) > 0; }
  Status put(const std::string& device, const Credential& credential) override {
    world_.pass();
    if (world_.puts++ == world_.put_fails_at) return Error{ErrorCode::unavailable, "disk full", "store"};
    world_.entries[device] = credential;
    world_.pass();
    return {};
  }
  bool writable() const override { return writable_; }
  std::string name() const override { return "fake:"; }
  bool writable_ = true;

 private:
  World& world_;
};

class FakeJournal final : public Journal {
 public:
  explicit FakeJournal(World& world) : world_(world) {}
  Status append(JournalEntry entry) override {
    world_.pass();
    if (static_cast<int>(world_.journal.size()) == world_.journal_fails_at)
      return Error{ErrorCode::unavailable, "disk full", "journal"};
    for (const auto& [device, credential] : world_.entries) {
      const std::string text = write_json_line(entry.detail);
      EXPECT_EQ(text.find(credential.password.reveal()), std::string::npos) << "a secret in the journal";
      const std::string pending = credential.pending ? credential.pending->reveal() : "none";
      EXPECT_EQ(text.find(pending), std::string::npos) << "a secret in the journal";
    }
    entry.number = world_.journal.size() + 1;
    world_.journal.push_back(std::move(entry));
    world_.pass();
    return {};
  }
  Result<std::vector<JournalEntry>> read() const override { return world_.journal; }
  const std::string& path() const override { return path_; }
  std::string head() const override { return {}; }

 private:
  World& world_;
  std::string path_;
};

class RotateTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    loaded_ = model::load_cluster(source_dir() + "/examples/pod16.yaml", {});
    ASSERT_TRUE(loaded_->cluster != nullptr);
    Diagnostics diagnostics;
    inventory_ = std::make_unique<Inventory>(*make_inventory(*loaded_->cluster, diagnostics));
    const Result<std::vector<std::uint32_t>> servers = inventory_->select("servers");
    ASSERT_TRUE(servers.ok());
    for (const std::uint32_t target : *servers) {
      if (inventory_->targets()[target].endpoint.protocol != Protocol::none) servers_.push_back(target);
    }
    ASSERT_GE(servers_.size(), 4U);
  }
  static void TearDownTestSuite() {
    inventory_.reset();
    loaded_.reset();
    servers_.clear();
  }

  [[nodiscard]] static const std::string& name(std::size_t i) { return inventory_->targets()[servers_[i]].name; }
  static World world_of(std::size_t count, const World::Fault& fault = {}) {
    World world;
    for (std::size_t i = 0; i < count; ++i) {
      world.in_force[name(i)] = "default";
      world.faults[name(i)] = fault;
    }
    return world;
  }
  // Width 1: steps run in a fixed order, and the crash exception can propagate.
  static Result<RotateReport> run(World& world, std::size_t count, const RotateOptions& options = {}) {
    FakeConnector connector(world);
    FakeStore store(world);
    FakeJournal journal(world);
    ManualClock clock;
    Fleet fleet{*inventory_, connector, store, clock, journal, 1};
    return rotate(fleet, {servers_.begin(), servers_.begin() + static_cast<std::ptrdiff_t>(count)}, options);
  }
  static RotateOutcome one(World& world) {
    const Result<RotateReport> report = run(world, 1);
    EXPECT_TRUE(report.ok());
    return report.ok() ? report->outcomes.front() : RotateOutcome{};
  }
  // At rest: one password, the one in force.
  static void expect_settled(const World& world, std::size_t i) {
    const auto found = world.entries.find(name(i));
    ASSERT_NE(found, world.entries.end());
    EXPECT_FALSE(found->second.pending.has_value());
    EXPECT_EQ(found->second.password.reveal(), world.in_force.at(name(i)));
  }

  static inline std::unique_ptr<model::Loaded> loaded_;
  static inline std::unique_ptr<Inventory> inventory_;
  static inline std::vector<std::uint32_t> servers_;
};

TEST_F(RotateTest, EveryDeviceGetsItsOwnPassword) {
  World world = world_of(4);
  const Result<RotateReport> report = run(world, 4, {.reason = "quarterly"});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->count(RotateResult::done), 4U);
  std::set<std::string> passwords;
  for (std::size_t i = 0; i < 4; ++i) {
    expect_settled(world, i);
    passwords.insert(world.in_force[name(i)]);
  }
  EXPECT_EQ(passwords.size(), 4U);
  EXPECT_EQ(passwords.count("default"), 0U);
  ASSERT_EQ(world.journal.size(), 2U + 2 * 4U);
  EXPECT_EQ(world.journal.front().phase, Phase::begin);
  EXPECT_EQ(world.journal.front().detail.find("reason")->text(), "quarterly");
  EXPECT_EQ(world.journal[1].phase, Phase::intent);
  EXPECT_EQ(world.journal[2].phase, Phase::outcome);
  EXPECT_EQ(world.journal.back().phase, Phase::end);
  EXPECT_TRUE(open_operations(world.journal).empty());
}

TEST_F(RotateTest, FalseErrorIsDone) {
  World world = world_of(1, {.lies = true});
  EXPECT_EQ(one(world).result, RotateResult::done);
  expect_settled(world, 0);
}

TEST_F(RotateTest, LostResponseIsDoneIfTheLoginWorks) {
  World world = world_of(1, {.dies_on_set = true});
  EXPECT_EQ(one(world).result, RotateResult::done);
  expect_settled(world, 0);
}

TEST_F(RotateTest, RefusalLeavesTheOldPassword) {
  World world = world_of(1, {.denies = true});
  const RotateOutcome outcome = one(world);
  EXPECT_EQ(outcome.result, RotateResult::not_done);
  EXPECT_NE(outcome.text.find("password policy"), std::string::npos);
  EXPECT_EQ(world.in_force[name(0)], "default");
  expect_settled(world, 0);
}

TEST_F(RotateTest, SilentAcceptIsDetectedByTheLogin) {
  World world = world_of(1, {.silent = true});
  EXPECT_EQ(one(world).result, RotateResult::not_done);
  EXPECT_EQ(world.in_force[name(0)], "default");
  // It may still take effect, so it is kept, and the next rotation uses it.
  ASSERT_TRUE(world.entries[name(0)].pending.has_value());
  const std::string pending = world.entries[name(0)].pending->reveal();
  world.faults[name(0)].silent = false;
  EXPECT_EQ(one(world).result, RotateResult::done);
  EXPECT_EQ(world.in_force[name(0)], pending);
  expect_settled(world, 0);
}

TEST_F(RotateTest, TruncationToSixteenBytesIsDetectedAndStored) {
  World world = world_of(1, {.keeps = 16});
  const RotateOutcome outcome = one(world);
  EXPECT_EQ(outcome.result, RotateResult::done);
  EXPECT_NE(outcome.text.find("16 bytes"), std::string::npos);
  EXPECT_EQ(world.in_force[name(0)].size(), 16U);
  expect_settled(world, 0);
}

TEST_F(RotateTest, OtherTruncationRestoresTheOldPassword) {
  World world = world_of(1, {.keeps = 8, .mangles = true});
  const RotateOutcome outcome = one(world);
  EXPECT_EQ(outcome.result, RotateResult::not_done);
  EXPECT_EQ(world.in_force[name(0)], "default");
  expect_settled(world, 0);
}

TEST_F(RotateTest, IfNeitherPasswordWorksBothAreKeptAndReported) {
  World world = world_of(1, {.mangles = true, .no_put_back = true});
  const RotateOutcome outcome = one(world);
  EXPECT_EQ(outcome.result, RotateResult::unknown);
  EXPECT_NE(outcome.text.find("--settle"), std::string::npos);
  EXPECT_EQ(world.entries[name(0)].password.reveal(), "default");
  ASSERT_TRUE(world.entries[name(0)].pending.has_value());
  EXPECT_EQ(outcome.text.find(world.entries[name(0)].pending->reveal()), std::string::npos);
  // Resuming is safe, and succeeds once the operator has set the pending one.
  EXPECT_EQ(run(world, 1, {.resume = true})->outcomes.front().result, RotateResult::unknown);
  world.in_force[name(0)] = world.entries[name(0)].pending->reveal();
  EXPECT_EQ(run(world, 1, {.resume = true})->outcomes.front().result, RotateResult::done);
  expect_settled(world, 0);
}

TEST_F(RotateTest, NoResponseAfterTheChangeIsUnknownAndResumable) {
  World world = world_of(1, {.deaf_after_set = true});
  const RotateOutcome outcome = one(world);
  EXPECT_EQ(outcome.result, RotateResult::unknown);
  EXPECT_TRUE(world.entries[name(0)].pending.has_value());
  EXPECT_EQ(one(world).result, RotateResult::unknown);
  world.dead.clear();
  EXPECT_EQ(one(world).result, RotateResult::done);
  expect_settled(world, 0);
  EXPECT_EQ(world.sets, 1) << "a password that works is not set again";
}

TEST_F(RotateTest, NothingIsSentToADeadDeviceOrOneWithAnUnknownPassword) {
  World world = world_of(2);
  world.dead.insert(name(0));
  world.in_force[name(1)] = "strange";
  world.faults[name(1)].mangles = true;  // an unknown password
  const Result<RotateReport> report = run(world, 2);
  EXPECT_EQ(report->count(RotateResult::not_done), 2U);
  EXPECT_FALSE(report->outcomes[0].reached);
  EXPECT_TRUE(report->outcomes[1].reached);
  EXPECT_EQ(world.sets, 0);
  EXPECT_TRUE(world.entries.empty());
}

TEST_F(RotateTest, WithoutAStoreOrJournalNothingIsSent) {
  World world = world_of(1);
  world.put_fails_at = 0;
  EXPECT_EQ(one(world).result, RotateResult::not_done);
  EXPECT_EQ(world.sets, 0);
  world.journal_fails_at = static_cast<int>(world.journal.size()) + 1;  // the intent
  EXPECT_EQ(one(world).result, RotateResult::not_done);
  EXPECT_EQ(world.sets, 0);
  world.journal_fails_at = static_cast<int>(world.journal.size());  // the beginning
  EXPECT_FALSE(run(world, 1).ok());
  world.journal_fails_at = -1;
  world.puts = 0;
  world.put_fails_at = 1;  // after the verification
  const RotateOutcome late = one(world);
  EXPECT_EQ(late.result, RotateResult::unknown);
  EXPECT_EQ(run(world, 1, {.resume = true})->outcomes.front().result, RotateResult::done);
  expect_settled(world, 0);
}

TEST_F(RotateTest, ReadOnlyStoreIsRefused) {
  World world = world_of(1);
  FakeConnector connector(world);
  FakeStore store(world);
  store.writable_ = false;
  FakeJournal journal(world);
  ManualClock clock;
  Fleet fleet{*inventory_, connector, store, clock, journal, 1};
  const Result<RotateReport> report = rotate(fleet, {servers_[0]}, {});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().code, ErrorCode::refused);
  EXPECT_EQ(world.step, 0);
}

TEST_F(RotateTest, OneControllerUnderTwoNamesIsChangedOnce) {
  World world = world_of(1);
  FakeConnector connector(world);
  FakeStore store(world);
  FakeJournal journal(world);
  ManualClock clock;
  Fleet fleet{*inventory_, connector, store, clock, journal, 1};
  const Result<RotateReport> report = rotate(fleet, {servers_[0], servers_[0]}, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->count(RotateResult::done), 1U);
  EXPECT_EQ(world.sets, 1);
}

TEST_F(RotateTest, OtherUsersAreNotChanged) {
  World world = world_of(1);
  EXPECT_EQ(run(world, 1, {.user = "root"})->outcomes.front().result, RotateResult::not_done);
  EXPECT_EQ(world.sets, 0);
  EXPECT_EQ(run(world, 1, {.user = "admin"})->outcomes.front().result, RotateResult::done);
}

TEST_F(RotateTest, ResumeChangesOnlyPendingDevicesAndEndsInterruptedRotations) {
  World world = world_of(2);
  world.crash_at = 9;
  EXPECT_THROW((void)run(world, 2), Crash);
  ASSERT_EQ(open_operations(world.journal).size(), 1U);
  ASSERT_TRUE(world.entries[name(0)].pending.has_value());
  world.crash_at = -1;
  const Result<RotateReport> report = run(world, 2, {.resume = true});
  ASSERT_EQ(report->outcomes.size(), 1U);
  EXPECT_EQ(report->outcomes[0].result, RotateResult::done);
  EXPECT_EQ(world.in_force[name(1)], "default");
  EXPECT_TRUE(open_operations(world.journal).empty());
}

// weft dies before and after every step, against every kind of BMC; then again during the recovery. The store always
// has the password in force (World::check), and in the end every device is settled.
TEST_F(RotateTest, CrashAtEveryStepCausesNoLockout) {
  const std::vector<std::pair<std::string, World::Fault>> kinds = {
      {"good", {}},
      {"lies", {.lies = true}},
      {"no answer", {.dies_on_set = true}},
      {"denies", {.denies = true}},
      {"silent", {.silent = true}},
      {"short", {.keeps = 16}},
      {"late", {.late = 1}},
      {"later", {.late = 2}},
      {"much later", {.late = 3}},
      {"later still", {.late = 4}},
      {"when nobody waits any more", {.late = 7}},
  };
  int points = 0;
  for (const auto& [kind, fault] : kinds) {
    SCOPED_TRACE(kind);
    World whole = world_of(2, fault);
    ASSERT_TRUE(run(whole, 2).ok());
    const int steps = whole.step;
    EXPECT_GT(steps, 12);
    for (int first = 0; first < steps; ++first) {
      // If the recovery dies, it is run again, from any point in it.
      for (int second = 0;; second += 9) {
        World world = world_of(2, fault);
        world.crash_at = first;
        EXPECT_THROW((void)run(world, 2), Crash);
        world.check();
        world.step = 0;
        world.crash_at = second;
        bool crashed = false;
        try {
          (void)run(world, 2);
        } catch (const Crash&) {
          crashed = true;
        }
        world.check();
        world.crash_at = -1;
        // One attempt settles a BMC that applies a password at once; a late one needs a few.
        for (int look = 0; look < 1 + 2 * fault.late; ++look) ASSERT_TRUE(run(world, 2, {.resume = true}).ok());
        ++points;
        world.check();
        for (std::size_t i = 0; i < 2 && !fault.silent; ++i) {
          if (world.entries.count(name(i)) > 0) expect_settled(world, i);
        }
        if (!crashed) break;
      }
    }
  }
  EXPECT_GT(points, 500);
}

}  // namespace
}  // namespace weft::oob

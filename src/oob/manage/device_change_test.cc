#include "oob/manage/device_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oob/bmc/fake_bmc.h"
#include "oob/manage/settings_run.h"
#include "oob/manage/users_view.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Fails from the n-th entry on.
class FullDisk final : public Journal {
 public:
  explicit FullDisk(int good) : good_(good) {}
  [[nodiscard]] Status append(JournalEntry) override {
    if (good_-- > 0) return {};
    return Error{ErrorCode::unavailable, "no space left", path_};
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override { return std::vector<JournalEntry>{}; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::string head() const override { return {}; }

 private:
  int good_;
  std::string path_ = "journal";
};

class CareActionTest : public testing::Test {
 protected:
  CareActionTest()
      : fakes_(clock_, journal_, {fake_target("train01"), fake_target("train02"), fake_target("train03")}) {}
  FakeMachine& machine(const std::string& name) { return fakes_.machine(name); }
  [[nodiscard]] std::vector<JournalEntry> entries() const { return journal_.read().value_or({}); }

  ManualClock clock_;
  MemoryJournal journal_;
  FakeFleet fakes_;
  const std::vector<std::uint32_t> all_{0, 1, 2};
  const std::vector<std::uint32_t> first_{0};
};

// ---- settings ----

TEST_F(CareActionTest, OnlyDifferencesAreSentAndVerified) {
  machine("train01").settings.ipmi_over_lan = true;
  machine("train01").settings.http = false;
  machine("train02").settings.ipmi_over_lan = false;
  machine("train02").settings.http = false;
  machine("train03").set_faults({.dead = true});
  SettingsChange change;
  change.ipmi_over_lan = false;
  change.http = false;
  const auto endings = change_settings(fakes_.fleet, all_, change, "hardening");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::done);
  EXPECT_EQ((*endings)[0].what, "ipmi off");
  EXPECT_EQ((*endings)[1].ending, Ending::already);
  EXPECT_EQ((*endings)[2].ending, Ending::not_done);
  EXPECT_EQ(machine("train01").settings.ipmi_over_lan, false);
  const std::vector<JournalEntry> written = entries();
  ASSERT_EQ(written.size(), 7U);  // begin, intent, seen, three outcomes, end
  EXPECT_EQ(written.front().phase, Phase::begin);
  EXPECT_EQ(written.front().detail.find("reason")->text(), "hardening");
  EXPECT_EQ(written.back().phase, Phase::end);
  const Document document = endings_document(fakes_.inventory, "x", *endings);
  const std::string text = write(document, {});
  EXPECT_LT(text.find("not done"), text.find("already so"));
}

TEST_F(CareActionTest, SettingThatTheBmcDropsIsNotDone) {
  FakeMachine& liar = machine("train01");
  liar.settings.http = true;
  liar.before_call = [&](const std::string&) -> std::optional<Error> {
    liar.settings.http = true;
    return std::nullopt;
  };
  SettingsChange change;
  change.http = false;
  const auto endings = change_settings(fakes_.fleet, first_, change, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::not_done);
  EXPECT_EQ((*endings)[0].what, "accepted, but the BMC does not show http off");
  EXPECT_EQ(clock_.now(), milliseconds(12'000));  // six reads, two seconds after each
}

TEST_F(CareActionTest, BmcThatBecomesUnreachableIsUnknown) {
  FakeMachine& shut = machine("train01");
  bool sent = false;
  shut.settings.firewall = std::vector<std::string>{};
  shut.before_call = [&](const std::string& call) -> std::optional<Error> {
    if (sent) return Error{ErrorCode::timeout, "no answer in time", {}};
    sent = call == "change";
    return std::nullopt;
  };
  SettingsChange change;
  change.firewall = std::vector<std::string>{"10.0.0.0/24"};
  const auto endings = change_settings(fakes_.fleet, first_, change, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::unknown);
  EXPECT_THAT((*endings)[0].what, HasSubstr("check with `weft oob settings`"));
}

TEST_F(CareActionTest, UnsupportedSettingIsNotDone) {
  machine("train01").before_call = [](const std::string& call) -> std::optional<Error> {
    if (call == "change") return Error{ErrorCode::not_found, "no SSH here", {}};
    return std::nullopt;
  };
  SettingsChange change;
  change.ssh = false;
  const auto endings = change_settings(fakes_.fleet, first_, change, "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].what, "the BMC has no such setting: no SSH here");
}

TEST_F(CareActionTest, DryRunOnlyReads) {
  machine("train01").settings.ipmi_over_lan = true;
  SettingsChange change;
  change.ipmi_over_lan = false;
  const auto endings = change_settings(fakes_.fleet, first_, change, "", true);
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::would);
  EXPECT_EQ(machine("train01").settings.ipmi_over_lan, true);
  EXPECT_THAT(entries(), IsEmpty());
}

TEST_F(CareActionTest, NothingIsSentWithoutJournalEntry) {
  machine("train01").settings.ipmi_over_lan = true;
  SettingsChange change;
  change.ipmi_over_lan = false;
  for (const int good : {0, 1}) {
    FullDisk disk(good);
    const Fleet fleet{fakes_.inventory, fakes_.connector, fakes_.credentials, clock_, disk, 1};
    const auto endings = change_settings(fleet, first_, change, "why");
    EXPECT_EQ(endings.ok(), good == 1);
    if (endings.ok()) {
      EXPECT_THAT((*endings)[0].what, HasSubstr("the journal cannot be written: no space left"));
    }
    EXPECT_EQ(machine("train01").settings.ipmi_over_lan, true);
  }
}

TEST(SettingsChangeTest, ListsCompareAsSetsOfAddresses) {
  SettingsChange change;
  change.firewall = std::vector<std::string>{"10.0.0.0/24", "10.1.0.5"};
  BmcSettings settings;
  settings.firewall = std::vector<std::string>{"10.1.0.5/32", "10.0.0.0/24"};
  EXPECT_TRUE(is_nothing(missing_of(change, settings)));
  settings.firewall->push_back("10.9.0.0/16");
  EXPECT_FALSE(is_nothing(missing_of(change, settings)));
  settings.firewall.reset();  // not reported by the BMC
  EXPECT_EQ(describe(missing_of(change, settings)), "allow 10.0.0.0/24 10.1.0.5");
}

TEST(SettingsView, EachValueIsListedOnceWithItsDevices) {
  const Inventory inventory({fake_target("train01"), fake_target("train02"), fake_target("train03")}, {});
  SettingsFleet fleet;
  BmcSettings good;
  good.ipmi_over_lan = false;
  good.syslog = std::vector<std::string>{"10.0.0.1"};
  BmcSettings open;
  open.ipmi_over_lan = true;
  open.cipher_suites = {0, 3, 17};
  open.syslog = std::vector<std::string>{};
  open.firewall = std::vector<std::string>{};
  fleet.add(2, open);
  fleet.add(0, good);
  fleet.add(1, good);
  const std::string text = write(settings_document(inventory, fleet, {}), {});
  EXPECT_THAT(text, testing::ContainsRegex("IPMI over LAN +off +2 +train\\[01-02\\]"));
  EXPECT_THAT(text, testing::ContainsRegex("IPMI over LAN +on +1 +train03"));
  EXPECT_THAT(text, testing::ContainsRegex("Cipher suites +0, 3, 17 +1 +train03"));
  EXPECT_THAT(text, testing::ContainsRegex("Syslog servers +none +1 +train03"));
  EXPECT_THAT(text, testing::ContainsRegex("Allowed subnets +any address +1 +train03"));
}

// ---- lock-outs ----

class LockOutTest : public testing::Test {
 protected:
  LockOutTest() {
    std::vector<Target> targets{fake_target("a"), fake_target("b"), fake_target("c")};
    targets[1].endpoint.protocol = Protocol::ipmi;
    targets[2].endpoint.proxy = "socks5h://127.0.0.1:1080";
    inventory_ = Inventory(std::move(targets), {});
  }
  [[nodiscard]] std::vector<LockOut> of(const SettingsChange& change, const std::vector<Ipv4>& jumps = {}) const {
    return lock_outs(inventory_, std::vector<std::uint32_t>{0, 1, 2}, change, jumps,
                     [](const std::string&) { return parse_ipv4("10.0.0.7"); });
  }
  static SettingsChange allow(const std::vector<std::string>& subnets) {
    SettingsChange change;
    change.firewall = subnets;
    return change;
  }
  Inventory inventory_;
};

TEST_F(LockOutTest, DisablingIpmiIsRefusedIfItIsTheOnlyAccess) {
  SettingsChange change;
  change.ipmi_over_lan = true;
  EXPECT_THAT(of(change), IsEmpty());
  change.ipmi_over_lan = false;
  const std::vector<LockOut> found = of(change);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].targets, ElementsAre(1));
}

TEST_F(LockOutTest, FirewallThatBlocksUsIsRefused) {
  EXPECT_THAT(of(allow({"10.0.0.0/24"})), IsEmpty());
  EXPECT_THAT(of(allow({"10.0.0.7"})), IsEmpty());
  EXPECT_THAT(of(allow({})), IsEmpty());  // allows everyone
  const std::vector<LockOut> found = of(allow({"10.0.0.0/30", "192.168.0.0/16"}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].targets, ElementsAre(0, 1));  // the third sees its proxy
  EXPECT_EQ(found[0].why, "--allow would lock out this machine (10.0.0.7)");
}

TEST_F(LockOutTest, FirewallThatBlocksAJumpHostIsRefused) {
  const std::vector<Ipv4> jumps{*parse_ipv4("10.0.0.1"), *parse_ipv4("10.0.9.1")};
  const std::vector<LockOut> found = of(allow({"10.0.0.0/24"}), jumps);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].why, HasSubstr("10.0.9.1"));
  EXPECT_EQ(found[0].targets.size(), 3U);
}

TEST_F(LockOutTest, UnknownSourceAddressIsRefused) {
  const auto nowhere = [](const std::string&) -> Result<Ipv4> { return Error{ErrorCode::unavailable, "no route", {}}; };
  EXPECT_EQ(lock_outs(inventory_, std::vector<std::uint32_t>{0}, allow({"10.0.0.0/8"}), {}, nowhere).size(), 1U);
}

TEST(SourceAddress, TowardLoopbackIsLoopback) {
  const Result<Ipv4> address = source_address_toward("127.0.0.1");
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(weft::to_text(*address), "127.0.0.1");
  EXPECT_FALSE(source_address_toward("no such name at all").ok());
}

// ---- users ----

BmcUser user(std::string id, std::string name, UserRole role, bool enabled = true, bool locked = false) {
  return {std::move(id), std::move(name), role, enabled, locked};
}

TEST_F(CareActionTest, AccountIsDisabledWhereItExists) {
  for (const char* name : {"train01", "train02", "train03"})
    machine(name).users = {user("2", "admin", UserRole::administrator), user("3", "ADMIN", UserRole::administrator)};
  machine("train02").users.pop_back();
  machine("train03").users[1].enabled = false;
  const auto endings = disable_user(fakes_.fleet, all_, "ADMIN", "factory account");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::done);
  EXPECT_EQ((*endings)[1].ending, Ending::already);
  EXPECT_EQ((*endings)[2].ending, Ending::already);
  EXPECT_FALSE(machine("train01").users[1].enabled);
}

TEST_F(CareActionTest, OwnAccountAndLastAdministratorAreNotDisabled) {
  machine("train01").users = {user("2", "admin", UserRole::administrator), user("3", "root", UserRole::administrator)};
  auto endings = disable_user(fakes_.fleet, first_, "admin", "why");  // FakeCredentials logs in as admin
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].ending, Ending::refused);
  machine("train01").users = {user("2", "admin", UserRole::operating), user("3", "root", UserRole::administrator),
                              user("4", "old", UserRole::administrator, false),
                              user("5", "out", UserRole::administrator, true, true)};
  endings = disable_user(fakes_.fleet, first_, "root", "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].what, "it is the last enabled administrator");
  EXPECT_TRUE(machine("train01").users[1].enabled);
}

TEST_F(CareActionTest, UnknownAccountIsAnError) {
  machine("train01").users = {user("2", "admin", UserRole::administrator)};
  const auto endings = disable_user(fakes_.fleet, first_, "ADMlN", "why");
  ASSERT_FALSE(endings.ok());
  EXPECT_EQ(endings.error().code, ErrorCode::not_found);
  EXPECT_FALSE(disable_user(fakes_.fleet, first_, "", "why").ok());
}

TEST_F(CareActionTest, AccountThatStaysEnabledIsNotDone) {
  FakeMachine& liar = machine("train01");
  const std::vector<BmcUser> users = {user("2", "admin", UserRole::administrator), user("3", "x", UserRole::operating)};
  liar.before_call = [&](const std::string&) -> std::optional<Error> {
    liar.users = users;
    return std::nullopt;
  };
  const auto endings = disable_user(fakes_.fleet, first_, "x", "why");
  ASSERT_TRUE(endings.ok());
  EXPECT_EQ((*endings)[0].what, "accepted, but it is still enabled");
}

TEST(UsersView, AccountsAreListedOnceWithDevicesThatLackThem) {
  const Inventory inventory(
      {fake_target("n1"), fake_target("n2"), fake_target("n3"), fake_target("n4"), fake_target("n5")}, {});
  UserFleet fleet;
  for (const std::uint32_t i : {0U, 1U, 2U, 3U, 4U}) {
    std::vector<BmcUser> users{user("1", "", UserRole::none, false)};  // an empty slot
    if (i != 4) users.push_back(user("2", "weft", UserRole::administrator));
    if (i == 2) users.push_back(user("3", "", UserRole::administrator));
    fleet.add(i, users);
  }
  const std::string text = write(users_document(inventory, fleet, {}), {});
  EXPECT_THAT(text, testing::ContainsRegex("weft +administrator +yes +no +4 +n\\[1-4\\] +n5"));
  EXPECT_THAT(text, testing::ContainsRegex("\\(no name\\) +administrator +yes +no +1 +n3 +-\n"));
  EXPECT_THAT(text, Not(HasSubstr("none ")));
}

TEST(CareActionConcurrent, EndingsKeepTheOrderOfTheDevices) {
  SystemClock clock;
  MemoryJournal journal;
  std::vector<Target> targets;
  for (int i = 0; i < 100; ++i) targets.push_back(fake_target(fmt::format("n{:03}", i)));
  FakeFleet fakes(clock, journal, std::move(targets));
  fakes.fleet.width = 16;
  std::vector<std::uint32_t> all(100);
  for (std::uint32_t i = 0; i < 100; ++i) all[i] = i;
  SettingsChange change;
  change.ssh = false;
  const auto endings = change_settings(fakes.fleet, all, change, "why");
  ASSERT_TRUE(endings.ok());
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ((*endings)[i].target, i);
    EXPECT_EQ((*endings)[i].ending, Ending::done);
  }
  EXPECT_EQ(journal.read().value_or({}).size(), 302U);  // intent, seen and outcome each; begin and end
}

}  // namespace
}  // namespace weft::oob

#include "bmcsim/bmc.h"

#include <gtest/gtest.h>

#include <set>

namespace weft::bmcsim {
namespace {

// One BMC and its clock. Every duration is drawn from 0.5 to 1.5 times its mean.
class SimBmcTest : public testing::Test {
 protected:
  SimBmcTest() {
    world_.devices = {{.name = "train001"}};
    world_.wall_start_ms = oob::ManualClock::kStartMs;
    world_.password = world_.digest_of("secret-word");
    world_.factory_password = world_.digest_of("admin");
  }
  SimBmc make(FaultKind kind, std::int64_t argument = 0) {
    SimBmc bmc(world_, 0, clock_.now());
    FaultSet set;
    set.add(kind, argument);
    bmc.set_faults(set);
    return bmc;
  }
  SimBmc make() { return {world_, 0, clock_.now()}; }
  void pass(SimBmc& bmc, std::int64_t ms) {
    clock_.sleep(milliseconds(ms));
    bmc.advance(clock_.now());
  }

  SimWorld world_;
  oob::ManualClock clock_;
};

TEST_F(SimBmcTest, PowerCycleTakesTimeAndChangesTheBootId) {
  SimBmc bmc = make();
  EXPECT_EQ(bmc.power(), oob::PowerState::on);
  EXPECT_EQ(bmc.boot().state, "OSRunning");
  const std::int64_t before = bmc.last_reset_ms();
  bmc.reset(SimReset::power_cycle);
  EXPECT_EQ(bmc.power(), oob::PowerState::powering_off);
  pass(bmc, 46);  // a tenth of 300 ms, times 1.5 at most
  EXPECT_EQ(bmc.power(), oob::PowerState::off);
  EXPECT_EQ(bmc.boot().state, "None");
  EXPECT_EQ(bmc.last_reset_ms(), before);
  pass(bmc, 450);
  EXPECT_NE(bmc.power(), oob::PowerState::off);
  pass(bmc, 450);
  EXPECT_EQ(bmc.power(), oob::PowerState::on);
  EXPECT_GT(bmc.last_reset_ms(), before);
  EXPECT_NE(bmc.boot().state, "OSRunning");
  pass(bmc, 3000);
  EXPECT_EQ(bmc.boot().state, "OSRunning");
  EXPECT_LE(bmc.boot().since_ms, world_.wall_ms(clock_.now()));
  EXPECT_EQ(bmc.counters.resets[static_cast<std::size_t>(SimReset::power_cycle)], 1U);
}

TEST_F(SimBmcTest, BootStatesComeInOrder) {
  SimBmc bmc = make();
  bmc.reset(SimReset::force_restart);
  EXPECT_EQ(bmc.power(), oob::PowerState::on);  // power stays on
  std::vector<std::string> seen;
  for (int i = 0; i < 400; ++i) {
    const std::string state(bmc.boot().state);
    if (seen.empty() || seen.back() != state) seen.push_back(state);
    pass(bmc, 10);
  }
  const std::vector<std::string> expected{"PrimaryProcessorInitializationStarted",
                                          "BusInitializationStarted",
                                          "MemoryInitializationStarted",
                                          "SecondaryProcessorInitializationStarted",
                                          "PCIResourceConfigStarted",
                                          "SystemHardwareInitializationComplete",
                                          "OSBootStarted",
                                          "OSRunning"};
  EXPECT_EQ(seen, expected);
}

TEST_F(SimBmcTest, OneLongAdvanceEqualsManySteps) {
  SimBmc bmc = make();
  bmc.reset(SimReset::power_cycle);
  pass(bmc, 3'600'000);  // not queried for an hour
  EXPECT_EQ(bmc.power(), oob::PowerState::on);
  EXPECT_EQ(bmc.boot().state, "OSRunning");
  EXPECT_LT(bmc.last_reset_ms(), oob::ManualClock::kStartMs + 1000);
}

TEST_F(SimBmcTest, ShutdownIsSlowerThanForceOff) {
  SimBmc soft = make();
  SimBmc hard = make();
  soft.reset(SimReset::graceful_shutdown);
  hard.reset(SimReset::force_off);
  pass(soft, 499);
  hard.advance(clock_.now());
  EXPECT_EQ(soft.power(), oob::PowerState::powering_off);
  EXPECT_EQ(hard.power(), oob::PowerState::off);
  pass(soft, 1002);
  EXPECT_EQ(soft.power(), oob::PowerState::off);
  EXPECT_FALSE(soft.possible(SimReset::force_restart));
  EXPECT_TRUE(soft.possible(SimReset::on));
}

TEST_F(SimBmcTest, ForceOffEndsACycle) {
  SimBmc bmc = make();
  bmc.reset(SimReset::power_cycle);
  pass(bmc, 46);
  bmc.reset(SimReset::force_off);
  pass(bmc, 10'000);
  EXPECT_EQ(bmc.power(), oob::PowerState::off);
}

TEST_F(SimBmcTest, SilentAcceptIgnoresAGivenNumberOfResets) {
  SimBmc never = make(FaultKind::silent_accept);
  SimBmc third = make(FaultKind::silent_accept, 2);
  for (int i = 0; i < 3; ++i) {
    never.reset(SimReset::force_off);
    third.reset(SimReset::force_off);
    pass(never, 100);
    third.advance(clock_.now());
    EXPECT_EQ(never.power(), oob::PowerState::on);
    EXPECT_EQ(third.power(), i < 2 ? oob::PowerState::on : oob::PowerState::off);
  }
  EXPECT_EQ(never.counters.all_resets(), 3U);
}

TEST_F(SimBmcTest, WrongResetsLeaveItOff) {
  for (const SimReset reset : {SimReset::graceful_restart, SimReset::force_restart}) {
    SimBmc bmc = make(FaultKind::wrong_reset);
    bmc.reset(reset);
    pass(bmc, 10'000);
    EXPECT_EQ(bmc.power(), oob::PowerState::off);
  }
}

TEST_F(SimBmcTest, StuckAndLyingPowerStates) {
  SimBmc off = make(FaultKind::stuck_off);
  off.reset(SimReset::power_cycle);
  pass(off, 10'000);
  EXPECT_EQ(off.power(), oob::PowerState::off);
  SimBmc on = make(FaultKind::stuck_on);
  on.reset(SimReset::force_off);
  pass(on, 10'000);
  EXPECT_EQ(on.power(), oob::PowerState::on);
  SimBmc liar = make(FaultKind::lying_state, kLieOn);
  liar.reset(SimReset::force_off);
  pass(liar, 10'000);
  EXPECT_EQ(liar.power(), oob::PowerState::off);
  EXPECT_EQ(liar.told_power(), oob::PowerState::on);
  EXPECT_FALSE(make(FaultKind::no_power_cycle).listed(SimReset::power_cycle));
}

TEST_F(SimBmcTest, SessionsAreFreedByTimeUnlessLimited) {
  SimBmc bmc = make();
  for (std::uint32_t i = 0; i < world_.options.sessions; ++i) ASSERT_NE(bmc.open_session(1), nullptr);
  EXPECT_EQ(bmc.open_session(1), nullptr);
  pass(bmc, 300'001);
  EXPECT_EQ(bmc.counters.sessions, 0U);
  EXPECT_NE(bmc.open_session(1), nullptr);
  SimBmc limited = make(FaultKind::session_limited, 1);
  const SimSession* only = limited.open_session(1);
  ASSERT_NE(only, nullptr);
  const std::uint32_t id = only->id;
  pass(limited, 300'001);
  EXPECT_EQ(limited.open_session(1), nullptr);
  EXPECT_TRUE(limited.close_session(id));
  EXPECT_FALSE(limited.close_session(id));
  EXPECT_NE(limited.open_session(1), nullptr);
  EXPECT_EQ(limited.counters.most_sessions, 1U);
}

TEST_F(SimBmcTest, TokensDifferAndKeepASessionAlive) {
  SimBmc bmc = make();
  std::set<std::string> tokens;
  for (int i = 0; i < 10; ++i) {
    const SimSession* session = bmc.open_session(1);
    ASSERT_NE(session, nullptr);
    tokens.emplace(session->token.data(), session->token.size());
  }
  EXPECT_EQ(tokens.size(), 10U);
  pass(bmc, 200'000);
  EXPECT_NE(bmc.use_session(*tokens.begin()), nullptr);
  pass(bmc, 200'000);
  EXPECT_NE(bmc.use_session(*tokens.begin()), nullptr);
  EXPECT_EQ(bmc.use_session(*tokens.rbegin()), nullptr);
  EXPECT_EQ(bmc.use_session(""), nullptr);
}

TEST_F(SimBmcTest, WrongPasswordsLockTemporarily) {
  SimBmc bmc = make();
  EXPECT_TRUE(bmc.log_in("admin", "secret-word").has_value());
  for (std::uint32_t i = 0; i < world_.options.lockout; ++i) EXPECT_FALSE(bmc.log_in("admin", "wrong").has_value());
  EXPECT_TRUE(bmc.locked());
  EXPECT_FALSE(bmc.log_in("admin", "secret-word").has_value());
  pass(bmc, 60'001);
  EXPECT_TRUE(bmc.log_in("admin", "secret-word").has_value());
  EXPECT_EQ(bmc.counters.refused, world_.options.lockout + 1);
  EXPECT_TRUE(make(FaultKind::default_credentials).opens("admin", "admin"));
  EXPECT_FALSE(make().opens("admin", "admin"));
}

TEST_F(SimBmcTest, FlapsByPeriods) {
  SimBmc bmc = make(FaultKind::flapping, 1'000'000'000);
  int away = 0;
  int changes = 0;
  bool last = bmc.away(Duration());
  for (int i = 0; i < 1000; ++i) {
    const bool now = bmc.away(milliseconds(i * 10));
    away += now ? 1 : 0;
    changes += now != last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(away, 500);  // ten seconds are five unreachable periods
  EXPECT_NEAR(changes, 10, 1);
}

TEST_F(SimBmcTest, LogsFirmwareUpdates) {
  SimBmc bmc = make();
  const auto kinds_after = [&](bool bios) {
    const std::size_t before = bmc.events().size();
    (void)bmc.begin_flash({.bios = bios, .version = "3.0"});
    pass(bmc, 60'000);
    std::vector<SimEventKind> kinds;
    for (std::size_t i = before; i < bmc.events().size(); ++i) kinds.push_back(bmc.events()[i].kind);
    return kinds;
  };
  EXPECT_EQ(kinds_after(false), (std::vector{SimEventKind::started, SimEventKind::update_done}));
  EXPECT_EQ(kinds_after(true), std::vector<SimEventKind>());  // it takes effect at the next boot
  bmc.reset(SimReset::force_restart);
  EXPECT_EQ(bmc.events()[bmc.events().size() - 2].kind, SimEventKind::update_done);
  EXPECT_EQ(bmc.events()[bmc.events().size() - 2].subject, 1U);
  FaultSet fails;
  fails.add(FaultKind::update_fails, 0);
  bmc.set_faults(fails);
  EXPECT_EQ(kinds_after(false), std::vector{SimEventKind::update_failed});
}

TEST_F(SimBmcTest, LogDropsTheOldestEntries) {
  SimBmc bmc = make();
  for (int i = 0; i < 600; ++i) bmc.add_event(SimEventKind::nmi);
  EXPECT_EQ(bmc.events().size(), 512U);
  EXPECT_EQ(bmc.events().back().id, 601U);
  bmc.clear_events();
  EXPECT_EQ(bmc.events().size(), 1U);
}

TEST_F(SimBmcTest, IsSmall) { EXPECT_LE(sizeof(SimBmc), 512U); }

}  // namespace
}  // namespace weft::bmcsim

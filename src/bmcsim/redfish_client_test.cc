// The Redfish client against simulated BMCs over real sockets: every verb, and every response fault. Each case ends in
// a result or a clear error, never a hang, and no session is left behind.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "bmcsim/fleet.h"
#include "oob/bmc/connector.h"

namespace weft::bmcsim {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RedfishSim : public testing::Test {
 protected:
  ~RedfishSim() override { std::remove(ca_file_.c_str()); }
  void start(std::vector<NamedFault> faults = {}) {
    SimOptions options;
    options.power_time = milliseconds(20);
    options.boot_time = milliseconds(60);
    options.shutdown_time = milliseconds(40);
    options.faults = std::move(faults);
    Result<std::unique_ptr<SimFleet>> fleet = SimFleet::make({{.name = "node1"}}, options);
    ASSERT_TRUE(fleet.ok()) << fleet.error().text();
    fleet_ = std::move(fleet).value();
    ASSERT_TRUE(fleet_->start().ok());
    ca_file_ = fmt::format("{}/weft-redfish-sim-{}.pem", testing::TempDir(), getpid());
    std::ofstream(ca_file_) << fleet_->ca_pem();
  }
  oob::Endpoint endpoint() const {
    oob::Endpoint endpoint;
    endpoint.device = "node1";
    endpoint.host = fleet_->address(0);
    endpoint.port = fleet_->port();
    endpoint.tls.ca_file = ca_file_;
    endpoint.connect_limit = milliseconds(5'000);
    endpoint.request_limit = limit_;
    return endpoint;
  }
  Result<std::unique_ptr<oob::Bmc>> dial(const std::string& password = "weft-simulated") {
    return oob::dial_redfish(endpoint(), "admin", oob::Secret(password), clock_);
  }
  // Waits until the actual state is `state`.
  bool becomes(oob::PowerState state) {
    for (int i = 0; i < 3'000; ++i) {
      if (fleet_->power(0) == state) return true;
      clock_.sleep(milliseconds(10));
    }
    return false;
  }

  Duration limit_ = milliseconds(20'000);
  oob::SystemClock clock_;
  std::unique_ptr<SimFleet> fleet_;
  std::string ca_file_;
};

TEST_F(RedfishSim, EveryVerbOfAHealthyBmc) {
  start();
  {
    Result<std::unique_ptr<oob::Bmc>> bmc = dial();
    ASSERT_TRUE(bmc.ok()) << bmc.error().text();
    const Result<oob::BmcIdentity> identity = (*bmc)->identity();
    ASSERT_TRUE(identity.ok()) << identity.error().text();
    EXPECT_NE(identity->serial, "");
    EXPECT_NE(identity->uuid, "");
    EXPECT_NE(identity->firmware, "");
    const Result<std::vector<oob::SensorReading>> sensors = (*bmc)->sensors();
    ASSERT_TRUE(sensors.ok()) << sensors.error().text();
    std::set<std::string> kinds;
    for (const oob::SensorReading& sensor : *sensors) kinds.insert(sensor.kind);
    EXPECT_THAT(kinds, Contains("temperature"));
    EXPECT_THAT(kinds, Contains("fan"));
    const Result<std::vector<oob::BmcUser>> users = (*bmc)->users();
    ASSERT_TRUE(users.ok()) << users.error().text();
    ASSERT_FALSE(users->empty());
    EXPECT_EQ(users->front().name, "admin");
    EXPECT_EQ(users->front().role, oob::UserRole::administrator);
    ASSERT_TRUE((*bmc)->events().ok());
    ASSERT_TRUE((*bmc)->clear_events().ok());
    EXPECT_EQ((*bmc)->console().error().code, ErrorCode::not_found);
  }
  EXPECT_EQ(fleet_->totals().sessions, 0U);
  EXPECT_EQ(fleet_->totals().logins, 1U);
  EXPECT_LE(fleet_->totals().most_in_flight, 4U);
}

TEST_F(RedfishSim, PowerGoesOffAndOnWithANewBootId) {
  start();
  Result<std::unique_ptr<oob::Bmc>> bmc = dial();
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  const Result<oob::PowerReading> before = (*bmc)->power();
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->state, oob::PowerState::on);
  ASSERT_TRUE((*bmc)->reset(oob::ResetAction::force_off).ok());
  EXPECT_TRUE(becomes(oob::PowerState::off));
  EXPECT_EQ((*bmc)->power()->state, oob::PowerState::off);
  ASSERT_TRUE((*bmc)->reset(oob::ResetAction::on).ok());
  EXPECT_TRUE(becomes(oob::PowerState::on));
  const Result<oob::PowerReading> after = (*bmc)->power();
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->state, oob::PowerState::on);
  EXPECT_NE(after->boot_id, before->boot_id);
}

TEST_F(RedfishSim, SettingsAndPasswordsAreChanged) {
  start();
  {
    Result<std::unique_ptr<oob::Bmc>> bmc = dial();
    ASSERT_TRUE(bmc.ok()) << bmc.error().text();
    oob::SettingsChange change;
    change.ipmi_over_lan = false;
    change.syslog = {"10.0.0.9"};
    change.firewall = {"10.0.0.0/8", "127.0.0.0/8"};
    change.ntp = {"10.0.0.1", "10.0.0.2"};
    const Status changed = (*bmc)->change(change);
    ASSERT_TRUE(changed.ok()) << changed.error().text();
    const Result<oob::BmcSettings> now = (*bmc)->settings();
    ASSERT_TRUE(now.ok());
    EXPECT_EQ(now->ipmi_over_lan, false);
    EXPECT_EQ(now->syslog, change.syslog);
    EXPECT_EQ(now->ntp, change.ntp);
    const Status password = (*bmc)->set_password("admin", oob::Secret("N3w-and-longer"));
    ASSERT_TRUE(password.ok()) << password.error().text();
    EXPECT_TRUE(fleet_->opens(0, "admin", oob::Secret("N3w-and-longer")));
    EXPECT_TRUE((*bmc)->power().ok());
  }
  EXPECT_FALSE(dial().ok());
  EXPECT_TRUE(dial("N3w-and-longer").ok());
  EXPECT_EQ(fleet_->totals().sessions, 0U);
}

TEST_F(RedfishSim, SessionIsReopenedAfterABmcRestart) {
  start();
  Result<std::unique_ptr<oob::Bmc>> bmc = dial();
  ASSERT_TRUE(bmc.ok());
  ASSERT_TRUE((*bmc)->power().ok());
  fleet_->restart_bmc(0);
  const Result<oob::PowerReading> power = (*bmc)->power();
  EXPECT_TRUE(power.ok()) << power.error().text();
  EXPECT_EQ(fleet_->totals().logins, 2U);
}

TEST_F(RedfishSim, InitialPasswordIsChangedBeforeAnythingElse) {
  start({{"node1", FaultKind::password_change_required, rule_of(FaultKind::password_change_required).fallback}});
  Result<std::unique_ptr<oob::Bmc>> bmc = dial();
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  const Result<oob::PowerReading> power = (*bmc)->power();
  ASSERT_FALSE(power.ok());
  EXPECT_EQ(power.error().code, ErrorCode::refused);
  EXPECT_THAT(power.error().message, HasSubstr("password must be changed"));
  const Status changed = (*bmc)->set_password("admin", oob::Secret("N3w-and-longer"));
  ASSERT_TRUE(changed.ok()) << changed.error().text();
  EXPECT_TRUE((*bmc)->power().ok());
}

// Expected result of a power query for each fault.
struct FaultCase {
  FaultKind kind = FaultKind::slow;
  std::optional<ErrorCode> code{};  // none: the query succeeds
};

TEST_F(RedfishSim, EveryFaultIsAResultOrAClearError) {
  const std::vector<FaultCase> cases = {{FaultKind::dead, ErrorCode::timeout},
                                        {FaultKind::malformed, ErrorCode::invalid_input},
                                        {FaultKind::endless, ErrorCode::invalid_input},
                                        {FaultKind::endless_headers, ErrorCode::invalid_input},
                                        {FaultKind::truncated, ErrorCode::unavailable},
                                        {FaultKind::wrong_certificate, ErrorCode::refused},
                                        {FaultKind::expired_certificate, ErrorCode::refused},
                                        {FaultKind::http_500, ErrorCode::unavailable},
                                        {FaultKind::unauthorized_always, ErrorCode::refused},
                                        {FaultKind::redirect, ErrorCode::refused},
                                        {FaultKind::slow_trickle, ErrorCode::timeout},
                                        {FaultKind::slow, ErrorCode::timeout},
                                        {FaultKind::wrong_content_type, std::nullopt},
                                        {FaultKind::session_limited, std::nullopt},
                                        {FaultKind::no_boot_progress, std::nullopt},
                                        {FaultKind::lying_state, std::nullopt}};
  for (const FaultCase& one : cases) {
    start({{"node1", one.kind, rule_of(one.kind).fallback}});
    limit_ = milliseconds(one.code == ErrorCode::timeout ? 300 : 20'000);
    const auto begin = std::chrono::steady_clock::now();
    {
      Result<std::unique_ptr<oob::Bmc>> bmc = dial();
      std::optional<Error> error = bmc.ok() ? std::nullopt : std::optional(bmc.error());
      if (bmc.ok()) {
        const Result<oob::PowerReading> power = (*bmc)->power();
        if (!power.ok()) error = power.error();
      }
      EXPECT_EQ(error.has_value(), one.code.has_value()) << to_text(one.kind) << (error ? ": " + error->text() : "");
      if (error && one.code) {
        EXPECT_EQ(error->code, *one.code) << to_text(one.kind) << ": " << error->text();
        EXPECT_EQ(error->where, "node1");
        EXPECT_THAT(error->message, Not(HasSubstr("weft-simulated")));
      }
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    EXPECT_LT(seconds, 60.0) << to_text(one.kind);  // no hang; a busy machine may be slow
    fleet_->stop();
  }
}

// The task monitor sends Retry-After: 1 (second). A task of 1.5 s is still running at the first poll, so a client that
// does not wait, or polls only once, returns too early. Not sensitive to a busy machine.
TEST_F(RedfishSim, TasksOfAResetAreWaitedFor) {
  const Duration task = milliseconds(1'500);
  start({{"node1", FaultKind::async_reset, task.count()}});
  {
    Result<std::unique_ptr<oob::Bmc>> bmc = dial();
    ASSERT_TRUE(bmc.ok()) << bmc.error().text();
    const Duration before = clock_.now();
    const Status reset = (*bmc)->reset(oob::ResetAction::force_off);
    EXPECT_TRUE(reset.ok()) << reset.error().text();
    EXPECT_GE(clock_.now() - before, task);
    EXPECT_EQ(fleet_->totals().all_resets(), 1U);
    EXPECT_TRUE(becomes(oob::PowerState::off));
  }
  fleet_->stop();
  limit_ = milliseconds(2'000);  // one poll after a second; another one would exceed the limit
  start({{"node1", FaultKind::task_never_ends, rule_of(FaultKind::task_never_ends).fallback}});
  Result<std::unique_ptr<oob::Bmc>> bmc = dial();
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  const Duration before = clock_.now();
  const Status reset = (*bmc)->reset(oob::ResetAction::force_off);
  EXPECT_TRUE(reset.ok()) << reset.error().text();
  EXPECT_GE(clock_.now() - before, milliseconds(1'000));
  EXPECT_EQ(fleet_->totals().all_resets(), 1U);  // waiting does not repeat the reset
}

// A setting is written with its ETag. Compared with a healthy BMC, the additional requests are the PATCH rejected with
// 412, and a read of the current ETag.
TEST_F(RedfishSim, EtagThatNeverMatchesIsOmitted) {
  std::map<bool, std::uint64_t> requests;  // by whether the ETag is stale
  for (const bool stale : {false, true}) {
    std::vector<NamedFault> faults;
    if (stale) faults.push_back({"node1", FaultKind::stale_etag, rule_of(FaultKind::stale_etag).fallback});
    start(std::move(faults));
    Result<std::unique_ptr<oob::Bmc>> bmc = dial();
    ASSERT_TRUE(bmc.ok()) << bmc.error().text();
    oob::SettingsChange change;
    change.ntp = {"10.0.0.1", "10.0.0.2"};
    const std::uint64_t before = fleet_->totals().requests;
    const Status changed = (*bmc)->change(change);
    EXPECT_TRUE(changed.ok()) << changed.error().text();
    requests[stale] = fleet_->totals().requests - before;
    const Result<oob::BmcSettings> now = (*bmc)->settings();
    ASSERT_TRUE(now.ok());
    EXPECT_EQ(now->ntp, change.ntp);
    bmc->reset();
    fleet_->stop();
  }
  EXPECT_EQ(requests[true], requests[false] + 2);
}

}  // namespace
}  // namespace weft::bmcsim

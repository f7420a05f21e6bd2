// The IPMI client against OpenIPMI's ipmi_sim; stock ipmitool and FreeIPMI tools verify every verb.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/test_prerequisites.h"
#include "ipmi_lab.h"
#include "oob/bmc/connector.h"
#include "oob/bmc/fan_out.h"

namespace weft::oob {
namespace {

using testing_lab::IpmiLab;
using testing_lab::Lab;
using testing_lab::Outcome;

class OobIpmi : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : IpmiLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
    WEFT_NEEDS(IpmiLab::can_listen(), "UDP port 623");
    lab_ = std::make_unique<Lab>("ipmi");
    ipmi_ = std::make_unique<IpmiLab>(*lab_);
    ASSERT_EQ(ipmi_->add("node1"), "");
    WEFT_NEEDS(!built_without(), "FreeIPMI at build time");
  }

  [[nodiscard]] Endpoint endpoint(std::size_t i = 0) const {
    const IpmiLab::Machine& machine = ipmi_->machines().at(i);
    Endpoint endpoint;
    endpoint.device = machine.name;
    endpoint.protocol = Protocol::ipmi;
    endpoint.host = machine.address;
    endpoint.port = machine.port;
    endpoint.cipher_suites = {17, 3};
    endpoint.workarounds = {"opensesspriv", "solchannelsupport", "solpayloadsize"};
    endpoint.connect_limit = milliseconds(2'000);
    endpoint.request_limit = milliseconds(4'000);
    return endpoint;
  }
  Result<std::unique_ptr<Bmc>> dial(const Endpoint& to, const std::string& password = IpmiLab::kPassword) {
    return dial_ipmi(to, IpmiLab::kUser, Secret(password), clock_);
  }
  std::unique_ptr<Bmc> open(std::size_t i = 0) {
    Result<std::unique_ptr<Bmc>> bmc = dial(endpoint(i));
    EXPECT_TRUE(bmc.ok()) << bmc.error().text();
    return bmc ? std::move(bmc).value() : nullptr;
  }
  bool built_without() {
    const Result<std::unique_ptr<Bmc>> bmc = dial(endpoint());
    return !bmc && bmc.error().message.find("built without IPMI") != std::string::npos;
  }

  std::unique_ptr<Lab> lab_;
  std::unique_ptr<IpmiLab> ipmi_;
  SystemClock clock_;
};

// Longer than any timeout of these tests, even on a busy machine.
constexpr std::int64_t kNoHang = 60'000;

std::int64_t ms_of(const std::chrono::steady_clock::time_point& start) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(OobIpmi, PowerVerbsAgreeWithIpmitool) {
  const std::unique_ptr<Bmc> bmc = open();
  ASSERT_TRUE(bmc);
  const auto state = [&] {
    const Result<PowerReading> power = bmc->power();
    EXPECT_TRUE(power.ok()) << power.error().text();
    return power ? power->state : PowerState::unknown;
  };
  const auto seen = [&] { return ipmi_->ipmitool(0, {"chassis", "power", "status"}).out; };
  EXPECT_EQ(state(), PowerState::on);
  EXPECT_EQ(seen(), "Chassis Power is on\n");
  EXPECT_EQ(bmc->reset_actions()->size(), static_cast<std::size_t>(kResetActions));

  EXPECT_TRUE(bmc->reset(ResetAction::force_off).ok());
  EXPECT_EQ(state(), PowerState::off);
  EXPECT_EQ(seen(), "Chassis Power is off\n");
  EXPECT_TRUE(bmc->reset(ResetAction::on).ok());
  EXPECT_EQ(state(), PowerState::on);
  EXPECT_EQ(ipmi_->done(0), (std::vector<std::string>{"power 0", "power 1"}));

  ipmi_->forget(0);
  EXPECT_TRUE(bmc->reset(ResetAction::force_restart).ok());
  EXPECT_EQ(ipmi_->done(0), (std::vector<std::string>{"reset 1"}));
  EXPECT_EQ(state(), PowerState::on);

  ipmi_->forget(0);
  EXPECT_TRUE(bmc->reset(ResetAction::power_cycle).ok());
  EXPECT_TRUE(Lab::wait(5, [&] { return ipmi_->done(0).size() >= 2; }));
  EXPECT_EQ(ipmi_->done(0), (std::vector<std::string>{"power 0", "power 1"}));

  ipmi_->forget(0);
  EXPECT_TRUE(bmc->reset(ResetAction::graceful_shutdown).ok());
  EXPECT_EQ(ipmi_->done(0), (std::vector<std::string>{"shutdown 1"}));
  EXPECT_EQ(state(), PowerState::off);

  // And the other way round: weft sees what ipmitool changes.
  EXPECT_EQ(ipmi_->ipmitool(0, {"chassis", "power", "on"}).code, 0);
  EXPECT_EQ(state(), PowerState::on);
}

TEST_F(OobIpmi, SensorsAgreeWithIpmitool) {
  const std::unique_ptr<Bmc> bmc = open();
  ASSERT_TRUE(bmc);
  Result<std::vector<SensorReading>> sensors = bmc->sensors();
  ASSERT_TRUE(sensors.ok()) << sensors.error().text();
  ASSERT_EQ(sensors->size(), 1U);
  const SensorReading cool = sensors->front();
  EXPECT_EQ(cool.name, "Inlet Temp");
  EXPECT_EQ(cool.kind, "temperature");
  EXPECT_EQ(cool.unit, "C");
  EXPECT_EQ(cool.value, 25.0);
  EXPECT_EQ(cool.health, Health::ok);
  EXPECT_EQ(cool.high_critical, 72.0);
  EXPECT_EQ(cool.low_critical, 3.0);
  // name | reading | unit | status | lower non-recoverable, critical, non-critical | upper non-critical, critical, ...
  std::vector<std::string> fields;
  std::istringstream line(ipmi_->ipmitool(0, {"-c", "sensor"}).out);
  for (std::string field; std::getline(line, field, ',');) fields.push_back(field);
  ASSERT_GE(fields.size(), 10U);
  EXPECT_EQ(fields[0], cool.name);
  EXPECT_EQ(std::stod(fields[1]), cool.value);
  EXPECT_EQ(fields[2], "degrees C");
  EXPECT_EQ(fields[3], "ok");
  EXPECT_EQ(std::stod(fields[5]), cool.low_critical);
  EXPECT_EQ(std::stod(fields[8]), cool.high_critical);

  ASSERT_TRUE(ipmi_->inject(0, "sensor_set_value 0x20 0 1 0x4b 1"));
  sensors = bmc->sensors();
  ASSERT_TRUE(sensors.ok()) << sensors.error().text();
  EXPECT_EQ(sensors->front().value, 75.0);
  EXPECT_EQ(sensors->front().health, Health::critical);
  EXPECT_NE(ipmi_->ipmitool(0, {"-c", "sensor"}).out.find(",cr,"), std::string::npos);
}

TEST_F(OobIpmi, EventsAgreeWithIpmitoolAndCanBeCleared) {
  const std::unique_ptr<Bmc> bmc = open();
  ASSERT_TRUE(bmc);
  Result<std::vector<LogEvent>> events = bmc->events();
  ASSERT_TRUE(events.ok()) << events.error().text();
  EXPECT_TRUE(events->empty());

  ASSERT_TRUE(ipmi_->inject(0, "sensor_set_value 0x20 0 1 0x4b 1"));
  events = bmc->events();
  ASSERT_TRUE(events.ok()) << events.error().text();
  std::vector<std::string> judged;
  std::istringstream list(ipmi_->ipmitool(0, {"sel", "elist"}).out);
  for (std::string line; std::getline(list, line);) judged.push_back(line);
  ASSERT_EQ(events->size(), judged.size());
  ASSERT_EQ(events->size(), 2U);  // upper non-critical and upper critical
  for (std::size_t i = 0; i < judged.size(); ++i) {
    const LogEvent& event = (*events)[i];
    SCOPED_TRACE(judged[i] + " / " + event.message);
    EXPECT_NE(judged[i].find(event.source), std::string::npos);
    EXPECT_EQ(event.source, "Inlet Temp");
    EXPECT_NE(judged[i].find("Asserted"), std::string::npos);
    EXPECT_NE(event.message.find("(asserted)"), std::string::npos);
    EXPECT_NE(event.message.find("75 C"), std::string::npos);
    // ipmitool prints "Pre-Init" or the year 1970 if the log's clock was never set.
    EXPECT_EQ(event.time, "");
  }
  EXPECT_NE(events->front().message.find("Upper Non-critical - going high"), std::string::npos);
  EXPECT_EQ(events->front().severity, Health::warning);
  EXPECT_EQ(events->back().severity, Health::critical);

  // With the clock set (Set SEL Time, seconds since 1970, least significant byte first), the time is ISO 8601.
  EXPECT_EQ(ipmi_->ipmitool(0, {"raw", "0x0a", "0x49", "0x58", "0x64", "0xfa", "0x6a"}).code, 0);
  ASSERT_TRUE(ipmi_->inject(0, "sensor_set_value 0x20 0 1 0x19 1"));
  events = bmc->events();
  ASSERT_TRUE(events.ok()) << events.error().text();
  ASSERT_EQ(events->size(), 4U);
  ASSERT_EQ(events->back().time.substr(0, 17), "2026-11-16T02:03:");
  EXPECT_EQ(events->back().time.substr(19), "Z");
  EXPECT_NE(events->back().message.find("(deasserted)"), std::string::npos);

  ASSERT_TRUE(bmc->clear_events().ok());
  EXPECT_TRUE(bmc->events()->empty());
  EXPECT_NE(ipmi_->ipmitool(0, {"sel", "list"}).out.find("no entries"), std::string::npos);
}

TEST_F(OobIpmi, UsersAreListedEnabledAndGivenPasswords) {
  const std::unique_ptr<Bmc> bmc = open();
  ASSERT_TRUE(bmc);
  Result<std::vector<BmcUser>> users = bmc->users();
  ASSERT_TRUE(users.ok()) << users.error().text();
  ASSERT_EQ(users->size(), 1U);
  EXPECT_EQ(users->front().id, "2");
  EXPECT_EQ(users->front().name, "admin");
  EXPECT_EQ(users->front().role, UserRole::administrator);
  EXPECT_TRUE(users->front().enabled);

  EXPECT_EQ(ipmi_->ipmitool(0, {"user", "set", "name", "4", "helpdesk"}).code, 0);
  EXPECT_EQ(ipmi_->ipmitool(0, {"user", "priv", "4", "2", "1"}).code, 0);
  users = bmc->users();
  ASSERT_TRUE(users.ok()) << users.error().text();
  ASSERT_EQ(users->size(), 2U);
  EXPECT_EQ(users->back().id, "4");
  EXPECT_EQ(users->back().name, "helpdesk");
  EXPECT_EQ(users->back().role, UserRole::read_only);
  EXPECT_FALSE(users->back().enabled);
  ASSERT_TRUE(bmc->set_user_enabled("helpdesk", true).ok());
  EXPECT_TRUE(bmc->users()->back().enabled);
  ASSERT_TRUE(bmc->set_user_enabled("helpdesk", false).ok());
  EXPECT_FALSE(bmc->users()->back().enabled);
  EXPECT_EQ(bmc->set_user_enabled("nobody", true).error().code, ErrorCode::not_found);

  // Twenty bytes is the longest password in IPMI; ipmi_sim accepts it but stores sixteen. No account is locked out.
  const Status cut = bmc->set_password("admin", Secret("Kp7mXw3RtY9bNc5hQz2F"));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, ErrorCode::conflict);
  EXPECT_NE(cut.error().message.find("the old password was restored"), std::string::npos) << cut.error().text();
  EXPECT_EQ(cut.error().message.find("Kp7m"), std::string::npos);
  EXPECT_EQ(ipmi_->ipmitool(0, {"mc", "info"}).code, 0);
  EXPECT_TRUE(dial(endpoint()).ok());

  const std::string fresh = "Kp7mXw3RtY9bNc5h";
  const Status set = bmc->set_password("admin", Secret(fresh));
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_NE(ipmi_->ipmitool(0, {"mc", "info"}, IpmiLab::kPassword).code, 0);
  EXPECT_EQ(ipmi_->ipmitool(0, {"mc", "info"}, fresh).code, 0);
  const Result<std::unique_ptr<Bmc>> old = dial(endpoint());
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, ErrorCode::refused) << old.error().text();
  EXPECT_TRUE(dial(endpoint(), fresh).ok());
  EXPECT_TRUE(bmc->power().ok());  // the session that changed it stays open
  const Status longer = bmc->set_password("admin", Secret(fresh + "12345"));
  EXPECT_EQ(longer.error().code, ErrorCode::invalid_input);
  EXPECT_EQ(longer.error().text().find(fresh), std::string::npos);
}

TEST_F(OobIpmi, IdentityIsThatOfBmcInfo) {
  WEFT_NEEDS_PROGRAM("bmc-info");
  const std::unique_ptr<Bmc> bmc = open();
  ASSERT_TRUE(bmc);
  const Result<BmcIdentity> identity = bmc->identity();
  ASSERT_TRUE(identity.ok()) << identity.error().text();
  EXPECT_EQ(identity->firmware, "9.08");
  const std::string info = ipmi_->ipmitool(0, {"mc", "info"}).out;
  EXPECT_NE(info.find("Firmware Revision         : 9.08"), std::string::npos) << info;
  EXPECT_NE(info.find("Manufacturer ID           : 4753"), std::string::npos) << info;
  EXPECT_FALSE(identity->manufacturer.empty());
  EXPECT_EQ(identity->uuid.size(), 36U) << identity->uuid;  // 8-4-4-4-12
  const Outcome judged = ipmi_->freeipmi(0, "bmc-info", {"--get-system-guid"});
  ASSERT_EQ(judged.code, 0) << judged.out;
  EXPECT_NE(judged.out.find(identity->uuid), std::string::npos) << identity->uuid << " / " << judged.out;
}

TEST_F(OobIpmi, SettingsAreReadAsFarAsIpmiAllows) {
  Endpoint to = endpoint();
  to.request_limit = milliseconds(500);  // ipmi_sim may not answer the cipher suite request
  const Result<std::unique_ptr<Bmc>> bmc = dial(to);
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  const auto start = std::chrono::steady_clock::now();
  const Result<BmcSettings> settings = (*bmc)->settings();
  ASSERT_TRUE(settings.ok()) << settings.error().text();
  EXPECT_EQ(settings->ipmi_over_lan, true);
  EXPECT_FALSE(settings->http.has_value());
  EXPECT_LT(ms_of(start), kNoHang);
  EXPECT_TRUE((*bmc)->power().ok());  // the session is still open, or was reopened
  SettingsChange change;
  change.http = false;
  change.ipmi_over_lan = false;
  EXPECT_EQ((*bmc)->change(change).error().code, ErrorCode::not_found);
  EXPECT_TRUE((*bmc)->power().ok());  // and nothing was changed
}

TEST_F(OobIpmi, InvalidLoginsFailClearlyAndInTime) {
  auto start = std::chrono::steady_clock::now();
  const Result<std::unique_ptr<Bmc>> wrong = dial(endpoint(), "not-the-password");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::refused) << wrong.error().text();
  EXPECT_EQ(wrong.error().text().find("not-the"), std::string::npos);
  EXPECT_EQ(wrong.error().where, "node1");
  EXPECT_LT(ms_of(start), kNoHang);

  const Result<std::unique_ptr<Bmc>> nobody = dial_ipmi(endpoint(), "nobody", Secret(IpmiLab::kPassword), clock_);
  ASSERT_FALSE(nobody.ok());
  EXPECT_EQ(nobody.error().code, ErrorCode::refused) << nobody.error().text();

  Endpoint open_door = endpoint();
  open_door.cipher_suites = {3, 0};
  const Result<std::unique_ptr<Bmc>> zero = dial(open_door);
  ASSERT_FALSE(zero.ok());
  EXPECT_EQ(zero.error().code, ErrorCode::refused);
  Endpoint strict = endpoint();
  strict.cipher_suites = {17};  // not supported by ipmi_sim
  const Result<std::unique_ptr<Bmc>> seventeen = dial(strict);
  ASSERT_FALSE(seventeen.ok());
  EXPECT_EQ(seventeen.error().code, ErrorCode::refused) << seventeen.error().text();
  Endpoint odd = endpoint();
  odd.workarounds = {"opensesspriv", "magic"};
  EXPECT_EQ(dial(odd).error().code, ErrorCode::invalid_input);

  ipmi_->kill(0);
  start = std::chrono::steady_clock::now();
  Endpoint patient = endpoint();
  patient.connect_limit = milliseconds(2 * kNoHang);
  const Result<std::unique_ptr<Bmc>> dead = dial(patient);
  ASSERT_FALSE(dead.ok());
  EXPECT_EQ(dead.error().code, ErrorCode::unavailable) << dead.error().text();
  EXPECT_LT(ms_of(start), kNoHang);  // the kernel reports that the port is closed
}

TEST_F(OobIpmi, DeadBmcTimesOutAndRecovers) {
  Endpoint to = endpoint();
  to.request_limit = milliseconds(600);
  Result<std::unique_ptr<Bmc>> bmc = dial(to);
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  ASSERT_TRUE((*bmc)->power().ok());
  ::kill(ipmi_->machine(0).process, SIGSTOP);
  auto start = std::chrono::steady_clock::now();
  const Result<PowerReading> hung = (*bmc)->power();
  EXPECT_LT(ms_of(start), kNoHang);
  ASSERT_FALSE(hung.ok());
  EXPECT_EQ(hung.error().code, ErrorCode::timeout) << hung.error().text();
  start = std::chrono::steady_clock::now();
  const Status cycle = (*bmc)->reset(ResetAction::power_cycle);
  ASSERT_FALSE(cycle.ok());
  EXPECT_NE(cycle.error().message.find("was not sent"), std::string::npos) << cycle.error().text();
  EXPECT_LT(ms_of(start), kNoHang);
  ::kill(ipmi_->machine(0).process, SIGCONT);
  EXPECT_TRUE((*bmc)->power().ok());  // in a new session
  EXPECT_TRUE(ipmi_->done(0).empty());
}

TEST_F(OobIpmi, IdleSessionsAreReopened) {
  Endpoint to = endpoint();
  to.request_limit = milliseconds(400);
  Result<std::unique_ptr<Bmc>> bmc = dial(to);
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(450));
    const Result<PowerReading> power = (*bmc)->power();
    EXPECT_TRUE(power.ok()) << power.error().text();
  }
}

// A BMC that is slow to power cycle gets one request, even if it is silent for longer than a retransmission interval.
TEST_F(OobIpmi, SlowReplyToACycleCausesNoSecondCycle) {
  ipmi_->hook(0, "[ \"$2\" = 0 ] || exit 0; sleep 1.6");
  Endpoint to = endpoint();
  to.request_limit = milliseconds(1'200);  // retransmissions every 300 ms
  Result<std::unique_ptr<Bmc>> bmc = dial(to);
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  const Status cycled = (*bmc)->reset(ResetAction::power_cycle);
  ASSERT_FALSE(cycled.ok());
  EXPECT_EQ(cycled.error().code, ErrorCode::timeout) << cycled.error().text();
  EXPECT_TRUE(Lab::wait(10, [&] { return ipmi_->done(0).size() >= 2; }));
  // ipmi_sim answers in order: when it answers this request, all earlier ones are done.
  EXPECT_EQ(ipmi_->ipmitool(0, {"chassis", "power", "status"}).code, 0);
  EXPECT_EQ(ipmi_->done(0), (std::vector<std::string>{"power 0", "power 1"}));
}

std::string read_line(int line, std::size_t wanted, int seconds = 5) {
  std::string text;
  (void)Lab::wait(seconds, [&] {
    char bytes[256];
    for (ssize_t got = 0; (got = ::recv(line, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
      text.append(bytes, static_cast<std::size_t>(got));
    }
    return text.size() >= wanted;
  });
  return text;
}

std::string read_stream(ConsoleStream& stream, const std::string& until, int seconds = 5) {
  std::string text;
  (void)Lab::wait(seconds, [&] {
    const Result<std::string> got = stream.read(milliseconds(50));
    if (got) text += *got;
    return !got || text.find(until) != std::string::npos;
  });
  return text;
}

TEST_F(OobIpmi, ConsoleCarriesTheSerialLineBothWays) {
  const std::unique_ptr<Bmc> bmc = open();
  ASSERT_TRUE(bmc);
  int line = -1;
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    Result<std::unique_ptr<ConsoleStream>> console = bmc->console();
    ASSERT_TRUE(console.ok()) << console.error().text();
    if (round == 0) line = ipmi_->serial_line(0);
    ASSERT_GE(line, 0);
    const std::string boot = "Booting kernel 6.1\r\nlogin: ";
    ASSERT_EQ(::send(line, boot.data(), boot.size(), MSG_NOSIGNAL), static_cast<ssize_t>(boot.size()));
    EXPECT_NE(read_stream(**console, "login: ").find(boot), std::string::npos);
    ASSERT_TRUE((*console)->write("root\r").ok());
    // ipmi_sim keeps the last packet number across sessions, and may treat the first of the next one as a duplicate.
    if (round > 0) {
      (void)read_line(line, 5, 1);
      ASSERT_TRUE((*console)->write("root\r").ok());
    }
    EXPECT_EQ(read_line(line, 5), "root\r");
    // No data is not an error.
    const Result<std::string> quiet = (*console)->read(milliseconds(20));
    EXPECT_TRUE(quiet.ok() && quiet->empty());
    console = Error{ErrorCode::internal, "closed", {}};
    EXPECT_TRUE(ipmi_->alive(0));
  }
  ::close(line);
  EXPECT_TRUE(bmc->power().ok());
}

TEST_F(OobIpmi, ConsoleReportsADeadBmc) {
  Endpoint to = endpoint();
  to.request_limit = milliseconds(900);
  const Result<std::unique_ptr<Bmc>> bmc = dial(to);
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  Result<std::unique_ptr<ConsoleStream>> console = (*bmc)->console();
  ASSERT_TRUE(console.ok()) << console.error().text();
  ipmi_->kill(0);
  std::optional<Error> error;
  EXPECT_TRUE(Lab::wait(5, [&] {
    const Result<std::string> got = (*console)->read(milliseconds(50));
    if (!got) error = got.error();
    return !got.ok();
  }));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->where, "node1");
  EXPECT_TRUE(error->code == ErrorCode::timeout || error->code == ErrorCode::unavailable) << error->text();
  const auto start = std::chrono::steady_clock::now();
  console = Error{ErrorCode::internal, "closed", {}};
  EXPECT_LT(ms_of(start), kNoHang);
  EXPECT_FALSE((*bmc)->console().ok());
}

// The second client takes over, as operators expect of a console. ipmi_sim does not notify the first, so it must poll.
TEST_F(OobIpmi, ConsoleReportsATakeover) {
  Endpoint to = endpoint();
  to.workarounds.emplace_back("serial-keepalive-empty");
  to.request_limit = milliseconds(900);
  const Result<std::unique_ptr<Bmc>> first = dial(to);
  const Result<std::unique_ptr<Bmc>> second = dial(to);
  ASSERT_TRUE(first.ok() && second.ok());
  const Result<std::unique_ptr<ConsoleStream>> loser = (*first)->console();
  ASSERT_TRUE(loser.ok()) << loser.error().text();
  const Result<std::unique_ptr<ConsoleStream>> winner = (*second)->console();
  ASSERT_TRUE(winner.ok()) << winner.error().text();
  std::optional<Error> error;
  EXPECT_TRUE(Lab::wait(5, [&] {
    const Result<std::string> got = (*loser)->read(milliseconds(50));
    if (!got) error = got.error();
    return !got.ok();
  }));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, ErrorCode::timeout) << error->text();
  const int line = ipmi_->serial_line(0);
  ASSERT_GE(line, 0);
  ASSERT_EQ(::send(line, "hello", 5, MSG_NOSIGNAL), 5);
  EXPECT_NE(read_stream(**winner, "hello").find("hello"), std::string::npos);
  ::close(line);
}

TEST_F(OobIpmi, ProgramCanBeTheConsole) {
  Endpoint to = endpoint();
  to.console = {"sh", "-c", "echo from the program; cat"};
  const Result<std::unique_ptr<Bmc>> bmc = dial(to);
  ASSERT_TRUE(bmc.ok()) << bmc.error().text();
  Result<std::unique_ptr<ConsoleStream>> console = (*bmc)->console();
  ASSERT_TRUE(console.ok()) << console.error().text();
  EXPECT_NE(read_stream(**console, "program").find("from the program"), std::string::npos);
}

// A port other than 623, as behind a port-forwarding gateway.
TEST_F(OobIpmi, OtherPortsWork) {
  ASSERT_EQ(ipmi_->add("node2", 6'623), "");
  const std::unique_ptr<Bmc> bmc = open(1);
  ASSERT_TRUE(bmc);
  ASSERT_TRUE(bmc->reset(ResetAction::force_restart).ok());
  EXPECT_EQ(ipmi_->done(1), (std::vector<std::string>{"reset 1"}));
  EXPECT_TRUE(ipmi_->done(0).empty());
  Result<std::unique_ptr<ConsoleStream>> console = bmc->console();
  EXPECT_TRUE(console.ok()) << console.error().text();
  EXPECT_GE(ipmi_->serial_line(1), 0);
}

// Sessions that are not closed would fill the BMC's table (ipmi_sim supports about sixty).
TEST_F(OobIpmi, SessionsAreClosed) {
  for (int i = 0; i < 150; ++i) {
    const Result<std::unique_ptr<Bmc>> bmc = dial(endpoint());
    ASSERT_TRUE(bmc.ok()) << i << ": " << bmc.error().text();
    if (i % 10 == 0) {
      ASSERT_TRUE((*bmc)->reset(ResetAction::force_restart).ok());
    }
  }
}

TEST_F(OobIpmi, SessionsOnDifferentBmcsInParallel) {
  constexpr std::size_t kMachines = 4;
  while (ipmi_->machines().size() < kMachines) {
    const std::string failed = ipmi_->add("node" + std::to_string(ipmi_->machines().size() + 1));
    ASSERT_EQ(failed, "");
  }
  std::atomic<int> good{0};
  std::mutex mutex;
  std::string first;
  fan_out(128, 64, clock_, [&](std::uint32_t i) {
    Result<std::unique_ptr<Bmc>> bmc = dial(endpoint(i % kMachines));
    const Result<PowerReading> power = bmc ? (*bmc)->power() : Result<PowerReading>(bmc.error());
    if (power && power->state == PowerState::on) {
      ++good;
    } else {
      const std::lock_guard<std::mutex> lock(mutex);
      if (first.empty()) first = power ? "off" : power.error().text();
    }
  });
  EXPECT_EQ(good.load(), 128) << first;
}

}  // namespace
}  // namespace weft::oob

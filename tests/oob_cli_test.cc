// End-to-end tests of the out-of-band commands on simulated BMCs: exit codes, rejected commands that change nothing,
// the log server, and the state after an interrupted command.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "base/test_places.h"
#include "bmcsim/fleet.h"
#include "oob/journal/journal.h"
#include "program.h"

namespace weft {
namespace {

using bmcsim::SimFleet;
using testing::HasSubstr;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

// A log server: accepts octet-counted messages (RFC 6587, 3.4.1) from one client at a time.
class LogServer {
 public:
  explicit LogServer(std::uint16_t port = 0) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, plain, size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  LogServer(const LogServer&) = delete;
  LogServer& operator=(const LogServer&) = delete;
  ~LogServer() {
    ended_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::vector<std::string> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  void serve() {
    while (!ended_) {
      const int client = ::accept(listener_, nullptr, nullptr);
      if (client < 0) return;
      std::string bytes;
      char piece[4096];
      for (ssize_t got = 0; (got = ::read(client, piece, sizeof piece)) > 0;)
        bytes.append(piece, static_cast<std::size_t>(got));
      ::close(client);
      take(bytes);
    }
  }
  void take(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    while (!bytes.empty()) {
      const std::size_t blank = bytes.find(' ');
      const std::size_t size = std::stoul(std::string(bytes.substr(0, blank)));
      messages_.emplace_back(bytes.substr(blank + 1, size));
      bytes.remove_prefix(blank + 1 + size);
    }
  }

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::thread thread_;
};

class OobCli : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("oob_cli"); }

  void serve(bmcsim::SimOptions options = {}) {
    std::vector<bmcsim::SimDevice> devices;
    for (int i = 0; i < 4; ++i)
      devices.push_back({.name = "train00" + std::to_string(i + 1), .offset = static_cast<std::uint32_t>(i)});
    options.base = Ipv4{(127U << 24U) | (18U << 16U) | ((static_cast<std::uint32_t>(::getpid()) & 0x3FFFU) << 2U)};
    options.power_time = milliseconds(40);
    options.boot_time = milliseconds(80);
    Result<std::unique_ptr<SimFleet>> fleet = SimFleet::make(std::move(devices), std::move(options));
    ASSERT_TRUE(fleet.ok()) << fleet.error().text();
    fleet_ = std::move(fleet).value();
    ASSERT_TRUE(fleet_->start().ok());
    state_ = (folder_ / testing::UnitTest::GetInstance()->current_test_info()->name()).string();
    endpoints_ = file("endpoints.yaml", "weft_endpoints: 1\ndefaults: {ca: " + file("ca.pem", fleet_->ca_pem()) +
                                            "}\nendpoints:\n  train[001-004]: {host: " + fleet_->address(0) +
                                            ", port: " + std::to_string(fleet_->port()) + "}\n");
    credentials_ = file("credentials.yaml", "weft_credentials: 1\ndefault: {user: admin, password: weft-simulated}\n");
    ::chmod(credentials_.c_str(), 0600);
  }
  // `words` start after "weft oob", with the verb first; CLUSTER is replaced by the cluster file.
  [[nodiscard]] Words words(const Words& asked, const std::string& syslog = "none") const {
    Words all{weft_binary(), "oob"};
    for (const std::string& word : asked)
      all.push_back(word == "CLUSTER" ? source_dir() + "/examples/pod16.yaml" : word);
    for (const std::string& word : Words{"--endpoints", endpoints_, "--credentials", "file:" + credentials_, "--state",
                                         state_, "--syslog", syslog})
      all.push_back(word);
    return all;
  }
  [[nodiscard]] std::vector<oob::JournalEntry> journal() const {
    oob::SystemClock clock;
    const auto opened = oob::open_journal(state_ + "/journal.ndjson", "judge", clock);
    EXPECT_TRUE(opened.ok());
    return opened.ok() ? opened.value()->read().value_or({}) : std::vector<oob::JournalEntry>();
  }

  std::unique_ptr<SimFleet> fleet_;
  std::string state_;
  std::string endpoints_;
  std::string credentials_;
};

TEST_F(OobCli, ExitCodesReflectReachability) {
  bmcsim::SimOptions options;
  options.faults = *bmcsim::parse_fault("train003=dead:reset");
  serve(std::move(options));
  EXPECT_EQ(run(words({"status", "CLUSTER", "train[001-002]"})).code, 0);
  const Outcome some = run(words({"status", "CLUSTER", "train[001-004]"}));
  EXPECT_EQ(some.code, 3) << some.out;
  EXPECT_THAT(some.out, HasSubstr("train[001-002,004]"));
  EXPECT_EQ(run(words({"status", "CLUSTER", "train003"})).code, 5);
  EXPECT_EQ(fleet_->totals().sessions, 0U) << "every session was closed";
}

TEST_F(OobCli, RefusalsAndDryRunsChangeNothing) {
  serve();
  EXPECT_EQ(run(words({"power", "off", "CLUSTER", "train001", "--reason", "drill"})).code, 4);
  EXPECT_EQ(run(words({"power", "off", "CLUSTER", "train001", "--yes"})).code, 4);
  EXPECT_EQ(
      run(words({"power", "off", "CLUSTER", "train[001-004]", "--yes", "--reason", "drill", "--limit", "3"})).code, 4);
  EXPECT_EQ(run(words({"power", "off", "CLUSTER", "all", "--yes", "--reason", "drill"})).code, 4);
  EXPECT_EQ(run(words({"power", "off", "CLUSTER", "train001", "--dry-run"})).code, 0);
  EXPECT_EQ(run(words({"rotate", "CLUSTER", "train001", "--dry-run"})).code, 0);
  EXPECT_EQ(fleet_->totals().all_resets(), 0U);
  EXPECT_EQ(fleet_->totals().password_changes, 0U);
  const std::vector<oob::JournalEntry> entries = journal();
  EXPECT_EQ(std::count_if(entries.begin(), entries.end(),
                          [](const oob::JournalEntry& entry) { return entry.verb == "power.off.refused"; }),
            4);
}

TEST_F(OobCli, LogServerHasEveryEntryEvenAfterAnOutage) {
  serve();
  std::uint16_t port = 0;
  {
    const LogServer early;
    port = early.port();
  }
  const std::string target = "tcp://127.0.0.1:" + std::to_string(port);
  const Outcome down = run(words({"power", "off", "CLUSTER", "train001", "--yes", "--reason", "drill"}, target));
  EXPECT_EQ(down.code, 0) << down.err;
  EXPECT_THAT(down.err, HasSubstr("not yet at the log server"));
  LogServer server(port);
  const Outcome up = run(words({"power", "on", "CLUSTER", "train001", "--yes", "--reason", "drill"}, target));
  EXPECT_EQ(up.code, 0) << up.err;
  const std::vector<oob::JournalEntry> entries = journal();
  const std::vector<std::string> messages = server.messages();
  ASSERT_GE(messages.size(), entries.size());
  for (const oob::JournalEntry& entry : entries) {
    EXPECT_TRUE(std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
      return message.find("hash=\"" + entry.hash + "\"") != std::string::npos;
    })) << entry.number;
  }
  for (const std::string& message : messages) EXPECT_EQ(message.find("weft-simulated"), std::string::npos);
}

TEST_F(OobCli, InterruptLogsOutAndLeavesTheOperationOpen) {
  bmcsim::SimOptions options;
  options.latency = milliseconds(100);
  options.faults = *bmcsim::parse_fault("train[001-004]=stuck_off");
  options.powered = false;
  serve(std::move(options));
  const pid_t child = start(words({"power", "on", "CLUSTER", "train[001-004]", "--yes", "--reason", "drill"}));
  for (int i = 0; i < 1'200 && fleet_->totals().all_resets() < 4; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_GE(fleet_->totals().all_resets(), 4U);
  ::kill(child, SIGINT);
  const Outcome outcome = wait(child);
  EXPECT_THAT(outcome.code, testing::AnyOf(3, 5)) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--resume"));
  EXPECT_EQ(fleet_->totals().sessions, 0U) << "every session was closed";
  const std::vector<oob::OpenOperation> open = open_operations(journal());
  ASSERT_EQ(open.size(), 1U);
  const Outcome listed = run({weft_binary(), "oob", "power", "--open", "--state", state_, "-o", "json"});
  EXPECT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr(open.front().operation)) << "neither a cluster file nor credentials are needed";
}

}  // namespace
}  // namespace weft

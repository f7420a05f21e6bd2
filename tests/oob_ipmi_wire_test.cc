// A faulty network: a proxy in front of a real ipmi_sim corrupts, truncates, repeats, delays and drops the BMC's
// responses after a successful login. Accepted values must be correct, anything else is a clear error within the
// timeouts, and no command that must not be repeated runs twice.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/test_prerequisites.h"
#include "ipmi_lab.h"
#include "oob/bmc/connector.h"

namespace weft::oob {
namespace {

using testing_lab::IpmiLab;
using testing_lab::Lab;

// Forwards datagrams of any number of clients to the BMC, and its responses back, with faults from a seed.
class Wire {
 public:
  Wire(const std::string& address, std::uint16_t port, unsigned seed, unsigned in_hundred)
      : random_(seed), in_hundred_(in_hundred) {
    bmc_.sin_family = AF_INET;
    bmc_.sin_port = htons(port);
    ::inet_pton(AF_INET, address.c_str(), &bmc_.sin_addr);
    front_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    EXPECT_EQ(::bind(front_, generic(own), size), 0);
    EXPECT_EQ(::getsockname(front_, generic(own), &size), 0);
    port_ = ntohs(own.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    stop_ = true;
    thread_.join();
    ::close(front_);
    for (const Client& client : clients_) ::close(client.back);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int mistreated() const { return mistreated_.load(); }

 private:
  struct Client {
    sockaddr_in from{};
    int back = -1;
  };
  static sockaddr* generic(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

  void run() {
    std::vector<std::uint8_t> bytes(4096);
    while (!stop_) {
      std::vector<pollfd> wait{{front_, POLLIN, 0}};
      for (const Client& client : clients_) wait.push_back({client.back, POLLIN, 0});
      if (::poll(wait.data(), wait.size(), 10) <= 0) continue;
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const ssize_t asked = ::recvfrom(front_, bytes.data(), bytes.size(), 0, generic(from), &size);
      if (asked >= 0) {
        (void)::sendto(back_of(from), bytes.data(), static_cast<std::size_t>(asked), 0, generic(bmc_), sizeof bmc_);
      }
      for (Client& client : clients_) {
        const ssize_t got = ::recv(client.back, bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (got >= 0) answer(client, {bytes.begin(), bytes.begin() + got});
      }
    }
  }
  int back_of(const sockaddr_in& from) {
    for (const Client& client : clients_) {
      if (client.from.sin_port == from.sin_port) return client.back;
    }
    clients_.push_back({from, ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)});
    return clients_.back().back;
  }
  void answer(Client& client, std::vector<std::uint8_t> reply) {
    const auto put = [&](const std::vector<std::uint8_t>& bytes) {
      (void)::sendto(front_, bytes.data(), bytes.size(), 0, generic(client.from), sizeof client.from);
    };
    const std::vector<std::uint8_t> before = last_;
    last_ = reply;
    if (random_() % 100 >= in_hundred_ || reply.empty()) return put(reply);
    ++mistreated_;
    switch (random_() % 7) {
      case 0:  // one bit
        reply[random_() % reply.size()] ^= static_cast<std::uint8_t>(1U << (random_() % 8));
        return put(reply);
      case 1:  // a few bytes
        for (auto i = random_() % 6 + 1; i > 0; --i) {
          reply[random_() % reply.size()] = static_cast<std::uint8_t>(random_() & 0xFFU);
        }
        return put(reply);
      case 2:  // truncated
        reply.resize(random_() % reply.size());
        return put(reply);
      case 3:  // longer, up to more than any IPMI message
        reply.resize(reply.size() + random_() % 3000);
        return put(reply);
      case 4:  // lost
        return;
      case 5:  // an older response first
        put(before);
        return put(reply);
      default:  // twice
        put(reply);
        return put(reply);
    }
  }

  std::mt19937 random_;
  unsigned in_hundred_;
  sockaddr_in bmc_{};
  int front_ = -1;
  std::uint16_t port_ = 0;
  std::vector<Client> clients_;
  std::vector<std::uint8_t> last_;
  std::atomic<bool> stop_{false};
  std::atomic<int> mistreated_{0};
  std::thread thread_;
};

class OobIpmiWire : public testing::TestWithParam<unsigned> {
 protected:
  void SetUp() override {
    for (const char* program : IpmiLab::kPrograms) WEFT_NEEDS_PROGRAM(program);
    WEFT_NEEDS(IpmiLab::can_listen(), "UDP port 623");
    lab_ = std::make_unique<Lab>("ipmi_wire");
    ipmi_ = std::make_unique<IpmiLab>(*lab_);
    ASSERT_EQ(ipmi_->add("node1"), "");
    WEFT_NEEDS(!built_without(), "FreeIPMI at build time");
  }

  Result<std::unique_ptr<Bmc>> dial(const Wire& wire) { return dial("127.0.0.1", wire.port()); }
  Result<std::unique_ptr<Bmc>> dial(const std::string& host, std::uint16_t port) {
    Endpoint endpoint;
    endpoint.device = "node1";
    endpoint.protocol = Protocol::ipmi;
    endpoint.host = host;
    endpoint.port = port;
    endpoint.cipher_suites = {3};
    endpoint.workarounds = {"opensesspriv"};
    endpoint.connect_limit = milliseconds(200);
    endpoint.request_limit = milliseconds(120);
    return dial_ipmi(endpoint, IpmiLab::kUser, Secret(IpmiLab::kPassword), clock_);
  }
  bool built_without() {
    const Result<std::unique_ptr<Bmc>> bmc = dial(ipmi_->machines().front().address, 623);
    return !bmc && bmc.error().message.find("built without IPMI") != std::string::npos;
  }

  std::unique_ptr<Lab> lab_;
  std::unique_ptr<IpmiLab> ipmi_;
  SystemClock clock_;
};

void expect_clear(const Error& error) {
  EXPECT_NE(error.code, ErrorCode::internal) << error.text();
  EXPECT_EQ(error.where, "node1");
  EXPECT_EQ(error.message.find(IpmiLab::kPassword), std::string::npos);
}

TEST_P(OobIpmiWire, AcceptedValuesAreCorrect) {
  Wire wire(ipmi_->machines().front().address, 623, GetParam(), 12);
  const auto start = std::chrono::steady_clock::now();
  int right = 0;
  for (int round = 0; round < 10; ++round) {
    const Result<std::unique_ptr<Bmc>> bmc = dial(wire);
    if (!bmc) {
      expect_clear(bmc.error());
      continue;
    }
    const Result<PowerReading> power = (*bmc)->power();
    if (!power) expect_clear(power.error());
    if (power) {
      EXPECT_EQ(power->state, PowerState::on);
    }
    const Result<std::vector<SensorReading>> sensors = (*bmc)->sensors();
    if (!sensors) expect_clear(sensors.error());
    if (sensors && sensors->size() == 1 && sensors->front().value) {
      EXPECT_EQ(sensors->front().value, 25.0);
    }
    const Result<std::vector<BmcUser>> users = (*bmc)->users();
    if (!users) expect_clear(users.error());
    if (users && !users->empty()) {
      EXPECT_EQ(users->back().name, "admin");
    }
    const Result<std::vector<LogEvent>> events = (*bmc)->events();
    if (!events) expect_clear(events.error());
    if (events) {
      EXPECT_TRUE(events->empty());
    }
    right += (power.ok() ? 1 : 0) + (users.ok() ? 1 : 0);
  }
  EXPECT_GT(wire.mistreated(), 10);
  EXPECT_GT(right, 0);  // retransmissions get through
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(90));
}

TEST_P(OobIpmiWire, CycleRunsAtMostOnce) {
  Wire wire(ipmi_->machines().front().address, 623, GetParam() + 100, 35);
  int asked = 0;
  int accepted = 0;
  for (int round = 0; round < 12; ++round) {
    const Result<std::unique_ptr<Bmc>> bmc = dial(wire);
    if (!bmc) continue;
    ++asked;
    const Status reset = (*bmc)->reset(ResetAction::force_restart);
    if (!reset) expect_clear(reset.error());
    accepted += reset.ok() ? 1 : 0;
  }
  const auto done = static_cast<int>(ipmi_->done(0).size());
  EXPECT_GE(done, accepted);
  EXPECT_LE(done, asked);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OobIpmiWire, testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace weft::oob

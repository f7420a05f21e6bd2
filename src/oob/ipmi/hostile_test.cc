// Hostile BMCs: a UDP server that answers logins with garbage, wrong session ids, wrong integrity codes, truncated and
// huge datagrams, replies to other requests, floods and silence, thousands of them from a seed. Every connection
// attempt ends within its timeouts with a specific error.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "oob/bmc/connector.h"
#include "oob/bmc/fan_out.h"
#include "oob/ipmi/probe.h"
#include "oob/ipmi/relay.h"

namespace weft::oob {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Answer = std::function<std::vector<Bytes>(const Bytes&)>;

class Server {
 public:
  explicit Server(Answer answer)
      : answer_(std::move(answer)), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&own), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size), 0);
    port_ = ntohs(own.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    stop_ = true;
    thread_.join();
    ::close(socket_);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int received() const { return received_.load(); }
  [[nodiscard]] int sent() const { return sent_.load(); }

 private:
  void run() {
    Bytes request(4096);
    while (!stop_) {
      pollfd wait{socket_, POLLIN, 0};
      if (::poll(&wait, 1, 10) <= 0) continue;
      sockaddr_in from{};
      socklen_t size = sizeof from;
      auto* generic = reinterpret_cast<sockaddr*>(&from);
      const ssize_t got = ::recvfrom(socket_, request.data(), request.size(), MSG_DONTWAIT, generic, &size);
      if (got < 0) continue;
      ++received_;
      for (const Bytes& reply : answer_(Bytes(request.begin(), request.begin() + got))) {
        if (::sendto(socket_, reply.data(), reply.size(), 0, generic, size) >= 0) ++sent_;
      }
    }
  }

  Answer answer_;
  int socket_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> received_{0};
  std::atomic<int> sent_{0};
  std::thread thread_;
};

std::uint8_t checksum(const Bytes& bytes, std::size_t from) {
  unsigned sum = 0;
  for (std::size_t i = from; i < bytes.size(); ++i) sum += bytes[i];
  return static_cast<std::uint8_t>(0x100U - (sum & 0xFFU));
}

// A valid reply to Get Channel Authentication Capabilities (IPMI 2.0, table 22-15): IPMI 2.0, named users.
Bytes capabilities(const Bytes& request) {
  Bytes reply{0x06, 0x00, 0xFF, 0x07, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 16};
  reply.insert(reply.end(), {0x81, 0x1C});
  reply.push_back(checksum(reply, 14));
  const std::uint8_t sequence = request.size() > 18 ? request[18] : std::uint8_t{0};
  reply.insert(reply.end(), {0x20, sequence, 0x38, 0x00, 0x01, 0x80, 0x04, 0x02, 0, 0, 0, 0});
  reply.push_back(checksum(reply, 17));
  return reply;
}

bool is_login(const Bytes& request) { return request.size() > 16 && request[4] == 0x06; }  // RMCP+

// Payloads 11h, 13h and 15h answer 10h, 12h and 14h (section 13.27.3), with the console's session id at its offset.
Bytes login_answer(const Bytes& request, std::mt19937& random) {
  const auto byte = [&] { return static_cast<std::uint8_t>(random() & 0xFFU); };
  Bytes payload;
  const std::uint8_t kind = request[5] & 0x3F;
  payload.push_back(request[16]);                                                                       // message tag
  payload.push_back(random() % 4 == 0 ? static_cast<std::uint8_t>(random() % 0x20) : std::uint8_t{0});  // status
  payload.push_back(4);
  payload.push_back(0);
  for (std::size_t i = 20; i < 24; ++i) payload.push_back(i < request.size() ? request[i] : std::uint8_t{0});
  if (kind == 0x10) {
    for (int i = 0; i < 4; ++i) payload.push_back(byte());  // the BMC's session id
    for (std::size_t i = 24; i < 48; ++i) payload.push_back(i < request.size() ? request[i] : std::uint8_t{0});
  } else {
    for (int i = 0; i < 16 + 16 + 32; ++i) payload.push_back(byte());  // random number, GUID, a wrong integrity code
  }
  if (random() % 4 == 0) payload[random() % payload.size()] = byte();
  if (random() % 5 == 0) payload.resize(random() % payload.size() + 1);
  Bytes reply{0x06, 0x00, 0xFF, 0x07, 0x06, static_cast<std::uint8_t>(kind + 1), 0, 0, 0, 0, 0, 0, 0, 0};
  const std::size_t told = random() % 6 == 0 ? random() % 70'000 : payload.size();
  reply.push_back(static_cast<std::uint8_t>(told & 0xFFU));
  reply.push_back(static_cast<std::uint8_t>((told >> 8U) & 0xFFU));
  reply.insert(reply.end(), payload.begin(), payload.end());
  return reply;
}

Bytes rubbish(std::mt19937& random, std::size_t most) {
  Bytes bytes(random() % most);
  for (std::uint8_t& part : bytes) part = static_cast<std::uint8_t>(random() & 0xFFU);
  if (bytes.size() > 4 && random() % 2 == 0) {
    bytes[0] = 0x06;
    bytes[1] = 0;
    bytes[2] = 0xFF;
    bytes[3] = 0x07;
    bytes[4] = random() % 2 == 0 ? std::uint8_t{6} : std::uint8_t{0};
  }
  return bytes;
}

Endpoint endpoint(std::uint16_t port) {
  Endpoint endpoint;
  endpoint.device = "n1";
  endpoint.protocol = Protocol::ipmi;
  endpoint.host = "127.0.0.1";
  endpoint.port = port;
  endpoint.cipher_suites = {17, 3};
  endpoint.connect_limit = milliseconds(60);
  endpoint.request_limit = milliseconds(60);
  return endpoint;
}

// Two suites of at most seven steps each, in ms, on a machine that may be busy for a minute.
constexpr std::int64_t kLongestDial = 60 + 2 * 7 * 60 + 60'000;

void expect_clear_error(const Result<std::unique_ptr<Bmc>>& bmc, std::int64_t took) {
  ASSERT_FALSE(bmc.ok());
  EXPECT_NE(bmc.error().code, ErrorCode::internal) << bmc.error().text();
  EXPECT_EQ(bmc.error().where, "n1");
  EXPECT_EQ(bmc.error().message.find("hunter2"), std::string::npos);
  EXPECT_LT(took, kLongestDial) << bmc.error().text();
}

std::int64_t dial(std::uint16_t port) {
  SystemClock clock;
  const auto start = std::chrono::steady_clock::now();
  const Result<std::unique_ptr<Bmc>> bmc = dial_ipmi(endpoint(port), "admin", Secret("hunter2"), clock);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  expect_clear_error(bmc, took.count());
  return took.count();
}

TEST(IpmiHostile, SilenceAndClosedPortsAreUnavailable) {
  std::uint16_t closed = 0;
  {
    Server gone([](const Bytes&) { return std::vector<Bytes>{}; });
    const Status silent = probe_ipmi(endpoint(gone.port()));
    EXPECT_EQ(silent.error().code, ErrorCode::unavailable);
    EXPECT_EQ(silent.error().text(), "n1: no IPMI response within 60 ms");
    closed = gone.port();
  }
  const auto start = std::chrono::steady_clock::now();
  Endpoint patient = endpoint(closed);
  patient.connect_limit = milliseconds(60'000);
  const Status refused = probe_ipmi(patient);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_NE(refused.error().message.find("no IPMI listener"), std::string::npos) << refused.error().text();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50));
  Endpoint nowhere = endpoint(623);
  nowhere.host = "no-such-host.invalid";
  EXPECT_EQ(probe_ipmi(nowhere).error().code, ErrorCode::unavailable);
}

TEST(IpmiHostile, GarbageAloneIsInvalidInput) {
  std::mt19937 random(1);
  Server server([&](const Bytes&) {
    std::vector<Bytes> replies;
    for (int i = 0; i < 30; ++i) replies.push_back(rubbish(random, 2000));
    return replies;
  });
  for (int i = 0; i < 5; ++i) {
    const Status probed = probe_ipmi(endpoint(server.port()));
    ASSERT_FALSE(probed.ok());
    EXPECT_EQ(probed.error().code, ErrorCode::invalid_input);
    (void)dial(server.port());
  }
  EXPECT_GT(server.sent(), 250);
}

TEST(IpmiHostile, LoginsAnsweredWithGarbageEndInTime) {
  std::mt19937 random(2);
  Server server([&](const Bytes& request) {
    std::vector<Bytes> replies;
    if (!is_login(request)) return std::vector<Bytes>{capabilities(request)};
    for (int i = 0; i < 60; ++i) replies.push_back(rubbish(random, i == 0 ? 60'000 : 300));
    return replies;
  });
  for (int i = 0; i < 12; ++i) (void)dial(server.port());
  EXPECT_GT(server.sent(), 2'000);
}

// Each step is answered almost correctly: wrong status, ids or integrity codes, truncated, or with a wrong length
// field.
TEST(IpmiHostile, LoginsAnsweredAlmostCorrectlyEndInTime) {
  std::mt19937 random(3);
  Server server([&](const Bytes& request) {
    std::vector<Bytes> replies;
    if (!is_login(request)) {
      replies.push_back(capabilities(request));
      if (random() % 8 == 0) replies.front()[random() % replies.front().size()] ^= 0x10;
      return replies;
    }
    if (random() % 3 == 0) replies.push_back(rubbish(random, 200));
    replies.push_back(login_answer(request, random));
    if (random() % 3 == 0) replies.push_back(login_answer(request, random));
    return replies;
  });
  for (int i = 0; i < 40; ++i) (void)dial(server.port());
  EXPECT_GT(server.sent(), 100);
}

TEST(IpmiHostile, ConcurrentDialsDoNotDisturbEachOther) {
  std::mt19937 random(4);
  Server server([&](const Bytes& request) {
    if (!is_login(request)) return std::vector<Bytes>{capabilities(request)};
    return std::vector<Bytes>{rubbish(random, 100), login_answer(request, random)};
  });
  SystemClock clock;
  const FanOutResult all = fan_out(256, 256, clock, [&](std::uint32_t) {
    Endpoint to = endpoint(server.port());
    to.connect_limit = milliseconds(1'000);
    const Result<std::unique_ptr<Bmc>> bmc = dial_ipmi(to, "admin", Secret("hunter2"), clock);
    EXPECT_FALSE(bmc.ok());
  });
  EXPECT_EQ(all.finished, 256U);
}

TEST(IpmiRelay, ConcurrentCopiesAreDroppedWhileArmed) {
  std::atomic<int> heard{0};
  Server server([&](const Bytes& request) {
    ++heard;
    return std::vector<Bytes>{request};
  });
  const Result<std::unique_ptr<IpmiRelay>> relay = IpmiRelay::open("127.0.0.1", server.port(), "n1");
  ASSERT_TRUE(relay.ok()) << relay.error().text();
  const int client = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons((*relay)->port());
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  timeval limit{2, 0};
  ::setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const auto answered = [&] {
    char answer[16];
    return ::send(client, "question", 8, 0) == 8 && ::recv(client, answer, sizeof answer, 0) == 8;
  };
  EXPECT_TRUE(answered());
  EXPECT_TRUE(answered());
  (*relay)->arm();
  EXPECT_TRUE(answered());
  for (int i = 0; i < 50; ++i) (void)::send(client, "again", 5, 0);
  (*relay)->disarm();
  EXPECT_TRUE(answered());
  EXPECT_EQ(heard.load(), 4);
  ::close(client);
}

}  // namespace
}  // namespace weft::oob

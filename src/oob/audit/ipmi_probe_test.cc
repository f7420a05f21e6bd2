#include "oob/audit/ipmi_probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::uint8_t complement(const Bytes8& bytes, std::size_t first, std::size_t last) {
  unsigned sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += bytes[i];
  return static_cast<std::uint8_t>(0x100U - (sum & 0xFFU));
}

// A reply to `request` outside any session, built from the tables of IPMI 2.0 section 13.
Bytes8 reply_to(const Bytes8& request, const Bytes8& data, std::uint8_t completion = 0) {
  Bytes8 reply = {0x06, 0x00, 0xFF, 0x07, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81, 0x1C};
  reply.push_back(complement(reply, 14, 16));
  reply.insert(reply.end(), {0x20, request[18], request[19], completion});
  reply.insert(reply.end(), data.begin(), data.end());
  reply.push_back(complement(reply, 17, reply.size()));
  reply[13] = static_cast<std::uint8_t>(reply.size() - 14);
  return reply;
}

TEST(IpmiProbe, PingMatchesTheStandard) {
  // ASF 2.0 section 3.2.4.2; ipmiutil and rmcpping send the same.
  EXPECT_THAT(presence_ping(0xFF), ElementsAre(0x06, 0x00, 0xFF, 0x06, 0x00, 0x00, 0x11, 0xBE, 0x80, 0xFF, 0x00, 0x00));
}

TEST(IpmiProbe, CapabilitiesRequestMatchesIpmitool) {
  // ipmitool -vvv mc info, first datagram, with our sequence number.
  EXPECT_THAT(auth_capabilities_request(0),
              ElementsAre(0x06, 0x00, 0xFF, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x09, 0x20,
                          0x18, 0xC8, 0x81, 0x00, 0x38, 0x8E, 0x04, 0xB5));
  const Bytes8 suites = cipher_suites_request(3, 1);
  EXPECT_EQ(suites[19], 0x54);
  EXPECT_THAT(Bytes8(suites.begin() + 20, suites.begin() + 23), ElementsAre(0x0E, 0x00, 0x81));
  EXPECT_EQ(complement(suites, 17, suites.size()), 0);
}

TEST(IpmiProbe, PongIsParsedStrictly) {
  Bytes8 pong = {0x06, 0x00, 0xFF, 0x06, 0x00, 0x00, 0x11, 0xBE, 0x40, 0x57, 0x00, 0x10, 0x00, 0x00,
                 0x11, 0xBE, 0x00, 0x00, 0x00, 0x00, 0x81, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  EXPECT_TRUE(is_presence_pong(pong, 0x57));
  EXPECT_FALSE(is_presence_pong(pong, 0x58));
  for (const std::size_t at : {0U, 2U, 3U, 7U, 8U, 9U, 11U}) {
    Bytes8 other = pong;
    other[at] ^= 0x01U;
    EXPECT_FALSE(is_presence_pong(other, 0x57)) << at;
  }
  pong[20] = 0x01;  // ASF, but no IPMI
  EXPECT_FALSE(is_presence_pong(pong, 0x57));
  pong.resize(20);
  EXPECT_FALSE(is_presence_pong(pong, 0x57));
}

TEST(IpmiProbe, CapabilitiesAreParsedStrictly) {
  const Bytes8 request = auth_capabilities_request(7);
  // Channel 1; 2.0 data, MD5; anonymous login, null users; IPMI 2.0.
  const Bytes8 data = {0x01, 0x84, 0x03, 0x02, 0, 0, 0, 0};
  const Bytes8 reply = reply_to(request, data);
  const auto capabilities = read_auth_capabilities(reply, 7);
  ASSERT_TRUE(capabilities.has_value());
  EXPECT_TRUE(capabilities->ipmi_2_0);
  EXPECT_TRUE(capabilities->anonymous_login);
  EXPECT_TRUE(capabilities->null_users);
  EXPECT_FALSE(capabilities->no_authentication);
  EXPECT_FALSE(read_auth_capabilities(reply, 8));
  for (std::size_t at = 0; at < reply.size(); ++at) {
    if (at == 1) continue;  // reserved
    Bytes8 other = reply;
    other[at] ^= 0x10U;
    EXPECT_FALSE(read_auth_capabilities(other, 7)) << at;
  }
  for (std::size_t size = 0; size < reply.size(); ++size)
    EXPECT_FALSE(read_auth_capabilities(std::span(reply).first(size), 7)) << size;
  EXPECT_FALSE(read_auth_capabilities(reply_to(request, data, 0xC1), 7));
  EXPECT_FALSE(read_auth_capabilities(reply_to(request, {0x01, 0x84}), 7));
  Bytes8 padded = reply;
  padded.push_back(0);
  EXPECT_TRUE(read_auth_capabilities(padded, 7));
  padded.push_back(0);
  EXPECT_FALSE(read_auth_capabilities(padded, 7));
}

TEST(IpmiProbe, SuitesAreReadFromTheirRecords) {
  // Table 22-18 and table 22-20: suites 0, 3 and 17, and a vendor's (IANA 10876).
  const Bytes8 records = {0xC0, 0x00, 0x00, 0x40, 0x80, 0xC0, 0x11, 0x03, 0x44, 0x81, 0xC1, 0x80,
                          0x7C, 0x2A, 0x00, 0x01, 0x41, 0x81, 0xC0, 0x03, 0x01, 0x41, 0x81};
  EXPECT_THAT(suites_of(records).value_or(std::vector<int>{-1}), ElementsAre(0, 3, 17));
  EXPECT_THAT(suites_of({}).value_or(std::vector<int>{-1}), IsEmpty());
  EXPECT_FALSE(suites_of(Bytes8{0x01}));
  EXPECT_FALSE(suites_of(Bytes8{0xC0}));
  EXPECT_FALSE(suites_of(Bytes8{0xC1, 0x80, 0x7C}));
  EXPECT_FALSE(suites_of(Bytes8{0xC2, 0x01, 0x01}));
}

// A fake BMC port: answers each datagram as scripted, or not at all.
class Responder {
 public:
  explicit Responder(std::function<std::vector<Bytes8>(const Bytes8&)> script) : script_(std::move(script)) {
    handle_ = socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    EXPECT_EQ(bind(handle_, plain, size), 0);
    EXPECT_EQ(getsockname(handle_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  ~Responder() {
    stop_ = true;
    thread_.join();
    close(handle_);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int heard() const { return heard_; }

 private:
  void serve() {
    while (!stop_) {
      pollfd watched{handle_, POLLIN, 0};
      if (poll(&watched, 1, 10) <= 0) continue;
      Bytes8 request(512);
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      auto* plain = reinterpret_cast<sockaddr*>(&from);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
      const ssize_t got = recvfrom(handle_, request.data(), request.size(), 0, plain, &size);
      if (got < 0) continue;
      ++heard_;
      request.resize(static_cast<std::size_t>(got));
      for (const Bytes8& reply : script_(request)) (void)sendto(handle_, reply.data(), reply.size(), 0, plain, size);
    }
  }

  std::function<std::vector<Bytes8>(const Bytes8&)> script_;
  int handle_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> heard_{0};
  std::thread thread_;
};

bool asks(const Bytes8& request, std::uint8_t command) { return request.size() > 19 && request[19] == command; }

TEST(IpmiProbeConcurrent, FullResponsesAreParsed) {
  const Responder bmc([](const Bytes8& request) -> std::vector<Bytes8> {
    if (asks(request, 0x38)) return {reply_to(request, {0x01, 0x84, 0x04, 0x02, 0, 0, 0, 0})};
    if (!asks(request, 0x54)) return {};
    Bytes8 first = {0x01};  // sixteen bytes of records, then the rest
    for (const std::uint8_t suite : Bytes8{0x00, 0x01, 0x02}) {
      const Bytes8 record = {0xC0, suite, 0x01, 0x41, 0x81};
      first.insert(first.end(), record.begin(), record.end());
    }
    first.push_back(0xC0);
    if (request[22] == 0x80) return {{0xFF}, reply_to(request, first)};  // garbage first
    return {reply_to(request, {0x01, 0x11, 0x03, 0x44, 0x81})};
  });
  const Result<IpmiProbe> probe = probe_open_ipmi("127.0.0.1", bmc.port(), milliseconds(500));
  ASSERT_TRUE(probe.ok());
  EXPECT_TRUE(probe->answered);
  EXPECT_EQ(probe->anonymous_login, false);
  EXPECT_THAT(probe->suites, ElementsAre(0, 1, 2, 17));
}

TEST(IpmiProbeConcurrent, PingOnlyResponseIsAnswered) {
  const Responder bmc([](const Bytes8& request) -> std::vector<Bytes8> {
    if (request[3] != 0x06) return {};
    return {{0x06, 0x00, 0xFF, 0x06, 0x00, 0x00, 0x11, 0xBE, 0x40, request[9], 0x00, 0x10, 0x00, 0x00,
             0x11, 0xBE, 0x00, 0x00, 0x00, 0x00, 0x81, 0x00, 0x00, 0x00,       0x00, 0x00, 0x00, 0x00}};
  });
  const Result<IpmiProbe> probe = probe_open_ipmi("127.0.0.1", bmc.port(), milliseconds(50));
  ASSERT_TRUE(probe.ok());
  EXPECT_TRUE(probe->answered);
  EXPECT_THAT(probe->suites, IsEmpty());
}

TEST(IpmiProbeConcurrent, SilenceAndGarbageAreNoResponse) {
  const Responder silent([](const Bytes8&) -> std::vector<Bytes8> { return {}; });
  const Result<IpmiProbe> quiet = probe_open_ipmi("127.0.0.1", silent.port(), milliseconds(30));
  ASSERT_TRUE(quiet.ok());
  EXPECT_FALSE(quiet->answered);
  EXPECT_EQ(silent.heard(), 4);  // two requests, each sent twice
  const Responder rubbish([](const Bytes8& request) -> std::vector<Bytes8> {
    return {request, {}, Bytes8(400, 0xC0)};
  });
  const Result<IpmiProbe> noise = probe_open_ipmi("127.0.0.1", rubbish.port(), milliseconds(30));
  ASSERT_TRUE(noise.ok());
  EXPECT_FALSE(noise->answered);
}

TEST(IpmiProbeConcurrent, EndlessCipherSuiteListIsBounded) {
  const Responder bmc([](const Bytes8& request) -> std::vector<Bytes8> {
    if (asks(request, 0x38)) return {reply_to(request, {0x01, 0x84, 0x04, 0x02, 0, 0, 0, 0})};
    Bytes8 full = {0x01};
    for (int i = 0; i < 4; ++i) full.insert(full.end(), {0xC0, 0x11, 0x03, 0x81});
    return {reply_to(request, full)};
  });
  const Result<IpmiProbe> probe = probe_open_ipmi("127.0.0.1", bmc.port(), milliseconds(500));
  ASSERT_TRUE(probe.ok());
  EXPECT_THAT(probe->suites, ElementsAre(17));
  EXPECT_LE(bmc.heard(), 65);
}

TEST(IpmiProbe, ClosedPortIsNoResponse) {
  std::uint16_t port = 0;
  {
    const Responder gone([](const Bytes8&) -> std::vector<Bytes8> { return {}; });
    port = gone.port();
  }
  const Result<IpmiProbe> probe = probe_open_ipmi("127.0.0.1", port, milliseconds(200));
  ASSERT_TRUE(probe.ok());
  EXPECT_FALSE(probe->answered);
  EXPECT_FALSE(probe_open_ipmi("no such name at all", 623, milliseconds(10)).ok());
}

}  // namespace
}  // namespace weft::oob

// Event streams over real sockets, with a client that sees every byte.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <functional>
#include <string>

#include "base/file_descriptor.h"
#include "bmcsim/event_feed.h"
#include "bmcsim/fleet.h"

namespace weft::bmcsim {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kWaitSeconds = 60;  // far more than anything takes

class SimStreamConcurrentTest : public testing::Test {
 protected:
  void begin(const std::string& fault = {}, Duration keep_alive = milliseconds(600'000)) {
    SimOptions options;
    options.tls = false;
    options.keep_alive = keep_alive;
    if (!fault.empty()) options.faults = parse_fault(fault).value();
    Result<std::unique_ptr<SimFleet>> made = SimFleet::make({{.name = "n0", .gpus = 8}}, std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().text();
    fleet_ = std::move(made).value();
    ASSERT_TRUE(fleet_->start().ok());
  }

  [[nodiscard]] FileDescriptor dial(int receive_buffer = 0) const {
    FileDescriptor client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0) ::setsockopt(client.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    const timeval limit{kWaitSeconds, 0};
    ::setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(fleet_->port());
    ::inet_pton(AF_INET, fleet_->address(0).c_str(), &address.sin_addr);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the system call takes it so
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return client;
  }
  static void say(const FileDescriptor& client, const std::string& text) {
    EXPECT_EQ(write_all(client.get(), text).error, 0);
  }
  // What arrives until it holds, the connection ends, or the limit passes.
  static std::string read_until(const FileDescriptor& client, const std::function<bool(const std::string&)>& holds,
                                std::size_t step = 65536) {
    std::string all;
    std::array<char, 65536> bytes{};
    while (!holds(all)) {
      const ssize_t got = ::recv(client.get(), bytes.data(), step, 0);
      if (got <= 0) break;
      all.append(bytes.data(), static_cast<std::size_t>(got));
    }
    return all;
  }
  static std::string read_until(const FileDescriptor& client, const std::string& text) {
    return read_until(client, [&](const std::string& all) { return all.find(text) != std::string::npos; });
  }
  // Events may follow it at once.
  static std::string read_head(const FileDescriptor& client) {
    return read_until(
        client, [](const std::string& all) { return all.ends_with("\r\n\r\n"); }, 1);
  }
  static std::string read_to_end(const FileDescriptor& client) {
    return read_until(client, [](const std::string&) { return false; });
  }
  static std::string request(const std::string& method, const std::string& more = {},
                             const std::string& version = "HTTP/1.1") {
    return fmt::format("{} /redfish/v1/EventService/SSE {}\r\nHost: n0\r\nAuthorization: Basic {}\r\n{}\r\n", method,
                       version, "YWRtaW46d2VmdC1zaW11bGF0ZWQ=", more);  // admin:weft-simulated
  }
  [[nodiscard]] FileDescriptor listen(const std::string& more = {}) const {
    FileDescriptor client = dial();
    say(client, request("GET", more));
    EXPECT_THAT(read_head(client), StartsWith("HTTP/1.1 200 OK"));
    return client;
  }
  // The machine is off; each call adds the event that its power was turned off.
  void happen() {
    fleet_->set_power(0, true);
    fleet_->set_power(0, false);
  }
  // The text of all chunks; without the last one if there is no end.
  static std::string unchunk(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
      std::size_t size = 0;
      const std::size_t line = bytes.find("\r\n");
      const std::from_chars_result read =
          std::from_chars(bytes.data(), bytes.data() + std::min(line, bytes.size()), size, 16);
      if (line == std::string_view::npos || read.ec != std::errc() || bytes.size() < line + 4 + size) break;
      text += bytes.substr(line + 2, size);
      EXPECT_EQ(bytes.substr(line + 2 + size, 2), "\r\n");
      bytes.remove_prefix(line + 4 + size);
    }
    return text;
  }

  std::unique_ptr<SimFleet> fleet_;
};

TEST_F(SimStreamConcurrentTest, EventsAreSentAsTheyHappen) {
  begin();
  const FileDescriptor client = dial();
  say(client, request("GET"));
  const std::string head = read_head(client);
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(head, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  fleet_->set_power(0, false);
  const std::string event = unchunk(read_until(client, "\n\n"));
  EXPECT_THAT(event, StartsWith("id: 2\ndata: {"));
  EXPECT_THAT(event, HasSubstr("Power turned off"));
  EXPECT_THAT(event, EndsWith("}\n\n"));
  // What takes time in the BMC is sent when it happened, without a request.
  fleet_->set_power(0, true);
  EXPECT_THAT(unchunk(read_until(client, "\n\n")), HasSubstr("Power turned on"));
  EXPECT_EQ(fleet_->counters(0).streams, 1U);
  EXPECT_EQ(fleet_->counters(0).in_flight, 0U);
}

TEST_F(SimStreamConcurrentTest, CommentsKeepItAlive) {
  begin({}, milliseconds(5));
  const FileDescriptor client = listen();
  EXPECT_THAT(unchunk(read_until(client, ": keep-alive\n\n\r\n")), HasSubstr(": keep-alive\n\n"));
}

TEST_F(SimStreamConcurrentTest, ItEndsWithTheSimulator) {
  begin();
  const FileDescriptor client = listen();
  fleet_->stop();
  EXPECT_EQ(read_to_end(client), "0\r\n\r\n");
}

TEST_F(SimStreamConcurrentTest, ItEndsWhenTheBmcRestarts) {
  begin();
  const FileDescriptor client = listen();
  fleet_->restart_bmc(0);
  EXPECT_EQ(read_to_end(client), "0\r\n\r\n");
  const FileDescriptor again = listen("Last-Event-ID: 1\r\n");
  EXPECT_THAT(unchunk(read_until(again, "\n\n")), HasSubstr("BMC started"));
}

TEST_F(SimStreamConcurrentTest, WithoutChunksForAnOldClient) {
  begin();
  const FileDescriptor client = dial();
  say(client, request("GET", {}, "HTTP/1.0"));
  EXPECT_THAT(read_head(client), Not(HasSubstr("chunked")));
  fleet_->set_power(0, false);
  EXPECT_THAT(read_until(client, "\n\n"), StartsWith("id: 2\n"));
}

// Its own memory is one event, and the buffer of the BMC is bounded. Others are served meanwhile.
TEST_F(SimStreamConcurrentTest, AClientThatNeverReads) {
  begin();
  const FileDescriptor client = dial(4096);
  say(client, request("GET"));
  const FileDescriptor other = listen();
  // More than the kernel buffers.
  constexpr int kEvents = 12'000;
  for (int i = 0; i < kEvents; ++i) happen();
  const FileDescriptor third = listen(fmt::format("Last-Event-ID: {}\r\n", kEvents));
  EXPECT_THAT(unchunk(read_until(third, "\n\n")), HasSubstr(fmt::format("id: {}\n", kEvents + 1)));
  const std::string last = fmt::format("id: {}\n", kEvents + 1);
  const std::string all = read_until(client, last);
  EXPECT_THAT(all, HasSubstr("EventBufferExceeded"));
  EXPECT_THAT(all, HasSubstr(last));
}

TEST_F(SimStreamConcurrentTest, HostileClients) {
  begin();
  const auto answer = [&](const std::string& text) {
    const FileDescriptor client = dial();
    say(client, text);
    return read_until(client, "\r\n");
  };
  EXPECT_THAT(answer(request("GET", "Last-Event-ID: " + std::string(20'000, '1') + "\r\n")), HasSubstr(" 431 "));
  EXPECT_THAT(answer(request("POST", "Content-Length: 0\r\n")), HasSubstr(" 405 "));
  EXPECT_THAT(answer(request("HEAD")), HasSubstr(" 405 "));
  const FileDescriptor bad = listen("Last-Event-ID: \x80\xff\r\n");
  EXPECT_THAT(unchunk(read_until(bad, "\n\n")), HasSubstr("EventBufferExceeded"));
  // A flood on the stream's connection is ignored.
  const FileDescriptor flood = listen();
  say(flood, std::string(300'000, 'x'));
  fleet_->set_power(0, false);
  EXPECT_THAT(unchunk(read_until(flood, "\n\n")), HasSubstr("Power turned off"));
}

TEST_F(SimStreamConcurrentTest, ClosedStreamsMakeSpace) {
  begin();
  std::vector<FileDescriptor> clients;
  clients.reserve(kMaxSubscriptions);
  for (std::size_t i = 0; i < kMaxSubscriptions; ++i) clients.push_back(listen());
  const auto answer = [&] {
    const FileDescriptor client = dial();
    say(client, request("GET"));
    return read_until(client, "\r\n\r\n");
  };
  EXPECT_THAT(answer(), HasSubstr(" 503 "));
  clients.pop_back();
  std::string said;
  for (int i = 0; i < 6'000 && said.find(" 200 ") == std::string::npos; ++i) said = answer();
  EXPECT_THAT(said, HasSubstr(" 200 "));
}

TEST_F(SimStreamConcurrentTest, DroppedWithoutTheLastChunk) {
  begin("n0=stream_drops:1");
  const FileDescriptor client = listen();
  fleet_->set_power(0, false);
  const std::string text = read_to_end(client);
  EXPECT_THAT(unchunk(text), StartsWith("id: 2\n"));
  EXPECT_THAT(text, Not(EndsWith("0\r\n\r\n")));
}

}  // namespace
}  // namespace weft::bmcsim

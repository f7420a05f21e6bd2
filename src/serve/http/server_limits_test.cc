// Limits of the HTTP server under abuse: large, slow and stalled clients, too many connections, no file descriptors.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/test_prerequisites.h"
#include "serve/http/test_socket.h"

namespace weft::serve {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class HttpLimitsTest : public ServerTest {};

// Restores the limit on file descriptors.
class DescriptorLimit {
 public:
  DescriptorLimit() { (void)::getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorLimit() { (void)::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  static bool set(rlim_t count) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < count) return false;
    limit.rlim_cur = count;
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
  }
  [[nodiscard]] rlim_t allowed() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

std::size_t resident_bytes() {
  std::size_t pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    if (std::fscanf(file, "%*u %zu", &pages) != 1) pages = 0;  // NOLINT(cert-err34-c): the kernel wrote it
    (void)std::fclose(file);
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST_F(HttpLimitsTest, AnswersALargeContentLengthAtOnce) {
  start();
  const auto client = connect();
  client->send_all("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return client->is_closed(); })) << "no byte of the body was sent";
  EXPECT_THAT(client->received(),
              StartsWith("HTTP/1.1 413 Content Too Large\r\nContent-Type: application/problem+json"));
  EXPECT_THAT(client->received(), HasSubstr("Connection: close"));
  EXPECT_THAT(client->received(), HasSubstr("more than 8388608 bytes"));
}

// 100 MB in chunks whose total is not announced: neither buffered, nor in the way of others.
TEST_F(HttpLimitsTest, ALargeChunkedBodyIsCutOff) {
  start();
  const std::string chunk = fmt::format("{:x}\r\n{}\r\n", 1'000'000, std::string(1'000'000, 'x'));
  const auto client = connect();
  client->send_all("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  const std::size_t before = resident_bytes();
  std::size_t sent = 0;
  bool open = true;
  while (open && sent < 100) {
    std::string_view left = chunk;
    ASSERT_TRUE(run_until([&] { return !(open = client->send(left)) || left.empty(); }));
    ++sent;
    if (sent == 5) {
      EXPECT_THAT(talk(get("/other")), EndsWith("GET /other "));
    }
  }
  EXPECT_FALSE(open);
  EXPECT_LT(sent, 12U);
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_THAT(client->received(), StartsWith("HTTP/1.1 413"));
  EXPECT_LT(resident_bytes(), before + (std::size_t{64} << 20U));
  EXPECT_EQ(server_->counters().requests, 1U) << "of the other client";
}

TEST_F(HttpLimitsTest, AcceptsABodyOfExactlyTheLimit) {
  start();
  const std::string body(options_.limits.body_bytes, 'x');
  EXPECT_THAT(talk(fmt::format("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{}", body.size(), body)),
              StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(last_request_.body.size(), body.size());
}

TEST_F(HttpLimitsTest, LimitsTheBodiesOfAllConnections) {
  options_.max_total_body_bytes = 1000;
  start();
  const std::string head = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 700\r\n\r\n";
  const auto first = connect();
  const auto second = connect();
  first->send_all(head + std::string(600, 'x'));
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 2; }));
  for (int i = 0; i < 5; ++i) (void)server_->run_once(milliseconds(5));
  second->send_all(head + std::string(600, 'x'));
  ASSERT_TRUE(run_until([&] { return second->is_closed(); }));
  EXPECT_THAT(second->received(), StartsWith("HTTP/1.1 503"));
  first->send_all(std::string(100, 'x'));
  ASSERT_TRUE(run_until([&] { return first->has("HTTP/1.1 200"); }));
  EXPECT_THAT(talk(head + std::string(700, 'x')), StartsWith("HTTP/1.1 200")) << "released again";
}

TEST_F(HttpLimitsTest, LimitsHeaders) {
  start();
  EXPECT_THAT(talk(get("/", "A: " + std::string(20'000, 'a') + "\r\n")), StartsWith("HTTP/1.1 431 "));
}

TEST_F(HttpLimitsTest, ASlowRequestTimesOut) {
  options_.request_deadline = milliseconds(50);
  start();
  const auto client = connect();
  const std::string request =
      "POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + std::string(90'000, 'x');
  std::size_t at = 0;
  ASSERT_TRUE(run_until([&] {
    if (at < request.size()) {  // progress does not move the deadline
      std::string_view next = std::string_view(request).substr(at, 1);
      if (client->send(next)) ++at;
    }
    return client->is_closed();
  }));
  EXPECT_THAT(client->received(), StartsWith("HTTP/1.1 408 Request Timeout\r\n"));
  EXPECT_EQ(server_->counters().requests, 0U);
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a "));
}

TEST_F(HttpLimitsTest, AnIdleConnectionIsClosed) {
  options_.idle_limit = milliseconds(20);
  start();
  const auto silent = connect();
  const auto client = connect();
  client->send_all(get("/a"));
  ASSERT_TRUE(run_until([&] { return client->is_closed() && silent->is_closed(); }));
  EXPECT_THAT(client->received(), EndsWith("GET /a ")) << "no 408 between requests";
  EXPECT_EQ(silent->received(), "");
}

TEST_F(HttpLimitsTest, TheHandlerMayTakeLongerThanTheRequest) {
  options_.request_deadline = milliseconds(1);
  handler_ = [&](const HttpRequest&, const Responder& responder) {
    (void)server_->run_after(milliseconds(50), [responder] { responder.respond({200, "text/plain", "late", {}}); });
  };
  start();
  EXPECT_THAT(talk(get("/a", "Connection: close\r\n")), EndsWith("late"));
}

TEST_F(HttpLimitsTest, AStalledReaderIsClosed) {
  options_.response_deadline = milliseconds(50);
  handler_ = [](const HttpRequest&, const Responder& responder) {
    responder.respond({200, "text/plain", std::string(std::size_t{32} << 20U, 'x'), {}});
  };
  start();
  const auto client = connect();
  client->send_all(get("/a"));
  ASSERT_TRUE(run_until([&] { return server_->counters().requests == 1; }));
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 0; }));
  EXPECT_TRUE(client->is_closed());
  EXPECT_LT(client->received().size(), std::size_t{32} << 20U);
}

TEST_F(HttpLimitsTest, LimitsConnections) {
  options_.max_connections = 3;
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(3);
  for (int i = 0; i < 3; ++i) clients.push_back(connect());
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 3; }));
  for (int i = 0; i < 5; ++i) {
    const std::string reply = talk("");
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    EXPECT_THAT(reply, HasSubstr("the server has too many connections"));
    EXPECT_THAT(reply, HasSubstr("Retry-After: 1"));
  }
  EXPECT_EQ(server_->counters().refused, 5U);
  clients.front()->send_all(get("/a"));
  ASSERT_TRUE(run_until([&] { return clients.front()->has("GET /a"); }));
  clients.pop_back();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 2; }));
  EXPECT_THAT(talk(get("/b")), EndsWith("GET /b "));
}

TEST_F(HttpLimitsTest, LimitsConnectionsPerUser) {
  options_.max_connections_per_uid = 2;
  start();
  const auto first = connect();
  auto second = connect();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 2; }));
  EXPECT_THAT(talk(""), HasSubstr("this user has too many connections"));
  second.reset();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 1; }));
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a "));
}

TEST_F(HttpLimitsTest, AThousandIdleConnectionsDoNotMatter) {
  const DescriptorLimit limit;
  WEFT_NEEDS(limit.allowed() >= 4096, "4096 file descriptors");
  ASSERT_TRUE(DescriptorLimit::set(4096));
  options_.max_connections_per_uid = 1024;
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(connect());
    if (i % 2 == 0) clients.back()->send_all("GET /half");
  }
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 1000; }));
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a "));
  clients[1]->send_all(get("/b"));
  ASSERT_TRUE(run_until([&] { return clients[1]->has("GET /b"); }));
  clients.clear();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 0; }));
}

TEST_F(HttpLimitsTest, WaitsForFileDescriptors) {
  options_.accept_retry = milliseconds(20);
  start();
  const auto client = connect();
  const DescriptorLimit limit;
  // Every descriptor below the highest one is taken, and no higher one is allowed.
  std::vector<FileDescriptor> taken;
  for (;;) {
    FileDescriptor copy(::dup(client->descriptor()));
    ASSERT_TRUE(copy.ok());
    const int number = copy.get();
    taken.push_back(std::move(copy));
    if (taken.size() > 1 && taken[taken.size() - 2].get() == number - 1) {
      ASSERT_TRUE(DescriptorLimit::set(static_cast<rlim_t>(number) + 1));
      const FileDescriptor none(::dup(client->descriptor()));
      if (!none.ok()) break;
    }
  }
  client->send_all(get("/a"));
  ASSERT_TRUE(run_until([&] { return server_->counters().accept_retries >= 2; }));
  const std::uint64_t before = server_->counters().accept_retries;
  server_->run_for(milliseconds(200));
  EXPECT_LE(server_->counters().accept_retries, before + 11) << "one attempt per retry interval, no busy loop";
  EXPECT_EQ(server_->counters().accepted, 0U);
  taken.clear();
  ASSERT_TRUE(run_until([&] { return client->has("GET /a"); }));
}

}  // namespace
}  // namespace weft::serve

// The HTTP client against the real server, and against servers that fail in every way.
#include "serve/http/client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "serve/http/test_socket.h"

namespace weft::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string repeat(char c, std::size_t count) { return std::string(count, c); }

// A server that accepts one connection, reads until it has seen `expected`, writes `reply` and closes.
class BrokenServer {
 public:
  BrokenServer(const std::string& path, std::string expected, std::string reply) {
    Result<UnixListener> listener = listen_unix(path, 0600);
    if (!listener.ok()) return;
    thread_ = std::thread([listener = std::make_shared<UnixListener>(std::move(*listener)),
                           expected = std::move(expected), reply = std::move(reply)] {
      if (wait_until_ready(listener->socket.get(), POLLIN, test_deadline()) != 0) return;
      const FileDescriptor client(::accept4(listener->socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string seen;
      std::array<char, 4096> buffer{};
      while (seen.find(expected) == std::string::npos) {
        const ssize_t count = ::recv(client.get(), buffer.data(), buffer.size(), 0);
        if (count <= 0) return;
        seen.append(buffer.data(), static_cast<std::size_t>(count));
      }
      (void)::send(client.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
    });
  }
  ~BrokenServer() {
    if (thread_.joinable()) thread_.join();
  }
  BrokenServer(const BrokenServer&) = delete;
  BrokenServer& operator=(const BrokenServer&) = delete;

 private:
  std::thread thread_;
};

class HttpClientTest : public testing::Test {
 protected:
  [[nodiscard]] ClientRequest post(std::string body = "{}") const {
    ClientRequest request;
    request.endpoint = Endpoint::unix_socket(folder_.file("s"));
    request.method = "POST";
    request.target = "/v1/jobs";
    request.body = std::move(body);
    return request;
  }
  // The error of a POST to a server that answers with these bytes and closes.
  [[nodiscard]] Error error_after(const std::string& reply) const {
    const BrokenServer server(folder_.file("s"), "\r\n\r\n{}", reply);
    const Result<HttpResponse> response = send_request(post());
    EXPECT_FALSE(response.ok()) << reply;
    return response.ok() ? Error{} : response.error();
  }

  TestFolder folder_;
};

TEST_F(HttpClientTest, NobodyListens) {
  const Result<HttpResponse> response = send_request(post());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::unavailable);
  EXPECT_EQ(response.error().text(),
            fmt::format("no weft serve is listening on {} (start it with: weft serve CLUSTER)", folder_.file("s")));
}

TEST_F(HttpClientTest, PermissionDenied) {
  const Result<UnixListener> listener = listen_unix(folder_.file("s"), 0);
  ASSERT_TRUE(listener.ok());
  const bool is_root = ::geteuid() == 0;
  if (is_root) {
    ASSERT_EQ(::seteuid(65534), 0) << "root may use any socket";
  }
  const Result<HttpResponse> response = send_request(post());
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::refused);
  EXPECT_THAT(response.error().text(), HasSubstr("permission denied"));
}

TEST_F(HttpClientTest, ConcurrentServerClosesInMidResponse) {
  for (const char* reply : {"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"}) {
    const Error error = error_after(reply);
    EXPECT_EQ(error.code, ErrorCode::internal);
    EXPECT_THAT(error.text(), HasSubstr("the connection closed before the response was complete"));
    EXPECT_THAT(error.text(), HasSubstr("the request may have been executed"));
  }
}

TEST_F(HttpClientTest, ConcurrentInvalidResponses) {
  for (const char* reply : {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    EXPECT_THAT(error_after(reply).text(), HasSubstr("invalid response"));
  }
  const BrokenServer server(folder_.file("s"), "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  ClientRequest request = post();
  request.method = "GET";
  request.max_response_bytes = 999;
  const Result<HttpResponse> response = send_request(request);
  ASSERT_FALSE(response.ok());
  EXPECT_THAT(response.error().text(), HasSubstr("more than 999 bytes"));
  EXPECT_THAT(response.error().text(), Not(HasSubstr("executed"))) << "a GET changes nothing";
}

TEST_F(HttpClientTest, TimesOutOnASilentServer) {
  const Result<UnixListener> listener = listen_unix(folder_.file("s"), 0600);
  ASSERT_TRUE(listener.ok());
  ClientRequest request = post();
  request.timeout = milliseconds(30);
  const Result<HttpResponse> response = send_request(request);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::timeout);
  EXPECT_THAT(response.error().text(), HasSubstr("may have been executed"));
  request.body = repeat('x', 10'000'000);
  const Result<HttpResponse> large = send_request(request);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::timeout);
  EXPECT_THAT(large.error().text(), Not(HasSubstr("executed"))) << "it never had the whole request";
  EXPECT_EQ(follow_events({Endpoint::unix_socket(folder_.file("s")), "/", {}, milliseconds(30), milliseconds(30)},
                          [](const ServerEvent&) { return true; })
                .error()
                .code,
            ErrorCode::timeout);
}

TEST_F(HttpClientTest, ConcurrentServerClosesBeforeTheRequestIsSent) {
  const BrokenServer server(folder_.file("s"), "POST", "");
  const Result<HttpResponse> response = send_request(post(repeat('x', 10'000'000)));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::unavailable);
  EXPECT_THAT(response.error().text(), Not(HasSubstr("executed")));
}

// The server in a thread of its own.
class HttpClientServerTest : public ServerTest {
 protected:
  ~HttpClientServerTest() override {
    if (!loop_.joinable()) return;
    server_->post([this] { server_->interrupt(); });
    loop_.join();
  }
  void start_loop() {
    start();
    loop_ = std::thread([this] { server_->run_for(milliseconds(600'000)); });
  }
  [[nodiscard]] ClientRequest request(std::string method, std::string target, std::string body = {}) const {
    ClientRequest out;
    out.endpoint = Endpoint::unix_socket(options_.socket_path);
    out.method = std::move(method);
    out.target = std::move(target);
    out.body = std::move(body);
    return out;
  }

  std::thread loop_;
};

TEST_F(HttpClientServerTest, ConcurrentRequests) {
  start_loop();
  const Result<HttpResponse> get = send_request(request("GET", format_target({"/a b", {{"x", "y"}}})));
  ASSERT_TRUE(get.ok()) << get.error().text();
  EXPECT_EQ(get->status, 200);
  EXPECT_EQ(get->content_type, "text/plain");
  EXPECT_EQ(get->body, "GET /a b ");
  const Result<HttpResponse> head = send_request(request("HEAD", "/a"));
  ASSERT_TRUE(head.ok()) << head.error().text();
  EXPECT_EQ(head->body, "");
  const Result<HttpResponse> large = send_request(request("POST", "/a", repeat('x', 5'000'000)));
  ASSERT_TRUE(large.ok()) << large.error().text();
  EXPECT_EQ(large->body.size(), 5'000'000U + 8);
  const Result<HttpResponse> invalid = send_request(request("GET", "/../a"));
  ASSERT_TRUE(invalid.ok()) << invalid.error().text();
  EXPECT_EQ(invalid->status, 400);
  EXPECT_THAT(problem_to_error(*invalid).text(), HasSubstr("`..` segment"));
}

TEST_F(HttpClientServerTest, ConcurrentBodyOverTheLimit) {
  start_loop();
  const Result<HttpResponse> response = send_request(request("POST", "/a", repeat('x', 100'000'000)));
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->status, 413);
}

TEST_F(HttpClientServerTest, ConcurrentHeadersArrive) {
  handler_ = [](const HttpRequest& request, const Responder& responder) {
    responder.respond({201, "text/plain", request.idempotency_key + request.content_type, {{"Location", "/v1/x"}}});
  };
  start_loop();
  ClientRequest post = request("POST", "/a", "{}");
  post.headers.emplace_back("Idempotency-Key", "k7 ");
  const Result<HttpResponse> response = send_request(post);
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->body, "k7application/json");
  ASSERT_NE(response->find_header("location"), nullptr);
  EXPECT_EQ(*response->find_header("location"), "/v1/x");
}

TEST_F(HttpClientServerTest, ConcurrentEvents) {
  options_.heartbeat_interval = milliseconds(5);
  handler_ = [this](const HttpRequest& request, const Responder& responder) {
    if (request.path != "/events") return responder.respond(problem(404, "no such stream"));
    EventStream stream = responder.open_stream();
    const std::uint64_t first = request.last_event_id.value_or(0) + 1;
    (void)stream.send(first, "job", "a\nb");
    (void)server_->run_after(milliseconds(20), [stream, first]() mutable {
      (void)stream.send(first + 1, "", "late");
      stream.close();
    });
  };
  start_loop();
  std::vector<ServerEvent> events;
  FollowRequest follow{Endpoint::unix_socket(options_.socket_path), "/events", 41, milliseconds(60'000),
                       milliseconds(60'000)};
  const Result<StreamEnd> end = follow_events(follow, [&](const ServerEvent& event) {
    events.push_back(event);
    return true;
  });
  ASSERT_TRUE(end.ok()) << end.error().text();
  EXPECT_EQ(*end, StreamEnd::server);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].id, 42U);
  EXPECT_EQ(events[0].name, "job");
  EXPECT_EQ(events[0].data, "a\nb");
  EXPECT_EQ(events[1].id, 43U);

  const Result<StreamEnd> stopped = follow_events(follow, [](const ServerEvent&) { return false; });
  ASSERT_TRUE(stopped.ok()) << stopped.error().text();
  EXPECT_EQ(*stopped, StreamEnd::callback);
  follow.target = "/none";
  const Result<StreamEnd> missing = follow_events(follow, [](const ServerEvent&) { return true; });
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message, "no such stream");
}

TEST_F(HttpClientTest, ConcurrentBrokenStream) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  const FollowRequest follow{
      Endpoint::unix_socket(folder_.file("s")), "/", {}, milliseconds(60'000), milliseconds(60'000)};
  std::uint64_t last = 0;
  const EventCallback callback = [&](const ServerEvent& event) {
    last = event.id;
    return true;
  };
  {
    const BrokenServer server(folder_.file("s"), "\r\n\r\n", head + "f\r\nid: 8\ndata: c\n\n\r\n5\r\nid");
    const Result<StreamEnd> end = follow_events(follow, callback);
    ASSERT_FALSE(end.ok());
    EXPECT_EQ(end.error().code, ErrorCode::unavailable) << "follow again, from the last event";
    EXPECT_EQ(last, 8U);
  }
  {
    const BrokenServer server(folder_.file("s"), "\r\n\r\n", head + "x\r\n");
    EXPECT_EQ(follow_events(follow, callback).error().code, ErrorCode::internal);
  }
  const BrokenServer server(folder_.file("s"), "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_THAT(follow_events(follow, callback).error().text(), HasSubstr("not a stream of events"));
}

}  // namespace
}  // namespace weft::serve

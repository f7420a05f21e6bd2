// The HTTP server over real sockets, in the test's thread: requests, framing, deferred responses, stopping, timers and
// signals. Limits and abuse are in server_limits_test.cc, streams in server_stream_test.cc.
#include "serve/http/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <thread>

#include "serve/http/client.h"
#include "serve/http/test_socket.h"

namespace weft::serve {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

class HttpServerTest : public ServerTest {};

TEST_F(HttpServerTest, AnswersWithTheCallersIdentity) {
  start();
  const std::string reply = talk("POST /v1/a%20b?x=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 15\r\n"));
  EXPECT_THAT(reply, EndsWith("\r\n\r\nPOST /v1/a b hi"));
  EXPECT_EQ(last_request_.peer.uid, ::getuid());
  EXPECT_EQ(last_request_.peer.gid, ::getgid());
  EXPECT_EQ(last_request_.peer.pid, ::getpid());
}

TEST_F(HttpServerTest, KeepsConnectionsAlive) {
  start();
  const auto client = connect();
  for (int i = 0; i < 3; ++i) {
    client->send_all(get(fmt::format("/{}", i)));
    ASSERT_TRUE(run_until([&] { return client->has(fmt::format("GET /{} ", i)); }));
    EXPECT_FALSE(client->is_closed());
  }
  client->send_all(get("/last", "Connection: close\r\n"));
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_THAT(client->received(), HasSubstr("Connection: close"));
  EXPECT_EQ(server_->counters().accepted, 1U);
  EXPECT_EQ(server_->counters().requests, 4U);
}

TEST_F(HttpServerTest, HandlesPipelinedRequestsInOrder) {
  std::vector<Responder> waiting;
  handler_ = [&](const HttpRequest&, const Responder& responder) { waiting.push_back(responder); };
  start();
  const auto client = connect();
  client->send_all(get("/1") + get("/2") + get("/3"));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(run_until([&] { return waiting.size() == i + 1; }));
    for (int turn = 0; turn < 5; ++turn) server_->poll();
    EXPECT_EQ(waiting.size(), i + 1) << "one at a time";
    EXPECT_EQ(last_request_.path, fmt::format("/{}", i + 1));
    waiting[i].respond({200, "text/plain", fmt::format("reply {}", i), {}});
  }
  ASSERT_TRUE(run_until([&] { return client->has("reply 2"); }));
  EXPECT_LT(client->received().find("reply 0"), client->received().find("reply 1"));
}

TEST_F(HttpServerTest, ToleratesHttp10) {
  start();
  const auto client = connect();
  client->send_all("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return client->has("GET /a"); }));
  EXPECT_THAT(client->received(), HasSubstr("Connection: keep-alive"));
  client->send_all("GET /b HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_TRUE(client->has("GET /b"));
}

TEST_F(HttpServerTest, AnswersHeadWithoutABody) {
  start();
  const auto client = connect();
  client->send_all("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n" + get("/b"));
  ASSERT_TRUE(run_until([&] { return client->has("GET /b"); }));
  EXPECT_THAT(client->received(), HasSubstr("nosniff\r\n\r\nHTTP/1.1 200 OK"));
}

TEST_F(HttpServerTest, AnswersOptionsForTheWholeServer) {
  start();
  EXPECT_THAT(
      talk("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
      StartsWith(
          "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nAllow: GET"));
  EXPECT_THAT(talk("OPTIONS /v1 HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("OPTIONS /v1 ")) << "the handler's";
  EXPECT_THAT(talk("BREW /v1 HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("BREW /v1 "));
}

TEST_F(HttpServerTest, SaysContinueToThoseWhoWait) {
  start();
  const auto client = connect();
  client->send_all("PUT /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return client->has("HTTP/1.1 100 Continue\r\n\r\n"); }));
  client->send_all("abc");
  ASSERT_TRUE(run_until([&] { return client->has("PUT /a abc"); }));
}

TEST_F(HttpServerTest, RejectsMalformedRequests) {
  start();
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("GET\r\n\r\n"), std::string(100, '\0'), std::string("\x16\x03\x01\x02\n"),
        get("/../etc/passwd"), get("/a/%2e%2e/b"), get("//a"), get("/%00"), get("/a%2fb"), get("http://a@x/a"),
        get("/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), get("/", "Bad Header: x\r\n")}) {
    const std::string reply = talk(bytes);
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 400 Bad Request\r\nContent-Type: application/problem+json\r\n")) << bytes;
    EXPECT_THAT(reply, HasSubstr("Connection: close"));
    EXPECT_THAT(reply, HasSubstr(R"("status": 400)"));
  }
  EXPECT_EQ(server_->counters().rejected, 12U);
  EXPECT_EQ(server_->counters().requests, 0U);
  EXPECT_EQ(server_->counters().connections, 0U);
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a "));
}

TEST_F(HttpServerTest, DefersResponses) {
  std::optional<Responder> waiting;
  handler_ = [&](const HttpRequest&, const Responder& responder) { waiting = responder; };
  start();
  const auto client = connect();
  client->send_all(get("/a"));
  client->half_close();  // it has nothing more to say, but reads the response
  ASSERT_TRUE(run_until([&] { return waiting.has_value(); }));
  const auto other = connect();
  other->send_all("GET / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return other->has("400"); })) << "others are served";
  EXPECT_FALSE(waiting->is_gone());
  EXPECT_FALSE(client->has("HTTP"));
  waiting->respond({202, "application/json", "{}", {{"Location", "/v1/jobs/1"}}});
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_THAT(client->received(), StartsWith("HTTP/1.1 202 Accepted\r\n"));
  EXPECT_THAT(client->received(), HasSubstr("Location: /v1/jobs/1\r\n"));
}

TEST_F(HttpServerTest, NoticesAClientThatWentAway) {
  std::optional<Responder> waiting;
  handler_ = [&](const HttpRequest&, const Responder& responder) { waiting = responder; };
  start();
  auto client = connect();
  client->send_all(get("/a") + "pipelined garbage");
  ASSERT_TRUE(run_until([&] { return waiting.has_value(); }));
  EXPECT_FALSE(waiting->is_gone());
  client.reset();
  ASSERT_TRUE(run_until([&] { return waiting->is_gone(); }));
  EXPECT_EQ(server_->counters().connections, 0U);
  waiting->respond({});
  waiting.reset();
  server_->poll();
}

TEST_F(HttpServerTest, ExecutesARequestWhoseClientDoesNotWait) {
  start();
  {
    const auto client = connect();
    client->send_all("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx");
  }
  ASSERT_TRUE(run_until([&] { return server_->counters().requests == 1; }));
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 0; }));
}

TEST_F(HttpServerTest, ADroppedResponderIsAnInternalError) {
  handler_ = [](const HttpRequest&, const Responder&) {};
  start();
  EXPECT_THAT(talk(get("/a")), StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
}

TEST_F(HttpServerTest, RespondersOutliveTheServer) {
  std::optional<Responder> waiting;
  EventStream stream;
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    if (request.path == "/stream") {
      stream = responder.open_stream();
    } else {
      waiting = responder;
    }
  };
  start();
  const auto client = connect();
  const auto follower = connect();
  client->send_all(get("/a"));
  follower->send_all(get("/stream"));
  ASSERT_TRUE(run_until([&] { return waiting.has_value() && stream.is_open(); }));
  server_->post([responder = *waiting] { FAIL() << "never runs"; });
  server_.reset();
  EXPECT_TRUE(waiting->is_gone());
  waiting->respond({});
  EXPECT_FALSE(stream.send(1, "a", "b"));
  EXPECT_FALSE(stream.is_open());
  EXPECT_TRUE(client->is_closed());
  EXPECT_NE(::access(options_.socket_path.c_str(), F_OK), 0) << "the socket file is removed";
}

TEST_F(HttpServerTest, StopFinishesWhatWasAccepted) {
  std::optional<Responder> waiting;
  EventStream stream;
  handler_ = [&](const HttpRequest& request, const Responder& responder) {
    if (request.path == "/stream") {
      stream = responder.open_stream();
    } else {
      waiting = responder;
    }
  };
  start();
  const auto idle = connect();
  const auto partial = connect();
  const auto busy = connect();
  const auto follower = connect();
  partial->send_all("GET /part");
  busy->send_all(get("/busy"));
  follower->send_all(get("/stream"));
  ASSERT_TRUE(run_until([&] { return waiting.has_value() && stream.is_open(); }));
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 4; }));
  server_->stop();
  EXPECT_NE(::access(options_.socket_path.c_str(), F_OK), 0);
  EXPECT_FALSE(server_->is_stopped());
  EXPECT_FALSE(stream.send(1, "late", ""));
  ASSERT_TRUE(run_until([&] { return idle->is_closed() && partial->is_closed() && follower->is_closed(); }));
  EXPECT_EQ(idle->received(), "");
  EXPECT_THAT(partial->received(), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(follower->received(), EndsWith("\r\n0\r\n\r\n")) << "a stream ends in good order";
  waiting->respond({200, "text/plain", "done", {}});
  ASSERT_TRUE(run_until([&] { return server_->is_stopped(); }));
  EXPECT_TRUE(busy->is_closed());
  EXPECT_THAT(busy->received(), EndsWith("done"));
  EXPECT_THAT(busy->received(), HasSubstr("Connection: close"));
}

TEST_F(HttpServerTest, StopDoesNotWaitForever) {
  std::optional<Responder> waiting;
  handler_ = [&](const HttpRequest&, const Responder& responder) { waiting = responder; };
  options_.stop_deadline = milliseconds(20);
  start();
  const auto client = connect();
  client->send_all(get("/a"));
  ASSERT_TRUE(run_until([&] { return waiting.has_value(); }));
  server_->stop();
  server_->stop();
  while (!server_->is_stopped()) server_->run_for(milliseconds(60'000));
  EXPECT_TRUE(client->is_closed());
  EXPECT_TRUE(waiting->is_gone());
}

TEST_F(HttpServerTest, RunsTimersAndPostedCallbacks) {
  start();
  std::vector<int> ran;
  (void)server_->run_after(milliseconds(30), [&] {
    ran.push_back(3);
    server_->interrupt();
  });
  (void)server_->run_after(milliseconds(1), [&] { ran.push_back(2); });
  const TimerId canceled = server_->run_after(milliseconds(2), [&] { ran.push_back(9); });
  server_->cancel_timer(canceled);
  server_->post([&] { ran.push_back(1); });
  EXPECT_TRUE(ran.empty());
  server_->run_for(milliseconds(60'000));
  EXPECT_THAT(ran, ElementsAre(1, 2, 3));
}

TEST_F(HttpServerTest, ATimerCanBeCanceledWhenItIsDue) {
  start();
  bool ran = false;
  TimerId second = 0;
  (void)server_->run_after(Duration(), [&] { server_->cancel_timer(second); });
  second = server_->run_after(Duration(), [&] { ran = true; });
  bool last = false;
  (void)server_->run_after(milliseconds(5), [&] { last = true; });
  ASSERT_TRUE(run_until([&] { return last; }));
  EXPECT_FALSE(ran);
}

TEST_F(HttpServerTest, ReportsSignals) {
  start();
  std::vector<int> seen;
  ASSERT_TRUE(server_->watch_signals({SIGTERM, SIGINT}, [&](int signal) { seen.push_back(signal); }).ok());
  EXPECT_FALSE(server_->watch_signals({SIGKILL}, [](int) {}).ok());
  ASSERT_EQ(::raise(SIGTERM), 0);
  ASSERT_TRUE(run_until([&] { return seen.size() == 1; }));
  ASSERT_EQ(::raise(SIGINT), 0);
  ASSERT_TRUE(run_until([&] { return seen.size() == 2; }));
  ASSERT_EQ(::raise(SIGTERM), 0);
  ASSERT_TRUE(run_until([&] { return seen.size() == 3; }));
  EXPECT_THAT(seen, ElementsAre(SIGTERM, SIGINT, SIGTERM));
}

TEST_F(HttpServerTest, DoesNotStartTwice) {
  start();
  const Result<std::unique_ptr<HttpServer>> second = HttpServer::listen(options_, handler_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().text(), "another weft serve is listening on " + options_.socket_path);
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a ")) << "the first one is unharmed";
}

TEST_F(HttpServerTest, SocketsAreNotInherited) {
  start();
  const auto client = connect();
  client->send_all(get("/a"));
  ASSERT_TRUE(run_until([&] { return client->has("GET /a"); }));
  // What a child of exec(2) would have: none of the server's descriptors. The test's own socket is opened so, too.
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string link = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (!link.starts_with("socket:") && !link.starts_with("anon_inode:[event")) continue;
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (descriptor <= 2) continue;
    EXPECT_NE(::fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0) << link;
  }
}

TEST_F(HttpServerTest, ConcurrentClientsAndPosts) {
  options_.max_connections_per_uid = 1000;
  start();
  std::thread loop([&] { server_->run_for(milliseconds(600'000)); });
  std::vector<std::thread> clients;
  std::array<int, 4> good{};
  int posted = 0;  // only the loop changes it
  for (std::size_t c = 0; c < good.size(); ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 25; ++i) {
        ClientRequest request;
        request.endpoint = Endpoint::unix_socket(options_.socket_path);
        request.method = "POST";
        request.target = fmt::format("/{}/{}", c, i);
        request.body = std::string(100'000, 'x');
        const Result<HttpResponse> response = send_request(request);
        if (response.ok() && response->body.size() > 100'000) ++good[c];
        server_->post([&] { ++posted; });
      }
    });
  }
  for (std::thread& client : clients) client.join();
  server_->post([&] { server_->interrupt(); });
  loop.join();
  EXPECT_THAT(good, ElementsAre(25, 25, 25, 25));
  EXPECT_EQ(posted, 100);
}

}  // namespace
}  // namespace weft::serve

// Server-sent events over real sockets: framing, heartbeats, resuming, and clients that do not read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/http/test_socket.h"

namespace weft::serve {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpStreamTest : public ServerTest {
 protected:
  HttpStreamTest() {
    handler_ = [this](const HttpRequest& request, const Responder& responder) {
      if (request.path == "/events") {
        stream_ = responder.open_stream();
      } else {
        responder.respond({200, "text/plain", request.path, {}});
      }
    };
  }
  std::unique_ptr<RawClient> follow(std::string_view headers = {}) {
    auto client = connect();
    client->send_all(get("/events", headers));
    EXPECT_TRUE(run_until([&] { return client->has("\r\n\r\n"); }));
    return client;
  }

  EventStream stream_;
};

TEST_F(HttpStreamTest, SendsEventsInChunks) {
  start();
  const auto client = follow();
  EXPECT_THAT(client->received(), StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"));
  EXPECT_THAT(client->take_received(), HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(stream_.send(7, "job", "a\nb"));
  ASSERT_TRUE(run_until([&] { return client->has("\r\n"); }));
  EXPECT_EQ(client->take_received(), "22\r\nid: 7\nevent: job\ndata: a\ndata: b\n\n\r\n");
  EXPECT_TRUE(stream_.send(8, "", "c"));
  stream_.close();
  EXPECT_FALSE(stream_.is_open());
  EXPECT_FALSE(stream_.send(9, "", "d"));
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_EQ(client->received(), "f\r\nid: 8\ndata: c\n\n\r\n0\r\n\r\n");
}

TEST_F(HttpStreamTest, HasNoChunksForHttp10) {
  start();
  const auto client = connect();
  client->send_all("GET /events HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(run_until([&] { return client->has("\r\n\r\n"); }));
  EXPECT_TRUE(stream_.send(1, "", "a"));
  ASSERT_TRUE(run_until([&] { return client->has("data"); }));
  stream_.close();
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_THAT(client->received(), EndsWith("\r\n\r\nid: 1\ndata: a\n\n"));
  EXPECT_THAT(client->received(), Not(HasSubstr("chunked")));
}

TEST_F(HttpStreamTest, HeadHasNoEvents) {
  start();
  EXPECT_THAT(talk("HEAD /events HTTP/1.1\r\nHost: x\r\n\r\n"), EndsWith("Connection: close\r\n\r\n"));
  EXPECT_FALSE(stream_.is_open());
}

TEST_F(HttpStreamTest, PassesTheResumeHeaderOn) {
  start();
  const auto client = follow("Last-Event-ID: 41\r\nAccept: text/event-stream\r\n");
  EXPECT_EQ(last_request_.last_event_id, 41U);
  EXPECT_EQ(last_request_.accept, "text/event-stream");
}

TEST_F(HttpStreamTest, SendsHeartbeats) {
  options_.heartbeat_interval = milliseconds(5);
  options_.idle_limit = milliseconds(1'000);
  start();
  const auto client = follow();
  ASSERT_TRUE(run_until([&] { return client->has("d\r\n: heartbeat\n\n\r\nd\r\n: heartbeat\n\n\r\n"); }));
  EXPECT_TRUE(stream_.send(1, "", "x"));
  ASSERT_TRUE(run_until([&] { return client->has("data: x\n\n\r\nd\r\n: heartbeat"); }));
}

TEST_F(HttpStreamTest, ASlowConsumerIsClosedAndOthersAreNot) {
  options_.max_stream_bytes = std::size_t{1} << 20U;
  start();
  const auto slow = follow();
  EventStream slow_stream = stream_;
  const auto fast = follow();
  const std::string data(10'000, 'x');
  std::uint64_t id = 0;
  bool slow_open = true;
  while (slow_open && id < 1'000) {
    slow_open = slow_stream.send(++id, "job", data);
    ASSERT_TRUE(stream_.send(id, "job", data));
    ASSERT_TRUE(run_until([&] { return fast->has(fmt::format("id: {}\n", id)) && stream_.buffered_bytes() == 0; }));
    (void)fast->take_received();
  }
  EXPECT_FALSE(slow_open);
  EXPECT_GT(id, 100U) << "1 MiB is buffered";
  EXPECT_FALSE(slow_stream.is_open());
  EXPECT_EQ(slow_stream.buffered_bytes(), 0U);
  EXPECT_TRUE(slow->is_closed());
  EXPECT_THAT(slow->received(), Not(EndsWith("0\r\n\r\n"))) << "it can tell that events are missing";
  EXPECT_EQ(server_->counters().slow_streams, 1U);
  EXPECT_TRUE(stream_.send(++id, "job", data));
}

TEST_F(HttpStreamTest, ALargeEventReachesAFastClient) {
  options_.max_stream_bytes = 1000;
  start();
  const auto client = follow();
  ASSERT_TRUE(run_until([&] { return stream_.buffered_bytes() == 0; }));
  EXPECT_TRUE(stream_.send(1, "", std::string(5'000'000, 'x')));
  ASSERT_TRUE(run_until([&] { return client->has("x\n\n\r\n"); }));
  EXPECT_FALSE(stream_.send(2, "", "a") && stream_.send(3, "", std::string(1000, 'x')));
}

TEST_F(HttpStreamTest, ALongHistoryIsSentAsTheClientReads) {
  options_.max_stream_bytes = 10'000;
  start();
  const auto client = follow();
  std::uint64_t next = 0;
  const std::function<void()> send_more = [&] {
    while (next < 50'000 && stream_.buffered_bytes() < 5'000) {
      ASSERT_TRUE(stream_.send(++next, "job", "some data"));
    }
    if (next < 50'000) {
      stream_.notify_when_drained(send_more);
    } else {
      stream_.close();
    }
  };
  stream_.notify_when_drained(send_more);
  EXPECT_EQ(next, 0U) << "from the event loop, not at once";
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_TRUE(client->has("id: 50000\n"));
  EXPECT_THAT(client->received(), EndsWith("\r\n0\r\n\r\n"));
}

TEST_F(HttpStreamTest, NoticesAFollowerThatWentAway) {
  start();
  auto client = follow();
  EXPECT_TRUE(stream_.is_open());
  bool drained = false;
  stream_.notify_when_drained([&] { drained = true; });
  client.reset();
  ASSERT_TRUE(run_until([&] { return !stream_.is_open(); }));
  EXPECT_FALSE(stream_.send(1, "", "x"));
  stream_.notify_when_drained([&] { drained = true; });
  stream_.close();
  server_->poll();
  EXPECT_EQ(server_->counters().connections, 0U);
}

TEST_F(HttpStreamTest, ManyFollowersDoNotDelayRequests) {
  handler_ = [streams = std::make_shared<std::vector<EventStream>>()](const HttpRequest& request,
                                                                      const Responder& responder) {
    if (request.path == "/events") {
      streams->push_back(responder.open_stream());
      return;
    }
    for (EventStream& stream : *streams) (void)stream.send(1, "tick", "x");
    responder.respond({200, "text/plain", "ok", {}});
  };
  start();
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(100);
  for (int i = 0; i < 100; ++i) clients.push_back(follow());
  EXPECT_THAT(talk(get("/tick")), EndsWith("ok"));
  for (const auto& client : clients) {
    ASSERT_TRUE(run_until([&] { return client->has("event: tick"); }));
  }
}

}  // namespace
}  // namespace weft::serve

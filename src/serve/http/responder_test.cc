#include "serve/http/responder.h"

#include <gtest/gtest.h>

#include <vector>

namespace weft::serve {
namespace {

class FakeConnection : public HttpConnection {
 public:
  void respond(const HttpResponse& response) override { responses.push_back(response.status); }
  bool open_stream() override { return streaming = open; }
  [[nodiscard]] bool has_reader() const override { return open; }
  bool send_event(std::uint64_t /*id*/, std::string_view /*event*/, std::string_view /*data*/) override {
    return streaming;
  }
  void end_stream() override { streaming = false; }
  [[nodiscard]] bool is_streaming() const override { return streaming; }
  [[nodiscard]] std::size_t buffered_bytes() const override { return 7; }
  void notify_when_drained(std::function<void()> callback) override { callback(); }

  std::vector<int> responses;
  bool open = true;
  bool streaming = false;
};

TEST(HttpResponder, AnswersOnceByAnyCopy) {
  const auto connection = std::make_shared<FakeConnection>();
  {
    const Responder responder(connection);
    const Responder copy = responder;  // NOLINT(performance-unnecessary-copy-initialization): what is tested
    EXPECT_FALSE(copy.is_gone());
    copy.respond({201, "", "", {}});
    EXPECT_DEATH(responder.respond({}), "a request has one response");
    EXPECT_DEATH((void)responder.open_stream(), "a request has one response");
  }
  EXPECT_EQ(connection->responses, std::vector<int>{201});
}

TEST(HttpResponder, AnswersWith500IfDropped) {
  const auto connection = std::make_shared<FakeConnection>();
  { const Responder responder(connection); }
  EXPECT_EQ(connection->responses, std::vector<int>{500});
}

TEST(HttpResponder, DoesNothingWithoutAConnection) {
  auto connection = std::make_shared<FakeConnection>();
  const Responder first(connection);
  const Responder second(connection);
  EventStream stream = Responder(connection).open_stream();
  EXPECT_TRUE(stream.is_open());
  EXPECT_EQ(stream.buffered_bytes(), 7U);
  connection.reset();
  EXPECT_TRUE(first.is_gone());
  first.respond({});
  EXPECT_FALSE(second.open_stream().is_open());
  EXPECT_FALSE(stream.is_open());
  EXPECT_FALSE(stream.send(1, "", ""));
  EXPECT_EQ(stream.buffered_bytes(), 0U);
  stream.close();
  stream.notify_when_drained([] { FAIL(); });
  EXPECT_FALSE(EventStream().is_open());
}

}  // namespace
}  // namespace weft::serve

#include "serve/http/response_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::serve {
namespace {

using State = ResponseReader::State;
using testing::HasSubstr;

struct Outcome {
  State state = State::head;
  HttpResponse response;
  std::string problem;
};

// All bytes, then the end of the connection.
Outcome read(std::string_view bytes, std::size_t step, bool head_only = false, const ResponseLimits& limits = {}) {
  ResponseReader reader(head_only, limits);
  for (std::size_t at = 0; at < bytes.size(); at += step) (void)reader.feed(bytes.substr(at, step));
  Outcome outcome{reader.finish(), {}, reader.problem_text()};
  outcome.response = reader.response();
  return outcome;
}

void expect_body(std::string_view bytes, int status, std::string_view body) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{5}, bytes.size()}) {
    const Outcome outcome = read(bytes, step);
    EXPECT_EQ(outcome.state, State::complete) << bytes << outcome.problem;
    EXPECT_EQ(outcome.response.status, status);
    EXPECT_EQ(outcome.response.body, body);
  }
}

TEST(HttpResponseReader, ReadsEveryFraming) {
  expect_body("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", 200, "abc");
  expect_body("HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nA: b\r\n\r\n", 200,
              "abcd");
  expect_body("HTTP/1.0 404 Not Found\r\n\r\nabc", 404, "abc");
  expect_body("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
  expect_body("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\na", 201, "a");
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 100, true).state, State::complete);
}

TEST(HttpResponseReader, KeepsHeaders) {
  Outcome outcome =
      read("HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nLocation:  /a \r\nContent-Length: 0\r\n\r\n", 9);
  EXPECT_EQ(outcome.state, State::complete);
  EXPECT_EQ(outcome.response.content_type, "text/plain");
  ASSERT_NE(outcome.response.find_header("Location"), nullptr);
  EXPECT_EQ(*outcome.response.find_header("Location"), "/a");
  EXPECT_EQ(outcome.response.find_header("x"), nullptr);
}

TEST(HttpResponseReader, NoticesAPrematureEnd) {
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Le", 100).state, State::head);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 100).state, State::body);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 100).state, State::body);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", 100).state, State::body);
}

TEST(HttpResponseReader, RejectsInvalidResponses) {
  for (const char* bytes :
       {"SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1 2000 x\r\n\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"}) {
    EXPECT_EQ(read(bytes, 1).state, State::invalid) << bytes;
    EXPECT_EQ(read(bytes, 1000).state, State::invalid) << bytes;
  }
}

TEST(HttpResponseReader, LimitsSizes) {
  const ResponseLimits limits{100, 10};
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n" + std::string(200, 'a'), 7, false, limits).state, State::invalid);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", 7, false, limits).state, State::invalid);
  EXPECT_EQ(read("HTTP/1.1 200 OK\r\n\r\n01234567890", 7, false, limits).state, State::invalid);
  const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(read(chunked + "6\r\n012345\r\n6\r\n012345\r\n", 7, false, limits).state, State::invalid);
  EXPECT_EQ(read(chunked + std::string(200, '1'), 7, false, limits).state, State::invalid);
  EXPECT_THAT(read("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", 7, false, limits).problem, HasSubstr("10 bytes"));
}

TEST(HttpResponseReader, GivesOutAStreamPieceByPiece) {
  ResponseReader reader(false, {1000, 10});
  EXPECT_EQ(reader.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), State::body);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(reader.feed("8\r\n01234567\r\n"), State::body) << "the limit is on what is held";
    EXPECT_EQ(reader.take_body(), "01234567");
  }
  EXPECT_EQ(reader.feed("0\r\n\r\n"), State::complete);
}

}  // namespace
}  // namespace weft::serve

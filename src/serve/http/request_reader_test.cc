#include "serve/http/request_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::serve {
namespace {

using State = RequestReader::State;
using testing::HasSubstr;

// The state after all bytes, given `step` at a time.
State feed(RequestReader& reader, std::string_view bytes, std::size_t step) {
  State state = State::more;
  for (std::size_t at = 0; at < bytes.size(); at += step) state = reader.feed(bytes.substr(at, step));
  return state;
}

// The status that rejects the request, the same whole and byte by byte; 0 if it is complete, -1 if it needs more bytes.
int status_of(std::string_view bytes) {
  int statuses[2];
  for (const std::size_t step : {std::size_t{1}, bytes.size()}) {
    RequestReader reader;
    const State state = feed(reader, bytes, step);
    statuses[step == 1 ? 0 : 1] = state == State::invalid    ? reader.rejection().status
                                  : state == State::complete ? 0
                                                             : -1;
  }
  EXPECT_EQ(statuses[0], statuses[1]) << bytes.substr(0, 200);
  return statuses[1];
}

std::string get(std::string_view headers) { return fmt::format("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", headers); }

TEST(HttpRequestReader, ReadsEveryPartOfARequest) {
  const std::string bytes =
      "POST /v1/jobs?dry-run=true HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: */*\r\n"
      "Idempotency-Key: k-1\r\nLast-Event-ID: 42\r\nContent-Length: 4\r\n\r\nbodyGET";
  for (const std::size_t step : {std::size_t{1}, bytes.size()}) {
    RequestReader reader;
    EXPECT_TRUE(reader.is_idle());
    ASSERT_EQ(feed(reader, bytes, step), State::complete);
    const HttpRequest request = reader.take_request();
    EXPECT_EQ(request.method, "POST");
    EXPECT_EQ(request.path, "/v1/jobs");
    ASSERT_NE(request.find_query("dry-run"), nullptr);
    EXPECT_EQ(*request.find_query("dry-run"), "true");
    EXPECT_EQ(request.find_query("x"), nullptr);
    EXPECT_EQ(request.content_type, "application/json");
    EXPECT_EQ(request.accept, "*/*");
    EXPECT_EQ(request.idempotency_key, "k-1");
    EXPECT_EQ(request.last_event_id, 42U);
    EXPECT_EQ(request.body, "body");
    EXPECT_EQ(reader.next(), State::more);
    EXPECT_FALSE(reader.is_idle()) << "the next request has begun";
    EXPECT_EQ(reader.feed(" / HTTP/1.0\r\n\r\n"), State::complete);
    EXPECT_FALSE(reader.framing().keep_alive);
    EXPECT_TRUE(reader.framing().http_1_0);
  }
}

TEST(HttpRequestReader, ReadsChunkedBodies) {
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;ext=\"q\"\r\nde\r\n0\r\nIdempotency-Key: late\r\n\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    RequestReader reader;
    ASSERT_EQ(feed(reader, bytes, step), State::complete);
    const HttpRequest request = reader.take_request();
    EXPECT_EQ(request.body, "abcde");
    EXPECT_EQ(request.idempotency_key, "") << "a trailer is not a header";
  }
  const std::string chunked = get("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(status_of(chunked + "0\r\n\r\n"), 0) << "an assertion of Beast failed when it came byte by byte";
  EXPECT_EQ(status_of(chunked + "1\r\na\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(status_of(chunked + "1\r\na\r\n0\r\n\r"), -1);
}

TEST(HttpRequestReader, RejectsInvalidRequests) {
  EXPECT_EQ(status_of("\r\n"), 400);
  EXPECT_EQ(status_of("GET\r\n\r\n"), 400);
  EXPECT_EQ(status_of(std::string("\0\0\0\0\r\n\r\n", 8)), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(status_of(get("Host: y\r\n")), 400);
  EXPECT_EQ(status_of(get("No colon\r\n")), 400);
  EXPECT_EQ(status_of(get("A : b\r\n")), 400);
  EXPECT_EQ(status_of("GET /../x HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET * HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"), 0);
  EXPECT_EQ(status_of("BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n"), 0) << "methods are the handler's business";
  EXPECT_EQ(status_of(get("Last-Event-ID: -1\r\n")), 400);
  EXPECT_EQ(status_of(get("Last-Event-ID: 99999999999999999999\r\n")), 400);
  EXPECT_EQ(status_of(get("Idempotency-Key: a\r\nIdempotency-Key: b\r\n")), 400);
  EXPECT_EQ(status_of(get("Idempotency-Key: \xFF\r\n")), 400);
  EXPECT_EQ(status_of(get("Expect: 200-ok\r\n")), 417);
  EXPECT_EQ(status_of(get("Content-Encoding: gzip\r\n")), 415);
}

// Leaving such a header out means something else than a value that a client has failed to set.
TEST(HttpRequestReader, RejectsHeadersWithoutAValue) {
  for (const char* name : {"If-Match", "If-None-Match", "Content-Type", "Authorization", "Origin", "Idempotency-Key"}) {
    for (const char* value : {"", " ", " \t "}) {
      RequestReader reader;
      ASSERT_EQ(reader.feed(get(fmt::format("{}:{}\r\n", name, value))), State::invalid) << name;
      EXPECT_EQ(reader.rejection().status, 400);
      const auto body = nlohmann::json::parse(reader.rejection().body);
      EXPECT_EQ(body["errors"][0]["header"], name);
      EXPECT_THAT(body["detail"].get<std::string>(), HasSubstr(fmt::format("{} is empty", name)));
    }
    EXPECT_EQ(status_of(get(fmt::format("{}: x\r\n", name))), 0) << name;
  }
  EXPECT_EQ(status_of(get("Accept:\r\nX-Request-Id:\r\nX-Else:\r\n")), 0) << "RFC 9110 section 12.5.1: any number";
}

TEST(HttpRequestReader, AbsoluteTargets) {
  const auto read = [](const std::string& line, const std::string& host = "x") {
    RequestReader reader;
    EXPECT_EQ(reader.feed(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", line, host)), State::complete) << line;
    return reader.take_request();
  };
  const HttpRequest request = read("https://weft.example.org:8443/api/v1/jobs?all=1", "other.example.org");
  EXPECT_EQ(request.host, "weft.example.org:8443") << "RFC 9112 section 3.2.2: not that of the header";
  EXPECT_EQ(request.scheme, "https");
  EXPECT_EQ(request.path, "/api/v1/jobs");
  EXPECT_EQ(*request.find_query("all"), "1");
  EXPECT_EQ(read("HTTP://[::1]:80/a/").path, "/a") << "RFC 3986 section 3.1: schemes in upper or lower case";
  EXPECT_EQ(read("http://x").path, "/");
  EXPECT_EQ(read("http://x").scheme, "http");
  EXPECT_EQ(read("http://x?a=b").path, "/");
  EXPECT_EQ(*read("http://x?a=b").find_query("a"), "b");
  EXPECT_EQ(read("/http:/y").host, "x") << "a path";
  EXPECT_EQ(read("/a").scheme, "");
}

// Where two programs could disagree on the end of a request, one could be hidden in another.
TEST(HttpRequestReader, RejectsAmbiguousLengths) {
  EXPECT_EQ(status_of(get("Content-Length: 1\r\nContent-Length: 2\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 1, 2\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: -1\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 0x10\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 99999999999999999999999\r\n")), 400);
  EXPECT_EQ(status_of(get("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(status_of(get("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n")), 400);
  EXPECT_EQ(status_of(get("Transfer-Encoding: gzip\r\n")), 501);
  EXPECT_EQ(status_of(get("Transfer-Encoding: chunked, gzip\r\n")), 501);
  EXPECT_EQ(status_of(get("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n")), 501);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
}

TEST(HttpRequestReader, LimitsHeadersHoweverTheyCome) {
  const std::size_t limit = RequestLimits().header_bytes;
  const std::size_t fixed = get("A: \r\n").size();
  EXPECT_EQ(status_of(get(fmt::format("A: {}\r\n", std::string(limit - fixed, 'a')))), 0);
  EXPECT_EQ(status_of(get(fmt::format("A: {}\r\n", std::string(limit - fixed + 1, 'a')))), 431);
  EXPECT_EQ(status_of("GET /" + std::string(limit, 'a')), 431);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "A: b\r\n";
  EXPECT_EQ(status_of(get(many)), 431) << "each of them is parsed when it comes";
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\n" + many), 431) << "without an end";
}

TEST(HttpRequestReader, LimitsBodies) {
  const std::size_t limit = RequestLimits().body_bytes;
  EXPECT_EQ(status_of(get(fmt::format("Content-Length: {}\r\n", limit))), -1);
  EXPECT_EQ(status_of(get(fmt::format("Content-Length: {}\r\n", limit + 1))), 413) << "before any of it is read";
  const std::string chunked = get("Transfer-Encoding: chunked\r\n");
  EXPECT_EQ(status_of(chunked + fmt::format("{:x}\r\n", limit)), -1);
  EXPECT_EQ(status_of(chunked + fmt::format("{:x}\r\n", limit + 1)), 413);
  EXPECT_EQ(status_of(chunked + "1\r\na\r\n" + fmt::format("{:x}\r\n", limit)), 413);
  EXPECT_EQ(status_of(chunked + "ffffffffffffffff\r\n"), 413);
  EXPECT_EQ(status_of(chunked + "10000000000000000\r\n"), 400);
  EXPECT_EQ(status_of(chunked + "1;" + std::string(RequestLimits().header_bytes, 'a')), 400);
  EXPECT_EQ(status_of(chunked + "0\r\nA: " + std::string(RequestLimits().header_bytes, 'a')), 400);
  EXPECT_EQ(status_of(chunked + "x\r\n\r\n"), 400);
  EXPECT_EQ(status_of(chunked + "1\r\nab\r\n0\r\n"), 400);
}

TEST(HttpRequestReader, ReportsExpectationsOnce) {
  RequestReader reader;
  EXPECT_EQ(reader.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"),
            State::expects_continue);
  EXPECT_FALSE(reader.is_idle());
  EXPECT_EQ(reader.feed("a"), State::more);
  EXPECT_EQ(reader.feed("b"), State::complete);
  EXPECT_EQ(reader.take_request().body, "ab");
  EXPECT_EQ(reader.next(), State::more);
  EXPECT_TRUE(reader.is_idle());
  EXPECT_EQ(reader.feed("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab"),
            State::complete)
      << "the client did not wait";
  EXPECT_EQ(status_of(get("Expect: 100-continue\r\nContent-Length: 99999999\r\n")), 413);
}

TEST(HttpRequestReader, PassesHeadOnAsGet) {
  RequestReader reader;
  ASSERT_EQ(reader.feed("HEAD /v1 HTTP/1.1\r\nHost: x\r\n\r\n"), State::complete);
  EXPECT_EQ(reader.take_request().method, "GET");
  EXPECT_TRUE(reader.framing().head_only);
  ASSERT_EQ(reader.next(), State::more);
  ASSERT_EQ(reader.feed("GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n"), State::complete);
  EXPECT_FALSE(reader.framing().head_only);
}

TEST(HttpRequestReader, RejectionsSayWhy) {
  RequestReader reader;
  ASSERT_EQ(reader.feed("GET /a%2Fb HTTP/1.1\r\nHost: x\r\n\r\n"), State::invalid);
  EXPECT_EQ(reader.rejection().content_type, "application/problem+json");
  EXPECT_THAT(reader.rejection().body, HasSubstr("encoded slash in the request target `/a%2Fb`"));
}

}  // namespace
}  // namespace weft::serve

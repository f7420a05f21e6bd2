#include "bmcsim/http.h"

#include <gtest/gtest.h>

namespace weft::bmcsim {
namespace {

using State = HttpReader::State;

int status_of(const std::string& text) {
  HttpReader reader;
  return reader.feed(text) == State::bad ? reader.status() : 0;
}

TEST(SimHttp, ReadsARequestByteByByte) {
  const std::string text =
      "PATCH /redfish/v1/Systems/1?only&$top=2#part HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\nIf-Match:  W/\"x\" "
      "\r\n\r\n{\"a\":1}";
  HttpReader reader;
  State state = State::more;
  for (const char c : text) {
    ASSERT_EQ(state, State::more);
    state = reader.feed({&c, 1});
  }
  ASSERT_EQ(state, State::complete);
  EXPECT_EQ(reader.request().method, HttpMethod::patch);
  EXPECT_EQ(reader.request().path, "/redfish/v1/Systems/1");
  EXPECT_EQ(reader.request().query, "only&$top=2");
  EXPECT_EQ(reader.request().header("if-match"), "W/\"x\"");
  EXPECT_EQ(reader.request().body, "{\"a\":1}");
  EXPECT_TRUE(reader.request().keep_alive);
  EXPECT_EQ(reader.next(), State::more);
  EXPECT_TRUE(reader.idle());
}

TEST(SimHttp, KeepsPipelinedRequests) {
  HttpReader reader;
  const std::string one = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(reader.feed(one + "\r\nGET /b HTTP/1.0\r\n\r\nGET"), State::complete);
  EXPECT_EQ(reader.request().path, "/a");
  EXPECT_EQ(reader.next(), State::complete);
  EXPECT_EQ(reader.request().path, "/b");
  EXPECT_FALSE(reader.request().keep_alive);
  EXPECT_EQ(reader.next(), State::more);
  EXPECT_EQ(reader.held(), 3U);
}

TEST(SimHttp, SendsContinueOnce) {
  HttpReader reader;
  EXPECT_EQ(reader.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"),
            State::go_on);
  EXPECT_EQ(reader.feed("ab"), State::more);
  EXPECT_EQ(reader.feed("cd"), State::complete);
  EXPECT_EQ(reader.request().body, "abcd");
  // With the body already received, the client is not waiting.
  HttpReader other;
  EXPECT_EQ(other.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\nz"),
            State::complete);
}

// Status codes that RFC 9110 and RFC 9112 assign to each error.
TEST(SimHttp, RejectsInvalidRequests) {
  EXPECT_EQ(status_of("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: x\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);  // no Host
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /%0a HTTP/1.1\r\nHost: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n"), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 65537\r\n\r\n"), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n"), 417);
  EXPECT_EQ(status_of("\x16\x03\x01"), 400);  // a TLS client on a plain port
  EXPECT_EQ(status_of("GET /" + std::string(5000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(20000, 'a')), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 100; ++i) many += "a: b\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
}

TEST(SimHttp, AcceptsAbsoluteTargets) {
  HttpReader reader;
  EXPECT_EQ(reader.feed("GET https://127.0.0.1:1/redfish%2Fv1 HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n"),
            State::complete);
  EXPECT_EQ(reader.request().path, "/redfish/v1");
  EXPECT_FALSE(reader.request().keep_alive);
}

}  // namespace
}  // namespace weft::bmcsim

// Requests that two programs could read differently: each is refused and its connection closed, whole or byte by byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "serve/http/request_reader.h"

namespace weft::serve {
namespace {

using State = RequestReader::State;

struct Outcome {
  int status = -1;      // of the rejection; 0: no request was rejected; -1: more bytes are needed
  int requests = 0;     // complete ones
  bool closes = false;  // after the last
};

Outcome read(std::string_view bytes, std::size_t step) {
  Outcome outcome;
  RequestReader reader;
  State state = State::more;
  for (std::size_t at = 0; at < bytes.size() && state != State::invalid; at += step) {
    state = reader.feed(bytes.substr(at, step));
    while (state == State::complete) {
      ++outcome.requests;
      outcome.closes = !reader.framing().keep_alive;
      (void)reader.take_request();
      state = reader.next();
    }
  }
  if (state == State::invalid) {
    outcome.status = reader.rejection().status;
    outcome.closes = !reader.framing().keep_alive;
  } else if (reader.is_idle()) {
    outcome.status = 0;
  }
  return outcome;
}

struct Case {
  const char* name;
  std::string bytes;
  int status;
};

std::string post(std::string_view headers, std::string_view rest = {}) {
  return fmt::format("POST /a HTTP/1.1\r\nHost: x\r\n{}\r\n{}", headers, rest);
}
std::string chunks(std::string_view body) { return post("Transfer-Encoding: chunked\r\n", body); }

// What an attacker hopes that the server takes for a request of its own.
constexpr std::string_view kHidden = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

std::vector<Case> cases_of_length() {
  using namespace std::string_literals;
  const std::string hidden(kHidden);
  return {
      {"CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\nG"), 400},
      {"TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "0\r\n\r\n"), 400},
      {"TE.TE", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"), 400},
      {"TE twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"TE list", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 501},
      {"TE identity", post("Transfer-Encoding: identity\r\n", hidden), 501},
      {"TE gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {"TE xchunked", post("Transfer-Encoding: xchunked\r\n", hidden), 501},
      {"TE with a parameter", post("Transfer-Encoding: chunked;q=1\r\n", "0\r\n\r\n"), 501},
      {"TE quoted", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 501},
      {"TE empty", post("Transfer-Encoding:\r\n", hidden), 501},
      {"TE with a vertical tab",
       post("Transfer-Encoding: \x0b"
            "chunked\r\n",
            "0\r\n\r\n"),
       400},
      {"TE with NUL", post("Transfer-Encoding: chunked\0\r\n"s, "0\r\n\r\n"), 400},
      {"TE space before colon", post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"), 400},
      {"TE tab before colon", post("Transfer-Encoding\t: chunked\r\n", "0\r\n\r\n"), 400},
      {"TE folded", post("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n"), 400},
      {"TE in HTTP/1.0", "POST /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"CL twice", post("Content-Length: 1\r\nContent-Length: 1\r\n", "a"), 400},
      {"CL twice, different", post("Content-Length: 0\r\nContent-Length: 33\r\n", hidden), 400},
      {"CL list", post("Content-Length: 1, 1\r\n", "a"), 400},
      {"CL plus", post("Content-Length: +1\r\n", "a"), 400},
      {"CL minus", post("Content-Length: -1\r\n", "a"), 400},
      {"CL hexadecimal", post("Content-Length: 0x1\r\n", "a"), 400},
      {"CL with a point", post("Content-Length: 1.0\r\n", "a"), 400},
      {"CL with inner space", post("Content-Length: 1 1\r\n", "a"), 400},
      {"CL empty", post("Content-Length:\r\n", hidden), 400},
      {"CL too large", post("Content-Length: 18446744073709551617\r\n", "a"), 400},
      {"CL space before colon", post("Content-Length : 5\r\n", "a"), 400},
      {"CL folded", post("Content-Length:\r\n 1\r\n", "a"), 400},
  };
}

std::vector<Case> cases_of_lines() {
  using namespace std::string_literals;
  return {
      {"LF after the request line", "GET / HTTP/1.1\nHost: x\r\n\r\n", 400},
      {"LF after a header", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400},
      {"LF only", "GET / HTTP/1.1\nHost: x\n\n", 400},
      {"LF at the end", "GET / HTTP/1.1\r\nHost: x\r\n\n", 400},
      {"CR in a header", post("A: b\rTransfer-Encoding: chunked\r\n"), 400},
      {"CR CR LF", "GET / HTTP/1.1\r\nHost: x\r\r\n\r\n", 400},
      {"CR in the name", post("A\r: b\r\n"), 400},
      {"folded header", post("A: b\r\n c\r\n"), 400},
      {"folded by a tab", post("A: b\r\n\tc\r\n"), 400},
      {"space before the first header", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", 400},
      {"no name", post(": b\r\n"), 400},
      {"no colon", post("Transfer-Encoding\r\n"), 400},
      {"NUL in a name", post("A\0: b\r\n"s), 400},
      {"NUL in a value", post("A: b\0c\r\n"s), 400},
      {"NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n"s, 400},
      {"DEL in a value", post("A: b\x7F\r\n"), 400},
      {"brackets in a name", post("A(b): c\r\n"), 400},
      {"byte over 127 in a name", post("A\xE9: c\r\n"), 400},
      // The request line.
      {"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"tab", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"space at the end", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400},
      {"space at the start", " GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"empty line first", "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"byte over 127 in the target", "GET /\xC3\xA4 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", 505},
      {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505},
      {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"http/1.1", "GET / http/1.1\r\nHost: x\r\n\r\n", 505},
      {"HTTP/01.1", "GET / HTTP/01.1\r\nHost: x\r\n\r\n", 505},
      {"absolute form without Host", "GET http://x/ HTTP/1.1\r\n\r\n", 400},
      {"absolute form with two Hosts", "GET http://x/ HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"absolute form with a bad Host", "GET http://x/ HTTP/1.1\r\nHost: a@x\r\n\r\n", 400},
      {"absolute form with a user", "GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form without a host", "GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with an empty port", "GET http://x:/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with a bad port", "GET http://x:8a/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with a backslash", "GET http://x\\y/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with an encoded host", "GET http://%78/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with two slashes", "GET http://x//a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with ..", "GET http://x/a/../b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with a fragment", "GET http://x#/a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form of another scheme", "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form with one slash", "GET http:/x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form without a scheme", "GET //x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"absolute form of CONNECT", "CONNECT https://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"authority form", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"asterisk", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"no slash", "GET a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
  };
}

std::vector<Case> cases_of_headers() {
  return {
      {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two Hosts", post("Host: x\r\n"), 400},
      {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n", 400},
      {"Host empty", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
      {"Host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
      {"Host with a user", "GET / HTTP/1.1\r\nHost: a@x\r\n\r\n", 400},
      {"Host with a space", "GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400},
      {"Host list", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", 400},
      {"Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", 400},
      {"Host with a bad address", "GET / HTTP/1.1\r\nHost: [::z]\r\n\r\n", 400},
      {"Host with bytes after the address", "GET / HTTP/1.1\r\nHost: [::1]x:1\r\n\r\n", 400},
      {"Host with a bad port", "GET / HTTP/1.1\r\nHost: x:8a\r\n\r\n", 400},
      {"Host with a long port", "GET / HTTP/1.1\r\nHost: x:123456\r\n\r\n", 400},
      {"Host with an empty port", "GET / HTTP/1.1\r\nHost: x:\r\n\r\n", 400},
      {"Host of a port only", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", 400},
      // Headers that may occur once.
      {"two Authorizations", post("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n"), 400},
      {"two Content-Types", post("Content-Type: a/b\r\nContent-Type: c/d\r\n"), 400},
      {"two Origins", post("Origin: https://a\r\nOrigin: https://b\r\n"), 400},
      {"two CSRF tokens", post("X-CSRF-Token: a\r\nX-CSRF-Token: b\r\n"), 400},
      {"two Sec-Fetch-Sites", post("Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n"), 400},
      {"two If-Matches", post("If-Match: \"1\"\r\nIf-Match: \"2\"\r\n"), 400},
      {"two If-None-Matches", post("If-None-Match: \"1\"\r\nIf-None-Match: \"2\"\r\n"), 400},
      {"two request ids", post("X-Request-Id: a\r\nX-Request-Id: b\r\n"), 400},
      {"two Content-Encodings", post("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"), 400},
      {"two Expects", post("Expect: 100-continue\r\nExpect: 100-continue\r\n"), 400},
  };
}

std::vector<Case> cases_of_chunks() {
  using namespace std::string_literals;
  return {
      {"chunk size with a sign", chunks("+1\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size with 0x", chunks("0x1\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size with space before", chunks(" 1\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size with space after", chunks("1 \r\na\r\n0\r\n\r\n"), 400},
      {"chunk size with an underscore", chunks("1_0\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size empty", chunks("\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size too long", chunks("00000000000000001\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size that overflows", chunks("10000000000000001\r\na\r\n0\r\n\r\n"), 400},
      {"chunk size too large", chunks("fffffffffffffffe\r\na\r\n0\r\n\r\n"), 413},
      {"chunk size ends with LF", chunks("1\na\r\n0\r\n\r\n"), 400},
      {"chunk ends with LF", chunks("1\r\na\n0\r\n\r\n"), 400},
      {"chunk longer than its size", chunks("1\r\nab\r\n0\r\n\r\n"), 400},
      {"chunk shorter than its size", chunks("3\r\na\r\n0\r\n\r\n"), 400},
      {"last chunk ends with LF", chunks("0\n\r\n"), 400},
      {"end with LF", chunks("0\r\n\n"), 400},
      {"extension with LF", chunks("1;a\nb\r\na\r\n0\r\n\r\n"), 400},
      {"extension with CR", chunks("1;a\rb\r\na\r\n0\r\n\r\n"), 400},
      {"extension with NUL", chunks("1;a\0\r\na\r\n0\r\n\r\n"s), 400},
      {"extension too long", chunks("1;" + std::string(2000, 'a') + "\r\na\r\n0\r\n\r\n"), 400},
      {"folded trailer", chunks("0\r\nA: b\r\n c\r\n\r\n"), 400},
      {"long trailer", chunks("0\r\nA: " + std::string(20'000, 'b') + "\r\n\r\n"), 400},
      {"trailer with LF", chunks("0\r\nA: b\n\r\n"), 400},
      {"trailer without a colon", chunks("0\r\nGET / HTTP/1.1\r\n\r\n"), 400},
  };
}

TEST(RequestSmuggling, IsRefusedAndTheConnectionCloses) {
  std::vector<Case> all;
  for (const auto& cases : {cases_of_length(), cases_of_lines(), cases_of_headers(), cases_of_chunks()})
    all.insert(all.end(), cases.begin(), cases.end());
  for (const Case& one : all) {
    const std::string bytes = one.bytes + std::string(kHidden);
    for (const std::size_t step : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
      const Outcome outcome = read(bytes, step);
      EXPECT_EQ(outcome.status, one.status) << one.name << ", " << step << " bytes at a time";
      EXPECT_EQ(outcome.requests, 0) << one.name << ": a request was let through, " << step << " bytes at a time";
      EXPECT_TRUE(outcome.closes) << one.name;
    }
  }
}

TEST(RequestSmuggling, ManySmallExtensionsAreLimitedTogether) {
  std::string body;
  for (int i = 0; i < 600; ++i) body += "1;ab\r\na\r\n";
  EXPECT_EQ(read(chunks(body + "0\r\n\r\n"), 4096).status, 400);
}

// The neighbors of what is refused.
TEST(RequestSmuggling, ValidRequestsPass) {
  const std::string pipelined = std::string(kHidden) + std::string(kHidden);
  struct Valid {
    std::string bytes;
    int requests;
  };
  const Valid valid[] = {
      {pipelined, 2},
      {post("Content-Length: 3\r\n", "abc") + pipelined, 3},
      {post("Content-Length: \t3 \r\n", "abc"), 1},
      {post("content-length: 3\r\n", "\r\n\n") + pipelined, 3},
      {chunks("3\r\nabc\r\n0\r\n\r\n") + pipelined, 3},
      {post("transfer-encoding:chunked\r\n", "00A;x=\"y z\"\r\n0123456789\r\n0\r\nA: b\r\n\r\n") + pipelined, 3},
      {post("Transfer-Encoding: Chunked \r\n", "1\r\n\n\r\n000\r\n\r\n"), 1},
      {post("A:\r\nB: \r\nC: caf\xC3\xA9\r\n!#$%&'*+-.^_`|~1: x\r\n"), 1},
      {"GET / HTTP/1.1\r\nHost: weft.example.org:8443\r\n\r\n", 1},
      {"GET / HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n", 1},
      {"GET / HTTP/1.1\r\nHost: [2001:db8::7]:443\r\n\r\n", 1},
      {"GET / HTTP/1.0\r\n\r\n", 1},
      {"GET http://x/a HTTP/1.1\r\nHost: x\r\n\r\n" + pipelined, 3},
      {"POST https://y/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc" + pipelined, 3},
      {post("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n") + pipelined, 3},
      {post("Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n", "abc") + pipelined, 3},
  };
  for (const Valid& one : valid) {
    for (const std::size_t step : {one.bytes.size(), std::size_t{1}, std::size_t{3}}) {
      const Outcome outcome = read(one.bytes, step);
      EXPECT_EQ(outcome.status, 0) << one.bytes;
      EXPECT_EQ(outcome.requests, one.requests) << one.bytes;
    }
  }
}

TEST(RequestHeaders, ReachTheirMembers) {
  RequestReader reader;
  ASSERT_EQ(reader.feed(
                post("Authorization: Bearer abc\r\nCookie: a=1\r\nOrigin: https://x\r\nSec-Fetch-Site: same-origin\r\n"
                     "X-CSRF-Token: t\r\nIf-Match: \"7\"\r\nIf-None-Match: *\r\nX-Request-Id: r.1_-Z\r\n"
                     "cookie: b=2; c=3\r\n")),
            State::complete);
  const HttpRequest request = reader.take_request();
  EXPECT_EQ(request.host, "x");
  EXPECT_EQ(request.authorization, "Bearer abc");
  EXPECT_EQ(request.cookie, "a=1; b=2; c=3");
  EXPECT_EQ(request.origin, "https://x");
  EXPECT_EQ(request.fetch_site, "same-origin");
  EXPECT_EQ(request.csrf_token, "t");
  EXPECT_EQ(request.if_match, "\"7\"");
  EXPECT_EQ(request.if_none_match, "*");
  EXPECT_EQ(request.request_id, "r.1_-Z");
}

TEST(RequestHeaders, AnOddRequestIdIsIgnored) {
  for (const std::string& id :
       {std::string("a b"), std::string("a/b"), std::string("caf\xC3\xA9"), std::string(65, 'a')}) {
    RequestReader reader;
    ASSERT_EQ(reader.feed(post("X-Request-Id: " + id + "\r\n")), State::complete);
    EXPECT_EQ(reader.take_request().request_id, "") << id;
  }
  RequestReader reader;
  ASSERT_EQ(reader.feed(post("X-Request-Id: " + std::string(64, 'a') + "\r\n")), State::complete);
  EXPECT_EQ(reader.take_request().request_id, std::string(64, 'a'));
}

}  // namespace
}  // namespace weft::serve

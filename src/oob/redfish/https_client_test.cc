#include "oob/redfish/https_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "oob/redfish/test_server.h"
#include "oob/redfish/trust.h"

namespace weft::oob {
namespace {

using test::Certificate;
using test::make_certificate;
using test::Sender;
using test::ServerAnswer;
using test::ServerRequest;
using test::TestServer;
using testing::HasSubstr;
using testing::Not;

// Removed at process exit.
struct TemporaryFiles {
  ~TemporaryFiles() {
    for (const std::string& path : paths) std::remove(path.c_str());
  }
  std::vector<std::string> paths;
};

std::string temporary(const std::string& name, const std::string& content) {
  static TemporaryFiles files;
  const std::size_t number = files.paths.size();
  files.paths.push_back(fmt::format("{}/weft-https-{}-{}-{}", testing::TempDir(), getpid(), number, name));
  std::ofstream(files.paths.back()) << content;
  return files.paths.back();
}

Endpoint endpoint_of(const TestServer& server) {
  Endpoint endpoint;
  endpoint.device = "node1";
  endpoint.host = "127.0.0.1";
  endpoint.port = server.port();
  endpoint.tls.pin = pin_of_pem(server.certificate().pem());
  endpoint.request_limit = milliseconds(3'000);
  return endpoint;
}

HttpRequest get(const std::string& path) {
  HttpRequest request;
  request.path = path;
  return request;
}

HttpRequest post(const std::string& path, std::string_view body) {
  HttpRequest request;
  request.method = "POST";
  request.path = path;
  request.body = body;
  return request;
}

ServerAnswer fine(const ServerRequest& /*request*/) { return {.body = "{}"}; }

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One request to a server with the given handler.
Result<HttpReply> ask(TestServer::Handler handler, const std::function<void(Endpoint&)>& change = nullptr) {
  TestServer server(std::move(handler));
  SystemClock clock;
  Endpoint endpoint = endpoint_of(server);
  if (change) change(endpoint);
  HttpsClient client(endpoint, clock);
  return client.request(get("/redfish/v1/"));
}

TEST(HttpsClient, ReturnsStatusHeadersAndBody) {
  const Result<HttpReply> reply = ask([](const ServerRequest&) {
    return ServerAnswer{
        .status = 201,
        .body = R"({"a":1})",
        .headers = {{"location", "/redfish/v1/x"}, {"X-Auth-Token", "t0"}, {"ETag", "\"5\""}, {"Retry-After", "7"}}};
  });
  ASSERT_TRUE(reply.ok()) << reply.error().text();
  EXPECT_EQ(reply->status, 201);
  EXPECT_EQ(reply->body, R"({"a":1})");
  EXPECT_EQ(reply->location, "/redfish/v1/x");
  EXPECT_EQ(reply->token.reveal(), "t0");
  EXPECT_EQ(reply->etag, "\"5\"");
  EXPECT_EQ(reply->retry_after, 7);
}

TEST(HttpsClient, SendsBodiesAndLogins) {
  TestServer server(fine);
  SystemClock clock;
  HttpsClient client(endpoint_of(server), clock);
  const HttpLogin token{Secret("tok"), "admin", Secret("pw")};
  const HttpLogin basic{Secret(), "Aladdin", Secret("open sesame")};
  HttpRequest request = post("/redfish/v1/x", R"({"b":2})");
  request.login = &token;
  request.if_match = "\"9\"";
  ASSERT_TRUE(client.request(request).ok());
  request.method = "PATCH";
  request.login = &basic;
  ASSERT_TRUE(client.request(request).ok());
  request.method = "DELETE";
  request.body = {};
  ASSERT_TRUE(client.request(request).ok());
  std::vector<ServerRequest> seen = server.requests();
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0].method, "POST");
  EXPECT_EQ(seen[0].body, R"({"b":2})");
  EXPECT_EQ(seen[0].headers["x-auth-token"], "tok");
  EXPECT_EQ(seen[0].headers["if-match"], "\"9\"");
  EXPECT_EQ(seen[0].headers["content-type"], "application/json");
  EXPECT_EQ(seen[0].headers.count("authorization"), 0U);
  EXPECT_EQ(seen[1].method, "PATCH");
  EXPECT_EQ(seen[1].body, R"({"b":2})");
  EXPECT_EQ(seen[1].headers["authorization"], "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");  // RFC 7617, section 2
  EXPECT_EQ(seen[2].method, "DELETE");
  EXPECT_EQ(seen[2].body, "");
}

TEST(HttpsClient, TrustsACertificateOfItsCa) {
  const Certificate authority = make_certificate({.name = "Our CA", .alternative = "", .authority = true});
  const Certificate certificate = make_certificate({.issuer = &authority});
  const Certificate stranger = make_certificate({.name = "Other CA", .alternative = "", .authority = true});
  TestServer server(fine, &certificate);
  SystemClock clock;
  Endpoint endpoint = endpoint_of(server);
  endpoint.tls.pin.clear();
  endpoint.tls.ca_file = temporary("ca.pem", authority.pem());
  EXPECT_TRUE(HttpsClient(endpoint, clock).request(get("/redfish/v1/")).ok());
  // An additional pin must match too.
  endpoint.tls.pin = pin_of_pem(certificate.pem());
  EXPECT_TRUE(HttpsClient(endpoint, clock).request(get("/redfish/v1/")).ok());
  endpoint.tls.pin = pin_of_pem(stranger.pem());
  EXPECT_FALSE(HttpsClient(endpoint, clock).request(get("/redfish/v1/")).ok());
  endpoint.tls.pin.clear();
  endpoint.tls.ca_file = temporary("other.pem", stranger.pem());
  const Result<HttpReply> reply = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::refused);
  EXPECT_EQ(reply.error().where, "node1");
  EXPECT_THAT(reply.error().message, HasSubstr("certificate not trusted"));
  EXPECT_THAT(reply.error().message, HasSubstr("`ca`"));
  EXPECT_THAT(reply.error().message, HasSubstr(pin_of_pem(certificate.pem())));
  EXPECT_TRUE(server.requests().size() == 2);
}

TEST(HttpsClient, RefusesSelfSignedExpiredAndMisnamedCertificates) {
  const Certificate expired = make_certificate({.from_s = -7200, .to_s = -3600});
  const Certificate misnamed = make_certificate({.name = "bmc.example", .alternative = "DNS:bmc.example"});
  const Certificate self = make_certificate();
  struct Case {
    const Certificate* certificate;
    bool trusted;  // in the CA file
    std::string says;
  };
  for (const Case& one : {Case{&self, false, "self"}, Case{&expired, true, "expired"}, Case{&misnamed, true, "name"}}) {
    TestServer server(fine, one.certificate);
    SystemClock clock;
    Endpoint endpoint = endpoint_of(server);
    endpoint.tls.pin.clear();
    if (one.trusted) endpoint.tls.ca_file = temporary("own.pem", one.certificate->pem());
    const Result<HttpReply> reply = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
    ASSERT_FALSE(reply.ok()) << one.says;
    EXPECT_EQ(reply.error().code, ErrorCode::refused);
    EXPECT_THAT(reply.error().message, HasSubstr(one.says));
    EXPECT_TRUE(server.requests().empty());
  }
}

TEST(HttpsClient, SelfSignedCertificateInTheCaFileIsTrusted) {
  const Certificate self = make_certificate();
  TestServer server(fine, &self);
  SystemClock clock;
  Endpoint endpoint = endpoint_of(server);
  endpoint.tls.pin.clear();
  endpoint.tls.ca_file = temporary("self.pem", self.pem());
  const Result<HttpReply> reply = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
  EXPECT_TRUE(reply.ok()) << reply.error().text();
}

TEST(HttpsClient, WrongPinIsRefusedNamingThePresentedKey) {
  const std::string other = pin_of_pem(make_certificate().pem());
  TestServer server(fine);
  SystemClock clock;
  Endpoint endpoint = endpoint_of(server);
  const std::string right = endpoint.tls.pin;
  endpoint.tls.pin = other;
  for (const bool verify : {true, false}) {
    endpoint.tls.verify = verify;  // a pin is checked even if verification is off
    const Result<HttpReply> reply = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::refused);
    EXPECT_THAT(reply.error().message, HasSubstr(right));
    EXPECT_THAT(reply.error().message, HasSubstr(other));
  }
  EXPECT_TRUE(server.requests().empty());
}

TEST(HttpsClient, PinsAreNeverTakenForFileNames) {
  const Result<HttpReply> reply = ask(fine, [](Endpoint& endpoint) { endpoint.tls.pin = "/etc/hostname"; });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::invalid_input);
  EXPECT_TRUE(is_pin("sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
  EXPECT_FALSE(is_pin("sha256//AAAA;/etc/hostname"));
  EXPECT_FALSE(is_pin(""));
}

TEST(HttpsClient, VerificationCanBeTurnedOff) {
  const Result<HttpReply> reply = ask(fine, [](Endpoint& endpoint) {
    endpoint.tls.pin.clear();
    endpoint.tls.verify = false;
  });
  EXPECT_TRUE(reply.ok()) << reply.error().text();
}

TEST(HttpsClient, ReportsCaFileProblems) {
  const auto with = [](const std::string& file) {
    return ask(fine, [&](Endpoint& endpoint) {
      endpoint.tls.pin.clear();
      endpoint.tls.ca_file = file;
    });
  };
  const Result<HttpReply> missing = with("/nonexistent/ca.pem");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  const Result<HttpReply> empty = with(temporary("empty.pem", "hello"));
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().code, ErrorCode::invalid_input);
  EXPECT_THAT(empty.error().message, HasSubstr("no PEM certificate"));
}

TEST(HttpsClient, ServerWithoutTlsIsReported) {
  TestServer server(fine, nullptr, true);
  SystemClock clock;
  const Result<HttpReply> reply = HttpsClient(endpoint_of(server), clock).request(get("/redfish/v1/"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::invalid_input);
  EXPECT_THAT(reply.error().message, HasSubstr("does not use TLS on port"));
}

TEST(HttpsClient, UnreachableHostIsUnavailable) {
  std::uint16_t port = 0;
  {
    TestServer server(fine);
    port = server.port();
  }
  SystemClock clock;
  Endpoint endpoint;
  endpoint.device = "node1";
  endpoint.host = "127.0.0.1";
  endpoint.port = port;
  const Result<HttpReply> reply = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
  endpoint.host = "evil.example/@127.0.0.1";
  const Result<HttpReply> odd = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code, ErrorCode::invalid_input);
}

TEST(HttpsClient, TruncatedBodyIsALostConnection) {
  const Result<HttpReply> reply = ask([](const ServerRequest&) {
    return ServerAnswer{.raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\":"};
  });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
  EXPECT_THAT(reply.error().message, HasSubstr("before the response was complete"));
}

TEST(HttpsClient, EndlessBodyIsBounded) {
  const Result<HttpReply> reply = ask([](const ServerRequest&) {
    return ServerAnswer{.stream = [](const Sender& send) {
      const std::string much(65536, 'x');
      if (!send("HTTP/1.1 200 OK\r\n\r\n")) return;
      while (send(much)) {
      }
    }};
  });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::invalid_input);
  EXPECT_THAT(reply.error().message, HasSubstr("larger than 4 MiB"));
}

TEST(HttpsClient, EndlessHeadersAreBounded) {
  const Result<HttpReply> reply = ask([](const ServerRequest&) {
    return ServerAnswer{.stream = [](const Sender& send) {
      if (!send("HTTP/1.1 200 OK\r\n")) return;
      while (send("X-More: and more and more and more\r\n")) {
      }
    }};
  });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::invalid_input);
  EXPECT_THAT(reply.error().message, HasSubstr("KiB of headers"));
}

TEST(HttpsClient, TrickledResponseEndsAtTheTimeout) {
  const auto start = std::chrono::steady_clock::now();
  const Result<HttpReply> reply = ask(
      [](const ServerRequest&) {
        return ServerAnswer{.stream = [](const Sender& send) {
          if (!send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")) return;
          while (send("x")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }};
      },
      [](Endpoint& endpoint) { endpoint.request_limit = milliseconds(400); });
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::timeout);
  EXPECT_LT(seconds_since(start), 60.0);
}

TEST(HttpsClient, NonHttpResponseIsInvalid) {
  for (const std::string& raw : {std::string("\x16\x03\x01 what\n"), std::string("HTTP/1.1 999999 X\r\n\r\n"),
                                 std::string("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n")}) {
    const Result<HttpReply> reply = ask([&](const ServerRequest&) { return ServerAnswer{.raw = raw}; });
    ASSERT_FALSE(reply.ok()) << raw;
    EXPECT_EQ(reply.error().code, ErrorCode::invalid_input) << reply.error().text();
  }
}

TEST(HttpsClient, FollowsRedirectsOnlyWithinTheHost) {
  TestServer* self = nullptr;
  std::string location;
  TestServer server([&](const ServerRequest& request) {
    if (request.path == "/redfish/v1/") return ServerAnswer{.status = 301, .headers = {{"Location", location}}};
    return ServerAnswer{.body = "here"};
  });
  self = &server;
  SystemClock clock;
  HttpsClient client(endpoint_of(server), clock);
  for (const std::string& good :
       {std::string("/redfish/v1/there"), fmt::format("https://127.0.0.1:{}/redfish/v1/there", self->port())}) {
    location = good;
    const Result<HttpReply> reply = client.request(get("/redfish/v1/"));
    ASSERT_TRUE(reply.ok()) << reply.error().text();
    EXPECT_EQ(reply->body, "here");
  }
  for (const char* bad :
       {"https://evil.example/redfish/v1/", "http://127.0.0.1/redfish/v1/", "//evil.example/redfish/v1/",
        "/redfish/../../etc/passwd", "https://127.0.0.1:1/redfish/v1/", "file:///etc/passwd"}) {
    location = bad;
    const Result<HttpReply> reply = client.request(get("/redfish/v1/"));
    ASSERT_FALSE(reply.ok()) << bad;
    EXPECT_EQ(reply.error().code, ErrorCode::refused);
  }
  location = "/redfish/v1/";
  const Result<HttpReply> circle = client.request(get("/redfish/v1/"));
  ASSERT_FALSE(circle.ok());
  EXPECT_EQ(circle.error().code, ErrorCode::invalid_input);
}

TEST(HttpsClient, NeverRepeatsStateChangingRequests) {
  // The connection is kept after the first request; then it is closed during each request, without a response.
  std::atomic<bool> dies{false};
  TestServer server([&](const ServerRequest&) {
    if (dies) return ServerAnswer{.stream = [](const Sender&) {}};
    return ServerAnswer{.body = "{}"};
  });
  SystemClock clock;
  HttpsClient client(endpoint_of(server), clock);
  for (const char* method : {"POST", "PATCH"}) {
    dies = false;
    ASSERT_TRUE(client.request(get("/redfish/v1/")).ok());
    dies = true;
    HttpRequest request = post("/redfish/v1/reset", R"({"ResetType":"ForceOff"})");
    request.method = method;
    const Result<HttpReply> reply = client.request(request);
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::unavailable) << reply.error().text();
    EXPECT_EQ(server.count(method), 1);
  }
}

TEST(HttpsClient, StoppedClockStopsEverythingButLogout) {
  TestServer server(fine);
  SystemClock clock;
  HttpsClient client(endpoint_of(server), clock);
  clock.stop();
  const Result<HttpReply> reply = client.request(get("/redfish/v1/"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::unavailable);
  EXPECT_EQ(reply.error().message, "stopped");
  EXPECT_TRUE(server.requests().empty());
  HttpRequest bye = get("/redfish/v1/x");
  bye.method = "DELETE";
  bye.farewell = true;
  EXPECT_TRUE(client.request(bye).ok());
  EXPECT_EQ(server.count("DELETE"), 1);
}

TEST(HttpsClientConcurrent, StopEndsARequestInFlight) {
  TestServer server([](const ServerRequest&) { return ServerAnswer{.body = "{}", .delay_ms = 120'000}; });
  SystemClock clock;
  Endpoint endpoint = endpoint_of(server);
  endpoint.request_limit = milliseconds(60'000);
  std::thread stopper([&] {
    while (server.requests().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    clock.stop();
  });
  const Result<HttpReply> reply = HttpsClient(endpoint, clock).request(get("/redfish/v1/"));
  stopper.join();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().message, "stopped");  // not the timeout message
}

TEST(HttpsClientConcurrent, AtMostFourInFlightPerBmc) {
  TestServer server([](const ServerRequest& request) { return ServerAnswer{.body = request.path, .delay_ms = 20}; });
  SystemClock clock;
  std::vector<std::string> paths;
  for (int i = 0; i < 12; ++i) paths.push_back(fmt::format("/redfish/v1/{}", i));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int session = 0; session < 4; ++session) {
    threads.emplace_back([&] {
      HttpsClient client(endpoint_of(server), clock);
      const std::vector<Result<HttpReply>> replies = client.get_many(paths, nullptr);
      for (std::size_t i = 0; i < replies.size(); ++i) right += replies[i].ok() && replies[i]->body == paths[i] ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 48);
  EXPECT_LE(server.most_in_flight(), 4);
  EXPECT_GE(server.most_in_flight(), 2);  // four, if the machine is fast enough
}

TEST(HttpsClient, ProxyOfTheEnvironmentIsNotUsed) {
  setenv("https_proxy", "http://127.0.0.1:1", 1);
  const Result<HttpReply> direct = ask(fine);
  EXPECT_TRUE(direct.ok()) << direct.error().text();
  unsetenv("https_proxy");
  const Result<HttpReply> through = ask(fine, [](Endpoint& endpoint) { endpoint.proxy = "socks5h://127.0.0.1:1"; });
  ASSERT_FALSE(through.ok());
  EXPECT_EQ(through.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weft::oob

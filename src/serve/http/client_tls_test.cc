// The HTTP client against servers over TLS: which it trusts, what it says about the others, and that no token gets to
// a server that it has not verified.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "serve/http/client.h"
#include "serve/http/test_tls.h"

namespace weft::serve {
namespace {

using testing::HasSubstr;

class HttpClientTlsTest : public TlsServerTest {
 protected:
  [[nodiscard]] Endpoint endpoint() const {
    Endpoint out = *Endpoint::from_url(fmt::format("https://127.0.0.1:{}", server_->port()));
    out.trust.ca_file = authority_.path();
    return out;
  }
  // Runs the server while the client, which blocks, is in a thread of its own.
  Result<HttpResponse> send(const Endpoint& endpoint, const std::string& method = "GET") {
    ClientRequest request;
    request.endpoint = endpoint;
    request.method = method;
    request.target = "/a";
    Result<HttpResponse> response = Error{};
    std::atomic<bool> done{false};
    std::thread client([&] {
      response = send_request(request);
      done = true;
    });
    EXPECT_TRUE(run_until([&] { return done.load(); }));
    client.join();
    return response;
  }
  [[nodiscard]] Error error_of(const Endpoint& endpoint) {
    const Result<HttpResponse> response = send(endpoint);
    EXPECT_FALSE(response.ok());
    return response.ok() ? Error{} : response.error();
  }
};

TEST_F(HttpClientTlsTest, ConcurrentRequestWithAToken) {
  start_tls();
  Endpoint to = endpoint();
  to.token = "weft_t_abc";
  const Result<HttpResponse> response = send(to, "POST");
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->body, "POST /a ");
  EXPECT_EQ(last_request_.authorization, "Bearer weft_t_abc");
  EXPECT_EQ(last_request_.host, fmt::format("127.0.0.1:{}", server_->port()));
  Endpoint local = Endpoint::unix_socket(options_.socket_path);
  local.token = "weft_t_abc";
  ASSERT_TRUE(send(local).ok());
  EXPECT_EQ(last_request_.authorization, "") << "the kernel says who it is";
  to.token = "a\r\nX: y";
  EXPECT_EQ(error_of(to).code, ErrorCode::invalid_input);
}

TEST_F(HttpClientTlsTest, ConcurrentServersThatAreNotTrusted) {
  start_tls();
  Endpoint to = endpoint();
  to.token = "weft_t_secret";
  to.trust.ca_file.clear();
  Error error = error_of(to);
  EXPECT_EQ(error.code, ErrorCode::refused);
  EXPECT_THAT(error.text(), HasSubstr("the server's certificate is not trusted: "));
  EXPECT_THAT(error.text(), HasSubstr("its fingerprint is sha256:" + options_.tls->fingerprint()));

  to.trust.fingerprint = std::string(64, '0');
  error = error_of(to);
  EXPECT_EQ(error.code, ErrorCode::refused);
  EXPECT_THAT(error.text(), HasSubstr("and not the trusted one, sha256:0000"));

  to = endpoint();
  to.host = "127.0.0.2";  // every loopback address reaches a server on all of them; this one is not in the certificate
  server_.reset();
  options_.listeners = {{"0.0.0.0", 0}};
  start();
  to.port = server_->port();
  error = error_of(to);
  EXPECT_EQ(error.code, ErrorCode::refused);
  EXPECT_THAT(error.text(), HasSubstr("the server's certificate is not for 127.0.0.2"));
  EXPECT_EQ(server_->counters().requests, 0U) << "no request and no token was sent";

  to.trust = {};
  to.trust.fingerprint = options_.tls->fingerprint();
  EXPECT_TRUE(send(to).ok()) << "a pin decides alone";
}

TEST_F(HttpClientTlsTest, ConcurrentExpiredCertificate) {
  CertificatePlan plan;
  plan.common_name = "old";
  plan.names = {"127.0.0.1"};
  plan.starts = Duration(-2 * kTestDay.count());
  plan.ends = Duration(-kTestDay.count());
  files_ = authority_.issue("old", plan);
  start_tls();
  EXPECT_THAT(error_of(endpoint()).text(), HasSubstr("the server's certificate has expired"));
}

TEST_F(HttpClientTlsTest, ConcurrentClientCertificates) {
  files_.client_ca = authority_.path();
  start_tls();
  Endpoint to = endpoint();
  const TlsFiles ada = authority_.issue_client("ada");
  to.trust.certificate = ada.certificate;
  to.trust.key = ada.key;
  ASSERT_TRUE(send(to).ok());
  ASSERT_TRUE(last_request_.certificate.has_value());
  EXPECT_EQ(last_request_.certificate->name, "ada");
  const TestAuthority other(folder_.path(), "other");
  const TlsFiles stranger = other.issue_client("stranger");
  to.trust.certificate = stranger.certificate;
  to.trust.key = stranger.key;
  const std::uint64_t before = server_->counters().requests;
  const Error error = error_of(to);
  EXPECT_EQ(error.code, ErrorCode::refused);
  EXPECT_THAT(error.text(), HasSubstr("the server ended TLS: tlsv1 alert unknown ca"));
  EXPECT_EQ(server_->counters().requests, before);
  ASSERT_EQ(::chmod(stranger.key.c_str(), 0644), 0);
  EXPECT_THAT(error_of(to).text(), HasSubstr("the key has mode 0644"));
  to.trust.key = folder_.file("absent");
  EXPECT_THAT(error_of(to).text(), HasSubstr("No such file"));
}

TEST_F(HttpClientTlsTest, ConcurrentEventsOverTls) {
  handler_ = [&](const HttpRequest&, const Responder& responder) {
    EventStream stream = responder.open_stream();
    for (std::uint64_t id = 1; id <= 100; ++id) (void)stream.send(id, "e", std::string(5'000, 'x'));
    stream.close();
  };
  start_tls();
  FollowRequest follow;
  follow.endpoint = endpoint();
  std::atomic<bool> done{false};
  std::uint64_t last = 0;
  Result<StreamEnd> end = Error{};
  std::thread client([&] {
    end = follow_events(follow, [&](const ServerEvent& event) {
      last = event.id;
      return true;
    });
    done = true;
  });
  EXPECT_TRUE(run_until([&] { return done.load(); }));
  client.join();
  ASSERT_TRUE(end.ok()) << end.error().text();
  EXPECT_EQ(*end, StreamEnd::server);
  EXPECT_EQ(last, 100U);
}

TEST_F(HttpClientTlsTest, ConcurrentLargeBodyIsRefusedWithAResponse) {
  start_tls();
  ClientRequest request;
  request.endpoint = endpoint();
  request.method = "POST";
  request.body.assign(std::size_t{9} << 20U, 'x');
  std::atomic<bool> done{false};
  Result<HttpResponse> response = Error{};
  std::thread client([&] {
    response = send_request(request);
    done = true;
  });
  EXPECT_TRUE(run_until([&] { return done.load(); }));
  client.join();
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->status, 413);
}

TEST_F(HttpClientTlsTest, NoServerListens) {
  start_tls();
  Endpoint to = endpoint();
  server_.reset();
  ClientRequest request;
  request.endpoint = to;
  Result<HttpResponse> response = send_request(request);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::unavailable);
  EXPECT_EQ(response.error().text(),
            fmt::format("no weft serve is listening on https://127.0.0.1:{} (connection refused)", to.port));
  request.endpoint.host = "weft.invalid";  // RFC 6761: never resolves
  response = send_request(request);
  ASSERT_FALSE(response.ok());
  EXPECT_THAT(response.error().text(), HasSubstr("cannot resolve the host name weft.invalid: "));
}

// A socket that accepts and does what a test wants, without TLS.
class OddServer {
 public:
  explicit OddServer(std::string reply = {}) {
    Result<FileDescriptor> socket = listen_tcp({"127.0.0.1", 0});
    EXPECT_TRUE(socket.ok());
    socket_ = std::move(*socket);
    if (reply.empty()) return;
    thread_ = std::thread([this, reply = std::move(reply)] {
      if (wait_until_ready(socket_.get(), POLLIN, test_deadline()) != 0) return;
      const FileDescriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::array<char, 4096> buffer{};
      (void)::recv(client.get(), buffer.data(), buffer.size(), 0);
      (void)::send(client.get(), reply.data(), reply.size(), MSG_NOSIGNAL);
    });
  }
  ~OddServer() {
    if (thread_.joinable()) thread_.join();
  }
  OddServer(const OddServer&) = delete;
  OddServer& operator=(const OddServer&) = delete;
  [[nodiscard]] Endpoint endpoint() const {
    return *Endpoint::from_url(fmt::format("https://127.0.0.1:{}", port_of(socket_.get())));
  }

 private:
  FileDescriptor socket_;
  std::thread thread_;
};

TEST(HttpClientTls, TimesOutOnASilentServer) {
  const OddServer server;
  ClientRequest request;
  request.endpoint = server.endpoint();
  request.timeout = milliseconds(30);
  const Result<HttpResponse> response = send_request(request);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::timeout);
}

TEST(HttpClientTls, ConcurrentServerWithoutTls) {
  const OddServer server("HTTP/1.1 400 Bad Request\r\n\r\n");
  ClientRequest request;
  request.endpoint = server.endpoint();
  const Result<HttpResponse> response = send_request(request);
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::refused);
  EXPECT_THAT(response.error().text(), HasSubstr("no TLS with the server: "));
}

TEST(Endpoint, ReadsUrls) {
  struct Valid {
    const char* url;
    const char* host;
    int port;
    const char* text;
  };
  const Valid valid[] = {{"https://weft.example.org", "weft.example.org", 8443, "https://weft.example.org:8443"},
                         {"HTTPS://Weft.Example.org:443/", "weft.example.org", 443, "https://weft.example.org:443"},
                         {"https://192.0.2.7:1", "192.0.2.7", 1, "https://192.0.2.7:1"},
                         {"https://[2001:db8::7]", "2001:db8::7", 8443, "https://[2001:db8::7]:8443"},
                         {"https://[::1]:65535/", "::1", 65535, "https://[::1]:65535"}};
  for (const Valid& one : valid) {
    const Result<Endpoint> endpoint = Endpoint::from_url(one.url);
    ASSERT_TRUE(endpoint.ok()) << one.url;
    EXPECT_EQ(endpoint->host, one.host);
    EXPECT_EQ(endpoint->port, one.port);
    EXPECT_EQ(endpoint->text(), one.text);
    EXPECT_FALSE(endpoint->is_local());
  }
  for (const char* wrong : {"",
                            "weft.example.org",
                            "http://weft.example.org",
                            "https://",
                            "https:///",
                            "https://a/b",
                            "https://a?b",
                            "https://a#b",
                            "https://u@a",
                            "https://u:p@a",
                            "https://a:",
                            "https://a:0",
                            "https://a:65536",
                            "https://a:x",
                            "https://a b",
                            "https://[::1",
                            "https://[::z]",
                            "https://[::1]x",
                            "https://[::1]:",
                            "https://a\\b",
                            "ftp://a"}) {
    EXPECT_FALSE(Endpoint::from_url(wrong).ok()) << wrong;
  }
  EXPECT_THAT(Endpoint::from_url("http://a").error().text(), HasSubstr("plain HTTP on its Unix socket only"));
  EXPECT_EQ(Endpoint::unix_socket("/run/weft/api.sock").text(), "/run/weft/api.sock");
  EXPECT_TRUE(Endpoint::unix_socket("/run/weft/api.sock").is_local());
}

}  // namespace
}  // namespace weft::serve

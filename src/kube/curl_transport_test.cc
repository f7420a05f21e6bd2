#include "kube/curl_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace weft::kube {
namespace {

// A server that does exactly what a test says with each connection, without TLS. The handler gets the connection and
// the request's headers and body.
class RawServer {
 public:
  using Handler = std::function<void(int fd, const std::string& request)>;
  explicit RawServer(Handler handler) : handler_(std::move(handler)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    ended_ = true;
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] int requests() const { return requests_.load(); }
  [[nodiscard]] bool ended() const { return ended_.load(); }
  static void say(int fd, const std::string& text) { (void)::send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

 private:
  void serve() {
    while (!ended_) {
      if (!wait_for(listener_)) continue;
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      // One connection at a time, with as many requests as it brings.
      for (std::string request = read_request(fd); !request.empty(); request = read_request(fd)) {
        ++requests_;
        handler_(fd, request);
        char probe = 0;
        if (::recv(fd, &probe, 1, MSG_PEEK | MSG_DONTWAIT) == 0) break;
      }
      ::close(fd);
    }
  }
  bool wait_for(int fd) const {
    pollfd one{fd, POLLIN, 0};
    return !ended_ && ::poll(&one, 1, 20) == 1;
  }
  std::string read_request(int fd) const {
    std::string text;
    while (!ended_) {
      const std::size_t head = text.find("\r\n\r\n");
      if (head != std::string::npos) {
        const std::size_t at = text.find("Content-Length: ");
        const std::size_t body = at == std::string::npos ? 0 : std::stoul(text.substr(at + 16));
        if (text.size() >= head + 4 + body) return text;
      }
      if (!wait_for(fd)) continue;
      char block[4096];
      const ssize_t got = ::recv(fd, block, sizeof block, 0);
      if (got <= 0) return {};
      text.append(block, static_cast<std::size_t>(got));
    }
    return {};
  }

  Handler handler_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> ended_{false};
  std::atomic<int> requests_{0};
  std::thread thread_;
};

class FixedCredentials final : public CredentialSource {
 public:
  [[nodiscard]] Result<Credentials> current() override { return now; }
  void reject() override { ++rejected; }
  Credentials now;
  int rejected = 0;
};

class KubeTransport : public ::testing::Test {
 protected:
  Transport& connect(const std::string& url) {
    ClusterAccess access;
    access.server = url;
    transport_ = std::make_unique<CurlTransport>(access, credentials_, clock_);
    return *transport_;
  }
  static ApiRequest get(Duration deadline = milliseconds(20'000)) {
    ApiRequest request;
    request.target = "/api";
    request.deadline = deadline;
    request.max_bytes = 10'000;
    return request;
  }
  static ApiRequest post() {
    ApiRequest request = get();
    request.method = "POST";
    request.body = "{}";
    request.content_type = "application/json";
    return request;
  }
  oob::SystemClock clock_;
  FixedCredentials credentials_;
  std::unique_ptr<CurlTransport> transport_;
};

TEST_F(KubeTransport, SendsAndReads) {
  std::string seen;
  RawServer server([&](int fd, const std::string& request) {
    seen = request;
    RawServer::say(fd, "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nContent-Length: 2\r\n\r\n{}");
  });
  const Result<ApiResponse> response = connect(server.url()).send(post());
  ASSERT_TRUE(response.ok()) << response.error().text();
  EXPECT_EQ(response->status, 429);
  EXPECT_EQ(response->retry_after, 7);
  EXPECT_EQ(response->body, "{}");
  EXPECT_TRUE(seen.starts_with("POST /api HTTP/1.1\r\n")) << seen;
  EXPECT_NE(seen.find("Accept: application/json\r\n"), std::string::npos);
  EXPECT_EQ(seen.find("Expect:"), std::string::npos);
}

TEST_F(KubeTransport, NoServerMeansNotExecuted) {
  std::string url;
  {
    const RawServer server([](int, const std::string&) {});
    url = server.url();
  }
  const Result<ApiResponse> response = connect(url).send(post());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::unavailable) << response.error().text();
}

TEST_F(KubeTransport, HostileAnswers) {
  struct Case {
    std::string answer;
    ErrorCode code;
  };
  const std::vector<Case> cases = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"kind\"", ErrorCode::timeout},          // cut off
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"ki", ErrorCode::timeout},  // cut off
      {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + std::string(20'000, 'x'), ErrorCode::invalid_input},
      {"HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", ErrorCode::invalid_input},
      {"SSH-2.0-OpenSSH_9.2\r\n", ErrorCode::invalid_input},
      {"", ErrorCode::timeout},
  };
  for (const Case& one : cases) {
    RawServer server([&](int fd, const std::string&) {
      RawServer::say(fd, one.answer);
      ::shutdown(fd, SHUT_RDWR);
    });
    const Result<ApiResponse> response = connect(server.url()).send(get());
    ASSERT_FALSE(response.ok()) << one.answer.substr(0, 60);
    EXPECT_EQ(response.error().code, one.code) << one.answer.substr(0, 60) << response.error().text();
  }
}

TEST_F(KubeTransport, AWriteIsSentOnceEvenIfAKeptConnectionDies) {
  RawServer server([&](int fd, const std::string& request) {
    if (request.starts_with("GET")) return RawServer::say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    ::shutdown(fd, SHUT_RDWR);
  });
  Transport& transport = connect(server.url());
  ASSERT_TRUE(transport.send(get()).ok());
  const Result<ApiResponse> response = transport.send(post());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::timeout) << response.error().text();
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(KubeTransport, ASilentServerIsLeftAtTheDeadline) {
  RawServer* running = nullptr;
  RawServer server([&](int, const std::string&) {
    while (!running->ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  running = &server;
  const auto began = std::chrono::steady_clock::now();
  const Result<ApiResponse> response = connect(server.url()).send(get(milliseconds(300)));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
}

TEST_F(KubeTransport, RedirectsAreNotFollowed) {
  RawServer server([](int fd, const std::string&) {
    RawServer::say(fd, "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  });
  const Result<ApiResponse> response = connect(server.url()).send(get());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 302);
}

TEST_F(KubeTransport, CredentialsAreNotSentWithoutTls) {
  credentials_.now.token = Secret("t");
  RawServer server([](int, const std::string&) {});
  const Result<ApiResponse> response = connect(server.url()).send(get());
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::refused);
  EXPECT_EQ(server.requests(), 0);
}

TEST_F(KubeTransport, RejectedCredentialsAreReadAgainOnce) {
  RawServer server(
      [](int fd, const std::string&) { RawServer::say(fd, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"); });
  const Result<ApiResponse> response = connect(server.url()).send(post());
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->status, 401);
  EXPECT_EQ(credentials_.rejected, 1);
  EXPECT_EQ(server.requests(), 2);
}

TEST_F(KubeTransport, ReadsAStreamAsItArrives) {
  std::atomic<int> phase{0};
  RawServer* running = nullptr;
  RawServer server([&](int fd, const std::string&) {
    RawServer::say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
    while (phase < 1 && !running->ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    RawServer::say(fd, "3\r\ntwo\r\n0\r\n\r\n");
  });
  running = &server;
  Result<std::unique_ptr<ResponseStream>> stream = connect(server.url()).open(get());
  ASSERT_TRUE(stream.ok()) << stream.error().text();
  EXPECT_EQ((*stream)->status(), 200);
  Result<StreamBytes> bytes = (*stream)->read(milliseconds(20'000));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->bytes, "one");
  bytes = (*stream)->read(milliseconds(30));  // nothing yet
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->bytes, "");
  EXPECT_EQ(bytes->state, StreamState::open);
  phase = 1;
  bytes = (*stream)->read(milliseconds(20'000));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->bytes, "two");
  bytes = (*stream)->read(milliseconds(20'000));
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->state, StreamState::closed);
}

TEST_F(KubeTransport, ABrokenStreamIsAnErrorAndAnEndlessOneIsBounded) {
  RawServer broken([&](int fd, const std::string&) {
    RawServer::say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n5\r\nt");
    ::shutdown(fd, SHUT_RDWR);
  });
  Result<std::unique_ptr<ResponseStream>> stream = connect(broken.url()).open(get());
  ASSERT_TRUE(stream.ok());
  Result<StreamBytes> bytes = (*stream)->read(milliseconds(20'000));
  while (bytes.ok() && bytes->state == StreamState::open) bytes = (*stream)->read(milliseconds(20'000));
  EXPECT_FALSE(bytes.ok());

  RawServer* running = nullptr;
  RawServer endless([&](int fd, const std::string&) {
    RawServer::say(fd, "HTTP/1.1 200 OK\r\n\r\n");
    const std::string block(1U << 16U, 'x');
    pollfd one{fd, POLLOUT, 0};
    while (!running->ended()) {
      if (::poll(&one, 1, 5) == 1 && ::send(fd, block.data(), block.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
    }
  });
  running = &endless;
  stream = connect(endless.url()).open(get());
  ASSERT_TRUE(stream.ok());
  for (int i = 0; i < 20; ++i) {
    bytes = (*stream)->read(milliseconds(20'000));
    ASSERT_TRUE(bytes.ok());
    ASSERT_LE(bytes->bytes.size(), std::size_t{4} << 20U);
  }
}

}  // namespace
}  // namespace weft::kube

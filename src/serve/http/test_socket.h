// For tests of the HTTP server: a folder for the socket, raw client connections that send any bytes, and a loop that
// runs the server in the test's thread until a condition holds.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/socket.h"
#include "serve/http/server.h"
#include "serve/http/unix_socket.h"

namespace weft::serve {

inline Deadline test_deadline() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

// A folder of its own, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = "/tmp/weft-http-XXXXXX";  // short: a socket's path has at most 107 bytes
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// A client connection without any HTTP.
class RawClient {
 public:
  explicit RawClient(const std::string& path) {
    Result<FileDescriptor> socket = connect_unix(path, test_deadline());
    if (socket.ok()) socket_ = std::move(*socket);
    EXPECT_TRUE(socket_.ok());
  }

  // As much as the socket has space for now; false if the server has closed the connection.
  bool send(std::string_view& bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void send_all(std::string_view bytes) {
    EXPECT_TRUE(send(bytes));
    EXPECT_TRUE(bytes.empty()) << "more than the socket's buffer";
  }
  // Reads what is there.
  void receive() {
    std::array<char, 65536> buffer{};
    for (;;) {
      const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count > 0) {
        received_.append(buffer.data(), static_cast<std::size_t>(count));
        continue;
      }
      if (count == 0 || errno != EAGAIN) closed_ = true;
      return;
    }
  }
  [[nodiscard]] bool has(std::string_view text) {
    receive();
    return received_.find(text) != std::string::npos;
  }
  [[nodiscard]] bool is_closed() {
    receive();
    return closed_;
  }
  [[nodiscard]] const std::string& received() const { return received_; }
  [[nodiscard]] std::string take_received() { return std::exchange(received_, {}); }
  void half_close() const { (void)::shutdown(socket_.get(), SHUT_WR); }
  void close() { socket_.close(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  std::string received_;
  bool closed_ = false;
};

// A server in the test's thread. The handler is `handler_`; unless a test replaces it, it echoes the request.
class ServerTest : public testing::Test {
 protected:
  void start() {
    options_.socket_path = folder_.file("api.sock");
    Result<std::unique_ptr<HttpServer>> server =
        HttpServer::listen(options_, [this](HttpRequest request, const Responder& responder) {
          last_request_ = request;
          handler_(std::move(request), responder);
        });
    ASSERT_TRUE(server.ok()) << server.error().text();
    server_ = std::move(*server);
  }
  [[nodiscard]] std::unique_ptr<RawClient> connect() const { return std::make_unique<RawClient>(options_.socket_path); }

  // Runs the server until the condition holds; false if it never does.
  bool run_until(const std::function<bool()>& condition) {
    for (const Deadline deadline = test_deadline(); std::chrono::steady_clock::now() < deadline;) {
      if (condition()) return true;
      (void)server_->run_once(milliseconds(5));
    }
    return condition();
  }
  // Sends the bytes on a new connection and returns everything that comes back until it closes.
  std::string talk(std::string_view bytes) {
    const std::unique_ptr<RawClient> client = connect();
    EXPECT_TRUE(run_until([&] { return !client->send(bytes) || bytes.empty(); }));
    client->half_close();
    EXPECT_TRUE(run_until([&] { return client->is_closed(); })) << client->received();
    return client->received();
  }
  static std::string get(std::string_view target, std::string_view more_headers = {}) {
    std::string out = "GET ";
    return out.append(target).append(" HTTP/1.1\r\nHost: x\r\n").append(more_headers).append("\r\n");
  }

  TestFolder folder_;
  HttpOptions options_;
  HttpRequest last_request_;
  HttpHandler handler_ = [](const HttpRequest& request, const Responder& responder) {
    responder.respond({200, "text/plain", request.method + " " + request.path + " " + request.body, {}});
  };
  std::unique_ptr<HttpServer> server_;
};

}  // namespace weft::serve

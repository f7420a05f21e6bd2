// For tests of commands: a server of the API in a thread, over TLS and on a Unix socket, whose answers a test sets by
// method and path; and runs of weft with a configuration of their own.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/framework/run.h"
#include "serve/http/certificate.h"
#include "serve/http/server.h"
#include "serve/http/test_socket.h"

namespace weft::cli {

class TestServer {
 public:
  explicit TestServer(const std::string& folder) {
    Result<serve::SelfSigned> made = serve::make_self_signed(folder, {"localhost"});
    EXPECT_TRUE(made.ok());
    if (!made.ok()) return;
    certificate_ = made->files.certificate;
    fingerprint_ = made->fingerprint;
    Result<std::shared_ptr<serve::TlsContext>> tls = serve::TlsContext::load(made->files);
    EXPECT_TRUE(tls.ok());
    serve::HttpOptions options;
    socket_ = folder + "/api.sock";
    options.socket_path = socket_;
    options.listeners.push_back({"127.0.0.1", 0});
    if (tls.ok()) options.tls = *tls;
    Result<std::unique_ptr<serve::HttpServer>> server = serve::HttpServer::listen(
        options,
        [this](const serve::HttpRequest& request, const serve::Responder& responder) { answer(request, responder); });
    EXPECT_TRUE(server.ok());
    if (!server.ok()) return;
    server_ = std::move(*server);
    port_ = server_->port();
    thread_ = std::thread([this] { server_->run_for(milliseconds(600'000)); });
  }
  ~TestServer() {
    if (!thread_.joinable()) return;
    server_->post([this] { server_->interrupt(); });
    thread_.join();
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::string url() const { return "https://localhost:" + std::to_string(port_); }
  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] const std::string& certificate() const { return certificate_; }
  [[nodiscard]] std::string fingerprint() const { return "sha256:" + fingerprint_; }

  // The next answer to "GET /api/v1/jobs"; the last one set is repeated.
  void set(const std::string& request, serve::HttpResponse response) {
    const std::lock_guard guard(mutex_);
    answers_[request].push_back(std::move(response));
  }
  void set(const std::string& request, int status, const std::string& body) {
    serve::HttpResponse response;
    response.status = status;
    response.body = body;
    if (status >= 400 && body.starts_with("{\"detail\"")) response.content_type = "application/problem+json";
    set(request, std::move(response));
  }
  // What was asked: "GET /api/v1/jobs Bearer weft_a_1 BODY".
  [[nodiscard]] std::vector<std::string> take_requests() {
    const std::lock_guard guard(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  void answer(const serve::HttpRequest& request, const serve::Responder& responder) {
    const std::lock_guard guard(mutex_);
    const std::string key = request.method + " " + request.path;
    if (request.path == "/healthz") return responder.respond({});
    std::string line = key;
    for (const std::string& part : {request.authorization, request.body}) {
      if (!part.empty()) line.append(" ").append(part);
    }
    requests_.push_back(std::move(line));
    const auto found = answers_.find(key);
    if (found == answers_.end()) return responder.respond(serve::problem(404, "not set: " + key));
    const serve::HttpResponse response = found->second.front();
    if (found->second.size() > 1) found->second.pop_front();
    responder.respond(response);
  }

  std::string socket_;
  std::string certificate_;
  std::string fingerprint_;
  std::uint16_t port_ = 0;
  std::unique_ptr<serve::HttpServer> server_;
  std::thread thread_;
  std::mutex mutex_;
  std::map<std::string, std::deque<serve::HttpResponse>> answers_;
  std::vector<std::string> requests_;
};

// A user's terminal: runs weft inside this process.
struct TestTerminal {
  explicit TestTerminal(const std::string& folder)
      : variables{{"HOME", folder}, {"WEFT_CONFIG", folder + "/config.yaml"}, {"XDG_STATE_HOME", folder + "/state"}} {}

  Exit run(const std::vector<std::string>& words) {
    out.clear();
    err.clear();
    Io io;
    io.write_out = [this](std::string_view text) -> Status {
      out += text;
      return {};
    };
    io.write_err = [this](std::string_view text) { err += text; };
    io.environment = [this](const char* name) { return variables.contains(name) ? variables[name] : std::string(); };
    io.read_line = [this] { return std::exchange(input, {}); };
    io.in_is_terminal = is_terminal;
    io.err_is_terminal = is_terminal;
    return run_weft(words, io);
  }

  std::string out;
  std::string err;
  std::string input;
  bool is_terminal = false;
  std::map<std::string, std::string> variables;
};

class ServerCommandTest : public testing::Test {
 protected:
  serve::TestFolder folder_;
  TestServer server_{folder_.path()};
  TestTerminal weft_{folder_.path()};
};

}  // namespace weft::cli

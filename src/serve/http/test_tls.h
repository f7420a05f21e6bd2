// For tests of TLS: an authority with certificates for a server and for clients, in a folder, and both ends of a
// connection in memory.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "serve/http/certificate.h"
#include "serve/http/test_socket.h"
#include "serve/http/tls_context.h"

namespace weft::serve {

inline constexpr Duration kTestDay = milliseconds(24 * 3'600'000);

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& folder, const std::string& name = "ca",
                         Duration ends = CertificatePlan().ends)
      : folder_(folder), name_(name) {
    CertificatePlan plan;
    plan.ends = ends;
    plan.common_name = "test authority " + name;
    plan.is_authority = true;
    Result<KeyPair> made = make_certificate(plan);
    EXPECT_TRUE(made.ok());
    if (!made.ok()) return;
    pair_ = std::move(*made);
    EXPECT_TRUE(write_file(path(), to_pem(pair_.certificate.get())).ok());
  }

  [[nodiscard]] std::string path() const { return folder_ + "/" + name_ + ".pem"; }

  // Writes NAME.pem and NAME.key; returns their paths.
  TlsFiles issue(const std::string& name, const CertificatePlan& plan) const {
    TlsFiles files{folder_ + "/" + name + ".pem", folder_ + "/" + name + ".key", {}};
    const Result<KeyPair> made = make_certificate(plan, &pair_);
    EXPECT_TRUE(made.ok());
    if (!made.ok()) return files;
    EXPECT_TRUE(write_file(files.certificate, to_pem(made->certificate.get())).ok());
    EXPECT_TRUE(write_file(files.key, to_pem(made->key.get())).ok());
    EXPECT_EQ(::chmod(files.key.c_str(), 0600), 0);
    return files;
  }
  [[nodiscard]] TlsFiles issue_server(const std::string& name = "server") const {
    CertificatePlan plan;
    plan.common_name = name;
    plan.names = {"localhost", "127.0.0.1"};
    return issue(name, plan);
  }
  [[nodiscard]] TlsFiles issue_client(const std::string& name, bool expired = false) const {
    CertificatePlan plan;
    plan.common_name = name;
    plan.organizations = {"sre", "research"};
    plan.for_clients = true;
    if (expired) {
      plan.starts = Duration(-2 * kTestDay.count());
      plan.ends = Duration(-kTestDay.count());
    }
    return issue(name, plan);
  }

 private:
  std::string folder_;
  std::string name_;
  KeyPair pair_;
};

// Carries bytes between two channels, at most `step` at a time, until neither has any or one has failed.
inline void exchange(TlsChannel& client, TlsChannel& server, std::string& to_client, std::string& to_server,
                     std::size_t step = 1'000'000) {
  if (client.state() == TlsChannel::State::handshaking) (void)client.receive({}, to_client);
  const auto carry = [&](TlsChannel& from, TlsChannel& to, std::string& plain) {
    const std::string bytes = std::exchange(from.output(), {});
    for (std::size_t at = 0; at < bytes.size(); at += step)
      (void)to.receive(std::string_view(bytes).substr(at, step), plain);
    return !bytes.empty();
  };
  while (carry(client, server, to_server) || carry(server, client, to_client)) {
  }
}

// A TCP connection to the server, and a TLS client on it; both can be used without the other.
class TlsTestClient {
 public:
  explicit TlsTestClient(std::uint16_t port) {
    const Lookup found = look_up_host("127.0.0.1", port, SOCK_STREAM);
    if (found.error == 0) socket_ = std::move(connect_socket(*found.list, test_deadline()).socket);
    EXPECT_TRUE(socket_.ok());
  }
  TlsTestClient(std::uint16_t port, const TlsClientContext& context) : TlsTestClient(port) {
    tls_ = context.open("localhost");
    (void)tls_->receive({}, received_);
  }

  // Moves what can be moved now.
  void pump() {
    if (!socket_.ok()) return;
    if (tls_) unsent_ += std::exchange(tls_->output(), {});
    while (!unsent_.empty()) {
      const ssize_t count = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count <= 0) break;
      unsent_.erase(0, static_cast<std::size_t>(count));
    }
    std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
    while (reads_) {
      const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (count == 0 || (count < 0 && errno != EAGAIN)) closed_ = true;
      if (count <= 0) break;
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(count));
      if (tls_) {
        (void)tls_->receive(bytes, received_);
      } else {
        received_ += bytes;
      }
    }
  }
  void send(std::string_view text) {
    if (tls_ && tls_->state() == TlsChannel::State::open) {
      tls_->send(text);
    } else {
      unsent_ += text;
    }
    pump();
  }
  [[nodiscard]] bool is_open() {
    pump();
    return tls_ && tls_->state() == TlsChannel::State::open;
  }
  [[nodiscard]] bool has(std::string_view text) {
    pump();
    return received_.find(text) != std::string::npos;
  }
  [[nodiscard]] bool is_closed() {
    pump();
    return closed_;
  }
  void stop_reading() { reads_ = false; }
  void read_again() { reads_ = true; }
  void close() { socket_.close(); }
  [[nodiscard]] const std::string& received() const { return received_; }
  [[nodiscard]] std::string take_received() { return std::exchange(received_, {}); }
  [[nodiscard]] TlsChannel& tls() { return *tls_; }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
  std::unique_ptr<TlsChannel> tls_;
  std::string unsent_;
  std::string received_;
  bool closed_ = false;
  bool reads_ = true;
};

// A server that listens on a loopback port over TLS, too.
class TlsServerTest : public ServerTest {
 protected:
  void SetUp() override {
    files_ = authority_.issue_server();
    TlsTrust trust;
    trust.ca_file = authority_.path();
    Result<std::shared_ptr<TlsClientContext>> context = TlsClientContext::load(trust);
    ASSERT_TRUE(context.ok());
    client_context_ = *context;
  }
  void start_tls() {
    Result<std::shared_ptr<TlsContext>> context = TlsContext::load(files_);
    ASSERT_TRUE(context.ok()) << context.error().text();
    options_.tls = *context;
    options_.listeners = {{"127.0.0.1", 0}};
    start();
    ASSERT_NE(server_, nullptr);
    ASSERT_NE(server_->port(), 0);
  }
  [[nodiscard]] std::unique_ptr<TlsTestClient> connect_tls() {
    auto client = std::make_unique<TlsTestClient>(server_->port(), *client_context_);
    EXPECT_TRUE(run_until([&] { return client->is_open() || client->is_closed(); }));
    return client;
  }
  // Sends a request on a new connection and returns everything until it closes.
  std::string talk_tls(std::string_view bytes) {
    const std::unique_ptr<TlsTestClient> client = connect_tls();
    client->send(bytes);
    EXPECT_TRUE(run_until([&] { return client->is_closed(); })) << client->received();
    return client->received();
  }

  TestAuthority authority_{folder_.path()};
  TlsFiles files_;
  std::shared_ptr<TlsClientContext> client_context_;
};

}  // namespace weft::serve

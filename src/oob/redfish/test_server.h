// For tests only: an HTTPS server on a free port of 127.0.0.1, with a certificate generated in memory and scripted
// responses, down to the bytes and their timing. One thread per connection. Also a small Redfish service on top.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"

namespace weft::oob::test {

struct Certificate {
  std::shared_ptr<X509> x509{};
  std::shared_ptr<EVP_PKEY> key{};

  [[nodiscard]] std::string pem() const {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, x509.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(out, &data);
    std::string text(data, static_cast<std::size_t>(size));
    BIO_free(out);
    return text;
  }
};

struct CertificateWish {
  std::string name = "127.0.0.1";
  std::string alternative = "IP:127.0.0.1";
  long from_s = -3600;
  long to_s = 3600;
  const Certificate* issuer = nullptr;  // null: self-signed
  bool authority = false;
};

inline Certificate make_certificate(const CertificateWish& wish = {}) {
  Certificate made;
  made.key.reset(EVP_EC_gen("P-256"), EVP_PKEY_free);
  made.x509.reset(X509_new(), X509_free);
  X509* x509 = made.x509.get();
  static std::atomic<long> serial{1};
  X509_set_version(x509, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(x509), serial++);
  X509_gmtime_adj(X509_getm_notBefore(x509), wish.from_s);
  X509_gmtime_adj(X509_getm_notAfter(x509), wish.to_s);
  X509_set_pubkey(x509, made.key.get());
  X509_NAME* name = X509_get_subject_name(x509);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(wish.name.c_str()), -1,
                             -1, 0);
  X509_set_issuer_name(x509, wish.issuer != nullptr ? X509_get_subject_name(wish.issuer->x509.get()) : name);
  const auto extend = [&](int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    CHECK(extension != nullptr, "an extension that OpenSSL does not know");
    X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
  };
  extend(NID_basic_constraints, wish.authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (!wish.alternative.empty()) extend(NID_subject_alt_name, wish.alternative);
  X509_sign(x509, wish.issuer != nullptr ? wish.issuer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

struct ServerRequest {
  std::string method{};
  std::string path{};
  std::map<std::string, std::string> headers{};  // names in lower case
  std::string body{};
};

// Sends bytes; false if the peer has closed or the server is stopping.
using Sender = std::function<bool(std::string_view)>;

struct ServerAnswer {
  int status = 200;
  std::string body{};
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string raw{};                            // sent instead of all of the above
  std::function<void(const Sender&)> stream{};  // called instead of all of the above
  bool close = false;
  int delay_ms = 0;
};

class TestServer {
 public:
  using Handler = std::function<ServerAnswer(const ServerRequest&)>;

  explicit TestServer(Handler handler, const Certificate* certificate = nullptr, bool plain = false)
      : handler_(std::move(handler)), plain_(plain) {
    signal(SIGPIPE, SIG_IGN);
    context_.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    certificate_ = certificate != nullptr ? *certificate : make_certificate();
    SSL_CTX_use_certificate(context_.get(), certificate_.x509.get());
    SSL_CTX_use_PrivateKey(context_.get(), certificate_.key.get());
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    CHECK(listen(listener_, 64) == 0, "listen");
    acceptor_ = std::thread([this] { accept_all(); });
  }
  ~TestServer() {
    stopping_ = true;
    acceptor_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    close(listener_);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const Certificate& certificate() const { return certificate_; }
  [[nodiscard]] int most_in_flight() const { return most_.load(); }
  [[nodiscard]] bool stopping() const { return stopping_.load(); }
  [[nodiscard]] std::vector<ServerRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // The number of requests of that method whose path has this prefix.
  [[nodiscard]] int count(std::string_view method, std::string_view path = {}) const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(requests_.begin(), requests_.end(), [&](const ServerRequest& one) {
      return one.method == method && one.path.starts_with(path);
    }));
  }

 private:
  void accept_all() {
    while (!stopping_) {
      pollfd wait{listener_, POLLIN, 0};
      if (poll(&wait, 1, 20) <= 0) continue;
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      threads_.emplace_back([this, fd] { serve(fd); });
    }
  }

  class Wire {
   public:
    Wire(int fd, SSL_CTX* context, bool plain) : fd_(fd) {
      if (plain) return;
      ssl_ = SSL_new(context);
      SSL_set_fd(ssl_, fd);
    }
    ~Wire() { SSL_free(ssl_); }
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    [[nodiscard]] bool open() { return ssl_ == nullptr || SSL_accept(ssl_) == 1; }
    [[nodiscard]] int read(char* data, int size) {
      if (ssl_ == nullptr) return static_cast<int>(recv(fd_, data, static_cast<std::size_t>(size), 0));
      return SSL_read(ssl_, data, size);
    }
    [[nodiscard]] bool write(std::string_view text) {
      while (!text.empty()) {
        const int sent = ssl_ == nullptr ? static_cast<int>(send(fd_, text.data(), text.size(), MSG_NOSIGNAL))
                                         : SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
      }
      return true;
    }
    void bye() {
      if (ssl_ != nullptr) SSL_shutdown(ssl_);
    }

   private:
    int fd_;
    SSL* ssl_ = nullptr;
  };

  void serve(int fd) {
    {
      Wire wire(fd, context_.get(), plain_);
      std::string buffer;
      if (plain_) {
        // Like web servers that receive a TLS ClientHello on their plain port.
        if (read_more(wire, buffer)) (void)wire.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
      } else if (wire.open()) {
        while (!stopping_ && serve_one(wire, buffer)) {
        }
        wire.bye();
      }
      ERR_clear_error();
    }
    const std::lock_guard lock(mutex_);
    std::erase(open_, fd);
    close(fd);
  }

  static bool read_more(Wire& wire, std::string& buffer) {
    std::array<char, 4096> data{};
    const int size = wire.read(data.data(), static_cast<int>(data.size()));
    if (size <= 0) return false;
    buffer.append(data.data(), static_cast<std::size_t>(size));
    return true;
  }

  bool serve_one(Wire& wire, std::string& buffer) {
    std::size_t end = 0;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
      if (!read_more(wire, buffer)) return false;
    }
    ServerRequest request = parse(buffer.substr(0, end));
    const std::size_t size =
        request.headers.contains("content-length") ? std::stoul(request.headers["content-length"]) : 0;
    while (buffer.size() < end + 4 + size) {
      if (!read_more(wire, buffer)) return false;
    }
    request.body = buffer.substr(end + 4, size);
    buffer.erase(0, end + 4 + size);
    const int now = ++in_flight_;
    for (int seen = most_.load(); now > seen && !most_.compare_exchange_weak(seen, now);) {
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const ServerAnswer answer = handler_(request);
    for (int waited = 0; waited < answer.delay_ms && !stopping_; waited += 5) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    --in_flight_;
    if (answer.stream) {
      answer.stream([&](std::string_view text) { return !stopping_ && wire.write(text); });
      return false;
    }
    if (!answer.raw.empty()) {
      (void)wire.write(answer.raw);
      return false;
    }
    std::string head = fmt::format("HTTP/1.1 {} X\r\nContent-Length: {}\r\n", answer.status, answer.body.size());
    for (const auto& [name, value] : answer.headers) head += fmt::format("{}: {}\r\n", name, value);
    return wire.write(head + "\r\n" + answer.body) && !answer.close;
  }

  static ServerRequest parse(const std::string& head) {
    ServerRequest request;
    std::size_t at = head.find("\r\n");
    const std::string line = head.substr(0, at);
    request.method = line.substr(0, line.find(' '));
    const std::size_t path = line.find(' ') + 1;
    request.path = line.substr(path, line.find(' ', path) - path);
    while (at != std::string::npos) {
      const std::size_t next = head.find("\r\n", at + 2);
      const std::string one = head.substr(at + 2, next == std::string::npos ? next : next - at - 2);
      std::string name = one.substr(0, one.find(':'));
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
      if (one.find(": ") != std::string::npos) request.headers[name] = one.substr(one.find(": ") + 2);
      at = next;
    }
    return request;
  }

  Handler handler_;
  bool plain_;
  std::shared_ptr<SSL_CTX> context_;
  Certificate certificate_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread acceptor_;
  std::list<std::thread> threads_;
  std::vector<int> open_;
  mutable std::mutex mutex_;
  std::vector<ServerRequest> requests_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> in_flight_{0};
  std::atomic<int> most_{0};
};

}  // namespace weft::oob::test

#include "oob/journal/syslog_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "base/socket.h"
#include "lazy/ssl.h"

namespace weft::oob {

namespace {

// The OpenSSL error as text, for a message.
std::string tls_reason() {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int)
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "TLS failed" : reason;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

// TLS uses memory BIOs; bytes go through our own send and receive, which have timeouts and raise no SIGPIPE.
struct SyslogLink::Tls {
  SSL_CTX* context = nullptr;
  SSL* session = nullptr;
  BIO* in = nullptr;   // owned by the session
  BIO* out = nullptr;  // owned by the session
  Tls() = default;
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;
  ~Tls() {
    SSL_free(session);
    SSL_CTX_free(context);
  }
};

SyslogLink::SyslogLink(std::string name, Moment end) : name_(std::move(name)), end_(end) {}
SyslogLink::~SyslogLink() = default;

Error SyslogLink::failed(std::string_view what, int code) const {
  return {ErrorCode::unavailable, fmt::format("{}: {}", what, std::generic_category().message(code)), name_};
}

Result<std::unique_ptr<SyslogLink>> SyslogLink::open(const SyslogTarget& target, const std::string& ca_file,
                                                     Duration limit) {
  const Moment end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit.count());
  std::unique_ptr<SyslogLink> link(new SyslogLink(to_text(target), end));
  if (Status connected = link->connect(target); !connected.ok()) return connected.error();
  if (target.tls) {
    if (Status secured = link->start_tls(target, ca_file); !secured.ok()) return secured.error();
  }
  return link;
}

Error SyslogLink::failed_to_wait(int code) const {
  return code == ETIMEDOUT ? Error{ErrorCode::timeout, "no answer in time", name_} : failed("cannot wait", code);
}

Status SyslogLink::wait_for(short events) {
  const int problem = wait_until_ready(socket_.get(), events, end_);
  if (problem != 0) return failed_to_wait(problem);
  return {};
}

Status SyslogLink::connect(const SyslogTarget& target) {
  const Lookup found = look_up_host(target.host, target.port, SOCK_STREAM);
  if (found.error != 0)
    return Error{ErrorCode::unavailable, fmt::format("unknown host: {}", ::gai_strerror(found.error)), name_};
  Status last = Error{ErrorCode::unavailable, "the host has no address", name_};
  for (const addrinfo* one = found.list.get(); one != nullptr; one = one->ai_next) {
    Connection made = connect_socket(*one, end_);
    if (made.ok()) {
      socket_ = std::move(made.socket);
      return {};
    }
    if (made.stopped == Connection::Step::wait) return failed_to_wait(made.error);
    last = failed(made.stopped == Connection::Step::socket ? "no socket" : "cannot connect", made.error);
  }
  return last;
}

Status SyslogLink::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (Status ready = wait_for(POLLOUT); !ready.ok()) return ready;
    } else if (errno != EINTR) {
      return failed("the connection broke", errno);
    }
  }
  return {};
}

Result<std::string> SyslogLink::receive() {
  std::array<char, 4096> space{};
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), space.data(), space.size(), 0);
    if (got >= 0) return std::string(space.data(), static_cast<std::size_t>(got));
    if (errno == EAGAIN) {
      if (Status ready = wait_for(POLLIN); !ready.ok()) return ready.error();
    } else if (errno != EINTR) {
      return failed("the connection broke", errno);
    }
  }
}

Status SyslogLink::pump(bool wants_read) {
  std::array<char, 16384> space{};
  for (int got = 0; (got = BIO_read(tls_->out, space.data(), static_cast<int>(space.size()))) > 0;) {
    if (Status sent = send_raw({space.data(), static_cast<std::size_t>(got)}); !sent.ok()) return sent;
  }
  if (!wants_read) return {};
  const Result<std::string> bytes = receive();
  if (!bytes.ok()) return bytes.error();
  if (bytes->empty()) return Error{ErrorCode::unavailable, "the server closed the connection", name_};
  (void)BIO_write(tls_->in, bytes->data(), static_cast<int>(bytes->size()));
  return {};
}

Status SyslogLink::start_tls(const SyslogTarget& target, const std::string& ca_file) {
  tls_ = std::make_unique<Tls>();
  const Error none{ErrorCode::internal, "TLS is not to be had", name_};
  tls_->context = SSL_CTX_new(TLS_client_method());
  if (tls_->context == nullptr) return none;
  (void)SSL_CTX_set_min_proto_version(tls_->context, TLS1_2_VERSION);
  const bool trusts = ca_file.empty() ? SSL_CTX_set_default_verify_paths(tls_->context) == 1
                                      : SSL_CTX_load_verify_file(tls_->context, ca_file.c_str()) == 1;
  if (!trusts) return Error{ErrorCode::invalid_input, "holds no certificates", ca_file};
  SSL_CTX_set_verify(tls_->context, SSL_VERIFY_PEER, nullptr);
  tls_->session = SSL_new(tls_->context);
  tls_->in = BIO_new(BIO_s_mem());
  tls_->out = BIO_new(BIO_s_mem());
  if (tls_->session == nullptr || tls_->in == nullptr || tls_->out == nullptr) return none;
  SSL_set_bio(tls_->session, tls_->in, tls_->out);
  SSL_set_connect_state(tls_->session);
  // RFC 5425 section 5.2: the certificate must match the target host.
  if (is_address(target.host)) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls_->session), target.host.c_str()) != 1) return none;
  } else {
    // SSL_set_tlsext_host_name() is a macro with C-style casts.
    std::string host = target.host;
    if (SSL_set1_host(tls_->session, host.c_str()) != 1 ||
        SSL_ctrl(tls_->session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) != 1)
      return none;
  }
  for (;;) {
    ERR_clear_error();
    const int shaken = SSL_do_handshake(tls_->session);
    if (shaken == 1) return pump(false);
    if (SSL_get_error(tls_->session, shaken) != SSL_ERROR_WANT_READ) {
      const long verdict = SSL_get_verify_result(tls_->session);  // NOLINT(google-runtime-int)
      const std::string why = verdict == X509_V_OK ? tls_reason() : X509_verify_cert_error_string(verdict);
      (void)pump(false);  // sends the alert to the server
      return Error{ErrorCode::refused, fmt::format("its certificate or TLS is not accepted: {}", why), name_};
    }
    if (Status pumped = pump(true); !pumped.ok()) return pumped;
  }
}

Status SyslogLink::send(std::string_view bytes) {
  if (tls_ == nullptr) return send_raw(bytes);
  while (!bytes.empty()) {
    const int size = static_cast<int>(std::min<std::size_t>(bytes.size(), 16384));  // one TLS record
    ERR_clear_error();
    const int sent = SSL_write(tls_->session, bytes.data(), size);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      if (Status pumped = pump(false); !pumped.ok()) return pumped;
    } else if (SSL_get_error(tls_->session, sent) == SSL_ERROR_WANT_READ) {
      if (Status pumped = pump(true); !pumped.ok()) return pumped;
    } else {
      return Error{ErrorCode::unavailable, "the connection broke: " + tls_reason(), name_};
    }
  }
  return {};
}

bool SyslogLink::all_acknowledged() const {
  int unsent = 0;
  int problem = 0;
  socklen_t size = sizeof(problem);
  return ::ioctl(socket_.get(), SIOCOUTQ, &unsent) == 0 &&  // NOLINT(cppcoreguidelines-pro-type-vararg)
         ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 && unsent == 0 && problem == 0;
}

Status SyslogLink::close() {
  if (tls_ != nullptr) {
    (void)SSL_shutdown(tls_->session);  // close_notify, RFC 5425 section 4.4
    if (Status pumped = pump(false); !pumped.ok()) return pumped;
  }
  if (::shutdown(socket_.get(), SHUT_WR) != 0) return failed("the connection broke", errno);
  for (;;) {
    const Result<std::string> bytes = receive();
    // A server that dies with unread messages makes its TCP reset the connection, which is an error here.
    if (!bytes.ok() && bytes.error().code == ErrorCode::timeout && all_acknowledged()) return {};
    if (!bytes.ok()) return bytes.error();
    if (bytes->empty()) return {};
    if (tls_ != nullptr && BIO_write(tls_->in, bytes->data(), static_cast<int>(bytes->size())) > 0) {
      // An alert arrives instead of a close if the server rejected what it was sent (TLS 1.3: also our handshake).
      std::array<char, 4096> rest{};
      int got = 1;
      while (got > 0) got = SSL_read(tls_->session, rest.data(), static_cast<int>(rest.size()));
      if (SSL_get_error(tls_->session, got) == SSL_ERROR_SSL)
        return Error{ErrorCode::refused, "the server ended TLS with an alert: " + tls_reason(), name_};
    }
  }
}

}  // namespace weft::oob

#include "serve/http/client_link.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "serve/http/unix_socket.h"

namespace weft::serve {
namespace {

std::string describe(int code) { return std::generic_category().message(code); }

Error connect_error(int code, const Endpoint& endpoint) {
  if (code == ECONNREFUSED) {
    return {ErrorCode::unavailable,
            fmt::format("no weft serve is listening on {} (connection refused)", endpoint.text()),
            {}};
  }
  if (code == ETIMEDOUT) return {ErrorCode::timeout, "no connection in time", endpoint.text()};
  return {ErrorCode::unavailable, "cannot connect: " + describe(code), endpoint.text()};
}

// How the user can trust this server, if it is the right one.
std::string pin_hint(const std::string& fingerprint) {
  return fmt::format(
      "its fingerprint is sha256:{}; if that is what weft serve printed at its start, trust it by this fingerprint, "
      "otherwise by the file of its CA",
      fingerprint);
}

Error certificate_error(const TlsChannel& tls, const Endpoint& endpoint) {
  const auto error = [&](std::string what) { return Error{ErrorCode::refused, std::move(what), endpoint.text()}; };
  const std::string& fingerprint = tls.judged_fingerprint();
  if (!endpoint.trust.fingerprint.empty()) {
    return error(fmt::format(
        "the server's certificate has the fingerprint sha256:{} and not the trusted one, sha256:{}: it has a "
        "new certificate, or this is a man in the middle",
        fingerprint, endpoint.trust.fingerprint));
  }
  switch (tls.judgment()) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return error("the server's certificate has expired");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return error("the server's certificate is not valid yet: compare the clocks of both machines");
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return error(fmt::format("the server's certificate is not for {}; {}", endpoint.host, pin_hint(fingerprint)));
    default:
      return error(fmt::format("the server's certificate is not trusted: {}; {}",
                               X509_verify_cert_error_string(tls.judgment()), pin_hint(fingerprint)));
  }
}

Error handshake_error(const TlsChannel& tls, const Endpoint& endpoint) {
  if (tls.judgment() != X509_V_OK) return certificate_error(tls, endpoint);
  return {ErrorCode::refused, fmt::format("no TLS with the server: {}", tls.problem()), endpoint.text()};
}

Error closed_error(const Endpoint& endpoint) {
  return {ErrorCode::unavailable, "the server closed the connection before TLS was set up", endpoint.text()};
}

}  // namespace

Result<std::unique_ptr<ClientLink>> ClientLink::open(const Endpoint& endpoint, Deadline deadline) {
  std::unique_ptr<ClientLink> link(new ClientLink());
  if (endpoint.is_local()) {
    Result<FileDescriptor> socket = connect_unix(endpoint.socket_path, deadline);
    if (!socket.ok()) return socket.error();
    link->socket_ = std::move(*socket);
    return link;
  }
  Result<std::shared_ptr<TlsClientContext>> context = TlsClientContext::load(endpoint.trust);
  if (!context.ok()) return context.error();
  link->context_ = std::move(*context);
  if (Status connected = link->connect(endpoint, deadline); !connected.ok()) return connected.error();
  if (Status shaken = link->shake_hands(endpoint, deadline); !shaken.ok()) return shaken.error();
  return link;
}

Status ClientLink::connect(const Endpoint& endpoint, Deadline deadline) {
  const Lookup found = look_up_host(endpoint.host, endpoint.port, SOCK_STREAM);
  if (found.error != 0) {
    return Error{ErrorCode::unavailable,
                 fmt::format("cannot resolve the host name {}: {}", endpoint.host, ::gai_strerror(found.error)),
                 endpoint.text()};
  }
  int last = EHOSTUNREACH;
  for (const addrinfo* one = found.list.get(); one != nullptr; one = one->ai_next) {
    Connection made = connect_socket(*one, deadline);
    if (made.ok()) {
      socket_ = std::move(made.socket);
      const int yes = 1;
      (void)::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      return {};
    }
    last = made.error;
    if (made.stopped == Connection::Step::wait) break;  // no time left
  }
  return connect_error(last, endpoint);
}

Status ClientLink::send_output(const Endpoint& endpoint, Deadline deadline) {
  std::string_view left = tls_->output();
  while (!left.empty()) {
    const ssize_t count = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0) {
      left.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (const int problem = wait_until_ready(socket_.get(), POLLOUT, deadline); problem != 0)
        return connect_error(problem, endpoint);
    } else if (errno == EPIPE || errno == ECONNRESET) {
      break;  // what it said before is still there to be read
    } else if (errno != EINTR) {
      return connect_error(errno, endpoint);
    }
  }
  tls_->output().clear();
  return {};
}

Status ClientLink::shake_hands(const Endpoint& endpoint, Deadline deadline) {
  tls_ = context_->open(endpoint.host);
  if (tls_ == nullptr) return Error{ErrorCode::internal, "cannot set up TLS", endpoint.text()};
  std::string plain;               // nothing comes before the request
  std::array<char, 16384> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): recv() fills it
  std::size_t count = 0;
  for (;;) {
    const TlsChannel::State state = tls_->receive({buffer.data(), count}, plain);
    if (Status sent = send_output(endpoint, deadline); !sent.ok()) return sent;
    if (state == TlsChannel::State::open) return {};
    if (state != TlsChannel::State::handshaking) return handshake_error(*tls_, endpoint);
    const int problem = wait_until_ready(socket_.get(), POLLIN, deadline);
    if (problem == ETIMEDOUT) return Error{ErrorCode::timeout, "the TLS handshake took too long", endpoint.text()};
    if (problem != 0) return connect_error(problem, endpoint);
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return closed_error(endpoint);
    if (got < 0 && errno != EAGAIN && errno != EINTR) return connect_error(errno, endpoint);
    count = static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }
}

std::string ClientLink::encode(std::string plain) {
  if (!tls_) return plain;
  tls_->send(plain);
  return std::exchange(tls_->output(), {});
}

bool ClientLink::decode(std::string_view bytes, std::string& plain) {
  if (!tls_) {
    plain += bytes;
    return true;
  }
  return tls_->receive(bytes, plain) != TlsChannel::State::failed;
}

}  // namespace weft::serve

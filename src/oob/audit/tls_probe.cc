#include "oob/audit/tls_probe.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include "base/socket.h"
#include "lazy/curl.h"
#include "lazy/ssl.h"
#include "oob/redfish/trust.h"

namespace weft::oob {
namespace {

using std::chrono::steady_clock;

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
// A connection for TLS; libcurl keeps the socket of one through a proxy.
struct Line {
  FileDescriptor own{};
  std::shared_ptr<CURL> curl{};
  int socket = -1;
};

Result<Line> open_proxied(const Endpoint& endpoint) {
  load_curl();
  Line line;
  line.curl.reset(curl_easy_init(), [](CURL* easy) { curl_easy_cleanup(easy); });
  if (line.curl == nullptr) return Error{ErrorCode::internal, "out of memory for a connection", endpoint.device};
  const std::string url = "http://" + authority_of(endpoint);
  curl_easy_setopt(line.curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(line.curl.get(), CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(line.curl.get(), CURLOPT_HTTPPROXYTUNNEL, 1L);
  curl_easy_setopt(line.curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(line.curl.get(), CURLOPT_PROXY, endpoint.proxy.c_str());
  curl_easy_setopt(line.curl.get(), CURLOPT_NOPROXY, "");
  curl_easy_setopt(line.curl.get(), CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::max<std::int64_t>(endpoint.connect_limit.count() / 1'000'000, 1)));
  curl_socket_t socket = CURL_SOCKET_BAD;
  const CURLcode code = curl_easy_perform(line.curl.get());
  if (code == CURLE_OPERATION_TIMEDOUT) return Error{ErrorCode::timeout, "no connection in time", endpoint.device};
  if (code != CURLE_OK || curl_easy_getinfo(line.curl.get(), CURLINFO_ACTIVESOCKET, &socket) != CURLE_OK)
    return Error{ErrorCode::unavailable, "no connection through the proxy", endpoint.device};
  line.socket = socket;
  return line;
}

Result<Line> open_line(const Endpoint& endpoint, Deadline deadline) {
  if (!endpoint.proxy.empty()) return open_proxied(endpoint);
  const Lookup found = look_up_host(endpoint.host, endpoint.real_port(), SOCK_STREAM);
  if (found.error != 0) return Error{ErrorCode::unavailable, "the host name does not resolve", endpoint.device};
  Connection made = connect_socket(*found.list, deadline);
  if (made.ok()) {
    Line line{std::move(made.socket)};
    line.socket = line.own.get();
    return line;
  }
  const bool no_socket = made.stopped == Connection::Step::socket;
  return Error{ErrorCode::unavailable, no_socket ? "no socket is left" : "no connection", endpoint.device};
}

std::string problem_text(long code) {
  switch (code) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "is self-signed";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "comes from an issuer that is not trusted";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "is not valid yet";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "is for another name or address";
    default:
      return X509_verify_cert_error_string(code);
  }
}

// All problems of the chain, not only the first.
int note_problem(int good, X509_STORE_CTX* store) {
  if (good == 1) return 1;
  const int index = SSL_get_ex_data_X509_STORE_CTX_idx();
  auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, index));
  auto* problems = static_cast<std::vector<std::string>*>(SSL_get_app_data(ssl));
  std::string text = problem_text(X509_STORE_CTX_get_error(store));
  if (std::find(problems->begin(), problems->end(), text) == problems->end()) problems->push_back(std::move(text));
  return 1;  // continue: the handshake only collects problems
}

Status shake_hands(SSL* ssl, int socket, Deadline deadline, const std::string& device) {
  for (;;) {
    ERR_clear_error();
    const int done = SSL_connect(ssl);
    if (done == 1) return {};
    const int why = SSL_get_error(ssl, done);
    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
      return Error{ErrorCode::refused, "no TLS version in common", device};
    if (wait_until_ready(socket, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline) != 0)
      return Error{ErrorCode::timeout, "no TLS handshake in time", device};
  }
}

void expect_name(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return;
  std::string name = host;  // the macro SSL_set_tlsext_host_name casts; this is its expansion
  (void)SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  (void)X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
}

}  // namespace

Result<TlsFacts> probe_tls(const Endpoint& endpoint) {
  const std::unique_ptr<SSL_CTX, FreeContext> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return Error{ErrorCode::internal, "OpenSSL gives no context", {}};
  const Result<CertificateStore> trusted = trusted_store(endpoint.tls.ca_file);
  if (!trusted.ok()) return trusted.error();
  X509_STORE_up_ref(trusted->get());
  SSL_CTX_set_cert_store(context.get(), trusted->get());  // takes one reference
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, note_problem);
  const std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context.get()));
  if (ssl == nullptr) return Error{ErrorCode::internal, "OpenSSL gives no session", {}};
  const auto after = [](Duration time) { return steady_clock::now() + std::chrono::nanoseconds(time.count()); };
  const Result<Line> line = open_line(endpoint, after(endpoint.connect_limit));
  if (!line.ok()) return line.error();
  TlsFacts facts;
  SSL_set_app_data(ssl.get(), &facts.problems);  // NOLINT: a macro of OpenSSL
  expect_name(ssl.get(), endpoint.host);
  if (SSL_set_fd(ssl.get(), line->socket) != 1) return Error{ErrorCode::internal, "OpenSSL takes no socket", {}};
  const Status shaken = shake_hands(ssl.get(), line->socket, after(endpoint.request_limit), endpoint.device);
  if (!shaken.ok()) return shaken.error();
  facts.protocol = SSL_get_version(ssl.get());
  X509* shown = SSL_get0_peer_certificate(ssl.get());
  if (shown == nullptr) {
    facts.problems.emplace_back("is missing");
    return facts;
  }
  facts.certificate = describe_certificate(shown);
  if (!endpoint.tls.fingerprint.empty()) {
    facts.problems.clear();
    if (facts.certificate.fingerprint != endpoint.tls.fingerprint)
      facts.problems.emplace_back("is another one than the one accepted with `weft oob trust`");
  } else if (!endpoint.tls.pin.empty()) {
    // A pinned key is valid regardless of its issuer.
    facts.problems.clear();
    if (endpoint.tls.pin.find(pin_of_certificate(shown)) == std::string::npos)
      facts.problems.emplace_back("has another key than the pinned one");
  }
  std::sort(facts.problems.begin(), facts.problems.end());
  return facts;
}

}  // namespace weft::oob

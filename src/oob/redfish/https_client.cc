#include "oob/redfish/https_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "http/fingerprint.h"
#include "http/no_pipe_signal.h"
#include "lazy/ssl.h"
#include "oob/bmc/cause.h"
#include "oob/redfish/certificate.h"
#include "oob/redfish/gate.h"
#include "oob/redfish/https_transfer.h"
#include "oob/redfish/json.h"
#include "oob/redfish/trust.h"

namespace weft::oob {
namespace {

using Steady = std::chrono::steady_clock;

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 255 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == '_' || c == ':';
  });
}

// Until TCP probes a silent connection, in seconds: a stream may be silent for hours.
constexpr long kKeepAlive = 60;

long curl_ms(Duration limit) { return static_cast<long>(std::max<std::int64_t>(limit.count() / 1'000'000, 1)); }

}  // namespace

class HttpsClient::Engine {
 public:
  Engine(const Endpoint& endpoint, Clock& clock)
      : endpoint_(endpoint), clock_(clock), authority_(authority_of(endpoint)), gate_(request_gate(authority_)) {
    load_curl();
    const TlsTrust& tls = endpoint_.tls;
    // A pinned key is sufficient (most BMC certificates are self-signed); with a CA file too, both must match.
    // A certificate that was accepted with `weft oob trust` is the only one accepted, whatever signed it.
    check_chain_ = tls.verify && tls.fingerprint.empty() && (tls.pin.empty() || !tls.ca_file.empty());
    multi_ = curl_multi_init();
    if (multi_ != nullptr) curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(kMaxInFlight));
  }
  ~Engine() {
    const http::NoPipeSignal guard;  // closing connections sends close_notify
    for (CURL* easy : free_) curl_easy_cleanup(easy);
    if (multi_ != nullptr) curl_multi_cleanup(multi_);
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::vector<Result<HttpReply>> perform(const std::vector<HttpRequest>& requests) {
    std::vector<Transfer> transfers(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) transfers[i].request = &requests[i];
    if (const Status ready = prepare(); !ready.ok()) {
      for (Transfer& transfer : transfers) transfer.error = ready.error();
    } else if (!transfers.empty()) {
      run(transfers);
    }
    std::vector<Result<HttpReply>> out;
    out.reserve(transfers.size());
    for (Transfer& transfer : transfers) {
      if (transfer.error) {
        out.emplace_back(std::move(*transfer.error));
      } else {
        out.emplace_back(std::move(transfer.reply));
      }
    }
    return out;
  }

  Result<StreamReply> open_stream(const HttpRequest& request);

  // The reply, after redirects within this host.
  Result<HttpReply> follow(HttpRequest request, Result<HttpReply> reply) {
    for (int hops = 0; reply.ok(); ++hops) {
      const int status = reply->status;
      const bool again = status == 307 || status == 308;
      if (!again && !((status == 301 || status == 302 || status == 303) && request.method == "GET")) return reply;
      if (reply->location.empty()) return reply;
      const std::string path = same_origin(reply->location);
      if (path.empty()) return error(ErrorCode::refused, fmt::format("{}; not followed", kRedirected));
      if (hops == kMaxRedirects) return error(ErrorCode::invalid_input, "redirect loop");
      request.path = path;
      reply = std::move(perform({request}).front());
    }
    return reply;
  }

 private:
  friend class Stream;

  [[nodiscard]] Error error(ErrorCode code, std::string message) const {
    return Error{code, std::move(message), endpoint_.device};
  }

  // Checks everything that can fail before a request is sent.
  Status prepare() {
    if (multi_ == nullptr) return error(ErrorCode::internal, "out of memory for a connection");
    if (!is_host(endpoint_.host)) {
      return error(ErrorCode::invalid_input, "not a host name or address: " + in_backticks(endpoint_.host));
    }
    if (!endpoint_.tls.pin.empty() && !is_pin(endpoint_.tls.pin)) {
      return error(ErrorCode::invalid_input, "pin must be sha256// and 44 characters of base64");
    }
    if (check_chain_ && store_ == nullptr) {
      Result<CertificateStore> store = trusted_store(endpoint_.tls.ca_file);
      if (!store.ok()) return error(store.error().code, store.error().text());
      store_ = std::move(store).value();
    }
    return {};
  }

  void run(std::vector<Transfer>& transfers) {
    const http::NoPipeSignal guard;
    const bool farewell = transfers.front().request->farewell;
    const Clock* stop = farewell ? nullptr : &clock_;
    const auto patience = std::chrono::nanoseconds((farewell ? kFarewellLimit : endpoint_.request_limit).count());
    if (!gate_->enter(Steady::now() + patience, stop)) {
      const bool stopped = stop != nullptr && stop->stopped();
      for (Transfer& transfer : transfers) {
        transfer.error = stopped ? error(ErrorCode::unavailable, "stopped")
                                 : error(ErrorCode::timeout, "timed out waiting for other requests to this BMC");
      }
      return;
    }
    int held = 1;
    int flying = 0;
    std::size_t next = 0;
    while (next < transfers.size() || flying > 0) {
      if (stop != nullptr && stop->stopped()) break;
      while (next < transfers.size() && (flying < held || gate_->try_enter())) {
        held = std::max(held, flying + 1);
        if (start(transfers[next++])) ++flying;
      }
      int running = 0;
      curl_multi_perform(multi_, &running);
      flying -= reap();
      for (; next == transfers.size() && held > flying && held > 0; --held) gate_->leave();
      if (flying > 0) curl_multi_poll(multi_, nullptr, 0, kStopLatencyMs, nullptr);
    }
    for (Transfer& transfer : transfers) {
      if (transfer.easy != nullptr) release(transfer);
      const bool ended = transfer.error || transfer.reply.status != 0;
      if (!ended) transfer.error = error(ErrorCode::unavailable, "stopped");
    }
    for (; held > 0; --held) gate_->leave();
  }

  // Finishes completed transfers; returns how many.
  int reap() {
    int ended = 0;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      long status = 0;
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
      if (code != CURLE_OK) {
        transfer->error = error_of(code, *transfer);
      } else if (status < 200 || status > 599) {
        transfer->error = error(ErrorCode::invalid_input, fmt::format("returned HTTP status {}", status));
      } else {
        transfer->reply.status = static_cast<int>(status);
      }
      release(*transfer);
      ++ended;
    }
    return ended;
  }

  bool start(Transfer& transfer) {
    if (free_.empty()) {
      transfer.easy = curl_easy_init();
    } else {
      transfer.easy = free_.back();
      free_.pop_back();
    }
    if (transfer.easy == nullptr) {
      transfer.error = error(ErrorCode::internal, "out of memory for a request");
      return false;
    }
    add_headers(transfer);
    set_request(transfer);
    set_tls(transfer.easy);
    if (curl_multi_add_handle(multi_, transfer.easy) == CURLM_OK) return true;
    transfer.error = error(ErrorCode::internal, "the request cannot be started");
    release(transfer);
    return false;
  }

  void release(Transfer& transfer) {
    curl_multi_remove_handle(multi_, transfer.easy);  // harmless if it was never added
    curl_easy_reset(transfer.easy);
    free_.push_back(transfer.easy);
    transfer.easy = nullptr;
    transfer.headers.clear();
  }

  void set_request(Transfer& transfer) {
    CURL* easy = transfer.easy;
    const HttpRequest& request = *transfer.request;
    const std::string url = "https://" + authority_ + request.path;
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, endpoint_.proxy.c_str());  // empty: none, even if the environment sets one
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    const Duration total = limit_of(request);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, curl_ms(total));
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, curl_ms(std::min(total, endpoint_.connect_limit)));
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.text.data());
    curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
    if (request.method == "GET") return;
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.method == "DELETE") return;
    // The body is sent through a callback that cannot rewind: if a reused connection turns out dead after the body was
    // sent, libcurl would retry the request and a reset would be executed twice. This makes it fail instead.
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_size(request)));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, &give_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
  }

  void set_tls(CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, check_chain_ ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, check_chain_ ? 2L : 0L);
    if (!endpoint_.tls.pin.empty()) curl_easy_setopt(easy, CURLOPT_PINNEDPUBLICKEY, endpoint_.tls.pin.c_str());
    // The certificates come from store_, not from a file that each connection would parse again.
    curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &Engine::set_context);
    curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, this);
  }

  static CURLcode set_context(CURL* /*easy*/, void* context, void* user) {
    auto* ssl = static_cast<SSL_CTX*>(context);
    auto& self = *static_cast<Engine*>(user);
    if (self.check_chain_) SSL_CTX_set1_cert_store(ssl, self.store_.get());
    SSL_CTX_set_app_data(ssl, &self);
    if (!self.endpoint_.tls.fingerprint.empty()) {
      SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
      SSL_CTX_set_cert_verify_callback(ssl, &Engine::match_fingerprint, &self);
      return CURLE_OK;
    }
    SSL_CTX_set_verify(ssl, self.check_chain_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &Engine::see_certificate);
    return CURLE_OK;
  }

  // Instead of verifying the chain. With another certificate the handshake fails before anything is sent.
  static int match_fingerprint(X509_STORE_CTX* chain, void* user) {
    auto& self = *static_cast<Engine*>(user);
    X509* leaf = X509_STORE_CTX_get0_cert(chain);
    self.fingerprint_ = leaf == nullptr ? std::string() : "sha256:" + http::fingerprint_of(leaf);
    const bool same = self.fingerprint_ == self.endpoint_.tls.fingerprint;
    X509_STORE_CTX_set_error(chain, same ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
    return same ? 1 : 0;
  }

  // Does not change the result; records the presented certificate for the message if it is not trusted.
  static int see_certificate(int good, X509_STORE_CTX* chain) {
    if (X509* leaf = X509_STORE_CTX_get0_cert(chain); leaf != nullptr) {
      auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
      auto* self = ssl == nullptr ? nullptr : static_cast<Engine*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
      if (self != nullptr) self->see(leaf);
    }
    return good;
  }

  void see(X509* leaf) {
    presented_ = pin_of_certificate(leaf);
    fingerprint_ = "sha256:" + http::fingerprint_of(leaf);
  }

  [[nodiscard]] std::string trust_help() const {
    const std::string shown =
        presented_.empty() ? "" : fmt::format("; it presents {} (key {})", fingerprint_, presented_);
    return shown +
           "; after verifying that this is the BMC's certificate, accept it with `weft oob trust`, or set `ca` to its "
           "authority's file";
  }

  [[nodiscard]] Error changed_certificate() const {
    return error(ErrorCode::refused,
                 fmt::format("{}: it presents {}, trusted is {}; no password was sent; after verifying that this is "
                             "the BMC's new certificate, accept it with `weft oob trust CLUSTER {} --replace`",
                             kCertificateChanged, fingerprint_.empty() ? "none" : fingerprint_,
                             endpoint_.tls.fingerprint, endpoint_.device));
  }

  [[nodiscard]] Error error_of(CURLcode code, const Transfer& transfer) const {
    const std::string detail = printable(transfer.text.data(), 160);
    switch (code) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_ISSUER_ERROR:
      case CURLE_SSL_CACERT_BADFILE:
        if (!endpoint_.tls.fingerprint.empty()) return changed_certificate();
        return error(ErrorCode::refused, fmt::format("{}: {}{}", kNotTrusted, detail, trust_help()));
      case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        return error(ErrorCode::refused, fmt::format("{}: its key is {}, pinned is {}", kNotTrusted,
                                                     presented_.empty() ? "unknown" : presented_, endpoint_.tls.pin));
      case CURLE_SSL_CONNECT_ERROR:
        return tls_error(detail);
      case CURLE_OPERATION_TIMEDOUT:
        return timed_out(transfer);
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_RESOLVE_PROXY:
      case CURLE_COULDNT_CONNECT:
      case CURLE_PROXY:
        return error(ErrorCode::unavailable, "no connection: " + detail);
      case CURLE_GOT_NOTHING:
      case CURLE_PARTIAL_FILE:
      case CURLE_RECV_ERROR:
      case CURLE_SEND_ERROR:
      case CURLE_SEND_FAIL_REWIND:
        return error(ErrorCode::unavailable, "connection lost before the response was complete: " + detail);
      case CURLE_WRITE_ERROR:
        if (transfer.body_too_large) {
          return error(ErrorCode::invalid_input,
                       fmt::format("sent a response larger than {} MiB", kMaxBodyBytes >> 20U));
        }
        if (transfer.headers_too_large) {
          return error(ErrorCode::invalid_input,
                       fmt::format("sent more than {} KiB of headers", kMaxHeaderBytes >> 10U));
        }
        break;
      default:
        break;
    }
    return error(ErrorCode::invalid_input, fmt::format("sent an invalid HTTP response: {}",
                                                       detail.empty() ? curl_easy_strerror(code) : detail.c_str()));
  }

  [[nodiscard]] Error tls_error(const std::string& detail) const {
    const auto says = [&](std::string_view words) { return detail.find(words) != std::string::npos; };
    if (says("wrong version number") || says("http request") || says("packet length")) {
      return error(ErrorCode::invalid_input, fmt::format("{} on port {}", kNoTls, endpoint_.real_port()));
    }
    if (says("protocol version") || says("unsupported protocol")) {
      return error(ErrorCode::refused, std::string(kOldTls));
    }
    return error(ErrorCode::unavailable, "no TLS connection: " + detail);
  }

  [[nodiscard]] Error timed_out(const Transfer& transfer) const {
    curl_off_t connected = 0;
    curl_easy_getinfo(transfer.easy, CURLINFO_APPCONNECT_TIME_T, &connected);
    if (connected == 0 && transfer.header_bytes == 0 && !transfer.request->farewell) {
      return error(ErrorCode::timeout,
                   "no connection within " + to_text(std::min(endpoint_.connect_limit, endpoint_.request_limit)));
    }
    return error(ErrorCode::timeout, "no complete response within " + to_text(limit_of(*transfer.request)));
  }

  [[nodiscard]] Duration limit_of(const HttpRequest& request) const {
    if (request.farewell) return std::min(kFarewellLimit, endpoint_.request_limit);
    return request.limit == Duration() ? endpoint_.request_limit : request.limit;
  }

  // The path of a redirect within this host and port; empty if it leads elsewhere.
  [[nodiscard]] std::string same_origin(std::string_view location) const {
    if (!location.starts_with('/')) {
      constexpr std::string_view kScheme = "https://";
      if (!location.starts_with(kScheme)) return {};
      location.remove_prefix(kScheme.size());
      std::string authority(location.substr(0, location.find('/')));
      location.remove_prefix(authority.size());
      const std::string with_port = authority + ":443";
      if (strcasecmp(authority.c_str(), authority_.c_str()) != 0 &&
          strcasecmp(with_port.c_str(), authority_.c_str()) != 0) {
        return {};
      }
    }
    return is_trusted_path(location) ? std::string(location) : std::string();
  }

  const Endpoint endpoint_;
  Clock& clock_;
  const std::string authority_;
  std::shared_ptr<RequestGate> gate_;
  CURLM* multi_ = nullptr;
  std::vector<CURL*> free_;
  bool check_chain_ = true;
  CertificateStore store_;
  std::string presented_;    // public key of the last certificate presented
  std::string fingerprint_;  // of that certificate
};

// One transfer without a limit of time, on a multi handle of its own.
class HttpsClient::Stream final : public HttpStream {
 public:
  Stream(Engine& engine, HttpRequest request) : engine_(engine), request_(std::move(request)) {
    transfer_.request = &request_;
    multi_ = curl_multi_init();
    transfer_.easy = curl_easy_init();
  }
  ~Stream() override {
    const http::NoPipeSignal guard;
    if (multi_ != nullptr && transfer_.easy != nullptr) curl_multi_remove_handle(multi_, transfer_.easy);
    if (transfer_.easy != nullptr) curl_easy_cleanup(transfer_.easy);
    if (multi_ != nullptr) curl_multi_cleanup(multi_);
    transfer_.headers.clear();
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Until the response's header has arrived, or all of a response that is not a stream.
  Result<HttpReply> open() {
    if (multi_ == nullptr || transfer_.easy == nullptr) return out_of_memory();
    add_headers(transfer_);
    engine_.set_request(transfer_);
    engine_.set_tls(transfer_.easy);
    curl_easy_setopt(transfer_.easy, CURLOPT_TIMEOUT_MS, 0L);
    curl_easy_setopt(transfer_.easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(transfer_.easy, CURLOPT_TCP_KEEPIDLE, kKeepAlive);
    curl_easy_setopt(transfer_.easy, CURLOPT_TCP_KEEPINTVL, kKeepAlive);
    if (curl_multi_add_handle(multi_, transfer_.easy) != CURLM_OK) return out_of_memory();
    const auto end = Steady::now() + std::chrono::nanoseconds(engine_.endpoint_.request_limit.count());
    while (!ended_ && !is_stream()) {
      if (engine_.clock_.stopped()) return engine_.error(ErrorCode::unavailable, "stopped");
      if (Steady::now() >= end) return engine_.timed_out(transfer_);
      advance(milliseconds(kStopLatencyMs));
    }
    if (problem_) return *problem_;
    long status = 0;
    curl_easy_getinfo(transfer_.easy, CURLINFO_RESPONSE_CODE, &status);
    HttpReply reply = transfer_.reply;
    reply.status = static_cast<int>(status);
    return reply;
  }

  [[nodiscard]] bool is_stream() const {
    if (!transfer_.has_headers) return false;
    long status = 0;
    curl_easy_getinfo(transfer_.easy, CURLINFO_RESPONSE_CODE, &status);
    constexpr std::string_view kType = "text/event-stream";
    const std::string_view type = transfer_.reply.content_type;
    return status == 200 && equals_ignoring_case(trim(type.substr(0, type.find(';'))), kType);
  }

  Result<std::string> read(Duration wait) override {
    const auto end = Steady::now() + std::chrono::nanoseconds(wait.count());
    for (auto now = Steady::now(); transfer_.reply.body.empty() && !ended_ && now < end; now = Steady::now()) {
      if (engine_.clock_.stopped()) return std::string();
      advance(std::min(milliseconds(kStopLatencyMs), Duration((end - now).count())));
    }
    if (!transfer_.reply.body.empty()) return std::exchange(transfer_.reply.body, {});
    if (problem_) return *problem_;
    if (ended_) return engine_.error(ErrorCode::unavailable, "the service ended the stream");
    return std::string();
  }

 private:
  [[nodiscard]] Error out_of_memory() const {
    return engine_.error(ErrorCode::internal, "out of memory for a connection");
  }

  void advance(Duration wait) {
    const http::NoPipeSignal guard;
    int running = 0;
    curl_multi_perform(multi_, &running);
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      ended_ = true;
      if (message->data.result != CURLE_OK) problem_ = engine_.error_of(message->data.result, transfer_);
    }
    const bool idle = !ended_ && transfer_.reply.body.empty();
    if (idle) curl_multi_poll(multi_, nullptr, 0, static_cast<int>(curl_ms(wait)), nullptr);
  }

  Engine& engine_;
  const HttpRequest request_;
  Transfer transfer_;
  CURLM* multi_ = nullptr;
  bool ended_ = false;
  std::optional<Error> problem_;
};

Result<StreamReply> HttpsClient::Engine::open_stream(const HttpRequest& request) {
  if (const Status ready = prepare(); !ready.ok()) return ready.error();
  const auto patience = std::chrono::nanoseconds(endpoint_.request_limit.count());
  if (!gate_->enter(Steady::now() + patience, &clock_)) {
    if (clock_.stopped()) return error(ErrorCode::unavailable, "stopped");
    return error(ErrorCode::timeout, "timed out waiting for other requests to this BMC");
  }
  auto stream = std::make_unique<Stream>(*this, request);
  Result<HttpReply> reply = stream->open();
  gate_->leave();  // an open stream is no load
  if (!reply.ok()) return reply.error();
  StreamReply out;
  out.reply = std::move(reply).value();
  if (stream->is_stream()) out.stream = std::move(stream);
  return out;
}

HttpsClient::HttpsClient(const Endpoint& endpoint, Clock& clock) : engine_(std::make_unique<Engine>(endpoint, clock)) {}
HttpsClient::~HttpsClient() = default;

Result<HttpReply> HttpsClient::request(const HttpRequest& request) {
  return engine_->follow(request, std::move(engine_->perform({request}).front()));
}

Result<StreamReply> HttpsClient::open_stream(const HttpRequest& request) { return engine_->open_stream(request); }

std::vector<Result<HttpReply>> HttpsClient::get_many(const std::vector<std::string>& paths, const HttpLogin* login) {
  std::vector<HttpRequest> requests(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    requests[i].path = paths[i];
    requests[i].login = login;
  }
  std::vector<Result<HttpReply>> replies = engine_->perform(requests);
  for (std::size_t i = 0; i < replies.size(); ++i) {
    replies[i] = engine_->follow(std::move(requests[i]), std::move(replies[i]));
  }
  return replies;
}

}  // namespace weft::oob

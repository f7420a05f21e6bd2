#include "kube/curl_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "http/curl_handles.h"
#include "http/header_line.h"
#include "http/no_pipe_signal.h"
#include "lazy/crypto.h"
#include "lazy/curl.h"

namespace weft::kube {

namespace {

using http::EasyHandle;
using http::MultiHandle;

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;
// Of a stream: while so much is unread, nothing more is taken from the connection.
constexpr std::size_t kMaxUnreadBytes = std::size_t{4} << 20U;
constexpr Duration kMaxConnectTime = milliseconds(10'000);
constexpr int kStopLatencyMs = 100;

long curl_ms(Duration limit) { return static_cast<long>(std::max<std::int64_t>(limit.count() / 1'000'000, 1)); }

std::chrono::nanoseconds chrono_of(Duration duration) { return std::chrono::nanoseconds(duration.count()); }

// State of one request in libcurl's callbacks.
struct Transfer {
  std::string request_body;
  std::size_t sent = 0;
  ApiResponse response;
  std::size_t header_bytes = 0;
  std::size_t max_bytes = 0;
  bool streams = false;
  bool has_head = false;  // the final response's headers are complete
  bool paused = false;
  bool body_too_large = false;
  bool headers_too_large = false;
  bool done = false;
  CURLcode result = CURLE_OK;
  std::array<char, CURL_ERROR_SIZE> text{};
  http::HeaderLines headers;

  void add_header(std::string line) { headers.add(std::move(line)); }
};

std::size_t take_body(char* data, std::size_t /*one*/, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t have = transfer.response.body.size();
  if (transfer.streams && have > 0 && have + size > kMaxUnreadBytes) {
    transfer.paused = true;
    return CURL_WRITEFUNC_PAUSE;
  }
  if (!transfer.streams && have + size > transfer.max_bytes) {
    transfer.body_too_large = true;
    return 0;
  }
  transfer.response.body.append(data, size);
  return size;
}

std::size_t take_header(char* data, std::size_t one, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t size = one * count;
  transfer.header_bytes += size;
  if (transfer.header_bytes > kMaxHeaderBytes) {
    transfer.headers_too_large = true;
    return 0;
  }
  const std::string_view line(data, size);
  if (line.starts_with("HTTP/")) {  // an informational response may precede the final one
    transfer.response = ApiResponse{};
    transfer.has_head = false;
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos && line.size() >= space + 4) {
      transfer.response.status = std::atoi(std::string(line.substr(space + 1, 3)).c_str());
    }
  } else if (trim(line).empty()) {
    transfer.has_head = transfer.response.status >= 200;
  } else if (const auto header = http::parse_header_line(line); header && header->is("Retry-After")) {
    transfer.response.retry_after = http::parse_retry_after(header->value);
  }
  return size;
}

std::size_t give_body(char* data, std::size_t one, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t size = std::min(one * count, transfer.request_body.size() - transfer.sent);
  std::copy_n(transfer.request_body.data() + transfer.sent, size, data);
  transfer.sent += size;
  return size;
}

void set_blob(CURL* easy, CURLoption option, const std::string& text) {
  curl_blob blob{};
  blob.data = const_cast<char*>(text.data());  // NOLINT(*-const-cast): libcurl copies it
  blob.len = text.size();
  blob.flags = CURL_BLOB_COPY;
  curl_easy_setopt(easy, option, &blob);
}

// Moves bytes without waiting. `multi` has this one transfer.
void drive(CURLM* multi, Transfer& transfer) {
  int running = 0;
  curl_multi_perform(multi, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    transfer.done = true;
    transfer.result = message->data.result;
  }
}

// "host:port" of "https://host:port/path".
std::string authority_of(std::string_view server) {
  server.remove_prefix(server.find("://") + 3);
  return std::string(server.substr(0, server.find('/')));
}

std::string port_of(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) return "443";
  return std::string(authority.substr(colon + 1));
}

std::string host_of(std::string_view authority) {
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || authority.find(']', colon) != std::string_view::npos) {
    return std::string(authority);
  }
  return std::string(authority.substr(0, colon));
}

}  // namespace

class CurlTransport::Engine {
 public:
  Engine(ClusterAccess access, CredentialSource& credentials, oob::Clock& clock)
      : access_(std::move(access)), credentials_(credentials), clock_(clock) {
    load_curl();
    base_url_ = access_.server;
    if (access_.tls_server_name.empty() || !access_.server.starts_with("https://")) return;
    // Connect to the server, but verify and name the other host.
    const std::string authority = authority_of(access_.server);
    const std::string port = port_of(authority);
    const std::string path = access_.server.substr(8 + authority.size());
    base_url_ = fmt::format("https://{}:{}{}", access_.tls_server_name, port, path);
    connect_to_.add(fmt::format("{}:{}:{}:{}", access_.tls_server_name, port, host_of(authority), port));
  }
  ~Engine() {
    const http::NoPipeSignal guard;
    idle_.reset();
    multi_.reset();
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  [[nodiscard]] bool is_stopped() const { return clock_.stopped(); }
  void reject_credentials() { credentials_.reject(); }

  // Everything that can fail before a connection is made.
  Status prepare(const ApiRequest& request, CURL* easy, Transfer& transfer) {
    Result<Credentials> credentials = credentials_.current();
    if (!credentials.ok()) {
      return Error{ErrorCode::refused, "no credentials: " + credentials.error().text(), access_.server};
    }
    const bool secure = access_.server.starts_with("https://");
    const bool has_secret = !credentials->token.empty() || !credentials->key_pem.empty() || request.has_secret ||
                            !request.authorization.empty();
    if (!secure && has_secret) {
      return Error{ErrorCode::refused, "credentials are not sent without TLS; use https://", access_.server};
    }
    set_headers(request, *credentials, transfer);
    set_request(request, easy, transfer);
    set_deadlines(request, easy, transfer.streams);
    return secure ? set_tls(easy, *credentials) : Status();
  }

  Result<ApiResponse> send(const ApiRequest& request) {
    const http::NoPipeSignal guard;
    if (multi_ == nullptr) multi_.reset(curl_multi_init());
    EasyHandle easy = idle_ != nullptr ? std::move(idle_) : EasyHandle(curl_easy_init());
    if (multi_ == nullptr || easy == nullptr) return Error{ErrorCode::internal, "out of memory for a request", {}};
    curl_easy_reset(easy.get());
    Transfer transfer;
    transfer.max_bytes = request.max_bytes;
    if (const Status ready = prepare(request, easy.get(), transfer); !ready.ok()) return ready.error();
    curl_multi_add_handle(multi_.get(), easy.get());
    while (!transfer.done && !clock_.stopped()) {
      drive(multi_.get(), transfer);
      if (!transfer.done) curl_multi_poll(multi_.get(), nullptr, 0, kStopLatencyMs, nullptr);
    }
    curl_multi_remove_handle(multi_.get(), easy.get());
    Result<ApiResponse> response = finish(easy.get(), transfer);
    curl_easy_reset(easy.get());
    idle_ = std::move(easy);
    return response;
  }

  [[nodiscard]] Result<ApiResponse> finish(CURL* easy, Transfer& transfer) const {
    if (!transfer.done) return broken(easy, "stopped", ErrorCode::unavailable);
    if (transfer.result != CURLE_OK) return error_of(easy, transfer);
    if (!transfer.has_head) return Error{ErrorCode::invalid_input, "not an HTTP response", access_.server};
    return std::move(transfer.response);
  }

  [[nodiscard]] Error error_of(CURL* easy, const Transfer& transfer) const {
    const std::string detail = transfer.text[0] != '\0' ? printable(transfer.text.data(), 200)
                                                        : std::string(curl_easy_strerror(transfer.result));
    switch (transfer.result) {
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_ISSUER_ERROR:
      case CURLE_SSL_CACERT_BADFILE:
        return Error{ErrorCode::refused, "the server's certificate is not trusted: " + detail, access_.server};
      case CURLE_SSL_CERTPROBLEM:
        return Error{ErrorCode::refused, "the client certificate or key cannot be used: " + detail, access_.server};
      case CURLE_OPERATION_TIMEDOUT:
        return broken(easy, "no complete response before the deadline", ErrorCode::unavailable);
      case CURLE_WRITE_ERROR:
        if (transfer.body_too_large || transfer.headers_too_large) {
          return Error{ErrorCode::invalid_input, "the response is larger than permitted", access_.server};
        }
        break;
      case CURLE_WEIRD_SERVER_REPLY:
      case CURLE_UNSUPPORTED_PROTOCOL:
      case CURLE_BAD_CONTENT_ENCODING:
        return Error{ErrorCode::invalid_input, "not an HTTP response: " + detail, access_.server};
      default:
        break;
    }
    return broken(easy, detail, ErrorCode::unavailable);
  }

  // A connection that failed before the request was sent is `code`; after that the request may have been executed.
  [[nodiscard]] Error broken(CURL* easy, const std::string& detail, ErrorCode code) const {
    curl_off_t begun = 0;
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &begun);
    if (begun == 0) return Error{code, "no connection: " + detail, access_.server};
    return Error{ErrorCode::timeout, "connection lost, the request may have been executed: " + detail, access_.server};
  }

 private:
  static void set_headers(const ApiRequest& request, const Credentials& credentials, Transfer& transfer) {
    transfer.add_header("Accept: application/json");
    transfer.add_header("User-Agent: weft");
    transfer.add_header("Expect:");  // do not wait for "100 Continue"
    if (!request.content_type.empty()) transfer.add_header("Content-Type: " + request.content_type);
    if (!credentials.token.empty()) transfer.add_header("Authorization: Bearer " + credentials.token.reveal());
    if (!request.authorization.empty()) transfer.add_header("Authorization: " + request.authorization);
  }

  void set_request(const ApiRequest& request, CURL* easy, Transfer& transfer) {
    const std::string url = base_url_ + request.target;
    if (connect_to_.get() != nullptr) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, access_.proxy.c_str());
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.text.data());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.headers.get());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
    if (request.method == "GET") return;
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.body.empty()) return;
    // Through a callback that cannot rewind: if a kept connection turns out dead after the body was sent, libcurl would
    // send the request again, and it would be executed twice. This makes it fail instead.
    transfer.request_body = request.body;
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, &give_body);
    curl_easy_setopt(easy, CURLOPT_READDATA, &transfer);
  }

  static void set_deadlines(const ApiRequest& request, CURL* easy, bool streams) {
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, curl_ms(std::min(request.deadline, kMaxConnectTime)));
    if (!streams) curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, curl_ms(request.deadline));
    // A peer that vanished without a word is noticed in about a minute.
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
  }

  [[nodiscard]] Status set_tls(CURL* easy, const Credentials& credentials) {
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, access_.insecure ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, access_.insecure ? 0L : 2L);
    if (!access_.insecure && !access_.ca.empty()) {
      const Result<Secret> ca = read_pem(access_.ca);
      if (!ca.ok()) return Error{ErrorCode::refused, "CA: " + ca.error().text(), access_.server};
      set_blob(easy, CURLOPT_CAINFO_BLOB, ca->reveal());
      curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    }
    if (!credentials.key_pem.empty()) {
      set_blob(easy, CURLOPT_SSLCERT_BLOB, credentials.certificate_pem.reveal());
      set_blob(easy, CURLOPT_SSLKEY_BLOB, credentials.key_pem.reveal());
    }
    return {};
  }

  const ClusterAccess access_;
  CredentialSource& credentials_;
  oob::Clock& clock_;
  std::string base_url_;
  http::HeaderLines connect_to_;
  MultiHandle multi_;  // keeps connections for further requests
  EasyHandle idle_;
};

namespace {

// A stream has a connection of its own, so that reading it does not depend on other requests.
class CurlStream final : public ResponseStream {
 public:
  CurlStream() : multi(curl_multi_init()), easy(curl_easy_init()) { transfer.streams = true; }
  ~CurlStream() override {
    const http::NoPipeSignal guard;
    if (added) curl_multi_remove_handle(multi.get(), easy.get());
    easy.reset();
    multi.reset();
  }

  [[nodiscard]] int status() const override { return transfer.response.status; }

  [[nodiscard]] Result<StreamBytes> read(Duration wait) override {
    const http::NoPipeSignal guard;
    const auto end = Steady::now() + chrono_of(wait);
    for (;;) {
      if (std::exchange(transfer.paused, false)) curl_easy_pause(easy.get(), CURLPAUSE_CONT);
      if (!transfer.done) perform();
      if (!transfer.response.body.empty() || transfer.done) break;
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Steady::now()).count();
      if (left <= 0) break;
      curl_multi_poll(multi.get(), nullptr, 0, static_cast<int>(std::min<std::int64_t>(left, 1000)), nullptr);
    }
    StreamBytes out;
    out.bytes = std::exchange(transfer.response.body, {});
    if (!transfer.done || !out.bytes.empty()) return out;
    if (transfer.result != CURLE_OK) {
      return Error{ErrorCode::timeout, fmt::format("connection lost: {}", curl_easy_strerror(transfer.result)), {}};
    }
    out.state = StreamState::closed;
    return out;
  }

  void perform() { drive(multi.get(), transfer); }

  MultiHandle multi;
  EasyHandle easy;
  Transfer transfer;
  bool added = false;
};

}  // namespace

CurlTransport::CurlTransport(ClusterAccess access, CredentialSource& credentials, oob::Clock& clock)
    : engine_(std::make_unique<Engine>(std::move(access), credentials, clock)) {}

CurlTransport::~CurlTransport() = default;

Result<ApiResponse> CurlTransport::send(const ApiRequest& request) {
  Result<ApiResponse> response = engine_->send(request);
  if (!response.ok() || response->status != 401) return response;
  engine_->reject_credentials();
  return engine_->send(request);
}

Result<std::unique_ptr<ResponseStream>> CurlTransport::open(const ApiRequest& request) {
  const http::NoPipeSignal guard;
  for (int tries = 1;; ++tries) {
    auto stream = std::make_unique<CurlStream>();
    if (stream->multi == nullptr || stream->easy == nullptr) {
      return Error{ErrorCode::internal, "out of memory for a stream", {}};
    }
    if (const Status ready = engine_->prepare(request, stream->easy.get(), stream->transfer); !ready.ok()) {
      return ready.error();
    }
    curl_multi_add_handle(stream->multi.get(), stream->easy.get());
    stream->added = true;
    const auto end = Steady::now() + chrono_of(request.deadline);
    while (!stream->transfer.has_head && !stream->transfer.done && Steady::now() < end && !engine_->is_stopped()) {
      stream->perform();
      if (!stream->transfer.has_head && !stream->transfer.done) {
        curl_multi_poll(stream->multi.get(), nullptr, 0, kStopLatencyMs, nullptr);
      }
    }
    if (!stream->transfer.has_head) {
      if (stream->transfer.done) return engine_->error_of(stream->easy.get(), stream->transfer);
      return Error{ErrorCode::timeout, engine_->is_stopped() ? "stopped" : "no response before the deadline", {}};
    }
    if (stream->status() == 401 && tries == 1) {
      engine_->reject_credentials();
      continue;
    }
    return std::unique_ptr<ResponseStream>(std::move(stream));
  }
}

}  // namespace weft::kube

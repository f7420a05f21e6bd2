#include "access/oidc/http_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"
#include "base/utf8.h"
#include "http/curl_handles.h"
#include "http/no_pipe_signal.h"

namespace weft::access {

namespace {

using http::EasyHandle;
using http::HeaderLines;

constexpr std::size_t kMaxUrlBytes = 2048;
constexpr std::size_t kMaxHeaderBytes = std::size_t{64} << 10U;

Error refuse_url(std::string_view url, std::string_view why) {
  return Error{ErrorCode::refused, fmt::format("the address {} {}", in_backticks(url), why), {}};
}

bool is_loopback(std::string_view host) { return host == "127.0.0.1" || host == "[::1]" || host == "localhost"; }

// State of one request in libcurl's callbacks.
struct Transfer {
  const oob::Clock* clock = nullptr;
  std::size_t max_bytes = 0;
  std::size_t header_bytes = 0;
  bool too_large = false;
  std::string body;
  std::array<char, CURL_ERROR_SIZE> text{};
};

std::size_t take_body(char* data, std::size_t /*one*/, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.body.size() + size > transfer.max_bytes) {
    transfer.too_large = true;
    return 0;
  }
  transfer.body.append(data, size);
  return size;
}

std::size_t take_header(char* /*data*/, std::size_t one, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.header_bytes += one * count;
  if (transfer.header_bytes <= kMaxHeaderBytes) return one * count;
  transfer.too_large = true;
  return 0;
}

int stop_if_asked(void* user, curl_off_t /*down*/, curl_off_t /*of*/, curl_off_t /*up*/, curl_off_t /*of*/) {
  const auto& transfer = *static_cast<const Transfer*>(user);
  return transfer.clock != nullptr && transfer.clock->stopped() ? 1 : 0;
}

HeaderLines headers_of(const FetchRequest& request) {
  HeaderLines headers;
  headers.add("Accept: application/json");
  headers.add("User-Agent: weft");
  headers.add("Expect:");  // do not wait for "100 Continue"
  if (!request.authorization.empty()) headers.add("Authorization: " + request.authorization.reveal());
  return headers;
}

void set_options(CURL* easy, const FetchRequest& request, Transfer& transfer, PlainHttp plain) {
  const long limit = static_cast<long>(std::max<std::int64_t>(request.deadline.count() / 1'000'000, 1));
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, plain == PlainHttp::refuse ? "https" : "https,http");
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, limit);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, limit);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (!request.ca_file.empty()) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, request.ca_file.c_str());
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.text.data());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &stop_if_asked);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &transfer);
  if (request.method == "GET") return;
  CHECK(request.method == "POST", "GET or POST");
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.form.reveal().size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.form.reveal().c_str());
}

Error error_of(CURLcode code, const Transfer& transfer, const std::string& url) {
  const std::string detail =
      transfer.text[0] != '\0' ? printable(transfer.text.data(), 200) : std::string(curl_easy_strerror(code));
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return Error{ErrorCode::refused, "the certificate is not trusted: " + detail, url};
    case CURLE_OPERATION_TIMEDOUT:
      return Error{ErrorCode::timeout, "no complete response before the deadline", url};
    case CURLE_ABORTED_BY_CALLBACK:
      return Error{ErrorCode::unavailable, "stopped", url};
    case CURLE_WRITE_ERROR:
      if (transfer.too_large) return Error{ErrorCode::invalid_input, "the response is larger than permitted", url};
      break;
    default:
      break;
  }
  return Error{ErrorCode::unavailable, detail, url};
}

}  // namespace

Status check_url(std::string_view url, PlainHttp plain) {
  if (url.size() > kMaxUrlBytes) return refuse_url(url, fmt::format("has more than {} bytes", kMaxUrlBytes));
  for (const char c : url) {
    if (c <= ' ' || c > '~' || c == '\\' || c == '"' || c == '<' || c == '>') {
      return refuse_url(url, "has a character that is not permitted");
    }
  }
  const std::size_t end = url.find("://");
  const std::string_view scheme = url.substr(0, end == std::string_view::npos ? 0 : end);
  if (scheme != "https" && scheme != "http") return refuse_url(url, "does not begin with https://");
  const std::string_view rest = url.substr(end + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (contains(authority, "@")) return refuse_url(url, "has a user name");
  if (contains(url, "#")) return refuse_url(url, "has a fragment");
  const std::size_t colon = authority.find(':', authority.starts_with('[') ? authority.find(']') : 0);
  const std::string_view host = authority.substr(0, colon);
  if (host.empty()) return refuse_url(url, "has no host");
  if (scheme == "http" && (plain == PlainHttp::refuse || !is_loopback(host))) {
    return refuse_url(url, "is not https");
  }
  return {};
}

CurlFetch::CurlFetch(const oob::Clock* clock, PlainHttp plain) : clock_(clock), plain_(plain) {}

Result<FetchResponse> CurlFetch::fetch(const FetchRequest& request) {
  if (const Status url = check_url(request.url, plain_); !url.ok()) return url.error();
  load_curl();
  const http::NoPipeSignal guard;
  const EasyHandle easy(curl_easy_init());
  if (easy == nullptr) return Error{ErrorCode::internal, "out of memory for a request", {}};
  Transfer transfer;
  transfer.clock = clock_;
  transfer.max_bytes = request.max_bytes;
  const HeaderLines headers = headers_of(request);
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  set_options(easy.get(), request, transfer, plain_);
  if (const CURLcode code = curl_easy_perform(easy.get()); code != CURLE_OK) {
    return error_of(code, transfer, request.url);
  }
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  return FetchResponse{static_cast<int>(status), std::move(transfer.body)};
}

std::string form_encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

std::string form_encode(const FormFields& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += '&';
    out += form_encode(name) + '=' + form_encode(value);
  }
  return out;
}

}  // namespace weft::access

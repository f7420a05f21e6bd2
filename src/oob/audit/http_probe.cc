#include "oob/audit/http_probe.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "lazy/curl.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxBytes = 64U << 10U;  // of a page, which is not looked at
constexpr long kMaxMs = 3000;                  // a port that a firewall closes does not answer at all

std::size_t count_bytes(char* /*data*/, std::size_t one, std::size_t count, void* user) {
  auto& bytes = *static_cast<std::size_t*>(user);
  bytes += one * count;
  return bytes > kMaxBytes ? 0 : one * count;
}

std::optional<HttpAnswer> ask(CURL* easy, const std::string& url) {
  std::size_t bytes = 0;
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bytes);
  const CURLcode code = curl_easy_perform(easy);
  long status = 0;
  char* redirect = nullptr;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &redirect);
  if (code != CURLE_OK && status == 0) return HttpAnswer::none;
  return judge_http(status, redirect == nullptr ? std::string() : std::string(redirect));
}

}  // namespace

std::optional<HttpAnswer> judge_http(long status, const std::string& redirect) {
  // A login that is asked for in plain text is one that may be sent in plain text.
  if ((status >= 200 && status < 300) || status == 401) return HttpAnswer::plain;
  if (status >= 300 && status < 400 && equals_ignoring_case(std::string_view(redirect).substr(0, 8), "https://"))
    return HttpAnswer::redirect;
  return std::nullopt;
}

HttpAnswer probe_http(const Endpoint& endpoint, std::uint16_t port) {
  load_curl();
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), [](CURL* one) { curl_easy_cleanup(one); });
  if (easy == nullptr) return HttpAnswer::none;
  Endpoint plain = endpoint;
  plain.port = port;
  const long limit = static_cast<long>(std::clamp<std::int64_t>(endpoint.request_limit.count() / 1'000'000, 1, kMaxMs));
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(easy.get(), CURLOPT_PROXY, endpoint.proxy.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_NOPROXY, "");
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, limit);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &count_bytes);
  for (const char* path : {"/redfish/v1/", "/"}) {
    if (const std::optional<HttpAnswer> answer = ask(easy.get(), "http://" + authority_of(plain) + path))
      return *answer;
  }
  return HttpAnswer::none;
}

}  // namespace weft::oob

// Requests to an OIDC provider: one interface, so that tests answer without a network, and its implementation with
// libcurl. Blocking; callers are worker threads. It may be used by several threads at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "oob/credentials/secret.h"
#include "oob/durable/clock.h"

namespace weft::access {

struct FetchRequest {
  std::string method = "GET";
  std::string url;
  oob::Secret authorization;  // value of the header; empty: none
  oob::Secret form;           // body of a POST, application/x-www-form-urlencoded
  std::string ca_file;        // certificates to trust instead of the system's; empty: the system's
  Duration deadline = milliseconds(10'000);
  std::size_t max_bytes = std::size_t{256} << 10U;  // of the response's body
};

struct FetchResponse {
  int status = 0;
  std::string body;
};

class HttpFetch {
 public:
  HttpFetch() = default;
  HttpFetch(const HttpFetch&) = delete;
  HttpFetch& operator=(const HttpFetch&) = delete;
  virtual ~HttpFetch() = default;

  // Any HTTP status is a response. Errors never contain what was sent. Redirects are not followed: they are responses.
  [[nodiscard]] virtual Result<FetchResponse> fetch(const FetchRequest& request) = 0;
};

// What an address of the provider must be. Plain HTTP is for tests, and only to this machine.
enum class PlainHttp : std::uint8_t { refuse, allow_loopback };
// An absolute https URL with a host, without user information, fragment, spaces or controls.
[[nodiscard]] Status check_url(std::string_view url, PlainHttp plain);

// HTTPS with TLS 1.2 or later and verified certificates. Proxies of the environment and .netrc are not used.
class CurlFetch final : public HttpFetch {
 public:
  // A request ends early, with an error, after the clock has been stopped; no clock: it does not.
  explicit CurlFetch(const oob::Clock* clock = nullptr, PlainHttp plain = PlainHttp::refuse);
  [[nodiscard]] Result<FetchResponse> fetch(const FetchRequest& request) override;

 private:
  const oob::Clock* clock_;
  PlainHttp plain_;
};

using FormFields = std::vector<std::pair<std::string, std::string>>;
// application/x-www-form-urlencoded: unreserved characters (RFC 3986) as they are, all others as %XX.
[[nodiscard]] std::string form_encode(std::string_view text);
[[nodiscard]] std::string form_encode(const FormFields& fields);

}  // namespace weft::access

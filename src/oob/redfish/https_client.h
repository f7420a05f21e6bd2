// HTTPS to one BMC: requests in, replies or errors out, with every bound that a small or hostile server needs (time,
// bytes, redirects, requests in flight). Built on libcurl's multi interface, used by one thread. It knows HTTP and TLS
// and nothing of Redfish; it never repeats a request that changes something.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"
#include "oob/credentials/secret.h"
#include "oob/durable/clock.h"

namespace weft::oob {

inline constexpr std::size_t kMaxBodyBytes = 4U << 20U;
inline constexpr std::size_t kMaxHeaderBytes = 64U << 10U;
inline constexpr int kMaxRedirects = 3;
// Logging out is tried even when the operator has stopped the command, so it may not take long.
inline constexpr Duration kFarewellLimit = milliseconds(2'000);

// How a request proves who asks: by the token when there is one, else by HTTP Basic (RFC 7617) when there is a user.
struct HttpLogin {
  Secret token{};
  std::string user{};
  Secret password{};
};

struct HttpRequest {
  std::string method = "GET";
  std::string path{};       // "/redfish/v1/..."
  std::string_view body{};  // JSON; empty: none. Must live until the request has ended
  std::string if_match{};   // ETag; empty: none
  const HttpLogin* login = nullptr;
  bool farewell = false;  // done within kFarewellLimit, and even when the clock is stopped
};

struct HttpReply {
  int status = 0;
  std::string location{};  // as sent
  Secret token{};          // X-Auth-Token
  std::string etag{};
  std::optional<int> retry_after{};  // seconds
  std::string body{};
};

class HttpsClient {
 public:
  // Keeps copies of what it needs of the endpoint. The clock must outlive it.
  HttpsClient(const Endpoint& endpoint, Clock& clock);
  ~HttpsClient();
  HttpsClient(const HttpsClient&) = delete;
  HttpsClient& operator=(const HttpsClient&) = delete;

  // Any answer is a reply, whatever its status. Errors: refused (certificate, redirect to elsewhere), unavailable (no
  // route, connection lost, stopped), timeout, invalid_input (no TLS, no HTTP, too much of it). A redirect within the
  // same host and port is followed for GET, and for others when the service says to repeat them (307, 308).
  [[nodiscard]] Result<HttpReply> request(const HttpRequest& request);
  // GET of each path, at most kMaxInFlight (redfish/gate.h) at a time; replies in the order of the paths.
  [[nodiscard]] std::vector<Result<HttpReply>> get_many(const std::vector<std::string>& paths, const HttpLogin* login);

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft::oob

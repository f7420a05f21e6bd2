// HTTPS client for one BMC, with all the limits that a slow or hostile server requires (time, bytes, redirects,
// requests in flight). Built on libcurl's multi interface, used by one thread. HTTP and TLS only, no Redfish; it never
// repeats a request that changes state.
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
// Logout is attempted even after the operator has stopped the command, so it must be quick.
inline constexpr Duration kFarewellLimit = milliseconds(2'000);

// Authentication of a request: the token if there is one, else HTTP Basic (RFC 7617) if there is a user.
struct HttpLogin {
  Secret token{};
  std::string user{};
  Secret password{};
};

struct HttpRequest {
  std::string method = "GET";
  std::string path{};                    // "/redfish/v1/..."
  std::string_view body{};               // JSON; empty: none. Must outlive the request
  std::vector<std::string_view> more{};  // further parts of the body: an image is not copied into it
  std::string content_type = "application/json";
  std::string if_match{};  // ETag; empty: none
  std::string accept = "application/json";
  std::string last_event_id{};  // of the stream that this one goes on from; empty: none
  Duration limit{};             // of the whole request; zero: the endpoint's
  const HttpLogin* login = nullptr;
  bool farewell = false;  // completes within kFarewellLimit, even if the clock is stopped
};

struct HttpReply {
  int status = 0;
  std::string location{};  // as sent
  Secret token{};          // X-Auth-Token
  std::string etag{};
  std::optional<int> retry_after{};  // seconds
  std::string content_type{};
  std::string body{};
};

// The body of a response that has no end: server-sent events. On a connection of its own, kept alive by TCP.
class HttpStream {
 public:
  HttpStream() = default;
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;
  virtual ~HttpStream() = default;
  // What arrived within `wait`, possibly nothing; sooner if the command was stopped. Errors are those of a request;
  // unavailable also if the service ended the stream.
  [[nodiscard]] virtual Result<std::string> read(Duration wait) = 0;
};
struct StreamReply {
  HttpReply reply{};                     // complete if there is no stream
  std::unique_ptr<HttpStream> stream{};  // null unless the status is 200 and the type text/event-stream
};

class HttpsClient {
 public:
  // Copies what it needs of the endpoint. The clock must outlive it.
  HttpsClient(const Endpoint& endpoint, Clock& clock);
  ~HttpsClient();
  HttpsClient(const HttpsClient&) = delete;
  HttpsClient& operator=(const HttpsClient&) = delete;

  // Any HTTP response is a reply, regardless of status. Errors: refused (certificate, redirect to another host),
  // unavailable (no route, connection lost, stopped), timeout, invalid_input (not TLS, not HTTP, too large). A redirect
  // within the same host and port is followed for GET, and for other methods if the service asks to repeat them (307,
  // 308).
  [[nodiscard]] Result<HttpReply> request(const HttpRequest& request);
  // GET of each path, at most kMaxInFlight (redfish/gate.h) at a time; replies in the order of the paths.
  [[nodiscard]] std::vector<Result<HttpReply>> get_many(const std::vector<std::string>& paths, const HttpLogin* login);
  // GET of a stream; redirects are not followed. The client must outlive it.
  [[nodiscard]] Result<StreamReply> open_stream(const HttpRequest& request);

 private:
  class Engine;
  class Stream;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft::oob

// HTTP client for the API of `weft serve`, on its Unix socket or over TLS: one request per connection, blocking, with a
// deadline, and a reader of server-sent events. It does not retry, as only the caller knows whether a request may be
// repeated, and follows no redirects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "serve/http/endpoint.h"
#include "serve/http/message.h"
#include "serve/http/sse.h"

namespace weft::serve {

struct ClientRequest {
  Endpoint endpoint;
  std::string method = "GET";
  std::string target = "/";  // as sent: see format_target()
  std::string body;
  std::string content_type = "application/json";             // sent if there is a body
  std::vector<std::pair<std::string, std::string>> headers;  // more of them, such as Idempotency-Key
  Duration timeout = milliseconds(30'000);                   // for everything, connecting included
  std::size_t max_response_bytes = std::size_t{256} << 20U;
};

// Any complete response, whatever its status. Errors:
//   invalid_input  the socket's path, a certificate file or the token is not usable
//   unavailable    no weft serve is listening, the host is unknown, or the server closed the connection before it had
//                  the whole request
//   refused        no permission to use the socket, or one end does not trust the other's certificate
//   timeout, internal
//                  no (valid) response: if the whole request was sent, it may have been executed, and the message says
//                  so
[[nodiscard]] Result<HttpResponse> send_request(const ClientRequest& request);

enum class StreamEnd : std::uint8_t {
  callback,  // it returned false
  server     // the server closed the stream in good order
};
struct FollowRequest {
  Endpoint endpoint;
  std::string target = "/";
  std::optional<std::uint64_t> last_event_id;       // resume after this one
  Duration connect_timeout = milliseconds(30'000);  // until the stream is open
  Duration max_silence = milliseconds(60'000);      // without even a heartbeat
};
// Reads events until the callback returns false or the stream ends. Errors as above; `unavailable` also if the
// connection broke: follow again from the last event's id. A response other than a stream is the error it reports.
[[nodiscard]] Result<StreamEnd> follow_events(const FollowRequest& request, const EventCallback& callback);

}  // namespace weft::serve

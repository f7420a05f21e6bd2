// Transport of the Kubernetes API client: one HTTP request and its response, or one response that is read as a stream
// (a watch). An interface, so that tests script the server; curl_transport.h is the real one. It knows no objects and
// no retries: whether a request may be repeated is decided by the client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/result.h"

namespace weft::kube {

struct ApiRequest {
  std::string method = "GET";
  std::string target;                              // path and query, percent-encoded: "/api/v1/nodes?limit=500"
  std::string body;                                // "": none
  std::string content_type;                        // of the body
  Duration deadline = milliseconds(30'000);        // for everything; for a stream: until the headers are there
  std::size_t max_bytes = std::size_t{64} << 20U;  // of the body; not for streams
  std::string authorization{};  // header of that name, for servers with tokens of their own; "": none
  bool has_secret = false;      // in the body: not sent without TLS
};

struct ApiResponse {
  int status = 0;
  std::optional<int> retry_after;  // seconds
  std::string body;
};

enum class StreamState : std::uint8_t {
  open,   // more may come
  closed  // the server ended the response in good order
};
struct StreamBytes {
  StreamState state = StreamState::open;
  std::string bytes;  // may be empty: nothing arrived in time
};

// Response that arrives over minutes. Destroying it closes the connection.
class ResponseStream {
 public:
  ResponseStream() = default;
  ResponseStream(const ResponseStream&) = delete;
  ResponseStream& operator=(const ResponseStream&) = delete;
  virtual ~ResponseStream() = default;

  // Of the headers. A response other than 200 is read as a whole by the caller: read() until closed.
  [[nodiscard]] virtual int status() const = 0;
  // Waits up to `wait` for bytes. An error: the connection broke.
  [[nodiscard]] virtual Result<StreamBytes> read(Duration wait) = 0;
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // Any complete HTTP response is a response, whatever its status. Errors:
  //   unavailable    certain: the server has not received the whole request, so it was not executed
  //   timeout        not certain: the request was sent and no complete response came; it may have been executed
  //   refused        the server's certificate is not trusted, or there are no credentials; not executed
  //   invalid_input  the response is not HTTP or larger than max_bytes; the request may have been executed
  [[nodiscard]] virtual Result<ApiResponse> send(const ApiRequest& request) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<ResponseStream>> open(const ApiRequest& request) = 0;
};

}  // namespace weft::kube

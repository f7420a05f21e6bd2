// HTTP requests and responses as the API's handlers and the CLI see them, and errors as application/problem+json
// (RFC 9457). Plain data: parsing requests is in request_reader.h, parsing responses in response_reader.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "serve/http/target.h"

namespace weft::serve {

// The process at the other end of a Unix socket, as the kernel knows it (SO_PEERCRED).
struct Peer {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::int32_t pid = 0;
};

// The certificate that a client proved to own while TLS was set up, verified against the CA for clients.
struct ClientCertificate {
  std::string name;                        // common name of the subject
  std::vector<std::string> organizations;  // of the subject
  std::string fingerprint;                 // SHA-256 of the DER, 64 hexadecimal digits
  std::int64_t valid_until_ms = 0;         // since 1970: the end of it, or of a CA's certificate that ends before
};

// Headers that the API reads are members; others are not kept. A header that may occur once, and occurs twice, makes a
// request invalid.
struct HttpRequest {
  std::string method;     // as sent; a HEAD request is passed on as GET, and the server leaves out the body
  std::string path;       // decoded and normalized: see target.h
  QueryParameters query;  // decoded
  std::string content_type;
  std::string accept;
  std::string idempotency_key;
  std::optional<std::uint64_t> last_event_id;
  std::string body;
  std::string host;    // of an absolute target, else of the header
  std::string scheme;  // of an absolute target: "https" or "http"; "": the target was a path
  std::string authorization;
  std::string cookie;
  std::string origin;
  std::string fetch_site;  // Sec-Fetch-Site
  std::string csrf_token;  // X-CSRF-Token
  std::string if_match;
  std::string if_none_match;
  std::string request_id;  // X-Request-Id, or one that the server made
  bool is_local = true;    // over the Unix socket: `peer` is valid
  std::string address;     // of the client, over TCP: "192.0.2.7" or "2001:db8::7"; "" over the Unix socket
  Peer peer;
  std::optional<ClientCertificate> certificate;

  // The first parameter with that name, or nullptr.
  [[nodiscard]] const std::string* find_query(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  // Without Content-Type, Content-Length and Connection, which are derived. Names are in lower case in a response that
  // a client has received.
  std::vector<std::pair<std::string, std::string>> headers;

  [[nodiscard]] const std::string* find_header(std::string_view name) const;
};

// {"type":"about:blank","title":...,"status":...,"detail":...}; the short form has the standard phrase as its title.
[[nodiscard]] HttpResponse problem(int status, std::string_view title, std::string_view detail);
[[nodiscard]] HttpResponse problem(int status, std::string_view detail);
// 400 with the member `errors`, which names the header.
[[nodiscard]] HttpResponse header_problem(std::string_view header, std::string_view detail);
// The reverse, for a client: the error that a response with a status of 400 or more stands for.
[[nodiscard]] Error problem_to_error(const HttpResponse& response);

[[nodiscard]] std::string_view status_phrase(int status);

// How a response is sent, which depends on its request.
struct ResponseFraming {
  bool keep_alive = true;
  bool head_only = false;  // HEAD
  bool http_1_0 = false;   // no chunks; keep-alive has to be announced
  bool over_tls = false;   // browsers are told to use nothing else (RFC 6797)
};
// Status line and headers, with `nosniff` and, unless the response has a Cache-Control, `no-store`. Control characters
// in header values become spaces, so that no value can add a header.
[[nodiscard]] std::string format_response_head(const HttpResponse& response, const ResponseFraming& framing);
// The head of a stream of server-sent events: chunked, or for HTTP/1.0 until the connection closes.
[[nodiscard]] std::string format_stream_head(const ResponseFraming& framing);

}  // namespace weft::serve

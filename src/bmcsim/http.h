// HTTP/1.1 (RFC 9112) for a small BMC: parses requests strictly and within limits, and writes responses. No sockets.
// Bodies need Content-Length; chunked ones are rejected, as many BMCs do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bmcsim {

enum class HttpMethod : std::uint8_t { get, head, post, patch, put, remove, options, other };
[[nodiscard]] std::string_view to_text(HttpMethod method);

// Maximum request sizes. bmcweb allows 8 KiB of headers and 10 MiB of body; ours are for a small server.
struct HttpLimits {
  std::size_t header_bytes = 16384;  // request line and headers
  std::size_t target_bytes = 4096;
  std::size_t headers = 100;
  std::size_t body_bytes = 65536;
};

struct SimHttpRequest {
  HttpMethod method = HttpMethod::get;
  std::string path;                                          // percent-decoded, without query and fragment
  std::string query;                                         // as sent, without the '?'
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;

  // The value of the first header with that name; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

// Parses the requests of one connection, in sequence.
class HttpReader {
 public:
  enum class State : std::uint8_t {
    more,      // more bytes are needed
    go_on,     // the client waits for "100 Continue" before it sends the body; returned once
    complete,  // request() is valid; next() proceeds to the one after it
    bad        // status() is the reason; the connection must be closed
  };

  explicit HttpReader(const HttpLimits& limits = {}) : limits_(limits) {}

  // Adds bytes and continues parsing. Once complete or bad, bytes are only buffered.
  State feed(std::string_view bytes);
  [[nodiscard]] const SimHttpRequest& request() const { return request_; }
  [[nodiscard]] int status() const { return status_; }
  // Drops the completed request and continues parsing buffered bytes.
  State next();
  // Buffered bytes that are not yet part of a request: a bound for read-ahead.
  [[nodiscard]] std::size_t held() const { return buffer_.size(); }
  [[nodiscard]] bool idle() const { return state_ == State::more && !in_body_ && buffer_.empty(); }
  void release();  // frees memory while nothing is buffered

 private:
  State read();
  State fail(int status);
  [[nodiscard]] int read_head(std::string_view head);
  [[nodiscard]] int read_line(std::string_view line);
  [[nodiscard]] int read_target(std::string_view target);
  [[nodiscard]] int read_header(std::string_view line);
  [[nodiscard]] int judge_headers();

  HttpLimits limits_;
  std::string buffer_;
  SimHttpRequest request_;
  std::size_t body_length_ = 0;
  int status_ = 0;
  State state_ = State::more;
  bool in_body_ = false;
  bool old_version_ = false;  // HTTP/1.0
  bool said_go_on_ = false;
  bool wants_go_on_ = false;
};

// Percent-decodes; false if an escape is invalid or yields a control character.
[[nodiscard]] bool percent_decode(std::string_view text, std::string& out);
// The query parameters, decoded, in order; a name with an invalid escape is kept as sent.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query);
[[nodiscard]] std::string_view status_phrase(int status);

}  // namespace weft::bmcsim

// HTTP/1.1 (RFC 9112) as a small BMC speaks it: requests read strictly and within bounds, answers written. Bytes in,
// requests out; no sockets. Bodies come with Content-Length; chunked ones are refused, as many BMCs do.
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

// What a request may have at most. bmcweb has 8 KiB of headers and 10 MiB of body; ours are those of a tiny server.
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

  // Of the first header of that name; empty when there is none.
  [[nodiscard]] std::string_view header(std::string_view lower_case_name) const;
};

// One connection's requests, one after the other.
class HttpReader {
 public:
  enum class State : std::uint8_t {
    more,      // more bytes are needed
    go_on,     // the client waits for "100 Continue" before it sends the body; said once
    complete,  // request() is there; next() makes room for the one after it
    bad        // status() says why; the connection cannot go on
  };

  explicit HttpReader(const HttpLimits& limits = {}) : limits_(limits) {}

  // Takes bytes and reads on. Once complete or bad, bytes are only kept.
  State feed(std::string_view bytes);
  [[nodiscard]] const SimHttpRequest& request() const { return request_; }
  [[nodiscard]] int status() const { return status_; }
  // Forgets the request that was complete and reads on in what is there.
  State next();
  // Bytes that are held and not yet part of a request: a bound for who reads ahead.
  [[nodiscard]] std::size_t held() const { return buffer_.size(); }
  [[nodiscard]] bool idle() const { return state_ == State::more && !in_body_ && buffer_.empty(); }
  void release();  // gives memory back while nothing is held

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

// Percent-decoded; false when an escape is broken or gives a control character.
[[nodiscard]] bool percent_decode(std::string_view text, std::string& out);
// The value of a query parameter, decoded; `found` says whether it was there.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> query_parameters(std::string_view query);
[[nodiscard]] std::string_view status_phrase(int status);
// Standard base64 (RFC 4648) decoded, for HTTP Basic; false when it is none.
[[nodiscard]] bool base64_decode(std::string_view text, std::string& out);

}  // namespace weft::bmcsim

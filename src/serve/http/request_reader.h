// Parses the HTTP requests of one connection within limits, by Boost.Beast and the strict grammar of
// wire_scanner.h: bytes go in, an HttpRequest or the response that rejects it comes out. No sockets and no clock, so
// that a fuzz target can drive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "serve/http/message.h"
#include "serve/http/wire_scanner.h"

namespace weft::serve {

struct RequestLimits {
  std::size_t header_bytes = std::size_t{16} << 10U;  // request line and headers; also one chunk header, or the trailer
  std::size_t body_bytes = std::size_t{8} << 20U;
};

class RequestReader {
 public:
  enum class State : std::uint8_t {
    more,              // more bytes are needed
    expects_continue,  // the client waits for "100 Continue" before it sends the body; returned once
    complete,          // take_request() is valid; next() proceeds to the one after it
    invalid            // rejection() is the response; the connection must be closed
  };

  explicit RequestReader(const RequestLimits& limits = {});
  RequestReader(RequestReader&&) noexcept;
  RequestReader& operator=(RequestReader&&) noexcept;
  ~RequestReader();

  // Adds bytes and continues parsing. Once complete or invalid, bytes are only buffered.
  State feed(std::string_view bytes);
  // Proceeds to the next request, with what is buffered.
  State next();

  [[nodiscard]] HttpRequest take_request();  // once per complete request
  [[nodiscard]] const HttpResponse& rejection() const { return rejection_; }
  // For the response to the current request, a rejected one too.
  [[nodiscard]] const ResponseFraming& framing() const { return framing_; }
  // No byte of a request has come since the last one.
  [[nodiscard]] bool is_idle() const { return state_ == State::more && !started_; }
  [[nodiscard]] std::size_t body_bytes() const;  // received so far

 private:
  struct Parser;

  std::size_t parse(std::string_view bytes);
  void read_head();
  [[nodiscard]] bool scan(std::string_view bytes);
  [[nodiscard]] bool ends_as_scanned();
  void reject(HttpResponse response);

  RequestLimits limits_;
  std::unique_ptr<Parser> parser_;  // none while idle
  std::string buffer_;              // not parsed yet
  HttpRequest request_;
  HttpResponse rejection_;
  ResponseFraming framing_;
  WireScanner scanner_;
  std::size_t consumed_ = 0;  // bytes of this request that the parser has taken
  State state_ = State::more;
  bool started_ = false;
  bool expects_continue_ = false;
};

}  // namespace weft::serve

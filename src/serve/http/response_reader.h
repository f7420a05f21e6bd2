// Parses one HTTP response for the client: Content-Length, chunked, or until the connection closes, within limits. No
// sockets. The body of a stream can be taken out while it arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "serve/http/message.h"

namespace weft::serve {

struct ResponseLimits {
  std::size_t header_bytes = std::size_t{64} << 10U;
  std::size_t body_bytes = std::size_t{256} << 20U;  // held at a time
};

class ResponseReader {
 public:
  enum class State : std::uint8_t { head, body, complete, invalid };

  explicit ResponseReader(bool head_only = false, const ResponseLimits& limits = {})
      : limits_(limits), head_only_(head_only) {}

  State feed(std::string_view bytes);
  // The connection has closed: complete if the response has no other end; otherwise the state is unchanged.
  State finish();

  [[nodiscard]] State state() const { return state_; }
  // Status and headers are valid from State::body on. Header names are in lower case.
  [[nodiscard]] HttpResponse& response() { return response_; }
  [[nodiscard]] std::string take_body();
  [[nodiscard]] const std::string& problem_text() const { return problem_; }  // of an invalid response

 private:
  enum class Framing : std::uint8_t { none, length, chunked, until_close };
  enum class ChunkPart : std::uint8_t { size, data, data_end, trailer };

  // Each of them parses a step of buffer_; false if it needs more bytes.
  bool read_head();
  bool read_body();
  bool read_chunk();
  bool read_chunk_line();

  [[nodiscard]] bool read_status_line(std::string_view line);
  [[nodiscard]] bool read_header(std::string_view line);
  [[nodiscard]] bool read_length(std::string_view value);
  void choose_framing();
  bool append_body(std::size_t count);
  bool fail(std::string problem);

  ResponseLimits limits_;
  std::string buffer_;
  HttpResponse response_;
  std::string problem_;
  std::size_t left_ = 0;  // bytes of the body or of the chunk that have not come yet
  State state_ = State::head;
  Framing framing_ = Framing::until_close;
  ChunkPart part_ = ChunkPart::size;
  bool head_only_;
  bool has_length_ = false;
};

}  // namespace weft::serve

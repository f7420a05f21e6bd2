// Checks the bytes of an HTTP/1 request against the strict grammar of RFC 9112, beside Boost.Beast, which is lenient:
// it joins folded header lines, takes chunk extensions of any length, and more. What two programs could read
// differently is request smuggling, and is refused here. Bytes are only judged, never kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::serve {

class WireScanner {
 public:
  // Judges the next bytes and returns how many of them it took: all, unless the head or the chunked body ends among
  // them, or one of them is wrong.
  std::size_t scan(std::string_view bytes);
  // After the head: a chunked body follows.
  void begin_chunks();

  // At the end of the head, or of the chunked body.
  [[nodiscard]] bool is_at_end() const { return state_ == State::end; }
  // Of all bytes so far.
  [[nodiscard]] std::size_t count() const { return count_; }
  // What is wrong; "" if nothing is.
  [[nodiscard]] std::string_view problem() const { return problem_; }

 private:
  enum class State : std::uint8_t {
    request_line,
    request_line_end,  // after its CR
    line_start,        // of a header or trailer
    name,
    value,
    value_end,
    last_line_end,
    chunk_size,
    chunk_extension,
    chunk_size_end,
    chunk_data,
    chunk_data_cr,
    chunk_data_lf,
    end
  };

  bool scan_head_byte(char c);
  bool scan_chunk_byte(char c);
  bool scan_request_line(char c);
  bool scan_value(char c, State at_cr);
  bool scan_line_feed(char c, State next);
  bool start_chunk_data();
  bool fail(std::string_view problem);

  std::string_view problem_;
  std::size_t count_ = 0;
  std::uint64_t chunk_left_ = 0;
  std::size_t chunk_digits_ = 0;
  std::size_t extension_bytes_ = 0;  // of all chunks
  std::size_t trailer_bytes_ = 0;
  std::size_t spaces_ = 0;  // in the request line
  char last_ = ' ';         // in the request line
  State state_ = State::request_line;
};

}  // namespace weft::serve

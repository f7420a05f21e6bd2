#include "serve/http/wire_scanner.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxChunkDigits = 16;
constexpr std::size_t kMaxExtensionBytes = 1024;
constexpr std::size_t kMaxTrailerBytes = std::size_t{16} << 10U;

// RFC 9110 section 5.6.2.
bool is_token(char c) { return is_letter_or_digit(c) || contains("!#$%&'*+-.^_`|~", std::string_view(&c, 1)); }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char lower = to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::size_t WireScanner::scan(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size() && state_ != State::end && problem_.empty()) {
    if (state_ == State::chunk_data) {
      const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, bytes.size() - done));
      chunk_left_ -= taken;
      done += taken;
      if (chunk_left_ == 0) state_ = State::chunk_data_cr;
      continue;
    }
    const bool fine = state_ >= State::chunk_size ? scan_chunk_byte(bytes[done]) : scan_head_byte(bytes[done]);
    if (!fine) break;
    ++done;
  }
  count_ += done;
  return done;
}

void WireScanner::begin_chunks() {
  CHECK(state_ == State::end, "chunks follow the head");
  state_ = State::chunk_size;
}

// Also one of the trailer, which follows chunks.
bool WireScanner::scan_head_byte(char c) {
  if (chunk_digits_ > 0 && ++trailer_bytes_ > kMaxTrailerBytes) return fail("the trailer is too long");
  switch (state_) {
    case State::request_line:
      return scan_request_line(c);
    case State::request_line_end:
    case State::value_end:
      return scan_line_feed(c, State::line_start);
    case State::line_start:
      if (c == '\r') {
        state_ = State::last_line_end;
        return true;
      }
      if (c == ' ' || c == '\t') return fail("a header is continued on the next line");
      state_ = State::name;
      return is_token(c) || fail("a header line does not begin with a name");
    case State::name:
      if (c == ':') {
        state_ = State::value;
        return true;
      }
      if (c == ' ' || c == '\t') return fail("space before the colon of a header");
      return is_token(c) || fail("invalid character in the name of a header");
    case State::value:
      return scan_value(c, State::value_end);
    case State::last_line_end:
      return scan_line_feed(c, State::end);
    default:
      return fail("invalid request");
  }
}

// RFC 9112 section 3: three words of visible ASCII characters, with one space between them.
bool WireScanner::scan_request_line(char c) {
  if (c == '\r') {
    state_ = State::request_line_end;
    return (spaces_ == 2 && last_ != ' ') || fail("the request line is not METHOD TARGET VERSION");
  }
  if (c == ' ' && (last_ == ' ' || ++spaces_ > 2)) return fail("the request line has a space too many");
  if (c < ' ' || c > '~') return fail("the request line has a character that is not visible ASCII");
  last_ = c;
  return true;
}

bool WireScanner::scan_value(char c, State at_cr) {
  if (c == '\r') {
    state_ = at_cr;
    return true;
  }
  if (c == '\n') return fail("a line ends with LF without CR");
  return c == '\t' || !is_control(c) || fail("control character in a header");
}

bool WireScanner::scan_line_feed(char c, State next) {
  state_ = next;
  return c == '\n' || fail("CR without LF");
}

// RFC 9112 section 7.1, without the optional spaces.
bool WireScanner::scan_chunk_byte(char c) {
  switch (state_) {
    case State::chunk_size:
      if (const int digit = hex_value(c); digit >= 0) {
        if (++chunk_digits_ > kMaxChunkDigits) return fail("the size of a chunk has too many digits");
        chunk_left_ = chunk_left_ * 16 + static_cast<std::uint64_t>(digit);
        return true;
      }
      if (chunk_digits_ == 0 || (c != '\r' && c != ';')) return fail("the size of a chunk is not a hexadecimal number");
      state_ = c == ';' ? State::chunk_extension : State::chunk_size_end;
      return true;
    case State::chunk_extension:
      if (++extension_bytes_ > kMaxExtensionBytes) return fail("the chunk extensions are too long");
      return scan_value(c, State::chunk_size_end);
    case State::chunk_size_end:
      return c == '\n' ? start_chunk_data() : fail("CR without LF");
    case State::chunk_data_cr:
      state_ = State::chunk_data_lf;
      return c == '\r' || fail("a chunk is longer than its size");
    case State::chunk_data_lf:
      chunk_digits_ = 0;
      return scan_line_feed(c, State::chunk_size);
    default:
      return fail("invalid request");
  }
}

bool WireScanner::start_chunk_data() {
  state_ = chunk_left_ == 0 ? State::line_start : State::chunk_data;  // the last chunk: the trailer follows
  return true;
}

bool WireScanner::fail(std::string_view problem) {
  problem_ = problem;
  return false;
}

}  // namespace weft::serve

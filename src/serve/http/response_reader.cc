#include "serve/http/response_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

// The whole of `text` as a number, or false.
bool read_number(std::string_view text, int base, std::size_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ResponseReader::State ResponseReader::feed(std::string_view bytes) {
  buffer_ += bytes;
  for (bool more = true; more;) {
    switch (state_) {
      case State::head:
        more = read_head();
        break;
      case State::body:
        more = framing_ == Framing::chunked ? read_chunk() : read_body();
        break;
      case State::complete:
      case State::invalid:
        more = false;
        break;
    }
  }
  return state_;
}

ResponseReader::State ResponseReader::finish() {
  if (state_ == State::body && framing_ == Framing::until_close) state_ = State::complete;
  return state_;
}

std::string ResponseReader::take_body() { return std::exchange(response_.body, {}); }

bool ResponseReader::fail(std::string problem) {
  problem_ = std::move(problem);
  state_ = State::invalid;
  return false;
}

bool ResponseReader::read_head() {
  const std::size_t end = buffer_.find("\r\n\r\n");
  if (std::min(end, buffer_.size()) > limits_.header_bytes) return fail("the headers are too long");
  if (end == std::string::npos) return false;
  const std::string head = buffer_.substr(0, end);
  buffer_.erase(0, end + 4);
  response_ = {};
  response_.content_type.clear();
  framing_ = Framing::until_close;
  has_length_ = false;
  bool first = true;
  for (const std::string_view line : split(head, '\n')) {
    const std::string_view text = line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
    if (!(first ? read_status_line(text) : read_header(text))) return false;
    first = false;
  }
  if (response_.status >= 200) {  // otherwise it is interim, such as 100 Continue: the real one follows
    choose_framing();
  }
  return state_ != State::invalid;
}

bool ResponseReader::read_status_line(std::string_view line) {
  std::size_t status = 0;
  const bool valid = (line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) && line.size() >= 12 &&
                     (line.size() == 12 || line[12] == ' ') && read_number(line.substr(9, 3), 10, status) &&
                     status >= 100 && status < 600 && status != 101;
  if (!valid) return fail("it begins with " + in_backticks(line));
  response_.status = static_cast<int>(status);
  return true;
}

bool ResponseReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || !is_valid_text(line.substr(0, colon)))
    return fail("invalid header " + in_backticks(line));
  std::string name = to_lower(line.substr(0, colon));
  const std::string_view value = trim(line.substr(colon + 1), kTabsAndSpaces);
  if (name == "content-type") {
    response_.content_type = value;
  } else if (name == "content-length") {
    return read_length(value);
  } else if (name == "transfer-encoding") {
    if (!equals_ignoring_case(value, "chunked")) return fail("unsupported Transfer-Encoding " + in_backticks(value));
    framing_ = Framing::chunked;
  }
  response_.headers.emplace_back(std::move(name), value);
  return true;
}

bool ResponseReader::read_length(std::string_view value) {
  std::size_t length = 0;
  if (!read_number(value, 10, length) || (has_length_ && length != left_))
    return fail("invalid Content-Length " + in_backticks(value));
  has_length_ = true;
  left_ = length;
  return true;
}

void ResponseReader::choose_framing() {
  state_ = State::body;
  const bool no_body = head_only_ || response_.status == 204 || response_.status == 304;
  if (no_body) {
    framing_ = Framing::none;
    left_ = 0;
  } else if (framing_ == Framing::chunked) {
    if (has_length_) (void)fail("it has both Content-Length and Transfer-Encoding");
    part_ = ChunkPart::size;
  } else if (has_length_) {
    framing_ = Framing::length;
    if (left_ > limits_.body_bytes) (void)fail(fmt::format("the body has more than {} bytes", limits_.body_bytes));
  }
}

bool ResponseReader::append_body(std::size_t count) {
  if (count > limits_.body_bytes - std::min(limits_.body_bytes, response_.body.size()))
    return fail(fmt::format("the body has more than {} bytes", limits_.body_bytes));
  response_.body.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

bool ResponseReader::read_body() {
  if (framing_ == Framing::until_close) {
    (void)append_body(buffer_.size());
    return false;
  }
  const std::size_t count = std::min(left_, buffer_.size());
  if (!append_body(count)) return false;
  left_ -= count;
  if (left_ == 0) state_ = State::complete;
  return false;
}

bool ResponseReader::read_chunk() {
  if (part_ != ChunkPart::data) return read_chunk_line();
  const std::size_t count = std::min(left_, buffer_.size());
  if (count == 0 || !append_body(count)) return false;
  left_ -= count;
  if (left_ == 0) part_ = ChunkPart::data_end;
  return true;
}

bool ResponseReader::read_chunk_line() {
  const std::size_t end = buffer_.find("\r\n");
  if (end == std::string::npos)
    return buffer_.size() > limits_.header_bytes ? fail("a chunk header is too long") : false;
  const std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  switch (part_) {
    case ChunkPart::size:
      if (!read_number(trim_end(line.substr(0, line.find(';')), kTabsAndSpaces), 16, left_))
        return fail("invalid chunk size " + in_backticks(line));
      part_ = left_ == 0 ? ChunkPart::trailer : ChunkPart::data;
      break;
    case ChunkPart::data_end:
      if (!line.empty()) return fail("a chunk is longer than its size");
      part_ = ChunkPart::size;
      break;
    case ChunkPart::trailer:
      if (line.empty()) state_ = State::complete;
      break;
    case ChunkPart::data:
      break;
  }
  return true;
}

}  // namespace weft::serve

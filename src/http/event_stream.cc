#include "http/event_stream.h"

#include <fmt/format.h>

#include <algorithm>

namespace weft::http {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Result<bool> EventStreamParser::feed(std::string_view bytes, const StreamCallback& callback) {
  while (!bytes.empty() && !stopped_) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + event_.data.size() + end > max_bytes_)
      return Error{ErrorCode::invalid_input, fmt::format("an event has more than {} bytes", max_bytes_), {}};
    line_ += bytes.substr(0, end);
    if (end == bytes.size()) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    read_line(callback);
    line_.clear();
  }
  return stopped_;
}

void EventStreamParser::read_line(const StreamCallback& callback) {
  std::string_view line = line_;
  if (at_start_ && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  at_start_ = false;
  if (line.empty()) {
    if (has_data_) {
      if (event_.name.empty()) event_.name = "message";
      stopped_ = !callback(event_);
    }
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon < line.size() ? line.substr(colon + 1) : std::string_view();
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (field == "event") {
    event_.name = value;
  } else if (field == "id" && value.find('\0') == std::string_view::npos) {
    event_.id = value;
  }
  // Others are comments (no field name), `retry`, or fields of a later standard.
}

}  // namespace weft::http

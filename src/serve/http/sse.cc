#include "serve/http/sse.h"

#include <fmt/format.h>

#include <charconv>

#include "base/check.h"
#include "base/utf8.h"

namespace weft::serve {

std::string format_event(std::uint64_t id, std::string_view event, std::string_view data) {
  CHECK(event.find_first_of("\r\n") == std::string_view::npos, "the name of an event is one line");
  std::string out = fmt::format("id: {}\n", id);
  if (!event.empty()) out.append("event: ").append(event).append("\n");
  for (bool more = true; more;) {
    const std::size_t end = std::min(data.find_first_of("\r\n"), data.size());
    out.append("data: ").append(data.substr(0, end)).append("\n");
    more = end < data.size();
    if (more) data.remove_prefix(end + (data.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return out += '\n';
}

Result<bool> EventParser::feed(std::string_view bytes, const EventCallback& callback) {
  while (!bytes.empty() && !stopped_) {
    if (after_return_ && bytes.front() == '\n') bytes.remove_prefix(1);
    after_return_ = false;
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + event_.data.size() + end > kMaxEventBytes)
      return Error{ErrorCode::invalid_input, fmt::format("an event has more than {} bytes", kMaxEventBytes), {}};
    line_ += bytes.substr(0, end);
    if (end == bytes.size()) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    const Status status = read_line(callback);
    if (!status.ok()) return status.error();
    line_.clear();
  }
  return stopped_;
}

Status EventParser::read_line(const EventCallback& callback) {
  if (line_.empty()) {
    if (has_data_) {
      if (event_.name.empty()) event_.name = "message";
      stopped_ = !callback(event_);
    }
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    return {};
  }
  const std::string_view line = line_;
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
  } else if (field == "id") {
    return read_id(value);
  }
  return {};  // a comment (no field name), `retry`, or a field of a later standard
}

Status EventParser::read_id(std::string_view value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), event_.id);
  if (error == std::errc() && end == value.data() + value.size()) return {};
  return Error{ErrorCode::invalid_input, fmt::format("the event id {} is not a number", in_backticks(value)), {}};
}

}  // namespace weft::serve

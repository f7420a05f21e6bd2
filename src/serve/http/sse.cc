#include "serve/http/sse.h"

#include <fmt/format.h>

#include <algorithm>
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
  Status ids;
  Result<bool> stopped = parser_.feed(bytes, [&](const weft::http::StreamEvent& event) {
    ids = read_id(event.id);
    return ids.ok() && callback({last_id_, event.name, event.data});
  });
  if (!ids.ok()) return ids.error();
  return stopped;
}

Status EventParser::read_id(std::string_view value) {
  if (value.empty()) return {};
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), last_id_);
  if (error == std::errc() && end == value.data() + value.size()) return {};
  return Error{ErrorCode::invalid_input, fmt::format("the event id {} is not a number", in_backticks(value)), {}};
}

}  // namespace weft::serve

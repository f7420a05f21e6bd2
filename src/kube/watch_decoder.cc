#include "kube/watch_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "kube/api_status.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

std::optional<WatchEventKind> kind_of(std::string_view type) {
  if (type == "ADDED") return WatchEventKind::added;
  if (type == "MODIFIED") return WatchEventKind::modified;
  if (type == "DELETED") return WatchEventKind::deleted;
  if (type == "BOOKMARK") return WatchEventKind::bookmark;
  if (type == "ERROR") return WatchEventKind::error;
  return std::nullopt;
}

Error event_error(std::string message) { return Error{ErrorCode::invalid_input, std::move(message), "watch"}; }

Result<WatchEvent> read_event(std::string_view line) {
  Result<Value> json = read_reply_json(line);
  if (!json.ok()) return event_error(json.error().message);
  const std::string type = oob::raw_text(*json, {"type"});
  const std::optional<WatchEventKind> kind = kind_of(type);
  if (!kind) return event_error("not a watch event: type " + in_backticks(type));
  const Value* object = oob::member(*json, {"object"});
  if (object == nullptr || !object->is_map()) return event_error("watch event without an object");
  return WatchEvent{*kind, *object};
}

bool is_space(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
}

}  // namespace

Status WatchDecoder::feed(std::string_view bytes, std::vector<WatchEvent>& events) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (buffer_.size() + part.size() > kMaxWatchLineBytes) {
      return event_error(fmt::format("watch event of more than {} bytes", kMaxWatchLineBytes));
    }
    buffer_.append(part);
    if (end == std::string_view::npos) return {};
    bytes.remove_prefix(end + 1);
    const std::string line = std::exchange(buffer_, {});
    if (is_space(line)) continue;
    Result<WatchEvent> event = read_event(line);
    if (!event.ok()) return event.error();
    events.push_back(std::move(event).value());
  }
  return {};
}

}  // namespace weft::kube

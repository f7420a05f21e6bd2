// Server-sent events (the text/event-stream format of the HTML standard), parsed from pieces of any size: those of
// `weft serve` for its clients, and those of Redfish services (DSP0266, "Server-sent events"). What a stream means is
// left to the caller; no sockets and no chunks here.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::http {

struct StreamEvent {
  std::string id{};    // of the last `id:` line so far; "" before the first
  std::string name{};  // "message" if the server did not name it
  std::string data{};
};
// Returns false to read no further.
using StreamCallback = std::function<bool(const StreamEvent&)>;

class EventStreamParser {
 public:
  explicit EventStreamParser(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Parses the next bytes of the stream. True if the callback has returned false; further bytes are ignored then. An
  // error for an event above the limit.
  [[nodiscard]] Result<bool> feed(std::string_view bytes, const StreamCallback& callback);
  [[nodiscard]] const std::string& last_id() const { return event_.id; }

 private:
  void read_line(const StreamCallback& callback);

  std::size_t max_bytes_;
  std::string line_;
  StreamEvent event_;
  bool has_data_ = false;
  bool at_start_ = true;       // a byte order mark may follow
  bool after_return_ = false;  // the last byte was '\r': a '\n' that follows belongs to it
  bool stopped_ = false;
};

}  // namespace weft::http

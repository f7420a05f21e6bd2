// Server-sent events as weft writes them, and the ids of its own: http/event_stream.h reads the format.
// An event's id is the sequence number of the journal record it reports. No sockets and no chunks here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/event_stream.h"

namespace weft::serve {

// A comment, which clients ignore: it shows that the connection is alive.
inline constexpr std::string_view kHeartbeat = ": heartbeat\n\n";

// `event` is a name without line ends. Every line of `data` becomes a `data:` line; the client sees '\n' between them.
[[nodiscard]] std::string format_event(std::uint64_t id, std::string_view event, std::string_view data);

struct ServerEvent {
  std::uint64_t id = 0;  // of the last `id:` line so far; 0 before the first
  std::string name;      // "message" if the server did not name it
  std::string data;
};
// Returns false to read no further.
using EventCallback = std::function<bool(const ServerEvent&)>;

class EventParser {
 public:
  static constexpr std::size_t kMaxEventBytes = std::size_t{16} << 20U;

  // Parses the next bytes of the stream, in pieces of any size. True if the callback has returned false; further bytes
  // are ignored then. An error for an invalid id or an event above the size limit.
  [[nodiscard]] Result<bool> feed(std::string_view bytes, const EventCallback& callback);

 private:
  [[nodiscard]] Status read_id(std::string_view value);

  weft::http::EventStreamParser parser_{kMaxEventBytes};
  std::uint64_t last_id_ = 0;
};

}  // namespace weft::serve

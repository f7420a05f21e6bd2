// Splits the bytes of a watch into events: one JSON object per line. No connection and no store; a line that is cut off
// at the end of the stream is never an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace weft::kube {

enum class WatchEventKind : std::uint8_t { added, modified, deleted, bookmark, error };
struct WatchEvent {
  WatchEventKind kind = WatchEventKind::added;
  Value object;  // of an error: a Status
};

// An object in etcd is limited to 1.5 MiB, a request to 3 MiB.
inline constexpr std::size_t kMaxWatchLineBytes = std::size_t{16} << 20U;

class WatchDecoder {
 public:
  // Appends the complete events. An error if a line is not a watch event or too long: the stream must be closed, and
  // what came before is still appended.
  [[nodiscard]] Status feed(std::string_view bytes, std::vector<WatchEvent>& events);
  // Bytes of an incomplete line.
  [[nodiscard]] std::size_t pending() const { return buffer_.size(); }

 private:
  std::string buffer_;
};

}  // namespace weft::kube

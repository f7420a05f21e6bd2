// The words between the holder of a console and those who look on, over a socket of the file system: frames of a type,
// a length (4 bytes, big end first) and that many bytes. Local only; nothing here is trusted more than it must be.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::oob {

enum class FrameType : char {
  // from those who look on
  hello = 'H',  // mode ("view", "write" or "take"), lines to show again, who: separated by line ends
  input = 'I',
  take = 'T',
  // from the holder
  output = 'O',
  replay = 'P',  // a line of the log
  note = 'R',
  goodbye = 'G'
};

struct Frame {
  FrameType type = FrameType::note;
  std::string bytes{};
};
inline constexpr std::size_t kMaxFrame = 64U << 10U;  // bytes

[[nodiscard]] std::string frame_bytes(FrameType type, std::string_view bytes);
// Takes a whole frame from the front of `buffer`; none when there is not one yet. An error when it is no frame.
[[nodiscard]] Result<std::optional<Frame>> take_frame(std::string& buffer);

// FOLDER/NAME.sock, mode 0600. The caller holds the lock of the console, so that a socket found there is a dead one.
[[nodiscard]] Result<int> listen_at(const std::string& folder, const std::string& name);
// not_found or unavailable when nobody listens.
[[nodiscard]] Result<int> connect_to(const std::string& folder, const std::string& name);
// Whether the other end is ours or root's.
[[nodiscard]] bool is_peer_trusted(int descriptor);

// Reads what is there. False when the other end is gone.
[[nodiscard]] bool read_available(int descriptor, std::string& buffer);
// Writes what goes without waiting and takes it off `buffer`. False when the other end is gone.
[[nodiscard]] bool write_available(int descriptor, std::string& buffer);

}  // namespace weft::oob

// The protocol between the holder of a console and its clients, over a Unix domain socket: frames of a type, a length
// (4 bytes, big endian) and that many bytes. Local only; input is still validated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::oob {

enum class FrameType : char {
  // from clients
  hello = 'H',  // mode ("view", "write" or "take"), lines to replay, who: separated by line ends
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
// Removes a complete frame from the front of `buffer`; empty if there is none yet. An error if it is not a valid frame.
[[nodiscard]] Result<std::optional<Frame>> take_frame(std::string& buffer);

// FOLDER/NAME.sock, mode 0600. The caller holds the console lock, so an existing socket is stale.
[[nodiscard]] Result<int> listen_at(const std::string& folder, const std::string& name);
// not_found or unavailable if no process is listening.
[[nodiscard]] Result<int> connect_to(const std::string& folder, const std::string& name);
// Whether the peer runs as the same user or root.
[[nodiscard]] bool is_peer_trusted(int descriptor);

// Reads what is available. False if the peer has closed.
[[nodiscard]] bool read_available(int descriptor, std::string& buffer);
// Writes as much as possible without blocking and removes it from `buffer`. False if the peer has closed.
[[nodiscard]] bool write_available(int descriptor, std::string& buffer);

}  // namespace weft::oob

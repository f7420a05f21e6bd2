#include "oob/console/hub_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/file_descriptor.h"

namespace weft::oob {
namespace {

constexpr std::size_t kHeader = 5;

Error failure(const char* what, int number, const std::string& path) {
  const ErrorCode code = number == ENOENT ? ErrorCode::not_found : ErrorCode::unavailable;
  return {code, fmt::format("cannot {}: {}", what, std::generic_category().message(number)), path};
}

// A socket path is limited to 107 bytes (unix(7)); going through the folder's descriptor allows any folder.
class FolderPath {
 public:
  explicit FolderPath(const std::string& folder) : descriptor_(open_descriptor(folder, O_PATH | O_DIRECTORY)) {}
  // False if the name is still too long.
  bool fill(sockaddr_un& address, const std::string& name) const {
    const std::string path = fmt::format("/proc/self/fd/{}/{}.sock", descriptor_.get(), name);
    address.sun_family = AF_UNIX;
    if (!descriptor_.ok() || path.size() >= sizeof(address.sun_path)) return false;
    std::memcpy(&address.sun_path[0], path.c_str(), path.size() + 1);
    return true;
  }

 private:
  FileDescriptor descriptor_;
};

const sockaddr* as_address(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
}

}  // namespace

std::string frame_bytes(FrameType type, std::string_view bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::string out(1, static_cast<char>(type));
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((size >> static_cast<unsigned>(shift)) & 0xFFU);
  out += bytes;
  return out;
}

Result<std::optional<Frame>> take_frame(std::string& buffer) {
  if (buffer.size() < kHeader) return std::optional<Frame>();
  std::uint32_t size = 0;
  for (std::size_t i = 1; i < kHeader; ++i) size = (size << 8U) | static_cast<unsigned char>(buffer[i]);
  if (std::strchr("HITOPRG", buffer[0]) == nullptr || buffer[0] == '\0' || size > kMaxFrame)
    return Error{ErrorCode::invalid_input, "the peer is not a weft console (protocol mismatch)", {}};
  if (buffer.size() < kHeader + size) return std::optional<Frame>();
  Frame frame{static_cast<FrameType>(buffer[0]), buffer.substr(kHeader, size)};
  buffer.erase(0, kHeader + size);
  return std::optional<Frame>(std::move(frame));
}

Result<int> listen_at(const std::string& folder, const std::string& name) {
  const std::string shown = folder + "/" + name + ".sock";
  const FolderPath place(folder);
  sockaddr_un address{};
  if (!place.fill(address, name)) return failure("listen", ENAMETOOLONG, shown);
  (void)::unlink(shown.c_str());
  FileDescriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.ok()) return failure("listen", errno, shown);
  // The socket has its mode from creation; connecting requires write permission on it.
  const bool bound = ::fchmod(listener.get(), 0600) == 0 &&
                     ::bind(listener.get(), as_address(address), sizeof(address)) == 0 &&
                     ::chmod(shown.c_str(), 0600) == 0 && ::listen(listener.get(), 16) == 0;
  if (bound) return listener.release();
  return failure("listen", errno, shown);
}

Result<int> connect_to(const std::string& folder, const std::string& name) {
  const std::string shown = folder + "/" + name + ".sock";
  const FolderPath place(folder);
  sockaddr_un address{};
  if (!place.fill(address, name)) return failure("reach", ENOENT, shown);
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.ok()) return failure("reach", errno, shown);
  if (::connect(socket.get(), as_address(address), sizeof(address)) == 0) {
    ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    return socket.release();
  }
  return failure("reach", errno, shown);
}

bool is_peer_trusted(int descriptor) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == ::geteuid();
}

bool read_available(int descriptor, std::string& buffer) {
  std::array<char, 16384> piece{};
  for (;;) {
    const ssize_t got = ::recv(descriptor, piece.data(), piece.size(), MSG_DONTWAIT);
    if (got > 0) {
      buffer.append(piece.data(), static_cast<std::size_t>(got));
      if (buffer.size() > 2 * kMaxFrame) return true;  // the rest is read later
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    return got < 0 && errno == EAGAIN;
  }
}

bool write_available(int descriptor, std::string& buffer) {
  while (!buffer.empty()) {
    const ssize_t sent = ::send(descriptor, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      buffer.erase(0, static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno == EINTR) continue;
    return sent < 0 && errno == EAGAIN;
  }
  return true;
}

}  // namespace weft::oob

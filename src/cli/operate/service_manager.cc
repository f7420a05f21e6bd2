#include "cli/operate/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace weft::cli {

void notify_service_manager(const std::string& socket, std::string_view state) {
  sockaddr_un address{};
  if (socket.empty() || socket.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket.data(), socket.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // a name of the abstract namespace
  const int descriptor = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const void* const raw = &address;
  (void)::sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL, static_cast<const sockaddr*>(raw), length);
  ::close(descriptor);
}

}  // namespace weft::cli

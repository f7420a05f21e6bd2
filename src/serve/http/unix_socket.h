// Unix sockets in the file system: listening on one, with a safe replacement of the file that a dead server left, and
// connecting to one. HTTP is elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.h"
#include "base/socket.h"
#include "serve/http/message.h"

namespace weft::serve {

struct UnixListener {
  FileDescriptor socket;  // non-blocking
  std::string path;
  std::uint64_t device = 0;  // with the inode: identifies the file that this listener created
  std::uint64_t inode = 0;
};

// Creates the socket file with these permission bits, whatever the umask. Its folder must not be writable by everyone
// unless it is sticky. The socket file of a dead server is replaced; a live server, or a file of another type, is an
// error.
[[nodiscard]] Result<UnixListener> listen_unix(const std::string& path, unsigned mode);
// Removes the socket file if it is still the one that the listener created.
void remove_socket_file(const UnixListener& listener);

// Non-blocking. `unavailable` if nothing listens there, `refused` without permission, `timeout` if the server accepts
// no connection before the deadline.
[[nodiscard]] Result<FileDescriptor> connect_unix(const std::string& path, Deadline deadline);

// The process at the other end of a connection.
[[nodiscard]] Peer read_peer(int socket);
// The other end has closed the connection, not just its own direction of it.
[[nodiscard]] bool has_hung_up(int socket);

}  // namespace weft::serve

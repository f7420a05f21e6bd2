#include "serve/http/unix_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace weft::serve {
namespace {

constexpr std::chrono::milliseconds kRetryInterval{10};
constexpr std::chrono::seconds kLockLimit{5};

Error socket_error(int code, std::string_view what, const std::string& path) {
  return {code == EACCES || code == EPERM ? ErrorCode::refused : ErrorCode::unavailable,
          fmt::format("cannot {}: {}", what, std::generic_category().message(code)), path};
}

Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr std::size_t max_bytes = sizeof address.sun_path - 1;
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_input, "the path of the socket is empty or has a NUL", {}};
  if (path.size() > max_bytes) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("the path of a socket has at most {} bytes, this one has {}: choose a shorter one",
                             max_bytes, path.size()),
                 path};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_to(int socket, const sockaddr_un& address) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

FileDescriptor open_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// The folder of the socket, locked: two servers that start at once must not take each other's file for a stale one.
Result<FileDescriptor> lock_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  FileDescriptor descriptor = open_descriptor(folder, O_RDONLY | O_DIRECTORY);
  if (!descriptor.ok()) return file_error(errno, "open the folder of the socket", folder);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) return file_error(errno, "read the permissions of", folder);
  if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0) {
    return Error{ErrorCode::refused,
                 "every user could replace the socket, because the folder is world-writable without the sticky bit: "
                 "run chmod o-w on it",
                 folder};
  }
  const Deadline deadline = std::chrono::steady_clock::now() + kLockLimit;
  while (::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return file_error(errno, "lock the folder of the socket", folder);
    if (std::chrono::steady_clock::now() > deadline)
      return Error{ErrorCode::timeout, "another process holds the lock (flock) of the socket's folder", folder};
    std::this_thread::sleep_for(kRetryInterval);
  }
  return descriptor;
}

// Removes the file that a dead server left at `path`, if there is one.
Status remove_stale_socket(const std::string& path, const sockaddr_un& address) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return file_error(errno, "check the socket", path);
  }
  if (!S_ISSOCK(status.st_mode))
    return Error{ErrorCode::conflict, "the file exists and is not a socket: remove it or choose another path", path};
  const FileDescriptor attempt = open_socket();
  if (!attempt.ok()) return socket_error(errno, "create a socket", path);
  const int problem = connect_to(attempt.get(), address);
  if (problem == ECONNREFUSED) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_error(errno, "remove the stale socket", path);
    return {};
  }
  if (problem == ENOENT) return {};
  if (problem == 0 || problem == EAGAIN)  // EAGAIN: its queue of connections is full
    return Error{ErrorCode::conflict, "another weft serve is listening on " + path, {}};
  return socket_error(problem, "check whether another weft serve is listening", path);
}

}  // namespace

Result<UnixListener> listen_unix(const std::string& path, unsigned mode) {
  const Result<sockaddr_un> address = socket_address(path);
  if (!address.ok()) return address.error();
  const Result<FileDescriptor> lock = lock_folder(path);
  if (!lock.ok()) return lock.error();
  if (Status cleared = remove_stale_socket(path, *address); !cleared.ok()) return cleared.error();

  UnixListener listener{open_socket(), path};
  const int socket = listener.socket.get();
  if (!listener.socket.ok()) return socket_error(errno, "create a socket", path);
  // Linux creates the file with the socket's own mode, less the umask: never too wide, not even for a moment.
  if (::fchmod(socket, mode) != 0) return socket_error(errno, "set the permissions of the socket", path);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return socket_error(errno, "create the socket file", path);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return file_error(errno, "check the socket", path);
  listener.device = status.st_dev;
  listener.inode = status.st_ino;
  if (::chmod(path.c_str(), mode) != 0 || ::listen(socket, SOMAXCONN) != 0) {
    const int problem = errno;
    remove_socket_file(listener);
    return socket_error(problem, "listen", path);
  }
  return listener;
}

void remove_socket_file(const UnixListener& listener) {
  struct stat status {};
  if (::lstat(listener.path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  if (status.st_dev == listener.device && status.st_ino == listener.inode) (void)::unlink(listener.path.c_str());
}

Result<FileDescriptor> connect_unix(const std::string& path, Deadline deadline) {
  const Result<sockaddr_un> address = socket_address(path);
  if (!address.ok()) return address.error();
  FileDescriptor socket = open_socket();
  if (!socket.ok()) return socket_error(errno, "create a socket", path);
  for (;;) {
    const int problem = connect_to(socket.get(), *address);
    if (problem == 0) return socket;
    if (problem == ENOENT || problem == ECONNREFUSED || problem == ENOTDIR) {
      return Error{ErrorCode::unavailable,
                   fmt::format("no weft serve is listening on {} (start it with: weft serve CLUSTER)", path),
                   {}};
    }
    if (problem == EACCES || problem == EPERM) {
      return Error{ErrorCode::refused,
                   "permission denied: use an account that may write to the socket, such as a member of its group",
                   path};
    }
    if (problem != EAGAIN && problem != EINTR) return socket_error(problem, "connect", path);
    // The server's queue is full. poll(2) does not tell when a Unix socket has space in it.
    if (std::chrono::steady_clock::now() >= deadline)
      return Error{ErrorCode::timeout, "weft serve accepts no connection: it is overloaded or suspended", path};
    std::this_thread::sleep_for(kRetryInterval);
  }
}

Peer read_peer(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  // Every connected Unix socket has them; if not, those of an unprivileged user are the safe choice.
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {UINT32_MAX, UINT32_MAX, -1};
  return {credentials.uid, credentials.gid, credentials.pid};
}

bool has_hung_up(int socket) {
  pollfd watched{socket, 0, 0};
  return ::poll(&watched, 1, 0) > 0 && (watched.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace weft::serve

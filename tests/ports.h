// Ports for daemons of end-to-end tests. Tests run in parallel, and a port that is free now may be taken by the daemon
// of another test a moment later: each process locks the blocks that it uses until it ends.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace weft::testing_lab {

inline constexpr int kPortsPerBlock = 24;

inline bool is_free(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  const bool bound = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  ::close(socket);
  return bound;
}

// Locks a block for the life of this process: the descriptor stays open, and no child inherits it.
inline bool lock_block(int block) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "weft-test-ports";
  std::error_code ignored;
  std::filesystem::create_directory(folder, ignored);
  const std::string name = (folder / std::to_string(block)).string();
  const int lock = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) throw std::runtime_error("cannot open " + name);
  if (::flock(lock, LOCK_EX | LOCK_NB) == 0) return true;
  ::close(lock);
  return false;
}

// The first of `count` free ports in a row, below those that weft gives to rank 0 of a job (20000 to 32767) and that
// Linux gives to outgoing connections: neither asks whether a test uses them.
inline int find_ports(int count) {
  constexpr int kFirst = 11'000;
  constexpr int kBlocks = 370;
  if (count > kPortsPerBlock) throw std::runtime_error("a block has fewer ports");
  for (int tried = 0, block = static_cast<int>(::getpid()); tried < kBlocks; ++tried, ++block) {
    const int first = kFirst + block % kBlocks * kPortsPerBlock;
    if (!lock_block(block % kBlocks)) continue;
    bool free = true;
    for (int port = first; port < first + count; ++port) free = free && is_free(port);
    if (free) return first;
  }
  throw std::runtime_error("no free ports");
}

}  // namespace weft::testing_lab

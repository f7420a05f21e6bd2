// One socket that hears for every address of 127.0.0.0/8: on Linux all of them are local, and the address a client
// connected to tells which BMC it means. The kernel drops what is for other networks or for BMCs that are silent.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ip.h"
#include "base/result.h"

namespace weft::bmcsim {

class SimListener {
 public:
  SimListener() = default;
  SimListener(const SimListener&) = delete;
  SimListener& operator=(const SimListener&) = delete;
  ~SimListener();

  [[nodiscard]] Status open(std::uint16_t port);
  [[nodiscard]] int descriptor() const { return socket_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }

  struct Caller {
    int socket = -1;    // does not block; -1: nobody more for now
    Ipv4 address;       // that was called
    bool full = false;  // no descriptors left
  };
  [[nodiscard]] Caller accept() const;
  // First packets to these ranges of addresses get no answer from now on: connecting times out. False when there are
  // too many ranges for the kernel; then none is silent.
  bool silence(const std::vector<std::pair<Ipv4, Ipv4>>& ranges) const;

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace weft::bmcsim

// One socket that listens on every address of 127.0.0.0/8: on Linux all of them are local, and the destination address
// identifies the BMC. The kernel drops packets for other networks and for silent BMCs.
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
    int socket = -1;    // non-blocking; -1: no more connections pending
    Ipv4 address;       // destination address
    bool full = false;  // no descriptors left
  };
  [[nodiscard]] Caller accept() const;
  // SYNs to these address ranges are dropped from now on: connecting times out. False if there are too many ranges for
  // the kernel; then none is silent.
  bool silence(const std::vector<std::pair<Ipv4, Ipv4>>& ranges) const;

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace weft::bmcsim

// A UDP relay between FreeIPMI and a BMC that forwards a command exactly once. FreeIPMI retransmits an unanswered
// request as a new request, so a BMC that is slow to acknowledge a power cycle would run it twice. The library has no
// option for that and does not expose its socket, so such a command goes through a relay on the loopback address:
// datagrams pass both ways until the relay is armed, then one more is forwarded to the BMC, and the rest are dropped.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "base/file_descriptor.h"
#include "base/result.h"
#include "oob/bmc/endpoint.h"

namespace weft::oob {

class IpmiRelay {
 public:
  [[nodiscard]] static Result<std::unique_ptr<IpmiRelay>> open(const std::string& host, std::uint16_t port,
                                                               const std::string& device);
  IpmiRelay(const IpmiRelay&) = delete;
  IpmiRelay& operator=(const IpmiRelay&) = delete;
  ~IpmiRelay();

  [[nodiscard]] std::uint16_t port() const { return port_; }  // on 127.0.0.1
  void arm();
  // Call only while FreeIPMI is not sending: copies queued in the socket are dropped, then all datagrams pass again.
  void disarm();

 private:
  static constexpr int kOpen = -1;

  IpmiRelay(FileDescriptor inside, FileDescriptor outside, std::uint16_t port);
  void run();
  void pass_inwards();
  void pass_outwards();

  FileDescriptor inside_;   // to FreeIPMI
  FileDescriptor outside_;  // to the BMC, connected
  std::uint16_t port_;
  // The first sender: FreeIPMI, whose socket was created for this relay. Other local senders are ignored.
  sockaddr_in client_{};
  bool known_ = false;
  std::mutex door_;   // held while a datagram is received and forwarded
  int left_ = kOpen;  // datagrams that may still pass to the BMC
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weft::oob

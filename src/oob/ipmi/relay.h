// A door between FreeIPMI and a BMC that lets one command through and no copy of it. FreeIPMI repeats a request that is
// not answered in time, as a new request: a BMC that is slow to say "done" to a power cycle would do it again. The
// library has no switch for that and does not show its socket, so such a command goes through a relay on the loopback
// address: datagrams pass both ways until the door is armed, then one more passes to the BMC, and the rest are dropped.
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
  // To be called when FreeIPMI sends nothing: copies that wait in the socket are dropped, then all pass again.
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
  // The first to speak: FreeIPMI, whose socket is made for this one. Others on this machine are not heard.
  sockaddr_in client_{};
  bool known_ = false;
  std::mutex door_;   // held while a datagram is taken in and passed on
  int left_ = kOpen;  // datagrams that may still pass to the BMC
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace weft::oob

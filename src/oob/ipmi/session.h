// One IPMI 2.0 session (RMCP+) to a BMC, through FreeIPMI's libfreeipmi. Raw commands in, responses or errors out: the
// library handles the wire protocol (RAKP, integrity, encryption, retransmission); callers interpret the bytes. A
// session is used by one thread; different sessions may be used by different threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"
#include "oob/credentials/secret.h"
#include "oob/ipmi/lazy_freeipmi.h"
#include "oob/ipmi/options.h"

namespace weft::oob {

using IpmiBytes = std::vector<std::uint8_t>;

// Network functions of requests (IPMI 2.0, table 5-1).
inline constexpr std::uint8_t kNetChassis = 0x00;
inline constexpr std::uint8_t kNetSensor = 0x04;
inline constexpr std::uint8_t kNetApplication = 0x06;
inline constexpr std::uint8_t kNetStorage = 0x0A;
inline constexpr std::uint8_t kNetTransport = 0x0C;

struct IpmiCommand {
  std::uint8_t function = kNetApplication;
  std::uint8_t command = 0;
  IpmiBytes data{};
  std::string what{};    // for errors: "read the power state"
  std::uint8_t lun = 0;  // logical unit
};

class IpmiSession {
 public:
  // Tries the cipher suites in order; the next one only if the BMC rejects the one before. Connecting may take the
  // connect limit plus the request limit for each step that the BMC answers late.
  [[nodiscard]] static Result<std::unique_ptr<IpmiSession>> open(const Endpoint& endpoint, const std::string& user,
                                                                 const Secret& password);
  IpmiSession(const IpmiSession&) = delete;
  IpmiSession& operator=(const IpmiSession&) = delete;
  ~IpmiSession();  // Close Session, one attempt

  // The response after its completion code. Lost datagrams are retransmitted, so the BMC may see a command twice.
  [[nodiscard]] Result<IpmiBytes> command(const IpmiCommand& command);
  // As above, including the completion code.
  [[nodiscard]] Result<IpmiBytes> command_with_code(const IpmiCommand& command);
  // For commands that must not run twice (a power cycle): sent in one datagram, never retransmitted. timeout: it may or
  // may not have arrived. Opens a separate session through ipmi/relay.h.
  [[nodiscard]] Result<IpmiBytes> command_once(const IpmiCommand& command);
  // Whether the session's user can log in with another password, tested in a separate session. refused: no.
  [[nodiscard]] Status try_login(const Secret& password) const;

  [[nodiscard]] int suite() const { return suite_; }
  [[nodiscard]] const IpmiOptions& options() const { return options_; }
  [[nodiscard]] const std::string& user() const { return user_; }
  [[nodiscard]] const Secret& password() const { return password_; }
  // The user's password was changed: reopening the session needs the new one.
  void set_password(const Secret& password) { password_ = password; }

 private:
  struct Close {
    void operator()(ipmi_ctx_t context) const { ipmi_ctx_destroy(context); }
  };
  using Context = std::unique_ptr<ipmi_ctx, Close>;

  IpmiSession(IpmiOptions options, std::string user, Secret password)
      : options_(std::move(options)), user_(std::move(user)), password_(std::move(password)) {}
  Result<Context> connect(const std::string& address, const Secret& password, int suite, int& number) const;
  Result<ipmi_ctx_t> context();  // open session
  Status open_any();
  Result<IpmiBytes> send(ipmi_ctx_t context, const IpmiCommand& command);

  IpmiOptions options_;
  std::string user_;
  Secret password_;
  Context context_;
  int suite_ = 0;
  bool lost_ = false;
  std::chrono::steady_clock::time_point heard_;
};

}  // namespace weft::oob

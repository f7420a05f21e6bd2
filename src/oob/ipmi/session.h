// One IPMI 2.0 session (RMCP+) to a BMC, by FreeIPMI's libfreeipmi. Raw commands in, answers or errors out: the library
// does the wire (RAKP, integrity, encryption, retransmission), the callers know what the bytes mean. Used by one
// thread; different sessions by as many threads as you like.
#pragma once

#include <freeipmi/freeipmi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "oob/bmc/endpoint.h"
#include "oob/credentials/secret.h"
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
  // Tries the suites in turn; the next one only where the BMC does not take the one before. A dial may take the connect
  // limit, and then the request limit for each step that the BMC answers late.
  [[nodiscard]] static Result<std::unique_ptr<IpmiSession>> open(const Endpoint& endpoint, const std::string& user,
                                                                 const Secret& password);
  IpmiSession(const IpmiSession&) = delete;
  IpmiSession& operator=(const IpmiSession&) = delete;
  ~IpmiSession();  // Close Session, one attempt

  // The answer after its completion code. A lost datagram is sent again, so the BMC may see a command twice.
  [[nodiscard]] Result<IpmiBytes> command(const IpmiCommand& command);
  // As above, with the completion code in front.
  [[nodiscard]] Result<IpmiBytes> command_with_code(const IpmiCommand& command);
  // For what must not happen twice (a power cycle): sent in one datagram and never again. timeout: it may or may not
  // have arrived. Opens a session of its own, through ipmi/relay.h.
  [[nodiscard]] Result<IpmiBytes> command_once(const IpmiCommand& command);
  // Whether the session's user can log in with another password, by a session of its own. refused: no.
  [[nodiscard]] Status try_login(const Secret& password) const;

  [[nodiscard]] int suite() const { return suite_; }
  [[nodiscard]] const IpmiOptions& options() const { return options_; }
  [[nodiscard]] const std::string& user() const { return user_; }
  [[nodiscard]] const Secret& password() const { return password_; }
  // The user's password was changed: a session that has to be opened again needs the new one.
  void set_password(const Secret& password) { password_ = password; }

 private:
  struct Close {
    void operator()(ipmi_ctx_t context) const { ipmi_ctx_destroy(context); }
  };
  using Context = std::unique_ptr<ipmi_ctx, Close>;

  IpmiSession(IpmiOptions options, std::string user, Secret password)
      : options_(std::move(options)), user_(std::move(user)), password_(std::move(password)) {}
  Result<Context> connect(const std::string& address, const Secret& password, int suite, int& number) const;
  Result<ipmi_ctx_t> context();  // alive
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

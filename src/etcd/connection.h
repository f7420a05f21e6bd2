// The connection of one thread to an etcd cluster over HTTP or TLS: its members, certificates and user, as options name
// them, and a client with a transport for each member. Time is measured by a clock that also runs while the machine
// sleeps: a leader that slept must not take its lease for valid.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "etcd/client.h"
#include "kube/credentials.h"
#include "oob/durable/clock.h"

namespace weft::etcd {

struct Settings {
  std::vector<std::string> members;  // HOST:PORT
  std::string prefix;                // of the keys; no slash at its end
  std::string ca;                    // file; "": without TLS
  std::string certificate;           // files of a client certificate; "": none
  std::string key;
  std::string user;  // "": none
  oob::Secret password{};
};

// "etcd://HOST:PORT[,HOST:PORT...][/PREFIX]": members and prefix. `invalid_input` says what is wrong.
[[nodiscard]] Result<Settings> parse_address(std::string_view address);

// CLOCK_BOOTTIME.
[[nodiscard]] Duration boot_time();

class Connection {
 public:
  explicit Connection(const Settings& settings);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() = default;

  [[nodiscard]] Client& client() { return *client_; }
  // From any thread: requests that wait end soon, and later ones fail.
  void stop() { clock_.stop(); }

 private:
  oob::SystemClock clock_;
  std::vector<std::unique_ptr<kube::AccessCredentials>> credentials_;
  std::unique_ptr<Client> client_;
};

}  // namespace weft::etcd

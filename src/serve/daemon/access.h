// What `weft serve` needs to admit clients over the network, from its access file: the policy, the TLS certificate and
// the addresses to listen on, the gatekeeper; and reloading them while the server runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/policy/policy.h"
#include "model/cluster.h"
#include "oob/durable/clock.h"
#include "serve/gate/gate.h"
#include "serve/http/server.h"

namespace weft::serve {

struct AccessSettings {
  std::string file;                 // "": only the Unix socket
  std::vector<std::string> listen;  // instead of the file's
  std::function<std::string(const char*)> environment;
};

class AccessSetup {
 public:
  // Reads the access file. `warn` gets its warnings. The error has every problem of the file.
  [[nodiscard]] static Result<std::unique_ptr<AccessSetup>> open(AccessSettings settings, const model::Cluster& cluster,
                                                                 std::string state_directory,
                                                                 std::function<void(std::string_view)> log);

  // Sets the addresses and the certificate of the server.
  [[nodiscard]] Status set_listeners(HttpOptions& options);
  [[nodiscard]] Result<std::unique_ptr<Gate>> open_gate(std::function<void(std::function<void()>)> post,
                                                        std::string version, std::uint32_t server_uid);
  // After SIGHUP: the access file and the certificate again. What is not valid stays as it was, and is logged.
  void reload(Gate& gate);
  // Now and then: the certificate, if its file has changed.
  void check_certificate();

  [[nodiscard]] const access::AccessPolicy& policy() const { return policy_; }

 private:
  AccessSetup(AccessSettings settings, const model::Cluster& cluster, std::string state_directory,
              std::function<void(std::string_view)> log);
  [[nodiscard]] Result<access::AccessPolicy> read_policy() const;
  // Those that the policy names, or the self-signed certificate, which is made if there is none.
  [[nodiscard]] Result<TlsFiles> tls_files(const access::AccessPolicy& policy) const;
  [[nodiscard]] std::string certificate_stamp() const;
  void reload_certificate();

  AccessSettings settings_;
  const model::Cluster& cluster_;
  std::string state_directory_;
  std::function<void(std::string_view)> log_;
  access::AccessPolicy policy_;
  std::shared_ptr<TlsContext> tls_;
  TlsFiles tls_files_;  // of the access file; others are in use while these are not valid
  std::string stamp_;   // of them
  oob::SystemClock clock_;
  access::CurlFetch fetch_{&clock_};
};

}  // namespace weft::serve

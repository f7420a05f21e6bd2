// Credentials that are sent to the API server: those of a ClusterAccess, read again when they may have changed. Token
// files are read at least once per minute (bound service account tokens are rotated), exec plug-ins run with a deadline
// and are cached until their credential expires.
#pragma once

#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/result.h"
#include "base/value.h"
#include "kube/access.h"
#include "oob/durable/clock.h"

namespace weft::kube {

struct Credentials {
  Secret token;            // "": none
  Secret certificate_pem;  // "": none
  Secret key_pem;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

class CredentialSource {
 public:
  CredentialSource() = default;
  CredentialSource(const CredentialSource&) = delete;
  CredentialSource& operator=(const CredentialSource&) = delete;
  virtual ~CredentialSource() = default;

  [[nodiscard]] virtual Result<Credentials> current() = 0;
  // The server did not accept them (401): the next current() gets them from their source.
  virtual void reject() = 0;
};

class AccessCredentials final : public CredentialSource {
 public:
  static constexpr Duration kReloadPeriod = milliseconds(60'000);
  static constexpr Duration kExecLimit = milliseconds(30'000);

  // The clock must outlive it.
  AccessCredentials(ClusterAccess access, oob::Clock& clock) : access_(std::move(access)), clock_(clock) {}

  [[nodiscard]] Result<Credentials> current() override;
  void reject() override { cached_.reset(); }

 private:
  [[nodiscard]] Result<Credentials> read_sources();
  [[nodiscard]] Status run_exec(Credentials& credentials);

  ClusterAccess access_;
  oob::Clock& clock_;
  std::optional<Credentials> cached_;
  Duration reload_at_{};
  std::optional<std::int64_t> expires_ms_;  // by the wall clock
};

// The PEM text of a source; "" if it is empty.
[[nodiscard]] Result<Secret> read_pem(const PemSource& source);

// Output of an exec plug-in: an ExecCredential of the given version.
struct ExecCredential {
  Credentials credentials;
  std::optional<std::int64_t> expires_ms;
};
[[nodiscard]] Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version);
// KUBERNETES_EXEC_INFO: what the plug-in is told.
[[nodiscard]] Value exec_info(const ClusterAccess& access, const ExecPlugin& plugin, std::string_view ca_pem);

}  // namespace weft::kube

// Where BMC user names and passwords are read from and stored. Never in the cluster file, never in a log. A provider is
// a file readable by its owner only, environment variables, or a program (Vault-style). Rotation has two phases, so
// each entry can hold a pending password: a login tries both.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/credentials/secret.h"

namespace weft::oob {

struct Credential {
  std::string user;
  Secret password;
  std::optional<Secret> pending;  // stored before it is set on a BMC, removed once it is verified
};

class CredentialStore {
 public:
  CredentialStore() = default;
  CredentialStore(const CredentialStore&) = delete;
  CredentialStore& operator=(const CredentialStore&) = delete;
  virtual ~CredentialStore() = default;

  // Credential of a device: its own entry, else that of its group ("@train"), else the default; not_found if none.
  [[nodiscard]] virtual Result<Credential> find(const std::string& device, const std::string& group) const = 0;
  // Whether the device has an entry of its own.
  [[nodiscard]] virtual bool has_own(const std::string& device) const = 0;
  // Stores the entry of a device, durably (synced) before it returns. Refused if the provider is read-only. Safe to
  // call from many threads.
  [[nodiscard]] virtual Status put(const std::string& device, const Credential& credential) = 0;
  [[nodiscard]] virtual bool writable() const = 0;
  // Held while passwords are changed, so that only one process at a time changes those of a store: `conflict` if
  // another process holds it. Released with the last copy, or when the process exits. Null if the provider has no lock.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> hold() { return std::shared_ptr<void>(); }
  // Display name for messages: "file:/etc/weft/bmc.yaml".
  [[nodiscard]] virtual std::string name() const = 0;
};

// `reference`:
//   file:/path or /path    YAML: weft_credentials: 1, default: {user, password}, devices: {"train[001-004]": {...}},
//                          groups: {train: {...}}; refused if readable by others than its owner. Writable.
//   env:NAME               NAME_USER and NAME_PASSWORD, or NAME as "user:password". Read-only.
//   command:/path args     with "get", the program prints the same document as the file; with "put DEVICE", it reads
//                          one entry as JSON ({"device", "user", "password", "pending"}) from stdin. No shell.
//   vault:PATH             like command: with $WEFT_VAULT_COMMAND, which receives PATH in $WEFT_VAULT_PATH. If unset,
//                          "vault kv get -field=document PATH" is run, and the store is read-only.
// `environment` reads a variable, "" when unset.
[[nodiscard]] Result<std::unique_ptr<CredentialStore>> open_credentials(
    const std::string& reference, const std::function<std::string(const char*)>& environment);

// Random characters from the system's generator: unambiguous letters and digits, at least one of each class. IPMI 2.0
// passwords have at most 20 bytes (22.30); some controllers silently truncate to 16, so a password set by IPMI has 16.
inline constexpr std::size_t kPasswordLength = 20;
inline constexpr std::size_t kIpmiPasswordLength = 16;
[[nodiscard]] Secret new_password(std::size_t length = kPasswordLength);

}  // namespace weft::oob

// Where user names and passwords of BMCs come from, and where new ones go. Never the cluster file, never a log. A
// provider is a file that only its owner may read, environment variables, or a program (Vault-style). Rotation is in
// two phases, so each entry can hold a password that is being introduced: whoever logs in tries both.
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
  std::optional<Secret> pending;  // written before a BMC is told of it, removed when it is proven
};

class CredentialStore {
 public:
  CredentialStore() = default;
  CredentialStore(const CredentialStore&) = delete;
  CredentialStore& operator=(const CredentialStore&) = delete;
  virtual ~CredentialStore() = default;

  // Of a device: its own entry, else that of its group ("@train"), else the default. not_found when there is none.
  [[nodiscard]] virtual Result<Credential> find(const std::string& device, const std::string& group) const = 0;
  // Whether the device has an entry of its own.
  [[nodiscard]] virtual bool has_own(const std::string& device) const = 0;
  // Keeps the entry of a device, durably (synced) before it returns. Refused where the provider cannot be written.
  // Safe to call from many threads.
  [[nodiscard]] virtual Status put(const std::string& device, const Credential& credential) = 0;
  [[nodiscard]] virtual bool writable() const = 0;
  // Held while passwords are being changed, so that no two processes change those of one store at a time: conflict when
  // another holds it. Given back with the last copy, or when the process dies. Nothing where a provider has no lock.
  [[nodiscard]] virtual Result<std::shared_ptr<void>> hold() { return std::shared_ptr<void>(); }
  // What to call it in messages: "file:/etc/weft/bmc.yaml".
  [[nodiscard]] virtual std::string name() const = 0;
};

// `reference`:
//   file:/path or /path    YAML: weft_credentials: 1, default: {user, password}, devices: {"train[001-004]": {...}},
//                          groups: {train: {...}}; refused when others than its owner may read it. Writable.
//   env:NAME               NAME_USER and NAME_PASSWORD, or NAME as "user:password". Not writable.
//   command:/path args     the program prints the same document as the file when called with "get"; with "put DEVICE"
//   it
//                          reads one entry as JSON ({"device", "user", "password", "pending"}) from its input. No
//                          shell.
//   vault:PATH             as command: with $WEFT_VAULT_COMMAND, which finds PATH in $WEFT_VAULT_PATH. Where that is
//   not
//                          set, "vault kv get -field=document PATH" is asked, and nothing can be written.
// `environment` reads a variable, "" when unset.
[[nodiscard]] Result<std::unique_ptr<CredentialStore>> open_credentials(
    const std::string& reference, const std::function<std::string(const char*)>& environment);

// Characters from the system's random generator, of letters and digits that cannot be mistaken for each other, with at
// least one of each class. IPMI 2.0 passwords have at most 20 bytes (22.30); some controllers keep 16 of them and say
// nothing, so what is set by IPMI has 16.
inline constexpr std::size_t kPasswordLength = 20;
inline constexpr std::size_t kIpmiPasswordLength = 16;
[[nodiscard]] Secret new_password(std::size_t length = kPasswordLength);

}  // namespace weft::oob

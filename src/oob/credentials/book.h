// The document behind the file and the program providers: read from YAML with places in its errors, and written so that
// people can read it. No message here ever quotes the document: whatever stands in it may be a password that slipped.
//   weft_credentials: 1
//   default: {user: admin, password: ...}
//   groups:  {train: {user: ..., password: ...}}
//   devices: {"train[001-004]": {user: ..., password: ..., pending: ...}}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "oob/credentials/credentials.h"

namespace weft::oob {

[[nodiscard]] bool same(const Credential& a, const Credential& b);

struct CredentialBook {
  std::optional<Credential> fallback{};
  std::map<std::string, Credential, std::less<>> groups{};
  std::map<std::string, Credential, std::less<>> devices{};
  std::string log{};      // the side log that was taken in last (credentials/log.h); empty: none
  std::string heading{};  // the comment that the file begins with, kept when it is written again

  [[nodiscard]] const Credential* own(std::string_view device) const;
  // As CredentialStore::find.
  [[nodiscard]] const Credential* find(std::string_view device, std::string_view group) const;
};
[[nodiscard]] bool same(const CredentialBook& a, const CredentialBook& b);

// `name` stands in messages. An error tells the first thing that is wrong, with its line, and how many more there are.
[[nodiscard]] Result<CredentialBook> read_credential_book(const std::string& name, std::string text);
// Devices with the same credential share a key. Refused when reading it back would not give the same.
[[nodiscard]] Result<std::string> write_credential_book(const CredentialBook& book);

// Whether a device's entry can be written down: one name, texts that are UTF-8.
[[nodiscard]] Status check_entry(const std::string& device, const Credential& credential);
// {"device": ..., "user": ..., "password": ..., "pending": ... or null}
[[nodiscard]] std::string entry_json(const std::string& device, const Credential& credential);

}  // namespace weft::oob

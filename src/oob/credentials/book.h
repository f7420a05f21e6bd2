// The YAML document behind the file and program providers: parsed with source locations in its errors, and written in a
// readable form. Messages never quote the document: any text in it may be a misplaced password.
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
  std::string log{};      // the side log that was merged last (credentials/log.h); empty: none
  std::string heading{};  // the comment at the top of the file, preserved when it is rewritten

  [[nodiscard]] const Credential* own(std::string_view device) const;
  // As CredentialStore::find.
  [[nodiscard]] const Credential* find(std::string_view device, std::string_view group) const;
};
[[nodiscard]] bool same(const CredentialBook& a, const CredentialBook& b);

// `name` is used in messages. An error reports the first problem with its line, and how many more there are.
[[nodiscard]] Result<CredentialBook> read_credential_book(const std::string& name, std::string text);
// Devices with the same credential share a key. Refused if reading it back would not yield the same book.
[[nodiscard]] Result<std::string> write_credential_book(const CredentialBook& book);

// Whether a device's entry can be stored: a single name, UTF-8 text.
[[nodiscard]] Status check_entry(const std::string& device, const Credential& credential);
// {"device": ..., "user": ..., "password": ..., "pending": ... or null}
[[nodiscard]] std::string entry_json(const std::string& device, const Credential& credential);

}  // namespace weft::oob

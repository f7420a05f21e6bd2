// The side log of a credentials file, FILE.new: entries that are not in the file yet, one per line, with group commit.
// Rewriting the whole file for each of 16,384 new passwords would take hours. Entries are absolute and the last one per
// device counts, so replaying a log is idempotent.
//   {"weft_credentials_log": 1, "id": "16 hexadecimal digits"}
//   {"device": ..., "user": ..., "password": ..., "pending": ..., "check": "16 hexadecimal digits"}
// check = the first digits of SHA-256(id + the line without `, "check": "..."`). A last line truncated by a crash was
// never acknowledged, so its password was not sent to a BMC: it is dropped. Any other damage is an error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "oob/credentials/credentials.h"

namespace weft::oob {

struct CredentialLog {
  std::string id{};                                           // empty: not even the first line is complete
  std::vector<std::pair<std::string, Credential>> entries{};  // device, and its latest credential
  std::size_t good = 0;                                       // bytes up to the end of the last complete line
};

[[nodiscard]] std::string log_opening(const std::string& id);  // including its line end
[[nodiscard]] std::string log_line(const std::string& id, const std::string& device, const Credential& credential);
// With an `id`, `text` is the continuation of a log with that id, else a log from its start.
[[nodiscard]] Result<CredentialLog> read_credential_log(const std::string& name, std::string_view text,
                                                        const std::string& id = {});

}  // namespace weft::oob

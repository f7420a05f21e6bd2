// The side log of a file of credentials, FILE.new: entries that are not in the file yet, one a line, synced in groups.
// Writing the whole file for each of 16,384 new passwords would take hours; a line takes none. Entries are absolute and
// the last one of a device counts, so reading a log twice does no harm.
//   {"weft_credentials_log": 1, "id": "16 hexadecimal digits"}
//   {"device": ..., "user": ..., "password": ..., "pending": ..., "check": "16 hexadecimal digits"}
// check = the first digits of SHA-256(id + the line without `, "check": "..."`). A last line that a crash cut short was
// never acknowledged, so no BMC was told of it: it is dropped. Anything else that is wrong is an error.
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
  std::string id{};                                           // empty: not even the first line is whole
  std::vector<std::pair<std::string, Credential>> entries{};  // device, and what it has now
  std::size_t good = 0;                                       // bytes up to the end of the last whole line
};

[[nodiscard]] std::string log_opening(const std::string& id);  // with its line end
[[nodiscard]] std::string log_line(const std::string& id, const std::string& device, const Credential& credential);
// With an `id`, `text` is the continuation of a log with that id, else a log from its start.
[[nodiscard]] Result<CredentialLog> read_credential_log(const std::string& name, std::string_view text,
                                                        const std::string& id = {});

}  // namespace weft::oob

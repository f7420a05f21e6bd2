// Credentials in a file readable by its owner only. New entries go to a side log (credentials/log.h), which is merged
// into the file when the store is closed, or opened after a crash. FILE.lock prevents concurrent writes.
#pragma once

#include <memory>
#include <string>

#include "oob/credentials/credentials.h"

namespace weft::oob {

[[nodiscard]] Result<std::unique_ptr<CredentialStore>> open_credentials_file(const std::string& path);

}  // namespace weft::oob

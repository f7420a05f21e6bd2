// Credentials in a file that only its owner may read. New entries go to a side log (credentials/log.h) and from there
// into the file when it is closed, or opened after a crash. FILE.lock keeps processes from writing at the same time.
#pragma once

#include <memory>
#include <string>

#include "oob/credentials/credentials.h"

namespace weft::oob {

[[nodiscard]] Result<std::unique_ptr<CredentialStore>> open_credentials_file(const std::string& path);

}  // namespace weft::oob

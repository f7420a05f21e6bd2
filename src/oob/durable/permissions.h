// Who else may change a file or a folder: programs that trust what is in it (pins, passwords, a journal) refuse it
// otherwise. Modes and owners only; access control lists may allow more.
#pragma once

#include <string>

#include "base/result.h"

namespace weft::oob {

// Ok if only this user and root may change or replace what `path` names: no group or other write permission on it, on
// the folders above it (those with the sticky bit excepted, such as /tmp), and no owner but these two. What does not
// exist yet is judged by the folder that it would be created in. `refused` otherwise, with the command that fixes it.
[[nodiscard]] Status check_only_owner_writes(const std::string& path);

}  // namespace weft::oob

// A console that is a program: ssh to a console server, conman, picocom. It runs on a terminal of its own (programs
// that ask whether they talk to one behave), in a session and process group of its own, and all of that group is ended
// when the stream goes. No shell is involved, and nothing is known of what the program does.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oob/bmc/bmc.h"

namespace weft::oob {

// `words`: the program (looked up in PATH) and its arguments; not_found when it cannot be started. `device` is the
// place of every error. The stream's read() says unavailable when the program has ended, with how it ended.
[[nodiscard]] Result<std::unique_ptr<ConsoleStream>> open_program_console(const std::vector<std::string>& words,
                                                                          const std::string& device);

}  // namespace weft::oob

// A console provided by a program: ssh to a console server, conman, picocom. It runs on its own pseudoterminal (for
// programs that check isatty), in its own session and process group; the whole group is killed when the stream is
// closed. No shell is involved, and nothing is assumed about the program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oob/bmc/bmc.h"

namespace weft::oob {

// `words`: the program (looked up in PATH) and its arguments; not_found if it cannot be started. `device` is the
// location of every error. The stream's read() returns unavailable when the program has exited, with its exit status.
[[nodiscard]] Result<std::unique_ptr<ConsoleStream>> open_program_console(const std::vector<std::string>& words,
                                                                          const std::string& device);

}  // namespace weft::oob

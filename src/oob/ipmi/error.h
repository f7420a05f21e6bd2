// What FreeIPMI and BMCs say went wrong, as errors of ours: one table for the library's numbers, one for the completion
// codes of IPMI 2.0 (table 5-2). Texts never hold what was sent.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft::oob {

// `number`: of ipmi_ctx_errnum(). `what`: the step that failed, "log in" or "read the power state".
[[nodiscard]] Error ipmi_error(int number, const std::string& what, const std::string& device);
// `code`: the first byte of an answer, other than 0 (done).
[[nodiscard]] Error completion_error(std::uint8_t code, const std::string& what, const std::string& device);
// `number`: of ipmiconsole_ctx_errnum().
[[nodiscard]] Error console_error(int number, const std::string& what, const std::string& device);

}  // namespace weft::oob

// Maps errors of FreeIPMI and BMCs to weft errors: one table for the library's error numbers, one for the completion
// codes of IPMI 2.0 (table 5-2). Messages never contain the request data.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace weft::oob {

// `number`: from ipmi_ctx_errnum(). `what`: the step that failed, "log in" or "read the power state".
[[nodiscard]] Error ipmi_error(int number, const std::string& what, const std::string& device);
// `code`: the completion code (first byte of a response), other than 0 (success).
[[nodiscard]] Error completion_error(std::uint8_t code, const std::string& what, const std::string& device);
// `number`: from ipmiconsole_ctx_errnum().
[[nodiscard]] Error console_error(int number, const std::string& what, const std::string& device);

}  // namespace weft::oob

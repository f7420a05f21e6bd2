#include "oob/ipmi/error.h"

#include <fmt/format.h>

#include <string_view>

#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {
namespace {

ErrorCode code_of(int number) {
  switch (number) {
    case IPMI_ERR_PERMISSION:
    case IPMI_ERR_USERNAME_INVALID:
    case IPMI_ERR_PASSWORD_INVALID:
    case IPMI_ERR_K_G_INVALID:
    case IPMI_ERR_PRIVILEGE_LEVEL_INSUFFICIENT:
    case IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED:
    case IPMI_ERR_AUTHENTICATION_TYPE_UNAVAILABLE:
    case IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE:
    // The BMC answered the previous step and did not answer the password proof, as many do after a wrong password.
    case IPMI_ERR_PASSWORD_VERIFICATION_TIMEOUT:
    case IPMI_ERR_BAD_RMCPPLUS_STATUS_CODE:
      return ErrorCode::refused;
    case IPMI_ERR_CONNECTION_TIMEOUT:
    case IPMI_ERR_HOSTNAME_INVALID:
    case IPMI_ERR_SYSTEM_ERROR:
      return ErrorCode::unavailable;
    case IPMI_ERR_SESSION_TIMEOUT:
    case IPMI_ERR_DRIVER_TIMEOUT:
    case IPMI_ERR_MESSAGE_TIMEOUT:
      return ErrorCode::timeout;
    case IPMI_ERR_IPMI_2_0_UNAVAILABLE:
    case IPMI_ERR_COMMAND_INVALID_FOR_SELECTED_INTERFACE:
    case IPMI_ERR_COMMAND_INVALID_OR_UNSUPPORTED:
    case IPMI_ERR_NOT_FOUND:
      return ErrorCode::not_found;
    case IPMI_ERR_BMC_BUSY:
    case IPMI_ERR_DRIVER_BUSY:
      return ErrorCode::conflict;
    case IPMI_ERR_BAD_COMPLETION_CODE:
    case IPMI_ERR_IPMI_ERROR:
      return ErrorCode::invalid_input;
    default:
      return ErrorCode::internal;
  }
}

struct Completion {
  std::uint8_t code = 0;
  ErrorCode as = ErrorCode::internal;
  std::string_view text;
};

// IPMI 2.0, table 5-2.
constexpr Completion kCompletions[] = {
    {0xC0, ErrorCode::conflict, "the BMC is busy"},
    {0xC1, ErrorCode::not_found, "the BMC does not support this command"},
    {0xC2, ErrorCode::not_found, "the BMC does not support this command for this LUN"},
    {0xC3, ErrorCode::timeout, "the BMC timed out"},
    {0xC4, ErrorCode::conflict, "the BMC is out of space"},
    {0xC5, ErrorCode::conflict, "the reservation was canceled"},
    {0xC6, ErrorCode::invalid_input, "the BMC reports a truncated request"},
    {0xC7, ErrorCode::invalid_input, "the BMC reports a wrong request length"},
    {0xC8, ErrorCode::invalid_input, "the BMC reports that the request is too long"},
    {0xC9, ErrorCode::not_found, "the BMC reports a parameter out of range"},
    {0xCA, ErrorCode::invalid_input, "the BMC cannot return that many bytes"},
    {0xCB, ErrorCode::not_found, "the BMC has no such sensor, data or record"},
    {0xCC, ErrorCode::not_found, "the BMC reports an invalid field in the request"},
    {0xCD, ErrorCode::not_found, "the command does not apply to that sensor or record"},
    {0xCE, ErrorCode::conflict, "the BMC could not respond"},
    {0xCF, ErrorCode::conflict, "the BMC rejected the request as a duplicate"},
    {0xD0, ErrorCode::conflict, "the sensor records are being updated"},
    {0xD1, ErrorCode::conflict, "the BMC is updating its firmware"},
    {0xD2, ErrorCode::conflict, "the BMC is still starting"},
    {0xD3, ErrorCode::unavailable, "the destination behind the BMC does not respond"},
    {0xD4, ErrorCode::refused, "insufficient privilege, or blocked by the firmware firewall"},
    {0xD5, ErrorCode::conflict, "not possible in the present state"},
    {0xD6, ErrorCode::refused, "the function is disabled"},
};

}  // namespace

Error ipmi_error(int number, const std::string& what, const std::string& device) {
  return {code_of(number), fmt::format("cannot {}: {}", what, ipmi_ctx_strerror(number)), device};
}

Error completion_error(std::uint8_t code, const std::string& what, const std::string& device) {
  for (const Completion& known : kCompletions) {
    if (known.code == code) {
      return {known.as, fmt::format("cannot {}: {} (completion code {:02X}h)", what, known.text, code), device};
    }
  }
  return {ErrorCode::invalid_input, fmt::format("cannot {}: the BMC returned completion code {:02X}h", what, code),
          device};
}

Error console_error(int number, const std::string& what, const std::string& device) {
  ErrorCode as = ErrorCode::internal;
  switch (number) {
    case IPMICONSOLE_ERR_CIPHER_SUITE_ID_UNAVAILABLE:
    case IPMICONSOLE_ERR_USERNAME_INVALID:
    case IPMICONSOLE_ERR_PASSWORD_INVALID:
    case IPMICONSOLE_ERR_K_G_INVALID:
    case IPMICONSOLE_ERR_PRIVILEGE_LEVEL_INSUFFICIENT:
    case IPMICONSOLE_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED:
    case IPMICONSOLE_ERR_SOL_REQUIRES_ENCRYPTION:
    case IPMICONSOLE_ERR_SOL_REQUIRES_NO_ENCRYPTION:
      as = ErrorCode::refused;
      break;
    case IPMICONSOLE_ERR_IPMI_2_0_UNAVAILABLE:
    case IPMICONSOLE_ERR_SOL_UNAVAILABLE:
      as = ErrorCode::not_found;
      break;
    case IPMICONSOLE_ERR_SOL_INUSE:
    case IPMICONSOLE_ERR_SOL_STOLEN:
    case IPMICONSOLE_ERR_BMC_BUSY:
      as = ErrorCode::conflict;
      break;
    case IPMICONSOLE_ERR_HOSTNAME_INVALID:
    case IPMICONSOLE_ERR_CONNECTION_TIMEOUT:
    case IPMICONSOLE_ERR_TOO_MANY_OPEN_FILES:
    case IPMICONSOLE_ERR_SYSTEM_ERROR:
      as = ErrorCode::unavailable;
      break;
    case IPMICONSOLE_ERR_SESSION_TIMEOUT:
    case IPMICONSOLE_ERR_EXCESS_RETRANSMISSIONS_SENT:
      as = ErrorCode::timeout;
      break;
    case IPMICONSOLE_ERR_BMC_ERROR:
    case IPMICONSOLE_ERR_BMC_IMPLEMENTATION:
    case IPMICONSOLE_ERR_EXCESS_ERRORS_RECEIVED:
      as = ErrorCode::invalid_input;
      break;
    default:
      break;
  }
  return {as, fmt::format("cannot {}: {}", what, ipmiconsole_ctx_strerror(number)), device};
}

}  // namespace weft::oob

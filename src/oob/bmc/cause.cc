#include "oob/bmc/cause.h"

namespace weft::oob {
namespace {

constexpr std::string_view kCauses[] = {kNotTrusted, kCertificateChanged, kLoginRefused,  kPasswordExpired,
                                        kNoSession,  kSessionLimit,       kNoCipherSuite, kOldTls,
                                        kNoTls,      kRedirected};

std::string_view named_cause(const Error& error) {
  for (const std::string_view cause : kCauses) {
    if (error.message.starts_with(cause)) return cause;
  }
  return {};
}

}  // namespace

std::string_view cause_text(const Error& error) {
  if (const std::string_view named = named_cause(error); !named.empty()) return named;
  switch (error.code) {
    case ErrorCode::unavailable:
      return "no answer";
    case ErrorCode::timeout:
      return "timed out";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::conflict:
      return "busy";
    case ErrorCode::invalid_input:
      return "invalid response";
    case ErrorCode::not_found:
      return "no credentials or no power state";
    case ErrorCode::internal:
      break;
  }
  return "failed";
}

bool is_about_credentials(const Error& error) {
  if (error.code != ErrorCode::refused) return false;
  const std::string_view named = named_cause(error);
  return named.empty() || named == kLoginRefused || named == kPasswordExpired;
}

}  // namespace weft::oob

#include "oob/redfish/certificate.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <memory>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lazy/crypto.h"

namespace weft {

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
WEFT_LAZY_FUNCTION(libcrypto, X509_NAME_print_ex);
WEFT_LAZY_FUNCTION(libcrypto, X509_get_issuer_name);
// NOLINTEND(readability-identifier-naming)

}  // namespace weft

namespace weft::oob {
namespace {

constexpr std::size_t kMaxNameChars = 200;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

std::string name_text(X509_NAME* name) {
  const std::unique_ptr<BIO, FreeBio> out(BIO_new(BIO_s_mem()));
  if (out == nullptr || name == nullptr) return {};
  // One line, control characters and bytes above 127 escaped: the name may be hostile.
  if (X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_ONELINE) < 0) return {};
  std::string text;
  std::array<char, 1024> part{};
  for (int size = 0; (size = BIO_read(out.get(), part.data(), static_cast<int>(part.size()))) > 0;)
    text.append(part.data(), static_cast<std::size_t>(size));
  return printable(text, kMaxNameChars);
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (time == nullptr || ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return format_utc_seconds(static_cast<std::int64_t>(::timegm(&parts)) * 1000);
}

}  // namespace

std::string digest_of_certificate(X509* certificate) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string parse_certificate_digest(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  if (equals_ignoring_case(text.substr(0, kPrefix.size()), kPrefix)) text.remove_prefix(kPrefix.size());
  std::string out;
  for (const char c : text) {
    if (c != ':') out += to_lower(c);
  }
  return out.size() == 64 && out.find_first_not_of("0123456789abcdef") == std::string::npos ? out : std::string();
}

CertificateFacts describe_certificate(X509* certificate) {
  return {name_text(X509_get_subject_name(certificate)), name_text(X509_get_issuer_name(certificate)),
          time_text(X509_get0_notBefore(certificate)), time_text(X509_get0_notAfter(certificate)),
          "sha256:" + digest_of_certificate(certificate)};
}

}  // namespace weft::oob

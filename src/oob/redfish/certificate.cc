#include "oob/redfish/certificate.h"

#include <array>
#include <ctime>
#include <memory>

#include "base/human_format.h"
#include "base/utf8.h"
#include "http/fingerprint.h"
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

CertificateFacts describe_certificate(X509* certificate) {
  return {name_text(X509_get_subject_name(certificate)), name_text(X509_get_issuer_name(certificate)),
          time_text(X509_get0_notBefore(certificate)), time_text(X509_get0_notAfter(certificate)),
          "sha256:" + http::fingerprint_of(certificate)};
}

}  // namespace weft::oob

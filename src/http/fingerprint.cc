#include "http/fingerprint.h"

#include <array>

#include "base/text.h"

namespace weft::http {

std::string fingerprint_of(X509* certificate) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest.data(), &size) != 1) return {};
  std::string text;
  for (const unsigned char byte : digest) append_format(text, "{:02x}", byte);
  return text;
}

std::string parse_fingerprint(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  if (equals_ignoring_case(text.substr(0, kPrefix.size()), kPrefix)) text.remove_prefix(kPrefix.size());
  std::string out;
  for (const char c : text) {
    if (c != ':') out += to_lower(c);
  }
  return out.size() == 64 && out.find_first_not_of("0123456789abcdef") == std::string::npos ? out : std::string();
}

}  // namespace weft::http

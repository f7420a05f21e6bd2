#include "oob/redfish/trust.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "lazy/crypto.h"

namespace weft::oob {

Result<CertificateStore> trusted_store(const std::string& ca_file) {
  static std::mutex mutex;
  static std::map<std::string, CertificateStore> stores;
  std::string pem;
  if (!ca_file.empty()) {
    Result<std::string> text = read_file(ca_file, 4U << 20U);
    if (!text.ok()) return Error{text.error().code, "CA file: " + text.error().message, ca_file};
    pem = std::move(text).value();
  }
  const std::lock_guard lock(mutex);
  if (const auto known = stores.find(pem); known != stores.end()) return known->second;
  CertificateStore store(X509_STORE_new(), [](X509_STORE* unused) { X509_STORE_free(unused); });
  if (store == nullptr) return Error{ErrorCode::internal, "out of memory for certificates", {}};
  int certificates = 0;
  if (ca_file.empty()) {
    certificates = X509_STORE_set_default_paths(store.get());
  } else {
    BIO* bytes = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    while (X509* certificate = PEM_read_bio_X509(bytes, nullptr, nullptr, nullptr)) {
      certificates += X509_STORE_add_cert(store.get(), certificate);
      X509_free(certificate);
    }
    BIO_free(bytes);
    ERR_clear_error();
  }
  if (certificates == 0) return Error{ErrorCode::invalid_input, "contains no PEM certificate", ca_file};
  // A BMC's own certificate, or that of an intermediate CA, is sufficient if the user put it in the file.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  stores.emplace(std::move(pem), store);
  return store;
}

// RFC 7469, section 2.4.
std::string pin_of_certificate(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(der, static_cast<std::size_t>(size), digest.data());
  OPENSSL_free(der);
  std::array<unsigned char, 4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), SHA256_DIGEST_LENGTH);
  return "sha256//" + std::string(text.data(), text.data() + length);
}

bool is_pin(std::string_view text) {
  for (;;) {
    const std::size_t end = text.find(';');
    const std::string_view one = text.substr(0, end);
    if (!one.starts_with("sha256//") || one.size() != 8 + 44 || one.back() != '=') return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

std::string pin_of_pem(std::string_view pem) {
  BIO* bytes = BIO_new_mem_buf(pem.data(), static_cast<int>(std::min<std::size_t>(pem.size(), 1U << 20U)));
  X509* certificate = PEM_read_bio_X509(bytes, nullptr, nullptr, nullptr);
  BIO_free(bytes);
  ERR_clear_error();
  if (certificate == nullptr) return {};
  std::string pin = pin_of_certificate(certificate);
  X509_free(certificate);
  return pin;
}

}  // namespace weft::oob

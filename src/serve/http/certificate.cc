#include "serve/http/certificate.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/ip.h"
#include "base/text.h"
#include "http/fingerprint.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20U;
constexpr std::size_t kMaxNames = 64;

Error crypto_error(std::string_view what, const std::string& where = {}) {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int)
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return {ErrorCode::invalid_input, reason == nullptr ? std::string(what) : fmt::format("{}: {}", what, reason), where};
}

using Bio = std::unique_ptr<BIO, FreeCrypto>;

Bio memory_of(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string text_of(BIO* memory) {
  std::string text;
  std::array<char, 4096> piece{};
  for (int count = 0; (count = BIO_read(memory, piece.data(), static_cast<int>(piece.size()))) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(count));
  OPENSSL_cleanse(piece.data(), piece.size());
  return text;
}

// Without it libcrypto would ask for the passphrase at the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*data*/) { return -1; }

Status check_key_mode(const FileDescriptor& file, const std::string& path) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return file_error(errno, "check the key", path);
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::invalid_input, "the key is not a regular file", path};
  if (status.st_uid != 0 && status.st_uid != ::geteuid())
    return Error{ErrorCode::refused, fmt::format("the key belongs to another user (uid {})", status.st_uid), path};
  constexpr mode_t kForbidden = S_IWGRP | S_IXGRP | S_IRWXO;
  if ((status.st_mode & kForbidden) != 0) {
    return Error{ErrorCode::refused,
                 fmt::format("the key has mode {:04o}: others may read it, or its group may change it; run chmod 0600 "
                             "on it",
                             status.st_mode & 07777U),
                 path};
  }
  return {};
}

bool extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool add_field(X509* certificate, const char* field, const std::string& value) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libcrypto takes bytes
  const auto* bytes = reinterpret_cast<const unsigned char*>(value.data());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), field, MBSTRING_UTF8, bytes,
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool set_subject(X509* certificate, const CertificatePlan& plan) {
  bool fine = true;
  for (const std::string& organization : plan.organizations) fine = fine && add_field(certificate, "O", organization);
  return fine && add_field(certificate, "CN", plan.common_name);
}

// 63 random bits: never zero or negative (RFC 5280 section 4.1.2.2).
bool set_serial(X509* certificate) {
  std::uint64_t serial = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libcrypto takes bytes
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), (serial >> 1U) | 1U) == 1;
}

// Only what is a name or an address gets into the extension, whose text has a syntax of its own.
std::string alternative_names(const CertificatePlan& plan) {
  std::vector<std::string> parts;
  for (const std::string& name : plan.names) {
    const bool is_address = parse_ipv4(name).ok() || parse_ipv6(name).ok();
    const bool is_name =
        !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.*_") ==
                             std::string::npos;
    if (parts.size() < kMaxNames && (is_address || is_name))
      parts.push_back(fmt::format("{}:{}", is_address ? "IP" : "DNS", name));
  }
  return join(parts, ",");
}

bool set_extensions(X509* certificate, X509* issuer, const CertificatePlan& plan) {
  const std::string names = alternative_names(plan);
  const bool is_self_signed = certificate == issuer;
  const std::string_view use = plan.is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature";
  return extend(certificate, issuer, NID_basic_constraints,
                plan.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
         extend(certificate, issuer, NID_key_usage, std::string(use)) &&
         (plan.is_authority ||
          extend(certificate, issuer, NID_ext_key_usage, plan.for_clients ? "clientAuth" : "serverAuth")) &&
         (names.empty() || extend(certificate, issuer, NID_subject_alt_name, names)) &&
         extend(certificate, issuer, NID_subject_key_identifier, "hash") &&
         (is_self_signed || extend(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
}

// To a new file that replaces the old one, complete or not at all.
Status write_private(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new";
  (void)::unlink(temporary.c_str());
  FileDescriptor file = open_descriptor(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.ok()) return file_error(errno, "create the key", temporary);
  if (const int problem = write_all(file.get(), text).error; problem != 0)
    return file_error(problem, "write the key", temporary);
  if (::fsync(file.get()) != 0 || !file.close() || std::rename(temporary.c_str(), path.c_str()) != 0)
    return file_error(errno, "write the key", path);
  return {};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

Result<std::vector<Certificate>> read_certificates(const std::string& path) {
  const Result<std::string> text = read_file(path, kMaxFileBytes);
  if (!text.ok()) return text.error();
  const Bio bytes = memory_of(*text);
  std::vector<Certificate> certificates;
  while (X509* certificate = PEM_read_bio_X509(bytes.get(), nullptr, &no_passphrase, nullptr))
    certificates.emplace_back(certificate);
  ERR_clear_error();
  if (certificates.empty()) return Error{ErrorCode::invalid_input, "the file has no PEM certificate", path};
  return certificates;
}

Result<PrivateKey> read_private_key(const std::string& path) {
  const FileDescriptor file = open_descriptor(path, O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return file_error(errno, "read the key", path);
  if (Status checked = check_key_mode(file, path); !checked.ok()) return checked.error();
  std::string text(kMaxFileBytes, '\0');
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < text.size(); size += static_cast<std::size_t>(count)) {
    count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0) return file_error(errno, "read the key", path);
  }
  const Bio bytes = memory_of(std::string_view(text).substr(0, size));
  PrivateKey key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, &no_passphrase, nullptr));
  OPENSSL_cleanse(text.data(), size);
  if (key == nullptr) return crypto_error("the file has no PEM private key without a passphrase", path);
  return key;
}

std::int64_t end_of_validity(X509* certificate) {
  std::tm end{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1) return 0;
  return static_cast<std::int64_t>(::timegm(&end)) * 1000;
}

std::vector<std::string> subject_fields(X509* certificate, int nid) {
  std::vector<std::string> fields;
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;) {
    unsigned char* utf8 = nullptr;
    const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size >= 0) fields.emplace_back(utf8, utf8 + size);
    OPENSSL_free(utf8);
  }
  ERR_clear_error();
  return fields;
}

Result<KeyPair> make_certificate(const CertificatePlan& plan, const KeyPair* issuer) {
  KeyPair made{Certificate(X509_new()), PrivateKey(EVP_EC_gen("P-256"))};
  X509* certificate = made.certificate.get();
  if (certificate == nullptr || made.key == nullptr) return crypto_error("cannot make a key");
  X509* signer = issuer == nullptr ? certificate : issuer->certificate.get();
  EVP_PKEY* signing_key = issuer == nullptr ? made.key.get() : issuer->key.get();
  const bool fine = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                    X509_gmtime_adj(X509_getm_notBefore(certificate), plan.starts.count() / 1'000'000'000) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(certificate), plan.ends.count() / 1'000'000'000) != nullptr &&
                    set_subject(certificate, plan) &&
                    X509_set_issuer_name(certificate, X509_get_subject_name(signer)) == 1 &&
                    X509_set_pubkey(certificate, made.key.get()) == 1 && set_extensions(certificate, signer, plan) &&
                    X509_sign(certificate, signing_key, EVP_sha256()) != 0;
  if (!fine) return crypto_error("cannot make a certificate");
  return made;
}

std::string to_pem(X509* certificate) {
  const Bio memory(BIO_new(BIO_s_mem()));
  return memory != nullptr && PEM_write_bio_X509(memory.get(), certificate) == 1 ? text_of(memory.get())
                                                                                 : std::string();
}

std::string to_pem(EVP_PKEY* key) {
  const Bio memory(BIO_new(BIO_s_mem()));
  const bool written =
      memory != nullptr && PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1;
  return written ? text_of(memory.get()) : std::string();
}

Result<SelfSigned> make_self_signed(const std::string& folder, const std::vector<std::string>& names) {
  SelfSigned made{{folder + "/tls.pem", folder + "/tls.key", {}}, {}};
  if (!exists(made.files.certificate) || !exists(made.files.key)) {
    CertificatePlan plan;
    plan.common_name = "weft serve";
    plan.names = {"localhost", "127.0.0.1", "::1"};
    plan.names.insert(plan.names.end(), names.begin(), names.end());
    const Result<KeyPair> pair = make_certificate(plan);
    if (!pair.ok()) return pair.error();
    std::string key = to_pem(pair->key.get());
    const Status written = write_private(made.files.key, key);
    OPENSSL_cleanse(key.data(), key.size());
    if (!written.ok()) return written.error();
    if (Status stored = write_file(made.files.certificate, to_pem(pair->certificate.get())); !stored.ok())
      return stored.error();
  }
  const Result<std::vector<Certificate>> certificates = read_certificates(made.files.certificate);
  if (!certificates.ok()) return certificates.error();
  made.fingerprint = weft::http::fingerprint_of(certificates->front().get());
  return made;
}

}  // namespace weft::serve

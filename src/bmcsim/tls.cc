#include "bmcsim/tls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "lazy/crypto.h"

namespace weft::bmcsim {
namespace {

constexpr long kDay = 86400;  // NOLINT(google-runtime-int): X509_gmtime_adj takes a long

Error tls_error(std::string_view what) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return {ErrorCode::internal, fmt::format("cannot {}: {}", what, text.data()), {}};
}

EVP_PKEY* new_key() { return EVP_EC_gen("P-256"); }

std::string pem_of(X509* certificate) {
  BIO* memory = BIO_new(BIO_s_mem());
  std::string text;
  char* data = nullptr;
  if (memory != nullptr && PEM_write_bio_X509(memory, certificate) == 1) {
    const auto size = BIO_get_mem_data(memory, &data);
    text.assign(data, static_cast<std::size_t>(size));
  }
  BIO_free(memory);
  return text;
}

std::string pem_of(EVP_PKEY* key) {
  BIO* memory = BIO_new(BIO_s_mem());
  std::string text;
  char* data = nullptr;
  if (memory != nullptr && PEM_write_bio_PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr) == 1) {
    const auto size = BIO_get_mem_data(memory, &data);
    text.assign(data, static_cast<std::size_t>(size));
  }
  BIO_free(memory);
  return text;
}

bool extend(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value);
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool set_name(X509* certificate, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libcrypto takes bytes
  const auto* bytes = reinterpret_cast<const unsigned char*>(name.data());
  return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, bytes, static_cast<int>(name.size()), -1, 0) == 1;
}

// A serial number of 63 random bits: never zero or negative (RFC 5280 section 4.1.2.2).
bool set_serial(X509* certificate) {
  std::uint64_t serial = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libcrypto takes bytes
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), (serial >> 1U) | 1U) == 1;
}

Status write_key(const std::string& path, const std::string& text) {
  const FileDescriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  const int problem = file.ok() ? write_all(file.get(), text).error : errno;
  if (problem == 0) return {};
  return Error{ErrorCode::unavailable,
               fmt::format("cannot write the key: {}", std::generic_category().message(problem)), path};
}

}  // namespace

SimTls::~SimTls() = default;

Result<SimTls::Authority> SimTls::new_authority(const char* name) {
  Authority made{Key(new_key()), Certificate(X509_new())};
  X509* certificate = made.certificate.get();
  if (!made.key || certificate == nullptr) return tls_error("make a key");
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3650 * kDay);
  const bool fine = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                    set_name(certificate, name) &&
                    X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
                    X509_set_pubkey(certificate, made.key.get()) == 1 &&
                    extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    extend(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    extend(certificate, certificate, NID_subject_key_identifier, "hash") &&
                    extend(certificate, certificate, NID_authority_key_identifier, "keyid:always") &&
                    X509_sign(certificate, made.key.get(), EVP_sha256()) != 0;
  if (!fine) return tls_error("make a certificate authority");
  return made;
}

Result<SimTls::Authority> SimTls::kept_authority(const std::string& folder) {
  const std::string certificate_path = folder + "/ca.pem";
  const std::string key_path = folder + "/ca.key";
  std::error_code ignored;
  if (std::filesystem::exists(certificate_path, ignored) && std::filesystem::exists(key_path, ignored)) {
    const Result<std::string> certificate = read_file(certificate_path, 65536);
    const Result<std::string> key = read_file(key_path, 65536);
    if (!certificate.ok()) return certificate.error();
    if (!key.ok()) return key.error();
    BIO* first = BIO_new_mem_buf(certificate->data(), static_cast<int>(certificate->size()));
    BIO* second = BIO_new_mem_buf(key->data(), static_cast<int>(key->size()));
    Authority kept{Key(PEM_read_bio_PrivateKey(second, nullptr, nullptr, nullptr)),
                   Certificate(PEM_read_bio_X509(first, nullptr, nullptr, nullptr))};
    BIO_free(first);
    BIO_free(second);
    if (kept.key && kept.certificate && X509_check_private_key(kept.certificate.get(), kept.key.get()) == 1)
      return kept;
    return Error{ErrorCode::invalid_input,
                 "ca.pem and ca.key are not a valid certificate authority; remove both to create a new one", folder};
  }
  Result<Authority> made = new_authority("weft simulated BMC authority");
  if (!made.ok()) return made;
  std::filesystem::remove(key_path, ignored);
  if (const Status key = write_key(key_path, pem_of(made->key.get())); !key.ok()) return key.error();
  const Status written = write_file(certificate_path, pem_of(made->certificate.get()));
  if (!written.ok()) return written.error();
  return made;
}

Result<std::unique_ptr<SimTls>> SimTls::make(const std::string& folder) {
  std::unique_ptr<SimTls> tls(new SimTls());
  Result<Authority> authority = folder.empty() ? new_authority("weft simulated BMC authority") : kept_authority(folder);
  if (!authority.ok()) return authority.error();
  tls->authority_ = std::move(authority).value();
  tls->ca_pem_ = pem_of(tls->authority_.certificate.get());
  tls->key_.reset(new_key());
  tls->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = tls->context_.get();
  if (!tls->key_ || context == nullptr) return tls_error("set up TLS");
  constexpr std::array<unsigned char, 8> name{'w', 'e', 'f', 't', '-', 's', 'i', 'm'};
  const bool fine = SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
                    SSL_CTX_set_session_id_context(context, name.data(), name.size()) == 1 &&
                    SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1;
  if (!fine) return tls_error("set up TLS");
  // Tickets carry the session state, so none is cached here; idle connections free their buffers.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return tls;
}

SSL* SimTls::open(int socket, Choice* choice) {
  SSL* connection = SSL_new(context_.get());
  if (connection == nullptr) return nullptr;
  if (SSL_set_fd(connection, socket) != 1) {
    SSL_free(connection);
    return nullptr;
  }
  SSL_set_accept_state(connection);
  // Called only in a full handshake: a resumed one needs no certificate.
  SSL_set_cert_cb(connection, &SimTls::choose, choice);
  return connection;
}

int SimTls::choose(SSL* connection, void* choice) {
  const auto* chosen = static_cast<const Choice*>(choice);
  const Certificate certificate = chosen->tls->find_or_issue(*chosen);
  if (!certificate) return 0;
  return SSL_use_certificate(connection, certificate.get()) == 1 &&
                 SSL_use_PrivateKey(connection, chosen->tls->key_.get()) == 1
             ? 1
             : 0;
}

SimTls::Certificate SimTls::find_or_issue(const Choice& choice) {
  if (choice.certificate != SimCertificate::right) return issue(choice);
  std::vector<unsigned char>& der = issued_[choice.address.bits];
  if (!der.empty()) {
    const unsigned char* at = der.data();
    return Certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));  // NOLINT(google-runtime-int)
  }
  Certificate certificate = issue(choice);
  const int size = certificate ? i2d_X509(certificate.get(), nullptr) : 0;
  if (size > 0) {
    der.resize(static_cast<std::size_t>(size));
    unsigned char* at = der.data();
    i2d_X509(certificate.get(), &at);
  }
  return certificate;
}

SimTls::Certificate SimTls::issue(const Choice& choice) {
  const bool other = choice.certificate == SimCertificate::other_authority;
  if (other && !other_.key) {
    Result<Authority> made = new_authority("another authority");
    if (!made.ok()) return nullptr;
    other_ = std::move(made).value();
  }
  const Authority& authority = other ? other_ : authority_;
  X509* issuer = authority.certificate.get();
  Certificate made(X509_new());
  X509* certificate = made.get();
  if (certificate == nullptr) return nullptr;
  const bool expired = choice.certificate == SimCertificate::expired;
  // 192.0.2.1 as an arbitrary other address (RFC 5737).
  const std::string name =
      choice.certificate == SimCertificate::other_name ? std::string("192.0.2.1") : to_text(choice.address);
  X509_gmtime_adj(X509_getm_notBefore(certificate), expired ? -30 * kDay : -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), expired ? -kDay : 365 * kDay);
  const bool fine = X509_set_version(certificate, X509_VERSION_3) == 1 && set_serial(certificate) &&
                    set_name(certificate, name) &&
                    X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
                    X509_set_pubkey(certificate, key_.get()) == 1 &&
                    extend(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                    extend(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
                    extend(certificate, issuer, NID_ext_key_usage, "serverAuth") &&
                    extend(certificate, issuer, NID_subject_alt_name, fmt::format("IP:{}", name).c_str()) &&
                    extend(certificate, issuer, NID_subject_key_identifier, "hash") &&
                    extend(certificate, issuer, NID_authority_key_identifier, "keyid:always") &&
                    X509_sign(certificate, authority.key.get(), EVP_sha256()) != 0;
  return fine ? std::move(made) : nullptr;
}

}  // namespace weft::bmcsim

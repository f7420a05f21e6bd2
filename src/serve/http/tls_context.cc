#include "serve/http/tls_context.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/ip.h"
#include "http/fingerprint.h"

namespace weft::serve {
namespace {

// RFC 7301: a length and the protocol.
constexpr std::array<unsigned char, 9> kProtocols{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

Error tls_error(std::string_view what, const std::string& where = {}) {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int)
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return {ErrorCode::invalid_input, reason == nullptr ? std::string(what) : fmt::format("{}: {}", what, reason), where};
}

int choose_protocol(SSL* /*session*/, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned size, void* /*data*/) {
  for (unsigned at = 0; at < size; at += 1U + offered[at]) {
    const std::string_view name(reinterpret_cast<const char*>(offered) + at + 1, offered[at]);  // NOLINT
    if (offered[at] < size - at && name == "http/1.1") {
      *out = offered + at + 1;
      *out_size = offered[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Macros of OpenSSL with casts in C style, as calls.
bool set_common(SSL_CTX* context) {
  constexpr std::uint64_t kOptions = SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 |
                                     SSL_OP_NO_TLSv1_1;
  constexpr long kMode =  // NOLINT(google-runtime-int)
      SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER;
  SSL_CTX_set_security_level(context, 2);
  (void)SSL_CTX_set_options(context, kOptions);
  (void)SSL_CTX_ctrl(context, SSL_CTRL_MODE, kMode, nullptr);
  (void)SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
  std::string groups = "X25519:P-256:P-384";
  return SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr) == 1 &&
         SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, groups.data()) == 1 &&
         SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1;
}

Status use_certificate(SSL_CTX* context, const std::vector<Certificate>& chain, const std::string& chain_path,
                       const std::string& key_path) {
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1)
    return tls_error("cannot use the certificate", chain_path);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, chain[i].get()) != 1)
      return tls_error("cannot use an intermediate certificate", chain_path);
  }
  const Result<PrivateKey> key = read_private_key(key_path);
  if (!key.ok()) return key.error();
  if (X509_check_private_key(chain.front().get(), key->get()) != 1) {
    ERR_clear_error();
    return Error{ErrorCode::invalid_input, fmt::format("the key does not belong to the certificate {}", chain_path),
                 key_path};
  }
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1) return tls_error("cannot use the key", key_path);
  return {};
}

// Asks clients for a certificate that one of these has signed. A client without one is let in.
Status ask_for_certificates(SSL_CTX* context, const std::string& path) {
  const Result<std::vector<Certificate>> authorities = read_certificates(path);
  if (!authorities.ok()) return authorities.error();
  X509_STORE* store = X509_STORE_new();
  bool fine = store != nullptr;
  for (const Certificate& authority : *authorities) {
    fine = fine && X509_STORE_add_cert(store, authority.get()) == 1 &&
           SSL_CTX_add_client_CA(context, authority.get()) == 1;
  }
  if (!fine) {
    X509_STORE_free(store);
    return tls_error("cannot use the CA of clients", path);
  }
  SSL_CTX_set_cert_store(context, store);  // owns it
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return {};
}

}  // namespace

Result<TlsContext::Loaded> TlsContext::load_files(const TlsFiles& files) {
  ERR_clear_error();
  Loaded loaded;
  loaded.context.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = loaded.context.get();
  if (context == nullptr || !set_common(context)) return tls_error("cannot set up TLS");
  (void)SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_alpn_select_cb(context, &choose_protocol, nullptr);
  const Result<std::vector<Certificate>> chain = read_certificates(files.certificate);
  if (!chain.ok()) return chain.error();
  if (Status used = use_certificate(context, *chain, files.certificate, files.key); !used.ok()) return used.error();
  if (!files.client_ca.empty()) {
    if (Status asked = ask_for_certificates(context, files.client_ca); !asked.ok()) return asked.error();
  }
  X509* certificate = chain->front().get();
  loaded.fingerprint = weft::http::fingerprint_of(certificate);
  if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    loaded.warnings.push_back(fmt::format("{}: the certificate has expired: clients refuse it", files.certificate));
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
    loaded.warnings.push_back(
        fmt::format("{}: the certificate is not valid yet: clients refuse it", files.certificate));
  return loaded;
}

Result<std::shared_ptr<TlsContext>> TlsContext::load(TlsFiles files) {
  Result<Loaded> loaded = load_files(files);
  if (!loaded.ok()) return loaded.error();
  std::shared_ptr<TlsContext> context(new TlsContext());
  context->files_ = std::move(files);
  context->loaded_ = std::move(*loaded);
  return context;
}

Status TlsContext::reload(TlsFiles files) {
  Result<Loaded> loaded = load_files(files);
  if (!loaded.ok()) return loaded.error();
  files_ = std::move(files);
  loaded_ = std::move(*loaded);
  return {};
}

std::unique_ptr<TlsChannel> TlsContext::open() const {
  std::unique_ptr<SSL, FreeSsl> session(SSL_new(loaded_.context.get()));
  if (session == nullptr) return nullptr;
  SSL_set_accept_state(session.get());
  return std::make_unique<TlsChannel>(std::move(session));
}

Result<std::shared_ptr<TlsClientContext>> TlsClientContext::load(const TlsTrust& trust) {
  ERR_clear_error();
  std::shared_ptr<TlsClientContext> made(new TlsClientContext());
  made->fingerprint_ = trust.fingerprint;
  made->context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = made->context_.get();
  if (context == nullptr || !set_common(context)) return tls_error("cannot set up TLS");
  if (SSL_CTX_set_alpn_protos(context, kProtocols.data(), kProtocols.size()) != 0)
    return tls_error("cannot set up TLS");
  if (trust.fingerprint.empty() && trust.ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return tls_error("cannot read the system's CA certificates");
  } else if (trust.fingerprint.empty()) {
    const Result<std::vector<Certificate>> authorities = read_certificates(trust.ca_file);
    if (!authorities.ok()) return authorities.error();
    X509_STORE* store = X509_STORE_new();
    if (store == nullptr) return tls_error("cannot set up TLS");
    for (const Certificate& authority : *authorities) (void)X509_STORE_add_cert(store, authority.get());
    // A server's own certificate is sufficient if the user put it in the file.
    (void)X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    SSL_CTX_set_cert_store(context, store);  // owns it
  }
  if (!trust.certificate.empty()) {
    const Result<std::vector<Certificate>> chain = read_certificates(trust.certificate);
    if (!chain.ok()) return chain.error();
    if (Status used = use_certificate(context, *chain, trust.certificate, trust.key); !used.ok()) return used.error();
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(context, &TlsClientContext::judge, made.get());
  return made;
}

int TlsClientContext::judge(X509_STORE_CTX* chain, void* self) {
  const auto* context = static_cast<const TlsClientContext*>(self);
  X509* certificate = X509_STORE_CTX_get0_cert(chain);
  const auto* session =
      static_cast<const SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const std::string fingerprint = certificate == nullptr ? std::string() : weft::http::fingerprint_of(certificate);
  bool accepted = false;
  if (context->fingerprint_.empty()) {
    accepted = X509_verify_cert(chain) == 1;
  } else {
    accepted = fingerprint == context->fingerprint_;
    X509_STORE_CTX_set_error(chain, accepted ? X509_V_OK : X509_V_ERR_CERT_REJECTED);
  }
  const int code = X509_STORE_CTX_get_error(chain);
  if (TlsChannel* channel = TlsChannel::find(session); channel != nullptr)
    channel->set_judgment(fingerprint, accepted ? X509_V_OK : code);
  return accepted ? 1 : 0;
}

std::unique_ptr<TlsChannel> TlsClientContext::open(const std::string& host) const {
  std::unique_ptr<SSL, FreeSsl> session(SSL_new(context_.get()));
  if (session == nullptr) return nullptr;
  SSL_set_connect_state(session.get());
  if (parse_ipv4(host).ok() || parse_ipv6(host).ok()) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), host.c_str()) != 1) return nullptr;
  } else {
    std::string name = host;
    X509_VERIFY_PARAM_set_hostflags(SSL_get0_param(session.get()),
                                    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(session.get(), host.c_str()) != 1 ||
        SSL_ctrl(session.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data()) != 1)
      return nullptr;
  }
  return std::make_unique<TlsChannel>(std::move(session));
}

}  // namespace weft::serve

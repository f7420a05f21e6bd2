// The functions of libssl (OpenSSL) that weft calls, loaded at the first call: see lazy/library.h. Include this
// instead of <openssl/ssl.h>.
#pragma once

#include <openssl/ssl.h>

#include "lazy/crypto.h"

namespace weft {

inline constinit LazyLibrary libssl("libssl.so." OPENSSL_MSTR(OPENSSL_SHLIB_VERSION));

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_add_client_CA);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_ctrl);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_free);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_get_ex_data);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_load_verify_file);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_new);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set1_cert_store);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_alpn_protos);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_alpn_select_cb);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_cert_store);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_cert_verify_callback);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_cipher_list);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_default_verify_paths);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_ex_data);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_num_tickets);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_options);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_security_level);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_session_id_context);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_set_verify);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_use_PrivateKey);
WEFT_LAZY_FUNCTION(libssl, SSL_CTX_use_certificate);
WEFT_LAZY_FUNCTION(libssl, SSL_accept);
WEFT_LAZY_FUNCTION(libssl, SSL_connect);
WEFT_LAZY_FUNCTION(libssl, SSL_ctrl);
WEFT_LAZY_FUNCTION(libssl, SSL_do_handshake);
WEFT_LAZY_FUNCTION(libssl, SSL_free);
WEFT_LAZY_FUNCTION(libssl, SSL_get0_param);
WEFT_LAZY_FUNCTION(libssl, SSL_get0_peer_certificate);
WEFT_LAZY_FUNCTION(libssl, SSL_get0_verified_chain);
WEFT_LAZY_FUNCTION(libssl, SSL_get_SSL_CTX);
WEFT_LAZY_FUNCTION(libssl, SSL_get_error);
WEFT_LAZY_FUNCTION(libssl, SSL_get_ex_data);
WEFT_LAZY_FUNCTION(libssl, SSL_get_ex_data_X509_STORE_CTX_idx);
WEFT_LAZY_FUNCTION(libssl, SSL_get_verify_result);
WEFT_LAZY_FUNCTION(libssl, SSL_get_version);
WEFT_LAZY_FUNCTION(libssl, SSL_new);
WEFT_LAZY_FUNCTION(libssl, SSL_read);
WEFT_LAZY_FUNCTION(libssl, SSL_set1_host);
WEFT_LAZY_FUNCTION(libssl, SSL_set_accept_state);
WEFT_LAZY_FUNCTION(libssl, SSL_set_bio);
WEFT_LAZY_FUNCTION(libssl, SSL_set_cert_cb);
WEFT_LAZY_FUNCTION(libssl, SSL_set_connect_state);
WEFT_LAZY_FUNCTION(libssl, SSL_set_ex_data);
WEFT_LAZY_FUNCTION(libssl, SSL_set_fd);
WEFT_LAZY_FUNCTION(libssl, SSL_shutdown);
WEFT_LAZY_FUNCTION(libssl, SSL_use_PrivateKey);
WEFT_LAZY_FUNCTION(libssl, SSL_use_certificate);
WEFT_LAZY_FUNCTION(libssl, SSL_write);
WEFT_LAZY_FUNCTION(libssl, TLS_client_method);
WEFT_LAZY_FUNCTION(libssl, TLS_server_method);
// NOLINTEND(readability-identifier-naming)

}  // namespace weft

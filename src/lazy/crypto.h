// The functions of libcrypto (OpenSSL) that weft calls, loaded at the first call: see lazy/library.h. Include this
// instead of OpenSSL's own headers.
#pragma once

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "lazy/library.h"

namespace weft {

inline constinit LazyLibrary libcrypto("libcrypto.so." OPENSSL_MSTR(OPENSSL_SHLIB_VERSION));

// NOLINTBEGIN(readability-identifier-naming): OpenSSL's names
WEFT_LAZY_FUNCTION(libcrypto, ASN1_INTEGER_set_uint64);
WEFT_LAZY_FUNCTION(libcrypto, BIO_ctrl);
WEFT_LAZY_FUNCTION(libcrypto, BIO_free);
WEFT_LAZY_FUNCTION(libcrypto, BIO_new);
WEFT_LAZY_FUNCTION(libcrypto, BIO_new_mem_buf);
WEFT_LAZY_FUNCTION(libcrypto, BIO_read);
WEFT_LAZY_FUNCTION(libcrypto, BIO_s_mem);
WEFT_LAZY_FUNCTION(libcrypto, BIO_write);
WEFT_LAZY_FUNCTION(libcrypto, CRYPTO_free);
WEFT_LAZY_FUNCTION(libcrypto, CRYPTO_memcmp);
WEFT_LAZY_FUNCTION(libcrypto, ERR_clear_error);
WEFT_LAZY_FUNCTION(libcrypto, ERR_error_string_n);
WEFT_LAZY_FUNCTION(libcrypto, ERR_get_error);
WEFT_LAZY_FUNCTION(libcrypto, ERR_reason_error_string);
WEFT_LAZY_FUNCTION(libcrypto, EVP_Digest);
WEFT_LAZY_FUNCTION(libcrypto, EVP_DigestFinal_ex);
WEFT_LAZY_FUNCTION(libcrypto, EVP_DigestInit_ex);
WEFT_LAZY_FUNCTION(libcrypto, EVP_DigestUpdate);
WEFT_LAZY_FUNCTION(libcrypto, EVP_EncodeBlock);
WEFT_LAZY_FUNCTION(libcrypto, EVP_MD_CTX_free);
WEFT_LAZY_FUNCTION(libcrypto, EVP_MD_CTX_new);
WEFT_LAZY_FUNCTION(libcrypto, EVP_PKEY_Q_keygen);
WEFT_LAZY_FUNCTION(libcrypto, EVP_PKEY_free);
WEFT_LAZY_FUNCTION(libcrypto, EVP_sha256);
WEFT_LAZY_FUNCTION(libcrypto, OPENSSL_cleanse);
WEFT_LAZY_FUNCTION(libcrypto, PEM_read_bio_PrivateKey);
WEFT_LAZY_FUNCTION(libcrypto, PEM_read_bio_X509);
WEFT_LAZY_FUNCTION(libcrypto, PEM_write_bio_PrivateKey);
WEFT_LAZY_FUNCTION(libcrypto, PEM_write_bio_X509);
WEFT_LAZY_FUNCTION(libcrypto, RAND_bytes);
WEFT_LAZY_FUNCTION(libcrypto, SHA256);
WEFT_LAZY_FUNCTION(libcrypto, X509V3_EXT_conf_nid);
WEFT_LAZY_FUNCTION(libcrypto, X509V3_set_ctx);
WEFT_LAZY_FUNCTION(libcrypto, X509_EXTENSION_free);
WEFT_LAZY_FUNCTION(libcrypto, X509_NAME_add_entry_by_txt);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_CTX_get0_cert);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_CTX_get_error);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_CTX_get_ex_data);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_add_cert);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_free);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_new);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_set_default_paths);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_set_flags);
WEFT_LAZY_FUNCTION(libcrypto, X509_STORE_up_ref);
WEFT_LAZY_FUNCTION(libcrypto, X509_VERIFY_PARAM_set1_host);
WEFT_LAZY_FUNCTION(libcrypto, X509_VERIFY_PARAM_set1_ip_asc);
WEFT_LAZY_FUNCTION(libcrypto, X509_add_ext);
WEFT_LAZY_FUNCTION(libcrypto, X509_check_private_key);
WEFT_LAZY_FUNCTION(libcrypto, X509_free);
WEFT_LAZY_FUNCTION(libcrypto, X509_get_X509_PUBKEY);
WEFT_LAZY_FUNCTION(libcrypto, X509_get_serialNumber);
WEFT_LAZY_FUNCTION(libcrypto, X509_get_subject_name);
WEFT_LAZY_FUNCTION(libcrypto, X509_getm_notAfter);
WEFT_LAZY_FUNCTION(libcrypto, X509_getm_notBefore);
WEFT_LAZY_FUNCTION(libcrypto, X509_gmtime_adj);
WEFT_LAZY_FUNCTION(libcrypto, X509_new);
WEFT_LAZY_FUNCTION(libcrypto, X509_set_issuer_name);
WEFT_LAZY_FUNCTION(libcrypto, X509_set_pubkey);
WEFT_LAZY_FUNCTION(libcrypto, X509_set_version);
WEFT_LAZY_FUNCTION(libcrypto, X509_sign);
WEFT_LAZY_FUNCTION(libcrypto, X509_verify_cert_error_string);
WEFT_LAZY_FUNCTION(libcrypto, d2i_X509);
WEFT_LAZY_FUNCTION(libcrypto, i2d_X509);
WEFT_LAZY_FUNCTION(libcrypto, i2d_X509_PUBKEY);
// NOLINTEND(readability-identifier-naming)

}  // namespace weft

#include "oob/audit/tls_probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <thread>

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

Key new_key() { return Key(EVP_EC_gen("P-256")); }

struct Kind {
  long from_days = -1;
  long to_days = 30;
  const char* address = "IP:127.0.0.1";
  bool authority = false;
};

void extend(X509* certificate, int what, const char* text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, text);
  ASSERT_NE(extension, nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate certify(EVP_PKEY* key, const char* name, EVP_PKEY* signer, X509* issuer, const Kind& kind) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), kind.authority ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), kind.from_days * 86'400);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kind.to_days * 86'400);
  X509_set_pubkey(certificate.get(), key);
  std::string text = name;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.c_str());  // NOLINT
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC, bytes, -1, -1, 0);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer == nullptr ? certificate.get() : issuer));
  if (kind.authority)
    extend(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  else
    extend(certificate.get(), NID_subject_alt_name, kind.address);
  EXPECT_GT(X509_sign(certificate.get(), signer, EVP_sha256()), 0);
  return certificate;
}

// A TLS server that accepts every handshake, shows its certificate and counts clients that send data.
class TlsServer {
 public:
  TlsServer(EVP_PKEY* key, X509* certificate) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_.get(), certificate);
    SSL_CTX_use_PrivateKey(context_.get(), key);
    handle_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* plain = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    EXPECT_EQ(bind(handle_, plain, size), 0);
    EXPECT_EQ(listen(handle_, 8), 0);
    EXPECT_EQ(getsockname(handle_, plain, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    stop_ = true;
    thread_.join();
    close(handle_);
  }
  [[nodiscard]] Endpoint endpoint(std::string ca = {}) const {
    Endpoint endpoint;
    endpoint.device = "train01";
    endpoint.host = "127.0.0.1";
    endpoint.port = port_;
    endpoint.tls.ca_file = std::move(ca);
    return endpoint;
  }
  [[nodiscard]] int heard() const { return heard_; }

 private:
  void serve() {
    while (!stop_) {
      pollfd watched{handle_, POLLIN, 0};
      if (poll(&watched, 1, 10) <= 0) continue;
      const int client = accept(handle_, nullptr, nullptr);
      const timeval limit{1, 0};
      setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      const std::unique_ptr<SSL, Free> ssl(SSL_new(context_.get()));
      SSL_set_fd(ssl.get(), client);
      std::array<char, 64> said{};
      if (SSL_accept(ssl.get()) == 1 && SSL_read(ssl.get(), said.data(), said.size()) > 0) ++heard_;
      close(client);
    }
  }

  std::unique_ptr<SSL_CTX, Free> context_;
  int handle_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stop_{false};
  std::atomic<int> heard_{0};
  std::thread thread_;
};

class TlsProbeConcurrentTest : public testing::Test {
 protected:
  void SetUp() override {
    (void)std::signal(SIGPIPE, SIG_IGN);  // the probe closes the connection while the server still sends tickets
    ca_ = certify(ca_key_.get(), "our authority", ca_key_.get(), nullptr, {.authority = true});
    path_ = testing::TempDir() + fmt::format("audit_tls_probe_test.{}.{}.pem", getpid(),
                                             testing::UnitTest::GetInstance()->current_test_info()->name());
    FILE* file = fopen(path_.c_str(), "w");
    ASSERT_NE(file, nullptr);
    PEM_write_X509(file, ca_.get());
    fclose(file);
  }
  void TearDown() override { unlink(path_.c_str()); }
  Certificate signed_by_us(EVP_PKEY* key, const Kind& kind) {
    return certify(key, "bmc", ca_key_.get(), ca_.get(), kind);
  }

  Key ca_key_ = new_key();
  Key key_ = new_key();
  Certificate ca_;
  std::string path_;
};

TEST_F(TlsProbeConcurrentTest, VerifiedCertificateHasNoProblems) {
  const Certificate good = signed_by_us(key_.get(), {});
  const TlsServer server(key_.get(), good.get());
  const Result<TlsFacts> facts = probe_tls(server.endpoint(path_));
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_THAT(facts->problems, IsEmpty());
  EXPECT_EQ(facts->protocol, "TLSv1.3");
  EXPECT_EQ(server.heard(), 0);  // only the handshake was sent
}

TEST_F(TlsProbeConcurrentTest, SelfSignedIsReported) {
  const Certificate own = certify(key_.get(), "bmc", key_.get(), nullptr, {});
  const TlsServer server(key_.get(), own.get());
  const Result<TlsFacts> facts = probe_tls(server.endpoint(path_));
  ASSERT_TRUE(facts.ok());
  EXPECT_THAT(facts->problems, ElementsAre("is self-signed"));
}

TEST_F(TlsProbeConcurrentTest, AllProblemsAreReported) {
  const Certificate bad = signed_by_us(key_.get(), {.from_days = -10, .to_days = -1, .address = "IP:10.0.0.1"});
  const TlsServer server(key_.get(), bad.get());
  const Result<TlsFacts> facts = probe_tls(server.endpoint(path_));
  ASSERT_TRUE(facts.ok());
  EXPECT_THAT(facts->problems, ElementsAre("has expired", "is for another name or address"));
}

TEST_F(TlsProbeConcurrentTest, UnknownAuthorityIsReported) {
  const Key other_key = new_key();
  const Certificate other = certify(other_key.get(), "theirs", other_key.get(), nullptr, {.authority = true});
  const Certificate theirs = certify(key_.get(), "bmc", other_key.get(), other.get(), {});
  const TlsServer server(key_.get(), theirs.get());
  const Result<TlsFacts> facts = probe_tls(server.endpoint(path_));
  ASSERT_TRUE(facts.ok());
  EXPECT_THAT(facts->problems, ElementsAre("comes from an issuer that is not trusted"));
}

TEST_F(TlsProbeConcurrentTest, PinnedKeyIsTrusted) {
  const Certificate own = certify(key_.get(), "bmc", key_.get(), nullptr, {});
  const TlsServer server(key_.get(), own.get());
  Endpoint endpoint = server.endpoint(path_);
  endpoint.tls.pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
  Result<TlsFacts> facts = probe_tls(endpoint);
  ASSERT_TRUE(facts.ok());
  EXPECT_THAT(facts->problems, ElementsAre("has another key than the pinned one"));
  // Computed like `openssl x509 -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_.get(), &der);
  std::array<unsigned char, 32> digest{};
  EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), nullptr, EVP_sha256(), nullptr);
  OPENSSL_free(der);
  std::array<unsigned char, 45> text{};
  EVP_EncodeBlock(text.data(), digest.data(), 32);
  endpoint.tls.pin = "sha256//" + std::string(text.begin(), text.end() - 1);
  facts = probe_tls(endpoint);
  ASSERT_TRUE(facts.ok());
  EXPECT_THAT(facts->problems, IsEmpty());
}

TEST_F(TlsProbeConcurrentTest, ServerWithoutTlsIsAnError) {
  Endpoint endpoint;
  endpoint.host = "127.0.0.1";
  endpoint.connect_limit = milliseconds(100);
  endpoint.request_limit = milliseconds(200);
  const int handle = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* plain = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  ASSERT_EQ(bind(handle, plain, size), 0);
  ASSERT_EQ(getsockname(handle, plain, &size), 0);
  endpoint.port = ntohs(address.sin_port);
  EXPECT_EQ(probe_tls(endpoint).error().code, ErrorCode::unavailable);  // port closed
  ASSERT_EQ(listen(handle, 8), 0);
  EXPECT_EQ(probe_tls(endpoint).error().code, ErrorCode::timeout);  // connected, no response
  close(handle);
  endpoint.tls.ca_file = "/no/such/file.pem";
  EXPECT_EQ(probe_tls(endpoint).error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace weft::oob

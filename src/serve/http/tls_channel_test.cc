// TLS without sockets: what handshakes are accepted, in pieces of any size, and what is refused.
#include "serve/http/tls_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fingerprint.h"
#include "serve/http/test_tls.h"

namespace weft::serve {
namespace {

using State = TlsChannel::State;
using testing::ElementsAre;
using testing::HasSubstr;

class TlsChannelTest : public testing::Test {
 protected:
  void SetUp() override {
    files_ = authority_.issue_server();
    trust_.ca_file = authority_.path();
  }
  void load() {
    Result<std::shared_ptr<TlsContext>> context = TlsContext::load(files_);
    ASSERT_TRUE(context.ok()) << context.error().text();
    context_ = *context;
    Result<std::shared_ptr<TlsClientContext>> client = TlsClientContext::load(trust_);
    ASSERT_TRUE(client.ok()) << client.error().text();
    client_context_ = *client;
  }
  void connect(const std::string& host = "localhost", std::size_t step = 1'000'000) {
    load();
    server_ = context_->open();
    client_ = client_context_->open(host);
    ASSERT_NE(server_, nullptr);
    ASSERT_NE(client_, nullptr);
    to_client_.clear();
    to_server_.clear();
    exchange(*client_, *server_, to_client_, to_server_, step);
  }
  // A client of OpenSSL's own making, with these settings.
  State connect_as(const std::function<void(SSL_CTX*)>& set) {
    load();
    const std::unique_ptr<SSL_CTX, FreeSsl> context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context.get(), 0);
    set(context.get());
    std::unique_ptr<SSL, FreeSsl> session(SSL_new(context.get()));
    SSL_set_connect_state(session.get());
    client_ = std::make_unique<TlsChannel>(std::move(session));
    server_ = context_->open();
    exchange(*client_, *server_, to_client_, to_server_);
    return server_->state();
  }

  TestFolder folder_;
  TestAuthority authority_{folder_.path()};
  TlsFiles files_;
  TlsTrust trust_;
  std::shared_ptr<TlsContext> context_;
  std::shared_ptr<TlsClientContext> client_context_;
  std::unique_ptr<TlsChannel> server_;
  std::unique_ptr<TlsChannel> client_;
  std::string to_client_;
  std::string to_server_;
};

TEST_F(TlsChannelTest, CarriesTextBothWays) {
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{1'000'000}}) {
    connect("localhost", step);
    ASSERT_EQ(server_->state(), State::open) << server_->problem();
    ASSERT_EQ(client_->state(), State::open) << client_->problem();
    const std::string large(100'000, 'x');
    client_->send("hello ");
    client_->send(large);
    server_->send("answer");
    exchange(*client_, *server_, to_client_, to_server_, step);
    EXPECT_EQ(to_server_, "hello " + large);
    EXPECT_EQ(to_client_, "answer");
    EXPECT_FALSE(server_->peer_certificate().has_value());
    client_->send_close();
    exchange(*client_, *server_, to_client_, to_server_, step);
    EXPECT_EQ(server_->state(), State::closed);
    server_->send("late");
    server_->send_close();
    server_->send_close();
    exchange(*client_, *server_, to_client_, to_server_, step);
    EXPECT_EQ(to_client_, "answerlate");
    EXPECT_EQ(client_->state(), State::closed);
  }
}

TEST_F(TlsChannelTest, ATruncatedHandshakeStaysOpenEnded) {
  load();
  const std::unique_ptr<TlsChannel> client = client_context_->open("localhost");
  std::string plain;
  (void)client->receive({}, plain);
  const std::string hello = client->output();
  for (std::size_t size = 0; size < hello.size(); size += 11) {
    const std::unique_ptr<TlsChannel> server = context_->open();
    EXPECT_EQ(server->receive(hello.substr(0, size), plain), State::handshaking) << size;
    EXPECT_EQ(plain, "");
  }
}

TEST_F(TlsChannelTest, ADamagedRecordFailsWithoutText) {
  connect();
  client_->send("secret");
  std::string bytes = std::exchange(client_->output(), {});
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_EQ(server_->receive(bytes, to_server_), State::failed);
  EXPECT_EQ(to_server_, "");
  EXPECT_NE(server_->problem(), "");
  EXPECT_EQ(server_->receive("more", to_server_), State::failed);
  server_->send("nothing");
}

// The protocol versions and ciphers of clients.
TEST_F(TlsChannelTest, OldVersionsAndWeakCiphersAreRefused) {
  const auto version = [](int number) {
    return [number](SSL_CTX* context) {
      (void)SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_VERSION, nullptr);
      (void)SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, number, nullptr);
      (void)SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0");
    };
  };
  EXPECT_EQ(connect_as(version(TLS1_VERSION)), State::failed);
  EXPECT_THAT(server_->problem(), HasSubstr("unsupported protocol"));
  EXPECT_EQ(connect_as(version(TLS1_1_VERSION)), State::failed);
  EXPECT_EQ(connect_as(version(TLS1_2_VERSION)), State::open);
  EXPECT_EQ(connect_as(version(TLS1_3_VERSION)), State::open);
  const auto cipher = [](const char* list) {
    return [list](SSL_CTX* context) {
      (void)SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_2_VERSION, nullptr);
      (void)SSL_CTX_set_cipher_list(context, list);
    };
  };
  EXPECT_EQ(connect_as(cipher("ECDHE-ECDSA-AES128-GCM-SHA256")), State::open);
  EXPECT_EQ(connect_as(cipher("ECDHE-ECDSA-CHACHA20-POLY1305")), State::open);
  for (const char* weak : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384", "AES128-SHA", "AES128-GCM-SHA256",
                           "ECDHE-ECDSA-NULL-SHA:@SECLEVEL=0", "AECDH-AES128-SHA:@SECLEVEL=0", "PSK"})
    EXPECT_EQ(connect_as(cipher(weak)), State::failed) << weak;
}

TEST_F(TlsChannelTest, ChoosesTheProtocol) {
  const auto offer = [](std::vector<unsigned char> protocols) {
    return [protocols = std::move(protocols)](SSL_CTX* context) {
      (void)SSL_CTX_set_alpn_protos(context, protocols.data(), static_cast<unsigned>(protocols.size()));
    };
  };
  EXPECT_EQ(connect_as(offer({2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'})), State::open);
  EXPECT_EQ(connect_as(offer({2, 'h', '2'})), State::failed);
}

TEST_F(TlsChannelTest, ClientsVerifyTheServer) {
  connect("127.0.0.1");
  EXPECT_EQ(client_->state(), State::open);
  EXPECT_EQ(client_->judgment(), X509_V_OK);
  EXPECT_EQ(client_->judged_fingerprint(), context_->fingerprint());

  connect("example.org");
  EXPECT_EQ(client_->state(), State::failed);
  EXPECT_EQ(client_->judgment(), X509_V_ERR_HOSTNAME_MISMATCH);
  EXPECT_EQ(server_->state(), State::failed) << "it got the alert";
  connect("127.0.0.2");
  EXPECT_EQ(client_->judgment(), X509_V_ERR_IP_ADDRESS_MISMATCH);

  const TestAuthority other(folder_.path(), "other");
  trust_.ca_file = other.path();
  connect();
  EXPECT_EQ(client_->state(), State::failed);
  trust_.ca_file.clear();
  connect();
  EXPECT_EQ(client_->state(), State::failed) << "the system does not know it either";

  CertificatePlan plan;
  plan.common_name = "localhost";  // a common name is not a name to verify
  files_ = authority_.issue("unnamed", plan);
  trust_.ca_file = authority_.path();
  connect();
  EXPECT_EQ(client_->judgment(), X509_V_ERR_HOSTNAME_MISMATCH);
  plan.names = {"localhost"};
  plan.starts = Duration(-2 * kTestDay.count());
  plan.ends = Duration(-kTestDay.count());
  files_ = authority_.issue("expired", plan);
  connect();
  EXPECT_EQ(client_->judgment(), X509_V_ERR_CERT_HAS_EXPIRED);
  EXPECT_THAT(context_->warnings(), ElementsAre(HasSubstr("has expired")));
  plan.starts = kTestDay;
  plan.ends = Duration(2 * kTestDay.count());
  files_ = authority_.issue("early", plan);
  connect();
  EXPECT_EQ(client_->judgment(), X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_THAT(context_->warnings(), ElementsAre(HasSubstr("not valid yet")));
  plan = {};
  plan.common_name = "localhost";
  plan.names = {"localhost"};
  plan.for_clients = true;
  files_ = authority_.issue("purpose", plan);
  connect();
  EXPECT_EQ(client_->state(), State::failed) << "the certificate of a client cannot be a server's";
}

TEST_F(TlsChannelTest, APinDecidesAlone) {
  load();
  trust_ = {};
  trust_.fingerprint = context_->fingerprint();
  connect("any.example.org");
  EXPECT_EQ(client_->state(), State::open) << "no CA and no name";
  trust_.fingerprint.front() = trust_.fingerprint.front() == 'a' ? 'b' : 'a';
  trust_.ca_file = authority_.path();
  connect();
  EXPECT_EQ(client_->state(), State::failed) << "although the CA has signed it";
  EXPECT_EQ(client_->judged_fingerprint(), context_->fingerprint());
}

TEST_F(TlsChannelTest, ClientCertificates) {
  files_.client_ca = authority_.path();
  connect();
  EXPECT_EQ(server_->state(), State::open) << "none is needed";
  EXPECT_FALSE(server_->peer_certificate().has_value());

  const TlsFiles right = authority_.issue_client("ada");
  trust_.certificate = right.certificate;
  trust_.key = right.key;
  connect();
  ASSERT_EQ(server_->state(), State::open) << server_->problem();
  const std::optional<ClientCertificate> certificate = server_->peer_certificate();
  ASSERT_TRUE(certificate.has_value());
  EXPECT_EQ(certificate->name, "ada");
  EXPECT_THAT(certificate->organizations, ElementsAre("sre", "research"));
  EXPECT_EQ(certificate->fingerprint, weft::http::fingerprint_of(read_certificates(right.certificate)->front().get()));

  // The plan's default is ten years, for the authority too, which was made before.
  const std::int64_t now_ms = static_cast<std::int64_t>(::time(nullptr)) * 1000;
  const std::int64_t day_ms = kTestDay.count() / 1'000'000;
  EXPECT_GT(certificate->valid_until_ms, now_ms + 3649 * day_ms);
  EXPECT_LE(certificate->valid_until_ms, now_ms + 3650 * day_ms);
  CertificatePlan brief;
  brief.common_name = "brief";
  brief.for_clients = true;
  brief.ends = Duration(2 * kTestDay.count());
  const TlsFiles two_days = authority_.issue("brief", brief);
  trust_.certificate = two_days.certificate;
  trust_.key = two_days.key;
  connect();
  ASSERT_TRUE(server_->peer_certificate().has_value());
  EXPECT_GT(server_->peer_certificate()->valid_until_ms, now_ms + 2 * day_ms - 5000);
  EXPECT_LT(server_->peer_certificate()->valid_until_ms, now_ms + 3 * day_ms);

  const TestAuthority other(folder_.path(), "other");
  const TlsFiles wrong[] = {other.issue_client("stranger"), authority_.issue_client("late", true),
                            authority_.issue_server("server2")};
  for (const TlsFiles& files : wrong) {
    trust_.certificate = files.certificate;
    trust_.key = files.key;
    connect();
    EXPECT_EQ(server_->state(), State::failed) << files.certificate;
    client_->send("request");
    exchange(*client_, *server_, to_client_, to_server_);
    EXPECT_EQ(to_server_, "");
    EXPECT_EQ(client_->state(), State::failed) << "it got the alert";
  }
  files_.client_ca.clear();
  connect();
  EXPECT_EQ(server_->state(), State::open) << "not asked for";
  EXPECT_FALSE(server_->peer_certificate().has_value());
}

TEST_F(TlsChannelTest, AClientCertificateEndsWithItsAuthority) {
  const TestAuthority brief(folder_.path(), "brief", kTestDay);
  files_.client_ca = brief.path();
  const TlsFiles ada = brief.issue_client("ada");  // for ten years
  trust_.certificate = ada.certificate;
  trust_.key = ada.key;
  connect();
  const std::optional<ClientCertificate> certificate = server_->peer_certificate();
  ASSERT_TRUE(certificate.has_value());
  EXPECT_LT(certificate->valid_until_ms, (static_cast<std::int64_t>(::time(nullptr)) * 1000) + 2 * 24 * 3'600'000);
}

TEST_F(TlsChannelTest, ReloadKeepsWhatIsValid) {
  load();
  const std::string first = context_->fingerprint();
  ASSERT_TRUE(context_->reload().ok());
  EXPECT_EQ(context_->fingerprint(), first);
  connect();
  const std::string before = client_->judged_fingerprint();

  const TlsFiles other = authority_.issue_server("another");
  const std::string key = *read_file(files_.key);
  const auto expect_refused = [&](std::string_view why) {
    const Status reloaded = context_->reload();
    ASSERT_FALSE(reloaded.ok()) << why;
    EXPECT_THAT(reloaded.error().text(), HasSubstr(std::string(why)));
    EXPECT_EQ(context_->fingerprint(), before);
    const std::unique_ptr<TlsChannel> server = context_->open();
    const std::unique_ptr<TlsChannel> client = client_context_->open("localhost");
    exchange(*client, *server, to_client_, to_server_);
    EXPECT_EQ(client->state(), State::open) << "with the old certificate";
  };
  ASSERT_TRUE(write_file(files_.key, *read_file(other.key)).ok());
  ASSERT_EQ(::chmod(files_.key.c_str(), 0600), 0);
  expect_refused("the key does not belong to the certificate");
  ASSERT_TRUE(write_file(files_.key, "nothing").ok());
  ASSERT_EQ(::chmod(files_.key.c_str(), 0600), 0);
  expect_refused("no PEM private key");
  ASSERT_TRUE(write_file(files_.key, key).ok());
  ASSERT_EQ(::chmod(files_.key.c_str(), 0644), 0);
  expect_refused("the key has mode 0644");
  ASSERT_EQ(::unlink(files_.key.c_str()), 0);
  expect_refused("No such file");
  ASSERT_TRUE(write_file(files_.key, key).ok());
  ASSERT_EQ(::chmod(files_.key.c_str(), 0640), 0);
  EXPECT_TRUE(context_->reload().ok()) << "a group may read it";
  ASSERT_TRUE(write_file(files_.certificate, "nothing").ok());
  expect_refused("no PEM certificate");

  ASSERT_TRUE(write_file(files_.certificate, *read_file(other.certificate)).ok());
  ASSERT_TRUE(write_file(files_.key, *read_file(other.key)).ok());
  ASSERT_EQ(::chmod(files_.key.c_str(), 0600), 0);
  ASSERT_TRUE(context_->reload().ok());
  EXPECT_NE(context_->fingerprint(), before);
  client_->send("still here");
  exchange(*client_, *server_, to_client_, to_server_);
  EXPECT_EQ(to_server_, "still here") << "an open connection goes on";
}

TEST_F(TlsChannelTest, ReloadFromOtherFiles) {
  load();
  const std::string first = context_->fingerprint();
  TlsFiles other = authority_.issue_server("another");
  TlsFiles wrong = other;
  wrong.key = files_.key;
  EXPECT_FALSE(context_->reload(wrong).ok());
  wrong = other;
  wrong.client_ca = folder_.path() + "/absent.pem";
  EXPECT_FALSE(context_->reload(wrong).ok());
  EXPECT_EQ(context_->files().certificate, files_.certificate);
  EXPECT_EQ(context_->fingerprint(), first);
  ASSERT_TRUE(context_->reload().ok()) << "the former files are still the ones that are read again";
  EXPECT_EQ(context_->fingerprint(), first);

  other.client_ca = authority_.path();
  ASSERT_TRUE(context_->reload(other).ok());
  EXPECT_EQ(context_->files().certificate, other.certificate);
  EXPECT_EQ(context_->fingerprint(), weft::http::fingerprint_of(read_certificates(other.certificate)->front().get()));
  const TlsFiles ada = authority_.issue_client("ada");
  trust_.certificate = ada.certificate;
  trust_.key = ada.key;
  client_context_ = *TlsClientContext::load(trust_);
  server_ = context_->open();
  client_ = client_context_->open("localhost");
  exchange(*client_, *server_, to_client_, to_server_);
  EXPECT_EQ(client_->judged_fingerprint(), context_->fingerprint());
  EXPECT_TRUE(server_->peer_certificate().has_value()) << "the CA of clients belongs to the files";
}

TEST(SelfSigned, IsMadeOnce) {
  const TestFolder folder;
  const Result<SelfSigned> made = make_self_signed(folder.path(), {"head.example.org", "not a name", "192.0.2.7"});
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->fingerprint.size(), 64U);
  struct stat status {};
  ASSERT_EQ(::stat(made->files.key.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  const Result<SelfSigned> again = make_self_signed(folder.path(), {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->fingerprint, made->fingerprint);

  const Result<std::shared_ptr<TlsContext>> context = TlsContext::load(made->files);
  ASSERT_TRUE(context.ok()) << context.error().text();
  TlsTrust trust;
  trust.ca_file = made->files.certificate;
  const Result<std::shared_ptr<TlsClientContext>> client_context = TlsClientContext::load(trust);
  ASSERT_TRUE(client_context.ok());
  for (const char* host : {"localhost", "127.0.0.1", "::1", "head.example.org", "192.0.2.7"}) {
    const std::unique_ptr<TlsChannel> client = (*client_context)->open(host);
    const std::unique_ptr<TlsChannel> server = (*context)->open();
    std::string ignored;
    exchange(*client, *server, ignored, ignored);
    EXPECT_EQ(client->state(), State::open) << host;
  }
}

}  // namespace
}  // namespace weft::serve

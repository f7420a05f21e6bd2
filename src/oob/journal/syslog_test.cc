#include "oob/journal/syslog.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <thread>

#include "base/file.h"
#include "oob/durable/file.h"
#include "oob/journal/line.h"

namespace weft::oob {
namespace {

using testing::HasSubstr;

JournalEntry entry(int i) {
  JournalEntry made;
  made.number = static_cast<std::uint64_t>(i);
  made.time = "2026-11-16T02:03:04.567Z";
  made.who = "alice@jump1";
  made.operation = "00000000000000aa";
  made.phase = Phase::intent;
  made.verb = "power.cycle";
  made.device = fmt::format("train{:03}", i);
  made.detail = Value::map().set("step", i);
  made.hash = std::string(64, 'a');
  return made;
}

// RFC 5424 section 6, as far as a regular expression can express it.
bool is_rfc5424(const std::string& message) {
  static const std::regex grammar(
      "<(\\d{1,3})>1 "                                                                     // PRI VERSION
      "(-|\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d{1,6})?(Z|[+-]\\d\\d:\\d\\d)) "  // TIMESTAMP
      "[!-~]{1,255} [!-~]{1,48} [!-~]{1,128} [!-~]{1,32} "  // HOSTNAME APP-NAME PROCID MSGID
      "(-|(\\[[!#-<>-\\\\^-~]{1,32}( [!#-<>-\\\\^-~]{1,32}=\"([^\"\\\\\\]]|\\\\[\"\\\\\\]])*\")*\\])+)"  // SD
      "( [^]*)?");
  // What follows the UTF-8 BOM may be anything, and is long.
  const std::string head = message.substr(0, message.find("\xEF\xBB\xBF"));
  std::smatch match;
  return std::regex_match(head, match, grammar) && std::stoi(match[1]) <= 191;
}

TEST(SyslogMessageTest, ConformsToRfc5424) {
  const std::string message = syslog_message(entry(7), "jump1");
  EXPECT_TRUE(is_rfc5424(message)) << message;
  // 13 * 8 + 5: log audit, notice.
  EXPECT_EQ(message,
            "<109>1 2026-11-16T02:03:04.567Z jump1 weft - power.cycle [weft@32473 number=\"7\" phase=\"intent\" "
            "operation=\"00000000000000aa\" device=\"train007\" who=\"alice@jump1\" hash=\"" +
                std::string(64, 'a') + "\"] \xEF\xBB\xBFpower.cycle intent train007 by alice@jump1 {\"step\": 7}");
}

TEST(SyslogMessageTest, EscapesAndBoundsEntryContent) {
  JournalEntry odd = entry(1);
  odd.device = "a\"b\\c]d\n\xC3\xA9";
  odd.verb = "caf\xC3\xA9 with blanks and far too long a name for the field";
  odd.time = "";
  const std::string message = syslog_message(odd, "");
  EXPECT_TRUE(is_rfc5424(message)) << message;
  EXPECT_THAT(message, HasSubstr("device=\"a\\\"b\\\\c\\]d?\xC3\xA9\""));
  EXPECT_THAT(message, HasSubstr(">1 - - weft - caf??"));
  odd.detail = Value::map().set("text", std::string(5000, 'x') + "\xC3\xA9").set("more", [] {
    std::string text;
    while (text.size() < 10'000) text += "\xC3\xA9";
    return text;
  }());
  const std::string cut = syslog_message(odd, std::string(300, 'h'));
  EXPECT_TRUE(is_rfc5424(cut));
  EXPECT_LE(cut.size(), 8192U);
  EXPECT_GT(cut.size(), 8180U);
  EXPECT_TRUE(cut.ends_with("\xC3\xA9..."));
}

TEST(SyslogMessageTest, SeverityFollowsTheOutcome) {
  const auto priority = [](Phase phase, const char* result, const char* verb = "rotate") {
    JournalEntry made = entry(1);
    made.phase = phase;
    made.verb = verb;
    if (result != nullptr) made.detail = Value::map().set("result", result);
    const std::string message = syslog_message(made, "h");
    return std::stoi(message.substr(1)) - 13 * 8;
  };
  EXPECT_EQ(priority(Phase::seen, nullptr), 6);
  EXPECT_EQ(priority(Phase::outcome, "done"), 5);
  EXPECT_EQ(priority(Phase::outcome, "not done"), 4);
  EXPECT_EQ(priority(Phase::outcome, "unknown"), 3);
  EXPECT_EQ(priority(Phase::note, nullptr, "power.off.refused"), 4);
  EXPECT_EQ(priority(Phase::note, nullptr), 5);
}

TEST(SyslogTargetTest, ParsesTargets) {
  const auto text = [](std::string_view given) {
    const Result<SyslogTarget> target = parse_syslog_target(given);
    return target.ok() ? to_text(*target) : "bad";
  };
  EXPECT_EQ(text("log1"), "tcp://log1:514");
  EXPECT_EQ(text("tcp://log1"), "tcp://log1:514");
  EXPECT_EQ(text("tls://log1"), "tls://log1:6514");
  EXPECT_EQ(text("log1:1514"), "tcp://log1:1514");
  EXPECT_EQ(text("tls://10.0.0.1:99"), "tls://10.0.0.1:99");
  EXPECT_EQ(text("tcp://[2001:db8::1]:601"), "tcp://[2001:db8::1]:601");
  EXPECT_EQ(text("2001:db8::1"), "tcp://[2001:db8::1]:514");
  for (const char* bad : {"", "udp://log1", "tcp://", "tcp://a:0", "tcp://a:65536", "tcp://a:x", "tcp://[::1", "a b",
                          "tcp://user@host", "tcp://[::1]x"})
    EXPECT_EQ(text(bad), "bad") << bad;
}

// A collector: accepts connections, decodes the framing, stores the messages. It can die in the middle of a message.
class Collector {
 public:
  explicit Collector(SSL_CTX* tls = nullptr, std::uint16_t port = 0) : tls_(tls) {
    listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int yes = 1;
    (void)::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* raw = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
    EXPECT_EQ(::bind(listener_.get(), raw, sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::getsockname(listener_.get(), raw, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;
  ~Collector() { stop(); }

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    listener_.close();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::vector<std::string> messages() {
    const std::lock_guard guard(mutex_);
    return messages_;
  }
  // The next connection is reset after that many bytes, with the rest unread.
  void die_after(std::size_t bytes) { die_after_ = bytes; }

 private:
  void serve() {
    while (!stopping_) {
      pollfd watched{listener_.get(), POLLIN, 0};
      if (::poll(&watched, 1, 20) <= 0) continue;
      const FileDescriptor peer(::accept(listener_.get(), nullptr, nullptr));
      if (peer.ok()) talk(peer);
    }
  }
  void talk(const FileDescriptor& peer) {
    SSL* session = nullptr;
    if (tls_ != nullptr) {
      session = SSL_new(tls_);
      SSL_set_fd(session, peer.get());
      if (SSL_accept(session) != 1) {
        SSL_free(session);
        return;
      }
    }
    std::string stream;
    std::array<char, 1000> space{};
    for (;;) {
      if (die_after_ > 0 && stream.size() >= die_after_) {
        die_after_ = 0;
        const linger reset{1, 0};
        (void)::setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
        stream.clear();
        break;
      }
      const auto got = session != nullptr
                           ? static_cast<ssize_t>(SSL_read(session, space.data(), static_cast<int>(space.size())))
                           : ::recv(peer.get(), space.data(), space.size(), 0);
      if (got <= 0) break;
      stream.append(space.data(), static_cast<std::size_t>(got));
    }
    if (session != nullptr) {
      (void)SSL_shutdown(session);
      SSL_free(session);
    }
    unframe(stream);
  }
  // RFC 6587 section 3.4.1: MSG-LEN SP SYSLOG-MSG, MSG-LEN without leading zero.
  void unframe(std::string_view stream) {
    const std::lock_guard guard(mutex_);
    while (!stream.empty()) {
      const std::size_t blank = stream.find(' ');
      ASSERT_NE(blank, std::string_view::npos);
      const std::string length(stream.substr(0, blank));
      ASSERT_TRUE(std::regex_match(length, std::regex("[1-9][0-9]*"))) << length;
      const std::size_t size = std::stoul(length);
      ASSERT_LE(blank + 1 + size, stream.size()) << "a message was cut";
      messages_.emplace_back(stream.substr(blank + 1, size));
      EXPECT_TRUE(is_rfc5424(messages_.back())) << messages_.back();
      stream.remove_prefix(blank + 1 + size);
    }
  }

  SSL_CTX* tls_;
  FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> die_after_{0};
  std::mutex mutex_;
  std::vector<std::string> messages_;
  std::thread thread_;
};

// A self-signed certificate for 127.0.0.1, in a file and in a server's context.
class Certificate {
 public:
  explicit Certificate(const std::string& path, const char* address = "IP:127.0.0.1") {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -60);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    X509_NAME* name = X509_get_subject_name(made);
    static constexpr unsigned char kName[] = "collector";
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, kName, -1, -1, 0);
    X509_set_issuer_name(made, name);
    X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, address);
    X509_add_ext(made, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(made, key, EVP_sha256());
    FILE* file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, made);
    std::fclose(file);
    context_ = SSL_CTX_new(TLS_server_method());
    EXPECT_EQ(SSL_CTX_use_certificate(context_, made), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context_, key), 1);
    X509_free(made);
    EVP_PKEY_free(key);
  }
  Certificate(const Certificate&) = delete;
  Certificate& operator=(const Certificate&) = delete;
  ~Certificate() { SSL_CTX_free(context_); }
  [[nodiscard]] SSL_CTX* context() const { return context_; }

 private:
  SSL_CTX* context_ = nullptr;
};

class SyslogTest : public testing::Test {
 protected:
  SyslogTest() : folder_(fmt::format("{}/weft-syslog-{}", testing::TempDir(), ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~SyslogTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/journal.ndjson"; }
  void append(int count) {
    Result<std::unique_ptr<Journal>> journal = open_journal(path(), "alice@jump1", clock_);
    ASSERT_TRUE(journal.ok());
    for (int i = 0; i < count; ++i) ASSERT_TRUE((*journal)->append(entry(++written_)).ok());
  }
  [[nodiscard]] SyslogOptions options(std::uint16_t port, bool tls = false) const {
    SyslogOptions made;
    made.target = {"127.0.0.1", port, tls};
    made.journal = path();
    made.hostname = "jump1";
    made.limit = milliseconds(1'000);
    return made;
  }
  // The entry numbers in the messages, in order of arrival.
  static std::vector<int> numbers(const std::vector<std::string>& messages) {
    std::vector<int> found;
    for (const std::string& message : messages) {
      const std::size_t at = message.find("number=\"");
      found.push_back(std::stoi(message.substr(at + 8)));
    }
    return found;
  }
  static std::vector<int> up_to(int last) {
    std::vector<int> all;
    for (int i = 1; i <= last; ++i) all.push_back(i);
    return all;
  }

  std::string folder_;
  ManualClock clock_;
  int written_ = 0;
};

TEST_F(SyslogTest, ConcurrentSendsEachEntryOnce) {
  Collector collector;
  append(5);
  SyslogReport report = forward_journal(options(collector.port()));
  EXPECT_EQ(report.sent, 5U);
  EXPECT_EQ(report.left, 0U);
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.text(options(1).target), "");
  append(3);
  report = forward_journal(options(collector.port()));
  EXPECT_EQ(report.sent, 3U);
  EXPECT_EQ(forward_journal(options(collector.port())).sent, 0U);
  collector.stop();
  EXPECT_EQ(numbers(collector.messages()), up_to(8));
  // The server's copy can be checked against the journal.
  EXPECT_THAT(collector.messages().back(), HasSubstr(fmt::format("hash=\"{}\"", verify_journal(path())->head)));
}

TEST_F(SyslogTest, ConcurrentTlsNeedsTheRightCertificate) {
  const Certificate good(folder_ + "/good.pem");
  const Certificate other(folder_ + "/other.pem");
  const Certificate elsewhere(folder_ + "/elsewhere.pem", "IP:127.0.0.9");
  append(2);
  {
    Collector collector(good.context());
    SyslogOptions wrong = options(collector.port(), true);
    wrong.ca_file = folder_ + "/other.pem";
    const SyslogReport refused = forward_journal(wrong);
    EXPECT_EQ(refused.sent, 0U);
    EXPECT_EQ(refused.left, 2U);
    EXPECT_THAT(refused.problem, HasSubstr("not accepted"));
    wrong.ca_file = folder_ + "/none.pem";
    EXPECT_THAT(forward_journal(wrong).problem, HasSubstr("holds no certificates"));
    SyslogOptions right = options(collector.port(), true);
    right.ca_file = folder_ + "/good.pem";
    const SyslogReport sent = forward_journal(right);
    EXPECT_EQ(sent.sent, 2U) << sent.problem;
    collector.stop();
    EXPECT_EQ(numbers(collector.messages()), up_to(2));
  }
  append(1);
  Collector collector(elsewhere.context());
  SyslogOptions mismatch = options(collector.port(), true);
  mismatch.ca_file = folder_ + "/elsewhere.pem";
  EXPECT_THAT(forward_journal(mismatch).problem, HasSubstr("mismatch"));
}

TEST_F(SyslogTest, ConcurrentServerOutageLosesNothing) {
  std::uint16_t port = 0;
  {
    const Collector collector;
    port = collector.port();
  }
  append(3);
  const SyslogReport report = forward_journal(options(port));
  EXPECT_EQ(report.left, 3U);
  EXPECT_THAT(report.text(options(port).target), HasSubstr("3 entries not yet at the log server tcp://127.0.0.1:"));
  append(2);
  Collector collector(nullptr, port);
  EXPECT_EQ(forward_journal(options(port)).sent, 5U);
  collector.stop();
  EXPECT_EQ(numbers(collector.messages()), up_to(5));
}

TEST_F(SyslogTest, ConcurrentServerThatDiesInTheMiddleIsSentAllAgain) {
  append(100);
  Collector collector;
  collector.die_after(5'000);
  const SyslogReport report = forward_journal(options(collector.port()));
  EXPECT_EQ(report.sent, 0U);
  EXPECT_EQ(report.left, 100U);
  EXPECT_NE(report.problem, "");
  EXPECT_EQ(forward_journal(options(collector.port())).sent, 100U);
  collector.stop();
  EXPECT_EQ(numbers(collector.messages()), up_to(100));
}

TEST_F(SyslogTest, ConcurrentUnresponsiveServerDoesNotBlock) {
  append(1);
  // Listens but never accepts: the kernel completes the connection and acknowledges what fits.
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* raw = reinterpret_cast<sockaddr*>(&address);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  ASSERT_EQ(::bind(listener.get(), raw, sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::getsockname(listener.get(), raw, &size), 0);
  SyslogOptions slow = options(ntohs(address.sin_port), true);  // TLS: the handshake never completes
  slow.limit = milliseconds(200);
  const auto start = std::chrono::steady_clock::now();
  const SyslogReport report = forward_journal(slow);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(report.left, 1U);
  EXPECT_THAT(report.problem, HasSubstr("no answer in time"));
}

TEST_F(SyslogTest, ConcurrentReplacedJournalIsAClearError) {
  Collector collector;
  append(5);
  ASSERT_EQ(forward_journal(options(collector.port())).sent, 5U);
  const std::string whole = read_file(path()).value_or("");
  // Truncated: the cursor is ahead of it.
  ASSERT_TRUE(write_file(path(), whole.substr(0, whole.find('\n') + 1)).ok());
  EXPECT_THAT(forward_journal(options(collector.port())).problem, HasSubstr("cut or replaced"));
  // Replaced by a different, longer one.
  std::filesystem::remove(path());
  append(9);
  const SyslogReport report = forward_journal(options(collector.port()));
  EXPECT_THAT(report.problem, HasSubstr("cut or replaced"));
  EXPECT_EQ(report.sent, 0U);
  // As the message suggests.
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    if (file.path().string().find(".syslog-") != std::string::npos) std::filesystem::remove(file.path());
  }
  EXPECT_EQ(forward_journal(options(collector.port())).sent, 9U);
  ASSERT_TRUE(write_file(path() + ".syslog-127.0.0.1-" + std::to_string(collector.port()), "rubbish").ok());
  EXPECT_THAT(forward_journal(options(collector.port())).problem, HasSubstr("is not a cursor"));
}

TEST_F(SyslogTest, ConcurrentTornLinesAreNotSentAndTheirNotesAre) {
  Collector collector;
  append(2);
  const std::string whole = read_file(path()).value_or("");
  ASSERT_TRUE(write_file(path(), whole.substr(0, whole.size() - 20)).ok());
  EXPECT_EQ(forward_journal(options(collector.port())).sent, 1U);
  append(1);
  EXPECT_EQ(forward_journal(options(collector.port())).sent, 2U);
  collector.stop();
  EXPECT_EQ(numbers(collector.messages()), up_to(3));
  EXPECT_THAT(collector.messages()[1], HasSubstr("journal.torn"));
}

TEST_F(SyslogTest, ConcurrentForwarderSendsWhileTheCommandRuns) {
  Collector collector;
  SyslogForwarder forwarder(options(collector.port()));
  Result<std::unique_ptr<Journal>> journal =
      open_journal(path(), "alice", clock_, [&](const JournalEntry&) { forwarder.wake(); });
  ASSERT_TRUE(journal.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) EXPECT_TRUE((*journal)->append(entry(i)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const SyslogReport report = forwarder.finish();
  EXPECT_EQ(report.sent, 80U);
  EXPECT_EQ(report.left, 0U);
  EXPECT_EQ(report.problem, "");
  collector.stop();
  EXPECT_EQ(numbers(collector.messages()), up_to(80));
}

}  // namespace
}  // namespace weft::oob

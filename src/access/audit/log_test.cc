#include "access/audit/log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <latch>
#include <thread>

#include "access/audit/queue.h"
#include "access/audit/refusals.h"
#include "access/audit/view.h"
#include "base/file.h"
#include "base/text.h"
#include "oob/journal/line.h"

namespace {
std::atomic<int> failing_syncs{0};  // the next ones fail
}  // namespace

// Instead of libc's: a disk that fails.
// NOLINTNEXTLINE(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" int fdatasync(int fd) {
  if (failing_syncs > 0) {
    --failing_syncs;
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace weft::access {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr std::string_view kSecret = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";

class AuditLogTest : public testing::Test {
 protected:
  AuditLogTest() : folder_(fmt::format("{}/weft-audit-{}", testing::TempDir(), ::getpid())) {
    std::filesystem::remove_all(folder_);
    options_.folder = folder_;
    options_.server = "weft@test";
    options_.make_id = [this] { return fmt::format("{:016x}", ++ids_); };
  }
  ~AuditLogTest() override {
    failing_syncs = 0;
    log_.reset();
    std::filesystem::remove_all(folder_);
  }

  Error open_error() {
    log_.reset();
    Result<std::unique_ptr<AuditLog>> log = AuditLog::open(options_, clock_);
    EXPECT_FALSE(log.ok());
    return log.ok() ? Error{} : log.error();
  }
  AuditLog& open() {
    log_.reset();
    Result<std::unique_ptr<AuditLog>> log = AuditLog::open(options_, clock_);
    EXPECT_TRUE(log.ok()) << log.error().text();
    log_ = std::move(log).value();
    return *log_;
  }
  [[nodiscard]] std::string file(int index = 1) const { return fmt::format("{}/audit-{:06}.ndjson", folder_, index); }
  [[nodiscard]] std::string text(int index = 1) const { return read_file(file(index)).value_or(""); }

  static AuditIntent intent(int i = 0) {
    AuditIntent made;
    made.source.identity = {i % 2 == 0 ? "ada" : "bob", {"sre"}, Method::cli, "4k2j8x0qa1zz"};
    made.source.address = "192.0.2.7";
    made.source.request_id = fmt::format("request-{}", i);
    made.operation = i % 3 == 0 ? "node.drain" : "job.cancel";
    made.object = fmt::format("train{:03}", i % 10);
    made.reason = "PFC storm";
    made.before = "in service";
    return made;
  }
  static AuditOutcome outcome() { return {200, "drained", "draining", Value::map().set("sequence", 17)}; }
  void fill(AuditLog& log, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(log.begin(intent(i)).ok());
      (void)clock_.sleep(milliseconds(1'000));
    }
  }
  AuditVerdict verdict() {
    Result<AuditVerdict> verified = verify_audit(folder_);
    EXPECT_TRUE(verified.ok()) << verified.error().text();
    return verified.ok() ? *verified : AuditVerdict();
  }

  std::string folder_;
  AuditOptions options_;
  oob::ManualClock clock_;
  std::uint64_t ids_ = 0;
  std::unique_ptr<AuditLog> log_;
};

TEST_F(AuditLogTest, BothEntriesOfARequest) {
  AuditLog& log = open();
  AuditIntent asked = intent();
  asked.approved_by = "eve";
  asked.body = digest_body(R"({"reason":"PFC storm"})");
  asked.members = {{"nodes", "train[001-002]"}, {"text", "#!/bin/sh"}, {"password", "hunter2"}};
  const Result<AuditTicket> ticket = log.begin(asked);
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(log.finish(*ticket, outcome()).ok());
  const Result<AuditPage> page = log.read({});
  ASSERT_TRUE(page.ok());
  ASSERT_THAT(page->entries, SizeIs(2));
  const AuditRecord& after = page->entries[0];
  const AuditRecord& before = page->entries[1];
  EXPECT_EQ(before.number, 1U);
  EXPECT_EQ(before.phase, "intent");
  EXPECT_EQ(before.actor, "ada");
  EXPECT_EQ(before.method, "cli");
  EXPECT_EQ(before.credential, "4k2j8x0qa1zz");
  EXPECT_EQ(before.address, "192.0.2.7");
  EXPECT_EQ(before.request_id, "request-0");
  EXPECT_EQ(before.operation, "node.drain");
  EXPECT_EQ(before.object, "train000");
  EXPECT_EQ(before.reason, "PFC storm");
  EXPECT_EQ(before.approved_by, "eve");
  EXPECT_EQ(before.before, "in service");
  EXPECT_EQ(before.body_bytes, 22);
  EXPECT_THAT(before.body_sha256, SizeIs(64));
  EXPECT_EQ(write_json_line(before.members), R"({"nodes": "train[001-002]"})");
  EXPECT_EQ(after.phase, "outcome");
  EXPECT_EQ(after.request, before.request);
  EXPECT_EQ(after.status, 200);
  EXPECT_EQ(after.message, "drained");
  EXPECT_EQ(after.after, "draining");
  EXPECT_EQ(write_json_line(after.evidence), R"({"sequence": 17})");
  EXPECT_EQ(page->next, 0U);
  EXPECT_THAT(verdict().problems, IsEmpty());
}

TEST_F(AuditLogTest, SecretsAreNeverInIt) {
  AuditLog& log = open();
  const std::string token = fmt::format("weft_t_4k2j8x0qa1zz_{}", kSecret);
  const std::string jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlc2lnbmF0dXJl";
  AuditIntent asked = intent();
  asked.reason = "with " + token + " and " + jwt;
  asked.object = token;
  asked.before = "Authorization: Bearer " + std::string(kSecret);
  asked.members = {{"name", token}, {"text", std::string(kSecret)}, {"refresh_token", std::string(kSecret)}};
  asked.body = digest_body(token);
  asked.source.identity.credential = "weft_r_4k2j8x0qa1zz_" + std::string(kSecret);
  const Result<AuditTicket> ticket = log.begin(asked);
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(log.finish(*ticket, {201, "created " + token, jwt,
                                   Value::map().set("token", token).set("list", Value::list({jwt}))})
                  .ok());
  ASSERT_TRUE(log.note({asked.source, std::string(kRefreshReuse), token, jwt, {}}).ok());
  EXPECT_THAT(text(), Not(HasSubstr(kSecret)));
  EXPECT_THAT(text(), Not(HasSubstr("eyJ")));
  EXPECT_THAT(text(), HasSubstr("weft_t_4k2j8x0qa1zz_[removed]"));
}

TEST(AuditTokens, AreRemovedFromTexts) {
  EXPECT_EQ(remove_tokens("a weft_s_4k2j8x0qa1zz_abcDEF-_9 b"), "a weft_s_4k2j8x0qa1zz_[removed] b");
  EXPECT_EQ(remove_tokens("weft_a_4k2j8x0qa1zzabcdefghijk"), "weft_a_[removed]");
  EXPECT_EQ(remove_tokens("basic dXNlcjpwYXNzd29yZA=="), "basic [removed]");
  EXPECT_EQ(remove_tokens("weft_t_4k2j8x0qa1zz may be shown"), "weft_t_4k2j8x0qa1zz may be shown");
  EXPECT_EQ(remove_tokens("eyJ weft_job basic facts, bearer"), "eyJ weft_job basic facts, bearer");
}

TEST_F(AuditLogTest, GoesOnAfterARestart) {
  fill(open(), 3);
  fill(open(), 2);
  EXPECT_EQ(verdict().entries, 5U);
  EXPECT_THAT(verdict().problems, IsEmpty());
  EXPECT_EQ(log_->head().number, 5U);
}

TEST_F(AuditLogTest, SecondProcessIsRefused) {
  open();
  const Result<std::unique_ptr<AuditLog>> second = AuditLog::open(options_, clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_THAT(second.error().text(), HasSubstr("weft@test"));
}

TEST_F(AuditLogTest, CutLogDoesNotOpen) {
  fill(open(), 5);
  log_.reset();
  const std::string whole = text();
  const std::size_t cut = whole.rfind('\n', whole.size() - 2) + 1;
  std::filesystem::resize_file(file(), cut);
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::conflict);
  EXPECT_THAT(error.text(), HasSubstr("was cut: audit-000001.ndjson has no entry 5"));
  EXPECT_THAT(error.text(), HasSubstr("move it aside"));
  EXPECT_THAT(verdict().problems, Not(IsEmpty()));
  EXPECT_EQ(text(), whole.substr(0, cut));
  // Restored, it opens.
  ASSERT_TRUE(write_file(file(), whole).ok());
  fill(open(), 1);
  EXPECT_THAT(verdict().problems, IsEmpty());
}

TEST_F(AuditLogTest, RewrittenLogDoesNotOpen) {
  fill(open(), 3);
  log_.reset();
  // A chain of as many entries that is right in itself.
  std::filesystem::remove(file());
  {
    auto journal = oob::open_journal(file(), "mallory", clock_);
    ASSERT_TRUE(journal.ok());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE((*journal)->append({}).ok());
  }
  EXPECT_THAT(open_error().text(), HasSubstr("replaced or altered"));
  std::filesystem::remove(file());
  EXPECT_THAT(open_error().text(), HasSubstr("audit-000001.ndjson is missing"));
}

TEST_F(AuditLogTest, WithoutItsHeadItDoesNotOpen) {
  fill(open(), 3);
  log_.reset();
  const std::string head = read_file(folder_ + "/audit.head").value_or("");
  std::filesystem::remove(folder_ + "/audit.head");
  EXPECT_THAT(open_error().text(), HasSubstr("audit.head is missing"));
  // One slot that was being written in a crash is replaced by the other, which is one entry behind.
  std::string torn = head;
  torn.replace(kHeadSlot, 40, std::string(40, 'x'));
  ASSERT_TRUE(write_file(folder_ + "/audit.head", torn).ok());
  EXPECT_TRUE(AuditLog::open(options_, clock_).ok());
  torn.replace(0, 40, std::string(40, 'x'));
  ASSERT_TRUE(write_file(folder_ + "/audit.head", torn).ok());
  EXPECT_THAT(open_error().text(), HasSubstr("is damaged"));
}

TEST_F(AuditLogTest, HeadMayBeBehind) {
  fill(open(), 2);
  log_.reset();
  const std::string head = read_file(folder_ + "/audit.head").value_or("");
  fill(open(), 3);
  log_.reset();
  // A power loss: entries are synced, the head is not.
  ASSERT_TRUE(write_file(folder_ + "/audit.head", head).ok());
  fill(open(), 1);
  EXPECT_EQ(verdict().entries, 6U);
  EXPECT_THAT(verdict().problems, IsEmpty());
}

TEST_F(AuditLogTest, NextFileNamesTheOneBefore) {
  options_.max_bytes = 4'000;
  fill(open(), 40);
  EXPECT_GT(log_->head().file, 3U);
  EXPECT_THAT(text(2), HasSubstr("\"verb\": \"audit.continued\""));
  EXPECT_THAT(verdict().problems, IsEmpty());
  EXPECT_THAT(verdict().notes, IsEmpty());
  // Numbers go on over the files.
  std::uint64_t before = 0;
  std::uint64_t expected = log_->head().base + log_->head().number;
  do {
    AuditFilter filter;
    filter.before = before;
    filter.limit = 7;
    const Result<AuditPage> page = log_->read(filter);
    ASSERT_TRUE(page.ok()) << page.error().text();
    for (const AuditRecord& entry : page->entries) EXPECT_EQ(entry.number, expected--);
    before = page->next;
  } while (before != 0);
  EXPECT_EQ(expected, 0U);
  fill(open(), 3);
  EXPECT_THAT(verdict().problems, IsEmpty());
  log_.reset();
  // A file between the others is missing; the oldest may be archived.
  std::filesystem::rename(file(2), folder_ + "/kept");
  EXPECT_THAT(open_error().text(), HasSubstr("no file between them"));
  std::filesystem::rename(folder_ + "/kept", file(2));
  std::filesystem::remove(file(1));
  EXPECT_THAT(verdict().problems, IsEmpty());
  open();
  // An altered file is found by the chain, a replaced one by the file after it.
  std::filesystem::copy_file(file(2), folder_ + "/copy");
  std::string altered = text(2);
  altered.replace(altered.find("PFC"), 3, "XXX");
  ASSERT_TRUE(write_file(file(2), altered).ok());
  EXPECT_THAT(verdict().problems, Not(IsEmpty()));
  const std::string cut = read_file(folder_ + "/copy").value_or("");
  ASSERT_TRUE(write_file(file(2), cut.substr(0, cut.rfind('\n', cut.size() - 2) + 1)).ok());
  EXPECT_THAT(verdict().problems, Not(IsEmpty()));
}

TEST_F(AuditLogTest, CrashWhileTheNextFileBegins) {
  options_.max_bytes = 2'000;
  fill(open(), 2);
  const std::uint64_t last = log_->head().file;
  log_.reset();
  ASSERT_TRUE(write_file(file(static_cast<int>(last) + 1), R"({"number": 1, "time": "2025)").ok());
  fill(open(), 20);
  EXPECT_THAT(verdict().problems, IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(file(static_cast<int>(last) + 1) + ".incomplete"));
}

TEST_F(AuditLogTest, FailedSyncRefusesAndBeginsANewFile) {
  AuditLog& log = open();
  fill(log, 3);
  // The sync of the entry and that of the new file fail: refused.
  failing_syncs = 2;
  const Result<AuditTicket> refused = log.begin(intent());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_THAT(log.problem(), HasSubstr("sync"));
  // Within a second no new attempt is made.
  EXPECT_FALSE(log.begin(intent()).ok());
  (void)clock_.sleep(milliseconds(1'500));
  ASSERT_TRUE(log.begin(intent(8)).ok());
  EXPECT_EQ(log.problem(), "");
  EXPECT_EQ(log.head().file, 2U);
  EXPECT_EQ(log.head().base, 3U);
  const AuditVerdict verified = verdict();
  EXPECT_THAT(verified.problems, IsEmpty());
  EXPECT_THAT(verified.notes, SizeIs(1));
  // The refused entry may be in the first file, and is not counted.
  const Result<AuditPage> page = log.read({});
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->entries, SizeIs(5));
  EXPECT_EQ(page->entries.front().number, 5U);
  EXPECT_EQ(page->entries.front().request_id, "request-8");
  fill(open(), 1);
  EXPECT_EQ(log_->head().base + log_->head().number, 6U);
}

TEST_F(AuditLogTest, OneFailedSyncCostsNoRequest) {
  AuditLog& log = open();
  fill(log, 1);
  failing_syncs = 1;
  EXPECT_TRUE(log.begin(intent()).ok());
  EXPECT_EQ(log.head().file, 2U);
  EXPECT_THAT(verdict().problems, IsEmpty());
}

TEST_F(AuditLogTest, FullDiskRefusesUntilThereIsSpace) {
  AuditLog& log = open();
  fill(log, 4);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit full = before;
  full.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const Result<AuditTicket> refused = log.begin(intent());
  (void)clock_.sleep(milliseconds(5'000));
  const Result<AuditTicket> again = log.begin(intent());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(refused.ok());
  EXPECT_FALSE(again.ok());
  ASSERT_TRUE(log.begin(intent()).ok());
  EXPECT_EQ(log.head().file, 1U);
  EXPECT_THAT(verdict().problems, IsEmpty());
}

TEST_F(AuditLogTest, LogThatIsDamagedInUseRefuses) {
  AuditLog& log = open();
  fill(log, 4);
  std::filesystem::resize_file(file(), 100);
  for (int i = 0; i < 3; ++i) {
    const Result<AuditTicket> refused = log.begin(intent());
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    (void)clock_.sleep(milliseconds(5'000));
  }
  EXPECT_FALSE(std::filesystem::exists(file(2)));
}

TEST_F(AuditLogTest, FiltersAndPages) {
  AuditLog& log = open();
  fill(log, 300);
  AuditFilter filter;
  filter.actor = "bob";
  filter.operation = "node.drain";
  filter.limit = 20;
  std::vector<std::uint64_t> numbers;
  std::size_t pages = 0;
  do {
    const Result<AuditPage> page = log.read(filter);
    ASSERT_TRUE(page.ok());
    for (const AuditRecord& entry : page->entries) {
      EXPECT_EQ(entry.actor, "bob");
      EXPECT_EQ(entry.operation, "node.drain");
      numbers.push_back(entry.number);
    }
    filter.before = page->next;
    ++pages;
  } while (filter.before != 0);
  EXPECT_THAT(numbers, SizeIs(50));  // i = 3, 9, ..., 297
  EXPECT_EQ(numbers.front(), 298U);
  EXPECT_EQ(numbers.back(), 4U);
  EXPECT_EQ(pages, 3U);
  filter = {};
  filter.object = "train007";
  filter.since = log.read({.before = 202, .limit = 1})->entries.at(0).time;
  filter.limit = 1000;
  const Result<AuditPage> since = log.read(filter);
  EXPECT_THAT(since->entries, SizeIs(10));
  EXPECT_EQ(since->entries.back().number, 208U);
  for (std::uint64_t before = 1; before <= 301; ++before) {
    const Result<AuditPage> page = log.read({.before = before, .limit = 1});
    ASSERT_TRUE(page.ok());
    ASSERT_EQ(page->entries.size(), before > 1 ? 1U : 0U);
    if (before > 1) {
      EXPECT_EQ(page->entries[0].number, before - 1);
    }
  }
}

TEST_F(AuditLogTest, DamagedLinesAreCounted) {
  fill(open(), 10);
  std::string altered = text();
  altered.replace(altered.find("PFC"), 3, "XXX");
  ASSERT_TRUE(write_file(file(), altered).ok());
  const Result<AuditPage> page = log_->read({});
  ASSERT_TRUE(page.ok());
  EXPECT_THAT(page->entries, SizeIs(9));
  EXPECT_EQ(page->unreadable, 1U);
  EXPECT_THAT(write(audit_view(*page), {}), HasSubstr("1 line is not readable: verify the audit log."));
  const std::string verified = write(audit_verdict_view(verdict()), {});
  EXPECT_THAT(verified, HasSubstr("audit-000001.ndjson: line 1"));
}

TEST_F(AuditLogTest, FloodOfRefusalsIsCounted) {
  AuditLog& log = open();
  {
    RefusalLog refusals(log, 5);
    for (int i = 0; i < 1'000; ++i) {
      AuditNote note;
      note.source.address = fmt::format("192.0.2.{}", i % 50);
      note.operation = kSignInRefused;
      ASSERT_TRUE(refusals.record(note).ok());
    }
    EXPECT_EQ(log.head().number, 5U);
    (void)clock_.sleep(milliseconds(61'000));
    ASSERT_TRUE(refusals.tick().ok());
    EXPECT_EQ(log.head().number, 6U);
    ASSERT_TRUE(refusals.tick().ok());
    EXPECT_EQ(log.head().number, 6U);
    const AuditRecord counts = log.read({.limit = 1})->entries.at(0);
    EXPECT_EQ(counts.operation, kRequestRefused);
    EXPECT_THAT(write_json_line(counts.evidence), HasSubstr("\"more\": 995"));
    EXPECT_THAT(write_json_line(counts.evidence), HasSubstr("\"192.0.2.5\": 20"));
    EXPECT_THAT(write_json_line(counts.evidence), HasSubstr("\"other_addresses\": 355"));
    ASSERT_TRUE(refusals.record({{}, std::string(kSignInRefused), {}, {}, {}}).ok());
  }
  EXPECT_EQ(log.head().number, 7U);
}

TEST_F(AuditLogTest, QueueWritesConcurrentlyAndIsBounded) {
  options_.make_id = nullptr;
  options_.max_bytes = 20'000;
  AuditLog& log = open();
  std::atomic<int> done{0};
  {
    AuditQueue queue(log, 4, 1000);
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(queue.begin(intent(i), [&](Result<AuditTicket> ticket) {
        ASSERT_TRUE(ticket.ok());
        queue.finish(*ticket, outcome(), [&](const Status& status) { done += status.ok() ? 1 : 0; });
      }));
    }
  }
  EXPECT_EQ(done, 200);
  EXPECT_GT(log.head().file, 2U);
  EXPECT_THAT(verdict().problems, IsEmpty());
  std::latch entered(1);
  std::latch go(1);
  AuditQueue queue(log, 1, 2);
  ASSERT_TRUE(queue.begin(intent(), [&](const Result<AuditTicket>&) {
    entered.count_down();
    go.wait();
  }));
  entered.wait();
  EXPECT_TRUE(queue.note({{}, "audit.list", {}, {}, {}}));
  EXPECT_TRUE(queue.note({{}, "audit.list", {}, {}, {}}));
  EXPECT_FALSE(queue.note({{}, "audit.list", {}, {}, {}}));
  EXPECT_FALSE(queue.begin(intent(), [](const Result<AuditTicket>&) {}));
  go.count_down();
}

TEST_F(AuditLogTest, LongTextsAreLimited) {
  AuditLog& log = open();
  AuditIntent asked = intent();
  asked.reason = std::string(10'000'000, 'r') + "\n\x1b[2J";
  for (int i = 0; i < 100; ++i) asked.members.emplace_back("nodes", std::string(100'000, 'n'));
  const Result<AuditTicket> ticket = log.begin(asked);
  ASSERT_TRUE(ticket.ok());
  ASSERT_TRUE(
      log.finish(*ticket, {500, std::string(5'000'000, 'm'), {}, Value::map().set("x", std::string(90'000, 'x'))})
          .ok());
  EXPECT_LT(text().size(), 20'000U);
  EXPECT_THAT(text(), HasSubstr("\"result\": \"unknown\""));
}

TEST(AuditHeadFile, SlotsAreChecked) {
  const AuditHead head{3, 4, 5, std::string(64, 'a')};
  const std::string slot = format_head_slot(head, 9);
  ASSERT_EQ(slot.size(), kHeadSlot);
  ASSERT_TRUE(parse_head(slot));
  EXPECT_EQ(parse_head(slot)->head, head);
  EXPECT_EQ(parse_head(format_head_slot(head, 9) + format_head_slot({3, 4, 6, head.hash}, 10))->head.number, 6U);
  EXPECT_FALSE(parse_head(""));
  for (std::size_t at = 0; at < 200; ++at) {
    std::string changed = slot;
    changed[at] = changed[at] == '1' ? '2' : '1';
    EXPECT_FALSE(parse_head(changed)) << at;
  }
}

}  // namespace
}  // namespace weft::access

#include "oob/journal/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/test_prerequisites.h"
#include "oob/durable/kill_rounds.h"
#include "oob/journal/line.h"

namespace weft::oob {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() : folder_(fmt::format("{}/weft-journal-{}", testing::TempDir(), ::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~JournalTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/state/journal.ndjson"; }
  [[nodiscard]] std::string text() const { return read_file(path()).value_or(""); }
  void rewrite(const std::string& content) {
    FILE* file = std::fopen(path().c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
  }
  std::unique_ptr<Journal> open() {
    Result<std::unique_ptr<Journal>> journal = open_journal(path(), "alice@jump1", clock_);
    EXPECT_TRUE(journal.ok()) << journal.error().text();
    return journal.ok() ? std::move(journal).value() : nullptr;
  }
  static JournalEntry entry(int i) {
    JournalEntry made;
    made.operation = "00000000000000aa";
    made.phase = Phase::intent;
    made.verb = "power.cycle";
    made.device = fmt::format("train{:03}", i);
    made.detail = Value::map().set("step", i).set("why", "PFC \"storm\"\n\x01");
    return made;
  }
  void append(int count) {
    const auto journal = open();
    for (int i = 1; i <= count; ++i) ASSERT_TRUE(journal->append(entry(i)).ok());
  }
  std::vector<std::string> lines() const {
    std::vector<std::string> found;
    const std::string all = text();
    for (std::size_t at = 0; at < all.size();) {
      const std::size_t end = std::min(all.find('\n', at), all.size());
      found.push_back(all.substr(at, end - at));
      at = end + 1;
    }
    return found;
  }
  static std::string joined(const std::vector<std::string>& all) {
    std::string out;
    for (const std::string& line : all) out += line + "\n";
    return out;
  }

  std::string folder_;
  ManualClock clock_;
};

TEST_F(JournalTest, WritesAChainThatVerifies) {
  append(5);
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const Result<JournalVerdict> verdict = verify_journal(path());
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(verdict->entries, 5U);
  EXPECT_TRUE(verdict->problems.empty());
  EXPECT_EQ(verdict->torn, 0U);
  const auto journal = open();
  EXPECT_EQ(journal->head(), verdict->head);
  const Result<std::vector<JournalEntry>> entries = journal->read();
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 5U);
  EXPECT_EQ(entries->at(4).number, 5U);
  EXPECT_EQ(entries->at(4).who, "alice@jump1");
  EXPECT_EQ(entries->at(4).device, "train005");
  EXPECT_EQ(entries->at(4).time, "2025-10-09T08:53:20.000Z");
  EXPECT_EQ(entries->at(4).detail.find("why")->text(), "PFC \"storm\"\n\x01");
  EXPECT_EQ(std::get<std::int64_t>(entries->at(4).detail.find("step")->state()), 5);
  EXPECT_EQ(entries->at(4).hash, verdict->head);
}

// The hash rule in line.h, computed by hand.
TEST_F(JournalTest, HashIsThatOfPreviousAndLineWithoutHash) {
  append(2);
  const std::vector<std::string> all = lines();
  ASSERT_EQ(all.size(), 2U);
  std::string previous(64, '0');
  for (const std::string& line : all) {
    const std::size_t at = line.rfind(", \"hash\": \"");
    const std::string body = line.substr(0, at) + "}";
    const std::string hash = line.substr(at + 11, 64);
    EXPECT_NE(body.find("\"previous\": \"" + previous + "\""), std::string::npos);
    EXPECT_EQ(hash, sha256(previous + body));
    previous = hash;
  }
}

// The same, computed by a program that shares no code with weft.
TEST_F(JournalTest, PythonAgreesOnTheChain) {
  WEFT_NEEDS_PROGRAM("python3");
  append(20);
  const std::string script = folder_ + "/chain.py";
  FILE* file = std::fopen(script.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(
      "import json, hashlib, sys\n"
      "previous = '0' * 64\n"
      "for n, line in enumerate(open(sys.argv[1], encoding='utf-8'), 1):\n"
      "    entry = json.loads(line)\n"
      "    stated = entry.pop('hash')\n"
      "    body = json.dumps(entry, ensure_ascii=False)\n"
      "    assert entry['number'] == n and entry['previous'] == previous\n"
      "    assert hashlib.sha256((previous + body).encode()).hexdigest() == stated, n\n"
      "    previous = stated\n"
      "assert n == 20\n",
      file);
  std::fclose(file);
  EXPECT_EQ(std::system(fmt::format("python3 '{}' '{}'", script, path()).c_str()), 0);
}

TEST_F(JournalTest, EveryChangedByteIsDetected) {
  append(3);
  const std::string good = text();
  ASSERT_EQ(std::count(good.begin(), good.end(), '\n'), 3);
  ASSERT_TRUE(verify_journal_text(good).problems.empty());
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == 'x' ? 'y' : 'x';
    const JournalVerdict verdict = verify_journal_text(bad);
    // Without the final line end, only the last entry is not counted.
    const bool last = i + 1 == good.size();
    EXPECT_TRUE(!verdict.problems.empty() || (last && verdict.torn > 0)) << "byte " << i;
  }
}

TEST_F(JournalTest, RemovedSwappedDuplicatedOrForeignLinesAreDetected) {
  append(5);
  const std::vector<std::string> all = lines();
  const auto problems = [&](const std::vector<std::string>& changed) {
    return verify_journal_text(joined(changed)).problems;
  };
  EXPECT_TRUE(problems(all).empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<std::string> removed = all;
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(i));
    // Removing the last lines leaves no trace in the file: an anchor detects that.
    EXPECT_EQ(problems(removed).empty(), i + 1 == all.size()) << i;
    std::vector<std::string> doubled = all;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), all[i]);
    EXPECT_FALSE(problems(doubled).empty()) << i;
    std::vector<std::string> foreign = all;
    foreign.insert(foreign.begin() + static_cast<std::ptrdiff_t>(i), "hello");
    EXPECT_EQ(problems(foreign), std::vector<std::string>{fmt::format("line {}: is not an entry", i + 1)});
  }
  std::vector<std::string> swapped = all;
  std::swap(swapped[1], swapped[2]);
  EXPECT_FALSE(problems(swapped).empty());
  std::vector<std::string> blank = all;
  blank.emplace_back("");
  EXPECT_FALSE(problems(blank).empty());
}

TEST_F(JournalTest, AnchorDetectsTruncatedJournal) {
  append(5);
  std::vector<std::string> all = lines();
  const std::string head = verify_journal_text(joined(all)).head;
  EXPECT_TRUE(verify_journal_text(joined(all), head).problems.empty());
  all.pop_back();
  EXPECT_TRUE(verify_journal_text(joined(all)).problems.empty());
  const std::vector<std::string> problems = verify_journal_text(joined(all), head).problems;
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_NE(problems[0].find("cut, replaced or rewritten"), std::string::npos);
  EXPECT_FALSE(verify_journal_text(joined(all), "not a hash").problems.empty());
}

TEST_F(JournalTest, DuplicateKeyIsAProblem) {
  JournalEntry odd = entry(1);
  std::string hash;
  std::string middle = line_middle(odd);
  middle.insert(middle.find("\"step\""), "\"step\": 2, ");
  const std::string line = make_line(1, "2026-01-01T00:00:00.000Z", middle, first_previous(), hash);
  EXPECT_EQ(verify_journal_text(line + "\n").problems, std::vector<std::string>{"line 1: has a key twice"});
}

TEST_F(JournalTest, ClockGoingBackwardsIsANote) {
  std::string hash;
  std::string first = make_line(1, "2026-01-02T00:00:00.000Z", line_middle(entry(1)), first_previous(), hash);
  const std::string previous = hash;
  first += "\n" + make_line(2, "2026-01-01T00:00:00.000Z", line_middle(entry(2)), previous, hash) + "\n";
  const JournalVerdict verdict = verify_journal_text(first);
  EXPECT_TRUE(verdict.problems.empty());
  ASSERT_EQ(verdict.notes.size(), 1U);
  EXPECT_NE(verdict.notes[0].find("line 2: the clock went back"), std::string::npos);
}

// A crash may end a write at any byte, also while writing the note about it, or the note about that one.
TEST_F(JournalTest, JournalTornAtAnyByteIsRepairedAndVerifies) {
  append(2);
  const std::string good = text();
  const std::size_t second = good.find('\n') + 1;
  ASSERT_GT(good.size(), second + 37);
  for (std::size_t cut = second; cut < good.size(); cut += 37) {
    rewrite(good.substr(0, cut));
    const JournalVerdict before = verify_journal_text(text());
    EXPECT_TRUE(before.problems.empty()) << cut;
    EXPECT_EQ(before.torn, cut - second);
    ASSERT_TRUE(open()->append(entry(9)).ok());
    const std::string closed = text();
    EXPECT_EQ(closed.substr(0, cut), good.substr(0, cut)) << "nothing is ever removed";
    const JournalVerdict after = verify_journal_text(closed);
    EXPECT_TRUE(after.problems.empty()) << cut << ": " << after.problems.front();
    EXPECT_EQ(after.torn, 0U);
    EXPECT_EQ(after.entries, cut == second || cut + 1 >= good.size() ? 2U + (cut + 1 >= good.size() ? 1U : 0U) : 3U);
    // Now the repair is truncated as well.
    for (std::size_t again = cut + 1; cut != second && again < closed.size(); again += 131) {
      rewrite(closed.substr(0, again));
      ASSERT_TRUE(open()->append(entry(10)).ok());
      const JournalVerdict last = verify_journal_text(text());
      ASSERT_TRUE(last.problems.empty()) << cut << " " << again << ": " << last.problems.front();
      EXPECT_EQ(last.torn, 0U);
    }
  }
}

TEST_F(JournalTest, EntryMissingOnlyItsLineEndIsKept) {
  append(2);
  const std::string good = text();
  rewrite(good.substr(0, good.size() - 1));
  append(1);
  const JournalVerdict verdict = verify_journal_text(text());
  EXPECT_TRUE(verdict.problems.empty());
  EXPECT_EQ(verdict.entries, 3U);
}

TEST_F(JournalTest, ZeroBlocksAfterAPowerLossAreRepaired) {
  append(2);
  rewrite(text() + std::string(5000, '\0'));
  append(1);
  const JournalVerdict verdict = verify_journal_text(text());
  EXPECT_TRUE(verdict.problems.empty());
  EXPECT_EQ(verdict.entries, 4U);
}

TEST_F(JournalTest, OnlyTheMatchingNoteCoversATornLine) {
  append(2);
  const std::string good = text();
  rewrite(good.substr(0, good.size() - 30));
  append(1);
  std::string changed = text();
  const std::size_t torn = good.find('\n') + 40;
  changed[torn] = changed[torn] == 'x' ? 'y' : 'x';
  EXPECT_FALSE(verify_journal_text(changed).problems.empty());
  // The torn line is removed, its note is left.
  std::vector<std::string> all = lines();
  all.erase(all.begin() + 1);
  const std::vector<std::string> problems = verify_journal_text(joined(all)).problems;
  ASSERT_FALSE(problems.empty());
  EXPECT_NE(problems[0].find("but there is none"), std::string::npos);
}

TEST_F(JournalTest, NothingIsAppendedToAnAlteredOrForeignEnd) {
  append(2);
  const std::string good = text();
  std::string altered = good;
  altered[altered.rfind("train002") + 7] = '3';
  const std::vector<std::string> ends = {altered, good + "hello\n", good + "hello"};
  for (const std::string& end : ends) {
    rewrite(end);
    const Result<std::unique_ptr<Journal>> journal = open_journal(path(), "alice", clock_);
    ASSERT_FALSE(journal.ok());
    EXPECT_EQ(journal.error().code, ErrorCode::conflict);
    EXPECT_EQ(text(), end);
  }
  rewrite("something else entirely\n");
  EXPECT_FALSE(open_journal(path(), "alice", clock_).ok());
}

TEST_F(JournalTest, FileRemovedOrTruncatedWhileInUseIsAnError) {
  const auto journal = open();
  ASSERT_TRUE(journal->append(entry(1)).ok());
  const std::string good = text();
  rewrite("");
  EXPECT_EQ(journal->append(entry(2)).error().code, ErrorCode::conflict);
  rewrite(good);
  EXPECT_TRUE(journal->append(entry(2)).ok());
  std::filesystem::rename(path(), path() + ".1");
  EXPECT_EQ(journal->append(entry(3)).error().code, ErrorCode::conflict);
}

// A file size limit simulates a full disk: the write ends in the middle of a line.
TEST_F(JournalTest, FullDiskIsAnErrorAndThenATornLine) {
  append(3);
  const std::string good = text();
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{good.size() + 100, good.size() + 100};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    const auto journal = open();
    const Status full = journal->append(entry(4));
    const Status still = journal->append(entry(5));
    _exit(!full.ok() && full.error().code == ErrorCode::unavailable && !still.ok() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text().size(), good.size() + 100);
  append(1);
  const JournalVerdict verdict = verify_journal_text(text());
  EXPECT_TRUE(verdict.problems.empty());
  EXPECT_EQ(verdict.entries, 5U);
}

TEST_F(JournalTest, UnusualDetailsArePreserved) {
  {
    const auto journal = open();
    JournalEntry odd = entry(1);
    odd.device = "caf\xC3\xA9 \xFF";
    odd.detail = Value::map().set("nan", std::nan("")).set("x", 1.5).set("list", Value::list({1, true, Value()}));
    ASSERT_TRUE(journal->append(odd).ok());
    odd.detail = Value("just text");
    ASSERT_TRUE(journal->append(odd).ok());
    odd.detail = Value(std::string(kMaxJournalLine, 'x'));
    EXPECT_EQ(journal->append(odd).error().code, ErrorCode::invalid_input);
    const Result<std::vector<JournalEntry>> entries = journal->read();
    ASSERT_TRUE(entries.ok()) << entries.error().text();
    EXPECT_TRUE(entries->at(0).detail.find("nan")->is_null());
    EXPECT_EQ(entries->at(1).detail.find("value")->text(), "just text");
    EXPECT_EQ(entries->at(0).device, "caf\xC3\xA9 \xEF\xBF\xBD");
  }
  EXPECT_TRUE(verify_journal(path())->problems.empty());
}

TEST_F(JournalTest, TwoOpenJournalsContinueEachOther) {
  const auto a = open();
  const auto b = open();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(a->append(entry(i)).ok());
    ASSERT_TRUE(b->append(entry(i)).ok());
  }
  const Result<JournalVerdict> verdict = verify_journal(path());
  EXPECT_TRUE(verdict->problems.empty());
  EXPECT_EQ(verdict->entries, 10U);
}

TEST_F(JournalTest, OpenOperationsAreThoseWithoutAnEnd) {
  const auto made = [](std::string operation, Phase phase) {
    JournalEntry one;
    one.operation = std::move(operation);
    one.phase = phase;
    one.verb = "rotate";
    return one;
  };
  const std::vector<OpenOperation> open = open_operations(
      {made("a", Phase::begin), made("b", Phase::begin), made("a", Phase::intent), made("b", Phase::intent),
       made("a", Phase::end), made("c", Phase::note), made("b", Phase::seen)});
  ASSERT_EQ(open.size(), 1U);
  EXPECT_EQ(open[0].operation, "b");
  EXPECT_EQ(open[0].verb, "rotate");
  EXPECT_EQ(open[0].entries.size(), 3U);
}

TEST_F(JournalTest, OperationIdsAre16DigitsAndDiffer) {
  const std::string a = new_operation_id();
  EXPECT_EQ(a.size(), 16U);
  EXPECT_EQ(a.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(a, new_operation_id());
}

TEST_F(JournalTest, ConcurrentThreadsAndProcessesShareOneChain) {
  constexpr int kProcesses = 4;
  constexpr int kThreads = 64;
  constexpr int kEach = 4;
  std::filesystem::create_directories(folder_);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    const auto journal = open();
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) failed += journal->append(entry(t)).ok() ? 0 : 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    _exit(failed == 0 ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const Result<JournalVerdict> verdict = verify_journal(path());
  ASSERT_TRUE(verdict.ok());
  EXPECT_TRUE(verdict->problems.empty());
  EXPECT_EQ(verdict->entries, static_cast<std::uint64_t>(kProcesses * kThreads * kEach));
}

TEST_F(JournalTest, ConcurrentAppendsShareSyncs) {
  std::atomic<int> told{0};
  Result<std::unique_ptr<Journal>> journal =
      open_journal(path(), "alice", clock_, [&](const JournalEntry&) { ++told; });
  ASSERT_TRUE(journal.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) EXPECT_TRUE((*journal)->append(entry(t)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 320);
  EXPECT_EQ(verify_journal(path())->entries, 320U);
}

// A writer with several threads is killed at a random moment, repeatedly; every acknowledged entry must be there.
TEST_F(JournalTest, KilledWritersLoseNoAcknowledgedEntry) {
  RandomStream random(1, "journal-kill");
  std::filesystem::create_directories(folder_);
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < kill_rounds(); ++round) {
    int channel[2] = {-1, -1};
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(channel[0]);
      const auto journal = open();
      std::vector<std::thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
          for (;;) {
            JournalEntry one = entry(t);
            one.detail.set("filler", std::string(3000, 'f'));  // several pages, so kills hit inside lines
            if (!journal->append(std::move(one)).ok()) _exit(1);
            (void)!::write(channel[1], "k", 1);
          }
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    ::close(channel[1]);
    char byte = 0;
    // Every other writer is killed while writing, however slow the machine; the rest also while opening.
    if (round % 2 == 1 && ::read(channel[0], &byte, 1) == 1) ++acknowledged;
    ::usleep(static_cast<useconds_t>(random.below(12'000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    while (::read(channel[0], &byte, 1) == 1) ++acknowledged;
    ::close(channel[0]);
    if (!std::filesystem::exists(path())) continue;
    const Result<JournalVerdict> verdict = verify_journal(path());
    ASSERT_TRUE(verdict.ok());
    ASSERT_TRUE(verdict->problems.empty()) << verdict->problems.front();
    ASSERT_GE(verdict->entries, acknowledged);
  }
  append(1);
  const Result<JournalVerdict> verdict = verify_journal(path());
  EXPECT_TRUE(verdict->problems.empty());
  EXPECT_GT(acknowledged, 0U);
}

}  // namespace
}  // namespace weft::oob

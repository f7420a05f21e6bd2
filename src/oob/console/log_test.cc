#include "oob/console/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "oob/durable/private_folder.h"

namespace weft::oob {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ConsoleLogTest : public testing::Test {
 protected:
  ConsoleLogTest()
      : folder_(testing::TempDir() + "weft_console_log_" + std::to_string(::getpid()) + "_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
  }
  ~ConsoleLogTest() override { fs::remove_all(folder_); }
  std::unique_ptr<ConsoleLog> open(const ConsoleLogOptions& options = {}) {
    Result<std::unique_ptr<ConsoleLog>> log = ConsoleLog::open(folder_, "n1", "alice@jump1", "test", clock_, options);
    EXPECT_TRUE(log.ok()) << log.error().text();
    return log.ok() ? std::move(log).value() : nullptr;
  }

  std::string folder_;
  ManualClock clock_;
};

TEST(ConsoleText, LogContainsNoTerminalControls) {
  EXPECT_EQ(visible_text("a\x1b[2Jb"), "a^[[2Jb");
  EXPECT_EQ(visible_text(std::string_view("\0\x07\x7f\t", 4)), "^@^G^?\t");
  EXPECT_EQ(visible_text("\xff\xc3\xa9"), "\\xff\xc3\xa9");
  EXPECT_EQ(visible_text("\xc2\x9b"
                         "31m"),
            "\\u{9b}31m");  // the 8-bit CSI
  EXPECT_EQ(visible_text("\xe2\x80\xae"
                         "x"),
            "\\u{202e}x");  // right-to-left override
  for (int byte = 0; byte < 256; ++byte) {
    const std::string shown = visible_text(std::string(1, static_cast<char>(byte)));
    for (const char c : shown) EXPECT_TRUE(c == '\t' || (c >= 0x20 && c < 0x7F)) << byte;
  }
}

TEST(ConsoleText, PlainTextDropsEscapeSequences) {
  EXPECT_EQ(plain_text("\x1b[1;32mlog\x1b[0min: \r"), "login: ");
  EXPECT_EQ(plain_text("\x1b]0;title\x07x"), "x");
  EXPECT_EQ(plain_text("\x1b]0;title\x1b\\x"), "x");
  EXPECT_EQ(plain_text("\x1b(Bx\x1b"), "x");
  EXPECT_EQ(plain_text("\x1b[12"), "");
}

TEST_F(ConsoleLogTest, LinesHaveTimestamps) {
  {
    const auto log = open();
    ASSERT_NE(log, nullptr);
    ASSERT_TRUE(log->append("Booting\r\nlog").ok());
    (void)clock_.sleep(milliseconds(400));
    ASSERT_TRUE(log->append("in: ").ok());
    ASSERT_TRUE(log->tick().ok());
    (void)clock_.sleep(milliseconds(600));
    ASSERT_TRUE(log->tick().ok());  // one second after its first byte
    ASSERT_TRUE(log->append("root\r\r\n\r\n").ok());
    EXPECT_EQ(log->bytes(), 25U);
  }
  EXPECT_EQ(contents(folder_ + "/n1.log"),
            "2025-10-09T08:53:20.000Z # opened by alice@jump1: test\n"
            "2025-10-09T08:53:20.000Z | Booting\n"
            "2025-10-09T08:53:20.000Z | login: \n"
            "2025-10-09T08:53:21.000Z + root\n"
            "2025-10-09T08:53:21.000Z | \n"
            "2025-10-09T08:53:21.000Z # closed by alice@jump1, 25 bytes\n");
  struct stat info {};
  ASSERT_EQ(::stat((folder_ + "/n1.log").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(ConsoleLogTest, TimestampsAreAscending) {
  const auto log = open();
  ASSERT_TRUE(log->append("prompt# ").ok());
  (void)clock_.sleep(milliseconds(10));
  ASSERT_TRUE(log->note("bob joined").ok());
  EXPECT_THAT(log->recent(2),
              ElementsAre("2025-10-09T08:53:20.000Z | prompt# ", "2025-10-09T08:53:20.010Z # bob joined"));
}

TEST_F(ConsoleLogTest, ForgedNoteIsAnOrdinaryLine) {
  const auto log = open();
  ASSERT_TRUE(log->append("2025-10-09T08:53:20.000Z # opened by eve\n").ok());
  EXPECT_THAT(log->recent(1), ElementsAre("2025-10-09T08:53:20.000Z | 2025-10-09T08:53:20.000Z # opened by eve"));
}

TEST_F(ConsoleLogTest, LineWithoutEndIsSplit) {
  const auto log = open();
  ASSERT_TRUE(log->append(std::string(10'000, 'x')).ok());
  EXPECT_EQ(log->recent(10).size(), 3U);  // the opening note and two parts of 4096
  EXPECT_THAT(log->recent(1)[0], HasSubstr("Z + xxx"));
}

TEST_F(ConsoleLogTest, OneHolder) {
  auto log = open();
  const Result<std::unique_ptr<ConsoleLog>> second = ConsoleLog::open(folder_, "n1", "bob", "", clock_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_THAT(second.error().message, HasSubstr("alice@jump1"));
  log.reset();
  EXPECT_NE(open(), nullptr);
  EXPECT_EQ(ConsoleLog::open(folder_, "../n1", "bob", "", clock_).error().code, ErrorCode::invalid_input);
}

TEST_F(ConsoleLogTest, OldLinesAreReplayedAndTornOnesTerminated) {
  ASSERT_TRUE(make_private_folder(folder_).ok());
  std::ofstream(folder_ + "/n1.log") << "2025-01-01T00:00:00.000Z | old\n2025-01-01T00:00:01.000Z | cut sho";
  const auto log = open();
  EXPECT_THAT(log->recent(2), ElementsAre("2025-01-01T00:00:00.000Z | old", HasSubstr("# opened by")));
  EXPECT_THAT(contents(folder_ + "/n1.log"), HasSubstr("| cut sho\n2025-10-09"));
}

TEST_F(ConsoleLogTest, Rotates) {
  const auto log = open({.rotate_bytes = 200, .keep = 2});
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(log->append("line " + std::to_string(i) + "\n").ok());
  EXPECT_LE(fs::file_size(folder_ + "/n1.log"), 200U);
  EXPECT_LE(fs::file_size(folder_ + "/n1.log.1"), 200U);
  EXPECT_TRUE(fs::exists(folder_ + "/n1.log.2"));
  EXPECT_FALSE(fs::exists(folder_ + "/n1.log.3"));
  EXPECT_THAT(contents(folder_ + "/n1.log"), HasSubstr("line 29\n"));
  // Nothing is missing between the two.
  const std::string text =
      contents(folder_ + "/n1.log.2") + contents(folder_ + "/n1.log.1") + contents(folder_ + "/n1.log");
  int first = 29;
  while (first > 0 && text.find("| line " + std::to_string(first - 1) + "\n") != std::string::npos) --first;
  EXPECT_LE(first, 20);
}

TEST(ConsoleMatcherTest, FindsPromptsAcrossReadsAndColors) {
  Result<ConsoleMatcher> matcher = ConsoleMatcher::make("login: *$");
  ASSERT_TRUE(matcher.ok());
  EXPECT_FALSE(matcher->feed("last login: Monday\r\n"));
  EXPECT_FALSE(matcher->feed("\x1b[1mtrain001 lo"));
  EXPECT_TRUE(matcher->feed("gin:\x1b[0m "));
  EXPECT_EQ(matcher->line(), "train001 login: ");
  EXPECT_FALSE(ConsoleMatcher::make("[").ok());
  EXPECT_FALSE(ConsoleMatcher::make("").ok());
  EXPECT_FALSE(ConsoleMatcher::make(std::string(257, 'a')).ok());
  EXPECT_FALSE(ConsoleMatcher::make("(a)\\1").ok());  // back-references are not supported
}

TEST(ConsoleMatcherTest, HostileLinesMatchQuickly) {
  Result<ConsoleMatcher> matcher = ConsoleMatcher::make("(a*)*b");
  ASSERT_TRUE(matcher.ok());
  EXPECT_FALSE(matcher->feed(std::string(300, 'a')));  // exponential for a backtracking matcher
}

}  // namespace
}  // namespace weft::oob

#include "serve/api/task_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

class TaskLog : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("weft_task_log_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = (folder_ / "7.1.0.log").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void append(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::app) << text;
  }
  void rotate() const {
    for (int number = 3; number > 0; --number) {
      const std::string from = number == 1 ? path_ : path_ + "." + std::to_string(number - 1);
      if (fs::exists(from)) fs::rename(from, path_ + "." + std::to_string(number));
    }
  }

  fs::path folder_;
  std::string path_;
};

TEST_F(TaskLog, TheEndOfAllFiles) {
  EXPECT_FALSE(read_task_log(path_, {}, 100).ok());
  append(path_, "one\n");
  rotate();
  append(path_, "two\n");
  const Result<LogPiece> all = read_task_log(path_, {}, 100);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->text, "one\ntwo\n");
  EXPECT_FALSE(all->skipped);
  const Result<LogPiece> some = read_task_log(path_, {}, 6);
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some->text, "e\ntwo\n");
  EXPECT_TRUE(some->skipped);
}

TEST_F(TaskLog, ContinuesAcrossRotations) {
  append(path_, "a1");
  LogPosition position = read_task_log(path_, {}, 100)->end;
  EXPECT_EQ(read_task_log(path_, position, 100)->text, "");
  append(path_, "a2");
  rotate();
  append(path_, "b1");
  rotate();
  append(path_, "c1");
  std::string text;
  for (int i = 0; i < 10; ++i) {  // in pieces of two bytes
    const Result<LogPiece> piece = read_task_log(path_, position, 2);
    ASSERT_TRUE(piece.ok());
    text += piece->text;
    position = piece->end;
  }
  EXPECT_EQ(text, "a2b1c1");
}

TEST_F(TaskLog, AFileThatIsGone) {
  append(path_, "x");
  const Result<LogPiece> piece = read_task_log(path_, LogPosition{1, 5}, 100);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece->text, "x");
  EXPECT_TRUE(piece->skipped);
}

TEST_F(TaskLog, OnlyRegularFiles) {
  fs::create_symlink("/etc/passwd", path_);
  EXPECT_FALSE(read_task_log(path_, {}, 100).ok());
  fs::remove(path_);
  fs::create_directory(path_);
  EXPECT_FALSE(read_task_log(path_, {}, 100).ok());
}

TEST(LogPositionText, RoundTrip) {
  const std::optional<LogPosition> position = parse_log_position(to_text({12, 34}));
  ASSERT_TRUE(position.has_value());
  EXPECT_EQ(position->inode, 12U);
  EXPECT_EQ(position->offset, 34U);
  for (const char* text : {"", "1", "1:", ":1", "1:2:3", "-1:2", "a:b", "1:99999999999999999999"}) {
    EXPECT_FALSE(parse_log_position(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace weft::serve

#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace weft {
namespace {

namespace fs = std::filesystem;

class FileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "weft-file-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
};

mode_t mode_of(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_mode & 07777U : 0U;
}

TEST_F(FileTest, ReadsBackWhatItWrote) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{1000003}}) {
    std::string content(size, 'x');
    if (size > 0) content[size / 2] = '\0';
    ASSERT_TRUE(write_file(path("f"), content).ok());
    const Result<std::string> read = read_file(path("f"));
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(*read == content);
  }
  EXPECT_EQ(entries(), 1U);  // no temporary file is left
}

TEST_F(FileTest, ReportsAMissingFile) {
  const Result<std::string> read = read_file(path("none"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::not_found);
  EXPECT_EQ(read.error().text(), path("none") + ": cannot read: No such file or directory");
  const Status written = write_file(path("no/such/folder"), "x");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().text(), path("no/such/folder") + ": cannot write: No such file or directory");
}

TEST_F(FileTest, RefusesDirectories) {
  EXPECT_EQ(read_file(folder_).error().text(), folder_ + ": is a directory");
  EXPECT_EQ(write_file(folder_, "x").error().text(), folder_ + ": is a directory");
  EXPECT_EQ(read_file(folder_).error().code, ErrorCode::invalid_input);
}

TEST_F(FileTest, RefusesMoreThanTheLimit) {
  ASSERT_TRUE(write_file(path("f"), "12345").ok());
  EXPECT_TRUE(read_file(path("f"), 5).ok());
  EXPECT_EQ(read_file(path("f"), 4).error().text(), path("f") + ": is larger than 4 bytes");
  // The size is unknown, and the file never ends.
  EXPECT_EQ(read_file("/dev/zero", 1U << 20U).error().text(), "/dev/zero: is larger than 1048576 bytes");
}

TEST_F(FileTest, ReadsFilesOfUnknownSize) {
  const Result<std::string> read = read_file("/proc/self/status");
  ASSERT_TRUE(read.ok());
  EXPECT_NE(read->find("Pid:"), std::string::npos);
}

TEST_F(FileTest, ReadsStandardInput) {
  ASSERT_TRUE(write_file(path("in"), "from stdin").ok());
  const int kept = ::dup(STDIN_FILENO);
  ASSERT_NE(std::freopen(path("in").c_str(), "r", stdin), nullptr);
  const Result<std::string> read = read_file("-");
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, "from stdin");
}

TEST_F(FileTest, WritesWithMode0644MinusTheUmask) {
  const mode_t before = ::umask(022);
  EXPECT_TRUE(write_file(path("a"), "x").ok());
  ::umask(077);
  EXPECT_TRUE(write_file(path("b"), "x").ok());
  ::umask(before);
  EXPECT_EQ(mode_of(path("a")), 0644U);
  EXPECT_EQ(mode_of(path("b")), 0600U);
}

TEST_F(FileTest, LeavesSymbolicLinksInPlace) {
  ASSERT_TRUE(write_file(path("real"), "old").ok());
  ASSERT_EQ(::symlink("real", path("link").c_str()), 0);
  ASSERT_TRUE(write_file(path("link"), "new").ok());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(*read_file(path("real")), "new");
}

TEST_F(FileTest, DoesNotReplaceDevices) {
  EXPECT_EQ(write_file("/dev/null", "x").error().text(), "/dev/null: is not a regular file");
}

TEST_F(FileTest, WritesTheLongestName) {
  const std::string name(255, 'n');
  EXPECT_TRUE(write_file(path(name), "x").ok());
  EXPECT_FALSE(write_file(path(name + "n"), "x").ok());
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, RefusesNamesWithNulAndEmptyNames) {
  EXPECT_FALSE(read_file(std::string("a\0b", 3)).ok());
  EXPECT_FALSE(write_file(std::string("a\0b", 3), "x").ok());
  EXPECT_FALSE(write_file("", "x").ok());
  EXPECT_FALSE(read_file("").ok());
}

// A write that fails halfway: the old content is kept, and no temporary file is left.
TEST_F(FileTest, LeavesTheFileUntouchedOnFailure) {
  ASSERT_TRUE(write_file(path("f"), "old").ok());
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_file(path("f"), std::string(5000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().text(), path("f") + ": cannot write: File too large");
  EXPECT_EQ(*read_file(path("f")), "old");
  EXPECT_EQ(entries(), 1U);
}

}  // namespace
}  // namespace weft

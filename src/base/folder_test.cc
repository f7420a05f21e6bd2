#include "base/folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class Folder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "weft_folder_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  [[nodiscard]] std::string at(const std::string& name) const { return (root_ / name).string(); }
  [[nodiscard]] std::string text(const std::string& name) const { return read_file(at(name)).value_or("(none)"); }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(root_), fs::directory_iterator()));
  }

  fs::path root_;
};

TEST_F(Folder, IsInvisibleUntilCommitted) {
  auto folder = FolderWriter::begin(at("out/"));
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(folder->add("a/b/file", "one").ok());
  ASSERT_TRUE(folder->add("run.sh", "#!/bin/sh\n", 0755).ok());
  EXPECT_FALSE(fs::exists(at("out")));
  ASSERT_TRUE(folder->commit().ok());
  EXPECT_EQ(text("out/a/b/file"), "one");
  EXPECT_EQ(::access(at("out/run.sh").c_str(), X_OK), 0);
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Folder, ReplacesAnExistingFolder) {
  for (const char* content : {"old", "new"}) {
    auto folder = FolderWriter::begin(at("out"));
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(folder->add(content, content).ok());
    ASSERT_TRUE(folder->commit().ok());
  }
  EXPECT_FALSE(fs::exists(at("out/old")));
  EXPECT_EQ(text("out/new"), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Folder, LeavesNothingBehindWithoutCommit) {
  {
    auto folder = FolderWriter::begin(at("out"));
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(folder->add("file", "x").ok());
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Folder, RejectsPathsOutsideTheFolder) {
  auto folder = FolderWriter::begin(at("out"));
  ASSERT_TRUE(folder.ok());
  for (const char* path : {"", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\nb", "a/"}) {
    EXPECT_FALSE(folder->add(path, "x").ok()) << path;
  }
  EXPECT_TRUE(folder->add("a/..b", "x").ok());
  EXPECT_FALSE(folder->add("a/..b", "x").ok()) << "twice";
}

TEST_F(Folder, ReportsWhyItCannotBegin) {
  ASSERT_TRUE(write_file(at("file"), "x").ok());
  EXPECT_FALSE(FolderWriter::begin(at("file/out")).ok());
  EXPECT_FALSE(FolderWriter::begin("/").ok());
}

TEST_F(Folder, RemovesTheParentsItCreatedWithoutCommit) {
  { ASSERT_TRUE(FolderWriter::begin(at("a/b/out")).ok()); }
  EXPECT_EQ(entries(), 0U);
  {
    auto folder = FolderWriter::begin(at("a/b/out"));
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(folder->add("file", "x").ok());
    ASSERT_TRUE(folder->commit().ok());
  }
  EXPECT_EQ(text("a/b/out/file"), "x");
}

volatile std::sig_atomic_t signals_seen = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

// A signal after any number of files: it is delivered once nothing of the unfinished folder is left, and the old folder
// is whole.
TEST_F(Folder, SignalLeavesTheOldFolderWhole) {
  constexpr int kFiles = 5;
  struct sigaction count {};
  struct sigaction previous {};
  count.sa_handler = [](int /*signal*/) { signals_seen = signals_seen + 1; };
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    for (int stop = 0; stop <= kFiles; ++stop) {
      {
        auto old = FolderWriter::begin(at("out"));
        ASSERT_TRUE(old.ok() && old->add("old", "whole").ok() && old->commit().ok());
      }
      ASSERT_EQ(sigaction(signal, &count, &previous), 0);
      signals_seen = 0;
      {
        auto folder = FolderWriter::begin(at("out"));
        ASSERT_TRUE(folder.ok());
        for (int i = 0; i < kFiles; ++i) {
          if (i == stop) ::raise(signal);
          EXPECT_EQ(folder->add("file" + std::to_string(i), "new").ok(), i < stop);
        }
        if (stop == kFiles) ::raise(signal);
        EXPECT_FALSE(folder->commit().ok());
        EXPECT_EQ(signals_seen, 0);
      }
      EXPECT_EQ(signals_seen, 1);
      ASSERT_EQ(sigaction(signal, &previous, nullptr), 0);
      EXPECT_EQ(text("out/old"), "whole");
      EXPECT_EQ(entries(), 1U);
    }
  }
}

}  // namespace
}  // namespace weft

#include "oob/switches/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/hash.h"
#include "base/human_format.h"
#include "base/random.h"
#include "oob/durable/private_folder.h"

namespace weft::oob {
namespace {

namespace fs = std::filesystem;

class ConfigStoreTest : public testing::Test {
 protected:
  ConfigStoreTest()
      : root_(testing::TempDir() + "weft_store_" + std::to_string(::getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        store_(root_, "alice@jump1", clock_) {
    fs::remove_all(root_);
  }
  ~ConfigStoreTest() override { fs::remove_all(root_); }

  KeptVersion put(const std::string& text) {
    Result<KeptVersion> kept = store_.put("leaf1", text, sha256(text), "backup", "0123456789abcdef");
    EXPECT_TRUE(kept.ok()) << kept.error().text();
    (void)clock_.sleep(milliseconds(1000));
    return kept.ok() ? *kept : KeptVersion{};
  }

  std::string root_;
  ManualClock clock_;
  ConfigStore store_;
};

TEST_F(ConfigStoreTest, StoredVersionsAreReadBackUnchanged) {
  EXPECT_EQ(store_.find("leaf1", "latest").error().code, ErrorCode::not_found);
  EXPECT_EQ(put("hostname a\n").kept, Kept::added);
  EXPECT_EQ(put("hostname a\n").kept, Kept::unchanged);
  EXPECT_EQ(put("hostname b\n").kept, Kept::added);
  EXPECT_EQ(put("hostname a\n").kept, Kept::added);  // back again: a third entry, no third content
  const auto versions = store_.versions("leaf1");
  ASSERT_TRUE(versions.ok());
  ASSERT_EQ(versions->size(), 3U);
  EXPECT_EQ((*versions)[0].sha256, sha256("hostname a\n"));
  EXPECT_EQ((*versions)[0].who, "alice@jump1");
  EXPECT_EQ((*versions)[0].operation, "0123456789abcdef");
  EXPECT_EQ((*versions)[0].bytes, 11U);
  EXPECT_EQ((*versions)[0].time_ms, ManualClock::kStartMs);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_ + "/leaf1/versions"), {}), 2);
  EXPECT_EQ(*store_.read("leaf1", store_.find("leaf1", "before")->sha256), "hostname b\n");
}

TEST_F(ConfigStoreTest, VersionsAreFoundByNameTimeAndMark) {
  put("one\n");    // at 08:53:20
  put("two\n");    // at :21
  put("three\n");  // at :22
  EXPECT_EQ(store_.find("leaf1", "2025-10-09T08:53:21Z")->sha256, sha256("two\n"));
  EXPECT_EQ(store_.find("leaf1", "2025-10-09T08:53:21.999Z")->sha256, sha256("two\n"));
  EXPECT_EQ(store_.find("leaf1", "2025-10-10")->sha256, sha256("three\n"));
  EXPECT_EQ(store_.find("leaf1", "2025-10-09").error().code, ErrorCode::not_found);
  EXPECT_EQ(store_.find("leaf1", sha256("one\n").substr(0, 8))->sha256, sha256("one\n"));
  EXPECT_EQ(store_.find("leaf1", "abc").error().code, ErrorCode::invalid_input);
  EXPECT_EQ(store_.find("leaf1", "good").error().code, ErrorCode::not_found);
  ASSERT_TRUE(store_.mark_good("leaf1", sha256("two\n")).ok());
  EXPECT_EQ(store_.find("leaf1", "good")->sha256, sha256("two\n"));
  EXPECT_FALSE(store_.mark_good("leaf1", sha256("four\n")).ok());
}

TEST_F(ConfigStoreTest, FilesAreReadableByOwnerOnly) {
  put("username admin password 5 x\n");
  struct stat info {};
  for (const std::string& path :
       {root_ + "/leaf1/index.ndjson", store_.path_of("leaf1", sha256("username admin password 5 x\n"))}) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << path;
  }
  ASSERT_EQ(::stat((root_ + "/leaf1").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0700U);
}

TEST_F(ConfigStoreTest, ModifiedFileIsRejected) {
  const std::string name = put("hostname a\n").version.sha256;
  std::ofstream(store_.path_of("leaf1", name)) << "hostname evil\n";
  EXPECT_EQ(store_.read("leaf1", name).error().code, ErrorCode::invalid_input);
}

TEST_F(ConfigStoreTest, TornLineAndContentWithoutLineAreRecovered) {
  put("one\n");
  // State after a crash: half a line, and a content whose line was never written.
  std::ofstream(root_ + "/leaf1/index.ndjson", std::ios::app) << R"({"kind":"version","sha2)";
  ASSERT_TRUE(replace_file(store_.path_of("leaf1", sha256("lost\n")), "lost\n").ok());
  EXPECT_EQ(store_.versions("leaf1")->size(), 1U);
  put("two\n");
  const auto versions = store_.versions("leaf1");
  ASSERT_EQ(versions->size(), 3U);
  EXPECT_EQ((*versions)[1].sha256, sha256("lost\n"));
  EXPECT_EQ((*versions)[1].cause, "recovered");
  EXPECT_EQ((*versions)[2].sha256, sha256("two\n"));
}

TEST_F(ConfigStoreTest, NamesCannotEscapeTheFolder) {
  for (const char* name : {"", "..", "a/b", "../x", ".hidden"}) {
    EXPECT_EQ(store_.put(name, "x", sha256("x"), "backup").error().code, ErrorCode::invalid_input) << name;
  }
}

TEST_F(ConfigStoreTest, OneHolderAtATime) {
  {
    const Result<ConfigStore::Hold> first = store_.hold("leaf1");
    ASSERT_TRUE(first.ok());
    const Result<ConfigStore::Hold> second = store_.hold("leaf1");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::conflict);
    EXPECT_NE(second.error().message.find("alice@jump1"), std::string::npos);
  }
  EXPECT_TRUE(store_.hold("leaf1").ok());
}

TEST_F(ConfigStoreTest, DatesAreParsed) {
  EXPECT_EQ(parse_date("2025-10-09T08:53:20.000Z"), ManualClock::kStartMs);
  EXPECT_EQ(parse_date("2025-10-09T08:53:20Z"), ManualClock::kStartMs);
  EXPECT_EQ(parse_date("1970-01-02"), 86'400'000);
  for (const char* text : {"", "2025-02-30", "2025-13-01", "2025-10-09T25:00:00Z", "yesterday", "2025/10/09"})
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  EXPECT_EQ(parse_date(format_utc(1'799'999'999'123)), 1'799'999'999'123);
}

// A process that stores versions as fast as it can and reports each, killed at a random moment, 200 times on the same
// store: every acknowledged version is present and intact, and the store keeps working.
TEST_F(ConfigStoreTest, NothingAcknowledgedIsLostWhenKilled) {
  RandomStream random(7, "store kill");
  SystemClock clock;
  const Duration start = clock.now();
  for (int i = 0; i < 5; ++i) put("warm " + std::to_string(i));
  const auto two_puts = static_cast<std::uint64_t>((clock.now() - start).count() * 2 / 5 / 1000) + 1;  // microseconds
  std::vector<std::string> acknowledged;
  for (int round = 0; round < 200; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      for (int i = 0;; ++i) {
        const std::string text =
            "hostname r" + std::to_string(round) + "n" + std::to_string(i) + "\n" + std::string(4000, 'x');
        const bool kept = store_.put("leaf1", text, sha256(text), "backup").ok();
        if (!kept || ::write(ends[1], sha256(text).data(), 64) != 64) ::_exit(1);
      }
    }
    ::close(ends[1]);
    std::string name(64, ' ');
    // On a busy machine the child may not end one put in this time: some rounds wait for the first.
    if (round % 8 == 0 && ::read(ends[0], name.data(), 64) == 64) acknowledged.push_back(name);
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(2 * two_puts)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a put failed in round " << round;
    while (::read(ends[0], name.data(), 64) == 64) acknowledged.push_back(name);
    ::close(ends[0]);
  }
  put("the last\n");
  const auto versions = store_.versions("leaf1");
  ASSERT_TRUE(versions.ok());
  std::vector<std::string> names;
  for (const ConfigVersion& version : *versions) {
    names.push_back(version.sha256);
    EXPECT_TRUE(store_.read("leaf1", version.sha256).ok()) << version.sha256;
  }
  for (const std::string& name : acknowledged) EXPECT_NE(std::find(names.begin(), names.end(), name), names.end());
  EXPECT_GT(acknowledged.size(), 0U);
  EXPECT_EQ(names.back(), sha256("the last\n"));
}

TEST(ConfigStoreConcurrent, ManyThreadsStoreVersionsOfOneDevice) {
  const std::string root = testing::TempDir() + "weft_store_threads_" + std::to_string(::getpid());
  SystemClock clock;
  ConfigStore store(root, "alice", clock);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string text = "t" + std::to_string(t) + "i" + std::to_string(i);
        EXPECT_TRUE(store.put("leaf1", text, sha256(text), "backup").ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.versions("leaf1")->size(), 40U);
  fs::remove_all(root);
}

}  // namespace
}  // namespace weft::oob

#include "oob/journal/anchor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "oob/journal/journal.h"

namespace weft::oob {
namespace {

const std::string kOne(64, 'a');
const std::string kTwo(64, 'b');

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(testing::TempDir() + "/weft-anchor-XXXXXX") { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The format, written here on its own.
std::string line(std::uint64_t number, const std::string& hash) {
  const std::string text = fmt::format("weft-anchor {:020} {}", number, hash);
  return fmt::format("{} {}\n", text, sha256(text).substr(0, 16));
}

TEST(JournalAnchor, LaterPointCounts) {
  for (const std::string& text : {line(4, kOne) + line(5, kTwo), line(5, kTwo) + line(4, kOne), line(5, kTwo)}) {
    const auto point = parse_anchor(text);
    ASSERT_TRUE(point.has_value());
    EXPECT_EQ(point->number, 5U);
    EXPECT_EQ(point->hash, kTwo);
  }
}

TEST(JournalAnchor, TornLineLeavesTheOther) {
  const std::string whole = line(4, kOne) + line(5, kTwo);
  for (std::size_t cut = line(4, kOne).size(); cut < whole.size(); ++cut) {
    const auto point = parse_anchor(whole.substr(0, cut));
    ASSERT_TRUE(point.has_value()) << cut;
    EXPECT_EQ(point->number, 4U) << cut;
  }
  std::string changed = line(5, kTwo);
  for (std::size_t i = 0; i < changed.size(); ++i) {
    std::string other = changed;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(parse_anchor(other).has_value()) << i;
  }
  EXPECT_FALSE(parse_anchor("").has_value());
}

TEST(JournalAnchor, KeepsTheLastPointAndTheOneBefore) {
  const TemporaryFolder folder;
  const std::string path = folder.file("anchor");
  {
    Result<JournalAnchor> anchor = JournalAnchor::open(path);
    ASSERT_TRUE(anchor.ok());
    EXPECT_FALSE((*anchor->point()).has_value());
    for (const std::uint64_t number : {1U, 3U, 4U, 9U}) ASSERT_TRUE(anchor->write({number, kOne}).ok());
  }
  const auto point = read_anchor(path);
  ASSERT_TRUE(point.ok() && point->has_value());
  EXPECT_EQ((*point)->number, 9U);
  EXPECT_FALSE((*read_anchor(folder.file("none"))).has_value());
}

// The states in which a kill leaves the two files: the anchor may be behind by any number of entries.
TEST(JournalAnchor, JournalAheadOfItsAnchorIsIntactAndOneBehindIsNot) {
  const TemporaryFolder folder;
  const std::string path = folder.file("journal");
  const std::string anchor_path = folder.file("anchor");
  ManualClock clock;
  std::vector<std::string> journals{""};
  std::vector<AnchorPoint> points;
  for (int i = 0; i < 4; ++i) {
    auto journal = open_journal(path, "alice", clock, nullptr, anchor_path);
    ASSERT_TRUE(journal.ok());
    JournalEntry entry;
    entry.verb = "test";
    ASSERT_TRUE((*journal)->append(std::move(entry)).ok());
    points.push_back(**read_anchor(anchor_path));
    EXPECT_EQ(points.back().hash, (*journal)->head());
    journals.push_back(*read_file(path));
  }
  for (std::size_t kept = 0; kept < journals.size(); ++kept) {
    for (const AnchorPoint& point : points) {
      const bool intact = verify_journal_text(journals[kept], {}, point).problems.empty();
      EXPECT_EQ(intact, point.number <= kept) << kept << " entries, anchor " << point.number;
    }
  }
  ASSERT_TRUE(write_file(path, journals[3]).ok());
  const auto cut = open_journal(path, "alice", clock, nullptr, anchor_path);
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, ErrorCode::conflict);
}

TEST(JournalReserve, FailsWhereTheFileMayNotGrow) {
  const TemporaryFolder folder;
  ManualClock clock;
  auto journal = open_journal(folder.file("journal"), "alice", clock);
  ASSERT_TRUE(journal.ok());
  EXPECT_TRUE((*journal)->reserve(4096).ok());
  EXPECT_EQ(read_file(folder.file("journal"))->size(), 0U);
  EXPECT_FALSE(open_journal_read_only(folder.file("other"))->append({}).ok());
  EXPECT_TRUE(open_journal_read_only(folder.file("other"))->read()->empty());
}

}  // namespace
}  // namespace weft::oob

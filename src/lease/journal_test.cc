#include "lease/journal.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "lease/table.h"

namespace weft::lease {
namespace {

using Kind = LeaseRecord::Kind;

LeaseRecord request() {
  LeaseRecord record;
  record.kind = Kind::ask;
  record.serial = 3;
  record.at = sched::Moment(1'500'000'000);
  record.number = 7;
  record.owner = LeaseOwner::kubernetes;
  record.reclaim = true;
  record.gpus = {{sched::NodeId{3}, 0xff}, {sched::NodeId{12}, 0x0f}};
  record.holder = "team a/job 5%";
  return record;
}

std::string sealed(std::string_view body) { return std::string(body) + fmt::format(" {:016x}", hash64(body)); }

TEST(LeaseJournal, WritesOneLinePerRecord) {
  const std::string line = to_text(request());
  EXPECT_EQ(line.substr(0, line.rfind(' ')), "3 1500000000 ask 7 2 1 3:ff,12:f =team%20a/job%205%25");
  const Result<LeaseRecord> read = parse_lease_record(line);
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(*read, request());
}

TEST(LeaseJournal, HasOneSpelling) {
  EXPECT_TRUE(parse_lease_record(sealed("1 0 add 4 8")).ok());
  for (const char* body : {"",
                           "1",
                           "1 0",
                           "1 0 ad 4 8",
                           "1 0 add 4",
                           "1 0 add 4 8 ",
                           "1 0 add 4 8 9",
                           "1 0 add  4 8",
                           "1 0 add 04 8",
                           "1 0 add +4 8",
                           "01 0 add 4 8",
                           "1 0 add 4294967296 8",
                           "-1 0 add 4 8",
                           "1 -0 add 4 8",
                           "1 0 add x 8",
                           "1 0 session 4 1 1",
                           "1 0 session -1 1 1",
                           "1 0 held 1 ",
                           "1 0 held 1 3:0",
                           "1 0 held 1 3:FF",
                           "1 0 held 1 3:0f",
                           "1 0 held 1 4:1,3:1",
                           "1 0 held 1 3:1,3:2",
                           "1 0 held 1 3:1,",
                           "1 0 held 1 3:10000",
                           "1 0 ask 1 1 2 3:1 =a",
                           "1 0 ask 1 1 1 3:1 a",
                           "1 0 ask 1 1 1 3:1 =%2",
                           "1 0 ask 1 1 1 3:1 =%2g",
                           "1 0 ask 1 1 1 3:1 =%41",
                           "1 0 ask 1 1 1 3:1 =%0a",
                           "1 0 ask 1 1 1 3:1 =a b",
                           "1 99999999999999999999 add 4 8"}) {
    EXPECT_FALSE(parse_lease_record(sealed(body)).ok()) << body;
  }
}

TEST(LeaseJournal, DetectsEveryAlteredByte) {
  const std::string line = to_text(request());
  ASSERT_TRUE(parse_lease_record(line).ok());
  for (std::size_t i = 0; i < line.size(); ++i) {
    for (const char c : {'0', '1', 'a', ' ', '='}) {
      if (line[i] == c) continue;
      std::string altered = line;
      altered[i] = c;
      EXPECT_FALSE(parse_lease_record(altered).ok()) << altered;
    }
  }
}

std::vector<LeaseRecord> short_history() {
  LeaseTable table;
  std::vector<LeaseRecord> journal;
  const auto keep = [&](const Result<LeaseStep>& step) {
    ASSERT_TRUE(step.ok()) << step.error().text();
    journal.insert(journal.end(), step->records.begin(), step->records.end());
  };
  keep(table.add(sched::NodeId{3}, 8, sched::Moment(1)));
  keep(table.restore(sched::NodeId{3}, sched::Moment(2)));
  keep(table.request({1, LeaseOwner::slurm, "prod", {{sched::NodeId{3}, 0xff}}, false}, sched::Moment(3)));
  keep(table.request({2, LeaseOwner::weft, "night", {{sched::NodeId{3}, 0x01}}, true}, sched::Moment(4)));
  return journal;
}

TEST(LeaseJournal, TornWriteIsIgnored) {
  const std::vector<LeaseRecord> records = short_history();
  ASSERT_EQ(records.size(), 6U);
  const std::string text = to_text(records);
  std::size_t ends = 0;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    if (cut > 0 && text[cut - 1] == '\n') ++ends;
    const Result<LeaseJournal> read = parse_lease_journal(std::string_view(text).substr(0, cut));
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read->records.size(), ends);
    EXPECT_TRUE(LeaseTable::replay(read->records).ok());
  }
}

TEST(LeaseJournal, MissingLineIsDetected) {
  std::vector<LeaseRecord> records = short_history();
  records.erase(records.begin() + 2);
  const Result<LeaseJournal> read = parse_lease_journal(to_text(records));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().text(), "lease journal:3: found record 4 where record 3 is expected");
}

TEST(LeaseJournal, InconsistentRecordIsRejected) {
  std::vector<LeaseRecord> records = short_history();
  LeaseRecord again = records[3];  // the grant
  again.serial = records.size() + 1;
  records.push_back(again);
  const Result<LeaseTable> table = LeaseTable::replay(records);
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().where, "lease journal:7");
}

}  // namespace
}  // namespace weft::lease

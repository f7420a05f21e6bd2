#include "serve/oob/operation.h"

#include <gtest/gtest.h>

#include "oob/journal/journal.h"
#include "oob/redfish/json.h"
#include "serve/oob/test_fleet.h"

namespace weft::serve {
namespace {

OobOperation example(const std::string& id, OobState state, std::int64_t since) {
  OobOperation operation;
  operation.id = id;
  operation.verb = "oob.power";
  operation.hosts = "train[001-002]";
  operation.user = "alice";
  operation.reason = "XID \"79\"";
  operation.state = state;
  operation.since_ms = since;
  operation.progress = {"wave 1 of 2", "wave 2 of 2"};
  return operation;
}

TEST(OobOperations, SurviveARestartAndAreNotDoneUnlessTheyEnded) {
  const OobTestFolder folder;
  std::vector<std::string> problems;
  {
    OobOperationStore store(folder.file("operations"));
    ASSERT_TRUE(store.open(problems).ok());
    OobOperation done = example("00000000000000d0", OobState::done, 1);
    done.exit_code = 0;
    done.result = "ok";
    EXPECT_TRUE(store.save(done).ok());
    EXPECT_TRUE(store.save_result(done.id, "{\"a\": 1}").ok());
    EXPECT_TRUE(store.save(example("00000000000000a1", OobState::running, 2)).ok());
    EXPECT_TRUE(store.save(example("00000000000000b2", OobState::queued, 3)).ok());
  }
  for (int round = 0; round < 2; ++round) {
    OobOperationStore store(folder.file("operations"));
    const Result<std::vector<OobOperation>> found = store.open(problems);
    ASSERT_TRUE(found.ok()) << found.error().text();
    ASSERT_EQ(found->size(), 3U);
    EXPECT_EQ(found->at(0).state, OobState::done);
    EXPECT_EQ(found->at(0).exit_code, 0);
    EXPECT_EQ(found->at(0).reason, "XID \"79\"");
    EXPECT_EQ(found->at(0).progress.size(), 2U);
    EXPECT_EQ(store.read_result(found->at(0).id), "{\"a\": 1}");
    EXPECT_EQ(found->at(1).state, OobState::interrupted);
    EXPECT_EQ(found->at(1).result, "interrupted");
    EXPECT_EQ(found->at(2).state, OobState::failed);
    EXPECT_EQ(found->at(2).result, "not_started");
    EXPECT_EQ(store.read_result(found->at(2).id), "");
  }
  EXPECT_TRUE(problems.empty());
}

TEST(OobOperations, DamagedFilesAreNamedAndLeftAlone) {
  const OobTestFolder folder;
  std::filesystem::create_directories(folder.file("o"));
  const std::vector<std::string> texts = {"",
                                          "{",
                                          "[]",
                                          "{\"operation\": \"../../x\", \"state\": \"done\"}",
                                          "{\"operation\": \"00000000000000ff\", \"state\": \"done\"}",
                                          "{\"operation\": \"0000000000000005\", \"state\": \"gone\"}"};
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::ofstream(folder.file("o/000000000000000" + std::to_string(i) + ".json")) << texts[i];
  std::ofstream(folder.file("o/readme.json")) << "x";
  std::vector<std::string> problems;
  OobOperationStore store(folder.file("o"));
  EXPECT_TRUE(store.open(problems)->empty());
  EXPECT_EQ(problems.size(), texts.size());
  EXPECT_TRUE(folder.has("o/0000000000000001.json"));
}

TEST(OobOperations, TheJournalSaysWhatEnded) {
  const OobTestFolder folder;
  const std::string path = folder.file("journal.ndjson");
  oob::ManualClock clock;
  const std::string id = "00112233aabbccdd";
  const auto append = [&](const std::string& who, const std::string& operation, oob::Phase phase) {
    const auto journal = oob::open_journal(path, who, clock);
    ASSERT_TRUE(journal.ok());
    oob::JournalEntry entry;
    entry.operation = operation;
    entry.phase = phase;
    entry.verb = "power.off";
    ASSERT_TRUE((*journal)->append(entry).ok());
  };
  const std::string alice = "alice via weft serve (weft@jump1, operation " + id + ")";
  append("bob@jump1", "1111111111111111", oob::Phase::begin);
  append(alice, "2222222222222222", oob::Phase::begin);
  append(alice, "2222222222222222", oob::Phase::outcome);
  append("mallory via weft serve (weft@jump1, operation 00112233aabbccde)", "3333333333333333", oob::Phase::begin);
  append("bob@jump1", "1111111111111111", oob::Phase::end);
  Result<Value> found = find_in_journal(path, id);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(
      write_json_line(*found),
      R"({"entries": 2, "operations": [{"operation": "2222222222222222", "verb": "power.off", "ended": false}]})");
  append("bob@jump1", "2222222222222222", oob::Phase::end);  // resumed on the command line
  found = find_in_journal(path, id);
  EXPECT_EQ(oob::truth(oob::list(*found, {"operations"})[0], {"ended"}), true);
  EXPECT_TRUE(oob::verify_journal(path)->problems.empty());
}

}  // namespace
}  // namespace weft::serve

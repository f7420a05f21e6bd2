#include "control/record.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "control/fields.h"
#include "control/job_spec.h"

namespace weft::control {
namespace {

std::string random_text(RandomStream& random) {
  std::string text;
  const std::uint64_t size = random.below(12);
  for (std::uint64_t i = 0; i < size; ++i) text += static_cast<char>(random.below(256));
  return text;
}

Record random_record(RandomStream& random) {
  Record record;
  record.kind = static_cast<RecordKind>(random.below(kRecordKinds));
  record.at = sched::Moment(static_cast<std::int64_t>(random.next() >> 1U));
  record.job = random.below(1000);
  record.attempt = static_cast<AttemptNumber>(random.below(10));
  record.operation = random.below(1'000'000);
  record.session = random.below(5);
  record.node = static_cast<sched::NodeId>(random.below(2048));
  record.code = static_cast<std::uint8_t>(random.below(256));
  record.value = static_cast<std::int64_t>(random.next());
  record.until = sched::Moment(static_cast<std::int64_t>(random.next()));
  record.user = random_text(random);
  record.key = random_text(random);
  record.text = random_text(random);
  record.note = random_text(random);
  const std::uint64_t slots = random.below(4);
  for (std::uint64_t i = 0; i < slots; ++i) {
    sched::Slot slot;
    slot.node = static_cast<sched::NodeId>(random.below(100));
    slot.gpus = static_cast<std::uint16_t>(random.below(65536));
    if (random.chance(0.3)) slot.mig[random.below(sched::kMaxGpus)] = static_cast<std::uint8_t>(1 + random.below(255));
    record.slots.push_back(slot);
    record.boots.push_back(random.next());
  }
  return record;
}

TEST(Record, TextRestoresEveryField) {
  RandomStream random(1, "records");
  for (int i = 0; i < 20'000; ++i) {
    const Record record = random_record(random);
    const std::string text = to_text(record);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    const Result<Record> parsed = parse_record(text);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    ASSERT_EQ(*parsed, record) << text;
  }
}

TEST(Record, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(parse_record("").ok());
  EXPECT_FALSE(parse_record("job_teleported\tj=1").ok());
  EXPECT_FALSE(parse_record("job_held\tq=1").ok());
  EXPECT_FALSE(parse_record("job_held\tj=x").ok());
  EXPECT_FALSE(parse_record("job_held\tj").ok());
  EXPECT_FALSE(parse_record("node_boot\tn=4294967296").ok());
  EXPECT_FALSE(parse_record("attempt_placed\tp=1:zz").ok());
  EXPECT_NE(parse_record("job_teleported").error().text().find("newer version"), std::string::npos);
}

TEST(Record, NamesAreUnique) {
  std::set<std::string_view> names;
  for (std::uint8_t kind = 0; kind < kRecordKinds; ++kind) names.insert(to_text(static_cast<RecordKind>(kind)));
  EXPECT_EQ(names.size(), kRecordKinds);
}

TEST(JobSpec, TextRestoresTheJob) {
  JobSpec spec;
  spec.shape.name = "train\tllama";
  spec.shape.tenant = "research";
  spec.shape.priority = -3;
  spec.shape.tasks = 32;
  spec.shape.min_tasks = 8;
  spec.shape.task.gpus = 8;
  spec.shape.task.models = UINT64_MAX;
  spec.shape.task.mig = {3, 5};
  spec.shape.required = sched::Level::pod;
  spec.shape.limit = sched::seconds(3600);
  spec.shape.inference = true;
  spec.command = {"/bin/sh", "-c", "echo 'a\nb' =\t\\x"};
  spec.environment = {{"A", "1=2"}, {"B", ""}};
  spec.checkpoint.volumes = {"/a b", "/c"};
  spec.checkpoint.notice = CheckpointNotice::file;
  spec.restart.max_failures = 0;
  spec.uid = 4'000'000'000U;
  spec.image = "registry/a:1";
  const std::string text = to_text(spec);
  const Result<JobSpec> parsed = parse_job_spec(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(to_text(*parsed), text);
  EXPECT_EQ(parsed->command, spec.command);
  EXPECT_EQ(parsed->environment, spec.environment);
  EXPECT_EQ(parsed->shape.task, spec.shape.task);
  EXPECT_EQ(parsed->uid, spec.uid);
  EXPECT_EQ(parsed->image, spec.image);
  EXPECT_FALSE(parse_job_spec("tasks=many").ok());
  EXPECT_FALSE(parse_job_spec("required=6").ok());
  EXPECT_FALSE(parse_job_spec("inference=2").ok());
  EXPECT_FALSE(parse_job_spec("nonsense=1").ok());
}

TEST(JobSpec, ProblemsAreNamed) {
  JobSpec spec;
  spec.shape.task.cpu = 1000;
  EXPECT_EQ(problem_of(spec), "the job has no command");
  spec.command = {"/bin/true"};
  EXPECT_EQ(problem_of(spec), "");
  spec.checkpoint.volumes = {"relative"};
  EXPECT_NE(problem_of(spec).find("not an absolute path"), std::string::npos);
  spec.checkpoint.volumes = {"/a", "/b", "/c"};
  EXPECT_NE(problem_of(spec).find("at most two"), std::string::npos);
  spec.checkpoint.volumes = {};
  spec.environment = {{"A=B", "c"}};
  EXPECT_NE(problem_of(spec).find("environment"), std::string::npos);
}

TEST(Fields, EscapesAreReversible) {
  RandomStream random(2, "fields");
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = random_text(random);
    std::string escaped;
    append_escaped(escaped, text);
    EXPECT_EQ(escaped.find_first_of(std::string_view("\t\n\r\0", 4)), std::string::npos);
    EXPECT_EQ(unescape(escaped), text);
  }
}

}  // namespace
}  // namespace weft::control

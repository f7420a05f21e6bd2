#include "world/local/checkpoint.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "world/local/local_test_support.h"

namespace weft::world {
namespace {

namespace fs = std::filesystem;
using control::PartPhase;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr control::JobNumber kJob = 5;

void write(const std::string& path, const std::string& content) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Also with a path or digest that no writer would use.
std::string manifest_of(std::int64_t step, const std::string& path, const std::string& content,
                        control::JobNumber job = kJob) {
  return fmt::format(
      R"({{"format": 1, "job": {}, "attempt": 1, "step": {}, "files": [{{"path": "{}", "bytes": {}, "sha256": "{}"}}]}})",
      job, step, path, content.size(), sha256(content));
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : root_(make_test_folder()) {
    fs::create_directories(a());
    fs::create_directories(b());
  }
  ~CheckpointTest() override { fs::remove_all(root_); }
  [[nodiscard]] std::string a() const { return root_ + "/a/job-5"; }
  [[nodiscard]] std::string b() const { return root_ + "/b/job-5"; }

  static std::string add(const std::string& directory, std::int64_t step, const std::string& content = "weights") {
    std::string path = directory + "/" + checkpoint_name(step);
    write(path + "/shard/0.bin", content);
    write(path + "/manifest.json", manifest_of(step, "shard/0.bin", content));
    return path;
  }
  static std::string problem_of(const std::string& path) {
    const Result<CheckpointInfo> verified = verify_checkpoint(path, kJob);
    return verified.ok() ? "" : verified.error().text();
  }

  std::string root_;
};

TEST_F(CheckpointTest, NamesSortByStep) {
  EXPECT_EQ(checkpoint_name(120), "step-000000000120");
  EXPECT_EQ(checkpoint_name(-1), "");
  EXPECT_EQ(checkpoint_name(1'000'000'000'000), "");
  EXPECT_EQ(parse_checkpoint_name("step-000000000120"), 120);
  EXPECT_FALSE(parse_checkpoint_name("step-120"));
  EXPECT_FALSE(parse_checkpoint_name("step-00000000012x"));
  EXPECT_FALSE(parse_checkpoint_name(".tmp-step-000000000120"));
}

TEST_F(CheckpointTest, NewestIntactOneOverAllVolumesIsChosen) {
  add(a(), 100);
  add(b(), 200);
  add(a(), 300);
  fs::create_directories(a() + "/.tmp-step-000000000400");
  const NewestCheckpoint newest = find_newest({a(), b()}, kJob);
  ASSERT_TRUE(newest.intact);
  EXPECT_EQ(newest.intact->step, 300);
  EXPECT_EQ(newest.intact->path, a() + "/step-000000000300");
  EXPECT_EQ(newest.intact->bytes, 7);
  EXPECT_THAT(newest.rejected, IsEmpty());
  EXPECT_TRUE(newest.readable);
}

TEST_F(CheckpointTest, CorruptOneIsRejectedAndTheOneBeforeIsUsed) {
  add(b(), 200);
  const std::string path = add(a(), 300);
  write(path + "/shard/0.bin", "weighs!");
  const NewestCheckpoint newest = find_newest({a(), b()}, kJob);
  ASSERT_TRUE(newest.intact);
  EXPECT_EQ(newest.intact->step, 200);
  ASSERT_THAT(newest.rejected, SizeIs(1));
  EXPECT_EQ(newest.rejected[0], path + ": the checksum of shard/0.bin differs");
}

TEST_F(CheckpointTest, CopyInAnotherVolumeReplacesACorruptOne) {
  write(add(a(), 300) + "/shard/0.bin", "xxxxxxx");
  add(b(), 300);
  const NewestCheckpoint newest = find_newest({a(), b()}, kJob);
  ASSERT_TRUE(newest.intact);
  EXPECT_EQ(newest.intact->path, b() + "/step-000000000300");
  EXPECT_THAT(newest.rejected, SizeIs(1));
}

TEST_F(CheckpointTest, DamageIsNamed) {
  const std::string path = add(a(), 1);
  EXPECT_EQ(problem_of(path), "");
  const std::string manifest = manifest_of(1, "shard/0.bin", "weights");
  for (std::size_t size = 0; size < manifest.size(); size += 9) {
    write(path + "/manifest.json", manifest.substr(0, size));
    ASSERT_THAT(problem_of(path), HasSubstr("torn")) << size;
  }
  fs::remove(path + "/manifest.json");
  EXPECT_THAT(problem_of(path), HasSubstr("manifest.json is missing"));
  write(path + "/manifest.json", std::string(17U << 20U, ' '));
  EXPECT_THAT(problem_of(path), HasSubstr("more than"));
  write(path + "/manifest.json", std::string(10'000, '['));
  EXPECT_THAT(problem_of(path), HasSubstr("torn"));
  write(path + "/manifest.json", manifest_of(2, "shard/0.bin", "weights"));
  EXPECT_THAT(problem_of(path), HasSubstr("of step 2"));
  write(path + "/manifest.json", manifest_of(1, "shard/0.bin", "weights", 6));
  EXPECT_THAT(problem_of(path), HasSubstr("of job 6"));
  write(path + "/manifest.json", manifest_of(1, "shard/0.bin", "weights+"));
  EXPECT_THAT(problem_of(path), HasSubstr("has 7 bytes, the manifest says 8"));
  write(path + "/manifest.json", manifest_of(1, "shard/1.bin", "weights"));
  EXPECT_THAT(problem_of(path), HasSubstr("shard/1.bin is missing"));
  write(path + "/manifest.json", R"({"format": 2, "job": 5, "attempt": 1, "step": 1, "files": []})");
  EXPECT_THAT(problem_of(path), HasSubstr("unsupported format"));
  write(path + "/manifest.json", R"({"format": 1, "job": 5, "attempt": 1, "step": -1, "files": []})");
  EXPECT_THAT(problem_of(path), HasSubstr("lacks"));
  write(path + "/manifest.json", R"({"format": 1, "job": 5, "attempt": 1, "step": 1, "files": [7]})");
  EXPECT_THAT(problem_of(path), HasSubstr("not an object"));
}

TEST_F(CheckpointTest, NothingOutsideTheCheckpointIsRead) {
  write(root_ + "/secret", "weights");
  const std::string path = add(a(), 1);
  for (const std::string& file : {root_ + "/secret", std::string("../../secret"), std::string("shard/../0.bin"),
                                  std::string(""), std::string("manifest.json")}) {
    write(path + "/manifest.json", manifest_of(1, file, "weights"));
    EXPECT_THAT(problem_of(path), HasSubstr("not within the checkpoint")) << file;
  }
  fs::create_symlink(root_ + "/secret", path + "/link");
  write(path + "/manifest.json", manifest_of(1, "link", "weights"));
  EXPECT_THAT(problem_of(path), HasSubstr("link is a symbolic link"));
  fs::create_directory_symlink(root_, path + "/folder");
  write(path + "/manifest.json", manifest_of(1, "folder/secret", "weights"));
  EXPECT_NE(problem_of(path), "");
  ASSERT_EQ(::mkfifo((path + "/fifo").c_str(), 0600), 0);
  write(path + "/manifest.json", manifest_of(1, "fifo", ""));
  EXPECT_THAT(problem_of(path), HasSubstr("not a regular file"));
  fs::create_directory_symlink(add(b(), 2), a() + "/" + checkpoint_name(2));
  EXPECT_THAT(problem_of(a() + "/" + checkpoint_name(2)), HasSubstr("symbolic link"));
}

TEST_F(CheckpointTest, UnreadableVolumeMeansThatNoneIsNoAnswer) {
  NewestCheckpoint newest = find_newest({a(), root_ + "/missing/job-5"}, kJob);
  EXPECT_FALSE(newest.readable);
  EXPECT_FALSE(newest.intact);
  ASSERT_THAT(newest.rejected, SizeIs(1));
  newest = find_newest({a(), root_ + "/b/job-6"}, kJob);  // the volume is there, the job has not written to it
  EXPECT_TRUE(newest.readable);
  fs::remove(b());
  write(b(), "not a directory");
  EXPECT_FALSE(find_newest({a(), b()}, kJob).readable);
}

TEST_F(CheckpointTest, ListHasThoseWithACompleteManifest) {
  add(a(), 30);
  add(a(), 4);
  fs::create_directories(a() + "/" + checkpoint_name(50));
  const Result<std::vector<CheckpointInfo>> listed = list_checkpoints(a());
  ASSERT_TRUE(listed.ok());
  ASSERT_THAT(*listed, SizeIs(2));
  EXPECT_EQ((*listed)[0].step, 4);
  EXPECT_GT((*listed)[1].written_ns, 0);
  EXPECT_THAT(*list_checkpoints(a(), (*listed)[0].written_ns + 60'000'000'000), IsEmpty());
}

// The protocol from end to end, with the example program.
class TrainingTest : public LocalWorldTest {
 protected:
  std::shared_ptr<control::JobSpec> make_training(const std::vector<std::string>& options) const {
    std::vector<std::string> command{"python3", source_dir() + "/examples/tiny_train.py"};
    command.insert(command.end(), options.begin(), options.end());
    auto spec = make_spec(command);
    spec->checkpoint.volumes = {path("vol a"), path("vol b")};
    return spec;
  }
  control::CheckpointVerified verify(control::JobNumber job, const std::shared_ptr<const control::JobSpec>& spec) {
    const control::OperationId operation = next_operation_++;
    send(control::VerifyCheckpoint{operation, job, spec});
    control::CheckpointVerified answer;
    EXPECT_TRUE(wait_for([&] {
      for (const control::CheckpointVerified& verified : find<control::CheckpointVerified>()) {
        if (verified.operation == operation) answer = verified;
      }
      return answer.operation == operation;
    }));
    return answer;
  }
};

TEST_F(TrainingTest, ContinuesFromTheNewestIntactCheckpoint) {
  open();
  const auto spec = make_training({"--steps", "30", "--step-time", "0.001", "--checkpoint-steps", "10"});
  EXPECT_TRUE(verify(1, spec).readable);  // nothing has run: its volumes need not exist
  send(make_start(1, spec, {0, 1, 2, 3}));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 4)) << contents(options_.state + "/logs/1.1.0.log");
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 0) << contents(options_.state + "/logs/1.1.0.log");
  EXPECT_THAT(contents(options_.state + "/logs/1.1.0.log"), HasSubstr("rank 0 step 30 loss"));
  ASSERT_TRUE(wait_for([&] { return find<control::CheckpointWritten>().size() == 3; }));
  EXPECT_EQ(verify(1, spec).step, 30);

  write(path("vol a/job-1/step-000000000030/state.json"), "{}");  // the third: the first volume's turn again
  const control::CheckpointVerified verified = verify(1, spec);
  EXPECT_EQ(verified.step, 20);
  EXPECT_EQ(verified.checkpoint, "step-000000000020");
  EXPECT_THAT(verified.rejected, HasSubstr("state.json has 2 bytes"));
  control::StartAttempt again = make_start(1, spec, {0, 1});
  again.name.attempt = 2;
  again.checkpoint = verified.checkpoint;
  again.checkpoint_path = verified.path;
  send(again);
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 6));
  EXPECT_THAT(contents(options_.state + "/logs/1.2.0.log"), HasSubstr("rank 0 restored step 20"));
  EXPECT_EQ(verify(1, spec).step, 30);
}

TEST_F(TrainingTest, KilledRankFailsTheJob) {
  open();
  send(make_start(1, make_training({"--steps", "1000000", "--step-time", "0.01"}), {0, 1, 1}));
  const std::string log = options_.state + "/logs/1.1.0.log";
  ASSERT_TRUE(wait_for([&] { return contains(contents(log), "step 2 "); }));
  const ProcessId supervisor = PartFolder(options_.state + "/attempts/1.1/n1").read_supervisor().value_or(ProcessId{});
  const std::vector<ProcessStat> ranks = find_descendants(supervisor.pid, list_processes());
  ASSERT_FALSE(ranks.empty());
  ASSERT_TRUE(send_signal(ranks[0].id, SIGKILL));
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2));
  for (const control::PartReport& report : reports(PartPhase::exited)) EXPECT_NE(report.code, 0);
}

TEST_F(TrainingTest, AskedForACheckpointBySignalAndByFile) {
  open();
  for (const control::CheckpointNotice notice : {control::CheckpointNotice::signal, control::CheckpointNotice::file}) {
    const control::JobNumber job = notice == control::CheckpointNotice::signal ? 1 : 2;
    const auto spec = make_training({"--steps", "1000000", "--step-time", "0.01", "--checkpoint-steps", "0"});
    spec->checkpoint.notice = notice;
    send(make_start(job, spec, {0, 1}));
    const std::string log = options_.state + "/logs/" + std::to_string(job) + ".1.0.log";
    ASSERT_TRUE(wait_for([&] { return contains(contents(log), "step 2 "); })) << contents(log);
    events_.clear();
    const control::RequestCheckpoint request{next_operation_++, {job, 1}};
    send(request);
    EXPECT_EQ(reply_to(request.operation).kind, control::ReplyKind::accepted);
    ASSERT_TRUE(wait_for([&] { return find<control::CheckpointWritten>().size() == 1; })) << contents(log);
    const std::int64_t step = find<control::CheckpointWritten>()[0].step;
    // A stop asks for another one, and waits for it rather than for half of this hour.
    send(make_stop(job, {0, 1}, sched::seconds(3600), true));
    ASSERT_TRUE(wait_for_parts(PartPhase::exited, 2, job)) << contents(log);
    EXPECT_GT(verify(job, spec).step, step);
  }
}

TEST_F(TrainingTest, JobsThatCannotBeAskedAreNot) {
  open();
  send(make_start(1, make_shell_spec("exec sleep 1000")));
  ASSERT_TRUE(wait_for_parts(PartPhase::running, 1));
  send(control::RequestCheckpoint{500, {1, 1}});
  EXPECT_EQ(reply_to(500).kind, control::ReplyKind::permanent);
  send(control::RequestCheckpoint{501, {9, 1}});
  EXPECT_EQ(reply_to(501).kind, control::ReplyKind::permanent);
  send(make_stop(1, {0}, sched::seconds(3600), true));  // without a notice, SIGTERM comes at once
  ASSERT_TRUE(wait_for_parts(PartPhase::exited, 1));
  EXPECT_EQ(reports(PartPhase::exited)[0].code, 143);
}

}  // namespace
}  // namespace weft::world

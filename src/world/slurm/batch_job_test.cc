#include "world/slurm/batch_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::world {
namespace {

using ::testing::HasSubstr;

BatchContext context() {
  BatchContext out;
  out.cluster = "lab";
  out.state = "/shared/weft";
  sched::NodeShape node;
  node.name = "n0";
  node.gpus = 8;
  out.nodes.push_back(node);
  out.hosts.resize(1);
  return out;
}

control::JobSpec spec() {
  control::JobSpec out;
  out.shape.name = "job";
  out.shape.tasks = 1;
  out.shape.task.gpus = 8;
  out.command = {"train", "a b"};
  out.directory = "/work";
  out.uid = ::geteuid();
  out.gid = ::getegid();
  return out;
}

Result<SlurmSubmission> submission(const control::JobSpec& job) {
  control::StartAttempt start;
  start.name = {3, 1};
  start.spec = std::make_shared<control::JobSpec>(job);
  start.slots.push_back({sched::NodeId{0}, 0xFF, {}});
  start.boots.push_back(1);
  return make_batch_job(start, context());
}

std::string arguments(const control::JobSpec& job) {
  const Result<SlurmSubmission> made = submission(job);
  if (!made.ok()) return made.error().text();
  const std::size_t at = made->script.find("weft-task ");
  return made->script.substr(at, made->script.find(" ||", at) - at);
}

TEST(BatchJob, AProgramOnTheHost) {
  EXPECT_EQ(arguments(spec()), "weft-task '/work' '8' '/shared/weft/logs/3.1.batch.log' '' '' 'train' 'a b'");
}

TEST(BatchJob, AProgramInAContainer) {
  control::JobSpec job = spec();
  job.image = "nvcr.io/nvidia/pytorch:24.01-py3";
  job.checkpoint.volumes = {"/ckpt/a", "/ckpt/b"};
  EXPECT_THAT(arguments(job), HasSubstr(" 'docker://nvcr.io/nvidia/pytorch:24.01-py3' "
                                        "'/ckpt/a,/ckpt/b,/work' 'train' 'a b'"));
  job.checkpoint.notice = control::CheckpointNotice::file;
  EXPECT_THAT(arguments(job), HasSubstr("/work,/shared/weft/"));
  job.directory = "/";  // cannot be bound
  job.checkpoint = {};
  EXPECT_THAT(arguments(job), HasSubstr("py3' '' 'train'"));
}

TEST(BatchJob, NamesOfImages) {
  const auto reference = [](const char* image) {
    control::JobSpec job = spec();
    job.image = image;
    return arguments(job);
  };
  EXPECT_THAT(reference("/images/a.sif"), HasSubstr(" '/images/a.sif' "));
  EXPECT_THAT(reference("a.sif"), HasSubstr(" 'a.sif' "));
  EXPECT_THAT(reference("library://a/b"), HasSubstr(" 'library://a/b' "));
  EXPECT_THAT(reference("nvcr.io#nvidia/pytorch:23.10"), HasSubstr(" 'docker://nvcr.io/nvidia/pytorch:23.10' "));
  EXPECT_THAT(reference("--help"), HasSubstr(" 'docker://--help' "));
}

TEST(BatchJob, APathThatCannotBeBound) {
  control::JobSpec job = spec();
  job.directory = "/work/a,b";
  EXPECT_TRUE(submission(job).ok());
  job.image = "a/b";
  const Result<SlurmSubmission> made = submission(job);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::invalid_input);
  EXPECT_THAT(made.error().text(), HasSubstr("/work/a,b cannot be bound into a container"));
}

}  // namespace
}  // namespace weft::world

#include "world/slurm/job_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "world/slurm/cli_client.h"

namespace weft::world {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr JobTableWidths kWidths = {256, 160};

// A record as squeue 22.05 prints it: each field padded or cut to its width in bytes.
std::string record(std::vector<std::string> fields) {
  const std::size_t widths[] = {12, 12, 16, 12, 8, 12, 8, 8, 48, kWidths.nodes, kWidths.nodes, kWidths.comment};
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].resize(widths[i], ' ');
    line += fields[i] + "|";
  }
  return line + "\n";
}
std::vector<std::string> job(const std::string& comment) {
  return {"17", "1794934157",      "FAILED",         "1000",           "2",    "4294901759", "768",
          "0",  "NonZeroExitCode", "train[001-002]", "train[001-002]", comment};
}

TEST(JobTable, TheCommand) {
  const std::vector<std::string> words = job_table_command(kWidths);
  EXPECT_EQ(words.front(), "squeue");
  EXPECT_THAT(words.back(), StartsWith("--Format=JobID:12|,SubmitTime:12|,State:16|,"));
  EXPECT_THAT(words.back(), HasSubstr(",Comment:160|"));
}

TEST(JobTable, JobsAreRead) {
  std::vector<std::string> held = job("weft:lab:2.1:9");
  held[2] = "PENDING";
  held[5] = "0";
  held[6] = "0";
  held[9] = "";
  const auto jobs =
      parse_job_table(record(job("weft:lab:1.1:7")) + record(job("another")) + record(held), "weft:lab:", kWidths);
  ASSERT_TRUE(jobs.ok()) << jobs.error().text();
  ASSERT_EQ(jobs->size(), 2U);
  const SlurmJob& first = jobs->front();
  EXPECT_EQ(first.id, 17U);
  EXPECT_EQ(first.submitted, 1'794'934'157);
  EXPECT_EQ(first.state, SlurmState::failed);
  EXPECT_EQ(first.user, 1'000U);
  EXPECT_EQ(first.node_count, 2U);
  EXPECT_FALSE(first.held);
  EXPECT_EQ(first.exit_status, 768);
  EXPECT_EQ(first.reason, "NonZeroExitCode");
  EXPECT_EQ(first.nodes, "train[001-002]");
  EXPECT_EQ(first.comment, "weft:lab:1.1:7");
  EXPECT_TRUE((*jobs)[1].held);
  EXPECT_EQ((*jobs)[1].nodes, "");
  EXPECT_TRUE(parse_job_table("", "weft:", kWidths)->empty());
}

TEST(JobTable, ACommentCannotPassForARecord) {
  const std::string forged = record(job("weft:lab:1.1:7"));
  const auto jobs = parse_job_table(record(job("x\n" + forged)) + record(job("weft:lab:3.1:8")), "weft:lab:", kWidths);
  ASSERT_TRUE(jobs.ok());
  ASSERT_EQ(jobs->size(), 1U);
  EXPECT_EQ(jobs->front().comment, "weft:lab:3.1:8");
}

TEST(JobTable, WhatWasCutOffIsAnError) {
  const std::string good = record(job("weft:lab:1.1:7"));
  for (std::size_t size = 1; size < good.size(); ++size)
    EXPECT_FALSE(parse_job_table(good.substr(0, size), "", kWidths).ok());
  EXPECT_FALSE(parse_job_table("slurm_load_jobs error: Unable to contact slurm controller\n", "", kWidths).ok());
  for (const std::size_t field : {9U, 10U, 11U}) {
    std::vector<std::string> fields = job("weft:lab:1.1:7");
    fields[field] += std::string(300, 'x');
    const auto jobs = parse_job_table(record(fields), "weft:", kWidths);
    ASSERT_FALSE(jobs.ok()) << field;
    EXPECT_THAT(jobs.error().text(), HasSubstr("too long"));
    EXPECT_TRUE(parse_job_table(record(fields), "others:", kWidths).ok()) << "of others it does not matter";
  }
}

// A squeue that prints what fits into the columns that it is asked for.
TEST(JobTable, ColumnsAreWidenedUntilTextsFit) {
  const std::string folder = testing::TempDir() + "weft_squeue_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string program = folder + "/squeue";
  ASSERT_TRUE(write_file(program,
                         "#!/bin/sh\n"
                         "for last; do :; done\n"
                         "case $last in --json) exit 1 ;; esac\n"
                         "nodes=${last##*NodeList:}; nodes=${nodes%%|*}\n"
                         "comment=${last##*Comment:}; comment=${comment%%|*}\n"
                         "list=train001,train003,train005,train007,train009\n"
                         "printf '%-12s|%-12s|%-16s|%-12s|%-8s|%-12s|%-8s|%-8s|%-48s|' "
                         "17 1794934157 RUNNING 0 5 9 0 0 None\n"
                         "printf \"%-$nodes.${nodes}s|%-$nodes.${nodes}s|%-$comment.${comment}s|\\n\" "
                         "$list $list weft:lab:1.1:7\n")
                  .ok());
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  CliClient client({"", folder, milliseconds(60'000), milliseconds(60'000)});
  for (int round = 0; round < 2; ++round) {
    const auto jobs = client.list_jobs("weft:lab:");
    ASSERT_TRUE(jobs.ok()) << jobs.error().text();
    ASSERT_EQ(jobs->size(), 1U);
    EXPECT_EQ(jobs->front().nodes, "train001,train003,train005,train007,train009");
  }
  std::filesystem::remove_all(folder);
}

TEST(JobTable, FieldsThatAreNotValid) {
  for (const auto& [field, text] : std::vector<std::pair<std::size_t, std::string>>{{0, "0"},
                                                                                    {0, "x"},
                                                                                    {0, "5000000000"},
                                                                                    {1, "N/A"},
                                                                                    {1, "2026-11-17"},
                                                                                    {2, ""},
                                                                                    {4, "-1"},
                                                                                    {5, "0.5"},
                                                                                    {6, "0:0"}}) {
    std::vector<std::string> fields = job("weft:lab:1.1:7");
    fields[field] = text;
    EXPECT_FALSE(parse_job_table(record(fields), "", kWidths).ok()) << field << " " << text;
  }
}

}  // namespace
}  // namespace weft::world

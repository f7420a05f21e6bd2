#include "serve/submit/slurm_formats.h"

#include <gtest/gtest.h>

#include <csignal>

#include "sched/machine/moment.h"

namespace weft::serve {
namespace {

std::int64_t minutes(std::string_view text) {
  const Result<Duration> time = parse_slurm_time(text);
  if (!time.ok()) return -1;
  return *time == sched::kUnlimited ? 0 : time->count() / 60'000'000'000;
}

TEST(SlurmFormats, ReadsEveryFormOfATime) {
  EXPECT_EQ(minutes("30"), 30);
  EXPECT_EQ(minutes("30:00"), 30);
  EXPECT_EQ(minutes("30:01"), 31);  // rounded up
  EXPECT_EQ(minutes("0:30"), 1);
  EXPECT_EQ(minutes("2:00:00"), 120);
  EXPECT_EQ(minutes("1-0"), 1440);
  EXPECT_EQ(minutes("1-2"), 1560);
  EXPECT_EQ(minutes("1-2:30"), 1590);
  EXPECT_EQ(minutes("1-2:30:15"), 1591);
  EXPECT_EQ(minutes("7-00:00:00"), 7 * 1440);
  EXPECT_EQ(minutes("0"), 0);
  EXPECT_EQ(minutes("UNLIMITED"), 0);
  EXPECT_EQ(minutes("infinite"), 0);
  for (const char* bad : {"", ":", "1:", "-", "1-", "-5", "1:2:3:4", "1-1:2:3:4", "2h", "1.5", "1e3", " 1", "1-2-3",
                          "99999999999999999999", "999999-00", "0x10"}) {
    EXPECT_EQ(minutes(bad), -1) << bad;
  }
}

TEST(SlurmFormats, ReadsSizesInMebibytes) {
  EXPECT_EQ(*parse_slurm_size("4096"), 4096);
  EXPECT_EQ(*parse_slurm_size("4096M"), 4096);
  EXPECT_EQ(*parse_slurm_size("64G"), 65536);
  EXPECT_EQ(*parse_slurm_size("64GB"), 65536);
  EXPECT_EQ(*parse_slurm_size("2t"), 2 << 20);
  EXPECT_EQ(*parse_slurm_size("1K"), 1);
  EXPECT_EQ(*parse_slurm_size("0"), 0);
  for (const char* bad : {"", "G", "1.5G", "-1", "64X", "64Gi", "B", "9999999999999G"}) {
    EXPECT_FALSE(parse_slurm_size(bad).ok()) << bad;
  }
}

TEST(SlurmFormats, ReadsNodeCounts) {
  EXPECT_EQ(parse_node_range("4")->max, 4);
  EXPECT_EQ(parse_node_range("8-32")->min, 8);
  EXPECT_EQ(parse_node_range("8-32")->max, 32);
  EXPECT_EQ(parse_node_range("1k")->max, 1024);
  for (const char* bad : {"", "0", "-4", "4-", "8-4", "four", "4,5", "1-2-3", "=4", "99999999999999"}) {
    EXPECT_FALSE(parse_node_range(bad).ok()) << bad;
  }
}

TEST(SlurmFormats, ReadsGpuCounts) {
  EXPECT_EQ(parse_gpu_count("8")->count, 8);
  EXPECT_EQ(parse_gpu_count("h100:4")->count, 4);
  EXPECT_EQ(parse_gpu_count("h100:4")->type, "h100");
  EXPECT_EQ(parse_gpu_count("h100")->count, 1);
  for (const char* bad : {"", ":", ":8", "h100:", "a:b:c", "8:h100", "h100:4,a100:2", "-1"}) {
    EXPECT_FALSE(parse_gpu_count(bad).ok()) << bad;
  }
}

TEST(SlurmFormats, ReadsSignals) {
  const Result<SlurmSignal> both = parse_slurm_signal("B:USR1@120");
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->number, SIGUSR1);
  EXPECT_TRUE(both->batch);
  EXPECT_EQ(both->seconds, 120);
  EXPECT_EQ(parse_slurm_signal("SIGUSR2")->number, SIGUSR2);
  EXPECT_EQ(parse_slurm_signal("10")->seconds, 60);
  EXPECT_FALSE(parse_slurm_signal("R:TERM@5")->batch);
  for (const char* bad : {"", "B:", "X:USR1", "USR9", "0", "65", "USR1@", "USR1@x", "USR1@65536", "@60"}) {
    EXPECT_FALSE(parse_slurm_signal(bad).ok()) << bad;
  }
}

TEST(SlurmFormats, ConvertsFilePatterns) {
  EXPECT_EQ(*convert_file_pattern("%x-%j.log", "train", "ada"), "train-%j.log");
  EXPECT_EQ(*convert_file_pattern("/logs/%u/%A_%t", "train", "ada"), "/logs/ada/%j_%t");
  EXPECT_EQ(*convert_file_pattern("out", "train", "ada"), "out");
  for (const char* bad : {"%a", "%N", "%s", "%%", "%5j", "%", "a\\b"}) {
    EXPECT_FALSE(convert_file_pattern(bad, "train", "ada").ok()) << bad;
  }
}

TEST(SlurmFormats, SplitsDirectives) {
  const auto words = split_directive(" -J 'my job' --comment=\"a \\\" b\"\t-N\\ 4 # rest");
  ASSERT_TRUE(words.ok());
  ASSERT_EQ(words->size(), 4U);
  EXPECT_EQ((*words)[1].text, "my job");
  EXPECT_EQ((*words)[1].column, 4U);
  EXPECT_EQ((*words)[2].text, "--comment=a \" b");
  EXPECT_EQ((*words)[3].text, "-N 4");
  EXPECT_FALSE(split_directive(" -J 'open").ok());
  EXPECT_FALSE(split_directive(" -J \"open").ok());
  EXPECT_TRUE(split_directive("")->empty());
}

}  // namespace
}  // namespace weft::serve

#include "health/intake/review.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::health {
namespace {

struct Judged {
  std::string text;
  HealthState worst = HealthState::unknown;
  bool read = true;
  std::string problems;
};

// Files as (node, text).
Judged judge(const std::vector<std::pair<std::string, std::string>>& files) {
  Sources sources;
  Diagnostics diagnostics;
  ReviewOptions options;
  options.now = sched::Moment() + sched::seconds(1'800'000'000);
  options.every = sched::seconds(15);
  Review review(std::make_shared<Rules>(default_rules()), options);
  Judged out;
  for (const auto& [node, text] : files) {
    out.read = review.add(sources, sources.add("file", text), node, diagnostics) && out.read;
  }
  out.problems = render_all(diagnostics, sources, false);
  review.judge();
  out.worst = review.worst();
  out.text = write(review.document(true), {OutputFormat::json, false, 0});
  return out;
}

constexpr const char* kFellOff =
    "2026-11-18T11:00:02.000000+00:00 train002 kernel: [1.5] NVRM: Xid (PCI:0000:1a:00): 79, pid='<unknown>', "
    "name=<unknown>, GPU has fallen off the bus.\n";

TEST(Review, KernelLogNamesTheNode) {
  const Judged judged = judge({{"", kFellOff}});
  EXPECT_EQ(judged.worst, HealthState::fatal);
  EXPECT_NE(judged.text.find("train002"), std::string::npos);
  EXPECT_EQ(judged.text.find("\"file\""), std::string::npos);
}

TEST(Review, LogWithoutSignalsWasReadAndIsHealthy) {
  const Judged judged =
      judge({{"train001", "2026-11-18T11:00:02.000000+00:00 train001 kernel: [1.5] usb 1-1: new device\n"}});
  EXPECT_TRUE(judged.read);
  EXPECT_EQ(judged.worst, HealthState::healthy);
}

TEST(Review, WhatCannotBeReadIsAnError) {
  for (const char* text : {"", "hello\n", "\n\n\n", "a,b,c\n1,2,3\n"}) {
    const Judged judged = judge({{"n", text}});
    EXPECT_FALSE(judged.read) << text;
    EXPECT_NE(judged.problems.find("error"), std::string::npos) << text;
  }
}

TEST(Review, MetricFilesOfOneNodeAreScrapesInARow) {
  const std::string brake =
      "# TYPE DCGM_FI_DEV_CLOCK_THROTTLE_REASONS gauge\n"
      "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu=\"0\"} 128\n";
  EXPECT_NE(judge({{"n", brake}, {"n", brake}}).worst, HealthState::fatal);
  EXPECT_EQ(judge({{"n", brake}, {"n", brake}, {"n", brake}}).worst, HealthState::fatal);
  EXPECT_NE(judge({{"a", brake}, {"b", brake}, {"c", brake}}).worst, HealthState::fatal);
}

// One of 64 nodes needs 20 % more time per step than the others; it is named, and no other.
TEST(Review, StragglerIsNamedAndStaysInService) {
  std::string beats;
  for (int step = 0; step < 60; ++step) {
    for (int node = 0; node < 64; ++node) {
      const double busy = (node == 17 ? 1.2 : 1.0) * (1 + 0.001 * ((node * 7 + step * 3) % 10));
      beats += fmt::format(
          "{{\"job\":\"5\",\"node\":\"n{:02}\",\"rank\":{},\"step\":{},\"step_seconds\":1.3,"
          "\"busy_seconds\":{:.4f},\"time\":\"2026-11-01T00:{:02}:{:02}Z\"}}\n",
          node, node, step, busy, step / 60, step % 60);
    }
  }
  const Judged judged = judge({{"", beats}});
  EXPECT_EQ(judged.problems, "");
  EXPECT_NE(judged.worst, HealthState::fatal);
  const std::size_t incidents = judged.text.find("\"incidents\"");
  ASSERT_NE(incidents, std::string::npos) << judged.text;
  const std::string found = judged.text.substr(incidents, judged.text.find("\"nodes\"", incidents) - incidents);
  EXPECT_NE(found.find("\"n17\""), std::string::npos) << found;
  EXPECT_EQ(found.find("\"n16\""), std::string::npos) << found;
  EXPECT_EQ(found.find("\"n18\""), std::string::npos) << found;
}

TEST(Review, KindsOfFiles) {
  EXPECT_EQ(detect_kind(kFellOff), FileKind::log);
  EXPECT_EQ(detect_kind("# HELP a b\n"), FileKind::metrics);
  EXPECT_EQ(detect_kind("up{job=\"x\"} 1\n"), FileKind::metrics);
  EXPECT_EQ(detect_kind("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}"),
            FileKind::prometheus_answer);
  EXPECT_EQ(detect_kind("[{\"signal\":\"webhook:x\"}]"), FileKind::reports);
  EXPECT_EQ(detect_kind("{\"MESSAGE\":\"x\",\"__REALTIME_TIMESTAMP\":\"1\"}"), FileKind::log);
  EXPECT_EQ(detect_kind(""), FileKind::unknown);
  EXPECT_EQ(detect_kind("hello world\n"), FileKind::unknown);
}

}  // namespace
}  // namespace weft::health

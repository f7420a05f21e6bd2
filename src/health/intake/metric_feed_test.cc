#include "health/intake/metric_feed.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace weft::health {
namespace {

sched::Moment at(std::int64_t seconds) { return sched::Moment() + sched::seconds(1'700'000'000 + seconds); }

class MetricFeedTest : public ::testing::Test {
 protected:
  MetricFeedTest()
      : monitor(std::make_shared<Rules>(default_rules()), {"train001"}),
        feed(reader, monitor,
             [](std::string_view name) { return name == "train001" ? std::optional<NodeIndex>(0) : std::nullopt; }) {
    target = *reader.add_target("10.0.0.1:9400");
  }
  ReadReport scrape(int reasons, int xid, std::int64_t seconds, const char* host = "train001") {
    const std::string labels = fmt::format(R"({{gpu="3",pci_bus_id="00000000:3B:00.0",Hostname="{}"}})", host);
    const std::string text =
        fmt::format("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{0} {1}\nDCGM_FI_DEV_XID_ERRORS{0} {2}\n", labels, reasons, xid);
    const ReadReport report = feed.read(target, text, at(seconds));
    monitor.advance(at(seconds));
    return report;
  }

  MetricReader reader;
  Monitor monitor;
  MetricFeed feed;
  TargetId target = 0;
};

TEST_F(MetricFeedTest, ScrapesMakeANodeKnown) {
  monitor.advance(at(0));
  EXPECT_EQ(monitor.health(0).state, HealthState::unknown);
  scrape(0, 0, 15);
  EXPECT_EQ(monitor.health(0).state, HealthState::healthy);
  monitor.advance(at(15 + 121));
  EXPECT_EQ(monitor.health(0).state, HealthState::unknown);
}

// NVSentinel #1666: the hardware power brake, three samples in a row.
TEST_F(MetricFeedTest, PowerBrakeTakesTheNodeOut) {
  scrape(0x80, 0, 15);
  scrape(0x80, 0, 30);
  EXPECT_NE(monitor.health(0).state, HealthState::fatal);
  scrape(0x80, 0, 45);
  EXPECT_EQ(monitor.health(0).state, HealthState::fatal);
  EXPECT_EQ(monitor.open_incident(0)->findings.back().part, "GPU 0000:3b:00");
}

TEST_F(MetricFeedTest, SoftwarePowerCapIsNoProblem) {
  for (int i = 1; i < 100; ++i) scrape(0x4, 0, i * 15);
  EXPECT_EQ(monitor.health(0).state, HealthState::healthy);
  EXPECT_EQ(monitor.health(0).score, 100);
}

TEST_F(MetricFeedTest, XidIsAnEvent) {
  scrape(0, 0, 15);
  scrape(0, 79, 30);
  EXPECT_EQ(monitor.health(0).state, HealthState::fatal);
  EXPECT_EQ(monitor.health(0).plan.front(), Action::reboot);
}

TEST_F(MetricFeedTest, NodesOfOthersAreCountedAndLeftOut) {
  scrape(0x80, 79, 15, "elsewhere");
  EXPECT_EQ(feed.foreign(), 2U);
  EXPECT_EQ(monitor.health(0).state, HealthState::unknown);
}

}  // namespace
}  // namespace weft::health

#include "health/readers/metric_samples.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft::health {
namespace {

using sched::Moment;
using sched::seconds;

Moment at(std::int64_t second) { return Moment() + seconds(second); }

// What a scrape said, as text.
class Recorder : public MetricSink {
 public:
  explicit Recorder(const MetricReader& reader) : reader_(reader) {}
  void measure(SeriesId series, double value, Moment moment) override {
    const SeriesView view = reader_.series(series);
    lines.push_back(fmt::format("{} {} {} {} @{}", view.signal, view.node, view.part, value,
                                static_cast<double>(moment.count()) / 1e9));
    ids.push_back(series);
  }
  void report(Signal event) override {
    EXPECT_FALSE(event.value.has_value());
    const std::string first = event.details.empty() ? "" : " " + event.details[0].key;
    lines.push_back(fmt::format("! {} {} {} @{}{}", event.name, event.node, event.part,
                                static_cast<double>(event.at.count()) / 1e9, first));
    events.push_back(std::move(event));
  }
  std::vector<std::string> take() { return std::exchange(lines, {}); }

  std::vector<std::string> lines;
  std::vector<SeriesId> ids;
  std::vector<Signal> events;

 private:
  const MetricReader& reader_;
};

using Lines = std::vector<std::string>;

struct Lab {
  explicit Lab(MetricSettings settings = {}) : reader(settings), sink(reader) {}
  TargetId add(std::string_view name, std::string_view node = {}) {
    const Result<TargetId> added = reader.add_target(name, node);
    EXPECT_TRUE(added.ok());
    return added.value_or(0);
  }
  MetricReader reader;
  Recorder sink;
};

// From the output of dcgm-exporter on Kubernetes with an H100 (form: NVIDIA/dcgm-exporter d5e5f51
// internal/pkg/rendermetrics/render_metrics.go, Apache-2.0).
constexpr std::string_view kDcgm =
    R"(# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a0",pci_bus_id="00000000:03:00.0",device="nvidia0",modelName="NVIDIA H100-20C",Hostname="n1",container="cuda",namespace="default",pod="cuda-1"} 345
# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).
# TYPE DCGM_FI_DEV_GPU_TEMP gauge
DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-a0",pci_bus_id="00000000:03:00.0",device="nvidia0",modelName="NVIDIA H100-20C",Hostname="n1",container="cuda",namespace="default",pod="cuda-1"} 61
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-a0",pci_bus_id="00000000:03:00.0",device="nvidia0",modelName="NVIDIA H100-20C",Hostname="n1",container="cuda",namespace="default",pod="cuda-1"} 9223372036854775794
# HELP DCGM_FI_DEV_XID_ERRORS Value of the last XID error encountered.
# TYPE DCGM_FI_DEV_XID_ERRORS gauge
DCGM_FI_DEV_XID_ERRORS{gpu="0",UUID="GPU-a0",pci_bus_id="00000000:03:00.0",device="nvidia0",modelName="NVIDIA H100-20C",Hostname="n1",container="cuda",err_code="0",err_msg="No Error",namespace="default",pod="cuda-1"} 0
)";

// prometheus/node_exporter a7dcc3a, collector/fixtures/e2e-output.txt (Apache-2.0): lines of it.
constexpr std::string_view kNode =
    R"(# HELP node_edac_correctable_errors_total Total correctable memory errors.
# TYPE node_edac_correctable_errors_total counter
node_edac_correctable_errors_total{controller="0"} 1
node_infiniband_link_downed_total{device="mlx4_0",port="1"} 0
node_infiniband_port_discards_transmitted_total{device="mlx4_0",port="1"} 5
node_infiniband_port_packets_received_total{device="mlx4_0",port="1"} 6.825908347e+09
node_infiniband_state_id{device="mlx4_0",port="2"} 4
node_network_carrier_changes_total{device="bond0"} 2
node_network_info{address="01:01:01:01:01:01",adminstate="up",device="bond0",ifalias=""} 1
node_boot_time_seconds 1.418183276e+09
)";

TEST(MetricSamples, ReadsDcgmExporter) {
  Lab lab;
  const TargetId target = lab.add("10.0.0.1:9400");
  const ReadReport report = lab.reader.read(target, kDcgm, at(15), lab.sink);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.error, std::nullopt);
  EXPECT_EQ(report.measurements, 1U);
  EXPECT_EQ(report.ignored, 1U);
  EXPECT_EQ(report.absent, 1U);  // no memory temperature
  EXPECT_EQ(lab.sink.take(), Lines{"dcgm:gpu_temp n1 GPU 0000:03:00 61 @15"});
  EXPECT_EQ(lab.reader.series_count(), 3U);
}

TEST(MetricSamples, ReadsNodeExporter) {
  Lab lab;
  const TargetId target = lab.add("10.0.0.1:9100", "n1");
  const ReadReport report = lab.reader.read(target, kNode, at(15), lab.sink);
  EXPECT_EQ(report.ignored, 2U);
  EXPECT_EQ(lab.sink.take(), (Lines{"edac:corrected_count n1 mc0 1 @15", "ib:link_downed n1 mlx4_0/1 0 @15",
                                    "ib:port_xmit_discards n1 mlx4_0/1 5 @15", "ib:port_state n1 mlx4_0/2 4 @15",
                                    "net:carrier_changes n1 bond0 2 @15", "host:boot_time n1  1418183276 @15"}));
  EXPECT_EQ(lab.reader.signal(1, 3, at(30)).name, "ib:link_downed");
  EXPECT_EQ(lab.reader.signal(1, 3, at(30)).source, SignalSource::network);
}

TEST(MetricSamples, GivesTheSameSeriesScrapeAfterScrape) {
  Lab lab;
  const TargetId target = lab.add("a", "n1");
  for (int round = 0; round < 3; ++round) {
    lab.sink.ids.clear();
    const ReadReport report = lab.reader.read(target, kNode, at(15 * round), lab.sink);
    EXPECT_EQ(report.measurements, 6U);
    EXPECT_EQ(report.ignored, 2U);
    EXPECT_EQ(lab.sink.ids, (std::vector<SeriesId>{0, 1, 2, 3, 4, 5}));
  }
}

// Lines that come, go and change places must give what a reader that never saw another scrape would give.
TEST(MetricSamples, FollowsChangesOfTheLayout) {
  const auto line = [](const char* name, int port, int value) {
    return fmt::format("{}{{device=\"mlx5_0\",port=\"{}\"}} {}\n", name, port, value);
  };
  const char* const names[] = {"node_infiniband_link_downed_total", "node_load1", "node_infiniband_symbol_error_total",
                               "node_cpu", "node_infiniband_state_id"};
  std::vector<std::string> texts;
  for (int variant = 0; variant < 40; ++variant) {
    std::string text = "# HELP x y\n";
    for (int i = 0; i < 25; ++i) {
      const int shifted = variant % 3 == 1 ? (i * 7 + variant) % 25 : i;
      if ((shifted + variant) % 11 == 3) continue;
      text += line(names[shifted % 5], shifted / 5, i + variant);
      if ((shifted + variant) % 13 == 5) text += line(names[shifted % 5], 100 + variant, i);
      if (shifted == 17 && variant % 4 == 0) text += "damaged{\n";
    }
    texts.push_back(std::move(text));
  }
  Lab lab;
  const TargetId target = lab.add("a", "n1");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Moment now = at(static_cast<std::int64_t>(i));
    Lab fresh;
    const ReadReport expected = fresh.reader.read(fresh.add("a", "n1"), texts[i], now, fresh.sink);
    const ReadReport report = lab.reader.read(target, texts[i], now, lab.sink);
    EXPECT_EQ(lab.sink.take(), fresh.sink.take()) << i;
    EXPECT_EQ(report.ignored, expected.ignored);
    EXPECT_EQ(report.damaged, expected.damaged);
  }
}

std::string xid(std::string_view code, std::string_view labels = "") {
  return fmt::format("DCGM_FI_DEV_XID_ERRORS{{gpu=\"0\",pci_bus_id=\"00000000:3B:00.0\",Hostname=\"n1\"{}}} {}\n",
                     labels, code);
}

TEST(MetricSamples, ReportsXidsWhenTheyChange) {
  Lab lab;
  const TargetId target = lab.add("a");
  const auto read = [&](std::int64_t second, const std::string& text) {
    (void)lab.reader.read(target, text, at(second), lab.sink);
    return lab.sink.take();
  };
  EXPECT_EQ(read(0, xid("0", ",err_code=\"0\"")), Lines{});
  EXPECT_EQ(read(15, xid("79", ",err_code=\"79\"")), Lines{"! xid:79 n1 GPU 0000:3b:00 @15"});
  EXPECT_EQ(read(30, xid("79", ",err_code=\"79\"")), Lines{});
  EXPECT_EQ(read(45, xid("79", ",err_code=\"79\",pod=\"other\"")), Lines{});
  EXPECT_EQ(read(60, "\n"), Lines{});
  EXPECT_EQ(read(75, xid("79")), Lines{});
  EXPECT_EQ(read(90, xid("63")), Lines{"! xid:63 n1 GPU 0000:3b:00 @90"});
  EXPECT_EQ(read(105, xid("0")), Lines{});
  EXPECT_EQ(read(120, xid("63")), Lines{"! xid:63 n1 GPU 0000:3b:00 @120"});
  // A GPU that appears with a code.
  EXPECT_EQ(read(135, "DCGM_FI_DEV_XID_ERROR{gpu=\"1\",hostname=\"n1\"} 31\n"), Lines{"! xid:31 n1 GPU 1 @135"});
  EXPECT_EQ(lab.sink.events.back().text, "DCGM_FI_DEV_XID_ERROR 31");
  EXPECT_EQ(lab.sink.events.back().source, SignalSource::gpu);
  EXPECT_EQ(read(150, "DCGM_FI_DEV_SXID_FATAL_ERROR{nvswitch=\"0\",hostname=\"n1\"} 20034\n"),
            Lines{"! sxid:20034 n1 NVSwitch 0 @150 severity"});
  EXPECT_EQ(lab.sink.events.back().detail("severity"), "fatal");
}

TEST(MetricSamples, ReportsTheFirstXidUnlessTold) {
  Lab lab;
  (void)lab.reader.read(lab.add("a"), xid("79"), at(15), lab.sink);
  EXPECT_EQ(lab.sink.take(), Lines{"! xid:79 n1 GPU 0000:3b:00 @15 first_scrape"});
  Lab quiet(MetricSettings{false, {}});
  const TargetId target = quiet.add("a");
  (void)quiet.reader.read(target, "", at(0), quiet.sink);  // an exporter that does not answer was not read
  (void)quiet.reader.read(target, xid("79"), at(15), quiet.sink);
  EXPECT_EQ(quiet.sink.take(), Lines{});
  (void)quiet.reader.read(target, xid("48"), at(30), quiet.sink);
  EXPECT_EQ(quiet.sink.take(), Lines{"! xid:48 n1 GPU 0000:3b:00 @30"});
}

TEST(MetricSamples, RefusesCodesThatAreNone) {
  Lab lab;
  const TargetId target = lab.add("a");
  for (const char* const bad : {"-1", "1.5", "1e10", "NaN", "9223372036854775792"}) {
    const ReadReport report = lab.reader.read(target, xid(bad), at(15), lab.sink);
    EXPECT_EQ(report.absent, 1U) << bad;
  }
  EXPECT_EQ(lab.sink.take(), Lines{});
}

// dcgm-exporter repeats a GPU's line for each of its MIG instances, and for each container that shares it.
TEST(MetricSamples, TakesASeriesOncePerScrape) {
  Lab lab;
  const TargetId target = lab.add("a");
  const std::string text =
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",GPU_I_ID=\"3\",Hostname=\"n1\"} 60\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",GPU_I_ID=\"5\",Hostname=\"n1\"} 61\n";
  for (int round = 1; round < 4; ++round) {
    const ReadReport report = lab.reader.read(target, text, at(round), lab.sink);
    EXPECT_EQ(report.duplicates, 1U);
    EXPECT_EQ(lab.sink.take(), Lines{fmt::format("dcgm:gpu_temp n1 GPU 0 60 @{}", round)});
  }
}

TEST(MetricSamples, KeepsTimestampsButNotTheFuture) {
  Lab lab;
  const TargetId target = lab.add("a", "n1");
  const auto read = [&](std::int64_t second, std::string_view text) {
    (void)lab.reader.read(target, text, at(second), lab.sink);
    return lab.sink.take();
  };
  EXPECT_EQ(read(100, "node_boot_time_seconds 1 90000\n"), Lines{"host:boot_time n1  1 @90"});
  EXPECT_EQ(read(115, "node_boot_time_seconds 1 90000\n"), Lines{});  // nothing new
  EXPECT_EQ(read(130, "node_boot_time_seconds 2 999000\n"), Lines{"host:boot_time n1  2 @130"});
  EXPECT_EQ(read(145, "node_boot_time_seconds 3 144.5\n# EOF\n"), Lines{"host:boot_time n1  3 @144.5"});
  EXPECT_EQ(read(160, "node_boot_time_seconds 4\n"), Lines{"host:boot_time n1  4 @160"});
  EXPECT_EQ(read(150, "node_boot_time_seconds 5\n"), Lines{"host:boot_time n1  5 @150"});  // the clock was set back
}

TEST(MetricSamples, NamesTheTargetOfAnError) {
  Lab lab;
  const TargetId target = lab.add("10.0.0.1:9100", "n1");
  const ReadReport report =
      lab.reader.read(target, "node_boot_time_seconds 1\nnode_x{ 1\nnode_y x\nnode_z 1", at(1), lab.sink);
  EXPECT_EQ(report.damaged, 3U);
  EXPECT_FALSE(report.complete);
  ASSERT_TRUE(report.error.has_value());
  EXPECT_EQ(report.error->text(), "10.0.0.1:9100:2: a label has no valid name");
  EXPECT_FALSE(lab.reader.add_target("10.0.0.1:9100").ok());
}

TEST(MetricSamples, LeavesOutWhatIsBeyondLimits) {
  MetricSettings settings;
  settings.limits.targets = 2;
  settings.limits.series = 5;
  settings.limits.series_per_target = 3;
  settings.limits.lines_per_target = 8;
  settings.limits.label_bytes = 60;
  settings.limits.names_per_target = 2;
  Lab lab(settings);
  const TargetId a = lab.add("a", "n1");
  const TargetId b = lab.add("b", "n2");
  const Result<TargetId> third = lab.reader.add_target("c");
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().text(), "c: more than 2 targets");
  const auto ports = [](int first, int last) {
    std::string text;
    for (int i = first; i < last; ++i) text += fmt::format("node_network_up{{device=\"eth{}\"}} 1\n", i);
    return text;
  };
  for (int round = 0; round < 2; ++round) {
    const ReadReport report = lab.reader.read(a, ports(0, 5), at(round), lab.sink);
    EXPECT_EQ(report.measurements, 3U);
    EXPECT_EQ(report.left_out, 2U);
    EXPECT_EQ(report.error->text(), "a:4: more than 3 series");
  }
  EXPECT_EQ(lab.reader.read(b, ports(0, 3), at(0), lab.sink).error->text(), "b:3: more than 5 series of all targets");
  EXPECT_EQ(lab.reader.read(b, ports(0, 9), at(1), lab.sink).error->text(), "b:3: more than 5 series of all targets");
  EXPECT_EQ(lab.reader.read(b, "x 1\ny 1\nz 1\n", at(2), lab.sink).error->text(), "b:3: more than 2 names of metrics");
  const std::string labels = "node_network_up{device=\"" + std::string(60, 'y') + "\"} 1\n";
  EXPECT_EQ(lab.reader.read(b, labels, at(3), lab.sink).error->text(),
            "b:1: a sample has more than 60 bytes of labels");
  std::string many;
  for (int i = 0; i < 20; ++i) many += "x 1\n";
  EXPECT_EQ(lab.reader.read(b, many, at(4), lab.sink).error->text(), "b:9: more than 8 samples");
}

TEST(MetricSamples, ForgetsLabelsThatWentAway) {
  MetricSettings settings;
  settings.limits.label_bytes_per_target = 200;
  Lab lab(settings);
  const TargetId target = lab.add("a");
  for (int round = 0; round < 1000; ++round) {
    const std::string text = fmt::format("DCGM_FI_DEV_GPU_TEMP{{gpu=\"0\",Hostname=\"n1\",pod=\"p{}\"}} 60\n", round);
    EXPECT_EQ(lab.reader.read(target, text, at(round), lab.sink).measurements, 1U);
  }
  EXPECT_EQ(lab.reader.series_count(), 1U);
}

}  // namespace
}  // namespace weft::health

// Metrics of a large cluster: rounds of scrapes of 2,048 targets, each with 8 GPUs of 40 metrics as dcgm-exporter
// writes them on Kubernetes and 60 lines of node_exporter, read as the health engine does. Prints throughput, processor
// time per round and as a share of one core at a round per 15 s, and memory per series, beside what the same bytes cost
// at least: finding their line feeds (memchr) and copying them (memcpy). Usage: health_bench [TARGETS [ROUNDS
// [FOLDER]]]; with a folder, writes one text per target there (for health_vs_prometheus.py) and measures nothing.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "health/intake/metric_feed.h"
#include "health/readers/exposition.h"
#include "health/readers/metric_samples.h"

namespace {

using namespace weft;
using namespace weft::health;

constexpr int kGpus = 8;
constexpr double kInterval = 15;  // seconds between two rounds

// Of the default list of dcgm-exporter, and what a list for health adds.
constexpr const char* kGpuMetrics[] = {"DCGM_FI_DEV_SM_CLOCK",
                                       "DCGM_FI_DEV_MEM_CLOCK",
                                       "DCGM_FI_DEV_MEMORY_TEMP",
                                       "DCGM_FI_DEV_GPU_TEMP",
                                       "DCGM_FI_DEV_POWER_USAGE",
                                       "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
                                       "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
                                       "DCGM_FI_DEV_GPU_UTIL",
                                       "DCGM_FI_DEV_MEM_COPY_UTIL",
                                       "DCGM_FI_DEV_ENC_UTIL",
                                       "DCGM_FI_DEV_DEC_UTIL",
                                       "DCGM_FI_DEV_XID_ERRORS",
                                       "DCGM_FI_DEV_FB_FREE",
                                       "DCGM_FI_DEV_FB_USED",
                                       "DCGM_FI_DEV_FB_RESERVED",
                                       "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",
                                       "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
                                       "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL",
                                       "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
                                       "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
                                       "DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
                                       "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
                                       "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
                                       "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
                                       "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS",
                                       "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS",
                                       "DCGM_FI_DEV_ROW_REMAP_FAILURE",
                                       "DCGM_FI_DEV_ROW_REMAP_PENDING",
                                       "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
                                       "DCGM_FI_DEV_GPU_TEMP_LIMIT",
                                       "DCGM_FI_DEV_PCIE_LINK_GEN",
                                       "DCGM_FI_DEV_PCIE_LINK_WIDTH",
                                       "DCGM_FI_DEV_POWER_VIOLATION",
                                       "DCGM_FI_DEV_THERMAL_VIOLATION",
                                       "DCGM_FI_DEV_FABRIC_MANAGER_STATUS",
                                       "DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION",
                                       "DCGM_FI_PROF_SM_ACTIVE",
                                       "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
                                       "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                                       "DCGM_FI_PROF_DRAM_ACTIVE"};

constexpr const char* kPortMetrics[] = {"node_infiniband_link_downed_total",
                                        "node_infiniband_symbol_error_total",
                                        "node_infiniband_link_error_recovery_total",
                                        "node_infiniband_port_errors_received_total",
                                        "node_infiniband_port_discards_transmitted_total",
                                        "node_infiniband_state_id"};

void append_metric(std::string& text, std::string_view name) {
  append_format(text, "# HELP {} What dcgm-exporter says about it.\n# TYPE {} gauge\n", name, name);
}

std::string value_of(std::string_view metric, int target, int part, int round) {
  const int seed = target * 31 + part * 7 + round;
  if (contains(metric, "PROF")) return fmt::format("0.{:06}", (seed * 7919) % 1'000'000);
  if (metric == "DCGM_FI_DEV_POWER_USAGE") return fmt::format("{}.{:03}000", 400 + seed % 300, seed % 1000);
  if (contains(metric, "ENERGY")) return fmt::format("{}", 319'159'391'000LL + seed * 1'000'003LL);
  if (metric == "node_infiniband_state_id") return "4";           // active
  if (metric == "DCGM_FI_DEV_FABRIC_MANAGER_STATUS") return "3";  // completed
  // Counters of errors stand still on a healthy node.
  const bool error = metric.starts_with("node_infiniband") && !contains(metric, "data");
  for (const char* const word :
       {"XID", "REMAP", "ERROR", "ECC", "REPLAY", "VIOLATION", "REASONS", "RETIRED", "RECOVERY"}) {
    if (error || contains(metric, word)) return "0";
  }
  return fmt::format("{}", 20 + seed % 70);
}

std::string scrape_of(int target, int round) {
  std::string text;
  std::string labels[kGpus];
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    labels[gpu] = fmt::format(
        "{{gpu=\"{0}\",UUID=\"GPU-604ac76c-d9cf-fef3-{1:04x}-d92044ab6e5{0}\",pci_bus_id=\"00000000:{2:02X}:00.0\","
        "device=\"nvidia{0}\",modelName=\"NVIDIA H100 80GB HBM3\",Hostname=\"gpu-{1:04}\","
        "DCGM_FI_DRIVER_VERSION=\"535.129.03\",container=\"trainer\",namespace=\"team-a\",pod=\"llama-worker-{1}\"}}",
        gpu, target, 0x1B + 16 * gpu);
  }
  for (const char* const metric : kGpuMetrics) {
    append_metric(text, metric);
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      append_format(text, "{}{} {}\n", metric, labels[gpu], value_of(metric, target, gpu, round));
    }
  }
  for (const char* const metric : kPortMetrics) {
    append_metric(text, metric);
    for (int port = 0; port < kGpus; ++port) {
      append_format(text, "{}{{device=\"mlx5_{}\",port=\"1\"}} {}\n", metric, port,
                    value_of(metric, target, port, round));
    }
  }
  for (int cpu = 0; cpu < 12; ++cpu) {
    append_format(text, "node_cpu_seconds_total{{cpu=\"{}\",mode=\"idle\"}} {}.{:02}\n", cpu, 100'000 + round, cpu);
  }
  return text;
}

double processor_seconds() {
  rusage usage{};
  CHECK(::getrusage(RUSAGE_SELF, &usage) == 0, "getrusage failed");
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double measure(const std::function<void()>& work) {
  const double began = processor_seconds();
  work();
  return processor_seconds() - began;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0;
  double resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

class Total : public MetricSink {
 public:
  void measure(SeriesId, double value, sched::Moment) override { sum += value; }
  void report(Signal) override { ++events; }
  double sum = 0;
  std::size_t events = 0;
};

struct Round {
  std::vector<std::string> texts;
  double bytes = 0;
  double lines = 0;
};

Round make_round(int targets, int number) {
  Round round;
  for (int i = 0; i < targets; ++i) {
    round.texts.push_back(scrape_of(i, number));
    round.bytes += static_cast<double>(round.texts.back().size());
  }
  return round;
}

std::size_t count_lines(const std::string& text) {
  std::size_t lines = 0;
  const char* p = text.data();
  const char* const end = p + text.size();
  while ((p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)))) != nullptr) {
    ++lines;
    ++p;
  }
  return lines;
}

void print_row(const char* name, const Round& round, double samples, double seconds, double least) {
  fmt::print("{:<34} {:>9.3f} {:>9.0f} {:>11.2f} {:>9.2f} {:>9.1f}\n", name, seconds, round.bytes / seconds / 1e6,
             samples / seconds / 1e6, 100 * seconds / kInterval, seconds / least);
}

double parse_all(const Round& round, double& samples) {
  return measure([&] {
    for (const std::string& text : round.texts) {
      ExpositionReader reader(text);
      while (reader.next() == ExpositionReader::Item::sample) samples += 1;
    }
  });
}

void compare(int targets, int rounds) {
  MetricReader reader;
  MetricReader judged_reader;
  std::vector<std::string> names;
  Total total;
  std::vector<TargetId> ids;
  for (int i = 0; i < targets; ++i) {
    const std::string address = fmt::format("10.{}.{}.1:9400", i / 256, i % 256);
    names.push_back(fmt::format("gpu-{:04}", i));
    const Result<TargetId> added = reader.add_target(address, names.back());
    const Result<TargetId> judged = judged_reader.add_target(address, names.back());
    CHECK(added.ok() && judged.ok(), "too many targets");
    ids.push_back(*added);
  }
  Monitor monitor(std::make_shared<Rules>(default_rules()), names);
  MetricFeed feed(judged_reader, monitor, [](std::string_view name) {
    return std::optional<NodeIndex>(static_cast<NodeIndex>(std::atoi(name.data() + 4)));
  });
  Round round = make_round(targets, 0);
  fmt::print("{} targets, {:.1f} MB per round\n\n{:<34} {:>9} {:>9} {:>11} {:>9} {:>9}\n", targets, round.bytes / 1e6,
             "", "CPU s", "MB/s", "Msamples/s", "% core", "x memchr");
  for (int number = 0; number < rounds; ++number) {
    if (number > 0) round = make_round(targets, number);
    const sched::Moment now = sched::Moment() + sched::seconds(15 * (number + 1));
    std::size_t lines = 0;
    const double least = measure([&] {
      for (const std::string& text : round.texts) lines += count_lines(text);
    });
    std::string copy(1 << 20, '\0');
    const double copied = measure([&] {
      for (const std::string& text : round.texts) std::memcpy(copy.data(), text.data(), text.size());
    });
    double parsed = 0;
    const double parsing = parse_all(round, parsed);
    ::malloc_trim(0);
    const double before = resident_bytes();
    std::size_t measurements = 0;
    const double reading = measure([&] {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const ReadReport report = reader.read(ids[i], round.texts[i], now, total);
        CHECK(!report.error, "a scrape is damaged");
        measurements += report.measurements;
      }
    });
    fmt::print("round {}: {} lines, {} samples, {} measurements\n", number, lines, parsed, measurements);
    print_row("  memchr of line feeds", round, parsed, least, least);
    print_row("  memcpy", round, parsed, copied, least);
    print_row("  parse every line", round, parsed, parsing, least);
    print_row(number == 0 ? "  MetricReader, first scrape" : "  MetricReader", round, parsed, reading, least);
    ::malloc_trim(0);
    const auto series = static_cast<double>(reader.series_count());
    if (number == 0) {
      fmt::print("  {:.0f} series, {:.1f} MB resident: {:.1f} bytes per series\n", series,
                 (resident_bytes() - before) / 1e6, (resident_bytes() - before) / series);
    }
    const double without = resident_bytes();
    const double judging = measure([&] {
      for (std::size_t i = 0; i < ids.size(); ++i) feed.read(ids[i], round.texts[i], now);
      for (int second = 0; second < kInterval; ++second) monitor.advance(now + sched::seconds(second));
    });
    print_row("  read, judge, 15 looks at the time", round, parsed, judging, least);
    ::malloc_trim(0);
    if (number == 0) fmt::print("  reader and monitor: {:.1f} MB resident\n", (resident_bytes() - without) / 1e6);
    for (NodeIndex i = 0; i < monitor.node_count(); ++i)
      CHECK(monitor.health(i).state == HealthState::healthy, monitor.health(i).reason.c_str());
  }
  CHECK(total.sum > 0, "nothing was measured");
}

}  // namespace

int main(int count, char** arguments) {
  const int targets = count > 1 ? std::atoi(arguments[1]) : 2048;
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 4;
  if (count > 3) {
    for (int i = 0; i < targets; ++i) {
      for (int round = 0; round < rounds; ++round) {
        std::ofstream(fmt::format("{}/{}-{}", arguments[3], i, round)) << scrape_of(i, round);
      }
    }
    return 0;
  }
  compare(targets, rounds);
  return 0;
}

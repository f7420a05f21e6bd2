// How long a cluster file takes to compile, and how much memory that needs, at three sizes. Times are also printed as
// nanoseconds per cable: a flat figure means linear cost.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "design/views.h"
#include "model/load.h"

namespace {

using namespace weft;

std::string cluster_text(std::int64_t servers) {
  return fmt::format(
      "weft: 1\nname: bench\nsite: {{switches: row, row_length: 24, rack_power: 60kW}}\npools:\n"
      "  - {{name: train, server: hgx-h100, count: {}, per_rack: 4}}\n"
      "  - {{name: infra, role: infrastructure, server: control-1u, count: 3}}\n"
      "  - {{name: store, role: storage, server: storage-400g-2u, count: {}, per_rack: 16}}\n"
      "fabrics:\n  backend: {{leaf: sn5600}}\n  storage: {{leaf: sn5600, oversubscription: 2:1}}\n"
      "  frontend: {{leaf: sn5400, subnets: [10.20.0.0/16]}}\n  oob: {{spine: nexus-9364c-gx}}\n",
      servers, std::max<std::int64_t>(4, servers / 20));
}

struct Measurement {
  double load_ms = 0;     // median of five: read, resolve, compile
  double summary_ms = 0;  // the summary view alone
  std::uint64_t gpus = 0;
  std::uint64_t cables = 0;
  long peak_kib = 0;
};

Measurement measure(std::int64_t servers) {
  using Clock = std::chrono::steady_clock;
  const std::string text = cluster_text(servers);
  Measurement out;
  std::vector<double> times;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    const auto loaded = weft::model::load_cluster_text("bench.yaml", text);
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (!loaded->cluster) {
      fmt::print(stderr, "{}", weft::render_all(loaded->diagnostics, loaded->sources, false));
      return {};
    }
    const auto before = Clock::now();
    const weft::Document document = weft::design::summary_view(*loaded->cluster);
    out.summary_ms = std::chrono::duration<double, std::milli>(Clock::now() - before).count();
    out.gpus = loaded->cluster->gpu_count();
    out.cables = loaded->cluster->cables().size();
    if (document.sections.empty()) return {};
  }
  std::sort(times.begin(), times.end());
  out.load_ms = times[2];
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.peak_kib = usage.ru_maxrss;
  return out;
}

// In a separate process, so that one size's peak memory does not count for the next.
Measurement measure_apart(std::int64_t servers) {
  int ends[2];
  Measurement out;
  if (pipe(ends) != 0) return out;
  const pid_t child = fork();
  if (child == 0) {
    const Measurement mine = measure(servers);
    const bool sent = write(ends[1], &mine, sizeof mine) == static_cast<ssize_t>(sizeof mine);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &out, sizeof out) != static_cast<ssize_t>(sizeof out)) out = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return out;
}

}  // namespace

int main() {
  fmt::print("{:>8} {:>8} {:>9} {:>10} {:>11} {:>13} {:>10} {:>12}\n", "GPUs", "servers", "cables", "load (ms)",
             "summary (ms)", "load/cable (ns)", "peak (MiB)", "KiB/cable");
  for (const std::int64_t servers : {125, 1250, 12500}) {
    const Measurement m = measure_apart(servers);
    if (m.cables == 0) return 1;
    fmt::print("{:>8} {:>8} {:>9} {:>10.1f} {:>11.2f} {:>13.0f} {:>10.1f} {:>12.2f}\n", m.gpus, servers, m.cables,
               m.load_ms, m.summary_ms, m.load_ms * 1e6 / static_cast<double>(m.cables),
               static_cast<double>(m.peak_kib) / 1024, static_cast<double>(m.peak_kib) / static_cast<double>(m.cables));
  }
  return 0;
}

// How long all rules take on a compiled cluster, at three sizes, and which rules take most of it. Times are also
// printed as nanoseconds per cable and as a multiple of the compile time: a flat figure means linear cost.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "check/core/checker.h"
#include "model/load.h"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

std::string cluster_text(std::int64_t servers) {
  return fmt::format(
      "weft: 1\nname: bench\nsite: {{switches: row, row_length: 24, rack_power: 60kW}}\npools:\n"
      "  - {{name: train, server: hgx-h100, count: {}, per_rack: 4}}\n"
      "  - {{name: infra, role: infrastructure, server: control-1u, count: 3}}\n"
      "  - {{name: jump, role: jump, server: jump-1u, count: 2}}\n"
      "  - {{name: store, role: storage, server: storage-400g-2u, count: {}, per_rack: 16}}\n"
      "fabrics:\n  backend: {{leaf: sn5600}}\n  storage: {{leaf: sn5600, oversubscription: 2:1}}\n"
      "  frontend: {{leaf: sn5400, subnets: [10.20.0.0/16]}}\n  oob: {{spine: nexus-9364c-gx}}\n",
      servers, std::max<std::int64_t>(4, servers / 20));
}

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Timed {
  std::string id;
  double ms = 0;
};

std::vector<Timed> slowest(const weft::check::CheckInput& input) {
  std::vector<Timed> times;
  for (const weft::check::Rule& rule : weft::check::all_rules()) {
    weft::check::CheckOptions options;
    options.only = {std::string(rule.id)};
    const auto start = Clock::now();
    const weft::check::CheckResult result = weft::check::run_checks(input, options);
    times.push_back({std::string(rule.id), ms_since(start)});
    if (result.rules_run > 1) return {};
  }
  std::sort(times.begin(), times.end(), [](const Timed& a, const Timed& b) { return a.ms > b.ms; });
  times.resize(std::min<std::size_t>(times.size(), 5));
  return times;
}

}  // namespace

int main() {
  fmt::print("{:>8} {:>8} {:>9} {:>10} {:>11} {:>13} {:>16} {:>9}  {}\n", "GPUs", "servers", "cables", "load (ms)",
             "check (ms)", "check : load", "check/cable (ns)", "findings", "slowest rules on a warm input");
  for (const std::int64_t servers : {125, 1250, 12500}) {
    const auto start = Clock::now();
    const auto loaded = weft::model::load_cluster_text("bench.yaml", cluster_text(servers));
    const double load = ms_since(start);
    if (!loaded->cluster) {
      fmt::print(stderr, "{}", weft::render_all(loaded->diagnostics, loaded->sources, false));
      return 1;
    }
    const weft::config::ConfigSet config;
    const weft::check::CheckInput input(loaded->cluster.get(), config, loaded->sources, false);
    const auto before = Clock::now();
    const weft::check::CheckResult result = weft::check::run_checks(input, {});
    const double check = ms_since(before);
    std::string slow;
    for (const Timed& rule : slowest(input)) slow += fmt::format("{} {:.0f} ms  ", rule.id, rule.ms);
    const auto cables = static_cast<double>(loaded->cluster->cables().size());
    fmt::print("{:>8} {:>8} {:>9} {:>10.1f} {:>11.1f} {:>13.2f} {:>16.0f} {:>9}  {}\n", loaded->cluster->gpu_count(),
               servers, loaded->cluster->cables().size(), load, check, check / load, check * 1e6 / cables,
               result.findings.size(), slow);
  }
  return 0;
}

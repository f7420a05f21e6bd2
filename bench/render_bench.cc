// How long it takes to render every target, at three sizes, without writing to disk: nanoseconds per byte; a flat
// figure means linear cost. Memory is the peak above the compiled cluster's.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/hash.h"
#include "model/load.h"
#include "render/core/target.h"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

std::string cluster_text(std::int64_t servers) {
  return fmt::format(
      "weft: 1\nname: bench\nsite: {{switches: row, row_length: 24, rack_power: 60kW}}\npools:\n"
      "  - {{name: train, server: hgx-h100, count: {}, per_rack: 4}}\n"
      "  - {{name: infra, role: infrastructure, server: control-1u, count: 3}}\n"
      "  - {{name: store, role: storage, server: storage-400g-2u, count: {}, per_rack: 16}}\n"
      "  - {{name: jump, role: jump, server: jump-1u, count: 2}}\n"
      "fabrics:\n  backend: {{leaf: sn5600, system: sonic}}\n"
      "  storage: {{leaf: sn5600, system: sonic, oversubscription: 2:1}}\n"
      "  frontend: {{leaf: sn5400, system: sonic, subnets: [10.20.0.0/16]}}\n  oob: {{spine: nexus-9364c-gx}}\n"
      "control_plane: {{kind: both, pool: infra}}\n",
      servers, std::max<std::int64_t>(4, servers / 20));
}

// Hashes its input, as the manifest does, and discards it.
class CountingSink : public weft::render::FileSink {
 public:
  void add(weft::render::RenderedFile file) override {
    ++files;
    bytes += file.content.size();
    digest = weft::sha256(digest + file.path + weft::sha256(file.content));
  }
  void note(std::string /*text*/) override {}

  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::string digest;
};

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void measure(std::int64_t servers) {
  const auto loaded = weft::model::load_cluster_text("bench.yaml", cluster_text(servers));
  if (!loaded->cluster) {
    fmt::print(stderr, "{}", weft::render_all(loaded->diagnostics, loaded->sources, false));
    return;
  }
  const long before = peak_kib();
  std::string first;
  for (const bool again : {false, true}) {
    const auto start = Clock::now();
    const weft::render::RenderPlan plan(*loaded->cluster);
    const weft::render::RenderOptions options;
    const weft::render::RenderInput input{*loaded->cluster, plan, options, {}};
    CountingSink all;
    for (const weft::render::RenderTarget& target : weft::render::all_targets()) {
      if (!target.applies(input)) continue;
      const auto began = Clock::now();
      CountingSink sink;
      target.render(input, sink);
      const double ms = std::chrono::duration<double, std::milli>(Clock::now() - began).count();
      if (!again && servers > 10'000) {
        fmt::print("    {:22} {:8} files {:12} bytes {:10.0f} ms\n", target.name, sink.files, sink.bytes, ms);
      }
      all.files += sink.files;
      all.bytes += sink.bytes;
      all.digest += sink.digest;
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (!again) {
      first = all.digest;
      fmt::print("{:8} GPUs  {:7} files  {:8.1f} MB  {:7.2f} s  {:5.1f} ns/byte  {:6} MiB above the cluster\n",
                 loaded->cluster->gpu_count(), all.files, static_cast<double>(all.bytes) / 1e6, seconds,
                 seconds * 1e9 / static_cast<double>(std::max<std::uint64_t>(1, all.bytes)),
                 (peak_kib() - before) / 1024);
    } else if (first != all.digest) {
      fmt::print("    NOT the same bytes the second time\n");
    }
  }
}

}  // namespace

int main() {
  for (const std::int64_t servers : {125, 1'250, 12'500}) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      measure(servers);
      std::fflush(stdout);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  return 0;
}

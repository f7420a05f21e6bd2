#include "workload/storage/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft::workload {
namespace {

// Keys that are counts: rounded up.
std::string value_text(double value) { return fmt::format("{}", static_cast<std::int64_t>(std::ceil(value - 1e-9))); }

}  // namespace

double pcie_rate(const model::GpuModel* gpu) {
  const double generation =
      gpu != nullptr && gpu->pcie_generation.has_value() ? static_cast<double>(*gpu->pcie_generation) : 5.0;
  const double lanes = gpu != nullptr && gpu->pcie_lanes.has_value() ? static_cast<double>(*gpu->pcie_lanes) : 16.0;
  return 63.0e9 * std::exp2(generation - 5) * lanes / 16;
}

void Limits::add(std::string what, double rate, std::string key, double value) {
  if (rate <= 0) return;
  limits_.push_back({std::move(what), rate, std::move(key), value, {}});
}

void Limits::add(std::string what, double rate, std::string remedy) {
  if (rate <= 0) return;
  limits_.push_back({std::move(what), rate, {}, 0, std::move(remedy)});
}

double Limits::least() const {
  double least = INFINITY;
  for (const Limit& limit : limits_) least = std::min(least, limit.rate);
  return least;
}

std::vector<IoLimit> Limits::finish() const {
  std::vector<Limit> sorted = limits_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Limit& a, const Limit& b) { return a.rate < b.rate; });
  std::vector<IoLimit> result;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Limit& limit = sorted[i];
    IoLimit out{limit.what, byte_rate(limit.rate), limit.remedy};
    if (!limit.key.empty()) {
      // Up to the next limit that is at least 5 % away, but at most four times: larger changes are unrealistic in one
      // step.
      double factor = 2;
      for (std::size_t j = i + 1; j < sorted.size(); ++j) {
        if (sorted[j].rate < 1.05 * limit.rate) continue;
        factor = std::min(4.0, sorted[j].rate / limit.rate);
        break;
      }
      out.remedy = fmt::format("{}: {}", limit.key, value_text(limit.value * factor));
    }
    result.push_back(std::move(out));
  }
  return result;
}

std::string system_key(const StoragePath& path, std::string_view key) {
  return fmt::format("storage.{}.{}", path.system->name->text, key);
}

namespace {

void add_drives(const StoragePath& path, bool write, double copies, std::size_t clients, Limits& limits) {
  const double rate = (write ? path.write : path.read) / copies;
  const bool stated = write ? path.write_stated : path.read_stated;
  const std::string_view verb = write ? "written" : "read";
  if (path.local) {
    const double part =
        static_cast<double>(clients) / static_cast<double>(std::max<std::size_t>(1, path.servers.size()));
    limits.add("local drives", rate * part, "servers with more local drives");
    return;
  }
  if (stated) {
    limits.add(fmt::format("stated rate of `{}`, {}", path.system->name->text, verb), rate,
               fmt::format("{}: {:.0f}GB/s", system_key(path, write ? "write" : "read"), 2 * rate / 1e9));
    return;
  }
  limits.add(fmt::format("drives and controllers of pool `{}`, {}", path.pool, verb), rate,
             fmt::format("pools.{}.count", path.pool), static_cast<double>(path.servers.size()));
}

}  // namespace

void add_path_limits(const StoragePath& path, bool write, double copies, std::size_t clients, Limits& limits) {
  add_drives(path, write, copies, clients, limits);
  if (path.local) return;
  const std::string_view fabric = model::to_text(path.fabric);
  const auto servers = static_cast<double>(path.servers.size());
  limits.add(fmt::format("{} links of pool `{}`", fabric, path.pool), path.server_links / copies,
             fmt::format("pools.{}.count", path.pool), servers);
  if (path.uplinks) {
    limits.add(fmt::format("uplinks of {} leaves", fabric), *path.uplinks, path.uplink_remedy);
  }
  const double all = path.client_links;
  const double part = path.gateways ? all
                                    : all * static_cast<double>(clients) /
                                          static_cast<double>(std::max<std::size_t>(1, path.clients.size()));
  if (path.gateways) {
    limits.add(fmt::format("{} links of head nodes (pool `{}`)", fabric, path.client_pool), part,
               fmt::format("pools.{}.count", path.client_pool), static_cast<double>(path.clients.size()));
  } else {
    limits.add(fmt::format("{} links of pool `{}`", fabric, path.client_pool), part, path.client_remedy);
  }
  if (path.tcp) {
    const auto takers = static_cast<double>(path.gateways ? path.clients.size() : clients);
    limits.add("kernel sockets (42 Gb/s per connection)",
               takers * static_cast<double>(connections_of(path)) * kTcpConnection,
               *path.system->kind == model::StorageKind::object ? "more connections per loader"
                                                                : "RDMA instead of TCP on the storage fabric");
  }
}

// T targets, n random placements: T (1 - (1 - 1/T)^n) of them are hit.
void add_stripe_limit(const StoragePath& path, bool write, double open_files, double stripes, const std::string& key,
                      double value, Limits& limits) {
  if (path.local) return;
  const double whole = write ? path.write : path.read;
  const auto targets = static_cast<double>(path.targets);
  if (whole <= 0 || targets <= 1) return;
  const double busy = std::min(targets, -targets * std::expm1(open_files * stripes * std::log1p(-1 / targets)));
  if (busy > 0.995 * targets) return;
  limits.add(
      fmt::format("stripes: {:.0f} concurrent files on {:.0f} of {} targets each", open_files, stripes, path.targets),
      whole * busy / targets, key, value);
}

model::ByteRate byte_rate(double bytes_per_second) {
  return model::ByteRate{Bytes(static_cast<std::int64_t>(std::llround(std::clamp(bytes_per_second, 0.0, 9e18))))};
}

SimTime sim_time(double seconds) {
  return SimTime(static_cast<std::int64_t>(std::llround(std::clamp(seconds * 1e12, 0.0, 9e18))));
}

}  // namespace weft::workload

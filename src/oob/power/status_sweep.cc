#include "oob/power/status_sweep.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace weft::oob {
namespace {

class Sweep {
 public:
  Sweep(const Fleet& fleet, const StatusOptions& options) : fleet_(fleet), options_(options) {}

  FanOutResult run(std::span<const std::uint32_t> targets, std::vector<DeviceStatus>& devices,
                   const std::function<void(std::uint32_t)>& progress) {
    devices.resize(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) devices[i].target = targets[i];
    return fan_out(
        static_cast<std::uint32_t>(targets.size()), fleet_.width, fleet_.clock,
        [&](std::uint32_t i) { ask(devices[i]); }, progress);
  }

 private:
  void ask(DeviceStatus& device) {
    const Target& target = fleet_.inventory.targets()[device.target];
    if (target.endpoint.protocol == Protocol::none) return;
    device.asked = true;
    RandomStream random(options_.seed, target.name);
    for (int attempt = 0; attempt <= options_.retries; ++attempt) {
      if (attempt > 0) {
        const std::int64_t wait = options_.retry_wait.count();
        if (!fleet_.clock.sleep(Duration(wait / 2 + random.between(0, wait / 2)))) return;
      }
      const Duration began = fleet_.clock.now();
      const std::optional<ErrorCode> failed = try_once(device);
      device.latency = fleet_.clock.now() - began;
      device.spent += device.latency;
      ++device.attempts;
      // A wrong password stays wrong, and accounts are locked after a few attempts.
      if (!failed || *failed == ErrorCode::refused || *failed == ErrorCode::not_found) return;
    }
  }

  std::optional<ErrorCode> try_once(DeviceStatus& device) {
    Result<OpenBmc> opened = open_bmc(fleet_, device.target);
    if (!opened.ok()) {
      device.error = opened.error();
      return opened.error().code;
    }
    const Result<PowerReading> power = opened->bmc->power();
    if (!power.ok()) {
      device.error = power.error();
      return power.error().code;
    }
    device.power = *power;
    device.answered = true;
    device.error.reset();
    if (!options_.identity) return std::nullopt;
    Result<BmcIdentity> identity = opened->bmc->identity();
    if (identity.ok()) device.identity = std::move(identity).value();
    return std::nullopt;
  }

  const Fleet& fleet_;
  const StatusOptions& options_;
};

void measure(StatusReport& report) {
  std::vector<Duration> latencies;
  latencies.reserve(report.devices.size());
  Duration sum;
  Duration all;
  Duration longest;  // no fan-out makes the sweep shorter than its slowest device
  for (const DeviceStatus& device : report.devices) {
    all += device.spent;
    longest = std::max(longest, device.spent);
    if (!device.answered) continue;
    latencies.push_back(device.latency);
    sum += device.latency;
  }
  if (report.threads > 0) report.model = std::max(all / report.threads, longest);
  if (latencies.empty()) return;
  std::sort(latencies.begin(), latencies.end());
  const std::size_t last = latencies.size() - 1;
  report.mean = sum / static_cast<std::int64_t>(latencies.size());
  report.half = latencies[last / 2];
  report.worst = latencies[(last * 99 + 99) / 100];
}

// Ancestors of devices that did not respond, unless they were read already.
std::vector<std::uint32_t> unasked_sources(const Fleet& fleet, const StatusReport& report) {
  std::vector<bool> seen(fleet.inventory.targets().size(), false);
  for (const DeviceStatus& device : report.devices) seen[device.target] = true;
  std::vector<std::uint32_t> found;
  for (const DeviceStatus& device : report.devices) {
    if (device.answered) continue;
    for (const std::uint32_t source : power_sources(fleet.inventory, device.target)) {
      if (seen[source]) continue;
      seen[source] = true;
      found.push_back(source);
    }
  }
  return found;
}

}  // namespace

StatusReport sweep_status(const Fleet& fleet, std::span<const std::uint32_t> targets, const StatusOptions& options,
                          const std::function<void(std::uint32_t)>& progress) {
  StatusReport report;
  const Duration began = fleet.clock.now();
  Sweep sweep(fleet, options);
  report.threads = sweep.run(targets, report.devices, progress).threads;
  report.took = fleet.clock.now() - began;
  measure(report);
  PowerStates states(fleet.inventory.targets().size(), PowerState::unknown);
  take_states(report, states);
  if (const std::vector<std::uint32_t> more = unasked_sources(fleet, report); !more.empty() && !fleet.clock.stopped()) {
    StatusReport sources;
    (void)sweep.run(more, sources.devices, nullptr);
    take_states(sources, states);
  }
  for (DeviceStatus& device : report.devices) {
    device.dark = dark_by(fleet.inventory, states, device.target);
    if (device.answered) ++report.answered;
    if (device.asked && !device.answered && device.dark.empty()) ++report.silent;
  }
  report.stopped = fleet.clock.stopped();
  return report;
}

void take_states(const StatusReport& report, PowerStates& states) {
  for (const DeviceStatus& device : report.devices) {
    if (device.answered) states[device.target] = device.power.state;
  }
}

}  // namespace weft::oob

#include "oob/power/status_report.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "oob/bmc/cause.h"
#include "oob/power/plan.h"

namespace weft::oob {
namespace {

constexpr auto kRight = Column::Align::right;

// Sort rank of a row, state, and reason.
struct Saying {
  int rank = 0;
  std::string state;
  std::string detail;
  auto operator<=>(const Saying&) const = default;
};

// "OSRunning; critical: The fan Fan 3 failed"; health only if there is something to do. "None" is Redfish's word for a
// system that is not booting.
std::string detail_of(const PowerReading& power) {
  std::string text = power.boot_progress == "None" ? std::string() : power.boot_progress;
  if (power.health != Health::warning && power.health != Health::critical) return text;
  text += fmt::format("{}{}", text.empty() ? "" : "; ", to_text(power.health));
  if (!power.condition.empty()) text += ": " + power.condition;
  return text;
}

Saying saying_of(const Inventory& inventory, const DeviceStatus& device) {
  if (!device.dark.empty()) {
    const std::string names = inventory.fold(device.dark);
    return {2, "off", fmt::format("{} {} off", names, device.dark.size() > 1 ? "are" : "is")};
  }
  if (device.answered) {
    const PowerState state = device.power.state;
    const int rank = state == PowerState::on ? 0 : state == PowerState::off ? 2 : 1;
    return {rank, std::string(to_text(state)), detail_of(device.power)};
  }
  if (device.error) return {3, "unreachable", std::string(cause_text(*device.error))};
  return {4, "skipped",
          inventory.targets()[device.target].endpoint.protocol == Protocol::none ? "has no BMC" : "stopped"};
}

TableSection folded(const Inventory& inventory, const StatusReport& report) {
  TableSection table{"states",
                     "Power",
                     {{"state", "State"}, {"devices", "Devices", kRight}, {"detail", "Detail"}, {"hosts", "Hosts"}},
                     {}};
  std::map<Saying, std::vector<std::uint32_t>> same;
  for (const DeviceStatus& device : report.devices) same[saying_of(inventory, device)].push_back(device.target);
  table.rows.reserve(same.size());
  for (const auto& [saying, targets] : same) {
    table.rows.push_back({saying.state, std::uint64_t{targets.size()}, saying.detail,
                          inventory.hosts_cell(targets, report.devices.size())});
  }
  return table;
}

TableSection by_device(const Inventory& inventory, const StatusReport& report) {
  TableSection table{"devices",
                     "Devices",
                     {{"host", "Host"},
                      {"role", "Role"},
                      {"rack", "Rack"},
                      {"state", "State"},
                      {"boot_progress", "Boot progress"},
                      {"health", "Health"},
                      {"latency_ms", "Latency ms", kRight},
                      {"attempts", "Attempts", kRight},
                      {"manufacturer", "Maker"},
                      {"model", "Model"},
                      {"serial", "Serial"},
                      {"service_tag", "Service tag"},
                      {"firmware", "BMC firmware"},
                      {"other_firmware", "Other firmware"},
                      {"bios", "BIOS"},
                      {"cause", "Cause"},
                      {"error", "Error"}},
                     {}};
  table.rows.reserve(report.devices.size());
  for (const DeviceStatus& device : report.devices) {
    const Target& target = inventory.targets()[device.target];
    const Saying saying = saying_of(inventory, device);
    const BmcIdentity identity = device.identity.value_or(BmcIdentity{});
    const double latency = static_cast<double>(device.latency.count()) * 1e-6;
    table.rows.push_back({target.name, to_text(target.role), target.rack, saying.state, device.power.boot_progress,
                          device.answered ? std::string(to_text(device.power.health)) : std::string(),
                          Cell(latency, fmt::format("{:.1f}", latency)), device.attempts, identity.manufacturer,
                          identity.model, identity.serial, identity.service_tag, identity.firmware,
                          identity.other_firmware, identity.bios,
                          device.answered && device.dark.empty() ? device.power.condition : saying.detail,
                          device.error ? device.error->message : std::string()});
  }
  return table;
}

FactsSection figures_of(const StatusReport& report) {
  const auto seconds = [](Duration time) { return Cell(static_cast<double>(time.count()) * 1e-9, seconds_text(time)); };
  const double rate = report.hosts_per_second();
  return {"sweep",
          "Sweep",
          {{"devices", "Devices", std::uint64_t{report.devices.size()}},
           {"answered", "Answered", report.answered},
           {"unreachable", "Unreachable", report.silent},
           {"fan_out", "Fan-out F", report.threads},
           {"latency_mean_s", "Latency L, mean", seconds(report.mean)},
           {"latency_p50_s", "Latency, P50", seconds(report.half)},
           {"latency_p99_s", "Latency, P99", seconds(report.worst)},
           {"took_s", "Time taken", seconds(report.took)},
           {"model_s", "Expected time", seconds(report.model)},
           {"hosts_per_second", "Hosts per second", Cell(rate, fmt::format("{:.1f}", rate))}}};
}

}  // namespace

std::string seconds_text(Duration time) { return fmt::format("{:.3f} s", static_cast<double>(time.count()) * 1e-9); }

Document status_document(const Inventory& inventory, const StatusReport& report, StatusRows rows,
                         StatusFigures figures) {
  Document document;
  document.kind = "oob_status";
  if (rows != StatusRows::each_device) document.sections.emplace_back(folded(inventory, report));
  if (rows != StatusRows::folded) document.sections.emplace_back(by_device(inventory, report));
  if (figures == StatusFigures::shown) document.sections.emplace_back(figures_of(report));
  if (report.stopped) document.notes.emplace_back("stopped by the operator: some devices were skipped");
  return document;
}

}  // namespace weft::oob

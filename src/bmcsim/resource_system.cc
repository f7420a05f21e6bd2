// Systems. Their logs are in resource_log.cc.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/human_format.h"
#include "bmcsim/resource.h"
#include "oob/durable/clock.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kSystem = "/redfish/v1/Systems/1";

std::string_view redfish_power(oob::PowerState state) {
  switch (state) {
    case oob::PowerState::on:
      return "On";
    case oob::PowerState::powering_on:
      return "PoweringOn";
    case oob::PowerState::powering_off:
      return "PoweringOff";
    default:
      return "Off";
  }
}

Value boot_of(const SimBmc& bmc) {
  constexpr std::array<std::string_view, 5> targets{"None", "Pxe", "Hdd", "Usb", "BiosSetup"};
  constexpr std::array<std::string_view, 3> enabled{"Disabled", "Once", "Continuous"};
  Value all = Value::list();
  for (const std::string_view target : targets) all.add(target);
  Value boot = Value::map();
  boot.put("BootSourceOverrideEnabled", enabled[static_cast<std::size_t>(bmc.boot_enabled)]);
  boot.put("BootSourceOverrideTarget", targets[static_cast<std::size_t>(bmc.boot_target)]);
  boot.put("BootSourceOverrideTarget@Redfish.AllowableValues", std::move(all));
  boot.put("BootSourceOverrideMode", "UEFI");
  return boot;
}

Value reset_action(const SimBmc& bmc) {
  Value types = Value::list();
  for (std::size_t i = 0; i < kSimResets; ++i) {
    if (bmc.listed(static_cast<SimReset>(i))) types.add(to_text(static_cast<SimReset>(i)));
  }
  Value reset = Value::map();
  reset.put("target", fmt::format("{}/Actions/ComputerSystem.Reset", kSystem));
  reset.put("ResetType@Redfish.AllowableValues", std::move(types));
  return Value::map({{"#ComputerSystem.Reset", std::move(reset)}});
}

Value computer_system(const SimBmc& bmc) {
  const SimDevice& device = bmc.device();
  const oob::PowerState power = bmc.told_power();
  Value system = resource_head(std::string(kSystem), "ComputerSystem.v1_20_0.ComputerSystem", "1", device.name);
  system.put("SystemType", "Physical");
  system.put("Manufacturer", "weft");
  system.put("Model", sim_model(device.kind));
  system.put("SerialNumber", sim_uuid(device.name).substr(0, 8));
  system.put("UUID", sim_uuid(device.name));
  system.put("HostName", device.name);
  system.put("AssetTag", bmc.extras().asset_tag);
  system.put("BiosVersion", "1.8.2");
  system.put("PowerState", redfish_power(power));
  system.put("LocationIndicatorActive", bmc.indicator);
  system.put("IndicatorLED", bmc.indicator ? "Lit" : "Off");
  if (!bmc.has(FaultKind::no_boot_progress)) {
    const SimBmc::Boot boot = bmc.boot();
    system.put("LastResetTime", format_utc(bmc.last_reset_ms()));
    Value progress = Value::map({{"LastState", boot.state}});
    if (boot.state != "None") progress.put("LastStateTime", format_utc(boot.since_ms));
    system.put("BootProgress", std::move(progress));
  }
  system.put("Boot", boot_of(bmc));
  system.put("ProcessorSummary", Value::map({{"Count", 2}, {"Status", status_ok()}}));
  system.put("MemorySummary", Value::map({{"TotalSystemMemoryGiB", 2048}, {"Status", status_ok()}}));
  system.put("Status", status_ok(power == oob::PowerState::on));
  system.put("LogServices", link_to(fmt::format("{}/LogServices", kSystem)));
  system.put("Links", Value::map({{"Chassis", Value::list({link_to("/redfish/v1/Chassis/1")})},
                                  {"ManagedBy", Value::list({link_to("/redfish/v1/Managers/BMC")})}}));
  system.put("Actions", reset_action(bmc));
  return system;
}

}  // namespace

std::optional<Value> system_resource(const SimBmc& bmc, const SimPath& path) {
  if (path.size() == 1) return collection("/redfish/v1/Systems", "ComputerSystem", "Computer Systems", {"1"});
  if (path[1] != "1") return std::nullopt;
  if (path.size() == 2) return computer_system(bmc);
  return path[2] == "LogServices" ? log_resource(bmc, path) : std::nullopt;
}

}  // namespace weft::bmcsim

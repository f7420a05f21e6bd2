// weft oob sensors: the sensors of a whole cluster in one table.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/diagnostic.h"
#include "base/utf8.h"
#include "cli/oob/device_commands.h"
#include "cli/oob/repeat.h"
#include "cli/operate/oob_remote.h"
#include "oob/bmc/ask_all.h"
#include "oob/manage/sensors_view.h"

namespace weft::cli {
namespace {

// What nearly every BMC has, so that none of it is an answer.
constexpr std::array<std::string_view, 6> kCommonKinds = {"temperature", "fan",     "voltage",
                                                          "power",       "current", "discrete"};

std::optional<Reading> read_sensors(Context& context, OobSetup& setup) {
  oob::SensorFleet fleet(setup.inventory());
  const std::vector<oob::Unreached> unreached = oob::ask_all(
      setup.fleet(), select_with_bmc(context, setup),
      [](oob::OpenBmc& open, std::uint32_t) { return open.bmc->all_sensors(); },
      [&](std::uint32_t target, const oob::SensorReadings& sensors) {
        fleet.add(target, sensors.readings);
        fleet.add_unread(target, sensors.unread);
      });
  const std::string kind = context.arguments().value("kind");
  if (const std::vector<std::string> kinds = fleet.kinds();
      !kind.empty() && !kinds.empty() && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    const std::string problem = fmt::format("no sensor is of the kind {}", in_backticks(kind));
    if (std::find(kCommonKinds.begin(), kCommonKinds.end(), kind) == kCommonKinds.end()) {
      const std::string near = did_you_mean(kind, {kinds.begin(), kinds.end()});
      (void)context.usage_error(problem, {near.empty() ? "kinds: " + listed(kinds) : near});
      return std::nullopt;
    }
    context.note(fmt::format("{}; there are: {}", problem, listed(kinds)));
  }
  const bool bad = context.arguments().has("bad");
  oob::SensorsReport report = is_for_machines(context.output_format())
                                  ? oob::sensor_rows(setup.inventory(), fleet, kind, bad, unreached)
                                  : oob::sensors_report(setup.inventory(), fleet, kind, bad, unreached);
  const Exit outcome = outcome_of(report.critical, unreached);
  return Reading{std::move(report.document), outcome == Exit::ok && !fleet.unread().empty() ? Exit::partial : outcome};
}

Exit run_sensors(Context& context) {
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, true, code, 0, OobUse::read);
  if (setup == nullptr) return code;
  return deliver_readings(context, *setup, [&] { return read_sensors(context, *setup); });
}

}  // namespace

Command oob_sensors_command() {
  Command command;
  command.name = "oob sensors";
  command.summary = "Read the sensors of all machines, worst first";
  command.usage = "CLUSTER [HOSTS] [--kind KIND] [--bad] [OPTIONS]";
  command.description = {
      "One row per sensor over all machines of a model: lowest, median and highest value, the machine with the "
      "highest, and machines in critical or warning state. Outliers are further than 3.5 robust standard deviations "
      "from the median (Iglewicz and Hoaglin, 1993): they show a failing fan or power supply before it reaches a "
      "limit.",
      "json, yaml, ndjson and csv have one row per device and sensor. Exit code 1 if a sensor is critical, 3 if some "
      "sensors could not be read; parts of a machine without readings are listed."};
  command.examples = {{"weft oob sensors pod16.yaml --kind temperature", "Temperatures of the whole cluster"},
                      {"weft oob sensors pod16.yaml rack:R01 --bad", "Problems in one rack"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined(
      joined(
          {{.name = "kind",
            .value = "KIND",
            .help = "only sensors of this kind: temperature, fan, voltage, power, current, discrete, or another that "
                    "the BMC has, such as percent, energyjoules or frequency"},
           {.name = "bad", .help = "only critical, warning and outlier sensors"},
           output_option(),
           file_option(),
           catalog_option()},
          repeat_options()),
      oob_options());
  command.run = run_sensors;
  offer_on_server(command);
  return command;
}

}  // namespace weft::cli

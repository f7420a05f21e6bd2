#include "cli/oob/device_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/quantity.h"
#include "oob/manage/events_view.h"

namespace weft::cli {

std::vector<std::uint32_t> select_with_bmc(Context& context, const OobSetup& setup) {
  std::vector<std::uint32_t> able;
  std::vector<std::uint32_t> mute;
  for (const std::uint32_t target : setup.chosen()) {
    const bool speaks = setup.inventory().targets()[target].endpoint.protocol != oob::Protocol::none;
    (speaks ? able : mute).push_back(target);
  }
  if (!mute.empty()) {
    context.note(fmt::format("{} no Redfish or IPMI controller: {}",
                             mute.size() == 1 ? "1 device has" : fmt::format("{} devices have", mute.size()),
                             setup.fold(mute)));
  }
  return able;
}

bool is_for_machines(OutputFormat format) { return format != OutputFormat::table && format != OutputFormat::wide; }

Exit outcome_of(bool findings, const std::vector<oob::Unreached>& unreached) {
  if (findings) return Exit::findings;
  return unreached.empty() ? Exit::ok : Exit::partial;
}

Exit outcome_of(const std::vector<oob::DeviceEnding>& endings) {
  const auto has = [&](oob::Ending ending) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](const oob::DeviceEnding& device) { return device.ending == ending; });
  };
  if (has(oob::Ending::unknown) || has(oob::Ending::not_done)) return Exit::partial;
  return has(oob::Ending::refused) ? Exit::refused : Exit::ok;
}

Option since_option(std::string help) { return {.name = "since", .value = "WHEN", .help = std::move(help)}; }

Option level_option() {
  return {.name = "level",
          .value = "LEVEL",
          .help = "only events of this severity or worse",
          .choices = choices_named({"ok", "warning", "critical"})};
}

std::optional<std::int64_t> since_when(OptionReader& reader, std::int64_t now_ms) {
  const std::string text = reader.arguments().value("since");
  if (text.empty()) return std::nullopt;
  if (const auto date = oob::parse_event_time(text)) return date;
  const Result<Duration> ago = parse_duration(text);
  if (ago.ok()) return now_ms - ago->count() / 1'000'000;
  reader.bad("since", "not a date or a duration", "2026-01-31, 2026-01-31T08:00:00Z, 12h or 7d");
  return std::nullopt;
}

oob::Health least_severity(const Context& context) {
  const std::string name = context.arguments().value("level");
  if (name == "critical") return oob::Health::critical;
  return name == "warning" ? oob::Health::warning : oob::Health::unknown;
}

}  // namespace weft::cli

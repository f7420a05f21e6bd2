#include "cli/oob/device_commands.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace weft::cli

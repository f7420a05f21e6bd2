#include "oob/switches/backup.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "oob/switches/transport_text.h"

namespace weft::oob {
namespace {

BackupResult back_up_one(SwitchFleet& fleet, const SwitchDevice& device, bool good, const std::string& operation) {
  BackupResult result{.device = device.name, .system = device.system_name};
  Result<FetchedConfig> fetched = fetch_and_keep(fleet, device, "backup", operation);
  if (!fetched.ok()) {
    result.state = fetched.error().code == ErrorCode::invalid_input ? BackupState::suspect : BackupState::failed;
    result.message = fetched.error().message;
    return result;
  }
  result.version = fetched->kept.version.sha256;
  result.former = fetched->former;
  if (fetched->kept.kept == Kept::unchanged) {
    result.state = BackupState::unchanged;
  } else {
    result.state = result.former.empty() ? BackupState::first : BackupState::changed;
  }
  if (!good) return result;
  if (const Status marked = fleet.store.mark_good(device.name, result.version); !marked.ok()) {
    result.state = BackupState::failed;
    result.message = marked.error().text();
  }
  return result;
}

}  // namespace

Result<FetchedConfig> fetch_and_keep(SwitchFleet& fleet, const SwitchDevice& device, std::string_view cause,
                                     std::string_view operation) {
  Result<std::string> text = fetch_config(fleet.transport, device, fleet.command_limit);
  if (!text.ok()) return text.error();
  FetchedConfig fetched;
  fetched.text = std::move(text).value();
  const Result<std::vector<ConfigVersion>> before = fleet.store.versions(device.name);
  if (!before.ok()) return before.error();
  const bool first = before->empty();
  const Status plausible = plausible_config(*device.system, fetched.text,
                                            first ? std::nullopt : std::optional<std::size_t>(before->back().bytes));
  if (!plausible.ok()) {
    const Result<std::string> path = fleet.store.set_aside(device.name, fetched.text, plausible.error().message);
    return Error{ErrorCode::invalid_input,
                 path.ok() ? fmt::format("{}; output saved in {}", plausible.error().message, *path)
                           : fmt::format("{}; the output could not be saved: {}", plausible.error().message,
                                         path.error().text()),
                 device.name};
  }
  Result<KeptVersion> kept =
      fleet.store.put(device.name, fetched.text, sha256(without_noise(*device.system, fetched.text)), cause, operation);
  if (!kept.ok()) return kept.error();
  fetched.kept = std::move(kept).value();
  if (!first && fetched.kept.kept == Kept::added) fetched.former = before->back().sha256;
  return fetched;
}

std::vector<BackupResult> back_up(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices, bool good) {
  std::vector<BackupResult> results(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    results[i] = {.device = devices[i].name, .system = devices[i].system_name, .message = "canceled before it started"};
  }
  const std::string operation = new_operation_id();
  (void)fan_out(static_cast<std::uint32_t>(devices.size()), fleet.width, fleet.clock,
                [&](std::uint32_t i) { results[i] = back_up_one(fleet, devices[i], good, operation); });
  return results;
}

std::string_view to_text(BackupState state) {
  switch (state) {
    case BackupState::first:
      return "first";
    case BackupState::changed:
      return "changed";
    case BackupState::unchanged:
      return "unchanged";
    case BackupState::suspect:
      return "suspect";
    case BackupState::failed:
      return "failed";
  }
  return "";
}

}  // namespace weft::oob

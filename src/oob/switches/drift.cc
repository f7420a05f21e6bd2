#include "oob/switches/drift.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "oob/switches/drift_diff.h"
#include "oob/switches/transport_text.h"

namespace weft::oob {
namespace {

std::string with_place(std::string text, std::string_view place, const std::string& value) {
  if (const std::size_t at = text.find(place); at != std::string::npos) text.replace(at, place.size(), value);
  return text;
}

struct Sides {
  std::string running;
  std::optional<std::string> good;
  std::optional<std::string> design;
};

// The running config and the version it is compared with. The result names both, or what is missing.
bool gather(SwitchFleet& fleet, const SwitchDevice& device, const DriftRequest& request, Sides& sides,
            DriftResult& result) {
  const auto fail = [&](const Error& error) {
    result.message = error.message;
    return false;
  };
  Result<ConfigVersion> good = fleet.store.find(device.name, "good");
  if (!good.ok()) {
    good = fleet.store.find(device.name, "latest");
    result.marked_good = false;
  }
  if (good.ok()) {
    Result<std::string> text = fleet.store.read(device.name, good->sha256);
    if (!text.ok()) return fail(text.error());
    sides.good = std::move(text).value();
    result.good = good->sha256;
  }
  if (request.offline) {
    const Result<ConfigVersion> latest = fleet.store.find(device.name, "latest");
    if (!latest.ok()) return fail(latest.error());
    Result<std::string> text = fleet.store.read(device.name, latest->sha256);
    if (!text.ok()) return fail(text.error());
    sides.running = std::move(text).value();
    result.running = latest->sha256;
    return true;
  }
  Result<std::string> text = fetch_config(fleet.transport, device, fleet.command_limit);
  if (!text.ok()) return fail(text.error());
  const std::optional<std::size_t> expected =
      sides.good ? std::optional<std::size_t>(sides.good->size()) : std::nullopt;
  if (const Status plausible = plausible_config(*device.system, *text, expected); !plausible.ok())
    return fail(plausible.error());
  sides.running = std::move(text).value();
  return true;
}

DriftResult drift_of(SwitchFleet& fleet, const SwitchDevice& device, const DriftRequest& request) {
  DriftResult found{.device = device.name, .system = device.system_name};
  if (device.system == nullptr) {
    found.message = fmt::format("unsupported switch OS `{}`", device.system_name);
    return found;
  }
  Sides sides;
  if (!gather(fleet, device, request, sides, found)) return found;
  std::string note;
  if (!request.rendered.empty()) {
    const std::string path = request.rendered + "/" + rendered_path(device);
    Result<std::string> design = read_file(path);
    if (!design.ok()) {
      note = design.error().text();
    } else {
      sides.design = std::move(design).value();
    }
  }
  DriftResult result = compare_configs(device, sides.running, sides.good, sides.design, request.strict);
  result.running = found.running;
  result.good = found.good;
  result.marked_good = found.marked_good;
  // A requested folder without a file of this switch: the result is incomplete.
  if (!note.empty()) {
    result.message = note;
    if (result.state == DriftState::none) result.state = DriftState::unknown;
  }
  return result;
}

}  // namespace

std::string rendered_path(const SwitchDevice& device) {
  if (device.system == nullptr) return {};
  return with_place(with_place(std::string(device.system->rendered), "{device}", device.name), "{fabric}",
                    device.fabric);
}

DriftResult compare_configs(const SwitchDevice& device, std::string_view running,
                            const std::optional<std::string>& good, const std::optional<std::string>& design,
                            bool strict) {
  DriftResult result{.device = device.name, .system = device.system_name, .state = DriftState::none};
  const SwitchSystem& system = *device.system;
  if (good) {
    // Compared unmodified, shown with secrets hidden: a changed password is a drift that shows two equal lines.
    const std::string before = normalized(system, *good);
    const std::string after = normalized(system, running);
    const TextDiff diff = unified_diff(before, after, device.name + " good", device.name + " running");
    result.removed = diff.removed;
    result.added = diff.added;
    result.diff = masked(diff.text);
  }
  if (design) {
    const std::vector<std::string> wanted = statements_of(system, *design);
    const std::vector<std::string> there = statements_of(system, running);
    std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(),
                        std::back_inserter(result.missing_statements));
    std::set_difference(there.begin(), there.end(), wanted.begin(), wanted.end(),
                        std::back_inserter(result.extra_statements));
    result.missing = result.missing_statements.size();
    result.extra = result.extra_statements.size();
  }
  const bool off_design = design && (*result.missing > 0 || (strict && result.extra > 0));
  if (!good && !design) result.state = DriftState::nothing_to_compare;
  if (result.removed + result.added > 0 || off_design) result.state = DriftState::drifted;
  return result;
}

std::vector<DriftResult> find_drift(SwitchFleet& fleet, const std::vector<SwitchDevice>& devices,
                                    const DriftRequest& request) {
  std::vector<DriftResult> results(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    results[i] = {.device = devices[i].name, .system = devices[i].system_name, .message = "canceled before it started"};
  }
  (void)fan_out(static_cast<std::uint32_t>(devices.size()), fleet.width, fleet.clock,
                [&](std::uint32_t i) { results[i] = drift_of(fleet, devices[i], request); });
  return results;
}

std::string_view to_text(DriftState state) {
  switch (state) {
    case DriftState::none:
      return "none";
    case DriftState::drifted:
      return "drifted";
    case DriftState::nothing_to_compare:
      return "nothing to compare";
    case DriftState::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace weft::oob

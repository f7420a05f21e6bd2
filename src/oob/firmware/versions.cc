#include "oob/firmware/versions.h"

#include <fmt/format.h>

#include <algorithm>

#include "oob/bmc/version.h"
#include "oob/firmware/baseline.h"

namespace weft::oob {
namespace {

constexpr std::size_t kShown = 4;

template <class Visit>
void each_running(const FirmwareInventory& inventory, const std::string& pattern, const Visit& visit) {
  for (const FirmwareItem& item : inventory.items) {
    if (is_running(item) && names_component(pattern, item)) visit(item);
  }
}

std::string joined_texts(const std::set<std::string>& texts) { return fmt::format("{}", fmt::join(texts, ", ")); }

}  // namespace

ComponentVersions versions_of(const FirmwareInventory& inventory, const std::string& pattern) {
  ComponentVersions versions;
  each_running(inventory, pattern, [&](const FirmwareItem& item) {
    std::set<std::string>& own = versions[item.component];
    if (!item.version.empty()) own.insert(item.version);
  });
  return versions;
}

std::vector<std::string> paths_of(const FirmwareInventory& inventory, const std::string& pattern) {
  std::vector<std::string> paths;
  each_running(inventory, pattern, [&](const FirmwareItem& item) { paths.push_back(item.path); });
  return paths;
}

bool is_unhealthy(const FirmwareInventory& inventory, const std::string& pattern) {
  bool bad = false;
  each_running(inventory, pattern, [&](const FirmwareItem& item) {
    bad = bad || item.health == Health::critical || item.health == Health::warning;
  });
  return bad;
}

std::string changes_between(const ComponentVersions& before, const ComponentVersions& now) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [component, versions] : now) {
    const auto old = before.find(component);
    if (versions.empty() || (old != before.end() && old->second == versions)) continue;
    if (++count > kShown) continue;
    text += fmt::format("{}{} {} to {}", text.empty() ? "" : "; ", component,
                        old == before.end() ? "none" : joined_texts(old->second), joined_texts(versions));
  }
  return count > kShown ? fmt::format("{}; and {} more", text, count - kShown) : text;
}

bool is_version(const std::string& version, const std::string& expected) {
  const auto order = compare_versions(version, expected);
  return version == expected || (order && *order == 0);
}

bool has_expected(const ComponentVersions& before, const ComponentVersions& now, const std::string& expected,
                  bool named) {
  const auto all_expected = [&](const std::set<std::string>& versions) {
    return !versions.empty() && std::all_of(versions.begin(), versions.end(),
                                            [&](const std::string& version) { return is_version(version, expected); });
  };
  if (named) {
    return !now.empty() &&
           std::all_of(now.begin(), now.end(), [&](const auto& one) { return all_expected(one.second); });
  }
  return std::any_of(now.begin(), now.end(), [&](const auto& one) {
    const auto old = before.find(one.first);
    return all_expected(one.second) && (old == before.end() || old->second != one.second);
  });
}

std::string describe_versions(const ComponentVersions& versions) {
  std::string text;
  std::size_t count = 0;
  for (const auto& [component, own] : versions) {
    if (++count > kShown) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", component,
                        own.empty() ? "without version" : joined_texts(own));
  }
  return count > kShown ? fmt::format("{} and {} more", text, count - kShown) : text;
}

Value versions_value(const ComponentVersions& versions) {
  Value map = Value::map();
  for (const auto& [component, own] : versions) {
    map.put(component, Value::texts(std::vector<std::string>(own.begin(), own.end())));
  }
  return map;
}

ComponentVersions versions_in(const Value& value) {
  ComponentVersions versions;
  if (!value.is_map()) return versions;
  for (const Value::Entry& entry : value.entries()) {
    std::set<std::string>& own = versions[entry.key];
    if (!entry.value.is_list()) continue;
    for (const Value& item : entry.value.items()) {
      if (item.is_text()) own.insert(item.text());
    }
  }
  return versions;
}

}  // namespace weft::oob

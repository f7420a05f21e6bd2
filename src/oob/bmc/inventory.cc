#include "oob/bmc/inventory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "base/text.h"
#include "oob/bmc/inventory_builder.h"

namespace weft::oob {
namespace {

// Splits at commas outside brackets.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words = split_outside_brackets(text);
  std::erase(words, std::string_view());
  return words;
}

// Marks the targets that a word selects. False if it selects none.
class Selection {
 public:
  explicit Selection(const Inventory& inventory) : inventory_(inventory), taken_(inventory.targets().size(), false) {}

  Status take(std::string_view word) {
    if (word == "all") return take_where(word, [](const Target&) { return true; });
    if (word == "servers") return take_role(word, Role::server);
    if (word == "switches") return take_role(word, Role::network_switch);
    if (word == "pdus") return take_role(word, Role::pdu);
    if (word == "chassis") return take_role(word, Role::chassis);
    if (word == "rack:") return Error{ErrorCode::invalid_input, "`rack:` needs the name of a rack", {}};
    if (word.starts_with("rack:"))
      return take_where(word, [&](const Target& target) { return target.rack == word.substr(5); });
    if (word.starts_with("@")) return take_group(word.substr(1));
    return take_hosts(word);
  }
  [[nodiscard]] std::vector<std::uint32_t> taken() const {
    std::vector<std::uint32_t> result;
    for (std::uint32_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i]) result.push_back(i);
    }
    return result;
  }

 private:
  template <class Predicate>
  Status take_where(std::string_view word, Predicate wanted) {
    bool any = false;
    const std::vector<Target>& targets = inventory_.targets();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!wanted(targets[i])) continue;
      taken_[i] = true;
      any = true;
    }
    if (any) return {};
    return Error{ErrorCode::not_found, fmt::format("`{}` names no device with an out-of-band address", word), {}};
  }
  Status take_role(std::string_view word, Role role) {
    return take_where(word, [role](const Target& target) { return target.role == role; });
  }
  Status take_group(std::string_view group) {
    // Devices without a group or fabric have an empty one, which must not be selected by an empty variable of a script.
    if (group.empty()) return Error{ErrorCode::invalid_input, "`@` needs the name of a pool or group", {}};
    Status taken = take_where(group, [&](const Target& target) {
      return target.group == group || (group == "control" && target.control) || target.fabric == group;
    });
    if (taken.ok()) return taken;
    std::vector<std::string_view> groups;
    for (const Target& target : inventory_.targets()) {
      if (groups.empty() || groups.back() != target.group) groups.emplace_back(target.group);
    }
    const std::string hint = did_you_mean(group, groups);
    return Error{
        ErrorCode::not_found, fmt::format("unknown pool or group `{}`{}{}", group, hint.empty() ? "" : "; ", hint), {}};
  }
  Status take_hosts(std::string_view word) {
    const Result<std::vector<std::string>> hosts = expand_hosts(word);
    if (!hosts.ok()) return hosts.error();
    for (const std::string& host : *hosts) {
      const std::optional<std::uint32_t> found = inventory_.find(host);
      if (!found) return unknown(host);
      taken_[*found] = true;
    }
    return {};
  }
  [[nodiscard]] Error unknown(const std::string& host) const {
    std::vector<std::string_view> names;
    names.reserve(inventory_.targets().size());
    for (const Target& target : inventory_.targets()) names.emplace_back(target.name);
    const std::string hint = did_you_mean(host, names);
    return {ErrorCode::not_found,
            fmt::format("`{}` is not a device with an out-of-band address{}{}", host, hint.empty() ? "" : "; ", hint),
            {}};
  }

  const Inventory& inventory_;
  std::vector<bool> taken_;
};

}  // namespace

std::optional<std::uint32_t> Inventory::find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

Result<std::vector<std::uint32_t>> Inventory::select(std::string_view words) const {
  Selection selection(*this);
  const std::vector<std::string_view> parts = words_of(words);
  if (parts.empty()) return Error{ErrorCode::invalid_input, "names no host", {}};
  for (const std::string_view word : parts) {
    if (const Status status = selection.take(word); !status.ok()) return status.error();
  }
  return selection.taken();
}

std::string Inventory::fold(std::span<const std::uint32_t> targets) const {
  std::vector<std::string> names;
  names.reserve(targets.size());
  for (const std::uint32_t target : targets) names.push_back(targets_[target].name);
  return fold_hosts(std::move(names));
}

Cell Inventory::hosts_cell(std::span<const std::uint32_t> targets, std::size_t asked) const {
  constexpr std::size_t kShortList = 24;  // columns; the names say more than their number
  std::string names = fold(targets);
  const bool is_long = names.size() > kShortList;
  Cell cell(std::move(names));
  if (is_long && targets.size() == asked) cell.brief = "all " + std::to_string(asked);
  return cell;
}

std::vector<std::uint32_t> Inventory::children(std::uint32_t target) const {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < targets_.size(); ++i) {
    const Target& other = targets_[i];
    const bool alone = other.pdus.size() == 1 && other.pdus.front() == target;
    if (i != target && (other.parent == target || alone)) found.push_back(i);
  }
  return found;
}

std::optional<Inventory> make_inventory(const model::Cluster& cluster, Diagnostics& diagnostics, const Sources* sources,
                                        std::optional<FileId> endpoints) {
  InventoryBuilder builder(cluster, diagnostics);
  builder.add_cluster();
  if (endpoints) {
    CHECK(sources != nullptr, "a file of endpoints without its text");
    const std::optional<EndpointsFile> file = read_endpoints(*sources, *endpoints, diagnostics);
    if (!file) return std::nullopt;
    const std::size_t before = diagnostics.error_count();
    builder.apply(*file);
    if (diagnostics.error_count() != before) return std::nullopt;
  }
  return builder.finish();
}

std::string_view to_text(Role role) {
  switch (role) {
    case Role::server:
      return "server";
    case Role::network_switch:
      return "switch";
    case Role::pdu:
      return "pdu";
    case Role::chassis:
      break;
  }
  return "chassis";
}

}  // namespace weft::oob

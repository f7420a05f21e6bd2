#include "oob/audit/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.h"

namespace weft::oob {
namespace {

// Lower-case letters and digits only: "Super Micro Computer, Inc." and "Supermicro" become comparable.
std::string squeezed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_letter_or_digit(c)) out += to_lower(c);
  }
  return out;
}

// Firmware placeholders for a missing number (DMTF DSP0134 leaves the text to the vendor).
bool is_placeholder(std::string_view value) {
  constexpr std::array<std::string_view, 10> kFillers = {
      "tobefilledbyoem", "defaultstring",      "notspecified", "notavailable", "none", "unknown", "na",
      "empty",           "systemserialnumber", "0123456789"};
  const std::string bare = squeezed(value);
  if (bare.size() < 2) return true;
  if (std::find(kFillers.begin(), kFillers.end(), bare) != kFillers.end()) return true;
  return bare.find_first_not_of(bare.front()) == std::string::npos;  // zeros, or all f
}

bool is_same_maker(std::string_view plan, std::string_view told_name) {
  const std::string a = squeezed(plan);
  const std::string b = squeezed(told_name);
  if (a.find(b) != std::string::npos || b.find(a) != std::string::npos) return true;
  const auto is_hpe = [](const std::string& name) {
    return name.starts_with("hewlettpackard") || name == "hpe" || name == "hp";
  };
  return is_hpe(a) && is_hpe(b);
}

// Catalog names are longer than BMC names ("DGX H100 system"): only words with a digit must match.
bool is_same_model(std::string_view plan, std::string_view told_name) {
  const std::string whole = squeezed(told_name);
  const std::string planned = squeezed(plan);
  if (whole.find(planned) != std::string::npos || planned.find(whole) != std::string::npos) return true;
  bool any = false;
  for (std::size_t i = 0; i < plan.size();) {
    const std::size_t end = std::min(plan.find(' ', i), plan.size());
    const std::string word = squeezed(plan.substr(i, end - i));
    i = end + 1;
    if (word.find_first_of("0123456789") == std::string::npos) continue;
    any = true;
    if (whole.find(word) == std::string::npos) return false;
  }
  return any;
}

struct PlanName {
  std::string vendor;
  std::string name;
};

std::optional<PlanName> plan_name(const model::Cluster& cluster, const Target& target) {
  if (target.device == model::kNone<model::DeviceId>) return std::nullopt;
  const model::DeviceGroup& group = cluster.group_of(target.device);
  if (group.kind == model::DeviceKind::server) {
    const model::ServerModel& model = cluster.server_of(target.device);
    return PlanName{*model.vendor, *model.name};
  }
  if (group.network_switch != nullptr) return PlanName{*group.network_switch->vendor, *group.network_switch->name};
  if (group.pdu != nullptr) return PlanName{*group.pdu->vendor, *group.pdu->name};
  return std::nullopt;
}

std::string maker_and_model(const BmcIdentity& identity) {
  const std::string text = told(fmt::format("{} {}", identity.manufacturer, identity.model));
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "not reported" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

void add_shared(const std::map<std::string, std::vector<std::uint32_t>>& values, std::string_view kind,
                std::vector<SharedIdentity>& shared) {
  for (const auto& [value, targets] : values) {
    if (targets.size() > 1) shared.push_back({std::string(kind), told(value), targets});
  }
}

std::string feeds_text(const std::vector<int>& feeds) {
  std::string text;
  for (const int feed : feeds) text += fmt::format("{}{}", text.empty() ? "" : ", ", feed + 1);
  return text;
}

std::vector<Cell> plan_cells(const Target& target) {
  return {target.name,
          target.endpoint.host,
          static_cast<std::uint64_t>(target.endpoint.real_port()),
          to_text(target.endpoint.protocol),
          to_text(target.role),
          target.group,
          target.rack,
          feeds_text(target.feeds),
          target.model};
}

std::vector<Column> plan_columns() {
  return {{.key = "device", .title = "Device"},
          {.key = "address", .title = "Address"},
          {.key = "port", .title = "Port", .align = Column::Align::right, .wide = true},
          {.key = "protocol", .title = "Protocol"},
          {.key = "role", .title = "Role"},
          {.key = "group", .title = "Group"},
          {.key = "rack", .title = "Rack"},
          {.key = "feeds", .title = "Feeds"},
          {.key = "model", .title = "Model"}};
}

}  // namespace

std::vector<SharedIdentity> shared_identities(const Identities& identities) {
  std::map<std::string, std::vector<std::uint32_t>> uuids;
  std::map<std::string, std::vector<std::uint32_t>> serials;
  for (const auto& [target, identity] : identities) {
    if (!is_placeholder(identity.uuid)) uuids[squeezed(identity.uuid)].push_back(target);
    // Serial numbers are unique only per vendor.
    if (!is_placeholder(identity.serial))
      serials[told(identity.serial) + " (" + told(identity.manufacturer) + ")"].push_back(target);
  }
  std::vector<SharedIdentity> shared;
  add_shared(uuids, "UUID", shared);
  add_shared(serials, "serial number", shared);
  return shared;
}

std::string model_mismatch(const model::Cluster& cluster, const Target& target, const BmcIdentity& identity) {
  const std::optional<PlanName> plan = plan_name(cluster, target);
  if (!plan || plan->vendor == "generic") return {};
  if (!squeezed(identity.manufacturer).empty() && !is_same_maker(plan->vendor, identity.manufacturer))
    return fmt::format("is {}, but the design has {} {}", maker_and_model(identity), plan->vendor, plan->name);
  if (!squeezed(identity.model).empty() && !is_same_model(plan->name, identity.model))
    return fmt::format("is {}, but the design has {} {}", maker_and_model(identity), plan->vendor, plan->name);
  return {};
}

std::vector<OddOneOut> odd_ones_out(const Inventory& inventory, const Identities& identities) {
  // By pool and planned model: overrides of single hosts are different machines on purpose.
  std::map<std::pair<std::string, std::string>, Consolidation> groups;
  for (const auto& [target, identity] : identities) {
    const Target& device = inventory.targets()[target];
    if (!identity.manufacturer.empty() || !identity.model.empty())
      groups[{device.group, device.model}].add(maker_and_model(identity), target);
  }
  std::vector<OddOneOut> odd;
  for (const auto& [group, kinds] : groups) {
    const std::vector<FoldedRow> rows = kinds.rows();
    std::size_t all = 0;
    for (const FoldedRow& row : rows) all += row.targets.size();
    if (all < 3 || rows.front().targets.size() * 2 <= all) continue;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      for (const std::uint32_t target : rows[i].targets) {
        odd.push_back({target, fmt::format("is {}, but {} of {} in {} are {}", rows[i].key, rows.front().targets.size(),
                                           all, group.first, rows.front().key)});
      }
    }
  }
  std::sort(odd.begin(), odd.end(), [](const OddOneOut& a, const OddOneOut& b) { return a.target < b.target; });
  return odd;
}

Document inventory_document(const Inventory& inventory, const std::vector<std::uint32_t>& targets) {
  Document document;
  document.kind = "oob-inventory";
  TableSection table{"devices", "", plan_columns(), {}};
  table.rows.reserve(targets.size());
  for (const std::uint32_t target : targets) table.rows.push_back(plan_cells(inventory.targets()[target]));
  document.sections.emplace_back(std::move(table));
  return document;
}

Document probed_document(const Inventory& inventory, const model::Cluster& cluster,
                         const std::vector<std::uint32_t>& targets, const Identities& identities,
                         const std::vector<Unreached>& unreached, bool& trouble) {
  Document document;
  document.kind = "oob-inventory";
  TableSection table{"devices", "", plan_columns(), {}};
  for (const auto& [key, title] : {std::pair{"manufacturer", "Manufacturer"},
                                   {"told_model", "Reported model"},
                                   {"serial", "Serial"},
                                   {"firmware", "Firmware"}})
    table.columns.push_back({.key = key, .title = title});
  table.columns.push_back({.key = "service_tag", .title = "Service tag", .wide = true});
  table.columns.push_back({.key = "other_firmware", .title = "Other firmware", .wide = true});
  table.columns.push_back({.key = "bios", .title = "BIOS", .wide = true});
  table.columns.push_back({.key = "uuid", .title = "UUID", .wide = true});
  std::map<std::uint32_t, std::string> wrong;
  for (const std::uint32_t target : targets) {
    std::vector<Cell> row = plan_cells(inventory.targets()[target]);
    const auto found = identities.find(target);
    const BmcIdentity identity = found == identities.end() ? BmcIdentity{} : found->second;
    for (const std::string* text : {&identity.manufacturer, &identity.model, &identity.serial, &identity.firmware,
                                    &identity.service_tag, &identity.other_firmware, &identity.bios, &identity.uuid})
      row.emplace_back(told(*text));
    table.rows.push_back(std::move(row));
    if (found == identities.end()) continue;
    if (std::string text = model_mismatch(cluster, inventory.targets()[target], identity); !text.empty())
      wrong.emplace(target, std::move(text));
  }
  for (const OddOneOut& odd : odd_ones_out(inventory, identities)) wrong.emplace(odd.target, odd.what);
  document.sections.emplace_back(std::move(table));
  TableSection problems{"mismatches", "Not as planned", {}, {}};
  problems.columns = {{.key = "devices", .title = "Devices"}, {.key = "what", .title = "Problem"}};
  Consolidation folded;
  for (const auto& [target, what] : wrong) folded.add(what, target);
  for (const FoldedRow& row : folded.rows()) problems.rows.push_back({inventory.fold(row.targets), row.key});
  for (const SharedIdentity& shared : shared_identities(identities)) {
    problems.rows.push_back({inventory.fold(shared.targets),
                             fmt::format("have the same {} ({}): their addresses or cables lead to one machine",
                                         shared.kind, shared.value)});
  }
  trouble = !problems.rows.empty();
  if (trouble) document.sections.emplace_back(std::move(problems));
  add_unreached(document, inventory, unreached);
  return document;
}

}  // namespace weft::oob

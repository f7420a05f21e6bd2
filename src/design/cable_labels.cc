#include "design/cable_labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "design/views_common.h"

namespace weft::design {

CableLabels::CableLabels(const model::Cluster& cluster) : cluster_(cluster), numbers_(cluster.cables().size()) {
  std::uint32_t assemblies = 0;
  for (const model::Cable& cable : cluster.cables()) assemblies = std::max(assemblies, cable.assembly + 1);
  links_.resize(assemblies);
  for (const model::Cable& cable : cluster.cables()) ++links_[cable.assembly];
  std::vector<std::uint32_t> splitter_of(assemblies);
  std::vector<std::uint32_t> legs_seen(assemblies);
  std::array<std::uint32_t, model::kFabrics> cables{};
  std::array<std::uint32_t, model::kFabrics> splitters{};
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    const model::Cable& cable = cluster.cables()[i];
    const auto fabric = static_cast<std::size_t>(cable.fabric);
    numbers_[i].cable = ++cables[fabric];
    if (links_[cable.assembly] < 2) continue;
    if (splitter_of[cable.assembly] == 0) splitter_of[cable.assembly] = ++splitters[fabric];
    numbers_[i].splitter = splitter_of[cable.assembly];
    numbers_[i].leg = ++legs_seen[cable.assembly];
  }
}

std::string CableLabels::label(model::CableId id) const {
  return fmt::format("{}-{:06}", views::prefix_of(cluster_.cable(id).fabric), numbers_[model::index_of(id)].cable);
}

std::string CableLabels::splitter(model::CableId id) const {
  const Numbers& numbers = numbers_[model::index_of(id)];
  if (numbers.splitter == 0) return {};
  return fmt::format("{}-S{:05}", views::prefix_of(cluster_.cable(id).fabric), numbers.splitter);
}

std::string CableLabels::leg(model::CableId id) const {
  const Numbers& numbers = numbers_[model::index_of(id)];
  return numbers.leg == 0 ? std::string() : fmt::format("{}/{}", numbers.leg, links_[cluster_.cable(id).assembly]);
}

std::vector<model::CableId> CableLabels::legs(model::CableId id) const {
  if (numbers_[model::index_of(id)].splitter == 0) return {id};
  const std::uint32_t assembly = cluster_.cable(id).assembly;
  std::vector<model::CableId> out;
  for (std::uint32_t i = 0; i < numbers_.size(); ++i) {
    if (cluster_.cables()[i].assembly == assembly) out.push_back(static_cast<model::CableId>(i));
  }
  return out;
}

model::CableId CableLabels::find(std::string_view label) const {
  // Labels are computed for the cables of the right number alone: one per fabric.
  const std::size_t dash = label.rfind('-');
  const auto number = dash == std::string_view::npos ? Result<std::int64_t>(Error{ErrorCode::not_found, {}, {}})
                                                     : parse_integer(label.substr(dash + 1));
  if (!number.ok()) return model::kNone<model::CableId>;
  for (std::uint32_t i = 0; i < numbers_.size(); ++i) {
    const auto id = static_cast<model::CableId>(i);
    if (numbers_[i].cable == *number && equals_ignoring_case(this->label(id), label)) return id;
  }
  return model::kNone<model::CableId>;
}

model::CableId CableLabels::find_splitter(std::string_view label) const {
  const std::size_t dash = label.rfind("-S") == std::string_view::npos ? label.rfind("-s") : label.rfind("-S");
  const auto number = dash == std::string_view::npos ? Result<std::int64_t>(Error{ErrorCode::not_found, {}, {}})
                                                     : parse_integer(label.substr(dash + 2));
  if (!number.ok()) return model::kNone<model::CableId>;
  for (std::uint32_t i = 0; i < numbers_.size(); ++i) {
    const auto id = static_cast<model::CableId>(i);
    if (numbers_[i].leg == 1 && numbers_[i].splitter == *number && equals_ignoring_case(splitter(id), label)) return id;
  }
  return model::kNone<model::CableId>;
}

}  // namespace weft::design

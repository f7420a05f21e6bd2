#include "sched/machine/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "base/enum_names.h"
#include "base/host_range.h"

namespace weft::sched {
namespace {

constexpr Level kTree[] = {Level::nvlink, Level::rack, Level::leaf, Level::pod, Level::cluster};
constexpr std::string_view kNames[kLevels] = {"node", "nvlink", "rack", "leaf", "pod", "cluster"};

std::size_t at(Level level) { return static_cast<std::size_t>(level); }

const std::string& label_at(const NodeLabels& labels, Level level) {
  static const std::string none;
  switch (level) {
    case Level::nvlink:
      return labels.nvlink;
    case Level::rack:
      return labels.rack;
    case Level::leaf:
      return labels.leaf;
    case Level::pod:
      return labels.pod;
    default:
      return none;
  }
}

// Whether two nodes share the domain of `level`: their labels are equal there and at every wider level.
bool together(const NodeLabels& a, const NodeLabels& b, Level level) {
  if (level == Level::nvlink && a.nvlink.empty()) return false;  // an NVLink domain of its own
  for (const Level each : kTree) {
    if (each >= level && label_at(a, each) != label_at(b, each)) return false;
  }
  return true;
}

bool comes_first(const NodeLabels& a, const std::string& a_name, const NodeLabels& b, const std::string& b_name) {
  for (const Level level : {Level::pod, Level::leaf, Level::rack, Level::nvlink}) {
    const std::string& left = label_at(a, level);
    const std::string& right = label_at(b, level);
    if (left != right) return natural_less(left, right) || (!natural_less(right, left) && left < right);
  }
  if (natural_less(a_name, b_name)) return true;
  return !natural_less(b_name, a_name) && a_name < b_name;
}

}  // namespace

std::string_view to_text(Level level) { return kNames[at(level)]; }

std::optional<Level> level_named(std::string_view name) { return find_enum<Level>(kNames, name); }

std::optional<NodeId> Machine::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](std::uint32_t id, std::string_view text) { return nodes_[id].name < text; });
  if (found == by_name_.end() || nodes_[*found].name != name) return std::nullopt;
  return static_cast<NodeId>(*found);
}

bool Machine::distinct(Level level) const {
  if (level == Level::node || level == Level::cluster) return true;
  const std::size_t here = domains(level).size();
  const std::size_t below = level == Level::nvlink ? nodes_.size() : domains_[at(level) - 1].size();
  return here < below && here > 1;
}

Result<Machine> Machine::build(std::vector<NodeShape> nodes, const std::vector<NodeLabels>& labels,
                               std::vector<std::string> models, std::vector<std::string> pools) {
  CHECK(labels.size() == nodes.size(), "every node has labels");
  if (models.size() > 64 || pools.size() > 64) {
    return Error{ErrorCode::invalid_input, "more than 64 GPU models or pools", {}};
  }
  for (const NodeShape& node : nodes) {
    if (node.gpus < 0 || node.gpus > kMaxGpus) {
      return Error{ErrorCode::invalid_input,
                   fmt::format("{} has {} GPUs; a server has at most {}", node.name, node.gpus, kMaxGpus),
                   {}};
    }
  }
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return comes_first(labels[a], nodes[a].name, labels[b], nodes[b].name);
  });
  Machine machine;
  machine.models = std::move(models);
  machine.pools = std::move(pools);
  machine.nodes_.reserve(nodes.size());
  for (const std::uint32_t id : order) {
    machine.gpus_ += nodes[id].gpus;
    machine.nodes_.push_back(std::move(nodes[id]));
  }
  const auto count = static_cast<std::uint32_t>(order.size());
  for (const Level level : kTree) {
    std::vector<Domain>& domains = machine.domains_[at(level)];
    std::vector<std::uint32_t>& domain_of = machine.domain_of_[at(level)];
    domain_of.resize(count);
    for (std::uint32_t n = 0; n < count; ++n) {
      if (n == 0 || !together(labels[order[n - 1]], labels[order[n]], level)) {
        Domain domain;
        domain.first_node = n;
        domain.name = level == Level::cluster ? "cluster" : label_at(labels[order[n]], level);
        if (domain.name.empty()) domain.name = machine.nodes_[n].name;
        domains.push_back(std::move(domain));
      }
      domain_of[n] = static_cast<std::uint32_t>(domains.size() - 1);
      domains.back().end_node = n + 1;
    }
    for (std::uint32_t d = 0; d < domains.size(); ++d) {
      Domain& domain = domains[d];
      if (level == Level::nvlink) {
        domain.first_child = domain.first_node;
        domain.end_child = domain.end_node;
        continue;
      }
      const auto below = static_cast<Level>(at(level) - 1);
      domain.first_child = machine.domain_of_[at(below)][domain.first_node];
      domain.end_child = machine.domain_of_[at(below)][domain.end_node - 1] + 1;
      for (std::uint32_t c = domain.first_child; c < domain.end_child; ++c) machine.domains_[at(below)][c].parent = d;
    }
  }
  machine.by_name_.resize(count);
  std::iota(machine.by_name_.begin(), machine.by_name_.end(), 0U);
  std::sort(machine.by_name_.begin(), machine.by_name_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return machine.nodes_[a].name < machine.nodes_[b].name; });
  for (std::uint32_t i = 1; i < count; ++i) {
    const std::string& name = machine.nodes_[machine.by_name_[i]].name;
    if (name == machine.nodes_[machine.by_name_[i - 1]].name) {
      return Error{ErrorCode::invalid_input, "two nodes have the name " + name, {}};
    }
  }
  return machine;
}

}  // namespace weft::sched

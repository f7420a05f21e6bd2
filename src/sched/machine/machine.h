// Machine: the servers to schedule on and their topology tree: NVLink domain, rack, leaf group (the scalable unit that
// shares leaves), pod, cluster. Nodes are numbered such that each domain of each level is a range of consecutive ids,
// so iterating over a domain iterates over an array. Built from a compiled Cluster or from the node list of a trace.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sched/machine/resources.h"

namespace weft::model {
class Cluster;
}

namespace weft::sched {

// From the tightest to the widest. Each domain of one level is contained in one domain of the next.
enum class Level : std::uint8_t { node, nvlink, rack, leaf, pod, cluster };
inline constexpr int kLevels = 6;
[[nodiscard]] std::string_view to_text(Level level);
[[nodiscard]] std::optional<Level> level_named(std::string_view name);

struct Domain {
  std::uint32_t first_node = 0;  // nodes [first_node, end_node)
  std::uint32_t end_node = 0;
  std::uint32_t first_child = 0;  // domains [first_child, end_child) of the level below; nodes at Level::nvlink
  std::uint32_t end_child = 0;
  std::uint32_t parent = 0;  // in the level above
  std::string name;
};

// Location of a node, input for building the tree: arbitrary labels; nodes with equal labels at a level share a domain
// if their wider labels are equal too. No NVLink label: the node is a domain of its own.
struct NodeLabels {
  std::string nvlink;
  std::string rack;
  std::string leaf;
  std::string pod;
};

class Machine {
 public:
  std::vector<std::string> models;  // GPU models, at most 64
  std::vector<std::string> pools;   // at most 64

  [[nodiscard]] std::span<const NodeShape> nodes() const { return nodes_; }
  [[nodiscard]] const NodeShape& node(NodeId id) const { return nodes_[index_of(id)]; }
  // Domains of a level other than node; cluster has one.
  [[nodiscard]] std::span<const Domain> domains(Level level) const { return domains_[static_cast<std::size_t>(level)]; }
  // The domain of a node at a level above node.
  [[nodiscard]] std::uint32_t domain_of(Level level, NodeId id) const {
    return domain_of_[static_cast<std::size_t>(level)][index_of(id)];
  }
  [[nodiscard]] std::optional<NodeId> find(std::string_view name) const;
  [[nodiscard]] std::int64_t gpus() const { return gpus_; }
  // Whether a level differs from the one below it: reports skip levels that do not.
  [[nodiscard]] bool distinct(Level level) const;

  // Sorts the nodes by location (labels in natural order, then name) and builds the tree. Names must be unique.
  static Result<Machine> build(std::vector<NodeShape> nodes, const std::vector<NodeLabels>& labels,
                               std::vector<std::string> models, std::vector<std::string> pools);
  // The GPU pools of a cluster file: sizes, MIG and time slices as configured in the pool, spares separate (see
  // spares()).
  static Result<Machine> of(const model::Cluster& cluster);

  // Nodes of pools with `spares`, reserved for jobs that lose a node.
  [[nodiscard]] std::span<const NodeId> spares() const { return spares_; }

 private:
  std::vector<NodeShape> nodes_;
  std::array<std::vector<Domain>, kLevels> domains_;
  std::array<std::vector<std::uint32_t>, kLevels> domain_of_;
  std::vector<std::uint32_t> by_name_;  // node ids sorted by name
  std::vector<NodeId> spares_;
  std::int64_t gpus_ = 0;
};

}  // namespace weft::sched

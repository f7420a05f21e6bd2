#include "workload/graph/op_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/graph/op_cycle.h"

namespace weft::workload {
namespace {

constexpr std::size_t kNamedInCircle = 6;

std::uint32_t index(OpId id) { return static_cast<std::uint32_t>(id); }

Error misfit(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

bool communicates(OpKind kind) { return kind == OpKind::collective || kind == OpKind::send || kind == OpKind::receive; }

}  // namespace

std::string_view to_text(OpKind kind) {
  switch (kind) {
    case OpKind::compute:
      return "compute";
    case OpKind::memory:
      return "memory";
    case OpKind::collective:
      return "collective";
    case OpKind::send:
      return "send";
    case OpKind::receive:
      return "receive";
    case OpKind::storage_read:
      return "storage read";
    case OpKind::storage_write:
      return "storage write";
    case OpKind::host:
      return "host";
  }
  return "?";
}

ClassId OpGraph::add_class(std::string name, std::uint32_t ranks) {
  classes_.push_back({std::move(name), ranks});
  return static_cast<ClassId>(classes_.size() - 1);
}

GroupId OpGraph::add_group(OpGroup group) {
  groups_.push_back(std::move(group));
  return static_cast<GroupId>(groups_.size() - 1);
}

std::uint32_t OpGraph::intern(std::string_view name) {
  if (name.empty()) return 0;
  const auto [place, added] = name_ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(names_.size()));
  if (added) names_.emplace_back(name);
  return place->second;
}

OpId OpGraph::add(ClassId rank_class, Op op) {
  CHECK(ops_.size() < index(kNoOp), "operations are counted in 32 bits");
  ops_.push_back(op);
  class_of_.push_back(rank_class);
  return static_cast<OpId>(ops_.size() - 1);
}

void OpGraph::depend(OpId op, OpId earlier) { edges_.push_back({earlier, op}); }

std::span<const OpId> OpGraph::dependents(OpId id) const {
  const std::uint32_t first = dependent_offsets_[index(id)];
  return {dependents_.data() + first, dependent_offsets_[index(id) + 1] - first};
}

std::string OpGraph::describe(OpId id) const {
  const Op& op = ops_[index(id)];
  const std::string& name = names_[op.name];
  return fmt::format("`{}` (operation {} of class `{}`)", name.empty() ? to_text(op.kind) : std::string_view(name),
                     index(id), class_name(class_of(id)));
}

Status OpGraph::finish() {
  CHECK(dependent_offsets_.empty(), "a graph is finished once");
  if (edges_.size() >= UINT32_MAX) return misfit(fmt::format("too many dependencies: {}", edges_.size()));
  if (Status status = check_ids(); !status.ok()) return status;
  if (Status status = check_matches(); !status.ok()) return status;
  index_edges();
  return check_cycles();
}

Status OpGraph::check_ids() const {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const Op& op = ops_[i];
    if (static_cast<std::uint32_t>(class_of_[i]) >= classes_.size()) {
      return misfit(fmt::format("operation {}: class {} does not exist, there are {}", i,
                                static_cast<std::uint32_t>(class_of_[i]), classes_.size()));
    }
    if (op.name >= names_.size()) {
      return misfit(fmt::format("operation {}: name {} does not exist, there are {}", i, op.name, names_.size()));
    }
    const auto id = static_cast<OpId>(i);
    if (communicates(op.kind) && static_cast<std::uint32_t>(op.group) >= groups_.size()) {
      return misfit(fmt::format("{}: group {} does not exist, there are {}", describe(id),
                                static_cast<std::uint32_t>(op.group), groups_.size()));
    }
    if (op.duration < SimTime(0) || op.bytes < Bytes(0)) {
      return misfit(fmt::format("{} has a negative duration or size", describe(id)));
    }
  }
  for (const Edge& edge : edges_) {
    if (index(edge.earlier) < ops_.size() && index(edge.later) < ops_.size()) continue;
    return misfit(fmt::format("operation {} depends on operation {}, which does not exist; there are {}",
                              index(edge.later), index(edge.earlier), ops_.size()));
  }
  return {};
}

// Members of one match are adjacent after sorting; a collective has every class once, a message both its ends.
Status OpGraph::check_matches() const {
  std::vector<std::uint32_t> matched;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (ops_[i].match != 0) matched.push_back(i);
  }
  const auto key = [&](std::uint32_t i) { return std::pair(ops_[i].match, static_cast<std::uint32_t>(class_of_[i])); };
  std::stable_sort(matched.begin(), matched.end(), [&](auto a, auto b) { return key(a) < key(b); });
  for (std::size_t first = 0; first < matched.size();) {
    std::size_t end = first + 1;
    while (end < matched.size() && ops_[matched[end]].match == ops_[matched[first]].match) ++end;
    const Op& lead = ops_[matched[first]];
    const auto lead_id = static_cast<OpId>(matched[first]);
    if (!communicates(lead.kind))
      return misfit(fmt::format("{} has a match but is not communication", describe(lead_id)));
    const bool collective = lead.kind == OpKind::collective;
    for (std::size_t i = first + 1; i < end; ++i) {
      const Op& op = ops_[matched[i]];
      const auto id = static_cast<OpId>(matched[i]);
      const bool fits = collective ? op.kind == OpKind::collective && op.collective == lead.collective &&
                                         group(op.group).ranks == group(lead.group).ranks
                                   : op.kind != lead.kind && op.bytes == lead.bytes && communicates(op.kind) &&
                                         op.kind != OpKind::collective;
      if (!fits) return misfit(fmt::format("{} and {} are matched but differ", describe(lead_id), describe(id)));
      if (collective && class_of_[matched[i]] == class_of_[matched[i - 1]]) {
        return misfit(fmt::format("{} takes part twice in the collective of {}", describe(id), describe(lead_id)));
      }
    }
    if (!collective && end - first != 2) {
      return misfit(fmt::format("{} has {} ends; expected a send and a receive", describe(lead_id), end - first));
    }
    first = end;
  }
  return {};
}

// Counting sort by the earlier operation; dependents of one operation keep their insertion order.
void OpGraph::index_edges() {
  dependency_counts_.assign(ops_.size(), 0);
  dependent_offsets_.assign(ops_.size() + 1, 0);
  dependents_.resize(edges_.size());
  for (const Edge& edge : edges_) {
    ++dependency_counts_[index(edge.later)];
    ++dependent_offsets_[index(edge.earlier) + 1];
  }
  for (std::size_t i = 0; i < ops_.size(); ++i) dependent_offsets_[i + 1] += dependent_offsets_[i];
  std::vector<std::uint32_t> next(dependent_offsets_.begin(), dependent_offsets_.end());
  for (const Edge& edge : edges_) dependents_[next[index(edge.earlier)]++] = edge.later;
  edges_ = {};
}

Status OpGraph::check_cycles() const {
  std::vector<std::uint32_t> left = dependency_counts_;
  std::vector<OpId> ready;
  ready.reserve(ops_.size());
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (left[i] == 0) ready.push_back(static_cast<OpId>(i));
  }
  for (std::size_t done = 0; done < ready.size(); ++done) {
    for (const OpId later : dependents(ready[done])) {
      if (--left[index(later)] == 0) ready.push_back(later);
    }
  }
  if (ready.size() == ops_.size()) return {};
  std::vector<OpId> waits_for(ops_.size(), kNoOp);
  OpId from = kNoOp;
  for (std::uint32_t i = 0; i < ops_.size(); ++i) {
    if (left[i] == 0) continue;
    if (from == kNoOp) from = static_cast<OpId>(i);
    for (const OpId later : dependents(static_cast<OpId>(i))) waits_for[index(later)] = static_cast<OpId>(i);
  }
  return misfit("dependency cycle of operations: " + cycle_text(*this, find_cycle(waits_for, from)));
}

std::vector<OpId> find_cycle(std::span<const OpId> waits_for, OpId from) {
  std::vector<bool> seen(waits_for.size());
  OpId at = from;
  while (!seen[index(at)]) {
    seen[index(at)] = true;
    at = waits_for[index(at)];
    CHECK(at != kNoOp, "an operation on the path to a cycle waits for another");
  }
  std::vector<OpId> cycle;
  for (OpId op = at; cycle.empty() || op != at; op = waits_for[index(op)]) cycle.push_back(op);
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

std::string cycle_text(const OpGraph& graph, std::span<const OpId> cycle) {
  if (cycle.size() == 1) return graph.describe(cycle.front()) + " waits for itself";
  std::string text = graph.describe(cycle.front());
  const std::size_t named = std::min(cycle.size(), kNamedInCircle);
  for (std::size_t i = 1; i < named; ++i) {
    text += fmt::format("{} waits for {}", i == 1 ? "" : ", which", graph.describe(cycle[i]));
  }
  if (cycle.size() > named) text += fmt::format(", which waits for {} more", cycle.size() - named);
  return text + fmt::format(", which waits for operation {}", index(cycle.front()));
}

}  // namespace weft::workload

#include "lease/lease.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/text.h"

namespace weft::lease {

std::string_view to_text(LeaseOwner owner) {
  switch (owner) {
    case LeaseOwner::none:
      return "none";
    case LeaseOwner::slurm:
      return "slurm";
    case LeaseOwner::kubernetes:
      return "kubernetes";
    case LeaseOwner::weft:
      return "weft";
  }
  return "none";
}

std::optional<LeaseOwner> find_owner(std::string_view name) {
  for (const LeaseOwner owner : {LeaseOwner::slurm, LeaseOwner::kubernetes, LeaseOwner::weft}) {
    if (name == to_text(owner)) return owner;
  }
  return std::nullopt;
}

bool is_sound(const GpuSet& set) {
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i].gpus == 0 || (i > 0 && set[i - 1].node >= set[i].node)) return false;
  }
  return true;
}

int count(const GpuSet& set) {
  int sum = 0;
  for (const NodeGpus& part : set) sum += std::popcount(part.gpus);
  return sum;
}

namespace {

auto place_of(GpuSet& set, sched::NodeId node) {
  return std::lower_bound(set.begin(), set.end(), node,
                          [](const NodeGpus& part, sched::NodeId id) { return part.node < id; });
}

}  // namespace

void insert(GpuSet& set, sched::NodeId node, std::uint16_t gpus) {
  if (gpus == 0) return;
  const auto at = place_of(set, node);
  if (at != set.end() && at->node == node) {
    at->gpus = static_cast<std::uint16_t>(at->gpus | gpus);
  } else {
    set.insert(at, NodeGpus{node, gpus});
  }
}

void erase(GpuSet& set, sched::NodeId node, std::uint16_t gpus) {
  const auto at = place_of(set, node);
  if (at == set.end() || at->node != node) return;
  at->gpus = static_cast<std::uint16_t>(at->gpus & ~gpus);
  if (at->gpus == 0) set.erase(at);
}

std::string to_text(const GpuSet& set) {
  if (set.empty()) return "-";
  std::string text;
  for (const NodeGpus& part : set) {
    if (!text.empty()) text += ',';
    append_format(text, "{}:{:x}", sched::index_of(part.node), part.gpus);
  }
  return text;
}

Result<GpuSet> parse_gpu_set(std::string_view text) {
  const Error bad{ErrorCode::invalid_input, fmt::format("'{}' is not a set of GPUs", text.substr(0, 80)), {}};
  GpuSet set;
  if (text == "-") return set;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    std::uint32_t node = 0;
    std::uint16_t gpus = 0;
    const auto first = std::from_chars(at, end, node);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != ':') return bad;
    const auto second = std::from_chars(first.ptr + 1, end, gpus, 16);
    if (second.ec != std::errc{}) return bad;
    set.push_back({sched::NodeId{node}, gpus});
    if (second.ptr == end) break;
    if (*second.ptr != ',') return bad;
    at = second.ptr + 1;
  }
  // One canonical spelling per set: no leading zeros, no capitals.
  if (!is_sound(set) || to_text(set) != text) return bad;
  return set;
}

}  // namespace weft::lease

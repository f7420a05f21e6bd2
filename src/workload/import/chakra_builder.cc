#include "workload/import/chakra_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "base/utf8.h"

namespace weft::workload {
namespace {

constexpr std::size_t kMaxNameBytes = 80;  // template names can have thousands of characters

}  // namespace

Error ChakraBuilder::bad(std::string why) const { return {ErrorCode::invalid_input, std::move(why), path_}; }

Error ChakraBuilder::bad_node(std::uint64_t id, std::string why) const {
  return bad(fmt::format("node {}: {}", id, why));
}

std::uint32_t ChakraBuilder::intern(std::unordered_map<std::string, std::uint32_t>& known,
                                    std::vector<std::string>& list, std::string_view text) {
  const auto [place, added] =
      known.try_emplace(printable(text, kMaxNameBytes), static_cast<std::uint32_t>(list.size()));
  if (added) list.push_back(place->first);
  return place->second;
}

Status ChakraBuilder::set_type(ChakraDraft& draft, std::int64_t value) const {
  if (value < 0 || value > static_cast<std::int64_t>(ChakraType::collective)) {
    return bad_node(draft.node.id, fmt::format("unknown type {}", value));
  }
  draft.node.type = static_cast<ChakraType>(value);
  return {};
}

Status ChakraBuilder::set(ChakraDraft& draft, std::string_view name, std::int64_t value) const {
  ChakraNode& node = draft.node;
  const auto within = [&](std::uint64_t most) -> Status {
    if (value >= 0 && static_cast<std::uint64_t>(value) <= most) return {};
    return bad_node(node.id, fmt::format("{} is {}; expected 0 to {}", name, value, most));
  };
  Status status;
  const auto number = static_cast<std::uint64_t>(value);
  if (name == "is_cpu_op") {
    node.cpu = value != 0;
  } else if (name == "num_ops") {
    status = within(INT64_MAX);
    node.operations = number;
  } else if (name == "tensor_size") {
    status = within(kMaxChakraBytes);
    node.tensor = number;
  } else if (name == "comm_size") {
    status = within(kMaxChakraBytes);
    node.communication = number;
  } else if (name == "comm_type") {
    status = within(static_cast<std::uint64_t>(ChakraCollective::barrier));
    if (status.ok()) node.collective = static_cast<ChakraCollective>(value);
  } else if (name == "comm_src") {
    status = within(kMaxChakraRank);
    draft.source = number;
  } else if (name == "comm_dst") {
    status = within(kMaxChakraRank);
    draft.destination = number;
  } else if (name == "comm_tag") {
    node.tag = static_cast<std::uint32_t>(number);
  } else if (name == "stream") {
    node.stream = static_cast<std::int32_t>(std::clamp<std::int64_t>(value, -1, INT32_MAX));
  } else if (name == "runtime" && node.duration_us == 0) {  // traces older than the duration field
    status = within(INT64_MAX);
    node.duration_us = number;
  }
  return status;
}

Status ChakraBuilder::add(ChakraDraft& draft) {
  if (trace_.nodes.size() >= kMaxChakraNodes) return bad(fmt::format("more than {} nodes", kMaxChakraNodes));
  ChakraNode& node = draft.node;
  if (pending_.size() + draft.control.size() + draft.data.size() > kMaxChakraDependencies) {
    return bad(fmt::format("more than {} dependencies", kMaxChakraDependencies));
  }
  node.peer = kUnknownPeer;
  if (node.type == ChakraType::send) node.peer = static_cast<std::uint32_t>(draft.destination);
  if (node.type == ChakraType::receive) node.peer = static_cast<std::uint32_t>(draft.source);
  node.name = intern(names_, trace_.names, draft.name);
  if (groups_.empty()) groups_.emplace(std::string(), 0);
  node.group = intern(groups_, trace_.groups, draft.group);
  pending_counts_.push_back(static_cast<std::uint32_t>(draft.control.size() + draft.data.size()));
  for (const std::uint64_t id : draft.data) pending_.push_back({id, false});
  for (const std::uint64_t id : draft.control) pending_.push_back({id, true});
  trace_.nodes.push_back(node);
  return {};
}

Status ChakraBuilder::resolve(std::span<const std::pair<std::uint64_t, std::uint32_t>> places, bool control) {
  std::size_t at = 0;
  std::vector<std::uint32_t> found;
  trace_.earlier.clear();
  trace_.earlier.reserve(pending_.size());
  trace_.dropped = 0;
  for (std::uint32_t n = 0; n < trace_.nodes.size(); ++n) {
    ChakraNode& node = trace_.nodes[n];
    found.clear();
    for (const std::size_t end = at + pending_counts_[n]; at < end; ++at) {
      const Pending& wanted = pending_[at];
      const auto place = std::lower_bound(places.begin(), places.end(), std::pair(wanted.id, 0U));
      const bool known = place != places.end() && place->first == wanted.id;
      if (wanted.control && (!control || !known || place->second == n)) {
        ++trace_.dropped;
      } else if (!known) {
        return bad_node(node.id, fmt::format("`{}` waits for node {}, which is not in the file",
                                             trace_.names[node.name], wanted.id));
      } else if (place->second == n) {
        return bad_node(node.id, fmt::format("`{}` waits for itself", trace_.names[node.name]));
      } else {
        found.push_back(place->second);
      }
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    node.first_earlier = static_cast<std::uint32_t>(trace_.earlier.size());
    node.earlier_count = static_cast<std::uint32_t>(found.size());
    trace_.earlier.insert(trace_.earlier.end(), found.begin(), found.end());
  }
  return {};
}

Result<ChakraTrace> ChakraBuilder::finish() && {
  if (trace_.nodes.empty()) return bad("the trace has no nodes");
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  places.reserve(trace_.nodes.size());
  for (std::uint32_t n = 0; n < trace_.nodes.size(); ++n) places.emplace_back(trace_.nodes[n].id, n);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].first == places[i - 1].first) return bad_node(places[i].first, "duplicate node id");
  }
  if (Status status = resolve(places, true); !status.ok()) return status.error();
  if (in_order(trace_).size() < trace_.nodes.size()) {
    trace_.control_cycle = true;
    if (Status status = resolve(places, false); !status.ok()) return status.error();
  }
  return std::move(trace_);
}

std::vector<std::uint32_t> in_order(const ChakraTrace& trace) {
  const auto size = static_cast<std::uint32_t>(trace.nodes.size());
  std::vector<std::uint32_t> left(size, 0);
  std::vector<std::uint32_t> offsets(size + std::size_t{1}, 0);
  for (const ChakraNode& node : trace.nodes) {
    for (std::uint32_t i = 0; i < node.earlier_count; ++i) ++offsets[trace.earlier[node.first_earlier + i] + 1];
  }
  for (std::uint32_t n = 0; n < size; ++n) offsets[n + 1] += offsets[n];
  std::vector<std::uint32_t> later(trace.earlier.size());
  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  const auto key = [&](std::uint32_t n) { return Key(trace.nodes[n].start_us, trace.nodes[n].id, n); };
  for (std::uint32_t n = 0; n < size; ++n) {
    const ChakraNode& node = trace.nodes[n];
    left[n] = node.earlier_count;
    for (std::uint32_t i = 0; i < node.earlier_count; ++i) later[next[trace.earlier[node.first_earlier + i]]++] = n;
    if (left[n] == 0) ready.push(key(n));
  }
  std::vector<std::uint32_t> order;
  order.reserve(size);
  while (!ready.empty()) {
    const std::uint32_t n = std::get<2>(ready.top());
    ready.pop();
    order.push_back(n);
    for (std::uint32_t i = offsets[n]; i < offsets[n + 1]; ++i) {
      if (--left[later[i]] == 0) ready.push(key(later[i]));
    }
  }
  return order;
}

}  // namespace weft::workload

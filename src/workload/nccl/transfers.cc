#include "workload/nccl/transfers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "netsim/traffic/collective.h"
#include "netsim/traffic/collective_plan.h"

namespace weft::workload {

namespace {

using netsim::Collective;
using netsim::CollectivePlan;
using netsim::CollectiveShape;
using netsim::divide_up;
using netsim::NodeId;
using netsim::TransferGraph;
using netsim::TransferId;

// Including the flags sent with the data: LL 4 bytes per 4, LL128 8 bytes per 120.
Bytes on_the_wire(Bytes bytes, NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::ll:
      return bytes * 2;
    case NcclProtocol::ll128:
      return bytes + divide_up(bytes, 15);
    case NcclProtocol::simple:
      break;
  }
  return bytes;
}

void append(std::vector<TransferId>& to, const std::vector<TransferId>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

class Layout {
 public:
  Layout(TransferGraph& graph, std::span<const NodeId> ranks, std::uint32_t per_node, CollectiveShape shape,
         std::span<const TransferId> after)
      : graph_(graph), ranks_(ranks), per_node_(per_node), shape_(shape), after_(after) {}

  std::vector<TransferId> rings(netsim::Algorithm algorithm) {
    shape_.algorithm = algorithm;
    return netsim::add_collective(graph_, ranks_, shape_, after_);
  }

  // A ring of neighbors per node that moves what the switch would; all-gather and reduce-scatter move the whole buffer.
  std::vector<TransferId> nvls() {
    const bool both = shape_.operation == Collective::all_reduce;
    const Bytes each = both ? shape_.bytes + divide_up(shape_.bytes, per_node_) : shape_.bytes;
    std::vector<TransferId> ends;
    CollectivePlan plan(graph_, ranks_, shape_, after_);
    for (std::uint32_t r = 0; r < plan.size(); ++r) {
      const std::uint32_t first = r / per_node_ * per_node_;
      const std::uint32_t size = std::min(per_node_, plan.size() - first);
      if (size > 1) ends.push_back(plan.first_send(r, first + (r - first + 1) % size, each));
    }
    return ends;
  }

  std::vector<TransferId> rail_trees() {
    const std::uint32_t nodes = (static_cast<std::uint32_t>(ranks_.size()) + per_node_ - 1) / per_node_;
    CollectiveShape rail = shape_;
    rail.algorithm = netsim::Algorithm::tree;
    rail.bytes = divide_up(shape_.bytes, per_node_);
    rail.ranks_per_node = 1;
    rail.channels = 1;
    std::vector<TransferId> ends;
    for (std::uint32_t local = 0; local < per_node_; ++local) {
      std::vector<NodeId> members;
      for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::size_t rank = static_cast<std::size_t>(node) * per_node_ + local;
        if (rank < ranks_.size()) members.push_back(ranks_[rank]);
      }
      if (members.size() > 1) append(ends, netsim::add_collective(graph_, members, rail, after_));
    }
    return ends;
  }

  // All-gather doubles each rank's data per round; reduce-scatter is the reverse.
  std::vector<TransferId> pat() {
    CollectivePlan plan(graph_, ranks_, shape_, after_);
    const std::uint32_t count = plan.size();
    const Bytes part = divide_up(shape_.bytes, count);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> rounds;  // distance, parts
    for (std::uint32_t ahead = 1; ahead < count; ahead *= 2) rounds.emplace_back(ahead, std::min(ahead, count - ahead));
    if (shape_.operation == Collective::reduce_scatter) std::reverse(rounds.begin(), rounds.end());
    std::vector<TransferId> last;
    std::vector<TransferId> came(count, model::kNone<TransferId>);  // by rank: what it received in the previous round
    for (const auto& [ahead, parts] : rounds) {
      std::vector<TransferId> sent(count, model::kNone<TransferId>);
      std::vector<TransferId> got(count, model::kNone<TransferId>);
      for (std::uint32_t r = 0; r < count; ++r) {
        const std::uint32_t peer = (r + ahead) % count;
        sent[r] = last.empty() ? plan.first_send(r, peer, part * parts) : plan.send(r, peer, part * parts);
        if (!last.empty()) plan.depend(sent[r], last[r]);
        plan.depend(sent[r], came[r]);
        got[peer] = sent[r];
      }
      last = std::move(sent);
      came = std::move(got);
    }
    return last;
  }

  // With PXN: data for a rank of another node goes to the local rank on its rail, which sends for its whole node at
  // once.
  std::vector<TransferId> rail_pairs() {
    CollectivePlan plan(graph_, ranks_, shape_, after_);
    const std::uint32_t nodes = plan.size() / per_node_;
    const Bytes part = divide_up(shape_.bytes, plan.size());
    std::vector<TransferId> ends;
    const auto within = [&](std::uint32_t r, std::uint32_t k) {
      return r / per_node_ * per_node_ + (r % per_node_ + k) % per_node_;
    };
    const auto across = [&](std::uint32_t r, std::uint32_t k) { return (r + k * per_node_) % plan.size(); };
    append(ends, shift(plan, per_node_, part * nodes, within));
    append(ends, shift(plan, nodes, part * per_node_, across));
    return ends;
  }

 private:
  // In step k rank r sends to peer(r, k), after its own previous step.
  template <class Peer>
  static std::vector<TransferId> shift(CollectivePlan& plan, std::uint32_t steps, Bytes bytes, const Peer& peer) {
    std::vector<TransferId> last;
    for (std::uint32_t k = 1; k < steps; ++k) {
      std::vector<TransferId> sent;
      for (std::uint32_t r = 0; r < plan.size(); ++r) {
        sent.push_back(k == 1 ? plan.first_send(r, peer(r, k), bytes) : plan.send(r, peer(r, k), bytes));
        if (k > 1) plan.depend(sent[r], last[r]);
      }
      last = std::move(sent);
    }
    return last;
  }

  TransferGraph& graph_;
  std::span<const NodeId> ranks_;
  std::uint32_t per_node_;
  CollectiveShape shape_;
  std::span<const TransferId> after_;
};

}  // namespace

std::vector<TransferId> add_nccl_collective(TransferGraph& graph, std::span<const NodeId> ranks,
                                            const NcclChoice& choice, const NcclGroup& group, Collective operation,
                                            Bytes bytes, const NcclTransferOptions& options) {
  if (ranks.size() < 2 || bytes.count() <= 0) return {options.after.begin(), options.after.end()};
  const auto count = static_cast<std::uint32_t>(ranks.size());
  const std::uint32_t per_node = std::clamp(group.node_ranks, 1U, count);
  CollectiveShape shape;
  shape.operation = operation;
  shape.bytes = on_the_wire(bytes, choice.protocol);
  shape.ranks_per_node = per_node;
  shape.channels = std::max(1U, std::min(choice.channels, options.nics > 0 ? options.nics : per_node));
  shape.rails = options.nics;
  shape.same_rail = true;  // NCCL keeps a channel on its NIC (NCCL_CROSS_NIC)
  shape.start = options.start;
  shape.traffic_class = options.traffic_class;
  shape.queue_pairs = options.queue_pairs;
  shape.tag = options.tag;
  Layout layout(graph, ranks, per_node, shape, options.after);
  std::vector<TransferId> ends;
  switch (choice.algorithm) {
    case NcclAlgorithm::tree:
      return layout.rings(netsim::Algorithm::tree);
    case NcclAlgorithm::nvls:
      return layout.nvls();
    case NcclAlgorithm::nvls_tree:
      ends = layout.nvls();
      append(ends, layout.rail_trees());
      return ends;
    case NcclAlgorithm::pat:
      return layout.pat();
    case NcclAlgorithm::pairs:
      if (operation == Collective::all_to_all && count % per_node == 0) return layout.rail_pairs();
      break;
    case NcclAlgorithm::ring:
      break;
  }
  return layout.rings(netsim::Algorithm::ring);
}

}  // namespace weft::workload

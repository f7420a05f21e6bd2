#include "workload/import/chakra_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

#include "base/random.h"
#include "workload/import/chakra_builder.h"
#include "workload/import/chakra_fold.h"

namespace weft::workload {
namespace {

constexpr std::size_t kMaxOps = 100'000'000;
constexpr std::uint64_t kLongestMicroseconds = 1'000'000'000'000;  // 11 days in one node
// Streams of a class; CUDA streams that the trace names follow.
constexpr std::uint8_t kKernels = 0;
constexpr std::uint8_t kCollectives = 1;
constexpr std::uint8_t kHost = 2;
constexpr std::uint8_t kSends = 3;
constexpr std::uint8_t kReceives = 4;
constexpr std::uint8_t kMemory = 5;
constexpr std::uint8_t kMarkers = 6;
constexpr std::uint8_t kFirstCuda = 8;

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = hash64({reinterpret_cast<const char*>(&value), sizeof value}, hash);  // NOLINT(*-reinterpret-cast)
}

// Everything that defines a node except its name.
auto meaning(const ChakraNode& node) {
  return std::tuple(node.group, node.type, node.collective, node.cpu, node.stream, node.peer, node.tag,
                    node.duration_us, node.operations, node.tensor, node.communication, node.earlier_count);
}

bool communicates(const ChakraNode& node) {
  return !node.cpu &&
         (node.type == ChakraType::collective || node.type == ChakraType::send || node.type == ChakraType::receive);
}

bool on_device(const ChakraNode& node) {
  return !node.cpu && node.type != ChakraType::invalid && node.type != ChakraType::metadata;
}

// Bytes as nccl-tests counts them. Chakra counts the input of one rank: for an all-gather the rank's part (ASTRA-sim's
// Ring.cc and the converter's comm_size agree). A reduce is modeled as a reverse broadcast; gather and scatter fill the
// root's link; NCCL's barrier is an all-reduce of one number.
std::pair<netsim::Collective, std::int64_t> as_nccl(const ChakraNode& node, std::size_t ranks) {
  using netsim::Collective;
  const auto bytes = static_cast<std::int64_t>(node.communication);
  const std::int64_t gathered = multiply_divide(bytes, static_cast<std::int64_t>(ranks), 1);
  switch (node.collective) {
    case ChakraCollective::all_reduce:
      return {Collective::all_reduce, bytes};
    case ChakraCollective::all_gather:
      return {Collective::all_gather, gathered};
    case ChakraCollective::reduce_scatter:
    case ChakraCollective::reduce_scatter_block:
      return {Collective::reduce_scatter, bytes};
    case ChakraCollective::all_to_all:
      return {Collective::all_to_all, bytes};
    case ChakraCollective::gather:
      return {Collective::broadcast, gathered};
    case ChakraCollective::reduce:
    case ChakraCollective::scatter:
    case ChakraCollective::broadcast:
      return {Collective::broadcast, bytes};
    case ChakraCollective::barrier:
      return {Collective::all_reduce, 4};
  }
  return {Collective::all_reduce, bytes};
}

std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  if (ranks.back() - ranks.front() + 1 == ranks.size()) return fmt::format("ranks {}-{}", ranks.front(), ranks.back());
  const std::size_t shown = std::min<std::size_t>(ranks.size(), 4);
  return fmt::format("ranks {}{}", fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(shown), ","),
                     ranks.size() > shown ? ",..." : "");
}

}  // namespace

Status ChakraSet::add(std::uint32_t rank, ChakraTrace trace, const std::string& path) {
  const auto fail = [&](std::string why) { return Error{ErrorCode::invalid_input, std::move(why), path}; };
  if (rank >= ranks_) return fail(fmt::format("this is the trace of rank {} but the job has {} ranks", rank, ranks_));
  if (members_.contains(rank)) return fail(fmt::format("duplicate trace of rank {}", rank));
  Shape shape;
  for (ChakraNode& node : trace.nodes) {
    if (node.peer == kUnknownPeer) continue;
    if (node.peer >= ranks_) {
      return fail(fmt::format("node {}: its peer is rank {} but the job has {} ranks", node.id, node.peer, ranks_));
    }
    node.peer = static_cast<std::uint32_t>((std::uint64_t{node.peer} + ranks_ - rank) % ranks_);
    shape.offsets.push_back(node.peer);
  }
  std::sort(shape.offsets.begin(), shape.offsets.end());
  shape.offsets.erase(std::unique(shape.offsets.begin(), shape.offsets.end()), shape.offsets.end());
  shape.hash = hash64("");
  for (const ChakraNode& node : trace.nodes) {
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(node.type), static_cast<std::uint64_t>(node.collective), node.duration_us,
          node.operations, node.tensor, node.communication, std::uint64_t{node.peer}, std::uint64_t{node.group}}) {
      mix(shape.hash, value);
    }
  }
  Member member;
  member.groups = trace.groups;
  member.process_groups = std::move(trace.process_groups);
  trace.process_groups.clear();
  const auto [first, last] = by_hash_.equal_range(shape.hash);
  for (auto known = first; known != last; ++known) {
    if (!same(shapes_[known->second].trace, trace)) continue;
    member.shape = known->second;
    members_.emplace(rank, std::move(member));
    return {};
  }
  member.shape = static_cast<std::uint32_t>(shapes_.size());
  by_hash_.emplace(shape.hash, member.shape);
  shape.trace = std::move(trace);
  shape.path = path;
  shapes_.push_back(std::move(shape));
  members_.emplace(rank, std::move(member));
  return {};
}

bool ChakraSet::same(const ChakraTrace& a, const ChakraTrace& b) {
  return a.earlier == b.earlier && a.groups.size() == b.groups.size() &&
         std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const ChakraNode& x, const ChakraNode& y) { return meaning(x) == meaning(y); });
}

// Adds the operations of every class to one graph.
class ChakraPlayer {
 public:
  ChakraPlayer(const ChakraSet& set, const ChakraClasses& classes, const ChakraOptions& options)
      : set_(set), classes_(classes), options_(options) {}

  Result<ChakraWorkload> make() {
    std::size_t size = 0;
    for (const auto& members : classes_.members) size += shape_of(members.front()).trace.nodes.size();
    if (size > kMaxOps) return fail(fmt::format("{} operations exceed the maximum of {}", size, kMaxOps), "");
    for (std::uint32_t c = 0; c < classes_.members.size(); ++c) {
      if (Status status = add_class(c); !status.ok()) return status.error();
    }
    if (Status status = check_matches(); !status.ok()) return status.error();
    warn();
    if (Status status = workload_.graph.finish(); !status.ok()) {
      Error error = status.error();
      error.message += " (traces converted from PyTorch have had such cycles: mlcommons/chakra 160 and 185)";
      return error;
    }
    workload_.ranks = classes_.ranks;
    workload_.traces = static_cast<std::uint32_t>(set_.members_.size());
    return std::move(workload_);
  }

 private:
  // What matching operations have in common, and their sequence number among equal ones.
  using Key = std::array<std::uint64_t, 7>;
  struct Matched {
    std::uint32_t number = 0;
    std::uint32_t present = 0;
    std::uint32_t wanted = 0;
    const ChakraSet::Shape* shape = nullptr;
    std::uint64_t node = 0;
  };

  [[nodiscard]] const ChakraSet::Shape& shape_of(std::uint32_t rank) const {
    return set_.shapes_[set_.members_.find(rank)->second.shape];
  }
  static Error fail(std::string why, const std::string& path) {
    return {ErrorCode::invalid_input, std::move(why), path};
  }

  Status add_class(std::uint32_t number) {
    const std::vector<std::uint32_t>& members = classes_.members[number];
    rank_ = members.front();
    shape_ = &shape_of(rank_);
    const ChakraTrace& trace = shape_->trace;
    // A single trace represents all ranks of the job.
    const bool alone = set_.members_.size() == 1;
    const auto ranks = static_cast<std::uint32_t>(alone ? classes_.ranks : members.size());
    class_ = workload_.graph.add_class(alone && ranks > 1 ? "all ranks" : ranks_text(members), ranks);
    first_ = static_cast<std::uint32_t>(workload_.graph.size());
    cuda_.clear();
    seen_.clear();
    names_.clear();
    for (const std::string& name : trace.names) names_.push_back(workload_.graph.intern(name));
    for (const ChakraNode& node : trace.nodes) {
      if (Status status = add_node(node); !status.ok()) return status;
    }
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
      const ChakraNode& node = trace.nodes[n];
      for (std::uint32_t i = 0; i < node.earlier_count; ++i) {
        workload_.graph.depend(op(n), op(trace.earlier[node.first_earlier + i]));
      }
    }
    match_in_order_of_ids();
    keep_cuda_order();
    return {};
  }

  [[nodiscard]] OpId op(std::uint32_t node) const { return static_cast<OpId>(first_ + node); }

  Status add_node(const ChakraNode& node) {
    Op op;
    op.name = names_[node.name];
    if (node.duration_us > kLongestMicroseconds) {
      return fail(fmt::format("node {}: its duration of {} us is too long", node.id, node.duration_us), shape_->path);
    }
    op.duration = netsim::microseconds(static_cast<std::int64_t>(node.duration_us));
    if (communicates(node)) {
      set_communication(node, op);
    } else if (node.type == ChakraType::invalid || node.type == ChakraType::metadata) {
      op.kind = OpKind::host;
      op.stream = kMarkers;
      op.duration = SimTime(0);
    } else if (node.cpu) {
      op.kind = OpKind::host;
      op.stream = kHost;
    } else {
      set_kernel(node, op);
    }
    if (on_device(node) && node.stream >= 0) op.stream = cuda_stream(node.stream);
    workload_.graph.add(class_, op);
    return {};
  }

  void set_kernel(const ChakraNode& node, Op& op) {
    const bool memory = node.type != ChakraType::compute;
    op.kind = memory ? OpKind::memory : OpKind::compute;
    op.stream = memory ? kMemory : kKernels;
    op.bytes = Bytes(static_cast<std::int64_t>(node.tensor));
    if (node.duration_us > 0) return;
    const auto bytes = static_cast<double>(node.tensor);
    const double rate = memory ? options_.host_link : options_.memory;
    double seconds = rate > 0 ? bytes / rate : 0;
    // Roofline (Williams et al., CACM 2009): the longer of arithmetic and memory time.
    if (!memory && options_.flops > 0) {
      seconds = std::max(seconds, static_cast<double>(node.operations) / options_.flops);
    }
    if (seconds <= 0) ++untimed_;
    op.duration = seconds * 1e12 < 9e18 ? SimTime(std::llround(seconds * 1e12)) : netsim::kNever;
  }

  void set_communication(const ChakraNode& node, Op& op) {
    if (node.communication == 0 && node.collective != ChakraCollective::barrier) ++unsized_;
    if (node.type != ChakraType::collective) {
      op.kind = node.type == ChakraType::send ? OpKind::send : OpKind::receive;
      op.stream = node.type == ChakraType::send ? kSends : kReceives;
      op.bytes = Bytes(static_cast<std::int64_t>(node.communication));
      op.group = message_group(node);
      return;
    }
    const ChakraGroup& group = group_of(node);
    op.kind = OpKind::collective;
    if (group.ranks.size() == 1) ++alone_;
    op.stream = kCollectives;
    const auto [collective, bytes] = as_nccl(node, group.ranks.size());
    op.collective = collective;
    op.bytes = Bytes(bytes);
    const std::uint32_t domain = rank_ / options_.node_gpus;
    const auto near = std::count_if(group.ranks.begin(), group.ranks.end(),
                                    [&](std::uint32_t other) { return other / options_.node_gpus == domain; });
    op.group = intern({group.name, static_cast<std::uint32_t>(group.ranks.size()),
                       std::max<std::uint32_t>(static_cast<std::uint32_t>(near), 1), group.stride});
  }

  [[nodiscard]] const ChakraGroup& group_of(const ChakraNode& node) const {
    return classes_.groups[classes_.rank_groups.find(rank_)->second[node.group]];
  }

  GroupId message_group(const ChakraNode& node) {
    if (node.peer == kUnknownPeer) return intern({"messages", 2, 1, 1});
    const bool near = partner(node) / options_.node_gpus == rank_ / options_.node_gpus;
    return intern({near ? "messages within a domain" : "messages", 2, near ? 2U : 1U, node.peer});
  }

  [[nodiscard]] std::uint32_t partner(const ChakraNode& node) const {
    return static_cast<std::uint32_t>((std::uint64_t{rank_} + node.peer) % set_.ranks_);
  }

  GroupId intern(const OpGroup& group) {
    const auto [place, added] =
        groups_.try_emplace({group.name, group.ranks, group.node_ranks, group.stride}, GroupId{0});
    if (added) place->second = workload_.graph.add_group(group);
    return place->second;
  }

  std::uint8_t cuda_stream(std::int32_t stream) {
    const auto [place, added] =
        cuda_.try_emplace(stream, static_cast<std::uint8_t>(std::min<std::size_t>(kFirstCuda + cuda_.size(), 255)));
    return place->second;
  }

  // The key that matches a node with its other ends; nullopt if no class contains another end.
  [[nodiscard]] std::optional<Key> key_of(const ChakraNode& node, std::uint32_t& wanted) {
    if (node.type == ChakraType::collective) {
      const ChakraGroup& group = group_of(node);
      wanted = static_cast<std::uint32_t>(group.classes.size());
      if (wanted < 2) return std::nullopt;
      const auto mix = mixes_.try_emplace(group.classes, mixes_.size()).first->second;
      const bool uneven = node.collective == ChakraCollective::all_to_all;
      return Key{0,
                 mix,
                 group.ranks.size(),
                 group.stride,
                 static_cast<std::uint64_t>(node.collective),
                 uneven ? 0 : node.communication,
                 0};
    }
    wanted = 2;
    if (node.peer == kUnknownPeer || set_.members_.size() == 1) return std::nullopt;
    const auto other = classes_.class_of.find(partner(node));
    if (other == classes_.class_of.end()) return std::nullopt;
    const std::uint64_t mine = classes_.class_of.find(rank_)->second;
    const bool sends = node.type == ChakraType::send;
    const std::uint64_t ahead = sends ? node.peer : (set_.ranks_ - node.peer) % set_.ranks_;
    return Key{1, sends ? mine : other->second, sends ? other->second : mine, ahead, node.tag, node.communication, 0};
  }

  void match_in_order_of_ids() {
    const ChakraTrace& trace = shape_->trace;
    std::vector<std::uint32_t> order;
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
      if (communicates(trace.nodes[n])) order.push_back(n);
    }
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return trace.nodes[a].id < trace.nodes[b].id; });
    for (const std::uint32_t n : order) {
      const ChakraNode& node = trace.nodes[n];
      std::uint32_t wanted = 0;
      std::optional<Key> key = key_of(node, wanted);
      if (!key) continue;
      // A send and a receive of one class may have the same key: they are counted separately.
      (*key)[6] = seen_[{*key, node.type}]++;
      Matched& matched = matches_[*key];
      if (matched.present++ == 0) {
        matched.number = static_cast<std::uint32_t>(matches_.size());
        matched.wanted = wanted;
        matched.shape = shape_;
        matched.node = node.id;
      }
      workload_.graph.set_match(op(n), matched.number);
    }
  }

  Status check_matches() const {
    for (const auto& [key, matched] : matches_) {
      if (matched.present == matched.wanted) continue;
      const std::string what =
          key[0] == 1 ? "unmatched message: the trace of its peer has no counterpart"
                      : fmt::format("this collective is in the traces of only {} of {} rank classes of its group",
                                    matched.present, matched.wanted);
      return fail(fmt::format("node {}: {}", matched.node, what), matched.shape->path);
    }
    return {};
  }

  void keep_cuda_order() {
    const ChakraTrace& trace = shape_->trace;
    std::vector<bool> waited_for(trace.nodes.size(), false);
    for (const std::uint32_t earlier : trace.earlier) waited_for[earlier] = true;
    bool host = false;
    std::size_t device = 0;
    std::size_t loose = 0;
    for (std::uint32_t n = 0; n < trace.nodes.size(); ++n) {
      host = host || trace.nodes[n].cpu;
      if (!on_device(trace.nodes[n])) continue;
      ++device;
      if (!waited_for[n]) ++loose;
    }
    if (!cuda_.empty()) {
      std::map<std::int32_t, std::uint32_t> last;
      for (const std::uint32_t n : in_order(trace)) {
        const ChakraNode& node = trace.nodes[n];
        if (!on_device(node) || node.stream < 0) continue;
        const auto [place, added] = last.try_emplace(node.stream, n);
        if (!added) workload_.graph.depend(op(n), op(place->second));
        place->second = n;
      }
    }
    if (!host || device < 2 || loose * 2 < device) return;
    workload_.warnings.push_back(fmt::format(
        "{}: {} of {} GPU kernels have no dependents (mlcommons/chakra issue 215): {}", shape_->path, loose, device,
        cuda_.empty() ? "they run as soon as they are launched, so the total may be far too short"
                      : "they are ordered by their recorded CUDA streams"));
  }

  void warn() {
    std::vector<std::string>& warnings = workload_.warnings;
    warnings.insert(warnings.end(), classes_.warnings.begin(), classes_.warnings.end());
    std::uint64_t dropped = 0;
    for (const ChakraSet::Shape& shape : set_.shapes_) dropped += shape.trace.dropped;
    for (const ChakraSet::Shape& shape : set_.shapes_) {
      if (!shape.trace.control_cycle) continue;
      warnings.push_back(
          fmt::format("{}: its control dependencies form a cycle with the others and are ignored", shape.path));
    }
    if (dropped > 0) {
      warnings.push_back(fmt::format(
          "{} control dependencies are ignored: they refer to nodes that are not in the traces, or form a cycle",
          dropped));
    }
    if (untimed_ > 0) {
      warnings.push_back(fmt::format("{} kernels have neither a duration nor a size: they count as 0 s", untimed_));
    }
    if (unsized_ > 0) warnings.push_back(fmt::format("{} communication nodes have no size", unsized_));
    if (classes_.ranks == 1 && alone_ > 0) {
      warnings.push_back(
          "only one trace and no number of ranks: its collectives take no time; set the number of ranks");
    }
    const std::size_t given = set_.members_.size();
    if (given > 1 && given < classes_.ranks) {
      warnings.push_back(
          fmt::format("{} of {} ranks have a trace; the others are assumed to be always ready", given, classes_.ranks));
    }
  }

  const ChakraSet& set_;
  const ChakraClasses& classes_;
  const ChakraOptions& options_;
  ChakraWorkload workload_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint32_t>, GroupId> groups_;
  std::map<std::vector<std::uint32_t>, std::uint64_t> mixes_;
  std::map<Key, Matched> matches_;
  std::uint64_t untimed_ = 0;
  std::uint64_t unsized_ = 0;
  std::uint64_t alone_ = 0;  // collectives of one rank
  // State of the class being added.
  std::uint32_t rank_ = 0;
  const ChakraSet::Shape* shape_ = nullptr;
  ClassId class_{0};
  std::uint32_t first_ = 0;
  std::map<std::int32_t, std::uint8_t> cuda_;
  std::vector<std::uint32_t> names_;  // graph name ids, by the trace's name ids
  std::map<std::pair<Key, ChakraType>, std::uint64_t> seen_;
};

Result<ChakraWorkload> ChakraSet::finish(const ChakraOptions& options) && {
  CHECK(options.node_gpus > 0, "an NVLink domain has a GPU");
  if (members_.empty()) return Error{ErrorCode::invalid_input, "no traces given", {}};
  Result<ChakraClasses> classes = ChakraFolder(*this, options).fold();
  if (!classes.ok()) return classes.error();
  return ChakraPlayer(*this, *classes, options).make();
}

}  // namespace weft::workload

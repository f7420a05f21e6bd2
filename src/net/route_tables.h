// Equal-cost next hops, towards what is asked for. A table belongs to an attachment: the set of switches that an
// endpoint hangs on, shared by all endpoints of a leaf. Its entries are worked out when first asked for, so that two
// hosts under one leaf cost nothing and a permutation over a large fabric costs what its flows touch.
//
// With up-down, a switch that has a way down to the destination takes the shortest such way, and any other goes up
// towards the nearest that has. Packets therefore never go up after they went down, whatever failed, and the choice
// needs no memory of where a packet came from: in a Clos fabric these are the shortest ways. Without up-down it is
// plain shortest paths. Which of the links a flow takes is not decided here.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "net/link_sets.h"
#include "net/network.h"
#include "net/switch_graph.h"

namespace weft::net {

class RouteTables {
 public:
  // `capacities`: also keep what weight_of() needs.
  RouteTables(const Network& network, bool up_down, bool capacities);
  ~RouteTables();
  RouteTables(const RouteTables&) = delete;
  RouteTables& operator=(const RouteTables&) = delete;

  [[nodiscard]] const SwitchGraph& graph() const { return graph_; }
  // Walks the way down to this endpoint from everywhere above it, so that later questions find it done.
  void prepare(NodeId destination) const;
  // Empty when there is no way. May be called by several threads; spans stay valid until set_link().
  [[nodiscard]] std::span<const LinkId> next_links(NodeId at, NodeId destination) const;
  // How much of the traffic to `destination` should take `link`, a member of next_links(), in proportion to the others:
  // its rate, times that part of the capacity of the switch behind it that leads on to the destination. After WCMP
  // (Zhou et al., EuroSys 2014).
  [[nodiscard]] double weight_of(LinkId link, NodeId destination) const;

  // Both directions. True when it was not so before; what was worked out is then forgotten.
  bool set_link(LinkId link, bool works);
  [[nodiscard]] bool works(LinkId link) const { return works_[index_of(link)] != 0; }

 private:
  using Position = SwitchGraph::Position;
  struct Entry {
    std::uint32_t offset = 0;  // into the graph's links, or into sets_
    std::uint16_t count = 0;
    bool in_sets = false;
    std::uint16_t distance = 0;  // in hops, plus one; 0: not known yet
  };
  static constexpr std::uint16_t kNoWay = 0xFFFFU;
  static constexpr std::size_t kMostMembers = 0x7FFFU;
  [[nodiscard]] static std::uint64_t packed(Entry entry);
  [[nodiscard]] static Entry unpacked(std::uint64_t word);

  // `switches` does not change; the rest is filled under the lock. Once it is open, entries are read without.
  struct Attachment {
    std::vector<SwitchIndex> switches;
    std::atomic<bool> open{false};
    std::unique_ptr<std::atomic<std::uint64_t>[]> entries;  // by switch; none before the first question
    std::unique_ptr<double[]> capacities;  // by switch, in bits per second; an entry's is written before the entry
    std::vector<SwitchIndex> frontier;     // reached last, all at one distance

    [[nodiscard]] bool holds(SwitchIndex s) const {
      return std::find(switches.begin(), switches.end(), s) != switches.end();
    }
    [[nodiscard]] std::uint16_t distance(SwitchIndex s) const {
      return unpacked(entries[s].load(std::memory_order_relaxed)).distance;
    }
  };

  void attach(NodeId endpoint);
  [[nodiscard]] Attachment* attachment_of(NodeId endpoint) const;
  [[nodiscard]] Entry entry(Attachment& attachment, SwitchIndex at) const;
  [[nodiscard]] std::span<const LinkId> links_of(Entry entry) const;
  [[nodiscard]] std::span<const LinkId> last_hop(NodeId at, NodeId destination) const;
  [[nodiscard]] std::span<const LinkId> first_hop(NodeId at, NodeId destination) const;
  [[nodiscard]] std::span<const LinkId> keep(std::span<const LinkId> from, std::span<const LinkId> members) const;

  // Under the lock (route_walks.cc).
  void open(Attachment& attachment) const;
  void walk_level(Attachment& attachment) const;
  void walk_until(Attachment& attachment, SwitchIndex at) const;
  void reach(Position down, SwitchIndex at, std::uint16_t distance, std::vector<SwitchIndex>& reached) const;
  void climb(Attachment& attachment, SwitchIndex at) const;
  void settle_climb(Attachment& attachment, SwitchIndex at) const;
  [[nodiscard]] Entry collect(const Attachment& attachment, Position begin, Position end, std::uint16_t distance) const;
  void publish(Attachment& attachment, SwitchIndex at, Entry entry) const;

  const Network* network_;
  bool up_down_;
  bool capacities_;
  std::vector<std::uint8_t> works_;  // by link
  SwitchGraph graph_;
  std::vector<double> switch_capacity_;  // by switch: all its links, working or not, in bits per second
  std::vector<std::uint32_t> attached_;  // by node: index into attachments_
  std::vector<std::unique_ptr<Attachment>> attachments_;
  std::map<std::vector<SwitchIndex>, std::uint32_t> attachment_index_;
  mutable std::mutex mutex_;
  mutable LinkSets sets_;
  mutable std::vector<std::uint64_t> drafts_;   // by switch: entries of the level being walked; 0 between walks
  mutable std::vector<SwitchIndex> scattered_;  // of that level: those whose links do not stand side by side
};

}  // namespace weft::net

// Equal-cost next hops, computed on demand. Endpoints connected to the same switches share an attachment, and
// attachments whose leaves have the same uplink switches (those of a pod) share a table of everything beyond them.
// Entries are computed on first use: two hosts under one leaf cost nothing, and a permutation over a large fabric costs
// only what its flows touch.
//
// With up-down routing, a switch with a path down to the destination takes the shortest one, and any other goes up
// towards the nearest switch that has one. Packets therefore never go up after going down, even after failures, and the
// choice does not depend on a packet's ingress: in a Clos fabric these are the shortest paths. Without up-down it is
// plain shortest-path routing. routing/link_choice.h picks one of the links per flow.
#pragma once

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "netsim/network/network.h"
#include "netsim/routing/link_sets.h"
#include "netsim/routing/switch_graph.h"

namespace weft::netsim {

class RouteTables {
 public:
  // `capacities`: also store what weight_of() needs.
  RouteTables(const Network& network, bool up_down, bool capacities);
  ~RouteTables();
  RouteTables(const RouteTables&) = delete;
  RouteTables& operator=(const RouteTables&) = delete;

  [[nodiscard]] const SwitchGraph& graph() const { return graph_; }
  // Precomputes the paths down to this endpoint from all switches above it.
  void prepare(NodeId destination) const;
  // Empty if there is no path. Thread-safe; spans stay valid until set_link().
  [[nodiscard]] std::span<const LinkId> next_links(NodeId at, NodeId destination) const;
  // Relative weight of `link`, a member of next_links(), for traffic to `destination`: its rate, times the part of the
  // next switch's capacity that leads on to the destination. After WCMP (Zhou et al., EuroSys 2014).
  [[nodiscard]] double weight_of(LinkId link, NodeId destination) const;

  // Both directions. True if this changed its state; computed entries are then discarded.
  bool set_link(LinkId link, bool works);
  [[nodiscard]] bool works(LinkId link) const { return works_[model::index_of(link)] != 0; }

 private:
  using Position = SwitchGraph::Position;
  struct Entry {
    std::uint32_t offset = 0;  // into the graph's links, or into sets_
    std::uint16_t count = 0;
    bool in_sets = false;
    std::uint16_t distance = 0;  // in hops, plus one; 0: not known yet
  };
  static constexpr std::uint16_t kNoWay = 0xFFFFU;
  static constexpr std::uint16_t kMaxMembers = 0x7FFFU;
  [[nodiscard]] static std::uint64_t packed(Entry entry);
  [[nodiscard]] static Entry unpacked(std::uint64_t word);

  struct Root {
    SwitchIndex at = kNoSwitch;
    double capacity = 0;  // from it to the destination, in bits per second
    friend auto operator<=>(const Root&, const Root&) = default;
  };
  // Paths to the nearest of some switches. Filled under the lock; once it is open, entries are read without the lock.
  struct Table {
    std::vector<Root> roots;
    std::atomic<bool> open{false};
    std::unique_ptr<std::atomic<std::uint64_t>[]> entries;  // by switch
    std::unique_ptr<double[]> capacities;                   // by switch; an entry's is written before the entry
    std::vector<SwitchIndex> frontier;                      // reached last, all at the same distance

    [[nodiscard]] std::uint16_t distance(SwitchIndex s) const {
      return unpacked(entries[s].load(std::memory_order_relaxed)).distance;
    }
  };
  struct Parent {
    SwitchIndex at = kNoSwitch;
    Entry entry;
  };
  // The switches an endpoint is connected to; `parents` are those one tier above, where the table starts. They are
  // empty if the table starts at the switches themselves, because there are switches below them or none above. Both are
  // final, under the lock, once `table` is set.
  struct Attachment {
    std::vector<SwitchIndex> switches;
    std::vector<Parent> parents;  // by switch
    std::atomic<Table*> table{nullptr};

    [[nodiscard]] bool holds(SwitchIndex s) const {
      return std::find(switches.begin(), switches.end(), s) != switches.end();
    }
  };

  [[nodiscard]] bool working(LinkId link) const { return failed_ == 0 || works_[model::index_of(link)] != 0; }
  void attach(NodeId endpoint);
  [[nodiscard]] Attachment* attachment_of(NodeId endpoint) const;
  [[nodiscard]] Table& table_of(Attachment& attachment) const;
  [[nodiscard]] Entry entry(Attachment& attachment, SwitchIndex at) const;
  [[nodiscard]] Entry entry(Table& table, SwitchIndex at) const;
  [[nodiscard]] std::span<const LinkId> links_of(Entry entry) const;
  [[nodiscard]] std::span<const LinkId> last_hop(NodeId at, NodeId destination) const;
  [[nodiscard]] std::span<const LinkId> first_hop(NodeId at, NodeId destination) const;
  [[nodiscard]] std::span<const LinkId> keep(std::span<const LinkId> from, std::span<const LinkId> members) const;

  // Under the lock (routing/route_walks.cc).
  void settle(Attachment& attachment) const;
  [[nodiscard]] std::vector<Parent> parents_of(const Attachment& attachment) const;
  [[nodiscard]] Entry entry_of(std::span<const Position> positions, std::uint16_t distance) const;
  void open(Table& table) const;
  void walk_level(Table& table) const;
  void walk_until(Table& table, SwitchIndex at) const;
  void reach(Position down, SwitchIndex at, std::uint16_t distance, std::vector<SwitchIndex>& reached) const;
  [[nodiscard]] Entry ways_down(const Table& table, SwitchIndex at, std::uint16_t distance) const;
  void climb(Table& table, SwitchIndex at) const;
  bool settle_climb(Table& table, SwitchIndex at, std::vector<SwitchIndex>& waiting) const;
  void publish(Table& table, SwitchIndex at, Entry entry) const;

  const Network* network_;
  bool up_down_;
  bool capacities_;
  std::vector<std::uint8_t> works_;  // by link
  std::size_t failed_ = 0;           // cables
  SwitchGraph graph_;
  std::vector<double> switch_capacity_;  // by switch: all its links, working or not, in bits per second
  std::vector<std::uint32_t> attached_;  // by node: index into attachments_
  std::vector<std::unique_ptr<Attachment>> attachments_;
  std::map<std::vector<SwitchIndex>, std::uint32_t> attachment_index_;
  mutable std::mutex mutex_;
  mutable LinkSets sets_;
  mutable std::map<std::vector<Root>, std::unique_ptr<Table>> tables_;
  mutable std::vector<std::uint64_t> drafts_;   // by switch: entries of the level being walked; 0 between walks
  mutable std::vector<SwitchIndex> scattered_;  // of that level: those whose links are not contiguous
};

}  // namespace weft::netsim

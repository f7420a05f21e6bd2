#include "netsim/views/storm_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "netsim/views/result_cells.h"

namespace weft::netsim {
namespace {

constexpr std::uint32_t kNothing = StormBranch::kNoParent;

// Reads the log in order of time. An active pause is identified by link and priority; its branch is a child of the
// branch of the active pause on its cause, if there is one.
class StormReader {
 public:
  StormReader(const Network& network, SimTime end) : network_(network), end_(end) {}

  void read(const PauseRecord& record) {
    if (model::index_of(record.stopped) >= network_.links().size()) return;
    if (record.stop) {
      stop(record);
    } else {
      resume(std::pair(model::index_of(record.stopped), record.priority), record.at);
    }
  }

  StormTree finish() && {
    while (!active_.empty()) resume(active_.begin()->first, std::max(end_, active_.begin()->second.from));
    summarize();
    sort();
    return std::move(tree_);
  }

 private:
  using Key = std::pair<std::uint32_t, std::uint8_t>;  // link, priority
  struct Active {
    std::uint32_t branch = 0;
    SimTime from;
  };

  void stop(const PauseRecord& record) {
    ++tree_.stops;
    const Key key(model::index_of(record.stopped), record.priority);
    if (const auto known = active_.find(key); known != active_.end()) {  // renewed before it expired
      ++tree_.branches[known->second.branch].stops;
      return;
    }
    const std::uint32_t branch = branch_for(record);
    StormBranch& found = tree_.branches[branch];
    ++found.stops;
    found.first = std::min(found.first, record.at);
    active_[key] = {branch, record.at};
  }

  void resume(Key key, SimTime at) {
    const auto known = active_.find(key);
    if (known == active_.end()) return;  // its start was not recorded
    StormBranch& branch = tree_.branches[known->second.branch];
    branch.spans.push_back({known->second.from, at});
    branch.paused += at - known->second.from;
    active_.erase(known);
  }

  std::uint32_t branch_for(const PauseRecord& record) {
    const bool caused = model::index_of(record.cause) < network_.links().size();
    if (caused) {
      const auto parent = active_.find(Key(model::index_of(record.cause), record.priority));
      if (parent != active_.end()) return below(parent->second.branch, record.stopped);
    }
    const std::uint32_t egress = caused ? model::index_of(record.cause) : kNothing;
    const std::uint32_t endpoint = caused ? kNothing : model::index_of(network_.link(record.stopped).to);
    const auto [known, added] = root_index_.try_emplace({egress, endpoint}, tree_.roots.size());
    if (added) {
      StormRoot root;
      if (caused) root.egress = record.cause;
      if (!caused) root.endpoint = network_.link(record.stopped).to;
      tree_.roots.push_back(root);
    }
    return add_branch(kNothing, static_cast<std::uint32_t>(known->second), record.stopped);
  }

  // Children of a branch that closes a cycle are attached where that link first occurs, the root included.
  std::uint32_t below(std::uint32_t branch, LinkId link) {
    std::uint32_t parent = branch;
    if (tree_.branches[branch].closes_cycle) {
      const LinkId again = tree_.branches[branch].link;
      do {
        parent = tree_.branches[parent].parent;
      } while (parent != kNothing && tree_.branches[parent].link != again);
    }
    if (parent == kNothing) return add_branch(kNothing, tree_.branches[branch].root, link);
    return child_of(parent, link);
  }

  std::uint32_t child_of(std::uint32_t parent, LinkId link) {
    const std::uint32_t child = add_branch(parent, tree_.branches[parent].root, link);
    bool cycle = tree_.roots[tree_.branches[parent].root].egress == link;
    for (std::uint32_t up = parent; up != kNothing && !cycle; up = tree_.branches[up].parent) {
      cycle = tree_.branches[up].link == link;
    }
    tree_.branches[child].closes_cycle = cycle;
    return child;
  }

  std::uint32_t add_branch(std::uint32_t parent, std::uint32_t root, LinkId link) {
    const auto next = static_cast<std::uint32_t>(tree_.branches.size());
    const auto [known, added] = branch_index_.try_emplace({parent, root, model::index_of(link)}, next);
    if (added) {
      StormBranch branch;
      branch.link = link;
      branch.parent = parent;
      branch.root = root;
      branch.depth = parent == kNothing ? 0 : tree_.branches[parent].depth + 1;
      tree_.branches.push_back(std::move(branch));
    }
    return known->second;
  }

  void summarize() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // root, link
    for (StormBranch& branch : tree_.branches) {
      std::sort(branch.spans.begin(), branch.spans.end(), [](const StormSpan& a, const StormSpan& b) {
        return std::tuple(a.from, a.until) < std::tuple(b.from, b.until);
      });
      StormRoot& root = tree_.roots[branch.root];
      root.first = std::min(root.first, branch.first);
      root.paused += branch.paused;
      root.stops += branch.stops;
      root.deepest = std::max(root.deepest, branch.depth + 1);
      if (seen.emplace(branch.root, model::index_of(branch.link)).second) ++root.links;
    }
  }

  // Depth first: roots and children by cost, then by time, then by id.
  void sort() {
    std::vector<std::uint32_t> root_order(tree_.roots.size());
    for (std::uint32_t i = 0; i < root_order.size(); ++i) root_order[i] = i;
    std::sort(root_order.begin(), root_order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const StormRoot& x = tree_.roots[a];
      const StormRoot& y = tree_.roots[b];
      return std::tuple(y.paused, x.first, model::index_of(x.endpoint), model::index_of(x.egress)) <
             std::tuple(x.paused, y.first, model::index_of(y.endpoint), model::index_of(y.egress));
    });
    std::vector<std::vector<std::uint32_t>> children(tree_.branches.size());
    std::vector<std::vector<std::uint32_t>> tops(tree_.roots.size());
    for (std::uint32_t i = 0; i < tree_.branches.size(); ++i) {
      const StormBranch& branch = tree_.branches[i];
      (branch.parent == kNothing ? tops[branch.root] : children[branch.parent]).push_back(i);
    }
    StormTree sorted;
    sorted.stops = tree_.stops;
    for (const std::uint32_t root : root_order) {
      const auto number = static_cast<std::uint32_t>(sorted.roots.size());
      sorted.roots.push_back(tree_.roots[root]);
      move_in_order(std::move(tops[root]), number, children, sorted.branches);
    }
    tree_ = std::move(sorted);
  }

  // With an explicit stack: a branch may be as deep as the network has links.
  void move_in_order(std::vector<std::uint32_t> top, std::uint32_t root,
                     std::vector<std::vector<std::uint32_t>>& children, std::vector<StormBranch>& out) {
    struct Item {
      std::uint32_t branch;
      std::uint32_t parent;
    };
    std::vector<Item> stack;
    const auto push = [&](std::vector<std::uint32_t>& list, std::uint32_t parent) {
      std::sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) { return costs_less(a, b); });
      for (const std::uint32_t each : list) stack.push_back({each, parent});
    };
    push(top, kNothing);
    while (!stack.empty()) {
      const Item item = stack.back();
      stack.pop_back();
      const auto number = static_cast<std::uint32_t>(out.size());
      out.push_back(std::move(tree_.branches[item.branch]));
      out.back().parent = item.parent;
      out.back().root = root;
      push(children[item.branch], number);
    }
  }

  [[nodiscard]] bool costs_less(std::uint32_t a, std::uint32_t b) const {
    const StormBranch& x = tree_.branches[a];
    const StormBranch& y = tree_.branches[b];
    return std::tuple(x.paused, y.first, model::index_of(y.link)) <
           std::tuple(y.paused, x.first, model::index_of(x.link));
  }

  const Network& network_;
  SimTime end_;
  StormTree tree_;
  std::map<Key, Active> active_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> root_index_;  // egress, endpoint
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> branch_index_;
};

}  // namespace

StormTree storm_tree(const Network& network, const SimResult& result) {
  std::vector<const PauseRecord*> records;
  records.reserve(result.pauses.size());
  for (const PauseRecord& record : result.pauses) records.push_back(&record);
  std::stable_sort(records.begin(), records.end(),
                   [](const PauseRecord* a, const PauseRecord* b) { return a->at < b->at; });
  StormReader reader(network, result.end);
  for (const PauseRecord* record : records) reader.read(*record);
  StormTree tree = std::move(reader).finish();
  tree.not_kept = result.pauses_not_kept;
  return tree;
}

std::string root_name(const Network& network, const StormRoot& root) {
  if (root.endpoint != model::kNone<NodeId>) {
    const bool ends = network.node(root.endpoint).kind == NodeKind::endpoint;
    return fmt::format("{} ({})", network.name_of(root.endpoint), ends ? "endpoint" : "switch");
  }
  return network.link_name(root.egress) + " (full egress)";
}

TableSection storm_table(const Network& network, const StormTree& tree, std::size_t limit) {
  TableSection table;
  table.key = "storm";
  table.title = "Pauses by origin";
  table.columns = {left_column("link", "Paused link"),
                   left_column("root", "Origin"),
                   right_column("depth", "Hops"),
                   right_column("first_us", "First at (us)"),
                   right_column("stops", "Pauses"),
                   right_column("paused_us", "Paused (us)"),
                   {.key = "parent", .title = "Paused by", .wide = true},
                   {.key = "cycle", .title = "Closes a cycle", .wide = true}};
  for (const StormBranch& branch : tree.branches) {
    if (table.rows.size() == limit) break;
    const std::string name = network.link_name(branch.link);
    std::string shown(std::size_t{2} * std::min<std::uint32_t>(branch.depth, 20), ' ');
    shown += name;
    if (branch.closes_cycle) shown += " (cycle)";
    const bool top = branch.parent == kNothing;
    table.rows.push_back(
        {Cell(name, std::move(shown)), root_name(network, tree.roots[branch.root]), Cell(branch.depth + 1),
         microseconds_cell(branch.first), count_cell(branch.stops), microseconds_cell(branch.paused),
         top ? Cell() : Cell(network.link_name(tree.branches[branch.parent].link)), Cell(branch.closes_cycle)});
  }
  return table;
}

}  // namespace weft::netsim

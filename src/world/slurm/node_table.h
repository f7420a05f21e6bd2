// Nodes of the cluster as Slurm last showed them: whether they answer, boot ids, health and drain marks. Boot ids are
// kept in a file: after a restart of weft a node that has not booted has the same one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control/event.h"
#include "world/slurm/slurm_json.h"

namespace weft::world {

class NodeTable {
 public:
  // `cluster` is part of our drain reasons: a drain of another weft is not ours.
  NodeTable(std::vector<std::string> names, std::string cluster, std::string path);
  [[nodiscard]] Status load();

  // A complete list. Not ok(): a new boot could not be stored, and the list was not applied.
  [[nodiscard]] Status apply(const std::vector<SlurmNode>& nodes, sched::Moment observed);
  // Reports of health and drain marks: those that changed, and all of them at intervals.
  void report(std::vector<control::Event>& events);
  // The next report() has the mark of this node.
  void report_cordon(sched::NodeId node);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const std::string& name(sched::NodeId node) const { return entries_[index_of(node)].name; }
  [[nodiscard]] const SlurmNode& seen(sched::NodeId node) const { return entries_[index_of(node)].seen; }
  [[nodiscard]] control::BootId boot(sched::NodeId node) const { return entries_[index_of(node)].boot; }
  [[nodiscard]] const sched::NodeId* find(const std::string& name) const;
  // It answers, in the newest list.
  [[nodiscard]] bool answers(sched::NodeId node) const { return entries_[index_of(node)].answers > 0; }
  // It has answered for so long, and no job of it is completing: what Slurm says has ended has ended there. After an
  // outage slurmctld first has slurmd end the jobs that it does not know.
  [[nodiscard]] bool is_settled(sched::NodeId node, Duration answering) const;
  // It answers in the newest list, and did in every one from `moment` on.
  [[nodiscard]] bool has_answered_since(sched::NodeId node, sched::Moment moment) const;
  // When the newest list was requested.
  [[nodiscard]] sched::Moment observed() const { return observed_; }

  // "weft:SESSION:CLUSTER", with a rule "weft:SESSION:RULE:CLUSTER".
  [[nodiscard]] std::string drain_reason(control::SessionId session, std::string_view rule = {}) const;
  // "weft:SESSION" if we drained it, otherwise reason and user; "": not drained.
  [[nodiscard]] std::string cordon_owner(const SlurmNode& node) const;

 private:
  struct Entry {
    std::string name;
    SlurmNode seen;
    bool listed = false;
    std::uint32_t answers = 0;  // lists in a row
    sched::Moment since{};      // the first of them
    control::BootId boot = 0;
    std::int64_t boot_time = 0;
    std::int64_t slurmd_start = 0;
    bool report_health = false;
    bool report_cordon = false;
  };
  [[nodiscard]] Status store() const;
  static bool update_boot(Entry& entry, const SlurmNode& node);
  [[nodiscard]] control::NodeReport health_of(const Entry& entry) const;

  std::vector<Entry> entries_;
  std::map<std::string, sched::NodeId, std::less<>> by_name_;
  std::string cluster_;
  std::string path_;
  sched::Moment observed_{};
  sched::Moment reported_{};
};

}  // namespace weft::world

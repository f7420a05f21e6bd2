// What an engine in watch mode runs: its own jobs and nodes as its last complete lists showed them. The engine
// schedules these jobs; weft only shows and explains them, so they are in no journal. An observation never changes: the
// next one replaces it, and a list that failed replaces nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sched/machine/moment.h"

namespace weft::world {

enum class ObservedPhase : std::uint8_t { waiting, running, ended, unknown };

// What the engine's reason for a wait means.
enum class WaitKind : std::uint8_t {
  not_evaluated,  // the engine has not looked at it yet
  resources,
  priority,
  unavailable_nodes,  // nodes that it needs are down, drained or reserved
  dependency,
  held_by_user,
  held_by_admin,
  begin_time,
  limit,        // of an account, a QOS, an array
  partition,    // is down, or does not admit the job
  reservation,  // of the engine
  other
};

// Times are in seconds since the epoch, 0: not known.
struct ObservedJob {
  std::string id;     // as the engine names it: "123", "123_[4-7]", "123+1", "namespace/name"
  std::string group;  // id of its array, heterogeneous job or the like; "": none
  std::string name;
  std::string user;
  std::string account;
  std::string queue;  // partition or namespace
  std::string qos;
  std::string state;  // the engine's word, in lower case
  ObservedPhase phase = ObservedPhase::unknown;
  std::string reason;       // the engine's word: "Resources"
  std::string reason_text;  // what it says beyond that; "": nothing
  WaitKind wait = WaitKind::other;
  std::uint64_t priority = 0;
  std::int64_t submitted = 0;
  std::int64_t eligible = 0;
  std::int64_t started = 0;  // of a waiting job: when the engine expects to start it
  std::int64_t ends = 0;     // at the latest, by its time limit; of an ended job: when it ended
  std::int64_t limit = 0;    // seconds; 0: unlimited
  std::uint32_t node_count = 0;
  std::uint32_t tasks = 0;
  std::uint32_t cpus = 0;
  std::uint32_t gpus = 0;           // of all nodes
  std::uint32_t gpus_per_node = 0;  // at least
  bool exclusive = false;           // whole nodes
  bool can_requeue = false;
  std::string nodes;           // that it has or had
  std::string required_nodes;  // that it asks for by name
  std::string excluded_nodes;
  std::string dependency;
  std::int32_t exit_status = 0;  // as of waitpid(2)
  std::uint32_t restarts = 0;
};

struct ObservedNode {
  std::string name;
  std::string state;           // as the engine shows it: "idle+drain"
  bool usable = false;         // the engine would start something there
  std::string out_of_service;  // why not, and by whom: "drained by root: bad DIMM"
  std::uint32_t cpus = 0;
  std::uint32_t cpus_used = 0;
  std::uint32_t gpus = 0;
  std::uint32_t gpus_used = 0;
  std::vector<std::string> queues;  // partitions; none: the engine has no such thing
  std::vector<std::uint32_t> jobs;  // that occupy it: positions in ObservedCluster::jobs
};

struct ObservedCluster {
  std::string engine;  // "Slurm"
  sched::Moment observed{};
  std::vector<ObservedJob> jobs;
  std::vector<ObservedNode> nodes;
  std::unordered_map<std::string, std::uint32_t> job_positions;  // by id; of ids that were reused, the newest
  std::unordered_map<std::string, std::uint32_t> node_positions;

  // By the engine's id. "8_3" also finds "8_[0-7]", and "8" an array or heterogeneous job.
  [[nodiscard]] const ObservedJob* find_job(std::string_view id) const;
  [[nodiscard]] const ObservedNode* find_node(const std::string& name) const;
};
// Fills the positions and the jobs of the nodes.
[[nodiscard]] std::shared_ptr<const ObservedCluster> make_observed(std::string engine, sched::Moment observed,
                                                                   std::vector<ObservedJob> jobs,
                                                                   std::vector<ObservedNode> nodes);

// What is known of the engine's jobs now.
struct Observation {
  std::shared_ptr<const ObservedCluster> cluster;  // null: no list was complete yet
  std::string problem;                             // why newer lists failed; "": they did not
};

}  // namespace weft::world

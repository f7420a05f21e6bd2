// Task packer: chooses a server and GPUs for a task, with the policies of the FGD paper (USENIX ATC'23) and weft's own.
// Scores are cached per server and task type and recomputed only for servers that changed. Every policy places a task
// that fits anywhere. Handles single tasks; gangs, racks and rails are decided by the caller.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "sched/machine/machine.h"
#include "sched/packing/task_worth.h"
#include "sched/packing/typical_tasks.h"

namespace weft::sched {

enum class PackPolicy : std::uint8_t {
  random,         // any server, any GPU
  best_fit,       // least left over, half by CPU and half by GPU; ties by name
  fgd,            // least growth of fragments, as published: whole percents of a sigmoid, ties by name
  fgd_random,     // the same with random ties, as stock Kubernetes does
  frag_best_fit,  // sum of fragment growth and best fit, ties not by name
  weft,           // least loss of value to future tasks
};
inline constexpr int kPackPolicies = 6;
[[nodiscard]] std::string_view to_text(PackPolicy policy);
[[nodiscard]] std::optional<PackPolicy> pack_policy_named(std::string_view name);

class TaskPacker {
 public:
  // `mix`: the expected future tasks.
  TaskPacker(const Machine& machine, std::vector<TaskType> mix, PackPolicy policy, std::uint64_t seed);

  // Places one task; none: it fits nowhere.
  std::optional<Slot> place(const Request& request);
  void give_back(const Request& request, const Slot& slot);
  [[nodiscard]] std::span<const NodeFree> free() const { return free_; }

 private:
  struct Scores {  // of one task type on every server
    Request request{};
    std::vector<double> score;
    std::vector<std::uint32_t> version;  // of the server when the score was computed
    std::vector<std::uint16_t> gpus;
  };

  [[nodiscard]] Scores& scores_of(const Request& request);
  void rescore(Scores& scores, std::size_t node);
  [[nodiscard]] double potential(const NodeShape& shape, const NodeFree& free) const;
  [[nodiscard]] double score(std::size_t node, const NodeFree& after) const;
  // Whether node a is preferred to b at equal scores.
  [[nodiscard]] bool goes_first(std::size_t a, std::size_t b);
  [[nodiscard]] std::optional<Slot> place_anywhere(const Request& request);
  void learn();
  void changed(std::size_t node);

  const Machine& machine_;
  PackPolicy policy_;
  std::vector<TaskType> typical_;
  TaskWorth worth_;
  RandomStream random_;
  std::vector<NodeFree> free_;
  std::vector<double> potential_;
  std::vector<std::uint32_t> version_;
  std::vector<std::uint64_t> lot_;        // drawn from the seed: final tie-breaker
  std::vector<std::uint32_t> name_rank_;  // in order of name, for the policies that use it
  std::map<Request, Scores> scores_;
  std::int64_t asked_ = 0;
  Milli most_cpu_ = 1;
  Milli most_gpu_ = 1;
};

}  // namespace weft::sched

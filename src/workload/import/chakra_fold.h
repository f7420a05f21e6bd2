// Groups the ranks of a job into classes: ranks of one shape whose communicators and peers are of the same class too,
// found by refining until nothing changes. Private to import/chakra_graph.cc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workload/import/chakra_graph.h"

namespace weft::workload {

inline constexpr std::uint32_t kNoClass = UINT32_MAX;

// A communicator with its ranks, in order.
struct ChakraGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;
  std::uint32_t stride = 1;
  std::vector<std::uint32_t> classes;  // classes of its ranks, each once; only ranks that have a trace
};

struct ChakraClasses {
  std::uint32_t ranks = 0;  // in the job
  std::vector<ChakraGroup> groups;
  std::map<std::uint32_t, std::vector<std::uint32_t>> rank_groups;  // by rank: group per name in its trace
  std::map<std::uint32_t, std::uint32_t> class_of;                  // by rank
  std::vector<std::vector<std::uint32_t>> members;                  // by class: ranks, in order
  std::vector<std::string> warnings;
};

class ChakraFolder {
 public:
  ChakraFolder(const ChakraSet& set, const ChakraOptions& options) : set_(set), options_(options) {}
  [[nodiscard]] Result<ChakraClasses> fold();

 private:
  void count_ranks();
  [[nodiscard]] Status find_groups();
  [[nodiscard]] Result<std::uint32_t> group_of(std::uint32_t rank, const ChakraSet::Member& member,
                                               const std::string& name);
  std::uint32_t intern(const std::string& name, std::vector<std::uint32_t> ranks);
  void refine();
  [[nodiscard]] std::vector<std::uint32_t> signature(std::uint32_t rank, const std::vector<std::uint32_t>& by_group);
  void number_classes(const std::map<std::uint32_t, std::vector<std::uint32_t>>& signatures);

  const ChakraSet& set_;
  const ChakraOptions& options_;
  ChakraClasses result_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> known_;
  std::map<std::string, std::uint32_t> unknown_;  // names of groups without a description, and how many ranks use them
};

// 1 for ranks that are not evenly spaced.
[[nodiscard]] std::uint32_t stride_of(const std::vector<std::uint32_t>& ranks);

}  // namespace weft::workload

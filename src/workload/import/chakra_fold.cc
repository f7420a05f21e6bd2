#include "workload/import/chakra_fold.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace weft::workload {

std::uint32_t stride_of(const std::vector<std::uint32_t>& ranks) {
  if (ranks.size() < 2) return 1;
  const std::uint32_t step = ranks[1] - ranks[0];
  for (std::size_t i = 2; i < ranks.size(); ++i) {
    if (ranks[i] - ranks[i - 1] != step) return 1;
  }
  return step;
}

Result<ChakraClasses> ChakraFolder::fold() {
  count_ranks();
  if (Status status = find_groups(); !status.ok()) return status.error();
  refine();
  for (ChakraGroup& group : result_.groups) {
    for (const std::uint32_t rank : group.ranks) {
      const auto found = result_.class_of.find(rank);
      if (found != result_.class_of.end()) group.classes.push_back(found->second);
    }
    std::sort(group.classes.begin(), group.classes.end());
    group.classes.erase(std::unique(group.classes.begin(), group.classes.end()), group.classes.end());
  }
  for (const auto& [name, users] : unknown_) {
    result_.warnings.push_back(fmt::format("process group `{}` ({} ranks use it) is not defined; assuming all {} ranks",
                                           name, users, result_.ranks));
  }
  return std::move(result_);
}

// The largest of the requested count, the number of traces, and the ranks that communicators name.
void ChakraFolder::count_ranks() {
  result_.ranks = std::max<std::uint32_t>(set_.ranks_, 1);
  const auto look = [&](const std::vector<ChakraRanks>& groups) {
    for (const ChakraRanks& group : groups) {
      for (const std::uint32_t rank : group.ranks) result_.ranks = std::max(result_.ranks, rank + 1);
    }
  };
  look(options_.groups);
  for (const auto& [rank, member] : set_.members_) {
    look(member.process_groups);
    result_.ranks = std::max(result_.ranks, rank + 1);
  }
}

Status ChakraFolder::find_groups() {
  for (const auto& [rank, member] : set_.members_) {
    std::vector<std::uint32_t>& mine = result_.rank_groups[rank];
    for (const std::string& name : member.groups) {
      const Result<std::uint32_t> group = group_of(rank, member, name);
      if (!group.ok()) return group.error();
      mine.push_back(*group);
    }
  }
  return {};
}

Result<std::uint32_t> ChakraFolder::group_of(std::uint32_t rank, const ChakraSet::Member& member,
                                             const std::string& name) {
  const std::vector<std::uint32_t>* ranks = nullptr;
  for (const std::vector<ChakraRanks>* groups : {&member.process_groups, &options_.groups}) {
    for (const ChakraRanks& group : *groups) {
      if (ranks == nullptr && group.name == name) ranks = &group.ranks;
    }
  }
  const bool everyone = name.empty() || name == "0";  // as in ASTRA-sim
  if (ranks == nullptr && !everyone) ++unknown_[name];
  if (ranks == nullptr || ranks->empty()) return intern(everyone ? "all ranks" : name, {});
  std::vector<std::uint32_t> all = *ranks;
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!std::binary_search(all.begin(), all.end(), rank)) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("rank {} uses process group `{}` but is not a member of it", rank, name),
                 set_.shapes_[member.shape].path};
  }
  return intern(name, std::move(all));
}

// Empty `ranks` means all of them.
std::uint32_t ChakraFolder::intern(const std::string& name, std::vector<std::uint32_t> ranks) {
  const auto [place, added] = known_.try_emplace(ranks, static_cast<std::uint32_t>(result_.groups.size()));
  if (!added) return place->second;
  if (ranks.empty()) {
    ranks.resize(result_.ranks);
    std::iota(ranks.begin(), ranks.end(), 0U);
  }
  const std::uint32_t stride = stride_of(ranks);
  result_.groups.push_back({name, std::move(ranks), stride, {}});
  return place->second;
}

void ChakraFolder::number_classes(const std::map<std::uint32_t, std::vector<std::uint32_t>>& signatures) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers;
  result_.class_of.clear();
  result_.members.clear();
  for (const auto& [rank, signature] : signatures) {
    const auto [place, added] = numbers.try_emplace(signature, static_cast<std::uint32_t>(numbers.size()));
    if (added) result_.members.emplace_back();
    result_.class_of[rank] = place->second;
    result_.members[place->second].push_back(rank);
  }
}

void ChakraFolder::refine() {
  std::map<std::uint32_t, std::vector<std::uint32_t>> signatures;
  for (const auto& [rank, member] : set_.members_) {
    std::vector<std::uint32_t>& signature = signatures[rank];
    signature.push_back(member.shape);
    for (const std::uint32_t id : result_.rank_groups[rank]) {
      const ChakraGroup& group = result_.groups[id];
      const std::uint32_t domain = rank / options_.node_gpus;
      const auto near =
          static_cast<std::uint32_t>(std::count_if(group.ranks.begin(), group.ranks.end(), [&](std::uint32_t other) {
            return other / options_.node_gpus == domain;
          }));
      signature.insert(signature.end(), {static_cast<std::uint32_t>(group.ranks.size()), near, group.stride});
    }
    for (const std::uint32_t offset : set_.shapes_[member.shape].offsets) {
      const auto partner = static_cast<std::uint32_t>((std::uint64_t{rank} + offset) % set_.ranks_);
      signature.push_back(partner / options_.node_gpus == rank / options_.node_gpus ? 1 : 0);
    }
  }
  number_classes(signatures);
  for (std::size_t before = 0; before != result_.members.size();) {
    before = result_.members.size();
    // The set of classes of each communicator's ranks, as one number.
    std::map<std::vector<std::uint32_t>, std::uint32_t> mixes;
    std::vector<std::uint32_t> by_group;
    for (const ChakraGroup& group : result_.groups) {
      std::vector<std::uint32_t> mix;
      for (const std::uint32_t rank : group.ranks) {
        const auto found = result_.class_of.find(rank);
        if (found != result_.class_of.end()) mix.push_back(found->second);
      }
      std::sort(mix.begin(), mix.end());
      by_group.push_back(mixes.try_emplace(std::move(mix), static_cast<std::uint32_t>(mixes.size())).first->second);
    }
    for (auto& [rank, signature] : signatures) signature = this->signature(rank, by_group);
    number_classes(signatures);
  }
}

std::vector<std::uint32_t> ChakraFolder::signature(std::uint32_t rank, const std::vector<std::uint32_t>& by_group) {
  std::vector<std::uint32_t> signature{result_.class_of[rank]};
  for (const std::uint32_t group : result_.rank_groups[rank]) signature.push_back(by_group[group]);
  const ChakraSet::Member& member = set_.members_.find(rank)->second;
  for (const std::uint32_t offset : set_.shapes_[member.shape].offsets) {
    const auto partner = static_cast<std::uint32_t>((std::uint64_t{rank} + offset) % set_.ranks_);
    const auto found = result_.class_of.find(partner);
    signature.push_back(found == result_.class_of.end() ? kNoClass : found->second);
  }
  return signature;
}

}  // namespace weft::workload

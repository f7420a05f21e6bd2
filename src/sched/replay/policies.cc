#include "sched/replay/policies.h"

#include <algorithm>

namespace weft::sched {
namespace {

// A policy without preemption, elastic jobs and topology, which only weft's own policy has.
Policy plain(Order order, Backfill backfill, std::int32_t reservations) {
  Policy policy;
  policy.order = order;
  policy.backfill = backfill;
  policy.reservations = reservations;
  policy.preemption = false;
  policy.elastic = false;
  policy.placement.topology = false;
  return policy;
}

Policy weft_policy() {
  Policy policy;
  policy.patience = seconds(86'400);  // a day
  return policy;
}

std::vector<NamedPolicy> make_policies() {
  // Conservative backfill reserves a start for every waiting job (Mu'alem and Feitelson, 2001); its cost grows with
  // their number. The first eight are those that backfill could delay soonest.
  constexpr std::int32_t kMany = 8;
  return {
      {"fifo", "strict order: no job overtakes a waiting one", plain(Order::fifo, Backfill::none, 0)},
      {"greedy", "every job that fits starts, no reservations: Kueue's BestEffortFIFO, Volcano",
       plain(Order::fifo, Backfill::greedy, 0)},
      {"easy", "EASY backfill: the first waiting job has a reservation, others may overtake it",
       plain(Order::fifo, Backfill::reserved, 1)},
      {"conservative", "the first eight waiting jobs have reservations", plain(Order::fifo, Backfill::reserved, kMany)},
      {"shortest", "shortest time limit first, one reservation", plain(Order::shortest, Backfill::reserved, 1)},
      {"drf", "tenant with the smallest dominant share first, no reservations",
       plain(Order::dominant, Backfill::greedy, 0)},
      {"weft", "fair share, reservations, topology, preemption, elastic jobs; a job that waited a day goes first",
       weft_policy()},
  };
}

}  // namespace

const std::vector<NamedPolicy>& named_policies() {
  static const std::vector<NamedPolicy> policies = make_policies();
  return policies;
}

const NamedPolicy* find_policy(std::string_view name) {
  const std::vector<NamedPolicy>& all = named_policies();
  const auto found = std::find_if(all.begin(), all.end(), [&](const NamedPolicy& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace weft::sched

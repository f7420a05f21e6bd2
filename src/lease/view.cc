// Operator-facing text of the lease table, and its serialized state.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "lease/table.h"

namespace weft::lease {
namespace {

std::string age(sched::Moment since, sched::Moment now) {
  return to_text(sched::seconds((now - since).count() / 1'000'000'000));
}

}  // namespace

std::string_view to_text(LeasePhase phase) {
  switch (phase) {
    case LeasePhase::out:
      return "out of service";
    case LeasePhase::free:
      return "free";
    case LeasePhase::granted:
      return "granted";
    case LeasePhase::held:
      return "held";
    case LeasePhase::revoking:
      return "asked back";
  }
  return "";
}

std::string LeaseTable::conflict_of(GpuName name) const {
  std::string text;
  for (int o = 0; o < kLeaseOwners; ++o) {
    const auto seen = conflicts_.find({name, static_cast<LeaseOwner>(o)});
    if (seen == conflicts_.end()) continue;
    if (!text.empty()) text += " and ";
    text += o == 0 ? std::string_view("a process of no engine") : to_text(static_cast<LeaseOwner>(o));
    if (!seen->second.note.empty()) text += fmt::format(" ({})", seen->second.note);
  }
  return text;
}

void LeaseTable::describe_wait(LeaseView& view, GpuName name, sched::Moment now) const {
  const Node& node = nodes_.at(name.node);
  const std::uint32_t id = sched::index_of(name.node);
  const Engine& engine = engines_[static_cast<std::size_t>(view.owner)];
  const bool late = now - view.since > terms_.patience;
  const bool silent = now - engine.heard > terms_.patience;
  if (node.fence != 0) {
    view.waiting = fmt::format("evidence that node {} is without power (order {})", id, node.fence);
    if (now - node.fence_since > terms_.patience) {
      view.person =
          fmt::format("cut the power of node {} by hand and confirm order {}, or withdraw the order", id, node.fence);
    }
  } else if (view.phase == LeasePhase::out) {
    view.person = fmt::format("see that node {} is sound, power it on and restore it", id);
  } else if (view.phase == LeasePhase::granted) {
    view.waiting = fmt::format("{} to show it open under lease {}", to_text(view.owner), view.epoch);
    if (late) {
      view.person = silent ? fmt::format("start the agent of {}: nothing was heard of it for {}", to_text(view.owner),
                                         age(engine.heard, now))
                           : fmt::format("see why {} does not take node {} into use", to_text(view.owner), id);
    }
  } else if (view.phase == LeasePhase::revoking) {
    view.waiting =
        fmt::format("{} to drain it and show that nothing runs under lease {}", to_text(view.owner), view.epoch);
    if (late) {
      view.person =
          silent ? fmt::format(
                       "start the agent of {} (nothing was heard of it for {}), or have node {} fenced, which ends "
                       "all work on it",
                       to_text(view.owner), age(engine.heard, now), id)
                 : fmt::format("work of {} still runs after {}: wait, end it there, or have node {} fenced",
                               to_text(view.owner), age(view.since, now), id);
    }
  }
}

LeaseView LeaseTable::who(GpuName name, sched::Moment now) const {
  LeaseView view;
  const Gpu* gpu = find(name);
  if (gpu == nullptr) {
    view.person = fmt::format("node {} has no GPU {} in the table", sched::index_of(name.node), name.gpu);
    return view;
  }
  view.phase = gpu->phase;
  view.epoch = gpu->epoch;
  view.since = gpu->since;
  if (const auto lease = leases_.find(gpu->epoch); lease != leases_.end()) {
    view.owner = lease->second.owner;
    view.holder = lease->second.holder;
  }
  describe_wait(view, name, now);
  view.conflict = conflict_of(name);
  if (view.conflict.empty()) return view;
  const std::string place = fmt::format("GPU {} of node {}", name.gpu, sched::index_of(name.node));
  view.person = view.owner == LeaseOwner::none
                    ? fmt::format("{} is used by {} without a lease: end that work or request a lease for it", place,
                                  view.conflict)
                    : fmt::format(
                          "{} is leased to {} ({}) and used by {}: decide which of the two is to end, and end it "
                          "there; weft ends neither",
                          place, to_text(view.owner), view.holder, view.conflict);
  return view;
}

std::string LeaseTable::why_waiting(std::uint64_t request, sched::Moment now) const {
  const auto asked = asked_.find(request);
  if (asked == asked_.end()) return "";
  const auto at =
      std::find_if(pending_.begin(), pending_.end(), [&](const auto& other) { return other.id == request; });
  const bool person = !attainable(*at);
  for (const NodeGpus& part : at->gpus) {
    for (std::uint8_t g = 0; g < sched::kMaxGpus; ++g) {
      if (((part.gpus >> g) & 1U) == 0) continue;
      const LeaseView view = who({part.node, g}, now);
      const LeaseRequest alone{0, at->owner, "", {{part.node, static_cast<std::uint16_t>(1U << g)}}, false};
      // Blockers first: where an operator must act, the owners of the remaining GPUs do not matter yet.
      if (person ? attainable(alone) : grantable(alone)) continue;
      return fmt::format(
          "waits {} for GPU {} of node {}, which is {}{}{}{}", age(asked->second, now), g, sched::index_of(part.node),
          to_text(view.phase),
          view.owner == LeaseOwner::none ? "" : fmt::format(", lease of {} ({})", to_text(view.owner), view.holder),
          view.waiting.empty() ? "" : "; that waits for " + view.waiting,
          view.person.empty() ? "" : "; to do: " + view.person);
    }
  }
  for (auto older = pending_.begin(); older != at; ++older) {
    if (!attainable(*older)) continue;
    GpuSet rest = at->gpus;
    for (const NodeGpus& theirs : older->gpus) erase(rest, theirs.node, theirs.gpus);
    if (rest == at->gpus) continue;
    return fmt::format("waits {} for GPUs that request {} ({}) named before it", age(asked->second, now), older->id,
                       older->holder);
  }
  return "is about to be granted";
}

std::string LeaseTable::state() const {
  std::string text = fmt::format("{} {} {} {}\n", last_epoch_, last_request_, last_fence_, terms_.patience.count());
  for (const Engine& engine : engines_) append_format(text, "s{}.{} ", engine.session.start, engine.session.turn);
  for (const auto& [id, node] : nodes_) {
    append_format(text, "\nn{} {} {} {}", sched::index_of(id), node.gpus, node.fence, node.fence_since.count());
    for (int g = 0; g < node.gpus; ++g) {
      const Gpu& gpu = node.gpu[static_cast<std::size_t>(g)];
      append_format(text, " {}.{}.{}.{}", gpu.epoch, static_cast<int>(gpu.phase), gpu.intruders, gpu.since.count());
    }
  }
  for (const auto& [epoch, lease] : leases_) {
    append_format(text, "\nl{} {} {} {}:{}", epoch, static_cast<int>(lease.owner), to_text(lease.gpus),
                  lease.holder.size(), lease.holder);
  }
  for (const LeaseRequest& request : pending_) {
    append_format(text, "\nr{} {} {} {} {} {}:{}", request.id, static_cast<int>(request.owner), request.reclaim,
                  asked_.at(request.id).count(), to_text(request.gpus), request.holder.size(), request.holder);
  }
  for (const auto& [key, seen] : conflicts_) {
    append_format(text, "\nc{}/{} {} {} {}:{}", sched::index_of(key.first.node), key.first.gpu,
                  static_cast<int>(key.second), seen.since.count(), seen.note.size(), seen.note);
  }
  return text;
}

}  // namespace weft::lease

#include "lease/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weft::lease {
namespace {

using Kind = LeaseRecord::Kind;

Error refused(std::string why) { return Error{ErrorCode::refused, std::move(why), {}}; }
Error wrong(std::string why) { return Error{ErrorCode::invalid_input, std::move(why), {}}; }

constexpr std::uint16_t bit(int gpu) { return static_cast<std::uint16_t>(1U << static_cast<unsigned>(gpu)); }
constexpr std::uint8_t bit(LeaseOwner owner) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(owner)); }

bool overlap(const GpuSet& a, const GpuSet& b) {
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i].node == b[k].node && (a[i].gpus & b[k].gpus) != 0) return true;
    if (a[i].node <= b[k].node) {
      ++i;
    } else {
      ++k;
    }
  }
  return false;
}

LeaseRecord of_lease(Kind kind, LeaseEpoch epoch, GpuSet gpus) {
  LeaseRecord record;
  record.kind = kind;
  record.epoch = epoch;
  record.gpus = std::move(gpus);
  return record;
}

LeaseRecord of_node(Kind kind, sched::NodeId node, std::uint64_t number) {
  LeaseRecord record;
  record.kind = kind;
  record.node = node;
  record.number = number;
  return record;
}

}  // namespace

Result<LeaseTable> LeaseTable::replay(std::span<const LeaseRecord> journal, LeaseTerms terms) {
  LeaseTable table(terms);
  for (const LeaseRecord& record : journal) {
    if (const Status done = table.apply(record); !done.ok()) {
      return Error{ErrorCode::invalid_input, done.error().message, fmt::format("lease journal:{}", record.serial)};
    }
  }
  return table;
}

template <class Wanted>
GpuSet LeaseTable::those(const GpuSet& gpus, Wanted wanted) const {
  GpuSet found;
  for (const NodeGpus& part : gpus) {
    const auto node = nodes_.find(part.node);
    if (node == nodes_.end()) continue;
    std::uint16_t mask = 0;
    for (int g = 0; g < node->second.gpus; ++g) {
      if ((part.gpus & bit(g)) != 0 && wanted(node->second.gpu[static_cast<std::size_t>(g)])) {
        mask = static_cast<std::uint16_t>(mask | bit(g));
      }
    }
    if (mask != 0) found.push_back({part.node, mask});
  }
  return found;
}

GpuSet LeaseTable::in_phase(const Lease& lease, LeasePhase phase) const {
  return those(lease.gpus, [phase](const Gpu& gpu) { return gpu.phase == phase; });
}

bool LeaseTable::knows(const GpuSet& gpus) const {
  return is_sound(gpus) && those(gpus, [](const Gpu&) { return true; }) == gpus;
}

const LeaseTable::Gpu* LeaseTable::find(GpuName name) const {
  const auto node = nodes_.find(name.node);
  if (node == nodes_.end() || name.gpu >= node->second.gpus) return nullptr;
  return &node->second.gpu[name.gpu];
}

std::uint64_t LeaseTable::fencing(sched::NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? 0 : found->second.fence;
}

// A record made by the table itself always applies; one read from a journal can be arbitrary.
Status LeaseTable::apply(const LeaseRecord& record) {
  if (record.serial != records_ + 1) return wrong(fmt::format("record {} cannot follow {}", record.serial, records_));
  Status done;
  switch (record.kind) {
    case Kind::session: {
      Engine& engine = engines_[static_cast<std::size_t>(record.owner)];
      if (record.owner == LeaseOwner::none || record.session <= engine.session) return wrong("a session out of order");
      engine.session = record.session;
      break;
    }
    case Kind::ask:
      done = apply_ask(record);
      break;
    case Kind::drop: {
      const auto at = std::find_if(pending_.begin(), pending_.end(),
                                   [&](const LeaseRequest& request) { return request.id == record.number; });
      if (at == pending_.end()) return wrong(fmt::format("request {} does not wait", record.number));
      pending_.erase(at);
      asked_.erase(record.number);
      break;
    }
    case Kind::grant:
      done = apply_grant(record);
      break;
    case Kind::held:
    case Kind::revoke:
    case Kind::release:
      done = apply_to_lease(record);
      break;
    case Kind::add:
    case Kind::fence:
    case Kind::fenced:
    case Kind::restore:
      done = apply_to_node(record);
      break;
    case Kind::conflict:
    case Kind::clear:
      done = apply_conflict(record);
      break;
  }
  if (done.ok()) ++records_;
  return done;
}

Status LeaseTable::apply_to_node(const LeaseRecord& record) {
  if (record.kind == Kind::add) {
    if (nodes_.contains(record.node))
      return wrong(fmt::format("node {} is there already", sched::index_of(record.node)));
    if (record.number < 1 || record.number > sched::kMaxGpus)
      return wrong(fmt::format("a node has 1 to {} GPUs", sched::kMaxGpus));
    Node& node = nodes_[record.node];
    node.gpus = static_cast<int>(record.number);
    for (Gpu& gpu : node.gpu) gpu.since = record.at;
    return {};
  }
  const auto found = nodes_.find(record.node);
  if (found == nodes_.end()) return wrong(fmt::format("node {} is unknown", sched::index_of(record.node)));
  Node& node = found->second;
  if (record.kind == Kind::fence) {
    if (node.fence != 0 || record.number != last_fence_ + 1) return wrong("an order to fence out of turn");
    node.fence = last_fence_ = record.number;
    node.fence_since = record.at;
  } else if (record.kind == Kind::fenced) {
    if (node.fence == 0 || node.fence != record.number) return wrong("no such order to fence");
    node.fence = 0;
  } else {
    node.fence = 0;
  }
  for (int g = 0; g < node.gpus; ++g) {
    Gpu& gpu = node.gpu[static_cast<std::size_t>(g)];
    switch (record.kind) {
      case Kind::fence:  // from now on no session is granted use of this server
        if (gpu.phase == LeasePhase::granted || gpu.phase == LeasePhase::held) {
          gpu.phase = LeasePhase::revoking;
          gpu.since = record.at;
        }
        break;
      case Kind::fenced:  // nothing survives the power loss
        release(record.node, g, LeasePhase::out, record.at);
        for (int o = 0; o < kLeaseOwners; ++o) {
          conflicts_.erase({GpuName{record.node, static_cast<std::uint8_t>(g)}, static_cast<LeaseOwner>(o)});
        }
        gpu.intruders = 0;
        break;
      default:
        if (gpu.phase == LeasePhase::out) {
          gpu.phase = LeasePhase::free;
          gpu.since = record.at;
        }
    }
  }
  return {};
}

void LeaseTable::release(sched::NodeId node, int gpu, LeasePhase next, sched::Moment at) {
  Gpu& state = nodes_.at(node).gpu[static_cast<std::size_t>(gpu)];
  if (const auto lease = leases_.find(state.epoch); lease != leases_.end()) {
    erase(lease->second.gpus, node, bit(gpu));
    if (lease->second.gpus.empty()) leases_.erase(lease);
  }
  if (state.phase != next) state.since = at;
  state.phase = next;
  state.epoch = 0;
}

Status LeaseTable::apply_ask(const LeaseRecord& record) {
  if (record.number <= last_request_) return wrong(fmt::format("request {} is not new", record.number));
  if (record.owner == LeaseOwner::none) return wrong("the request has no owner");
  if (record.gpus.empty() || !knows(record.gpus)) return wrong("a request names GPUs that are not there");
  if (record.holder.size() > kMaxHolder) return wrong("a holder's name is too long");
  last_request_ = record.number;
  pending_.push_back({record.number, record.owner, record.holder, record.gpus, record.reclaim});
  asked_[record.number] = record.at;
  return {};
}

Status LeaseTable::apply_grant(const LeaseRecord& record) {
  const auto at = std::find_if(pending_.begin(), pending_.end(),
                               [&](const LeaseRequest& request) { return request.id == record.number; });
  if (at == pending_.end()) return wrong(fmt::format("request {} does not wait", record.number));
  if (record.epoch != last_epoch_ + 1) return wrong("an epoch out of order");
  if (!grantable(*at)) return wrong(fmt::format("request {} wants GPUs that are not free", record.number));
  last_epoch_ = record.epoch;
  for (const NodeGpus& part : at->gpus) {
    Node& node = nodes_.at(part.node);
    for (int g = 0; g < node.gpus; ++g) {
      if ((part.gpus & bit(g)) == 0) continue;
      Gpu& gpu = node.gpu[static_cast<std::size_t>(g)];
      gpu.epoch = record.epoch;
      gpu.phase = LeasePhase::granted;
      gpu.since = record.at;
    }
  }
  leases_[record.epoch] = {at->owner, std::move(at->holder), std::move(at->gpus)};
  pending_.erase(at);
  asked_.erase(record.number);
  return {};
}

Status LeaseTable::apply_to_lease(const LeaseRecord& record) {
  const auto fits = [&](const Gpu& gpu) {
    if (gpu.epoch != record.epoch) return false;
    switch (record.kind) {
      case Kind::held:
        return gpu.phase == LeasePhase::granted;
      case Kind::revoke:
        return gpu.phase == LeasePhase::granted || gpu.phase == LeasePhase::held;
      default:
        return gpu.phase == LeasePhase::revoking;
    }
  };
  if (record.gpus.empty() || record.epoch == 0 || !is_sound(record.gpus) || those(record.gpus, fits) != record.gpus) {
    return wrong(fmt::format("GPUs that are not of lease {}, or not in that phase", record.epoch));
  }
  for (const NodeGpus& part : record.gpus) {
    Node& node = nodes_.at(part.node);
    for (int g = 0; g < node.gpus; ++g) {
      if ((part.gpus & bit(g)) == 0) continue;
      Gpu& gpu = node.gpu[static_cast<std::size_t>(g)];
      if (record.kind == Kind::release) {
        release(part.node, g, LeasePhase::free, record.at);
        continue;
      }
      gpu.phase = record.kind == Kind::held ? LeasePhase::held : LeasePhase::revoking;
      gpu.since = record.at;
    }
  }
  return {};
}

Status LeaseTable::apply_conflict(const LeaseRecord& record) {
  const bool add = record.kind == Kind::conflict;
  const std::uint8_t mask = bit(record.owner);
  const auto fits = [&](const Gpu& gpu) { return ((gpu.intruders & mask) == 0) == add; };
  if (record.gpus.empty() || !is_sound(record.gpus) || those(record.gpus, fits) != record.gpus ||
      record.holder.size() > kMaxHolder) {
    return wrong("a conflict that is known already, or one that is not known");
  }
  for (const NodeGpus& part : record.gpus) {
    for (int g = 0; g < sched::kMaxGpus; ++g) {
      if ((part.gpus & bit(g)) == 0) continue;
      Gpu& gpu = nodes_.at(part.node).gpu[static_cast<std::size_t>(g)];
      gpu.intruders = static_cast<std::uint8_t>(gpu.intruders ^ mask);
      const std::pair<GpuName, LeaseOwner> key{{part.node, static_cast<std::uint8_t>(g)}, record.owner};
      if (add) {
        conflicts_[key] = {record.holder, record.at};
      } else {
        conflicts_.erase(key);
      }
    }
  }
  return {};
}

void LeaseTable::emit(LeaseStep& step, LeaseRecord record, sched::Moment now) {
  record.serial = records_ + 1;
  record.at = now;
  const Status done = apply(record);
  CHECK(done.ok(), "the table's own record fits its state");
  step.records.push_back(std::move(record));
}

void LeaseTable::tell(LeaseStep& step, LeaseEpoch epoch, const GpuSet& gpus, bool revoked) const {
  const LeaseOwner owner = leases_.at(epoch).owner;
  const LeaseSession to = session(owner);
  if (gpus.empty() || to == LeaseSession{})
    return;  // an agent that never sent hello receives everything in its welcome
  step.messages.push_back({owner, to, false, {{epoch, gpus, revoked}}, {}});
}

void LeaseTable::welcome(LeaseStep& step, LeaseOwner owner) const {
  TableMessage message{owner, session(owner), true, {}, {}};
  for (const auto& [epoch, lease] : leases_) {
    if (lease.owner != owner) continue;
    GpuSet kept = those(lease.gpus, [](const Gpu& gpu) { return gpu.phase != LeasePhase::revoking; });
    GpuSet asked_back = in_phase(lease, LeasePhase::revoking);
    if (!kept.empty()) message.shares.push_back({epoch, std::move(kept), false});
    if (!asked_back.empty()) message.shares.push_back({epoch, std::move(asked_back), true});
  }
  for (const auto& [key, seen] : conflicts_) {
    if (key.second == owner) insert(message.intruding, key.first.node, bit(int{key.first.gpu}));
  }
  step.messages.push_back(std::move(message));
}

// Whether a grant only depends on releases by others: no server out of service or being fenced, no intruder.
bool LeaseTable::attainable(const LeaseRequest& request) const {
  for (const NodeGpus& part : request.gpus) {
    if (nodes_.at(part.node).fence != 0) return false;
  }
  // An engine that uses a free GPU without a lease may be granted one: this adopts work that ran before weft was
  // deployed.
  const std::uint8_t others = static_cast<std::uint8_t>(~bit(request.owner));
  return those(request.gpus, [&](const Gpu& gpu) {
           return gpu.phase != LeasePhase::out && (gpu.intruders & others) == 0;
         }) == request.gpus;
}

bool LeaseTable::grantable(const LeaseRequest& request) const {
  return attainable(request) &&
         those(request.gpus, [](const Gpu& gpu) { return gpu.phase == LeasePhase::free; }) == request.gpus;
}

// Oldest request first; a GPU named by an older request is not granted to a younger one. A set is therefore granted as
// a whole, no engine holds one part while waiting for another, and no request starves. A request that needs an operator
// reserves and revokes nothing meanwhile, since it could not use it.
void LeaseTable::settle(LeaseStep& step, sched::Moment now) {
  GpuSet claimed;
  for (std::size_t i = 0; i < pending_.size();) {
    if (!attainable(pending_[i])) {
      ++i;
      continue;
    }
    if (!overlap(pending_[i].gpus, claimed) && grantable(pending_[i])) {
      LeaseRecord record;
      record.kind = Kind::grant;
      record.number = pending_[i].id;
      record.epoch = last_epoch_ + 1;
      const GpuSet gpus = pending_[i].gpus;
      emit(step, std::move(record), now);
      tell(step, last_epoch_, gpus, false);
      continue;
    }
    if (pending_[i].reclaim) {
      GpuSet wanted = pending_[i].gpus;
      for (const NodeGpus& part : claimed) erase(wanted, part.node, part.gpus);
      revoke_part(step, wanted, now);
    }
    for (const NodeGpus& part : pending_[i].gpus) insert(claimed, part.node, part.gpus);
    ++i;
  }
}

void LeaseTable::revoke_part(LeaseStep& step, const GpuSet& gpus, sched::Moment now) {
  std::map<LeaseEpoch, GpuSet> parts;
  for (const NodeGpus& part : gpus) {
    const Node& node = nodes_.at(part.node);
    for (int g = 0; g < node.gpus; ++g) {
      const Gpu& gpu = node.gpu[static_cast<std::size_t>(g)];
      const bool has = gpu.phase == LeasePhase::granted || gpu.phase == LeasePhase::held;
      if ((part.gpus & bit(g)) != 0 && has) insert(parts[gpu.epoch], part.node, bit(g));
    }
  }
  for (const auto& [epoch, set] : parts) {
    emit(step, of_lease(Kind::revoke, epoch, set), now);
    tell(step, epoch, set, true);
  }
}

Result<LeaseStep> LeaseTable::add(sched::NodeId node, int gpus, sched::Moment now) {
  if (nodes_.contains(node)) return refused(fmt::format("node {} is in the table already", sched::index_of(node)));
  if (gpus < 1 || gpus > sched::kMaxGpus)
    return wrong(fmt::format("a node has 1 to {} GPUs, not {}", sched::kMaxGpus, gpus));
  LeaseStep step;
  emit(step, of_node(Kind::add, node, static_cast<std::uint64_t>(gpus)), now);
  return step;
}

Result<LeaseStep> LeaseTable::restore(sched::NodeId node, sched::Moment now) {
  if (!nodes_.contains(node)) return wrong(fmt::format("node {} is not in the table", sched::index_of(node)));
  LeaseStep step;
  emit(step, of_node(Kind::restore, node, 0), now);
  settle(step, now);
  return step;
}

Result<LeaseStep> LeaseTable::request(const LeaseRequest& request, sched::Moment now) {
  if (request.id <= last_request_) return refused(fmt::format("request {} was already made", request.id));
  if (request.owner == LeaseOwner::none) return wrong("the request must name an engine");
  if (request.gpus.empty()) return wrong("a request names no GPU");
  if (!knows(request.gpus)) return wrong(fmt::format("{} names GPUs that are not in the table", to_text(request.gpus)));
  if (request.holder.size() > kMaxHolder) return wrong(fmt::format("a holder's name has at most {} bytes", kMaxHolder));
  LeaseRecord record;
  record.kind = Kind::ask;
  record.number = request.id;
  record.owner = request.owner;
  record.holder = request.holder;
  record.gpus = request.gpus;
  record.reclaim = request.reclaim;
  LeaseStep step;
  emit(step, std::move(record), now);
  settle(step, now);
  return step;
}

Result<LeaseStep> LeaseTable::cancel(std::uint64_t request, sched::Moment now) {
  if (!asked_.contains(request)) return refused(fmt::format("request {} does not wait", request));
  LeaseStep step;
  emit(step, of_node(Kind::drop, {}, request), now);
  settle(step, now);
  return step;
}

Result<LeaseStep> LeaseTable::revoke(const GpuSet& gpus, sched::Moment now) {
  if (!knows(gpus)) return wrong(fmt::format("{} names GPUs that are not in the table", to_text(gpus)));
  LeaseStep step;
  revoke_part(step, gpus, now);
  settle(step, now);
  return step;
}

Result<LeaseStep> LeaseTable::fence(sched::NodeId node, sched::Moment now) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return wrong(fmt::format("node {} is not in the table", sched::index_of(node)));
  if (found->second.fence != 0) return refused(fmt::format("node {} is being fenced already", sched::index_of(node)));
  LeaseStep step;
  emit(step, of_node(Kind::fence, node, last_fence_ + 1), now);
  for (const auto& [epoch, lease] : leases_) {
    GpuSet here;
    for (const NodeGpus& part : in_phase(lease, LeasePhase::revoking)) {
      if (part.node == node) here.push_back(part);
    }
    tell(step, epoch, here, true);
  }
  step.fences.push_back({last_fence_, node});
  return step;
}

LeaseStep LeaseTable::fenced(const FenceOrder& order, sched::Moment now) {
  LeaseStep step;
  const auto found = nodes_.find(order.node);
  if (found == nodes_.end() || order.number == 0 || found->second.fence != order.number) return step;
  emit(step, of_node(Kind::fenced, order.node, order.number), now);
  settle(step, now);
  return step;
}

Result<LeaseStep> LeaseTable::observe(LeaseOwner owner, const GpuSet& gpus, std::string_view note, sched::Moment now) {
  if (!knows(gpus)) return wrong(fmt::format("{} names GPUs that are not in the table", to_text(gpus)));
  LeaseStep step;
  LeaseRecord record;
  record.kind = Kind::conflict;
  record.owner = owner;
  record.gpus = those(gpus, [&](const Gpu& gpu) { return (gpu.intruders & bit(owner)) == 0; });
  record.holder = note.substr(0, kMaxHolder);
  if (!record.gpus.empty()) emit(step, std::move(record), now);
  return step;
}

Result<LeaseStep> LeaseTable::clear(LeaseOwner owner, const GpuSet& gpus, sched::Moment now) {
  if (!knows(gpus)) return wrong(fmt::format("{} names GPUs that are not in the table", to_text(gpus)));
  LeaseStep step;
  LeaseRecord record;
  record.kind = Kind::clear;
  record.owner = owner;
  record.gpus = those(gpus, [&](const Gpu& gpu) { return (gpu.intruders & bit(owner)) != 0; });
  if (!record.gpus.empty()) emit(step, std::move(record), now);
  settle(step, now);
  return step;
}

LeaseStep LeaseTable::receive(const AgentMessage& message, sched::Moment now) {
  LeaseStep step;
  if (message.from == LeaseOwner::none) return step;
  Engine& engine = engines_[static_cast<std::size_t>(message.from)];
  if (message.kind == AgentMessage::Kind::hello) {
    if (message.session < engine.session || message.session == LeaseSession{}) return step;
    engine.heard = now;
    if (message.session > engine.session) {
      LeaseRecord record;
      record.kind = Kind::session;
      record.owner = message.from;
      record.session = message.session;
      emit(step, std::move(record), now);
    }
    welcome(step, message.from);
    return step;
  }
  // Messages sent before the agent (or its successor) started a new session are no evidence of the gates' current
  // state.
  if (message.session != engine.session) return step;
  engine.heard = now;
  if (!is_sound(message.gpus)) return step;
  switch (message.kind) {
    case AgentMessage::Kind::intruding:
    case AgentMessage::Kind::gone:
      receive_of_intruder(step, message, now);
      break;
    default:
      receive_of_lease(step, message, now);
  }
  return step;
}

void LeaseTable::receive_of_lease(LeaseStep& step, const AgentMessage& message, sched::Moment now) {
  const auto lease = leases_.find(message.epoch);
  if (lease == leases_.end() || lease->second.owner != message.from) return;
  const auto part = [&](LeasePhase phase) {
    return those(message.gpus, [&](const Gpu& gpu) { return gpu.epoch == message.epoch && gpu.phase == phase; });
  };
  if (message.kind == AgentMessage::Kind::held) {
    GpuSet gpus = part(LeasePhase::granted);
    if (!gpus.empty()) emit(step, of_lease(Kind::held, message.epoch, std::move(gpus)), now);
  } else if (message.kind == AgentMessage::Kind::released) {
    GpuSet gpus = part(LeasePhase::revoking);
    if (!gpus.empty()) emit(step, of_lease(Kind::release, message.epoch, std::move(gpus)), now);
    settle(step, now);
  } else if (message.kind == AgentMessage::Kind::give_back) {
    revoke_part(step, those(message.gpus, [&](const Gpu& gpu) { return gpu.epoch == message.epoch; }), now);
  }
}

void LeaseTable::receive_of_intruder(LeaseStep& step, const AgentMessage& message, sched::Moment now) {
  // A set with unknown GPUs is an error of the agent; its known GPUs still count.
  const GpuSet gpus = those(message.gpus, [](const Gpu&) { return true; });
  Result<LeaseStep> done = message.kind == AgentMessage::Kind::intruding
                               ? observe(message.from, gpus, message.note, now)
                               : clear(message.from, gpus, now);
  if (done.ok()) step = std::move(done).value();
}

LeaseStep LeaseTable::tick(sched::Moment now) {
  LeaseStep step;
  settle(step, now);
  step.messages.clear();  // the loops below resend everything
  for (const auto& [epoch, lease] : leases_) {
    tell(step, epoch, in_phase(lease, LeasePhase::granted), false);
    tell(step, epoch, in_phase(lease, LeasePhase::revoking), true);
  }
  for (const auto& [id, node] : nodes_) {
    if (node.fence != 0) step.fences.push_back({node.fence, id});
  }
  return step;
}

}  // namespace weft::lease

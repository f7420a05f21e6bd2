#include "world/lease/leased_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace weft::world {

using control::ReplyKind;
using lease::LeaseOwner;

namespace {

// Looks that wait for a thread: more would be old when their turn comes.
constexpr std::size_t kMaxLooks = 64;

}  // namespace

LeasedWorld::LeasedWorld(LeasedOptions options, std::vector<LeasedEngine> engines, std::shared_ptr<GateClient> gates)
    : options_(std::move(options)),
      gates_(std::move(gates)),
      nodes_(options_.nodes.size()),
      looks_(options_.gate_threads) {
  CHECK(engines.size() >= 2, "leases need two engines");
  for (LeasedEngine& engine : engines) {
    Side side;
    side.engine = std::move(engine);
    side.calls = std::make_unique<WorkQueue>(options_.list_threads);
    side.boots.resize(options_.nodes.size());
    sides_.push_back(std::move(side));
  }
}

LeasedWorld::~LeasedWorld() {
  gates_->stop();
  for (Side& side : sides_) side.engine.scheduler->stop();
}

void LeasedWorld::log(std::string_view text) const {
  if (options_.log) options_.log(text);
}

void LeasedWorld::refuse(control::OperationId operation, std::string text) {
  pending_.emplace_back(control::CommandReply{operation, ReplyKind::transient, std::move(text)});
}

LeasedWorld::Side* LeasedWorld::side_of(LeaseOwner engine) {
  const auto found =
      std::find_if(sides_.begin(), sides_.end(), [&](const Side& side) { return side.engine.owner == engine; });
  return found == sides_.end() ? nullptr : &*found;
}

// An attempt that the journal does not know is stopped by the engine that reported it.
LeasedWorld::Side& LeasedWorld::side_of_attempt(const control::AttemptName& name, LeaseOwner engine,
                                                const std::vector<sched::NodeId>& nodes) {
  if (Side* named = side_of(engine)) return *named;
  if (const auto known = attempts_.find(name); known != attempts_.end()) return *side_of(known->second);
  for (const sched::NodeId node : nodes) {
    if (index_of(node) >= nodes_.size()) continue;
    if (Side* owner = side_of(state_of(node).owner)) return *owner;
  }
  return sides_.front();
}

void LeasedWorld::send(const control::Command& command, sched::Moment now) {
  std::visit([&](const auto& one) { route(one, now); }, command);
}

void LeasedWorld::route(const control::StartAttempt& command, sched::Moment now) {
  Side& side = side_of_attempt(command.name, command.spec ? command.spec->engine : LeaseOwner::none, {});
  control::StartAttempt start = command;
  for (std::size_t i = 0; i < start.slots.size() && i < start.boots.size(); ++i) {
    const sched::NodeId node = start.slots[i].node;
    const bool known = index_of(node) < nodes_.size() && side.boots[index_of(node)] != 0;
    if (!known) {
      return refuse(command.operation, fmt::format("{} has not reported node {} since weft serve started",
                                                   lease::to_text(side.engine.owner), index_of(node)));
    }
    // A boot that the node is not in any more is refused by the engine.
    const bool current = start.boots[i] == state_of(node).kernel_boot;
    start.boots[i] = current ? side.boots[index_of(node)] : 0;
    if (!current) return refuse(command.operation, fmt::format("node {} has rebooted", index_of(node)));
  }
  attempts_[command.name] = side.engine.owner;
  side.engine.world->send(start, now);
}

void LeasedWorld::route(const control::StopAttempt& command, sched::Moment now) {
  side_of_attempt(command.name, command.engine, command.nodes).engine.world->send(command, now);
}

void LeasedWorld::route(const control::RequestCheckpoint& command, sched::Moment now) {
  side_of_attempt(command.name, command.engine, {}).engine.world->send(command, now);
}

void LeasedWorld::route(const control::VerifyCheckpoint& command, sched::Moment now) {
  Side* side = command.spec ? side_of(command.spec->engine) : nullptr;
  (side != nullptr ? *side : sides_.front()).engine.world->send(command, now);
}

void LeasedWorld::route(const control::QueryInventory& command, sched::Moment now) {
  term_ = std::max(term_, command.term);
  for (Side& side : sides_) side.engine.world->send(command, now);
}

template <class Command>
void LeasedWorld::send_to_owner(const Command& command, sched::Moment now) {
  Side* side = index_of(command.node) < nodes_.size() ? side_of(state_of(command.node).owner) : nullptr;
  if (side == nullptr) return refuse(command.operation, "no engine owns the node yet");
  side->engine.world->send(command, now);
}

void LeasedWorld::route(const control::CordonNode& command, sched::Moment now) { send_to_owner(command, now); }
void LeasedWorld::route(const control::PowerCycle& command, sched::Moment now) { send_to_owner(command, now); }
void LeasedWorld::route(const control::RepairNode& command, sched::Moment now) { send_to_owner(command, now); }
void LeasedWorld::route(const control::ValidateNode& command, sched::Moment now) { send_to_owner(command, now); }

void LeasedWorld::route(const control::LeaseOrder& order, sched::Moment now) {
  term_ = std::max(term_, order.term);
  pending_.emplace_back(control::CommandReply{order.operation, ReplyKind::accepted, {}});
  if (index_of(order.node) >= nodes_.size() || side_of(order.engine) == nullptr) return;
  NodeState& state = state_of(order.node);
  const bool owned = state.owner == order.engine;
  if (order.kind == control::LeaseOrderKind::open || owned) {
    state.changing = true;
    state.expected = order.kind == control::LeaseOrderKind::open ? order.epoch : 0;
  }
  if (order.kind != control::LeaseOrderKind::open) order_mark(order.engine, order.node, true);
  if (order.kind != control::LeaseOrderKind::cordon) order_gate(order, now);
}

// The mark is removed only after the gate has opened: until then the scheduler would place jobs that the gate refuses.
void LeasedWorld::order_gate(const control::LeaseOrder& order, sched::Moment now) {
  const std::string& name = options_.nodes[index_of(order.node)];
  looks_.add([gates = gates_, name, order] { return gates->obey(name, order); },
             [this, order, now](const Result<NodeLook>& look) {
               state_of(order.node).look_wanted = true;
               if (!look.ok() && look.error().code == ErrorCode::refused) {
                 log(fmt::format("{}: the gate refuses to {}: {}", options_.nodes[index_of(order.node)],
                                 control::to_text(order.kind), look.error().text()));
                 return;
               }
               take_look(order.node, look, now);
               if (!look.ok() || order.kind != control::LeaseOrderKind::open) return;
               const control::EngineGate& gate = look->report.engines[static_cast<std::size_t>(order.engine)];
               if (gate.open == order.epoch) order_mark(order.engine, order.node, false);
             });
}

void LeasedWorld::order_mark(LeaseOwner engine, sched::NodeId node, bool cordon) {
  Side& side = *side_of(engine);
  side.list_wanted = true;
  side.calls->add([scheduler = side.engine.scheduler, node, cordon] { return scheduler->mark(node, cordon); },
                  [this, engine, node](const Status& marked) {
                    Side& again = *side_of(engine);
                    again.list_wanted = true;
                    if (marked.ok()) return;
                    log(fmt::format("{}: the mark of the lease in {}: {}", options_.nodes[index_of(node)],
                                    lease::to_text(engine), marked.error().text()));
                  });
}

void LeasedWorld::poll(sched::Moment now, std::vector<control::Event>& events) {
  looks_.collect();
  for (Side& side : sides_) {
    side.calls->collect();
    std::vector<control::Event> reported;
    side.engine.world->poll(now, reported);
    for (control::Event& event : reported) take(side, event);
  }
  request_looks(now);
  request_lists(now);
  request_inventories(now);
  if (options_.gate_threads == 0) looks_.collect();
  for (Side& side : sides_) {
    if (options_.list_threads == 0) side.calls->collect();
  }
  std::move(pending_.begin(), pending_.end(), std::back_inserter(events));
  pending_.clear();
}

// Nodes whose lease changes first; the others in turn, so that each comes up however many there are.
void LeasedWorld::request_looks(sched::Moment now) {
  if (term_ == 0) return;  // a gate that has not obeyed this controller proves nothing
  const auto request = [&](std::size_t n) {
    NodeState& state = nodes_[n];
    const Duration period = state.changing ? options_.busy_period : options_.gate_period;
    const bool due = state.looked_at == sched::Moment() || now - state.looked_at >= period;
    if (state.looking || (!due && !state.look_wanted) || looks_.open() >= kMaxLooks) return;
    state.looking = true;
    state.look_wanted = false;
    state.looked_at = now;
    looks_.add([gates = gates_, name = options_.nodes[n], term = term_] { return gates->look(name, term); },
               [this, n, now](const Result<NodeLook>& look) {
                 nodes_[n].looking = false;
                 take_look(sched::NodeId{static_cast<std::uint32_t>(n)}, look, now);
               });
  };
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (nodes_[n].changing) request(n);
  }
  for (std::size_t i = 0; i < nodes_.size() && looks_.open() < kMaxLooks; ++i) {
    request(cursor_);
    cursor_ = (cursor_ + 1) % nodes_.size();
  }
}

void LeasedWorld::request_lists(sched::Moment now) {
  const bool changing = std::any_of(nodes_.begin(), nodes_.end(), [](const NodeState& node) { return node.changing; });
  for (Side& side : sides_) {
    const Duration period = changing || side.list_wanted ? options_.busy_period : options_.list_period;
    if (side.listing || (side.listed_at != sched::Moment() && now - side.listed_at < period)) continue;
    side.listing = true;
    side.list_wanted = false;
    side.listed_at = now;
    side.calls->add([scheduler = side.engine.scheduler] { return scheduler->list(); },
                    [this, engine = side.engine.owner, now](Result<std::vector<control::NodeUse>> uses) {
                      take_list(*side_of(engine), std::move(uses), now);
                    });
  }
}

void LeasedWorld::request_inventories(sched::Moment now) {
  for (Side& side : sides_) {
    if (!side.inventory_wanted || now - side.inventory_at < options_.busy_period) continue;
    side.inventory_wanted = false;
    side.inventory_at = now;
    side.engine.world->send(control::QueryInventory{term_}, now);
  }
}

void LeasedWorld::take_list(Side& side, Result<std::vector<control::NodeUse>> uses, sched::Moment began) {
  side.listing = false;
  const std::string problem = uses.ok() ? std::string() : uses.error().text();
  if (problem != side.problem) {
    log(problem.empty() ? fmt::format("{} lists its jobs again", lease::to_text(side.engine.owner))
                        : fmt::format("{} does not list its jobs: {}", lease::to_text(side.engine.owner), problem));
    side.problem = problem;
  }
  if (!uses.ok()) return;
  pending_.emplace_back(control::UseList{side.engine.owner, std::move(*uses), began});
}

void LeasedWorld::note_gate_problem(NodeState& state, const std::string& name, const std::string& problem) {
  if (problem == state.problem) return;
  log(problem.empty() ? fmt::format("{}: the gate answers again", name)
                      : fmt::format("{}: the gate does not answer: {}", name, problem));
  state.problem = problem;
}

void LeasedWorld::take_look(sched::NodeId node, const Result<NodeLook>& look, sched::Moment began) {
  NodeState& state = state_of(node);
  note_gate_problem(state, options_.nodes[index_of(node)], look.ok() ? std::string() : look.error().text());
  if (!look.ok()) return;
  const bool first = state.kernel_boot == 0;
  state.kernel_boot = look->kernel_boot;
  const LeaseOwner before = state.owner;
  for (const Side& side : sides_) {
    if (look->report.engines[static_cast<std::size_t>(side.engine.owner)].open != 0) state.owner = side.engine.owner;
  }
  if (state.owner != LeaseOwner::none) {
    const lease::LeaseEpoch open = look->report.engines[static_cast<std::size_t>(state.owner)].open;
    if (open != 0 && (state.expected == 0 ? before == LeaseOwner::none : open == state.expected)) {
      state.changing = false;
    }
  }
  control::GateReport report = look->report;
  report.node = node;
  report.observed = began;
  pending_.emplace_back(std::move(report));
  if (state.owner != before) {
    Side& side = *side_of(state.owner);
    side.inventory_wanted = true;  // what it said before did not count
    if (const auto cordon = side.cordons.find(node); cordon != side.cordons.end())
      pending_.emplace_back(cordon->second);
  }
  if (!first) return;
  for (control::Event& event : std::exchange(state.held, {})) {
    if (auto* part = std::get_if<control::PartReport>(&event)) part->boot = part->boot == 0 ? 0 : state.kernel_boot;
    pending_.push_back(std::move(event));
  }
}

void LeasedWorld::take(Side& side, control::Event& event) {
  std::visit(
      [&](auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, control::NodeReport> || std::is_same_v<Kind, control::PartReport> ||
                      std::is_same_v<Kind, control::Inventory> || std::is_same_v<Kind, control::CordonReport> ||
                      std::is_same_v<Kind, control::ValidationReport>) {
          take(side, std::move(one));
        } else {
          pending_.push_back(std::move(event));
        }
      },
      event);
}

void LeasedWorld::take(Side& side, control::NodeReport report) {
  if (index_of(report.node) >= nodes_.size()) return;
  NodeState& state = state_of(report.node);
  if (report.boot != 0) side.boots[index_of(report.node)] = report.boot;
  if (state.owner != side.engine.owner || state.kernel_boot == 0) return;
  if (report.boot != 0) report.boot = state.kernel_boot;
  pending_.emplace_back(std::move(report));
}

void LeasedWorld::take(Side& side, control::PartReport report) {
  if (index_of(report.node) >= nodes_.size()) return;
  NodeState& state = state_of(report.node);
  report.sealed ? (void)attempts_.erase(report.name) : (void)(attempts_[report.name] = side.engine.owner);
  if (state.kernel_boot == 0) {
    state.held.emplace_back(std::move(report));
    return;
  }
  if (report.boot != 0) report.boot = state.kernel_boot;
  pending_.emplace_back(std::move(report));
}

// Of an engine that does not own a node, a list of its attempts there says nothing.
void LeasedWorld::take(Side& side, control::Inventory inventory) {
  std::vector<control::NodeInventory> owned;
  for (control::NodeInventory& node : inventory.nodes) {
    if (index_of(node.node) >= nodes_.size()) continue;
    for (const control::AttemptName& name : node.running) attempts_[name] = side.engine.owner;
    if (node.boot != 0) side.boots[index_of(node.node)] = node.boot;
    const NodeState& state = state_of(node.node);
    if (state.owner != side.engine.owner || state.kernel_boot == 0) continue;
    node.boot = state.kernel_boot;
    owned.push_back(std::move(node));
  }
  inventory.nodes = std::move(owned);
  if (!inventory.nodes.empty()) pending_.emplace_back(std::move(inventory));
}

// The mark of a lease is no cordon: the list of the scheduler shows it.
void LeasedWorld::take(Side& side, control::CordonReport report) {
  if (index_of(report.node) >= nodes_.size()) return;
  if (report.owner.find(kLeaseMark) != std::string::npos) {
    report.cordoned = false;
    report.owner.clear();
  }
  side.cordons[report.node] = report;
  if (state_of(report.node).owner == side.engine.owner) pending_.emplace_back(std::move(report));
}

void LeasedWorld::take(Side& side, control::ValidationReport report) {
  if (index_of(report.node) >= nodes_.size()) return;
  if (report.boot != 0) report.boot = state_of(report.node).kernel_boot;
  (void)side;
  pending_.emplace_back(std::move(report));
}

}  // namespace weft::world

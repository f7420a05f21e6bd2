#include "world/kube/kube_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "kube/json_fields.h"
#include "world/core/rank_environment.h"
#include "world/kube/node_taint.h"

namespace weft::world {

using control::AttemptName;
using control::PartPhase;
using control::ReplyKind;

namespace {

kube::ReflectorOptions watch_pods(const KubeOptions& options) {
  return {kube::kPods, {options.pods.kube_namespace, select_engine(options.pods.engine), {}}};
}

bool is_label_value(std::string_view text) {
  if (text.empty() || text.size() > 40) return false;  // a taint's value has the session's number too
  if (!is_letter_or_digit(text.front()) || !is_letter_or_digit(text.back())) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

}  // namespace

std::string problem_of(const KubeOptions& options) {
  if (!is_label_value(options.pods.engine)) return "the engine's name must be letters, digits and hyphens";
  if (!kube::is_path_segment(options.pods.kube_namespace)) return "not a namespace";
  std::set<std::string> names;
  for (const std::string& node : options.pods.nodes) {
    if (!kube::is_path_segment(node)) return fmt::format("'{}' is not a node name", node);
    if (!names.insert(node).second) return fmt::format("two nodes are named '{}'", node);
  }
  return {};
}

KubeWorld::KubeWorld(kube::Client& client, KubeOptions options)
    : client_(client),
      options_(std::move(options)),
      pods_(client, watch_pods(options_)),
      nodes_(client, kube::ReflectorOptions{kube::kNodes}),
      checkpoints_(options_.helper) {
  CHECK(problem_of(options_).empty(), "invalid options of engine kubernetes");
  for (std::uint32_t i = 0; i < options_.pods.nodes.size(); ++i) {
    node_ids_[options_.pods.nodes[i]] = sched::NodeId{i};
  }
  node_facts_.resize(options_.pods.nodes.size());
}

void KubeWorld::enqueue(const control::Command& command) {
  const std::lock_guard lock(mutex_);
  inbox_.push_back(command);
}

void KubeWorld::send(const control::Command& command, sched::Moment now) {
  const Duration clock = client_.clock().now();
  {
    const std::lock_guard lock(mutex_);
    times_ = {now, clock};
  }
  if (const auto* start = std::get_if<control::StartAttempt>(&command);
      start != nullptr && start->spec != nullptr && !start->spec->checkpoint.volumes.empty()) {
    return prepare_start(*start, now);
  }
  if (const auto* request = std::get_if<control::RequestCheckpoint>(&command)) return handle(*request);
  if (const auto* verify = std::get_if<control::VerifyCheckpoint>(&command)) return handle(*verify);
  enqueue(command);
}

// The token must be in the volumes before a pod reads it there. A stop that overtakes the start seals it first.
void KubeWorld::prepare_start(const control::StartAttempt& command, sched::Moment now) {
  for (const std::string& volume : command.spec->checkpoint.volumes) {
    if (!is_checkpoint_volume(volume)) return enqueue(command);  // refused by plan_attempt()
  }
  const std::string token = fmt::format("{} {} {:016x}", options_.pods.engine, to_text(command.name),
                                        hash64(fmt::format("{} {}", command.operation, now.count())));
  checkpoints_.prepare(command, token, [this, command, token](const Status& prepared) {
    if (!prepared.ok()) return reply(command.operation, ReplyKind::transient, prepared.error().text());
    {
      const std::lock_guard lock(mutex_);
      volume_tokens_[command.name] = token;
    }
    enqueue(command);
  });
}

void KubeWorld::poll(sched::Moment now, std::vector<control::Event>& events) {
  const Duration clock = client_.clock().now();
  std::vector<WatchOrder> orders;
  {
    const std::lock_guard lock(mutex_);
    times_ = {now, clock};
    orders.swap(watch_orders_);
  }
  for (const WatchOrder& order : orders) {
    order.place ? checkpoints_.add(order.name, *order.place) : checkpoints_.end(order.name);
  }
  checkpoints_.poll(now, events);
  const std::lock_guard lock(mutex_);
  std::move(outbox_.begin(), outbox_.end(), std::back_inserter(events));
  outbox_.clear();
}

std::string KubeWorld::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

sched::Moment KubeWorld::moment_of(Duration clock_time) const {
  const std::lock_guard lock(mutex_);
  if (!times_) return sched::Moment(0);
  return times_->first + (clock_time - times_->second);
}

void KubeWorld::emit(control::Event event) {
  const std::lock_guard lock(mutex_);
  outbox_.push_back(std::move(event));
}

void KubeWorld::reply(control::OperationId operation, ReplyKind kind, std::string text) {
  emit(control::CommandReply{operation, kind, std::move(text)});
}

// Errors of the client tell whether a request may have been executed (kube/transport.h, kube/api_status.h).
void KubeWorld::reply_error(control::OperationId operation, const Error& error) {
  ReplyKind kind = ReplyKind::permanent;
  if (error.code == ErrorCode::unavailable || error.code == ErrorCode::refused) kind = ReplyKind::transient;
  if (error.code == ErrorCode::timeout || error.code == ErrorCode::internal) kind = ReplyKind::ambiguous;
  reply(operation, kind, error.text());
}

// Both stores are complete, what they show is the present, and it is about pods of this weft.
bool KubeWorld::is_current() const { return pods_.is_watching() && nodes_.is_watching() && leads(); }

std::optional<sched::NodeId> KubeWorld::find_node(const std::string& name) const {
  const auto known = node_ids_.find(name);
  if (known == node_ids_.end()) return std::nullopt;
  return known->second;
}

const NodeFacts& KubeWorld::facts_of(sched::NodeId node) const { return node_facts_.at(index_of(node)); }

void KubeWorld::work(Duration wait) {
  std::vector<kube::ObjectChange> pod_changes;
  std::vector<kube::ObjectChange> node_changes;
  // Until both are synced, each step is a request: no need to wait for events of one of them.
  const bool current = pods_.is_watching() && nodes_.is_watching();
  if (!current) rest(wait);
  nodes_.step(current ? Duration(0) : milliseconds(10), node_changes);
  const Duration pod_wait = has_commands() ? Duration(0) : wait;
  pods_.step(current ? pod_wait : milliseconds(10), pod_changes);
  take_node_changes(node_changes);
  if (nodes_.synced() && pods_.synced()) execute_commands();
  take_pod_changes(pod_changes);
  note_current();
  report_nodes(node_changes);
  report_parts();
  remove_ended();
  std::string problem;  // an open watch has none, whatever was before it
  for (const kube::Reflector* one : {&pods_, &nodes_}) {
    if (!one->is_watching() && !one->problem().empty()) problem = one->problem();
  }
  const std::lock_guard lock(mutex_);
  problem_ = std::move(problem);
}

// A reflector that waits for its next try returns at once.
void KubeWorld::rest(Duration wait) {
  for (const kube::Reflector* one : {&nodes_, &pods_}) {
    if (!one->is_watching()) wait = std::min(wait, one->idle_for());
  }
  if (wait.count() > 0) (void)client_.clock().sleep(wait);
}

bool KubeWorld::has_commands() const {
  const std::lock_guard lock(mutex_);
  return !inbox_.empty();
}

// Some per round: a burst of starts, each with several requests, does not delay the reports that free GPUs.
void KubeWorld::execute_commands() {
  constexpr std::size_t kMaxCommands = 16;
  std::vector<control::Command> commands;
  {
    const std::lock_guard lock(mutex_);
    while (!inbox_.empty() && commands.size() < kMaxCommands) {
      commands.push_back(std::move(inbox_.front()));
      inbox_.pop_front();
    }
  }
  for (const control::Command& command : commands) {
    std::visit(
        [&](const auto& one) {
          if (leads()) return handle(one);
          if constexpr (requires { one.operation; }) {
            reply(one.operation, ReplyKind::transient,
                  "another weft serve may drive these jobs: the lease is not held");
          } else {
            enqueue(one);  // a query waits
          }
        },
        command);
  }
}

std::string KubeWorld::refuse_start(const control::StartAttempt& command) const {
  if (command.term < term_) return fmt::format("the command is of term {}, now is {}", command.term, term_);
  for (std::size_t i = 0; i < command.slots.size(); ++i) {
    const sched::NodeId node = command.slots[i].node;
    const std::string& name = options_.pods.nodes.at(index_of(node));
    if (sealed_.contains({command.name, node})) {
      return fmt::format("attempt {}.{} is sealed on node {}", command.name.job, command.name.attempt, name);
    }
    const control::BootId boot = facts_of(node).boot;
    if (boot != command.boots[i]) {
      return fmt::format("node {} has been rebooted: its boot id is {:016x}, the command is for {:016x}", name, boot,
                         command.boots[i]);
    }
  }
  return {};
}

// An object of that name is ours only if it says the same engine and attempt.
Result<Value> KubeWorld::create_or_adopt(const kube::Resource& resource, const Value& object, const AttemptName& name) {
  Result<kube::CreateOutcome> made = client_.create(resource, object);
  if (!made.ok()) return made.error();
  const bool ours = attempt_of(made->object, options_.pods.engine) == name &&
                    kube::annotation_of(made->object, "weft/node") == kube::annotation_of(object, "weft/node") &&
                    kube::annotation_of(made->object, "weft/boot") == kube::annotation_of(object, "weft/boot");
  if (!ours) {
    return Error{ErrorCode::conflict,
                 fmt::format("{} {} exists already and is not of attempt {}.{}", resource.kind,
                             kube::raw_text(object, {"metadata", "name"}), name.job, name.attempt),
                 {}};
  }
  return std::move(made->object);
}

Status KubeWorld::bind(const Value& pod, const std::string& node) {
  const kube::ObjectName name{options_.pods.kube_namespace, kube::raw_text(pod, {"metadata", "name"})};
  const std::string bound = kube::raw_text(pod, {"spec", "nodeName"});
  if (bound == node) return {};
  if (!bound.empty()) {
    return Error{ErrorCode::conflict, fmt::format("pod {} is bound to node {}, not to {}", name.name, bound, node), {}};
  }
  Value binding = Value::map({{"apiVersion", Value("v1")}, {"kind", Value("Binding")}});
  binding["metadata"].set("name", Value(name.name)).set("namespace", Value(name.kube_namespace));
  binding["metadata"].set("uid", Value(kube::raw_text(pod, {"metadata", "uid"})));
  binding.set("target", Value::map({{"apiVersion", Value("v1")}, {"kind", Value("Node")}, {"name", Value(node)}}));
  return client_.create_subresource(kube::kPods, name, "binding", binding);
}

// Before the first binding of a command: nothing of it runs. Pods that are not bound are removed; what an earlier
// command bound is reported as it is.
void KubeWorld::fail_start(control::OperationId operation, const std::vector<Value>& pods, const Error& error) {
  bool removed = true;
  for (const Value& pod : pods) {
    if (!kube::raw_text(pod, {"spec", "nodeName"}).empty()) {
      removed = false;
      continue;
    }
    removed = stop_pod(pod, Duration(0)).ok() && removed;
  }
  if (removed) return reply_error(operation, error);
  reply(operation, ReplyKind::ambiguous, error.text());
}

void KubeWorld::handle(const control::StartAttempt& command) {
  BootTexts boots;
  for (const sched::Slot& slot : command.slots) {
    if (index_of(slot.node) >= options_.pods.nodes.size()) break;  // refused by plan_attempt()
    boots[slot.node] = facts_of(slot.node).boot_text;
  }
  std::string token;
  {
    const std::lock_guard lock(mutex_);
    if (auto found = volume_tokens_.extract(command.name)) token = std::move(found.mapped());
  }
  Result<AttemptPlan> plan = plan_attempt(command, options_.pods, boots, token);
  if (!plan.ok()) return reply(command.operation, ReplyKind::permanent, plan.error().text());
  if (std::string problem = refuse_start(command); !problem.empty()) {
    return reply(command.operation, ReplyKind::permanent, std::move(problem));
  }
  starts_.insert(command.name);
  idle_since_.erase(command.name);
  const Result<Value> service = create_or_adopt(kube::kServices, plan->service, command.name);
  if (!service.ok()) return reply_error(command.operation, service.error());
  const Value owner = Value::map({{"apiVersion", Value("v1")},
                                  {"kind", Value("Service")},
                                  {"name", Value(plan->name)},
                                  {"uid", Value(kube::raw_text(*service, {"metadata", "uid"}))}});
  std::vector<Value> made;
  for (PodPlan& pod : plan->pods) {
    pod.pod["metadata"].set("ownerReferences", Value::list({owner}));
    Result<Value> object = create_or_adopt(kube::kPods, pod.pod, command.name);
    if (!object.ok()) return fail_start(command.operation, made, object.error());
    made.push_back(std::move(object).value());
  }
  if (!leads())  // creating them took long: nothing is bound, so nothing runs
    return fail_start(command.operation, made, {ErrorCode::unavailable, "the lease was lost during the start", {}});
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::string& node = options_.pods.nodes.at(index_of(plan->pods[i].node));
    parts_[{command.name, plan->pods[i].node}].bound = true;
    if (const Status bound = bind(made[i], node); !bound.ok()) {
      const bool unbound = i == 0 && bound.error().code != ErrorCode::timeout;
      if (!unbound) return reply(command.operation, ReplyKind::ambiguous, bound.error().text());
      parts_[{command.name, plan->pods[i].node}].bound = false;
      return fail_start(command.operation, made, bound.error());
    }
  }
  for (const PodPlan& pod : plan->pods) {
    parts_[{command.name, pod.node}].reported = false;
    unsettled_.insert({command.name, pod.node});
  }
  reply(command.operation, ReplyKind::accepted);
}

Status KubeWorld::stop_pod(const Value& pod, Duration grace) {
  const Result<kube::ObjectMeta> meta = kube::read_meta(pod);
  if (!meta.ok()) return meta.error();
  kube::DeleteRequest request;
  request.uid = meta->uid;
  request.grace_seconds = std::clamp<std::int64_t>((grace.count() + 999'999'999) / 1'000'000'000, 1, 86'400);
  // A pod that is not bound has no kubelet that would end it.
  if (kube::raw_text(pod, {"spec", "nodeName"}).empty()) request.grace_seconds = 0;
  const Result<kube::DeleteOutcome> outcome = client_.remove(kube::kPods, meta->name, request);
  return outcome.ok() ? Status() : Status(outcome.error());
}

void KubeWorld::handle(const control::StopAttempt& command) {
  for (const sched::NodeId node : command.nodes) {
    if (index_of(node) >= options_.pods.nodes.size()) {
      return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(node)));
    }
  }
  for (const sched::NodeId node : command.nodes) {
    sealed_.insert({command.name, node});
    parts_[{command.name, node}].reported = false;
    unsettled_.insert({command.name, node});
  }
  // Not from the store, which may be behind: a pod that was created a moment ago must be found.
  const Result<kube::ObjectList> pods =
      client_.list(kube::kPods, {options_.pods.kube_namespace, select_attempt(options_.pods.engine, command.name), {}});
  if (!pods.ok()) return reply_error(command.operation, pods.error());
  std::set<sched::NodeId> found;
  for (const Value& pod : pods->items) {
    const std::optional<PodFacts> facts = read_pod(pod, options_.pods.engine);
    if (!facts) continue;
    const std::optional<sched::NodeId> node = find_node(facts->node.empty() ? facts->planned : facts->node);
    if (!node || std::find(command.nodes.begin(), command.nodes.end(), *node) == command.nodes.end()) continue;
    found.insert(*node);
    if (facts->deleting) continue;
    if (const Status stopped = stop_pod(pod, command.grace); !stopped.ok()) {
      return reply_error(command.operation, stopped.error());
    }
  }
  reply(command.operation, ReplyKind::accepted);
  for (const sched::NodeId node : command.nodes) {
    if (!found.contains(node)) report_unseen(command.name, node);
  }
}

// A complete list has no pod of this part. If this process had the whole attempt in hand and never bound the pod, it
// has not run and will not. Otherwise a pod may have been deleted by force: report_parts() waits for the kubelet.
void KubeWorld::report_unseen(const AttemptName& name, sched::NodeId node) {
  PartState& part = parts_[{name, node}];
  const Duration now = client_.clock().now();
  if (part.bound || !starts_.contains(name)) {
    if (!part.gone_at) part.gone_at = now;
    unsettled_.insert({name, node});
    return;
  }
  part.last = {name, node, facts_of(node).boot, PartPhase::absent, true, 0, "it was never started", moment_of(now)};
  part.reported = true;
  emit(part.last);
}

void KubeWorld::handle(const control::RequestCheckpoint& command) {
  checkpoints_.request(command, [this, operation = command.operation](const Status& asked) {
    if (asked.ok()) return reply(operation, ReplyKind::accepted);
    const bool may_help = asked.error().code == ErrorCode::unavailable;
    reply(operation, may_help ? ReplyKind::transient : ReplyKind::permanent, asked.error().text());
  });
}

void KubeWorld::handle(const control::VerifyCheckpoint& command) {
  if (command.spec == nullptr) return reply(command.operation, ReplyKind::permanent, "the command has no job");
  reply(command.operation, ReplyKind::accepted);
  if (!command.spec->checkpoint.volumes.empty()) return checkpoints_.verify(command);
  control::CheckpointVerified answer;
  answer.operation = command.operation;
  answer.job = command.job;
  answer.observed = moment_of(client_.clock().now());
  emit(std::move(answer));
}

void KubeWorld::handle(const control::QueryInventory& command) {
  term_ = std::max(term_, command.term);
  const Duration asked = client_.clock().now();
  const Result<kube::ObjectList> pods =
      client_.list(kube::kPods, {options_.pods.kube_namespace, select_engine(options_.pods.engine), {}});
  const Result<kube::ObjectList> nodes = client_.list(kube::kNodes, {});
  // Without both complete lists nothing is known: asked again in the next round.
  if (!pods.ok() || !nodes.ok() || !is_current()) return enqueue(command);
  control::Inventory inventory;
  inventory.observed = moment_of(asked);
  std::map<sched::NodeId, std::set<AttemptName>> running;
  for (const Value& pod : pods->items) {
    const std::optional<PodFacts> facts = read_pod(pod, options_.pods.engine);
    if (!facts || facts->node.empty() || facts->ended || facts->rejected) continue;
    if (const std::optional<sched::NodeId> node = find_node(facts->node)) running[*node].insert(facts->name);
  }
  for (const Value& node : nodes->items) {
    const std::optional<sched::NodeId> id = find_node(kube::raw_text(node, {"metadata", "name"}));
    const NodeFacts facts = read_node(node, options_.pods.engine);
    if (!id || facts.boot == 0 || facts.readiness == NodeReadiness::unknown) continue;
    const std::set<AttemptName>& attempts = running[*id];
    inventory.nodes.push_back({*id, facts.boot, {attempts.begin(), attempts.end()}, term_});
  }
  for (auto& [key, part] : parts_) {
    part.reported = false;
    unsettled_.insert(key);
  }
  // Their health first: nodes that are known and not heard would look like a failure of the whole cluster.
  for (std::uint32_t i = 0; i < options_.pods.nodes.size(); ++i) report_node(sched::NodeId{i});
  emit(std::move(inventory));
}

void KubeWorld::handle(const control::CordonNode& command) {
  if (index_of(command.node) >= options_.pods.nodes.size()) {
    return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(command.node)));
  }
  const std::string& node = options_.pods.nodes.at(index_of(command.node));
  const Status set =
      set_taint(client_, node, kSessionTaint, taint_value(options_.pods.engine, command.session), command.cordon);
  if (!set.ok()) return reply_error(command.operation, set.error());
  reply(command.operation, ReplyKind::accepted);
  const Result<Value> object = client_.get(kube::kNodes, {"", node});
  if (!object.ok()) return;  // the watch will tell
  const std::string owner = read_node(*object, options_.pods.engine).cordon_owner;
  cordons_[command.node] = owner;
  emit(control::CordonReport{command.node, !owner.empty(), owner, moment_of(client_.clock().now())});
}

void KubeWorld::handle(const control::PowerCycle& command) {
  reply(command.operation, ReplyKind::permanent, "engine kubernetes has no BMC");
}

void KubeWorld::handle(const control::RepairNode& command) {
  reply(command.operation, ReplyKind::permanent, "engine kubernetes does not repair nodes");
}

void KubeWorld::handle(const control::ValidateNode& command) {
  if (index_of(command.node) >= options_.pods.nodes.size()) {
    return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(command.node)));
  }
  reply(command.operation, ReplyKind::accepted);
  const NodeFacts facts = facts_of(command.node);
  const bool passed = is_current() && facts.readiness == NodeReadiness::ready;
  emit(control::ValidationReport{command.operation, command.node, facts.boot, passed,
                                 passed ? "its kubelet is ready; engine kubernetes has no other checks"
                                        : "its kubelet is not ready: " + facts.reason,
                                 moment_of(client_.clock().now())});
}

void KubeWorld::handle(const control::LeaseOrder& order) {
  reply(order.operation, ReplyKind::permanent, "engine kubernetes shares its nodes with no other engine");
}

}  // namespace weft::world

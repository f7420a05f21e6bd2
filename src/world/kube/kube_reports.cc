// Reports of engine `kubernetes`: what the stores of pods and nodes prove about parts of attempts and about nodes.
#include <fmt/format.h>

#include <algorithm>

#include "kube/json_fields.h"
#include "world/kube/kube_world.h"

namespace weft::world {

using control::Health;
using control::PartPhase;

void KubeWorld::take_node_changes(const std::vector<kube::ObjectChange>& changes) {
  for (const kube::ObjectChange& change : changes) {
    const std::optional<sched::NodeId> node = find_node(change.name.name);
    if (!node) continue;
    const bool gone = change.kind == kube::ChangeKind::removed;
    node_facts_[index_of(*node)] = gone ? NodeFacts{} : read_node(*change.object, options_.pods.engine);
    note_readiness(*node);
  }
}

void KubeWorld::take_pod_changes(const std::vector<kube::ObjectChange>& changes) {
  for (const kube::ObjectChange& change : changes) {
    const std::optional<PodFacts> facts = read_pod(*change.object, options_.pods.engine);
    if (!facts || facts->node.empty()) continue;  // not bound: it runs nowhere
    const std::optional<sched::NodeId> node = find_node(facts->node);
    if (!node) continue;
    const PartKey key{facts->name, *node};
    PartState& part = parts_[key];
    unsettled_.insert(key);
    if (change.kind != kube::ChangeKind::removed) {
      part.gone_at.reset();
      bound_[key] = *facts;
      order_watch(facts->name, &*facts);
      continue;
    }
    // As last seen: a pod whose containers had ended is proven to have ended.
    if (leads()) (void)report_part(key, part, &*facts);
    if (const auto known = bound_.find(key); known != bound_.end() && known->second.uid == facts->uid)
      bound_.erase(known);
    if (!bound_.contains(key) && !part.gone_at) part.gone_at = client_.clock().now();
    order_watch(facts->name, nullptr);
  }
}

// Checkpoints of an attempt are watched from its first pod until no pod of it can run.
void KubeWorld::order_watch(const control::AttemptName& name, const PodFacts* added) {
  if (added != nullptr && added->checkpoints.directories.empty()) return;
  bool alive = false;
  for (auto at = bound_.lower_bound({name, sched::NodeId{0}}); at != bound_.end() && at->first.first == name; ++at)
    alive = alive || !(at->second.ended || at->second.rejected);
  if (alive == watched_.contains(name)) return;
  if (alive && added == nullptr) return;
  alive ? (void)watched_.insert(name) : (void)watched_.erase(name);
  const std::lock_guard lock(mutex_);
  watch_orders_.push_back({name, alive ? std::optional(added->checkpoints) : std::nullopt});
}

// Only parts that changed, and those that wait for evidence: a large cluster in which nothing happens costs nothing.
void KubeWorld::report_parts() {
  if (!is_current()) return;
  for (auto at = unsettled_.begin(); at != unsettled_.end();) {
    PartState& part = parts_[*at];
    const auto pod = bound_.find(*at);
    bool settled = true;
    if (pod != bound_.end()) settled = report_part(*at, part, &pod->second);
    if (pod == bound_.end() && part.gone_at) settled = report_part(*at, part, nullptr);
    at = settled ? unsettled_.erase(at) : std::next(at);
  }
}

// `pod` nullptr: it is gone. False: it must be looked at again without a change of the pod.
bool KubeWorld::report_part(const PartKey& key, PartState& state, const PodFacts* pod) {
  const NodeFacts node = facts_of(key.second);
  const Duration now = client_.clock().now();
  control::PartReport report{key.first, key.second, node.boot, PartPhase::running, false, 0, {}, moment_of(now)};
  if (state.last.sealed && state.reported) return true;  // final
  if (state.last.sealed) {
    report = state.last;
    report.observed = moment_of(now);
  } else if (pod == nullptr) {
    const auto ready = ready_since_.find(key.second);
    const bool heard =
        ready != ready_since_.end() && now - std::max(ready->second, *state.gone_at) >= options_.orphan_margin;
    if (!heard) return false;
    report.phase = PartPhase::exited;
    report.sealed = true;
    report.code = -1;
    report.text = "its pod was deleted before its end was reported";
  } else if (pod->ended || pod->rejected) {
    // The status of a pod on a silent node is old, or written by a controller that does not know.
    if (node.readiness == NodeReadiness::unknown) return false;
    report.phase = PartPhase::exited;
    report.sealed = true;
    report.code = pod->code;
    report.text = pod->text;
  } else if (!pod->running) {
    return true;  // pending: images, volumes
  }
  const bool same = state.reported && state.last.phase == report.phase && state.last.sealed == report.sealed;
  state.last = report;
  state.reported = true;
  if (!same) emit(std::move(report));
  return true;
}

void KubeWorld::note_readiness(sched::NodeId node) {
  if (was_current_ && facts_of(node).readiness == NodeReadiness::ready) {
    ready_since_.try_emplace(node, client_.clock().now());
  } else {
    ready_since_.erase(node);
  }
}

// While the API server is not heard, no kubelet is.
void KubeWorld::note_current() {
  if (is_current() == was_current_) return;
  was_current_ = !was_current_;
  for (std::uint32_t i = 0; i < options_.pods.nodes.size(); ++i) note_readiness(sched::NodeId{i});
}

void KubeWorld::report_nodes(const std::vector<kube::ObjectChange>& changes) {
  const Duration now = client_.clock().now();
  if (!is_current()) return;  // an API server that is not heard says nothing about nodes
  const bool due = !nodes_reported_ || now - nodes_reported_at_ >= options_.node_report_interval;
  if (due) {
    // A watch over a half-open connection looks like a quiet cluster: a small request tells them apart.
    if (!client_.list_page(kube::kNodes, {}, {1, {}}).ok()) return;
    nodes_reported_ = true;
    nodes_reported_at_ = now;
    for (std::uint32_t i = 0; i < options_.pods.nodes.size(); ++i) report_node(sched::NodeId{i});
    return;
  }
  for (const kube::ObjectChange& change : changes) {
    if (const std::optional<sched::NodeId> node = find_node(change.name.name)) report_node(*node);
  }
}

void KubeWorld::report_node(sched::NodeId node) {
  const NodeFacts facts = facts_of(node);
  const sched::Moment now = moment_of(client_.clock().now());
  control::NodeReport report{node, facts.boot, Health::healthy, {}, now};
  if (facts.readiness == NodeReadiness::not_ready) {
    report.health = Health::degraded;
    report.signal = "kubelet is not ready: " + facts.reason;
  } else if (facts.readiness == NodeReadiness::unknown) {
    report.boot = 0;  // not a sign of life
    report.health = Health::unknown;
    report.signal = facts.boot == 0 ? "the cluster has no such node" : "kubelet is silent: " + facts.reason;
  }
  emit(std::move(report));
  const auto known = cordons_.find(node);
  if (known != cordons_.end() ? known->second == facts.cordon_owner : facts.cordon_owner.empty()) return;
  cordons_[node] = facts.cordon_owner;
  emit(control::CordonReport{node, !facts.cordon_owner.empty(), facts.cordon_owner, now});
}

}  // namespace weft::world

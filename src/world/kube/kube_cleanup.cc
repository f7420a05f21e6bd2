// Removal of what ended attempts leave behind in the cluster: their Service and pods that have ended.
#include "kube/json_fields.h"
#include "world/kube/kube_world.h"

namespace weft::world {

// From complete lists, not from the store: an attempt that was started a moment ago has pods that the store may lack.
void KubeWorld::remove_ended() {
  const Duration now = client_.clock().now();
  if (!is_current() || now - cleaned_at_ < options_.cleanup_interval) return;
  cleaned_at_ = now;
  const kube::Selection ours{options_.pods.kube_namespace, select_engine(options_.pods.engine), {}};
  const Result<kube::ObjectList> services = client_.list(kube::kServices, ours);
  const Result<kube::ObjectList> pods = client_.list(kube::kPods, ours);
  if (!services.ok() || !pods.ok()) return;
  std::map<control::AttemptName, std::vector<Value>> ended;
  std::set<control::AttemptName> alive;
  for (const Value& pod : pods->items) {
    const std::optional<PodFacts> facts = read_pod(pod, options_.pods.engine);
    if (!facts) continue;
    const std::optional<sched::NodeId> node = find_node(facts->node);
    const bool heard = node && facts_of(*node).readiness != NodeReadiness::unknown;
    if ((facts->ended || facts->rejected) && heard) {
      ended[facts->name].push_back(pod);
    } else {
      alive.insert(facts->name);
    }
  }
  std::map<control::AttemptName, Duration> idle;
  for (const Value& service : services->items) {
    const std::optional<control::AttemptName> name = attempt_of(service, options_.pods.engine);
    if (!name || alive.contains(*name)) continue;
    const auto known = idle_since_.find(*name);
    const Duration since = known == idle_since_.end() ? now : known->second;
    if (now - since < options_.keep_ended) {
      idle[*name] = since;
    } else {
      remove_attempt(service, ended[*name]);
    }
  }
  idle_since_ = std::move(idle);
}

// By uid: an object of the same name that was created meanwhile stays. What fails is tried again later.
void KubeWorld::remove_attempt(const Value& service, const std::vector<Value>& pods) {
  for (const Value& pod : pods) {
    if (!stop_pod(pod, Duration(0)).ok()) return;
  }
  const Result<kube::ObjectMeta> meta = kube::read_meta(service);
  if (!meta.ok()) return;
  kube::DeleteRequest request;
  request.uid = meta->uid;
  request.propagation = "Background";
  (void)client_.remove(kube::kServices, meta->name, request).ok();
}

}  // namespace weft::world

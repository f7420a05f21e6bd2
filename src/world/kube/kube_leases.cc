#include "world/kube/kube_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "kube/json_fields.h"
#include "world/kube/node_taint.h"

namespace weft::world {
namespace {

constexpr const char* kTaintValue = "not-kubernetes";
constexpr std::size_t kMaxShown = 200;

bool names_gpus(std::string_view resource) {
  return resource.ends_with("/gpu") || resource.find("/gpu.") != std::string_view::npos ||
         resource.find("/mig-") != std::string_view::npos;
}

bool is_tainted(const Value& node) {
  const auto taints = kube::list(node, {"spec", "taints"});
  return std::any_of(taints.begin(), taints.end(),
                     [](const Value& taint) { return kube::raw_text(taint, {"key"}) == kLeaseTaint; });
}

}  // namespace

bool asks_for_gpus(const Value& pod) {
  for (const char* containers : {"containers", "initContainers"}) {
    for (const Value& container : kube::list(pod, {"spec", containers})) {
      for (const char* kind : {"limits", "requests"}) {
        const Value* resources = kube::member(container, {"resources", kind});
        if (resources == nullptr || !resources->is_map()) continue;
        for (const auto& [name, amount] : resources->entries()) {
          if (names_gpus(name)) return true;
        }
      }
    }
  }
  return false;
}

KubeLeases::KubeLeases(std::vector<std::string> nodes, kube::Client& client, std::function<void()> stop)
    : nodes_(std::move(nodes)), client_(client), stop_(std::move(stop)) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) ids_[nodes_[i]] = sched::NodeId{i};
}

Result<std::vector<control::NodeUse>> KubeLeases::list() {
  const Result<kube::ObjectList> nodes = client_.list(kube::kNodes, {});
  if (!nodes.ok()) return nodes.error();
  const Result<kube::ObjectList> pods = client_.list(kube::kPods, {"", "", "spec.nodeName!="});
  if (!pods.ok()) return pods.error();
  std::map<sched::NodeId, control::NodeUse> uses;
  for (const Value& node : nodes->items) {
    const auto id = ids_.find(kube::raw_text(node, {"metadata", "name"}));
    if (id == ids_.end()) continue;
    control::NodeUse& use = uses[id->second];
    use.node = id->second;
    use.cordoned = is_tainted(node);
  }
  for (const Value& pod : pods->items) {
    const std::string phase = kube::raw_text(pod, {"status", "phase"});
    if (phase == "Succeeded" || phase == "Failed" || !asks_for_gpus(pod)) continue;
    const auto id = ids_.find(kube::raw_text(pod, {"spec", "nodeName"}));
    const auto use = id == ids_.end() ? uses.end() : uses.find(id->second);
    if (use == uses.end()) continue;
    if (++use->second.jobs != 1) continue;
    use->second.text = printable(fmt::format("pod {}/{}", kube::raw_text(pod, {"metadata", "namespace"}),
                                             kube::raw_text(pod, {"metadata", "name"})),
                                 kMaxShown);
  }
  std::vector<control::NodeUse> list;
  list.reserve(uses.size());
  for (auto& [id, use] : uses) list.push_back(std::move(use));
  return list;
}

Status KubeLeases::mark(sched::NodeId node, bool cordon) {
  return set_taint(client_, nodes_[index_of(node)], kLeaseTaint, kTaintValue, cordon);
}

}  // namespace weft::world

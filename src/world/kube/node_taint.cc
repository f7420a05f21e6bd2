#include "world/kube/node_taint.h"

#include <utility>

#include "kube/json_fields.h"
#include "kube/resource.h"

namespace weft::world {

Status set_taint(kube::Client& client, const std::string& node, const std::string& key, const std::string& value,
                 bool wanted) {
  constexpr int kRounds = 5;
  for (int round = 1;; ++round) {
    Result<Value> object = client.get(kube::kNodes, {"", node});
    if (!object.ok()) return object.error();
    Value taints = Value::list();
    bool has = false;
    for (const Value& taint : kube::list(*object, {"spec", "taints"})) {
      const bool same_key = kube::raw_text(taint, {"key"}) == key;
      const bool ours = same_key && kube::raw_text(taint, {"value"}) == value;
      has = has || same_key;
      if (!ours || wanted) taints.add(taint);
      if (ours && wanted) return {};
    }
    if (wanted && has) return {};
    if (!wanted && taints.items().size() == kube::list(*object, {"spec", "taints"}).size()) return {};
    if (wanted) {
      taints.add(Value::map({{"key", Value(key)}, {"value", Value(value)}, {"effect", Value("NoSchedule")}}));
    }
    // With the version that was read: a taint that appeared meanwhile is not lost.
    Value patch = Value::map();
    patch["metadata"].set("resourceVersion", Value(kube::raw_text(*object, {"metadata", "resourceVersion"})));
    patch["spec"].set("taints", std::move(taints));
    const Result<Value> changed = client.patch(kube::kNodes, {"", node}, patch);
    if (changed.ok()) return {};
    if (changed.error().code != ErrorCode::conflict || round == kRounds) return changed.error();
  }
}

}  // namespace weft::world

// What the Kubernetes targets for networks, GPUs and storage share: objects in their usual form, texts made fit for
// names and labels, who may use what. It renders nothing itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/target.h"

namespace weft::kube_platform {

// A text as an RFC 1123 label (names of namespaces and objects): lower case, what is not allowed becomes '-'. A name
// that is already one stays as it is.
[[nodiscard]] std::string label_name(std::string_view text);
// The same for the value of a label or a key of a ConfigMap, which may have capitals, '_' and '.'.
[[nodiscard]] std::string label_value(std::string_view text);
// An amount of memory or storage as a Kubernetes quantity, exact: "100T", "1Ti", "1500".
[[nodiscard]] std::string quantity(Bytes amount);

// apiVersion, kind and metadata with name, namespace (none when empty) and the label that says who made it.
[[nodiscard]] Value object(std::string_view api_version, std::string_view kind, std::string name,
                           std::string_view space = {});
// A namespace whose pods may do everything: operators that load drivers.
[[nodiscard]] Value privileged_space(std::string_view name);
[[nodiscard]] Value pool_selector(const PoolPlan& pool);  // weft/pool: NAME
// Tolerations for every taint of these pools, by key alone, each once.
[[nodiscard]] Value tolerations_of(const std::vector<const PoolPlan*>& pools);

// A namespace that tenants' pods run in, and the GPU pools with kubelets that they run on. Without tenants there is
// "default" alone, whose networks Multus lets pods of every namespace attach.
struct Space {
  std::string name;
  const TenantSpec* tenant = nullptr;
  std::vector<const PoolPlan*> pools;
};
[[nodiscard]] std::vector<Space> spaces_of(const RenderInput& input);
// GPU pools that have a kubelet, in the order of the file.
[[nodiscard]] std::vector<const PoolPlan*> gpu_pools(const RenderInput& input);
[[nodiscard]] bool on_infiniband(const RenderInput& input, FabricKind fabric);
[[nodiscard]] const FabricSpec& fabric_of(const RenderInput& input, FabricKind fabric);

struct Manifest {
  std::string path;  // "kubernetes/network/10-policy.yaml"
  std::string what;  // first line of the heading, and what more a reader must know
  std::string consumer;
  std::vector<Value> documents;
  Stage stage = Stage::platform;
  Risk risk = Risk::none;
  std::vector<std::string> sources;
};
// Applied with kubectl, server side. Nothing is added when there are no documents.
void add_manifest(const RenderInput& input, FileSink& sink, Manifest manifest);

}  // namespace weft::kube_platform

// Common to all Kubernetes targets: objects in their usual form, text converted to valid names and labels, taints,
// quantities, multi-document files. Renders nothing itself and is independent of tenants and services.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "render/core/target.h"

namespace weft::render::kube {

// Text as an RFC 1123 label (names of namespaces, Services) or subdomain (names of nodes): lower case, invalid
// characters become '-'. A valid name is unchanged.
[[nodiscard]] std::string label_name(std::string_view text);
[[nodiscard]] std::string subdomain_name(std::string_view text);
// The same for the value of a label or a key of a ConfigMap, where capitals, '_' and '.' are allowed.
[[nodiscard]] std::string label_value(std::string_view text);
// k8s.io/apimachinery/pkg/util/validation: IsQualifiedName, IsValidLabelValue.
[[nodiscard]] bool is_label_key(std::string_view text);
[[nodiscard]] bool is_label_value(std::string_view text);

struct KubeTaint {
  std::string key;
  std::string value;
  std::string effect;
};
// "key=value:Effect" or "key:Effect"; none if key or value is not valid in a taint.
[[nodiscard]] std::optional<KubeTaint> parse_taint(std::string_view text);
// The pool's taints that are valid in a manifest.
[[nodiscard]] std::vector<KubeTaint> taints_of(const PoolPlan& pool);
// Tolerations that a pod needs to run there, one per taint.
[[nodiscard]] Value tolerations_of(const PoolPlan& pool);

// apiVersion, kind, metadata with name, namespace (none if empty) and the managed-by label.
[[nodiscard]] Value object(std::string_view api_version, std::string_view kind, std::string name,
                           std::string_view space = {});
// An amount of memory or storage as a Kubernetes quantity, exact: "32Gi", "16T", "1500".
[[nodiscard]] std::string quantity(Bytes amount);

struct ManifestFile {
  std::string path;  // "kubernetes/frontend/10-bgp.yaml"
  std::string what;  // first line of the header, then further notes for readers
  std::string consumer;
  std::vector<Value> documents;
  Stage stage = Stage::platform;
  Risk risk = Risk::none;
  std::vector<std::string> sources;
  std::string device{};
  std::string flags{};  // for kubectl apply, in addition to --server-side
};
// Applied with kubectl, server side. Adds nothing if there are no documents.
void add_manifest(const RenderInput& input, FileSink& sink, ManifestFile file);

// GPU pools with kubelets that a tenant may use, in the order they are named: those of its partitions (all if it names
// none), then those its services run on.
[[nodiscard]] std::vector<const PoolPlan*> tenant_pools(const RenderInput& input, const model::TenantSpec& tenant);
// GPU pools with a kubelet, in the order of the file.
[[nodiscard]] std::vector<const PoolPlan*> gpu_pools(const RenderInput& input);

}  // namespace weft::render::kube

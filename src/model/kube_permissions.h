// Kubernetes permissions of `weft serve --engine kubernetes`: the verbs that it uses, and no others. The rendered role
// grants exactly these, and the engine checks each of them before it starts.
#pragma once

#include <span>
#include <string_view>

namespace weft::model {

struct KubePermission {
  std::string_view group;     // "": core
  std::string_view resource;  // plural
  std::string_view subresource;
  std::string_view verb;
  bool cluster_wide = false;  // false: in the namespace of the jobs
  std::string_view use;       // what weft cannot do without it
};

// Those of one resource follow each other.
[[nodiscard]] std::span<const KubePermission> kube_permissions();

}  // namespace weft::model

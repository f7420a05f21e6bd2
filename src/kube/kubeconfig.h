// Reader of kubeconfig files and of a pod's service account. What weft cannot honor and that changes who the user is
// (impersonation, auth providers, basic authentication) is an error, not ignored. Messages have file and line and never
// text of the file, which has secrets.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/access.h"

namespace weft::kube {

inline constexpr std::size_t kMaxKubeconfigBytes = std::size_t{4} << 20U;

// `path` is for messages, and relative file names in the text are relative to its directory. `context` "": the file's
// current-context.
[[nodiscard]] Result<ClusterAccess> parse_kubeconfig(const std::string& path, std::string text,
                                                     std::string_view context = {});
[[nodiscard]] Result<ClusterAccess> load_kubeconfig(const std::string& path, std::string_view context = {});

// A pod's view: environment variables and the mounted service account, whose token is read again when it is rotated.
struct InClusterPlaces {
  std::string host;  // KUBERNETES_SERVICE_HOST
  std::string port;  // KUBERNETES_SERVICE_PORT
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};
// not_found: this is not a pod.
[[nodiscard]] Result<ClusterAccess> in_cluster_access(const InClusterPlaces& places);

}  // namespace weft::kube

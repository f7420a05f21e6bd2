// Engine `kubernetes` of `weft serve`: connection, credentials and client of an API server, and the threads in which
// world::KubeWorld makes its requests, the Lease is renewed and logs are read. Which server and who the user is come
// from a kubeconfig or from the pod that weft runs in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/access.h"
#include "serve/api/log_source.h"
#include "world/core/world.h"

namespace weft::serve {

struct KubeSettings {
  std::string kubeconfig;      // file; "": the pod's service account
  std::string context;         // "": the file's current one
  std::string kube_namespace;  // "": the context's
  std::string image;           // of the containers of jobs
  std::string service_host;    // KUBERNETES_SERVICE_HOST and _PORT, of a pod
  std::string service_port;
  std::string service_account;      // directory with token and ca.crt; "": where kubelets mount it
  std::vector<std::string> helper;  // as in world::KubeOptions
  std::vector<int> threads;         // as in world::PodContext
};

// Server, user and namespace of the settings. An error in them is a usage error: nothing was asked yet.
[[nodiscard]] Result<kube::ClusterAccess> read_kube_access(const KubeSettings& settings);

// Checks permissions and nodes, then takes the Lease: an error if the server cannot be reached, refuses, or lacks a
// node, or if another weft drives the namespace. `cluster` names the engine's objects, `nodes` are by NodeId.
struct OpenedKubeEngine {
  std::unique_ptr<world::World> world;
  LogSource* logs = nullptr;  // lives as long as `world`, whose poll() answers
};
[[nodiscard]] Result<OpenedKubeEngine> open_kube_engine(const KubeSettings& settings, const std::string& cluster,
                                                        std::vector<std::string> nodes,
                                                        std::function<void(std::string_view)> log);

}  // namespace weft::serve

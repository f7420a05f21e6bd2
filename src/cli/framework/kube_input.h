// Options that say which Kubernetes cluster a command uses, and what they and the environment name.
#pragma once

#include <vector>

#include "cli/framework/context.h"
#include "serve/daemon/kube_engine.h"

namespace weft::cli {

// --kubeconfig, --kube-context and --service-account.
[[nodiscard]] std::vector<Option> kube_access_options();
[[nodiscard]] serve::KubeSettings kube_access_settings(Context& context);

}  // namespace weft::cli

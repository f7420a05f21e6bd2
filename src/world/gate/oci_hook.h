// What a container runtime tells its hooks (OCI runtime specification 1.0, "State" and "POSIX-platform Hooks"): which
// container, and from its configuration whether it uses a GPU. For the gate before containers start.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::world {

struct OciContainer {
  std::string id;
  std::string bundle;  // directory with config.json
};
// Standard input of a hook.
[[nodiscard]] Result<OciContainer> parse_oci_state(std::string_view json);

// Whether the configuration of a container gives it a GPU: by a device whose path matches one of the patterns
// (fnmatch(3)), or by a variable or mount of NVIDIA's runtime. What cannot be read is an error, not "no GPU".
[[nodiscard]] Result<bool> uses_gpu(std::string_view config, const std::vector<std::string>& patterns);

// Namespace of the pod that a container belongs to, as containerd and CRI-O note it; "": it is of no pod.
[[nodiscard]] Result<std::string> find_pod_namespace(std::string_view config);

}  // namespace weft::world

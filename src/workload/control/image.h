// Pulling a container image to a job's servers: the registry, the bottleneck of the download, and the cost of
// unpacking.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/job.h"
#include "workload/control/path.h"

namespace weft::workload {

struct ImagePull {
  std::size_t servers = 0;  // servers that pull the image
  double bytes = 0;         // all servers together
  double download = 0;      // s
  double unpack = 0;        // s, per server
  bool external = false;    // the registry is outside the site
  std::string from;         // "registry.pod32.internal on pool `infra`"
  std::string bound_by;     // "egress of the registry", "frontend link of a server", ...
};

// `downloads`: layers that a server downloads in parallel.
[[nodiscard]] ImagePull image_pull(const model::Cluster& cluster, const model::JobSpec& job,
                                   const std::vector<model::DeviceId>& hosts, const ControlOptions& options,
                                   int downloads);

// Compressed bytes per second that one core inflates and unpacks: 492 MB of PyTorch's libraries in 7.1 s (tar and gzip,
// measured on a GPU server); a pull of 5.4 GB in 120 s, one layer after another, is 45 MB/s (containerd issue 8881).
inline constexpr double kUnpackRate = 69e6;
// Unpacked bytes per compressed byte, from the same archive.
inline constexpr double kUnpackedSize = 2.03;

}  // namespace weft::workload

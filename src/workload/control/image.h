// A container image on its way to a job's servers: who serves it, what bounds the download, and what unpacking costs.
#pragma once

#include <string>

#include "model/cluster.h"
#include "model/job.h"
#include "workload/control/path.h"

namespace weft::workload {

struct ImagePull {
  std::size_t servers = 0;  // that have to pull
  double bytes = 0;         // all of them together
  double download = 0;      // s
  double unpack = 0;        // s, of one server
  bool external = false;    // the registry is outside the site
  std::string from;         // "registry.pod32.internal on pool `infra`"
  std::string bound_by;     // "egress of the registry", "frontend link of a server", ...
};

// `downloads`: layers that a server fetches at once.
[[nodiscard]] ImagePull image_pull(const model::Cluster& cluster, const model::JobSpec& job,
                                   const std::vector<model::DeviceId>& hosts, const ControlOptions& options,
                                   int downloads);

// Compressed bytes that one core inflates and unpacks a second: 492 MB of PyTorch's libraries in 7.1 s (tar and gzip,
// measured on a GPU server); a pull of 5.4 GB in 120 s, one layer after another, is 45 MB/s (containerd issue 8881).
inline constexpr double kUnpackRate = 69e6;
// Unpacked bytes of a compressed one, of the same archive.
inline constexpr double kUnpackedSize = 2.03;

}  // namespace weft::workload

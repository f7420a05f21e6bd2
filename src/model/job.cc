// Not written yet.
#include "model/job.h"

namespace weft {

std::optional<JobSpec> read_job(const YamlNode& /*root*/, Diagnostics& /*diagnostics*/) { return std::nullopt; }

void resolve(JobSpec& /*job*/, const Cluster& /*cluster*/, Diagnostics& /*diagnostics*/) {}

}  // namespace weft

// Readers for the configuration of hosts and jobs. Each reads one file that was added to `sources` and adds the result
// to the set; config_set.cc selects the reader. Unreadable parts are reported, the rest is kept.
#pragma once

#include "config/config_set.h"

namespace weft::config {

// Kubernetes manifests, YAML or JSON.
void read_kubernetes(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics);
void read_sbatch(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics);
// KEY=VALUE lines: an environment file or /etc/nccl.conf.
void read_environment(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics);
// mlnx_qos, mlxconfig, cma_roce_tos, ethtool and writes to /sys in a shell script.
void read_nic_script(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics);
// slurm, gres, cgroup, sysctl, exports, mounts, nvme.
void read_settings(SettingsFile::Kind kind, const Sources& sources, FileId file, ConfigSet& set,
                   Diagnostics& diagnostics);

}  // namespace weft::config

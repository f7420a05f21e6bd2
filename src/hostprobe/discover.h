// Host discovery: interfaces with their speeds, drivers, RDMA devices and virtual functions, GPUs, and the kernel
// settings that affect routing. Read-only; runs no programs. check/live/classify.h decides which fabric an interface is
// on.
#pragma once

#include "config/live_facts.h"
#include "hostprobe/probe_files.h"

namespace weft::hostprobe {

// Never fails: `not_read` lists what could not be read.
//
// Under a root other than "/" addresses come from sos_commands/networking/ip_-o_addr (the output of `ip -o addr`) and
// statistics from sos_commands/networking/ethtool_-S_NAME, where sosreport puts them.
[[nodiscard]] config::HostFacts discover_host(const ProbeRoot& root = {});

}  // namespace weft::hostprobe

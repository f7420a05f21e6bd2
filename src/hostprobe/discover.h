// Looks at one host: its interfaces with their speeds, drivers, RDMA devices and virtual functions, its GPUs, and the
// kernel settings that decide where packets go. It changes nothing and runs no program. Which fabric an interface is
// on is decided in check/live/classify.h.
#pragma once

#include "config/live_facts.h"
#include "hostprobe/probe_files.h"

namespace weft::hostprobe {

// Never fails: what could not be looked at is in `not_read`.
//
// Under a root other than "/" addresses come from sos_commands/networking/ip_-o_addr (the output of `ip -o addr`) and
// statistics from sos_commands/networking/ethtool_-S_NAME, where sosreport puts them.
[[nodiscard]] config::HostFacts discover_host(const ProbeRoot& root = {});

}  // namespace weft::hostprobe

// Interface information from the kernel beyond /sys: IPv4 addresses, default routes, driver statistics. Queries the
// running kernel under "/", and reads the files of a copy otherwise.
#pragma once

#include <string>
#include <vector>

#include "config/live_facts.h"
#include "hostprobe/probe_files.h"

namespace weft::hostprobe {

// Fills in addresses and prefixes of interfaces of the same name.
void read_addresses(const ProbeFiles& files, config::HostFacts& facts);
void read_default_routes(const ProbeFiles& files, config::HostFacts& facts);
// Non-zero counters of pause frames.
void read_pause_counters(const ProbeFiles& files, config::HostFacts& facts);

}  // namespace weft::hostprobe

// Which processes hold a GPU's device file open: read from /proc/PID/fd, one of the three witnesses that a node is
// free. Compares device numbers (for other files: device and inode), so that another name of the same device is found
// too. It must see every process, so it needs root; a process that cannot be read is an error, not one without open
// files.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace weft::world {

struct DeviceHolder {
  pid_t pid = 0;
  std::string program;  // name of its executable
  std::string device;   // the first that it holds open
  friend bool operator==(const DeviceHolder&, const DeviceHolder&) = default;
};

struct HolderQuery {
  std::vector<std::string> devices;  // paths, or patterns of glob(7); at least one file must match
  std::vector<std::string> ignored;  // programs that keep devices open on an idle node, by name
  std::string proc = "/proc";
};

// In ascending order of pids.
[[nodiscard]] Result<std::vector<DeviceHolder>> find_device_holders(const HolderQuery& query);

// "pid 4711 (python3) holds /dev/nvidia0, pid 4712 ..."; at most three.
[[nodiscard]] std::string describe(const std::vector<DeviceHolder>& holders);

}  // namespace weft::world

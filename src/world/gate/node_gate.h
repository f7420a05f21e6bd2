// Gate of a node: the file that says which engine may start work there, on the node itself. Every change is made under
// a lock and replaces the file; the rules are those of lease/gate.h. The file belongs to one boot and has a number of
// its own: after a reboot, or if it is lost, the gate is closed and refuses the orders for the gate before. It starts
// and ends no work.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "control/command.h"
#include "control/event.h"

namespace weft::world {

// Work that passed the gate and has not left: it counts as running before its first process is seen.
struct GateEntry {
  lease::LeaseOwner engine = lease::LeaseOwner::none;
  std::string job;
  friend auto operator<=>(const GateEntry&, const GateEntry&) = default;
};

struct GateFile {
  std::uint64_t boot = 0;  // of this gate
  control::Term term = 0;
  std::array<control::EngineGate, lease::kLeaseOwners> engines{};  // `steps` are the entries
  std::vector<GateEntry> entries;                                  // sorted
};

struct NodeGateOptions {
  std::string directory;              // created if missing; on a file system that is empty after a boot, such as /run
  std::string boot_id;                // of the kernel
  std::uint64_t (*draw)() = nullptr;  // a random number for a new file
};

class NodeGate {
 public:
  // The reader and the writer of the directory; the file is created at the first use.
  explicit NodeGate(NodeGateOptions options) : options_(std::move(options)) {}

  // The gate as it is, after it has obeyed `term` (0: no controller asks).
  Result<GateFile> read(control::Term term);
  // Opens or closes the gate of an engine. What the gate refuses changes nothing and is an error with the reason.
  Result<GateFile> obey(const control::LeaseOrder& order);
  // Whether an engine may start work now. With `job`, it is noted until leave().
  Status enter(lease::LeaseOwner engine, const std::string& job);
  Status leave(lease::LeaseOwner engine, const std::string& job);

 private:
  template <class Change>
  Result<GateFile> change(const Change& change);
  [[nodiscard]] std::string path() const { return options_.directory + "/gate"; }

  NodeGateOptions options_;
};

// The kernel's boot id of this machine.
[[nodiscard]] Result<std::string> read_kernel_boot_id();
// One line per fact; parse_gate() of it is equal. `boot_id` is kept beside it.
[[nodiscard]] std::string to_text(const GateFile& gate, const std::string& boot_id);
[[nodiscard]] Result<GateFile> parse_gate(std::string_view text, const std::string& boot_id);

}  // namespace weft::world

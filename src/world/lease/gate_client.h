// The gates of the nodes, as the control plane reaches them. Calls block and may be made by several threads at once. A
// node that does not answer is an error, never a closed gate or an idle node.
#pragma once

#include <string>

#include "base/result.h"
#include "control/command.h"
#include "control/event.h"

namespace weft::world {

// What `weft gate status` says on a node.
struct NodeLook {
  control::GateReport report;       // without node and time
  control::BootId kernel_boot = 0;  // of the node itself: the same for all engines
};

class GateClient {
 public:
  GateClient() = default;
  GateClient(const GateClient&) = delete;
  GateClient& operator=(const GateClient&) = delete;
  GateClient(GateClient&&) = delete;
  GateClient& operator=(GateClient&&) = delete;
  virtual ~GateClient() = default;

  // From now on the gate obeys no term before this one.
  [[nodiscard]] virtual Result<NodeLook> look(const std::string& node, control::Term term) = 0;
  // Opens or closes. `refused`: the gate says no, and nothing has changed.
  [[nodiscard]] virtual Result<NodeLook> obey(const std::string& node, const control::LeaseOrder& order) = 0;
  // Calls that are running and those to come fail soon. May be called from another thread.
  virtual void stop() = 0;
};

// Output of `weft gate status --output json`. Every field is needed: nothing is assumed.
[[nodiscard]] Result<NodeLook> parse_node_look(std::string_view json);

}  // namespace weft::world

// What pods and nodes say about themselves, without judgment: whether the containers of a pod have ended and how, which
// boot a node is in, whether its kubelet is heard, and which taints it has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/value.h"
#include "control/event.h"
#include "control/ids.h"
#include "world/kube/kube_checkpoints.h"

namespace weft::world {

struct PodFacts {
  control::AttemptName name;
  std::string uid;
  std::string node;     // that it is bound to; "": none, so it does not run and has not run
  std::string planned;  // node that it is for
  bool deleting = false;
  bool running = false;   // a container runs
  bool ended = false;     // every container has ended, says its kubelet; with restartPolicy Never that is final
  bool rejected = false;  // failed, and no task was started: refused by the kubelet or by the boot gate
  std::int32_t code = 0;  // first non-zero exit status of its containers
  std::string text;       // "OOMKilled", "Evicted: ..."
  CheckpointPlace checkpoints;
};
// nullopt: not a pod of this weft.
[[nodiscard]] std::optional<PodFacts> read_pod(const Value& pod, const std::string& engine);

enum class NodeReadiness : std::uint8_t { ready, not_ready, unknown };
struct NodeFacts {
  control::BootId boot = 0;  // 0: not reported yet
  std::string boot_text;     // as reported
  NodeReadiness readiness = NodeReadiness::unknown;
  std::string reason;        // of the Ready condition
  std::string cordon_owner;  // "weft:SESSION" of this weft, "kubernetes" for others; "": not cordoned
};
[[nodiscard]] NodeFacts read_node(const Value& node, const std::string& engine);

// Taint of a repair session: only its owner adds or removes it.
inline constexpr const char* kSessionTaint = "weft/session";
[[nodiscard]] std::string taint_value(const std::string& engine, control::SessionId session);

}  // namespace weft::world

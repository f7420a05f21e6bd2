#include "world/kube/pod_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "base/utf8.h"
#include "kube/json_fields.h"
#include "kube/object.h"
#include "world/core/gate_refusal.h"
#include "world/kube/pod_plan.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxTextBytes = 300;

struct ContainerEnd {
  std::int32_t code = 0;
  std::string text;
};

// A container that the runtime did not start: why is in its message, whose last words are the cause. The message of one
// that ran is the program's own.
ContainerEnd read_end(const Value& end) {
  constexpr std::size_t kMaxCause = 200;
  const std::string reason = kube::raw_text(end, {"reason"});
  const double code = std::clamp(kube::number(end, {"exitCode"}).value_or(-1), -1.0, 1e6);
  ContainerEnd found{static_cast<std::int32_t>(code), reason};
  if (reason == "StartError" || reason == "ContainerCannotRun") {  // containerd, CRI-O
    std::string cause = kube::raw_text(end, {"message"});
    if (cause.ends_with(": unknown")) cause.resize(cause.size() - 9);  // of gRPC
    if (const std::size_t gate = cause.find(kNotLeased); gate != std::string::npos) {
      found.code = -1;  // not a fault of the job
      cause.erase(0, gate);
    } else if (cause.size() > kMaxCause) {
      cause.replace(0, cause.size() - kMaxCause, "...");
    }
    if (!cause.empty()) found.text += ": " + cause;
  }
  found.text = printable(found.text, kMaxTextBytes);
  return found;
}

void read_containers(const Value& pod, PodFacts& facts) {
  const std::size_t containers = kube::list(pod, {"spec", "containers"}).size();
  std::size_t terminated = 0;
  for (const Value& status : kube::list(pod, {"status", "containerStatuses"})) {
    if (kube::member(status, {"state", "running"}) != nullptr) facts.running = true;
    const Value* end = kube::member(status, {"state", "terminated"});
    if (end == nullptr || !end->is_map()) continue;
    ++terminated;
    ContainerEnd found = read_end(*end);
    if (facts.code == 0 && found.code != 0) {
      facts.code = found.code;
      facts.text = std::move(found.text);
    }
  }
  facts.ended = containers > 0 && terminated == containers;
}

// Exit status of the boot gate if it has failed and no task was started after it; 0: not so.
int gate_status(const Value& pod) {
  for (const Value& status : kube::list(pod, {"status", "containerStatuses"})) {
    const bool waits = kube::member(status, {"state", "waiting"}) != nullptr;
    if (!waits || kube::member(status, {"state", "running"}) != nullptr) return 0;
    if (kube::member(status, {"state", "terminated"}) != nullptr) return 0;
  }
  for (const Value& status : kube::list(pod, {"status", "initContainerStatuses"})) {
    if (kube::raw_text(status, {"name"}) != kBootGate) continue;
    return static_cast<int>(
        std::clamp(kube::number(status, {"state", "terminated", "exitCode"}).value_or(0), -1.0, 255.0));
  }
  return 0;
}

CheckpointPlace read_checkpoints(const Value& pod) {
  constexpr std::size_t kMaxVolumes = 2;
  CheckpointPlace place;
  const std::string directories = kube::annotation_of(pod, kCheckpointsAnnotation);
  for (const std::string_view directory : split(directories, ':')) {
    if (!directory.starts_with('/') || place.directories.size() == kMaxVolumes) continue;
    place.directories.emplace_back(directory);
  }
  const std::string notice = kube::annotation_of(pod, kNoticeAnnotation);
  if (notice == to_text(control::CheckpointNotice::file)) place.notice = control::CheckpointNotice::file;
  if (notice == to_text(control::CheckpointNotice::signal)) place.notice = control::CheckpointNotice::signal;
  const auto id = [&](const char* name) {
    return static_cast<std::uint32_t>(
        std::clamp(kube::number(pod, {"spec", "securityContext", name}).value_or(65534), 0.0, 4294967294.0));
  };
  place.uid = id("runAsUser");
  place.gid = id("runAsGroup");
  return place;
}

}  // namespace

std::optional<PodFacts> read_pod(const Value& pod, const std::string& engine) {
  const std::optional<control::AttemptName> name = attempt_of(pod, engine);
  const Result<kube::ObjectMeta> meta = kube::read_meta(pod);
  if (!name || !meta.ok()) return std::nullopt;
  PodFacts facts;
  facts.name = *name;
  facts.uid = meta->uid;
  facts.deleting = meta->deleting;
  facts.node = kube::raw_text(pod, {"spec", "nodeName"});
  facts.planned = kube::annotation_of(pod, "weft/node");
  read_containers(pod, facts);
  facts.checkpoints = read_checkpoints(pod);
  const std::string phase = kube::raw_text(pod, {"status", "phase"});
  const int gate = gate_status(pod);
  if (phase == "Failed" && (kube::list(pod, {"status", "containerStatuses"}).empty() || gate != 0)) {
    facts.rejected = true;
    facts.code = -1;
  }
  if (facts.rejected && gate == kVolumeMismatch) {
    facts.text = "the node does not have the checkpoint volume that weft serve has at the same path";
  } else if (facts.rejected && gate != 0) {
    facts.text = "the node was rebooted before the tasks started";
  }
  if (facts.text.empty() && phase == "Failed") {
    facts.text = printable(
        fmt::format("{}: {}", kube::raw_text(pod, {"status", "reason"}), kube::raw_text(pod, {"status", "message"})),
        kMaxTextBytes);
  }
  return facts;
}

std::string taint_value(const std::string& engine, control::SessionId session) {
  return fmt::format("{}.{}", engine, session);
}

NodeFacts read_node(const Value& node, const std::string& engine) {
  NodeFacts facts;
  facts.boot_text = kube::raw_text(node, {"status", "nodeInfo", "bootID"});
  if (!facts.boot_text.empty()) facts.boot = std::max<control::BootId>(hash64(facts.boot_text), 1);
  for (const Value& condition : kube::list(node, {"status", "conditions"})) {
    if (kube::raw_text(condition, {"type"}) != "Ready") continue;
    const std::string status = kube::raw_text(condition, {"status"});
    if (status == "True") facts.readiness = NodeReadiness::ready;
    if (status == "False") facts.readiness = NodeReadiness::not_ready;
    facts.reason = printable(kube::raw_text(condition, {"reason"}), kMaxTextBytes);
  }
  if (kube::truth(node, {"spec", "unschedulable"}).value_or(false)) facts.cordon_owner = "kubernetes";
  const std::string ours = engine + ".";
  for (const Value& taint : kube::list(node, {"spec", "taints"})) {
    if (kube::raw_text(taint, {"key"}) != kSessionTaint) continue;
    const std::string value = kube::raw_text(taint, {"value"});
    facts.cordon_owner = value.starts_with(ours) ? "weft:" + value.substr(ours.size()) : "kubernetes";
  }
  return facts;
}

}  // namespace weft::world

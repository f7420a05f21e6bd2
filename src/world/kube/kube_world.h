// Engine `kubernetes`: runs attempts as pods, one per node, in drive mode: weft is the scheduler and binds the pods
// itself. It decides nothing: it executes commands and reports what the API server proves.
//
// Starting is two steps. Pods are created without a node and with a scheduler name that no scheduler has, so they do
// not run; then each is bound. A create whose outcome is not known can at worst leave a pod that never runs, and a gang
// runs only if all of its pods exist.
//
// Stopping deletes pods by uid. A part is reported as sealed only on evidence: its containers have ended, says a
// kubelet that is heard; or its pod was never bound and is gone; or its pod is gone and its node's kubelet has been
// heard for a while since (a pod that was deleted by force may run on until its kubelet sees that). An API server that
// cannot be reached, or a node that is silent, proves nothing.
//
// While another weft leads, commands are refused and nothing is reported: the pods may be the other one's.
//
// Not here: policy, the election itself, BMCs.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/client.h"
#include "kube/reflector.h"
#include "world/core/world.h"
#include "world/kube/kube_checkpoints.h"
#include "world/kube/pod_facts.h"
#include "world/kube/pod_plan.h"

namespace weft::world {

struct KubeOptions {
  PodContext pods;  // engine, namespace, node names, image
  Duration node_report_interval = sched::seconds(10);
  // A pod that vanished without a report of its end counts as ended after its kubelet was heard for so long.
  Duration orphan_margin = sched::seconds(30);
  Duration keep_ended = sched::seconds(3600);  // objects of attempts that ended longer ago are removed
  Duration cleanup_interval = sched::seconds(60);
  std::vector<std::string> helper;  // reads and writes checkpoint volumes: as in start_supervisor()
  // Whether this process is the one that drives the namespace (a Lease); asked before everything that changes or
  // reports something. Null: always.
  std::function<bool()> leads;
};
// "": none.
[[nodiscard]] std::string problem_of(const KubeOptions& options);

// send() and poll() only use queues and may be called from one thread while another one calls work().
class KubeWorld final : public World {
 public:
  // The client must outlive it and is used by work() alone. The options must be valid.
  KubeWorld(kube::Client& client, KubeOptions options);

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;

  // One round: executes the commands, reads changes (waits up to `wait` for them), makes reports. All requests to the
  // API server happen here.
  void work(Duration wait);

  // Why nothing is reported; "": all is well.
  [[nodiscard]] std::string problem() const;

 private:
  using PartKey = std::pair<control::AttemptName, sched::NodeId>;
  struct PartState {
    control::PartReport last;  // as reported
    bool reported = false;
    bool bound = false;               // by this process, or it tried
    std::optional<Duration> gone_at;  // when its pod was first seen to be gone
  };

  void handle(const control::StartAttempt& command);
  void handle(const control::StopAttempt& command);
  void handle(const control::RequestCheckpoint& command);  // never: send() answers these two
  void handle(const control::VerifyCheckpoint& command);
  void handle(const control::QueryInventory& command);
  void handle(const control::CordonNode& command);
  void handle(const control::PowerCycle& command);
  void handle(const control::RepairNode& command);
  void handle(const control::ValidateNode& command);
  void handle(const control::LeaseOrder& order);

  void prepare_start(const control::StartAttempt& command, sched::Moment now);
  void enqueue(const control::Command& command);
  void order_watch(const control::AttemptName& name, const PodFacts* added);
  void reply(control::OperationId operation, control::ReplyKind kind, std::string text = {});
  void reply_error(control::OperationId operation, const Error& error);
  void emit(control::Event event);
  [[nodiscard]] std::string refuse_start(const control::StartAttempt& command) const;
  [[nodiscard]] Result<Value> create_or_adopt(const kube::Resource& resource, const Value& object,
                                              const control::AttemptName& name);
  [[nodiscard]] Status bind(const Value& pod, const std::string& node);
  void fail_start(control::OperationId operation, const std::vector<Value>& pods, const Error& error);
  void report_unseen(const control::AttemptName& name, sched::NodeId node);
  [[nodiscard]] Status stop_pod(const Value& pod, Duration grace);

  [[nodiscard]] std::optional<sched::NodeId> find_node(const std::string& name) const;
  [[nodiscard]] const NodeFacts& facts_of(sched::NodeId node) const;
  [[nodiscard]] bool leads() const { return !options_.leads || options_.leads(); }
  [[nodiscard]] bool has_commands() const;
  void execute_commands();
  void rest(Duration wait);
  [[nodiscard]] sched::Moment moment_of(Duration clock_time) const;
  [[nodiscard]] bool is_current() const;
  void take_node_changes(const std::vector<kube::ObjectChange>& changes);
  void take_pod_changes(const std::vector<kube::ObjectChange>& changes);
  void report_parts();
  [[nodiscard]] bool report_part(const PartKey& key, PartState& state, const PodFacts* pod);
  void note_readiness(sched::NodeId node);
  void note_current();
  void report_nodes(const std::vector<kube::ObjectChange>& changes);
  void report_node(sched::NodeId node);
  void remove_ended();
  void remove_attempt(const Value& service, const std::vector<Value>& pods);

  kube::Client& client_;
  KubeOptions options_;
  std::map<std::string, sched::NodeId> node_ids_;
  kube::Reflector pods_;
  kube::Reflector nodes_;
  std::vector<NodeFacts> node_facts_;  // by NodeId, as in the store
  bool was_current_ = false;           // in the last round
  std::map<PartKey, PodFacts> bound_;  // pods that are bound to a node of ours, as in the store
  std::map<PartKey, PartState> parts_;
  std::set<PartKey> unsettled_;  // changed since they were reported, or waiting for evidence: a round looks at these
  std::set<control::AttemptName> watched_;         // their checkpoints
  std::set<control::AttemptName> starts_;          // handled by this process
  std::set<PartKey> sealed_;                       // by StopAttempt: no start of it is obeyed
  std::map<sched::NodeId, std::string> cordons_;   // as reported
  std::map<sched::NodeId, Duration> ready_since_;  // kubelets that are heard without a break
  control::Term term_ = 0;
  bool nodes_reported_ = false;
  Duration nodes_reported_at_{};
  Duration cleaned_at_{};
  std::map<control::AttemptName, Duration> idle_since_;  // attempts with objects and without a pod that could run

  KubeCheckpoints checkpoints_;  // of the thread that calls send() and poll()

  struct WatchOrder {
    control::AttemptName name;
    std::optional<CheckpointPlace> place;  // nullopt: it has ended
  };
  mutable std::mutex mutex_;  // for what follows
  std::vector<WatchOrder> watch_orders_;
  std::map<control::AttemptName, std::string> volume_tokens_;
  std::deque<control::Command> inbox_;
  std::vector<control::Event> outbox_;
  std::string problem_;
  std::optional<std::pair<sched::Moment, Duration>>
      times_;  // the same moment on the caller's and on the client's clock
};

}  // namespace weft::world

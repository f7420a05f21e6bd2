// Engine `slurm`: weft queues and places, Slurm starts exactly what weft says where weft says. An attempt is one held
// batch job on exactly its nodes; only the process that submitted it releases it, so that a delayed or repeated
// submission never runs. The first job of a submitter is compared with the command before its release, the others by
// the next list. What runs and what has ended is known only from Slurm's lists; a node that does not answer
// proves nothing. No BMC, no policy.
//
// send() and poll() never block: calls to Slurm are made by other threads (call_queue.h), sbatch by several and the
// rest by one; this class is used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "sched/machine/resources.h"
#include "world/core/world.h"
#include "world/local/checkpoint_watch.h"
#include "world/slurm/attempt_files.h"
#include "world/slurm/batch_job.h"
#include "world/slurm/call_queue.h"
#include "world/slurm/list_pace.h"
#include "world/slurm/node_table.h"
#include "world/slurm/slurm_attempt.h"

namespace weft::world {

struct SlurmOptions {
  std::string state;                          // directory on a file system that the nodes share; created if missing
  std::string cluster;                        // name
  std::vector<sched::NodeShape> nodes;        // by NodeId; names are Slurm's NodeName
  std::string partition;                      // "": the default one
  bool shared = false;                        // see LocalOptions
  std::vector<std::string> helper;            // see LocalOptions
  std::function<void(std::string_view)> log;  // one line for operators; may be null
  Duration keep_ended = sched::seconds(30LL * 24 * 3600);  // records of attempts that ended longer ago are removed
  Duration min_period = milliseconds(200);                 // between lists
  Duration busy_period = milliseconds(1'000);              // while jobs run and nothing changes
  Duration idle_period = milliseconds(5'000);
  bool threads = true;  // false: calls are made by poll(), for tests
};

class SlurmWorld final : public World {
 public:
  // Asks Slurm for its nodes: an error if one is missing or has fewer GPUs, `conflict` if another process uses the
  // state directory.
  [[nodiscard]] static Result<std::unique_ptr<SlurmWorld>> open(const SlurmOptions& options,
                                                                std::shared_ptr<SlurmClient> client);
  // Attempts keep running.
  ~SlurmWorld() override = default;

  void send(const control::Command& command, sched::Moment now) override;
  void poll(sched::Moment now, std::vector<control::Event>& events) override;

 private:
  using Attempts = std::map<control::AttemptName, SlurmAttempt>;
  // One call for the jobs, one for the nodes.
  struct Lists {
    Result<std::vector<SlurmJob>> jobs = std::vector<SlurmJob>();
    Result<std::vector<SlurmNode>> nodes = std::vector<SlurmNode>();
    std::vector<std::string> notes;  // of the client
    Duration took{};
  };

  SlurmWorld(const SlurmOptions& options, BatchContext context, FileDescriptor lock,
             std::shared_ptr<SlurmClient> client);
  [[nodiscard]] Status load();

  // commands.cc
  void handle(const control::StartAttempt& command, sched::Moment now);
  void handle(const control::StopAttempt& command, sched::Moment now);
  void handle(const control::RequestCheckpoint& command, sched::Moment now);
  void handle(const control::VerifyCheckpoint& command, sched::Moment now);
  void handle(const control::QueryInventory& command, sched::Moment now);
  void handle(const control::CordonNode& command, sched::Moment now);
  void handle(const control::PowerCycle& command, sched::Moment now);
  void handle(const control::RepairNode& command, sched::Moment now);
  void handle(const control::ValidateNode& command, sched::Moment now);
  void handle(const control::LeaseOrder& order, sched::Moment now);
  void reply(control::OperationId operation, control::ReplyKind kind, std::string text = {});
  void reply(control::OperationId operation, const Error& error);
  [[nodiscard]] std::string why_not_startable(const control::StartAttempt& command) const;
  void submit(const control::StartAttempt& command, SlurmSubmission job);
  void finish_submit(const control::AttemptName& name, const Result<std::uint32_t>& id);
  void release(SlurmAttempt& attempt, std::uint32_t job);
  void send_releases();
  void finish_release(const control::AttemptName& name, const Status& released);
  void finish_cordon(const control::CordonNode& command, const Result<std::vector<SlurmNode>>& nodes,
                     sched::Moment observed);
  SlurmAttempt& attempt_of(const control::AttemptName& name);
  [[nodiscard]] SlurmAttempt* find_attempt(const control::AttemptName& name);

  // slurm_world.cc
  void log(std::string_view text) const;
  void request_lists(sched::Moment now);
  [[nodiscard]] bool is_busy() const;
  void apply(Lists lists, sched::Moment observed, std::uint64_t round);
  void note_reachable(const Lists& lists);
  void take_inventory(sched::Moment observed);

  // jobs.cc
  void apply_jobs(std::vector<SlurmJob> jobs);
  void apply_job(const SlurmJob& job, const AttemptMark& mark);
  void update(SlurmAttempt& attempt, const SlurmJob& job);
  void check_held(SlurmAttempt& attempt);
  [[nodiscard]] bool has_its_nodes(const SlurmAttempt& attempt, std::string_view list) const;
  void cancel_misplaced(SlurmAttempt& attempt);
  void adopt(const SlurmJob& job, const AttemptMark& mark);
  void cancel_stray(const SlurmJob& job, const AttemptMark& mark);
  void cancel(SlurmAttempt& attempt, sched::Moment now);
  void request_end(SlurmAttempt& attempt);
  void request_plan(SlurmAttempt& attempt);
  void note_absent();
  void advance_stops(sched::Moment now);
  void advance_stop(SlurmAttempt& attempt, sched::Moment now);
  void give_notice(SlurmAttempt& attempt, sched::Moment now);
  void report_parts(sched::Moment observed);
  void report_running(SlurmAttempt& attempt, sched::Moment observed);
  void report_ended(SlurmAttempt& attempt, sched::Moment observed);
  void report_absent(SlurmAttempt& attempt, sched::Moment observed);
  void report_sealed(SlurmAttempt& attempt, control::PartPhase phase, const PartOutcome& outcome,
                     sched::Moment observed);
  [[nodiscard]] bool has_settled(const SlurmAttempt& attempt, sched::NodeId node) const;
  void watch_checkpoints(const SlurmAttempt& attempt);
  [[nodiscard]] std::vector<sched::NodeId> nodes_of(std::string_view list) const;

  SlurmOptions options_;
  BatchContext context_;
  FileDescriptor lock_;
  NodeTable nodes_;
  Attempts attempts_;  // that are not over, and those that are but are still listed
  std::vector<std::pair<control::AttemptName, std::uint32_t>> releases_;  // to be sent, with their jobs
  // Their last job was listed as it was submitted: others need not wait for a list before they are released.
  std::set<SlurmSubmitter> compared_;
  CheckpointWatch checkpoints_;
  ListPace pace_;
  std::vector<control::Event> pending_;
  control::Term term_ = 0;
  std::uint64_t round_ = 0;    // of the lists that were requested last
  std::uint64_t applied_ = 0;  // the last one whose lists were both complete
  bool listing_ = false;
  bool lists_wanted_ = true;           // earlier than the period says
  std::uint64_t inventory_round_ = 0;  // answers a query when it is applied, or a later one; 0: no query
  std::set<sched::NodeId> blocked_;    // have a job that waits and must go before it is known what runs there
  std::set<std::pair<std::uint32_t, std::int64_t>> canceling_;  // stray jobs with a cancel that was not answered
  sched::Moment now_{};
  sched::Moment listed_at_{};
  bool reachable_ = true;
  // Last: their threads end first. Submissions do not delay what frees GPUs: lists, ends, stops.
  CallQueue submissions_;
  CallQueue calls_;
};

}  // namespace weft::world

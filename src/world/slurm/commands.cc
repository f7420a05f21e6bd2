// Commands of the controller, as calls to Slurm.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "world/local/engine_state.h"
#include "world/slurm/cordon_call.h"
#include "world/slurm/slurm_world.h"

namespace weft::world {
namespace {

using control::ReplyKind;
using Step = SlurmAttempt::Step;

constexpr Duration kMaxGrace = sched::seconds(30LL * 24 * 3600);  // keeps deadlines within their type

ReplyKind kind_of(ErrorCode code) {
  if (code == ErrorCode::unavailable) return ReplyKind::transient;
  if (code == ErrorCode::invalid_input || code == ErrorCode::not_found) return ReplyKind::permanent;
  return ReplyKind::ambiguous;
}

}  // namespace

void SlurmWorld::reply(control::OperationId operation, ReplyKind kind, std::string text) {
  pending_.emplace_back(control::CommandReply{operation, kind, std::move(text)});
}

void SlurmWorld::reply(control::OperationId operation, const Error& error) {
  reply(operation, kind_of(error.code), error.text());
}

std::string SlurmWorld::why_not_startable(const control::StartAttempt& command) const {
  if (command.term < term_) return fmt::format("it is of term {}, and term {} has begun", command.term, term_);
  if (command.boots.size() != command.slots.size())
    return fmt::format("the command has {} slots and {} boot ids", command.slots.size(), command.boots.size());
  for (std::size_t i = 0; i < command.slots.size(); ++i) {
    const sched::NodeId node = command.slots[i].node;
    if (nodes_.boot(node) == command.boots[i]) continue;
    return fmt::format("node {} has been rebooted: its boot id is {:016x}, the command is for {:016x}",
                       nodes_.name(node), nodes_.boot(node), command.boots[i]);
  }
  return {};
}

void SlurmWorld::handle(const control::StartAttempt& command, sched::Moment /*now*/) {
  Result<SlurmSubmission> job = make_batch_job(command, context_);
  if (!job.ok()) return reply(command.operation, ReplyKind::permanent, job.error().text());
  if (std::string problem = why_not_startable(command); !problem.empty())
    return reply(command.operation, ReplyKind::permanent, std::move(problem));
  if (applied_ == 0) return reply(command.operation, ReplyKind::transient, "Slurm's jobs are not known yet");
  if (const SlurmAttempt* known = find_attempt(command.name)) {
    const bool sealed = known->stop || known->ended_round != 0 || known->step == Step::over;
    if (sealed)
      return reply(command.operation, ReplyKind::permanent,
                   fmt::format("attempt {} has ended or is being stopped", to_text(command.name)));
    if (known->job || known->start != 0)
      return reply(command.operation, ReplyKind::accepted, "continues an earlier start");
  }
  submit(command, std::move(job).value());
}

void SlurmWorld::submit(const control::StartAttempt& command, SlurmSubmission job) {
  const PlanContext plan_context{context_.state, {}, 0, {}, 0, 0};
  AttemptFiles files{context_.state, make_common_plan(command, plan_context), {}, options_.helper};
  files.plan.node = join(job.nodes, ",");
  if (command.spec->output.empty()) {
    for (std::size_t task = 0; task < command.slots.size(); ++task)
      files.logs.push_back(log_file(command, context_.state, std::to_string(task)));
  }
  SlurmAttempt& attempt = attempt_of(command.name);
  attempt.step = Step::submitting;
  attempt.start = attempt.operation = command.operation;
  attempt.submitter = {job.account, job.uid};
  attempt.listed_since = nodes_.observed();
  attempt.plan = files.plan;
  attempt.nodes = make_layout(command.slots).nodes;
  submissions_.add(
      [files = std::move(files), job = std::move(job)](SlurmClient& client) -> Result<std::uint32_t> {
        if (Status prepared = prepare_files(files); !prepared.ok())
          return Error{ErrorCode::unavailable, prepared.error().text(), {}};
        return client.submit(job);
      },
      [this, name = command.name](const Result<std::uint32_t>& id) { finish_submit(name, id); });
}

void SlurmWorld::finish_submit(const control::AttemptName& name, const Result<std::uint32_t>& id) {
  SlurmAttempt* attempt = find_attempt(name);
  if (attempt == nullptr) return;
  lists_wanted_ = true;
  attempt->stop_round = attempt->stop ? round_ + 1 : 0;  // a list that was requested before does not have it
  if (id.ok()) {
    attempt->step = Step::submitted;
    attempt->expected_id = *id;
    if (!attempt->stop && compared_.contains(attempt->submitter)) release(*attempt, *id);
    return;
  }
  const control::OperationId operation = std::exchange(attempt->operation, 0);
  reply(operation, id.error());
  if (id.error().code == ErrorCode::timeout) {
    attempt->step = Step::ambiguous;
    return;
  }
  if (attempt->stop) {
    attempt->step = Step::none;
  } else {
    attempts_.erase(name);
  }
}

void SlurmWorld::release(SlurmAttempt& attempt, std::uint32_t job) {
  attempt.step = Step::releasing;
  releases_.emplace_back(attempt.name, job);
}

// All that came together meanwhile, in one call.
void SlurmWorld::send_releases() {
  if (calls_.open() > 0) return;
  constexpr std::size_t kMaxReleases = 100;  // in one call
  for (std::size_t first = 0; first < releases_.size(); first += kMaxReleases) {
    std::vector<control::AttemptName> names;
    std::vector<std::uint32_t> jobs;
    for (std::size_t i = first; i < std::min(releases_.size(), first + kMaxReleases); ++i) {
      names.push_back(releases_[i].first);
      jobs.push_back(releases_[i].second);
    }
    calls_.add([jobs = std::move(jobs)](SlurmClient& client) { return client.release(jobs); },
               [this, names = std::move(names)](const std::vector<Status>& released) {
                 for (std::size_t i = 0; i < names.size(); ++i) finish_release(names[i], released[i]);
               });
  }
  releases_.clear();
}

void SlurmWorld::finish_release(const control::AttemptName& name, const Status& released) {
  SlurmAttempt* attempt = find_attempt(name);
  if (attempt == nullptr) return;
  lists_wanted_ = true;
  const bool may_run = released.ok() || released.error().code == ErrorCode::timeout;
  attempt->step = may_run || released.error().code == ErrorCode::not_found ? Step::released : Step::submitted;
  if (attempt->step == Step::submitted) return;  // proven: it is held still, and the next list tries again
  if (attempt->operation == 0) return;
  const control::OperationId operation = std::exchange(attempt->operation, 0);
  const bool ambiguous = !released.ok() && may_run;
  reply(operation, ambiguous ? ReplyKind::ambiguous : ReplyKind::accepted,
        released.ok() ? "" : released.error().text());
}

void SlurmWorld::handle(const control::StopAttempt& command, sched::Moment now) {
  for (const sched::NodeId node : command.nodes) {
    if (index_of(node) >= nodes_.size())
      return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(node)));
  }
  SlurmAttempt& attempt = attempt_of(command.name);
  for (const sched::NodeId node : command.nodes) {
    if (std::find(attempt.nodes.begin(), attempt.nodes.end(), node) == attempt.nodes.end())
      attempt.nodes.push_back(node);
    attempt.sealed.erase(node);  // it is reported again
  }
  const Duration grace = std::clamp(command.grace, Duration(0), kMaxGrace);
  if (attempt.step == Step::over) attempt.step = Step::released;
  const bool is_first = !attempt.stop;
  if (is_first) attempt.stop.emplace();
  SlurmAttempt::Stop& stop = *attempt.stop;
  if (is_first || stop.operation == 0) {
    stop.operation = command.operation;
    stop.notice = command.checkpoint;
    stop.terminate_at = command.checkpoint ? now + grace / 2 : now;
    stop.kill_at = is_first ? now + grace : std::min(stop.kill_at, now + grace);
    attempt.stop_round = round_ + 1;
  } else {
    stop.operation = command.operation;  // an earlier deadline is never extended
    stop.kill_at = std::min(stop.kill_at, now + grace);
  }
  lists_wanted_ = true;
  reply(command.operation, ReplyKind::accepted);
}

void SlurmWorld::handle(const control::RequestCheckpoint& command, sched::Moment /*now*/) {
  const SlurmAttempt* attempt = find_attempt(command.name);
  if (attempt == nullptr || !attempt->is_live() || attempt->running.empty())
    return reply(command.operation, ReplyKind::permanent,
                 fmt::format("attempt {} does not run", to_text(command.name)));
  const bool by_file = attempt->plan.notice_file;
  const int signal = attempt->plan.notice_signal;
  if (!by_file && signal <= 0)
    return reply(command.operation, ReplyKind::permanent, "the job cannot be asked for a checkpoint");
  checkpoints_.hurry(command.name);
  calls_.add(
      [=, state = context_.state, id = attempt->job->id](SlurmClient& client) {
        return by_file ? write_request_file(state, command.name, command.operation) : client.signal(id, signal);
      },
      [this, operation = command.operation](const Status& asked) {
        asked.ok() ? reply(operation, ReplyKind::accepted) : reply(operation, asked.error());
      });
}

void SlurmWorld::handle(const control::VerifyCheckpoint& command, sched::Moment /*now*/) {
  if (command.spec == nullptr) return reply(command.operation, ReplyKind::permanent, "the command has no job");
  CheckpointWatch::Verification request;
  request.operation = command.operation;
  request.job = command.job;
  request.uid = command.spec->uid;
  request.gid = command.spec->gid;
  request.directories = job_checkpoint_directories(*command.spec, command.job);
  const std::string prefix = fmt::format("{}.", command.job);
  const std::vector<std::string> attempts = list_folder(context_.state + "/attempts");
  request.may_be_missing =
      std::none_of(attempts.begin(), attempts.end(), [&](const std::string& name) { return name.starts_with(prefix); });
  checkpoints_.verify(request);
  reply(command.operation, ReplyKind::accepted);
}

// A start of an earlier term is a job that this process did not release: it is canceled before its nodes are listed.
void SlurmWorld::handle(const control::QueryInventory& command, sched::Moment /*now*/) {
  term_ = std::max(term_, command.term);
  inventory_round_ = round_ + 1;
  lists_wanted_ = true;
}

void SlurmWorld::handle(const control::CordonNode& command, sched::Moment now) {
  if (index_of(command.node) >= nodes_.size())
    return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(command.node)));
  const std::string reason = nodes_.drain_reason(command.session);
  // A copy: the call shares nothing with this object.
  const auto table = std::make_shared<NodeTable>(std::vector<std::string>{}, context_.cluster, "");
  CordonCall call{nodes_.name(command.node), reason, command.cordon,
                  [table](const SlurmNode& node) { return table->cordon_owner(node); },
                  fmt::format("weft:{}", command.session)};
  calls_.add(std::move(call),
             [this, command, now](const Result<std::vector<SlurmNode>>& nodes) { finish_cordon(command, nodes, now); });
}

void SlurmWorld::finish_cordon(const control::CordonNode& command, const Result<std::vector<SlurmNode>>& nodes,
                               sched::Moment observed) {
  lists_wanted_ = true;
  if (!nodes.ok()) return reply(command.operation, nodes.error());
  const SlurmNode* node = find_slurm_node(*nodes, nodes_.name(command.node));
  const std::string owner = node == nullptr ? "" : nodes_.cordon_owner(*node);
  reply(command.operation, ReplyKind::accepted);
  if (node == nullptr) return;
  pending_.emplace_back(control::CordonReport{command.node, !owner.empty(), owner, observed});
}

void SlurmWorld::handle(const control::PowerCycle& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "engine slurm has no BMC");
}

void SlurmWorld::handle(const control::RepairNode& command, sched::Moment /*now*/) {
  reply(command.operation, ReplyKind::permanent, "engine slurm does not repair nodes");
}

void SlurmWorld::handle(const control::ValidateNode& command, sched::Moment now) {
  if (index_of(command.node) >= nodes_.size())
    return reply(command.operation, ReplyKind::permanent, fmt::format("there is no node {}", index_of(command.node)));
  reply(command.operation, ReplyKind::accepted);
  const bool passed = nodes_.answers(command.node);
  pending_.emplace_back(control::ValidationReport{
      command.operation, command.node, nodes_.boot(command.node), passed,
      passed ? "engine slurm has no acceptance checks; Slurm can use the node" : "Slurm cannot use the node", now});
}

void SlurmWorld::handle(const control::LeaseOrder& order, sched::Moment) {
  reply(order.operation, ReplyKind::permanent, "engine slurm shares its nodes with no other engine");
}

}  // namespace weft::world

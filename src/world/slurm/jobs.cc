// Jobs of Slurm and the attempts that they belong to: what the lists say, stops, reports of parts.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "world/local/engine_state.h"
#include "world/slurm/slurm_world.h"

namespace weft::world {
namespace {

using control::PartPhase;
using Step = SlurmAttempt::Step;

constexpr Duration kCancelRepeat = sched::seconds(5);
constexpr Duration kSettled = sched::seconds(5);     // after an outage of a node
constexpr Duration kRecovered = sched::seconds(30);  // after slurmctld lost a job

// Of several jobs of one attempt, those that run come first, then those that ran.
int rank_of(const SlurmJob& job) {
  if (job.nodes.empty()) return 2;
  return is_ended(job.state) ? 1 : 0;
}

bool is_running(SlurmState state) { return state == SlurmState::running || state == SlurmState::suspended; }

}  // namespace

SlurmAttempt* SlurmWorld::find_attempt(const control::AttemptName& name) {
  const auto found = attempts_.find(name);
  return found == attempts_.end() ? nullptr : &found->second;
}

SlurmAttempt& SlurmWorld::attempt_of(const control::AttemptName& name) {
  SlurmAttempt& attempt = attempts_[name];
  attempt.name = name;
  return attempt;
}

void SlurmWorld::apply_jobs(std::vector<SlurmJob> jobs) {
  blocked_.clear();
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const SlurmJob& a, const SlurmJob& b) { return rank_of(a) < rank_of(b); });
  std::erase_if(canceling_, [&](const auto& key) {
    return std::none_of(jobs.begin(), jobs.end(),
                        [&](const SlurmJob& job) { return job.id == key.first && job.submitted == key.second; });
  });
  for (const SlurmJob& job : jobs) {
    if (const std::optional<AttemptMark> mark = parse_comment(job.comment, context_.cluster)) apply_job(job, *mark);
  }
  note_absent();
}

void SlurmWorld::apply_job(const SlurmJob& job, const AttemptMark& mark) {
  SlurmAttempt* attempt = find_attempt(mark.name);
  const bool same = attempt != nullptr && attempt->has_key(job);
  const bool expected = attempt != nullptr && !attempt->job && attempt->start != 0 &&
                        attempt->start == mark.operation &&
                        (attempt->expected_id == 0 || attempt->expected_id == job.id);
  if (same || expected) return update(*attempt, job);
  const bool is_first = attempt == nullptr || (!attempt->job && attempt->start == 0);
  if (job.state == SlurmState::pending) return cancel_stray(job, mark);
  if (is_first) return adopt(job, mark);
  if (!is_ended(job.state)) cancel_stray(job, mark);  // a second job of one attempt
}

// Submitted by an earlier process, or so late that this one had given it up. It is not released by anyone; until it is
// gone its nodes count as unknown.
void SlurmWorld::cancel_stray(const SlurmJob& job, const AttemptMark& mark) {
  for (const sched::NodeId node : nodes_of(job.nodes.empty() ? job.required_nodes : job.nodes)) blocked_.insert(node);
  if (!canceling_.emplace(job.id, job.submitted).second) return;
  log(fmt::format("Slurm job {} of attempt {} was not released by this weft: canceling it", job.id,
                  to_text(mark.name)));
  calls_.add([id = job.id](SlurmClient& client) { return client.cancel(id); },
             [this, key = std::make_pair(job.id, job.submitted)](const Status& canceled) {
               if (!canceled.ok()) canceling_.erase(key);  // the next list tries again
               lists_wanted_ = true;
             });
}

void SlurmWorld::adopt(const SlurmJob& job, const AttemptMark& mark) {
  SlurmAttempt& attempt = attempt_of(mark.name);
  attempt.step = Step::released;
  if (attempt.plan.name.job == 0) request_plan(attempt);
  const bool partial = job.nodes.empty() || job.state == SlurmState::completing;
  if (attempt.nodes.empty()) attempt.nodes = nodes_of(partial ? job.required_nodes : job.nodes);
  update(attempt, job);
}

void SlurmWorld::update(SlurmAttempt& attempt, const SlurmJob& job) {
  if (attempt.start == 0 && !attempt.job) attempt.listed_since = nodes_.observed();
  if (!attempt.job || attempt.job->state != job.state) pace_.note_change(now_);
  attempt.job = job;
  attempt.listed_round = applied_;
  attempt.absent_since = 0;
  if (is_ended(job.state)) {
    if (attempt.ended_round == 0) attempt.ended_round = applied_;
    if (attempt.step != Step::over) request_end(attempt);
    return;
  }
  if (attempt.stop) return;
  if (job.restarts > 0) {  // it would run a second time
    log(fmt::format("Slurm job {} of attempt {} was requeued: canceling it", job.id, to_text(attempt.name)));
    cancel(attempt, now_);
  } else if (job.state == SlurmState::pending) {
    if (attempt.step == Step::submitted || attempt.step == Step::ambiguous) return check_held(attempt);
    if (attempt.start != 0 && !has_its_nodes(attempt, job.required_nodes)) return cancel_misplaced(attempt);
    // It may have run: slurmctld was restarted with an older state. A second release could start it a second time.
    if (attempt.step == Step::released && (job.held || !attempt.running.empty())) {
      log(fmt::format("Slurm job {} of attempt {} waits although it was released: canceling it", job.id,
                      to_text(attempt.name)));
      attempt.lost = true;
      cancel(attempt, now_);
    }
  } else if (job.state != SlurmState::completing && !job.nodes.empty() && !has_its_nodes(attempt, job.nodes)) {
    cancel_misplaced(attempt);  // a completing job lists only the nodes that have not finished
  }
}

bool SlurmWorld::has_its_nodes(const SlurmAttempt& attempt, std::string_view list) const {
  std::vector<sched::NodeId> has = nodes_of(list);
  std::vector<sched::NodeId> wanted = attempt.nodes;
  std::sort(has.begin(), has.end());
  std::sort(wanted.begin(), wanted.end());
  return has == wanted;
}

void SlurmWorld::cancel_misplaced(SlurmAttempt& attempt) {
  const SlurmJob& job = *attempt.job;
  compared_.erase(attempt.submitter);
  log(fmt::format("Slurm job {} of attempt {} {} on {}, not where weft placed it: canceling it", job.id,
                  to_text(attempt.name), job.nodes.empty() ? "waits to run" : "runs",
                  job.nodes.empty() ? job.required_nodes : job.nodes));
  cancel(attempt, now_);
}

void SlurmWorld::check_held(SlurmAttempt& attempt) {
  const SlurmJob& job = *attempt.job;
  if (has_its_nodes(attempt, job.required_nodes) && job.node_count == attempt.nodes.size()) {
    compared_.insert(attempt.submitter);
    return release(attempt, job.id);
  }
  compared_.erase(attempt.submitter);
  if (attempt.operation != 0)
    reply(std::exchange(attempt.operation, 0), control::ReplyKind::permanent,
          fmt::format("Slurm job {} has {} nodes, {}: not what was submitted", job.id, job.node_count,
                      job.required_nodes));
  cancel(attempt, now_);
}

void SlurmWorld::note_absent() {
  for (auto& [name, attempt] : attempts_) {
    if (attempt.listed_round == applied_ || attempt.step == Step::over) continue;
    if (attempt.absent_since == 0) attempt.absent_since = applied_;
    if (attempt.job || attempt.start == 0) request_end(attempt);
  }
  // Those of earlier times that only have a file: nothing to say about them.
  std::erase_if(attempts_, [](const auto& entry) {
    const SlurmAttempt& attempt = entry.second;
    return attempt.step == Step::none && !attempt.job && !attempt.stop && attempt.start == 0 && attempt.end &&
           !attempt.end->status;
  });
}

void SlurmWorld::request_end(SlurmAttempt& attempt) {
  if (attempt.end || std::exchange(attempt.end_requested, true)) return;
  calls_.add([state = context_.state, name = attempt.name](SlurmClient&) { return read_end(state, name); },
             [this, name = attempt.name](EndRecord record) {
               SlurmAttempt* found = find_attempt(name);
               if (found == nullptr) return;
               found->end = std::move(record);
               // What the last list proved is reported at once: the GPUs are free.
               if (found->ended_round != 0 && found->step != Step::over && !found->is_live())
                 report_ended(*found, nodes_.observed());
               lists_wanted_ = lists_wanted_ || found->step != Step::over;
             });
}

void SlurmWorld::request_plan(SlurmAttempt& attempt) {
  calls_.add([state = context_.state, name = attempt.name](SlurmClient&) { return load_plan(state, name); },
             [this, name = attempt.name](Result<PartPlan> plan) {
               SlurmAttempt* found = find_attempt(name);
               if (found == nullptr || !plan.ok()) return;
               found->plan = std::move(plan).value();
               if (!found->running.empty()) watch_checkpoints(*found);
             });
}

void SlurmWorld::watch_checkpoints(const SlurmAttempt& attempt) {
  checkpoints_.add(attempt.name, attempt.plan.checkpoints, attempt.plan.uid, attempt.plan.gid);
}

void SlurmWorld::cancel(SlurmAttempt& attempt, sched::Moment now) {
  if (!attempt.stop) {
    attempt.stop.emplace();
    attempt.stop->kill_at = now;
    attempt.stop_round = round_ + 1;
  }
  SlurmAttempt::Stop& stop = *attempt.stop;
  if (stop.calling || !attempt.job || now < stop.next_cancel) return;
  stop.calling = true;
  stop.next_cancel = now + kCancelRepeat;
  attempt.canceled_by_weft = true;
  calls_.add([id = attempt.job->id](SlurmClient& client) { return client.cancel(id); },
             [this, name = attempt.name](const Status& canceled) {
               if (SlurmAttempt* found = find_attempt(name); found != nullptr && found->stop) {
                 found->stop->calling = false;
                 if (!canceled.ok() && canceled.error().code != ErrorCode::not_found)
                   log(fmt::format("attempt {}: scancel: {}", to_text(name), canceled.error().text()));
               }
               lists_wanted_ = true;
             });
}

void SlurmWorld::advance_stops(sched::Moment now) {
  for (auto& [name, attempt] : attempts_) {
    if (attempt.stop && attempt.step != Step::over) advance_stop(attempt, now);
  }
}

void SlurmWorld::advance_stop(SlurmAttempt& attempt, sched::Moment now) {
  if (attempt.step == Step::submitting || attempt.step == Step::releasing || !attempt.is_live()) return;
  SlurmAttempt::Stop& stop = *attempt.stop;
  if (attempt.job->state == SlurmState::completing) return;
  if (attempt.job->state == SlurmState::pending || now >= stop.kill_at) return cancel(attempt, now);
  if (stop.notice && !stop.noticed) give_notice(attempt, now);
  if (stop.noticed && checkpoints_.last_written_ns(attempt.name) >= stop.since_ns) stop.terminate_at = now;
  if (now < stop.terminate_at || stop.terminated) return;
  stop.terminated = true;
  calls_.add([id = attempt.job->id](SlurmClient& client) { return client.signal(id, SIGTERM); },
             [this](const Status&) { lists_wanted_ = true; });  // without it, the end of the grace period ends the job
}

void SlurmWorld::give_notice(SlurmAttempt& attempt, sched::Moment now) {
  SlurmAttempt::Stop& stop = *attempt.stop;
  stop.noticed = true;
  stop.since_ns = now.count();
  checkpoints_.hurry(attempt.name);
  const bool by_file = attempt.plan.notice_file;
  const int signal = attempt.plan.notice_signal;
  if (!by_file && signal <= 0) {
    stop.terminate_at = now;
    return;
  }
  calls_.add(
      [=, state = context_.state, name = attempt.name, id = attempt.job->id,
       operation = stop.operation](SlurmClient& client) {
        return by_file ? write_request_file(state, name, operation) : client.signal(id, signal);
      },
      [](const Status&) {});  // without it, SIGTERM comes at half of the grace period
}

void SlurmWorld::report_parts(sched::Moment observed) {
  for (auto& [name, attempt] : attempts_) {
    if (attempt.step == Step::over) continue;
    if (attempt.is_live()) {
      report_running(attempt, observed);
    } else if (attempt.ended_round != 0) {
      report_ended(attempt, observed);
    } else {
      report_absent(attempt, observed);
    }
  }
}

void SlurmWorld::report_running(SlurmAttempt& attempt, sched::Moment observed) {
  if (!is_running(attempt.job->state)) return;
  if (attempt.running.empty() && attempt.plan.name.job != 0) watch_checkpoints(attempt);
  for (const sched::NodeId node : nodes_of(attempt.job->nodes)) {
    if (!attempt.running.insert(node).second) continue;
    pending_.emplace_back(
        control::PartReport{attempt.name, node, nodes_.boot(node), PartPhase::running, false, 0, {}, observed});
  }
}

void SlurmWorld::report_ended(SlurmAttempt& attempt, sched::Moment observed) {
  if (!attempt.end) return;
  const SlurmJob& job = *attempt.job;
  if (job.nodes.empty()) {  // it never ran
    if (attempt.lost)
      return report_sealed(attempt, PartPhase::exited, {kNotTheProgram, "slurmctld lost its job"}, observed);
    const bool asked = attempt.stop && attempt.stop->operation != 0;
    const std::string text = asked ? "not started" : fmt::format("not started (Slurm: {})", to_text(job.state));
    return report_sealed(attempt, PartPhase::absent, {asked ? 0 : kNotTheProgram, text}, observed);
  }
  const bool by_weft = attempt.canceled_by_weft || (attempt.stop && attempt.stop->terminated);
  report_sealed(attempt, PartPhase::exited, describe_end(job, *attempt.end, by_weft), observed);
}

// Slurm forgets jobs some minutes after their end. That a job is not listed is an answer only to a stop, in a list that
// was taken after it: the controller judges how much may disappear at once.
void SlurmWorld::report_absent(SlurmAttempt& attempt, sched::Moment observed) {
  if (attempt.absent_since == 0 || attempt.step == Step::submitting || attempt.step == Step::releasing) return;
  if (attempt.end && attempt.end->status) {
    const std::int32_t code = attempt.end->code.value_or(*attempt.end->status);
    const bool failed = *attempt.end->status != 0;
    return report_sealed(attempt, PartPhase::exited, {failed ? code : 0, failed ? attempt.end->text : ""}, observed);
  }
  if (!attempt.stop || applied_ < attempt.stop_round) return;
  if (attempt.job && !attempt.end) return;  // its files are being read
  const bool ran = attempt.job.has_value();
  attempt.lost = attempt.lost || ran;
  report_sealed(attempt, PartPhase::absent,
                {ran ? kNotTheProgram : 0, ran ? "Slurm no longer lists its job" : "not started"}, observed);
}

// slurmctld lists a job as ended, and not as completing, once each of its nodes has reported that nothing of it is
// left. For a node that has answered ever since this process submitted the job, that is enough, even if other jobs are
// completing there.
bool SlurmWorld::has_settled(const SlurmAttempt& attempt, sched::NodeId node) const {
  if (attempt.lost) return nodes_.is_settled(node, kRecovered);
  const bool by_itself =
      attempt.job && (attempt.job->state == SlurmState::completed ||
                      (attempt.job->state == SlurmState::failed && attempt.job->reason == "NonZeroExitCode"));
  if (attempt.start != 0 && by_itself && nodes_.has_answered_since(node, attempt.listed_since)) return true;
  return nodes_.is_settled(node, kSettled);
}

void SlurmWorld::report_sealed(SlurmAttempt& attempt, PartPhase phase, const PartOutcome& outcome,
                               sched::Moment observed) {
  bool all = true;
  for (const sched::NodeId node : attempt.nodes) {
    if (attempt.sealed.contains(node)) continue;
    if (!has_settled(attempt, node)) {
      all = false;
      continue;
    }
    attempt.sealed.insert(node);
    pending_.emplace_back(
        control::PartReport{attempt.name, node, nodes_.boot(node), phase, true, outcome.code, outcome.text, observed});
  }
  if (!all) return;
  attempt.step = Step::over;
  attempt.stop.reset();
  checkpoints_.end(attempt.name);
}

}  // namespace weft::world

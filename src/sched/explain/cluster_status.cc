#include "sched/explain/cluster_status.h"

#include <algorithm>
#include <map>

namespace weft::sched {
namespace {

std::int64_t lendable(const Tenants& tenants, TenantId id) {
  const TenantPolicy& policy = tenants.policy(id);
  const std::int64_t idle = std::max<std::int64_t>(0, policy.quota.gpu_milli - tenants.used(id).gpu_milli);
  return std::min(policy.lend.gpu_milli, idle);
}

std::vector<TenantStatus> tenant_rows(const Scheduler& scheduler) {
  const Tenants& tenants = scheduler.tenants();
  std::vector<TenantStatus> rows(tenants.count());
  for (TenantId id = 0; id < tenants.count(); ++id) {
    TenantStatus& row = rows[id];
    row.name = tenants.policy(id).name;
    row.cohort = tenants.policy(id).cohort;
    row.limited = tenants.limited(id);
    row.quota = tenants.policy(id).quota;
    row.used = tenants.used(id);
    row.borrowed_gpu_milli = tenants.borrowed(id).gpu_milli;
    double borrowed = 0;
    double can_lend = 0;
    for (const TenantId member : tenants.cohort_of(id)) {
      borrowed += static_cast<double>(tenants.borrowed(member).gpu_milli);
      can_lend += static_cast<double>(lendable(tenants, member));
    }
    if (can_lend > 0) {
      const double part = borrowed * static_cast<double>(lendable(tenants, id)) / can_lend;
      row.lent_gpu_milli = static_cast<std::int64_t>(part);
    }
  }
  return rows;
}

}  // namespace

ClusterStatus cluster_status(const Scheduler& scheduler, Moment now, const StatusOptions& options) {
  ClusterStatus status;
  const State& state = scheduler.state();
  status.now = now;
  status.nodes = static_cast<std::uint32_t>(scheduler.machine().nodes().size());
  status.nodes_down = scheduler.nodes_lost();
  status.nodes_spare = state.nodes_down() - status.nodes_down;
  status.running = static_cast<std::uint32_t>(scheduler.running().size());
  status.up_gpu_milli = state.total_gpu_milli();
  for (std::uint32_t i = 0; i < status.nodes; ++i) {
    const auto node = static_cast<NodeId>(i);
    if (state.free(node).up) continue;
    const std::int64_t gpus = std::int64_t{scheduler.machine().node(node).gpus} * kWholeGpu;
    (scheduler.kept_aside(node) ? status.spare_gpu_milli : status.down_gpu_milli) += gpus;
  }
  status.used_gpu_milli = state.total_gpu_milli() - state.free_gpu_milli();
  status.fragmentation = ClusterFragmentation(demand_of(scheduler)).measure(state);
  status.tenants = tenant_rows(scheduler);
  for (const JobId id : scheduler.running()) ++status.tenants[scheduler.record(id).tenant].running;

  Forecast forecast;
  if (options.most_events > 0 && options.most_queue > 0) {
    Scheduler what_if = scheduler;
    forecast = play_forward(what_if, std::nullopt, now, options.most_events);
  }
  std::map<JobId, Moment> starts;
  for (const Forecast::Begin& begin : forecast.starts) starts.emplace(begin.job, begin.at);
  std::map<Reason, ReasonCount> reasons;
  const std::vector<JobId> queue = scheduler.queue(now);
  status.waiting = static_cast<std::uint32_t>(queue.size());
  for (const JobId id : queue) {
    const JobRecord& record = scheduler.record(id);
    if (!options.audience.sees(record.job)) continue;
    ++status.queued;
    const Waiting waiting = scheduler.why(id, now);
    ReasonCount& count = reasons[waiting.reason];
    count.reason = waiting.reason;
    ++count.jobs;
    count.gpu_milli += record.job.gpu_milli();
    count.longest = std::max(count.longest, now - record.queued);
    TenantStatus& tenant = status.tenants[record.tenant];
    ++tenant.waiting;
    tenant.waiting_gpu_milli += record.job.gpu_milli();
    if (status.queue.size() >= options.most_queue) continue;
    QueueEntry entry;
    entry.job = id;
    entry.reason = waiting.reason;
    entry.sentence = reason_sentence(scheduler, waiting, now, options.audience);
    entry.waits_on = blockers_of(scheduler, waiting, now, options.most_blockers, options.audience);
    const Reservation* plan = scheduler.reservation_of(id);
    if (const auto start = starts.find(id); start != starts.end()) {
      entry.expected = start->second;
      entry.known = Known::forecast;
    } else if (plan != nullptr) {
      entry.expected = plan->start;
      entry.known = Known::planned;
    } else if (waiting.reason == Reason::impossible || forecast.end == ForecastEnd::settled) {
      entry.known = Known::never;
    } else if (forecast.end == ForecastEnd::unlimited) {
      entry.known = Known::unlimited;
    }
    status.queue.push_back(std::move(entry));
  }
  for (auto& [reason, count] : reasons) status.reasons.push_back(count);
  if (options.audience.sees_tenant) {
    std::erase_if(status.tenants, [&](const TenantStatus& row) { return !options.audience.sees_tenant(row.name); });
  }
  std::stable_sort(status.tenants.begin(), status.tenants.end(),
                   [](const TenantStatus& a, const TenantStatus& b) { return a.name < b.name; });
  return status;
}

}  // namespace weft::sched

#include "world/slurm/slurm_observed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "world/slurm/slurm_records.h"

namespace weft::world {
namespace {

namespace records = slurm_records;
using control::Health;

constexpr std::string_view kObservedFields[] = {"job_id",
                                                "job_state",
                                                "submit_time",
                                                "name",
                                                "user_name",
                                                "account",
                                                "partition",
                                                "qos",
                                                "state_reason",
                                                "state_description",
                                                "priority",
                                                "eligible_time",
                                                "start_time",
                                                "end_time",
                                                "time_limit",
                                                "node_count",
                                                "tasks",
                                                "cpus",
                                                "shared",
                                                "requeue",
                                                "nodes",
                                                "required_nodes",
                                                "excluded_nodes",
                                                "dependency",
                                                "exit_code",
                                                "restart_cnt",
                                                "array_job_id",
                                                "array_task_id",
                                                "array_task_string",
                                                "het_job_id",
                                                "het_job_offset",
                                                "tres_per_node",
                                                "tres_per_job",
                                                "tres_per_task",
                                                "gres_detail",
                                                "tres_req_str",
                                                "user_id"};

constexpr std::pair<std::string_view, WaitKind> kReasons[] = {
    {"", WaitKind::not_evaluated},
    {"None", WaitKind::not_evaluated},
    {"Resources", WaitKind::resources},
    {"Priority", WaitKind::priority},
    {"ReqNodeNotAvail", WaitKind::unavailable_nodes},
    {"NodeDown", WaitKind::unavailable_nodes},
    {"Dependency", WaitKind::dependency},
    {"DependencyNeverSatisfied", WaitKind::dependency},
    {"JobHeldUser", WaitKind::held_by_user},
    {"JobHeldAdmin", WaitKind::held_by_admin},
    {"JobHoldMaxRequeue", WaitKind::held_by_admin},
    {"BeginTime", WaitKind::begin_time},
    {"JobArrayTaskLimit", WaitKind::limit},
    {"Licenses", WaitKind::limit},
    {"AccountNotAllowed", WaitKind::limit},
    {"InvalidAccount", WaitKind::limit},
    {"InvalidQOS", WaitKind::limit},
    {"PartitionDown", WaitKind::partition},
    {"PartitionInactive", WaitKind::partition},
    {"PartitionNodeLimit", WaitKind::partition},
    {"PartitionTimeLimit", WaitKind::partition},
    {"PartitionConfig", WaitKind::partition},
    {"Reservation", WaitKind::reservation},
    {"ReservationDeleted", WaitKind::reservation},
};

ObservedPhase phase_of(SlurmState state) {
  if (state == SlurmState::pending) return ObservedPhase::waiting;
  if (state == SlurmState::unknown) return ObservedPhase::unknown;
  return is_ended(state) ? ObservedPhase::ended : ObservedPhase::running;
}

// As squeue prints it.
void name_job(const records::Fields& fields, ObservedJob& job) {
  const std::uint64_t number = *records::number_of(fields, "job_id");
  const std::uint64_t array = records::number_of(fields, "array_job_id").value_or(0);
  const std::uint64_t het = records::number_of(fields, "het_job_id").value_or(0);
  const std::string tasks = records::text_of(fields, "array_task_string");
  if (array != 0) {
    job.group = std::to_string(array);
    const std::optional<std::uint64_t> task = records::number_of(fields, "array_task_id");
    job.id = !tasks.empty() ? fmt::format("{}_[{}]", array, tasks)
             : task         ? fmt::format("{}_{}", array, *task)
                            : std::to_string(number);
  } else if (het != 0) {
    job.group = std::to_string(het);
    job.id = fmt::format("{}+{}", het, records::number_of(fields, "het_job_offset").value_or(0));
  } else {
    job.id = std::to_string(number);
  }
}

void count_gpus_of(const records::Fields& fields, ObservedJob& job) {
  const std::uint32_t nodes = std::max(job.node_count, 1U);
  const std::uint32_t per_node = count_requested_gpus(records::text_of(fields, "tres_per_node"));
  const std::uint32_t per_task = count_requested_gpus(records::text_of(fields, "tres_per_task"));
  std::uint32_t allocated = 0;
  for (const std::string& detail : records::list_of(fields, "gres_detail")) allocated += count_gpus(detail);
  constexpr std::uint64_t kMaxGpus = 1'000'000;
  const auto clamp = [&](std::uint64_t count) { return static_cast<std::uint32_t>(std::min(count, kMaxGpus)); };
  job.gpus = allocated > 0  ? clamp(allocated)
             : per_node > 0 ? clamp(std::uint64_t{per_node} * nodes)
             : per_task > 0 ? clamp(std::uint64_t{per_task} * std::max(job.tasks, 1U))
                            : clamp(count_requested_gpus(records::text_of(fields, "tres_per_job")));
  job.gpus_per_node = per_node > 0 ? per_node : (job.gpus + nodes - 1) / nodes;
}

// A reason that slurmctld sets itself, and what it means.
struct OwnReason {
  std::string_view text;  // how it begins
  std::string_view rule;
  Health health;
  std::string_view sentence;
};
constexpr OwnReason kDownReasons[] = {
    {"Not responding", "not-responding", Health::fatal, "not responding"},
    {"gres/gpu count", "gpu-missing", Health::fatal, "fewer GPUs than configured"},
    {"Node unexpectedly rebooted", "rebooted", Health::degraded, "rebooted unexpectedly"},
    {"Low ", "resources-missing", Health::degraded, "fewer resources than configured"},
};
// Drains that programs set: the node is taken out of service already, and stays theirs.
constexpr OwnReason kDrainReasons[] = {
    {"NHC", "health-check", Health::fatal, ""},
    {"Kill task failed", "kill-task-failed", Health::fatal, ""},
    {"gres/gpu count", "gpu-missing", Health::fatal, ""},
    {"Prolog error", "prolog-error", Health::degraded, ""},
    {"Epilog error", "epilog-error", Health::degraded, ""},
    {"Low ", "resources-missing", Health::degraded, ""},
};

template <std::size_t N>
const OwnReason* find_reason(const OwnReason (&reasons)[N], std::string_view text) {
  const auto* const found = std::find_if(std::begin(reasons), std::end(reasons),
                                         [&](const OwnReason& each) { return text.starts_with(each.text); });
  return found == std::end(reasons) ? nullptr : found;
}

// Our drain replaced Slurm's reason: "weft:SESSION:RULE:CLUSTER" keeps what it meant.
const OwnReason* find_down_reason(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 4 || parts[0] != "weft") return find_reason(kDownReasons, text);
  const auto* const found = std::find_if(std::begin(kDownReasons), std::end(kDownReasons),
                                         [&](const OwnReason& each) { return each.rule == parts[2]; });
  return found == std::end(kDownReasons) ? nullptr : found;
}

std::string with_reason(std::string text, const SlurmNode& node) {
  if (!node.reason_user.empty() && !node.reason.empty()) text += " by " + node.reason_user;
  if (!node.reason.empty()) text += ": " + node.reason;
  return text;
}

}  // namespace

WaitKind wait_kind_of(std::string_view reason) {
  for (const auto& [name, kind] : kReasons) {
    if (name == reason) return kind;
  }
  return reason.starts_with("QOS") || reason.starts_with("Assoc") ? WaitKind::limit : WaitKind::other;
}

std::uint32_t count_requested_gpus(std::string_view tres) {
  std::string plain;
  for (std::string_view part : split(tres, ',')) {
    if (part.starts_with("gres:") || part.starts_with("gres/")) part.remove_prefix(5);
    if (!plain.empty()) plain += ',';
    plain += part;
  }
  return count_gpus(plain);
}

Result<std::vector<ObservedJob>> parse_observed_jobs(std::string_view text) {
  std::vector<ObservedJob> jobs;
  const Status read =
      records::read_records(text, "jobs", kObservedFields, [&](const records::Fields& fields) -> std::string {
        if (const std::string_view missing = records::find_missing(fields); !missing.empty())
          return fmt::format("a job has no {}", missing);
        ObservedJob job;
        name_job(fields, job);
        job.name = printable(records::text_of(fields, "name"));
        job.user = records::text_of(fields, "user_name");
        if (job.user.empty()) job.user = std::to_string(records::small_number(fields, "user_id"));
        job.account = records::text_of(fields, "account");
        job.queue = records::text_of(fields, "partition");
        job.qos = records::text_of(fields, "qos");
        const SlurmState state = parse_slurm_state(records::text_of(fields, "job_state"));
        job.state = to_lower(state == SlurmState::unknown ? records::text_of(fields, "job_state")
                                                          : std::string(to_text(state)));
        if (state == SlurmState::canceled) job.state = "canceled";
        job.phase = phase_of(state);
        job.reason = records::text_of(fields, "state_reason");
        job.reason_text = printable(records::text_of(fields, "state_description"));
        job.wait = wait_kind_of(job.reason);
        job.priority = records::number_of(fields, "priority").value_or(0);
        job.submitted = records::time_of(fields, "submit_time");
        job.eligible = records::time_of(fields, "eligible_time");
        job.started = records::time_of(fields, "start_time");
        job.ends = records::time_of(fields, "end_time");
        constexpr std::uint64_t kMaxMinutes = 1'000'000'000;
        const std::uint64_t minutes = records::number_of(fields, "time_limit").value_or(0);
        job.limit = minutes > kMaxMinutes ? 0 : static_cast<std::int64_t>(minutes) * 60;
        if (job.limit == 0 && job.phase == ObservedPhase::running)
          job.ends = 0;  // Slurm then shows a year from its start
        job.node_count = records::small_number(fields, "node_count");
        job.tasks = records::small_number(fields, "tasks");
        job.cpus = records::small_number(fields, "cpus");
        job.exclusive = records::text_of(fields, "shared") == "none";
        job.can_requeue = records::number_of(fields, "requeue").value_or(0) == 1;
        job.nodes = records::text_of(fields, "nodes");
        job.required_nodes = records::text_of(fields, "required_nodes");
        job.excluded_nodes = records::text_of(fields, "excluded_nodes");
        job.dependency = printable(records::text_of(fields, "dependency"));
        job.exit_status =
            static_cast<std::int32_t>(std::min<std::uint32_t>(records::small_number(fields, "exit_code"), 0xFFFF));
        job.restarts = records::small_number(fields, "restart_cnt");
        count_gpus_of(fields, job);
        jobs.push_back(std::move(job));
        return {};
      });
  if (!read.ok()) return read.error();
  return jobs;
}

std::string why_out_of_service(const SlurmNode& node) {
  if (node.state == "down") return with_reason("down", node);
  if (node.is_drained()) return with_reason("drained", node);
  if (node.has_flag("NOT_RESPONDING")) return "not responding";
  for (const std::string_view flag :
       {"FAIL", "MAINTENANCE", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "REBOOT_ISSUED"}) {
    if (node.has_flag(flag)) return with_reason(replace_all(to_lower(std::string(flag)), "_", " "), node);
  }
  return node.responds() ? std::string() : with_reason(node.state, node);
}

ObservedNode observe_node(const SlurmNode& node) {
  ObservedNode observed;
  observed.name = node.name;
  observed.state = node.state;
  for (const std::string& flag : node.flags) observed.state += "+" + to_lower(flag);
  observed.out_of_service = why_out_of_service(node);
  observed.usable = observed.out_of_service.empty();
  observed.cpus = node.cpus;
  observed.cpus_used = node.cpus_used;
  observed.gpus = node.gpus;
  observed.gpus_used = node.gpus_used;
  observed.queues = node.partitions;
  if (observed.queues.empty()) observed.queues.emplace_back();  // in no partition: no job may use it
  return observed;
}

NodeFinding judge_node(const SlurmNode& node) {
  if (node.state == "down") {
    const OwnReason* own = find_down_reason(node.reason);
    if (own == nullptr) return {Health::degraded, "", "Slurm: " + with_reason("down", node)};
    return {own->health, std::string(own->rule), fmt::format("Slurm: down, {}", own->sentence)};
  }
  if (node.is_drained()) {
    if (const OwnReason* own = find_reason(kDrainReasons, node.reason))
      return {own->health, std::string(own->rule), "Slurm: " + with_reason("drained", node)};
  }
  if (node.has_flag("NOT_RESPONDING") || node.state == "unknown") return {Health::unknown, "", "Slurm: not responding"};
  if (node.responds()) return {};
  return {Health::degraded, "", "Slurm: " + with_reason(why_out_of_service(node), SlurmNode())};
}

}  // namespace weft::world

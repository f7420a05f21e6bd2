#include "world/slurm/slurm_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "world/slurm/slurm_records.h"

namespace weft::world {
namespace {

namespace records = slurm_records;

constexpr std::string_view kJobFields[] = {"job_id",    "submit_time",  "job_state",      "comment",
                                           "priority",  "state_reason", "nodes",          "node_count",
                                           "exit_code", "restart_cnt",  "required_nodes", "user_id"};

constexpr std::string_view kNodeFields[] = {
    "name",      "state",      "address",           "state_flags", "reason", "reason_set_by_user", "partitions",
    "boot_time", "alloc_cpus", "slurmd_start_time", "gres",        "cpus",   "real_memory",        "gres_used"};

constexpr std::pair<std::string_view, SlurmState> kStates[] = {
    {"PENDING", SlurmState::pending},
    {"CONFIGURING", SlurmState::configuring},
    {"RUNNING", SlurmState::running},
    {"SUSPENDED", SlurmState::suspended},
    {"STOPPED", SlurmState::suspended},
    {"SIGNALING", SlurmState::running},
    {"STAGE_OUT", SlurmState::completing},
    {"COMPLETING", SlurmState::completing},
    {"COMPLETED", SlurmState::completed},
    {"FAILED", SlurmState::failed},
    {"TIMEOUT", SlurmState::timeout},
    {"NODE_FAIL", SlurmState::node_fail},
    {"OUT_OF_MEMORY", SlurmState::out_of_memory},
    {"CANCELLED", SlurmState::canceled},  // words: allow
    {"PREEMPTED", SlurmState::preempted},
    {"BOOT_FAIL", SlurmState::boot_fail},
    {"DEADLINE", SlurmState::deadline},
};

}  // namespace

std::string_view to_text(SlurmState state) {
  for (const auto& [name, value] : kStates) {
    if (value == state) return name;
  }
  return "UNKNOWN";
}

SlurmState parse_slurm_state(std::string_view text) {
  for (const auto& [name, state] : kStates) {
    if (name == text) return state;
  }
  return SlurmState::unknown;
}

bool is_ended(SlurmState state) { return state >= SlurmState::completed && state != SlurmState::unknown; }

bool SlurmNode::has_flag(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

bool SlurmNode::responds() const {
  for (const std::string_view flag :
       {"NOT_RESPONDING", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP", "INVALID_REG"}) {
    if (has_flag(flag)) return false;
  }
  return state == "idle" || state == "mixed" || state == "allocated";
}

Result<std::vector<SlurmJob>> parse_slurm_jobs(std::string_view text, std::string_view comment) {
  std::vector<SlurmJob> jobs;
  const Status read =
      records::read_records(text, "jobs", kJobFields, [&](const records::Fields& fields) -> std::string {
        if (const std::string_view missing = records::find_missing(fields); !missing.empty())
          return fmt::format("a job has no {}", missing);
        SlurmJob job;
        job.comment = records::text_of(fields, "comment");
        if (!job.comment.starts_with(comment)) return {};
        job.id = records::small_number(fields, "job_id");
        job.submitted = records::time_of(fields, "submit_time");
        job.state = parse_slurm_state(records::text_of(fields, "job_state"));
        job.held = records::number_of(fields, "priority") == 0U;
        job.reason = records::text_of(fields, "state_reason");
        job.nodes = records::text_of(fields, "nodes");
        job.required_nodes = records::text_of(fields, "required_nodes");
        job.node_count = records::small_number(fields, "node_count");
        job.exit_status =
            static_cast<std::int32_t>(std::min<std::uint32_t>(records::small_number(fields, "exit_code"), 0xFFFF));
        job.restarts = records::small_number(fields, "restart_cnt");
        job.user = records::small_number(fields, "user_id");
        jobs.push_back(std::move(job));
        return {};
      });
  if (!read.ok()) return read.error();
  return jobs;
}

Result<std::vector<SlurmNode>> parse_slurm_nodes(std::string_view text) {
  std::vector<SlurmNode> nodes;
  const Status read =
      records::read_records(text, "nodes", kNodeFields, [&](const records::Fields& fields) -> std::string {
        SlurmNode node;
        node.name = records::text_of(fields, "name");
        node.state = to_lower(records::text_of(fields, "state"));
        if (node.name.empty()) return "a node has no name";
        if (node.state.empty()) return fmt::format("node {} has no state", node.name);
        node.address = records::text_of(fields, "address");
        node.flags = records::list_of(fields, "state_flags");
        node.reason = records::text_of(fields, "reason");
        node.reason_user = records::text_of(fields, "reason_set_by_user");
        node.partitions = records::list_of(fields, "partitions");
        node.boot_time = records::time_of(fields, "boot_time");
        node.slurmd_start = records::time_of(fields, "slurmd_start_time");
        node.gpus = count_gpus(records::text_of(fields, "gres"));
        node.gpus_used = count_gpus(records::text_of(fields, "gres_used"));
        node.cpus = records::small_number(fields, "cpus");
        node.cpus_used = records::small_number(fields, "alloc_cpus");
        node.memory_mib = records::small_number(fields, "real_memory");
        nodes.push_back(std::move(node));
        return {};
      });
  if (!read.ok()) return read.error();
  return nodes;
}

std::uint32_t count_gpus(std::string_view gres) {
  std::uint32_t total = 0;
  std::string plain;
  int depth = 0;
  for (const char c : gres) {  // sockets and indexes in parentheses contain commas
    depth += c == '(' ? 1 : 0;
    if (depth == 0) plain += c;
    depth -= c == ')' && depth > 0 ? 1 : 0;
  }
  for (const std::string_view resource : split(plain, ',')) {
    const std::vector<std::string_view> parts = split(resource, ':');
    if (parts.front() != "gpu") continue;
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(parts.back().data(), parts.back().data() + parts.back().size(), count);
    const bool valid = error == std::errc() && end == parts.back().data() + parts.back().size();
    if (parts.size() == 1 || !valid) count = 1;
    total += std::min(count, 1024U);
  }
  return total;
}

}  // namespace weft::world

#include "world/slurm/cli_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "world/slurm/slurm_observed.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxList = std::size_t{512} << 20U;
constexpr std::size_t kMaxText = 1U << 20U;

// Texts of slurm_strerror(3). What is not listed is not proven: it counts as ambiguous.
constexpr std::string_view kProvenLater[] = {
    "Unable to contact slurm controller (connect failure)",
    "Required partition not available",
    "Job violates accounting/QOS policy",
    "Requested nodes are busy",
    "Slurm controller is in standby mode",
    "Slurmctld lost resources",
    "Job dependency problem",
    "is in an invalid state",
};
constexpr std::string_view kProvenNever[] = {
    "Invalid partition name",
    "invalid partition specified",
    "Invalid node name",
    "Invalid user id",
    "Invalid account",
    "Invalid qos",
    "Invalid generic resource",
    "Requested node configuration is not available",
    "Requested time limit is invalid",
    "Node count specification invalid",
    "More processors requested than permitted",
    "Access/permission denied",
    "User's group not permitted to use this partition",
    "unrecognized option",
    "Invalid numeric value",
    "Invalid directive found",
    "This does not look like a batch script",
};
constexpr std::string_view kGone[] = {
    "Invalid job id specified",
    "Job/step already completing or completed",
    "Job has already finished",
};

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "7-00:00:00" or "01:00:00" in minutes; 0 for UNLIMITED and for what cannot be read.
std::int64_t parse_minutes(std::string_view text) {
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = parse_number(text.substr(0, dash)).value_or(0);
    text.remove_prefix(dash + 1);
  }
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() != 3) return 0;
  const std::int64_t hours = parse_number(parts[0]).value_or(0);
  const std::int64_t minutes = parse_number(parts[1]).value_or(0);
  if (days > 100'000 || hours > 24 || minutes > 60) return 0;
  return (days * 24 + hours) * 60 + minutes;
}

}  // namespace

ErrorCode classify_failure(std::string_view text) {
  for (const std::string_view known : kGone) {
    if (contains(text, known)) return ErrorCode::not_found;
  }
  for (const std::string_view known : kProvenNever) {
    if (contains(text, known)) return ErrorCode::invalid_input;
  }
  for (const std::string_view known : kProvenLater) {
    if (contains(text, known)) return ErrorCode::unavailable;
  }
  return ErrorCode::timeout;
}

std::vector<std::string> sbatch_arguments(const SlurmSubmission& submission) {
  std::vector<std::string> words = {"--parsable",
                                    "--hold",
                                    "--no-requeue",
                                    "--propagate=NONE",
                                    "--open-mode=append",
                                    "--input=/dev/null",
                                    "--job-name=" + submission.name,
                                    "--comment=" + submission.comment,
                                    "--nodelist=" + join(submission.nodes, ","),
                                    fmt::format("--nodes={}", submission.nodes.size()),
                                    fmt::format("--ntasks-per-node={}", submission.tasks_per_node),
                                    "--chdir=" + submission.directory,
                                    "--output=" + replace_all(submission.output, "%", "%%")};
  if (!submission.account.empty()) words.push_back("--account=" + submission.account);
  if (!submission.partition.empty()) words.push_back("--partition=" + submission.partition);
  if (submission.gpus_per_node > 0) words.push_back(fmt::format("--gres=gpu:{}", submission.gpus_per_node));
  if (submission.exclusive) words.emplace_back("--exclusive");
  if (submission.exclusive || submission.memory_mib > 0)
    words.push_back(fmt::format("--mem={}M", submission.exclusive ? 0 : submission.memory_mib));
  if (submission.cpus_per_task > 0 && !submission.exclusive)
    words.push_back(fmt::format("--cpus-per-task={}", submission.cpus_per_task));
  words.push_back(submission.minutes > 0 ? fmt::format("--time={}", submission.minutes) : "--time=UNLIMITED");
  if (submission.other_user) {
    words.push_back(fmt::format("--uid={}", submission.uid));
    words.push_back(fmt::format("--gid={}", submission.gid));
  }
  return words;
}

Result<std::vector<SlurmPartition>> parse_partitions(std::string_view text) {
  std::vector<SlurmPartition> partitions;
  for (const std::string_view line : split_lines(text)) {
    SlurmPartition partition;
    for (const std::string_view word : split_at_spaces(line)) {
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) continue;
      const std::string_view key = word.substr(0, equals);
      const std::string_view value = word.substr(equals + 1);
      if (key == "PartitionName") partition.name = value;
      if (key == "Default") partition.is_default = value == "YES";
      if (key == "MaxTime") partition.max_minutes = parse_minutes(value);
    }
    if (!partition.name.empty()) partitions.push_back(std::move(partition));
  }
  if (partitions.empty()) return Error{ErrorCode::unavailable, "Slurm has no partition", {}};
  return partitions;
}

ProcessRequest CliClient::make_request(std::vector<std::string> words) const {
  ProcessRequest request;
  request.words = std::move(words);
  request.clean_environment = true;
  request.environment = {{"LC_ALL", "C"}, {"PATH", options_.path}};
  if (!options_.conf.empty()) request.environment.emplace_back("SLURM_CONF", options_.conf);
  request.stopped = [this] { return stopped_.load(); };
  return request;
}

Result<std::string> CliClient::list(std::vector<std::string> words) {
  const std::string program = words.front();
  ProcessRequest request = make_request(std::move(words));
  // Not for sbatch, which passes it on to the job.
  request.environment.emplace_back("SLURM_TIME_FORMAT", "%s");
  request.limit = options_.list_deadline;
  request.most_output = kMaxList;
  Result<ProcessOutcome> outcome = run_process(request);
  if (!outcome.ok()) return Error{ErrorCode::unavailable, outcome.error().text(), program};
  if (outcome->code != 0)
    return Error{ErrorCode::unavailable, fmt::format("exit status {}: {}", outcome->code, trim(outcome->err)), program};
  return std::move(outcome->out);
}

Result<std::string> CliClient::change(std::vector<std::string> words, std::string input) {
  const std::string program = words.front();
  ProcessRequest request = make_request(std::move(words));
  request.input = std::move(input);
  request.limit = options_.change_deadline;
  request.most_output = kMaxText;
  if (stopped_) return Error{ErrorCode::unavailable, "weft is stopping", program};
  Result<ProcessOutcome> outcome = run_process(request);
  // It may have been sent before the deadline.
  if (!outcome.ok()) {
    const bool not_started = outcome.error().code == ErrorCode::not_found;
    return Error{not_started ? ErrorCode::unavailable : ErrorCode::timeout, outcome.error().text(), program};
  }
  if (outcome->code == 127) return Error{ErrorCode::unavailable, std::string(trim(outcome->err)), program};
  // scancel and scontrol report some failures with status 0.
  const bool failed = outcome->code != 0 || contains(outcome->err, "error:");
  if (failed) return Error{classify_failure(outcome->err), std::string(trim(outcome->err)), {}};
  return std::move(outcome->out);
}

Result<std::vector<SlurmJob>> CliClient::list_jobs(const std::string& comment) {
  for (;;) {
    const Result<std::string> table = list(job_table_command(widths_));
    if (!table.ok()) return table.error();
    Result<std::vector<SlurmJob>> jobs = parse_job_table(*table, comment, widths_);
    if (jobs.ok()) return jobs;
    // Wider columns from now on, if a text does not fit; any other table is not what is expected of squeue.
    const bool can_widen = jobs.error().code == ErrorCode::invalid_input && widths_.nodes < kMaxJobTableWidths.nodes;
    if (!can_widen) break;
    widths_ = {std::min(widths_.nodes * 4, kMaxJobTableWidths.nodes),
               std::min(widths_.comment * 2, kMaxJobTableWidths.comment)};
  }
  const Result<std::string> text = list({"squeue", "--json"});
  if (!text.ok()) return text.error();
  return parse_slurm_jobs(*text, comment);
}

Result<std::vector<ObservedJob>> CliClient::list_observed_jobs() {
  const Result<std::string> text = list({"squeue", "--json"});
  if (!text.ok()) return text.error();
  return parse_observed_jobs(*text);
}

Result<std::vector<SlurmNode>> CliClient::list_nodes() {
  const Result<std::string> text = list({"sinfo", "--json"});
  if (!text.ok()) return text.error();
  return parse_slurm_nodes(*text);
}

Result<std::vector<SlurmPartition>> CliClient::list_partitions() {
  const Result<std::string> text = list({"scontrol", "--oneliner", "show", "partition"});
  if (!text.ok()) return text.error();
  return parse_partitions(*text);
}

Result<std::uint32_t> CliClient::submit(const SlurmSubmission& submission) {
  return submit_script(sbatch_arguments(submission), submission.script);
}

Result<std::uint32_t> CliClient::submit_script(std::vector<std::string> arguments, std::string script) {
  arguments.insert(arguments.begin(), "sbatch");
  const Result<std::string> out = change(std::move(arguments), std::move(script));
  if (!out.ok()) return out.error();
  const std::string_view text = trim(*out);
  const std::optional<std::int64_t> id = parse_number(text.substr(0, text.find(';')));  // ";CLUSTER" may follow
  if (!id || *id == 0 || *id > 0xFFFF'FFFE)
    return Error{ErrorCode::timeout, fmt::format("sbatch answered '{}'", text.substr(0, 80)), {}};
  return static_cast<std::uint32_t>(*id);
}

std::vector<Status> CliClient::release(const std::vector<std::uint32_t>& jobs) {
  const Result<std::string> out = change({"scontrol", "release", fmt::format("{}", fmt::join(jobs, ","))});
  if (out.ok()) return std::vector<Status>(jobs.size());
  Error error = out.error();
  // Its messages do not say which of the jobs it has released.
  if (jobs.size() > 1 && error.code != ErrorCode::unavailable) error.code = ErrorCode::timeout;
  return std::vector<Status>(jobs.size(), Status(error));
}

Status CliClient::cancel(std::uint32_t job) {
  const Result<std::string> out = change({"scancel", std::to_string(job)});
  return out.ok() ? Status() : Status(out.error());
}

Status CliClient::signal(std::uint32_t job, int signal) {
  const Result<std::string> out = change({"scancel", fmt::format("--signal={}", signal), std::to_string(job)});
  return out.ok() ? Status() : Status(out.error());
}

Status CliClient::drain(const std::string& node, const std::string& reason) {
  const Result<std::string> out = change({"scontrol", "update", "NodeName=" + node, "State=DRAIN", "Reason=" + reason});
  return out.ok() ? Status() : Status(out.error());
}

// UNDRAIN, not RESUME: a node that is down stays down.
Status CliClient::resume(const std::string& node) {
  const Result<std::string> out = change({"scontrol", "update", "NodeName=" + node, "State=UNDRAIN"});
  return out.ok() ? Status() : Status(out.error());
}

Status CliClient::requeue(const std::string& job, const std::string& /*node*/) {
  const Result<std::string> out = change({"scontrol", "requeue", job});
  return out.ok() ? Status() : Status(out.error());
}

Result<std::string> CliClient::make_token(std::int64_t seconds) {
  const Result<std::string> out = change({"scontrol", "token", fmt::format("lifespan={}", seconds)});
  if (!out.ok()) return out.error();
  const std::size_t equals = out->find('=');
  if (equals == std::string::npos) return Error{ErrorCode::unavailable, "scontrol printed no token", {}};
  return std::string(trim(std::string_view(*out).substr(equals + 1)));
}

}  // namespace weft::world

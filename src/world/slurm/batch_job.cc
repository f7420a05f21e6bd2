#include "world/slurm/batch_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/asset.h"
#include "base/quoting.h"
#include "base/text.h"
#include "world/core/rank_environment.h"
#include "world/local/engine_state.h"
#include "world/local/user_rights.h"

namespace weft::world {
namespace {

using control::StartAttempt;

constexpr std::int64_t kMinute = 60'000'000'000;
constexpr std::int64_t kMargin = 5;  // minutes: weft ends the job at its limit, Slurm only if weft does not
constexpr std::size_t kMaxScript = 2U << 20U;

Error refusal(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

bool has_space(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c == ' ' || is_control(c); });
}

std::string find_problem(const StartAttempt& command, const BatchContext& context) {
  if (command.spec == nullptr) return "the command has no job";
  if (command.slots.empty()) return "the command has no slots";
  for (const sched::Slot& slot : command.slots) {
    if (index_of(slot.node) >= context.nodes.size()) return fmt::format("there is no node {}", index_of(slot.node));
    if (has_space(context.nodes[index_of(slot.node)].name)) return "a node name contains a space";
  }
  const sched::Request& task = command.spec->shape.task;
  if (task.gpus > 0 && !task.whole_gpus()) return "engine slurm cannot share or split GPUs";
  if (std::string problem = find_user_problem(*command.spec); !problem.empty()) return problem;
  if (contains(command.spec->output, "\n") || contains(command.spec->directory, "\n"))
    return "a path contains a line break";
  if (command.checkpoint_path.find('\0') != std::string::npos) return "the path of the checkpoint contains a NUL byte";
  return find_text_problem(*command.spec);
}

std::uint32_t gpus_on(const StartAttempt& command, sched::NodeId node) {
  std::uint16_t mask = 0;
  for (const sched::Slot& slot : command.slots) {
    if (slot.node == node) mask = static_cast<std::uint16_t>(mask | slot.gpus);
  }
  return static_cast<std::uint32_t>(std::popcount(mask));
}

bool takes_whole_nodes(const StartAttempt& command, const BatchContext& context, const GangLayout& layout) {
  return std::all_of(layout.nodes.begin(), layout.nodes.end(), [&](sched::NodeId node) {
    const std::int32_t gpus = context.nodes[index_of(node)].gpus;
    return gpus > 0 && gpus_on(command, node) == static_cast<std::uint32_t>(gpus);
  });
}

// Slurm often has fewer CPUs and less memory of a node than the cluster file, for the system's own use. A task then
// gets the same share of them, so that tasks that weft places side by side also fit in Slurm.
std::int64_t scale(std::int64_t wanted, std::int64_t file, std::int64_t slurm) {
  if (wanted <= 0 || file <= 0 || slurm <= 0 || slurm >= file) return std::max<std::int64_t>(wanted, 0);
  return std::max<std::int64_t>(wanted * slurm / file, 1);
}

struct TaskShare {
  std::int64_t cpus = 0;
  std::int64_t memory_mib = 0;
};
TaskShare share_of(const sched::Request& task, const BatchContext& context, const GangLayout& layout) {
  TaskShare share{(std::int64_t{task.cpu} + 999) / 1000, task.memory_mib};
  const TaskShare wanted = share;
  for (const sched::NodeId node : layout.nodes) {
    const sched::NodeShape& shape = context.nodes[index_of(node)];
    const BatchContext::Host& host = context.hosts[index_of(node)];
    share.cpus = std::min(share.cpus, scale(wanted.cpus, shape.cpu / 1000, host.cpus));
    share.memory_mib = std::min(share.memory_mib, scale(wanted.memory_mib, shape.memory_mib, host.memory_mib));
  }
  return share;
}

std::int64_t limit_in_minutes(Duration limit, std::int64_t partition) {
  if (limit == sched::kUnlimited) return partition;
  const std::int64_t minutes = (limit.count() + kMinute - 1) / kMinute + kMargin;
  return partition > 0 ? std::min(minutes, partition) : minutes;
}

std::string quote_all(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(shell_quote_always(word));
  return join(quoted, " ");
}

// As apptainer names images: a file, or a reference to a registry. Enroot separates the registry with "#".
std::string image_reference(const std::string& image) {
  if (image.empty() || image.front() == '/' || contains(image, "://") || image.ends_with(".sif")) return image;
  return "docker://" + replace_all(image, "#", "/");
}

// Paths that the container gets from its node, at the same place, for --bind. Mounts of a job file are in the variable
// APPTAINER_BIND of the job.
std::vector<std::string> container_binds(const StartAttempt& command, const BatchContext& context,
                                         const std::string& directory) {
  const control::JobSpec& spec = *command.spec;
  std::vector<std::string> wanted = spec.checkpoint.volumes;
  if (directory != "/") wanted.push_back(directory);
  if (spec.checkpoint.notice == control::CheckpointNotice::file) {
    const std::string request = checkpoint_request_file(context.state, command.name);
    wanted.push_back(request.substr(0, request.rfind('/')));
  }
  std::vector<std::string> binds;
  for (std::string& path : wanted) {
    if (std::find(binds.begin(), binds.end(), path) == binds.end()) binds.push_back(std::move(path));
  }
  return binds;
}

std::string find_bind_problem(const std::vector<std::string>& binds) {
  for (const std::string& path : binds) {
    if (path.find_first_of(",:") != std::string_view::npos || std::any_of(path.begin(), path.end(), is_control))
      return fmt::format(
          "the path {} cannot be bound into a container: it contains a comma, a colon or a control "
          "character",
          path);
  }
  return {};
}

std::string make_script(const StartAttempt& command, const BatchContext& context, const GangLayout& layout,
                        const std::string& directory) {
  EnvironmentContext environment{context.state, {}, context.hosts[index_of(layout.nodes.front())].address};
  for (const sched::NodeShape& node : context.nodes) environment.nodes.push_back(node.name);
  Variables variables = common_variables(command, environment, layout);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(layout.node_tasks.front());
  const UserAccount account = find_account(command.spec->uid);
  variables.emplace("HOME", account.home);
  if (!account.name.empty()) variables.emplace("USER", account.name);
  std::vector<std::string> assignments;
  for (const auto& [name, value] : variables) assignments.push_back(fmt::format("{}={}", name, value));
  std::vector<std::string> hosts;
  for (const GangLayout::Rank& rank : layout.ranks) hosts.push_back(environment.nodes[index_of(rank.node)]);
  const std::string image = image_reference(command.spec->image);
  const std::string binds = image.empty() ? "" : join(container_binds(command, context, directory), ",");
  std::vector<std::string> arguments{directory, std::to_string(command.spec->shape.task.gpus),
                                     batch_log(context.state, command.name), image, binds};
  arguments.insert(arguments.end(), command.spec->command.begin(), command.spec->command.end());
  return fill_template(asset<"world/slurm_batch.sh">(),
                       {{"HOSTS", join(hosts, "\n") + "\n"},
                        {"NODES", std::to_string(layout.nodes.size())},
                        {"TASKS", std::to_string(layout.ranks.size())},
                        {"TASKS_PER_NODE", std::to_string(layout.node_tasks.front())},
                        {"OUTPUT", shell_quote_always(log_file(command, context.state, "%t", "%%"))},
                        {"VARIABLES", quote_all(assignments)},
                        {"TASK", shell_quote_always(asset<"world/slurm_task.sh">())},
                        {"ARGUMENTS", quote_all(arguments)},
                        {"END", shell_quote_always(end_file(context.state, command.name))}});
}

}  // namespace

std::string comment_prefix(const std::string& cluster) { return fmt::format("weft:{}:", cluster); }

std::string format_comment(const std::string& cluster, const AttemptMark& mark) {
  return fmt::format("{}{}:{}", comment_prefix(cluster), to_text(mark.name), mark.operation);
}

std::optional<AttemptMark> parse_comment(std::string_view comment, const std::string& cluster) {
  const std::string prefix = comment_prefix(cluster);
  if (!comment.starts_with(prefix)) return std::nullopt;
  comment.remove_prefix(prefix.size());
  const std::size_t colon = comment.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<control::AttemptName> name = parse_attempt_name(comment.substr(0, colon));
  const std::string_view rest = comment.substr(colon + 1);
  AttemptMark mark;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), mark.operation);
  if (!name || name->job == 0 || error != std::errc() || end != rest.data() + rest.size()) return std::nullopt;
  mark.name = *name;
  return mark;
}

std::string end_file(const std::string& state, const control::AttemptName& name) {
  return fmt::format("{}/ends/{}", state, to_text(name));
}

std::string batch_log(const std::string& state, const control::AttemptName& name) {
  return fmt::format("{}/logs/{}.batch.log", state, to_text(name));
}

Result<SlurmSubmission> make_batch_job(const StartAttempt& command, const BatchContext& context) {
  if (std::string problem = find_problem(command, context); !problem.empty()) return refusal(std::move(problem));
  const GangLayout layout = make_layout(command.slots);
  const auto differs = [&](std::size_t tasks) { return tasks != layout.node_tasks.front(); };
  if (std::any_of(layout.node_tasks.begin(), layout.node_tasks.end(), differs))
    return refusal("engine slurm needs the same number of tasks on every node of a job");
  const control::JobSpec& spec = *command.spec;
  const auto tasks = static_cast<std::uint32_t>(layout.node_tasks.front());
  SlurmSubmission job;
  job.name = fmt::format("weft-{}", to_text(command.name));
  for (const sched::NodeId node : layout.nodes) job.nodes.push_back(context.nodes[index_of(node)].name);
  job.comment = format_comment(context.cluster, {command.name, command.operation});
  job.partition = context.partition;
  // As `weft render` names the accounts. A Slurm without accounting takes any name.
  job.account = spec.shape.tenant;
  job.tasks_per_node = tasks;
  job.gpus_per_node = tasks * static_cast<std::uint32_t>(std::max(spec.shape.task.gpus, 0));
  job.exclusive = takes_whole_nodes(command, context, layout);
  const TaskShare share = share_of(spec.shape.task, context, layout);
  job.cpus_per_task = static_cast<std::uint32_t>(std::max<std::int64_t>(share.cpus, 0));
  job.memory_mib = std::max<std::int64_t>(share.memory_mib, 0) * tasks;
  job.minutes = limit_in_minutes(spec.shape.limit, context.max_minutes);
  job.other_user = ::geteuid() == 0 && spec.uid != 0;
  job.uid = spec.uid;
  job.gid = spec.gid;
  const std::string home = find_account(spec.uid).home;
  const bool has_home = ::access(home.c_str(), F_OK) == 0;
  const std::string directory = !spec.directory.empty() ? spec.directory : has_home ? home : "/";
  if (!spec.image.empty()) {
    std::string problem = find_bind_problem(container_binds(command, context, directory));
    if (!problem.empty()) return refusal(std::move(problem));
  }
  job.directory = directory;
  job.output = batch_log(context.state, command.name);
  job.script = make_script(command, context, layout, directory);
  if (job.script.size() > kMaxScript) return refusal("the batch script of the job would be larger than 2 MiB");
  return job;
}

}  // namespace weft::world

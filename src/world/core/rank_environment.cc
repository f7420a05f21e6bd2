#include "world/core/rank_environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"

namespace weft::world {
namespace {

using control::AttemptName;
using control::JobSpec;
using control::StartAttempt;

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::string list_gpus(std::uint16_t mask) {
  std::vector<std::string> gpus;
  for (unsigned gpu = 0; gpu < 16; ++gpu) {
    if ((mask >> gpu & 1U) != 0) gpus.push_back(std::to_string(gpu));
  }
  return join(gpus, ",");
}

std::string in_seconds(Duration duration) {
  std::string text = fmt::format("{}.{:09}", duration.count() / 1'000'000'000, duration.count() % 1'000'000'000);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// Where rank 0 listens. Below the ports that Linux gives to outgoing connections (ip_local_port_range: from 32768).
// Jobs that share a server differ in their numbers, and so in their ports; engines on one server differ in their
// directories; an attempt after one whose port was in use gets another port.
std::uint64_t master_port(const AttemptName& name, const std::string& state) {
  constexpr std::uint64_t kFirstPort = 20'000;
  constexpr std::uint64_t kPorts = 12'768;
  constexpr std::uint64_t kAttemptStride = 7'919;  // a prime: far from the next jobs
  return kFirstPort + (hash64(state) % kPorts + name.job % kPorts + name.attempt % kPorts * kAttemptStride) % kPorts;
}

}  // namespace

GangLayout make_layout(const std::vector<sched::Slot>& slots) {
  GangLayout layout;
  std::map<sched::NodeId, std::size_t> rank_of;
  for (const sched::Slot& slot : slots) {
    const auto [found, is_new] = rank_of.emplace(slot.node, layout.nodes.size());
    if (is_new) {
      layout.nodes.push_back(slot.node);
      layout.node_tasks.push_back(0);
    }
    layout.ranks.push_back({slot.node, found->second, layout.node_tasks[found->second]++});
  }
  return layout;
}

Variables common_variables(const StartAttempt& command, const EnvironmentContext& context, const GangLayout& layout) {
  std::vector<std::string> nodes;
  for (const sched::NodeId node : layout.nodes) nodes.push_back(context.nodes[index_of(node)]);
  Variables variables;
  variables["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  variables["LANG"] = "C.UTF-8";
  for (const auto& [name, value] : command.spec->environment) variables[name] = value;
  variables["MASTER_ADDR"] = context.master;
  variables["MASTER_PORT"] = std::to_string(master_port(command.name, context.state));
  variables["WORLD_SIZE"] = std::to_string(command.slots.size());
  variables["GROUP_WORLD_SIZE"] = std::to_string(layout.nodes.size());
  variables["WEFT_JOB_ID"] = std::to_string(command.name.job);
  variables["WEFT_ATTEMPT"] = std::to_string(command.name.attempt);
  variables["WEFT_NODELIST"] = join(nodes, ",");
  variables["WEFT_CHECKPOINT_DIRS"] = join(job_checkpoint_directories(*command.spec, command.name.job), ":");
  variables["WEFT_RESTORE"] = command.checkpoint_path;
  variables["WEFT_CHECKPOINT_INTERVAL"] = in_seconds(command.checkpoint_interval);
  variables["WEFT_CHECKPOINT_REQUEST"] = checkpoint_request_file(context.state, command.name);
  return variables;
}

Variables rank_variables(const StartAttempt& command, const EnvironmentContext& context, const GangLayout& layout,
                         std::size_t rank) {
  const GangLayout::Rank& place = layout.ranks[rank];
  Variables variables;
  variables["WEFT_NODE"] = context.nodes[index_of(place.node)];
  variables["NODE_RANK"] = variables["GROUP_RANK"] = std::to_string(place.node_rank);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(layout.node_tasks[place.node_rank]);
  variables["RANK"] = std::to_string(rank);
  variables["LOCAL_RANK"] = std::to_string(place.local_rank);
  variables["CUDA_VISIBLE_DEVICES"] = list_gpus(command.slots[rank].gpus);
  return variables;
}

std::string log_file(const StartAttempt& command, const std::string& state, std::string_view task,
                     std::string_view percent) {
  const std::string& pattern = command.spec->output;
  if (pattern.empty()) {
    const std::string folder = replace_all(state, "%", percent);
    return fmt::format("{}/logs/{}.{}.{}.log", folder, command.name.job, command.name.attempt, task);
  }
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char kind = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (kind == 'j') path += std::to_string(command.name.job);
    if (kind == 'a') path += std::to_string(command.name.attempt);
    if (kind == 't') path += task;
    if (kind == '%') path += percent;
    if (kind == 'j' || kind == 'a' || kind == 't' || kind == '%') {
      ++i;
    } else if (pattern[i] == '%') {
      path += percent;
    } else {
      path += pattern[i];
    }
  }
  return path;
}

std::string find_text_problem(const JobSpec& spec) {
  if (spec.command.empty() || spec.command.front().empty()) return "the job has no command";
  if (std::any_of(spec.command.begin(), spec.command.end(), has_nul)) return "the command contains a NUL byte";
  for (const auto& [name, value] : spec.environment) {
    if (name.empty() || contains(name, "=") || has_nul(name) || has_nul(value))
      return fmt::format("the environment variable '{}' is not valid",
                         replace_all(name, std::string_view("\0", 1), "?"));
  }
  if (has_nul(spec.directory) || has_nul(spec.output)) return "a path contains a NUL byte";
  for (const std::string& volume : spec.checkpoint.volumes) {
    if (!volume.starts_with('/') || has_nul(volume) || contains(volume, ":"))
      return fmt::format("the checkpoint volume '{}' is not an absolute path without colons", volume);
  }
  return {};
}

std::string find_user_problem(const JobSpec& spec) {
  if (::geteuid() == 0 || (spec.uid == ::geteuid() && spec.gid == ::getegid())) return {};
  return fmt::format("weft runs as user {} and cannot run jobs of user {}:{}", ::geteuid(), spec.uid, spec.gid);
}

std::string job_checkpoint_directory(const std::string& volume, control::JobNumber job) {
  return fmt::format("{}/job-{}", volume, job);
}

std::vector<std::string> job_checkpoint_directories(const JobSpec& spec, control::JobNumber job) {
  std::vector<std::string> directories;
  for (const std::string& volume : spec.checkpoint.volumes)
    directories.push_back(job_checkpoint_directory(volume, job));
  return directories;
}

std::string checkpoint_request_file(const std::string& state, const AttemptName& name) {
  return fmt::format("{}/requests/{}", state, to_text(name));
}

std::string to_text(const AttemptName& name) { return fmt::format("{}.{}", name.job, name.attempt); }

}  // namespace weft::world

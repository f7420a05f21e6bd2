// What a file leaves out: owner, pools, the resources of one task, limits. And the checks of the whole.
#include "serve/submit/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/asset.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"
#include "model/job.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxArguments = 10'000;
constexpr std::size_t kMaxArgumentBytes = (128U << 10U) - 1;  // MAX_ARG_STRLEN of Linux, with the final NUL
constexpr std::size_t kMaxCommandBytes = 1U << 20U;
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();

// Set for every task by the engine.
constexpr std::array<std::string_view, 8> kEngineVariables = {
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT"};

// Options of torchrun with a value that the engine replaces, without dashes and with '_' for '-'.
constexpr std::array<std::string_view, 11> kReplacedOptions = {
    "nnodes",  "nproc_per_node", "node_rank",   "max_restarts", "rdzv_backend", "rdzv_endpoint",
    "rdzv_id", "rdzv_conf",      "master_addr", "master_port",  "local_addr"};
// Its other options with a value.
constexpr std::array<std::string_view, 8> kKeptOptions = {"role", "log_dir", "redirects",        "r",
                                                          "tee",  "t",       "monitor_interval", "start_method"};

std::int32_t to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, 0, kMaxInt32));
}

const model::PartitionSpec* partition_of(const model::Cluster& cluster, std::string_view name) {
  for (const model::PartitionSpec& partition : cluster.spec().partitions.value) {
    if (partition.name->text == name) return &partition;
  }
  return nullptr;
}

class DraftFinisher {
 public:
  DraftFinisher(JobDraft draft, const SubmitContext& context) : draft_(std::move(draft)), context_(context) {}

  std::optional<control::JobSpec> finish() {
    control::JobSpec& spec = draft_.spec;
    spec.uid = context_.submitter.uid;
    spec.gid = context_.submitter.gid;
    spec.shape.user = context_.submitter.user;
    check_name();
    if (!draft_.resolved) resolve_owner();
    set_pools();
    set_size();
    set_request();
    set_priority();
    set_limit();
    set_files();
    check_command();
    check_environment();
    if (context_.failed()) return std::nullopt;
    if (const std::string problem = sched::problem_of(spec.shape); !problem.empty()) {
      context_.error(draft_.place, problem);
      return std::nullopt;
    }
    return std::move(spec);
  }

 private:
  [[nodiscard]] SourceLocation place_of(const SourceLocation& place) const {
    return place.known() ? place : draft_.place;
  }

  void check_name() {
    const std::string& name = draft_.name.value;
    const auto plain = [](char c) { return is_letter_or_digit(c) || contains("-_.+:@=", std::string_view(&c, 1)); };
    if (!name.empty() && name.size() <= kMaxName && (is_letter_or_digit(name.front()) || name.front() == '_') &&
        std::all_of(name.begin(), name.end(), plain)) {
      draft_.spec.shape.name = name;
      return;
    }
    context_.error(place_of(draft_.name.place), fmt::format("{} is not a valid job name", in_backticks(name)),
                   fmt::format("use letters, digits and -_.+:@=, at most {} characters", kMaxName), name.size());
  }

  // By the rules of job files (model/job.h), which also report what is unknown or not allowed.
  void resolve_owner() {
    model::JobSpec job;
    job.place = draft_.place;
    job.name.derive({"job"});
    job.nodes.derive(1);
    job.gpus_per_node = given_at(std::max<std::int64_t>(1, draft_.gpus.value), place_of(draft_.gpus.place));
    job.command.derive({"job"});
    job.tenant = draft_.tenant;
    if (!context_.submitter.tenant.empty()) job.tenant = given_at(context_.submitter.tenant, draft_.place);
    job.partition = draft_.partition;
    job.pool = draft_.pool;
    job.priority = draft_.priority;
    job.time_limit = draft_.time_limit;
    if (!job.pool.has_value() && job.partition.has_value()) derive_pool(job);
    model::resolve(job, context_.cluster, context_.diagnostics, context_.submitter.allowed_tenants());
    draft_.tenant = job.tenant;
    draft_.partition = job.partition;
    draft_.pool = job.pool;
    draft_.priority = job.priority;
    draft_.time_limit = job.time_limit;
    if (draft_.unlimited_time && job.time_limit.has_value()) {
      context_.warn(draft_.place, fmt::format("no time limit requested, but partition `{}` has a limit of {}",
                                              job.partition.value, weft::to_text(job.time_limit.value)));
    }
  }

  // The first pool of the partition that the machine has.
  void derive_pool(model::JobSpec& job) {
    const model::PartitionSpec* partition = partition_of(context_.cluster, job.partition.value);
    if (partition == nullptr) {
      // An unknown name, which resolve() reports only if there is a pool.
      return;
    }
    for (const std::string& pool : partition->pools.value) {
      if (pool_bit(context_.machine, pool) == 0) continue;
      job.pool.derive(pool);
      return;
    }
    context_.error(place_of(job.partition.place),
                   fmt::format("partition `{}` has no GPU servers", job.partition.value));
  }

  void set_pools() {
    std::uint64_t pools = draft_.pool.has_value() ? pool_bit(context_.machine, draft_.pool.value) : 0;
    const model::PartitionSpec* partition = partition_of(context_.cluster, draft_.partition.value);
    if (draft_.all_pools && partition != nullptr) {
      for (const std::string& pool : partition->pools.value) pools |= pool_bit(context_.machine, pool);
    }
    if (draft_.pools != 0) {
      if (pools != 0 && (pools & draft_.pools) == 0) {
        context_.error(draft_.place, fmt::format("no pool of partition `{}` meets the constraints of the job",
                                                 draft_.partition.value));
        return;
      }
      pools = pools == 0 ? draft_.pools : pools & draft_.pools;
    }
    draft_.spec.shape.task.pools = pools;
    draft_.spec.shape.task.models = draft_.models;
    draft_.spec.shape.tenant = draft_.tenant.has_value() ? draft_.tenant.value : std::string();
  }

  void set_size() {
    sched::Job& shape = draft_.spec.shape;
    const std::int64_t nodes = draft_.nodes.value;
    const std::int64_t fewest = draft_.min_nodes.has_value() ? draft_.min_nodes.value : nodes;
    const SourceLocation place = place_of(draft_.min_nodes.has_value() ? draft_.min_nodes.place : draft_.nodes.place);
    if (nodes < 1 || nodes > sched::kMaxTasks) {
      return context_.error(place_of(draft_.nodes.place),
                            fmt::format("{} nodes requested; expected 1 to {}", nodes, sched::kMaxTasks));
    }
    if (fewest < 1 || fewest > nodes) {
      return context_.error(place, fmt::format("the minimum of {} nodes is not between 1 and {}", fewest, nodes));
    }
    if (fewest < nodes && !context_.cluster.spec().workload->elastic.value) {
      return context_.error(place, "elastic jobs are disabled in the cluster file",
                            "request a fixed number of nodes, or set `workload.elastic: true`");
    }
    shape.tasks = static_cast<std::int32_t>(nodes);
    shape.min_tasks = fewest < nodes ? static_cast<std::int32_t>(fewest) : 0;
  }

  // Threads per core where every pool that the job may use has hyper-threading.
  [[nodiscard]] std::int64_t threads() const {
    const std::uint64_t pools = draft_.spec.shape.task.pools;
    for (std::size_t i = 0; i < context_.machine.pools.size(); ++i) {
      if (pools != 0 && ((pools >> i) & 1U) == 0) continue;
      if (threads_per_core(context_.cluster, context_.machine.pools[i]) == 1) return 1;
    }
    return 2;
  }

  // The smallest node that can run a task; its share is requested where the file gives no amount.
  [[nodiscard]] std::optional<sched::NodeShape> smallest_node() const {
    std::optional<sched::NodeShape> least;
    bool differ = false;
    for (const sched::NodeShape& node : context_.machine.nodes()) {
      if (!sched::accepts(draft_.spec.shape.task, node) || node.gpus < draft_.gpus.value) continue;
      if (!least) {
        least = node;
        continue;
      }
      differ = differ || node.gpus != least->gpus || node.cpu != least->cpu || node.memory_mib != least->memory_mib;
      least->gpus = std::min(least->gpus, node.gpus);
      least->cpu = std::min(least->cpu, node.cpu);
      least->memory_mib = std::min(least->memory_mib, node.memory_mib);
    }
    if (differ && draft_.exclusive) {
      context_.warn(draft_.place,
                    "the servers that the job may use differ: on larger ones it does not get the whole server",
                    "restrict it to one pool");
    }
    return least;
  }

  void set_request() {
    sched::Request& task = draft_.spec.shape.task;
    const std::optional<sched::NodeShape> node = smallest_node();
    if (!node) return report_no_node();
    const std::int64_t cpu = (std::min(draft_.cpu_milli.value, kMaxInt32) + threads() - 1) / threads();
    task.gpus = draft_.exclusive ? node->gpus : to_int32(draft_.gpus.value);
    // The share of the node: by GPUs, or by CPUs for a job without GPUs.
    std::int64_t part = task.gpus;
    std::int64_t whole = std::max<std::int32_t>(1, node->gpus);
    if (draft_.exclusive) part = whole;
    if (part == 0) {
      part = std::min<std::int64_t>(std::max<std::int64_t>(cpu, 1000), node->cpu);
      whole = std::max(1, node->cpu);
    }
    task.cpu = to_int32(multiply_divide(node->cpu, part, whole));
    if (draft_.cpu_milli.has_value() && !draft_.exclusive) task.cpu = to_int32(cpu);
    task.memory_mib = to_int32(multiply_divide(node->memory_mib, part, whole));
    if (draft_.memory_mib.has_value()) task.memory_mib = to_int32(draft_.memory_mib.value);
    if (draft_.all_memory) task.memory_mib = node->memory_mib;
    task.scratch_gib = to_int32(draft_.scratch_gib.value);
  }

  void report_no_node() {
    if (context_.failed()) return;  // a name that is unknown
    context_.error(place_of(draft_.gpus.place),
                   fmt::format("no server that the job may use has {} GPUs{}", draft_.gpus.value,
                               draft_.models != 0 ? " of this model" : ""),
                   draft_.pool.has_value() ? fmt::format("it may use pool `{}`", draft_.pool.value) : std::string());
  }

  void set_priority() {
    if (!draft_.priority.has_value()) return;
    for (const model::PrioritySpec& priority : context_.cluster.spec().priorities.value) {
      if (priority.name->text != draft_.priority.value) continue;
      draft_.spec.shape.priority =
          static_cast<std::int32_t>(std::clamp<std::int64_t>(priority.value.value, -kMaxInt32, kMaxInt32));
      draft_.spec.shape.preemptible = priority.preemptible.value;
    }
  }

  void set_limit() {
    if (draft_.time_limit.has_value()) draft_.spec.shape.limit = draft_.time_limit.value;
    sched::Job& shape = draft_.spec.shape;
    if (shape.grace.count() == 0) shape.grace = default_grace(context_.cluster);
  }

  void set_files() {
    control::JobSpec& spec = draft_.spec;
    const std::string& home = context_.submitter.directory;
    if (spec.directory.empty()) spec.directory = home;
    if (!spec.directory.starts_with("/")) spec.directory = home + "/" + spec.directory;
    if (!spec.output.empty() && !spec.output.starts_with("/")) spec.output = spec.directory + "/" + spec.output;
    for (const std::string& path : {spec.directory, spec.output}) {
      if (!path.empty() && !is_absolute_path(path)) {
        context_.error(draft_.place, fmt::format("{} is not a valid path", in_backticks(path)),
                       "leave out `..` and control characters");
      }
    }
  }

  void check_command() {
    std::size_t bytes = 0;
    for (const std::string& word : draft_.spec.command) {
      bytes += word.size() + 1;
      if (word.find('\0') != std::string::npos) {
        return context_.error(draft_.place, "the command contains a NUL byte");
      }
      if (word.size() > kMaxArgumentBytes) {
        return context_.error(draft_.place, fmt::format("an argument of the command has {} bytes; Linux allows {}",
                                                        word.size(), kMaxArgumentBytes));
      }
    }
    if (draft_.spec.command.size() > kMaxArguments || bytes > kMaxCommandBytes) {
      context_.error(draft_.place, fmt::format("the command is too long: at most {} arguments and {} bytes",
                                               kMaxArguments, kMaxCommandBytes));
    }
  }

  void check_environment() {
    if (draft_.spec.environment.size() <= kMaxVariables) return;
    context_.error(draft_.place, fmt::format("{} environment variables; at most {} are allowed",
                                             draft_.spec.environment.size(), kMaxVariables));
  }

  JobDraft draft_;
  const SubmitContext& context_;
};

template <class Names>
bool is_any_of(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The option of torchrun that a word is, in its usual form: "--rdzv-id=a" is "rdzv_id".
std::string option_name(std::string_view word) {
  if (!word.starts_with("-")) return {};
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return replace_all(std::string(word.substr(0, word.find('='))), "-", "_");
}

bool is_python(std::string_view word) {
  const std::string_view name = word.substr(word.find_last_of('/') + 1);
  return name == "python" || name == "python3";
}

// The number of words that start torchrun: 1, 3 for `python -m torch.distributed.run`, or 0.
std::size_t torchrun_words(const std::vector<std::string>& words) {
  if (words.empty()) return 0;
  const std::string_view first = words[0];
  if (first.substr(first.find_last_of('/') + 1) == "torchrun") return 1;
  const bool module = words.size() > 2 && is_python(first) && words[1] == "-m";
  return module && (words[2] == "torch.distributed.run" || words[2] == "torch.distributed.launch") ? 3 : 0;
}

// What torchrun's own options say of the job, in their text form; "" if they are absent.
struct TorchrunOptions {
  std::string nodes;      // "8" or "4:8"
  std::string processes;  // per node: a number, "gpu" or "auto"
};

// Removes the options for rendezvous and restarts, from word `from` to the script.
TorchrunOptions drop_rendezvous(std::vector<std::string>& words, std::size_t from) {
  TorchrunOptions found;
  std::vector<std::string> kept(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(from));
  std::size_t i = from;
  while (i < words.size() && words[i].starts_with("-")) {
    const std::string name = option_name(words[i]);
    const std::size_t equals = words[i].find('=');
    const bool replaced = is_any_of(name, kReplacedOptions) || name == "standalone";
    const bool has_next =
        equals == std::string::npos && name != "standalone" && (replaced || is_any_of(name, kKeptOptions));
    const std::size_t end = std::min(words.size(), i + (has_next ? 2 : 1));
    const std::string value = equals != std::string::npos ? words[i].substr(equals + 1) : words[end - 1];
    if (name == "nnodes") found.nodes = value;
    if (name == "nproc_per_node") found.processes = value;
    for (; i < end; ++i) {
      if (!replaced) kept.push_back(words[i]);
    }
    if (name == "m" || name == "module") break;  // the module follows
  }
  for (; i < words.size(); ++i) kept.push_back(words[i]);
  words = std::move(kept);
  return found;
}

// "4:8" on eight nodes: the job can continue with four.
void set_elastic(JobDraft& draft, std::string_view range) {
  const std::size_t colon = range.find(':');
  if (colon == std::string_view::npos || draft.min_nodes.has_value()) return;
  const Result<std::int64_t> least = parse_integer(range.substr(0, colon));
  const Result<std::int64_t> most = parse_integer(range.substr(colon + 1));
  if (!least.ok() || !most.ok() || *most != draft.nodes.value || *least < 1 || *least > *most) return;
  draft.min_nodes = given_at(*least, draft.nodes.place);
}

}  // namespace

std::optional<control::JobSpec> finish_draft(JobDraft draft, const SubmitContext& context) {
  return DraftFinisher(std::move(draft), context).finish();
}

SourceLocation place_at(FileId file, std::size_t line, std::size_t column) {
  return {file, static_cast<std::uint16_t>(std::min<std::size_t>(column, 65535)), static_cast<std::uint32_t>(line)};
}

std::optional<std::int64_t> read_count(const SubmitContext& context, std::string_view text, std::string_view what,
                                       std::int64_t low, std::int64_t high, const SourceLocation& place) {
  const Result<std::int64_t> value = parse_integer(text);
  if (value.ok() && *value >= low && *value <= high) return *value;
  context.error(place,
                fmt::format("{} is {}, not a whole number between {} and {}", what, in_backticks(text), low, high), {},
                text.size());
  return std::nullopt;
}

std::uint64_t models_named(const SubmitContext& context, std::string_view name, const SourceLocation& place) {
  const std::vector<std::string>& models = context.machine.models;
  std::uint64_t bits = 0;
  std::vector<std::string_view> types;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string_view type = std::string_view(models[i]).substr(0, models[i].find('-'));
    types.push_back(type);
    if (equals_ignoring_case(models[i], name) || equals_ignoring_case(type, name)) bits |= std::uint64_t{1} << i;
  }
  if (bits == 0) {
    context.error(place, fmt::format("the cluster has no GPU of type {}", in_backticks(name)),
                  fmt::format("it has {}", join(types, ", ", " and ")), name.size());
  }
  return bits;
}

std::uint64_t pool_bit(const sched::Machine& machine, std::string_view pool) {
  const auto found = std::find(machine.pools.begin(), machine.pools.end(), pool);
  return found == machine.pools.end() ? 0 : std::uint64_t{1} << static_cast<unsigned>(found - machine.pools.begin());
}

NodeSize node_size(const JobDraft& draft, const SubmitContext& context) {
  std::uint64_t pools = draft.pools;
  if (const model::PartitionSpec* partition = partition_of(context.cluster, draft.partition.value)) {
    for (const std::string& pool : partition->pools.value) pools |= pool_bit(context.machine, pool);
  }
  for (const sched::NodeShape& node : context.machine.nodes()) {
    const bool fits =
        (pools == 0 || ((pools >> static_cast<unsigned>(node.pool)) & 1U) != 0) &&
        (draft.models == 0 || node.model < 0 || ((draft.models >> static_cast<unsigned>(node.model)) & 1U) != 0);
    if (!fits) continue;
    const std::string& pool = context.machine.pools[static_cast<std::size_t>(node.pool)];
    return {node.gpus, node.cpu / 1000 * threads_per_core(context.cluster, pool)};
  }
  return {};
}

void set_variable(JobDraft& draft, const SubmitContext& context, std::string_view name, std::string value,
                  const SourceLocation& place) {
  if (!is_variable_name(name)) {
    return context.error(place, fmt::format("{} is not a valid variable name", in_backticks(name)),
                         "use letters, digits and underscores, and do not start with a digit", name.size());
  }
  if (std::find(kEngineVariables.begin(), kEngineVariables.end(), name) != kEngineVariables.end() ||
      name.starts_with("WEFT_")) {
    return context.warn(place, fmt::format("`{}` is ignored: weft sets it for every task", name), {}, name.size());
  }
  const auto forbidden = [](char c) { return is_control(c) && c != '\n' && c != '\t'; };
  if (std::any_of(value.begin(), value.end(), forbidden)) {
    return context.error(place, fmt::format("`{}` contains control characters", name), {}, name.size());
  }
  if (name.size() + value.size() + 2 > kMaxArgumentBytes) {
    return context.error(place,
                         fmt::format("`{}` has {} bytes; Linux allows {}", name, value.size(), kMaxArgumentBytes));
  }
  auto& all = draft.spec.environment;
  const auto same = std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == name; });
  if (same != all.end()) {
    same->second = std::move(value);
  } else {
    all.emplace_back(name, std::move(value));
  }
}

void set_command(JobDraft& draft, std::vector<std::string> words, std::int64_t processes_per_node) {
  std::string processes = std::to_string(processes_per_node);
  if (const std::size_t launcher = torchrun_words(words); launcher > 0) {
    const TorchrunOptions options = drop_rendezvous(words, launcher);
    if (!options.processes.empty()) processes = options.processes;
    set_elastic(draft, options.nodes);
  }
  auto& variables = draft.spec.environment;
  std::erase_if(variables, [](const auto& entry) { return entry.first.starts_with("PET_"); });
  variables.emplace_back("PET_NPROC_PER_NODE", std::move(processes));
  variables.emplace_back("PET_MAX_RESTARTS", "0");  // weft restarts the job, from a verified checkpoint
  draft.spec.command = {"/bin/sh", "-c", std::string(asset<"serve/launch.sh">()), "launch"};
  draft.spec.command.insert(draft.spec.command.end(), words.begin(), words.end());
}

Duration default_grace(const model::Cluster& cluster) {
  return std::max(sched::seconds(30), cluster.spec().workload->checkpoint_time.value);
}

void set_checkpoints(JobDraft& draft, const SubmitContext& context, std::vector<std::string> volumes) {
  const model::WorkloadSpec& workload = context.cluster.spec().workload.value;
  control::CheckpointPolicy& policy = draft.spec.checkpoint;
  policy.volumes = std::move(volumes);
  policy.write_time = workload.checkpoint_time.value;
  // Until it has been measured: what the cluster file expects of its jobs.
  if (!policy.volumes.empty()) draft.spec.shape.checkpoint_interval = workload.checkpoint_interval.value;
}

bool is_variable_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

bool is_absolute_path(std::string_view path) {
  if (!path.starts_with("/") || std::any_of(path.begin(), path.end(), is_control)) return false;
  const std::vector<std::string_view> parts = split(path, '/');
  return std::find(parts.begin(), parts.end(), "..") == parts.end();
}

int threads_per_core(const model::Cluster& cluster, std::string_view pool) {
  for (const model::PoolSpec& each : cluster.spec().pools.value) {
    if (each.name->text == pool) return each.bios->hyper_threading.value ? 2 : 1;
  }
  return 1;
}

}  // namespace weft::serve

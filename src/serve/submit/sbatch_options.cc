#include "serve/submit/sbatch_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "serve/submit/slurm_formats.h"

namespace weft::serve {
namespace {

constexpr std::int64_t kMaxCount = 10'000'000;    // of tasks, CPUs, GPUs
constexpr std::int64_t kDefaultSwitchWait = 300;  // seconds; Slurm's max_switch_wait
constexpr std::int64_t kMib = 1024;               // in GiB

enum class Takes { nothing, value, maybe };
enum class Treatment { read, ignored, warned, refused };

struct BatchOption {
  std::string_view name;
  char letter;  // '\0': none
  Takes takes;
  Treatment treatment;
  void (*read)(BatchRequest& request, const OptionUse& use) = nullptr;
  std::string_view reason = {};  // of a warning or refusal
};

std::string feature_text(std::string_view key, std::string_view value) {
  std::string out(key);
  if (!value.empty()) out += "-" + std::string(value);
  for (char& c : out) {
    if (!is_letter_or_digit(c) && c != '-' && c != '_' && c != '.') c = '_';
  }
  return out;
}

// What each option does.

Sourced<std::int64_t> count_of(const BatchRequest& o, const OptionUse& use, std::int64_t high) {
  const std::optional<std::int64_t> value =
      read_count(o.context, use.value, fmt::format("--{}", use.name), 1, high, use.place);
  return value ? given_at(*value, use.place) : Sourced<std::int64_t>();
}

void invalid(const BatchRequest& o, const OptionUse& use, const std::string& message) {
  o.context.error(use.place, fmt::format("--{}: {}", use.name, message), {}, use.length);
}

void nodes(BatchRequest& o, const OptionUse& use) {
  const Result<NodeRange> range = parse_node_range(use.value);
  if (!range.ok()) return invalid(o, use, range.error().message);
  o.draft.nodes = given_at(range->max, use.place);
  o.draft.min_nodes = given_at(range->min, use.place);
}
template <Sourced<std::int64_t> BatchRequest::*member>
void number(BatchRequest& o, const OptionUse& use) {
  o.*member = count_of(o, use, kMaxCount);
}
template <Sourced<std::int64_t> BatchRequest::*member>
void size(BatchRequest& o, const OptionUse& use) {
  const Result<std::int64_t> mib = parse_slurm_size(use.value);
  if (!mib.ok()) return invalid(o, use, mib.error().message);
  o.*member = given_at(*mib, use.place);
}
template <Sourced<std::string> JobDraft::*member>
void text(BatchRequest& o, const OptionUse& use) {
  o.draft.*member = given_at(use.value, use.place);
}
void take_gpus(BatchRequest& o, const OptionUse& use, std::string_view value, Sourced<std::int64_t>& out) {
  const Result<GpuCount> gpus = parse_gpu_count(value);
  if (!gpus.ok()) return invalid(o, use, gpus.error().message);
  if (gpus->count > kMaxCount) return invalid(o, use, fmt::format("{} is more than any cluster has", gpus->count));
  out = given_at(gpus->count, use.place);
  if (!gpus->type.empty()) o.draft.models = models_named(o.context, gpus->type, use.place);
}
template <Sourced<std::int64_t> BatchRequest::*member>
void gpus(BatchRequest& o, const OptionUse& use) {
  take_gpus(o, use, use.value, o.*member);
}
void gres(BatchRequest& o, const OptionUse& use) {
  if (use.value == "none" || use.value == "NONE") return;
  for (std::string_view part : split(use.value, ',')) {
    if (part.starts_with("gres:")) part.remove_prefix(5);
    if (part == "gpu") {
      o.gpus_per_node = given_at<std::int64_t>(1, use.place);
    } else if (part.starts_with("gpu:")) {
      take_gpus(o, use, part.substr(4), o.gpus_per_node);
    } else {
      invalid(o, use, fmt::format("unknown resource {}: only gpu is supported", in_backticks(part)));
    }
  }
}
void exclusive(BatchRequest& o, const OptionUse& use) {
  if (!use.value.empty()) {
    return invalid(o, use, fmt::format("{} is not supported", in_backticks(use.value)));
  }
  o.draft.exclusive = true;
}
// The whole script runs in it, on every node.
void container_image(BatchRequest& o, const OptionUse& use) {
  if (o.context.submitter.containers != ContainerRuntime::none) {
    o.draft.spec.image = use.value;
  } else if (o.context.submitter.image.empty()) {
    o.context.warn(use.place, "--container-image: not used: the job runs on the host, not in a container", {},
                   use.length);
  }
}
void time(BatchRequest& o, const OptionUse& use) {
  const Result<Duration> limit = parse_slurm_time(use.value);
  if (!limit.ok()) return invalid(o, use, limit.error().message);
  o.draft.unlimited_time = *limit == sched::kUnlimited;
  o.draft.time_limit = o.draft.unlimited_time ? Sourced<Duration>() : given_at(*limit, use.place);
}
void signal(BatchRequest& o, const OptionUse& use) {
  const Result<SlurmSignal> signal = parse_slurm_signal(use.value);
  if (!signal.ok()) return invalid(o, use, signal.error().message);
  control::CheckpointPolicy& policy = o.draft.spec.checkpoint;
  policy.notice = control::CheckpointNotice::signal;
  policy.notice_signal = signal->number;
  o.draft.spec.shape.grace = sched::seconds(signal->seconds);
  o.draft.spec.shape.checkpoint_on_notice = true;
  o.forwarded_signal = signal->batch ? std::string() : std::to_string(signal->number);
}
void directory(BatchRequest& o, const OptionUse& use) { o.draft.spec.directory = use.value; }
void output(BatchRequest& o, const OptionUse& use) { o.output = given_at(use.value, use.place); }
void error_file(BatchRequest& o, const OptionUse& use) { o.error = given_at(use.value, use.place); }
void input(BatchRequest& o, const OptionUse& use) {
  if (use.value != "/dev/null" && use.value != "none") invalid(o, use, "only /dev/null is supported");
}
void no_requeue(BatchRequest& o, const OptionUse& use) {
  o.never_requeue = true;
  o.context.warn(use.place, "the job is still restarted after it is preempted or loses a node",
                 "weft restarts jobs; only a failure of the script itself is final", use.length);
}
void requeue(BatchRequest& o, const OptionUse& /*use*/) { o.never_requeue = false; }
void no_kill(BatchRequest& o, const OptionUse& use) {
  if (use.value == "off" || !o.draft.min_nodes.has_value() || o.draft.min_nodes.value < o.draft.nodes.value) return;
  o.context.warn(use.place, "a job that loses a node is restarted on other nodes",
                 "for a job that continues with fewer nodes, request a range such as --nodes=4-8", use.length);
}
void tmp(BatchRequest& o, const OptionUse& use) {
  const Result<std::int64_t> mib = parse_slurm_size(use.value);
  if (!mib.ok()) return invalid(o, use, mib.error().message);
  o.draft.scratch_gib = given_at((*mib + kMib - 1) / kMib, use.place);
}
// As few leaf groups as possible is the default; one of them can be waited for.
void switches(BatchRequest& o, const OptionUse& use) {
  const std::size_t at = use.value.find('@');
  const std::optional<std::int64_t> count =
      read_count(o.context, use.value.substr(0, at), "--switches", 1, kMaxCount, use.place);
  if (!count) return;
  sched::Job& shape = o.draft.spec.shape;
  shape.preferred = *count == 1 ? sched::Level::leaf : sched::Level::pod;
  shape.preference_wait = sched::seconds(kDefaultSwitchWait);
  if (at == std::string::npos) return;
  const Result<Duration> wait = parse_slurm_time(use.value.substr(at + 1));
  if (!wait.ok()) return invalid(o, use, wait.error().message);
  shape.preference_wait = *wait;
}
void segment(BatchRequest& o, const OptionUse& use) {
  const Sourced<std::int64_t> tasks = count_of(o, use, sched::kMaxTasks);
  if (tasks.has_value()) o.draft.spec.shape.segment = static_cast<std::int32_t>(tasks.value);
}
void export_variables(BatchRequest& o, const OptionUse& use) {
  if (equals_ignoring_case(use.value, "none") || equals_ignoring_case(use.value, "nil")) return;
  for (const std::string_view part : split(use.value, ',')) {
    const std::size_t equals = part.find('=');
    if (part == "ALL") {
      o.context.warn(use.place, "the environment of the submitter is not passed on to the job",
                     "set variables in the script, or with --export=NAME=value", use.length);
    } else if (equals == std::string_view::npos) {
      invalid(o, use, fmt::format("the value of {} is not known here", in_backticks(part)) + "; write NAME=value");
    } else {
      set_variable(o.draft, o.context, part.substr(0, equals), std::string(part.substr(equals + 1)), use.place);
    }
  }
}
void clusters(BatchRequest& o, const OptionUse& use) {
  if (use.value != o.context.cluster.name()) {
    invalid(o, use, fmt::format("this cluster is `{}`", o.context.cluster.name()));
  }
}

// Features as weft renders them for Slurm: pool, type of GPU, labels.
std::vector<std::string> features_of(const BatchRequest& o, const model::PoolSpec& pool) {
  std::vector<std::string> out = {feature_text(pool.name->text, {})};
  const model::ServerModel* server = o.context.cluster.catalog().server(pool.server.value);
  if (server != nullptr && server->gpus.value > 0) {
    out.push_back(server->gpu.value.substr(0, server->gpu.value.find('-')));
  }
  if (server != nullptr && server->local_nvme.value.count() > 0) out.emplace_back("nvme");
  for (const auto& [key, value] : pool.labels.value) out.push_back(feature_text(key, value.value));
  return out;
}

std::uint64_t pools_with(const BatchRequest& o, std::string_view feature) {
  std::uint64_t bits = 0;
  for (const model::PoolSpec& pool : o.context.cluster.spec().pools.value) {
    const std::vector<std::string> features = features_of(o, pool);
    if (std::find(features.begin(), features.end(), feature) == features.end()) continue;
    bits |= pool_bit(o.context.machine, pool.name->text);
  }
  return bits;
}

void unknown_feature(const BatchRequest& o, const OptionUse& use, std::string_view feature) {
  std::vector<std::string> all;
  for (const model::PoolSpec& pool : o.context.cluster.spec().pools.value) {
    if (pool_bit(o.context.machine, pool.name->text) == 0) continue;
    const std::vector<std::string> features = features_of(o, pool);
    all.insert(all.end(), features.begin(), features.end());
  }
  std::string hint = did_you_mean(feature, {all.begin(), all.end()});
  o.context.error(use.place, fmt::format("--constraint: no GPU pool has the feature {}", in_backticks(feature)),
                  std::move(hint), use.length);
}

void constraint(BatchRequest& o, const OptionUse& use) {
  if (use.value.find_first_of("|[]*!(){}") != std::string::npos) {
    return invalid(o, use, "only features joined with & are supported");
  }
  std::uint64_t pools = 0;
  bool any = false;
  const std::string joined = replace_all(use.value, ",", "&");
  for (const std::string_view feature : split(joined, '&')) {
    const std::uint64_t found = pools_with(o, feature);
    if (found == 0) return unknown_feature(o, use, feature);
    pools = any ? pools & found : found;
    any = true;
  }
  if (pools == 0) return invalid(o, use, "no pool has all of these features");
  o.draft.pools = pools;
}

constexpr std::string_view kNotSupported = "not supported";
constexpr std::string_view kPlaces = "not supported: weft chooses the nodes";
constexpr std::string_view kBinding = "ignored: the tasks of a job are not bound to CPUs";
constexpr std::string_view kMail = "no mail is sent";

// In alphabetical order, but for --no-kill, which depends on --nodes: they are applied in this order.
constexpr BatchOption kBatchOptions[] = {
    {"account", 'A', Takes::value, Treatment::read, text<&JobDraft::tenant>},
    {"acctg-freq", '\0', Takes::value, Treatment::ignored},
    {"array", 'a', Takes::value, Treatment::refused, nullptr,
     "job arrays are not supported: submit the jobs one by one"},
    {"batch", '\0', Takes::value, Treatment::refused, nullptr, kPlaces},
    {"bb", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"bbf", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"begin", 'b', Takes::value, Treatment::refused, nullptr, "not supported: submit the job when it may begin"},
    {"chdir", 'D', Takes::value, Treatment::read, directory},
    {"cluster-constraint", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"clusters", 'M', Takes::value, Treatment::read, clusters},
    {"comment", '\0', Takes::value, Treatment::ignored},
    {"constraint", 'C', Takes::value, Treatment::read, constraint},
    {"container", '\0', Takes::value, Treatment::refused, nullptr, "not supported: jobs run on the host"},
    {"container-image", '\0', Takes::value, Treatment::read, container_image},
    {"container-mounts", '\0', Takes::value, Treatment::refused, nullptr, "not supported: jobs run on the host"},
    {"contiguous", '\0', Takes::nothing, Treatment::refused, nullptr, kPlaces},
    {"core-spec", 'S', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"cores-per-socket", '\0', Takes::value, Treatment::refused, nullptr, kPlaces},
    {"cpu-freq", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"cpus-per-gpu", '\0', Takes::value, Treatment::read, number<&BatchRequest::cpus_per_gpu>},
    {"cpus-per-task", 'c', Takes::value, Treatment::read, number<&BatchRequest::cpus_per_task>},
    {"deadline", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"delay-boot", '\0', Takes::value, Treatment::ignored},
    {"dependency", 'd', Takes::value, Treatment::refused, nullptr, "dependencies between jobs are not supported"},
    {"distribution", 'm', Takes::value, Treatment::warned, nullptr, kBinding},
    {"error", 'e', Takes::value, Treatment::read, error_file},
    {"exclude", 'x', Takes::value, Treatment::refused, nullptr, "not supported: drain a node that jobs must not use"},
    {"exclusive", '\0', Takes::maybe, Treatment::read, exclusive},
    {"export", '\0', Takes::value, Treatment::read, export_variables},
    {"export-file", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --export=NAME=value"},
    {"extra-node-info", 'B', Takes::value, Treatment::refused, nullptr, kPlaces},
    {"get-user-env", '\0', Takes::maybe, Treatment::refused, nullptr, "not supported: use `#!/bin/bash -l`"},
    {"gid", '\0', Takes::value, Treatment::refused, nullptr, "not supported: jobs run as their submitter"},
    {"gpu-bind", '\0', Takes::value, Treatment::warned, nullptr, "ignored: use --gpus-per-task"},
    {"gpu-freq", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"gpus", 'G', Takes::value, Treatment::read, gpus<&BatchRequest::gpus>},
    {"gpus-per-node", '\0', Takes::value, Treatment::read, gpus<&BatchRequest::gpus_per_node>},
    {"gpus-per-socket", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --gpus-per-node"},
    {"gpus-per-task", '\0', Takes::value, Treatment::read, gpus<&BatchRequest::gpus_per_task>},
    {"gres", '\0', Takes::value, Treatment::read, gres},
    {"gres-flags", '\0', Takes::value, Treatment::ignored},
    {"hint", '\0', Takes::value, Treatment::warned, nullptr, kBinding},
    {"hold", 'H', Takes::nothing, Treatment::refused, nullptr,
     "not supported in a file: hold the job after submitting it"},
    {"ignore-pbs", '\0', Takes::nothing, Treatment::ignored},
    {"input", 'i', Takes::value, Treatment::read, input},
    {"job-name", 'J', Takes::value, Treatment::read, text<&JobDraft::name>},
    {"kill-on-invalid-dep", '\0', Takes::value, Treatment::ignored},
    {"licenses", 'L', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"mail-type", '\0', Takes::value, Treatment::warned, nullptr, kMail},
    {"mail-user", '\0', Takes::value, Treatment::ignored},
    {"mcs-label", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"mem", '\0', Takes::value, Treatment::read, size<&BatchRequest::memory>},
    {"mem-bind", '\0', Takes::value, Treatment::warned, nullptr, kBinding},
    {"mem-per-cpu", '\0', Takes::value, Treatment::read, size<&BatchRequest::memory_per_cpu>},
    {"mem-per-gpu", '\0', Takes::value, Treatment::read, size<&BatchRequest::memory_per_gpu>},
    {"mincpus", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --cpus-per-task"},
    {"network", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"nice", '\0', Takes::maybe, Treatment::warned, nullptr, "ignored: use --qos for another priority"},
    {"no-requeue", '\0', Takes::nothing, Treatment::read, no_requeue},
    {"nodefile", 'F', Takes::value, Treatment::refused, nullptr, kPlaces},
    {"nodelist", 'w', Takes::value, Treatment::refused, nullptr, kPlaces},
    {"nodes", 'N', Takes::value, Treatment::read, nodes},
    {"no-kill", 'k', Takes::maybe, Treatment::read, no_kill},
    {"ntasks", 'n', Takes::value, Treatment::read, number<&BatchRequest::tasks>},
    {"ntasks-per-core", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --ntasks-per-node"},
    {"ntasks-per-gpu", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --ntasks-per-node"},
    {"ntasks-per-node", '\0', Takes::value, Treatment::read, number<&BatchRequest::tasks_per_node>},
    {"ntasks-per-socket", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --ntasks-per-node"},
    {"open-mode", '\0', Takes::value, Treatment::ignored},
    {"output", 'o', Takes::value, Treatment::read, output},
    {"overcommit", 'O', Takes::nothing, Treatment::refused, nullptr, kNotSupported},
    {"oversubscribe", 's', Takes::nothing, Treatment::ignored},
    {"parsable", '\0', Takes::nothing, Treatment::ignored},
    {"partition", 'p', Takes::value, Treatment::read, text<&JobDraft::partition>},
    {"power", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"prefer", '\0', Takes::value, Treatment::warned, nullptr, "ignored: use --constraint"},
    {"priority", '\0', Takes::value, Treatment::refused, nullptr, "not supported: use --qos"},
    {"profile", '\0', Takes::value, Treatment::ignored},
    {"propagate", '\0', Takes::maybe, Treatment::ignored},
    {"qos", 'q', Takes::value, Treatment::read, text<&JobDraft::priority>},
    {"quiet", 'Q', Takes::nothing, Treatment::ignored},
    {"reboot", '\0', Takes::nothing, Treatment::refused, nullptr, kNotSupported},
    {"requeue", '\0', Takes::nothing, Treatment::read, requeue},
    {"reservation", '\0', Takes::value, Treatment::refused, nullptr, "reservations are not supported"},
    {"segment", '\0', Takes::value, Treatment::read, segment},
    {"signal", '\0', Takes::value, Treatment::read, signal},
    {"sockets-per-node", '\0', Takes::value, Treatment::refused, nullptr, kPlaces},
    {"spread-job", '\0', Takes::nothing, Treatment::refused, nullptr, kPlaces},
    {"switches", '\0', Takes::value, Treatment::read, switches},
    {"test-only", '\0', Takes::nothing, Treatment::refused, nullptr, kNotSupported},
    {"thread-spec", '\0', Takes::value, Treatment::refused, nullptr, kNotSupported},
    {"threads-per-core", '\0', Takes::value, Treatment::warned, nullptr, kBinding},
    {"time", 't', Takes::value, Treatment::read, time},
    {"time-min", '\0', Takes::value, Treatment::warned, nullptr, "ignored: the job keeps its time limit"},
    {"tmp", '\0', Takes::value, Treatment::read, tmp},
    {"uid", '\0', Takes::value, Treatment::refused, nullptr, "not supported: jobs run as their submitter"},
    {"use-min-nodes", '\0', Takes::nothing, Treatment::ignored},
    {"verbose", 'v', Takes::nothing, Treatment::ignored},
    {"wait", 'W', Takes::nothing, Treatment::refused, nullptr, "not supported in a file"},
    {"wait-all-nodes", '\0', Takes::value, Treatment::ignored},
    {"wckey", '\0', Takes::value, Treatment::ignored},
    {"wrap", '\0', Takes::value, Treatment::refused, nullptr, "not supported in a script"},
};

const BatchOption* option_of_letter(char letter) {
  const auto* found = std::find_if(std::begin(kBatchOptions), std::end(kBatchOptions),
                                   [&](const BatchOption& option) { return option.letter == letter; });
  return found == std::end(kBatchOptions) ? nullptr : found;
}

// By its name, or by the beginning of it if only one option has it, as in getopt_long(3).
const BatchOption* option_named(std::string_view name) {
  const BatchOption* prefix = nullptr;
  int prefixes = 0;
  for (const BatchOption& option : kBatchOptions) {
    if (option.name == name) return &option;
    if (name.empty() || !option.name.starts_with(name)) continue;
    prefix = &option;
    ++prefixes;
  }
  return prefixes == 1 ? prefix : nullptr;
}

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const BatchOption& option : kBatchOptions) names.push_back(option.name);
  return names;
}

// The last use of an option counts, as in sbatch.
void record_use(BatchRequest& request, OptionUse use) {
  const auto [found, added] = request.uses.try_emplace(use.name, use);
  if (added) return;
  if (found->second.value != use.value) {
    request.context.warn(found->second.place,
                         fmt::format("`--{}` is given again on line {}, which counts", use.name, use.place.line));
  }
  found->second = std::move(use);
}

// "-QN4" is -Q and -N4: records the flags before the last option of a short form, which is returned.
std::string without_flags(BatchRequest& request, const std::string& word, const SourceLocation& place) {
  if (word.starts_with("--")) return word;
  std::size_t at = 1;
  for (; at + 1 < word.size(); ++at) {
    const BatchOption* option = option_of_letter(word[at]);
    if (option == nullptr || option->takes != Takes::nothing) break;
    record_use(request, {option->name, {}, place, word.size()});
  }
  return "-" + word.substr(at);
}

// One option of a line; the index of its last word.
std::size_t read_option(BatchRequest& request, std::vector<DirectiveWord>& words, std::size_t i,
                        const SourceLocation& place) {
  const std::string word = without_flags(request, words[i].text, place);
  const bool is_long = word.starts_with("--");
  const std::size_t equals = is_long ? word.find('=') : std::string::npos;
  const std::string name =
      is_long ? word.substr(2, equals == std::string::npos ? equals : equals - 2) : word.substr(1, 1);
  const BatchOption* option = is_long ? option_named(name) : option_of_letter(name.front());
  if (option == nullptr) {
    request.context.error(place, fmt::format("unknown option {} of sbatch", in_backticks(word.substr(0, equals))),
                          is_long ? did_you_mean(name, option_names()) : std::string(), word.size());
    return i;
  }
  OptionUse use{option->name, {}, place, word.size()};
  bool given = equals != std::string::npos;
  if (given) use.value = word.substr(equals + 1);
  if (!is_long && word.size() > 2) {
    use.value = word.substr(2);
    given = true;
  }
  if (option->takes == Takes::nothing && given) {
    request.context.error(place, fmt::format("option `--{}` has no value", option->name), {}, word.size());
    return i;
  }
  if (option->takes == Takes::value && !given) {
    if (i + 1 == words.size()) {
      request.context.error(place, fmt::format("option {} needs a value", in_backticks(word)), {}, word.size());
      return i;
    }
    use.value = words[++i].text;
  }
  record_use(request, std::move(use));
  return i;
}

}  // namespace

void read_directive(BatchRequest& request, std::string_view text, std::size_t line, std::size_t offset) {
  Result<std::vector<DirectiveWord>> words = split_directive(text);
  if (!words.ok()) return request.context.error(place_at(request.context.file, line, 1), words.error().message);
  for (std::size_t i = 0; i < words->size(); ++i) {
    const std::string& word = (*words)[i].text;
    const SourceLocation place = place_at(request.context.file, line, offset + (*words)[i].column + 1);
    if (word == "hetjob" || word == "packjob" || word == ":") {
      return request.context.error(place, "heterogeneous jobs are not supported", {}, word.size());
    }
    if (!word.starts_with("-") || word.size() < 2 || word == "--") {
      return request.context.error(place, fmt::format("{} is not an option", in_backticks(word)),
                                   "quote values that contain spaces", word.size());
    }
    i = read_option(request, *words, i, place);
  }
}

void apply_options(BatchRequest& request) {
  for (const BatchOption& option : kBatchOptions) {
    const auto found = request.uses.find(option.name);
    if (found == request.uses.end()) continue;
    const OptionUse& use = found->second;
    const std::string message = fmt::format("--{}: {}", option.name, option.reason);
    switch (option.treatment) {
      case Treatment::read:
        if (use.value.empty() && option.takes == Takes::value) {
          request.context.error(use.place, fmt::format("option `--{}` has an empty value", option.name), {},
                                use.length);
        } else {
          option.read(request, use);
        }
        break;
      case Treatment::warned:
        request.context.warn(use.place, message, {}, use.length);
        break;
      case Treatment::refused:
        request.context.error(use.place, message, {}, use.length);
        break;
      case Treatment::ignored:
        break;
    }
  }
}

}  // namespace weft::serve

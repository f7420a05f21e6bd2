// weft sched pack: compares how many GPUs placement policies allocate, on the workloads of the FGD paper and others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <thread>

#include "base/file.h"
#include "cli/framework/context.h"
#include "cli/framework/option_reader.h"
#include "cli/sched/input.h"
#include "sched/packing/report.h"
#include "sched/traces/gzip.h"
#include "sched/traces/workload.h"

namespace weft::cli {
namespace {

constexpr std::uint64_t kFirstSeed = 42;  // as in the published results
constexpr std::int64_t kMaxSeeds = 1'000;

struct PackRequest {
  std::vector<sched::PackPolicy> policies;
  std::vector<std::uint64_t> seeds;
  double demand = 1.3;
  bool bounds = true;
};

struct Input {
  std::optional<sched::Machine> machine;
  std::vector<sched::TaskType> types;
};

// Nanoseconds of CPU time of this thread: excludes other load on the machine.
std::int64_t thread_time() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void read_policies(OptionReader& reader, PackRequest& request) {
  using sched::PackPolicy;
  request.policies = {PackPolicy::random, PackPolicy::best_fit, PackPolicy::fgd, PackPolicy::weft};
  const std::string text = reader.arguments().value("policy");
  if (text.empty()) return;
  request.policies.clear();
  std::vector<std::string_view> known;
  known.reserve(sched::kPackPolicies);
  for (int i = 0; i < sched::kPackPolicies; ++i) known.push_back(to_text(static_cast<PackPolicy>(i)));
  for (const std::string& name : comma_parts(text)) {
    const std::optional<PackPolicy> policy = sched::pack_policy_named(name);
    if (!policy) {
      reader.bad("policy", fmt::format("unknown policy `{}`", name),
                 fmt::format("comma-separated list of: {}", fmt::join(known, ", ")));
      return;
    }
    if (std::find(request.policies.begin(), request.policies.end(), *policy) == request.policies.end())
      request.policies.push_back(*policy);
  }
}

void read_seeds(OptionReader& reader, PackRequest& request) {
  const std::string text = reader.arguments().value("seeds");
  std::int64_t count = 10;
  if (text.find(',') == std::string::npos) {
    if (const auto given = reader.integer("seeds", 1, kMaxSeeds)) count = *given;
    for (std::int64_t i = 0; i < count; ++i) request.seeds.push_back(kFirstSeed + static_cast<std::uint64_t>(i));
    return;
  }
  for (const std::string& part : comma_parts(text)) {
    const bool digits = !part.empty() && part.size() <= 18 && part.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) {
      reader.bad("seeds", fmt::format("`{}` is not a seed", part), "give a count, or comma-separated seeds: 1,2,3");
      return;
    }
    request.seeds.push_back(std::stoull(part));
  }
}

PackRequest read_request(OptionReader& reader) {
  PackRequest request;
  read_policies(reader, request);
  read_seeds(reader, request);
  if (const auto demand = reader.integer("demand", 1, 1'000)) request.demand = static_cast<double>(*demand) / 100;
  request.bounds = !reader.arguments().has("no-bound");
  return request;
}

std::optional<FileId> add_file(Context& context, Sources& sources, const std::string& path) {
  Result<std::string> text = sched::read_text_file(path);
  if (text.ok()) return sources.add(path, std::move(text).value());
  (void)context.failed(text.error());
  return std::nullopt;
}

// False after the problem was reported.
bool read_input(Context& context, const std::string& nodes_path, const std::string& pods_path, Input& input) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<FileId> pods = add_file(context, sources, pods_path);
  const std::optional<FileId> nodes = pods ? add_file(context, sources, nodes_path) : std::nullopt;
  if (!nodes) return false;
  const std::optional<sched::Workload> workload =
      sched::read_workload(*pods, sources, {.format = sched::TraceFormat::openb}, diagnostics);
  if (workload) input.machine = sched::read_openb_nodes(*nodes, sources, workload->models, diagnostics);
  context.note_problems(diagnostics, sources);
  if (!workload || !input.machine) return false;
  input.types = sched::task_types(std::span<const sched::Job>(workload->jobs));
  const bool asks = std::any_of(input.types.begin(), input.types.end(),
                                [](const sched::TaskType& type) { return type.request.gpus > 0; });
  if (asks && input.machine->gpus() > 0) return true;
  (void)context.failed({ErrorCode::invalid_input, asks ? "the servers have no GPU" : "no task requests a GPU",
                        asks ? nodes_path : pods_path});
  return false;
}

std::string name_of(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') + 1);
  name = name.substr(0, name.find('.'));
  const std::string_view prefix = "openb_pod_list_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// Every arrival order of every workload, on all cores; the order of results does not depend on which ends first.
class PackRunner {
 public:
  PackRunner(const PackRequest& request, const std::vector<Input>& inputs, std::vector<sched::PackWorkload>& workloads)
      : request_(request), inputs_(inputs), workloads_(workloads) {}

  void run() {
    std::vector<std::thread> workers;
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    for (unsigned i = 1; i < cores; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
  }
  // Tasks scheduled per second and core.
  [[nodiscard]] double rate(std::size_t policy) const {
    const double seconds = static_cast<double>(spent_[policy].load()) * 1e-9;
    return seconds > 0 ? static_cast<double>(asked_[policy].load()) / seconds : 0;
  }

 private:
  void work() {
    const std::size_t seeds = request_.seeds.size();
    for (std::size_t next = next_.fetch_add(1); next < seeds * inputs_.size(); next = next_.fetch_add(1)) {
      play(next / seeds, next % seeds);
    }
  }

  void play(std::size_t which, std::size_t seed_index) {
    const Input& input = inputs_[which];
    sched::PackWorkload& workload = workloads_[which];
    const std::uint64_t seed = request_.seeds[seed_index];
    const std::vector<std::uint32_t> arrivals =
        sched::draw_arrivals(input.types, input.machine->gpus() * sched::kWholeGpu, request_.demand, seed);
    for (std::size_t p = 0; p < request_.policies.size(); ++p) {
      const std::int64_t start = thread_time();
      sched::PackRun run = sched::run_pack(*input.machine, input.types, arrivals, request_.policies[p], seed);
      spent_[p] += thread_time() - start;
      asked_[p] += run.asked;
      workload.results[p].runs[seed_index] = std::move(run);
    }
    if (request_.bounds) workload.bounds[seed_index] = sched::bound_allocation(*input.machine, input.types, arrivals);
  }

  const PackRequest& request_;
  const std::vector<Input>& inputs_;
  std::vector<sched::PackWorkload>& workloads_;
  std::atomic<std::size_t> next_{0};
  std::array<std::atomic<std::int64_t>, sched::kPackPolicies> spent_{};  // nanoseconds
  std::array<std::atomic<std::int64_t>, sched::kPackPolicies> asked_{};
};

sched::PackWorkload empty_workload(const std::string& path, const Input& input, const PackRequest& request) {
  sched::PackWorkload workload;
  workload.name = name_of(path);
  for (const sched::TaskType& type : input.types) workload.tasks += type.count;
  workload.types = input.types.size();
  workload.servers = static_cast<std::int64_t>(input.machine->nodes().size());
  workload.gpus = input.machine->gpus();
  for (const sched::PackPolicy policy : request.policies) {
    workload.results.push_back({policy, std::vector<sched::PackRun>(request.seeds.size())});
  }
  if (request.bounds) workload.bounds.resize(request.seeds.size());
  return workload;
}

Exit run_pack_command(Context& context) {
  OptionReader reader(context.arguments());
  const PackRequest request = read_request(reader);
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const std::vector<std::string>& words = context.arguments().words();
  std::vector<Input> inputs(words.size() - 1);
  std::vector<sched::PackWorkload> workloads;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!read_input(context, words[0], words[i + 1], inputs[i])) return Exit::usage;
    workloads.push_back(empty_workload(words[i + 1], inputs[i], request));
  }
  PackRunner runner(request, inputs, workloads);
  runner.run();
  for (std::size_t p = 0; p < request.policies.size(); ++p) {
    context.note(
        fmt::format("{}: {:.0f} decisions per second on one core", to_text(request.policies[p]), runner.rate(p)));
  }
  if (const std::string plot = context.arguments().value("plot"); !plot.empty()) {
    const Status written = write_file(plot, sched::pack_plot(workloads));
    if (!written.ok()) return context.failed(written.error());
  }
  return context.deliver(sched::pack_document(workloads, request.demand));
}

}  // namespace

Command sched_pack_command() {
  Command command;
  command.name = "sched pack";
  command.summary = "Compare placement policies by allocated GPUs";
  command.usage = "NODES PODS... [--policy NAMES] [OPTIONS]";
  command.description = {
      "The study of \"Beware of Fragmentation\" (FGD, USENIX ATC'23): tasks of a trace arrive in random order until "
      "they have requested more GPUs than exist. Random, best-fit and fgd are the policies of the paper; fgd breaks "
      "ties by server name, as in the published results. fgd-random-ties breaks them randomly, frag-best-fit adds "
      "fragmentation growth and best fit. weft minimizes the loss of value of the servers for future tasks, estimated "
      "from the task mix of the trace; it uses neither names nor the order of arrival.",
      "The table includes an upper bound for every policy that places each task that fits."};
  command.examples = {{"weft sched pack openb_node_list_gpu_node.csv openb_pod_list_default.csv", "Ten arrival orders"},
                      {"weft sched pack nodes.csv pods.csv.gz --policy fgd,weft --seeds 3 --plot missing.svg",
                       "Three arrival orders, and a plot"}};
  command.arguments = {
      {.name = "NODES", .help = "openb node list, CSV or CSV.gz", .hint = Hint::file},
      {.name = "PODS", .help = "openb pod lists, CSV or CSV.gz", .hint = Hint::file, .repeatable = true}};
  command.options = {
      {.name = "policy",
       .value = "NAMES",
       .help = "comma-separated list of policies",
       .fallback = "random,best-fit,fgd,weft"},
      {.name = "seeds",
       .value = "N|LIST",
       .help = "number of arrival orders, or their comma-separated seeds",
       .fallback = "10"},
      {.name = "demand", .value = "PERCENT", .help = "total GPU demand as a percentage of the GPUs", .fallback = "130"},
      {.name = "no-bound", .help = "omit the upper bound"},
      {.name = "plot", .value = "FILE", .help = "plot the unallocated GPUs as SVG", .hint = Hint::file},
      output_option(),
      file_option()};
  command.run = run_pack_command;
  return command;
}

}  // namespace weft::cli

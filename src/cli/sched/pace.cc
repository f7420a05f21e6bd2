#include "cli/sched/pace.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "cli/sim/life_input.h"
#include "model/yaml_file.h"
#include "workload/life/play_life.h"

namespace weft::cli {
namespace {

// Which servers share a domain of each level, independent of the domains' names: equal spreads take equally long.
std::string spread_of(const sched::Machine& machine, const sched::Placement& placement) {
  std::string text;
  for (const sched::Level level : {sched::Level::nvlink, sched::Level::rack, sched::Level::leaf, sched::Level::pod}) {
    std::map<std::uint32_t, std::size_t> numbers;
    text += fmt::format("/{}", to_text(level));
    for (const sched::Slot& slot : placement.slots) {
      const auto [found, added] = numbers.emplace(machine.domain_of(level, slot.node), numbers.size());
      text += fmt::format(" {}", found->second);
    }
  }
  return text;
}

// One task per server with all of its GPUs, as in a job file.
bool whole_servers(const sched::Job& job, const sched::Machine& machine, const sched::Placement& placement) {
  for (std::size_t i = 0; i < placement.slots.size(); ++i) {
    if (machine.node(placement.slots[i].node).gpus != job.task.gpus) return false;
    if (i > 0 && placement.slots[i].node == placement.slots[i - 1].node) return false;
  }
  return job.task.whole_gpus() && !placement.slots.empty();
}

}  // namespace

std::optional<Exit> SchedPace::open(Context& context, SchedInput& input) {
  cluster_ = input.loaded->cluster.get();
  if (cluster_ == nullptr) return std::nullopt;  // no fabric to simulate
  model::Loaded& loaded = *input.loaded;
  const std::filesystem::path folder = std::filesystem::path(input.trace_name).parent_path();
  for (const sched::Job& job : input.workload.jobs) {
    if (job.job_file.empty() || specs_.count(job.job_file) > 0) continue;
    const std::string path = (folder / job.job_file).string();
    Result<std::string> text = model::read_yaml_file(path);
    if (!text.ok()) return context.failed(text.error());
    std::optional<model::JobSpec> spec = read_training_job(path, std::move(*text), loaded);
    if (!context.report(loaded) || !spec) return Exit::usage;
    loaded.diagnostics = Diagnostics();
    specs_.emplace(job.job_file, std::move(*spec));
  }
  return std::nullopt;
}

std::optional<double> SchedPace::step(const model::JobSpec& spec, std::int64_t gpus, std::vector<model::DeviceId> hosts,
                                      std::int64_t nodes) const {
  model::JobSpec sized = spec;
  sized.nodes.value = nodes;
  sized.gpus_per_node.value = gpus;
  workload::LifeOptions options;
  options.fidelity = netsim::Fidelity::flow;
  options.what_ifs = options.timeline = options.heat_maps = false;
  options.iterations = 1;
  options.hosts = std::move(hosts);
  Diagnostics ignored;  // a size that the job's parallelism does not divide cannot be simulated
  const std::optional<workload::LifeResult> life = workload::play_life(*cluster_, sized, options, ignored);
  if (!life || life->step.count() <= 0) return std::nullopt;
  return static_cast<double>(life->step.count());
}

double SchedPace::of(const sched::Job& job, const sched::Machine& machine, const sched::Placement& placement) {
  const auto spec = specs_.find(job.job_file);
  if (cluster_ == nullptr || spec == specs_.end() || placement.slots.size() < 2) return 1;
  if (!whole_servers(job, machine, placement)) return 1;
  const std::string key = job.job_file + spread_of(machine, placement);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  const auto nodes = static_cast<std::int64_t>(placement.slots.size());
  std::vector<model::DeviceId> hosts;
  for (const sched::Slot& slot : placement.slots) hosts.push_back(cluster_->find_device(machine.node(slot.node).name));
  const auto [best, added] = best_.try_emplace(fmt::format("{}/{}", job.job_file, nodes));
  if (added) best->second = step(spec->second, job.task.gpus, {}, nodes);
  const std::optional<double> here = step(spec->second, job.task.gpus, std::move(hosts), nodes);
  double pace = 1;
  if (here && best->second) {
    pace = *here / *best->second;
  } else {
    ++unplayed_;
  }
  return known_.emplace(key, pace).first->second;
}

std::vector<std::string> SchedPace::notes() const {
  std::vector<std::string> notes;
  if (specs_.empty()) return notes;
  double slowest = 1;
  for (const auto& [key, pace] : known_) slowest = std::max(slowest, pace);
  notes.push_back(
      fmt::format("Steps of {} job files were simulated on the backend for {} placements; the slowest takes {:.3f} "
                  "times as long as on the first servers of its pool.",
                  specs_.size(), known_.size(), slowest));
  if (unplayed_ > 0) {
    notes.push_back(
        fmt::format("{} placements could not be simulated (a size that the parallelism does not divide, or too little "
                    "memory): those jobs run as fast as in the trace.",
                    unplayed_));
  }
  return notes;
}

}  // namespace weft::cli

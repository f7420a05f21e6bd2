#include "workload/life/play_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "netsim/network/from_cluster.h"
#include "netsim/views/heat_map.h"
#include "workload/life/internal.h"
#include "workload/training/checkpoint_size.h"
#include "workload/training/memory_model.h"

namespace weft::workload {

SimTime time_from(double seconds) { return SimTime(std::llround(seconds * 1e12)); }
Duration repeated(SimTime once, std::int64_t times) {
  CHECK(once >= SimTime(0) && times >= 0, "time goes forward");
  const Uint128 nanoseconds = static_cast<Uint128>(once.count()) * static_cast<Uint128>(times) / 1'000U;
  return nanoseconds > static_cast<Uint128>(INT64_MAX) ? Duration(INT64_MAX)
                                                       : Duration(static_cast<std::int64_t>(nanoseconds));
}

bool leaves_server(const OpGroup& group) { return group.node_ranks < group.ranks; }

NcclMachine machine_of(const model::Cluster& cluster, const model::ServerModel& server) {
  NcclMachine machine;
  const model::GpuModel* gpu = cluster.catalog().gpu(server.gpu.value);
  if (gpu != nullptr) {
    machine.architecture = gpu->architecture.value;
    const bool linked = server.interconnect.value != model::GpuInterconnect::pcie &&
                        server.interconnect.value != model::GpuInterconnect::none && gpu->nvlink_bandwidth.has_value();
    machine.nvlink.per_second = Bytes(linked ? gpu->nvlink_bandwidth.value.per_second.count() / 2 : 0);
    machine.pcie = BitRate((std::int64_t{32} << std::max<std::int64_t>(0, gpu->pcie_generation.value - 5)) *
                           gpu->pcie_lanes.value * 1'000'000'000);
  }
  machine.nvswitch = server.interconnect.value == model::GpuInterconnect::nvswitch;
  machine.multicast = machine.nvswitch && machine.architecture != "ampere";
  machine.node_gpus =
      static_cast<std::uint32_t>(server.nvlink_domain.has_value() ? server.nvlink_domain.value : server.gpus.value);
  const model::FabricPlan& backend = cluster.fabric(model::FabricKind::backend);
  machine.nic = backend.host_speed;
  machine.infiniband = backend.network == model::NetworkKind::infiniband;
  std::int64_t ports = 0;
  for (const model::PortGroup& group : server.ports.value) {
    if (group.use.value == model::PortUse::backend) ports += group.count.value;
  }
  machine.nics = static_cast<std::uint32_t>(
      std::max<std::int64_t>(1, ports * machine.node_gpus / std::max<std::int64_t>(1, server.gpus.value)));
  return machine;
}

namespace {

class Life {
 public:
  Life(const model::Cluster& cluster, const model::JobSpec& job, const LifeOptions& options, Diagnostics& diagnostics)
      : diagnostics_(diagnostics), parts_{cluster, job, options, {}, {}, nullptr, nullptr, {},
                                          {},      {},  {},      {}, 0,  {},      {}} {}

  std::optional<LifeResult> play();

 private:
  bool find_servers();
  bool fits();
  bool prepare_fabric();
  bool apply_faults(const std::vector<netsim::NodeId>& ranks);
  void finish_faults();
  bool storage();
  [[nodiscard]] SimTime input_stall(SimTime step) const;
  void figures();
  void states();
  void heat();
  void assumptions();
  void say(const std::string& what) const {
    if (parts_.options.progress) parts_.options.progress(what);
  }
  bool fail(const Error& error) {
    diagnostics_.error(parts_.job.training.place, error.text(), {});
    return false;
  }

  Diagnostics& diagnostics_;
  LifeParts parts_;
  LifeResult life_;
  std::optional<GpuRates> rates_;
  std::optional<netsim::Network> network_;
  std::optional<BackendFaults> faults_;
  std::unique_ptr<FabricTimer> timer_;
};

// The given servers, or the first ones of the pool in the order of their cabling to the leaves.
bool Life::find_servers() {
  const model::Cluster& cluster = parts_.cluster;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.pool < 0 || group.server == nullptr) continue;
    if (cluster.spec().pools.value[static_cast<std::size_t>(group.pool)].name->text != parts_.job.pool.value) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      if (parts_.hosts.size() == static_cast<std::size_t>(parts_.job.nodes.value)) break;
      parts_.hosts.push_back(static_cast<model::DeviceId>(model::index_of(group.first) + i));
    }
    parts_.server = group.server;
  }
  if (!parts_.options.hosts.empty()) parts_.hosts = parts_.options.hosts;
  if (parts_.server == nullptr || parts_.server->gpus.value < 1) {
    diagnostics_.error(parts_.job.pool.place, fmt::format("pool `{}` has no GPUs to train on", parts_.job.pool.value),
                       "name a pool of GPU servers");
    return false;
  }
  parts_.gpu = cluster.catalog().gpu(parts_.server->gpu.value);
  if (parts_.gpu == nullptr) return fail({ErrorCode::not_found, "the GPU of the pool is not in the catalog", {}});
  Result<GpuRates> rates = GpuRates::of(*parts_.gpu);
  if (!rates.ok()) return fail(rates.error());
  rates_ = rates.value();
  if (parts_.plan.precision == model::Precision::fp8 && !rates_->has_fp8()) {
    diagnostics_.error(parts_.job.training->precision.place, fmt::format("{} has no FP8 units", parts_.gpu->name.value),
                       "precision: bf16");
    return false;
  }
  parts_.machine = machine_of(cluster, *parts_.server);
  return true;
}

bool Life::fits() {
  life_.memory = memory_of(parts_.plan, parts_.gpu->memory.value);
  const MemoryUse& use = life_.memory;
  if (use.total <= use.capacity) return true;
  const MemoryCheck check = parts_.options.memory;
  const bool certain = use.least > use.capacity;
  const auto gb = [](Bytes bytes) { return static_cast<double>(bytes.count()) / 1e9; };
  std::string message = fmt::format(
      "{}out of memory: a GPU of stage {} needs {:.1f} GB (at least {:.1f}) of {:.1f} (weights {:.1f}, gradients "
      "{:.1f}, "
      "optimizer {:.1f}, activations {:.1f}, buffers {:.1f})",
      certain ? "" : "may be ", use.stage, gb(use.total), gb(use.least), gb(use.capacity), gb(use.weights),
      gb(use.gradients), gb(use.optimizer), gb(use.activations), gb(use.buffers));
  life_.assumptions.push_back(message);
  if (check == MemoryCheck::ignore) return true;
  const std::vector<std::string> ways = what_would_fit(parts_.plan, parts_.gpu->memory.value);
  std::string hint = "no single change is enough: combine more tensor and pipeline parallelism with recompute: full";
  if (!ways.empty()) hint = fmt::format("one of these would fit: {}", fmt::join(ways, "; "));
  const model::TrainingSpec& training = parts_.job.training.value;
  const SourceLocation& place = training.parallel.place.known() ? training.parallel.place : parts_.job.training.place;
  if (certain || check == MemoryCheck::refuse) {
    diagnostics_.error(place, std::move(message), std::move(hint));
    return false;
  }
  diagnostics_.warning(place, std::move(message), std::move(hint));
  return true;
}

bool Life::prepare_fabric() {
  const model::FabricPlan& backend = parts_.cluster.fabric(model::FabricKind::backend);
  const LifeOptions& options = parts_.options;
  FabricTimerOptions settings;
  settings.fidelity = options.fidelity;
  settings.simulation = options.simulation;
  settings.simulation.seed = options.seed;
  settings.routing = options.routing;
  settings.queue_pairs = options.queue_pairs;
  settings.tcp = options.tcp;
  settings.progress = options.progress;
  parts_.fabric = options.fabric ? options.fabric : std::make_shared<FabricMemory>();
  settings.memory = parts_.fabric;
  const double ratio = backend.oversubscription.denominator > 0
                           ? static_cast<double>(backend.oversubscription.numerator) /
                                 static_cast<double>(backend.oversubscription.denominator)
                           : 1;
  std::uint32_t unit = parts_.hosts.empty() ? 1 : static_cast<std::uint32_t>(parts_.hosts.size());
  if (backend.present && !parts_.hosts.empty()) {
    const model::UnitId id = parts_.cluster.device(parts_.hosts.front()).unit;
    if (id != model::kNone<model::UnitId>) unit = parts_.cluster.units()[model::index_of(id)].servers;
  }
  timer_ = std::make_unique<FabricTimer>(parts_.machine, settings, ratio,
                                         unit * static_cast<std::uint32_t>(parts_.job.gpus_per_node.value));
  const bool several = parts_.hosts.size() > 1;
  if (several && !backend.present) {
    diagnostics_.error(parts_.job.nodes.place, "the cluster has no backend fabric to connect several servers",
                       "nodes: 1");
    return false;
  }
  if ((options.fidelity == netsim::Fidelity::analytic && !options.faults) || (!several && !options.faults)) return true;
  say("building the backend network");
  Result<netsim::Network> network = netsim::network_of(parts_.cluster, {});
  if (!network.ok()) return fail(network.error());
  network_ = std::move(network.value());
  std::map<model::DeviceId, std::vector<netsim::NodeId>> of_host;
  for (const netsim::NodeId endpoint : network_->endpoints())
    of_host[network_->node(endpoint).device].push_back(endpoint);
  std::vector<netsim::NodeId> ranks;
  for (const model::DeviceId host : parts_.hosts) {
    const std::vector<netsim::NodeId>& gpus = of_host[host];
    const auto wanted = static_cast<std::size_t>(parts_.job.gpus_per_node.value);
    if (gpus.size() < wanted) return fail({ErrorCode::not_found, "a server of the job is not on the backend", {}});
    ranks.insert(ranks.end(), gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  if (options.faults && !apply_faults(ranks)) return false;
  timer_->use_network(*network_, std::move(ranks));
  return true;
}

bool Life::apply_faults(const std::vector<netsim::NodeId>& ranks) {
  netsim::Network network = *network_;
  netsim::SimOptions events = parts_.options.simulation;
  if (const Status status = parts_.options.faults(network, events); !status.ok()) {
    diagnostics_.error({}, status.error().message, {});
    return false;
  }
  faults_ = faults_from(*network_, std::move(network), events);
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : parts_.job.environment.value) environment[name] = value.value;
  FaultVerdict verdict = judge_faults(*faults_, ranks, static_cast<std::uint32_t>(parts_.job.gpus_per_node.value),
                                      parts_.options.routing, rdma_timeout(environment), parts_.options.tcp);
  life_.faults = std::move(verdict.outcome);
  // Without a restart there is no step to time: the figures are those from before the fault.
  if (life_.faults.restarts) timer_->use_faults(*faults_, std::move(verdict.ports));
  return true;
}

bool Life::storage() {
  const model::TrainingSpec& training = parts_.job.training.value;
  StorageOptions options;
  options.fidelity = parts_.options.fidelity;
  options.seed = parts_.options.seed;
  options.tcp = parts_.options.tcp;
  parts_.storage = parts_.options.storage ? parts_.options.storage : std::make_shared<StorageMemory>();
  options.memory = parts_.storage;
  const Bytes sample =
      training.data->sample.has_value() ? training.data->sample.value : Bytes(4 * parts_.plan.sequence);
  Result<ReadPlan> reads = plan_reads(parts_.cluster, parts_.job, parts_.hosts,
                                      static_cast<std::uint64_t>(parts_.plan.global_batch), sample, options);
  if (!reads.ok()) return fail(reads.error());
  parts_.reads = std::move(reads.value());
  const CheckpointSize size = checkpoint_size(parts_.plan);
  const model::CheckpointSpec& spec = training.checkpoint.value;
  const bool sharded = spec.layout.value == model::CheckpointLayout::sharded;
  const Bytes whole = spec.size.has_value() ? spec.size.value : size.total;
  const std::uint64_t writers = sharded ? size.writers : 1;
  Result<CheckpointPlan> checkpoint = plan_checkpoint(
      parts_.cluster, parts_.job, parts_.hosts, whole,
      sharded ? Bytes((whole.count() + static_cast<std::int64_t>(writers) - 1) / static_cast<std::int64_t>(writers))
              : whole,
      writers, parts_.reads, options);
  if (!checkpoint.ok()) return fail(checkpoint.error());
  parts_.checkpoint = std::move(checkpoint.value());
  return true;
}

// All times of the result in a fixed order: two runs with equal times show equal results.
std::uint64_t hash_of(const LifeResult& life) {
  std::string times;
  const auto add = [&](SimTime time) { times += fmt::format("{} ", time.count()); };
  const StepParts& p = life.parts;
  for (const SimTime part : {p.step, p.compute, p.recompute, p.tensor, p.context, p.expert, p.pipeline, p.data,
                             p.bubble, p.optimizer, p.input, p.checkpoint, p.host}) {
    add(part);
  }
  for (const LifeState& state : life.states) {
    add(state.duration);
    for (const LifeEvent& event : state.events) add(event.duration);
  }
  for (const CommunicationRow& row : life.communication) add(row.time);
  for (const SimTime time : life.tail.times) add(time);
  return hash64(times);
}

// Steps between checkpoints; if the file sets a time interval, the number of steps that fit into it.
std::uint64_t steps_between(const LifeParts& parts, SimTime step) {
  if (!parts.checkpoint.any) return 0;
  const model::CheckpointSpec& spec = parts.job.training->checkpoint.value;
  if (spec.steps.has_value()) return static_cast<std::uint64_t>(spec.steps.value);
  const Duration interval =
      spec.interval.has_value() ? spec.interval.value : parts.cluster.spec().workload->checkpoint_interval.value;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, netsim::from_duration(interval).count() / step.count()));
}

// Reads overlap with the step if loader processes prefetch; then only the excess is a stall. After the first epoch, a
// share of the reads comes from the servers' caches. Mean over the steps of the run.
SimTime Life::input_stall(SimTime step) const {
  const model::DataSpec& data = parts_.job.training->data.value;
  const bool ahead = data.workers.value > 0 && data.prefetch.value > 0;
  const auto stall = [&](double share) {
    return std::max(0.0, seconds_of(parts_.reads.step_time) * share - (ahead ? seconds_of(step) : 0));
  };
  const auto steps = static_cast<double>(parts_.plan.steps);
  const auto batch = static_cast<double>(parts_.plan.global_batch);
  const double epoch = data.samples.has_value() ? static_cast<double>(data.samples.value) / batch : steps;
  const double first = std::min(1.0, epoch / steps);
  return time_from(first * stall(1) + (1 - first) * stall(1 - parts_.reads.cached));
}

void Life::figures() {
  const TrainingPlan& plan = parts_.plan;
  StepParts& parts = life_.parts;
  parts = parts_.step.parts;
  // Reads slow down while a checkpoint is written over the same links.
  if (parts_.reads.any) parts_.input_stall = input_stall(parts.step);
  parts.input = parts_.input_stall;
  life_.step = parts.step + parts.input;
  parts_.checkpoint_steps = steps_between(parts_, life_.step);
  life_.checkpoint_steps = parts_.checkpoint_steps;
  life_.checkpoint_stall = parts_.checkpoint.stall;
  life_.checkpoint_write = parts_.checkpoint.write_time;
  life_.checkpoint_load = parts_.checkpoint.load_time;
  life_.steps = static_cast<std::uint64_t>(parts_.plan.steps);
  if (parts_.checkpoint_steps > 0) {
    parts.checkpoint = parts_.checkpoint.stall / static_cast<std::int64_t>(parts_.checkpoint_steps);
    // During an asynchronous write, reads over shared resources are slower.
    if (parts_.checkpoint.shares_reads && parts_.reads.any && parts_.checkpoint.read_share > 0 &&
        parts_.checkpoint.read_share < 1) {
      const double slower = seconds_of(parts_.reads.step_time) / parts_.checkpoint.read_share;
      const double late = std::max(0.0, slower - seconds_of(parts.step));
      const double writing = std::max(0.0, seconds_of(parts_.checkpoint.write_time - parts_.checkpoint.stall));
      const double steps = writing / std::max(1e-9, seconds_of(parts.step) + late);
      parts.input += time_from(late * steps / static_cast<double>(parts_.checkpoint_steps));
    }
  }
  parts.step = parts.step + parts.input + parts.checkpoint;
  const double whole = seconds_of(parts.step);
  const double step = seconds_of(life_.step);
  life_.checkpoint_overhead = whole > 0 ? seconds_of(parts.checkpoint) / whole : 0;
  life_.flops_per_step = model_flops(plan.shape, plan.sequence) * static_cast<double>(plan.global_batch);
  life_.tokens_per_second = static_cast<double>(plan.global_batch * plan.sequence) / step;
  life_.tflops_per_gpu = life_.flops_per_step / static_cast<double>(plan.gpus) / step / 1e12;
  life_.mfu = life_.tflops_per_gpu * 1e12 / rates_->peak(plan.precision);
  // Recomputation relative to compute on the slowest stage.
  const double extra = seconds_of(life_.parts.recompute) / std::max(1e-12, seconds_of(life_.parts.compute));
  life_.hfu = life_.mfu * (1 + extra);
  life_.gpu_utilization =
      (seconds_of(life_.parts.compute) + seconds_of(life_.parts.recompute) + seconds_of(life_.parts.optimizer)) / whole;
}

void Life::states() {
  ControlOptions control;
  control.cached = parts_.options.image_cached;
  control.seed = parts_.options.seed;
  life_.states[0] = submit_state(parts_.cluster, parts_.job, parts_.hosts, control);
  std::vector<BootstrapGroup> groups;
  const auto add = [&](const OpGroup& group) {
    if (group.ranks < 2) return;
    BootstrapGroup made;
    made.name = group.name;
    made.group = {group.ranks, group.node_ranks};
    made.count = static_cast<std::uint32_t>(parts_.plan.gpus / group.ranks);
    groups.push_back(made);
  };
  add({"world", static_cast<std::uint32_t>(parts_.plan.gpus),
       static_cast<std::uint32_t>(std::min(parts_.plan.gpus, parts_.plan.node_gpus)), 1});
  add(parts_.plan.shard_group());
  add(parts_.plan.replica_group());
  add(parts_.plan.pipeline_group());
  add(parts_.plan.tensor_group());
  add(parts_.plan.context_group());
  if (parts_.plan.expert > 1) add(parts_.plan.expert_group());
  const SimTime submitted = life_.states[0].start + life_.states[0].duration;
  life_.states[1] = bootstrap_state(parts_.cluster, parts_.job, parts_.hosts, parts_.machine, groups, submitted);
  const SimTime ready = life_.states[1].start + life_.states[1].duration;
  add_iteration_states(parts_, *timer_, ready, life_);
  const Duration before(ready.count() / 1'000);
  life_.run_time = std::min(repeated(life_.parts.step, parts_.plan.steps), Duration(INT64_MAX) - before) + before;
}

// A failure strikes at any moment between two checkpoints.
void Life::finish_faults() {
  FaultOutcome& faults = life_.faults;
  if (!faults.any) return;
  faults.step_before += parts_.input_stall;
  faults.restart = life_.states[0].duration + life_.states[1].duration;
  faults.lost_work = SimTime(life_.step.count() / 2 * static_cast<std::int64_t>(parts_.checkpoint_steps));
  if (const std::optional<Error>& problem = timer_->problem()) {
    faults.continues = false;
    faults.restarts = false;
    faults.causes.push_back(problem->text());
  }
}

void Life::heat() {
  if (!parts_.options.heat_maps || !network_) return;
  const FabricFinding* most = nullptr;
  for (const FabricFinding& finding : timer_->findings()) {
    if (most == nullptr || finding.transfers > most->transfers) most = &finding;
  }
  if (most == nullptr) return;
  life_.heat.push_back(
      {model::FabricKind::backend, netsim::heat_map_svg(*network_, most->result, most->what + ", all groups at once",
                                                        parts_.cluster.name() + ", backend fabric")});
}

void Life::assumptions() {
  auto& notes = life_.assumptions;
  notes.push_back(fmt::format("kernel times: surfaces measured on an H200, scaled to {} by its datasheet's peak rates",
                              parts_.gpu->name.value));
  if (parts_.gpu->architecture.value == "cdna3") {
    notes.push_back(
        fmt::format("rates of {} are Hopper's, scaled by datasheets; the only steps that were compared (Llama 3 8B in "
                    "PyTorch) took "
                    "1.6 to 2 times as long as computed",
                    parts_.gpu->name.value));
  }
  notes.push_back("the slowest of all GPUs sets the pace: clocks differ by 1.2 % (one standard deviation)");
  if (parts_.plan.shape.mixture()) notes.emplace_back("tokens are spread evenly over the experts");
  if (parts_.options.fidelity == netsim::Fidelity::analytic && parts_.hosts.size() > 1) {
    notes.emplace_back(
        "analytic: leaf oversubscription is the only congestion modeled; --fidelity flow simulates the fabric");
  }
  for (const FabricFinding& finding : timer_->findings()) {
    notes.push_back(
        fmt::format("{}: {} concurrent transfers take {:.2f} times as long on the backend as on an ideal network",
                    finding.what, finding.transfers, finding.slowdown));
  }
  if (timer_->problem()) notes.push_back("not simulated: " + timer_->problem()->text());
}

std::optional<LifeResult> Life::play() {
  const std::size_t before = diagnostics_.error_count();
  std::optional<TrainingPlan> plan = plan_training(parts_.job, parts_.cluster, diagnostics_);
  if (!plan) return std::nullopt;
  parts_.plan = *plan;
  if (!find_servers() || !fits() || !prepare_fabric()) return std::nullopt;
  say("simulating a step");
  if (life_.faults.any) {
    timer_->show_faults(false);
    life_.faults.step_before = play_step(parts_.plan, *rates_, *timer_).parts.step;
    timer_->show_faults(true);
  }
  parts_.step = play_step(parts_.plan, *rates_, *timer_);
  say("storage");
  if (!storage()) return std::nullopt;
  if (diagnostics_.error_count() != before) return std::nullopt;

  life_.cluster = parts_.cluster.name();
  life_.job = parts_.job.name->text;
  life_.model = std::string(parts_.plan.shape.name);
  life_.fidelity = parts_.options.fidelity;
  life_.gpus = static_cast<std::uint32_t>(parts_.plan.gpus);
  life_.servers = static_cast<std::uint32_t>(parts_.hosts.size());
  life_.layout = parts_.plan.layout();
  life_.global_batch = static_cast<std::uint64_t>(parts_.plan.global_batch);
  life_.sequence = static_cast<std::uint64_t>(parts_.plan.sequence);
  life_.micro_batches = static_cast<std::uint64_t>(parts_.plan.micro_batches);
  life_.parameters = total_parameters(parts_.plan.shape);
  life_.active_parameters = active_parameters(parts_.plan.shape);
  figures();
  add_communication(parts_, *timer_, life_);
  states();
  finish_faults();
  add_tail(parts_, life_);
  if (parts_.options.timeline) add_timeline(parts_, life_);
  heat();
  assumptions();
  life_.trace_hash = hash_of(life_);
  if (parts_.options.what_ifs) say("trying changes");
  add_verdict(parts_, life_);
  return std::move(life_);
}

}  // namespace

std::optional<LifeResult> play_life(const model::Cluster& cluster, const model::JobSpec& job,
                                    const LifeOptions& options, Diagnostics& diagnostics) {
  return Life(cluster, job, options, diagnostics).play();
}

}  // namespace weft::workload

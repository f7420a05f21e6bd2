// States 3 to 5 of a job, one iteration: the events in order, their networks, and the utilization of each network.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "workload/life/internal.h"

namespace weft::workload {
namespace {

constexpr double kDark = 0.001;

// Bytes of all GPUs together that a kind of call sends over NVLink and the backend in one step.
struct Sent {
  double nvlink = 0;
  double backend = 0;
};
Sent sent_by(const LifeParts& parts, FabricTimer& timer, const StepCall& call) {
  Sent sent;
  const double gpus = static_cast<double>(parts.plan.gpus);
  const double calls = static_cast<double>(call.call.calls);
  if (call.call.collective == netsim::Collective::send_recv) {
    const double bytes = static_cast<double>(call.call.bytes.count()) * calls * gpus;
    (leaves_server(call.call.group) ? sent.backend : sent.nvlink) += bytes;
    return sent;
  }
  const NcclChoice choice = timer.choice(call.call.collective, call.call.bytes, call.call.group);
  sent.nvlink = static_cast<double>(choice.nvlink_bytes.count()) * calls * gpus;
  sent.backend = static_cast<double>(choice.nic_bytes.count()) * calls * gpus;
  return sent;
}

bool of_gradients(const StepCall& call) { return call.call.what.find("gradient") != std::string::npos; }
bool of_parameters(const StepCall& call) { return call.call.what.find("parameter") != std::string::npos; }

std::string backend_protocol(const LifeParts& parts) {
  if (parts.options.tcp) return "NCCL over TCP sockets";
  return parts.machine.infiniband ? "InfiniBand RDMA write" : "RoCEv2 RDMA write";
}

class Iteration {
 public:
  Iteration(const LifeParts& parts, FabricTimer& timer, SimTime start, LifeResult& life)
      : parts_(parts), timer_(timer), life_(life) {
    const StepTimes& step = parts.step;
    SimTime forward(0);
    SimTime backward(0);
    for (std::size_t i = step.slowest; i < step.forward.size(); i += static_cast<std::size_t>(parts.plan.pipeline)) {
      forward += step.forward[i].total;
      backward += step.backward[i].total;
    }
    forward_share_ = seconds_of(forward) / std::max(1e-12, seconds_of(forward + backward));
    const SimTime passes = step.pass_end;
    const SimTime first = time_from(seconds_of(passes) * forward_share_) + life.parts.input + step.gathers_exposed;
    const SimTime second = life.parts.step - first - life.parts.optimizer - life.parts.checkpoint;
    begin(2, 3, "Data ingest and forward pass", start, first, Medium::storage);
    begin(3, 4, "Backward pass and gradient reduction", start + first, second, Medium::backend);
    begin(4, 5, "Optimizer, checkpoint, loop", start + first + second, life.parts.optimizer + life.parts.checkpoint,
          Medium::storage);
    capacity_nvlink_ =
        static_cast<double>(parts.machine.nvlink.per_second.count()) * static_cast<double>(parts.plan.gpus);
    const double nics = static_cast<double>(parts.hosts.size()) * parts.machine.nics *
                        static_cast<double>(parts.job.gpus_per_node.value) / std::max(1U, parts.machine.node_gpus);
    capacity_backend_ = static_cast<double>(parts.machine.nic.count()) / 8 * nics;
  }

  void fill() {
    reads();
    calls();
    kernels();
    checkpoint();
    finish();
  }

 private:
  LifeState& state(int number) { return life_.states[static_cast<std::size_t>(number - 1)]; }

  void begin(std::size_t index, int number, const char* name, SimTime start, SimTime duration, Medium main) {
    LifeState& made = life_.states[index];
    made.number = number;
    made.name = name;
    made.start = start;
    made.duration = std::max(SimTime(1), duration);
    made.main = main;
  }

  void event(int number, std::string what, std::string protocol, Medium medium, SimTime at, SimTime duration,
             double bytes, std::string detail) {
    LifeEvent made;
    made.what = std::move(what);
    made.protocol = std::move(protocol);
    made.medium = medium;
    made.start = state(number).start + at;
    made.duration = duration;
    made.bytes = Bytes(std::llround(bytes));
    made.detail = std::move(detail);
    state(number).events.push_back(std::move(made));
  }

  void use(int number, Medium medium, double bytes, double capacity, SimTime busy, double peak) {
    if (bytes <= 0 || capacity <= 0) return;
    MediumUse& one = state(number).use[static_cast<std::size_t>(medium)];
    one.bytes += Bytes(std::llround(bytes));
    one.mean = std::min(1.0, one.mean + bytes / capacity / seconds_of(state(number).duration));
    one.peak = std::max({one.peak, std::min(1.0, peak), one.mean});
    one.busy = std::min(state(number).duration, one.busy + busy);
  }

  void reads() {
    const ReadPlan& plan = parts_.reads;
    if (!plan.any) return;
    const Medium medium = plan.fabric == model::FabricKind::storage ? Medium::storage : Medium::frontend;
    const double bytes = static_cast<double>(plan.step_bytes.count());
    const double rate = static_cast<double>(plan.available.per_second.count());
    const SimTime whole = state(3).duration + state(4).duration + state(5).duration;
    const SimTime busy = rate > 0 ? std::min(whole, time_from(bytes / rate)) : SimTime(0);
    // Prefetch spreads the reads over the iteration; they are shown where their data is used.
    const double capacity = plan.utilization > 0 ? rate / plan.utilization : rate;
    use(3, medium, bytes, capacity, std::min(busy, state(3).duration), plan.utilization);
    event(3, "read of samples", plan.protocol, medium, SimTime(0), std::max(busy, parts_.reads.step_time), bytes,
          fmt::format("volume {}, prefetched during the step{}", plan.volume,
                      plan.limits.empty() ? "" : "; bottleneck: " + plan.limits.front().what));
    const double host = bytes / static_cast<double>(parts_.hosts.size());
    event(
        3, "copy to GPU memory", "PCIe DMA", Medium::host, SimTime(0), time_from(host / 50e9), bytes,
        parts_.job.training->data->gpudirect.value ? "GPUDirect: bypasses host memory" : "through pinned host memory");
  }

  void calls() {
    for (const StepCall& call : parts_.step.calls) {
      const Sent sent = sent_by(parts_, timer_, call);
      const bool gradients = of_gradients(call);
      const double forward = gradients ? 0 : of_parameters(call) ? 1 : forward_share_;
      spread(call, sent, 3, forward);
      spread(call, sent, 4, 1 - forward);
    }
    for (const auto& [key, total] : totals_) {
      event(key.first, key.second, total.protocol, total.medium, SimTime(0),
            std::min(state(key.first).duration, total.busy), total.bytes,
            fmt::format("{} call{} per rank in groups of {} GPUs", total.calls, total.calls == 1 ? "" : "s",
                        total.ranks));
    }
  }

  void spread(const StepCall& call, const Sent& sent, int number, double share) {
    if (share <= 0) return;
    const SimTime busy = std::min(state(number).duration, time_from(seconds_of(call.total) * share));
    const double length = std::max(1e-12, seconds_of(call.total));
    use(number, Medium::nvlink, sent.nvlink * share, capacity_nvlink_, busy,
        sent.nvlink / length / std::max(1.0, capacity_nvlink_));
    use(number, Medium::backend, sent.backend * share, capacity_backend_, busy,
        sent.backend / length / std::max(1.0, capacity_backend_));
    const bool outside = sent.backend > 0;
    Total& total = totals_[{number, call.call.what}];
    total.protocol = outside ? backend_protocol(parts_) : "NVLink";
    total.medium = outside ? Medium::backend : Medium::nvlink;
    total.busy += busy;
    total.bytes += (sent.nvlink + sent.backend) * share;
    total.calls += static_cast<std::uint64_t>(std::llround(static_cast<double>(call.call.calls) * share));
    total.ranks = call.call.group.ranks;
  }

  void kernels() {
    const StepParts& parts = life_.parts;
    const SimTime compute = parts.compute + parts.recompute;
    const SimTime forward = time_from(seconds_of(compute) * forward_share_);
    event(3, "forward kernels", "CUDA", Medium::host, parts.input, forward, 0,
          fmt::format("{} micro-batches through {} stage{}", parts_.plan.micro_batches, parts_.plan.pipeline,
                      parts_.plan.pipeline == 1 ? "" : "s"));
    event(4, "backward kernels", "CUDA", Medium::host, SimTime(0), compute - forward, 0,
          parts.recompute > SimTime(0) ? "activations are recomputed" : "");
    event(5, "optimizer", "CUDA", Medium::host, SimTime(0), parts.optimizer, 0,
          "Adam on the GPU's shard of the optimizer state");
  }

  void checkpoint() {
    const CheckpointPlan& plan = parts_.checkpoint;
    if (!plan.any || parts_.checkpoint_steps == 0) return;
    const Medium medium = plan.fabric == model::FabricKind::storage ? Medium::storage : Medium::frontend;
    const double steps = static_cast<double>(parts_.checkpoint_steps);
    const double rate = static_cast<double>(plan.available.per_second.count());
    const double bytes = static_cast<double>(plan.size.count());
    const double capacity = plan.utilization > 0 ? rate / plan.utilization : rate;
    // Share of one step; an asynchronous write takes longer than the state.
    use(5, medium, bytes / steps, capacity, time_from(seconds_of(plan.write_time) / steps), plan.utilization);
    const SimTime at = life_.parts.optimizer;
    const double gib = bytes / static_cast<double>(std::int64_t{1} << 30);
    event(5, "checkpoint: copy to host memory", "PCIe DMA", Medium::host, at, plan.copy_time, bytes,
          fmt::format("{:.1f} GiB, every {} steps", gib, parts_.checkpoint_steps));
    event(5, "checkpoint: write", plan.protocol, medium, at + plan.copy_time, plan.write_time - plan.rename_time, bytes,
          fmt::format("{} files to volume {}{}", plan.files, plan.volume,
                      plan.limits.empty() ? "" : "; bottleneck: " + plan.limits.front().what));
    event(5, "checkpoint: flush and rename", plan.protocol, medium,
          at + plan.copy_time + plan.write_time - plan.rename_time, plan.rename_time, 0,
          "the old one is kept until the new one is complete");
  }

  void finish() {
    for (int number = 3; number <= 5; ++number) {
      LifeState& one = state(number);
      for (const Medium medium : {Medium::backend, Medium::storage, Medium::frontend, Medium::oob, Medium::nvlink}) {
        if (one.use[static_cast<std::size_t>(medium)].mean < kDark) one.dark.push_back(medium);
      }
      // A state is about the network that it is known for, unless this job leaves it dark.
      const auto mean = [&](Medium medium) { return one.use[static_cast<std::size_t>(medium)].mean; };
      if (mean(one.main) >= kDark) continue;
      for (const Medium medium : {Medium::backend, Medium::storage, Medium::frontend, Medium::nvlink}) {
        if (mean(medium) > mean(one.main)) one.main = medium;
      }
    }
    // The backend is dark while no call of the slowest stage uses it.
    double busy = 0;
    for (const StepCall& call : parts_.step.calls) {
      if (leaves_server(call.call.group)) busy += seconds_of(call.total);
    }
    life_.backend_dark = std::max(0.0, 1 - busy / seconds_of(life_.parts.step));
  }

  // Calls of one name in one state are one event.
  struct Total {
    std::string protocol;
    Medium medium = Medium::nvlink;
    SimTime busy;
    double bytes = 0;
    std::uint64_t calls = 0;
    std::uint32_t ranks = 1;
  };

  const LifeParts& parts_;
  FabricTimer& timer_;
  LifeResult& life_;
  std::map<std::pair<int, std::string>, Total> totals_;
  double forward_share_ = 1.0 / 3;
  double capacity_nvlink_ = 0;
  double capacity_backend_ = 0;
};

}  // namespace

void add_iteration_states(const LifeParts& parts, FabricTimer& timer, SimTime start, LifeResult& life) {
  Iteration(parts, timer, start, life).fill();
}

void add_communication(const LifeParts& parts, FabricTimer& timer, LifeResult& life) {
  const StepParts& step = parts.step.parts;
  // Exposed time is known per stream; within a stream it is divided among calls in proportion to their length.
  const auto exposed_of = [&](std::uint8_t stream) {
    switch (stream) {
      case stream_tensor:
        return step.tensor;
      case stream_context:
        return step.context;
      case stream_expert:
        return step.expert;
      default:
        return step.data;
    }
  };
  const auto counted_as = [](std::uint8_t stream) {
    return stream == stream_replica ? std::uint8_t{stream_data} : stream;
  };
  for (const StepCall& call : parts.step.calls) {
    const bool message = call.call.collective == netsim::Collective::send_recv;
    const bool pipeline = call.call.group.name == "pipeline";
    SimTime all(0);
    for (const StepCall& other : parts.step.calls) {
      if (counted_as(other.call.stream) == counted_as(call.call.stream) && other.call.group.name != "pipeline")
        all += other.total;
    }
    CommunicationRow row;
    row.what = call.call.what;
    row.medium = leaves_server(call.call.group) ? Medium::backend : Medium::nvlink;
    row.ranks = call.call.group.ranks;
    row.calls = call.call.calls;
    row.bytes = call.call.bytes;
    row.time = call.call.time;
    row.total = call.total;
    row.exposed = pipeline ? step.pipeline
                           : time_from(seconds_of(exposed_of(call.call.stream)) * seconds_of(call.total) /
                                       std::max(1e-12, seconds_of(all)));
    row.slowdown = timer.slowdown(call.call.collective, call.call.bytes, call.call.group);
    const double seconds = seconds_of(call.call.time);
    const double factor = message ? 1 : netsim::bus_factor(call.call.collective, call.call.group.ranks);
    row.bus_bandwidth = seconds > 0 ? static_cast<double>(call.call.bytes.count()) / seconds * factor : 0;
    if (message) {
      row.algorithm = "p2p";
    } else {
      const NcclChoice choice = timer.choice(call.call.collective, call.call.bytes, call.call.group);
      row.algorithm = fmt::format("{} {}", to_text(choice.algorithm), to_text(choice.protocol));
    }
    life.communication.push_back(std::move(row));
  }
}

}  // namespace weft::workload

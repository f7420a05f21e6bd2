// A sample result as play_life() might return it: a 70-billion-parameter model on 256 GPUs of a cluster "pod32".
// Invented, but its parts add up and its proportions are realistic. For tests of code that shows results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "html/svg.h"
#include "workload/result/life.h"

namespace weft::workload::sample {

constexpr SimTime ms(std::int64_t n) { return netsim::microseconds(n * 1000); }

inline MediumUse use(double mean, double peak, std::int64_t bytes, SimTime busy) {
  return {mean, peak, Bytes(bytes), busy};
}
inline MediumUse& at(LifeState& state, Medium medium) { return state.use[static_cast<std::size_t>(medium)]; }

inline LifeState start_state() {
  LifeState state;
  state.number = 1;
  state.name = "Submit, schedule, pods running";
  state.duration = ms(74'200);
  state.main = Medium::frontend;
  state.dark = {Medium::backend, Medium::storage, Medium::nvlink};
  at(state, Medium::frontend) = use(0.142, 0.91, 319'500'000'000, ms(41'000));
  at(state, Medium::oob) = use(0.002, 0.013, 48'000'000, ms(62'000));
  state.events = {
      {"submit", "HTTPS/TCP", Medium::frontend, ms(0), ms(42), Bytes(18'400), "sbatch to slurmctld"},
      {"scheduling", "slurmctld RPC/TCP", Medium::frontend, ms(42), ms(2'958), Bytes(2'400'000), "backfill"},
      {"node health", "Redfish/HTTPS", Medium::oob, ms(3'000), ms(9'000), Bytes(48'000'000),
       "32 BMCs: power, temperature, fans"},
      {"image pull", "HTTPS/TCP", Medium::frontend, ms(12'000), ms(41'000), Bytes(319'500'000'000),
       "32 servers x 9.3 GiB from registry.pod32.internal"},
      {"pods running", "CRI", Medium::host, ms(53'000), ms(21'200), Bytes(0), "unpack, mount, start"}};
  return state;
}

inline LifeState load_state() {
  LifeState state;
  state.number = 2;
  state.name = "Rendezvous, communicators, weights";
  state.start = ms(74'200);
  state.duration = ms(38'600);
  state.main = Medium::storage;
  state.dark = {Medium::oob};
  at(state, Medium::backend) = use(0.004, 0.21, 3'100'000'000, ms(1'900));
  at(state, Medium::storage) = use(0.523, 0.97, 1'128'000'000'000, ms(23'400));
  at(state, Medium::frontend) = use(0.001, 0.004, 12'000'000, ms(900));
  at(state, Medium::nvlink) = use(0.002, 0.11, 7'400'000'000, ms(700));
  at(state, Medium::oob) = use(0, 0, 0, SimTime());
  state.events = {{"rendezvous", "TCPStore/TCP", Medium::frontend, ms(74'200), ms(4'100), Bytes(12'000'000), ""},
                  {"communicators", "NCCL bootstrap", Medium::backend, ms(78'300), ms(8'600), Bytes(3'100'000'000),
                   "QP exchange, topology search, 12 communicators"},
                  {"checkpoint load", "NVMe-oF/RDMA", Medium::storage, ms(86'900), ms(23'400), Bytes(1'128'000'000'000),
                   "14 bytes a parameter, sharded"},
                  {"weights to GPU", "CUDA", Medium::host, ms(110'300), ms(2'500), Bytes(1'128'000'000'000), "PCIe"}};
  return state;
}

inline LifeState forward_state() {
  LifeState state;
  state.number = 3;
  state.name = "Forward";
  state.start = ms(112'800);
  state.duration = ms(466);
  state.main = Medium::nvlink;
  state.dark = {Medium::frontend, Medium::oob};
  at(state, Medium::backend) = use(0.061, 0.34, 9'800'000'000, ms(90));
  at(state, Medium::storage) = use(0.0017, 0.08, 67'000'000, ms(12));
  at(state, Medium::nvlink) = use(0.387, 0.86, 2'610'000'000'000, ms(301));
  state.events = {{"sample reads", "NVMe-oF/RDMA", Medium::storage, ms(112'800), ms(12), Bytes(67'000'000), "prefetch"},
                  {"tensor all-gather", "NCCL NVLS", Medium::nvlink, ms(112'803), ms(301), Bytes(2'610'000'000'000),
                   "640 calls of a rank"},
                  {"pipeline send", "RoCEv2 RDMA write", Medium::backend, ms(112'830), ms(90), Bytes(9'800'000'000),
                   "16 MiB a micro-batch"}};
  return state;
}

inline LifeState backward_state() {
  LifeState state;
  state.number = 4;
  state.name = "Backward and gradient reduction";
  state.start = ms(113'266);
  state.duration = ms(931);
  state.main = Medium::backend;
  state.dark = {Medium::storage, Medium::frontend, Medium::oob};
  at(state, Medium::backend) = use(0.287, 0.94, 702'000'000'000, ms(402));
  at(state, Medium::nvlink) = use(0.402, 0.88, 5'220'000'000'000, ms(611));
  state.events = {{"tensor reduce-scatter", "NCCL NVLS", Medium::nvlink, ms(113'266), ms(611), Bytes(5'220'000'000'000),
                   "1280 calls of a rank"},
                  {"reduce-scatter of gradients", "RoCEv2 RDMA write", Medium::backend, ms(113'700), ms(402),
                   Bytes(702'000'000'000), "ring over 8 data replicas"}};
  return state;
}

inline LifeState update_state() {
  LifeState state;
  state.number = 5;
  state.name = "Optimizer, parameters, checkpoint";
  state.start = ms(114'197);
  state.duration = ms(93);
  state.main = Medium::storage;
  state.dark = {Medium::frontend, Medium::oob};
  at(state, Medium::backend) = use(0.412, 0.93, 351'000'000'000, ms(41));
  at(state, Medium::storage) = use(0.21, 0.95, 2'256'000'000, ms(30));
  at(state, Medium::nvlink) = use(0.01, 0.2, 12'000'000'000, ms(4));
  state.events = {{"optimizer", "CUDA", Medium::host, ms(114'197), ms(22), Bytes(0), "Adam, fp32 copy"},
                  {"all-gather of parameters", "RoCEv2 RDMA write", Medium::backend, ms(114'219), ms(41),
                   Bytes(351'000'000'000), ""},
                  {"checkpoint", "NVMe-oF/RDMA", Medium::storage, ms(114'260), ms(30), Bytes(1'128'000'000'000),
                   "15.0 s each 500 steps"}};
  return state;
}

// One iteration on `servers` servers: per server a compute stream, a communication stream and a NIC, with `layers`
// layers per pass.
class SampleTimeline {
 public:
  explicit SampleTimeline(std::uint32_t servers, std::uint32_t layers) {
    timeline_.names = {"forward",   "backward",   "attention",       "matrix products", "tensor all-gather",
                       "gradients", "image pull", "checkpoint load", "optimizer",       "scheduling"};
    timeline_.iteration_start = ms(112'800);
    timeline_.iteration_end = ms(114'290);
    add_track("control plane", "slurmctld");
    span(9, ms(42), ms(2'958));
    add_track("frontend fabric", "registry");
    span(6, ms(12'000), ms(41'000));
    add_track("storage fabric", "reads");
    span(7, ms(86'900), ms(23'400));
    for (std::uint32_t server = 0; server < servers; ++server) add_server(server, layers);
    add_counters();
  }
  Timeline take() { return std::move(timeline_); }

 private:
  void add_track(std::string process, std::string thread) {
    timeline_.tracks.push_back({std::move(process), std::move(thread)});
  }
  void span(std::uint32_t name, SimTime start, SimTime duration) {
    const auto track = static_cast<std::uint32_t>(timeline_.tracks.size() - 1);
    timeline_.spans.push_back({track, name, start, duration});
  }
  void add_server(std::uint32_t server, std::uint32_t layers) {
    const std::string name = "train" + std::to_string(server + 1);
    const SimTime forward = ms(466) / layers;
    const SimTime backward = ms(931) / layers;
    add_track(name, "GPU 0 compute");
    span(0, ms(112'800), ms(466));
    for (std::uint32_t i = 0; i < layers; ++i) {
      const SimTime start = ms(112'800) + forward * i;
      span(2, start, forward / 4);
      span(3, start + forward / 4, forward / 2);
    }
    span(1, ms(113'266), ms(931));
    for (std::uint32_t i = 0; i < layers; ++i) {
      const SimTime start = ms(113'266) + backward * i;
      span(3, start, backward / 2);
      span(2, start + backward / 2, backward / 3);
    }
    span(8, ms(114'197), ms(22));
    add_track(name, "GPU 0 NVLink");
    for (std::uint32_t i = 0; i < layers; ++i) span(4, ms(112'800) + forward * i + forward * 3 / 4, forward / 4);
    for (std::uint32_t i = 0; i < layers; ++i) span(4, ms(113'266) + backward * i + backward * 5 / 6, backward / 6);
    add_track(name, "NIC 0");
    for (std::uint32_t i = 0; i < 8; ++i) span(5, ms(113'700) + ms(50) * i, ms(46));
  }
  void add_counters() {
    TimelineCounter use{"backend fabric", "links used", "%", {}};
    for (int i = 0; i < 60; ++i) use.points.emplace_back(ms(112'800 + 25 * i), i < 36 ? 6.0 + i % 5 : 80.0 + i % 9);
    timeline_.counters.push_back(std::move(use));
  }
  Timeline timeline_;
};

inline std::string heat_svg() {
  picture::Svg svg;
  svg.text({10, 20}, "leaf to spine", {.size = 13, .bold = true});
  static constexpr std::string_view kColors[] = {"#ffffcc", "#fed976", "#fd8d3c", "#e31a1c"};
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 16; ++column) {
      const picture::Box box{10.0 + 30 * column, 30.0 + 22 * row, 28, 20};
      const auto heat = static_cast<std::size_t>((row * 7 + column * 3) % 4);
      svg.rect(box, {.fill = kColors[heat]},
               "leaf" + std::to_string(row + 1) + " to spine" + std::to_string(column + 1));
    }
  }
  return svg.finish(500, 220, "Backend links of pod32");
}

inline Tail tail() {
  Tail tail;
  for (int i = 0; i < 1000; ++i) {
    // Most within a few ms, every 25th late by up to 200 ms.
    const int late = i % 25 == 0 ? 20 + (i / 25) * 37 % 180 : i * 13 % 11;
    tail.times.push_back(ms(1'455 + late));
  }
  std::vector<SimTime> sorted = tail.times;
  std::sort(sorted.begin(), sorted.end());
  tail.iterations = sorted.size();
  tail.p50 = sorted[499];
  tail.p99 = sorted[989];
  tail.max = sorted.back();
  SimTime sum;
  for (const SimTime time : sorted) sum += time;
  tail.mean = sum / 1000;
  tail.millisecond_over_run = Duration(std::int64_t{50'000} * 1'000'000);
  tail.tail_over_run = Duration((tail.mean - tail.p50).count() / 1'000 * 50'000);
  return tail;
}

inline std::vector<CommunicationRow> communication() {
  const auto row = [](std::string what, Medium medium, std::string algorithm, std::uint32_t ranks, std::uint64_t calls,
                      std::int64_t bytes, std::int64_t us) {
    CommunicationRow made{std::move(what),
                          medium,
                          std::move(algorithm),
                          ranks,
                          calls,
                          Bytes(bytes),
                          netsim::microseconds(us),
                          {},
                          {},
                          0,
                          1};
    made.total = made.time * static_cast<std::int64_t>(calls);
    made.bus_bandwidth = static_cast<double>(bytes) / (static_cast<double>(us) * 1e-6) * (ranks - 1) / ranks;
    return made;
  };
  std::vector<CommunicationRow> rows = {
      row("tensor all-gather", Medium::nvlink, "NVLS Simple", 8, 960, 134'217'728, 380),
      row("tensor reduce-scatter", Medium::nvlink, "NVLS Simple", 8, 960, 134'217'728, 395),
      row("pipeline send", Medium::backend, "p2p", 2, 64, 16'777'216, 402),
      row("data reduce-scatter", Medium::backend, "Ring Simple", 8, 20, 1'100'000'000, 20'100)};
  rows[0].exposed = ms(104);
  rows[1].exposed = ms(112);
  rows[2].exposed = ms(8);
  rows[3].exposed = ms(96);
  rows[2].slowdown = 1.08;
  rows[3].slowdown = 1.37;
  return rows;
}

inline LifeResult life(std::uint32_t servers = 2, std::uint32_t layers = 40) {
  LifeResult result;
  result.cluster = "pod32";
  result.job = "llm-pretrain";
  result.model = "llama-3-70b";
  result.fidelity = netsim::Fidelity::flow;
  result.gpus = 256;
  result.servers = 32;
  result.layout = "tensor 8 x pipeline 4 (interleave 5) x data 8";
  result.global_batch = 512;
  result.sequence = 8192;
  result.micro_batches = 64;
  result.parameters = 70.6e9;
  result.active_parameters = 70.6e9;
  result.flops_per_step = 1.95e18;
  result.states = {start_state(), load_state(), forward_state(), backward_state(), update_state()};
  result.parts = {.step = ms(1'490),
                  .compute = ms(931),
                  .recompute = ms(62),
                  .tensor = ms(216),
                  .context = {},
                  .expert = {},
                  .pipeline = ms(8),
                  .data = ms(96),
                  .bubble = ms(92),
                  .optimizer = ms(22),
                  .input = ms(14),
                  .checkpoint = ms(30),
                  .host = ms(19)};
  result.step = ms(1'460);
  result.tokens_per_second = 512.0 * 8192 / 1.46;
  result.tflops_per_gpu = 539;
  result.mfu = 0.545;
  result.hfu = 0.579;
  result.gpu_utilization = 0.681;
  result.backend_dark = 0.64;
  const auto gb = [](double n) { return Bytes(static_cast<std::int64_t>(n * 1e9)); };
  result.memory = {gb(80), gb(4.41), gb(8.83), gb(3.31), gb(41.2), gb(5.6), gb(63.35), gb(55.1), 0};
  result.communication = communication();
  result.tail = tail();
  result.verdict = {"tensor communication",
                    "of a step of 1.46 s, 216 ms (14.8 %) are tensor collectives that compute does not hide",
                    {{"overlap of tensor collectives", "training.overlap.tensor: true", ms(1'322), 0.104},
                     {"oversubscription 1:1 instead of 2:1", "fabrics.backend.oversubscription: 1:1", ms(1'401), 0.042},
                     {"asynchronous checkpoints", "training.checkpoint.mode: asynchronous", ms(1'462), 0.019}}};
  result.run_time = Duration(std::int64_t{1'490} * 1'000'000 * 50'000);
  result.checkpoint_stall = ms(15'000);
  result.checkpoint_steps = 500;
  result.checkpoint_overhead = 0.0201;
  result.timeline = SampleTimeline(servers, layers).take();
  result.heat = {{model::FabricKind::backend, heat_svg()}};
  result.assumptions = {"kernels reach 62 % of the dense peak in matrix products of this size",
                        "the registry serves layers from memory; nothing is cached on the servers"};
  result.trace_hash = 0x1234abcd5678ef90;
  return result;
}

}  // namespace weft::workload::sample

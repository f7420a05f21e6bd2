// Result of simulating a job (`weft sim life`): five states on four fabrics (and NVLink), the figures of a step, the
// bottleneck and recommended changes. Plain data: filled by play_life() and shown by views, pages and traces, which
// compute nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "netsim/network/sim_time.h"
#include "netsim/sim/options.h"
#include "workload/result/fault_outcome.h"

namespace weft::workload {

using netsim::SimTime;

// What bytes travel over. The first four are physically separate; NVLink and the host never leave a server.
enum class Medium : std::uint8_t { backend, storage, frontend, oob, nvlink, host };
inline constexpr std::size_t kMedia = 6;
[[nodiscard]] std::string_view to_text(Medium medium);

struct LifeEvent {
  std::string what;      // "image pull", "reduce-scatter of gradients"
  std::string protocol;  // "HTTPS/TCP", "RoCEv2 RDMA write", "NVMe-oF/RDMA", "CUDA"
  Medium medium = Medium::host;
  SimTime start;  // since submit
  SimTime duration;
  Bytes bytes;         // all servers of the job together; 0 if not counted
  std::string detail;  // "32 servers x 9.3 GiB from registry.pod32.internal"
};

struct MediumUse {
  double mean = 0;  // used share of the capacity of the job's links, over the whole state
  double peak = 0;  // at the busiest moment
  Bytes bytes;      // all servers together
  SimTime busy;     // at least one byte on the wire
};

struct LifeState {
  int number = 1;    // 1 to 5
  std::string name;  // "Submit, schedule, pods running"
  SimTime start;
  SimTime duration;  // 3 to 5: of one iteration (5: with its share of a checkpoint)
  std::array<MediumUse, kMedia> use;
  std::vector<LifeEvent> events;
  // The network that dominates this state, and those that are dark (under 0.1 %).
  Medium main = Medium::frontend;
  std::vector<Medium> dark;
};

// Breakdown of the time of one step. The parts add up to `step`.
struct StepParts {
  SimTime step;
  SimTime compute;    // matrix products, attention, element-wise kernels of the slowest stage
  SimTime recompute;  // of activations
  SimTime tensor;     // exposed communication, by kind
  SimTime context;
  SimTime expert;
  SimTime pipeline;  // waiting for messages between stages
  SimTime data;      // gradients and parameters
  SimTime bubble;    // pipeline fill and drain, imbalance of stages
  SimTime optimizer;
  SimTime input;       // waiting for samples
  SimTime checkpoint;  // share per step
  SimTime host;        // gaps in which the GPU waits for the host
};

struct MemoryUse {  // of the fullest GPU
  Bytes capacity;   // usable by a program
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes buffers;  // NCCL, workspaces, fragmentation, CUDA context
  Bytes total;
  Bytes least;  // needed in any case: without what the job file leaves open and without buffers that vary
  std::uint32_t stage = 0;
};

struct Tail {  // of iterations
  std::uint64_t iterations = 0;
  SimTime p50, p99, max, mean;
  std::vector<SimTime> times;  // per iteration, for a histogram
  // Over all steps of the run, which may take years: nanoseconds, because picoseconds overflow after 106 days.
  Duration millisecond_over_run;  // cost of 1 ms of tail per step
  Duration tail_over_run;         // cost of mean - p50
};

// One recommended change, simulated.
struct Change {
  std::string what;  // "12 more storage servers", "oversubscription 1:1 instead of 2:1"
  std::string how;   // the key to set: "pools.store.count: 24"
  SimTime step;      // with the change, input and checkpoint included
  double gain = 0;   // throughput with / without - 1
};

struct Verdict {
  std::string bound_by;         // "compute", "tensor communication", "storage reads", ...
  std::string because;          // a sentence with figures
  std::vector<Change> changes;  // most gain first; at most three, all of which help
};

struct CommunicationRow {  // one kind of communication in a step
  std::string what;        // "tensor all-gather", "data reduce-scatter", "pipeline send"
  Medium medium = Medium::nvlink;
  std::string algorithm;  // "NVLS Simple", "Ring LL128", "p2p"
  std::uint32_t ranks = 1;
  std::uint64_t calls = 0;   // per rank and step
  Bytes bytes;               // per call, as nccl-tests counts
  SimTime time;              // per call
  SimTime total;             // calls x time
  SimTime exposed;           // part of it not hidden behind compute
  double bus_bandwidth = 0;  // bytes/s
  double slowdown = 1;       // relative to the same call on an idle network: congestion, hashing, slow links
};

// A row of the timeline, as in Perfetto: process (a server, a fabric), thread (a stream, a NIC, a queue).
struct TimelineTrack {
  std::string process;
  std::string thread;
};
struct TimelineSpan {
  std::uint32_t track = 0;
  std::uint32_t name = 0;  // Timeline::names
  SimTime start;           // since submit
  SimTime duration;
};
struct TimelineCounter {  // a value over time: link use in percent, queue in bytes, paused links
  std::string process;
  std::string name;
  std::string unit;
  std::vector<std::pair<SimTime, double>> points;
};
struct Timeline {
  std::vector<TimelineTrack> tracks;
  std::vector<std::string> names;
  std::vector<TimelineSpan> spans;  // in order of track, then start
  std::vector<TimelineCounter> counters;
  SimTime iteration_start;  // states 1 and 2 are long, an iteration is short: initial position of the view
  SimTime iteration_end;
};

// Utilization of each link of a fabric over the iteration (backend), for a heat map; empty if not simulated.
struct FabricHeat {
  model::FabricKind fabric = model::FabricKind::backend;
  std::string svg;  // a whole <svg> element
};

struct LifeResult {
  std::string cluster;
  std::string job;
  std::string model;
  netsim::Fidelity fidelity = netsim::Fidelity::analytic;
  std::uint32_t gpus = 0;
  std::uint32_t servers = 0;
  std::string layout;  // "tensor 4 x pipeline 4 (interleave 5) x context 2 x data 2"
  std::uint64_t global_batch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t micro_batches = 0;
  double parameters = 0;
  double active_parameters = 0;
  double flops_per_step = 0;  // of the model, without recomputation
  std::array<LifeState, 5> states;
  StepParts parts;
  SimTime step;  // one iteration with input stall, without checkpoints
  double tokens_per_second = 0;
  double tflops_per_gpu = 0;
  double mfu = 0;              // relative to the dense peak of the precision
  double hfu = 0;              // with recomputation counted
  double gpu_utilization = 0;  // share of the time in which the GPU computes, checkpoints included
  double backend_dark = 0;     // share of an iteration in which the backend carries nothing
  FaultOutcome faults;
  MemoryUse memory;
  std::vector<CommunicationRow> communication;
  Tail tail;
  Verdict verdict;
  Duration run_time;                   // submit to the end of the last step, checkpoints included; at most 292 years
  SimTime checkpoint_stall;            // per checkpoint
  SimTime checkpoint_write;            // until a checkpoint is complete, from its start
  SimTime checkpoint_load;             // to read one back on a restart
  std::uint64_t checkpoint_steps = 0;  // steps between two checkpoints
  std::uint64_t steps = 0;             // of the run
  double checkpoint_overhead = 0;      // share of the run
  Timeline timeline;
  std::vector<FabricHeat> heat;
  std::vector<std::string> assumptions;  // shown on the page and in the table's notes
  std::uint64_t trace_hash = 0;
};

}  // namespace weft::workload

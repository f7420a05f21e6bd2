// The life of a job as a result: five states on four fabrics (and NVLink), the numbers of a step, what bounds it and
// what to change. Plain data: it is made by play_life() and shown by views, pages and traces, which compute nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "netsim/network/sim_time.h"
#include "netsim/sim/options.h"

namespace weft::workload {

using netsim::SimTime;

// Where bytes travel. The first four are physically separate; NVLink and the host never leave a server.
enum class Medium : std::uint8_t { backend, storage, frontend, oob, nvlink, host };
inline constexpr std::size_t kMedia = 6;
[[nodiscard]] std::string_view to_text(Medium medium);

struct LifeEvent {
  std::string what;      // "image pull", "reduce-scatter of gradients"
  std::string protocol;  // "HTTPS/TCP", "RoCEv2 RDMA write", "NVMe-oF/RDMA", "CUDA"
  Medium medium = Medium::host;
  SimTime start;  // since submit
  SimTime duration;
  Bytes bytes;         // all servers of the job together; 0 where none are counted
  std::string detail;  // "32 servers x 9.3 GiB from registry.pod32.internal"
};

struct MediumUse {
  double mean = 0;  // share of the job's links' capacity that is used, over the whole state
  double peak = 0;  // while it is used most
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
  // The one network that this state is about, and those that are dark (under 0.1 %).
  Medium main = Medium::frontend;
  std::vector<Medium> dark;
};

// Where the time of one step goes. The parts add up to `step`.
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
  SimTime checkpoint;  // share of one step
  SimTime host;        // gaps in which the GPU waits for the host
};

struct MemoryUse {  // of the fullest GPU
  Bytes capacity;
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations;
  Bytes buffers;  // NCCL, workspaces, fragmentation, CUDA context
  Bytes total;
  std::uint32_t stage = 0;
};

struct Tail {  // of iterations
  std::uint64_t iterations = 0;
  SimTime p50, p99, max, mean;
  std::vector<SimTime> times;  // of each, for a histogram
  // Over all steps of the run, which may take years: nanoseconds, for picoseconds end after 106 days.
  Duration millisecond_over_run;  // what 1 ms of tail a step costs
  Duration tail_over_run;         // what mean - p50 costs
};

// One thing to change, played again.
struct Change {
  std::string what;  // "12 more storage servers", "oversubscription 1:1 instead of 2:1"
  std::string how;   // the key to set: "pools.store.count: 24"
  SimTime step;      // with it, input and checkpoint included
  double gain = 0;   // throughput with / without - 1
};

struct Verdict {
  std::string bound_by;         // "compute", "tensor communication", "storage reads", ...
  std::string because;          // a sentence with figures
  std::vector<Change> changes;  // most gain first; at most three, none that does not help
};

struct CommunicationRow {  // each kind of communication of a step
  std::string what;        // "tensor all-gather", "data reduce-scatter", "pipeline send"
  Medium medium = Medium::nvlink;
  std::string algorithm;  // "NVLS Simple", "Ring LL128", "p2p"
  std::uint32_t ranks = 1;
  std::uint64_t calls = 0;   // of one rank, one step
  Bytes bytes;               // of one call, as nccl-tests counts
  SimTime time;              // of one call
  SimTime total;             // calls x time
  SimTime exposed;           // of it not hidden behind compute
  double bus_bandwidth = 0;  // bytes/s
  double slowdown = 1;       // against the same call alone on the wires: congestion, hashing, slow links
};

// A row of the timeline, as Perfetto shows them: process (a server, a fabric), thread (a stream, a NIC, a queue).
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
  SimTime iteration_start;  // states 1 and 2 are long, an iteration is short: where to look
  SimTime iteration_end;
};

// How busy each link of a fabric was over the iteration (backend), for a heat map; empty where it was not simulated.
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
  double mfu = 0;              // against the dense peak of the precision
  double hfu = 0;              // with recomputation counted
  double gpu_utilization = 0;  // share of the time that the GPU computes, checkpoints included
  double backend_dark = 0;     // share of an iteration in which the backend carries nothing
  MemoryUse memory;
  std::vector<CommunicationRow> communication;
  Tail tail;
  Verdict verdict;
  Duration run_time;                   // submit to the end of the last step, checkpoints included; at most 292 years
  SimTime checkpoint_stall;            // of one checkpoint
  std::uint64_t checkpoint_steps = 0;  // steps between two
  double checkpoint_overhead = 0;      // share of the run
  Timeline timeline;
  std::vector<FabricHeat> heat;
  std::vector<std::string> assumptions;  // said on the page and in the table's notes
  std::uint64_t trace_hash = 0;
};

}  // namespace weft::workload

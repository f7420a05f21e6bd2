// Decisions per second of every placement policy: 1,200 servers of three kinds, tasks with the sizes of the openb trace
// until they have requested 130 % of the GPUs. The counter includes rejected tasks.
#include <benchmark/benchmark.h>

#include "sched/packing/study.h"

namespace {

using namespace weft;
using namespace weft::sched;

Machine servers() {
  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  for (int i = 0; i < 1200; ++i) {
    NodeShape shape;
    shape.name = "n" + std::to_string(i);
    shape.cpu = i % 3 == 0 ? 104'000 : 96'000;
    shape.memory_mib = 400'000;
    shape.gpus = i % 3 == 0 ? 2 : 8;
    shape.model = 0;
    labels.push_back({shape.name, {}, {}, {}});
    nodes.push_back(std::move(shape));
  }
  return *Machine::build(std::move(nodes), labels, {"A"}, {});
}

// The most common types of the trace, with their counts.
std::vector<TaskType> tasks() {
  std::vector<TaskType> types;
  const auto add = [&](Milli cpu, std::int32_t gpus, Milli milli, std::int64_t count) {
    TaskType type;
    type.request.cpu = cpu;
    type.request.memory_mib = cpu * 4;
    type.request.gpus = gpus;
    type.request.gpu_milli = milli;
    type.count = count;
    types.push_back(type);
  };
  add(3152, 1, 810, 1047);
  add(11'300, 1, 1000, 874);
  add(11'400, 1, 1000, 599);
  add(3152, 1, 1000, 470);
  add(11'908, 1, 470, 388);
  add(12'500, 0, 0, 366);
  add(8000, 1, 470, 360);
  add(32'000, 0, 0, 290);
  add(18'708, 1, 1000, 255);
  add(11'908, 1, 650, 237);
  add(4000, 1, 320, 232);
  add(4000, 1, 230, 122);
  add(88'000, 8, 1000, 18);
  return types;
}

void decide(benchmark::State& state) {
  const Machine machine = servers();
  const std::vector<TaskType> types = tasks();
  const std::vector<std::uint32_t> arrivals = draw_arrivals(types, machine.gpus() * kWholeGpu, 1.3, 42);
  const auto policy = static_cast<PackPolicy>(state.range(0));
  state.SetLabel(std::string(to_text(policy)));
  double allocated = 0;
  for (auto _ : state) allocated = run_pack(machine, types, arrivals, policy, 42).allocated;
  state.counters["allocated_percent"] = allocated;
  state.SetItemsProcessed(static_cast<std::int64_t>(arrivals.size()) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(decide)->DenseRange(0, kPackPolicies - 1)->Unit(benchmark::kMillisecond);

void bound(benchmark::State& state) {
  const Machine machine = servers();
  const std::vector<TaskType> types = tasks();
  const std::vector<std::uint32_t> arrivals = draw_arrivals(types, machine.gpus() * kWholeGpu, 1.3, 42);
  for (auto _ : state) benchmark::DoNotOptimize(bound_allocation(machine, types, arrivals).conserving);
}
BENCHMARK(bound)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

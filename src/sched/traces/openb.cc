#include <fmt/format.h>

#include <algorithm>

#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

struct Columns {
  int name, cpu, memory, gpus, gpu_milli;      // required
  int spec, qos, created, deleted, scheduled;  // absent in the variants made for packing only
};

// The four classes of the trace, more urgent is higher: BE is best effort, LS latency-sensitive (README of
// cluster-trace-gpu-v2023); Burstable and Guaranteed are those of Kubernetes. Only the lower two can be preempted.
void set_class(const Cell& qos, Job& job, CellReader& cells) {
  const std::string_view text = qos.text();
  if (text.empty() || text == "BE") {
    job.priority = 0;
  } else if (text == "Burstable") {
    job.priority = 1;
  } else if (text == "LS" || text == "Guaranteed") {
    job.priority = 2;
    job.preemptible = false;
  } else {
    cells.error(qos, fmt::format("unknown class `{}`", text.substr(0, 40)), "one of BE, Burstable, LS, Guaranteed");
  }
}

// True if the pod was scheduled or the trace does not tell.
bool set_times(const TraceTable& table, const Columns& at, Job& job, CellReader& cells) {
  if (at.created < 0) return true;
  Duration created{};
  Duration deleted{};
  if (!cells.seconds(table.cell(at.created), created)) return true;
  job.submitted = Moment(created.count());
  const Cell end = table.cell(at.deleted);
  if (end.empty()) return true;
  if (!cells.seconds(end, deleted)) return true;
  const Cell begin = table.cell(at.scheduled);
  Duration scheduled = created;
  if (!begin.empty() && !cells.seconds(begin, scheduled)) return true;
  if (scheduled < created || deleted < scheduled) {
    cells.error(deleted < scheduled ? end : begin, "times are out of order; expected created, scheduled, deleted");
    return true;
  }
  job.run_time = deleted - scheduled;
  return !begin.empty() || at.scheduled < 0;
}

void set_request(const TraceTable& table, const Columns& at, Job& job, TraceBuilder& builder) {
  CellReader& cells = builder.cells();
  Request& task = job.task;
  cells.whole(table.cell(at.cpu), 0, kMaxMilli, task.cpu);
  cells.whole(table.cell(at.memory), 0, kMaxMilli, task.memory_mib);
  std::int32_t milli = 0;
  if (!cells.whole(table.cell(at.gpus), 0, kMaxGpus, task.gpus)) return;
  if (!cells.whole(table.cell(at.gpu_milli), 0, kWholeGpu, milli)) return;
  if (task.gpus > 0) task.gpu_milli = milli;
  if (task.gpus == 1 && milli == 0) cells.error(table.cell(at.gpu_milli), "`gpu_milli` is 0 for one GPU");
  if (task.gpus > 1 && milli != kWholeGpu) {
    cells.error(table.cell(at.gpu_milli),
                fmt::format("several GPUs must be whole: `gpu_milli` is {}, expected {}", milli, kWholeGpu));
  }
  task.models = builder.bits(table.cell(at.spec), builder.workload.models);
}

}  // namespace

std::optional<Workload> read_openb(const TraceInput& input, TraceBuilder& builder) {
  TraceTable table(input.file, *input.sources, builder.cells().diagnostics());
  if (!table.open()) return std::nullopt;
  const Columns at = {table.need("name"),          table.need("cpu_milli"),     table.need("memory_mib"),
                      table.need("num_gpu"),       table.need("gpu_milli"),     table.find("gpu_spec"),
                      table.find("qos"),           table.find("creation_time"), table.find("deletion_time"),
                      table.find("scheduled_time")};
  if (std::min({at.name, at.cpu, at.memory, at.gpus, at.gpu_milli}) < 0) return std::nullopt;
  std::int64_t never = 0;
  std::int64_t endless = 0;
  while (table.next()) {
    Job job;
    job.name = table.cell(at.name).field.str();
    set_request(table, at, job, builder);
    set_class(table.cell(at.qos), job, builder.cells());
    never += set_times(table, at, job, builder.cells()) ? 0 : 1;
    endless += job.run_time == kUnlimited ? 1 : 0;
    builder.add(std::move(job), table.start());
  }
  if (never > 0) {
    builder.note(
        fmt::format("{} pods were never scheduled; they are kept, with the time until their deletion as their "
                    "run time",
                    never));
  }
  if (endless > 0) builder.note(fmt::format("{} pods have no deletion time: they run until the end", endless));
  builder.note("priority 2 is LS and Guaranteed, which are not preempted, 1 Burstable, 0 BE");
  return builder.finish(false);
}

std::optional<Machine> read_openb_nodes(FileId file, const Sources& sources, std::vector<std::string> models,
                                        Diagnostics& diagnostics) {
  TraceOptions options;
  TraceBuilder builder(options, diagnostics);
  CellReader& cells = builder.cells();
  TraceTable table(file, sources, diagnostics);
  if (!table.open()) return std::nullopt;
  const int name = table.need("sn");
  const int cpu = table.need("cpu_milli");
  const int memory = table.need("memory_mib");
  const int gpus = table.need("gpu");
  const int model = table.need("model");
  if (std::min({name, cpu, memory, gpus, model}) < 0) return std::nullopt;
  std::vector<NodeShape> nodes;
  std::vector<NodeLabels> labels;
  while (table.next()) {
    NodeShape node;
    node.name = table.cell(name).field.str();
    if (node.name.empty()) cells.error(table.cell(name), "no `sn`");
    cells.whole(table.cell(cpu), 0, kMaxMilli, node.cpu);
    cells.whole(table.cell(memory), 0, kMaxMilli, node.memory_mib);
    const Cell kind = table.cell(model);
    if (cells.whole(table.cell(gpus), 0, kMaxGpus, node.gpus) && node.gpus > 0) {
      const std::string text = kind.field.str();
      if (text.empty()) cells.error(kind, fmt::format("{} GPUs without a model", node.gpus));
      auto found = std::find(models.begin(), models.end(), text);
      if (found == models.end()) found = models.insert(models.end(), text);
      node.model = static_cast<std::int32_t>(found - models.begin());
      if (models.size() > kMaxModels) {
        cells.error(kind, fmt::format("more than {} GPU models", kMaxModels));
        return std::nullopt;
      }
    }
    if (cells.take_failure()) continue;
    labels.push_back({node.name, {}, {}, {}});  // each an NVLink domain of its own; the trace has no topology
    nodes.push_back(std::move(node));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  if (nodes.empty()) {
    diagnostics.error(SourceLocation{file, 1, 1}, "the node list is empty");
    return std::nullopt;
  }
  Result<Machine> machine = Machine::build(std::move(nodes), labels, std::move(models), {});
  if (machine.ok()) return std::move(machine).value();
  diagnostics.error(SourceLocation{file, 0, 0}, machine.error().message);
  return std::nullopt;
}

}  // namespace weft::sched

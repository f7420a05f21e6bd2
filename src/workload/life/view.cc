#include "workload/life/view.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/human_format.h"
#include "netsim/views/result_cells.h"
#include "workload/life/fault_view.h"
#include "workload/life/view_cells.h"

namespace weft::workload {
namespace {

using netsim::count_cell;
using netsim::left_column;
using netsim::right_column;
using netsim::wide_column;

class Facts {
 public:
  Facts(std::string key, std::string title) {
    section_.key = std::move(key);
    section_.title = std::move(title);
  }
  void add(const char* key, const char* title, Cell cell) { section_.facts.push_back({key, title, std::move(cell)}); }
  FactsSection take() { return std::move(section_); }

 private:
  FactsSection section_;
};

TableSection table_of(std::string key, std::string title, std::vector<Column> columns) {
  TableSection table;
  table.key = std::move(key);
  table.title = std::move(title);
  table.columns = std::move(columns);
  return table;
}

FactsSection job_facts(const LifeResult& life) {
  Facts facts("job", "Job");
  facts.add("cluster", "Cluster", life.cluster);
  facts.add("job", "Job", life.job);
  facts.add("model", "Model", life.model);
  facts.add("parameters", "Parameters", Cell(life.parameters, format_count(life.parameters)));
  if (life.active_parameters > 0 && life.active_parameters != life.parameters) {
    facts.add("active_parameters", "Active per token",
              Cell(life.active_parameters, format_count(life.active_parameters)));
  }
  facts.add("gpus", "GPUs", count_cell(life.gpus));
  facts.add("servers", "Servers", count_cell(life.servers));
  facts.add("layout", "Layout", life.layout);
  facts.add("global_batch", "Global batch (sequences)", count_cell(life.global_batch));
  facts.add("sequence_tokens", "Sequence (tokens)", count_cell(life.sequence));
  facts.add("micro_batches", "Micro-batches per step", count_cell(life.micro_batches));
  facts.add("fidelity", "Fidelity", Cell(to_text(life.fidelity)));
  return facts.take();
}

FactsSection verdict_facts(const LifeResult& life) {
  Facts facts("verdict", "Verdict");
  facts.add("bound_by", "Bounded by", life.verdict.bound_by);
  facts.add("because", "Because", life.verdict.because);
  return facts.take();
}

TableSection changes_table(const LifeResult& life) {
  TableSection table = table_of("changes", "What to change",
                                {left_column("what", "Change"), right_column("gain_percent", "Throughput"),
                                 right_column("step_s", "Step"), left_column("how", "Set")});
  for (const Change& change : life.verdict.changes) {
    Cell gain = percent_cell(change.gain);
    gain.shown = format_signed_percent(change.gain);
    table.rows.push_back({change.what, std::move(gain), fine_seconds_cell(change.step), change.how});
  }
  return table;
}

FactsSection figures(const LifeResult& life) {
  Facts facts("figures", "Key figures");
  facts.add("step_s", "Step, without checkpoints", fine_seconds_cell(life.step));
  facts.add("tokens_per_s", "Throughput",
            Cell(life.tokens_per_second, format_number(life.tokens_per_second) + " tokens/s"));
  facts.add("tflops_per_gpu", "Throughput per GPU", real_cell(life.tflops_per_gpu, 0, "TFLOP/s"));
  facts.add("mfu_percent", "MFU", percent_cell(life.mfu));
  facts.add("hfu_percent", "HFU", percent_cell(life.hfu));
  facts.add("gpu_utilisation_percent",  // JSON key (words: allow)
            "GPU utilization", percent_cell(life.gpu_utilization));
  facts.add("backend_dark_percent", "Backend dark", percent_cell(life.backend_dark));
  facts.add("flops_per_step", "Model FLOPs per step",
            Cell(life.flops_per_step, format_number(life.flops_per_step / 1e15) + " PFLOP"));
  facts.add("checkpoint_stall_s", "Checkpoint stall", seconds_cell(life.checkpoint_stall));
  facts.add("checkpoint_steps", "Steps between checkpoints", count_cell(life.checkpoint_steps));
  facts.add("checkpoint_overhead_percent", "Checkpoint overhead", percent_cell(life.checkpoint_overhead));
  facts.add("run_time_s", "Run", seconds_cell(life.run_time));
  facts.add("trace_hash", "Trace hash", fmt::format("{:016x}", life.trace_hash));
  return facts.take();
}

std::string dark_words(const LifeState& state) {
  std::string text;
  for (const Medium medium : state.dark) {
    if (!text.empty()) text += ", ";
    text += to_text(medium);
  }
  return text;
}

Cell use_cell(const LifeState& state, Medium medium) {
  Cell cell = percent_cell(state.use[static_cast<std::size_t>(medium)].mean);
  if (is_dark(state, medium)) cell.shown = "dark";
  return cell;
}

TableSection states_table(const LifeResult& life) {
  TableSection table =
      table_of("states", "Five states",
               {right_column("state", ""), left_column("name", "State"), right_column("duration_s", "Duration"),
                left_column("main", "Main network"), right_column("backend_percent", "Backend"),
                right_column("storage_percent", "Storage"), right_column("frontend_percent", "Frontend"),
                right_column("oob_percent", "OOB"), right_column("nvlink_percent", "NVLink"),
                left_column("dark", "Dark"), wide_column("start_s", "Start")});
  table.columns[9].wide = true;  // the network columns show it as well
  for (std::size_t i = 0; i < kMedia; ++i) {
    const auto medium = static_cast<Medium>(i);
    if (medium == Medium::host) continue;
    table.columns.push_back(
        wide_column(fmt::format("{}_peak_percent", to_text(medium)), fmt::format("{} peak", title_of(medium))));
    table.columns.push_back(
        wide_column(fmt::format("{}_bytes", to_text(medium)), fmt::format("{} bytes", title_of(medium))));
    table.columns.push_back(
        wide_column(fmt::format("{}_busy_s", to_text(medium)), fmt::format("{} busy", title_of(medium))));
  }
  for (const LifeState& state : life.states) {
    std::vector<Cell> row = {Cell(state.number), state.name, seconds_cell(state.duration), Cell(to_text(state.main))};
    for (const Medium medium : {Medium::backend, Medium::storage, Medium::frontend, Medium::oob, Medium::nvlink})
      row.push_back(use_cell(state, medium));
    row.emplace_back(dark_words(state));
    row.push_back(seconds_cell(state.start));
    for (const Medium medium : {Medium::backend, Medium::storage, Medium::frontend, Medium::oob, Medium::nvlink}) {
      const MediumUse& use = state.use[static_cast<std::size_t>(medium)];
      row.push_back(percent_cell(use.peak));
      row.push_back(bytes_cell(use.bytes));
      row.push_back(seconds_cell(use.busy));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

TableSection events_table(const LifeResult& life) {
  TableSection table =
      table_of("events", "Events of the states",
               {right_column("state", ""), left_column("event", "Event"), left_column("protocol", "Protocol"),
                left_column("network", "Network"), right_column("start_s", "At"), right_column("duration_s", "Takes"),
                right_column("bytes", "Bytes"), left_column("detail", "Detail")});
  table.columns.back().wide = true;
  for (const LifeState& state : life.states) {
    for (const LifeEvent& event : state.events) {
      Cell bytes = bytes_cell(event.bytes);
      if (event.bytes.count() == 0) bytes.shown = "-";
      table.rows.push_back({Cell(state.number), event.what, event.protocol, Cell(to_text(event.medium)),
                            moment_cell(event.start), seconds_cell(event.duration), std::move(bytes), event.detail});
    }
  }
  return table;
}

TableSection parts_table(const LifeResult& life) {
  TableSection table = table_of("step_parts", "Where the time of a step goes",
                                {left_column("part", "Part"), right_column("time_s", "Time"),
                                 right_column("share_percent", "Share"), left_column("what", "What it is")});
  for (const StepPart& part : step_parts(life.parts)) {
    if (part.time.count() == 0) continue;
    Cell name{part.key};
    name.shown = part.title;
    table.rows.push_back(
        {std::move(name), seconds_cell(part.time), percent_cell(share_of(part.time, life.parts.step)), part.what});
  }
  Cell name{"step"};
  name.shown = "Step";
  table.rows.push_back({std::move(name), seconds_cell(life.parts.step), percent_cell(1),
                        life.parts.checkpoint > SimTime(0) ? "total, with its share of a checkpoint" : "total"});
  return table;
}

TableSection memory_table(const MemoryUse& memory) {
  TableSection table = table_of("memory", fmt::format("Memory of the fullest GPU (stage {})", memory.stage),
                                {left_column("part", "Part"), right_column("bytes", "Bytes"),
                                 right_column("share_percent", "Share of capacity")});
  const auto add = [&](std::string_view key, std::string_view title, Bytes bytes) {
    Cell name{key};
    name.shown = title;
    table.rows.push_back({std::move(name), bytes_cell(bytes), percent_cell(share_of(bytes, memory.capacity))});
  };
  for (const MemoryPart& part : memory_parts(memory)) add(part.key, part.title, part.bytes);
  add("total", "Together", memory.total);
  add("capacity", "Capacity", memory.capacity);
  return table;
}

TableSection communication_table(const LifeResult& life) {
  TableSection table =
      table_of("communication", "Communication per rank and step",
               {left_column("what", "What"), left_column("network", "Network"), left_column("algorithm", "Algorithm"),
                right_column("ranks", "Ranks"), right_column("calls", "Calls"), right_column("bytes", "Bytes per call"),
                right_column("time_us", "Time (us)"), right_column("busbw_gb_per_s", "busbw (GB/s)"),
                right_column("total_s", "Together"), right_column("exposed_s", "Exposed"),
                right_column("slowdown", "Slowdown")});
  for (const CommunicationRow& row : life.communication) {
    table.rows.push_back({row.what, Cell(to_text(row.medium)), row.algorithm, count_cell(row.ranks),
                          count_cell(row.calls), bytes_cell(row.bytes), netsim::microseconds_cell(row.time),
                          rate_cell(row.bus_bandwidth), seconds_cell(row.total), seconds_cell(row.exposed),
                          real_cell(row.slowdown, 2, "x")});
  }
  return table;
}

FactsSection tail_facts(const Tail& tail) {
  Facts facts("tail", "Tail latency of iterations");
  facts.add("iterations", "Iterations", count_cell(tail.iterations));
  facts.add("mean_s", "Mean", fine_seconds_cell(tail.mean));
  facts.add("p50_s", "p50", fine_seconds_cell(tail.p50));
  facts.add("p99_s", "p99", fine_seconds_cell(tail.p99));
  facts.add("max_s", "Slowest", fine_seconds_cell(tail.max));
  facts.add("millisecond_over_run_s", "1 ms per step, over the run", seconds_cell(tail.millisecond_over_run));
  facts.add("tail_over_run_s", "The tail, over the run", seconds_cell(tail.tail_over_run));
  return facts.take();
}

}  // namespace

Document life_document(const LifeResult& life) {
  Document document;
  document.kind = "life";
  document.sections.emplace_back(job_facts(life));
  if (life.faults.any) document.sections.emplace_back(fault_facts(life.faults, life.step));
  document.sections.emplace_back(verdict_facts(life));
  if (!life.verdict.changes.empty()) document.sections.emplace_back(changes_table(life));
  document.sections.emplace_back(figures(life));
  document.sections.emplace_back(states_table(life));
  document.sections.emplace_back(events_table(life));
  document.sections.emplace_back(parts_table(life));
  document.sections.emplace_back(memory_table(life.memory));
  if (!life.communication.empty()) document.sections.emplace_back(communication_table(life));
  if (life.tail.iterations > 0) document.sections.emplace_back(tail_facts(life.tail));
  for (const std::string& assumption : life.assumptions) document.notes.push_back("assumed: " + assumption);
  return document;
}

}  // namespace weft::workload

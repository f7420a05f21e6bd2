#include "workload/life/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/human_format.h"
#include "netsim/views/result_cells.h"
#include "workload/life/fault_view.h"
#include "workload/life/view_cells.h"

namespace weft::workload {
namespace {

using netsim::left_column;
using netsim::right_column;

std::string signed_words(const std::string& text, bool positive) { return positive ? "+" + text : text; }

Cell time_difference(SimTime a, SimTime b) {
  const SimTime difference = b - a;
  std::string words = difference.count() == 0 ? "0" : signed_words(format_time(difference), difference.count() > 0);
  return {seconds(difference), std::move(words)};
}

Cell relative_change(double a, double b) {
  if (a == 0.0) return {};
  const double change = b / a - 1;
  Cell cell = percent_cell(change);
  cell.shown = format_signed_percent(change);
  return cell;
}

// A title for people, a key for scripts.
Cell named(std::string_view key, std::string_view title) {
  Cell cell{key};
  cell.shown = title;
  return cell;
}

FactsSection sides(const LifeResult& a, const LifeResult& b) {
  FactsSection facts;
  facts.key = "comparison";
  facts.title = "Comparison";
  const auto add = [&](const char* key, const char* title, Cell cell) {
    facts.facts.push_back({key, title, std::move(cell)});
  };
  const auto words = [](const LifeResult& life) {
    return fmt::format("{} on {} ({}, {} GPUs, {})", life.job, life.cluster, life.model, group_digits(life.gpus),
                       life.layout);
  };
  add("a", "A", words(a));
  add("b", "B", words(b));
  add("why", "Answer", why_faster(a, b));
  add("a_bound_by", "A is bounded by", a.verdict.bound_by);
  add("b_bound_by", "B is bounded by", b.verdict.bound_by);
  return facts;
}

TableSection figures_table(const LifeResult& a, const LifeResult& b) {
  TableSection table;
  table.key = "figures";
  table.title = "Key figures";
  table.columns = {left_column("figure", "Figure"), right_column("a", "A"), right_column("b", "B"),
                   right_column("change_percent", "Change")};
  const auto add = [&](std::string_view key, std::string_view title, Cell x, Cell y, double from, double to) {
    table.rows.push_back({named(key, title), std::move(x), std::move(y), relative_change(from, to)});
  };
  const auto time = [&](std::string_view key, std::string_view title, SimTime x, SimTime y) {
    add(key, title, fine_seconds_cell(x), fine_seconds_cell(y), seconds(x), seconds(y));
  };
  const auto share = [&](std::string_view key, std::string_view title, double x, double y) {
    add(key, title, percent_cell(x), percent_cell(y), x, y);
  };
  const auto real = [&](std::string_view key, std::string_view title, double x, double y) {
    add(key, title, Cell(x, format_number(x)), Cell(y, format_number(y)), x, y);
  };
  time("step_s", "Step", a.step, b.step);
  real("tokens_per_s", "Tokens/s", a.tokens_per_second, b.tokens_per_second);
  real("tokens_per_s_gpu", "Tokens/s per GPU", a.tokens_per_second / std::max(a.gpus, 1U),
       b.tokens_per_second / std::max(b.gpus, 1U));
  real("tflops_per_gpu", "TFLOP/s per GPU", a.tflops_per_gpu, b.tflops_per_gpu);
  share("mfu_percent", "MFU", a.mfu, b.mfu);
  share("hfu_percent", "HFU", a.hfu, b.hfu);
  share("gpu_utilisation_percent", "GPU utilization", a.gpu_utilization, b.gpu_utilization);  // JSON key (words: allow)
  share("backend_dark_percent", "Backend dark", a.backend_dark, b.backend_dark);
  time("p99_s", "Step, p99", a.tail.p99, b.tail.p99);
  time("checkpoint_stall_s", "Checkpoint stall", a.checkpoint_stall, b.checkpoint_stall);
  share("checkpoint_overhead_percent", "Checkpoint overhead", a.checkpoint_overhead, b.checkpoint_overhead);
  add("run_time_s", "Run", seconds_cell(a.run_time), seconds_cell(b.run_time), seconds(a.run_time),
      seconds(b.run_time));
  real("gpus", "GPUs", a.gpus, b.gpus);
  real("global_batch", "Global batch (sequences)", static_cast<double>(a.global_batch),
       static_cast<double>(b.global_batch));
  return table;
}

// Largest change first.
TableSection parts_table(const LifeResult& a, const LifeResult& b) {
  TableSection table;
  table.key = "step_parts";
  table.title = "Parts of a step, largest change first";
  table.columns = {left_column("part", "Part"),
                   right_column("a_s", "A"),
                   right_column("b_s", "B"),
                   right_column("difference_s", "Difference"),
                   right_column("a_share_percent", "Share of A"),
                   right_column("b_share_percent", "Share of B")};
  const std::vector<StepPart> x = step_parts(a.parts);
  const std::vector<StepPart> y = step_parts(b.parts);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].time.count() != 0 || y[i].time.count() != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t k) {
    return std::abs((y[i].time - x[i].time).count()) > std::abs((y[k].time - x[k].time).count());
  });
  for (const std::size_t i : order) {
    table.rows.push_back({named(x[i].key, x[i].title), seconds_cell(x[i].time), seconds_cell(y[i].time),
                          time_difference(x[i].time, y[i].time), percent_cell(share_of(x[i].time, a.parts.step)),
                          percent_cell(share_of(y[i].time, b.parts.step))});
  }
  table.rows.push_back({named("step", "Step"), seconds_cell(a.parts.step), seconds_cell(b.parts.step),
                        time_difference(a.parts.step, b.parts.step), percent_cell(1), percent_cell(1)});
  return table;
}

TableSection states_table(const LifeResult& a, const LifeResult& b) {
  TableSection table;
  table.key = "states";
  table.title = "Five states";
  table.columns = {right_column("state", ""), left_column("name", "State"), right_column("a_s", "A"),
                   right_column("b_s", "B"), right_column("difference_s", "Difference")};
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    const LifeState& x = a.states[i];
    const LifeState& y = b.states[i];
    table.rows.push_back({Cell(x.number), x.name, seconds_cell(x.duration), seconds_cell(y.duration),
                          time_difference(x.duration, y.duration)});
  }
  return table;
}

TableSection networks_table(const LifeResult& a, const LifeResult& b) {
  TableSection table;
  table.key = "networks";
  table.title = "Networks whose use differs";
  table.columns = {right_column("state", "State"),     left_column("network", "Network"),
                   right_column("a_percent", "A"),     right_column("b_percent", "B"),
                   right_column("a_bytes", "A bytes"), right_column("b_bytes", "B bytes")};
  for (std::size_t i = 0; i < a.states.size(); ++i) {
    for (std::size_t k = 0; k < kMedia; ++k) {
      const MediumUse& x = a.states[i].use[k];
      const MediumUse& y = b.states[i].use[k];
      // Skips differences that a table with one decimal would not show.
      if (std::abs(x.mean - y.mean) < 0.0005) continue;
      table.rows.push_back({Cell(a.states[i].number), Cell(to_text(static_cast<Medium>(k))), percent_cell(x.mean),
                            percent_cell(y.mean), bytes_cell(x.bytes), bytes_cell(y.bytes)});
    }
  }
  return table;
}

const CommunicationRow* row_of(const LifeResult& life, std::string_view what) {
  for (const CommunicationRow& row : life.communication) {
    if (row.what == what) return &row;
  }
  return nullptr;
}

TableSection communication_table(const LifeResult& a, const LifeResult& b) {
  TableSection table;
  table.key = "communication";
  table.title = "Communication";
  table.columns = {left_column("what", "What"),
                   left_column("a_algorithm", "A"),
                   left_column("b_algorithm", "B"),
                   right_column("a_busbw_gb_per_s", "A (GB/s)"),
                   right_column("b_busbw_gb_per_s", "B (GB/s)"),
                   right_column("a_exposed_s", "A exposed"),
                   right_column("b_exposed_s", "B exposed"),
                   right_column("difference_s", "Difference")};
  const auto add = [&](const std::string& what, const CommunicationRow* x, const CommunicationRow* y) {
    const auto text = [](const CommunicationRow* row) { return row == nullptr ? Cell() : Cell(row->algorithm); };
    const auto rate = [](const CommunicationRow* row) {
      return row == nullptr ? Cell() : rate_cell(row->bus_bandwidth);
    };
    const auto exposed = [](const CommunicationRow* row) {
      return row == nullptr ? Cell() : seconds_cell(row->exposed);
    };
    const auto time = [](const CommunicationRow* row) { return row == nullptr ? SimTime() : row->exposed; };
    table.rows.push_back(
        {what, text(x), text(y), rate(x), rate(y), exposed(x), exposed(y), time_difference(time(x), time(y))});
  };
  for (const CommunicationRow& row : a.communication) add(row.what, &row, row_of(b, row.what));
  for (const CommunicationRow& row : b.communication) {
    if (row_of(a, row.what) == nullptr) add(row.what, nullptr, &row);
  }
  return table;
}

TableSection memory_table(const LifeResult& a, const LifeResult& b) {
  TableSection table;
  table.key = "memory";
  table.title = "Memory of the fullest GPU";
  table.columns = {left_column("part", "Part"), right_column("a_bytes", "A"), right_column("b_bytes", "B"),
                   right_column("difference_bytes", "Difference")};
  const auto add = [&](std::string_view key, std::string_view title, Bytes x, Bytes y) {
    const Bytes difference = y - x;
    table.rows.push_back({named(key, title), bytes_cell(x), bytes_cell(y),
                          Cell(difference.count(), signed_words(format_bytes(difference), difference.count() > 0))});
  };
  const std::vector<MemoryPart> x = memory_parts(a.memory);
  const std::vector<MemoryPart> y = memory_parts(b.memory);
  for (std::size_t i = 0; i < x.size(); ++i) add(x[i].key, x[i].title, x[i].bytes, y[i].bytes);
  add("total", "Together", a.memory.total, b.memory.total);
  add("capacity", "Capacity", a.memory.capacity, b.memory.capacity);
  return table;
}

void add_notes(Document& document, const LifeResult& a, const LifeResult& b) {
  for (const auto& [life, name] : {std::pair(&a, 'A'), std::pair(&b, 'B')}) {
    if (!life->faults.restarts)
      document.notes.push_back(fmt::format("{} cannot run after the faults: its figures are from before", name));
  }
  if (a.fidelity != b.fidelity) {
    document.notes.push_back(
        fmt::format("A was simulated at fidelity {}, B at {}: this may cause part of the difference",
                    to_text(a.fidelity), to_text(b.fidelity)));
  }
  const auto only = [&](const LifeResult& one, const LifeResult& other, char name) {
    for (const std::string& text : one.assumptions) {
      const auto found = std::find(other.assumptions.begin(), other.assumptions.end(), text);
      if (found == other.assumptions.end())
        document.notes.push_back(fmt::format("assumed for {} only: {}", name, text));
    }
  };
  only(a, b, 'A');
  only(b, a, 'B');
}

}  // namespace

Document compare_document(const LifeResult& a, const LifeResult& b) {
  Document document;
  document.kind = "life_comparison";
  document.sections.emplace_back(sides(a, b));
  for (const auto& [life, key, title] :
       {std::tuple(&a, "failure_a", "Failure of A"), std::tuple(&b, "failure_b", "Failure of B")}) {
    if (!life->faults.any) continue;
    FactsSection facts = fault_facts(life->faults, life->step);
    facts.key = key;
    facts.title = title;
    document.sections.emplace_back(std::move(facts));
  }
  document.sections.emplace_back(figures_table(a, b));
  document.sections.emplace_back(parts_table(a, b));
  document.sections.emplace_back(states_table(a, b));
  if (TableSection networks = networks_table(a, b); !networks.rows.empty()) {
    document.sections.emplace_back(std::move(networks));
  }
  if (!a.communication.empty() || !b.communication.empty()) document.sections.emplace_back(communication_table(a, b));
  document.sections.emplace_back(memory_table(a, b));
  add_notes(document, a, b);
  return document;
}

}  // namespace weft::workload

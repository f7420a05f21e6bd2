#include <algorithm>

#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

// The paper's scheduler reserves most servers for pretraining and runs evaluation on the rest.
std::int32_t priority_of(std::string_view type) {
  if (type == "Pretrain") return 2;
  return type == "Evaluation" ? 0 : 1;
}

}  // namespace

// trace_seren.csv and trace_kalos.csv of Acme (Hu et al., NSDI 2024; github.com/InternLM/AcmeTrace): one row per job of
// language model development. The type is used as the tenant: quotas were by type, and the trace has no group.
std::optional<Workload> read_acme(const TraceInput& input, TraceBuilder& builder) {
  CellReader& cells = builder.cells();
  TraceTable table(input.file, *input.sources, cells.diagnostics());
  if (!table.open()) return std::nullopt;
  const std::optional<AccountingColumns> at = accounting_columns(table);
  const int type = table.need("type");
  const int memory = table.find("mem_per_pod_GB");
  if (!at || type < 0) return std::nullopt;
  while (table.next()) {
    Job job;
    if (!set_accounting(table, *at, job, builder)) {
      cells.take_failure();
      continue;
    }
    job.tenant = table.cell(type).field.str();
    job.priority = priority_of(job.tenant);
    // A pod runs on one server.
    if (const Cell cell = table.cell(memory); !cell.empty()) {
      std::int32_t milli = 0;
      constexpr std::int64_t bytes_of_milli = 1'000'000;  // a thousandth of a GB
      if (cells.milli(cell, 0, kMaxMilli, milli)) {
        job.task.memory_mib = static_cast<std::int32_t>(milli * bytes_of_milli / (1 << 20));
      }
    }
    builder.add(std::move(job), table.start());
  }
  builder.note("priority 2 is Pretrain, 0 Evaluation, 1 every other type; the type is the tenant");
  return builder.finish(false);
}

}  // namespace weft::sched

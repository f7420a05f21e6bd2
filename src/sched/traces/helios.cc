#include "sched/traces/reader.h"

namespace weft::sched {

// cluster_log.csv of SenseTime's Helios (Hu et al., SC 2021; github.com/S-Lab-System-Group/HeliosData): one row per
// Slurm job; the virtual cluster is its tenant.
std::optional<Workload> read_helios(const TraceInput& input, TraceBuilder& builder) {
  TraceTable table(input.file, *input.sources, builder.cells().diagnostics());
  if (!table.open()) return std::nullopt;
  const std::optional<AccountingColumns> at = accounting_columns(table);
  const int tenant = table.need("vc");
  if (!at || tenant < 0) return std::nullopt;
  while (table.next()) {
    Job job;
    if (!set_accounting(table, *at, job, builder)) {
      builder.cells().take_failure();
      continue;
    }
    job.tenant = table.cell(tenant).field.str();
    builder.add(std::move(job), table.start());
  }
  return builder.finish(false);
}

}  // namespace weft::sched

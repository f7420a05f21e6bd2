// A trace: the submitted jobs, in order of submission, and the servers if the trace lists them. Read from the published
// formats (openb, Philly, Helios, Acme, SWF) and from weft's own. Every error has its line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "sched/machine/job.h"
#include "sched/machine/machine.h"

namespace weft::sched {

enum class TraceFormat { automatic, openb, philly, helios, acme, swf, weft };
[[nodiscard]] std::string_view to_text(TraceFormat format);

struct Workload {
  TraceFormat format = TraceFormat::weft;
  std::vector<Job> jobs;            // by submission, then by their order in the file
  std::vector<std::string> models;  // names for the bits of Request::models
  std::vector<std::string> pools;   // likewise; if jobs name partitions or clusters
  std::int64_t skipped = 0;         // valid rows with nothing to schedule (no GPU, never started)
  std::vector<std::string> notes;   // how rows were interpreted, for the reader
  // Moment 0 in seconds since 1970 (UTC), if the trace has calendar times; Moments are relative to the first
  // submission.
  std::optional<std::int64_t> origin;
};

struct TraceOptions {
  TraceFormat format = TraceFormat::automatic;  // by the header line or the first lines
  double limit_factor = 0;                      // time limits if the trace has none: run time times this; 0: unlimited
  std::int32_t node_gpus = 8;  // GPUs per server, to split the GPU counts of Philly, Helios, Acme and SWF into tasks
  // SWF: 0: a processor is a GPU. Otherwise it is a CPU core, and a task has at most this many.
  std::int32_t node_cores = 0;
};

// Parses a trace whose text is in `sources`. Problems go to `diagnostics` with their location. Returns none if the
// format cannot be detected or if there were errors.
[[nodiscard]] std::optional<Workload> read_workload(FileId file, const Sources& sources, const TraceOptions& options,
                                                    Diagnostics& diagnostics);
// An openb node list: sn,cpu_milli,memory_mib,gpu,model. One flat domain. `models` is the initial list, so the model
// bits in the jobs of a Workload stay valid.
[[nodiscard]] std::optional<Machine> read_openb_nodes(FileId file, const Sources& sources,
                                                      std::vector<std::string> models, Diagnostics& diagnostics);

}  // namespace weft::sched

// Bytes as a job trace, in every format, and as a node list. Any input must yield valid jobs, in order and with unique
// names, or a list of diagnostics.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "sched/traces/gzip.h"
#include "sched/traces/workload.h"

namespace weft::sched {
namespace {

void look_at(const Workload& workload) {
  CHECK(workload.models.size() <= 64 && workload.pools.size() <= 64, "models and pools have a bit each");
  std::set<std::string> names;
  Moment last{};
  for (const Job& job : workload.jobs) {
    CHECK(problem_of(job).empty(), "a job that was read is right in itself");
    CHECK(job.submitted >= last, "jobs come in order of submission");
    last = job.submitted;
    CHECK(names.insert(job.name).second, "every job has a name of its own");
    const std::uint64_t known = workload.models.size() == 64 ? ~0ULL : (1ULL << workload.models.size()) - 1;
    CHECK((job.task.models & ~known) == 0, "a job names no model that is not there");
  }
}

void run_trace(const std::string& bytes) {
  if (const Result<std::string> text = gunzip(bytes, 1U << 16U); text.ok()) {
    CHECK(text->size() <= 1U << 16U, "a stream is held to its limit");
  }
  Sources sources;
  const FileId file = sources.add("input", bytes);
  for (const TraceFormat format : {TraceFormat::automatic, TraceFormat::openb, TraceFormat::philly, TraceFormat::helios,
                                   TraceFormat::acme, TraceFormat::swf, TraceFormat::weft}) {
    Diagnostics diagnostics;
    TraceOptions options;
    options.format = format;
    options.limit_factor = format == TraceFormat::automatic ? 2.0 : 0.0;
    options.node_cores = format == TraceFormat::swf ? 64 : 0;
    const std::optional<Workload> workload = read_workload(file, sources, options, diagnostics);
    CHECK(workload.has_value() != diagnostics.has_errors(), "a trace that cannot be read says why");
    (void)render_all(diagnostics, sources, true);
    if (workload) look_at(*workload);
  }
  Diagnostics diagnostics;
  const std::optional<Machine> machine = read_openb_nodes(file, sources, {"T4"}, diagnostics);
  CHECK(machine.has_value() != diagnostics.has_errors(), "a list of nodes that cannot be read says why");
}

}  // namespace
}  // namespace weft::sched

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::sched::run_trace(std::string(data, data + size));
  return 0;
}

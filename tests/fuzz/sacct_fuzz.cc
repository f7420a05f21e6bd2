// Bytes as a table of Slurm's accounting. Any input must yield a history or diagnostics; a history must yield a
// recording that is read back as it was written, or that says why it cannot be replayed.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/check.h"
#include "sched/machine/plain_machine.h"
#include "twin/history_recording.h"
#include "twin/slurm_history.h"

namespace weft::twin {
namespace {

void run_sacct(std::string text) {
  sched::PlainMachine plain;
  plain.nodes = 8;
  static const auto machine = std::make_shared<const sched::Machine>(sched::plain_machine(plain));
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("sacct.txt", std::move(text));
  const std::optional<History> history = read_sacct(sources, file, *machine, diagnostics);
  CHECK(history.has_value() != diagnostics.has_errors(), "a table that cannot be read says why");
  (void)render_all(diagnostics, sources, true);
  if (!history) return;
  const NotedRecording made = make_recording(*history, *machine, "lab");
  Diagnostics problems;
  const std::optional<Recording> recording = read_recording(made.spec, problems);
  CHECK(recording.has_value() != problems.has_errors(), "a recording that cannot be read says why");
  if (!recording) return;
  const FileId written = sources.add("recording.yaml", write_recording(made.spec));
  const std::optional<Recording> again = read_recording(sources, written, problems);
  CHECK(again.has_value(), "a recording is read back");
  CHECK(again->incidents == recording->incidents, "incidents are read back");
  CHECK(again->plan.jobs.size() == recording->plan.jobs.size(), "jobs are read back");
}

}  // namespace
}  // namespace weft::twin

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::twin::run_sacct(std::string(data, data + size));
  return 0;
}

#include "sched/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sched/trace_reader.h"

namespace weft::sched {
namespace {

constexpr std::array<std::string_view, 7> kFormats = {"automatic", "openb", "philly", "helios", "acme", "swf", "weft"};

bool has(const std::vector<CsvField>& header, std::string_view name) {
  return std::any_of(header.begin(), header.end(), [&](const CsvField& field) { return field.text == name; });
}

TraceFormat format_of_header(const std::vector<CsvField>& header) {
  if (has(header, "num_gpu") && has(header, "cpu_milli")) return TraceFormat::openb;
  if (has(header, "num_gpus") && has(header, "duration_s")) return TraceFormat::philly;
  return TraceFormat::automatic;
}

// By the first line that is not blank; automatic where it says nothing, which is reported.
TraceFormat detect(FileId file, const Sources& sources, Diagnostics& diagnostics) {
  const std::string_view text = sources.text(file);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    diagnostics.error(Place{file, 1, 1}, "the trace is empty");
    return TraceFormat::automatic;
  }
  CsvReader csv(file, text, diagnostics);
  if (!csv.next()) return TraceFormat::automatic;
  const std::vector<CsvField> header(csv.row().begin(), csv.row().end());
  const TraceFormat format = format_of_header(header);
  if (format == TraceFormat::automatic) {
    diagnostics.error(header.front().place, "the first line is not that of a trace", {}, header.front().text.size());
  }
  return format;
}

}  // namespace

std::string_view to_text(TraceFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<Workload> read_workload(FileId file, const Sources& sources, const TraceOptions& options,
                                      Diagnostics& diagnostics) {
  if (options.node_gpus < 1 || options.node_gpus > kMaxGpus) {
    diagnostics.error(Place{file, 0, 0},
                      fmt::format("servers of {} GPUs; one has 1 to {}", options.node_gpus, kMaxGpus));
    return std::nullopt;
  }
  TraceFormat format = options.format;
  if (format == TraceFormat::automatic) format = detect(file, sources, diagnostics);
  TraceBuilder builder(options, diagnostics);
  builder.workload.format = format;
  const TraceInput input = {file, &sources};
  switch (format) {
    case TraceFormat::openb:
      return read_openb(input, builder);
    case TraceFormat::philly:
      return read_philly(input, builder);
    default:
      return std::nullopt;
  }
}

}  // namespace weft::sched

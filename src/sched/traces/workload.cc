#include "sched/traces/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sched/traces/reader.h"

namespace weft::sched {
namespace {

constexpr std::array<std::string_view, 7> kFormats = {"automatic", "openb", "philly", "helios", "acme", "swf", "weft"};

bool has(const std::vector<CsvField>& header, std::string_view name) {
  return std::any_of(header.begin(), header.end(), [&](const CsvField& field) { return field.text == name; });
}

TraceFormat format_of_header(const std::vector<CsvField>& header) {
  if (has(header, "num_gpu") && has(header, "cpu_milli")) return TraceFormat::openb;
  if (has(header, "num_gpus") && has(header, "duration_s")) return TraceFormat::philly;
  if (has(header, "gpu_num") && has(header, "vc")) return TraceFormat::helios;
  if (has(header, "gpu_num") && has(header, "type")) return TraceFormat::acme;
  for (const std::string_view name : weft_columns()) {
    if (has(header, name)) return TraceFormat::weft;
  }
  return TraceFormat::automatic;
}

std::string why_unknown(const std::vector<CsvField>& header) {
  if (has(header, "sn")) return "this is a node list, not a job trace";
  return "unknown trace format: the first line is not a known header";
}

std::string hint_for(const std::vector<CsvField>& header) {
  if (has(header, "sn")) return {};
  const std::string_view first = header.front().text;
  if (header.size() == 1 && first.find_first_of(";\t") != std::string_view::npos)
    return "columns must be comma-separated";
  for (const CsvField& field : header) {
    std::string near = did_you_mean(field.text, weft_columns());
    if (!near.empty()) return near;
  }
  return "openb, Philly, Helios, Acme and SWF are recognized by their header, weft's own by columns such as gpus and "
         "run_time";
}

// Detected by the first non-blank line; automatic if that is inconclusive, which is reported.
TraceFormat detect(FileId file, const Sources& sources, Diagnostics& diagnostics) {
  const std::string_view text = sources.text(file);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) {
    diagnostics.error(SourceLocation{file, 1, 1}, "the trace is empty");
    return TraceFormat::automatic;
  }
  if (text[begin] == ';') return TraceFormat::swf;
  if (text[begin] == '{') return TraceFormat::weft;
  if (looks_like_swf(text.substr(begin, text.find('\n', begin) - begin))) return TraceFormat::swf;
  CsvReader csv(file, text, diagnostics);
  if (!csv.next()) return TraceFormat::automatic;
  const std::vector<CsvField> header(csv.row().begin(), csv.row().end());
  const TraceFormat format = format_of_header(header);
  if (format == TraceFormat::automatic) {
    diagnostics.error(header.front().place, why_unknown(header), hint_for(header), header.front().text.size());
  }
  return format;
}

}  // namespace

std::string_view to_text(TraceFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

std::optional<Workload> read_workload(FileId file, const Sources& sources, const TraceOptions& options,
                                      Diagnostics& diagnostics) {
  if (options.node_gpus < 1 || options.node_gpus > kMaxGpus || options.node_cores < 0 ||
      options.node_cores > kMaxTasks) {
    diagnostics.error(SourceLocation{file, 0, 0},
                      fmt::format("servers of {} GPUs and {} cores", options.node_gpus, options.node_cores));
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
    case TraceFormat::helios:
      return read_helios(input, builder);
    case TraceFormat::acme:
      return read_acme(input, builder);
    case TraceFormat::swf:
      return read_swf(input, builder);
    case TraceFormat::weft:
      return read_weft(input, builder);
    case TraceFormat::automatic:
      break;
  }
  return std::nullopt;  // detect() has reported why
}

}  // namespace weft::sched

// What a recorded file is, by its first lines.
#include <algorithm>

#include "base/text.h"
#include "health/intake/review.h"
#include "health/readers/kernel_log.h"

namespace weft::health {
namespace {

constexpr std::size_t kMaxLooked = 200;  // lines

bool is_metric_line(std::string_view line) {
  const std::size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos || end == 0) return false;
  const auto named = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
  };
  if (!std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(end), named)) return false;
  const std::size_t value = line[end] == '{' ? line.rfind('}') : end;
  return value != std::string_view::npos && value + 2 < line.size() && line[value + 1] != ':' &&
         line.find_first_of("0123456789NI", value) != std::string_view::npos;
}

FileKind kind_of_json(std::string_view text) {
  const std::string_view begin = text.substr(0, 4096);
  if (begin.find("\"MESSAGE\"") != std::string_view::npos ||
      begin.find("\"__REALTIME_TIMESTAMP\"") != std::string_view::npos)
    return FileKind::log;
  if (begin.find("\"resultType\"") != std::string_view::npos) return FileKind::prometheus_answer;
  return FileKind::reports;
}

}  // namespace

std::string_view to_text(FileKind kind) {
  switch (kind) {
    case FileKind::unknown:
      break;
    case FileKind::log:
      return "log";
    case FileKind::metrics:
      return "metrics";
    case FileKind::prometheus_answer:
      return "answer of Prometheus";
    case FileKind::reports:
      return "reports";
  }
  return "unknown";
}

FileKind detect_kind(std::string_view text) {
  std::size_t looked = 0;
  for (std::string_view rest = text; !rest.empty() && looked < kMaxLooked; ++looked) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = trim(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.empty()) continue;
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) return FileKind::metrics;
    if (line.front() == '{' || line == "[" || line.starts_with("[{")) return kind_of_json(line);
    if (is_log_line(line)) return FileKind::log;
    if (is_metric_line(line)) return FileKind::metrics;
  }
  return FileKind::unknown;
}

}  // namespace weft::health

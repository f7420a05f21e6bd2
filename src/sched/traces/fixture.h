// Fixture for tests of trace readers: parses a text as a trace and collects the diagnostics.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sched/traces/workload.h"

namespace weft::sched {

struct TraceRead {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<Workload> workload;

  [[nodiscard]] std::string said() const { return render_all(diagnostics, sources, false); }
  // "3:7 message" of every error, in reading order.
  [[nodiscard]] std::vector<std::string> errors() const {
    std::vector<std::string> all;
    for (const Diagnostic& each : diagnostics.sorted()) {
      all.push_back(std::to_string(each.place.line) + ":" + std::to_string(each.place.column) + " " + each.message);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> hints() const {
    std::vector<std::string> all;
    for (const Diagnostic& each : diagnostics.sorted()) all.push_back(each.hint);
    return all;
  }
};

inline TraceRead read_trace(std::string text, const TraceOptions& options = {}) {
  TraceRead read;
  const FileId file = read.sources.add("trace", std::move(text));
  read.workload = read_workload(file, read.sources, options, read.diagnostics);
  EXPECT_EQ(read.workload.has_value(), !read.diagnostics.has_errors());
  return read;
}

}  // namespace weft::sched

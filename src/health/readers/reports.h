// Reports in JSON that are sent to weft: signals of any other telemetry (Cisco Intersight, a cooling plant), heartbeats
// of jobs, and the alerts of Prometheus' Alertmanager. A text has one object per line, or one object or array of them
// over any number of lines. An object that is wrong is reported with its place and left out; the others count.
//
// A signal, of which only `signal` is required (FAMILY:NAME, lower case):
//   {"signal": "webhook:cooling_alarm", "node": "gpu-001", "part": "CDU 3", "value": 1.5,
//    "time": "2026-01-02T03:04:05Z", "text": "flow is low", "details": {"loop": "primary"}}
// With "details": {"state": "resolved"} it is the end of the condition.
//
// A heartbeat of one rank, of which `job`, `node`, `rank` and `step` are required:
//   {"job": "17", "node": "gpu-001", "rank": 3, "step": 1200, "step_seconds": 5.1, "busy_seconds": 4.2, "loss": 2.1,
//    "stage": "0", "phase": "compute", "time": "2026-01-02T03:04:05Z"}
// It is the signal job:heartbeat with the step as its value. JSON has no NaN: "nan", "inf", "-inf" and null are a loss
// that is not a number, which is also the signal job:nan_loss. NaN and Infinity, as Python writes them, are read too.
//
// Alertmanager's webhook, version 4: every alert is the signal alert:ALERTNAME in lower case, of the node in the label
// `node`, `instance` (without its port) or `hostname`, with the detail `state` (`firing` or `resolved`) and its labels.
// Keys that are not needed are ignored there; in weft's own objects an unknown key is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "health/core/job_step.h"
#include "health/core/signal.h"

namespace weft::health {

inline constexpr std::size_t kMaxReportBytes = 16U << 20U;
inline constexpr std::size_t kMaxReports = 65'536;  // objects and alerts of one text: two steps of 32,768 ranks
inline constexpr std::size_t kMaxReportName = 128;  // bytes of a signal's name, a part, a job
inline constexpr std::size_t kMaxReportText = 1'000;
inline constexpr std::size_t kMaxReportDetails = 16;
inline constexpr std::size_t kMaxReportDetailBytes = 256;
inline constexpr std::uint32_t kMaxRank = (1U << 20U) - 1;
inline constexpr double kMaxStepSeconds = 1e6;

struct Reports {
  std::vector<Signal> signals;  // in the order of the text
  std::vector<JobStep> steps;
  std::size_t rejected = 0;  // objects left out, each with an error
};
[[nodiscard]] Reports read_reports(const Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::health

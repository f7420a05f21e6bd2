// Metrics from a Prometheus server instead of the exporters: the queries that ask for every metric that means something
// to weft, and the JSON answers, read into the same samples (metric_samples.h). Does no network I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "health/readers/metric_samples.h"
#include "sched/machine/moment.h"

namespace weft::health {

struct PrometheusQuery {
  std::string path_prefix;  // of a server that is not at the root: "/prometheus"
  std::string matchers;     // PromQL, without braces: `cluster="a"`
  // An instant vector has the time of the query instead of that of the sample, which may be five minutes older. With a
  // window, the answer is a matrix of the samples of this time, with their own times. 0: an instant vector.
  Duration window{};
  std::optional<sched::Moment> at;  // none: now
};

// A path with its query string for each signal, in alphabetical order of the metrics: one answer with everything would
// be too large for a big cluster.
[[nodiscard]] std::vector<std::string> prometheus_query_paths(const PrometheusQuery& query);

// The samples of an answer (vector or matrix) in the text format of OpenMetrics. Fails if the server reports an error,
// or if it is not an answer.
[[nodiscard]] Result<std::string> exposition_of_answer(std::string json);

// Reads an answer as one scrape of `target`. Use a target of its own for each of the paths.
[[nodiscard]] Result<ReadReport> read_prometheus_answer(MetricReader& reader, TargetId target, std::string json,
                                                        sched::Moment now, MetricSink& sink);

}  // namespace weft::health

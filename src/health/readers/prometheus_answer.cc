#include "health/readers/prometheus_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::health {
namespace {

constexpr YamlLimits kAnswerLimits{.bytes = std::size_t{64} << 20U, .nodes = 4'000'000, .depth = 8};

// RFC 3986: everything but unreserved characters.
void append_query_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      append_format(out, "%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
}

// Seconds with nine decimals.
std::string format_seconds(std::int64_t nanoseconds) {
  const bool negative = nanoseconds < 0;
  const std::uint64_t count =
      negative ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  return fmt::format("{}{}.{:09}", negative ? "-" : "", count / 1'000'000'000, count % 1'000'000'000);
}

std::string query_path(const PrometheusQuery& query, const std::vector<std::string_view>& names) {
  std::string expression;
  if (names.size() == 1) {
    expression = fmt::format("{}{{{}}}", names[0], query.matchers);
  } else {
    const std::string comma = query.matchers.empty() ? "" : "," + query.matchers;
    expression = fmt::format("{{__name__=~\"{}\"{}}}", join(names, "|"), comma);
  }
  if (query.window.count() > 0) append_format(expression, "[{}ms]", query.window.count() / 1'000'000);
  std::string path = query.path_prefix + "/api/v1/query?query=";
  append_query_escaped(path, expression);
  if (query.at) path += "&time=" + format_seconds(query.at->count());
  return path;
}

bool is_name(std::string_view text, bool colons) {
  if (text.empty() || is_digit(text.front())) return false;
  for (const char c : text) {
    if (!is_letter_or_digit(c) && c != '_' && !(colons && c == ':')) return false;
  }
  return true;
}

std::string text_of(const YamlNode& node, std::string_view key) {
  const YamlNode* const value = node.find(key);
  return value == nullptr ? std::string() : value->scalar;
}

Error malformed(std::string problem) { return {ErrorCode::invalid_input, std::move(problem), "answer of Prometheus"}; }

Error server_error(const YamlNode& answer) {
  const std::string type = text_of(answer, "errorType");
  ErrorCode code = ErrorCode::internal;
  if (type == "bad_data") code = ErrorCode::invalid_input;
  if (type == "timeout") code = ErrorCode::timeout;
  if (type == "unavailable") code = ErrorCode::unavailable;
  if (type == "not_found") code = ErrorCode::not_found;
  const std::string message = text_of(answer, "error");
  return {code, message.empty() ? "the server reports an error" : printable(message, 500), "Prometheus"};
}

// `name{labels}`; "" if the series has no name.
std::string series_of(const YamlNode& metric) {
  const std::string name = text_of(metric, "__name__");
  if (!is_name(name, true)) return {};
  std::string series = name + "{";
  for (const YamlEntry& label : metric.entries) {
    if (label.key == "__name__" || !is_name(label.key, false)) continue;
    if (!series.ends_with('{')) series += ',';
    series += label.key + "=\"";
    append_escaped_label(series, label.value.scalar);
    series += '"';
  }
  return series + "}";
}

struct AnswerSample {
  double at = 0;
  std::string line;
};

// `[seconds, "value"]`.
bool add_sample(std::vector<AnswerSample>& samples, const std::string& series, const YamlNode& pair) {
  if (pair.items.size() != 2) return false;
  const std::string& at = pair.items[0].scalar;
  const std::string& value = pair.items[1].scalar;
  double seconds = 0;
  const auto [stop, error] = std::from_chars(at.data(), at.data() + at.size(), seconds);
  if (error != std::errc() || stop != at.data() + at.size() || !std::isfinite(seconds)) return false;
  constexpr std::string_view kNumber = "+-.0123456789aefinNIty";  // with the words for infinity and NaN
  if (value.empty() || value.find_first_not_of(kNumber) != std::string::npos) return false;
  samples.push_back({seconds, fmt::format("{} {} {}\n", series, value, at)});
  return true;
}

bool add_series(std::vector<AnswerSample>& samples, const YamlNode& result) {
  const YamlNode* const metric = result.find("metric");
  if (metric == nullptr) return false;
  const std::string series = series_of(*metric);
  if (series.empty()) return true;  // the result of an expression, not a metric
  if (const YamlNode* const value = result.find("value")) return add_sample(samples, series, *value);
  const YamlNode* const values = result.find("values");
  if (values == nullptr) return result.find("histogram") != nullptr || result.find("histograms") != nullptr;
  const auto add = [&](const YamlNode& each) { return add_sample(samples, series, each); };
  return std::all_of(values->items.begin(), values->items.end(), add);
}

// In the order of time: a code in a label makes each Xid a series of its own, and their order is that of events.
std::string write_samples(std::vector<AnswerSample> samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  std::string text;
  for (const AnswerSample& each : samples) text += each.line;
  return text + "# EOF\n";
}

}  // namespace

std::vector<std::string> prometheus_query_paths(const PrometheusQuery& query) {
  std::map<std::string_view, std::vector<std::string_view>> by_signal;
  for (const MetricMeaning& each : known_metrics()) by_signal[each.signal].push_back(each.metric);
  std::map<std::string_view, std::string> by_metric;
  for (const auto& [signal, names] : by_signal) by_metric.emplace(names.front(), query_path(query, names));
  std::vector<std::string> paths;
  paths.reserve(by_metric.size());
  for (auto& [metric, path] : by_metric) paths.push_back(std::move(path));
  return paths;
}

Result<std::string> exposition_of_answer(std::string json) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("answer of Prometheus", std::move(json));
  const std::optional<YamlNode> answer = parse_json(sources, file, diagnostics, kAnswerLimits);
  if (!answer) {
    const std::vector<Diagnostic> found = diagnostics.sorted();
    return malformed(found.empty() ? "not JSON" : found.front().message);
  }
  const std::string status = text_of(*answer, "status");
  if (status == "error") return server_error(*answer);
  const YamlNode* const data = answer->find("data");
  const YamlNode* const result = data == nullptr ? nullptr : data->find("result");
  if (status != "success" || result == nullptr) return malformed("it has no `status` or no `data.result`");
  const std::string type = text_of(*data, "resultType");
  if (type != "vector" && type != "matrix") return malformed("its result is neither a vector nor a matrix");
  std::vector<AnswerSample> samples;
  for (const YamlNode& each : result->items) {
    if (!add_series(samples, each)) return malformed("a series has no labels, or a sample no valid time or value");
  }
  return write_samples(std::move(samples));
}

Result<ReadReport> read_prometheus_answer(MetricReader& reader, TargetId target, std::string json, sched::Moment now,
                                          MetricSink& sink) {
  const Result<std::string> text = exposition_of_answer(std::move(json));
  if (!text.ok()) return text.error();
  return reader.read(target, *text, ExpositionFormat::openmetrics, now, sink);
}

}  // namespace weft::health

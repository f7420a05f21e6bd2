#include "workload/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"

namespace weft::workload {
namespace {

Error bad(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// Splits at commas outside brackets, braces and quotes.
Result<std::vector<std::string>> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  if (quote != 0 || depth != 0) return bad("a bracket or a quote is not closed");
  return values;
}

std::vector<std::string> split_key(std::string_view key) {
  const std::vector<std::string_view> parts = split(key, '.');
  return {parts.begin(), parts.end()};
}

// Whether one path is equal to the other or a prefix of it.
bool overlap(const Path& a, const Path& b) {
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
}

}  // namespace

Result<SweepAxis> parse_sweep_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return bad(fmt::format("`{}`: expected KEY=VALUE,VALUE (job.training.parallel.tensor=1,2,4)", text));
  }
  SweepAxis axis;
  axis.key = std::string(text.substr(0, equals));
  Result<std::vector<std::string>> values = split_values(text.substr(equals + 1));
  if (!values.ok()) return bad(fmt::format("`{}`: {}", text, values.error().message));
  axis.values = std::move(*values);
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    if (axis.values[i].empty()) return bad(fmt::format("`{}`: value {} is empty", text, i + 1));
    if (std::find(axis.values.begin(), axis.values.begin() + static_cast<std::ptrdiff_t>(i), axis.values[i]) !=
        axis.values.begin() + static_cast<std::ptrdiff_t>(i)) {
      return bad(fmt::format("`{}`: `{}` is listed twice", text, axis.values[i]));
    }
  }
  return axis;
}

Status Sweep::add_track(const SweepAxis& axis) {
  std::vector<std::string> keys = split_key(axis.key);
  if (std::any_of(keys.begin(), keys.end(), [](const std::string& key) { return key.empty(); }) || keys.size() < 2 ||
      (keys[0] != "cluster" && keys[0] != "job")) {
    return bad(fmt::format("`{}`: a key begins with `cluster.` or `job.`, which selects the file", axis.key));
  }
  Track track;
  track.cluster = keys[0] == "cluster";
  Result<Path> path = find_path(track.cluster ? cluster_ : job_, std::span(keys).subspan(1));
  if (!path.ok()) return bad(fmt::format("{} file, {}", keys[0], path.error().message));
  track.path = std::move(*path);
  // Two axes must not set the same value: the result would depend on their order.
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (tracks_[i].cluster != track.cluster || !overlap(tracks_[i].path, track.path)) continue;
    return bad(fmt::format("`{}` and `{}` set the same part of the {} file", axes_[i].key, axis.key, keys[0]));
  }
  for (const std::string& text : axis.values) {
    Result<Value> value = read_value(axis.key, text);
    if (!value.ok()) return bad(fmt::format("`{}={}`: {}", axis.key, text, value.error().message));
    track.values.push_back(std::move(*value));
  }
  tracks_.push_back(std::move(track));
  return {};
}

Result<Sweep> Sweep::make(const SweepFiles& files, std::vector<SweepAxis> axes, std::string_view options) {
  if (axes.empty()) {
    return bad("nothing to sweep: give at least one key with values (job.training.parallel.tensor=1,2,4)");
  }
  Sweep sweep;
  Result<Value> cluster = read_value(files.cluster_path, files.cluster_text);
  if (!cluster.ok()) return cluster.error();
  Result<Value> job = read_value(files.job_path, files.job_text);
  if (!job.ok()) return job.error();
  sweep.cluster_ = std::move(*cluster);
  sweep.job_ = std::move(*job);
  sweep.size_ = 1;
  sweep.axes_ = std::move(axes);
  for (const SweepAxis& axis : sweep.axes_) {
    if (axis.values.empty()) return bad(fmt::format("`{}` has no values", axis.key));
    const Status added = sweep.add_track(axis);
    if (!added.ok()) return added.error();
    sweep.size_ *= axis.values.size();
    if (sweep.size_ > kMaxPoints) return bad(fmt::format("the sweep has more than {} points", kMaxPoints));
  }
  sweep.base_hash_ = sha256(sha256(write_yaml(sweep.cluster_)) + sha256(write_yaml(sweep.job_)) + sha256(options));
  return sweep;
}

// The index of the value, per axis.
std::vector<std::size_t> Sweep::choice(std::uint64_t index) const {
  CHECK(index < size_, "no such point");
  std::vector<std::size_t> chosen(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    chosen[i] = index % axes_[i].values.size();
    index /= axes_[i].values.size();
  }
  return chosen;
}

SweepSettings Sweep::settings(std::uint64_t index) const {
  SweepSettings settings;
  const std::vector<std::size_t> chosen = choice(index);
  for (std::size_t i = 0; i < axes_.size(); ++i) settings.emplace_back(axes_[i].key, axes_[i].values[chosen[i]]);
  return settings;
}

std::string Sweep::id(std::uint64_t index) const {
  SweepSettings sorted = settings(index);
  std::sort(sorted.begin(), sorted.end());
  std::string text = base_hash_;
  for (const auto& [key, value] : sorted) text += fmt::format("\n{}={}", key, value);
  return sha256(text).substr(0, 16);
}

SweepPoint Sweep::point(std::uint64_t index) const {
  const std::vector<std::size_t> chosen = choice(index);
  Value cluster = cluster_;
  Value job = job_;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    Value& file = tracks_[i].cluster ? cluster : job;
    file = with_value(file, tracks_[i].path, tracks_[i].values[chosen[i]]);
  }
  return {index, id(index), settings(index), write_yaml(cluster), write_yaml(job)};
}

}  // namespace weft::workload

#include "health/readers/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "health/core/rules.h"
#include "health/readers/report_time.h"
#include "oob/manage/events_view.h"

namespace weft::health {
namespace {

constexpr std::size_t kMaxNode = 253;  // of a DNS name
constexpr std::int64_t kMaxStep = std::int64_t{1} << 53;
constexpr YamlLimits kLimits{.bytes = kMaxReportBytes, .nodes = 4'000'000, .depth = 16};

bool is_signal_name(std::string_view text) {
  const std::optional<SignalPattern> pattern = parse_pattern(text);
  return text.size() <= kMaxReportName && pattern && !pattern->is_range() && !pattern->name.empty();
}

bool is_node_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNode && std::all_of(text.begin(), text.end(), [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == ':';
  });
}

std::optional<sched::Moment> parse_moment(std::string_view text) {
  const std::optional<std::int64_t> ms = oob::parse_event_time(text);
  if (!ms) return std::nullopt;
  const sched::Moment moment = moment_of_ms(*ms);
  return moment == sched::Moment() ? std::nullopt : std::optional(moment);
}

// Not a number in the way of JSON's texts: "nan", "Infinity", "-inf".
bool is_non_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return equals_ignoring_case(text, "nan") || equals_ignoring_case(text, "inf") ||
         equals_ignoring_case(text, "infinity");
}

// Reads the members of an object, each once. What is wrong goes to the diagnostics, and the object is then not used.
class ObjectReader {
 public:
  ObjectReader(const YamlNode& node, Diagnostics& diagnostics) : node_(node), diagnostics_(diagnostics) {}

  [[nodiscard]] bool ok() const { return ok_; }
  void error(const SourceLocation& place, std::string message, std::string hint = {}) {
    diagnostics_.error(place, std::move(message), std::move(hint));
    ok_ = false;
  }
  const YamlNode* find(std::string_view key) {
    known_.push_back(key);
    return node_.find(key);
  }
  const YamlNode* require(std::string_view key) {
    const YamlNode* found = find(key);
    if (found == nullptr) error(node_.place, fmt::format("the key `{}` is missing", key));
    return found;
  }
  // Text without control characters; "" if the key is absent.
  std::string text(std::string_view key, std::size_t max) {
    const YamlNode* value = find(key);
    return value == nullptr ? std::string() : text_of(*value, key, max, false);
  }
  // The same for what may also be written as a whole number: the id of a job.
  std::string id(std::string_view key, std::size_t max, bool required) {
    const YamlNode* value = required ? require(key) : find(key);
    if (value == nullptr) return {};
    std::string out = text_of(*value, key, max, true);
    if (required && ok_ && out.empty()) error(value->place, fmt::format("`{}` is empty", key));
    return out;
  }
  std::string text_of(const YamlNode& value, std::string_view key, std::size_t max, bool allow_number) {
    const bool number = allow_number && !value.quoted && value.kind == YamlNode::Kind::scalar && is_whole(value.scalar);
    if (value.kind != YamlNode::Kind::scalar || (!value.quoted && !number)) {
      error(value.place, fmt::format("`{}` must be text", key));
      return {};
    }
    if (value.scalar.size() > max) {
      error(value.place, fmt::format("`{}` has {} bytes, more than {}", key, value.scalar.size(), max));
      return {};
    }
    if (printable(value.scalar) != value.scalar) {
      error(value.place, fmt::format("`{}` has control characters or is not UTF-8", key));
      return {};
    }
    return value.scalar;
  }
  std::optional<double> number(std::string_view key, double least, double most) {
    const YamlNode* value = find(key);
    if (value == nullptr) return std::nullopt;
    const std::optional<double> parsed = number_of(*value);
    if (!parsed || !(*parsed >= least && *parsed <= most)) {
      error(value->place, fmt::format("`{}` must be a number between {:g} and {:g}", key, least, most));
      return std::nullopt;
    }
    return parsed;
  }
  std::int64_t whole(std::string_view key, std::int64_t most) {
    const YamlNode* value = require(key);
    if (value == nullptr) return 0;
    std::int64_t parsed = -1;
    if (value->kind == YamlNode::Kind::scalar && !value->quoted && is_whole(value->scalar))
      static_cast<void>(std::from_chars(value->scalar.data(), value->scalar.data() + value->scalar.size(), parsed));
    if (parsed >= 0 && parsed <= most) return parsed;
    error(value->place, fmt::format("`{}` must be a whole number between 0 and {}", key, most));
    return 0;
  }
  sched::Moment time(std::string_view key) {
    const YamlNode* value = find(key);
    if (value == nullptr) return {};
    const std::optional<sched::Moment> moment = value->quoted ? parse_moment(value->scalar) : std::nullopt;
    if (!moment) error(value->place, fmt::format("`{}` must be a time such as \"2026-01-02T03:04:05Z\"", key));
    return moment.value_or(sched::Moment());
  }
  std::string node_name(std::string_view key, bool required) {
    const YamlNode* value = required ? require(key) : find(key);
    if (value == nullptr) return {};
    if (value->quoted && is_node_name(value->scalar)) return value->scalar;
    error(value->place, fmt::format("`{}` must be the name of a node: letters, digits, `-`, `.`, `_` and `:`", key));
    return {};
  }
  // After all known keys were asked for.
  void check_unknown() {
    for (const YamlEntry& entry : node_.entries) {
      if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
      error(entry.key_place, fmt::format("unknown key {}", in_backticks(entry.key)), did_you_mean(entry.key, known_));
    }
  }

  static bool is_whole(std::string_view text) {
    return !text.empty() && text.size() <= 18 && std::all_of(text.begin(), text.end(), is_digit);
  }
  // A finite number.
  static std::optional<double> number_of(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::scalar || node.quoted) return std::nullopt;
    double value = 0;
    const std::string& text = node.scalar;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
  }

 private:
  const YamlNode& node_;
  Diagnostics& diagnostics_;
  std::vector<std::string_view> known_;
  bool ok_ = true;
};

std::vector<SignalDetail> read_details(ObjectReader& reader) {
  std::vector<SignalDetail> out;
  const YamlNode* details = reader.find("details");
  if (details == nullptr) return out;
  if (details->kind != YamlNode::Kind::mapping) {
    reader.error(details->place, "`details` must be an object of texts");
    return out;
  }
  if (details->entries.size() > kMaxReportDetails) {
    reader.error(details->place, fmt::format("{} details, more than {}", details->entries.size(), kMaxReportDetails));
    return out;
  }
  for (const YamlEntry& entry : details->entries) {
    if (entry.key.empty() || entry.key.size() > kMaxReportName || printable(entry.key) != entry.key) {
      reader.error(entry.key_place, fmt::format("{} is not a key of a detail", in_backticks(entry.key)));
      continue;
    }
    const bool plain = entry.value.kind == YamlNode::Kind::scalar && !entry.value.quoted;  // a number, true, false
    std::string value = plain && entry.value.scalar.size() <= kMaxReportDetailBytes
                            ? entry.value.scalar
                            : reader.text_of(entry.value, entry.key, kMaxReportDetailBytes, false);
    out.push_back({entry.key, std::move(value)});
  }
  return out;
}

bool read_signal(const YamlNode& node, Diagnostics& diagnostics, Reports& out) {
  ObjectReader reader(node, diagnostics);
  Signal signal;
  const YamlNode* name = reader.require("signal");
  if (name != nullptr && (!name->quoted || !is_signal_name(name->scalar))) {
    reader.error(name->place, fmt::format("{} is not the name of a signal", in_backticks(name->scalar)),
                 "write FAMILY:NAME in lower case, such as `webhook:cooling_alarm`");
  }
  if (name != nullptr) signal.name = name->scalar;
  signal.node = reader.node_name("node", false);
  signal.part = reader.text("part", kMaxReportName);
  signal.value = reader.number("value", -1e300, 1e300);
  signal.at = reader.time("time");
  signal.text = reader.text("text", kMaxReportText);
  signal.details = read_details(reader);
  signal.source = SignalSource::other;
  reader.check_unknown();
  if (reader.ok()) out.signals.push_back(std::move(signal));
  return reader.ok();
}

JobPhase read_phase(ObjectReader& reader) {
  constexpr std::array<std::pair<std::string_view, JobPhase>, 3> kPhases = {
      {{"compute", JobPhase::compute}, {"checkpoint", JobPhase::checkpoint}, {"startup", JobPhase::startup}}};
  const YamlNode* phase = reader.find("phase");
  if (phase == nullptr) return JobPhase::compute;
  for (const auto& [text, value] : kPhases) {
    if (phase->scalar == text) return value;
  }
  reader.error(phase->place, "`phase` must be `compute`, `checkpoint` or `startup`");
  return JobPhase::compute;
}

// How a loss that is not a number was written; "": it is one, or there is none.
std::string read_loss(ObjectReader& reader) {
  const YamlNode* loss = reader.find("loss");
  if (loss == nullptr || ObjectReader::number_of(*loss)) return {};
  if (loss->kind == YamlNode::Kind::null) return "null";
  const bool scalar = loss->kind == YamlNode::Kind::scalar;
  if (scalar && loss->quoted && is_non_number(loss->scalar)) return to_lower(loss->scalar);
  // 1e999
  const bool digits = scalar && !loss->quoted && loss->scalar.find_first_of("0123456789") != std::string::npos;
  if (digits) return "inf";
  reader.error(loss->place, "`loss` must be a number, \"nan\", \"inf\" or null");
  return {};
}

void add_job_signals(const JobStep& step, const std::string& loss, Reports& out) {
  Signal beat;
  beat.name = "job:heartbeat";
  beat.node = step.node;
  beat.part = fmt::format("job {} rank {}", step.job, step.rank);
  beat.value = static_cast<double>(step.step);
  beat.at = step.at;
  beat.details = {{"job", step.job}, {"rank", std::to_string(step.rank)}};
  beat.source = SignalSource::job;
  if (!loss.empty()) {
    Signal bad = beat;
    bad.name = "job:nan_loss";
    bad.value.reset();
    bad.text = fmt::format("job {}: the loss of rank {} at step {} is {}", step.job, step.rank, step.step, loss);
    bad.details.push_back({"step", std::to_string(step.step)});
    bad.details.push_back({"loss", loss});
    out.signals.push_back(std::move(bad));
  }
  out.signals.push_back(std::move(beat));
}

bool read_heartbeat(const YamlNode& node, Diagnostics& diagnostics, Reports& out) {
  ObjectReader reader(node, diagnostics);
  JobStep step;
  step.job = reader.id("job", kMaxReportName, true);
  step.node = reader.node_name("node", true);
  step.rank = static_cast<std::uint32_t>(reader.whole("rank", kMaxRank));
  step.step = reader.whole("step", kMaxStep);
  step.step_seconds = reader.number("step_seconds", 0, kMaxStepSeconds);
  step.busy_seconds = reader.number("busy_seconds", 0, kMaxStepSeconds);
  step.stage = reader.id("stage", kMaxReportName, false);
  step.phase = read_phase(reader);
  const std::string loss = read_loss(reader);
  step.at = reader.time("time");
  reader.check_unknown();
  if (!reader.ok()) return false;
  add_job_signals(step, loss, out);
  out.steps.push_back(std::move(step));
  return true;
}

std::string_view text_at(const YamlNode* mapping, std::string_view key) {
  if (mapping == nullptr || mapping->kind != YamlNode::Kind::mapping) return {};
  const YamlNode* found = mapping->find(key);
  return found != nullptr && found->quoted ? std::string_view(found->scalar) : std::string_view();
}

// "gpu-001:9100" is gpu-001, "[fd00::1]:9100" is fd00::1.
std::string_view without_port(std::string_view instance) {
  if (instance.starts_with('[')) return instance.substr(1, instance.find(']') - 1);
  const std::size_t colon = instance.find(':');
  if (colon == std::string_view::npos || !ObjectReader::is_whole(instance.substr(colon + 1))) return instance;
  return instance.substr(0, colon);
}

std::string node_of(const YamlNode* labels) {
  for (const std::string_view key : {"node", "instance", "hostname"}) {
    const std::string_view name = without_port(text_at(labels, key));
    if (is_node_name(name)) return std::string(name);
  }
  return {};
}

// "GPU Xid 1-5" is "alert:gpu_xid_1-5".
std::string alert_signal(std::string_view alert) {
  constexpr std::size_t kMax = 100;
  std::string name = to_lower(alert.substr(0, kMax));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_letter_or_digit(c) && c != '_' && c != '.' && c != '-'; }, '_');
  std::string out = "alert:" + name;
  if (is_signal_name(out)) return out;
  std::replace(out.begin(), out.end(), '-', '_');  // "1-5" is a range of codes
  return out;
}

void add_labels(const YamlNode* labels, Signal& signal) {
  if (labels == nullptr || labels->kind != YamlNode::Kind::mapping) return;
  constexpr std::array<std::string_view, 5> kUsed = {"alertname", "node", "instance", "hostname", "state"};
  for (const YamlEntry& label : labels->entries) {
    if (signal.details.size() >= kMaxReportDetails) return;
    if (!label.value.quoted || std::find(kUsed.begin(), kUsed.end(), label.key) != kUsed.end()) continue;
    signal.details.push_back({printable(label.key.substr(0, kMaxReportName)),
                              printable(label.value.scalar.substr(0, kMaxReportDetailBytes))});
  }
  const std::string_view gpu = text_at(labels, "gpu");
  const std::string_view device = text_at(labels, "device");
  signal.part =
      printable(gpu.empty() ? std::string(device.substr(0, kMaxReportName)) : fmt::format("GPU {}", gpu.substr(0, 32)));
}

bool read_alert(const YamlNode& node, Diagnostics& diagnostics, Reports& out) {
  const YamlNode* labels = node.find("labels");
  const std::string_view alert = text_at(labels, "alertname");
  const std::string_view status = text_at(&node, "status");
  if (alert.empty()) {
    diagnostics.error(node.place, "an alert without the label `alertname`");
    return false;
  }
  if (status != "firing" && status != "resolved") {
    diagnostics.error(node.place,
                      fmt::format("the status of the alert {} must be `firing` or `resolved`", in_backticks(alert)));
    return false;
  }
  Signal signal;
  signal.name = alert_signal(alert);
  signal.node = node_of(labels);
  signal.source = SignalSource::other;
  signal.details.push_back({"state", std::string(status)});
  add_labels(labels, signal);
  const std::string_view time = text_at(&node, status == "firing" ? "startsAt" : "endsAt");
  signal.at = parse_moment(time).value_or(sched::Moment());
  const YamlNode* annotations = node.find("annotations");
  for (const std::string_view key : {"summary", "description", "message"}) {
    if (signal.text.empty()) signal.text = printable(text_at(annotations, key).substr(0, kMaxReportText - 8));
  }
  out.signals.push_back(std::move(signal));
  return true;
}

// One text of reports.
class ReportReader {
 public:
  ReportReader(const Sources& sources, FileId file, Diagnostics& diagnostics)
      : sources_(sources), file_(file), diagnostics_(diagnostics) {}

  Reports read() {
    const std::string_view text = sources_.text(file_);
    if (text.size() > kMaxReportBytes) {
      reject({file_, 1, 1}, fmt::format("the reports have {} bytes, more than {}", text.size(), kMaxReportBytes));
      return std::move(out_);
    }
    const std::string_view start = trim(text);
    if (start.starts_with('[')) {
      read_value(text, {file_, 1, 1}, true);
    } else if (!is_one_object(text)) {
      read_lines(text);
    }
    return std::move(out_);
  }

 private:
  void reject(const SourceLocation& place, std::string message, std::string hint = {}) {
    diagnostics_.error(place, std::move(message), std::move(hint));
    ++out_.rejected;
  }

  // NaN and Infinity outside strings become texts.
  static std::string quote_non_numbers(std::string_view text) {
    std::string out;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quoted && text[i] == '\\' && i + 1 < text.size()) {
        out += text[i++];
      } else if (text[i] == '"') {
        quoted = !quoted;
      } else if (!quoted) {
        const std::string_view rest = text.substr(i);
        const std::string_view word = rest.starts_with("NaN")         ? "NaN"
                                      : rest.starts_with("Infinity")  ? "Infinity"
                                      : rest.starts_with("-Infinity") ? "-Infinity"
                                                                      : "";
        if (!word.empty()) {
          out.append("\"").append(word).append("\"");
          i += word.size() - 1;
          continue;
        }
      }
      out += text[i];
    }
    return out;
  }
  static bool has_non_numbers(std::string_view text) { return contains(text, "NaN") || contains(text, "Infinity"); }

  // With its places, if the text is the whole file; else every place is that of its line.
  std::optional<YamlNode> parse(std::string_view text, const SourceLocation& place, bool whole, Diagnostics& problems) {
    if (has_non_numbers(text)) return parse_json_text(quote_non_numbers(text), place, problems, kLimits);
    return whole ? parse_json(sources_, file_, problems, kLimits) : parse_json_text(text, place, problems, kLimits);
  }

  // A pretty-printed object over several lines. False: one object per line, or nothing that can be read as a whole.
  bool is_one_object(std::string_view text) {
    const std::string_view first = trim(trim(text).substr(0, trim(text).find('\n')));
    if (first.size() == trim(text).size() || first.ends_with('}')) return false;
    Diagnostics problems;
    const std::optional<YamlNode> root = parse(text, {file_, 1, 1}, true, problems);
    if (!root) return false;
    read_node(*root);
    return true;
  }

  void read_value(std::string_view text, const SourceLocation& place, bool whole) {
    const std::optional<YamlNode> root = parse(text, place, whole, diagnostics_);
    if (root) {
      read_node(*root);
    } else {
      ++out_.rejected;
    }
  }

  void read_lines(std::string_view text) {
    std::uint32_t number = 0;
    for (const std::string_view line : split_lines(text)) {
      ++number;
      if (full_) return;
      if (!trim(line).empty()) read_value(line, {file_, 1, number}, false);
    }
  }

  bool count(const SourceLocation& place) {
    if (full_) return false;
    full_ = ++count_ > kMaxReports;
    if (full_) reject(place, fmt::format("more than {} reports; the rest is left out", kMaxReports));
    return !full_;
  }

  void read_node(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::sequence) {
      for (const YamlNode& item : node.items) {
        if (full_) return;
        read_object(item);
      }
      return;
    }
    read_object(node);
  }

  void read_object(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::mapping) return reject(node.place, "a report must be an object");
    if (const YamlNode* alerts = node.find("alerts")) return read_alerts(node, *alerts);
    if (!count(node.place)) return;
    bool good = false;
    if (node.find("signal") != nullptr) {
      good = read_signal(node, diagnostics_, out_);
    } else if (node.find("job") != nullptr) {
      good = read_heartbeat(node, diagnostics_, out_);
    } else {
      diagnostics_.error(node.place, "a report must have `signal`, `job` or `alerts`");
    }
    out_.rejected += good ? 0 : 1;
  }

  void read_alerts(const YamlNode& node, const YamlNode& alerts) {
    const std::string_view version = text_at(&node, "version");
    if (version != "4" || alerts.kind != YamlNode::Kind::sequence) {
      return reject(node.place, "`alerts` must be those of Alertmanager's webhook, version 4");
    }
    for (const YamlNode& alert : alerts.items) {
      if (!count(alert.place)) return;
      if (alert.kind != YamlNode::Kind::mapping) {
        reject(alert.place, "an alert must be an object");
      } else if (!read_alert(alert, diagnostics_, out_)) {
        ++out_.rejected;
      }
    }
  }

  const Sources& sources_;
  FileId file_;
  Diagnostics& diagnostics_;
  Reports out_;
  std::size_t count_ = 0;
  bool full_ = false;
};

}  // namespace

Reports read_reports(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  return ReportReader(sources, file, diagnostics).read();
}

}  // namespace weft::health

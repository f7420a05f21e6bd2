#include "pipeline/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/asset.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::pipeline {
namespace {

constexpr std::size_t kMaxName = 63;
constexpr std::size_t kMaxJobName = 48;  // of a job file
constexpr Duration kMaxTime = milliseconds(std::int64_t{366} * 86'400'000);

bool is_name(std::string_view text) {
  const auto plain = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; };
  return !text.empty() && text.size() <= kMaxName && is_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), plain);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

const std::vector<YamlNode> kNoItems;

// A script without its comments, on one line.
std::string one_line(std::string_view script) {
  std::vector<std::string_view> lines;
  for (const std::string_view line : split_lines(script)) {
    if (!line.starts_with("#")) lines.push_back(trim(line));
  }
  return join(lines, " ");
}

}  // namespace

bool PipelineBuilder::check_keys(const YamlNode& node, std::string_view what, const std::vector<std::string_view>& keys,
                                 bool others_unsupported) {
  if (node.kind != YamlNode::Kind::mapping) {
    error(node.place, fmt::format("{} must be a mapping, but is {}", what, describe_kind(node)));
    return false;
  }
  for (const YamlEntry& entry : node.entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    error(entry.key_place,
          fmt::format("{} {} of {}{}", others_unsupported ? "key" : "unknown key", in_backticks(entry.key), what,
                      others_unsupported ? " is not supported" : ""),
          did_you_mean(entry.key, keys), entry.key.size());
  }
  return true;
}

const std::vector<YamlNode>& PipelineBuilder::items(const YamlNode* node, std::string_view what) {
  if (node == nullptr) return kNoItems;
  if (node->kind == YamlNode::Kind::sequence) return node->items;
  error(node->place, fmt::format("{} must be a list, but is {}", what, describe_kind(*node)));
  return kNoItems;
}

std::optional<std::string> PipelineBuilder::text(const YamlNode* node, std::string_view what) {
  if (node == nullptr) return std::nullopt;
  if (node->kind != YamlNode::Kind::scalar || node->scalar.empty()) {
    error(node->place, fmt::format("{} must be a text that is not empty", what));
    return std::nullopt;
  }
  return node->scalar;
}

std::optional<std::int64_t> PipelineBuilder::count(const YamlNode* node, std::string_view what, std::int64_t low,
                                                   std::int64_t high) {
  if (node == nullptr) return std::nullopt;
  const std::optional<std::int64_t> number =
      node->kind == YamlNode::Kind::scalar ? parse_integer(node->scalar) : std::nullopt;
  if (number && *number >= low && *number <= high) return number;
  error(node->place, fmt::format("{} must be a whole number between {} and {}", what, low, high));
  return std::nullopt;
}

std::optional<Duration> PipelineBuilder::time(const YamlNode* node, std::string_view what) {
  const std::optional<std::string> given = text(node, what);
  if (!given) return std::nullopt;
  const Result<Duration> parsed = parse_duration(*given);
  if (parsed.ok() && *parsed <= kMaxTime) return *parsed;
  error(node->place, parsed.ok() ? fmt::format("{} must be at most 366d", what) : parsed.error().message);
  return std::nullopt;
}

std::optional<std::string> PipelineBuilder::name(const YamlNode* node, std::string_view what) {
  std::optional<std::string> given = text(node, what);
  if (!given || is_name(*given)) return given;
  error(node->place, fmt::format("{} is not a valid {}", in_backticks(*given), what),
        fmt::format("use letters, digits, - and _, starting with a letter or digit, at most {} characters", kMaxName));
  return std::nullopt;
}

bool PipelineBuilder::check_output_path(std::string_view path, const SourceLocation& place) {
  if (std::none_of(path.begin(), path.end(), is_control) && !contains(path, "|")) return true;
  error(place, "a path of an output has control characters or `|`");
  return false;
}

void PipelineBuilder::use_text(std::string_view text, const SourceLocation& place) {
  if (text.size() > kMaxText) return error(place, fmt::format("a text may have at most {} bytes", kMaxText));
  const Result<std::vector<Reference>> found = find_references(text);
  if (!found.ok()) {
    error(place, found.error().message,
          "references are {{parameters.NAME}}, {{steps.STEP.outputs.NAME}}, {{pipeline.name}} and {{pipeline.run}}");
    return;
  }
  for (const Reference& reference : *found) uses_.push_back({pipeline_.steps.size(), reference, place});
}

bool PipelineBuilder::add_step(Step step) {
  if (pipeline_.steps.size() == kMaxSteps) {
    error(step.place, fmt::format("a pipeline has at most {} steps", kMaxSteps));
    return false;
  }
  pipeline_.steps.push_back(std::move(step));
  return true;
}

std::optional<std::size_t> PipelineBuilder::index_of(std::string_view step) const {
  const Step* found = pipeline_.find(step);
  if (found == nullptr) return std::nullopt;
  return static_cast<std::size_t>(found - pipeline_.steps.data());
}

std::optional<Pipeline> PipelineBuilder::finish() {
  if (!failed()) check_graph();
  if (failed()) return std::nullopt;
  return std::move(pipeline_);
}

void PipelineBuilder::check_graph() {
  std::vector<Step>& steps = pipeline_.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (index_of(steps[i].name) != i) {
      error(steps[i].place, fmt::format("a second step has the name {}", in_backticks(steps[i].name)));
    }
    for (const std::string& need : steps[i].needs) {
      if (index_of(need)) continue;
      std::vector<std::string_view> names;
      names.reserve(steps.size());
      for (const Step& each : steps) names.push_back(each.name);
      error(steps[i].place,
            fmt::format("step {} needs {}, which does not exist", in_backticks(steps[i].name), in_backticks(need)),
            did_you_mean(need, names));
    }
  }
  if (failed()) return;
  const std::vector<std::size_t> sorted = order();
  if (sorted.size() < steps.size()) return;
  std::vector<std::vector<bool>> before(steps.size(), std::vector<bool>(steps.size()));
  for (const std::size_t i : sorted) {
    for (const std::string& need : steps[i].needs) {
      const std::size_t other = *index_of(need);
      before[i][other] = true;
      for (std::size_t k = 0; k < steps.size(); ++k) before[i][k] = before[i][k] || before[other][k];
    }
  }
  for (const Use& use : uses_) check_reference(use, before);
}

// Depth first, without recursion: a path of a thousand steps is valid.
std::vector<std::size_t> PipelineBuilder::order() {
  enum class Mark : std::uint8_t { none, open, closed };
  const std::vector<Step>& steps = pipeline_.steps;
  std::vector<Mark> marks(steps.size(), Mark::none);
  std::vector<std::size_t> sorted;
  for (std::size_t first = 0; first < steps.size(); ++first) {
    std::vector<std::pair<std::size_t, std::size_t>> path;  // step, and which of its needs is next
    if (marks[first] == Mark::none) path.emplace_back(first, 0);
    while (!path.empty()) {
      auto& [step, next] = path.back();
      marks[step] = Mark::open;
      if (next == steps[step].needs.size()) {
        marks[step] = Mark::closed;
        sorted.push_back(step);
        path.pop_back();
        continue;
      }
      const std::size_t need = *index_of(steps[step].needs[next++]);
      if (marks[need] == Mark::closed) continue;
      if (marks[need] == Mark::none) {
        path.emplace_back(need, 0);
        continue;
      }
      std::vector<std::string> names;
      auto from = std::find_if(path.begin(), path.end(), [&](const auto& each) { return each.first == need; });
      for (; from != path.end(); ++from) names.push_back(steps[from->first].name);
      names.push_back(steps[need].name);
      error(steps[need].place, "steps need each other in a cycle: " + join(names, " needs "));
      return {};
    }
  }
  return sorted;
}

void PipelineBuilder::check_reference(const Use& use, const std::vector<std::vector<bool>>& before) {
  const Reference& reference = use.reference;
  if (reference.kind == Reference::Kind::parameter) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : pipeline_.parameters) names.push_back(name);
    if (std::find(names.begin(), names.end(), reference.name) == names.end()) {
      error(use.place, fmt::format("unknown parameter {}", in_backticks(reference.name)),
            did_you_mean(reference.name, names));
    }
    return;
  }
  if (reference.kind != Reference::Kind::output) return;
  const std::optional<std::size_t> source = index_of(reference.name);
  if (!source) return error(use.place, fmt::format("unknown step {}", in_backticks(reference.name)));
  Step& step = pipeline_.steps[*source];
  if (!before[use.step][*source]) {
    return error(use.place,
                 fmt::format("an output of {} is used, but the step does not need it", in_backticks(step.name)),
                 fmt::format("add {} to its `needs`", in_backticks(step.name)));
  }
  const auto is_declared = [&](const OutputFile& each) { return each.name == reference.output; };
  if (std::any_of(step.outputs.begin(), step.outputs.end(), is_declared)) return;
  if (reference.output == kResult) {
    step.result_used = true;
    return;
  }
  error(use.place, fmt::format("step {} has no output {}", in_backticks(step.name), in_backticks(reference.output)));
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the file, which the reader bounds
Value to_value(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return {};
    case YamlNode::Kind::sequence: {
      Value out = Value::list();
      for (const YamlNode& item : node.items) out.add(to_value(item));
      return out;
    }
    case YamlNode::Kind::mapping: {
      Value out = Value::map();
      for (const YamlEntry& entry : node.entries) out.set(entry.key, to_value(entry.value));
      return out;
    }
    case YamlNode::Kind::scalar:
      break;
  }
  if (node.quoted) return Value(node.scalar);
  if (node.scalar == "true" || node.scalar == "false") return Value(node.scalar == "true");
  const std::optional<std::int64_t> number = parse_integer(node.scalar);
  if (number && std::to_string(*number) == node.scalar) return Value(*number);
  return Value(node.scalar);
}

std::string job_name(std::string_view pipeline, std::string_view step) {
  std::string out;
  for (const char c : fmt::format("{}-{}", pipeline, step)) out += is_letter_or_digit(c) ? to_lower(c) : '-';
  if (is_digit(out.front())) out.insert(0, "p");
  if (out.size() > kMaxJobName) out.resize(kMaxJobName);
  while (out.back() == '-') out.pop_back();
  return out;
}

std::vector<std::string> with_outputs(const std::vector<std::string>& words, const std::vector<OutputFile>& outputs) {
  if (outputs.empty()) return words;
  std::vector<std::string> lines;
  lines.reserve(outputs.size());
  for (const OutputFile& output : outputs) lines.push_back(fmt::format("{} {}", output.name, output.path));
  std::vector<std::string> out{"sh",
                               "-c",
                               one_line(asset<"pipeline/outputs.sh">()),
                               "weft-step",
                               std::string(kTokenReference),
                               join(lines, "|")};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

std::optional<Pipeline> read_pipeline(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  PipelineBuilder builder(diagnostics);
  const std::string_view content = sources.text(file);
  const SourceLocation start{file, 1, 1};
  if (content.size() > kMaxPipelineBytes) {
    builder.error(start, fmt::format("a pipeline file has at most {} bytes", kMaxPipelineBytes));
    return std::nullopt;
  }
  constexpr YamlLimits kLimits = {kMaxPipelineBytes, 100'000, 40};
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics, kLimits);
  if (!root) return std::nullopt;
  if (root->kind != YamlNode::Kind::mapping) {
    builder.error(start, "the file has no pipeline",
                  "it starts with `pipeline: 1`, or is a Workflow of argoproj.io/v1alpha1");
    return std::nullopt;
  }
  if (root->find("apiVersion") != nullptr || root->find("kind") != nullptr) {
    read_workflow(*root, builder);
  } else {
    read_pipeline_file(*root, builder, diagnostics);
  }
  return builder.finish();
}

}  // namespace weft::pipeline

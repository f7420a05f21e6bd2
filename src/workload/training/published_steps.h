// For tests and `make validate`: reads tests/validate/steps.csv, published times of training steps, and builds the plan
// of a row. The format is described in that file.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/source.h"
#include "base/text.h"
#include "model/catalog.h"
#include "workload/nccl/timer.h"
#include "workload/training/step_model.h"

namespace weft::workload {

struct PublishedStep {
  std::string model;
  TrainingPlan plan;
  double seconds = 0;
};

struct PublishedSteps {
  std::string id;
  std::string title;
  std::string source;
  std::string model;
  std::string gpu;
  std::string options;
  std::string role;
  std::vector<PublishedStep> rows;
};

namespace published_steps {

inline std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (const std::string_view part : weft::split(text, separator)) parts.emplace_back(trim(part, " "));
  return parts;
}

inline std::int64_t whole(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  CHECK(error == std::errc() && end == text.data() + text.size(), "steps.csv: a whole number");
  return value;
}

// "llama-3.1-8b", or "name key=value ...": a preset or nothing, then changes.
inline ModelShape shape_of(const std::string& text) {
  const std::vector<std::string> words = split(text, ' ');
  ModelShape shape;
  if (const ModelShape* known = find_model(words.front())) shape = *known;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    CHECK(equals != std::string::npos, "steps.csv: key=value after the name of a model");
    const std::string key = words[i].substr(0, equals);
    const std::int64_t value = whole(words[i].substr(equals + 1));
    if (key == "layers") shape.layers = value;
    if (key == "hidden") shape.hidden = value;
    if (key == "heads") shape.heads = value;
    if (key == "kv_heads") shape.kv_heads = value;
    if (key == "ffn") shape.ffn = value;
    if (key == "vocab") shape.vocab = value;
    if (key == "dense_layers") shape.dense_layers = value;
    if (key == "gated") shape.gated = value != 0;
    if (key == "tied") shape.tied = value != 0;
    if (key == "positions") shape.learned_positions = value != 0;
  }
  if (shape.head_dim == 0) shape.head_dim = shape.hidden / shape.heads;
  return shape;
}

inline bool has(const std::string& options, std::string_view word) {
  for (const std::string& one : split(options, ' ')) {
    if (one == word) return true;
  }
  return false;
}

// GPUs that parameters are sharded over ("shard=128"), replicated beyond them; 0: all.
inline std::int64_t shard_of(const std::string& options) {
  for (const std::string& one : split(options, ' ')) {
    if (one.starts_with("shard=")) return whole(one.substr(6));
  }
  return 0;
}

inline void apply(const std::string& options, TrainingPlan& plan) {
  plan.precision = has(options, "fp8") ? model::Precision::fp8 : model::Precision::bf16;
  plan.recompute = has(options, "full")        ? model::Recompute::full
                   : has(options, "selective") ? model::Recompute::selective
                                               : model::Recompute::none;
  plan.framework = has(options, "compiled") ? model::Framework::compiled
                   : has(options, "eager")  ? model::Framework::eager
                   : has(options, "jax")    ? model::Framework::jax
                                            : model::Framework::megatron;
  const bool megatron = plan.framework == model::Framework::megatron;
  if (has(options, "no-flash")) plan.attention = model::AttentionKernel::unfused;
  plan.dropout = megatron && plan.shape.learned_positions && !has(options, "no-dropout");
  if (has(options, "cudnn")) plan.attention = model::AttentionKernel::cudnn;
  plan.sequence_parallel = plan.tensor > 1 && !has(options, "no-sequence");
  plan.overlap_tensor = plan.sequence_parallel && megatron && !has(options, "no-tensor-overlap");
  plan.overlap_data = !has(options, "no-data-overlap");
  plan.overlap_pipeline = plan.interleave > 1;
  plan.fp32_gradients = !has(options, "bf16-optimizer") && !has(options, "bf16-gradients");
  plan.bf16_optimizer = has(options, "bf16-optimizer");
  plan.sharding = has(options, "fsdp")                       ? model::Sharding::parameters
                  : megatron && plan.data * plan.context > 1 ? model::Sharding::optimizer
                                                             : model::Sharding::none;
  if (const std::int64_t shard = shard_of(options); shard > 0) plan.replicate = plan.data * plan.context / shard;
  plan.dispatch = has(options, "all-to-all") ? model::Dispatch::all_to_all : plan.usual_dispatch();
  plan.overlap_expert = has(options, "expert-overlap");
}

inline PublishedStep row_of(const PublishedSteps& table, std::vector<std::string> fields) {
  PublishedStep row;
  row.model = table.model;
  if (fields.size() == 13) {
    row.model = fields.front();
    fields.erase(fields.begin());
  }
  CHECK(fields.size() == 12, "steps.csv: 12 numbers in a row");
  TrainingPlan& plan = row.plan;
  plan.shape = shape_of(row.model);
  plan.gpus = whole(fields[0]);
  plan.shape.layers = whole(fields[1]);
  plan.tensor = whole(fields[2]);
  plan.pipeline = whole(fields[3]);
  plan.interleave = whole(fields[4]);
  plan.context = whole(fields[5]);
  plan.expert = whole(fields[6]);
  plan.expert_tensor = whole(fields[7]);
  plan.micro_batch = whole(fields[8]);
  plan.global_batch = whole(fields[9]);
  plan.sequence = plan.shape.sequence = whole(fields[10]);
  row.seconds = std::stod(fields[11]);
  plan.data = plan.gpus / (plan.tensor * plan.pipeline * plan.context);
  plan.micro_batches = plan.global_batch / (plan.data * plan.micro_batch);
  CHECK(plan.shape.hidden > 0 && plan.micro_batches * plan.data * plan.micro_batch == plan.global_batch,
        "steps.csv: a known model and a batch that divides");
  if (table.gpu.starts_with("gb")) plan.node_gpus = 72;
  apply(table.options, plan);
  return row;
}

}  // namespace published_steps

inline std::vector<PublishedSteps> read_published_steps(const std::string& path) {
  const Result<std::string> text = read_file(path);
  CHECK(text.ok(), "tests/validate/steps.csv is there");
  std::vector<PublishedSteps> tables;
  for (const std::string& line : published_steps::split(text.value(), '\n')) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == '@') {
      const std::vector<std::string> fields = published_steps::split(std::string_view(line).substr(1), '|');
      CHECK(fields.size() == 7, "steps.csv: 7 fields in the head of a table");
      tables.push_back({fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields[6], {}});
      continue;
    }
    CHECK(!tables.empty(), "steps.csv: a row stands in a table");
    tables.back().rows.push_back(published_steps::row_of(tables.back(), published_steps::split(line, ',')));
  }
  return tables;
}

// A server with 8 of these GPUs and one NIC per GPU, as in the published clusters.
class PublishedMachine {
 public:
  // "h100-sxm", or "h100-sxm memory=96 bandwidth=2.4 power=500" (GB, TB/s, W) for a variant.
  explicit PublishedMachine(const std::string& gpu) : catalog_(model::Catalog::built_in(sources_, diagnostics_)) {
    const std::vector<std::string> words = published_steps::split(gpu, ' ');
    const model::GpuModel* model = catalog_.gpu(words.front());
    CHECK(model != nullptr, "the catalog has the GPU of every published table");
    gpu_ = *model;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const double value = std::stod(words[i].substr(words[i].find('=') + 1));
      if (words[i].starts_with("memory=")) {
        gpu_.memory.value = Bytes(std::llround(value * 1e9));
      } else if (words[i].starts_with("power=")) {
        gpu_.power_limit = model::Sourced<Power>(Power(std::llround(value * 1'000)));
      } else {
        gpu_.memory_bandwidth.value.per_second = Bytes(std::llround(value * 1e12));
      }
    }
    nccl_.architecture = gpu_.architecture.value;
    nccl_.nvlink = model::ByteRate{Bytes(gpu_.nvlink_bandwidth.value.per_second.count() / 2)};
    const bool ampere = nccl_.architecture == "ampere";
    nccl_.multicast = !ampere;
    nccl_.nic = gigabits(ampere ? 200 : 400);
    nccl_.pcie = gigabits(ampere ? 256 : 512);
    nccl_.infiniband = true;
    if (gpu.starts_with("gb")) nccl_.node_gpus = nccl_.nics = 72;  // one rack is one NVLink domain
  }

  [[nodiscard]] StepTimes play(const TrainingPlan& plan) const {
    NcclTimer timer(nccl_);
    const Result<GpuRates> rates = GpuRates::of(gpu_);
    CHECK(rates.ok(), "the catalog has the rates of the GPU");
    return play_step(plan, rates.value(), timer);
  }
  [[nodiscard]] double seconds(const TrainingPlan& plan) const {
    return static_cast<double>(play(plan).parts.step.count()) / 1e12;
  }
  [[nodiscard]] const model::GpuModel& gpu() const { return gpu_; }
  [[nodiscard]] const NcclMachine& nccl() const { return nccl_; }

 private:
  Sources sources_;
  Diagnostics diagnostics_;
  model::Catalog catalog_;
  model::GpuModel gpu_;
  NcclMachine nccl_;
};

// Signed errors of a table's rows: predicted / measured - 1.
struct StepErrors {
  std::vector<double> rows;
  double mean = 0;  // of the absolute errors
  double worst = 0;
};
inline StepErrors step_errors(const PublishedSteps& table) {
  const PublishedMachine machine(table.gpu);
  StepErrors errors;
  for (const PublishedStep& row : table.rows) {
    const double error = machine.seconds(row.plan) / row.seconds - 1;
    errors.rows.push_back(error);
    errors.mean += std::abs(error) / static_cast<double>(table.rows.size());
    errors.worst = std::max(errors.worst, std::abs(error));
  }
  return errors;
}

}  // namespace weft::workload

#include "workload/life/view_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/human_format.h"
#include "netsim/views/result_cells.h"

namespace weft::workload {

std::string format_time(SimTime time) {
  return time == netsim::kNever ? "never" : format_picoseconds(static_cast<double>(time.count()));
}

std::string format_time(Duration time) { return format_picoseconds(static_cast<double>(time.count()) * 1e3); }

std::string format_moment(SimTime since_submit) {
  if (since_submit == netsim::kNever) return "never";
  return fmt::format("{:.3f} s", seconds(since_submit));
}

double seconds(SimTime time) { return static_cast<double>(time.count()) / 1e12; }
double seconds(Duration time) { return static_cast<double>(time.count()) / 1e9; }

double share_of(SimTime part, SimTime whole) {
  return whole.count() <= 0 ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

double share_of(Bytes part, Bytes whole) {
  return whole.count() <= 0 ? 0 : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

Cell seconds_cell(SimTime time) {
  if (time == netsim::kNever) return {};
  return {seconds(time), format_time(time)};
}

Cell seconds_cell(Duration time) { return {seconds(time), format_time(time)}; }

Cell moment_cell(SimTime since_submit) {
  if (since_submit == netsim::kNever) return {};
  return {seconds(since_submit), format_moment(since_submit)};
}

Cell fine_seconds_cell(SimTime time) {
  if (time == netsim::kNever) return {};
  // Beyond a minute or two the fourth digit is not significant, and minutes are easier to read.
  return {seconds(time), seconds(time) < 100 ? format_fine_time(time) : format_time(time)};
}

Cell bytes_cell(Bytes bytes) { return {bytes.count(), format_bytes(bytes)}; }

Cell percent_cell(double share) { return {std::round(share * 1e6) / 1e4, format_percent(share)}; }

Cell rate_cell(double bytes_per_second) {
  const double value = std::round(bytes_per_second / 1e6) / 1e3;
  return {value, bytes_per_second > 0 ? format_number(value) : std::string("-")};
}

Cell real_cell(double value, int digits, std::string_view unit) {
  std::string shown = fmt::format("{:.{}f}", value, digits);
  if (!unit.empty()) shown += fmt::format(" {}", unit);
  return {value, std::move(shown)};
}

std::string_view title_of(Medium medium) {
  switch (medium) {
    case Medium::backend:
      return "Backend";
    case Medium::storage:
      return "Storage";
    case Medium::frontend:
      return "Frontend";
    case Medium::oob:
      return "OOB";
    case Medium::nvlink:
      return "NVLink";
    case Medium::host:
      return "Host";
  }
  return "";
}

std::string_view title_of(model::FabricKind fabric) {
  switch (fabric) {
    case model::FabricKind::backend:
      return "Backend";
    case model::FabricKind::storage:
      return "Storage";
    case model::FabricKind::frontend:
      return "Frontend";
    case model::FabricKind::oob:
      return "OOB";
  }
  return "";
}

bool is_dark(const LifeState& state, Medium medium) {
  return std::find(state.dark.begin(), state.dark.end(), medium) != state.dark.end();
}

std::vector<StepPart> step_parts(const StepParts& parts) {
  return {
      {"compute", "Compute", "matrix products, attention and element-wise kernels of the slowest stage", parts.compute},
      {"recompute", "Recomputation", "activations computed a second time to save memory", parts.recompute},
      {"tensor", "Tensor communication", "exposed collectives inside a layer", parts.tensor},
      {"context", "Context communication", "exposed exchange of keys and values between parts of a sequence",
       parts.context},
      {"expert", "Expert communication", "exposed all-to-all of tokens between experts", parts.expert},
      {"pipeline", "Pipeline communication", "waiting for messages between stages", parts.pipeline},
      {"data", "Data communication", "exposed reduction of gradients and gathering of parameters", parts.data},
      {"bubble", "Pipeline bubble", "fill and drain of the pipeline, imbalance of its stages", parts.bubble},
      {"optimizer", "Optimizer", "update of the weights", parts.optimizer},
      {"input", "Input", "waiting for samples from storage", parts.input},
      {"checkpoint", "Checkpoint", "a step's share of the stall of a checkpoint", parts.checkpoint},
      {"host", "Host", "gaps in which the GPU waits for the host", parts.host}};
}

std::vector<MemoryPart> memory_parts(const MemoryUse& memory) {
  return {{"weights", "Weights", memory.weights},
          {"gradients", "Gradients", memory.gradients},
          {"optimizer", "Optimizer state", memory.optimizer},
          {"activations", "Activations", memory.activations},
          {"buffers", "Buffers and context", memory.buffers}};
}

}  // namespace weft::workload

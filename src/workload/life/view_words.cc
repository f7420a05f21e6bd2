#include "workload/life/view_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "netsim/views/result_words.h"

namespace weft::workload {
namespace {

struct Scale {
  double from;
  std::string_view unit;
};

// `scales` go up; the first takes whatever is below the second. 0.9995: what would round to 1000 of the unit below.
std::string scaled(double value, std::span<const Scale> scales) {
  const Scale* chosen = scales.data();
  for (const Scale& scale : scales) {
    if (std::abs(value) >= scale.from * 0.9995) chosen = &scale;
  }
  return fmt::format("{} {}", number_words(value / chosen->from), chosen->unit);
}

}  // namespace

std::string number_words(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0.0) return "0";
  const double size = std::abs(value);
  if (size >= 999.5) {
    const std::string digits = netsim::grouped_text(static_cast<std::uint64_t>(std::min(std::round(size), 1e18)));
    return value < 0 ? "-" + digits : digits;
  }
  // 9.996 has four digits before rounding and one less after it.
  int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  if (size >= (1 - 5e-4) * std::pow(10.0, whole)) ++whole;
  std::string text = fmt::format("{:.{}f}", value, std::clamp(3 - whole, 0, 6));
  // "1.40" keeps its digits, "15.0" is 15.
  const std::size_t point = text.find('.');
  if (point != std::string::npos && text.find_first_not_of('0', point + 1) == std::string::npos) text.resize(point);
  return text == "-0" ? "0" : text;
}

std::string picoseconds_words(double value) {
  static constexpr std::array<Scale, 8> kScales = {Scale{1e3, "ns"},
                                                   Scale{1e6, "us"},
                                                   Scale{1e9, "ms"},
                                                   Scale{1e12, "s"},
                                                   Scale{60e12, "min"},
                                                   Scale{3600e12, "h"},
                                                   Scale{24 * 3600e12, "days"},
                                                   Scale{365.25 * 24 * 3600e12, "years"}};
  if (value == 0.0) return "0 s";
  return scaled(value, kScales);
}

std::string time_words(SimTime time) {
  return time == netsim::kNever ? "never" : picoseconds_words(static_cast<double>(time.count()));
}

std::string time_words(Duration time) { return picoseconds_words(static_cast<double>(time.count()) * 1e3); }

std::string moment_words(SimTime since_submit) {
  if (since_submit == netsim::kNever) return "never";
  return fmt::format("{:.3f} s", seconds(since_submit));
}

std::string bytes_words(double bytes) {
  static constexpr std::array<Scale, 6> kScales = {Scale{1, "B"},    Scale{1e3, "kB"},  Scale{1e6, "MB"},
                                                   Scale{1e9, "GB"}, Scale{1e12, "TB"}, Scale{1e15, "PB"}};
  return bytes == 0.0 ? "0" : scaled(bytes, kScales);
}

std::string bytes_words(Bytes bytes) { return bytes_words(static_cast<double>(bytes.count())); }

std::string percent_words(double share) {
  const double percent = share * 100;
  if (!std::isfinite(percent)) return "-";
  if (percent > 0 && percent < 0.05) return "<0.1 %";
  if (std::abs(percent) >= 999.5) return number_words(percent) + " %";
  std::string text = fmt::format("{:.1f}", percent);
  if (text == "0.0" || text == "-0.0") text = "0";
  return (text == "100.0" ? "100" : text) + " %";
}

std::string signed_percent_words(double share) {
  const std::string text = percent_words(share);
  return share > 0 && text.front() != '<' ? "+" + text : text;
}

std::string count_words(double count) {
  static constexpr std::array<Scale, 4> kScales = {Scale{1, ""}, Scale{1e6, "million"}, Scale{1e9, "billion"},
                                                   Scale{1e12, "trillion"}};
  std::string text = scaled(count, kScales);
  if (text.ends_with(' ')) text.pop_back();
  return text;
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
  return {seconds(time), time_words(time)};
}

Cell seconds_cell(Duration time) { return {seconds(time), time_words(time)}; }

Cell moment_cell(SimTime since_submit) {
  if (since_submit == netsim::kNever) return {};
  return {seconds(since_submit), moment_words(since_submit)};
}

Cell fine_seconds_cell(SimTime time) {
  if (time == netsim::kNever) return {};
  // Beyond a minute or two the fourth digit says nothing, and minutes read better.
  return {seconds(time), seconds(time) < 100 ? netsim::time_text(time) : time_words(time)};
}

Cell bytes_cell(Bytes bytes) { return {bytes.count(), bytes_words(bytes)}; }

Cell percent_cell(double share) { return {std::round(share * 1e6) / 1e4, percent_words(share)}; }

Cell rate_cell(double bytes_per_second) {
  const double value = std::round(bytes_per_second / 1e6) / 1e3;
  return {value, bytes_per_second > 0 ? number_words(value) : std::string("-")};
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

#include "twin/fault_model.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>

#include "base/asset.h"
#include "base/check.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft::twin {
namespace {

double share(const model::Sourced<std::int64_t>& percent) { return static_cast<double>(percent.value) / 100; }

void check_cause(const CauseSpec& cause, std::set<std::string>& names, Diagnostics& diagnostics) {
  if (!names.insert(cause.name.value.text).second) {
    diagnostics.error(cause.name.place, fmt::format("cause {} is listed twice", in_backticks(cause.name.value.text)));
  }
  if (cause.effect.value == Effect::slow && (cause.lasts.value.count() <= 0 || cause.slowdown.value <= 0)) {
    diagnostics.error(cause.place, "`effect: slow` needs `slowdown` and `lasts`");
  }
  const bool stands_still = cause.effect.value == Effect::hang || cause.effect.value == Effect::down;
  if (stands_still && cause.abort.value.count() <= 0 && cause.detect.value.count() <= 0) {
    diagnostics.error(cause.place, "this fault would never be noticed: set `abort` or `detect`");
  }
  if (cause.restart.value + cause.power_cycle.value < 100 && cause.effect.value != Effect::slow &&
      cause.repair.value.count() <= 0) {
    diagnostics.error(cause.place, "people repair a part of these incidents: `repair` is needed",
                      "or `restart` and `power_cycle` that add up to 100");
  }
  if (cause.restart.value + cause.power_cycle.value > 100) {
    diagnostics.error(cause.place, "`restart` and `power_cycle` are shares of the incidents: at most 100 together");
  }
  if (cause.restart.value < 100 && cause.detect.value.count() <= 0 && cause.effect.value != Effect::slow) {
    diagnostics.error(cause.place, "a node that stays broken must be detected: `detect` is needed");
  }
}

Cause cause_of(const CauseSpec& spec) {
  Cause cause;
  cause.name = spec.name.value.text;
  cause.title = spec.title.value.empty() ? cause.name : spec.title.value;
  cause.rate = static_cast<double>(spec.rate.value) / 1000;
  cause.effect = spec.effect.value;
  cause.signal = spec.signal.value.empty() ? cause.title : spec.signal.value;
  cause.detect = spec.detect.value;
  cause.abort = spec.abort.value;
  cause.restart = share(spec.restart);
  cause.power_cycle = share(spec.power_cycle);
  cause.repair = spec.repair.value;
  cause.slowdown = share(spec.slowdown);
  cause.lasts = spec.lasts.value;
  return cause;
}

}  // namespace

double FaultModel::rate() const {
  double sum = 0;
  for (const Cause& cause : causes) sum += cause.rate;
  return sum;
}

std::optional<FaultModel> model_of(const FaultSpec& spec, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (const CauseSpec& cause : spec.causes.value) check_cause(cause, names, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  FaultModel model;
  model.source = spec.source.value;
  model.causes.reserve(spec.causes.value.size());
  for (const CauseSpec& cause : spec.causes.value) model.causes.push_back(cause_of(cause));
  model.node_spread = share(spec.node_spread);
  model.together = share(spec.together);
  model.recurs = share(spec.recurs);
  model.recurs_after = spec.recurs_after.value;
  model.respond = spec.respond.value;
  model.repair_spread = share(spec.repair_spread);
  model.power_cycle = spec.power_cycle.value;
  model.boot = spec.boot.value;
  model.validate = spec.validate.value;
  return model;
}

FaultSpec spec_of(const FaultModel& model) {
  const auto percent = [](double part) { return given<std::int64_t>(std::llround(part * 100)); };
  FaultSpec spec;
  spec.faults = given<std::int64_t>(1);
  if (!model.source.empty()) spec.source = given(model.source);
  std::vector<CauseSpec> causes;
  causes.reserve(model.causes.size());
  for (const Cause& cause : model.causes) {
    CauseSpec& each = causes.emplace_back();
    each.name = given(model::Name{cause.name});
    each.title = given(cause.title);
    each.rate = given<std::int64_t>(std::llround(cause.rate * 1000));
    each.effect = given(cause.effect);
    each.signal = given(cause.signal);
    each.detect = given(cause.detect);
    each.abort = given(cause.abort);
    each.restart = percent(cause.restart);
    each.power_cycle = percent(cause.power_cycle);
    each.repair = given(cause.repair);
    each.slowdown = percent(cause.slowdown);
    each.lasts = given(cause.lasts);
  }
  spec.causes = given(std::move(causes));
  spec.node_spread = percent(model.node_spread);
  spec.together = percent(model.together);
  spec.recurs = percent(model.recurs);
  spec.recurs_after = given(model.recurs_after);
  spec.respond = given(model.respond);
  spec.repair_spread = percent(model.repair_spread);
  spec.power_cycle = given(model.power_cycle);
  spec.boot = given(model.boot);
  spec.validate = given(model.validate);
  return spec;
}

std::optional<FaultModel> read_faults(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  FaultSpec spec;
  if (!model::Codec<FaultSpec>::read(*root, diagnostics, spec) || diagnostics.has_errors()) return std::nullopt;
  return model_of(spec, diagnostics);
}

FaultModel default_faults() {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("faults.yaml", std::string(asset<"twin/faults.yaml">()));
  std::optional<FaultModel> model = read_faults(sources, file, diagnostics);
  CHECK(model.has_value(), "assets/twin/faults.yaml is invalid");
  return *std::move(model);
}

}  // namespace weft::twin

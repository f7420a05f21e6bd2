// What fails in the twin and how: causes with their rates, what an incident does to jobs, how it is noticed and
// repaired. Read from a fault file (YAML); the default is assets/twin/faults.yaml. Draws nothing: see fault_source.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "base/source.h"
#include "model/schema.h"

namespace weft::twin {

// What an incident does to the jobs on its node.
enum class Effect : std::uint8_t {
  exit,  // the processes on the node end at once
  hang,  // the job stands still until it aborts or is stopped
  down,  // the node does not answer anymore; the job stands still until it aborts or is stopped
  slow   // the job runs slower
};
[[nodiscard]] const std::vector<std::pair<std::string_view, Effect>>& choices_of(Effect);

struct CauseSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<model::Name> name;
  model::Sourced<std::string> title;
  model::Sourced<std::int64_t> rate;  // per million node-days
  model::Sourced<Effect> effect;
  model::Sourced<std::string> signal;
  model::Sourced<Duration> detect;
  model::Sourced<Duration> abort;
  model::Sourced<std::int64_t> restart;
  model::Sourced<std::int64_t> power_cycle;
  model::Sourced<Duration> repair;
  model::Sourced<std::int64_t> slowdown;
  model::Sourced<Duration> lasts;
  model::Sourced<std::string> source;
};

struct FaultSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> faults;
  model::Sourced<std::string> source;
  model::Sourced<std::vector<CauseSpec>> causes;
  model::Sourced<std::int64_t> node_spread;
  model::Sourced<std::int64_t> together;
  model::Sourced<std::int64_t> recurs;
  model::Sourced<Duration> recurs_after;
  model::Sourced<Duration> respond;
  model::Sourced<std::int64_t> repair_spread;
  model::Sourced<Duration> power_cycle;
  model::Sourced<Duration> boot;
  model::Sourced<Duration> validate;
};

struct Cause {
  std::string name;
  std::string title;
  double rate = 0;  // per 1,000 node-days
  Effect effect = Effect::exit;
  std::string signal;      // what telemetry reports of the node
  Duration detect{};       // until telemetry reports the node as failed; 0: never
  Duration abort{};        // until the processes of a job that hangs end by themselves; 0: never
  double restart = 0;      // share of the incidents that leave the node intact: a restart of the job is enough
  double power_cycle = 0;  // share that a power cycle repairs; people repair the rest
  Duration repair{};       // median time of people at work
  double slowdown = 0;     // of Effect::slow: share of the speed that is lost
  Duration lasts{};        // of Effect::slow
};

struct FaultModel {
  std::vector<Cause> causes;
  std::string source;
  double node_spread = 0;    // sigma of the lognormal factor (mean 1) by which the rates of nodes differ
  double together = 0;       // probability that an incident strikes a second node of the same rack
  double recurs = 0;         // probability that a fault returns after a power cycle that seemed to repair it
  Duration recurs_after{};   // mean time until then
  Duration respond{};        // mean time until people begin with a repair
  double repair_spread = 0;  // sigma of the lognormal repair time
  Duration power_cycle{};    // off and on
  Duration boot{};
  Duration validate{};

  [[nodiscard]] double rate() const;  // all causes together, per 1,000 node-days
};

// The model that weft ships.
[[nodiscard]] FaultModel default_faults();
// A value to write to a file: one that is not a default.
template <class T>
[[nodiscard]] model::Sourced<T> given(T value) {
  model::Sourced<T> out(std::move(value));
  out.origin = model::Origin::file;
  return out;
}
// The inverse of the following, to write a fault model to a file.
[[nodiscard]] FaultSpec spec_of(const FaultModel& model);
[[nodiscard]] std::optional<FaultModel> model_of(const FaultSpec& spec, Diagnostics& diagnostics);
// Reports every error at its place. None if there were errors.
[[nodiscard]] std::optional<FaultModel> read_faults(const Sources& sources, FileId file, Diagnostics& diagnostics);

}  // namespace weft::twin

namespace weft::model {
template <>
const Schema& schema_of<twin::CauseSpec>();
template <>
const Schema& schema_of<twin::FaultSpec>();
}  // namespace weft::model

#include "twin/fault_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "twin/draws.h"

namespace weft::twin {
namespace {

constexpr Duration kDay = sched::seconds(86'400);

Fix draw_fix(RandomStream& random, const Cause& cause) {
  const double u = random.uniform();
  if (u < cause.restart) return Fix::restart;
  return u < cause.restart + cause.power_cycle ? Fix::power_cycle : Fix::person;
}

// Everything about an incident but its time and node. Telemetry polls: the report comes up to one period later, on
// average half a period; a fault is seen by its second poll at the latest.
Incident draw_course(RandomStream& random, const FaultModel& model, std::uint32_t number) {
  const Cause& cause = model.causes[number];
  Incident incident;
  incident.cause = number;
  incident.fix = draw_fix(random, cause);
  const double polled = random.uniform();
  incident.detect = milliseconds(static_cast<std::int64_t>(polled * static_cast<double>(cause.detect.count()) / 1e6));
  if (cause.detect.count() > 0) incident.detect = std::max(incident.detect, milliseconds(1));
  incident.abort = cause.abort;
  incident.respond = draw_exponential(random, model.respond);
  incident.repair = draw_lognormal(random, cause.repair, model.repair_spread);
  incident.lasts = draw_exponential(random, cause.lasts);
  const bool returns = random.chance(model.recurs);
  const Duration after = draw_exponential(random, model.recurs_after);
  if (returns && incident.fix == Fix::power_cycle) incident.returns = std::max(after, milliseconds(1));
  return incident;
}

// Draws an index in proportion to its weight.
class Wheel {
 public:
  explicit Wheel(const std::vector<double>& weights) : sums_(weights.size()) {
    std::partial_sum(weights.begin(), weights.end(), sums_.begin());
  }
  [[nodiscard]] double total() const { return sums_.empty() ? 0 : sums_.back(); }
  [[nodiscard]] std::uint32_t draw(RandomStream& random) const {
    const double at = random.uniform() * total();
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), at);
    const auto last = static_cast<std::ptrdiff_t>(sums_.size()) - 1;
    return static_cast<std::uint32_t>(std::min(found - sums_.begin(), last));
  }

 private:
  std::vector<double> sums_;
};

std::vector<double> node_weights(const FaultModel& model, std::size_t nodes, std::uint64_t seed) {
  RandomStream random(seed, "twin.nodes");
  std::vector<double> weights;
  weights.reserve(nodes);
  for (std::size_t n = 0; n < nodes; ++n) weights.push_back(draw_factor(random, model.node_spread));
  return weights;
}

// Another node of the same rack; the node itself if it is alone there.
sched::NodeId draw_neighbor(RandomStream& random, const sched::Machine& machine, sched::NodeId node) {
  const sched::Domain& rack = machine.domains(sched::Level::rack)[machine.domain_of(sched::Level::rack, node)];
  const std::uint32_t size = rack.end_node - rack.first_node;
  if (size < 2) return node;
  const auto step = 1 + static_cast<std::uint32_t>(random.below(size - 1));
  return static_cast<sched::NodeId>(rack.first_node + (sched::index_of(node) - rack.first_node + step) % size);
}

}  // namespace

const std::vector<std::pair<std::string_view, Fix>>& choices_of(Fix) {
  static const std::vector<std::pair<std::string_view, Fix>> choices{
      {"restart", Fix::restart}, {"power_cycle", Fix::power_cycle}, {"person", Fix::person}};
  return choices;
}

std::vector<Incident> draw_incidents(const FaultModel& model, const sched::Machine& machine, Duration length,
                                     std::uint64_t seed, double scale) {
  std::vector<Incident> incidents;
  const Wheel nodes(node_weights(model, machine.nodes().size(), seed));
  std::vector<double> rates;
  rates.reserve(model.causes.size());
  for (const Cause& cause : model.causes) rates.push_back(cause.rate);
  const Wheel causes(rates);
  const double per_day = nodes.total() * causes.total() * scale / 1000;
  if (per_day <= 0) return incidents;
  const Duration mean(static_cast<std::int64_t>(static_cast<double>(kDay.count()) / per_day));
  RandomStream times(seed, "twin.times");
  RandomStream which(seed, "twin.which");
  RandomStream together(seed, "twin.together");
  const RandomStream courses(seed, "twin.courses");
  Duration at = draw_exponential(times, mean);
  for (std::uint64_t number = 0; at < length; ++number, at += draw_exponential(times, mean)) {
    RandomStream course = courses.split(fmt::format("{}", number));
    const std::uint32_t node = nodes.draw(which);
    Incident incident = draw_course(course, model, causes.draw(which));
    incident.at = at;
    incident.node = static_cast<sched::NodeId>(node);
    incidents.push_back(incident);
    if (!together.chance(model.together)) continue;
    Incident second = draw_course(course, model, incident.cause);
    second.at = at + milliseconds(together.between(1, 10'000));
    second.node = draw_neighbor(together, machine, incident.node);
    if (second.node != incident.node && second.at < length) incidents.push_back(second);
  }
  std::stable_sort(incidents.begin(), incidents.end(),
                   [](const Incident& a, const Incident& b) { return a.at < b.at; });
  return incidents;
}

Incident draw_return(const FaultModel& model, const Incident& before, Duration at, std::uint64_t seed) {
  RandomStream random =
      RandomStream(seed, "twin.returns").split(fmt::format("{} {}", sched::index_of(before.node), before.at.count()));
  Incident incident = draw_course(random, model, before.cause);
  incident.at = at;
  incident.node = before.node;
  return incident;
}

}  // namespace weft::twin

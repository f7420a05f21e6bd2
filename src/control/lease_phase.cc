#include "control/lease_phase.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace weft::control {
namespace {

using enum LeasePhase;
using Kind = RecordKind;

constexpr Transition<LeasePhase> kLeaseTransitions[] = {
    {none, Kind::lease_granted, opening, "no other engine uses it"},
    {opening, Kind::lease_step, held, "gate seen open"},
    {opening, Kind::lease_step, opening, "no report: the order is repeated"},
    {held, Kind::lease_step, opening, "the gate has restarted"},
    {opening, Kind::lease_move, cordon, "move"},
    {held, Kind::lease_move, cordon, "move"},
    {cordon, Kind::lease_step, cordon, "no report: the order is repeated"},
    {cordon, Kind::lease_step, drain, "cordon seen"},
    {cordon, Kind::lease_step, opening, "canceled"},
    {drain, Kind::lease_step, opening, "canceled"},
    {drain, Kind::lease_step, closing, "the jobs of the owner have ended"},
    {closing, Kind::lease_step, closing, "no report: the order is repeated"},
    {closing, Kind::lease_step, witness, "gate seen closed up to the epoch"},
    {witness, Kind::lease_step, closing, "the gate has restarted"},
    {witness, Kind::lease_granted, opening, "three witnesses: nothing runs there"},
    {cordon, Kind::lease_granted, opening, "verified to be off"},
    {drain, Kind::lease_granted, opening, "verified to be off"},
    {closing, Kind::lease_granted, opening, "verified to be off"},
};

}  // namespace

std::string_view to_text(LeasePhase phase) {
  static constexpr std::array<std::string_view, kLeasePhases> names = {"none",  "opening", "held",   "cordon",
                                                                       "drain", "closing", "witness"};
  return names[static_cast<std::size_t>(phase)];
}

std::span<const Transition<LeasePhase>> lease_transitions() { return kLeaseTransitions; }

bool is_allowed(LeasePhase from, RecordKind record, LeasePhase to) {
  return std::any_of(std::begin(kLeaseTransitions), std::end(kLeaseTransitions),
                     [&](const auto& t) { return t.from == from && t.record == record && t.to == to; });
}

std::string draw_lease_diagram() {
  std::string out = "stateDiagram-v2\n";
  for (const auto& t : kLeaseTransitions) {
    append_format(out, "  {} --> {}: {}\n", to_text(t.from), to_text(t.to), t.when);
  }
  return out;
}

}  // namespace weft::control

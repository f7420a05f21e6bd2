#include "lease/gate.h"

#include <algorithm>
#include <utility>

namespace weft::lease {
namespace {

constexpr std::uint16_t bit(int gpu) { return static_cast<std::uint16_t>(1U << static_cast<unsigned>(gpu)); }

}  // namespace

LeaseGate::LeaseGate(LeaseOwner owner, sched::NodeId node, std::uint64_t boot, std::uint16_t running) {
  status_.owner = owner;
  status_.node = node;
  status_.boot = boot;
  status_.running = running;
}

GateStatus LeaseGate::receive(const GateCommand& command) {
  const bool meant = command.owner == status_.owner && command.node == status_.node && command.boot == status_.boot;
  if (!meant || command.epoch == 0 || command.kind == GateCommand::Kind::probe) return status_;
  bool changed = false;
  for (std::size_t g = 0; g < sched::kMaxGpus; ++g) {
    if (((command.gpus >> g) & 1U) == 0) continue;
    LeaseEpoch& open = status_.open[g];
    LeaseEpoch& floor = status_.floor[g];
    if (command.kind == GateCommand::Kind::open) {
      if (command.epoch <= floor || command.epoch <= open) continue;
      open = command.epoch;
      changed = true;
    } else if (command.epoch > floor) {
      floor = command.epoch;
      if (open <= floor) open = 0;
      changed = true;
    }
  }
  if (changed) ++status_.serial;
  return status_;
}

bool LeaseGate::admit(int gpu) {
  if (gpu < 0 || gpu >= sched::kMaxGpus || status_.open[static_cast<std::size_t>(gpu)] == 0) return false;
  if ((status_.running & bit(gpu)) == 0) ++status_.serial;
  status_.running = static_cast<std::uint16_t>(status_.running | bit(gpu));
  return true;
}

void LeaseGate::ended(int gpu) {
  if (gpu < 0 || gpu >= sched::kMaxGpus || (status_.running & bit(gpu)) == 0) return;
  status_.running = static_cast<std::uint16_t>(status_.running & ~bit(gpu));
  ++status_.serial;
}

void LeaseGate::observe(std::uint16_t running, std::string note) {
  if (running == status_.running && note == status_.note) return;
  status_.running = running;
  status_.note = std::move(note);
  ++status_.serial;
}

bool LeaseGate::uses(int gpu) const {
  return status_.open[static_cast<std::size_t>(gpu)] != 0 || (status_.running & bit(gpu)) != 0;
}

}  // namespace weft::lease

// A machine of identical servers in racks, leaf groups and pods, built from counts: for traces without a node list, and
// for tests. Machine::of in machine.h builds one from a cluster file.
#pragma once

#include <cstdint>

#include "sched/machine/machine.h"

namespace weft::sched {

// A machine of identical servers: racks of `rack`, leaf groups of `leaf`, pods of `pod` servers; 0: no such level.
struct PlainMachine {
  std::int32_t nodes = 1;
  std::int32_t gpus = 8;
  std::int32_t rack = 4;
  std::int32_t leaf = 32;
  std::int32_t pod = 256;
  Milli cpu = 128'000;
  std::int32_t memory_mib = 2'000'000;
  std::int32_t functions = 0;
  std::int32_t scratch_gib = 0;
  bool mig = true;  // data-center GPUs since the A100 can be split
};
[[nodiscard]] Machine plain_machine(const PlainMachine& plain);

}  // namespace weft::sched

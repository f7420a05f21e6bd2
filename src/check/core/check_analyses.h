// Analyses that a CheckInput caches after first use. Internal to check/: each accessor of CheckInput has its own file
// (input.cc of each sub-module), so a test links only the analyses it needs.
#pragma once

#include <memory>

#include "check/core/check_input.h"

namespace weft::check {

// Shared pointers, because they can destroy types that are incomplete here.
struct CheckInput::Analyses {
  std::shared_ptr<const ClassTraces> traces;
  std::shared_ptr<const FailureAnalysis> failures;
  std::shared_ptr<const Lifeline> lifeline;
  std::shared_ptr<const Reachability> reachability;
  std::shared_ptr<const LiveComparison> comparison;
};

}  // namespace weft::check

#include "check/core/check_analyses.h"
#include "check/failures/failure_analysis.h"

namespace weft::check {

const FailureAnalysis& CheckInput::failures() const {
  if (!analyses_->failures) analyses_->failures = std::make_shared<const FailureAnalysis>(cluster());
  return *analyses_->failures;
}

}  // namespace weft::check

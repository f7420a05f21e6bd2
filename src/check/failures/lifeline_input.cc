#include "check/core/check_analyses.h"
#include "check/failures/lifeline.h"

namespace weft::check {

const Lifeline& CheckInput::lifeline() const {
  if (!analyses_->lifeline) analyses_->lifeline = std::make_shared<const Lifeline>(cluster());
  return *analyses_->lifeline;
}

}  // namespace weft::check

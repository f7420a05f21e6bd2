#include "check/check_analyses.h"
#include "check/lifeline.h"

namespace weft {

const Lifeline& CheckInput::lifeline() const {
  if (!analyses_->lifeline) analyses_->lifeline = std::make_shared<const Lifeline>(cluster());
  return *analyses_->lifeline;
}

}  // namespace weft

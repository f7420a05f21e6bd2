#include "check/check_analyses.h"
#include "check/class_trace.h"

namespace weft {

const ClassTraces& CheckInput::traces() const {
  if (!analyses_->traces) analyses_->traces = std::make_shared<const ClassTraces>(cluster_, config_, sources_);
  return *analyses_->traces;
}

}  // namespace weft

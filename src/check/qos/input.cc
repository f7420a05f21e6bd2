#include "check/core/check_analyses.h"
#include "check/qos/class_trace.h"

namespace weft::check {

const ClassTraces& CheckInput::traces() const {
  if (!analyses_->traces) analyses_->traces = std::make_shared<const ClassTraces>(cluster_, config_, sources_);
  return *analyses_->traces;
}

}  // namespace weft::check

#include "check/core/check_analyses.h"
#include "check/live/comparison.h"

namespace weft::check {

const LiveComparison& CheckInput::comparison() const {
  if (!analyses_->comparison)
    analyses_->comparison = std::make_shared<const LiveComparison>(cluster(), config_, sources_);
  return *analyses_->comparison;
}

}  // namespace weft::check

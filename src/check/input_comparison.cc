#include "check/check_analyses.h"
#include "check/live_comparison.h"

namespace weft {

const LiveComparison& CheckInput::comparison() const {
  if (!analyses_->comparison)
    analyses_->comparison = std::make_shared<const LiveComparison>(cluster(), config_, sources_);
  return *analyses_->comparison;
}

}  // namespace weft

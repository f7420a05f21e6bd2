#include "check/check_analyses.h"
#include "check/reachability.h"

namespace weft {

const Reachability& CheckInput::reachability() const {
  if (!analyses_->reachability)
    analyses_->reachability = std::make_shared<const Reachability>(cluster_, config_, sources_);
  return *analyses_->reachability;
}

}  // namespace weft

#include "check/core/check_analyses.h"
#include "check/reach/reachability.h"

namespace weft::check {

const Reachability& CheckInput::reachability() const {
  if (!analyses_->reachability)
    analyses_->reachability = std::make_shared<const Reachability>(cluster_, config_, sources_);
  return *analyses_->reachability;
}

}  // namespace weft::check

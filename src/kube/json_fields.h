// Reading fields of Kubernetes objects by path, under names of this module: a member that is absent or of another type
// counts as absent.
#pragma once

#include "oob/redfish/json.h"

namespace weft::kube {

using oob::list;
using oob::member;
using oob::number;
using oob::raw_text;
using oob::truth;

}  // namespace weft::kube

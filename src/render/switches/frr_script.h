// The part of frr/lab.sh that is the same for every cluster; what differs stands in lab.tsv. Internal to `frr`.
#pragma once

#include <string_view>

namespace weft::render::frr {

extern const std::string_view kLabScript;

}  // namespace weft::render::frr

// Programs that stand in the tree as they are: nothing in them depends on the cluster.
#pragma once

#include <string_view>

namespace weft::render {

extern const std::string_view kNameNicsProgram;  // Python: LLDP and ibnetdiscover to udev rules
extern const std::string_view kRdmaNameProgram;  // sh: RDMA device to name

}  // namespace weft::render

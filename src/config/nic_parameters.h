// NIC settings from any source: the operator's template, mlxconfig or mlnx_qos. Values out of range are reported and
// ignored.
#pragma once

#include <string>
#include <string_view>

#include "config/host_config.h"

namespace weft::config {

void set_trust(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
               Diagnostics& diagnostics);
// "0,0,0,1,0,0,0,0"
void set_pfc(std::string_view text, const SourceLocation& place, const std::string& path, NicConfig& nic,
             Diagnostics& diagnostics);
// The whole byte, 0 to 255.
void set_tos(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
             Diagnostics& diagnostics);
void set_cnp_dscp(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
                  Diagnostics& diagnostics);
void set_cnp_priority(std::string_view text, const SourceLocation& place, std::string path, NicConfig& nic,
                      Diagnostics& diagnostics);
// CNP_DSCP_P1, CNP_802P_PRIO_P1, ROCE_CC_PRIO_MASK_P1, NUM_OF_VFS, LINK_TYPE_P1; others are ignored.
void set_firmware_parameter(std::string_view name, std::string_view value, const SourceLocation& place, NicConfig& nic,
                            Diagnostics& diagnostics);

}  // namespace weft::config

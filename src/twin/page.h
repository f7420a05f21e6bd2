// A run of the twin as a self-contained web page: no network access, no other files, no scripts. All names are escaped.
#pragma once

#include <string>

#include "twin/result.h"

namespace weft::twin {

[[nodiscard]] std::string twin_page(const TwinResult& result);

}  // namespace weft::twin

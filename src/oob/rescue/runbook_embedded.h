// The runbooks embedded in the executable. The build generates the definitions.
#pragma once

#include <cstddef>

#include "base/embedded_file.h"

namespace weft::oob {

extern const EmbeddedFile kEmbeddedRunbooks[];  // sorted by path
extern const std::size_t kEmbeddedRunbooksSize;

}  // namespace weft::oob

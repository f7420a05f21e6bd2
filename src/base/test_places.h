// Where tests, fuzz targets and benchmarks find the source tree (examples, tables of expected values) and the
// executable they judge. The build defines these once, in a file of its own, and not as macros of every compilation:
// the same source then compiles to the same object wherever the tree lies, and the compiler cache serves every clone.
// No part of weft itself may ask: it works away from its sources.
#pragma once

#include <string>

namespace weft {

std::string source_dir();
std::string weft_binary();

}  // namespace weft

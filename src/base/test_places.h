// Where tests, fuzz targets and benchmarks find the source tree (examples, tables of expected values), data from
// outside and the executable they judge. The build defines these once, in a file of its own, and not as macros of every
// compilation: the same source then compiles to the same object wherever the tree lies, and the compiler cache serves
// every clone. No part of weft itself may ask: it works away from its sources.
#pragma once

#include <string>

namespace weft {

std::string source_dir();

// Traces, schemas, measurements and BMC dumps of others, which are not part of the source tree: the folder that the
// environment variable WEFT_TEST_DATA names, without a trailing slash. It need not exist; base/test_prerequisites.h
// skips a test that needs data from it.
std::string test_data_dir();

// The executable of this build. WEFT_TEST_EXECUTABLE replaces it, so that the end-to-end tests of one build can judge
// the executable of another.
std::string weft_binary();

}  // namespace weft

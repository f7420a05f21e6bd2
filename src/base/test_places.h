// Paths for tests, fuzz targets and benchmarks: the source tree (examples, tables of expected values), external data
// and the executable under test. The build defines them in one generated file, not as macros of every compilation, so
// that objects do not depend on the path of the tree and every clone can share the compiler cache. weft itself must not
// use these: it works without its sources.
#pragma once

#include <string>

namespace weft {

std::string source_dir();

// External traces, schemas, measurements and BMC dumps, which are not part of the source tree: the folder named by the
// environment variable WEFT_TEST_DATA, without a trailing slash. It need not exist; base/test_prerequisites.h skips a
// test that needs data from it.
std::string test_data_dir();

// The executable of this build. WEFT_TEST_EXECUTABLE overrides it, so that the end-to-end tests of one build can run
// against the executable of another.
std::string weft_binary();

}  // namespace weft

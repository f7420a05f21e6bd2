// Prerequisites of tests that are not in the source tree: programs, external data, privileges. A test without one of
// them is skipped with a message in a fixed format, which scripts/skips.py counts and compares with the list of
// permitted skips, tests/permitted_skips.txt. Only things outside weft can be prerequisites: if a part of weft is
// missing or does not start, the test fails.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/test_places.h"

namespace weft {

// On PATH or in a folder that may only be on root's PATH; a name with a slash is a path. scripts/skips.py uses the same
// search.
inline bool has_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  std::string folders = path != nullptr ? path : "";
  folders += ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (std::size_t at = 0; at < folders.size();) {
    const std::size_t end = std::min(folders.find(':', at), folders.size());
    std::string program = folders.substr(at, end - at);
    program.append("/").append(name);
    if (end > at && ::access(program.c_str(), X_OK) == 0) return true;
    at = end + 1;
  }
  return false;
}

inline bool has_test_data(const std::string& relative) {
  return ::access((test_data_dir() + "/" + relative).c_str(), R_OK) == 0;
}

// A Python that has the modules (comma-separated), or "". Debian's own is tried first: another one on PATH does not see
// its packages.
inline std::string python_with(const std::string& modules) {
  const std::string attempt = " -c 'import " + modules + "' >/dev/null 2>&1";
  for (const char* python : {"/usr/bin/python3", "python3"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): tests have one thread at this point
    if (std::system((python + attempt).c_str()) == 0) return python;
  }
  return {};
}

}  // namespace weft

// Each skips and returns, so use it only in SetUp or the test's body: in a helper function, only the helper would
// return.
#define WEFT_NEEDS(condition, what)                                       \
  do {                                                                    \
    if (!(condition)) GTEST_SKIP() << "prerequisite missing: " << (what); \
  } while (false)

// A program to run; a file or folder of WEFT_TEST_DATA; Python modules; root privileges.
#define WEFT_NEEDS_PROGRAM(name) WEFT_NEEDS(::weft::has_program(name), std::string("program ") + (name))
#define WEFT_NEEDS_DATA(relative) WEFT_NEEDS(::weft::has_test_data(relative), std::string("data ") + (relative))
#define WEFT_NEEDS_PYTHON(modules) WEFT_NEEDS(!::weft::python_with(modules).empty(), std::string("python ") + (modules))
#define WEFT_NEEDS_ROOT() WEFT_NEEDS(::geteuid() == 0, "root")

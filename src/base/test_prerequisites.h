// Prerequisites of tests that the source tree does not bring along: programs, data of others, privileges. A test
// without one of them is skipped with a message of fixed form, which scripts/skips.py counts and compares with the list
// of permitted skips, tests/permitted_skips.txt. Only what is outside weft can be a prerequisite: where something of
// ours is missing or does not start, the test fails.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/test_places.h"

namespace weft {

// On PATH or in a folder that only root's PATH may have; a name with a slash is a path. The script looks likewise.
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

// A Python that has the modules (separated by commas), or "". Debian's own comes first: its packages are not seen by
// another one on PATH.
inline std::string python_with(const std::string& modules) {
  const std::string attempt = " -c 'import " + modules + "' >/dev/null 2>&1";
  for (const char* python : {"/usr/bin/python3", "python3"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): tests have one thread at this point
    if (std::system((python + attempt).c_str()) == 0) return python;
  }
  return {};
}

}  // namespace weft

// Each skips and returns, so it belongs into SetUp or the test's body: a function that they call would return to them.
#define WEFT_NEEDS(condition, what)                                       \
  do {                                                                    \
    if (!(condition)) GTEST_SKIP() << "prerequisite missing: " << (what); \
  } while (false)

// A program to run; a file or folder of WEFT_TEST_DATA; modules of Python; the rights of root.
#define WEFT_NEEDS_PROGRAM(name) WEFT_NEEDS(::weft::has_program(name), std::string("program ") + (name))
#define WEFT_NEEDS_DATA(relative) WEFT_NEEDS(::weft::has_test_data(relative), std::string("data ") + (relative))
#define WEFT_NEEDS_PYTHON(modules) WEFT_NEEDS(!::weft::python_with(modules).empty(), std::string("python ") + (modules))
#define WEFT_NEEDS_ROOT() WEFT_NEEDS(::geteuid() == 0, "root")

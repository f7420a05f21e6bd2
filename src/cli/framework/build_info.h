// What this executable is: its version, the commit it was built from, and what compiled it. CMake generates the source
// (cmake/BuildInfo.cmake), the only one that depends on the commit. Not here: versions of libraries
// (cli/about/version.cc).
#pragma once

#include <string_view>

namespace weft::cli {

struct BuildInfo {
  std::string_view version;      // "0.2.0"
  std::string_view commit;       // 40 hexadecimal digits, or "unknown"
  std::string_view commit_date;  // "2026-11-19", or "unknown"
  bool modified = false;         // tracked files differed from the commit
  std::string_view build_type;   // of CMake: "Release"
  std::string_view compiler;     // "GNU 12.2.0"
  std::string_view target;       // "x86_64-linux-gnu"
};

[[nodiscard]] const BuildInfo& build_info();

}  // namespace weft::cli

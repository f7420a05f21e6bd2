#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weft {

void check_failed(const char* condition, const char* why, const char* file, int line) {
  std::fprintf(stderr, "weft: internal error at %s:%d: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace weft

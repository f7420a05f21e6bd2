// CHECK: an invariant that must hold in every build, release included. It is for programming errors; errors caused by
// external input are a Result or a Diagnostic instead.
#pragma once

namespace weft {

[[noreturn]] void check_failed(const char* condition, const char* why, const char* file, int line);

}  // namespace weft

#define CHECK(condition, why) \
  (static_cast<bool>(condition) ? void(0) : ::weft::check_failed(#condition, why, __FILE__, __LINE__))

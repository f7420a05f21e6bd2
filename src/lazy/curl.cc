#include "lazy/curl.h"

#include <mutex>

namespace weft {

void load_curl() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) end_program("cannot initialize libcurl");
  });
}

}  // namespace weft

// libcurl, loaded when the first request is sent. libcurl and the 28 libraries that it needs take more than half of the
// time in which weft starts, and most commands talk over a Unix socket or not at all. The callers include <curl/curl.h>
// and call its functions as always: lazy_curl.cc defines them, and nothing links against libcurl.
//
// Not here: functions of libcurl that weft does not use. The linker says which one is missing.
#pragma once

namespace weft {

// Loads and initializes libcurl. Call it before any other function of libcurl; any number of times, from any thread.
void load_curl();

}  // namespace weft

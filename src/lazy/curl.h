// The functions of libcurl that weft calls, loaded at the first call: see lazy/library.h. libcurl needs 28 other
// libraries, and most commands talk over a Unix socket or not at all. Include this instead of <curl/curl.h>.
#pragma once

#include <curl/curl.h>

#include "lazy/library.h"

namespace weft {

// The ABI has been 4 since libcurl 7.16 (2006).
inline constinit LazyLibrary libcurl("libcurl.so.4");

WEFT_LAZY_FUNCTION(libcurl, curl_easy_cleanup);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_getinfo);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_init);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_pause);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_perform);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_reset);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_setopt);
WEFT_LAZY_FUNCTION(libcurl, curl_easy_strerror);
WEFT_LAZY_FUNCTION(libcurl, curl_global_init);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_add_handle);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_cleanup);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_info_read);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_init);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_perform);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_poll);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_remove_handle);
WEFT_LAZY_FUNCTION(libcurl, curl_multi_setopt);
WEFT_LAZY_FUNCTION(libcurl, curl_slist_append);
WEFT_LAZY_FUNCTION(libcurl, curl_slist_free_all);

// Loads and initializes libcurl. Call it before any of these functions; any number of times, from any thread.
void load_curl();

}  // namespace weft

#include "base/lazy_curl.h"

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <mutex>
#include <string>

#include "base/check.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

namespace weft {
namespace {

// The name has the version of the ABI, which has been 4 since libcurl 7.16 (2006).
constexpr const char* kLibrary = "libcurl.so.4";

void* library() {
  static void* const kHandle = [] {
    void* handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps the text per thread
    CHECK(handle != nullptr, (std::string("libcurl cannot be loaded: ") + ::dlerror()).c_str());
    return handle;
  }();
  return kHandle;
}

template <class Function>
Function* find(const char* name) {
  void* address = ::dlsym(library(), name);
  CHECK(address != nullptr, (std::string("libcurl has no function ") + name).c_str());
  return reinterpret_cast<Function*>(address);
}

}  // namespace

void load_curl() {
  static std::once_flag once;
  std::call_once(once, [] { CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "cannot initialize libcurl"); });
}

}  // namespace weft

// Each function is found at its first call. Its name and type are those of <curl/curl.h>.
#define WEFT_CURL(name)                                                \
  static auto* const function = ::weft::find<decltype(::name)>(#name); \
  return function

extern "C" {

CURLcode curl_global_init(long flags) { WEFT_CURL(curl_global_init)(flags); }
CURL* curl_easy_init() { WEFT_CURL(curl_easy_init)(); }
void curl_easy_cleanup(CURL* curl) { WEFT_CURL(curl_easy_cleanup)(curl); }
void curl_easy_reset(CURL* curl) { WEFT_CURL(curl_easy_reset)(curl); }
CURLcode curl_easy_perform(CURL* curl) { WEFT_CURL(curl_easy_perform)(curl); }
CURLcode curl_easy_pause(CURL* curl, int mask) { WEFT_CURL(curl_easy_pause)(curl, mask); }
const char* curl_easy_strerror(CURLcode code) { WEFT_CURL(curl_easy_strerror)(code); }
curl_slist* curl_slist_append(curl_slist* list, const char* text) { WEFT_CURL(curl_slist_append)(list, text); }
void curl_slist_free_all(curl_slist* list) { WEFT_CURL(curl_slist_free_all)(list); }
CURLM* curl_multi_init() { WEFT_CURL(curl_multi_init)(); }
CURLMcode curl_multi_cleanup(CURLM* multi) { WEFT_CURL(curl_multi_cleanup)(multi); }
CURLMcode curl_multi_add_handle(CURLM* multi, CURL* curl) { WEFT_CURL(curl_multi_add_handle)(multi, curl); }
CURLMcode curl_multi_remove_handle(CURLM* multi, CURL* curl) { WEFT_CURL(curl_multi_remove_handle)(multi, curl); }
CURLMcode curl_multi_perform(CURLM* multi, int* running) { WEFT_CURL(curl_multi_perform)(multi, running); }
CURLMsg* curl_multi_info_read(CURLM* multi, int* left) { WEFT_CURL(curl_multi_info_read)(multi, left); }
CURLMcode curl_multi_poll(CURLM* multi, curl_waitfd extra[], unsigned int count, int limit_ms, int* ready) {
  WEFT_CURL(curl_multi_poll)(multi, extra, count, limit_ms, ready);
}

// One argument follows: a long, a curl_off_t or a pointer. All have 64 bits and travel in the same kind of register on
// x86-64 and AArch64, so each is passed on as a pointer, as libcurl's own macros for C do (they admit one argument).
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));
// The enumerations before the dots are promoted to an integer of the same size: libcurl is declared so.
#pragma GCC diagnostic ignored "-Wvarargs"

CURLcode curl_easy_setopt(CURL* curl, CURLoption option, ...) {
  std::va_list arguments;
  va_start(arguments, option);
  void* value = va_arg(arguments, void*);
  va_end(arguments);
  WEFT_CURL(curl_easy_setopt)(curl, option, value);
}
CURLcode curl_easy_getinfo(CURL* curl, CURLINFO info, ...) {
  std::va_list arguments;
  va_start(arguments, info);
  void* value = va_arg(arguments, void*);
  va_end(arguments);
  WEFT_CURL(curl_easy_getinfo)(curl, info, value);
}
CURLMcode curl_multi_setopt(CURLM* multi, CURLMoption option, ...) {
  std::va_list arguments;
  va_start(arguments, option);
  void* value = va_arg(arguments, void*);
  va_end(arguments);
  WEFT_CURL(curl_multi_setopt)(multi, option, value);
}

}  // extern "C"

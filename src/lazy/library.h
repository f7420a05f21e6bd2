// Shared libraries that are loaded when they are first used, and functions in them. The dynamic linker relocates every
// linked library at every start, used or not: libfreeipmi, OpenSSL, SQLite and libcurl took most of the time in which
// weft starts, and most commands call none of them (docs/adr/0032-libraries-loaded-at-first-use.md).
//
// A list such as lazy/crypto.h declares, in namespace weft, one object per function with the name and type from the
// library's own header. Callers include the list and call the functions as always, without `::`: the name finds the
// object first. A function that is called without being on a list is an error of the linker. A package of weft must
// depend on the libraries, as if they were linked.
//
// Not here: unloading. A library stays until the process ends.
#pragma once

#include <atomic>
#include <optional>
#include <string>

namespace weft {

class LazyLibrary {
 public:
  // `file`: the SONAME, which has the version of the ABI: "libcurl.so.4".
  constexpr explicit LazyLibrary(const char* file) : file_(file) {}

  // Any number of times, from any thread. The problem if the library is missing or cannot be loaded.
  [[nodiscard]] std::optional<std::string> load();
  // The address of a function; loads the library first. A missing library or function ends the program: where that is
  // not acceptable, call load() before.
  [[nodiscard]] void* find(const char* function);

 private:
  const char* file_;
  std::atomic<void*> handle_{nullptr};
};

// The address of one function, looked up at the first call.
class LazyAddress {
 public:
  constexpr LazyAddress(LazyLibrary& library, const char* name) : library_(library), name_(name) {}

 protected:
  [[nodiscard]] void* address() {
    void* const known = address_.load(std::memory_order_acquire);
    return known != nullptr ? known : look_up();
  }

 private:
  [[nodiscard]] void* look_up();

  LazyLibrary& library_;
  const char* name_;
  std::atomic<void*> address_{nullptr};
};

// Prints the problem and aborts.
[[noreturn]] void end_program(const std::string& problem);

template <class Function>
class LazyFunction;

template <class Value, class... Parameters>
class LazyFunction<Value(Parameters...)> : LazyAddress {
 public:
  using LazyAddress::LazyAddress;
  Value operator()(Parameters... arguments) {
    return reinterpret_cast<Value (*)(Parameters...)>(address())(arguments...);
  }
};

// With "..." at the end, as curl_easy_setopt() has it.
template <class Value, class... Parameters>
class LazyFunction<Value(Parameters..., ...)> : LazyAddress {
 public:
  using LazyAddress::LazyAddress;
  template <class... More>
  Value operator()(Parameters... arguments, More... more) {
    return reinterpret_cast<Value (*)(Parameters..., ...)>(address())(arguments..., more...);
  }
};

}  // namespace weft

// In namespace weft or one inside it: the function ::name of `library`.
#define WEFT_LAZY_FUNCTION(library, name) \
  inline constinit ::weft::LazyFunction<decltype(::name)> name { library, #name }

#include "lazy/library.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace weft {
namespace {

// What the dynamic linker says, without the name of the library in front.
std::string load_problem(std::string_view file) {
  const char* text = ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps the text per thread
  std::string_view problem = text == nullptr ? "unknown reason" : text;
  const bool named = problem.starts_with(file) && problem.substr(file.size()).starts_with(": ");
  if (named) problem.remove_prefix(file.size() + 2);
  return std::string(problem);
}

}  // namespace

std::optional<std::string> LazyLibrary::load() {
  if (handle_.load(std::memory_order_acquire) != nullptr) return std::nullopt;
  // Two threads may get here: the linker loads a library once and gives both the same handle.
  void* handle = ::dlopen(file_, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return std::string("cannot load ") + file_ + ": " + load_problem(file_) + "; install the package that has it";
  }
  handle_.store(handle, std::memory_order_release);
  return std::nullopt;
}

void* LazyLibrary::find(const char* function) {
  if (const std::optional<std::string> problem = load()) end_program(*problem);
  void* address = ::dlsym(handle_.load(std::memory_order_acquire), function);
  if (address == nullptr) end_program(std::string(file_) + " has no function " + function);
  return address;
}

void* LazyAddress::look_up() {
  void* const found = library_.find(name_);
  address_.store(found, std::memory_order_release);
  return found;
}

void end_program(const std::string& problem) {
  std::fprintf(stderr, "weft: %s\n", problem.c_str());
  std::abort();
}

}  // namespace weft

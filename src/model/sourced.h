// A value of a cluster or catalog file with its location and origin, so that any later error can point at it and `weft
// show --effective` can distinguish values written by the user from those filled in by weft.
#pragma once

#include <utility>

#include "base/source.h"

namespace weft::model {

enum class Origin {
  unset,     // no value: the key is optional and was not given
  fallback,  // the documented default
  derived,   // computed from the rest of the file
  file,      // written by the user
};

template <class T>
struct Sourced {
  T value{};
  SourceLocation place;
  Origin origin = Origin::unset;

  Sourced() = default;
  Sourced(T initial) : value(std::move(initial)), origin(Origin::fallback) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return origin != Origin::unset; }
  [[nodiscard]] bool from_file() const { return origin == Origin::file; }
  // Sets a value that the file does not specify; a value written by the user is kept.
  void derive(T derived) {
    if (origin == Origin::file) return;
    value = std::move(derived);
    origin = Origin::derived;
  }
  const T& operator*() const { return value; }
  const T* operator->() const { return &value; }
};

}  // namespace weft::model

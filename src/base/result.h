// Result<T>: a value, or an Error that says what went wrong and where. For everything that can fail for reasons outside
// the program; see check.h for programming errors. GCC 12 in C++20 has no std::expected, and clang 14 cannot parse
// libstdc++'s.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace weft {

enum class ErrorCode { invalid_input, not_found, unavailable, timeout, conflict, refused, internal };

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  std::string where;  // "file:line:column", a path, a device; empty if the message already contains it

  // "where: message", as printed to a user.
  [[nodiscard]] std::string text() const { return where.empty() ? message : where + ": " + message; }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & {
    CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    CHECK(ok(), "value() of a failed Result");
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    CHECK(ok(), "value() of a failed Result");
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] const Error& error() const {
    CHECK(!ok(), "error() of a Result that succeeded");
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] T value_or(T fallback) const& { return ok() ? value() : std::move(fallback); }

  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  std::variant<T, Error> state_;
};

// The outcome of an action that returns no value.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    CHECK(!ok(), "error() of a Status that succeeded");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace weft

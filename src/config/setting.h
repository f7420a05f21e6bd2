// A value from some program's configuration and its source: a line of a file, or a default that the program applies if
// the file does not set it. The class-of-service trace needs the source: it must name the line.
#pragma once

#include <string>
#include <utility>

#include "base/source.h"

namespace weft::config {

enum class Decided : unsigned char {
  absent,          // not configured, and the default is unknown
  vendor_default,  // not configured; the program's default
  file,            // written at `place`
};

template <class T>
struct Setting {
  T value{};
  Decided by = Decided::absent;
  SourceLocation place;
  std::string path;  // the deciding object, in its own dialect: "DSCP_TO_TC_MAP|AZURE|26", "class-map RDMA"

  Setting() = default;
  Setting(T initial, const SourceLocation& where, std::string what)
      : value(std::move(initial)), by(Decided::file), place(where), path(std::move(what)) {}

  [[nodiscard]] bool known() const { return by != Decided::absent; }
  [[nodiscard]] bool given() const { return by == Decided::file; }
  const T& operator*() const { return value; }
};

template <class T>
[[nodiscard]] Setting<T> vendor_default(T value, std::string why) {  // NOLINT(performance-unnecessary-value-param)
  Setting<T> setting;
  setting.value = std::move(value);
  setting.by = Decided::vendor_default;
  setting.path = std::move(why);
  return setting;
}

}  // namespace weft::config

// `--watch` of `weft oob status` and sensors: reads the devices once per interval, and prints the result again when it
// differs from the last one. Events are followed by `weft oob watch`.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/document.h"
#include "cli/oob/input.h"

namespace weft::cli {

struct Reading {
  Document document;
  Exit outcome = Exit::ok;
};

[[nodiscard]] std::vector<Option> repeat_options();  // watch, interval
[[nodiscard]] bool is_repeated(const Context& context);
// Nothing after it has reported a usage error.
using ReadFunction = std::function<std::optional<Reading>()>;
// Prints one reading, or with --watch all of them until Ctrl-C; the exit code is that of the last one.
[[nodiscard]] Exit deliver_readings(Context& context, OobSetup& setup, const ReadFunction& read);

}  // namespace weft::cli

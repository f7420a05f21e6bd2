// Bytes as the goal of `weft design --goal`. Any text must yield a goal or an error; a goal, written and read again, is
// the same up to the digits that are shown.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "explore/goal.h"

namespace weft::explore {
namespace {

void run_goal_text(std::string_view text) {
  const Result<Goal> goal = parse_goal(text);
  if (!goal.ok()) {
    CHECK(!goal.error().message.empty(), "an error says what is wrong");
    return;
  }
  CHECK(goal->tokens >= 1'000'000 && goal->deadline.count() > 0 && !goal->model.empty(), "a goal is complete");
  const Result<Goal> again = parse_goal(to_text(*goal));
  CHECK(again.ok() && again->model == goal->model, "a goal that was written can be read");
}

}  // namespace
}  // namespace weft::explore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::explore::run_goal_text({reinterpret_cast<const char*>(data), size});
  return 0;
}

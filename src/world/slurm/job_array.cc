#include "world/slurm/job_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "world/slurm/cli_client.h"

namespace weft::world {
namespace {

// Final states of squeue(1), JOB STATE CODES.
constexpr std::string_view kEnded[] = {"BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE", "FAILED",
                                       "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "TIMEOUT",  "REVOKED"};

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool ArrayTask::is_live() const { return std::find(std::begin(kEnded), std::end(kEnded), state) == std::end(kEnded); }

Result<std::vector<ArrayTask>> parse_array_tasks(std::string_view text) {
  std::vector<ArrayTask> tasks;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (trim(line).empty()) continue;
    const std::vector<std::string_view> fields = split(line, '|');
    ArrayTask task;
    const bool complete = fields.size() == 4 && read_number(trim(fields[0]), task.job) &&
                          read_number(trim(fields[1]), task.index) && !trim(fields[2]).empty();
    if (!complete)
      return Error{
          ErrorCode::unavailable, fmt::format("line {} of squeue is not a task: '{}'", number, line.substr(0, 80)), {}};
    task.state = trim(fields[2]);
    task.reason = trim(fields[3]);
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<std::vector<ArrayTask>> SlurmArrays::list(const std::string& name) {
  const Result<std::string> text = client_.list(
      {"squeue", "--noheader", "--me", "--array", "--states=all", "--name=" + name, "--format=%F|%K|%T|%r"});
  if (!text.ok()) return text.error();
  return parse_array_tasks(*text);
}

Result<std::uint32_t> SlurmArrays::submit(const std::string& script) {
  return client_.submit_script({"--parsable", "--input=/dev/null"}, script);
}

}  // namespace weft::world

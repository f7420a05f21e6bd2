#include "pipeline/step_output.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/utf8.h"
#include "pipeline/reference.h"

namespace weft::pipeline {
namespace {

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

// Text that can be an argument of a program.
Status check_value(std::string_view name, std::string_view value) {
  if (value.size() > kMaxOutput) {
    return invalid(fmt::format("output {} has {} bytes; at most {} are passed on", name, value.size(), kMaxOutput));
  }
  for (std::size_t at = 0; at < value.size();) {
    const CodePoint point = decode_utf8(value, at);
    if (!point.valid || point.value == 0) return invalid(fmt::format("output {} is not UTF-8 text", name));
    at += point.size;
  }
  return {};
}

std::string begin_line(std::string_view token, std::string_view name) {
  return fmt::format("weft-output-begin {} {}\n", token, name);
}

// Between the last pair of lines with this name. A line that is not ended in front of it does not matter.
Result<std::string> read_file_output(std::string_view printed, std::string_view token, std::string_view name) {
  const std::string begin = begin_line(token, name);
  const std::string end = fmt::format("\nweft-output-end {} {}", token, name);
  const std::size_t from = printed.rfind(begin);
  const std::size_t to = from == std::string_view::npos ? from : printed.find(end, from + begin.size() - 1);
  if (to == std::string_view::npos) return invalid(fmt::format("the job did not print output {}", name));
  const std::size_t start = from + begin.size();
  return std::string(trim_end(printed.substr(start, to > start ? to - start : 0), "\r\n"));
}

std::string_view last_line(std::string_view text) {
  text = trim_end(text, "\r\n");
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

Result<std::map<std::string, std::string>> read_outputs(const Step& step, std::string_view printed,
                                                        std::string_view token) {
  std::map<std::string, std::string> outputs;
  std::string_view plain = printed;
  for (const OutputFile& file : step.outputs) {
    Result<std::string> value = read_file_output(printed, token, file.name);
    if (!value.ok()) return value.error();
    if (Status valid = check_value(file.name, *value); !valid.ok()) return valid.error();
    outputs[file.name] = std::move(*value);
    plain = plain.substr(0, plain.find(begin_line(token, file.name)));
  }
  if (outputs.contains(std::string(kResult))) return outputs;
  const std::string_view result = step.whole_result ? trim_end(plain, "\r\n") : last_line(plain);
  const Status valid = check_value(kResult, result);
  if (!valid.ok() && step.result_used) return valid.error();
  if (valid.ok()) outputs[std::string(kResult)] = std::string(result);
  return outputs;
}

}  // namespace weft::pipeline

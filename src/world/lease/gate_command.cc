#include "world/lease/gate_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/process.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::world {
namespace {

constexpr std::string_view kNode = "{node}";
constexpr int kRefused = 4;  // exit status of weft
constexpr std::size_t kMaxOutput = 1U << 20U;
constexpr std::size_t kMaxShown = 300;

}  // namespace

Result<std::vector<std::string>> parse_gate_command(const std::string& text) {
  Result<std::vector<std::string>> words = split_words(text);
  if (!words.ok()) return words;
  const bool named = std::any_of(words->begin(), words->end(),
                                 [](const std::string& word) { return word.find(kNode) != std::string::npos; });
  if (named) return words;
  return Error{ErrorCode::invalid_input, "must contain {node}, which stands for the name of a node", {}};
}

Result<NodeLook> GateCommand::look(const std::string& node, control::Term term) {
  return call(node, {"status", "--term", std::to_string(term)});
}

Result<NodeLook> GateCommand::obey(const std::string& node, const control::LeaseOrder& order) {
  return call(node, {order.kind == control::LeaseOrderKind::open ? "open" : "close", "--owner",
                     std::string(lease::to_text(order.engine)), "--epoch", std::to_string(order.epoch), "--boot",
                     fmt::format("{:x}", order.boot), "--term", std::to_string(order.term)});
}

Result<NodeLook> GateCommand::call(const std::string& node, std::vector<std::string> arguments) {
  ProcessRequest request;
  for (const std::string& word : options_.words) request.words.push_back(replace_all(word, kNode, node));
  std::move(arguments.begin(), arguments.end(), std::back_inserter(request.words));
  request.words.insert(request.words.end(), {"--output", "json"});
  request.limit = options_.limit;
  request.most_output = kMaxOutput;
  request.stopped = [this] { return stopped_.load(); };
  const Result<ProcessOutcome> outcome = run_process(request);
  if (!outcome.ok()) return outcome.error();
  if (outcome->code == 0) return parse_node_look(outcome->out);
  std::string why = printable(trim(outcome->err), kMaxShown);
  if (why.empty()) why = fmt::format("{} ended with status {}", request.words.front(), outcome->code);
  return Error{outcome->code == kRefused ? ErrorCode::refused : ErrorCode::unavailable, std::move(why), {}};
}

}  // namespace weft::world

#include "pipeline/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/value.h"

namespace weft::pipeline {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
constexpr std::array<std::string_view, 7> kStates = {"waiting", "submitting", "submitted", "done",
                                                     "failed",  "canceled",   "skipped"};

Value texts_value(const std::map<std::string, std::string>& texts) {
  Value out = Value::map();
  for (const auto& [name, text] : texts) out.set(name, text);
  return out;
}

// Reads members of an object; keeps the first problem.
class StateReader {
 public:
  explicit StateReader(std::string& problem) : problem_(problem) {}

  std::string text(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_string()) return found->get<std::string>();
    return fail(name, std::string());
  }
  std::int64_t number(const json& object, const char* name, std::int64_t low) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_number_integer() && found->get<std::int64_t>() >= low) {
      return found->get<std::int64_t>();
    }
    return fail(name, low);
  }
  bool truth(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found != object.end() && found->is_boolean()) return found->get<bool>();
    return fail(name, false);
  }
  std::map<std::string, std::string> texts(const json& object, const char* name) {
    std::map<std::string, std::string> out;
    const auto found = object.find(name);
    if (found == object.end() || !found->is_object()) return fail(name, out);
    for (const auto& [key, value] : found->items()) {
      if (!value.is_string()) return fail(name, out);
      out[key] = value.get<std::string>();
    }
    return out;
  }
  template <class T>
  T fail(const char* name, T otherwise) {
    if (problem_.empty()) problem_ = fmt::format("`{}` is missing or not valid", name);
    return otherwise;
  }

 private:
  std::string& problem_;
};

StepRun read_step(const json& item, StateReader& reader) {
  StepRun step;
  const std::string state = reader.text(item, "state");
  const auto found = std::find(kStates.begin(), kStates.end(), state);
  if (found == kStates.end()) return reader.fail("state", step);
  step.state = static_cast<StepState>(found - kStates.begin());
  step.tries = static_cast<std::int32_t>(reader.number(item, "tries", 0));
  step.job = static_cast<std::uint64_t>(reader.number(item, "job", 0));
  step.job_state = reader.text(item, "job_state");
  step.reason = reader.text(item, "reason");
  step.not_before = reader.number(item, "not_before", 0);
  step.cancel = reader.truth(item, "cancel");
  step.cancel_sent = reader.truth(item, "cancel_sent");
  step.outputs = reader.texts(item, "outputs");
  return step;
}

}  // namespace

std::string_view to_text(StepState state) { return kStates[static_cast<std::size_t>(state)]; }

StepRun* RunState::find(std::string_view step) {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& each) { return each.first == step; });
  return found == steps.end() ? nullptr : &found->second;
}

const StepRun* RunState::find(std::string_view step) const {
  return const_cast<RunState*>(this)->find(step);  // NOLINT(cppcoreguidelines-pro-type-const-cast): not changed
}

bool RunState::ended() const {
  return std::all_of(steps.begin(), steps.end(), [](const auto& each) { return is_final(each.second.state); });
}

std::string RunState::key_of(std::string_view step, std::int32_t one_try) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [&](const auto& each) { return each.first == step; });
  return fmt::format("pipeline:{}:{}:{}", token, found - steps.begin(), one_try);
}

std::string write_run_state(const RunState& state) {
  Value steps = Value::list();
  for (const auto& [name, step] : state.steps) {
    steps.add(Value::map({{"name", name},
                          {"state", to_text(step.state)},
                          {"tries", step.tries},
                          {"job", step.job},
                          {"job_state", step.job_state},
                          {"reason", step.reason},
                          {"not_before", step.not_before},
                          {"cancel", step.cancel},
                          {"cancel_sent", step.cancel_sent},
                          {"outputs", texts_value(step.outputs)}}));
  }
  std::map<std::string, std::string> sockets;
  for (const auto& [engine, socket] : state.sockets) sockets[std::string(to_text(engine))] = socket;
  return write_json(Value::map({{"format", kFormat},
                                {"name", state.name},
                                {"token", state.token},
                                {"file", state.file},
                                {"text", state.text},
                                {"directory", state.directory},
                                {"tenant", state.tenant},
                                {"started", state.started},
                                {"parameters", texts_value(state.parameters)},
                                {"sockets", texts_value(sockets)},
                                {"steps", std::move(steps)}}));
}

Result<RunState> parse_run_state(std::string_view text) {
  const auto damaged = [](std::string why) {
    return Error{ErrorCode::internal, "the state of the run is damaged: " + std::move(why), {}};
  };
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) return damaged("it is not a JSON object");
  std::string problem;
  StateReader reader(problem);
  RunState state;
  if (reader.number(root, "format", 0) != kFormat) return damaged("another version of weft wrote it");
  state.name = reader.text(root, "name");
  state.token = reader.text(root, "token");
  state.file = reader.text(root, "file");
  state.text = reader.text(root, "text");
  state.directory = reader.text(root, "directory");
  state.tenant = reader.text(root, "tenant");
  state.started = reader.number(root, "started", 0);
  state.parameters = reader.texts(root, "parameters");
  for (const auto& [name, socket] : reader.texts(root, "sockets")) {
    const std::optional<StepEngine> engine = find_engine(name);
    if (!engine) return damaged(fmt::format("unknown engine {}", name));
    state.sockets[*engine] = socket;
  }
  const auto steps = root.find("steps");
  if (steps == root.end() || !steps->is_array()) return damaged("`steps` is missing");
  for (const json& item : *steps) {
    if (!item.is_object()) return damaged("a step is not an object");
    std::string name = reader.text(item, "name");
    state.steps.emplace_back(std::move(name), read_step(item, reader));
  }
  if (!problem.empty()) return damaged(problem);
  return state;
}

}  // namespace weft::pipeline

#include "cli/operate/oob_remote.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "base/utf8.h"
#include "cli/operate/oob_answer.h"
#include "oob/redfish/json.h"

namespace weft::cli {
namespace {

// The server's limits for readings and plans, and for an answer.
constexpr Duration kTimeout = milliseconds(330'000);
constexpr oob::JsonLimits kAnswerLimits = {.nodes = 4'000'000, .depth = 42};
// Between two looks at an operation; the server counts requests.
constexpr auto kFirstPause = std::chrono::milliseconds(50);
constexpr auto kLastPause = std::chrono::milliseconds(1'000);
constexpr Duration kServerGone = milliseconds(600'000);

Result<Value> read_answer(const Result<serve::HttpResponse>& response) {
  if (!response.ok()) return response.error();
  Result<Value> answer = oob::read_json_reply(response->body, kAnswerLimits);
  if (!answer.ok()) return Error{ErrorCode::internal, "the server's answer is not JSON: " + answer.error().message, {}};
  return answer;
}

const Value& member_of(const Value& answer, std::string_view name) {
  static const Value none;
  const Value* found = answer.find(name);
  return found == nullptr ? none : *found;
}

class OobChange {
 public:
  OobChange(Context& context, const ServerClient& client, const OobVerbCall& call)
      : context_(context), client_(client), call_(call) {}

  Exit run(bool only_plan) {
    const bool is_planned = call_.verb->planning != serve::OobPlanning::none;
    only_plan = only_plan || has("dry-run");
    if (only_plan && !is_planned) return context_.usage_error("--dry-run: this operation has no plan");
    std::string plan_id;
    if (is_planned) {
      const Result<Value> plan = request_plan();
      if (!plan.ok()) return context_.failed(plan.error());
      show_blast_radius(*plan);
      if (only_plan) return deliver_plan(*plan);
      if (const std::optional<Exit> refused = find_refusal(*plan)) return *refused;
      plan_id = oob::raw_text(*plan, {"plan_id"});
    }
    const bool needs_reason = call_.verb->reason == serve::Reason::required;
    if (needs_reason && trim(value("reason")).empty())
      return context_.failed({ErrorCode::refused, "--reason TEXT is missing; it is written to the journal", {}});
    if (is_planned && !has("yes") && !confirm()) {
      return context_.failed(
          {ErrorCode::refused, "nothing was done; confirm with --yes, or preview with --dry-run", {}});
    }
    return carry_out(plan_id);
  }

 private:
  [[nodiscard]] bool has(std::string_view option) const {
    return find_option(context_.command(), option) != nullptr && context_.arguments().has(option);
  }
  [[nodiscard]] std::string value(std::string_view option) const {
    return has(option) ? context_.arguments().value(option) : std::string();
  }
  [[nodiscard]] Value body() const {
    Value body = call_.body();
    if (call_.verb->reason != serve::Reason::none && has("reason")) body.set("reason", value("reason"));
    return body;
  }
  [[nodiscard]] Result<Value> request_plan() const {
    return read_answer(client_.post(call_.path(), write_json_line(body().set("plan", true))));
  }

  void show_blast_radius(const Value& plan) const {
    const std::vector<std::string> notes = oob::texts(plan, {"notes"});
    for (const std::string& note : notes) context_.note(note);
    for (const std::string& line : describe_blast_radius(call_.verb->id, member_of(plan, "blast_radius"), notes)) {
      context_.note(line);
    }
  }

  // The server's words name members of the body.
  [[nodiscard]] std::string refusal_of(const Value& plan) const {
    std::string refusal = printable(oob::raw_text(plan, {"refusal"}));
    for (const serve::OobParameter& parameter : call_.verb->parameters) {
      if (!parameter.option.empty())
        refusal = replace_all(std::move(refusal), fmt::format("\"{}\": ", parameter.field.name),
                              fmt::format("--{} ", parameter.option));
    }
    return refusal;
  }

  [[nodiscard]] std::optional<Exit> find_refusal(const Value& plan) const {
    if (oob::truth(plan, {"allowed"}).value_or(false)) return std::nullopt;
    const std::string refusal = refusal_of(plan);
    const bool is_unreachable = oob::raw_text(plan, {"result"}) == "unavailable";
    return context_.failed({is_unreachable ? ErrorCode::unavailable : ErrorCode::refused,
                            refusal.empty() ? "the plan is refused" : refusal,
                            {}});
  }

  [[nodiscard]] Exit deliver_plan(const Value& plan) const {
    Exit outcome = exit_of_result(oob::raw_text(plan, {"result"}));
    if (!oob::truth(plan, {"allowed"}).value_or(false)) {
      context_.note(refusal_of(plan));
      outcome = std::max(outcome, Exit::refused);
    }
    Value shown = member_of(plan, "data");
    if (!shown.is_map()) shown = Value::map();
    shown.set("blast_radius", member_of(plan, "blast_radius"));
    return deliver_json(context_, shown, outcome);
  }

  [[nodiscard]] bool confirm() const {
    Io& io = context_.io();
    if (!io.in_is_terminal || !io.err_is_terminal || !io.read_line) return false;
    io.write_err(fmt::format("Carry it out on {}? Type yes: ", client_.name()));
    return io.read_line() == "yes";
  }

  [[nodiscard]] Exit carry_out(const std::string& plan_id) const {
    Value request = body();
    if (!plan_id.empty()) request.set("plan", false).set("plan_id", plan_id);
    const Result<serve::HttpResponse> response = client_.post(call_.path(), write_json_line(request));
    const Result<Value> begun = read_answer(response);
    if (!begun.ok()) return context_.failed(begun.error());
    if (const std::optional<std::string> approval = pending_approval(*response)) {
      if (context_.output_format() == OutputFormat::json) return context_.deliver(response->body);
      return context_.deliver(
          fmt::format("{}: waiting for approval {} by another person: weft approval approve {}\n"
                      "`weft oob operation` then shows it\n",
                      call_.verb->id, *approval, *approval));
    }
    const std::string operation = oob::clean_text(*begun, {"operation"});
    if (operation.empty())
      return context_.failed({ErrorCode::internal, "the answer names no operation", client_.name()});
    context_.note(fmt::format("operation {} on {}", operation, client_.name()));
    return follow_oob_operation(context_, client_, operation);
  }

  Context& context_;
  const ServerClient& client_;
  const OobVerbCall& call_;
};

Exit read_devices(Context& context, const ServerClient& client, const OobVerbCall& call) {
  serve::Target target = target_of(call.path());
  for (const auto& [name, value] : call.values) {
    if (!call.is_in_path(name)) target.query.emplace_back(name, value);
  }
  const Result<Value> answer = read_answer(client.get(target));
  if (!answer.ok()) return context.failed(answer.error());
  for (const std::string& note : oob::texts(*answer, {"notes"})) context.note(note);
  return deliver_json(context, member_of(*answer, "data"), exit_of_result(oob::raw_text(*answer, {"result"})));
}

bool has_ended(const Value& operation) {
  const std::string state = oob::raw_text(operation, {"state"});
  return state != "queued" && state != "running";
}

Exit exit_of_operation(const Value& operation) {
  const std::optional<double> code = oob::number(operation, {"exit_code"});
  const bool is_known = code && *code >= 0 && *code <= static_cast<double>(Exit::unavailable);
  const Exit exit = is_known ? static_cast<Exit>(static_cast<int>(*code)) : Exit::unavailable;
  // Interrupted, or its result could not be kept.
  return exit == Exit::ok && oob::raw_text(operation, {"state"}) != "done" ? Exit::unavailable : exit;
}

}  // namespace

Exit follow_oob_operation(Context& context, const ServerClient& client, const std::string& operation) {
  std::vector<std::string> known;
  auto pause = kFirstPause;
  for (;;) {
    const Result<Value> shown = read_answer(client.get(target_of("/oob/operations/" + operation), kServerGone));
    if (!shown.ok()) return context.failed(shown.error());
    std::vector<std::string> lines = oob::texts(*shown, {"progress"});
    for (const std::string& line : new_lines(known, lines)) context.note(line);
    known = std::move(lines);
    if (has_ended(*shown)) {
      const Value& data = member_of(*shown, "data");
      const std::string detail = oob::raw_text(*shown, {"detail"});
      const bool is_known =
          std::any_of(known.begin(), known.end(), [&](const std::string& line) { return contains(detail, line); });
      for (const std::string_view line : split_lines(is_known ? std::string_view() : detail))
        context.io().write_err(fmt::format("weft: {}\n", printable(line)));
      return deliver_json(context, data, exit_of_operation(*shown));
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(kLastPause, pause * 3 / 2);
  }
}

Exit run_oob_line(Context& context, const OobLine& line, bool only_plan) {
  const Result<OobVerbCall> call = find_oob_verb_call(line);
  if (!call.ok()) {
    return context.usage_error(
        call.error().message,
        {fmt::format("with --{}, leave CLUSTER out: the server has its own", line.server_option)});
  }
  ServerClient client(context);
  client.set_timeout(kTimeout);
  if (!call->verb->is_operation) return read_devices(context, client, *call);
  return OobChange(context, client, *call).run(only_plan);
}

Exit run_oob_on_server(Context& context) { return run_oob_line(context, read_oob_line(context)); }

void offer_on_server(Command& command, Exit (*run)(Context&)) {
  for (Argument& argument : command.arguments) {
    if (argument.name == "CLUSTER") argument.local = true;
  }
  for (Option& option : server_options()) {
    option.fallback.clear();  // no context, and no variable, makes a command reach the devices through a server
    if (option.name == "server")
      option.help =
          "reach the devices through this server, which has its own CLUSTER: https://HOST[:PORT], or a context";
    command.options.push_back(std::move(option));
  }
  command.run_on_server = run;
}

}  // namespace weft::cli

#include "cli/operate/server_client.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "serve/api/api.h"

namespace weft::cli {
namespace {

constexpr auto kRetryPause = std::chrono::milliseconds(200);
constexpr auto kRedrawPause = std::chrono::milliseconds(200);
constexpr auto kPollPause = std::chrono::milliseconds(1'000);  // watch mode
constexpr Duration kWatchRetry = milliseconds(600'000);

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

std::string user_socket(const Io& io) {
  const std::string runtime = io.environment("XDG_RUNTIME_DIR");
  return runtime.empty() ? default_state_root(io) + "/weft.sock" : runtime + "/weft.sock";
}

constexpr std::string_view kSystemSocket = "/run/weft/weft.sock";

std::string find_socket(Context& context) {
  std::string given = context.arguments().value("socket");
  if (!given.empty()) return given;
  std::string variable = context.io().environment("WEFT_SOCKET");
  if (!variable.empty()) return variable;
  const std::string own = default_socket(context.io());
  return exists(own) ? own : (exists(std::string(kSystemSocket)) ? std::string(kSystemSocket) : own);
}

std::string_view format_name(OutputFormat format) {
  switch (format) {
    case OutputFormat::table:
      return "table";
    case OutputFormat::wide:
      return "wide";
    case OutputFormat::json:
      return "json";
    case OutputFormat::yaml:
      return "yaml";
    case OutputFormat::ndjson:
      return "ndjson";
    case OutputFormat::csv:
      break;
  }
  return "csv";
}

std::string text_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_in(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

// Whether the request was certainly not executed, or may be repeated because it has a key.
bool may_retry(const Error& error, bool repeatable) {
  if (error.code == ErrorCode::unavailable) return true;
  return repeatable && (error.code == ErrorCode::timeout || error.code == ErrorCode::internal);
}

}  // namespace

serve::Target target_of(std::string path) {
  serve::Target target;
  target.path = std::move(path);
  return target;
}

std::uint64_t sequence_of(const serve::HttpResponse& response) {
  const std::string* text = response.find_header(serve::kSequenceHeader);
  std::uint64_t number = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

void end_with_the_reader() { (void)std::signal(SIGPIPE, SIG_DFL); }

Option socket_option() {
  return {.name = "socket",
          .value = "PATH",
          .help = "socket of `weft serve`",
          .fallback = "$WEFT_SOCKET, your own server's, or /run/weft/weft.sock",
          .hint = Hint::file};
}

Option watch_option() { return {.name = "watch", .letter = 'w', .help = "print it again after every change"}; }

Option reason_option(std::string help) { return {.name = "reason", .value = "TEXT", .help = std::move(help)}; }

std::string default_state_root(const Io& io) {
  if (::geteuid() == 0) return "/var/lib/weft";
  const std::string state = io.environment("XDG_STATE_HOME");
  return state.empty() ? io.environment("HOME") + "/.local/state/weft" : state + "/weft";
}

std::string default_socket(const Io& io) { return ::geteuid() == 0 ? std::string(kSystemSocket) : user_socket(io); }

ServerClient::ServerClient(Context& context) : context_(context), socket_(find_socket(context)) {}
ServerClient::ServerClient(Context& context, std::string socket) : context_(context), socket_(std::move(socket)) {}

Result<serve::HttpResponse> ServerClient::send(serve::ClientRequest request, Duration retry) const {
  request.socket_path = socket_;
  const bool repeatable = request.method == "GET" || !request.headers.empty();
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(retry.count());
  bool noted = false;
  for (;;) {
    Result<serve::HttpResponse> response = serve::send_request(request);
    if (response.ok() && response->status < 400) return response;
    Error error = response.ok() ? serve::problem_to_error(*response) : response.error();
    if (!may_retry(error, repeatable) || std::chrono::steady_clock::now() >= end) return error;
    if (!std::exchange(noted, true)) {
      context_.note(fmt::format("{}; trying again for {}", error.text(), format_duration(retry)));
    }
    std::this_thread::sleep_for(kRetryPause);
  }
}

Result<serve::HttpResponse> ServerClient::get(const serve::Target& target, Duration retry) const {
  serve::ClientRequest request;
  request.target = serve::format_target(target);
  return send(std::move(request), retry);
}

Result<serve::HttpResponse> ServerClient::post(const std::string& path, const std::string& body, const std::string& key,
                                               Duration retry) const {
  serve::ClientRequest request;
  request.method = "POST";
  request.target = serve::format_target(target_of(path));
  request.body = body;
  if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
  return send(std::move(request), retry);
}

Status ServerClient::follow(serve::Target target, std::uint64_t since, const serve::EventCallback& callback) const {
  target.path = "/v1/events";
  bool noted = false;
  for (;;) {
    serve::FollowRequest request;
    request.socket_path = socket_;
    request.target = serve::format_target(target);
    request.last_event_id = since;
    const Result<serve::StreamEnd> end = serve::follow_events(request, [&](const serve::ServerEvent& event) {
      since = event.id;
      noted = false;
      return callback(event);
    });
    if (end.ok() && *end == serve::StreamEnd::callback) return {};
    if (!end.ok() && end.error().code != ErrorCode::unavailable && end.error().code != ErrorCode::timeout) {
      return end.error();
    }
    if (!std::exchange(noted, true)) context_.note("the server is gone; waiting for it to return");
    std::this_thread::sleep_for(kRetryPause);
  }
}

serve::Target ServerClient::with_format(serve::Target target) const {
  target.query.emplace_back("output", format_name(context_.output_format()));
  const OutputFormat format = context_.output_format();
  const bool for_people = format == OutputFormat::table || format == OutputFormat::wide;
  if (for_people && context_.colors_result()) target.query.emplace_back("color", "1");
  return target;
}

Exit ServerClient::show(const serve::Target& target) const {
  const Command& command = context_.command();
  if (find_option(command, "watch") != nullptr && context_.arguments().has("watch")) return watch(target);
  const Result<serve::HttpResponse> response = get(with_format(target));
  if (!response.ok()) return context_.failed(response.error());
  return context_.deliver(response->body);
}

Exit ServerClient::watch(const serve::Target& target) const {
  end_with_the_reader();
  std::string shown;
  for (;;) {
    const Result<serve::HttpResponse> response = get(with_format(target), kWatchRetry);
    if (!response.ok()) return context_.failed(response.error());
    if (response->body != shown) {
      if (context_.io().out_is_terminal) {
        if (const Exit cleared = context_.deliver("\x1b[H\x1b[2J"); cleared != Exit::ok) return cleared;
      }
      if (const Exit printed = context_.deliver(response->body); printed != Exit::ok) return printed;
      shown = response->body;
    }
    if (response->find_header(serve::kModeHeader) != nullptr) {  // the engine's jobs change without records
      std::this_thread::sleep_for(kPollPause);
      continue;
    }
    const Status followed = follow({}, sequence_of(*response), [](const serve::ServerEvent&) { return false; });
    // A snapshot may have replaced the records since then: the view is read again.
    if (!followed.ok() && followed.error().code != ErrorCode::invalid_input) return context_.failed(followed.error());
    std::this_thread::sleep_for(kRedrawPause);
  }
}

Result<ServerClient::JobFields> ServerClient::job(std::uint64_t number, Duration retry) const {
  const Result<serve::HttpResponse> response = get(target_of(fmt::format("/v1/jobs/{}", number)), retry);
  if (!response.ok()) return response.error();
  if (response->find_header(serve::kModeHeader) != nullptr)
    return Error{ErrorCode::refused, "watch mode: the engine runs this job; use the engine's own commands", {}};
  const nlohmann::json json = nlohmann::json::parse(response->body, nullptr, false);
  const auto facts = json.is_object() ? json.find("job") : json.end();
  if (!json.is_object() || facts == json.end() || !facts->is_object()) {
    return Error{ErrorCode::internal, "the server's response is not a job", socket_};
  }
  JobFields fields;
  fields.state = text_in(*facts, "state");
  fields.reason = text_in(*facts, "reason");
  fields.restored = text_in(*facts, "restored");
  fields.nodes = text_in(*facts, "nodes");
  fields.drill = text_in(*facts, "drill");
  fields.drill_result = text_in(*facts, "drill_result");
  fields.attempt = integer_in(*facts, "attempt");
  fields.restored_step = integer_in(*facts, "restored_step");
  fields.exit = integer_in(*facts, "exit");
  fields.sequence = sequence_of(*response);
  return fields;
}

Exit ServerClient::change(const std::string& path, const std::string& label) const {
  Value body = Value::map();
  if (find_option(context_.command(), "reason") != nullptr && context_.arguments().has("reason")) {
    body.set("reason", context_.arguments().value("reason"));
  }
  return change(path, label, body);
}

Exit ServerClient::change(const std::string& path, const std::string& label, const Value& body) const {
  const Result<serve::HttpResponse> response = post(path, write_json_line(body));
  if (!response.ok()) {
    Error error = response.error();
    error.message = fmt::format("{}: {}", label, error.message);
    return context_.failed(error);
  }
  if (context_.output_format() == OutputFormat::json) return context_.deliver(response->body);
  const nlohmann::json json = nlohmann::json::parse(response->body, nullptr, false);
  const auto answer = json.is_object() ? json.find("answer") : json.end();
  const std::string message =
      json.is_object() && answer != json.end() && answer->is_object() ? text_in(*answer, "message") : std::string();
  return context_.deliver(fmt::format("{}: {}\n", label, message));
}

Exit ServerClient::change_each(std::string_view collection, std::string_view label,
                               const std::vector<std::string>& names, std::string_view verb) const {
  Exit worst = Exit::ok;
  for (const std::string& name : names) {
    const Exit code = change(fmt::format("/v1/{}/{}/{}", collection, name, verb), fmt::format("{} {}", label, name));
    if (code > worst) worst = code;
  }
  return worst;
}

Command change_command(ChangeCommand change) {
  Command command;
  command.name = fmt::format("{} {}", change.group, change.verb);
  command.summary = std::move(change.summary);
  command.usage = fmt::format("{}... [--reason TEXT] [OPTIONS]", change.objects.name);
  command.description = std::move(change.description);
  command.examples = {std::move(change.example)};
  command.arguments = {std::move(change.objects)};
  command.options = {reason_option(std::move(change.reason_help)), socket_option(), output_option()};
  command.run = change.run;
  return command;
}

std::optional<std::string> read_job_name(Context& context, const std::string& word) {
  constexpr std::string_view kAllowed = "0123456789_+-.[],%:/";
  const auto is_allowed = [&](char c) { return (c >= 'a' && c <= 'z') || contains(kAllowed, std::string_view(&c, 1)); };
  const bool begins = !word.empty() && (is_digit(word.front()) || contains(word, "/"));
  const bool valid = begins && std::all_of(word.begin(), word.end(), is_allowed) && word != "0" &&
                     word.front() != '/' && word.find('/') == word.rfind('/') && word.back() != '/';
  if (valid) return replace_all(word, "/", ":");
  (void)context.usage_error(fmt::format("{} is not a job number", in_backticks(word)), {"`weft job list` shows them"});
  return std::nullopt;
}

std::optional<std::uint64_t> read_job_number(Context& context, const std::string& word) {
  std::uint64_t number = 0;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), number);
  if (result.ec == std::errc() && result.ptr == word.data() + word.size() && number > 0) return number;
  (void)context.usage_error(fmt::format("{} is not a job number", in_backticks(word)), {"`weft job list` shows them"});
  return std::nullopt;
}

}  // namespace weft::cli

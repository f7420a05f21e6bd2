#include "cli/operate/server_client.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "serve/api/api.h"
#include "serve/table/route.h"

namespace weft::cli {
namespace {

constexpr auto kRetryPause = std::chrono::milliseconds(200);
constexpr auto kRedrawPause = std::chrono::milliseconds(200);
constexpr auto kPollPause = std::chrono::milliseconds(1'000);  // watch mode
constexpr Duration kWatchRetry = milliseconds(600'000);

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

serve::Target target_of(std::string_view path) {
  serve::Target target;
  target.path.assign(serve::kApiPrefix).append(path);
  return target;
}

std::uint64_t sequence_of(const serve::HttpResponse& response) {
  const std::string* text = response.find_header(serve::kSequenceHeader);
  std::uint64_t number = 0;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

std::string new_idempotency_key() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string key;
  for (const unsigned char byte : bytes) append_format(key, "{:02x}", byte);
  return key;
}

std::optional<std::string> pending_approval(const serve::HttpResponse& response) {
  if (response.status != 202) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto answer = json.find("answer");
  const nlohmann::json& holder = answer != json.end() && answer->is_object() ? *answer : json;
  const auto id = holder.find("approval");
  if (id == holder.end()) return std::nullopt;
  if (id->is_number_unsigned()) return std::to_string(id->get<std::uint64_t>());
  return id->is_string() ? std::optional(printable(id->get<std::string>(), 100)) : std::nullopt;
}

void end_with_the_reader() { (void)std::signal(SIGPIPE, SIG_DFL); }

Option watch_option() { return {.name = "watch", .letter = 'w', .help = "print it again after every change"}; }

bool needs_reason(std::string_view group, std::string_view verb) {
  const std::span<const serve::RouteRow> rows = serve::route_rows();
  return std::any_of(rows.begin(), rows.end(), [&](const serve::RouteRow& row) {
    return row.id == fmt::format("{}.{}", group, verb) && row.reason == serve::Reason::required;
  });
}

Option reason_option(std::string help) { return {.name = "reason", .value = "TEXT", .help = std::move(help)}; }

ServerClient::ServerClient(Context& context, Result<ServerEndpoint> endpoint)
    : context_(context), endpoint_(std::move(endpoint)), clock_(std::make_unique<oob::SystemClock>()) {
  if (!endpoint_.ok()) return;
  connection_ = std::make_unique<ApiConnection>(*endpoint_, LoginStore(login_store_path(context.io())), *clock_,
                                                [&context](const std::string& text) { context.note(text); });
}
ServerClient::ServerClient(Context& context) : ServerClient(context, find_server(context)) {}
ServerClient::ServerClient(Context& context, const std::string& server)
    : ServerClient(context, find_server(context, server)) {}

const std::string& ServerClient::name() const {
  static const std::string none;
  return endpoint_.ok() ? endpoint_->name() : none;
}

Result<serve::HttpResponse> ServerClient::send(serve::ClientRequest request, Duration retry) const {
  if (connection_ == nullptr) return endpoint_.error();
  if (timeout_) request.timeout = *timeout_;
  const bool repeatable = request.method == "GET" || !request.headers.empty();  // with an Idempotency-Key
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(retry.count());
  bool noted = false;
  for (;;) {
    Result<serve::HttpResponse> response = connection_->send(request);
    if (response.ok() && response->status < 400) return response;
    Error error = response.ok() ? connection_->error_of(*response) : response.error();
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
  if (connection_ == nullptr) return endpoint_.error();
  target.path = std::string(serve::kApiPrefix) + "/events";
  bool noted = false;
  for (;;) {
    serve::FollowRequest request;
    request.target = serve::format_target(target);
    request.last_event_id = since;
    const Result<serve::StreamEnd> end = connection_->follow(request, [&](const serve::ServerEvent& event) {
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
  if (const std::size_t width = context_.result_width(); format == OutputFormat::table && width > 0)
    target.query.emplace_back("width", std::to_string(width));
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
  const Result<serve::HttpResponse> response = get(target_of(fmt::format("/jobs/{}", number)), retry);
  if (!response.ok()) return response.error();
  if (response->find_header(serve::kModeHeader) != nullptr)
    return Error{ErrorCode::refused, "watch mode: the engine runs this job; use the engine's own commands", {}};
  const nlohmann::json json = nlohmann::json::parse(response->body, nullptr, false);
  const auto facts = json.is_object() ? json.find("job") : json.end();
  if (!json.is_object() || facts == json.end() || !facts->is_object()) {
    return Error{ErrorCode::internal, "the server's response is not a job", name()};
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
  if (const std::optional<std::string> approval = pending_approval(*response)) {
    return context_.deliver(fmt::format("{}: waiting for approval {} by another person: weft approval approve {}\n",
                                        label, *approval, *approval));
  }
  const nlohmann::json json = nlohmann::json::parse(response->body, nullptr, false);
  const auto answer = json.is_object() ? json.find("answer") : json.end();
  const std::string message =
      json.is_object() && answer != json.end() && answer->is_object() ? text_in(*answer, "message") : std::string();
  return context_.deliver(fmt::format("{}: {}\n", label, message));
}

Exit ServerClient::change_each(std::string_view collection, std::string_view label,
                               const std::vector<std::string>& names, std::string_view verb) const {
  if (needs_reason(label, verb) && trim(context_.arguments().value("reason")).empty())
    return context_.usage_error(
        fmt::format("{} {} needs --reason: it goes into the journal and the audit log", label, verb));
  Exit worst = Exit::ok;
  for (const std::string& name : names) {
    const Exit code = change(fmt::format("/{}/{}/{}", collection, name, verb), fmt::format("{} {}", label, name));
    if (code > worst) worst = code;
  }
  return worst;
}

Command change_command(ChangeCommand change) {
  Command command;
  command.name = fmt::format("{} {}", change.group, change.verb);
  command.summary = std::move(change.summary);
  command.usage = fmt::format("{}... {} [OPTIONS]", change.objects.name,
                              needs_reason(change.group, change.verb) ? "--reason TEXT" : "[--reason TEXT]");
  command.description = std::move(change.description);
  command.examples = {std::move(change.example)};
  command.arguments = {std::move(change.objects)};
  command.options = with_server_options({reason_option(std::move(change.reason_help)), output_option()});
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

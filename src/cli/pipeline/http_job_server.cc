#include "cli/pipeline/http_job_server.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/value.h"

namespace weft::cli {
namespace {

using nlohmann::json;

// An object of a response: {"answer": {...}}.
Result<json> section_of(const Result<serve::HttpResponse>& response, const char* name, const std::string& server) {
  if (!response.ok()) return response.error();
  json root = json::parse(response->body, nullptr, false);
  if (root.is_object() && root.contains(name) && root[name].is_object()) return std::move(root[name]);
  return Error{ErrorCode::internal, fmt::format("the server's response has no {}", name), server};
}

}  // namespace

Result<std::string> HttpJobServer::engine() const {
  const Result<json> server = section_of(client_.get(target_of("/server")), "server", client_.name());
  if (!server.ok()) return server.error();
  return server->value("engine", "");
}

Result<std::uint64_t> HttpJobServer::submit(const pipeline::JobSubmission& submission) {
  Value body = Value::map({{"text", submission.text}, {"name", submission.name}, {"directory", submission.directory}});
  if (!submission.tenant.empty()) body.set("tenant", submission.tenant);
  if (!has_two_) {
    const Result<std::string> engines = engine();
    if (!engines.ok()) return engines.error();
    has_two_ = engines->find(" and ") != std::string::npos;
  }
  if (*has_two_ && !step_engine_.empty()) body.set("engine", step_engine_);
  const Result<json> answer =
      section_of(client_.post("/jobs", write_json_line(body), submission.key), "answer", client_.name());
  if (!answer.ok()) return answer.error();
  const auto number = answer->find("job");
  if (number != answer->end() && number->is_number_unsigned()) return number->get<std::uint64_t>();
  return Error{ErrorCode::internal, "the server's answer has no job number", client_.name()};
}

Result<pipeline::JobStatus> HttpJobServer::job(std::uint64_t number) {
  const Result<ServerClient::JobFields> fields = client_.job(number);
  if (!fields.ok()) return fields.error();
  return pipeline::JobStatus{fields->state, fields->reason, fields->nodes, fields->attempt, fields->exit};
}

Status HttpJobServer::cancel(std::uint64_t number, const std::string& reason) {
  const Value body = Value::map({{"reason", reason}});
  const auto answer = client_.post(fmt::format("/jobs/{}/cancel", number), write_json_line(body));
  if (!answer.ok()) return answer.error();
  return {};
}

Result<std::string> HttpJobServer::output(std::uint64_t number, std::int64_t attempt) {
  serve::Target target = target_of(fmt::format("/jobs/{}/logs", number));
  target.query.emplace_back("task", "0");
  target.query.emplace_back("attempt", std::to_string(attempt));
  Result<serve::HttpResponse> response = client_.get(target);
  if (!response.ok()) return response.error();
  return std::move(response->body);
}

}  // namespace weft::cli

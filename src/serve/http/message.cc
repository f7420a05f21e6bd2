#include "serve/http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"

namespace weft::serve {
namespace {

constexpr std::string_view kProblemType = "application/problem+json";

ErrorCode error_code(int status) {
  switch (status) {
    case 401:
    case 403:
      return ErrorCode::refused;
    case 404:
      return ErrorCode::not_found;
    case 408:
    case 504:
      return ErrorCode::timeout;
    case 409:
    case 412:
      return ErrorCode::conflict;
    case 429:
    case 503:
      return ErrorCode::unavailable;
    default:
      return status >= 400 && status < 500 ? ErrorCode::invalid_input : ErrorCode::internal;
  }
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) out += is_control(c) ? ' ' : c;
  out += "\r\n";
}

void append_security_headers(std::string& out, const ResponseFraming& framing) {
  out += "X-Content-Type-Options: nosniff\r\n";
  if (framing.over_tls) out += "Strict-Transport-Security: max-age=31536000\r\n";
}

bool has_no_body(int status) { return status < 200 || status == 204 || status == 304; }

}  // namespace

const std::string* HttpRequest::find_query(std::string_view name) const {
  const auto found = std::find_if(query.begin(), query.end(), [&](const auto& pair) { return pair.first == name; });
  return found == query.end() ? nullptr : &found->second;
}

const std::string* HttpResponse::find_header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& pair) { return equals_ignoring_case(pair.first, name); });
  return found == headers.end() ? nullptr : &found->second;
}

HttpResponse problem(int status, std::string_view title, std::string_view detail) {
  HttpResponse response;
  response.status = status;
  response.content_type = kProblemType;
  response.body =
      write_json_line(Value::map({{"type", "about:blank"}, {"title", title}, {"status", status}, {"detail", detail}}));
  response.body += '\n';
  return response;
}

HttpResponse problem(int status, std::string_view detail) { return problem(status, status_phrase(status), detail); }

HttpResponse header_problem(std::string_view header, std::string_view detail) {
  Value error = Value::map({{"header", header}, {"detail", detail}});
  Value body =
      Value::map({{"type", "about:blank"}, {"title", status_phrase(400)}, {"status", 400}, {"detail", detail}});
  body.set("errors", Value::list().add(std::move(error)));
  HttpResponse response;
  response.status = 400;
  response.content_type = kProblemType;
  response.body = write_json_line(body) + "\n";
  return response;
}

Error problem_to_error(const HttpResponse& response) {
  std::string text;
  if (response.content_type.starts_with(kProblemType)) {
    const nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
    const auto member = [&](const char* name) {
      if (!json.is_object()) return std::string();
      const auto found = json.find(name);
      return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    text = member("detail");
    if (text.empty()) text = member("title");
  }
  if (text.empty()) text = fmt::format("the server answered {} {}", response.status, status_phrase(response.status));
  return {error_code(response.status), printable(text, 2000), {}};
}

std::string_view status_phrase(int status) {
  struct Phrase {
    int status;
    std::string_view text;
  };
  static constexpr Phrase kPhrases[] = {{100, "Continue"},
                                        {200, "OK"},
                                        {201, "Created"},
                                        {202, "Accepted"},
                                        {204, "No Content"},
                                        {303, "See Other"},
                                        {304, "Not Modified"},
                                        {400, "Bad Request"},
                                        {401, "Unauthorized"},
                                        {403, "Forbidden"},
                                        {404, "Not Found"},
                                        {405, "Method Not Allowed"},
                                        {406, "Not Acceptable"},
                                        {408, "Request Timeout"},
                                        {409, "Conflict"},
                                        {410, "Gone"},
                                        {412, "Precondition Failed"},
                                        {413, "Content Too Large"},
                                        {414, "URI Too Long"},
                                        {415, "Unsupported Media Type"},
                                        {417, "Expectation Failed"},
                                        {421, "Misdirected Request"},
                                        {422, "Unprocessable Content"},
                                        {428, "Precondition Required"},
                                        {429, "Too Many Requests"},
                                        {431, "Request Header Fields Too Large"},
                                        {500, "Internal Server Error"},
                                        {501, "Not Implemented"},
                                        {503, "Service Unavailable"},
                                        {504, "Gateway Timeout"},
                                        {505, "HTTP Version Not Supported"},
                                        {507, "Insufficient Storage"}};
  for (const Phrase& phrase : kPhrases) {
    if (phrase.status == status) return phrase.text;
  }
  return "Unknown";
}

std::string format_response_head(const HttpResponse& response, const ResponseFraming& framing) {
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status, status_phrase(response.status));
  if (!has_no_body(response.status)) {
    append_header(out, "Content-Type", response.content_type);
    append_format(out, "Content-Length: {}\r\n", response.body.size());
  }
  if (response.find_header("Cache-Control") == nullptr) out += "Cache-Control: no-store\r\n";
  append_security_headers(out, framing);
  for (const auto& [name, value] : response.headers) append_header(out, name, value);
  if (!framing.keep_alive) {
    out += "Connection: close\r\n";
  } else if (framing.http_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  return out += "\r\n";
}

std::string format_stream_head(const ResponseFraming& framing) {
  std::string out = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n";
  append_security_headers(out, framing);
  if (!framing.http_1_0) out += "Transfer-Encoding: chunked\r\n";
  return out += "Connection: close\r\n\r\n";
}

}  // namespace weft::serve

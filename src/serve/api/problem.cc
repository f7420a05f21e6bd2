#include "serve/api/problem.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "base/value.h"

namespace weft::serve {
namespace {

HttpResponse make_problem(int status, std::string_view title, std::string_view detail, Value errors) {
  Value body = Value::map();
  body.set("type", "about:blank").set("title", title).set("status", status).set("detail", detail);
  body.set("errors", std::move(errors));
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body = write_json_line(body) + "\n";
  return response;
}

std::string_view member_of(InputError::Where where) {
  switch (where) {
    case InputError::Where::body:
      return "pointer";
    case InputError::Where::header:
      return "header";
    case InputError::Where::file:
      return "source";
    case InputError::Where::query:
    case InputError::Where::path:
      break;
  }
  return "parameter";
}

// A JSON pointer (RFC 6901).
std::string pointer_to(std::string_view member) {
  std::string out;
  if (member.empty()) return out;
  out = "/";
  for (const char c : member) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

HttpResponse input_problem(const std::vector<InputError>& errors) {
  Value list = Value::list();
  std::string detail;
  for (const InputError& each : errors) {
    Value error = Value::map();
    error.set(member_of(each.where), each.where == InputError::Where::body ? pointer_to(each.name) : each.name);
    error.set("detail", each.detail);
    list.add(std::move(error));
    detail += (detail.empty() ? "" : "; ") + each.detail;
  }
  return make_problem(400, status_phrase(400), detail, std::move(list));
}

HttpResponse file_problem(const Diagnostics& diagnostics, const Sources& sources) {
  Value list = Value::list();
  for (const Diagnostic& each : diagnostics.sorted()) {
    if (each.severity != Severity::error) continue;
    Value error = Value::map();
    if (each.place.known()) {
      error.set("source", sources.path(each.place.file)).set("line", each.place.line).set("column", each.place.column);
    }
    error.set("detail", each.message);
    if (!each.hint.empty()) error.set("hint", each.hint);
    list.add(std::move(error));
  }
  return make_problem(422, "Invalid job", render_all(diagnostics, sources, false), std::move(list));
}

void add_request_id(HttpResponse& response, std::string_view id) {
  const std::size_t end = response.body.rfind('}');
  if (response.content_type != "application/problem+json" || end == std::string::npos) return;
  response.body.insert(end, fmt::format(",\"request_id\":{}", write_json_line(Value(id))));
}

HttpResponse absent_problem(std::string_view kind, std::string_view name) {
  return problem(404, fmt::format("there is no {} {}", kind, printable(name, 60)));
}

}  // namespace weft::serve

#include "serve/api/openapi.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "serve/api/parameters.h"
#include "serve/http/message.h"

namespace weft::serve {
namespace {

constexpr std::string_view kNoControls = "^[^\\x00-\\x1F\\x7F]*$";
constexpr std::uint64_t kMaxSchemaNumber = INT64_MAX;  // what a Value holds
constexpr std::uint64_t kMaxPathParameter = 512;

Value reference(std::string_view kind, std::string_view name) {
  return Value::map().set("$ref", fmt::format("#/components/{}/{}", kind, name));
}

Value text_schema(std::uint64_t max) {
  return Value::map().set("type", "string").set("maxLength", max).set("pattern", kNoControls);
}

Value field_schema(const Field& field) {
  Value schema;
  switch (field.type) {
    case FieldType::text:
      schema = text_schema(field.max);
      break;
    case FieldType::content:
      schema = Value::map().set("type", "string").set("maxLength", field.max);
      break;
    case FieldType::integer:
      schema = Value::map().set("type", "integer").set("minimum", 0);
      if (field.max <= kMaxSchemaNumber) schema.set("maximum", field.max);
      break;
    case FieldType::boolean:
      schema = Value::map().set("type", "boolean");
      break;
    case FieldType::duration:
      schema = text_schema(std::min<std::uint64_t>(field.max, 32));
      schema.set("examples", Value::list({"2h", "90s"}));
      break;
    case FieldType::hosts:
      schema = Value::map().set(
          "oneOf", Value::list({text_schema(field.max),
                                Value::map()
                                    .set("type", "array")
                                    .set("items", Value::map().set("type", "string").set("minLength", 1))}));
      schema.set("examples", Value::list({"train[001-004]", Value::list({"train001", "train002"})}));
      break;
  }
  if (!field.choices.empty()) {
    Value choices = Value::list();
    for (const std::string_view choice : field.choices) choices.add(choice);
    schema = Value::map().set("type", "string").set("enum", std::move(choices));
  }
  return schema;
}

Value described(Value schema, std::string_view about) { return std::move(schema).set("description", about); }

Value body_schema(const std::vector<Field>& fields, Reason reason) {
  Value properties = Value::map();
  Value required = Value::list();
  for (const Field& field : fields) {
    properties.put(std::string(field.name), described(field_schema(field), field.about));
    if (field.required) required.add(field.name);
  }
  if (reason != Reason::none) {
    Value schema = described(field_schema(reason_field()), reason_field().about);
    if (reason == Reason::required) {
      schema.set("minLength", 1);
      required.add(reason_field().name);
    }
    properties.put(std::string(reason_field().name), std::move(schema));
  }
  Value schema = Value::map().set("type", "object");
  if (!properties.empty()) schema.set("properties", std::move(properties));
  if (!required.empty()) schema.set("required", std::move(required));
  schema.set("additionalProperties", false);
  return schema;
}

Value json_content(Value schema, Value example) {
  Value media = Value::map().set("schema", std::move(schema));
  if (!example.is_null()) media.set("example", std::move(example));
  return Value::map().set("application/json", std::move(media));
}

Value query_parameter(const Field& field) {
  Value schema = field_schema(field);
  if (field.type == FieldType::boolean) schema = Value::map().set("type", "boolean").set("default", false);
  return Value::map()
      .set("name", field.name)
      .set("in", "query")
      .set("description", field.about)
      .set("required", field.required)
      .set("schema", std::move(schema));
}

Value header_parameter(std::string_view name, std::string_view about, Value schema) {
  return Value::map().set("name", name).set("in", "header").set("description", about).set("schema", std::move(schema));
}

Value header(std::string_view about, std::string_view type) {
  return Value::map().set("description", about).set("schema", Value::map().set("type", type));
}

// Names under which the parameters that many requests have are kept.
Value shared_parameters() {
  Value parameters = Value::map();
  for (const auto* fields : {&list_fields(), &format_fields()}) {
    for (const Field& field : *fields) parameters.put(std::string(field.name), query_parameter(field));
  }
  parameters.put("idempotency-key",
                 header_parameter("Idempotency-Key", "repeating the request with the same key creates nothing twice",
                                  text_schema(200)));
  parameters.put("if-match",
                 header_parameter("If-Match", "only if the object's ETag is still this one", text_schema(200)));
  parameters.put("if-none-match",
                 header_parameter("If-None-Match", "only if the ETag is not this one", text_schema(200)));
  parameters.put("last-event-id", header_parameter("Last-Event-ID", "resume after this event",
                                                   Value::map().set("type", "integer").set("minimum", 0)));
  return parameters;
}

Value shared_headers() {
  Value headers = Value::map();
  headers.put("request-id", header("identifies the request, also in the audit log", "string"));
  headers.put("sequence", header("the last record of the journal that the answer reflects", "integer"));
  headers.put("mode", header("\"watch\" in watch mode", "string"));
  headers.put("role", header("with the journal in etcd: \"leader\" or \"follower\"", "string"));
  headers.put("stale", header("of a follower: how old its state may be, \"0.8 s\" or \"unknown\"", "string"));
  headers.put("next-page",
              header("value of the parameter `page` for the next page; absent: this is the last", "string"));
  headers.put("etag", header("value for If-Match and If-None-Match", "string"));
  headers.put("location", header("path of the new object", "string"));
  headers.put("retry-after", header("seconds to wait", "integer"));
  headers.put("log-position", header("value of the parameter `after` for what follows", "string"));
  return headers;
}

Value problem_schema() {
  const auto text = [](std::string_view about) { return described(Value::map().set("type", "string"), about); };
  const auto number = [](std::string_view about) { return described(Value::map().set("type", "integer"), about); };
  Value error = Value::map()
                    .set("type", "object")
                    .set("properties", Value::map()
                                           .set("pointer", text("JSON pointer of the member of the body"))
                                           .set("parameter", text("parameter of the query"))
                                           .set("header", text("header"))
                                           .set("source", text("submitted file"))
                                           .set("line", number("line of the file"))
                                           .set("column", number("column of the file"))
                                           .set("detail", text("what is wrong"))
                                           .set("hint", text("what to do")));
  error.set("required", Value::list({"detail"}));
  return Value::map()
      .set("type", "object")
      .set("description", "an error (RFC 9457)")
      .set("properties", Value::map()
                             .set("type", text("about:blank"))
                             .set("title", text("the status in words"))
                             .set("status", number("the status code"))
                             .set("detail", text("what is wrong, and what to do"))
                             .set("request_id", text("identifies the request, also in the audit log"))
                             .set("errors", Value::map().set("type", "array").set("items", std::move(error))))
      .set("required", Value::list({"type", "title", "status"}));
}

Value problem_response(int status) {
  Value example = Value::map()
                      .set("type", "about:blank")
                      .set("title", status_phrase(status))
                      .set("status", status)
                      .set("detail", status_about(status));
  if (status == 400) {
    example.set("errors", Value::list({Value::map()
                                           .set("pointer", "/reason")
                                           .set("detail",
                                                "a reason is needed: it goes into the journal and the audit "
                                                "log")}));
  }
  Value response = Value::map().set("description", status_about(status));
  if (status == 429) response.set("headers", Value::map().set("Retry-After", reference("headers", "retry-after")));
  response.set(
      "content",
      Value::map().set("application/problem+json",
                       Value::map().set("schema", reference("schemas", "problem")).set("example", std::move(example))));
  return response;
}

constexpr int kProblems[] = {400, 401, 403, 404, 409, 410, 412, 415, 421, 422, 429, 501, 503, 504};

std::string problem_name(int status) { return fmt::format("problem-{}", status); }

Value security_schemes() {
  return Value::map()
      .set("bearer", Value::map()
                         .set("type", "http")
                         .set("scheme", "bearer")
                         .set("description",
                              "a static token, an access token of the command line, or a signed token "
                              "(JWT) of the OIDC provider"))
      .set("cookie", Value::map()
                         .set("type", "apiKey")
                         .set("in", "cookie")
                         .set("name", "__Host-weft")
                         .set("description", "session of a browser"))
      .set("csrf", Value::map()
                       .set("type", "apiKey")
                       .set("in", "header")
                       .set("name", "X-CSRF-Token")
                       .set("description",
                            "with the cookie, for requests that change something: csrf_token of "
                            "GET /api/v1/session"))
      .set("certificate",
           Value::map().set("type", "mutualTLS").set("description", "client certificate of the configured CA"));
}

Value security_of(const RouteRow& row) {
  if (row.need == Need::anyone) return Value::list();
  Value cookie = Value::map().set("cookie", Value::list());
  if (row.method != "GET") cookie.set("csrf", Value::list());
  return Value::list(
      {Value::map().set("bearer", Value::list()), std::move(cookie), Value::map().set("certificate", Value::list())});
}

class DocumentWriter {
 public:
  DocumentWriter(std::span<const RouteRow> rows, std::span<const AnswerShape> shapes) : rows_(rows), shapes_(shapes) {}

  Value paths() {
    Value paths = Value::map();
    for (const RouteRow& row : rows_) {
      paths[fmt::format("{}{}", kApiPrefix, row.pattern)].set(to_lower(row.method), operation(row));
    }
    for (const PlainRoute& route : plain_routes())
      paths[route.path].set(to_lower(route.method), plain_operation(route));
    return paths;
  }

  [[nodiscard]] Value tags() const {
    Value tags = Value::list();
    std::vector<std::string_view> known;
    const auto add = [&](std::string_view id) {
      const std::string_view tag = tag_of(id);
      if (std::find(known.begin(), known.end(), tag) != known.end()) return;
      known.push_back(tag);
      tags.add(Value::map().set("name", tag).set("description", tag_about(tag)));
    };
    for (const RouteRow& row : rows_) add(row.id);
    for (const PlainRoute& route : plain_routes()) add(route.id);
    return tags;
  }

  [[nodiscard]] Value components() const {
    Value schemas = Value::map();
    for (const AnswerShape& shape : shapes_) {
      const bool is_used =
          std::any_of(rows_.begin(), rows_.end(), [&](const RouteRow& row) { return row.answer == shape.name; });
      if (is_used) schemas.put(std::string(shape.name), shape_schema(shape));
    }
    schemas.put("problem", problem_schema());
    schemas.put("oauth-error",
                Value::map()
                    .set("type", "object")
                    .set("description", "an error as in RFC 6749 and RFC 8628")
                    .set("properties",
                         Value::map()
                             .set("error", described(Value::map().set("type", "string"),
                                                     "authorization_pending, slow_down, expired_token, access_denied, "
                                                     "invalid_grant or invalid_request"))
                             .set("error_description", Value::map().set("type", "string")))
                    .set("required", Value::list({"error"})));
    Value responses = Value::map();
    for (const int status : kProblems) responses.put(problem_name(status), problem_response(status));
    return Value::map()
        .set("schemas", std::move(schemas))
        .set("responses", std::move(responses))
        .set("parameters", shared_parameters())
        .set("headers", shared_headers())
        .set("securitySchemes", security_schemes());
  }

 private:
  Value operation(const RouteRow& row) {
    Value operation = Value::map()
                          .set("operationId", row.id)
                          .set("tags", Value::list({tag_of(row.id)}))
                          .set("summary", row.about)
                          .set("description", fmt::format("Allowed to: {}.", need_about(row.need)));
    if (Value parameters = parameters_of(row); !parameters.empty()) operation.set("parameters", std::move(parameters));
    if (row.method != "GET") {
      Value schema = body_schema(row.body, row.reason);
      const bool is_required = schema.find("required") != nullptr;
      Value example = body_example(row);
      if (example.is_null()) example = Value(Value::Map());
      operation.set("requestBody", Value::map()
                                       .set("required", is_required)
                                       .set("content", json_content(std::move(schema), std::move(example))));
    }
    operation.set("responses", responses_of(row)).set("security", security_of(row));
    operation.set("x-weft-need", to_text(row.need)).set("x-weft-changes", row.changes);
    operation.set("x-weft-reason", row.reason == Reason::none       ? "none"
                                   : row.reason == Reason::optional ? "optional"
                                                                    : "required");
    operation.set("x-weft-needs-drive", row.needs_drive);
    return operation;
  }

  Value parameters_of(const RouteRow& row) {
    Value parameters = Value::list();
    for (const std::string& name : path_parameters(row.pattern)) {
      Value schema = text_schema(kMaxPathParameter);
      schema.set("minLength", 1);
      parameters.add(Value::map()
                         .set("name", name)
                         .set("in", "path")
                         .set("description", path_parameter_about(name))
                         .set("required", true)
                         .set("schema", std::move(schema)));
    }
    for (const Field& field : row.query) parameters.add(query_parameter(field));
    if (row.lists) {
      for (const Field& field : list_fields()) parameters.add(reference("parameters", field.name));
      for (const MemberShape* column : filter_columns(row, shapes_)) {
        parameters.add(Value::map()
                           .set("name", column->key)
                           .set("in", "query")
                           .set("description", fmt::format("only rows with this value: {}", column->about))
                           .set("required", false)
                           .set("schema", text_schema(1000)));
      }
    }
    const AnswerShape* shape = find_shape(shapes_, row.answer);
    if (shape == nullptr || shape->form == AnswerShape::Form::document) {
      for (const Field& field : format_fields()) parameters.add(reference("parameters", field.name));
    }
    if (row.creates) parameters.add(reference("parameters", "idempotency-key"));
    if (row.conditional) parameters.add(reference("parameters", "if-match"));
    if (row.answer == "events") parameters.add(reference("parameters", "last-event-id"));
    if (row.has_tag) parameters.add(reference("parameters", "if-none-match"));
    return parameters;
  }

  Value success(const RouteRow& row, int status) const {
    const AnswerShape* shape = find_shape(shapes_, row.answer);
    Value headers = Value::map().set("X-Request-Id", reference("headers", "request-id"));
    if (row.id == "job.submit") headers.set("Location", reference("headers", "location"));
    if (!row.changes) {
      headers.set("weft-sequence", reference("headers", "sequence")).set("weft-mode", reference("headers", "mode"));
      headers.set("weft-role", reference("headers", "role")).set("weft-stale", reference("headers", "stale"));
    }
    if (row.has_tag) headers.set("ETag", reference("headers", "etag"));
    if (row.lists) headers.set("weft-next-page", reference("headers", "next-page"));
    if (shape != nullptr && shape->form == AnswerShape::Form::text)
      headers.set("weft-log-position", reference("headers", "log-position"));
    Value content = Value::map();
    if (shape == nullptr) {
      content = json_content(Value::map().set("type", "object"), {});
    } else if (shape->form == AnswerShape::Form::events) {
      // OpenAPI 3.1 has no schema for a stream: this is that of the data of each event.
      Value stream = described(Value::map().set("type", "string"), shape->about);
      stream.set("contentMediaType", shape->media_type).set("contentSchema", reference("schemas", shape->name));
      content.put(std::string(shape->media_type),
                  Value::map()
                      .set("schema", std::move(stream))
                      .set("example", fmt::format("id: 8\nevent: job_submitted\ndata: {}\n\n",
                                                  write_json_line(shape_example(*shape)))));
    } else if (shape->form == AnswerShape::Form::text) {
      content.put(std::string(shape->media_type),
                  Value::map().set("schema", reference("schemas", shape->name)).set("example", shape_example(*shape)));
    } else {
      content = json_content(reference("schemas", status == 202 ? "answer" : row.answer),
                             status == 202 ? Value() : shape_example(*shape));
      if (shape->form == AnswerShape::Form::document)
        content.put("text/plain", Value::map().set("schema", described(Value::map().set("type", "string"),
                                                                       "with ?output= other than json")));
    }
    return Value::map()
        .set("description", status_about(status))
        .set("headers", std::move(headers))
        .set("content", std::move(content));
  }

  Value responses_of(const RouteRow& row) const {
    Value responses = Value::map();
    for (const int status : answer_statuses(row)) {
      const std::string key = std::to_string(status);
      if (status == 304) {
        responses.put(key, Value::map()
                               .set("description", status_about(status))
                               .set("headers", Value::map()
                                                   .set("X-Request-Id", reference("headers", "request-id"))
                                                   .set("ETag", reference("headers", "etag"))
                                                   .set("weft-sequence", reference("headers", "sequence"))
                                                   .set("weft-mode", reference("headers", "mode"))));
      } else if (status >= 400) {
        responses.put(key, reference("responses", problem_name(status)));
      } else if (status != 202 || find_shape(shapes_, "answer") != nullptr) {
        responses.put(key, success(row, status));
      }
    }
    return responses;
  }

  static Value plain_answer(const PlainRoute& route) {
    if (route.media_type.empty()) {
      return Value::map()
          .set("description", status_about(303))
          .set("headers", Value::map().set("Location", reference("headers", "location")));
    }
    Value schema = Value::map().set("type", route.media_type == "application/json" ? "object" : "string");
    if (!route.answer.empty()) {
      AnswerShape shape;
      shape.form = AnswerShape::Form::events;  // one object, without the envelope of a document
      shape.about = route.about;
      shape.sections.push_back({"answer", false, route.about, route.answer});
      schema = shape_schema(shape);
    }
    return Value::map()
        .set("description", status_about(200))
        .set("content", Value::map().set(route.media_type, Value::map().set("schema", std::move(schema))));
  }

  static Value plain_operation(const PlainRoute& route) {
    Value operation = Value::map()
                          .set("operationId", route.id)
                          .set("tags", Value::list({tag_of(route.id)}))
                          .set("summary", route.about)
                          .set("description", fmt::format("Allowed to: {}.", need_about(Need::anyone)));
    Value parameters = Value::list();
    for (const Field& field : route.query) parameters.add(query_parameter(field));
    if (!parameters.empty()) operation.set("parameters", std::move(parameters));
    if (route.method == "POST") {
      operation.set("requestBody", Value::map()
                                       .set("required", !route.body.empty())
                                       .set("content", json_content(body_schema(route.body, Reason::none), {})));
    }
    Value responses = Value::map().set(route.media_type.empty() ? "303" : "200", plain_answer(route));
    if (route.is_oauth) {
      responses.set("400", Value::map()
                               .set("description", "The login is not complete, or failed")
                               .set("content", json_content(reference("schemas", "oauth-error"), {})));
    } else {
      responses.set("400", reference("responses", problem_name(400)));
    }
    responses.set("429", reference("responses", problem_name(429)));
    if (tag_of(route.id) == "login" || route.id == "page.health")
      responses.set("503", reference("responses", problem_name(503)));
    operation.set("responses", std::move(responses)).set("security", Value::list());
    operation.set("x-weft-need", to_text(Need::anyone)).set("x-weft-changes", false).set("x-weft-reason", "none");
    return operation;
  }

  std::span<const RouteRow> rows_;
  std::span<const AnswerShape> shapes_;
};

}  // namespace

Value openapi_document(std::span<const RouteRow> rows, std::span<const AnswerShape> shapes, std::string_view version) {
  DocumentWriter writer(rows, shapes);
  Value info = Value::map()
                   .set("title", "weft")
                   .set("version", version)
                   .set("summary", "The API of weft serve")
                   .set("description",
                        "Jobs, nodes, the queue, leases, reservations and devices of a cluster. Answers are JSON; "
                        "errors are application/problem+json (RFC 9457). Other tenants' objects do not exist for a "
                        "caller who may not see them. A request that changes something is in the audit log before it "
                        "is carried out, and is answered when it is durable.")
                   .set("license", Value::map().set("name", "Apache-2.0").set("identifier", "Apache-2.0"));
  return Value::map()
      .set("openapi", "3.1.0")
      .set("info", std::move(info))
      .set("servers", Value::list({Value::map().set("url", "/").set("description", "the server of this document")}))
      .set("tags", writer.tags())
      .set("paths", writer.paths())
      .set("components", writer.components());
}

}  // namespace weft::serve

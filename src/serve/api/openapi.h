// The OpenAPI 3.1 document of the API, generated from the table of requests (route.h) and the shapes of the answers.
// The same tables give the same bytes. What only weft knows of a request is in members that begin with "x-weft-".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.h"
#include "serve/api/answer_shapes.h"
#include "serve/table/route.h"

namespace weft::serve {

[[nodiscard]] Value openapi_document(std::span<const RouteRow> rows, std::span<const AnswerShape> shapes,
                                     std::string_view version);

// Requests outside of /api/v1: signing in, the pages, health.
struct PlainRoute {
  std::string_view id;
  std::string_view method;
  std::string_view path;
  std::string_view about;
  std::vector<Field> query = {};
  std::vector<Field> body = {};
  std::string_view media_type = "text/html";  // of the answer; "": it redirects
  std::vector<MemberShape> answer = {};       // members, of application/json
  bool is_oauth = false;                      // errors as in RFC 6749 and RFC 8628
};
[[nodiscard]] std::span<const PlainRoute> plain_routes();

// For both descriptions of the API, this one and its page.
[[nodiscard]] std::string_view tag_of(std::string_view id);  // "job" of "job.cancel"
[[nodiscard]] std::string_view tag_about(std::string_view tag);
[[nodiscard]] std::vector<std::string> path_parameters(std::string_view pattern);  // "job" of "/jobs/{job}"
[[nodiscard]] std::string_view path_parameter_about(std::string_view name);
// Columns of a list that are no parameters of the request itself: each is a filter.
[[nodiscard]] std::vector<const MemberShape*> filter_columns(const RouteRow& row, std::span<const AnswerShape> shapes);
// A body with every required member; null: the request has none.
[[nodiscard]] Value body_example(const RouteRow& row);
[[nodiscard]] std::string_view need_about(Need need);
// Status codes that the request may be answered with, ascending.
[[nodiscard]] std::vector<int> answer_statuses(const RouteRow& row);
[[nodiscard]] std::string_view status_about(int status);

}  // namespace weft::serve

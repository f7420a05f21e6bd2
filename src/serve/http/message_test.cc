#include "serve/http/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::serve {
namespace {

TEST(HttpMessage, ProblemsAreJsonForAnyText) {
  const HttpResponse response = problem(409, "Conflict", "job \"a\"\n\xFF is running");
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(response.content_type, "application/problem+json");
  const nlohmann::json json = nlohmann::json::parse(response.body);
  EXPECT_EQ(json["type"], "about:blank");
  EXPECT_EQ(json["title"], "Conflict");
  EXPECT_EQ(json["status"], 409);
  EXPECT_EQ(json["detail"], "job \"a\"\n\xEF\xBF\xBD is running");
  EXPECT_EQ(nlohmann::json::parse(problem(404, "no such job").body)["title"], "Not Found");
}

TEST(HttpMessage, ProblemsBecomeErrors) {
  const Error error = problem_to_error(problem(404, "there is no job `j9`"));
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message, "there is no job `j9`");
  EXPECT_EQ(problem_to_error(problem(409, "x")).code, ErrorCode::conflict);
  EXPECT_EQ(problem_to_error(problem(403, "x")).code, ErrorCode::refused);
  EXPECT_EQ(problem_to_error(problem(503, "x")).code, ErrorCode::unavailable);
  EXPECT_EQ(problem_to_error(problem(422, "x")).code, ErrorCode::invalid_input);
  EXPECT_EQ(problem_to_error(problem(500, "x")).code, ErrorCode::internal);
  for (const char* body : {"", "{", "[]", "{\"detail\":7}", "\"x\""}) {
    EXPECT_EQ(problem_to_error({500, "application/problem+json", body, {}}).message,
              "the server answered 500 Internal Server Error");
  }
}

TEST(HttpMessage, HeaderValuesCannotAddHeaders) {
  const std::string head = format_response_head({201, "text/plain", "abc", {{"Location", "/a\r\nSet-Cookie: b"}}}, {});
  EXPECT_EQ(head,
            "HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n"
            "Location: /a  Set-Cookie: b\r\n\r\n");
}

TEST(HttpMessage, HeadsDependOnTheRequest) {
  EXPECT_EQ(format_response_head({204, "x", "", {}}, {.keep_alive = false}),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
  EXPECT_NE(format_response_head({}, {.http_1_0 = true}).find("Connection: keep-alive"), std::string::npos);
  EXPECT_NE(format_stream_head({}).find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(format_stream_head({.http_1_0 = true}).find("chunked"), std::string::npos);
}

}  // namespace
}  // namespace weft::serve

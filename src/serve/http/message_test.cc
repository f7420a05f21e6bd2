#include "serve/http/message.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/text.h"

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
            "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nLocation: /a  Set-Cookie: b\r\n\r\n");
  for (const char* value : {"\r", "\n", "\r\n\r\n<script>", "a\nX: y", "\x7F"}) {
    const std::string injected = format_response_head({200, value, "", {{"X-Name", value}}}, {});
    EXPECT_EQ(split_lines(injected).size(), 7U) << "no more lines for " << value;
  }
}

TEST(HttpMessage, HeadsDependOnTheRequest) {
  EXPECT_EQ(format_response_head({204, "x", "", {}}, {.keep_alive = false}),
            "HTTP/1.1 204 No Content\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: "
            "close\r\n\r\n");
  EXPECT_NE(format_response_head({}, {.http_1_0 = true}).find("Connection: keep-alive"), std::string::npos);
  const std::string cached = format_response_head({200, "x", "", {{"cache-control", "max-age=60"}}}, {});
  EXPECT_EQ(cached.find("no-store"), std::string::npos) << "the handler set its own";
  for (const bool over_tls : {false, true}) {
    const ResponseFraming framing{.over_tls = over_tls};
    EXPECT_EQ(format_response_head({}, framing).find("Strict-Transport-Security: max-age=") != std::string::npos,
              over_tls);
    EXPECT_EQ(format_stream_head(framing).find("Strict-Transport-Security: max-age=") != std::string::npos, over_tls);
  }
  EXPECT_NE(format_stream_head({}).find("X-Content-Type-Options: nosniff"), std::string::npos);
  EXPECT_NE(format_stream_head({}).find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(format_stream_head({.http_1_0 = true}).find("chunked"), std::string::npos);
}

}  // namespace
}  // namespace weft::serve

#include "serve/api/docs_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/text.h"
#include "serve/api/openapi.h"

namespace weft::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string docs() { return docs_page(route_rows(), answer_shapes(), "1.2.3"); }

// What kPagePolicy refuses, and what the pages therefore must not have.
void expect_strict(const std::string& page) {
  EXPECT_THAT(page, Not(HasSubstr("<style")));
  EXPECT_THAT(page, Not(HasSubstr("style=")));
  EXPECT_THAT(page, Not(HasSubstr("<script>")));
  EXPECT_THAT(page, Not(HasSubstr(" onclick")));
  EXPECT_THAT(page, Not(HasSubstr("javascript:")));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));
  EXPECT_THAT(page, Not(HasSubstr("href=\"http")));
  EXPECT_THAT(page, HasSubstr("/assets/pages.css"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
}

TEST(DocsPage, HasEveryRequest) {
  const std::string page = docs();
  for (const RouteRow& row : route_rows()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("<article id=\"{}\">", row.id)));
    EXPECT_THAT(page, HasSubstr(fmt::format("href=\"#{}\"", row.id)));
  }
  for (const PlainRoute& route : plain_routes())
    EXPECT_THAT(page, HasSubstr(fmt::format("<article id=\"{}\">", route.id)));
  EXPECT_THAT(page, HasSubstr("weft node drain NODE --reason TEXT"));
  EXPECT_THAT(page, HasSubstr("$WEFT_SERVER/api/v1/nodes/train001/drain"));
  EXPECT_THAT(page, Not(HasSubstr("@SECTIONS@")));
  expect_strict(page);
  if (const char* folder = std::getenv("WEFT_PAGES_FOLDER"); folder != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    EXPECT_TRUE(write_file(std::string(folder) + "/docs.html", page).ok());
  }
}

TEST(DocsPage, HostileTextsStayTexts) {
  const std::vector<RouteRow> rows = {{.id = "odd.one",
                                       .method = "GET",
                                       .pattern = "/odd/{<b>}",
                                       .about = "<script>alert(1)</script>",
                                       .answer = "jobs",
                                       .query = {{"\"><img src=x onerror=alert(2)>", FieldType::text, "<i>&"}}}};
  const std::string page = docs_page(rows, answer_shapes(), "<1>");
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;i&gt;&amp;"));
}

TEST(HomePage, ShowsWhoIsSignedIn) {
  HomePageFacts facts{"lab", "1.2.3", std::nullopt, "", true};
  EXPECT_THAT(home_page(facts), HasSubstr("href=\"/login?return=/\""));
  facts.has_login = false;
  EXPECT_THAT(home_page(facts), Not(HasSubstr("/login")));
  facts.caller = access::Identity{"<ada>", {}, access::Method::browser, ""};
  facts.roles = "operator, user of research";
  const std::string page = home_page(facts);
  EXPECT_THAT(page, HasSubstr("<strong id=\"user\">&lt;ada&gt;</strong>: operator, user of research"));
  EXPECT_THAT(page, HasSubstr("id=\"logout\""));
  EXPECT_THAT(page, HasSubstr("src=\"/assets/home.js\""));
  expect_strict(page);
  facts.caller->method = access::Method::certificate;
  EXPECT_THAT(home_page(facts), Not(HasSubstr("id=\"logout\"")));
  if (const char* folder = std::getenv("WEFT_PAGES_FOLDER"); folder != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    EXPECT_TRUE(write_file(std::string(folder) + "/index.html", page).ok());
    EXPECT_TRUE(write_file(std::string(folder) + "/done.html", login_done_page("/docs")).ok());
    EXPECT_TRUE(write_file(std::string(folder) + "/failed.html", login_failed_page("access_denied")).ok());
  }
}

TEST(LoginPage, GoesOnToAPathOfThisServer) {
  const std::string page = login_done_page("/docs?a=1&b=\"2#x");
  EXPECT_THAT(page, HasSubstr("content=\"0; url=/docs?a=1&amp;b=&quot;2#x\""));
  EXPECT_THAT(page, HasSubstr("<a href=\"/docs?a=1&amp;b=&quot;2#x\">Continue</a>"));
  expect_strict(page);
  for (const char* elsewhere : {"", "docs", "//evil.example", "/\\evil.example", "https://evil.example", "/a b", "/\tb",
                                "/\n", "javascript:alert(1)", "/\xc3\xa9"}) {
    EXPECT_FALSE(is_local_path(elsewhere)) << elsewhere;
    EXPECT_THAT(login_done_page(elsewhere), HasSubstr("content=\"0; url=/\"")) << elsewhere;
  }
  EXPECT_FALSE(is_local_path("/" + std::string(3000, 'a')));
  expect_strict(login_failed_page("<b>"));
  EXPECT_THAT(login_failed_page("<b>"), HasSubstr("&lt;b&gt;"));
}

TEST(PageAssets, AreServedByPath) {
  ASSERT_TRUE(find_page_asset("/assets/pages.css"));
  EXPECT_EQ(find_page_asset("/assets/pages.css")->media_type, "text/css; charset=utf-8");
  ASSERT_TRUE(find_page_asset("/assets/home.js"));
  EXPECT_THAT(std::string(find_page_asset("/assets/home.js")->content), HasSubstr("X-CSRF-Token"));
  EXPECT_FALSE(find_page_asset("/assets/../launch.sh"));
  EXPECT_FALSE(find_page_asset("/assets/"));
}

}  // namespace
}  // namespace weft::serve

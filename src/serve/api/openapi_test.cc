#include "serve/api/openapi.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/process.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "serve/http/message.h"

namespace weft::serve {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string document_text() { return write_json(openapi_document(route_rows(), answer_shapes(), "1.2.3")); }

json document() { return json::parse(document_text()); }

TEST(OpenApi, LintFindsNothing) {
  WEFT_NEEDS_PYTHON("jsonschema");
  const std::string path = fmt::format("{}/weft-openapi-{}.json", testing::TempDir(), ::getpid());
  ASSERT_TRUE(write_file(path, document_text()).ok());
  const Result<ProcessOutcome> outcome =
      run_process({.words = {python_with("jsonschema"), source_dir() + "/tests/openapi_lint.py", path}});
  // For other linters: WEFT_OPENAPI_FILE is where the document stays.
  const char* kept = std::getenv("WEFT_OPENAPI_FILE");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  if (kept != nullptr) {
    EXPECT_TRUE(write_file(kept, document_text()).ok());
  }
  (void)::unlink(path.c_str());
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->code, 0) << outcome->out << outcome->err;
}

TEST(OpenApi, SameBytesEachTime) { EXPECT_EQ(document_text(), document_text()); }

TEST(OpenApi, EveryRequestIsInIt) {
  const json all = document();
  std::size_t operations = 0;
  for (const auto& [path, item] : all["paths"].items()) operations += item.size();
  EXPECT_EQ(operations, route_rows().size() + plain_routes().size());
  for (const RouteRow& row : route_rows()) {
    const json& operation = all["paths"][fmt::format("{}{}", kApiPrefix, row.pattern)][to_lower(row.method)];
    EXPECT_EQ(operation["operationId"], row.id);
    EXPECT_EQ(operation["x-weft-need"], to_text(row.need));
    EXPECT_EQ(operation["x-weft-changes"], row.changes);
    EXPECT_EQ(operation["security"].empty(), row.need == Need::anyone) << row.id;
  }
}

TEST(OpenApi, EveryAnswerHasAShape) {
  std::set<std::string_view> names;
  for (const AnswerShape& shape : answer_shapes()) EXPECT_TRUE(names.insert(shape.name).second) << shape.name;
  for (const RouteRow& row : route_rows()) EXPECT_THAT(names, Contains(row.answer)) << row.id;
}

TEST(OpenApi, BodiesAreStrict) {
  const json body =
      document()["paths"]["/api/v1/leases/move"]["post"]["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(body["additionalProperties"], false);
  EXPECT_EQ(body["required"], json::array({"nodes", "to"}));
  EXPECT_EQ(body["properties"]["to"]["enum"], json::array({"slurm", "kubernetes"}));
  EXPECT_EQ(body["properties"]["preempt"]["type"], "boolean");
}

TEST(OpenApi, ReasonsAreMembersOfTheBody) {
  RouteRow row{
      .id = "node.drain", .method = "POST", .pattern = "/nodes/{node}/drain", .about = "x", .answer = "answer"};
  const auto operation_with = [&](Reason reason) {
    row.reason = reason;
    const std::vector<RouteRow> rows = {row};
    return json::parse(
        write_json(openapi_document(rows, answer_shapes(), "1")))["paths"]["/api/v1/nodes/{node}/drain"]["post"];
  };
  const json required = operation_with(Reason::required);
  EXPECT_EQ(required["x-weft-reason"], "required");
  EXPECT_EQ(required["requestBody"]["required"], true);
  const json schema = required["requestBody"]["content"]["application/json"]["schema"];
  EXPECT_EQ(schema["required"], json::array({"reason"}));
  EXPECT_EQ(schema["properties"]["reason"]["maxLength"], 1000);
  EXPECT_EQ(schema["properties"]["reason"]["minLength"], 1);
  const json optional = operation_with(Reason::optional);
  EXPECT_EQ(optional["requestBody"]["required"], false);
  EXPECT_FALSE(optional["requestBody"]["content"]["application/json"]["schema"].contains("required"));
  EXPECT_FALSE(
      operation_with(Reason::none)["requestBody"]["content"]["application/json"]["schema"].contains("properties"));
}

TEST(OpenApi, ChangesWithACookieNeedTheCsrfToken) {
  const json all = document();
  for (const auto& [path, item] : all["paths"].items()) {
    for (const auto& [method, operation] : item.items()) {
      for (const json& scheme : operation["security"]) {
        if (scheme.contains("cookie")) {
          EXPECT_EQ(scheme.contains("csrf"), method != "get") << path;
        }
      }
    }
  }
}

TEST(OpenApi, ListsHavePagesAndFilters) {
  const json parameters = document()["paths"]["/api/v1/jobs"]["get"]["parameters"];
  std::vector<std::string> names;
  for (const json& parameter : parameters)
    names.push_back(parameter.contains("name") ? parameter["name"] : parameter["$ref"]);
  for (const char* name : {"user", "state", "tenant", "#/components/parameters/limit", "#/components/parameters/page",
                           "#/components/parameters/sort"}) {
    EXPECT_THAT(names, Contains(name));
  }
}

TEST(OpenApi, EveryStatusHasAPhraseAndAText) {
  for (const RouteRow& row : route_rows()) {
    for (const int status : answer_statuses(row)) {
      EXPECT_NE(status_about(status), "An error") << status;
      EXPECT_FALSE(status_phrase(status).empty());
    }
  }
  EXPECT_EQ(answer_statuses(route_rows()[0]).front(), 200);
}

// Of a parameter described in place, or of one that refers to the components.
std::string name_of(const json& parameter) {
  if (parameter.contains("name")) return parameter["name"];
  const std::string reference = parameter["$ref"];
  return reference.substr(reference.rfind('/') + 1);
}

TEST(OpenApi, OddRowsAreDescribed) {
  const std::vector<RouteRow> rows = {{.id = "odd.one",
                                       .method = "POST",
                                       .pattern = "/odd/{a}/{b}",
                                       .about = "an odd request",
                                       .need = Need::anyone,
                                       .answer = "nothing-known",
                                       .body = {{"n", FieldType::integer, "number", true, UINT64_MAX}}}};
  const json all = json::parse(write_json(openapi_document(rows, answer_shapes(), "1")));
  const json& operation = all["paths"]["/api/v1/odd/{a}/{b}"]["post"];
  std::vector<std::string> parameters;
  for (const json& parameter : operation["parameters"]) parameters.push_back(name_of(parameter));
  EXPECT_THAT(parameters, UnorderedElementsAre("a", "b", "output", "color", "width"));
  EXPECT_THAT(operation["security"], IsEmpty());
  EXPECT_FALSE(
      operation["requestBody"]["content"]["application/json"]["schema"]["properties"]["n"].contains("maximum"));
  EXPECT_TRUE(operation["responses"].contains("404"));
}

}  // namespace
}  // namespace weft::serve

#include "serve/api/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::serve {
namespace {

using ::testing::HasSubstr;

TEST(Body, TextMembers) {
  const Result<BodyFields> fields = read_body(R"({"reason": "a \"b\" \u00e9", "name": null})", {"reason", "name"});
  ASSERT_TRUE(fields.ok());
  EXPECT_EQ(fields->size(), 1U);
  EXPECT_EQ(fields->at("reason"), "a \"b\" \xc3\xa9");
  EXPECT_TRUE(read_body("", {"reason"})->empty());
  EXPECT_TRUE(read_body(" \r\n", {})->empty());
  EXPECT_TRUE(read_body("{}", {})->empty());
}

TEST(Body, ErrorsNameTheirPlace) {
  const auto message = [](std::string_view body) {
    const Result<BodyFields> fields = read_body(body, {"reason"});
    return fields.ok() ? std::string("accepted") : fields.error().message;
  };
  EXPECT_THAT(message("{\"reason\": }"), HasSubstr("line 1, column"));
  EXPECT_THAT(message("{\"reason\":\n\"a\"} x"), HasSubstr("line 2"));
  EXPECT_THAT(message("[]"), HasSubstr("must be a JSON object"));
  EXPECT_THAT(message("{\"reason\": 7}"), HasSubstr("`reason` must be a string"));
  EXPECT_THAT(message("{\"reason\": [\"a\"]}"), HasSubstr("`reason` must be a string"));
  EXPECT_THAT(message("{\"other\": \"a\"}"), HasSubstr("unknown member `other`"));
  EXPECT_NE(message(std::string(100, '[')), "accepted");
  EXPECT_NE(message("{\"reason\": \"\xff\"}"), "accepted");
}

}  // namespace
}  // namespace weft::serve

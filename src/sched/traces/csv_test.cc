#include "sched/traces/csv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::sched {
namespace {

// "line:column text" of every field, rows separated by "|".
std::string read_all(std::string_view text, std::string* said = nullptr) {
  Diagnostics diagnostics;
  CsvReader csv(1, text, diagnostics);
  std::string out;
  while (csv.next()) {
    if (!out.empty()) out += "| ";
    for (const CsvField& field : csv.row()) {
      out += std::to_string(field.place.line) + ":" + std::to_string(field.place.column) + " " + field.str() + " ";
    }
  }
  for (const Diagnostic& each : diagnostics.sorted()) {
    const std::string place = std::to_string(each.place.line) + ":" + std::to_string(each.place.column);
    if (said != nullptr) *said += place + " " + each.message;
  }
  EXPECT_EQ(diagnostics.has_errors(), said != nullptr);
  return out;
}

TEST(TraceCsv, ReadsFieldsWithTheirLocations) {
  EXPECT_EQ(read_all("a,bc,\n1,,2"), "1:1 a 1:3 bc 1:6  | 2:1 1 2:3  2:4 2 ");
  EXPECT_EQ(read_all("a\r\nb\r\n"), "1:1 a | 2:1 b ");
  EXPECT_EQ(read_all(" a , b\t,c "), "1:2 a 1:6 b 1:9 c ");
  EXPECT_EQ(read_all(","), "1:1  1:2  ");
}

TEST(TraceCsv, SkipsBlankLines) {
  EXPECT_EQ(read_all(""), "");
  EXPECT_EQ(read_all("\n\n \r\n"), "");
  EXPECT_EQ(read_all("\n\na\n  \n\nb\n\n"), "3:1 a | 6:1 b ");
}

TEST(TraceCsv, ReadsQuotedFields) {
  EXPECT_EQ(read_all("\"a,b\",\"say \"\"hi\"\"\",c"), "1:2 a,b 1:8 say \"hi\" 1:20 c ");
  EXPECT_EQ(read_all("\"two\nlines\",x\ny"), "1:2 two\nlines 2:8 x | 3:1 y ");
  EXPECT_EQ(read_all("\"a\" \r\nb"), "1:2 a | 2:1 b ");
  EXPECT_EQ(read_all("\"\"\"\",x"), "1:2 \" 1:6 x ");
}

TEST(TraceCsv, ReportsTheLocationOfQuotingErrors) {
  std::string said;
  EXPECT_EQ(read_all("a\nb,\"c\nd", &said), "1:1 a ");
  EXPECT_EQ(said, "2:3 a quoted field is not closed");
  said.clear();
  EXPECT_EQ(read_all("\"a\"b", &said), "");
  EXPECT_EQ(said, "1:4 text follows the end of a quoted field");
}

TEST(TraceCsv, StopsAtAnUnterminatedRow) {
  EXPECT_EQ(read_all(std::string(kMaxFields - 1, ',')).substr(0, 8), "1:1  1:2");
  std::string said;
  EXPECT_EQ(read_all(std::string(kMaxFields, ','), &said), "");
  EXPECT_EQ(said, "1:1000 more than 1000 fields in a row");
}

}  // namespace
}  // namespace weft::sched

#include "workload/import/protobuf_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "workload/import/chakra_fixture.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using namespace std::string_view_literals;

// The examples from protobuf.dev/programming-guides/encoding.
TEST(WireReader, PublishedExamples) {
  WireReader number("\x08\x96\x01"sv);
  auto field = number.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, 1U);
  EXPECT_EQ(field->type, WireType::varint);
  EXPECT_EQ(field->value, 150U);
  EXPECT_FALSE(number.next());
  EXPECT_TRUE(number.at_end());
  EXPECT_FALSE(number.failed());

  WireReader text("\x12\x07\x74\x65\x73\x74\x69\x6e\x67"sv, 100);
  field = text.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, 2U);
  EXPECT_EQ(field->bytes, "testing");
  EXPECT_EQ(field->offset, 100U);
  EXPECT_EQ(field->contents, 102U);

  WireReader packed("\x32\x06\x03\x8e\x02\x9e\xa7\x05"sv);
  field = packed.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->number, 6U);
  std::vector<std::uint64_t> values;
  EXPECT_TRUE(each_varint(*field, [&](std::uint64_t value) { values.push_back(value); }));
  EXPECT_THAT(values, ElementsAre(3U, 270U, 86942U));
}

TEST(WireReader, FixedNumbersAreLittleEndian) {
  WireReader reader("\x0d\x01\x02\x03\x04\x11\x01\x00\x00\x00\x00\x00\x00\x80"sv);
  auto field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->value, 0x04030201U);
  field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->value, 0x8000000000000001U);
}

TEST(WireReader, LargestNumber) {
  WireReader reader("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv);
  const auto field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_EQ(field->value, UINT64_MAX);
}

std::string problem_of(std::string_view bytes) {
  WireReader reader(bytes, 10);
  while (reader.next()) {
  }
  EXPECT_FALSE(reader.next());
  return reader.problem();
}

TEST(WireReader, ErrorsNameTheByte) {
  EXPECT_EQ(problem_of("\x08\x96"sv), "byte 11: truncated number at the end");
  EXPECT_EQ(problem_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv), "byte 11: a number is longer than 64 bits");
  EXPECT_EQ(problem_of("\x12\x07\x74"sv), "byte 12: 7 bytes announced but only 1 left");
  EXPECT_EQ(problem_of("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv),
            "byte 21: 18446744073709551615 bytes announced but only 0 left");
  EXPECT_EQ(problem_of("\x08\x01\x0b"sv), "byte 12: unknown field type 3");
  EXPECT_EQ(problem_of("\x00\x01"sv), "byte 10: invalid field number");
  EXPECT_EQ(problem_of("\x0d\x01\x02"sv), "byte 11: 4 bytes announced but only 2 left");
}

TEST(WireReader, TruncatedPackedNumbersAreRejected) {
  WireReader reader("\x32\x02\x03\x8e"sv);
  const auto field = reader.next();
  ASSERT_TRUE(field);
  EXPECT_FALSE(each_varint(*field, [](std::uint64_t) {}));
}

TEST(WireReader, RoundTrips) {
  RandomStream random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.next() >> random.below(64);
    const auto number = static_cast<std::uint32_t>(1 + random.below(1000));
    fixtures::WireWriter writer;
    writer.number(number, value).text(number, "x");
    WireReader reader(writer.bytes());
    auto field = reader.next();
    ASSERT_TRUE(field);
    EXPECT_EQ(field->number, number);
    EXPECT_EQ(field->value, value);
    field = reader.next();
    ASSERT_TRUE(field);
    EXPECT_EQ(field->bytes, "x");
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.failed());
  }
}

}  // namespace
}  // namespace weft::workload

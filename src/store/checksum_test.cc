#include "store/checksum.h"

#include <gtest/gtest.h>

#include <string>

#include "store/integrity.h"

namespace weft::store {
namespace {

TEST(Checksum, PublishedVectors) {  // RFC 3720, appendix B.4
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending += static_cast<char>(i);
  EXPECT_EQ(crc32c(ascending), 0x46DD794EU);
  EXPECT_EQ(crc32c(std::string(ascending.rbegin(), ascending.rend())), 0x113FDB5CU);
}

TEST(Checksum, PartsGiveTheSameAsTheWhole) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t at = 0; at <= text.size(); ++at)
    EXPECT_EQ(crc32c(text.substr(at), crc32c(text.substr(0, at))), crc32c(text));
}

TEST(Checksum, TableAndInstructionAgree) {
  EXPECT_EQ(crc32c_by_table("123456789"), 0xE3069283U);
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(crc32c_by_table(text, 5), crc32c(text, 5)) << i;
    text += static_cast<char>(i * 37);
  }
}

TEST(Checksum, CoversKindAndSequence) {
  const std::uint32_t checksum = compute_checksum(Kind::record, 7, "bytes");
  EXPECT_EQ(compute_checksum(Kind::record, 7, "bytes"), checksum);
  EXPECT_NE(compute_checksum(Kind::record, 8, "bytes"), checksum);
  EXPECT_NE(compute_checksum(Kind::record, 7 + (std::uint64_t{1} << 32U), "bytes"), checksum);
  EXPECT_NE(compute_checksum(Kind::snapshot, 7, "bytes"), checksum);
}

}  // namespace
}  // namespace weft::store

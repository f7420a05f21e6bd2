#include "base/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace weft {
namespace {

TEST(Base64, VectorsOfRfc4648) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(encode_base64(plain), coded);
    EXPECT_EQ(decode_base64(coded), plain);
  }
  EXPECT_EQ(decode_base64("Zm9v\nYmFy\r\n"), "foobar");
  for (const char* wrong : {"Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zg==Zg==", "Zm9v!", "Zm 9v", "Zg=a"}) {
    EXPECT_EQ(decode_base64(wrong), std::nullopt) << wrong;
  }
}

TEST(Base64, UrlSafeWithoutPadding) {
  const std::vector<std::pair<std::string, std::string>> vectors = {
      {"", ""},           {"f", "Zg"},          {"fo", "Zm8"},          {"foo", "Zm9v"},
      {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xFB\xFF\xFE", "-__-"}};
  for (const auto& [plain, coded] : vectors) {
    EXPECT_EQ(encode_base64url(plain), coded);
    EXPECT_EQ(decode_base64url(coded), plain);
  }
  // RFC 7515, appendix C.
  EXPECT_EQ(encode_base64url("\x03\xEC\xFF\xE0\xC1"), "A-z_4ME");
}

TEST(Base64, UrlSafeHasOneTextPerByteString) {
  // Padding, the standard alphabet, spaces, a length that cannot be, and unused bits that are not zero.
  for (const char* wrong : {"Z", "Zm9vY", "Zg==", "Zm8=", "+//+", "Zm9v\n", "Zm 9", "Zh", "Zm9", "Zm9vYmF", "Zg\xC3"}) {
    EXPECT_EQ(decode_base64url(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(decode_base64url(std::string_view("Zm\0v", 4)), std::nullopt);
}

TEST(Base64, RandomBytesComeBack) {
  std::string bytes;
  for (unsigned i = 0; i < 300; ++i) {
    bytes += static_cast<char>(static_cast<unsigned char>(i * 167U + i / 7U));
    EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
    EXPECT_EQ(decode_base64(encode_base64(bytes)), bytes);
  }
}

}  // namespace
}  // namespace weft

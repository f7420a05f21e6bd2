#include "http/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::http {
namespace {

TEST(Fingerprint, IsReadAsOtherProgramsPrintIt) {
  const std::string plain(64, 'a');
  EXPECT_EQ(parse_fingerprint(plain), plain);
  EXPECT_EQ(parse_fingerprint("sha256:" + plain), plain);
  std::string openssl = "AA";
  for (int i = 1; i < 32; ++i) openssl += ":AA";
  EXPECT_EQ(parse_fingerprint(openssl), plain);
  for (const char* wrong : {"", "sha256:", "aa", "sha1:aa"}) EXPECT_EQ(parse_fingerprint(wrong), "") << wrong;
  EXPECT_EQ(parse_fingerprint(std::string(64, 'g')), "");
}

}  // namespace
}  // namespace weft::http

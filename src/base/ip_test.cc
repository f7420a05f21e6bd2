#include "base/ip.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace weft {
namespace {

Ipv4Prefix prefix(const char* text) {
  const Result<Ipv4Prefix> parsed = parse_ipv4_prefix(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.value_or({});
}

TEST(Ipv4, ParsesAndPrints) {
  EXPECT_EQ(parse_ipv4("10.1.2.3")->bits, 0x0A010203U);
  for (const char* text : {"0.0.0.0", "255.255.255.255", "10.0.0.1", "192.0.2.33"}) {
    EXPECT_EQ(to_text(*parse_ipv4(text)), text);
  }
}

TEST(Ipv4, RejectsOtherNotations) {
  for (const char* text : {"", "10", "10.0.0", "10.0.0.0.0", "10.0.0.256", "10.0.0.01", "010.0.0.1", "10.0.0.",
                           ".10.0.0", "10..0.1", "10.0.0.1 ", " 10.0.0.1", "0x0a.0.0.1", "10.0.0.-1", "10.0.0.1/24",
                           "10.0.0.1000", "a.b.c.d", "10,0,0,1", "::1"}) {
    const Result<Ipv4> parsed = parse_ipv4(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_input);
    EXPECT_EQ(parsed.error().message,
              "`" + std::string(text) + "` is not an IPv4 address: expected one such as 10.0.0.1");
  }
}

TEST(Ipv4Prefix, ParsesAndPrints) {
  for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "10.1.2.0/23", "10.1.2.3/32", "128.0.0.0/1"}) {
    EXPECT_EQ(to_text(prefix(text)), text);
  }
}

TEST(Ipv4Prefix, RejectsHostBitsAndNamesTheBase) {
  EXPECT_EQ(parse_ipv4_prefix("10.0.0.1/24").error().message,
            "`10.0.0.1/24` has host bits set: the prefix is 10.0.0.0/24");
  EXPECT_EQ(parse_ipv4_prefix("10.0.0.1/0").error().message, "`10.0.0.1/0` has host bits set: the prefix is 0.0.0.0/0");
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0/8",
                           "10.0.0.0/8/8", "/8", "10.0.0.0/ 8", "10.0.0.0/1000"}) {
    EXPECT_EQ(parse_ipv4_prefix(text).error().message,
              "`" + std::string(text) + "` is not an IPv4 prefix: expected one such as 10.0.0.0/16");
  }
}

TEST(Ipv4Prefix, ReportsItsSize) {
  EXPECT_EQ(prefix("0.0.0.0/0").size(), 4294967296U);
  EXPECT_EQ(prefix("10.0.0.0/24").size(), 256U);
  EXPECT_EQ(prefix("10.0.0.1/32").size(), 1U);
}

TEST(Ipv4Prefix, ContainsAndOverlaps) {
  const Ipv4Prefix ten = prefix("10.0.0.0/8");
  EXPECT_TRUE(ten.contains(*parse_ipv4("10.255.255.255")));
  EXPECT_FALSE(ten.contains(*parse_ipv4("11.0.0.0")));
  EXPECT_TRUE(ten.contains(prefix("10.1.0.0/16")));
  EXPECT_TRUE(ten.contains(ten));
  EXPECT_FALSE(ten.contains(prefix("0.0.0.0/0")));
  EXPECT_TRUE(ten.overlaps(prefix("0.0.0.0/0")));
  EXPECT_TRUE(prefix("10.1.0.0/16").overlaps(ten));
  EXPECT_FALSE(prefix("10.0.0.0/9").overlaps(prefix("10.128.0.0/9")));
  EXPECT_TRUE(prefix("0.0.0.0/0").contains(*parse_ipv4("255.255.255.255")));
}

TEST(Ipv4Prefix, CountsAddressesAndSubPrefixes) {
  EXPECT_EQ(to_text(prefix("10.0.0.0/24").at(255)), "10.0.0.255");
  EXPECT_EQ(to_text(prefix("0.0.0.0/0").at(0xFFFFFFFF)), "255.255.255.255");
  EXPECT_EQ(to_text(prefix("10.0.0.0/16").sub(24, 255)), "10.0.255.0/24");
  EXPECT_EQ(to_text(prefix("10.0.0.0/16").sub(31, 1)), "10.0.0.2/31");
  EXPECT_EQ(to_text(prefix("10.0.0.0/16").sub(16, 0)), "10.0.0.0/16");
  EXPECT_EQ(to_text(prefix("0.0.0.0/0").sub(32, 0xFFFFFFFF)), "255.255.255.255/32");
  EXPECT_EQ(to_text(prefix("0.0.0.0/0").sub(0, 0)), "0.0.0.0/0");
}

TEST(Ipv4PrefixDeathTest, RejectsIndexesOutsideThePrefix) {
  EXPECT_DEATH(static_cast<void>(prefix("10.0.0.0/24").at(256)), "outside the prefix");
  EXPECT_DEATH(static_cast<void>(prefix("10.0.0.0/24").sub(25, 2)), "outside the prefix");
  EXPECT_DEATH(static_cast<void>(prefix("10.0.0.0/24").sub(23, 0)), "at least as long");
}

struct Pair {
  const char* given;
  const char* canonical;
};

// Sections 2 and 4 of RFC 5952, and section 2.2 of RFC 4291.
TEST(Ipv6, PrintsRfc5952Form) {
  const Pair cases[] = {
      {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:0db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:db8::1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:db8::0:1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:0db8::1:0:0:1", "2001:db8::1:0:0:1"},
      {"2001:db8:0:0:1::1", "2001:db8::1:0:0:1"},
      {"2001:DB8:0:0:1::1", "2001:db8::1:0:0:1"},
      {"2001:db8:aaaa:bbbb:cccc:dddd:eeee:0001", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1"},
      {"2001:db8:0:0:0::1", "2001:db8::1"},
      {"2001:db8::0:1", "2001:db8::1"},
      {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},
      {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:db8::1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
      {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
      {"ABCD:EF01:2345:6789:ABCD:EF01:2345:6789", "abcd:ef01:2345:6789:abcd:ef01:2345:6789"},
      {"FF01:0:0:0:0:0:0:101", "ff01::101"},
      {"0:0:0:0:0:0:0:1", "::1"},
      {"0:0:0:0:0:0:0:0", "::"},
      {"::", "::"},
      {"1::", "1::"},
      {"0:0:0:0:0:0:13.1.68.3", "::d01:4403"},
      {"::FFFF:129.144.52.38", "::ffff:129.144.52.38"},
      {"::ffff:c000:201", "::ffff:192.0.2.1"},
      {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
      {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
      {"64:ff9b::192.0.2.33", "64:ff9b::c000:221"},
  };
  for (const Pair& c : cases) {
    const Result<Ipv6> parsed = parse_ipv6(c.given);
    ASSERT_TRUE(parsed.ok()) << c.given;
    EXPECT_EQ(to_text(*parsed), c.canonical) << c.given;
  }
}

TEST(Ipv6, RejectsInvalidAddresses) {
  for (const char* text : {"",
                           ":",
                           ":::",
                           "1",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1::2::3",
                           "12345::",
                           "g::",
                           "1:2:3:4:5:6:7:8::",
                           "::1:2:3:4:5:6:7:8",
                           "1:2:3:4::5:6:7:8",
                           ":1::",
                           "1:::2",
                           "1::2:",
                           "::1.2.3",
                           "::1.2.3.256",
                           "1.2.3.4::",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "fe80::1%eth0",
                           "::1 ",
                           "::/0",
                           "10.0.0.1",
                           "::1.2.3.4:5"}) {
    const Result<Ipv6> parsed = parse_ipv6(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().message,
              "`" + std::string(text) + "` is not an IPv6 address: expected one such as 2001:db8::1");
  }
}

TEST(Ipv6, ParsesWhatItPrints) {
  RandomStream random(5, "ipv6");
  for (int i = 0; i < 20000; ++i) {
    Ipv6 address;
    for (std::uint16_t& group : address.groups) {
      group =
          random.chance(0.6) ? std::uint16_t{0} : static_cast<std::uint16_t>(random.next() >> random.between(48, 63));
    }
    ASSERT_EQ(*parse_ipv6(to_text(address)), address) << to_text(address);
  }
}

TEST(Ipv6Prefix, ParsesAndPrints) {
  EXPECT_EQ(to_text(*parse_ipv6_prefix("2001:DB8:0::/48")), "2001:db8::/48");
  EXPECT_EQ(to_text(*parse_ipv6_prefix("::/0")), "::/0");
  EXPECT_EQ(to_text(*parse_ipv6_prefix("2001:db8::1/128")), "2001:db8::1/128");
  EXPECT_EQ(to_text(*parse_ipv6_prefix("fe80::/10")), "fe80::/10");
}

TEST(Ipv6Prefix, SaysWhatIsWrong) {
  EXPECT_EQ(parse_ipv6_prefix("2001:db8::1/64").error().message,
            "`2001:db8::1/64` has host bits set: the prefix is 2001:db8::/64");
  EXPECT_EQ(parse_ipv6_prefix("fec0::/9").error().message, "`fec0::/9` has host bits set: the prefix is fe80::/9");
  for (const char* text : {"", "::", "::/129", "::/", "::/1000", "10.0.0.0/8"}) {
    EXPECT_EQ(parse_ipv6_prefix(text).error().message,
              "`" + std::string(text) + "` is not an IPv6 prefix: expected one such as 2001:db8::/32");
  }
}

}  // namespace
}  // namespace weft

#include "oob/bmc/version.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::oob {
namespace {

std::string order(std::string_view a, std::string_view b) {
  const auto one = compare_versions(a, b);
  const auto other = compare_versions(b, a);
  EXPECT_EQ(one.has_value(), other.has_value()) << a << " " << b;
  if (!one) return "?";
  EXPECT_EQ(*one<0, *other> 0) << a << " " << b;
  return *one < 0 ? "<" : *one > 0 ? ">" : "=";
}

TEST(Versions, NaturalOrder) {
  EXPECT_EQ(order("1.9.2", "1.10.0"), "<");
  EXPECT_EQ(order("7.00.60.00", "7.10.30.00"), "<");  // iDRAC
  EXPECT_EQ(order("01.03.19", "1.3.19"), "=");        // Supermicro pads with zeros
  EXPECT_EQ(order("v2.14.0", "2.14.0"), "=");
  EXPECT_EQ(order("BMC-3.1", "3.2"), "<");
  EXPECT_EQ(order("2.14", "2.14.0"), "<");
  EXPECT_EQ(order("1.0a", "1.0"), ">");
  EXPECT_EQ(order("1.0-rc1", "1.0"), "<");
  EXPECT_EQ(order("1.0-rc1", "1.0-rc2"), "<");
  EXPECT_EQ(order("1.0-rc1", "1.0.1"), "<");
  EXPECT_EQ(order("2.14.0-1-g12ab", "2.14.0"), ">");
  EXPECT_EQ(order("99999999999999999999999999", "100000000000000000000000000"), "<");
}

TEST(Versions, VersionsWithoutOrderCannotBeCompared) {
  EXPECT_EQ(order("", "1.0"), "?");
  EXPECT_EQ(order("unknown", "1.0"), "?");
  EXPECT_EQ(order("20240301", "1.9.2"), "?");  // a date against a version
  EXPECT_EQ(order("1.0-custom", "1.0"), "?");
  EXPECT_EQ(order("1.beta", "1.2"), "<");
  EXPECT_EQ(order("1.custom", "1.2"), "?");
  EXPECT_EQ(order(std::string(1000, '1'), "1.0"), "?");
}

// Formats of BMCs of Dell, HPE, NVIDIA and Supermicro.
TEST(Versions, FormatsOfVendors) {
  EXPECT_EQ(order("1.20.05", "1.20.10"), "<");
  EXPECT_EQ(order("5.10.00.00", "5.10.30.00"), "<");
  EXPECT_EQ(order("U49 v2.62", "U49 v2.7"), ">");
  EXPECT_EQ(order("A42 v2.60 (08/11/2022)", "A42 v2.62 (11/01/2022)"), "<");
  EXPECT_EQ(order("HGX-22.10-1-rc44", "HGX-22.10-1-rc57"), "<");
  EXPECT_EQ(order("HGX-22.10-1-rc57", "HGX-22.10-1"), "<");
  EXPECT_EQ(order("4.10-12345", "4.10-9999"), ">");
  EXPECT_EQ(order("GB200Nvl-24.12-8", "GB200Nvl-25.01-2"), "<");
  EXPECT_EQ(order("01.03.0262.0000_n04", "01.04.0008.0000_n04"), "<");
  EXPECT_EQ(order("2.72 Sep 04 2022", "2.78 Mar 12 2023"), "<");
  EXPECT_EQ(order("2.72 Sep 04 2022", "2.72"), "=");
  EXPECT_EQ(order("11.2.0 Build 44", "11.2.0 Build 45"), "<");
  EXPECT_EQ(order("iDRAC 7.00.60.00", "7.10.30.00"), "<");
  EXPECT_EQ(order("20240301", "20240415"), "<");
}

TEST(Versions, HexadecimalFields) {
  EXPECT_EQ(order("97.00.6C.00.03", "97.00.72.00.00"), "<");
  EXPECT_EQ(order("97.00.9F.00.00", "97.00.A0.00.00"), "<");
  EXPECT_EQ(order("00.2A.2B", "00.2B.01"), "<");
  EXPECT_EQ(order("0x0b", "0x30"), "<");
  EXPECT_EQ(order("0x00 0x0b 0x03 0x04", "0x00 0x10 0x01 0x0f"), "<");
  EXPECT_EQ(order("0x30", "3.1"), "?");
  EXPECT_EQ(order("0.1C", "0.2"), "?");  // 0x1C or 1 with a letter
}

TEST(Versions, ProductsAndIdentifiersHaveNoOrder) {
  EXPECT_EQ(order("U49 v2.62", "U30 v2.5"), "?");
  EXPECT_EQ(order("HGX-22.10-1", "GB200Nvl-24.12-8"), "?");
  EXPECT_EQ(order("MPK7625Q", "MPK7525Q"), "?");
  EXPECT_EQ(order("MPK7625Q", "MPK7625Q"), "=");
  EXPECT_EQ(order("01300524", "01300610"), "?");
  EXPECT_EQ(order("2.72 Sep 04 2022", "2.72 Oct 04 2022"), "?");
}

}  // namespace
}  // namespace weft::oob

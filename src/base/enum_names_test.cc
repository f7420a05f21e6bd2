#include "base/enum_names.h"

#include <gtest/gtest.h>

#include <array>

namespace weft::enum_names_testing {

enum class Color { red, green, blue };
constexpr std::array<std::string_view, 3> kColors = {"red", "green", "blue"};
inline std::string_view to_text(Color color) { return kColors[static_cast<std::size_t>(color)]; }

TEST(EnumNames, FindsByPositionInATable) {
  EXPECT_EQ(find_enum<Color>(kColors, "red"), Color::red);
  EXPECT_EQ(find_enum<Color>(kColors, "blue"), Color::blue);
  EXPECT_EQ(find_enum<Color>(kColors, "Blue"), std::nullopt);
  EXPECT_EQ(find_enum<Color>(kColors, ""), std::nullopt);
  constexpr std::string_view kPlain[] = {"red", "green"};
  EXPECT_EQ(find_enum<Color>(kPlain, "green"), Color::green);
}

TEST(EnumNames, FindsAmongEnumeratorsByText) {
  EXPECT_EQ(find_enum({Color::red, Color::blue}, "blue"), Color::blue);
  EXPECT_EQ(find_enum({Color::red, Color::blue}, "green"), std::nullopt);
}

}  // namespace weft::enum_names_testing

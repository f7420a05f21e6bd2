#include "base/asset.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(FillTemplate, ReplacesPlaceholdersByTheirValues) {
  EXPECT_EQ(fill_template("", {}), "");
  EXPECT_EQ(fill_template("set -eu\n", {}), "set -eu\n");
  EXPECT_EQ(fill_template("@A@", {{"A", ""}}), "");
  EXPECT_EQ(fill_template("a @NAME@ and @NAME@@B_2@ end\n", {{"NAME", "x"}, {"B_2", "y"}}), "a x and xy end\n");
}

TEST(FillTemplate, LeavesOtherAtSignsUnchanged) {
  EXPECT_EQ(fill_template("\"$@\" 'slurm'@'%' @odata.id @ @@ user@host@X@", {{"X", "1"}}),
            "\"$@\" 'slurm'@'%' @odata.id @ @@ user@host1");
  EXPECT_EQ(fill_template("@", {}), "@");
}

TEST(FillTemplate, PlaceholderAloneOnItsLineExpandsToLines) {
  EXPECT_EQ(fill_template("@A@\nb\n@C@\n", {{"A", ""}, {"C", ""}}), "b\n");
  EXPECT_EQ(fill_template("a\n@B@\n\n@C@\nd", {{"B", "1\n2\n"}, {"C", "3\n"}}), "a\n1\n2\n\n3\nd");
  EXPECT_EQ(fill_template("a\n@B@", {{"B", "1"}}), "a\n1");
}

TEST(FillTemplate, DoesNotSearchValues) {
  EXPECT_EQ(fill_template("@A@ @B@", {{"A", "@B@"}, {"B", "@A@"}}), "@B@ @A@");
}

TEST(FillTemplateDeathTest, RequiresOneValuePerPlaceholder) {
  EXPECT_DEATH(static_cast<void>(fill_template("@A@", {})), "has no value");
  EXPECT_DEATH(static_cast<void>(fill_template("@A@\n", {{"A", "1"}})), "stands for lines");
  EXPECT_DEATH(static_cast<void>(fill_template("a", {{"A", "1"}})), "does not have a placeholder");
}

}  // namespace
}  // namespace weft

#include "base/source.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Sources, LocationIsEightBytes) { EXPECT_EQ(sizeof(SourceLocation), 8U); }

TEST(Sources, NumbersFilesFromOne) {
  Sources sources;
  EXPECT_EQ(sources.add("a.yaml", "x"), 1);
  EXPECT_EQ(sources.add("b.yaml", "y"), 2);
  EXPECT_EQ(sources.path(2), "b.yaml");
  EXPECT_EQ(sources.text(1), "x");
}

TEST(Sources, ReturnsNothingForUnknownFiles) {
  Sources sources;
  sources.add("a.yaml", "x\ny\n");
  EXPECT_EQ(sources.path(0), "");
  EXPECT_EQ(sources.path(9), "");
  EXPECT_EQ(sources.text(0), "");
  EXPECT_EQ(sources.line(0, 1), "");
  EXPECT_EQ(sources.line(9, 1), "");
}

TEST(Sources, SplitsLinesAtEveryLineEnd) {
  Sources sources;
  const FileId file = sources.add("a.yaml", "one\ntwo\r\n\nlast");
  EXPECT_EQ(sources.line(file, 0), "");
  EXPECT_EQ(sources.line(file, 1), "one");
  EXPECT_EQ(sources.line(file, 2), "two");
  EXPECT_EQ(sources.line(file, 3), "");
  EXPECT_EQ(sources.line(file, 4), "last");
  EXPECT_EQ(sources.line(file, 5), "");
}

TEST(Sources, DropsTheByteOrderMark) {
  Sources sources;
  const FileId file = sources.add("a.yaml", "\xEF\xBB\xBFkey: 1\n");
  EXPECT_EQ(sources.text(file), "key: 1\n");
  EXPECT_EQ(sources.line(file, 1), "key: 1");
}

TEST(Sources, DescribesLocations) {
  Sources sources;
  const FileId file = sources.add("cluster.yaml", "x");
  EXPECT_EQ(sources.describe({file, 5, 12}), "cluster.yaml:12:5");
  EXPECT_EQ(sources.describe({file, 0, 0}), "cluster.yaml");
  EXPECT_EQ(sources.describe({}), "");
}

TEST(Sources, RejectsMoreFilesThanIdentifiers) {
  Sources sources;
  for (int i = 0; i < 65535; ++i) ASSERT_EQ(sources.add("", ""), i + 1);
  EXPECT_EQ(sources.add("one too many", ""), 0);
}

TEST(Sources, OrdersLocationsAsRead) {
  EXPECT_TRUE(comes_before({1, 9, 9}, {2, 1, 1}));
  EXPECT_TRUE(comes_before({1, 9, 1}, {1, 1, 2}));
  EXPECT_TRUE(comes_before({1, 1, 1}, {1, 2, 1}));
  EXPECT_FALSE(comes_before({1, 1, 1}, {1, 1, 1}));
}

}  // namespace
}  // namespace weft

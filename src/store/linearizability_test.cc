// The checker itself: histories whose answer is known.
#include "store/linearizability.h"

#include <gtest/gtest.h>

namespace weft::store {
namespace {

using Kind = RegisterCall::Kind;

TEST(Linearizability, AcceptsWhatCanBeOrdered) {
  EXPECT_TRUE(is_linearizable({}));
  EXPECT_TRUE(is_linearizable({{Kind::write, 1, 0, 10}, {Kind::read, 1, 11, 12}}));
  EXPECT_TRUE(is_linearizable({{Kind::write, 1, 0, 10}, {Kind::read, 0, 5, 6}, {Kind::read, 1, 7, 8}}));
  EXPECT_TRUE(is_linearizable({{Kind::write, 1, 0, 10}, {Kind::write, 2, 0, 10}, {Kind::read, 1, 11, 12}}));
  // A write without an answer takes effect late, or never.
  EXPECT_TRUE(
      is_linearizable({{Kind::write, 1, 0, RegisterCall::kNever}, {Kind::read, 0, 50, 60}, {Kind::read, 1, 70, 80}}));
  EXPECT_TRUE(is_linearizable({{Kind::write, 1, 0, RegisterCall::kNever}, {Kind::read, 0, 50, 60}}));
}

TEST(Linearizability, RefusesWhatCannot) {
  EXPECT_FALSE(is_linearizable({{Kind::write, 1, 0, 10}, {Kind::read, 0, 11, 12}}));  // stale
  EXPECT_FALSE(is_linearizable({{Kind::read, 7, 0, 10}}));                            // never written
  // Back and forth.
  EXPECT_FALSE(is_linearizable({{Kind::write, 1, 0, 10}, {Kind::read, 1, 1, 2}, {Kind::read, 0, 3, 4}}));
  // Two readers see two writes in different orders.
  EXPECT_FALSE(is_linearizable({{Kind::write, 1, 0, 100},
                                {Kind::write, 2, 0, 100},
                                {Kind::read, 1, 101, 102},
                                {Kind::read, 2, 103, 104},
                                {Kind::read, 1, 105, 106}}));
  // Taken back after it was read.
  EXPECT_FALSE(
      is_linearizable({{Kind::write, 1, 0, RegisterCall::kNever}, {Kind::read, 1, 50, 60}, {Kind::read, 0, 70, 80}}));
}

}  // namespace
}  // namespace weft::store

#include "netsim/routing/link_sets.h"

#include <gtest/gtest.h>

namespace weft::netsim {
namespace {

std::vector<LinkId> links(std::uint32_t first, std::uint32_t count) {
  std::vector<LinkId> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(static_cast<LinkId>(first + i));
  return out;
}

TEST(LinkSets, EqualSetsAreStoredOnce) {
  LinkSets sets;
  const std::uint32_t a = sets.add(links(5, 3));
  const std::uint32_t b = sets.add(links(5, 4));
  EXPECT_NE(a, b);
  EXPECT_EQ(sets.add(links(5, 3)), a);
  EXPECT_EQ(sets.add(links(5, 4)), b);
}

// More than one chunk: no set is split, and none moves.
TEST(LinkSets, SetsNeverMove) {
  LinkSets sets;
  constexpr std::uint32_t kEach = LinkSets::kChunkLinks / 3 + 1;
  std::vector<std::span<const LinkId>> kept;
  for (std::uint32_t i = 0; i < 5; ++i) kept.push_back(sets.get(sets.add(links(i, kEach)), kEach));
  for (std::uint32_t i = 0; i < 5; ++i) {
    const std::vector<LinkId> expected = links(i, kEach);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), kept[i].begin(), kept[i].end()));
    EXPECT_EQ(sets.get(sets.add(expected), kEach).data(), kept[i].data());
  }
}

}  // namespace
}  // namespace weft::netsim

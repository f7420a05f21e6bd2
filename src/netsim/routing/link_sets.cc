#include "netsim/routing/link_sets.h"

#include <algorithm>

namespace weft::netsim {

namespace {

std::uint64_t hash_of(std::span<const LinkId> set) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const LinkId link : set) hash = (hash ^ model::index_of(link)) * 1099511628211ULL;
  return hash;
}

}  // namespace

LinkSets::LinkSets() : chunks_(new std::unique_ptr<LinkId[]>[kChunks]) {}

std::uint32_t LinkSets::add(std::span<const LinkId> set) {
  CHECK(set.size() <= kChunkLinks, "a set of links larger than a chunk");
  std::vector<Known>& same_hash = known_[hash_of(set)];
  for (const Known& known : same_hash) {
    const std::span<const LinkId> other = get(known.offset, known.count);
    if (std::equal(set.begin(), set.end(), other.begin(), other.end())) return known.offset;
  }
  const auto count = static_cast<std::uint32_t>(set.size());
  if (used_ % kChunkLinks + count > kChunkLinks) used_ += kChunkLinks - used_ % kChunkLinks;
  const std::uint32_t chunk = used_ / kChunkLinks;
  CHECK(chunk < kChunks, "more sets of links than memory for them");
  if (!chunks_[chunk]) chunks_[chunk] = std::make_unique<LinkId[]>(kChunkLinks);
  const std::uint32_t offset = used_;
  std::copy(set.begin(), set.end(), chunks_[chunk].get() + offset % kChunkLinks);
  used_ += count;
  same_hash.push_back({offset, count});
  return offset;
}

}  // namespace weft::netsim

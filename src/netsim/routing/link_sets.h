// Sets of links that many tables share: each distinct set is stored once, at an address that never moves. Only one
// thread may add at a time; reading needs no lock if the offset came through an acquire load or a lock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "netsim/network/network.h"

namespace weft::netsim {

class LinkSets {
 public:
  // 4 GiB of links in total: chunks are allocated when needed.
  static constexpr std::uint32_t kChunkLinks = 1U << 18U;
  static constexpr std::uint32_t kChunks = 1U << 14U;

  LinkSets();
  // Returns the offset of an equal set if there is one. At most kChunkLinks links.
  std::uint32_t add(std::span<const LinkId> set);
  [[nodiscard]] std::span<const LinkId> get(std::uint32_t offset, std::size_t count) const {
    return {chunks_[offset / kChunkLinks].get() + offset % kChunkLinks, count};
  }

 private:
  struct Known {
    std::uint32_t offset;
    std::uint32_t count;
  };
  std::unique_ptr<std::unique_ptr<LinkId[]>[]> chunks_;  // NOLINT(cppcoreguidelines-avoid-c-arrays)
  std::uint32_t used_ = 0;
  std::unordered_map<std::uint64_t, std::vector<Known>> known_;  // by hash of the members
};

}  // namespace weft::netsim

#include "netsim/flow/rings.h"

#include <algorithm>
#include <limits>

namespace weft::netsim {

namespace {

constexpr std::int64_t kMinusInfinity = std::numeric_limits<std::int64_t>::min();

// A path from the first round of member j to the last one of member q moves q - j times (around the ring any number of
// times) and waits the other rounds - 1 - (q - j) times at one of the members it passes: S(q) is the longest of them.
// For one waiting time v, with j not wrapped and P the sum of moves before j,
//   x(j) - P(j) + v j   is what a path gains from its start alone,
// so the best start in a range that slides with q is the maximum of a sliding window.
class OneWaitingTime {
 public:
  OneWaitingTime(std::span<const RingMember> ring, std::span<const std::int64_t> moves, std::uint32_t rounds,
                 std::int64_t wait)
      : ring_(ring), moves_(moves), count_(static_cast<std::int64_t>(ring.size())), steps_(rounds - 1), wait_(wait) {}

  void improve(std::vector<SimTime>& starts) {
    const std::int64_t loop_gain = moves_.back() - wait_ * count_;
    std::int64_t last = last_waiting_before_zero();
    for (std::int64_t q = 0; q < count_; ++q) {
      if (ring_[static_cast<std::size_t>(q)].send.count() == wait_) last = q;
      std::int64_t low = q - steps_;
      std::int64_t high = last;
      if (high - low >= count_) {  // one lap per starting member is enough: the farthest or the nearest
        if (loop_gain >= 0) {
          high = low + count_ - 1;
        } else {
          low = high - count_ + 1;
        }
      }
      if (low > high) continue;
      const std::int64_t best = best_start(low, high);
      const std::int64_t length = best + moves_before(q) + wait_ * (steps_ - q);
      SimTime& start = starts[static_cast<std::size_t>(q)];
      start = std::max(start, SimTime(length));
    }
  }

 private:
  // Index, not wrapped, of the last member before 0 that waits this long.
  [[nodiscard]] std::int64_t last_waiting_before_zero() const {
    for (std::int64_t i = count_ - 1; i >= 0; --i) {
      if (ring_[static_cast<std::size_t>(i)].send.count() == wait_) return i - count_;
    }
    return std::numeric_limits<std::int64_t>::min() / 2;
  }
  [[nodiscard]] std::int64_t moves_before(std::int64_t j) const {
    std::int64_t loops = j / count_;
    std::int64_t member = j % count_;
    if (member < 0) {
      member += count_;
      --loops;
    }
    return loops * moves_.back() + moves_[static_cast<std::size_t>(member)];
  }
  [[nodiscard]] std::int64_t value_at(std::int64_t j) const {
    const std::int64_t member = ((j % count_) + count_) % count_;
    return ring_[static_cast<std::size_t>(member)].first.count() - moves_before(j) + wait_ * j;
  }
  // Neither end of the range decreases from one q to the next.
  std::int64_t best_start(std::int64_t low, std::int64_t high) {
    if (next_ < low) {
      next_ = low;
      window_.clear();
      front_ = 0;
    }
    for (; next_ <= high; ++next_) {
      const std::int64_t value = value_at(next_);
      while (window_.size() > front_ && window_.back().value <= value) window_.pop_back();
      window_.push_back({next_, value});
    }
    while (window_[front_].start < low) ++front_;
    return window_[front_].value;
  }

  struct Start {
    std::int64_t start;
    std::int64_t value;
  };
  std::span<const RingMember> ring_;
  std::span<const std::int64_t> moves_;  // sums of moves before each member, and of all
  std::int64_t count_;
  std::int64_t steps_;
  std::int64_t wait_;
  std::int64_t next_ = kMinusInfinity;
  std::size_t front_ = 0;
  std::vector<Start> window_;
};

}  // namespace

std::vector<SimTime> last_starts(std::span<const RingMember> ring, std::uint32_t rounds) {
  std::vector<std::int64_t> moves(ring.size() + 1, 0);
  std::vector<std::int64_t> waits;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    moves[i + 1] = moves[i] + ring[i].move.count();
    waits.push_back(ring[i].send.count());
  }
  std::sort(waits.begin(), waits.end());
  waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  std::vector<SimTime> starts(ring.size(), SimTime(kMinusInfinity));
  for (const std::int64_t wait : waits) OneWaitingTime(ring, moves, rounds, wait).improve(starts);
  return starts;
}

std::vector<std::vector<TransferId>> rings_of(const TransferGraph& transfers) {
  std::vector<std::vector<TransferId>> rings;
  std::vector<bool> seen(transfers.size(), false);
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const auto first = static_cast<TransferId>(i);
    if (seen[i] || transfers[first].rounds < 2) continue;
    std::vector<TransferId> ring;
    bool whole = true;
    TransferId at = first;
    do {
      seen[model::index_of(at)] = true;
      ring.push_back(at);
      const std::span<const TransferId> followers = transfers.round_followers(at);
      whole = followers.size() == 1 && transfers[followers[0]].rounds == transfers[first].rounds &&
              (followers[0] == first || !seen[model::index_of(followers[0])]);
      if (whole) at = followers[0];
    } while (whole && at != first);
    if (whole) rings.push_back(std::move(ring));
  }
  return rings;
}

}  // namespace weft::netsim

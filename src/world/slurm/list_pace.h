// When Slurm's lists are requested again. A list costs slurmctld time, so lists take at most a share of the time; and
// the end of a job frees GPUs only when a list shows it, so a delay should be small beside the time for which jobs run.
// Therefore the period grows with the time since the last change: where jobs end after seconds, lists are frequent.
// Does not request anything.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/quantity.h"
#include "sched/machine/moment.h"

namespace weft::world {

class ListPace {
 public:
  struct Periods {
    Duration min;
    Duration busy;  // at most, while jobs run
    Duration idle;  // at most, otherwise
  };

  explicit ListPace(const Periods& periods) : periods_(periods) {}

  // A list showed something new, or something new was ordered.
  void note_change(sched::Moment now) { changed_at_ = now; }
  // How long a list took; 0 for one that failed, which took its deadline: the next one may come soon.
  void note_list(Duration took) { took_.at(next_++ % took_.size()) = took; }

  [[nodiscard]] Duration wait(bool busy, sched::Moment now) const {
    const Duration longest = busy ? periods_.busy : periods_.idle;
    const Duration since = std::max(now - changed_at_, Duration(0)) / kDelayFactor;
    return std::max({std::min(since, longest), periods_.min, std::min(took() * kLoadFactor, kMaxPeriod)});
  }
  // For a list that a start or an end waits for. Many share one, because where many jobs start, something waits always.
  [[nodiscard]] Duration short_wait() const {
    return std::max(periods_.min, std::min(took() * kShortLoadFactor, kMaxPeriod));
  }

 private:
  static constexpr int kDelayFactor = 8;      // an end is seen after an eighth of the time that the job ran
  static constexpr int kLoadFactor = 8;       // lists take at most an eighth of the time, slurmctld's time included
  static constexpr int kShortLoadFactor = 4;  // and a fourth where something waits for one
  static constexpr Duration kMaxPeriod = sched::seconds(20);  // silence of a minute counts as an outage

  // The shortest of the last ones: others were delayed by what else this machine did.
  [[nodiscard]] Duration took() const { return *std::min_element(took_.begin(), took_.end()); }

  Periods periods_;
  std::array<Duration, 4> took_{};
  std::size_t next_ = 0;
  sched::Moment changed_at_{};
};

}  // namespace weft::world

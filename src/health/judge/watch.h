// The state that one rule keeps about one measurement: whether its condition holds, by the last samples.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "health/core/rules.h"
#include "sched/machine/moment.h"

namespace weft::health {

// Increases of a counter over the last `per`, in a bounded number of pieces: exact to one part in 32.
class RiseWindow {
 public:
  void add(double increase, sched::Moment at, Duration per);
  // What is left of it at this time.
  [[nodiscard]] double sum(sched::Moment at, Duration per);
  [[nodiscard]] bool empty() const { return pieces_.empty(); }

 private:
  struct Piece {
    sched::Moment at;
    double increase;
  };
  std::vector<Piece> pieces_;
};

class Watch {
 public:
  explicit Watch(const Rule& rule) : rule_(&rule) {}
  Watch(Watch&&) noexcept = default;
  Watch& operator=(Watch&&) noexcept = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() = default;

  enum class Change : std::uint8_t { none, begins, ends };
  // A sample, not older than the one before. NaN says nothing.
  Change add(double value, sched::Moment at);
  [[nodiscard]] const Rule& rule() const { return *rule_; }
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  [[nodiscard]] bool test(double value, sched::Moment at);
  [[nodiscard]] bool test_rise(double value, sched::Moment at);

  const Rule* rule_;
  double last_ = 0;
  sched::Moment at_{};                  // of the last sample; Moment(): none yet
  std::unique_ptr<RiseWindow> window_;  // of `rise` with `per`, once the counter has moved
  std::uint16_t streak_ = 0;            // samples in a row that contradict holds_
  bool holds_ = false;
};

}  // namespace weft::health

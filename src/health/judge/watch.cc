#include "health/judge/watch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::health {
namespace {

constexpr std::int64_t kPieces = 32;

}  // namespace

void RiseWindow::add(double increase, sched::Moment at, Duration per) {
  const bool same = !pieces_.empty() && (at - pieces_.back().at).count() < per.count() / kPieces;
  if (same) {
    pieces_.back().increase += increase;
  } else {
    pieces_.push_back({at, increase});
  }
}

double RiseWindow::sum(sched::Moment at, Duration per) {
  const auto old = [&](const Piece& piece) { return at - piece.at >= per; };
  pieces_.erase(pieces_.begin(), std::find_if_not(pieces_.begin(), pieces_.end(), old));
  return std::accumulate(pieces_.begin(), pieces_.end(), 0.0,
                         [](double sum, const Piece& piece) { return sum + piece.increase; });
}

// A counter that went back has been reset: what it counted before is not known, so it is the new beginning.
bool Watch::test_rise(double value, sched::Moment at) {
  const double increase = value - last_;
  const Duration between = at - at_;
  if (at_ == sched::Moment() || increase < 0) {
    window_.reset();
    return false;
  }
  if (rule_->per.count() <= 0) return increase > rule_->limit;
  if (between >= rule_->per) {  // samples are rarer than the time of the rule: the mean rate between them
    const double share = static_cast<double>(rule_->per.count()) / static_cast<double>(between.count());
    return increase * share > rule_->limit;
  }
  if (increase > 0) {
    if (!window_) window_ = std::make_unique<RiseWindow>();
    window_->add(increase, at, rule_->per);
  }
  if (!window_) return false;
  const bool over = window_->sum(at, rule_->per) > rule_->limit;
  if (window_->empty()) window_.reset();
  return over;
}

bool Watch::test(double value, sched::Moment at) {
  switch (rule_->kind) {
    case ConditionKind::above:
      return value > rule_->limit;
    case ConditionKind::below:
      return value < rule_->limit;
    case ConditionKind::mask:
      return value >= 0 && value < 0x1p63 && (static_cast<std::uint64_t>(value) & rule_->mask) != 0;
    case ConditionKind::rise:
      return test_rise(value, at);
    case ConditionKind::event:
      break;
  }
  return false;
}

Watch::Change Watch::add(double value, sched::Moment at) {
  if (std::isnan(value) || (at_ != sched::Moment() && at <= at_)) return Change::none;
  const bool now = test(value, at);
  last_ = value;
  at_ = at;
  streak_ = now == holds_ ? 0 : static_cast<std::uint16_t>(std::min(streak_ + 1, 1'000));
  if (streak_ < rule_->samples) return Change::none;
  holds_ = now;
  streak_ = 0;
  return now ? Change::begins : Change::ends;
}

}  // namespace weft::health

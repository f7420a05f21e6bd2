#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/human_format.h"
#include "netsim/views/result_cells.h"
#include "workload/life/compare.h"
#include "workload/life/view_cells.h"

namespace weft::workload {
namespace {

double tokens_of(const LifeResult& life) {
  return static_cast<double>(life.global_batch) * static_cast<double>(life.sequence);
}

struct Side {
  const LifeResult& life;
  char name;
};

struct Saving {
  StepPart fast;
  StepPart slow;
  SimTime time;  // saved by the faster run
};

SimTime scaled(SimTime time, double factor) {
  return SimTime(std::llround(static_cast<double>(time.count()) * factor));
}

// Times per step, or per million tokens if the tokens per step differ.
class Explanation {
 public:
  Explanation(const Side& fast, const Side& slow) : fast_(fast), slow_(slow) {
    const double x = tokens_of(fast.life);
    const double y = tokens_of(slow.life);
    same_step_ = x == y || x <= 0 || y <= 0;
    if (!same_step_) {
      fast_factor_ = 1e6 / x;
      slow_factor_ = 1e6 / y;
    }
    for (std::size_t i = 0; i < step_parts(fast.life.parts).size(); ++i) {
      Saving one{step_parts(fast.life.parts)[i], step_parts(slow.life.parts)[i], {}};
      one.fast.time = scaled(one.fast.time, fast_factor_);
      one.slow.time = scaled(one.slow.time, slow_factor_);
      one.time = one.slow.time - one.fast.time;
      savings_.push_back(one);
    }
    std::stable_sort(savings_.begin(), savings_.end(),
                     [](const Saving& a, const Saving& b) { return a.time > b.time; });
  }

  std::string text() const {
    std::string out = opening();
    const SimTime saved = scaled(slow_.life.parts.step, slow_factor_) - scaled(fast_.life.parts.step, fast_factor_);
    if (saved.count() > 0) out += where(saved);
    out += cause();
    out += differences();
    return out;
  }

 private:
  [[nodiscard]] std::string opening() const {
    const double ratio = fast_.life.tokens_per_second / slow_.life.tokens_per_second;
    const std::string times = fmt::format("{} takes {} instead of {}", same_step_ ? "a step" : "a million tokens",
                                          format_fine_time(scaled(fast_.life.parts.step, fast_factor_)),
                                          format_fine_time(scaled(slow_.life.parts.step, slow_factor_)));
    return fmt::format("{} is {:.2f} times as fast as {} ({} tokens/s against {}): {}.", fast_.name, ratio, slow_.name,
                       format_number(fast_.life.tokens_per_second), format_number(slow_.life.tokens_per_second), times);
  }

  // The parts that save most, and the one that costs most.
  [[nodiscard]] std::string where(SimTime saved) const {
    std::string gains;
    int named = 0;
    for (const Saving& one : savings_) {
      // Less than a twentieth of the total is not an explanation.
      if (named == 3 || one.time.count() * 20 < saved.count()) break;
      gains += fmt::format("{}{} {} ({} instead of {})", named == 0 ? "" : ", ", format_time(one.time),
                           lower(one.fast.title), format_time(one.fast.time), format_time(one.slow.time));
      ++named;
    }
    std::string out;
    if (named > 0) out = fmt::format(" Of the {} saved: {}.", format_time(saved), gains);
    const Saving& worst = savings_.back();
    if (-worst.time.count() * 20 >= saved.count()) {
      out += fmt::format(" {} costs {} more.", worst.fast.title, format_time(SimTime(-worst.time.count())));
    }
    return out;
  }

  static std::string lower(std::string_view title) {
    std::string text(title);
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + ('a' - 'A'));
    return text;
  }

  // The communication whose exposed time fell most, with its differences.
  [[nodiscard]] std::string cause() const {
    const CommunicationRow* best = nullptr;
    const CommunicationRow* other = nullptr;
    SimTime most;
    for (const CommunicationRow& row : slow_.life.communication) {
      for (const CommunicationRow& match : fast_.life.communication) {
        if (match.what != row.what) continue;
        const SimTime fell = scaled(row.exposed, slow_factor_) - scaled(match.exposed, fast_factor_);
        if (fell > most) {
          most = fell;
          best = &match;
          other = &row;
        }
        break;
      }
    }
    // It must be a significant part of the difference.
    if (best == nullptr || savings_.empty() || most.count() * 4 < savings_.front().time.count()) return {};
    std::string out;
    const auto add = [&](std::string what) { out += (out.empty() ? "" : "; ") + std::move(what); };
    if (best->medium != other->medium)
      add(fmt::format("on {} instead of {}", to_text(best->medium), to_text(other->medium)));
    if (best->algorithm != other->algorithm) add(fmt::format("{} instead of {}", best->algorithm, other->algorithm));
    if (best->ranks != other->ranks) add(fmt::format("{} ranks instead of {}", best->ranks, other->ranks));
    if (best->calls != other->calls) add(fmt::format("{} calls instead of {}", best->calls, other->calls));
    if (best->bytes != other->bytes)
      add(fmt::format("{} per call instead of {}", format_bytes(best->bytes), format_bytes(other->bytes)));
    if (differ(best->bus_bandwidth, other->bus_bandwidth)) {
      add(fmt::format("{}/s bus bandwidth instead of {}/s", format_bytes(best->bus_bandwidth),
                      format_bytes(other->bus_bandwidth)));
    }
    if (differ(best->slowdown, other->slowdown)) {
      add(fmt::format("congestion slowdown x{:.2f} instead of x{:.2f}", best->slowdown, other->slowdown));
    }
    if (out.empty() && best->total == other->total) out = "more of it overlaps with compute";
    return out.empty() ? out : fmt::format(" Most of it: {} ({}).", best->what, out);
  }

  // A table shows differences from about 1 %.
  static bool differ(double a, double b) { return std::abs(a - b) > 0.01 * std::max(std::abs(a), std::abs(b)); }

  [[nodiscard]] std::string differences() const {
    std::string out;
    const LifeResult& f = fast_.life;
    const LifeResult& s = slow_.life;
    if (f.layout != s.layout) out += fmt::format(" Layout: {} instead of {}.", f.layout, s.layout);
    if (f.gpus != s.gpus && f.gpus > 0 && s.gpus > 0) {
      const double each = (f.tokens_per_second / f.gpus) / (s.tokens_per_second / s.gpus);
      out += fmt::format("It has {} GPUs instead of {}; the throughput per GPU is {:.2f} times as high.",
                         group_digits(f.gpus), group_digits(s.gpus), each);
    }
    if (f.model != s.model) out += fmt::format(" The models differ ({} and {}).", f.model, s.model);
    return out;
  }

  Side fast_;
  Side slow_;
  bool same_step_ = true;
  double fast_factor_ = 1;
  double slow_factor_ = 1;
  std::vector<Saving> savings_;  // largest first
};

}  // namespace

std::string why_faster(const LifeResult& a, const LifeResult& b) {
  if (a.tokens_per_second <= 0 || b.tokens_per_second <= 0) return "cannot compare: one of the two has no throughput";
  const double ratio = b.tokens_per_second / a.tokens_per_second;
  if (std::abs(ratio - 1) < 0.001) {
    return fmt::format("A and B are equally fast: {} and {} tokens/s.", format_number(a.tokens_per_second),
                       format_number(b.tokens_per_second));
  }
  const Side first{a, 'A'};
  const Side second{b, 'B'};
  return ratio > 1 ? Explanation(second, first).text() : Explanation(first, second).text();
}

}  // namespace weft::workload

#include "explore/candidate.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace weft::explore {
namespace {

double cost_of(const Figures& figures) { return figures.cost ? static_cast<double>(figures.cost->count()) : 0; }
double power_of(const Figures& figures) { return static_cast<double>(figures.power.count()); }

}  // namespace

std::vector<double> Candidate::days() const {
  std::vector<double> days;
  days.reserve(runs.size());
  for (const Run& run : runs) days.push_back(run.days);
  return days;
}

twin::Estimate Candidate::mean_days() const { return twin::estimate_mean(days()); }

double Candidate::mean(double Run::*figure) const {
  double sum = 0;
  for (const Run& run : runs) sum += run.*figure;
  return runs.empty() ? 0 : sum / static_cast<double>(runs.size());
}

bool is_no_larger(const Figures& a, const Figures& b, double slack) {
  return power_of(a) <= power_of(b) * (1 + slack) && cost_of(a) <= cost_of(b) * (1 + slack);
}

bool is_no_slower(const std::vector<double>& a, const std::vector<double>& b, double slack) {
  const twin::Estimate first = twin::estimate_mean(a);
  const twin::Estimate second = twin::estimate_mean(b);
  if (first.mean <= second.mean * (1 + slack)) return true;
  if (a.size() < 2 || a.size() != b.size()) return false;
  return !twin::estimate_difference(a, b).differs_from_zero() && first.half.value_or(0) <= second.half.value_or(0);
}

std::vector<std::size_t> pareto_front(const std::vector<Contender>& contenders, double slack) {
  const auto key = [&](std::size_t i) {
    return std::tuple(power_of(*contenders[i].figures), cost_of(*contenders[i].figures),
                      twin::estimate_mean(contenders[i].days).mean);
  };
  std::vector<std::size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool covered = std::any_of(front.begin(), front.end(), [&](std::size_t kept) {
      return is_no_larger(*contenders[kept].figures, *contenders[i].figures, slack) &&
             is_no_slower(contenders[kept].days, contenders[i].days, slack);
    });
    if (!covered) front.push_back(i);
  }
  return front;
}

}  // namespace weft::explore

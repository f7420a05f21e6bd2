#include "explore/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/human_format.h"
#include "design/bom.h"
#include "explore/build.h"
#include "explore/estimate.h"
#include "explore/simulate.h"
#include "twin/parallel.h"

namespace weft::explore {
namespace {

constexpr std::size_t kRound = 8;     // candidates simulated at a time: their results decide about the others
constexpr int kRefinements = 2;       // passes over the front
constexpr std::size_t kFastest = 3;   // where no design meets the goal: within the limits, and
constexpr std::size_t kSmallest = 3;  // simulated until one is in time

Error interrupted() { return {ErrorCode::unavailable, "interrupted", {}}; }

class Search {
 public:
  Search(const Question& question, const SearchHooks& hooks) : question_(question), hooks_(hooks) {}

  Result<SearchResult> run() {
    const Result<workload::ModelShape> shape = read_shape(question_);
    if (!shape.ok()) return shape.error();
    describe(*shape);
    if (Status status = build(*shape); !status.ok()) return status.error();
    if (Status status = simulate_possible(); !status.ok()) return status.error();
    std::vector<std::size_t> met = meeting();
    result_.met = !met.empty();
    if (result_.met) {
      result_.front = front_of(met, true);
      if (Status status = refine(); !status.ok()) return status.error();
    } else if (Status status = find_nearest(); !status.ok()) {
      return status.error();
    }
    return std::move(result_);
  }

 private:
  void describe(const workload::ModelShape& shape) {
    result_.goal = question_.goal;
    result_.model = shape.name.empty() ? question_.goal.model : std::string(shape.name);
    result_.parameters = workload::total_parameters(shape);
    result_.sequence = shape.sequence;
    result_.batch_tokens = question_.batch_tokens.value_or(usual_batch(result_.parameters));
    result_.limits = question_.limits;
    if (question_.prices != nullptr) result_.currency = question_.prices->currency.value;
    result_.seeds = question_.seeds;
    result_.fault_source = question_.faults.source;
  }

  void say(const std::string& stage, std::size_t done, std::size_t total) {
    if (hooks_.progress) hooks_.progress(stage, done, total);
  }
  [[nodiscard]] bool stopped() const { return hooks_.go_on && !hooks_.go_on(); }

  Status build(const workload::ModelShape& shape) {
    std::vector<std::pair<std::string, model::NetworkKind>> platforms;
    for (const std::string& gpu : question_.gpus) {
      for (const model::NetworkKind network : question_.networks) platforms.emplace_back(gpu, network);
    }
    const std::int64_t batch =
        std::max<std::int64_t>(1, result_.batch_tokens / std::max<std::int64_t>(1, shape.sequence));
    result_.platforms.resize(platforms.size());
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::size_t done = 0;
    say("designs", 0, platforms.size());
    twin::parallel_for(platforms.size(), question_.threads, [&](std::size_t i) {
      if (stop || stopped()) {
        stop = true;
        return;
      }
      result_.platforms[i] = explore_platform(question_, platforms[i].first, platforms[i].second, shape, batch);
      const std::lock_guard lock(mutex);
      say("designs", ++done, platforms.size());
    });
    if (stop) return interrupted();
    for (PlatformResult& platform : result_.platforms) {
      result_.counts.considered += platform.considered;
      result_.counts.unbuildable += platform.unbuildable;
      for (Candidate& each : platform.candidates) {
        if (question_.limits.cost && !each.figures.cost) return not_priced(each);
        result_.candidates.push_back(std::move(each));
      }
      platform.candidates.clear();
    }
    return {};
  }

  [[nodiscard]] Error not_priced(const Candidate& candidate) const {
    const Result<BuiltCandidate> built = build_candidate(question_, candidate.choice, candidate.layout, "candidate");
    std::string items;
    if (built.ok()) {
      const design::Bom bom = design::make_bom(*built->cluster, question_.prices);
      for (const std::string& item : bom.unpriced) items += (items.empty() ? "" : ", ") + item;
    }
    return {ErrorCode::invalid_input, fmt::format("the price file has no price for {}", items), {}};
  }

  // Whether a simulated candidate is as good in everything as this one could be at best.
  [[nodiscard]] bool is_dominated(const Candidate& candidate) const {
    return std::any_of(result_.candidates.begin(), result_.candidates.end(), [&](const Candidate& other) {
      return other.simulated() && &other != &candidate && is_no_larger(other.figures, candidate.figures, kSlack) &&
             is_no_slower(other.days(), {candidate.figures.optimistic_days}, kSlack);
    });
  }

  // Simulates all that are within the limits and could be in time and on the front.
  Status simulate_possible() {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < result_.candidates.size(); ++i) {
      const Figures& figures = result_.candidates[i].figures;
      if (!result_.limits.allow(figures)) {
        ++result_.counts.over_limits;
      } else if (figures.optimistic_days > result_.deadline_days()) {
        ++result_.counts.late;
      } else {
        open.push_back(i);
      }
    }
    // Those that nothing dominates at their best come first: they exclude most of the others.
    std::stable_sort(open.begin(), open.end(), [&](std::size_t a, std::size_t b) {
      return result_.candidates[a].figures.optimistic_days < result_.candidates[b].figures.optimistic_days;
    });
    const std::vector<std::size_t> first = front_of(open, false);
    std::stable_partition(open.begin(), open.end(),
                          [&](std::size_t i) { return std::find(first.begin(), first.end(), i) != first.end(); });
    while (!open.empty()) {
      std::vector<std::size_t> round;
      std::vector<std::size_t> rest;
      for (const std::size_t i : open) {
        if (is_dominated(result_.candidates[i])) {
          ++result_.counts.dominated;
        } else {
          (round.size() < kRound ? round : rest).push_back(i);
        }
      }
      if (Status status = play(round, "simulations", rest.size()); !status.ok()) return status;
      open = std::move(rest);
    }
    return {};
  }

  // The front of some candidates, by simulations or by their lower bounds.
  [[nodiscard]] std::vector<std::size_t> front_of(const std::vector<std::size_t>& among, bool simulated) const {
    std::vector<Contender> contenders;
    for (const std::size_t i : among) {
      const Candidate& each = result_.candidates[i];
      contenders.push_back(
          {&each.figures, simulated ? each.days() : std::vector<double>{each.figures.optimistic_days}});
    }
    std::vector<std::size_t> front;
    for (const std::size_t position : pareto_front(contenders, kFrontSlack)) front.push_back(among[position]);
    return front;
  }

  Status play(const std::vector<std::size_t>& positions, const std::string& stage, std::size_t left) {
    std::vector<Candidate*> candidates;
    candidates.reserve(positions.size());
    for (const std::size_t i : positions) candidates.push_back(&result_.candidates[i]);
    SimulateHooks hooks;
    hooks.go_on = hooks_.go_on;
    std::size_t done = 0;
    const std::size_t base = result_.counts.runs;
    const std::size_t total = base + (positions.size() + left) * question_.seeds.size();
    hooks.finished = [&] { say(stage, base + ++done, total); };
    if (Status status = simulate(question_, candidates, hooks); !status.ok()) return status;
    result_.counts.simulated += positions.size();
    result_.counts.runs += positions.size() * question_.seeds.size();
    return {};
  }

  [[nodiscard]] std::vector<std::size_t> meeting() const {
    std::vector<std::size_t> met;
    for (std::size_t i = 0; i < result_.candidates.size(); ++i) {
      const Candidate& each = result_.candidates[i];
      if (each.simulated() && result_.limits.allow(each.figures) && result_.in_time(each)) met.push_back(i);
    }
    return met;
  }

  // Other spares and intervals for the designs on the front, until nothing new gets there.
  Status refine() {
    std::vector<std::size_t> refined;
    for (int pass = 0; pass < kRefinements; ++pass) {
      std::vector<std::size_t> added;
      for (const std::size_t i : result_.front) {
        if (std::find(refined.begin(), refined.end(), i) != refined.end()) continue;
        refined.push_back(i);
        for (Candidate& neighbor : neighbors_of(result_.candidates[i])) {
          if (!result_.limits.allow(neighbor.figures)) continue;
          result_.candidates.push_back(std::move(neighbor));
          added.push_back(result_.candidates.size() - 1);
        }
      }
      if (added.empty()) break;
      if (Status status = play(added, "refinement", 0); !status.ok()) return status;
      result_.counts.refined += added.size();
      result_.front = front_of(meeting(), true);
    }
    return {};
  }

  [[nodiscard]] std::vector<Candidate> neighbors_of(const Candidate& candidate) const {
    std::vector<Candidate> neighbors;
    const auto add = [&](const Choice& choice, bool built) {
      const bool known = std::any_of(result_.candidates.begin(), result_.candidates.end(),
                                     [&](const Candidate& each) { return each.simulated() && each.choice == choice; });
      if (known) return;
      Candidate neighbor = candidate;
      neighbor.runs.clear();
      neighbor.choice = choice;
      if (built) {
        Result<Figures> figures = figures_of(question_, neighbor.choice, neighbor.layout);
        if (!figures.ok()) return;
        neighbor.figures = std::move(figures).value();
      } else {
        set_interval(question_, neighbor.choice, neighbor.figures);
      }
      neighbors.push_back(std::move(neighbor));
    };
    if (!question_.interval) {
      for (const Duration interval : {candidate.choice.interval / 2, candidate.choice.interval * 2}) {
        if (interval < candidate.figures.job.write * 2 || interval < sched::seconds(30)) continue;
        Choice choice = candidate.choice;
        choice.interval = round_interval(interval);
        add(choice, false);
      }
    }
    if (question_.spares) return neighbors;
    const std::vector<std::int64_t> counts =
        spare_counts(mean_nodes_out(question_.faults, question_.fault_scale, candidate.choice.nodes));
    const auto at = std::find(counts.begin(), counts.end(), candidate.choice.spares);
    for (const int step : {-1, 1}) {
      if (at == counts.end() || (step < 0 && at == counts.begin()) || (step > 0 && at + 1 == counts.end())) continue;
      Choice choice = candidate.choice;
      choice.spares = *(at + step);
      add(choice, true);
    }
    return neighbors;
  }

  // No design meets the goal: those within the limits that are fastest, and those in time that need least.
  Status find_nearest() {
    std::vector<std::size_t> slow;
    std::vector<std::size_t> large;
    for (std::size_t i = 0; i < result_.candidates.size(); ++i) {
      const Figures& figures = result_.candidates[i].figures;
      if (result_.limits.allow(figures)) slow.push_back(i);
      if (!result_.limits.allow(figures) && figures.optimistic_days <= result_.deadline_days()) large.push_back(i);
    }
    slow = front_of(slow, false);  // ascending in power, so descending in days: the last are the fastest
    if (slow.size() > kFastest) slow.erase(slow.begin(), slow.end() - static_cast<std::ptrdiff_t>(kFastest));
    result_.front = slow;
    std::erase_if(slow, [&](std::size_t i) { return result_.candidates[i].simulated(); });
    if (Status status = play(slow, "nearest designs", 0); !status.ok()) return status;
    large = front_of(large, false);
    if (large.size() > kSmallest) large.resize(kSmallest);
    for (const std::size_t i : large) {
      if (Status status = play({i}, "nearest designs", 0); !status.ok()) return status;
      result_.front.push_back(i);
      if (result_.in_time(result_.candidates[i])) break;
    }
    return {};
  }

  const Question& question_;
  const SearchHooks& hooks_;
  SearchResult result_;
};

}  // namespace

bool SearchResult::in_time(const Candidate& candidate) const { return candidate.mean_days().high() <= deadline_days(); }

std::string SearchResult::label(std::size_t position) {
  std::string text;
  for (std::size_t rest = position + 1; rest > 0; rest = (rest - 1) / 26) {
    text.insert(text.begin(), static_cast<char>('A' + (rest - 1) % 26));
  }
  return text;
}

Result<SearchResult> search(const Question& question, const SearchHooks& hooks) {
  return Search(question, hooks).run();
}

}  // namespace weft::explore

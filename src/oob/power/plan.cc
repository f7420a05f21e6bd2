#include "oob/power/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace weft::oob {
namespace {

class Planner {
 public:
  Planner(const Inventory& inventory, PowerVerb verb, std::span<const std::uint32_t> targets, const PowerStates& states,
          const PlanLimits& limits)
      : inventory_(inventory),
        targets_(targets.begin(), targets.end()),
        states_(states),
        limits_(limits),
        named_(inventory.targets().size(), false) {
    plan_.verb = verb;
    for (const std::uint32_t target : targets_) named_[target] = true;
  }

  Result<PowerPlan> make() {
    switch (plan_.verb) {
      case PowerVerb::on:
        if (Status apart = keep_apart(); !apart.ok()) return apart.error();
        leave_out_dark();
        order_for_start();
        if (limits_.stagger) keep_budgets();
        in_waves();
        break;
      case PowerVerb::cycle:
        if (Status apart = keep_apart(); !apart.ok()) return apart.error();
        leave_out_dark();
        plan_.dependents = dependents(inventory_, targets_);
        in_waves();
        break;
      case PowerVerb::reset:
        if (Status apart = keep_apart(); !apart.ok()) return apart.error();
        leave_out_dark();
        one_wave();
        break;
      case PowerVerb::off:
      case PowerVerb::soft:
        plan_.dependents = dependents(inventory_, targets_);
        leaves_first();
        break;
    }
    return std::move(plan_);
  }

 private:
  // The time from powering on a chassis or a PDU until its devices can be powered on is unknown.
  Status keep_apart() const {
    for (const std::uint32_t target : targets_) {
      for (const std::uint32_t source : power_sources(inventory_, target)) {
        if (!named_[source]) continue;
        return Error{ErrorCode::refused,
                     fmt::format("{} gets its power through {}: name them in two commands, {} first", name(target),
                                 name(source), name(source)),
                     {}};
      }
    }
    return {};
  }

  void leave_out_dark() {
    std::vector<std::uint32_t> kept;
    kept.reserve(targets_.size());
    for (const std::uint32_t target : targets_) {
      const std::vector<std::uint32_t> off = dark_by(inventory_, states_, target);
      if (off.empty()) {
        kept.push_back(target);
        continue;
      }
      const std::string names = inventory_.fold(off);
      plan_.refused.push_back({target, PlanProblem::dark,
                               fmt::format("{} {} off", names, off.size() > 1 ? "are" : "is"),
                               fmt::format("power {} on first", names)});
    }
    targets_ = std::move(kept);
  }

  // Control-plane servers come first: the others depend on them.
  void order_for_start() {
    std::stable_partition(targets_.begin(), targets_.end(),
                          [this](std::uint32_t target) { return inventory_.targets()[target].control; });
  }

  // The maximum draw of a device from one of its sources, which are indices into plan_.sources. If one of its feeds
  // fails, the others share its draw: one of two carries it in full. PDUs of one feed share that feed's part.
  struct Lean {
    std::size_t source = 0;
    Power draw{};
  };
  std::vector<Lean> leans_of(const Target& device) const {
    std::vector<Lean> found;
    const auto others = std::max<std::int64_t>(1, static_cast<std::int64_t>(device.feeds.size()) - 1);
    const Power part((device.power.count() + others - 1) / others);
    for (const int feed : device.feeds) {
      if (const auto at = feeds_.find(feed); at != feeds_.end()) found.push_back({at->second, part});
    }
    for (const std::uint32_t pdu : device.pdus) {
      const auto at = pdus_.find(pdu);
      if (at == pdus_.end()) continue;
      const std::vector<int>& feeds = inventory_.targets()[pdu].feeds;
      const std::int64_t beside = std::count_if(device.pdus.begin(), device.pdus.end(), [&](std::uint32_t other) {
        return inventory_.targets()[other].feeds == feeds;
      });
      found.push_back({at->second, Power((part.count() + beside - 1) / beside)});
    }
    return found;
  }

  void list_sources() {
    const auto allowed = [this](Power rating) { return Power(multiply_divide(rating.count(), limits_.percent, 100)); };
    for (const FeedBudget& feed : inventory_.feeds()) {
      if (feed.rating.count() <= 0) continue;
      feeds_[feed.feed] = plan_.sources.size();
      plan_.sources.push_back({fmt::format("feed {}", feed.feed), feed.rating, allowed(feed.rating), {}, {}});
    }
    for (std::uint32_t i = 0; i < inventory_.targets().size(); ++i) {
      const Target& pdu = inventory_.targets()[i];
      if (pdu.role != Role::pdu || pdu.rating.count() <= 0) continue;
      pdus_[i] = plan_.sources.size();
      plan_.sources.push_back({pdu.name, pdu.rating, allowed(pdu.rating), {}, {}});
    }
  }

  void keep_budgets() {
    list_sources();
    std::vector<bool> starts(inventory_.targets().size(), false);
    for (const std::uint32_t target : targets_) starts[target] = states_[target] != PowerState::on;
    for (std::uint32_t i = 0; i < inventory_.targets().size(); ++i) {
      if (starts[i] || states_[i] == PowerState::off || !dark_by(inventory_, states_, i).empty()) continue;
      for (const Lean& lean : leans_of(inventory_.targets()[i])) plan_.sources[lean.source].running += lean.draw;
    }
    std::vector<std::uint32_t> kept;
    kept.reserve(targets_.size());
    for (const std::uint32_t target : targets_) {
      if (!starts[target] || fits(target)) kept.push_back(target);
    }
    targets_ = std::move(kept);
    // Omit sources that the plan does not load.
    std::erase_if(plan_.sources,
                  [](const SourceLoad& source) { return source.starting.count() == 0 && !source_full(source); });
  }

  static bool source_full(const SourceLoad& source) { return source.running >= source.allowed; }

  // Reserves its draw in the budgets, or is refused.
  bool fits(std::uint32_t target) {
    const Target& device = inventory_.targets()[target];
    const std::vector<Lean> leans = leans_of(device);
    for (const Lean& lean : leans) {
      const SourceLoad& source = plan_.sources[lean.source];
      if (source.running + source.starting + lean.draw <= source.allowed) continue;
      plan_.refused.push_back({target, PlanProblem::budget,
                               fmt::format("{} has no power budget left for {}: {} of {} ({} % of {}) are in use",
                                           source.name, to_text(lean.draw), about(source.running + source.starting),
                                           about(source.allowed), limits_.percent, about(source.rating)),
                               "power off other devices first, or override the limit with --no-stagger"});
      return false;
    }
    for (const Lean& lean : leans) plan_.sources[lean.source].starting += lean.draw;
    return true;
  }

  void one_wave() {
    if (targets_.empty()) return;
    PowerWave wave;
    wave.targets = targets_;
    for (const std::uint32_t target : targets_) wave.draw += inventory_.targets()[target].power;
    plan_.waves.push_back(std::move(wave));
  }

  // First wave in which all its feeds have a free start slot.
  void in_waves() {
    if (!limits_.stagger || limits_.starts == 0) {
      one_wave();
      return;
    }
    struct Starts {
      std::vector<std::uint32_t> in_wave{};
      std::size_t first_free = 0;
    };
    std::map<int, Starts> feeds;
    for (const std::uint32_t target : targets_) {
      const Target& device = inventory_.targets()[target];
      std::vector<Starts*> on;
      for (const int feed : device.feeds) on.push_back(&feeds[feed]);
      if (on.empty()) on.push_back(&feeds[-1]);  // on no known feed: they share one
      std::size_t wave = 0;
      for (const Starts* starts : on) wave = std::max(wave, starts->first_free);
      const auto full = [&](const Starts* starts) {
        return wave < starts->in_wave.size() && starts->in_wave[wave] >= limits_.starts;
      };
      while (std::any_of(on.begin(), on.end(), full)) ++wave;
      for (Starts* starts : on) {
        if (starts->in_wave.size() <= wave) starts->in_wave.resize(wave + 1, 0);
        ++starts->in_wave[wave];
        while (starts->first_free < starts->in_wave.size() && starts->in_wave[starts->first_free] >= limits_.starts)
          ++starts->first_free;
      }
      if (plan_.waves.size() <= wave) plan_.waves.resize(wave + 1);
      plan_.waves[wave].targets.push_back(target);
      plan_.waves[wave].draw += device.power;
    }
  }

  // Dependents come before their sources.
  void leaves_first() {
    std::map<std::size_t, PowerWave, std::greater<>> by_depth;
    for (const std::uint32_t target : targets_) {
      const std::vector<std::uint32_t> sources = power_sources(inventory_, target);
      const auto depth =
          std::count_if(sources.begin(), sources.end(), [this](std::uint32_t source) { return named_[source]; });
      PowerWave& wave = by_depth[static_cast<std::size_t>(depth)];
      wave.targets.push_back(target);
      wave.draw += inventory_.targets()[target].power;
    }
    for (auto& [depth, wave] : by_depth) plan_.waves.push_back(std::move(wave));
  }

  [[nodiscard]] const std::string& name(std::uint32_t target) const { return inventory_.targets()[target].name; }

  const Inventory& inventory_;
  std::vector<std::uint32_t> targets_;
  const PowerStates& states_;
  const PlanLimits& limits_;
  std::vector<bool> named_;
  std::map<int, std::size_t> feeds_;
  std::map<std::uint32_t, std::size_t> pdus_;
  PowerPlan plan_;
};

TableSection refusals(const Inventory& inventory, const PowerPlan& plan) {
  TableSection table{"refused", "Excluded", {{"hosts", "Hosts"}, {"reason", "Reason"}, {"next", "What to do"}}, {}};
  std::map<std::pair<std::string, std::string>, std::vector<std::uint32_t>> same;
  for (const PlanRefusal& refusal : plan.refused) same[{refusal.reason, refusal.next}].push_back(refusal.target);
  for (const auto& [why, targets] : same) table.rows.push_back({inventory.fold(targets), why.first, why.second});
  return table;
}

}  // namespace

Result<PowerPlan> plan_power(const Inventory& inventory, PowerVerb verb, std::span<const std::uint32_t> targets,
                             const PowerStates& states, const PlanLimits& limits) {
  return Planner(inventory, verb, targets, states, limits).make();
}

Document plan_document(const Inventory& inventory, const PowerPlan& plan) {
  Document document;
  document.kind = "power_plan";
  const auto right = Column::Align::right;
  TableSection waves{
      "waves",
      "Waves",
      {{"wave", "Wave", right}, {"devices", "Devices", right}, {"draw_mw", "Draw", right}, {"hosts", "Hosts"}},
      {}};
  waves.rows.reserve(plan.waves.size());
  for (std::size_t i = 0; i < plan.waves.size(); ++i) {
    const PowerWave& wave = plan.waves[i];
    waves.rows.push_back({std::uint64_t{i + 1}, std::uint64_t{wave.targets.size()},
                          Cell(wave.draw.count(), about(wave.draw)), inventory.fold(wave.targets)});
  }
  document.sections.emplace_back(std::move(waves));
  if (!plan.sources.empty()) {
    TableSection sources{"sources",
                         "Feeds and PDUs",
                         {{"source", "Source"},
                          {"rating_mw", "Rating", right},
                          {"allowed_mw", "Allowed", right},
                          {"running_mw", "Running", right},
                          {"starting_mw", "Starting", right}},
                         {}};
    for (const SourceLoad& source : plan.sources) {
      sources.rows.push_back({source.name, Cell(source.rating.count(), about(source.rating)),
                              Cell(source.allowed.count(), about(source.allowed)),
                              Cell(source.running.count(), about(source.running)),
                              Cell(source.starting.count(), about(source.starting))});
    }
    document.sections.emplace_back(std::move(sources));
  }
  if (!plan.refused.empty()) document.sections.emplace_back(refusals(inventory, plan));
  if (!plan.dependents.empty()) {
    document.notes.push_back(fmt::format("dependents that also lose power: {} ({})", inventory.fold(plan.dependents),
                                         plan.dependents.size()));
  }
  return document;
}

}  // namespace weft::oob

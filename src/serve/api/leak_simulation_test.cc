// Views and events of the simulated control plane, with its faults, restarts and leases: a user of one tenant never
// sees what belongs to the other, or what operators wrote.
#include <gtest/gtest.h>

#include "base/text.h"
#include "serve/api/leak_test_support.h"
#include "world/sim/sim_plan.h"
#include "world/sim/simulation.h"

namespace weft::serve {
namespace {

using world::kSimTenants;

class Watcher {
 public:
  Watcher() {
    for (const std::string_view tenant : kSimTenants)
      users_.push_back(user_of(std::string(tenant), world::sim_user(tenant)));
  }

  std::string check_views(const control::Controller& controller, sched::Moment now) {
    if (++turns_ % kPeriod != 0) return {};
    const OutputStyle style{kFormats[turns_ / kPeriod % std::size(kFormats)]};
    for (std::size_t reader = 0; reader < users_.size(); ++reader) {
      const ViewContext context{controller, now, users_[reader]};
      for (const auto& [name, document] : all_views(context)) {
        ++views;
        if (const std::string found = find_foreign(write(document, style), reader); !found.empty())
          return fmt::format("18: view {} shows {} to {}: {}", name, found, users_[reader].user(),
                             write(document, {OutputFormat::json}));
      }
      for (const auto& [number, job] : controller.state().jobs()) {
        const bool own = job.spec->shape.tenant == kSimTenants[reader];
        if (job_view(context, number).has_value() != own)
          return fmt::format("18: job {} is shown to a stranger", number);
      }
    }
    return {};
  }

  std::string check_event(store::Sequence sequence, const control::Record& record, const control::ControlState& state) {
    for (std::size_t reader = 0; reader < users_.size(); ++reader) {
      if (!may_see_event(record, state, users_[reader])) continue;
      ++events;
      const std::string text =
          write_json_line(event_value(reduce_record(record, users_[reader]), sequence, state.machine()));
      if (const std::string found = find_foreign(text, reader); !found.empty())
        return fmt::format("18: an event shows {} to {}: {}", found, users_[reader].user(), text);
    }
    return {};
  }

  std::uint64_t views = 0;
  std::uint64_t events = 0;

 private:
  static constexpr std::uint64_t kPeriod = 251;

  static std::string find_foreign(const std::string& text, std::size_t reader) {
    for (std::size_t tenant = 0; tenant < std::size(kSimTenants); ++tenant) {
      if (tenant != reader && contains(text, kSimTenants[tenant])) return std::string(kSimTenants[tenant]);
    }
    return contains(text, world::kSimOperator) ? std::string(world::kSimOperator) : std::string();
  }

  std::vector<access::Access> users_;
  std::uint64_t turns_ = 0;
};

std::string simulate_and_watch(std::uint64_t seed, bool leases, Watcher& watcher,
                               control::Defect defect = control::Defect::none) {
  world::SimulationOptions options;
  options.defect = defect;
  options.leases = leases;
  options.watch_state = [&](const control::Controller& controller, sched::Moment now) {
    return watcher.check_views(controller, now);
  };
  options.watch_record = [&](store::Sequence sequence, const control::Record& record,
                             const control::ControlState& state) {
    return watcher.check_event(sequence, record, state);
  };
  return simulate(world::Choices(seed), options).violation;
}

TEST(LongLeak, NoTenantSeesAnothersObjectsInTheSimulation) {
  Watcher watcher;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    ASSERT_EQ(simulate_and_watch(seed, seed % 2 == 0, watcher), "") << "seed " << seed;
  EXPECT_GT(watcher.views, 1'000U);
  EXPECT_GT(watcher.events, 1'000U);
}

}  // namespace
}  // namespace weft::serve

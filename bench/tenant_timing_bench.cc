// Whether response times tell a foreign tenant's job from one that does not exist: thousands of interleaved requests in
// random order, compared by rank (Mann-Whitney), with a leaking handler as the positive control. Not a test: its result
// depends on the machine's load; src/serve/api/leak_timing_test.cc counts the work instead. Exits with 1 if a view
// leaks or the control is not noticed.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "serve/api/views.h"
#include "store/memory_store.h"
#include "world/core/control_loop.h"

namespace weft::serve {
namespace {

constexpr control::JobNumber kJobs = 20'000;
constexpr std::size_t kPairs = 4'000;
constexpr std::size_t kRepetitions = 7;
constexpr double kTolerance = 0.1;

class SilentWorld final : public world::World {
 public:
  void send(const control::Command& /*command*/, sched::Moment /*now*/) override {}
  void poll(sched::Moment /*now*/, std::vector<control::Event>& /*events*/) override {}
};

double nanoseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// The probability that a value of `a` is greater than one of `b`, ties counted as half.
double probability_greater(const std::vector<double>& a, std::vector<double> b) {
  std::sort(b.begin(), b.end());
  double sum = 0;
  for (const double value : a) {
    const auto [low, high] = std::equal_range(b.begin(), b.end(), value);
    sum += static_cast<double>(low - b.begin()) + 0.5 * static_cast<double>(high - low);
  }
  return sum / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

using Handler = std::function<void(control::JobNumber)>;

// Median over the repetitions of P(foreign slower than absent).
double compare(const Handler& handler) {
  std::vector<double> results;
  RandomStream random(1, "timing");
  for (std::size_t repetition = 0; repetition < kRepetitions; ++repetition) {
    std::vector<double> foreign;
    std::vector<double> absent;
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      const control::JobNumber number = 1 + random.below(kJobs);
      const bool first = random.below(2) == 0;
      for (const bool is_foreign : {first, !first}) {
        const double took = nanoseconds([&] { handler(is_foreign ? number : number + kJobs); });
        (is_foreign ? foreign : absent).push_back(took);
      }
    }
    results.push_back(probability_greater(foreign, std::move(absent)));
  }
  std::nth_element(results.begin(), results.begin() + kRepetitions / 2, results.end());
  return results[kRepetitions / 2];
}

std::unique_ptr<world::ControlLoop> fill(store::MemoryStore& store, SilentWorld& world) {
  sched::NodeShape shape;
  shape.name = "n0";
  shape.gpus = 8;
  auto machine = std::make_shared<const sched::Machine>(*sched::Machine::build({shape}, {{}}, {}, {"all"}));
  auto opened = world::ControlLoop::open(machine, {}, store, world);
  CHECK(opened.ok(), "an empty journal can be read");
  world::TurnResult result;
  CHECK((*opened)->begin(sched::Moment(1), result).ok(), "an empty journal can be continued");
  std::vector<control::Request> requests(kJobs);
  for (control::JobNumber n = 0; n < kJobs; ++n) {
    control::Request& request = requests[n];
    request.user = "alice";
    request.spec.command = {"/bin/true"};
    request.spec.shape.name = fmt::format("training-of-a-secret-model-{}", n);
    request.spec.shape.user = "alice";
    request.spec.shape.tenant = "research";
    request.spec.shape.task.gpus = 1;
  }
  CHECK((*opened)->turn(sched::Moment(2), std::move(requests), true, result).ok(), "jobs can be submitted");
  return std::move(*opened);
}

int run() {
  store::MemoryStore store;
  SilentWorld world;
  const std::unique_ptr<world::ControlLoop> loop = fill(store, world);
  const access::Access bob("bob", {{access::Role::user, "sales"}});
  const access::Access admin("root", {{access::Role::administer, {}}});
  const ViewContext context{loop->controller(), sched::Moment(3), bob};
  const ViewContext everything{loop->controller(), sched::Moment(3), admin};
  int problems = 0;
  const auto report = [&](std::string_view name, double p, bool may_differ) {
    const bool differs = p < 0.5 - kTolerance || p > 0.5 + kTolerance;
    fmt::print("{:<28} P(foreign slower than absent) = {:.3f}{}\n", name, p,
               differs != may_differ ? "  UNEXPECTED" : "");
    problems += differs != may_differ ? 1 : 0;
  };
  report("job", compare([&](control::JobNumber number) { (void)job_view(context, number); }), false);
  report("why", compare([&](control::JobNumber number) { (void)why_view(context, number); }), false);
  report("positive control", compare([&](control::JobNumber number) {
           const std::optional<Document> document = job_view(everything, number);  // looks first, decides then
           (void)find_visible(loop->controller().state(), bob, number);
         }),
         true);
  return problems == 0 ? 0 : 1;
}

}  // namespace
}  // namespace weft::serve

int main() { return weft::serve::run(); }

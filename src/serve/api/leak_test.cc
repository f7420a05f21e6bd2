// Users learn nothing of other tenants: no name, number or text of them in any view, event or format, and nothing that
// depends on what they do not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"
#include "serve/api/leak_test_support.h"
#include "serve/api/observed_views.h"

namespace weft::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kTenants[] = {"zq7red", "zq7green", "zq7blue"};
constexpr std::string_view kOperator = "zq7op";

std::vector<sched::TenantPolicy> policies() {
  const auto gpus = [](std::int64_t count) {
    return sched::Amounts{count * sched::kWholeGpu, sched::kNoLimit, sched::kNoLimit};
  };
  return {{"zq7red", "all", gpus(8), gpus(16), gpus(8), 1},
          {"zq7green", "all", gpus(16), gpus(8), gpus(16), 1},
          {"zq7blue", "all", gpus(24), gpus(0), gpus(24), 2}};
}

std::string user_name(std::string_view tenant, std::uint64_t user) { return fmt::format("{}-user{}", tenant, user); }

// Random work of all tenants and of an operator, whose reasons name tenants.
class RandomWork {
 public:
  RandomWork(TenantLab& lab, std::uint64_t seed) : lab_(lab), random_(seed, "leak") {}

  void step() {
    std::vector<control::Request> requests;
    const std::uint64_t count = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < count; ++i) add(requests);
    (void)lab_.turn(std::move(requests));
  }

 private:
  void add(std::vector<control::Request>& requests) {
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return requests.push_back(submission());
      case 4:
        return finish();
      case 5:
        return change(requests, control::RequestKind::cancel);
      case 6:
        return change(requests, random_.below(2) == 0 ? control::RequestKind::hold : control::RequestKind::release);
      case 7:
        return drain(requests);
      case 8:
        return reserve(requests);
      default:
        lab_.world.health[random_.below(lab_.world.health.size())] =
            random_.below(3) == 0 ? control::Health::fatal : control::Health::healthy;
    }
  }

  control::Request submission() {
    const std::string_view tenant = kTenants[random_.below(3)];
    const Duration limit = random_.below(3) == 0 ? sched::kUnlimited
                                                 : sched::seconds(static_cast<std::int64_t>(100 + random_.below(4000)));
    const std::uint64_t user = random_.below(2);
    const auto tasks = static_cast<std::int32_t>(1 + random_.below(3));
    const auto gpus = static_cast<std::int32_t>(1U << random_.below(4));
    control::Request request = TenantLab::submission(std::string(tenant), user_name(tenant, user),
                                                     fmt::format("{}-job{}", tenant, ++jobs_), tasks, gpus, limit);
    request.spec.shape.priority = static_cast<std::int32_t>(random_.below(4));
    request.key = fmt::format("{}-key{}", tenant, jobs_);
    return request;
  }

  void finish() {
    if (lab_.world.running.empty()) return;
    auto chosen = lab_.world.running.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(lab_.world.running.size())));
    lab_.world.finish(chosen->first, lab_.now());
  }

  // By its user.
  void change(std::vector<control::Request>& requests, control::RequestKind kind) {
    if (lab_.state().jobs().empty()) return;
    auto chosen = lab_.state().jobs().begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(lab_.state().jobs().size())));
    control::Request& request = requests.emplace_back();
    request.kind = kind;
    request.job = chosen->first;
    request.user = chosen->second.user;
    request.reason = chosen->second.spec->shape.tenant + "-reason";
  }

  void drain(std::vector<control::Request>& requests) {
    control::Request& request = requests.emplace_back();
    constexpr control::RequestKind kinds[] = {control::RequestKind::drain, control::RequestKind::resume,
                                              control::RequestKind::confirm_off};
    request.kind = kinds[random_.below(7) < 3 ? 0 : random_.below(4) < 3 ? 1 : 2];
    request.node = sched::NodeId{static_cast<std::uint32_t>(random_.below(lab_.state().node_count()))};
    sign(request);
  }

  void reserve(std::vector<control::Request>& requests) {
    control::Request& request = requests.emplace_back();
    request.name = fmt::format("maintenance{}", random_.below(3));
    request.kind = random_.below(3) == 0 ? control::RequestKind::unreserve : control::RequestKind::reserve;
    request.nodes = {sched::NodeId{static_cast<std::uint32_t>(random_.below(lab_.state().node_count()))}};
    request.from = lab_.now() + sched::seconds(static_cast<std::int64_t>(random_.below(30)));
    request.until = request.from + sched::seconds(30);
    sign(request);
  }

  void sign(control::Request& request) {
    request.user = kOperator;
    request.reason = fmt::format("{}: job of {}", kOperator, user_name(kTenants[random_.below(3)], 0));
  }

  TenantLab& lab_;
  RandomStream random_;
  std::uint64_t jobs_ = 0;
};

// The tenants and people that `text` names and that the reader may not know.
std::string find_foreign(const std::string& text, std::string_view own) {
  for (const std::string_view tenant : kTenants) {
    if (tenant != own && contains(text, tenant)) return std::string(tenant);
  }
  return contains(text, kOperator) ? std::string(kOperator) : std::string();
}

// Numbers of jobs in the node tables are those that the reader sees.
void expect_own_jobs(const Document& document, const ViewContext& context) {
  for (const auto& section : document.sections) {
    const auto* table = std::get_if<TableSection>(&section);
    if (table == nullptr || table->key != "nodes") continue;
    for (const auto& row : table->rows) {
      const auto* jobs = std::get_if<std::string>(&row[6].value);
      if (jobs == nullptr || jobs->empty()) continue;
      for (const std::string_view job : split(*jobs, ',')) {
        const std::uint64_t number = std::strtoull(std::string(job).c_str(), nullptr, 10);
        EXPECT_TRUE(find_visible(context.controller.state(), context.access, number).exists()) << *jobs;
      }
    }
  }
}

TEST(LeakTest, NoViewAndNoEventNamesAnotherTenant) {
  std::set<std::string> names_everyone;  // views that would leak if they showed everything
  std::size_t foreign = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    TenantLab lab(6, policies());
    RandomWork work(lab, seed);
    store::Sequence sent[4] = {};
    for (std::size_t step = 0; step < 40; ++step) {
      work.step();
      const OutputStyle style{kFormats[step % std::size(kFormats)]};
      const access::Access admin = administrator();
      for (const auto& [name, document] : all_views(lab.view(admin))) {
        if (!find_foreign(write(document, style), "zq7red").empty()) names_everyone.insert(name);
      }
      if (!find_foreign(lab.events(admin, sent[3]), "zq7red").empty()) names_everyone.insert("events");
      for (std::size_t t = 0; t < std::size(kTenants); ++t) {
        const std::string_view tenant = kTenants[t];
        const access::Access access = user_of(std::string(tenant), user_name(tenant, step % 2));
        const ViewContext context = lab.view(access);
        for (const auto& [name, document] : all_views(context)) {
          const std::string text = write(document, style);
          ASSERT_EQ(find_foreign(text, tenant), "") << name << " of seed " << seed << "\n" << text;
          expect_own_jobs(document, context);
        }
        const std::string events = lab.events(access, sent[t]);
        ASSERT_EQ(find_foreign(events, tenant), "") << "seed " << seed << "\n" << events;
        for (const auto& [number, job] : lab.state().jobs()) {
          if (job.spec->shape.tenant == tenant) continue;
          ++foreign;
          ASSERT_FALSE(job_view(context, number) || why_view(context, number));
        }
        for (const control::EndedJob& job : lab.state().ended()) {
          ASSERT_EQ(job_view(context, job.number).has_value(), job.tenant == tenant);
        }
      }
    }
  }
  EXPECT_GT(foreign, 200U);
  for (const char* view :
       {"jobs", "jobs?all", "job", "why", "nodes", "node", "reservations", "queue", "queue?limit=1", "events"}) {
    EXPECT_TRUE(names_everyone.contains(view)) << view << ": the test would not notice that it shows everything";
  }
}

TEST(LeakTest, WithoutARoleThereIsNothingToSee) {
  TenantLab lab(2, policies());
  (void)lab.turn({TenantLab::submission("zq7red", "zq7red-user0", "zq7red-job", 1, 8, sched::seconds(100))});
  lab.turn();
  const access::Access no_roles("zq7red-user0", {});
  for (const auto& [name, document] : all_views(lab.view(no_roles)))
    EXPECT_EQ(find_foreign(write(document, {}), ""), "") << name;
  store::Sequence sent = 0;
  EXPECT_EQ(lab.events(no_roles, sent), "");
}

// What `zq7red` sees while `other` fills two nodes: with one job on the first and two on the second, or the reverse.
std::string what_red_sees(const std::string& other, bool reverse) {
  std::vector<sched::TenantPolicy> tenants = policies();
  tenants[0].quota = sched::kNoLimits;
  tenants[1].name = other;
  TenantLab lab(4, tenants);
  const access::Access red = user_of("zq7red", "zq7red-user0");
  std::string seen;
  store::Sequence sent = 0;
  std::uint64_t format = 0;
  const auto look = [&](std::vector<control::Request> requests) {
    (void)lab.turn(std::move(requests));
    for (const auto& [name, document] : all_views(lab.view(red)))
      seen += name + "\n" + write(document, {kFormats[format++ % std::size(kFormats)]});
    seen += lab.events(red, sent);
  };
  const auto job = [](const std::string& tenant, const std::string& name, std::int32_t tasks, std::int32_t gpus) {
    return TenantLab::submission(tenant, tenant + "-user0", tenant + name, tasks, gpus, sched::seconds(3600));
  };
  look({job("zq7red", "-a", 1, 8)});
  if (reverse) {
    look({job(other, "-b", 1, 4), job(other, "-c", 1, 4), job(other, "-d", 1, 8)});
  } else {
    look({job(other, "-b", 1, 8), job(other, "-c", 1, 4), job(other, "-d", 1, 4)});
  }
  for (int i = 0; i < 3; ++i) look({});
  look({job(other, "-waits", 2, 8)});
  look({job("zq7red", "-wide", 3, 8)});
  look({job("zq7red", "-small", 1, 8)});
  control::Request drain;
  drain.kind = control::RequestKind::drain;
  drain.node = sched::NodeId{2};
  drain.user = other + "-admin";
  drain.reason = other;
  look({drain});
  for (int i = 0; i < 3; ++i) look({});
  const std::set<control::AttemptName> ends = [&] {
    std::set<control::AttemptName> names;
    for (const auto& [name, nodes] : lab.world.running) {
      if (lab.state().find_job(name.job)->spec->shape.tenant == other) names.insert(name);
    }
    return names;
  }();
  EXPECT_GE(ends.size(), 3U);
  for (const control::AttemptName name : ends) lab.world.finish(name, lab.now());
  for (int i = 0; i < 4; ++i) look({});
  EXPECT_THAT(seen, HasSubstr("a job of another tenant"));
  EXPECT_THAT(seen, HasSubstr("zq7red-wide"));
  return seen;
}

TEST(LeakTest, NothingDependsOnWhatOthersAreCalledOrHowTheyShareNodes) {
  const std::string seen = what_red_sees("zq7green", false);
  EXPECT_EQ(what_red_sees("another", false), seen);
  EXPECT_EQ(what_red_sees("zq7green", true), seen);
}

TEST(LeakTest, EventsOfForgottenJobsAreForThoseWhoSeeEverything) {
  TenantLab lab(2, policies());
  control::Record record;
  record.kind = control::RecordKind::job_ended;
  record.job = 4711;
  EXPECT_FALSE(may_see_event(record, lab.state(), user_of("zq7red", "zq7red-user0")));
  EXPECT_TRUE(may_see_event(record, lab.state(), administrator()));
  record.job = 0;
  for (std::uint8_t kind = 0; kind < control::kRecordKinds; ++kind) {
    record.kind = static_cast<control::RecordKind>(kind);
    record.user = record.text = record.note = "zq7blue";
    const access::Access red = user_of("zq7red", "zq7red-user0");
    if (!may_see_event(record, lab.state(), red)) continue;
    const std::string event = write_json_line(event_value(reduce_record(record, red), 1, *lab.machine));
    EXPECT_THAT(event, Not(HasSubstr("zq7blue")));
  }
}

world::ObservedJob observed_job(const std::string& id, const std::string& tenant, world::ObservedPhase phase) {
  world::ObservedJob job;
  job.id = id;
  job.name = tenant + "-job";
  job.user = tenant + "-user0";
  job.account = tenant;
  job.queue = "batch";
  job.state = phase == world::ObservedPhase::running ? "running" : "pending";
  job.phase = phase;
  job.wait = world::WaitKind::priority;
  job.reason = "Priority";
  job.reason_text = tenant + " waits";
  job.node_count = job.cpus = 1;
  job.gpus = job.gpus_per_node = 8;
  if (phase == world::ObservedPhase::running) job.nodes = "n00";
  return job;
}

TEST(LeakTest, WatchModeShowsOnlyTheJobsOfOnesAccount) {
  for (const char* engine : {"Slurm", "Kubernetes"}) {
    std::vector<world::ObservedJob> jobs = {observed_job("901", "zq7blue", world::ObservedPhase::running),
                                            observed_job("902", "zq7blue", world::ObservedPhase::waiting),
                                            observed_job("903", "zq7red", world::ObservedPhase::waiting),
                                            observed_job("904", "zq7red", world::ObservedPhase::waiting)};
    jobs[1].priority = 9;
    jobs[3].wait = world::WaitKind::dependency;
    jobs[3].dependency = "afterok:901";
    const bool has_namespaces = std::string_view(engine) == "Kubernetes";
    if (has_namespaces) {
      for (world::ObservedJob& job : jobs) job.queue = std::exchange(job.account, "zq7red");  // an owner of any name
    }
    world::ObservedNode node;
    node.name = "n00";
    node.state = "mixed";
    node.gpus = node.gpus_used = 8;
    node.cpus = 8;
    node.queues = {"batch"};
    node.out_of_service = "drained by zq7op: zq7blue";
    world::Observation observation;
    observation.cluster = world::make_observed(engine, sched::Moment(sched::seconds(5).count()), jobs, {node});
    TenantLab lab(1, policies());
    const access::Access red = user_of("zq7red", "zq7red-user0");
    ViewContext context = lab.view(red);
    context.observed = &observation;
    std::vector<Document> documents = {observed_jobs_view(context, {}), observed_queue_view(context, 20),
                                       nodes_view(context), node_view(context, sched::NodeId{0})};
    for (const char* id : {"901", "902", "999"}) {
      EXPECT_FALSE(observed_job_view(context, id)) << id;
      EXPECT_FALSE(observed_why_view(context, id)) << id;
    }
    for (const char* id : {"903", "904"}) {
      documents.push_back(*observed_job_view(context, id));
      documents.push_back(*observed_why_view(context, id));
    }
    for (const Document& document : documents) {
      const std::string text = write(document, {OutputFormat::json});
      EXPECT_EQ(find_foreign(text, "zq7red"), "") << text;
      EXPECT_THAT(text, Not(HasSubstr("902"))) << engine;
      EXPECT_THAT(replace_all(text, "afterok:901", ""), Not(HasSubstr("901"))) << engine;
    }
    EXPECT_THAT(write(documents[0], {}), HasSubstr("903"));
    if (!has_namespaces) {  // there, only jobs of the same namespace compete
      EXPECT_THAT(write(*observed_why_view(context, "903"), {}), HasSubstr("a job of another tenant"));
    }
    const access::Access admin = administrator();
    ViewContext everything = lab.view(admin);
    everything.observed = &observation;
    EXPECT_THAT(write(observed_jobs_view(everything, {}), {}), HasSubstr("901"));
    EXPECT_THAT(write(nodes_view(everything), {}), HasSubstr("901"));
  }
}

}  // namespace
}  // namespace weft::serve

// Every view as JSON against the shape of its answer: no member is missing there, none has another type, and none that
// the shape requires is absent.
#include "serve/api/answer_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "access/audit/view.h"
#include "serve/api/leak_test_support.h"
#include "serve/api/observed_views.h"
#include "serve/table/route.h"

namespace weft::serve {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;

bool fits(const json& value, MemberTypes types) {
  if (value.is_null()) return types.has(MemberType::absent);
  if (value.is_string()) return types.has(MemberType::text);
  if (value.is_boolean()) return types.has(MemberType::boolean);
  if (value.is_number_integer()) return types.has(MemberType::integer) || types.has(MemberType::number);
  return value.is_number_float() && types.has(MemberType::number);
}

class ShapeCheck {
 public:
  void check(std::string_view name, const Document& document) {
    check_json(name, json::parse(write(document, {OutputFormat::json, false})));
  }

  void check_json(std::string_view name, const json& value) {
    const AnswerShape* shape = find_shape(answer_shapes(), name);
    if (shape == nullptr) return fail(name, "has no shape");
    const std::string kind = value["kind"];
    if (std::find(shape->kinds.begin(), shape->kinds.end(), kind) == shape->kinds.end()) fail(name, "kind " + kind);
    std::set<std::string> known = {"schema_version", "kind", "notes"};
    for (const SectionShape& section : shape->sections) {
      known.emplace(section.key);
      const std::string place = std::string(name) + "/" + std::string(section.key);
      if (!value.contains(section.key)) {
        if (!section.is_optional) fail(place, "is missing");
        continue;
      }
      const json& given = value[std::string(section.key)];
      if (given.is_array() != section.is_table) fail(place, "is a table in one, and not in the other");
      for (const json& object : given.is_array() ? given : json::array({given})) check_object(place, section, object);
    }
    for (const auto& [key, section] : value.items()) {
      if (!known.contains(key)) fail(std::string(name) + "/" + key, "is not in the shape");
    }
  }

  void check_object(const std::string& place, const SectionShape& section, const json& object) {
    std::set<std::string> known;
    for (const MemberShape& member : section.members) {
      known.emplace(member.key);
      const std::string at = place + "/" + std::string(member.key);
      if (!object.contains(member.key)) {
        if (!member.is_optional) fail(at, "is missing");
      } else if (!fits(object[std::string(member.key)], member.types)) {
        fail(at, "has another type: " + object[std::string(member.key)].dump());
      } else {
        seen.insert(at);
      }
    }
    for (const auto& [key, value] : object.items()) {
      if (!known.contains(key)) fail(place + "/" + key, "is not in the shape");
    }
  }

  std::set<std::string> problems;
  std::set<std::string> seen;

 private:
  void fail(std::string_view place, const std::string& what) { problems.insert(std::string(place) + " " + what); }
};

control::Request request_of(control::RequestKind kind) {
  control::Request request;
  request.kind = kind;
  request.user = "ada";
  request.reason = "PFC storm";
  return request;
}

TEST(AnswerShapes, FitTheViews) {
  std::vector<sched::TenantPolicy> tenants(2);
  tenants[0].name = "red";
  tenants[1].name = "blue";
  TenantLab lab(8, std::move(tenants));
  ShapeCheck check;
  const std::vector<access::Access> readers = {
      administrator(), user_of("red", "ann"), {"eve", {{access::Role::viewer, {}}}}};
  const auto look = [&] {
    for (const access::Access& reader : readers) {
      for (const auto& [name, document] : all_views(lab.view(reader)))
        check.check(name.substr(0, name.find('?')), document);
      std::vector<std::string> events;
      const Status read = lab.store.read(1, [&](const store::Entry& entry) -> Status {
        const Result<control::Record> record = control::parse_record(entry.bytes);
        if (record.ok() && may_see_event(*record, lab.state(), reader)) {
          check.check_object("events", find_shape(answer_shapes(), "events")->sections.front(),
                             json::parse(write_json_line(event_value(*record, entry.sequence, *lab.machine))));
        }
        return {};
      });
      EXPECT_TRUE(read.ok());
    }
  };
  look();
  std::vector<control::Request> jobs;
  jobs.push_back(TenantLab::submission("red", "ann", "first", 4, 8, sched::seconds(600)));
  jobs.push_back(TenantLab::submission("blue", "bob", "second", 3, 8, sched::kUnlimited));
  jobs.push_back(TenantLab::submission("red", "ann", "third", 8, 8, sched::seconds(900)));
  jobs.push_back(TenantLab::submission("blue", "bob", "fourth", 2, 4, sched::seconds(300)));
  jobs.back().spec.checkpoint.volumes = {"/scratch/checkpoints"};
  lab.turn(std::move(jobs));
  for (int i = 0; i < 3; ++i) lab.turn();
  look();
  control::Request drain = request_of(control::RequestKind::drain);
  drain.node = sched::NodeId{7};
  control::Request hold = request_of(control::RequestKind::hold);
  hold.job = 3;
  control::Request reserve = request_of(control::RequestKind::reserve);
  reserve.name = "firmware";
  reserve.nodes = {sched::NodeId{6}};
  reserve.from = lab.now() + sched::seconds(3600);
  reserve.until = reserve.from + sched::seconds(3600);
  control::Request cancel = request_of(control::RequestKind::cancel);
  cancel.job = 1;
  lab.turn({drain, hold, reserve, cancel});
  lab.world.health[5] = control::Health::fatal;
  for (int i = 0; i < 5; ++i) {
    lab.turn();
    look();
  }
  EXPECT_THAT(check.problems, IsEmpty());
  // The views above had rows.
  for (const char* place : {"jobs/jobs/tenant", "job/job/running_since", "job/parts/node", "why/waits_on/job",
                            "why/places/level", "node/node/drained_by", "reservations/reservations/user",
                            "queue/queue/expected_s", "server/server/sequence", "events/node"}) {
    EXPECT_TRUE(check.seen.contains(place)) << place;
  }
}

TEST(AnswerShapes, FitTheViewsOfWatchMode) {
  TenantLab lab(4, {});
  ShapeCheck check;
  for (const char* engine : {"Slurm", "Kubernetes"}) {
    std::vector<world::ObservedJob> jobs(4);
    std::vector<world::ObservedNode> nodes(1);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      world::ObservedJob& job = jobs[i];
      job.id = std::to_string(i + 1);
      job.name = "train";
      job.user = "ann";
      job.account = job.queue = "red";
      job.state = "pending";
      job.reason = "Resources";
      job.phase = i == 0   ? world::ObservedPhase::running
                  : i == 1 ? world::ObservedPhase::ended
                           : world::ObservedPhase::waiting;
      job.priority = 100 - i;
      job.submitted = 1'760'000'000;
      job.started = i < 2 ? 1'760'000'010 : 0;
      job.ends = 1'760'009'000;
      job.limit = i == 2 ? 0 : 9000;
      job.node_count = 1;
      job.gpus = 8;
    }
    jobs[2].wait = world::WaitKind::resources;
    jobs[2].reason_text = "waits for nodes";
    jobs[2].required_nodes = "n01";
    jobs[2].excluded_nodes = "n02";
    jobs[2].dependency = "afterok:1";
    jobs[0].nodes = "n00";
    nodes[0].name = "n00";
    nodes[0].state = "down";
    nodes[0].out_of_service = "drained by root: bad DIMM";
    nodes[0].queues = {"red"};
    nodes[0].gpus = 8;
    world::Observation observation{world::make_observed(engine, lab.now(), jobs, nodes), "connection refused"};
    const std::vector<access::Access> readers = {administrator(), user_of("red", "ann")};
    for (const access::Access& reader : readers) {
      const ViewContext context{lab.loop->controller(), lab.now(), reader, &observation};
      JobFilter all;
      all.ended = true;
      check.check("jobs", observed_jobs_view(context, all));
      check.check("queue", observed_queue_view(context, 20));
      for (const char* id : {"1", "2", "3", "4"}) {
        check.check("job", observed_job_view(context, id).value());
        check.check("why", observed_why_view(context, id).value());
      }
      check.check("nodes", nodes_view(context));
      check.check("node", node_view(context, sched::NodeId{0}));
      check.check("server", server_view(context, {}));
    }
  }
  EXPECT_THAT(check.problems, IsEmpty());
  for (const char* place : {"jobs/jobs/partition", "jobs/jobs/namespace", "job/job/ended", "why/job/engine_reason",
                            "why/ahead/job", "queue/partitions/partition", "server/server/engine_problem"}) {
    EXPECT_TRUE(check.seen.contains(place)) << place;
  }
}

TEST(AnswerShapes, FitTheLeases) {
  const TenantLab lab(2, {});
  EagerWorld world(2);
  store::MemoryStore store;
  control::ControllerOptions options;
  options.engines = {lease::LeaseOwner::slurm, lease::LeaseOwner::kubernetes};
  auto loop = world::ControlLoop::open(lab.machine, std::move(options), store, world);
  ASSERT_TRUE(loop.ok());
  world::TurnResult result;
  ASSERT_TRUE((*loop)->begin(lab.now(), result).ok());
  control::Request move = request_of(control::RequestKind::move_lease);
  move.nodes = {sched::NodeId{1}};
  move.engine = lease::LeaseOwner::kubernetes;
  ShapeCheck check;
  for (int i = 1; i < 6; ++i) {
    std::vector<control::Request> requests;
    if (i == 3) requests.push_back(move);
    ASSERT_TRUE((*loop)->turn(lab.now() + sched::seconds(i), std::move(requests), true, result).ok());
    for (const access::Access& reader : {administrator(), user_of("red", "ann")}) {
      const ViewContext context{(*loop)->controller(), lab.now() + sched::seconds(i), reader};
      check.check("leases", leases_view(context));
      for (std::uint32_t n = 0; n < 2; ++n) check.check("lease", lease_view(context, sched::NodeId{n}));
    }
  }
  EXPECT_THAT(check.problems, IsEmpty());
  EXPECT_TRUE(check.seen.contains("lease/lease/waits"));
}

TEST(AnswerShapes, FitTheAuditLog) {
  access::AuditPage page;
  access::AuditRecord record;
  record.number = 7;
  page.entries = {record};
  ShapeCheck check;
  check.check("audit", access::audit_view(page));
  record.object = record.actor = record.method = record.credential = record.address = record.reason = "x";
  record.members = record.evidence = Value::map().set("a", 1);
  record.status = 200;
  record.body_bytes = 12;
  page.entries.push_back(record);
  page.next = 7;
  check.check("audit", access::audit_view(page));
  EXPECT_THAT(check.problems, IsEmpty());
}

TEST(AnswerShapes, ExamplesFit) {
  ShapeCheck check;
  for (const AnswerShape& shape : answer_shapes()) {
    if (shape.form == AnswerShape::Form::document)
      check.check_json(shape.name, json::parse(write_json(shape_example(shape))));
  }
  EXPECT_THAT(check.problems, IsEmpty());
}

}  // namespace
}  // namespace weft::serve

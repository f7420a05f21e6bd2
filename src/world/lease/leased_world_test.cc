#include "world/lease/leased_world.h"

#include <gtest/gtest.h>

#include <deque>

namespace weft::world {
namespace {

using control::LeaseOrderKind;
using lease::LeaseOwner;
using sched::NodeId;

constexpr std::size_t kSlurm = static_cast<std::size_t>(LeaseOwner::slurm);
constexpr std::size_t kKube = static_cast<std::size_t>(LeaseOwner::kubernetes);

// Keeps what it was sent, and reports what the test says.
class ScriptedWorld final : public World {
 public:
  void send(const control::Command& command, sched::Moment /*now*/) override { sent.push_back(command); }
  void poll(sched::Moment /*now*/, std::vector<control::Event>& events) override {
    for (control::Event& event : reports) events.push_back(std::move(event));
    reports.clear();
  }
  template <class Command>
  [[nodiscard]] std::size_t count() const {
    std::size_t found = 0;
    for (const control::Command& command : sent) found += std::holds_alternative<Command>(command) ? 1U : 0U;
    return found;
  }
  template <class Command>
  [[nodiscard]] const Command& last() const {
    for (auto at = sent.rbegin(); at != sent.rend(); ++at) {
      if (const auto* found = std::get_if<Command>(&*at)) return *found;
    }
    ADD_FAILURE() << "no such command was sent";
    static const Command kNone{};
    return kNone;
  }

  std::vector<control::Command> sent;
  std::vector<control::Event> reports;
};

class ScriptedScheduler final : public LeaseScheduler {
 public:
  Result<std::vector<control::NodeUse>> list() override {
    if (!problem.empty()) return Error{ErrorCode::unavailable, problem, {}};
    std::vector<control::NodeUse> uses(marks.size());
    for (std::uint32_t n = 0; n < marks.size(); ++n) {
      uses[n].node = NodeId{n};
      uses[n].cordoned = marks[n];
    }
    return uses;
  }
  Status mark(NodeId node, bool cordon) override {
    marks[index_of(node)] = cordon;
    return {};
  }
  void stop() override {}

  std::vector<bool> marks = {false, false};
  std::string problem;
};

class ScriptedGates final : public GateClient {
 public:
  Result<NodeLook> look(const std::string& node, control::Term term) override {
    if (silent) return Error{ErrorCode::unavailable, "ssh: no route to host", {}};
    NodeLook& found = looks[node];
    found.report.term = term;
    return found;
  }
  Result<NodeLook> obey(const std::string& node, const control::LeaseOrder& order) override {
    orders.push_back(order);
    if (silent) return Error{ErrorCode::unavailable, "ssh: no route to host", {}};
    if (refuses) return Error{ErrorCode::refused, "the gate refuses the order: an earlier term", {}};
    control::EngineGate& gate = looks[node].report.engines[static_cast<std::size_t>(order.engine)];
    gate.open = order.kind == LeaseOrderKind::open ? order.epoch : 0;
    if (order.kind == LeaseOrderKind::close) gate.floor = order.epoch;
    return looks[node];
  }
  void stop() override {}

  std::map<std::string, NodeLook> looks;
  std::vector<control::LeaseOrder> orders;
  bool silent = false;
  bool refuses = false;
};

class LeasedWorldTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* node : {"a", "b"}) {
      gates_->looks[node].kernel_boot = 77;
      gates_->looks[node].report.boot = 5;
    }
    std::vector<LeasedEngine> engines(2);
    auto slurm = std::make_unique<ScriptedWorld>();
    auto kube = std::make_unique<ScriptedWorld>();
    slurm_ = slurm.get();
    kube_ = kube.get();
    engines[0] = {LeaseOwner::slurm, std::move(slurm), slurm_jobs_};
    engines[1] = {LeaseOwner::kubernetes, std::move(kube), kube_jobs_};
    LeasedOptions options;
    options.nodes = {"a", "b"};
    options.gate_threads = options.list_threads = 0;
    options.log = [this](std::string_view text) { log_.emplace_back(text); };
    world_ = std::make_unique<LeasedWorld>(std::move(options), std::move(engines), gates_);
  }

  std::vector<control::Event> poll(std::int64_t seconds) {
    std::vector<control::Event> events;
    world_->poll(at(seconds), events);
    return events;
  }
  template <class Kind>
  static std::vector<Kind> all(const std::vector<control::Event>& events) {
    std::vector<Kind> found;
    for (const control::Event& event : events) {
      if (const auto* one = std::get_if<Kind>(&event)) found.push_back(*one);
    }
    return found;
  }
  static sched::Moment at(std::int64_t seconds) { return sched::Moment() + sched::seconds(1000 + seconds); }
  void begin() { world_->send(control::QueryInventory{9}, at(0)); }
  void open(const char* node, std::size_t engine, lease::LeaseEpoch epoch) {
    gates_->looks[node].report.engines[engine].open = epoch;
  }
  static control::NodeReport report(std::uint32_t node, control::BootId boot) {
    control::NodeReport found;
    found.node = NodeId{node};
    found.boot = boot;
    found.observed = at(0);
    return found;
  }

  std::shared_ptr<ScriptedScheduler> slurm_jobs_ = std::make_shared<ScriptedScheduler>();
  std::shared_ptr<ScriptedScheduler> kube_jobs_ = std::make_shared<ScriptedScheduler>();
  std::shared_ptr<ScriptedGates> gates_ = std::make_shared<ScriptedGates>();
  ScriptedWorld* slurm_ = nullptr;
  ScriptedWorld* kube_ = nullptr;
  std::vector<std::string> log_;
  std::unique_ptr<LeasedWorld> world_;
};

TEST_F(LeasedWorldTest, GatesAreReadUnderTheTermOfTheController) {
  EXPECT_TRUE(all<control::GateReport>(poll(0)).empty()) << "no term is known";
  begin();
  const auto reports = all<control::GateReport>(poll(1));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].term, 9U);
  EXPECT_EQ(reports[0].observed, at(1)) << "when the look began";
}

TEST_F(LeasedWorldTest, OnlyTheOwnerSpeaksForANodeAndTheKernelNamesItsBoot) {
  begin();
  open("a", kSlurm, 3);
  open("b", kKube, 4);
  poll(1);
  slurm_->reports = {report(0, 100), report(1, 101)};
  kube_->reports = {report(0, 200), report(1, 201)};
  const auto reports = all<control::NodeReport>(poll(2));
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_EQ(reports[0].node, NodeId{0});
  EXPECT_EQ(reports[0].boot, 77U);
  EXPECT_EQ(reports[1].node, NodeId{1});
  control::NodeReport silent = report(0, 0);
  silent.health = control::Health::unknown;
  slurm_->reports = {silent};
  EXPECT_EQ(all<control::NodeReport>(poll(3)).at(0).boot, 0U) << "not a sign of life";
}

TEST_F(LeasedWorldTest, AnInventoryIsAskedAgainWhenTheOwnerIsKnown) {
  begin();
  EXPECT_EQ(slurm_->count<control::QueryInventory>(), 1U);
  control::Inventory inventory;
  inventory.nodes = {{NodeId{0}, 100, {}, 9}, {NodeId{1}, 101, {}, 9}};
  slurm_->reports = {inventory};
  open("a", kSlurm, 3);
  open("b", kKube, 4);
  EXPECT_TRUE(all<control::Inventory>(poll(1)).empty()) << "the gates were not read yet";
  poll(3);
  EXPECT_EQ(slurm_->count<control::QueryInventory>(), 2U);
  slurm_->reports = {inventory};
  const auto found = all<control::Inventory>(poll(4));
  ASSERT_EQ(found.size(), 1U);
  ASSERT_EQ(found[0].nodes.size(), 1U) << "b is Kubernetes': what Slurm lists there says nothing";
  EXPECT_EQ(found[0].nodes[0].node, NodeId{0});
  EXPECT_EQ(found[0].nodes[0].boot, 77U);
}

TEST_F(LeasedWorldTest, CommandsGoToTheEngineOfTheJob) {
  begin();
  open("a", kSlurm, 3);
  open("b", kKube, 4);
  poll(1);
  slurm_->reports = {report(0, 100)};
  kube_->reports = {report(1, 201)};
  poll(2);
  control::StartAttempt start;
  start.operation = 1;
  start.name = {7, 1};
  control::JobSpec spec;
  spec.engine = LeaseOwner::kubernetes;
  start.spec = std::make_shared<const control::JobSpec>(spec);
  start.slots.resize(1);
  start.slots[0].node = NodeId{1};
  start.boots = {77};
  world_->send(start, at(3));
  ASSERT_EQ(kube_->count<control::StartAttempt>(), 1U);
  EXPECT_EQ(kube_->last<control::StartAttempt>().boots[0], 201U) << "as that engine names it";
  control::StopAttempt stop;
  stop.name = {7, 1};
  stop.nodes = {NodeId{1}};
  stop.engine = LeaseOwner::kubernetes;
  world_->send(stop, at(4));
  EXPECT_EQ(kube_->count<control::StopAttempt>(), 1U);
  EXPECT_EQ(slurm_->count<control::StopAttempt>(), 0U);
  // An attempt that the journal does not know: the engine that reported it stops it.
  control::PartReport part;
  part.name = {9, 1};
  part.node = NodeId{0};
  part.boot = 100;
  slurm_->reports = {part};
  EXPECT_EQ(all<control::PartReport>(poll(5)).at(0).boot, 77U);
  stop.name = {9, 1};
  stop.engine = LeaseOwner::none;
  world_->send(stop, at(6));
  EXPECT_EQ(slurm_->count<control::StopAttempt>(), 1U);
}

TEST_F(LeasedWorldTest, AStartOnABootThatIsOverIsRefused) {
  begin();
  open("a", kSlurm, 3);
  poll(1);
  slurm_->reports = {report(0, 100)};
  poll(2);
  control::StartAttempt start;
  start.operation = 1;
  start.name = {7, 1};
  start.spec = std::make_shared<const control::JobSpec>();
  start.slots.resize(1);
  start.slots[0].node = NodeId{0};
  start.boots = {76};
  world_->send(start, at(3));
  EXPECT_EQ(slurm_->count<control::StartAttempt>(), 0U);
  const auto replies = all<control::CommandReply>(poll(4));
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].kind, control::ReplyKind::transient);
}

TEST_F(LeasedWorldTest, PartsAreHeldUntilTheBootIsKnown) {
  gates_->silent = true;
  begin();
  control::PartReport part;
  part.name = {7, 1};
  part.node = NodeId{0};
  part.boot = 100;
  slurm_->reports = {part};
  EXPECT_TRUE(all<control::PartReport>(poll(1)).empty());
  gates_->silent = false;
  const auto reports = all<control::PartReport>(poll(3));
  ASSERT_EQ(reports.size(), 1U) << "reported once, and not lost";
  EXPECT_EQ(reports[0].boot, 77U);
}

TEST_F(LeasedWorldTest, OrdersReachTheSchedulerAndTheGate) {
  begin();
  open("a", kSlurm, 3);
  poll(1);
  world_->send(control::LeaseOrder{1, 9, NodeId{0}, LeaseOwner::slurm, LeaseOrderKind::cordon, 3, 5}, at(2));
  poll(2);
  EXPECT_TRUE(slurm_jobs_->marks[0]);
  EXPECT_TRUE(gates_->orders.empty()) << "a cordon leaves the gate as it is";
  world_->send(control::LeaseOrder{2, 9, NodeId{0}, LeaseOwner::slurm, LeaseOrderKind::close, 3, 5}, at(3));
  poll(3);
  ASSERT_EQ(gates_->orders.size(), 1U);
  EXPECT_EQ(gates_->orders[0].boot, 5U);
  kube_jobs_->marks[0] = true;
  gates_->refuses = true;
  world_->send(control::LeaseOrder{3, 9, NodeId{0}, LeaseOwner::kubernetes, LeaseOrderKind::open, 4, 5}, at(4));
  poll(4);
  EXPECT_TRUE(kube_jobs_->marks[0]) << "the gate is closed: its scheduler must place nothing there";
  gates_->refuses = false;
  world_->send(control::LeaseOrder{4, 9, NodeId{0}, LeaseOwner::kubernetes, LeaseOrderKind::open, 4, 5}, at(5));
  poll(5);
  poll(6);
  EXPECT_FALSE(kube_jobs_->marks[0]);
}

TEST_F(LeasedWorldTest, ALeaseThatChangesIsWatchedMoreOften) {
  begin();
  open("a", kSlurm, 3);
  open("b", kSlurm, 4);
  poll(1);
  EXPECT_TRUE(all<control::GateReport>(poll(5)).empty()) << "every ten seconds";
  world_->send(control::LeaseOrder{1, 9, NodeId{0}, LeaseOwner::slurm, LeaseOrderKind::cordon, 3, 5}, at(6));
  EXPECT_EQ(all<control::GateReport>(poll(6)).size(), 1U);
  EXPECT_EQ(all<control::GateReport>(poll(8)).size(), 1U);
  EXPECT_FALSE(all<control::UseList>(poll(10)).empty());
}

TEST_F(LeasedWorldTest, AListThatFailsIsNoEmptyList) {
  begin();
  kube_jobs_->problem = "connection refused";
  const auto lists = all<control::UseList>(poll(1));
  ASSERT_EQ(lists.size(), 1U);
  EXPECT_EQ(lists[0].engine, LeaseOwner::slurm);
  EXPECT_EQ(log_.back(), "kubernetes does not list its jobs: connection refused");
  kube_jobs_->problem.clear();
  EXPECT_EQ(all<control::UseList>(poll(20)).size(), 2U);
  EXPECT_EQ(log_.back(), "kubernetes lists its jobs again");
}

TEST_F(LeasedWorldTest, TheMarkOfALeaseIsNoCordon) {
  begin();
  open("a", kSlurm, 3);
  poll(1);
  slurm_->reports = {control::CordonReport{NodeId{0}, true, "Slurm: weft lease: not leased to slurm, by root", at(1)}};
  EXPECT_FALSE(all<control::CordonReport>(poll(2)).at(0).cordoned);
  slurm_->reports = {control::CordonReport{NodeId{0}, true, "Slurm: bad DIMM, by ada", at(2)}};
  EXPECT_TRUE(all<control::CordonReport>(poll(3)).at(0).cordoned);
  // The other engine's mark counts from the moment when that engine owns the node.
  kube_->reports = {control::CordonReport{NodeId{0}, true, "kubernetes", at(3)}};
  EXPECT_TRUE(all<control::CordonReport>(poll(4)).empty());
  open("a", kSlurm, 0);
  open("a", kKube, 5);
  const auto marks = all<control::CordonReport>(poll(15));
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0].owner, "kubernetes");
}

TEST(NodeLookTest, EveryFieldIsNeeded) {
  const std::string good =
      R"({"gate": {"boot": "8a", "kernel_boot": "1f", "term": 4, "holders": 1, "holding": "pid 7", "running": "x"},
          "engines": [{"engine": "slurm", "open": 3, "floor": 2, "entries": 1, "steps": 0},
                      {"engine": "kubernetes", "open": 0, "floor": 9, "entries": 0, "steps": 2}]})";
  const Result<NodeLook> look = parse_node_look(good);
  ASSERT_TRUE(look.ok()) << look.error().text();
  EXPECT_EQ(look->kernel_boot, 0x1FU);
  EXPECT_EQ(look->report.boot, 0x8AU);
  EXPECT_EQ(look->report.term, 4U);
  EXPECT_EQ(look->report.holders, 1U);
  EXPECT_EQ(look->report.text, "x, pid 7");
  EXPECT_EQ(look->report.engines[kSlurm].open, 3U);
  EXPECT_EQ(look->report.engines[kSlurm].steps, 1U) << "it passed the gate: it runs, or will";
  EXPECT_EQ(look->report.engines[kKube].floor, 9U);
  EXPECT_EQ(look->report.engines[kKube].steps, 2U);
  for (const std::string field : {"\"boot\"", "\"kernel_boot\"", "\"term\"", "\"holders\"", "\"open\"", "\"floor\"",
                                  "\"entries\"", "\"steps\"", "\"engines\"", "\"gate\"", "\"kubernetes\""}) {
    std::string bad = good;
    bad.replace(bad.find(field), field.size(), "\"x\"");
    EXPECT_FALSE(parse_node_look(bad).ok()) << field;
  }
  for (const char* bad : {"", "[]", "{}", "null", "{\"gate\": 1}", "\xff"}) EXPECT_FALSE(parse_node_look(bad).ok());
}

}  // namespace
}  // namespace weft::world

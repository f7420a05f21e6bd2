// Long random runs of the lease protocol: many servers, three engines, a network that loses, duplicates and reorders,
// and crashes of all components. Seeded, so a failure can be reproduced.
#include "base/random.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <variant>
#include <vector>

#include "lease/agent.h"
#include "lease/gate.h"
#include "lease/table.h"

namespace weft::lease {
namespace {

constexpr std::uint32_t kNodes = 12;
constexpr int kGpus = 8;
constexpr std::size_t kEngines = 3;
constexpr LeaseOwner owner_of(std::size_t engine) { return static_cast<LeaseOwner>(engine + 1); }

class Life {
 public:
  explicit Life(std::uint64_t seed) : random_(seed, "lease life") {
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      keep(table_.add(sched::NodeId{n}, kGpus, now()));
      keep(table_.restore(sched::NodeId{n}, now()));
      nodes_.push_back(sched::NodeId{n});
    }
    for (std::size_t e = 0; e < kEngines; ++e) {
      agents_.emplace_back(owner_of(e), 1);
      for (const sched::NodeId node : nodes_) gates_.emplace_back(owner_of(e), node, 1);
      post(agents_[e].probe(nodes_));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps && failure_.empty(); ++i) step();
  }
  // No more faults or requests, and engines return what they hold: every request must eventually be granted.
  void calm_down() {
    calm_ = true;
    for (std::uint32_t n = 0; n < kNodes; ++n) keep(table_.restore(sched::NodeId{n}, now()));
    for (int i = 0; i < 4'000 && failure_.empty() && !settled(); ++i) run(100);
  }
  [[nodiscard]] bool settled() const {
    if (!table_.waiting().empty()) return false;
    for (std::uint32_t n = 0; n < kNodes; ++n) {
      for (std::uint8_t g = 0; g < kGpus; ++g) {
        const LeasePhase phase = table_.who({sched::NodeId{n}, g}, now()).phase;
        if (phase == LeasePhase::granted || phase == LeasePhase::revoking) return false;
      }
    }
    return true;
  }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] std::uint64_t grants() const { return grants_; }
  [[nodiscard]] std::uint64_t crashes() const { return crashes_; }
  [[nodiscard]] const std::string& journal() const { return journal_; }
  [[nodiscard]] std::string state() const { return table_.state(); }

 private:
  struct Evidence : FenceOrder {};
  using Message = std::variant<AgentMessage, TableMessage, GateCommand, GateStatus, FenceOrder, Evidence>;

  [[nodiscard]] sched::Moment now() const { return sched::Moment(time_); }
  LeaseGate& gate(LeaseOwner owner, sched::NodeId node) {
    return gates_[(static_cast<std::size_t>(owner) - 1) * kNodes + sched::index_of(node)];
  }

  // Records first, then messages; a crash can occur between any two of them.
  void keep(const Result<LeaseStep>& step) {
    if (!step.ok()) return;
    const bool crash = !calm_ && random_.chance(0.005);
    const std::size_t written = crash ? random_.below(step->records.size() + 1) : step->records.size();
    for (std::size_t i = 0; i < written; ++i) {
      journal_ += to_text(step->records[i]) + '\n';
      const bool grant = step->records[i].kind == LeaseRecord::Kind::grant;
      if (grant && step->records[i].epoch != ++grants_) failure_ = "an epoch came twice";
    }
    if (!crash) {
      for (const TableMessage& message : step->messages) network_.push_back(message);
      for (const FenceOrder& order : step->fences) network_.push_back(order);
      return;
    }
    ++crashes_;
    std::string text = journal_;
    if (written < step->records.size()) text += to_text(step->records[written]).substr(0, 9);  // torn write
    const Result<LeaseJournal> read = parse_lease_journal(text);
    Result<LeaseTable> again = read.ok() ? LeaseTable::replay(read->records) : Result<LeaseTable>(read.error());
    if (!again.ok()) {
      failure_ = again.error().text();
    } else {
      table_ = std::move(again).value();
    }
  }
  void post(const AgentStep& step) {
    for (const AgentMessage& message : step.messages) network_.push_back(message);
    for (const GateCommand& command : step.commands) network_.push_back(command);
  }

  void deliver(const Message& message) {
    if (const auto* said = std::get_if<AgentMessage>(&message)) {
      keep(table_.receive(*said, now()));
    } else if (const auto* told = std::get_if<TableMessage>(&message)) {
      post(agents_[static_cast<std::size_t>(told->to) - 1].receive(*told));
    } else if (const auto* command = std::get_if<GateCommand>(&message)) {
      network_.push_back(gate(command->owner, command->node).receive(*command));
      judge(command->node);
    } else if (const auto* status = std::get_if<GateStatus>(&message)) {
      post(agents_[static_cast<std::size_t>(status->owner) - 1].receive(*status));
    } else if (const auto* order = std::get_if<FenceOrder>(&message)) {
      cut_power(order->node);
      network_.push_back(Evidence{*order});
    } else {
      keep(table_.fenced(std::get<Evidence>(message), now()));
    }
  }

  void cut_power(sched::NodeId node) {
    for (std::size_t e = 0; e < kEngines; ++e) {
      LeaseGate& one = gate(owner_of(e), node);
      one = LeaseGate(owner_of(e), node, one.status().boot + 1);
      network_.push_back(one.status());
    }
  }

  void judge(sched::NodeId node) {
    for (int g = 0; g < kGpus; ++g) {
      int users = 0;
      for (std::size_t e = 0; e < kEngines; ++e) users += gate(owner_of(e), node).uses(g) ? 1 : 0;
      if (users > 1) failure_ = fmt::format("{} engines use GPU {} of node {}", users, g, sched::index_of(node));
    }
  }

  GpuSet random_set() {
    GpuSet set;
    const std::uint64_t parts = 1 + random_.below(3);
    for (std::uint64_t i = 0; i < parts; ++i) {
      const sched::NodeId node{static_cast<std::uint32_t>(random_.below(kNodes))};
      insert(set, node, static_cast<std::uint16_t>(1 + random_.below((1U << kGpus) - 1)));
    }
    return set;
  }

  void step() {
    time_ += 1'000'000;
    const std::uint64_t dice = random_.below(1000);
    const LeaseOwner owner = owner_of(random_.below(kEngines));
    const sched::NodeId node{static_cast<std::uint32_t>(random_.below(kNodes))};
    if (dice < 860 && !network_.empty()) {
      const std::size_t at = random_.below(network_.size());
      const Message message = network_[at];
      const bool again = !calm_ && random_.chance(0.05);
      if (!again) {
        network_[at] = std::move(network_.back());
        network_.pop_back();
      }
      if (calm_ || !random_.chance(0.1)) deliver(message);
    } else if (dice < 868) {
      post(agents_[static_cast<std::size_t>(owner) - 1].tick());
    } else if (dice < 874) {
      keep(table_.tick(now()));
    } else if (dice < 920) {
      LeaseGate& one = gate(owner, node);
      for (int g = 0; g < kGpus; ++g) {
        if (calm_ || random_.chance(0.5) || !one.admit(g)) one.ended(g);
      }
      network_.push_back(one.status());
      judge(node);
    } else if (calm_) {
      post(agents_[static_cast<std::size_t>(owner) - 1].give_back({{node, (1U << kGpus) - 1}}));
    } else {
      disturb(dice, owner, node);
    }
    if (network_.size() > 2000) network_.resize(1000);  // a burst of loss
  }

  void disturb(std::uint64_t dice, LeaseOwner owner, sched::NodeId node) {
    // Every start of an agent or a gate begins a new session: with too many, none would ever get a reply.
    if (dice >= 970 && dice < 980) keep(table_.restore(node, now()));
    if (dice >= 980 && !random_.chance(0.1)) return;
    if (dice < 950) {
      if (table_.waiting().size() < 20) {
        keep(table_.request({++requests_, owner, "life", random_set(), random_.chance(0.9)}, now()));
      }
    } else if (dice < 980) {
      post(agents_[static_cast<std::size_t>(owner) - 1].give_back(random_set()));
    } else if (dice < 985) {
      LeaseAgent& agent = agents_[static_cast<std::size_t>(owner) - 1];
      agent = LeaseAgent(owner, agent.session().start + 1);
      post(agent.probe(nodes_));
    } else if (dice < 990) {
      LeaseGate& one = gate(owner, node);  // its work keeps running
      one = LeaseGate(owner, node, one.status().boot + 1, one.status().running);
    } else if (dice < 992) {
      keep(table_.fence(node, now()));
    } else if (dice < 996) {
      cut_power(node);
    } else if (!table_.waiting().empty()) {
      keep(table_.cancel(table_.waiting()[random_.below(table_.waiting().size())].id, now()));
    }
  }

  RandomStream random_;
  LeaseTable table_;
  std::vector<sched::NodeId> nodes_;
  std::vector<LeaseAgent> agents_;
  std::vector<LeaseGate> gates_;
  std::vector<Message> network_;
  std::string journal_;
  std::string failure_;
  std::int64_t time_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t grants_ = 0;
  std::uint64_t crashes_ = 0;
  bool calm_ = false;
};

TEST(LeaseRandom, NeverTwoEnginesOnOneGpu) {
  std::uint64_t grants = 0;
  std::uint64_t crashes = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Life life(seed);
    life.run(30'000);
    ASSERT_EQ(life.failure(), "") << "seed " << seed;
    life.calm_down();
    ASSERT_EQ(life.failure(), "") << "seed " << seed;
    EXPECT_TRUE(life.settled()) << "seed " << seed;
    const Result<LeaseJournal> read = parse_lease_journal(life.journal());
    ASSERT_TRUE(read.ok()) << read.error().text();
    const Result<LeaseTable> again = LeaseTable::replay(read->records);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->state(), life.state());
    grants += life.grants();
    crashes += life.crashes();
  }
  std::cout << grants << " grants, " << crashes << " crashes of the table\n";
  EXPECT_GT(grants, 150U);  // a run in which nothing happens proves nothing
  EXPECT_GT(crashes, 50U);
}

}  // namespace
}  // namespace weft::lease

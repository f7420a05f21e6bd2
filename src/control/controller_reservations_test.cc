// Reservations for maintenance, event by event.
#include <gtest/gtest.h>

#include <algorithm>

#include "control/controller_test_support.h"

namespace weft::control {
namespace {

class ReservationTest : public ControllerTest {
 protected:
  Answer reserve(std::vector<std::uint32_t> nodes, std::int64_t from, std::int64_t until, std::int64_t seconds) {
    Request request;
    request.kind = RequestKind::reserve;
    request.user = "bob";
    request.name = "dimm";
    request.reason = "replace a DIMM";
    for (const std::uint32_t node : nodes) request.nodes.push_back(static_cast<sched::NodeId>(node));
    request.from = at(from);
    request.until = at(until);
    send(request, seconds);
    return step.answers.back();
  }
  Answer unreserve(const std::string& name, std::int64_t seconds) {
    Request request;
    request.kind = RequestKind::unreserve;
    request.user = "bob";
    request.name = name;
    send(request, seconds);
    return step.answers.back();
  }
  JobNumber submit_with_limit(std::int32_t tasks, std::int64_t limit, std::int64_t seconds) {
    Request request = request_of(tasks);
    request.spec.shape.limit = sched::seconds(limit);
    return submit(request, seconds);
  }
};

TEST_F(ReservationTest, ARepetitionWithAKeyReservesOnce) {
  Request request;
  request.kind = RequestKind::reserve;
  request.user = "bob";
  request.name = "dimm";
  request.key = "k";
  request.nodes = {sched::NodeId{1}};
  const auto send_at = [&](std::int64_t from, std::int64_t until, std::int64_t seconds) {
    request.from = at(from);
    request.until = at(until);
    send(request, seconds);
    return step.answers.back();
  };
  EXPECT_EQ(send_at(2000, 3000, 1001).text, "1 node reserved");
  EXPECT_EQ(send_at(2005, 3005, 1006).text, "already reserved");
  EXPECT_EQ(controller->state().reservations().at("dimm").from, at(2000));
  EXPECT_EQ(send_at(2005, 4000, 1007).code, ErrorCode::conflict) << "it would last longer";
  request.user = "eve";
  EXPECT_EQ(send_at(2005, 3005, 1008).code, ErrorCode::conflict) << "a key belongs to its user";
  request.user = "bob";
  request.key.clear();
  EXPECT_EQ(send_at(2005, 3005, 1009).code, ErrorCode::conflict);
}

TEST_F(ReservationTest, TheReasonOfARemovalIsInTheJournal) {
  ASSERT_TRUE(reserve({1}, 2000, 3000, 1001).ok);
  Request request;
  request.kind = RequestKind::unreserve;
  request.user = "bob";
  request.name = "dimm";
  request.reason = "the DIMM is fine";
  send(request, 1002);
  ASSERT_TRUE(step.answers.back().ok);
  const auto ended = std::find_if(step.records.begin(), step.records.end(),
                                  [](const Record& record) { return record.kind == RecordKind::reservation_ended; });
  ASSERT_NE(ended, step.records.end());
  EXPECT_EQ(ended->user, "bob");
  EXPECT_EQ(parse_record(to_text(*ended))->text, "the DIMM is fine");
}

TEST_F(ReservationTest, OnlyJobsThatEndBeforeStartThere) {
  ASSERT_TRUE(reserve({0, 1, 2, 3, 4, 5, 6, 7}, 2000, 3000, 1001).ok);
  const JobNumber long_job = submit_with_limit(1, 1000, 1002);
  const JobNumber short_job = submit_with_limit(1, 900, 1003);
  const JobNumber unlimited = submit(1, 1004);
  EXPECT_EQ(job(long_job).state, JobState::queued);
  EXPECT_EQ(job(short_job).state, JobState::starting);
  EXPECT_EQ(job(unlimited).state, JobState::queued) << "within the horizon";
  EXPECT_EQ(controller->scheduler().why(*controller->scheduler_id(long_job), at(1005)).reason, sched::Reason::barred);
  EXPECT_TRUE(unreserve("dimm", 1010).ok);
  EXPECT_EQ(job(long_job).state, JobState::starting);
  EXPECT_EQ(job(unlimited).state, JobState::starting);
}

TEST_F(ReservationTest, PreemptsWithACheckpointAndReturnsByItself) {
  Request request = request_of(8);
  request.spec.checkpoint.volumes = {"/ckpt"};
  request.spec.checkpoint.notice = CheckpointNotice::signal;
  const JobNumber number = submit(request, 1001);
  const VerifyCheckpoint asked = *last<VerifyCheckpoint>();
  send(CheckpointVerified{asked.operation, number, {}, {}, 0, {}, true, at(1002)}, 1002);
  report_parts(PartPhase::running, 0, 1003);
  const Answer answer = reserve({2}, 1100, 1500, 1010);
  EXPECT_NE(answer.text.find("1 job there will be preempted"), std::string::npos) << answer.text;
  pass_time(1020, 1090);
  EXPECT_EQ(job(number).state, JobState::running);
  EXPECT_TRUE(controller->is_usable(sched::NodeId{2}));
  pass_time(1100, 1100);
  EXPECT_EQ(job(number).state, JobState::checkpointing);
  EXPECT_EQ(count<RequestCheckpoint>(), 1U);
  EXPECT_NE(controller->why_unusable(sched::NodeId{2}).find("reserved for maintenance `dimm` by bob"),
            std::string::npos)
      << controller->why_unusable(sched::NodeId{2});
  send(CheckpointWritten{{number, 1}, "step-1", 1, sched::seconds(1), at(1101)}, 1101);
  report_parts(PartPhase::exited, 143, 1105);
  EXPECT_EQ(job(number).state, JobState::queued) << "it needs all eight nodes";
  EXPECT_EQ(job(number).preemptions, 1);
  pass_time(1110, 1490);
  EXPECT_EQ(job(number).state, JobState::queued);
  pass_time(1500, 1500);
  EXPECT_TRUE(controller->is_usable(sched::NodeId{2}));
  EXPECT_TRUE(controller->state().reservations().empty());
  EXPECT_EQ(job(number).state, JobState::placed);
}

TEST_F(ReservationTest, ServicesKeepTheirNodeBusy) {
  Request request = request_of(1);
  request.spec.shape.inference = true;
  request.spec.shape.preemptible = false;
  const JobNumber number = submit(request, 1001);
  report_parts(PartPhase::running, 0, 1002);
  const sched::NodeId node = last<StartAttempt>()->slots[0].node;
  const Answer answer = reserve({sched::index_of(node)}, 1010, 1500, 1005);
  EXPECT_NE(answer.text.find("will not be preempted"), std::string::npos) << answer.text;
  pass_time(1010, 1100);
  EXPECT_EQ(job(number).state, JobState::running);
  EXPECT_NE(controller->why_unusable(node).find("busy with job 1, which is never preempted"), std::string::npos)
      << controller->why_unusable(node);
}

TEST_F(ReservationTest, NothingIsRepairedInMaintenance) {
  const sched::NodeId node{2};
  ASSERT_TRUE(reserve({2}, 1000, 1500, 1001).ok);
  send(NodeReport{node, 102, Health::fatal, "Xid 79", at(1010)}, 1010);
  send(Tick{}, 1012);
  EXPECT_EQ(controller->state().open_sessions(), 0U);
  EXPECT_EQ(count<CordonNode>() + count<PowerCycle>(), 0U);
  for (std::int64_t t = 1020; t <= 1510; t += 10) {
    for (std::uint32_t n = 0; n < 8; ++n) {
      const bool bad = n == 2;
      send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, bad ? Health::fatal : Health::healthy, {}, at(t)}, t);
    }
    send(Tick{}, t);
  }
  EXPECT_EQ(controller->state().open_sessions(), 1U) << "afterwards it is repaired";
}

TEST_F(ReservationTest, SilentNodesInMaintenanceDoNotTripTheBreaker) {
  ASSERT_TRUE(reserve({0, 1, 2, 3}, 1000, 9000, 1001).ok);
  for (std::int64_t t = 1010; t < 1500; t += 10) {
    for (std::uint32_t n = 4; n < 8; ++n) {
      send(NodeReport{static_cast<sched::NodeId>(n), 100 + n, Health::healthy, {}, at(t)}, t);
    }
    send(Tick{}, t);
  }
  EXPECT_FALSE(controller->state().tripped());
}

TEST_F(ReservationTest, InvalidOnesAreRefused) {
  EXPECT_FALSE(reserve({}, 1100, 1200, 1001).ok);
  EXPECT_FALSE(reserve({8}, 1100, 1200, 1001).ok);
  EXPECT_FALSE(reserve({1}, 1200, 1200, 1001).ok);
  EXPECT_FALSE(reserve({1}, 900, 1000, 1001).ok) << "in the past";
  EXPECT_TRUE(reserve({1, 1}, 1100, 1200, 1001).ok);
  EXPECT_EQ(reserve({1}, 1100, 1200, 1002).text, "already reserved");
  EXPECT_FALSE(reserve({2}, 1100, 1200, 1003).ok) << "the name is in use";
  EXPECT_FALSE(unreserve("other", 1004).ok);
}

TEST_F(ReservationTest, SnapshotAndJournalRestoreIt) {
  ASSERT_TRUE(reserve({1, 3}, 1100, 1200, 1001).ok);
  const std::string text = controller->state().to_text();
  const Result<ControlState> parsed = ControlState::parse(machine_of(8), text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->to_text(), text);
  const Reservation& restored = parsed->reservations().at("dimm");
  EXPECT_TRUE(restored.has(sched::NodeId{3}));
  EXPECT_EQ(restored.until, at(1200));
  EXPECT_EQ(parsed->find_reservation(sched::NodeId{3}, at(1150)), &restored);
  EXPECT_EQ(parsed->find_reservation(sched::NodeId{3}, at(1200)), nullptr);
  ControlState replayed(machine_of(8));
  for (const Record& record : step.records) ASSERT_TRUE(replayed.apply(*parse_record(to_text(record))).ok());
  EXPECT_EQ(replayed.to_text(), text);
}

}  // namespace
}  // namespace weft::control

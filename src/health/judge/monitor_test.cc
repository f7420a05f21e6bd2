#include "health/judge/monitor.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"

namespace weft::health {
namespace {

using sched::Moment;
using sched::seconds;

constexpr const char* kRules = R"(health: 1
burst: 3m
stale_after: 2m
score: {cordon_below: 60, thermal: 50, memory: 30, power: 20}
rules:
  - {id: gone, title: GPU is gone, signals: ['xid:79'], severity: fatal, scope: node, actions: [reboot, power_cycle, replace_part], maturity: estimate, source: s}
  - {id: halt, title: GPU halted, signals: ['xid:62'], severity: fatal, scope: gpu, actions: [reset_gpu, reboot], maturity: estimate, source: s}
  - {id: cleanup, title: channels cleaned up, signals: ['xid:45'], alone: true, severity: degraded, scope: gpu, actions: [restart_service], maturity: estimate, source: s}
  - {id: app, title: application fault, signals: ['xid:13'], severity: info, scope: gpu, actions: [restart_application], maturity: estimate, source: s}
  - {id: app-twice, title: the same fault again, signals: ['xid:13'], at_least: 2, within: 24h, severity: degraded, scope: gpu, actions: [check], maturity: estimate, source: s}
  - {id: hot, title: GPU is hot, signals: ['dcgm:temp_margin'], below: 1, samples: 2, severity: warning, category: thermal, scope: gpu, actions: [ask_people], maturity: estimate, source: s}
  - {id: ecc, title: many ECC errors, signals: ['dcgm:ecc_sbe'], rise: 10, per: 1h, severity: warning, category: memory, scope: gpu, actions: [check], maturity: estimate, source: s}
  - {id: psu, title: PSU lost, signals: ['sel:psu_lost'], severity: warning, category: power, scope: node, actions: [replace_part], maturity: estimate, source: s}
  - {id: alarm, title: an alarm, signals: ['webhook:*'], severity: degraded, ends: time, clears_after: 10m, scope: node, actions: [ask_people], maturity: estimate, source: s}
  - {id: offender, title: fatal findings again and again, signals: ['health:fatal'], at_least: 3, within: 24h, severity: fatal, ends: person, scope: gpu, actions: [ask_people], maturity: estimate, source: s}
  - {id: returned, title: the fault returned after a repair, signals: ['health:returned'], severity: fatal, scope: gpu, actions: [replace_part], maturity: estimate, source: s}
)";

Moment at(std::int64_t second) { return Moment(1'700'000'000'000'000'000) + seconds(second); }

class MonitorTest : public ::testing::Test {
 protected:
  MonitorTest() {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("rules.yaml", kRules);
    auto rules = read_rules(sources, file, diagnostics);
    EXPECT_TRUE(rules.has_value()) << render_all(diagnostics, sources, false);
    monitor.emplace(std::make_shared<Rules>(*rules), std::vector<std::string>{"a", "b"});
    hear(0);
  }
  // Everything that is expected reports.
  void hear(std::int64_t second) {
    for (NodeIndex node = 0; node < 2; ++node) monitor->heard(node, SignalSource::gpu, at(second));
    monitor->advance(at(second));
  }
  void event(const char* name, std::int64_t second, const char* part = "GPU 1", std::vector<SignalDetail> details = {},
             SignalSource source = SignalSource::kernel) {
    Signal signal;
    signal.name = name;
    signal.part = part;
    signal.at = at(second);
    signal.text = "line";
    signal.details = std::move(details);
    signal.source = source;
    monitor->note(0, signal, at(second));
    hear(second);
  }
  const NodeHealth& health() { return monitor->health(0); }

  std::optional<Monitor> monitor;
};

TEST_F(MonitorTest, SilenceIsUnknownAndNotHealthy) {
  EXPECT_EQ(health().state, HealthState::healthy);
  monitor->advance(at(120));
  EXPECT_EQ(health().state, HealthState::healthy);
  monitor->advance(at(121));
  EXPECT_EQ(health().state, HealthState::unknown);
  EXPECT_EQ(health().reason, "source gpu is silent");
  hear(200);
  EXPECT_EQ(health().state, HealthState::healthy);
  monitor->expect(0, SignalSource::bmc);
  hear(201);
  EXPECT_EQ(health().state, HealthState::unknown);
  EXPECT_EQ(health().reason, "source bmc has not reported yet");
}

TEST_F(MonitorTest, NodeWithoutAnyReportIsUnknown) {
  Monitor other(std::make_shared<Rules>(monitor->rules()), {"x"});
  other.advance(at(0));
  EXPECT_EQ(other.health(0).state, HealthState::unknown);
}

TEST_F(MonitorTest, FatalSignalTakesTheNodeOutWhateverItsScore) {
  event("xid:79", 1);
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().score, 100);
  EXPECT_EQ(health().plan, (std::vector<Action>{Action::reboot, Action::power_cycle, Action::replace_part}));
  EXPECT_EQ(health().reason, "GPU 1: GPU is gone");
  monitor->advance(at(5000));  // silence afterwards changes nothing
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(monitor->health(1).state, HealthState::unknown);
}

TEST_F(MonitorTest, BurstIsOneIncident) {
  event("xid:62", 0);
  const IncidentId first = health().incident;
  event("xid:79", 170);
  event("xid:62", 340);
  EXPECT_EQ(health().incident, first);
  ASSERT_NE(monitor->open_incident(0), nullptr);
  EXPECT_EQ(monitor->open_incident(0)->findings.size(), 2U);
  EXPECT_EQ(monitor->open_incident(0)->findings[0].count, 2U);
  EXPECT_FALSE(monitor->open_incident(0)->settled);
  hear(520);
  EXPECT_TRUE(monitor->open_incident(0)->settled);
}

TEST_F(MonitorTest, WorseFindingAfterTheBurstIsAnIncidentOfItsOwn) {
  event("webhook:x", 0, "");
  const IncidentId first = health().incident;
  hear(300);
  event("xid:62", 301);
  EXPECT_NE(health().incident, first);
  ASSERT_EQ(monitor->closed().size(), 1U);
  EXPECT_EQ(monitor->closed()[0].id, first);
  EXPECT_EQ(monitor->open_incident(0)->findings.size(), 2U);  // what still holds came along
}

// The plan begins with what the worst of several needs: a GPU reset would not bring back one that is off the bus.
TEST_F(MonitorTest, PlanCoversAllFindings) {
  event("xid:62", 0, "GPU 1");
  EXPECT_EQ(health().plan, (std::vector<Action>{Action::reset_gpu, Action::reboot}));
  event("xid:79", 1, "GPU 2");
  EXPECT_EQ(health().plan.front(), Action::reboot);
  EXPECT_EQ(health().plan.back(), Action::replace_part);
}

TEST_F(MonitorTest, DriverDecidesFirst) {
  event("xid:62", 0);
  event("xid:154", 1, "GPU 1", {{"action", "2"}});
  EXPECT_TRUE(health().driver_decides);
  EXPECT_EQ(health().plan, (std::vector<Action>{Action::reboot}));
  event("xid:154", 2, "GPU 7", {{"action", "1"}});  // of another GPU
  EXPECT_EQ(health().plan.front(), Action::reboot);
  event("xid:154", 3, "GPU 1", {{"action", "0"}});  // "none" is no evidence of health
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan.front(), Action::reset_gpu);
  event("xid:154", 4, "GPU 1", {{"action", "99999999999999999999999"}});
  event("xid:154", 5, "GPU 1", {{"action", "200"}});
  EXPECT_EQ(health().plan.front(), Action::reset_gpu);
}

// 100 - 50 = 50 is below 60; 100 - 30 = 70 and 100 - 20 = 80 are not, together they are.
TEST_F(MonitorTest, ScoreCountsEachCategoryOnce) {
  const WatchedSeries ecc0 = monitor->add_series(0, "dcgm:ecc_sbe", "GPU 0");
  const WatchedSeries ecc1 = monitor->add_series(0, "dcgm:ecc_sbe", "GPU 1");
  for (int i = 0; i < 3; ++i) {
    monitor->sample(ecc0, i * 20, at(i * 15));
    monitor->sample(ecc1, i * 20, at(i * 15));
  }
  hear(30);
  EXPECT_EQ(health().score, 70);
  EXPECT_EQ(health().state, HealthState::healthy);
  EXPECT_FALSE(health().reason.empty());
  event("sel:psu_lost", 31, "PSU 1");
  EXPECT_EQ(health().score, 50);
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_TRUE(health().by_score);
  EXPECT_EQ(health().plan, (std::vector<Action>{Action::replace_part}));
}

TEST_F(MonitorTest, ThermalWarningAloneIsBelowTheLimit) {
  const WatchedSeries margin = monitor->add_series(0, "dcgm:temp_margin", "GPU 0");
  monitor->sample(margin, 0, at(1));
  hear(1);
  EXPECT_EQ(health().score, 100);  // one sample of two
  monitor->sample(margin, 0, at(16));
  hear(16);
  EXPECT_EQ(health().score, 50);
  EXPECT_EQ(health().state, HealthState::fatal);
  monitor->sample(margin, 12, at(31));
  monitor->sample(margin, 12, at(46));
  hear(46);
  EXPECT_EQ(health().state, HealthState::healthy);
}

TEST_F(MonitorTest, NoiseOpensNoIncident) {
  for (int i = 0; i < 1000; ++i) event("xid:45", i, "GPU 1", {{"n", std::to_string(i)}});
  EXPECT_EQ(monitor->open_incident(0), nullptr);
  Monitor& m = *monitor;
  m.advance(at(1000 + 180));
  hear(1180);
  // Nothing else was found: then it is the fabric manager's case.
  EXPECT_EQ(health().state, HealthState::degraded);
  EXPECT_EQ(health().plan, (std::vector<Action>{Action::restart_service}));
}

TEST_F(MonitorTest, EveryRecordedSignalIsCounted) {
  for (int i = 0; i < 100; ++i) event("xid:45", i, "GPU 1", {{"n", std::to_string(i)}});
  event("xid:62", 100);
  hear(500);
  EXPECT_EQ(monitor->info_count(), 100U);  // as consequences of something else
  event("xid:13", 501);
  EXPECT_EQ(monitor->info_count(), 101U);
}

TEST_F(MonitorTest, CleanupBesideACauseIsIgnored) {
  event("xid:45", 0);
  event("xid:62", 10);
  event("xid:45", 20);
  hear(400);
  EXPECT_EQ(monitor->open_incident(0)->findings.size(), 1U);
}

TEST_F(MonitorTest, EventsAreCountedPerPartAndOncePerSource) {
  event("xid:13", 0, "GPU 1");
  event("xid:13", 10, "GPU 2");
  event("xid:13", 12, "GPU 1", {}, SignalSource::gpu);  // the same event, by DCGM
  EXPECT_EQ(health().state, HealthState::healthy);
  EXPECT_EQ(monitor->info_count(), 3U);
  event("xid:13", 3600, "GPU 1");
  EXPECT_EQ(health().state, HealthState::degraded);
}

TEST_F(MonitorTest, LogThatIsReadAgainChangesNothing) {
  event("xid:13", 0);
  event("xid:13", 0);
  event("xid:13", 0);
  EXPECT_EQ(health().state, HealthState::healthy);
}

TEST_F(MonitorTest, RepairEndsEventsUpToIt) {
  event("xid:79", 10);
  monitor->repaired(0, Repair::boot, "", at(60));
  hear(60);
  EXPECT_EQ(health().state, HealthState::healthy);
  event("xid:79", 50);  // the old line, read from the log of the boot before
  EXPECT_EQ(health().state, HealthState::healthy);
  event("xid:62", 70);
  EXPECT_EQ(health().state, HealthState::fatal);
}

TEST_F(MonitorTest, ResetOfAGpuEndsWhatIsOnThatGpuAlone) {
  event("xid:62", 0, "GPU 1");
  event("xid:62", 1, "GPU 2");
  event("xid:79", 2, "GPU 1");
  monitor->repaired(0, Repair::gpu_reset, "GPU 1", at(30));
  hear(30);
  const Incident& incident = *monitor->open_incident(0);
  EXPECT_FALSE(incident.findings[0].holds);
  EXPECT_TRUE(incident.findings[1].holds);
  EXPECT_TRUE(incident.findings[2].holds);  // off the bus: of the node's scope
}

TEST_F(MonitorTest, FaultThatReturnsIsForPeople) {
  event("xid:62", 0);
  monitor->repaired(0, Repair::boot, "", at(60));
  event("xid:62", 3600);
  EXPECT_EQ(health().plan.front(), Action::replace_part);
}

TEST_F(MonitorTest, RepeatOffenderStaysUntilAPersonSaysSo) {
  for (int i = 0; i < 2; ++i) {
    event("xid:62", i * 30'000);
    monitor->repaired(0, Repair::boot, "", at(i * 30'000 + 100));
    hear(i * 30'000 + 100);
  }
  EXPECT_EQ(health().state, HealthState::healthy);
  event("xid:62", 61'000);
  monitor->repaired(0, Repair::boot, "", at(61'100));
  hear(61'100);
  EXPECT_EQ(health().state, HealthState::fatal);
  EXPECT_EQ(health().plan.front(), Action::ask_people);
  monitor->repaired(0, Repair::person, "", at(61'200));
  hear(61'200);
  EXPECT_EQ(health().state, HealthState::healthy);
}

TEST_F(MonitorTest, EndOfAConditionIsNotTheCondition) {
  event("sel:psu_lost", 0, "PSU 1", {{"state", "deasserted"}}, SignalSource::bmc);
  EXPECT_EQ(health().score, 100);
  event("sel:psu_lost", 10, "PSU 1", {}, SignalSource::bmc);
  event("sel:psu_lost", 11, "PSU 2", {{"state", "deasserted"}}, SignalSource::bmc);
  EXPECT_EQ(health().score, 80);
  event("sel:psu_lost", 12, "PSU 1", {{"state", "deasserted"}}, SignalSource::bmc);
  EXPECT_EQ(health().score, 100);
}

TEST_F(MonitorTest, AlarmsExpire) {
  event("webhook:cooling", 0, "");
  EXPECT_EQ(health().state, HealthState::degraded);
  hear(599);
  EXPECT_EQ(health().state, HealthState::degraded);
  hear(600);
  EXPECT_EQ(health().state, HealthState::healthy);
}

TEST_F(MonitorTest, SignalFromTheFutureCountsFromNow) {
  Signal signal;
  signal.name = "webhook:x";
  signal.at = at(1'000'000);
  monitor->note(0, signal, at(1));
  hear(1);
  EXPECT_EQ(health().state, HealthState::degraded);
  hear(700);
  EXPECT_EQ(health().state, HealthState::healthy);
}

TEST_F(MonitorTest, ChangesAreReportedOnce) {
  static_cast<void>(monitor->take_changed());
  event("xid:79", 1);
  EXPECT_EQ(monitor->take_changed(), std::vector<NodeIndex>{0});
  EXPECT_TRUE(monitor->take_changed().empty());
}

TEST_F(MonitorTest, UnknownSignalsAreCounted) {
  event("made_up:signal", 1);
  EXPECT_EQ(monitor->unmatched_count(), 1U);
}

}  // namespace
}  // namespace weft::health

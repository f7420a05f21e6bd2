// Reports of telemetry, jobs and Alertmanager: what they become, and what is refused.
#include "health/readers/reports.h"

#include <gtest/gtest.h>

#include <string>

namespace weft::health {
namespace {

struct Read {
  Reports reports;
  std::string problems;
};

Read read(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("reports", text);
  Read out{read_reports(sources, file, diagnostics), ""};
  for (const Diagnostic& one : diagnostics.sorted()) {
    out.problems += std::to_string(one.place.line) + ":" + std::to_string(one.place.column) + " " + one.message + "\n";
  }
  EXPECT_EQ(out.reports.rejected > 0, diagnostics.has_errors());
  return out;
}

constexpr sched::Moment kTime(1'767'323'045'000'000'000);

TEST(HealthReports, Signal) {
  const Read got = read(
      R"({"signal":"webhook:cooling_alarm","node":"gpu-001","part":"CDU 3","value":1.5,"time":"2026-01-02T03:04:05Z",)"
      R"("text":"flow is low","details":{"loop":"primary","bar":2}})");
  EXPECT_EQ(got.problems, "");
  ASSERT_EQ(got.reports.signals.size(), 1U);
  const Signal expected{
      "webhook:cooling_alarm", "gpu-001", "CDU 3", 1.5, kTime, "flow is low", {{"loop", "primary"}, {"bar", "2"}},
      SignalSource::other};
  EXPECT_EQ(got.reports.signals.front(), expected);
}

TEST(HealthReports, LinesArraysAndObjects) {
  EXPECT_EQ(read("").reports.signals.size(), 0U);
  EXPECT_EQ(read("\n{\"signal\":\"a:b\"}\n\n  {\"signal\":\"a:c\"}\r\n").reports.signals.size(), 2U);
  EXPECT_EQ(read("[{\"signal\":\"a:b\"},\n {\"signal\":\"a:c\"}]").reports.signals.size(), 2U);
  EXPECT_EQ(read("{\n  \"signal\": \"a:b\"\n}\n").reports.signals.size(), 1U);
  EXPECT_EQ(read("[{\"signal\":\"a:b\"}]\n").reports.signals.size(), 1U);
}

TEST(HealthReports, AWrongObjectDoesNotSpoilTheOthers) {
  const Read lines = read("{\"signal\":\"a:b\"}\n{\"signal\":\n{\"signal\":\"a:c\"}\n7\n{}\n{\"signal\":\"a:d\"}");
  EXPECT_EQ(lines.reports.signals.size(), 3U);
  EXPECT_EQ(lines.reports.rejected, 3U);
  EXPECT_NE(lines.problems.find("2:"), std::string::npos) << lines.problems;
  EXPECT_NE(lines.problems.find("4:1 a report must be an object"), std::string::npos) << lines.problems;
  EXPECT_NE(lines.problems.find("5:1 a report must have `signal`, `job` or `alerts`"), std::string::npos);
  const Read array = read("[{\"signal\":\"a:b\"},\n {\"signal\":\"a:c\",\"nod\":\"x\"},\n {\"signal\":\"a:d\"}]");
  EXPECT_EQ(array.reports.signals.size(), 2U);
  EXPECT_EQ(array.problems, "2:18 unknown key `nod`\n");
  // The first line is cut off: the others count all the same.
  EXPECT_EQ(read("{\"signal\":\"a:b\n{\"signal\":\"a:c\"}").reports.signals.size(), 1U);
}

TEST(HealthReports, RefusedSignals) {
  const auto refused = [](const std::string& members) {
    const Read got = read("{" + members + "}");
    EXPECT_TRUE(got.reports.signals.empty()) << members;
    EXPECT_EQ(got.reports.rejected, 1U) << members;
  };
  for (const std::string name : {"xid", "xid:*", "xid:1-5", ":x", "a:", "A:b", "a:b c", "a:b:c", ""}) {
    refused("\"signal\":\"" + name + "\"");
  }
  refused("\"signal\":\"a:" + std::string(127, 'b') + "\"");
  refused(R"("signal":7)");
  refused(R"("signal":"a:b","node":"x y")");
  refused(R"("signal":"a:b","node":"")");
  refused(R"("signal":"a:b","value":"1")");
  refused(R"("signal":"a:b","value":1e400)");
  refused(R"("signal":"a:b","value":NaN)");
  refused(R"("signal":"a:b","time":"yesterday")");
  refused(R"("signal":"a:b","time":1767323045)");
  refused(R"("signal":"a:b","time":"9999-01-01T00:00:00Z")");
  refused(R"("signal":"a:b","part":"x\u0007")");
  refused(R"("signal":"a:b","details":["x"])");
  refused(R"("signal":"a:b","details":{"x":["y"]})");
  refused(R"("signal":"a:b","details":{"":"y"})");
  refused("\"signal\":\"a:b\",\"text\":\"" + std::string(1001, 'x') + "\"");
  std::string details;
  for (int i = 0; i < 17; ++i) details += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"v\"";
  refused("\"signal\":\"a:b\",\"details\":{" + details + "}");
  refused(R"("signal":"a:b","job":"1")");
}

TEST(HealthReports, Heartbeat) {
  const Read got =
      read(R"({"job":17,"node":"gpu-001","rank":3,"step":1200,"step_seconds":5.1,"busy_seconds":4.2,"loss":2.1,)"
           R"("stage":"0","phase":"checkpoint","time":"2026-01-02T03:04:05Z"})");
  EXPECT_EQ(got.problems, "");
  const JobStep expected{"17", "gpu-001", "0", 3, 1200, 5.1, 4.2, JobPhase::checkpoint, kTime};
  ASSERT_EQ(got.reports.steps.size(), 1U);
  EXPECT_EQ(got.reports.steps.front(), expected);
  ASSERT_EQ(got.reports.signals.size(), 1U);
  const Signal& beat = got.reports.signals.front();
  EXPECT_EQ(beat.name, "job:heartbeat");
  EXPECT_EQ(beat.node, "gpu-001");
  EXPECT_EQ(beat.part, "job 17 rank 3");
  EXPECT_EQ(beat.value, 1200.0);
  EXPECT_EQ(beat.source, SignalSource::job);
  EXPECT_EQ(beat.detail("rank"), "3");
}

TEST(HealthReports, LossThatIsNotANumber) {
  for (const std::string loss : {"\"nan\"", "\"NaN\"", "NaN", "\"inf\"", "-Infinity", "Infinity", "null", "1e999"}) {
    const Read got = read(R"({"job":"1","node":"n","rank":0,"step":5,"loss":)" + loss + "}");
    EXPECT_EQ(got.problems, "") << loss;
    ASSERT_EQ(got.reports.signals.size(), 2U) << loss;
    EXPECT_EQ(got.reports.signals.front().name, "job:nan_loss");
    EXPECT_FALSE(got.reports.signals.front().value);
    EXPECT_EQ(got.reports.signals.front().detail("step"), "5");
  }
  EXPECT_EQ(read(R"({"job":"1","node":"n","rank":0,"step":5,"loss":0})").reports.signals.size(), 1U);
  EXPECT_EQ(read(R"({"job":"1","node":"n","rank":0,"step":5,"loss":"low"})").reports.rejected, 1U);
  // In a text it is a word as any other.
  EXPECT_EQ(read(R"({"signal":"a:b","text":"NaN \" Infinity"})").reports.signals.front().text, "NaN \" Infinity");
}

TEST(HealthReports, RefusedHeartbeats) {
  const std::string start = R"({"job":"1","node":"n","rank":0,"step":5)";
  EXPECT_EQ(read(start + "}").reports.steps.size(), 1U);
  for (const std::string more :
       {R"(,"busy_seconds":-1)", R"(,"busy_seconds":1e7)", R"(,"step_seconds":"1")", R"(,"step_seconds":null)",
        R"(,"phase":"idle")", R"(,"speed":1)", R"(,"stage":[])", R"(,"busy_seconds":NaN)"}) {
    EXPECT_EQ(read(start + more + "}").reports.rejected, 1U) << more;
  }
  for (const std::string text :
       {R"({"job":"","node":"n","rank":0,"step":5})", R"({"job":"1","rank":0,"step":5})",
        R"({"job":"1","node":"n","step":5})", R"({"job":"1","node":"n","rank":1048576,"step":5})",
        R"({"job":"1","node":"n","rank":0,"step":-5})", R"({"job":"1","node":"n","rank":0,"step":1.5})",
        R"({"job":"1","node":"n","rank":0,"step":99999999999999999999})",
        R"({"job":1.5,"node":"n","rank":0,"step":1})"}) {
    EXPECT_EQ(read(text).reports.rejected, 1U) << text;
  }
}

TEST(HealthReports, Alertmanager) {
  const Read got = read(R"({"version":"4","groupKey":"g","status":"firing","receiver":"weft","truncatedAlerts":0,
    "alerts":[
     {"status":"firing","labels":{"alertname":"GpuHot","instance":"gpu-001:9400","gpu":"3","severity":"critical"},
      "annotations":{"summary":"GPU 3 is hot"},"startsAt":"2026-01-02T03:04:05Z","endsAt":"0001-01-01T00:00:00Z",
      "generatorURL":"","fingerprint":"a"},
     {"status":"resolved","labels":{"alertname":"Link down","hostname":"gpu-002","device":"mlx5_0"},
      "startsAt":"2026-01-02T03:00:00Z","endsAt":"2026-01-02T04:04:05+01:00"},
     {"status":"firing","labels":{"alertname":"1-5","instance":"http://x:80/"}},
     {"status":"firing","labels":{"instance":"a"}},
     {"status":"odd","labels":{"alertname":"a"}},
     7]})");
  EXPECT_EQ(got.reports.rejected, 3U);
  ASSERT_EQ(got.reports.signals.size(), 3U);
  const Signal& hot = got.reports.signals[0];
  EXPECT_EQ(hot.name, "alert:gpuhot");
  EXPECT_EQ(hot.node, "gpu-001");
  EXPECT_EQ(hot.part, "GPU 3");
  EXPECT_EQ(hot.at, kTime);
  EXPECT_EQ(hot.text, "GPU 3 is hot");
  EXPECT_EQ(hot.detail("state"), "firing");
  EXPECT_EQ(hot.detail("severity"), "critical");
  const Signal& link = got.reports.signals[1];
  EXPECT_EQ(link.name, "alert:link_down");
  EXPECT_EQ(link.node, "gpu-002");
  EXPECT_EQ(link.part, "mlx5_0");
  EXPECT_EQ(link.detail("state"), "resolved");
  EXPECT_EQ(link.at, kTime);
  EXPECT_EQ(got.reports.signals[2].name, "alert:1_5");
  EXPECT_EQ(got.reports.signals[2].node, "");
  EXPECT_EQ(read(R"({"version":"3","alerts":[]})").reports.rejected, 1U);
  EXPECT_EQ(read(R"({"version":"4","alerts":{}})").reports.rejected, 1U);
}

TEST(HealthReports, Limits) {
  std::string labels = "\"alertname\":\"x\"";
  for (int i = 0; i < 40; ++i) labels += ",\"l" + std::to_string(i) + "\":\"" + std::string(400, 'v') + "\"";
  const Read alert = read("{\"version\":\"4\",\"alerts\":[{\"status\":\"firing\",\"labels\":{" + labels +
                          "},\"annotations\":{\"description\":\"" + std::string(5000, 'd') + "\"}}]}");
  ASSERT_EQ(alert.reports.signals.size(), 1U);
  EXPECT_EQ(alert.reports.signals[0].details.size(), kMaxReportDetails);
  EXPECT_LE(alert.reports.signals[0].text.size(), kMaxReportText);
  std::string many;
  for (std::size_t i = 0; i < kMaxReports + 5; ++i) many += "{\"signal\":\"a:b\"}\n";
  const Read rest = read(many);
  EXPECT_EQ(rest.reports.signals.size(), kMaxReports);
  EXPECT_EQ(rest.reports.rejected, 1U);
  EXPECT_EQ(read(std::string(kMaxReportBytes + 1, ' ')).reports.rejected, 1U);
}

}  // namespace
}  // namespace weft::health

#include "health/readers/prometheus_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"

namespace weft::health {
namespace {

using sched::Moment;
using sched::seconds;

std::string text_of(const std::string& json) {
  const Result<std::string> text = exposition_of_answer(json);
  return text.ok() ? *text : text.error().text();
}

// The example of Prometheus' documentation (docs/querying/api.md, instant queries).
TEST(PrometheusAnswer, ReadsTheExampleOfTheDocumentation) {
  EXPECT_EQ(text_of(R"({
   "status" : "success",
   "data" : {
      "resultType" : "vector",
      "result" : [
         {"metric" : {"__name__" : "up", "job" : "prometheus", "instance" : "localhost:9090"},
          "value": [ 1435781451.781, "1" ]},
         {"metric" : {"__name__" : "up", "job" : "node", "instance" : "localhost:9100"},
          "value" : [ 1435781451.781, "0" ]}
      ]
   }
})"),
            "up{job=\"prometheus\",instance=\"localhost:9090\"} 1 1435781451.781\n"
            "up{job=\"node\",instance=\"localhost:9100\"} 0 1435781451.781\n# EOF\n");
}

TEST(PrometheusAnswer, ReadsMatricesInTheOrderOfTime) {
  EXPECT_EQ(text_of(R"({"status":"success","data":{"resultType":"matrix","result":[
      {"metric":{"__name__":"a","b":"x\"\\\ny"},"values":[[10,"NaN"],[30.5,"+Inf"]]},
      {"metric":{"__name__":"c"},"values":[[20,"1e-05"]]},
      {"metric":{},"values":[[20,"1"]]},
      {"metric":{"__name__":"h"},"histograms":[[20,{}]]}]},"warnings":["x"]})"),
            "a{b=\"x\\\"\\\\\\ny\"} NaN 10\nc{} 1e-05 20\na{b=\"x\\\"\\\\\\ny\"} +Inf 30.5\n# EOF\n");
}

TEST(PrometheusAnswer, PassesErrorsOn) {
  const Result<std::string> error =
      exposition_of_answer(R"({"status":"error","errorType":"bad_data","error":"parse error: unexpected \"}\""})");
  ASSERT_FALSE(error.ok());
  EXPECT_EQ(error.error().code, ErrorCode::invalid_input);
  EXPECT_EQ(error.error().text(), "Prometheus: parse error: unexpected \"}\"");
  EXPECT_EQ(exposition_of_answer(R"({"status":"error","errorType":"timeout"})").error().code, ErrorCode::timeout);
}

TEST(PrometheusAnswer, RefusesWhatIsNoAnswer) {
  for (
      const char* const bad :
      {"", "x", "[]", "{}", R"({"status":"success"})", R"({"status":"success","data":{"result":[]}})",
       R"({"status":"success","data":{"resultType":"scalar","result":[1435781460.781,"1"]}})",
       R"({"status":"success","data":{"resultType":"vector","result":[1]}})",
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"a"}}]}})",
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"a"},"value":[1]}]}})",
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"a"},"value":[1,"1\nb 2"]}]}})",
       R"({"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"a"},"value":["x","1"]}]}})"}) {
    EXPECT_FALSE(exposition_of_answer(bad).ok()) << bad;
  }
}

class Counter : public MetricSink {
 public:
  void measure(SeriesId, double value, Moment at) override {
    values.push_back(value);
    moments.push_back(at);
  }
  void report(Signal event) override { events.push_back(event.name + " " + event.node + " " + event.part); }
  std::vector<double> values;
  std::vector<Moment> moments;
  std::vector<std::string> events;
};

TEST(PrometheusAnswer, GivesSamplesOfManyNodes) {
  MetricReader reader;
  const TargetId target = *reader.add_target("prometheus");
  Counter sink;
  const auto read = [&](const char* result) {
    const Result<ReadReport> report = read_prometheus_answer(
        reader, target, std::string(R"({"status":"success","data":{"resultType":"matrix","result":)") + result + "}}",
        Moment() + seconds(1000), sink);
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->error, std::nullopt);
  };
  read(
      R"([{"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"0","instance":"10.0.0.1:9400"},"values":[[900,"60"],[915,"61"]]}])");
  read(
      R"([{"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"0","instance":"10.0.0.1:9400"},"values":[[915,"61"],[930.5,"62"]]}])");
  EXPECT_EQ(sink.values, (std::vector<double>{60, 61, 62}));
  EXPECT_EQ(sink.moments.back(), Moment(930'500'000'000));
  EXPECT_EQ(reader.series(0).node, "10.0.0.1");
  read(R"([{"metric":{"__name__":"DCGM_FI_DEV_XID_ERRORS","gpu":"0","err_code":"79","node":"n1"},"values":[[945,"79"]]},
           {"metric":{"__name__":"DCGM_FI_DEV_XID_ERRORS","gpu":"0","err_code":"94","node":"n1"},"values":[[930,"94"]]}])");
  EXPECT_EQ(sink.events, (std::vector<std::string>{"xid:94 n1 GPU 0", "xid:79 n1 GPU 0"}));
}

TEST(PrometheusAnswer, AsksForEverySignal) {
  const std::vector<std::string> paths = prometheus_query_paths({});
  const auto has = [&](std::string_view path) { return std::find(paths.begin(), paths.end(), path) != paths.end(); };
  EXPECT_TRUE(has("/api/v1/query?query=DCGM_FI_DEV_PCIE_LINK_GEN%7B%7D"));
  EXPECT_TRUE(has("/api/v1/query?query=%7B__name__%3D~%22DCGM_FI_DEV_GPU_TEMP%7CDCGM_FI_DEV_GPU_TEMP_CELSIUS%22%7D"));
  std::size_t names = 0;
  for (const std::string& path : paths) names += 1 + (split(replace_all(path, "%7C", "|"), '|').size() - 1);
  EXPECT_EQ(names, known_metrics().size());
  PrometheusQuery query;
  query.path_prefix = "/prometheus";
  query.matchers = "cluster=\"a b\"";
  query.window = Duration(60'000'000'000);
  query.at = Moment(1'435'781'451'781'000'000);
  const std::vector<std::string> more = prometheus_query_paths(query);
  EXPECT_TRUE(
      std::find(more.begin(), more.end(),
                "/prometheus/api/v1/query?query=DCGM_FI_DEV_PCIE_LINK_GEN%7Bcluster%3D%22a%20b%22%7D%5B60000ms%5D"
                "&time=1435781451.781000000") != more.end());
}

}  // namespace
}  // namespace weft::health

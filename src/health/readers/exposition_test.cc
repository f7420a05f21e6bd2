#include "health/readers/exposition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace weft::health {
namespace {

using Item = ExpositionReader::Item;
using sched::Moment;

constexpr ExpositionFormat kPrometheus = ExpositionFormat::prometheus;
constexpr ExpositionFormat kOpenMetrics = ExpositionFormat::openmetrics;

struct Read {
  std::vector<MetricSample> samples;
  std::vector<std::size_t> damaged;  // lines
  std::vector<std::string> problems;
  bool complete = false;
};

Read read_all(std::string_view text, ExpositionFormat format = kPrometheus) {
  Read read;
  ExpositionReader reader(text, format);
  for (Item item = reader.next(); item != Item::end; item = reader.next()) {
    if (item == Item::sample) {
      read.samples.push_back(reader.sample());
    } else {
      read.damaged.push_back(reader.line());
      read.problems.emplace_back(reader.problem());
    }
  }
  EXPECT_EQ(reader.damaged(), read.damaged.size());
  EXPECT_EQ(reader.next(), Item::end);
  read.complete = reader.is_complete();
  return read;
}

// NaN if the line is damaged; a sample with NaN as its value is tested by itself.
double value_of(const std::string& number, ExpositionFormat format = kPrometheus) {
  const Read read = read_all("a " + number + "\n", format);
  return read.samples.size() == 1 ? read.samples[0].value : std::numeric_limits<double>::quiet_NaN();
}

bool is_damaged(const std::string& line, ExpositionFormat format) {
  const Read read = read_all(line + "\n", format);
  return read.samples.empty() && read.damaged == std::vector<std::size_t>{1};
}

std::optional<Moment> moment_of(const std::string& text, ExpositionFormat format) {
  const Read read = read_all("a 1 " + text + "\n", format);
  return read.samples.size() == 1 ? read.samples[0].at : std::nullopt;
}

// From the specification of the text format (prometheus/docs, instrumenting/exposition_formats.md).
TEST(Exposition, ReadsTheExampleOfTheSpecification) {
  const Read read = read_all(R"(# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000

# Escaping in label values:
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9

# Minimalistic line:
metric_without_timestamp_and_labels 12.47

# A weird metric from before the epoch:
something_weird{problem="division by zero"} +Inf -3982045

http_request_duration_seconds_bucket{le="+Inf"} 144320
)");
  EXPECT_TRUE(read.complete);
  EXPECT_TRUE(read.damaged.empty());
  ASSERT_EQ(read.samples.size(), 6U);
  EXPECT_EQ(read.samples[0].name, "http_requests_total");
  EXPECT_EQ(read.samples[0].labels, R"({method="post",code="200"})");
  EXPECT_EQ(read.samples[0].value, 1027);
  EXPECT_EQ(read.samples[0].at, Moment(1'395'066'363'000'000'000));
  EXPECT_EQ(read.samples[1].value, 3);
  EXPECT_EQ(read.samples[2].value, 1458255915);
  EXPECT_EQ(read.samples[2].at, std::nullopt);
  EXPECT_EQ(read.samples[3].labels, "");
  EXPECT_EQ(read.samples[3].value, 12.47);
  EXPECT_EQ(read.samples[4].value, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.samples[4].at, Moment(-3'982'045'000'000));
  EXPECT_EQ(read.samples[5].value, 144320);
}

// From the specification of OpenMetrics (OpenObservability/OpenMetrics, specification/OpenMetrics.md).
TEST(Exposition, ReadsTheExampleOfOpenMetrics) {
  const Read read = read_all(R"(# TYPE acme_http_router_request_seconds summary
# UNIT acme_http_router_request_seconds seconds
# HELP acme_http_router_request_seconds Latency though all of ACME's HTTP request router.
acme_http_router_request_seconds_sum{path="/api/v1",method="GET"} 9036.32
acme_http_router_request_seconds_count{path="/api/v1",method="GET"} 807283.0
# TYPE go_goroutines gauge
go_goroutines 69
process_cpu_seconds_total 4.20072246e+06
# EOF
)",
                             kOpenMetrics);
  EXPECT_TRUE(read.complete);
  EXPECT_TRUE(read.damaged.empty());
  ASSERT_EQ(read.samples.size(), 4U);
  EXPECT_EQ(read.samples[0].value, 9036.32);
  EXPECT_EQ(read.samples[1].value, 807283);
  EXPECT_EQ(read.samples[3].value, 4200722.46);
}

TEST(Exposition, ReadsExemplars) {
  const Read read = read_all(
      "foo_bucket{le=\"0.1\"} 8 # {} 0.054\n"
      "foo_bucket{le=\"1\"} 11 # {trace_id=\"KOO5S4vxi0o\"} 0.67\n"
      "foo_bucket{le=\"10\"} 17 # {trace_id=\"oHg5SJYRHA0\"} 9.8 1520879607.789\n"
      "a_total{foo=\"} foo # bar # \"} 0 123 # {a=\"b # \"} 0.5\n"
      "# EOF",
      kOpenMetrics);
  EXPECT_TRUE(read.complete);
  EXPECT_TRUE(read.damaged.empty());
  ASSERT_EQ(read.samples.size(), 4U);
  EXPECT_EQ(read.samples[2].value, 17);
  EXPECT_EQ(read.samples[2].at, std::nullopt);
  EXPECT_EQ(read.samples[3].at, Moment(123'000'000'000));
  for (const char* const bad : {"a 1 #", "a 1 #id=\" # \"} 1", "a 1 # {}1", "a 1 # {} 0x1p-3",
                                "a 1 # {a=\"b\"} 0.5 NaN", "a 1 # {a=\"b\"}", "a 1 1 id=\" # \"} 1", "a 1 # {a} 1"}) {
    EXPECT_TRUE(is_damaged(bad, kOpenMetrics)) << bad;
  }
  EXPECT_TRUE(is_damaged("a 1 # {a=\"b\"} 1", kPrometheus));
}

TEST(Exposition, ReadsEveryFormOfNumber) {
  EXPECT_EQ(value_of("0"), 0);
  EXPECT_TRUE(std::signbit(value_of("-0")));
  EXPECT_EQ(value_of("42"), 42);
  EXPECT_EQ(value_of("+42"), 42);
  EXPECT_EQ(value_of("-42.5"), -42.5);
  EXPECT_EQ(value_of("1."), 1);
  EXPECT_EQ(value_of(".5"), 0.5);
  EXPECT_EQ(value_of("409.692000"), 409.692);
  EXPECT_EQ(value_of("0.1"), 0.1);
  EXPECT_EQ(value_of("999999999999999"), 999999999999999.0);
  EXPECT_EQ(value_of("9999999999999999"), 1e16);
  EXPECT_EQ(value_of("123456789.12345678901"), 123456789.12345678901);
  EXPECT_EQ(value_of("9223372036854775794"), 9223372036854775808.0);
  EXPECT_EQ(value_of("7.424100000000001e-05"), 7.424100000000001e-05);
  EXPECT_EQ(value_of("1.8527668E+07"), 18527668);
  EXPECT_EQ(value_of("0000000000000000000000000000000000000000001.2e-1"), 0.12);
  EXPECT_EQ(value_of("4.9e-324"), 4.9e-324);
  EXPECT_EQ(value_of("1.7976931348623157e308"), std::numeric_limits<double>::max());
  for (const char* const word : {"Inf", "+Inf", "inf", "INFINITY", "+infinity"}) {
    EXPECT_EQ(value_of(word), std::numeric_limits<double>::infinity()) << word;
  }
  EXPECT_EQ(value_of("-Inf"), -std::numeric_limits<double>::infinity());
  for (const char* const word : {"NaN", "nan", "NAN"}) {
    const Read read = read_all(std::string("a ") + word + "\n");
    ASSERT_EQ(read.samples.size(), 1U) << word;
    EXPECT_TRUE(std::isnan(read.samples[0].value));
  }
}

// The last ones are from Prometheus' own tests (model/textparse/promparse_test.go) and OpenMetrics' (bad_value_*).
TEST(Exposition, RefusesWhatIsNotANumber) {
  for (const char* const bad :
       {"",     "-",      "+",  ".",    "e5",    "1e", "1e+", "1.2.3", "1,5", "--1", "+-1",    "-+1", "+NaN",
        "-nan", "nan(1)", "in", "infx", "1e400", "1x", "1\r", "true",  "1_2", "0x1", "0x1p-3", "0b1", "0o1"}) {
    EXPECT_TRUE(is_damaged(std::string("a ") + bad, kPrometheus)) << bad;
    EXPECT_TRUE(is_damaged(std::string("a ") + bad, kOpenMetrics)) << bad;
  }
}

TEST(Exposition, ReadsTimestampsInMilliseconds) {
  EXPECT_EQ(moment_of("0", kPrometheus), Moment(0));
  EXPECT_EQ(moment_of("1395066363123", kPrometheus), Moment(1'395'066'363'123'000'000));
  EXPECT_EQ(moment_of("-1", kPrometheus), Moment(-1'000'000));
  EXPECT_EQ(moment_of("9223372036854775807", kPrometheus), sched::kNever);
  EXPECT_EQ(moment_of("-9223372036854775808", kPrometheus), Moment(-sched::kNever.count()));
  for (const char* const bad : {"1.5", "1e3", "NaN", "z", "1z", "1_2", "99999999999999999999", "1 2", "+-5"}) {
    EXPECT_TRUE(is_damaged(std::string("a 1 ") + bad, kPrometheus)) << bad;
  }
}

// OpenMetrics' own cases (tests/testdata/parsers/timestamps and bad_timestamp_*), and digits that a double cannot hold.
TEST(Exposition, ReadsTimestampsInSeconds) {
  EXPECT_EQ(moment_of("000", kOpenMetrics), Moment(0));
  EXPECT_EQ(moment_of("1.1", kOpenMetrics), Moment(1'100'000'000));
  EXPECT_EQ(moment_of("1.5e3", kOpenMetrics), Moment(1'500'000'000'000));
  EXPECT_EQ(moment_of("1520879607.123456789", kOpenMetrics), Moment(1'520'879'607'123'456'789));
  EXPECT_EQ(moment_of("1520879607.1234567899", kOpenMetrics), Moment(1'520'879'607'123'456'789));
  EXPECT_EQ(moment_of("-1.000000001", kOpenMetrics), Moment(-1'000'000'001));
  EXPECT_EQ(moment_of(".25", kOpenMetrics), Moment(250'000'000));
  EXPECT_EQ(moment_of("12345678901234567890.1234567890", kOpenMetrics), sched::kNever);
  for (const char* const bad : {"z", "1z", "1_2", "1.1.1", "NaN", "Inf", "-Inf", "0x1p-3", "--5", "1.5e"}) {
    EXPECT_TRUE(is_damaged(std::string("a 1 ") + bad, kOpenMetrics)) << bad;
  }
}

TEST(Exposition, AllowsSpacesWherePrometheusDoes) {
  const Read read = read_all(
      "go_gc_duration_seconds{quantile=\"0.25\",} 7e-05\n"
      "go_gc_duration_seconds { quantile= \"1.0\", a= \"b\", } 8e-05\n"
      "go_gc_duration_seconds { quantile = \"1.0\", a = \"b\" } 8e-05\n"
      "some:aggregate:rate5m{a_b=\"c\"}\t1\n"
      "go_goroutines 33  \t123123 \n"
      "  indented 1\n"
      "empty{} 1\n"
      "#comment without a space\n#\n \t \n");
  EXPECT_TRUE(read.complete);
  EXPECT_TRUE(read.damaged.empty());
  ASSERT_EQ(read.samples.size(), 7U);
  EXPECT_EQ(read.samples[1].labels, "{ quantile= \"1.0\", a= \"b\", }");
  EXPECT_EQ(read.samples[3].name, "some:aggregate:rate5m");
  EXPECT_EQ(read.samples[4].at, Moment(123'123'000'000));
  EXPECT_EQ(read.samples[6].labels, "{}");
}

TEST(Exposition, RefusesDamagedLines) {
  for (const char* const bad : {"a",
                                "a ",
                                "a{b='c'} 1",
                                "a{b=",
                                "a{\xff=\"foo\"} 1",
                                "x{problem=\"",
                                "x{=\"\"} 0",
                                "{A}0",
                                "{a=\"ok\"} 1",
                                "1a 1",
                                "-a 1",
                                "a{1=\"1\"} 1",
                                "a{a=\"1\"b} 1",
                                "a{a=\" # \"}1",
                                "a{a} 1",
                                "a{a\"value\"} 1",
                                "a{a=} 1",
                                "a{a=\"} 1",
                                "a{a=\"1\"b=\"2\"} 1",
                                "a{a=\"1\",,b=\"2\"} 1",
                                "a{,} 1",
                                "a{a=1} 1",
                                "a{a=\"x\\\"} 1",
                                "a{a=\"x\\",
                                "a.b 1",
                                "a{a=\"1\"",
                                "a{a=\"1\",",
                                "a{",
                                "a}",
                                "a{:=\"1\"} 1",
                                "\\ 1"}) {
    EXPECT_TRUE(is_damaged(bad, kPrometheus)) << bad;
    EXPECT_TRUE(is_damaged(bad, kOpenMetrics)) << bad;
  }
}

TEST(Exposition, GoesOnBehindADamagedLine) {
  const Read read = read_all("# TYPE a gauge\na 1\nb{c=\"d} 2\n\nc x\n# comment\nd{e=\"f\"} 3\n");
  ASSERT_EQ(read.samples.size(), 2U);
  EXPECT_EQ(read.samples[1].name, "d");
  EXPECT_EQ(read.damaged, (std::vector<std::size_t>{3, 5}));
  EXPECT_EQ(read.problems[0], "the value of a label has no closing quote");
  EXPECT_EQ(read.problems[1], "the value is not a number");
  EXPECT_TRUE(read.complete);
}

TEST(Exposition, SaysWhenTheTextWasCutOff) {
  const Read number = read_all("a 1\nb 12");
  EXPECT_EQ(number.samples.size(), 1U);
  EXPECT_EQ(number.damaged, std::vector<std::size_t>{2});
  EXPECT_FALSE(number.complete);
  EXPECT_TRUE(read_all("").complete);
  EXPECT_TRUE(read_all("a 1\n# comm").complete);
  EXPECT_FALSE(read_all("", kOpenMetrics).complete);
  EXPECT_FALSE(read_all("a 1\n", kOpenMetrics).complete);
  EXPECT_FALSE(read_all("a 1\n# EOFblah", kOpenMetrics).complete);
  EXPECT_TRUE(read_all("a 1\n# EOF", kOpenMetrics).complete);
  const Read more = read_all("a 1\n# EOF\nblah 1\nblah 2\n", kOpenMetrics);
  EXPECT_EQ(more.samples.size(), 1U);
  EXPECT_EQ(more.damaged, std::vector<std::size_t>{3});
  EXPECT_FALSE(more.complete);
  EXPECT_EQ(read_all("# EOF\na 1\n").samples.size(), 1U);  // a comment in the format of Prometheus
}

TEST(Exposition, ToleratesHostileText) {
  const std::string nul("null_byte_metric{a=\"abc\0\"} 1\n\0 1\na\0b 1\n",
                        sizeof("null_byte_metric{a=\"abc\0\"} 1\n\0 1\na\0b 1\n") - 1);
  const Read read = read_all(nul);
  ASSERT_EQ(read.samples.size(), 1U);
  EXPECT_EQ(read.samples[0].labels, std::string_view("{a=\"abc\0\"}", 10));
  EXPECT_EQ(read.damaged, (std::vector<std::size_t>{2, 3}));
  const std::string huge(1 << 22, 'a');
  EXPECT_TRUE(is_damaged(huge, kPrometheus));
  EXPECT_EQ(read_all(huge + "{b=\"" + huge + "\"} 1\n").samples.size(), 1U);
  EXPECT_TRUE(is_damaged("a{b=\"" + huge, kPrometheus));
  EXPECT_TRUE(is_damaged("a 1" + std::string(100'000, '0') + "x", kPrometheus));
  std::string quotes;
  for (int i = 0; i < 100'000; ++i) quotes += "a{b=\"\n";  // linear: no scan goes beyond its line
  EXPECT_EQ(read_all(quotes).damaged.size(), 100'000U);
}

TEST(Exposition, SplitsAndUnescapesLabels) {
  LabelReader reader(R"({a="x",b = "C:\\DIR\n\"q\" \z\\" , c="",})");
  MetricLabel label;
  std::string buffer;
  ASSERT_TRUE(reader.next(label));
  EXPECT_EQ(label.name, "a");
  EXPECT_FALSE(label.escaped);
  EXPECT_EQ(label.value(buffer).data(), label.raw.data());
  ASSERT_TRUE(reader.next(label));
  EXPECT_EQ(label.name, "b");
  EXPECT_EQ(label.value(buffer), "C:\\DIR\n\"q\" \\z\\");
  ASSERT_TRUE(reader.next(label));
  EXPECT_EQ(label.name, "c");
  EXPECT_EQ(label.value(buffer), "");
  EXPECT_FALSE(reader.next(label));
  std::string written;
  append_escaped_label(written, "C:\\DIR\n\"q\"");
  EXPECT_EQ(written, R"(C:\\DIR\n\"q\")");
  for (const char* const bad :
       {"", "{", "{}", "{a", "{a=", "{a=\"", "{a=\"x", "{a=\"x\\", "{a=\"x\\\"", "}", "{\"a\"}"}) {
    LabelReader damaged(bad);
    EXPECT_FALSE(damaged.next(label)) << bad;
  }
}

TEST(Exposition, TakesExpectedSeries) {
  ExpositionReader reader(
      "# HELP a b\na{b=\"c\"} 1\na{b=\"c\"} 2 5\na{b=\"cd\"} 3\nplain 4\nplain {x=\"y\"} 5\nplain_b x\nplain x\n");
  EXPECT_EQ(reader.next_if("a", "{b=\"d\"}"), Item::other);
  EXPECT_EQ(reader.next_if("ab", "{b=\"c\"}"), Item::other);
  ASSERT_EQ(reader.next_if("a", "{b=\"c\"}"), Item::sample);
  EXPECT_EQ(reader.line(), 2U);
  EXPECT_EQ(reader.sample().value, 1);
  EXPECT_EQ(reader.sample().labels, "{b=\"c\"}");
  ASSERT_EQ(reader.next_if("a", "{b=\"c\"}"), Item::sample);
  EXPECT_EQ(reader.sample().at, Moment(5'000'000));
  EXPECT_EQ(reader.next_if("a", "{b=\"c\"}"), Item::other);
  EXPECT_FALSE(reader.skip_if("b"));
  EXPECT_TRUE(reader.skip_if("a"));
  ASSERT_EQ(reader.next_if("plain", ""), Item::sample);
  EXPECT_EQ(reader.next_if("plain", ""), Item::other);
  EXPECT_TRUE(reader.skip_if("plain"));
  EXPECT_EQ(reader.next_if("plain", ""), Item::other);
  EXPECT_FALSE(reader.skip_if("plain"));
  EXPECT_EQ(reader.next(), Item::damaged);
  EXPECT_EQ(reader.next_if("plain", ""), Item::damaged);
  EXPECT_EQ(reader.line(), 8U);
  EXPECT_EQ(reader.next_if("plain", ""), Item::other);
  EXPECT_FALSE(reader.skip_if("plain"));
  EXPECT_EQ(reader.next(), Item::end);
}

TEST(Exposition, TellsTheFormat) {
  EXPECT_EQ(exposition_format("application/openmetrics-text; version=1.0.0; charset=utf-8"), kOpenMetrics);
  EXPECT_EQ(exposition_format("text/plain; version=0.0.4"), kPrometheus);
  EXPECT_EQ(exposition_format(""), kPrometheus);
  EXPECT_EQ(guess_exposition_format("a 1\n# EOF\n"), kOpenMetrics);
  EXPECT_EQ(guess_exposition_format("# EOF"), kOpenMetrics);
  EXPECT_EQ(guess_exposition_format("a 1\n## EOF\n"), kPrometheus);
  EXPECT_EQ(guess_exposition_format("a 1\n"), kPrometheus);
}

}  // namespace
}  // namespace weft::health

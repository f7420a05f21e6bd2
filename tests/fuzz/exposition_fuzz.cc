// Bytes as metrics in text form. Any input must yield samples and damaged lines; a text whose series are known must
// yield the same samples; and one scrape after another, cut at any line, must leave the reader of a target sound.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "health/readers/exposition.h"
#include "health/readers/metric_samples.h"

namespace weft::health {
namespace {

using Item = ExpositionReader::Item;

class Checker : public MetricSink {
 public:
  void measure(SeriesId, double value, sched::Moment at) override {
    CHECK(std::isfinite(value) && at <= sched::Moment() + sched::seconds(100), "a measurement is a number of the past");
  }
  void report(Signal event) override { CHECK(!event.name.empty(), "an event has a name"); }
};

void check_labels(const MetricSample& sample) {
  LabelReader labels(sample.labels);
  MetricLabel label;
  std::string buffer;
  while (labels.next(label)) {
    std::string again;
    append_escaped_label(again, label.value(buffer));
    const MetricLabel other{label.name, again, true};
    std::string value;
    CHECK(std::string(other.value(value)) == label.value(buffer), "a value survives escaping");
  }
}

std::vector<MetricSample> read_samples(std::string_view text, ExpositionFormat format) {
  ExpositionReader reader(text, format);
  std::vector<MetricSample> samples;
  std::size_t line = 0;
  for (Item item = reader.next(); item != Item::end; item = reader.next()) {
    CHECK(reader.line() > line, "each item has a line of its own");
    line = reader.line();
    if (item != Item::sample) continue;
    check_labels(reader.sample());
    samples.push_back(reader.sample());
  }
  return samples;
}

void check_expected(std::string_view text, ExpositionFormat format, const std::vector<MetricSample>& samples) {
  ExpositionReader reader(text, format);
  for (const MetricSample& each : samples) {
    Item item = reader.next_if(each.name, each.labels);
    while (item != Item::sample) {
      CHECK(item != Item::end, "a known series is found again");
      item = reader.next();
    }
    const MetricSample& again = reader.sample();
    CHECK(again.name.data() == each.name.data() && again.labels == each.labels && again.at == each.at,
          "the same sample");
    CHECK(again.value == each.value || (std::isnan(again.value) && std::isnan(each.value)), "the same value");
  }
}

void run_exposition(std::string_view text) {
  for (const ExpositionFormat format : {ExpositionFormat::prometheus, ExpositionFormat::openmetrics}) {
    check_expected(text, format, read_samples(text, format));
  }
  MetricReader reader;
  Checker sink;
  const TargetId target = *reader.add_target("fuzz", "n1");
  const std::size_t half = text.find('\n', text.size() / 2);
  const std::string_view parts[] = {text, text.substr(0, half), half < text.size() ? text.substr(half) : text, text,
                                    text};
  std::size_t series = 0;
  for (const std::string_view part : parts) {
    series = reader.series_count();
    const ReadReport report = reader.read(target, part, sched::Moment() + sched::seconds(100), sink);
    CHECK(report.error.has_value() || (report.damaged == 0 && report.left_out == 0), "what is lost is said");
  }
  CHECK(reader.series_count() == series, "nothing new the second time");
}

}  // namespace
}  // namespace weft::health

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::health::run_exposition(text);
  return 0;
}

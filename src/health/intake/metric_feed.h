// Passes the metrics of many targets to the monitor: the series of the reader to those that rules watch, at the cost of
// one look-up in an array per sample, and the events of a scrape as they come.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "health/judge/monitor.h"
#include "health/readers/metric_samples.h"

namespace weft::health {

class MetricFeed final : public MetricSink {
 public:
  // The node of a name in labels; nullopt: none of the cluster's.
  using FindNode = std::function<std::optional<NodeIndex>(std::string_view)>;
  MetricFeed(MetricReader& reader, Monitor& monitor, FindNode find_node);

  // One scrape of a target of the reader. A complete one is a sign of life of what it measured.
  ReadReport read(TargetId target, std::string_view text, sched::Moment now);

  void measure(SeriesId series, double value, sched::Moment at) override;
  void report(Signal event) override;
  // Samples whose node is none of the cluster's.
  [[nodiscard]] std::uint64_t foreign() const { return foreign_; }

 private:
  static constexpr WatchedSeries kNotAsked = kNotWatched - 1;
  struct Place {
    WatchedSeries watched = kNotAsked;
    NodeIndex node = 0;
    SignalSource source = SignalSource::other;
  };
  Place& place_of(SeriesId series);
  void note_life(NodeIndex node, SignalSource source);

  MetricReader& reader_;
  Monitor& monitor_;
  FindNode find_node_;
  std::vector<Place> places_;  // by SeriesId
  struct Life {
    NodeIndex node;
    SignalSource source;
    friend bool operator==(const Life&, const Life&) = default;
  };
  std::vector<Life> alive_;  // of the scrape being read
  sched::Moment now_{};
  std::uint64_t foreign_ = 0;
};

}  // namespace weft::health

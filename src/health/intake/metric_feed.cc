#include "health/intake/metric_feed.h"

#include <algorithm>

namespace weft::health {
namespace {

constexpr NodeIndex kForeign = 0xFFFFFFFF;

}  // namespace

MetricFeed::MetricFeed(MetricReader& reader, Monitor& monitor, FindNode find_node)
    : reader_(reader), monitor_(monitor), find_node_(std::move(find_node)) {}

MetricFeed::Place& MetricFeed::place_of(SeriesId series) {
  if (places_.size() <= series) places_.resize(reader_.series_count());
  Place& place = places_[series];
  if (place.watched != kNotAsked) return place;
  const SeriesView view = reader_.series(series);
  const std::optional<NodeIndex> node = find_node_(view.node);
  place.node = node.value_or(kForeign);
  place.source = view.source;
  place.watched = node ? monitor_.add_series(*node, view.signal, view.part) : kNotWatched;
  return place;
}

void MetricFeed::measure(SeriesId series, double value, sched::Moment at) {
  const Place& place = place_of(series);
  if (place.node == kForeign) {
    ++foreign_;
    return;
  }
  note_life(place.node, place.source);
  if (place.watched != kNotWatched) monitor_.sample(place.watched, value, at);
}

void MetricFeed::report(Signal event) {
  const std::optional<NodeIndex> node = find_node_(event.node);
  if (!node) {
    ++foreign_;
    return;
  }
  note_life(*node, event.source);
  monitor_.note(*node, event, now_);
}

// A target has few nodes and sources: usually one of each.
void MetricFeed::note_life(NodeIndex node, SignalSource source) {
  const Life life{node, source};
  if (!alive_.empty() && alive_.back() == life) return;
  if (std::find(alive_.begin(), alive_.end(), life) == alive_.end()) alive_.push_back(life);
}

ReadReport MetricFeed::read(TargetId target, std::string_view text, sched::Moment now) {
  now_ = now;
  alive_.clear();
  ReadReport report = reader_.read(target, text, now, *this);
  if (report.complete) {
    for (const Life& each : alive_) monitor_.heard(each.node, each.source, now);
  }
  return report;
}

}  // namespace weft::health

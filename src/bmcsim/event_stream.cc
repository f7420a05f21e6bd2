#include "bmcsim/event_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "bmcsim/resource.h"

namespace weft::bmcsim {
namespace {

std::string stream_text(std::uint32_t id, const Value& event) {
  return fmt::format("id: {}\ndata: {}\n\n", id, write_json_line(event));
}

std::int64_t delay_ms(const SimBmc& bmc) {
  return bmc.has(FaultKind::events_late) ? bmc.faults().argument(FaultKind::events_late) / 1'000'000 : 0;
}

const SimEventFeed& feed_of(const SimBmc& bmc) {
  CHECK(bmc.feed() != nullptr, "a BMC with a stream has a feed");
  return *bmc.feed();
}

}  // namespace

SimEventStream::SimEventStream(const SimBmc& bmc, std::uint32_t subscription, std::string_view last_id)
    : subscription_(subscription), last_(feed_of(bmc).newest()) {
  if (last_id.empty()) return;
  const std::optional<std::uint32_t> id = number_in_path(last_id);
  last_unknown_ = !id || *id > last_;
  if (!last_unknown_) last_ = *id;
}

std::string SimEventStream::next(const SimBmc& bmc) {
  if (is_over(bmc) || drops(bmc)) return {};
  const SimEventFeed& feed = feed_of(bmc);
  const std::int64_t now_ms = bmc.world().wall_ms(bmc.now());
  while (true) {
    const SimEventFeed::Following following = feed.after(last_);
    if (following.lost || last_unknown_) {
      last_ = following.event != nullptr ? following.event->id - 1 : feed.newest();
      last_unknown_ = false;
      return stream_text(last_, buffer_exceeded_value(last_, now_ms));
    }
    if (following.event == nullptr || now_ms < following.event->wall_ms + delay_ms(bmc)) return {};
    const SimEvent& event = *following.event;
    last_ = event.id;
    const std::int64_t every = std::max<std::int64_t>(1, bmc.faults().argument(FaultKind::events_lost));
    if (bmc.has(FaultKind::events_lost) && event.id % every == 0) continue;
    ++sent_;
    std::string text = stream_text(event.id, event_value(event));
    return bmc.has(FaultKind::events_twice) ? text + text : text;
  }
}

bool SimEventStream::is_over(const SimBmc& bmc) const { return !feed_of(bmc).has_subscription(subscription_); }

bool SimEventStream::drops(const SimBmc& bmc) const {
  return bmc.has(FaultKind::stream_drops) && sent_ >= bmc.faults().argument(FaultKind::stream_drops);
}

std::optional<Duration> SimEventStream::due(const SimBmc& bmc) const {
  const SimEventFeed::Following following = feed_of(bmc).after(last_);
  if (following.event == nullptr) return std::nullopt;
  const std::int64_t wait_ms = following.event->wall_ms + delay_ms(bmc) - bmc.world().wall_ms(bmc.now());
  return bmc.now() + milliseconds(std::max<std::int64_t>(wait_ms, 1));
}

}  // namespace weft::bmcsim

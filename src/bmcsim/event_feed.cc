#include "bmcsim/event_feed.h"

#include <algorithm>

namespace weft::bmcsim {

void SimEventFeed::add(const SimEvent& event) {
  if (buffer_.size() >= kMaxBufferedEvents) buffer_.pop_front();
  buffer_.push_back(event);
  newest_ = event.id;
}

void SimEventFeed::clear() {
  buffer_.clear();
  subscriptions_.clear();
}

bool SimEventFeed::has_subscription(std::uint32_t id) const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [&](const SimSubscription& each) { return each.id == id; });
}

bool SimEventFeed::has_session(std::uint32_t session) const {
  return std::any_of(subscriptions_.begin(), subscriptions_.end(),
                     [&](const SimSubscription& each) { return each.session == session; });
}

std::uint32_t SimEventFeed::session_of(std::uint32_t id) const {
  for (const SimSubscription& each : subscriptions_) {
    if (each.id == id) return each.session;
  }
  return 0;
}

std::uint32_t SimEventFeed::subscribe(std::uint32_t session) {
  if (subscriptions_.size() >= kMaxSubscriptions) return 0;
  subscriptions_.push_back({next_subscription_++, session});
  return subscriptions_.back().id;
}

bool SimEventFeed::unsubscribe(std::uint32_t id) {
  return std::erase_if(subscriptions_, [&](const SimSubscription& each) { return each.id == id; }) > 0;
}

void SimEventFeed::end_session(std::uint32_t session) {
  std::erase_if(subscriptions_, [&](const SimSubscription& each) { return each.session == session; });
}

SimEventFeed::Following SimEventFeed::after(std::uint32_t id) const {
  // Ids in the buffer are consecutive.
  if (buffer_.empty() || id >= buffer_.back().id) return {nullptr, id < newest_};
  const std::uint32_t oldest = buffer_.front().id;
  if (id + 1 < oldest) return {&buffer_.front(), true};
  return {&buffer_[id + 1 - oldest], false};
}

}  // namespace weft::bmcsim

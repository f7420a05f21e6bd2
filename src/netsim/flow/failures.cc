// Links that fail and recover during a run. Flows over a failed link stall until the switch before it has detected the
// failure and has another path, or, if it has none, until the whole fabric has converged.
#include <algorithm>

#include "netsim/flow/run.h"

namespace weft::netsim {

void FlowRun::plan_failures() {
  const RoutingOptions& routing = routes_->options();
  for (std::uint32_t i = 0; i < options_->link_events.size(); ++i) {
    const LinkEvent& event = options_->link_events[i];
    if (event.kind != LinkEvent::Kind::down && event.kind != LinkEvent::Kind::up) continue;
    links_change_ = true;
    const SimTime noticed = event.at + routing.detection;
    for (const auto& [stage, at] :
         {std::pair<std::uint8_t, SimTime>{0, event.at}, {1, noticed}, {2, noticed + routing.propagation}}) {
      fixed_.push({at, FlowEventKind::link, static_cast<std::uint32_t>(link_stages_.size())});
      link_stages_.push_back({i, stage});
    }
  }
}

void FlowRun::handle_link(std::uint32_t index) {
  const LinkStage stage = link_stages_[index];
  const LinkEvent& event = options_->link_events[stage.event];
  const Link& link = model_.network().link(event.link);
  const bool down = event.kind == LinkEvent::Kind::down;
  const std::pair<NodeId, NodeId> ends{link.from, link.to};
  if (stage.stage == 0) {
    model_.set_down(event.link, down);
    if (link.reverse != model::kNone<LinkId>) model_.set_down(link.reverse, down);
    return;
  }
  if (stage.stage == 1) {
    before_.emplace_back(event.link, routes_->is_up(event.link));
    routes_->set_link(event.link, !down);
    known_nearby_.push_back(ends);
  } else {
    const auto at = std::find(known_nearby_.begin(), known_nearby_.end(), ends);
    if (at != known_nearby_.end()) known_nearby_.erase(at);
  }
  move_connections();
}

// The path that switches currently use: a new one takes effect immediately if it diverges from the old one at a switch
// that detected the failure itself, and everywhere once the fabric has converged.
std::uint32_t FlowRun::usable_path(const Connection& connection) {
  const std::uint32_t path = model_.paths().current(connection.first_path);
  if (known_nearby_.empty() || path == FlowPaths::kNoWay || connection.path == FlowPaths::kNoWay) return path;
  const bool began = result_.started[connection.transfer] != now_ || connection.sent > 0 || connection.sending;
  const std::uint32_t before = began ? connection.path : connection.first_path;
  if (path == before) return path;
  const NodeId parting = model_.paths().parting(before, path);
  const bool seen = std::any_of(known_nearby_.begin(), known_nearby_.end(), [parting](const auto& ends) {
    return ends.first == parting || ends.second == parting;
  });
  return seen ? path : before;
}

void FlowRun::move_connections() {
  for (std::uint32_t slot = 0; slot < connections_.size(); ++slot) {
    Connection& c = connections_[slot];
    if (slots_[c.transfer] == kNowhere || !c.sending) continue;
    const std::uint32_t path = usable_path(c);
    if (path == c.path) continue;
    const double left = leave(c.bundle, slot);
    note_part(c, 1 - left / c.bits);
    take_path(c, path);
    note_part(c, left / c.bits - 1);  // finishing it counts a whole round on the new path
    join(c.bundle, slot, left);
  }
}

}  // namespace weft::netsim

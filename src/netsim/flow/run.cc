#include "netsim/flow/run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace weft::netsim {

namespace {

constexpr double kPicoseconds = 1e12;
constexpr std::uint64_t kReportEvery = 4096;
constexpr double kTolerancePerFlow = 2e-7;
constexpr double kMinTolerance = 2e-4;
constexpr double kGreatestTolerance = 0.05;

SimTime after(SimTime start, SimTime time) {
  return time == kNever || start.count() > kNever.count() - time.count() ? kNever : start + time;
}

}  // namespace

FlowRun::FlowRun(Routes& routes, const TransferGraph& transfers, const SimOptions& options, SimMonitor* monitor,
                 FlowShortcuts shortcuts)
    : routes_(&routes),
      transfers_(&transfers),
      options_(&options),
      monitor_(monitor),
      repeat_(shortcuts.repeat),
      exact_work_(shortcuts.exact_work),
      model_(routes, transfers, options) {
  const std::size_t count = transfers.size();
  result_.fidelity = Fidelity::flow;
  result_.started.assign(count, kNever);
  result_.finished.assign(count, kNever);
  waiting_.resize(count);
  for (std::size_t i = 0; i < count; ++i) waiting_[i] = transfers.dependency_count(static_cast<TransferId>(i));
  ended_.assign(count, 0);
  slots_.assign(count, kNowhere);
  left_ = count;
  overload_seen_.assign(model_.network().links().size(), false);
  const std::uint64_t instances = transfers.instance_count();
  record_rounds_ = instances <= kMaxRecorded;
  if (record_rounds_) {
    if (instances > count) {
      std::uint64_t offset = 0;
      for (const Transfer& t : transfers.transfers()) {
        round_offsets_.push_back(offset);
        offset += t.rounds;
      }
    }
    result_.completion_times.assign(instances, kNever);
  }
  if (shortcuts.rings) find_rings(shortcuts.large_ring);
}

SimResult FlowRun::run() {
  begin_all();
  plan_failures();
  while (left_ > 0) {
    const SimTime next = next_time();
    if (next == kNever) break;
    if (next > options_->end) {
      note_series(options_->end);
      now_ = options_->end;
      break;
    }
    note_series(next);
    now_ = next;
    while (step()) {
    }
    settle();
    if (repeat_) look_for_repetition();
    if (!report_progress()) {
      result_.interrupted = true;
      break;
    }
  }
  report();
  return std::move(result_);
}

void FlowRun::begin_all() {
  for (std::uint32_t i = 0; i < transfers_->size(); ++i) {
    if (waiting_[i] == 0) starts_.push_back(i);
  }
  std::stable_sort(starts_.begin(), starts_.end(),
                   [this](std::uint32_t a, std::uint32_t b) { return transfer_at(a).start < transfer_at(b).start; });
}

SimTime FlowRun::next_time() const {
  SimTime next = std::min({completions_.next(), moving_.next(), fixed_.next()});
  if (next_start_ < starts_.size()) next = std::min(next, transfer_at(starts_[next_start_]).start);
  return next;
}

// Handles the events of this instant, except those they trigger at the same instant.
bool FlowRun::step() {
  const std::uint64_t before = events_;
  if (completions_.next() <= now_) {
    for (; !completions_.empty() && is_due(completions_.front()); ++events_) complete(completions_.front());
  }
  for (; moving_.next() <= now_; ++events_) handle(moving_.pop());
  for (; fixed_.next() <= now_; ++events_) handle(fixed_.pop());
  for (; next_start_ < starts_.size() && transfer_at(starts_[next_start_]).start <= now_; ++events_) {
    begin(starts_[next_start_++]);
  }
  return events_ != before;
}

void FlowRun::handle(const FlowEvent& event) {
  switch (event.kind) {
    case FlowEventKind::sent:
      finish_sending(event.id);
      break;
    case FlowEventKind::arrived:
      finish_round(event.id);
      break;
    case FlowEventKind::ring_end:
      finish_ring_member(event.id);
      break;
    case FlowEventKind::link:
      handle_link(event.id);
      break;
    case FlowEventKind::start:
      begin(event.id);
      break;
  }
}

// Computes rates after the changes of this instant.
void FlowRun::settle() {
  for (const std::uint32_t ring : touched_rings_) settle_ring(rings_[ring]);
  touched_rings_.clear();
  for (const std::uint32_t b : touched_) {
    model_.set_count(b, static_cast<std::uint32_t>(bundles_[b].members.size()));
  }
  const std::span<const std::uint32_t> changed = model_.solve();
  work_ += changed.size();
  for (const std::uint32_t b : changed) touch(b).rate = model_.rate(b);
  for (const std::uint32_t b : touched_) {
    bundles_[b].touched = false;
    reschedule(b);
  }
  touched_.clear();
  note_overload();
  set_tolerance();
}

void FlowRun::reschedule(std::uint32_t b) {
  const BundleState& bundle = bundles_[b];
  if (bundle.members.empty()) {
    completions_.set(b, kNever);
    return;
  }
  completions_.set(b, after(bundle.since, time_of(bundle.members.front().first - bundle.served, bundle.rate)));
}

SimTime FlowRun::time_of(double bits, double rate) {
  if (!(rate > 0)) return kNever;
  const double time = bits * kPicoseconds / rate;
  if (!(time < kLongest)) return kNever;
  return SimTime(static_cast<std::int64_t>(std::floor(std::max(time, 0.0) + 0.5)));
}

bool FlowRun::report_progress() {
  if (monitor_ == nullptr || events_ + work_ - reported_work_ < kReportEvery) return true;
  reported_work_ = events_ + work_;
  return monitor_->on_progress({now_, static_cast<std::uint64_t>(delivered()),
                                static_cast<std::uint64_t>(transfers_->total_bytes().count()), events_});
}

void FlowRun::make_ready(std::uint32_t transfer) {
  const SimTime start = transfer_at(transfer).start;
  if (start > now_) {
    fixed_.push({start, FlowEventKind::start, transfer});
  } else {
    begin(transfer);
  }
}

void FlowRun::begin(std::uint32_t transfer) {
  result_.started[transfer] = now_;
  if (ring_of_.empty() || ring_of_[transfer] == kNowhere || !rings_[ring_of_[transfer]].closed_form) {
    open_connections(transfer);
    return;
  }
  Ring& ring = rings_[ring_of_[transfer]];
  ring.times[ring_position_[transfer]].first = now_;
  ++ring.begun;
  if (!ring.touched) touched_rings_.push_back(ring_of_[transfer]);
  ring.touched = true;
}

void FlowRun::open_connections(std::uint32_t transfer) {
  const std::uint8_t count = transfer_at(transfer).queue_pairs;
  std::vector<std::uint32_t>& free = free_slots_[count];
  std::uint32_t first = 0;
  if (free.empty()) {
    first = static_cast<std::uint32_t>(connections_.size());
    connections_.resize(connections_.size() + count);
  } else {
    first = free.back();
    free.pop_back();
  }
  slots_[transfer] = first;
  if (reference_ == kNowhere && transfer_at(transfer).rounds >= kMinRounds) reference_ = transfer;
  for (std::uint32_t q = 0; q < count; ++q) connections_[first + q] = make_connection(transfer, q);
  const std::uint32_t allowed = ended_[model::index_of(transfer_at(transfer).round_after)];
  for (std::uint32_t round = 0; round <= allowed; ++round) note_round_start(transfer, round);
  for (std::uint32_t q = 0; q < count; ++q) try_send(first + q);
}

FlowRun::Connection FlowRun::make_connection(std::uint32_t transfer, std::uint32_t queue_pair) {
  const Transfer& t = transfer_at(transfer);
  Connection connection;
  connection.transfer = transfer;
  connection.first_path = model_.paths().first_path(transfer, queue_pair);
  const std::int64_t each = t.bytes.count() / t.queue_pairs;
  // With fewer bytes than queue pairs, each queue pair still sends a packet.
  connection.payload = Bytes(std::max<std::int64_t>(1, each + (queue_pair < t.bytes.count() % t.queue_pairs ? 1 : 0)));
  const FlowClass& c = model_.class_of(t.traffic_class);
  connection.bits = static_cast<double>(c.wire_bytes(connection.payload).count()) * 8;
  take_path(connection, links_change_ ? usable_path(connection) : connection.first_path);
  return connection;
}

void FlowRun::take_path(Connection& connection, std::uint32_t path) {
  const ClassIndex traffic_class = transfer_at(connection.transfer).traffic_class;
  const FlowModel::PathUse& use = model_.use(path, traffic_class);
  connection.path = path;
  connection.bundle = use.bundle;
  if (path == FlowPaths::kNoWay) return;
  connection.send_time = time_of(connection.bits, use.limit);
  const FlowClass& c = model_.class_of(traffic_class);
  const std::span<const LinkId> way = model_.paths().way(path);
  connection.latency = c.latency(model_.network(), way, connection.payload);
  if (transfer_at(connection.transfer).rounds == 1) {
    connection.start_up = c.start_up(model_.network(), way, connection.payload, use.limit);
  }
}

// Round s may start when round s-1 of the transfer it follows has ended and the connection is not sending.
void FlowRun::try_send(std::uint32_t slot) {
  Connection& c = connections_[slot];
  const Transfer& t = transfer_at(c.transfer);
  if (c.sending || c.sent == t.rounds) return;
  if (c.sent > 0 && ended_[model::index_of(t.round_after)] < c.sent) return;
  if (links_change_) {
    const std::uint32_t path = usable_path(c);
    if (path != c.path) take_path(c, path);
  }
  c.sending = true;
  c.since = now_;
  if (c.bundle == FlowModel::kFree) {
    moving_.push({after(now_, c.send_time), FlowEventKind::sent, slot});
  } else {
    join(c.bundle, slot, c.bits);
  }
}

FlowRun::BundleState& FlowRun::touch(std::uint32_t b) {
  if (b >= bundles_.size()) bundles_.resize(b + 1);
  BundleState& bundle = bundles_[b];
  if (!bundle.touched) {
    bundle.touched = true;
    touched_.push_back(b);
    advance(b);
  }
  return bundle;
}

void FlowRun::advance(std::uint32_t b) {
  BundleState& bundle = bundles_[b];
  bundle.served += bundle.rate * static_cast<double>((now_ - bundle.since).count()) / kPicoseconds;
  bundle.since = now_;
  if (bundle.members.size() > kFewMembers) return;
  for (auto& [finish, slot] : bundle.members) finish -= bundle.served;
  bundle.served = 0;
}

void FlowRun::join(std::uint32_t b, std::uint32_t slot, double bits) {
  BundleState& bundle = touch(b);
  bundle.members.emplace_back(bundle.served + bits, slot);
  std::push_heap(bundle.members.begin(), bundle.members.end(), std::greater<>());
}

// Removes a connection before its end; returns the bits it had left.
double FlowRun::leave(std::uint32_t b, std::uint32_t slot) {
  BundleState& bundle = touch(b);
  const auto at = std::find_if(bundle.members.begin(), bundle.members.end(),
                               [slot](const auto& member) { return member.second == slot; });
  CHECK(at != bundle.members.end(), "a connection is not where it should be");
  const double left = at->first - bundle.served;
  bundle.members.erase(at);
  std::make_heap(bundle.members.begin(), bundle.members.end(), std::greater<>());
  return std::max(left, 0.0);
}

// Whether the next of its flows to end has ended, or nearly so if completions are merged.
bool FlowRun::is_due(std::uint32_t b) const {
  const BundleState& bundle = bundles_[b];
  const auto [finish, slot] = bundle.members.front();
  const SimTime end = after(bundle.since, time_of(finish - bundle.served, bundle.rate));
  if (end <= now_) return true;
  if (tolerance_ == 0 || end == kNever) return false;
  const auto own_time = static_cast<double>((now_ - connections_[slot].since).count());
  return static_cast<double>((end - now_).count()) <= tolerance_ * own_time;
}

// An exact result needs new rates at each completion, and with many flows that share links, new rates for most of them.
// Once that has cost too much, completions that are close together are merged: the tolerance grows with the number of
// flows, so the remaining cost stays about the same.
void FlowRun::set_tolerance() {
  if (model_.solver().work() < exact_work_) return;
  tolerance_ = std::min(kTolerancePerFlow * static_cast<double>(connections_.size()), kGreatestTolerance);
  if (tolerance_ < kMinTolerance) tolerance_ = 0;
  greatest_tolerance_ = std::max(greatest_tolerance_, tolerance_);
}

void FlowRun::complete(std::uint32_t b) {
  completions_.set(b, kNever);
  std::vector<std::uint32_t> done;
  BundleState& bundle = bundles_[b];
  while (!bundle.members.empty() && is_due(b)) {
    std::pop_heap(bundle.members.begin(), bundle.members.end(), std::greater<>());
    done.push_back(bundle.members.back().second);
    bundle.members.pop_back();
  }
  touch(b);
  for (const std::uint32_t slot : done) finish_sending(slot);
}

void FlowRun::finish_sending(std::uint32_t slot) {
  Connection& c = connections_[slot];
  c.sending = false;
  ++c.sent;
  note_traffic(c, 1);
  SimTime latency = c.latency;
  if (c.start_up.count() > 0) latency += std::max(SimTime(), c.start_up - (now_ - c.since - c.send_time));
  moving_.push({after(now_, latency), FlowEventKind::arrived, slot});
  try_send(slot);
}

void FlowRun::finish_round(std::uint32_t slot) {
  const std::uint32_t transfer = connections_[slot].transfer;
  ++connections_[slot].arrived;
  const Transfer& t = transfer_at(transfer);
  std::uint32_t ended = connections_[slot].arrived;
  for (std::uint32_t q = 0; q < t.queue_pairs; ++q) {
    ended = std::min(ended, connections_[slots_[transfer] + q].arrived);
  }
  if (ended == ended_[transfer]) return;
  note_round_end(transfer, ended_[transfer]);
  ended_[transfer] = ended;
  for (const TransferId follower : transfers_->round_followers(static_cast<TransferId>(transfer))) {
    const std::uint32_t first = slots_[model::index_of(follower)];
    if (first == kNowhere) continue;
    note_round_start(model::index_of(follower), ended);
    for (std::uint32_t q = 0; q < transfer_at(model::index_of(follower)).queue_pairs; ++q) try_send(first + q);
  }
  if (ended == t.rounds) finish_transfer(transfer);
}

void FlowRun::finish_transfer(std::uint32_t transfer) {
  result_.finished[transfer] = now_;
  --left_;
  if (transfer == reference_) reference_ = kNowhere;
  if (slots_[transfer] != kNowhere) {
    free_slots_[transfer_at(transfer).queue_pairs].push_back(slots_[transfer]);
    slots_[transfer] = kNowhere;
  }
  for (const TransferId dependent : transfers_->dependents(static_cast<TransferId>(transfer))) {
    if (--waiting_[model::index_of(dependent)] == 0) make_ready(model::index_of(dependent));
  }
}

// Rings in closed form end at the computed times. With at least as many rounds as members, no member can end before all
// have begun; otherwise all must begin at one instant, or the ring is simulated round by round.
void FlowRun::settle_ring(Ring& ring) {
  ring.touched = false;
  const std::uint32_t rounds = transfer_at(model::index_of(ring.members[0])).rounds;
  if (ring.begun == ring.members.size()) {
    if (record_rounds_) note_ring_rounds(ring);
    const std::vector<SimTime> starts = last_starts(ring.times, rounds);
    for (std::size_t i = 0; i < ring.members.size(); ++i) {
      fixed_.push({starts[i] + ring.times[i].move, FlowEventKind::ring_end, model::index_of(ring.members[i])});
    }
  } else if (rounds < ring.members.size()) {
    ring.closed_form = false;
    for (const TransferId member : ring.members) {
      if (result_.started[model::index_of(member)] != kNever) open_connections(model::index_of(member));
    }
  }
}

void FlowRun::finish_ring_member(std::uint32_t transfer) {
  const Transfer& t = transfer_at(transfer);
  for (std::uint32_t q = 0; q < t.queue_pairs; ++q) note_traffic(make_connection(transfer, q), t.rounds);
  ended_[transfer] = t.rounds;
  finish_transfer(transfer);
}

}  // namespace weft::netsim

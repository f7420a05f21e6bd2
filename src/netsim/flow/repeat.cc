// Steady repetition: if the state of everything in flight, relative to the clock and to a round counter, is exactly the
// same as some rounds ago, the rounds in between will repeat, and whole periods of them are skipped. States are
// compared in full, bit by bit, so the result is the same as without skipping.
#include <algorithm>
#include <bit>
#include <limits>

#include "netsim/flow/run.h"

namespace weft::netsim {

// Compares each time the reference transfer starts a round, but never visits more connections than there were events.
// The saved state is renewed at every doubling of rounds (Brent, 1980), so any period is found eventually.
void FlowRun::look_for_repetition() {
  if (reference_ == kNowhere || links_change_ || tolerance_ > 0 || options_->series_interval.count() > 0) return;
  const std::uint32_t sent = connections_[slots_[reference_]].sent;
  if (reference_ == compared_ && sent == reference_sent_) return;
  if (events_ - compared_events_ < connections_.size() / 4) return;
  compared_events_ = events_;
  if (reference_ != compared_) {
    compared_ = reference_;
    save_next_ = 0;
    saved_state_.clear();
  }
  reference_sent_ = sent;
  if (!take_state(new_state_)) return;
  if (!saved_state_.empty() && sent > saved_round_ && new_state_ == saved_state_) {
    const std::uint32_t period = sent - saved_round_;
    const SimTime time = now_ - saved_at_;
    const std::uint64_t periods = periods_left(period, time);
    if (periods > 0) {
      skip(static_cast<std::uint32_t>(periods * period), time * static_cast<std::int64_t>(periods), period);
    }
    compared_ = kNowhere;
    return;
  }
  if (saved_state_.empty() || sent >= save_next_) {
    saved_state_.swap(new_state_);
    saved_round_ = sent;
    saved_at_ = now_;
    save_next_ = std::max(2 * sent, sent + 1);
  }
}

// False if it cannot be compared exactly.
bool FlowRun::take_state(std::vector<std::int64_t>& state) {
  state.clear();
  const auto base = static_cast<std::int64_t>(connections_[slots_[reference_]].sent);
  const auto put = [&state](double value) { state.push_back(std::bit_cast<std::int64_t>(value)); };
  for (const Connection& c : connections_) {
    const Transfer& t = transfer_at(c.transfer);
    if (slots_[c.transfer] == kNowhere) continue;
    state.push_back(static_cast<std::int64_t>(c.transfer) << 1 | (c.sending ? 1 : 0));
    state.push_back(static_cast<std::int64_t>(c.sent) - (t.rounds > 1 ? base : 0));
    state.push_back(static_cast<std::int64_t>(c.arrived) - (t.rounds > 1 ? base : 0));
    const std::uint32_t leader = model::index_of(t.round_after);
    if (slots_[leader] == kNowhere) return false;
    if (!record_rounds_) continue;
    const std::uint32_t begun = std::min(t.rounds, 1 + ended_[leader]);
    for (std::uint32_t r = ended_[c.transfer]; r < begun; ++r) {
      state.push_back((record_of(c.transfer, r) + now_).count());
    }
  }
  for (std::size_t b = 0; b < bundles_.size(); ++b) {
    const BundleState& bundle = bundles_[b];
    if (bundle.members.empty()) continue;
    if (bundle.members.size() > kFewMembers) return false;
    std::vector<std::pair<double, std::uint32_t>> members = bundle.members;
    std::sort(members.begin(), members.end());
    state.push_back(static_cast<std::int64_t>(b));
    state.push_back((now_ - bundle.since).count());
    put(bundle.rate);
    for (const auto& [finish, slot] : members) {
      put(finish - bundle.served);
      state.push_back(slot);
    }
  }
  std::vector<FlowEvent> events = moving_.events();
  std::sort(events.begin(), events.end());
  for (const FlowEvent& event : events) {
    state.push_back((event.at - now_).count());
    state.push_back(static_cast<std::int64_t>(event.id) << 8 | static_cast<std::int64_t>(event.kind));
  }
  return true;
}

// How many periods fit before a connection reaches its last round or another event happens.
std::uint64_t FlowRun::periods_left(std::uint32_t rounds, SimTime period) const {
  SimTime until = std::min(fixed_.next(), options_->end);
  if (next_start_ < starts_.size()) until = std::min(until, transfer_at(starts_[next_start_]).start);
  std::uint64_t periods = std::numeric_limits<std::uint32_t>::max();
  if (until != kNever) {
    if (period.count() == 0 || until <= now_) return 0;
    periods = static_cast<std::uint64_t>((until - now_).count() - 1) / static_cast<std::uint64_t>(period.count());
  }
  for (const Connection& c : connections_) {
    if (slots_[c.transfer] == kNowhere) continue;
    const Transfer& t = transfer_at(c.transfer);
    if (c.sent + 1 >= t.rounds) return 0;
    periods = std::min<std::uint64_t>(periods, (t.rounds - 1 - c.sent) / rounds);
  }
  return periods;
}

void FlowRun::skip(std::uint32_t rounds, SimTime time, std::uint32_t period) {
  std::vector<std::uint32_t> transfers;
  for (Connection& c : connections_) {
    if (slots_[c.transfer] == kNowhere) continue;
    if (transfers.empty() || transfers.back() != c.transfer) transfers.push_back(c.transfer);
    note_traffic(c, rounds);
  }
  for (const std::uint32_t transfer : transfers) {
    if (record_rounds_) skip_records(transfer, rounds, time, period);
  }
  for (const std::uint32_t transfer : transfers) ended_[transfer] += rounds;
  for (Connection& c : connections_) {
    if (slots_[c.transfer] == kNowhere) continue;
    c.sent += rounds;
    c.arrived += rounds;
  }
  for (BundleState& bundle : bundles_) {
    if (!bundle.members.empty()) bundle.since += time;
  }
  completions_.shift(time);
  moving_.shift(time);
  now_ += time;
}

// Rounds in flight keep their places after the skipped ones, which took as long as the previous period.
void FlowRun::skip_records(std::uint32_t transfer, std::uint32_t rounds, SimTime time, std::uint32_t period) {
  const std::uint64_t offset = round_offsets_.empty() ? transfer : round_offsets_[transfer];
  SimTime* record = result_.completion_times.data() + offset;
  const std::uint32_t ended = ended_[transfer];
  const std::uint32_t begun =
      std::min(transfer_at(transfer).rounds, 1 + ended_[model::index_of(transfer_at(transfer).round_after)]);
  for (std::uint32_t r = begun; r-- > ended;) record[r + rounds] = record[r] - time;  // starts are stored as negatives
  for (std::uint32_t r = ended; r < ended + rounds; ++r) record[r] = record[r - period];
}

}  // namespace weft::netsim

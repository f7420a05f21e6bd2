// Which rings of transfers have a closed form. A ring that shares no link that can be full has an exact one. A large
// ring that meets only other such rings is between two bounds: all links unshared, and all links shared with every user
// all the time; if the two bounds are close together, the difference does not matter.
#include <algorithm>

#include "netsim/flow/run.h"

namespace weft::netsim {

namespace {

constexpr double kCloseBounds = 1e-3;
// With this many sends in total, simulation would take too long: bounds are used however far apart.
constexpr std::uint64_t kHopeless = 50'000'000;

SimTime end_of(std::span<const RingMember> times, std::uint32_t rounds) {
  const std::vector<SimTime> starts = last_starts(times, rounds);
  SimTime end;
  for (std::size_t i = 0; i < times.size(); ++i) end = std::max(end, starts[i] + times[i].move);
  return end;
}

}  // namespace

void FlowRun::find_rings(std::uint64_t large_ring) {
  std::vector<Ring> meeting;
  std::uint64_t sends = 0;
  for (std::vector<TransferId>& members : rings_of(*transfers_)) {
    Ring ring;
    ring.members = std::move(members);
    const RingKind kind = time_ring(ring, false);
    if (kind == RingKind::free) {
      keep_ring(std::move(ring));
    } else if (kind == RingKind::meets_others) {
      sends += sends_of(ring);
      meeting.push_back(std::move(ring));
    }
  }
  if (sends >= large_ring) find_meeting_rings(std::move(meeting), sends >= kHopeless);
}

void FlowRun::keep_ring(Ring ring) {
  if (ring_of_.empty()) {
    ring_of_.assign(transfers_->size(), kNowhere);
    ring_position_.assign(transfers_->size(), 0);
  }
  for (std::uint32_t i = 0; i < ring.members.size(); ++i) {
    ring_of_[model::index_of(ring.members[i])] = static_cast<std::uint32_t>(rings_.size());
    ring_position_[model::index_of(ring.members[i])] = i;
  }
  rings_.push_back(std::move(ring));
}

std::uint64_t FlowRun::sends_of(const Ring& ring) const {
  return std::uint64_t{ring.members.size()} * transfer_at(model::index_of(ring.members[0])).rounds;
}

// The time of a round of every member: at its limit, or at its lowest possible rate.
FlowRun::RingKind FlowRun::time_ring(Ring& ring, bool slowest) {
  ring.times.resize(ring.members.size());
  RingKind kind = RingKind::free;
  double loop = 0;
  for (std::size_t i = 0; i < ring.members.size(); ++i) {
    const std::uint32_t transfer = model::index_of(ring.members[i]);
    const Transfer& t = transfer_at(transfer);
    SimTime latency;
    for (std::uint32_t q = 0; q < t.queue_pairs; ++q) {
      const Connection connection = make_connection(transfer, q);
      if (connection.bundle != FlowModel::kFree) kind = RingKind::meets_others;
      const SimTime send = slowest ? time_of(connection.bits, model_.least_rate(connection.path, t.traffic_class))
                                   : connection.send_time;
      if (send == kNever || (q > 0 && send != ring.times[i].send)) return RingKind::no_ring;
      ring.times[i].send = send;
      latency = std::max(latency, connection.latency);
    }
    ring.times[i].move = ring.times[i].send + latency;
    loop += static_cast<double>(ring.times[i].move.count());
  }
  const double loops = static_cast<double>(transfer_at(model::index_of(ring.members[0])).rounds) /
                           static_cast<double>(ring.members.size()) +
                       2;
  return loop * loops < kLongest / 4 ? kind : RingKind::no_ring;
}

template <class Visit>
void FlowRun::for_each_contended_link(const Ring& ring, Visit visit) const {
  for (const TransferId member : ring.members) {
    for (std::uint32_t q = 0; q < transfer_at(model::index_of(member)).queue_pairs; ++q) {
      model_.paths().for_each_link(model_.paths().first_path(model::index_of(member), q), [&](LinkId link, double) {
        if (model_.can_be_contended(link)) visit(link);
      });
    }
  }
}

// Keeps only rings whose contended links are used by no transfers other than those of the remaining rings.
void FlowRun::drop_mixed_rings(std::vector<Ring>& rings) const {
  for (std::size_t before = rings.size() + 1; rings.size() < before;) {
    before = rings.size();
    std::vector<std::uint32_t> users(model_.network().links().size(), 0);
    for (const Ring& ring : rings) for_each_contended_link(ring, [&](LinkId link) { ++users[model::index_of(link)]; });
    std::erase_if(rings, [&](const Ring& ring) {
      bool mixed = false;
      for_each_contended_link(
          ring, [&](LinkId link) { mixed = mixed || users[model::index_of(link)] != model_.users(link); });
      return mixed;
    });
  }
}

void FlowRun::find_meeting_rings(std::vector<Ring> rings, bool hopeless) {
  std::vector<double> errors;
  for (bool settled = rings.empty(); !settled;) {
    drop_mixed_rings(rings);
    errors.clear();
    std::vector<Ring> close;
    for (Ring& ring : rings) {
      const std::uint32_t rounds = transfer_at(model::index_of(ring.members[0])).rounds;
      (void)time_ring(ring, false);
      const SimTime soonest = end_of(ring.times, rounds);
      if (time_ring(ring, true) == RingKind::no_ring) continue;
      const SimTime latest = end_of(ring.times, rounds);
      const double error = static_cast<double>((latest - soonest).count()) / static_cast<double>(soonest.count());
      if (error > kCloseBounds && !hopeless) continue;
      errors.push_back(error);
      close.push_back(std::move(ring));
    }
    settled = close.size() == rings.size() || close.empty();
    rings = std::move(close);
  }
  for (std::size_t i = 0; i < rings.size(); ++i) {
    meeting_error_ = std::max(meeting_error_, errors[i]);
    keep_ring(std::move(rings[i]));
  }
}

}  // namespace weft::netsim

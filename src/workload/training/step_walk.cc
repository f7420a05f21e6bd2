#include "workload/training/step_walk.h"

#include <algorithm>
#include <cmath>

namespace weft::workload {
namespace {

SimTime time_from(double seconds) { return SimTime(std::max<std::int64_t>(1, std::llround(seconds * 1e12))); }

}  // namespace

StepWalk::StepWalk(CommunicationTimer& timer) : timer_(timer) {
  rank_ = graph_.add_class("rank", 1);
  graph_.add_group(OpGroup{"of a rank", 1, 1, 1});
}

OpId StepWalk::put(std::uint8_t stream, OpKind kind, std::string_view name, double seconds,
                   const std::vector<OpId>& after) {
  Op op;
  op.kind = kind;
  op.stream = stream;
  op.name = graph_.intern(name);
  op.duration = time_from(seconds);
  const OpId id = graph_.add(rank_, op);
  for (const OpId earlier : after) graph_.depend(id, earlier);
  return id;
}

void StepWalk::run(const Kernel& kernel) {
  if (kernel.seconds <= 0) return;
  const double seconds = kernel.seconds * slow_;
  times_.launches += kernel.launches;
  host_ += kernel.host;
  times_.flops += kernel.flops;
  (again_ ? times_.recompute : times_.compute) += time_from(seconds);
  waits_.assign(1, put(stream_compute, OpKind::compute, kernel.name, seconds, waits_));
}

void StepWalk::run(std::initializer_list<Kernel> kernels) {
  for (const Kernel& kernel : kernels) run(kernel);
}

double StepWalk::note(const Call& call) {
  ++times_.launches;
  SimTime time = count(call, std::string(call.what), call.group, call.bytes);
  if (call.also_bytes > 0)
    time = std::max(time, count(call, std::string(call.what) + ", NVLink", call.also, call.also_bytes));
  return static_cast<double>(time.count()) / 1e12;
}

SimTime StepWalk::count(const Call& call, const std::string& what, const OpGroup& group, double bytes) {
  const Bytes size(std::llround(bytes));
  for (PieceCommunication& known : times_.communication) {
    if (known.what == what && known.bytes == size && known.group.ranks == group.ranks) {
      ++known.calls;
      return known.time;
    }
  }
  PieceCommunication row;
  row.what = what;
  row.collective = call.collective;
  row.group = group;
  row.stream = call.stream;
  row.bytes = size;
  row.calls = 1;
  row.time = time_on(call, group, bytes);
  times_.communication.push_back(row);
  return row.time;
}

SimTime StepWalk::time_on(const Call& call, const OpGroup& group, double bytes) {
  const Bytes size(std::llround(bytes));
  if (call.collective == netsim::Collective::send_recv) return timer_.message(size, group);
  const SimTime time = timer_.collective(call.collective, size, group);
  return call.share < 1 ? SimTime(std::llround(static_cast<double>(time.count()) / call.share)) : time;
}

SimTime StepWalk::time_of(const Call& call) {
  const SimTime time = time_on(call, call.group, call.bytes);
  return call.also_bytes > 0 ? std::max(time, time_on(call, call.also, call.also_bytes)) : time;
}

void StepWalk::talk(const Call& call) {
  if (call.group.ranks < 2 && call.also.ranks < 2) return;
  waits_.assign(1, put(call.stream, OpKind::collective, call.what, note(call), waits_));
}

OpId StepWalk::start(const Call& call, const std::vector<OpId>& after) {
  return put(call.stream, OpKind::collective, call.what, note(call), after);
}

void StepWalk::beside(const Call& call, double pieces, bool first, const std::vector<Kernel>& kernels) {
  if (call.group.ranks < 2) {
    for (const Kernel& kernel : kernels) run(kernel);
    return;
  }
  const double whole = note(call);
  const double alone = pieces > 0 ? whole / pieces : 0;
  const double hidden = whole - alone;
  if (first && alone > 0) waits_.assign(1, put(call.stream, OpKind::collective, call.what, alone, waits_));
  double own = 0;
  for (const Kernel& kernel : kernels) own += kernel.seconds;
  const double before = slow_;
  if (own > 0) slow_ *= 1 + kOverlapSlowdown * std::min(1.0, hidden / own);
  const OpId rest = put(call.stream, OpKind::collective, call.what, hidden, waits_);
  for (const Kernel& kernel : kernels) run(kernel);
  slow_ = before;
  waits_.push_back(rest);
  if (!first && alone > 0) waits_.assign(1, put(call.stream, OpKind::collective, call.what, alone, waits_));
}

PieceTimes StepWalk::finish(double launch) {
  const Status finished = graph_.finish();
  CHECK(finished.ok(), "the operations of a piece are in order");
  const Result<Execution> played = execute(graph_, timer_, StreamOrder::program);
  CHECK(played.ok(), "the operations of a piece are in order");
  const Execution& execution = played.value();
  const double host = launch > 0 ? launch * static_cast<double>(times_.launches) + host_ : 0;
  times_.total = std::max(execution.end, SimTime(std::llround(host * 1e12)));
  for (std::uint8_t stream = stream_tensor; stream < kStepStreams; ++stream) {
    times_.exposed[stream] = exposure(graph_, execution, rank_, 1U << stream, 1U << unsigned{stream_compute}).exposed;
  }
  std::map<std::string, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < graph_.size(); ++i) {
    const Op& op = graph_[static_cast<OpId>(i)];
    const auto number = numbers.try_emplace(graph_.name_of(op), static_cast<std::uint32_t>(numbers.size())).first;
    times_.spans.push_back(
        {op.stream, number->second, execution.started[i], execution.ended[i] - execution.started[i]});
  }
  times_.names.resize(numbers.size());
  for (const auto& [name, number] : numbers) times_.names[number] = name;
  return std::move(times_);
}

}  // namespace weft::workload

#include "kube/leader_election.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kube/timestamp.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// Of others: a promise of days would lock the election for days, so more than an hour counts as an hour.
Duration promised(const Value& lease) {
  const double seconds = oob::number(lease, {"spec", "leaseDurationSeconds"}).value_or(0);
  return Duration(static_cast<std::int64_t>(std::clamp(seconds, 0.0, 3600.0) * static_cast<double>(kSecond)));
}

std::int64_t transitions_of(const Value& lease) {
  return static_cast<std::int64_t>(
      std::clamp(oob::number(lease, {"spec", "leaseTransitions"}).value_or(0), 0.0, 2'000'000'000.0));
}

}  // namespace

std::string problem_of(const ElectionOptions& options) {
  if (options.identity.empty()) return "no identity";
  if (!is_path_segment(options.lease.name) || !is_path_segment(options.lease.kube_namespace)) return "not a lease name";
  if (options.lease_duration.count() < kSecond) return "the lease must last at least 1 s";
  if (options.renew_deadline >= options.lease_duration) return "the renew deadline must be below the lease's duration";
  if (options.retry_period * 12 >= options.renew_deadline * 10) return "the retry period is too long";
  if (options.retry_period.count() <= 0) return "the retry period must be positive";
  return {};
}

LeaderElection::LeaderElection(Client& client, ElectionOptions options)
    : client_(client), options_(std::move(options)) {
  CHECK(problem_of(options_).empty(), "invalid election options");
  last_leader_ = client_.clock().now();
}

bool LeaderElection::is_leader() const {
  return leading_ && client_.clock().now() - renewed_at_ < options_.renew_deadline;
}

Duration LeaderElection::idle_for() const { return std::max(next_step_ - client_.clock().now(), Duration(0)); }

Duration LeaderElection::without_leader() const {
  const Duration now = client_.clock().now();
  const bool led = is_leader() || (observed_any_ && !is_free(now));
  return led ? Duration(0) : now - last_leader_;
}

void LeaderElection::lose(std::string why) {
  leading_ = false;
  problem_ = std::move(why);
}

void LeaderElection::step() {
  const Duration now = client_.clock().now();
  if (now < next_step_) return;
  if (leading_ && !is_leader())
    lose("the lease could not be renewed in time" + (problem_.empty() ? "" : ": " + problem_));
  acquire_or_renew(now);
  if (is_leader() || (observed_any_ && !is_free(now))) last_leader_ = now;
  next_step_ = client_.clock().now() + options_.retry_period;
}

void LeaderElection::acquire_or_renew(Duration now) {
  const Result<Value> lease = client_.get(kLeases, options_.lease);
  if (!lease.ok() && lease.error().code == ErrorCode::not_found) return create_lease(now);
  if (!lease.ok()) {
    problem_ = lease.error().text();
    return;
  }
  observe(*lease, now);
  const bool ours = observed_holder_ == options_.identity;
  if (!leading_) problem_.clear();
  if (leading_ && !ours) lose("the lease belongs to " + (observed_holder_.empty() ? "no process" : observed_holder_));
  if (!ours && !is_free(now)) return;
  write_lease(*lease, now);
}

void LeaderElection::observe(const Value& lease, Duration now) {
  const std::string version = oob::raw_text(lease, {"metadata", "resourceVersion"});
  const std::string holder = oob::raw_text(lease, {"spec", "holderIdentity"});
  const bool same_holder = observed_any_ && holder == observed_holder_ && !holder.empty();
  renewed_ = same_holder && (renewed_ || version != observed_version_);
  observed_holder_ = holder;
  transitions_ = transitions_of(lease);
  observed_lasts_ = observed_holder_.empty() ? Duration(0) : std::max(promised(lease), options_.lease_duration);
  if (!observed_any_ || version != observed_version_) observed_at_ = now;
  observed_version_ = version;
  observed_any_ = true;
}

// From when this process first saw the version: whatever the clock of its holder says.
bool LeaderElection::is_free(Duration now) const {
  return observed_holder_.empty() || now - observed_at_ > observed_lasts_;
}

Value LeaderElection::lease_spec(bool taking_over, const Value& before) const {
  const std::string now = format_timestamp(client_.clock().wall_ms());
  const std::string acquired = oob::raw_text(before, {"spec", "acquireTime"});
  return Value::map()
      .set("holderIdentity", Value(options_.identity))
      .set("leaseDurationSeconds", Value(options_.lease_duration.count() / kSecond))
      .set("acquireTime", Value(taking_over || acquired.empty() ? now : acquired))
      .set("renewTime", Value(now))
      .set("leaseTransitions", Value(transitions_of(before) + (taking_over ? 1 : 0)));
}

void LeaderElection::create_lease(Duration now) {
  Value lease = Value::map();
  lease["metadata"].set("name", Value(options_.lease.name)).set("namespace", Value(options_.lease.kube_namespace));
  lease.set("spec", lease_spec(true, Value::map()));
  const Result<CreateOutcome> made = client_.create(kLeases, lease);
  if (!made.ok()) return lose(made.error().text());
  observe(made->object, now);
  if (!made->created) return;  // another process was first: see in the next step
  leading_ = true;
  renewed_at_ = now;
  problem_.clear();
}

void LeaderElection::write_lease(const Value& lease, Duration now) {
  // A process that restarted with the same identity, or that lost its leadership by time, starts a new one.
  const bool taking_over = !leading_;
  Value next = lease;
  next.set("spec", lease_spec(taking_over, lease));
  const Result<Value> written = client_.replace(kLeases, next);
  if (!written.ok()) {
    // Not known whether it was written: the next step reads it. A leader stays one until its renew deadline, unless
    // the object changed under it.
    if (written.error().code == ErrorCode::conflict && leading_) return lose(written.error().text());
    problem_ = written.error().text();
    return;
  }
  observe(*written, now);
  leading_ = true;
  renewed_at_ = now;
  problem_.clear();
}

Status LeaderElection::release() {
  const bool led = leading_;
  leading_ = false;
  if (!led) return {};
  const Result<Value> lease = client_.get(kLeases, options_.lease);
  if (!lease.ok()) return lease.error();
  if (oob::raw_text(*lease, {"spec", "holderIdentity"}) != options_.identity) return {};
  Value next = *lease;
  Value& spec = next["spec"];
  spec.set("holderIdentity", Value(""));
  spec.set("leaseDurationSeconds", Value(1));
  const Result<Value> written = client_.replace(kLeases, next);
  return written.ok() ? Status() : Status(written.error());
}

}  // namespace weft::kube

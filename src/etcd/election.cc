#include "etcd/election.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"

namespace weft::etcd {
namespace {

constexpr std::size_t kMaxShown = 200;

}  // namespace

Election::Election(Client& client, ElectionOptions options) : client_(client), options_(std::move(options)) {
  fence_.key = options_.key;
  value_ = fmt::format("{}\n{}", options_.identity, options_.address);
}

void Election::step() {
  if (leading_ && client_.now() >= until_) lose("the lease could not be renewed in time");
  if (client_.now() < next_step_) return;
  leading_ ? renew() : campaign();
}

void Election::campaign() {
  next_step_ = client_.now() + options_.look;
  const Result<RangeReply> holder = client_.range({options_.key});
  if (!holder.ok()) {
    problem_ = holder.error().text();
    return;
  }
  problem_.clear();
  note_holder(*holder);
  if (holder->kvs.empty()) take_key();
}

void Election::note_holder(const RangeReply& reply) {
  leader_.clear();
  leader_address_.clear();
  if (reply.kvs.empty()) return;
  const std::string& value = reply.kvs.front().value;
  const std::size_t line = value.find('\n');
  leader_ = printable(value.substr(0, line), kMaxShown);
  if (line != std::string::npos) leader_address_ = printable(value.substr(line + 1), kMaxShown);
}

// With a lease of its own for every attempt: one that is left over from an earlier attempt may be about to expire.
void Election::take_key() {
  granted_ = client_.now();
  const Result<LeaseReply> lease = client_.grant(options_.ttl_s);
  if (!lease.ok()) {
    problem_ = lease.error().text();
    return;
  }
  lease_ = lease->id;
  TxnRequest request;
  request.compares = {{Compare::Target::create_revision, options_.key, 0}};
  request.success = {{Operation::Kind::put, options_.key, value_, lease_}};
  request.failure = {{Operation::Kind::range, options_.key}};
  const Result<TxnReply> reply = client_.txn(request);
  if (reply.ok() && reply->succeeded) return note_leadership(reply->revision);
  if (reply.ok() && !reply->ranges.empty()) note_holder(reply->ranges.front());
  if (!reply.ok() && reply.error().code == ErrorCode::timeout) {
    // It may have been executed; the lease tells.
    const Result<RangeReply> holder = client_.range({options_.key});
    if (holder.ok() && !holder->kvs.empty() && holder->kvs.front().lease == lease_)
      return note_leadership(holder->kvs.front().create_revision);
  }
  if (!reply.ok()) problem_ = reply.error().text();
  (void)client_.revoke(lease_).ok();  // otherwise it expires; with it goes a key that a late request puts
  lease_ = 0;
}

void Election::note_leadership(Revision create_revision) {
  leading_ = true;
  fence_.create_revision = create_revision;
  leader_ = options_.identity;
  leader_address_ = options_.address;
  until_ = granted_ + Duration(options_.ttl_s * 1'000'000'000) - options_.margin;
  next_step_ = granted_ + options_.renew;
}

void Election::renew() {
  const Duration sent = client_.now();
  next_step_ = sent + options_.renew;
  const Status renewed = client_.keep_alive(lease_);
  if (renewed.ok()) {
    problem_.clear();
    until_ = sent + Duration(options_.ttl_s * 1'000'000'000) - options_.margin;
    return;
  }
  problem_ = renewed.error().text();
  if (renewed.error().code == ErrorCode::not_found) return lose("the lease has expired");
  next_step_ = client_.now() + options_.look;
}

void Election::lose(std::string why) {
  leading_ = false;
  lease_ = 0;
  leader_.clear();
  leader_address_.clear();
  problem_ = std::move(why);
  next_step_ = client_.now();
}

void Election::resign() {
  if (!leading_) return;
  const LeaseId lease = lease_;
  lose("");
  next_step_ = client_.now() + options_.look;
  (void)client_.revoke(lease).ok();  // if it fails, the lease expires
}

}  // namespace weft::etcd

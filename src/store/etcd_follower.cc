#include "store/etcd_follower.h"

#include <utility>

namespace weft::store {

void EtcdFollower::listen(Duration wait) {
  const Duration now = client_.now();
  if (watch_ == nullptr && now >= watch_again_) {
    Result<std::unique_ptr<etcd::WatchStream>> opened = client_.watch({keys_.tail()});
    due_ = true;  // what happened before it was opened
    if (opened.ok()) watch_ = std::move(*opened);
    watch_again_ = client_.now() + period_;
  }
  if (watch_ == nullptr) return;
  const Result<std::vector<etcd::WatchReply>> replies = watch_->read(wait);
  bool ended = !replies.ok();
  if (replies.ok()) {
    for (const etcd::WatchReply& reply : *replies) {
      due_ = due_ || !reply.events.empty();
      ended = ended || reply.canceled;
    }
  }
  if (!ended) return;
  watch_.reset();
  due_ = true;
}

Result<std::optional<FollowerUpdate>> EtcdFollower::step(Duration wait) {
  listen(wait);
  const bool is_late = !as_of_ || client_.now() - *as_of_ >= period_;
  if (!due_ && !is_late) return std::optional<FollowerUpdate>();
  return read();
}

Result<std::optional<FollowerUpdate>> EtcdFollower::read() {
  const Duration before = client_.now();
  const Result<bool> found = reader_.refresh();
  if (!found.ok()) return found.error();
  std::optional<FollowerUpdate> update;
  const Extent extent = reader_.journal().extent();
  const bool begins_again = !began_ || reader_.began_again() || extent.first > given_ + 1;
  if (*found && (begins_again || extent.durable > given_)) {
    update.emplace();
    update->begins_again = begins_again;
    if (begins_again) {
      Result<std::optional<Snapshot>> snapshot = reader_.load_snapshot();
      if (!snapshot.ok() && snapshot.error().code == ErrorCode::not_found) {
        began_ = false;  // it was replaced meanwhile: read again
        return std::optional<FollowerUpdate>();
      }
      if (!snapshot.ok()) return snapshot.error();
      update->snapshot = std::move(*snapshot);
    }
    update->first = begins_again ? extent.first : given_ + 1;
    for (Sequence at = update->first; at <= extent.durable; ++at)
      update->records.push_back(reader_.journal().records[at - extent.first]);
    began_ = true;
    given_ = extent.durable;
  }
  due_ = false;
  as_of_ = before;
  return update;
}

}  // namespace weft::store

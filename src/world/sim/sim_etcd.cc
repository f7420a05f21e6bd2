#include "world/sim/sim_etcd.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace weft::world {
namespace {

constexpr const char* kPrefix = "/weft";
constexpr const char* kFingerprint = "simulated";
constexpr const char* kFaults[] = {"unreachable", "request lost",   "answer lost",     "request late",
                                   "lease lost",  "compaction",     "watch reordered", "watch repeated",
                                   "watch lost",  "stopped before", "stopped after"};

}  // namespace

SimEtcd::SimEtcd(Choices& choices, std::function<Duration()> now, EtcdMutant mutant)
    : choices_(choices), now_(std::move(now)), mutant_(mutant), etcd_(now_) {
  for (const char* fault : kFaults) {
    if (choices_.choose("etcd swarm", 3) != 0) enabled_.insert(fault);
  }
  etcd_.fault = [this](std::string_view path) {
    if (path == "/v3/kv/txn" && !quiet_ && pause && happens("stopped before", 3)) pause();
    if (happens("unreachable", 4)) return etcd::RequestFault::unreachable;
    if (happens("request lost", 4)) return etcd::RequestFault::request_lost;
    if (happens("answer lost", 4)) return etcd::RequestFault::answer_lost;
    if (happens("request late", 4)) return etcd::RequestFault::delayed;
    return etcd::RequestFault::none;
  };
  etcd_.executed = [this] {
    if (!quiet_ && pause && happens("stopped after", 6)) pause();
  };
  etcd_.watch_fault = [this] {
    if (happens("watch reordered", 100)) return etcd::WatchFault::reordered;
    if (happens("watch repeated", 100)) return etcd::WatchFault::repeated;
    return happens("watch lost", 100) ? etcd::WatchFault::lost : etcd::WatchFault::none;
  };
  follower_client_ = connect();
  follower_ = std::make_unique<store::EtcdFollower>(*follower_client_, store::EtcdKeys{kPrefix}, kFingerprint);
}

bool SimEtcd::happens(const char* what, std::uint32_t per_mille) {
  if (healed_ || !enabled_.contains(what) || !choices_.chance("etcd", per_mille)) return false;
  reached_.insert(std::string("etcd: ") + what);
  return true;
}

std::unique_ptr<etcd::Client> SimEtcd::connect() {
  std::vector<etcd::Endpoint> endpoints;
  for (const char* name : {"m1", "m2", "m3"}) endpoints.push_back({name, etcd_.connect()});
  return std::make_unique<etcd::Client>(std::move(endpoints), now_);
}

Result<std::unique_ptr<SimLeader>> SimEtcd::lead(const std::function<void()>& wait) {
  auto leader = std::make_unique<SimLeader>();
  leader->client = connect();
  leader->election = std::make_unique<etcd::Election>(
      *leader->client,
      etcd::ElectionOptions{fmt::format("{}/leader", kPrefix), fmt::format("c{}", ++controllers_), {}});
  for (int i = 0; i < 100; ++i) {
    leader->election->step();
    if (leader->election->is_leader()) break;
    wait();
  }
  if (!leader->election->is_leader()) return Error{ErrorCode::unavailable, leader->election->problem(), {}};
  store::EtcdOptions options{kPrefix, kFingerprint, leader->election->fence()};
  options.defect = mutant_.store;
  Result<std::unique_ptr<store::EtcdStore>> opened = store::EtcdStore::open(*leader->client, options);
  if (!opened.ok()) {
    leader->election->resign();
    return opened.error();
  }
  leader->store = std::move(*opened);
  return leader;
}

bool SimEtcd::is_replaced(const SimLeader& leader) {
  const etcd::Revision held = etcd_.create_revision(fmt::format("{}/leader", kPrefix));
  return held != 0 && held != leader.election->fence().create_revision;
}

bool SimEtcd::may_act(const SimLeader& leader) const {
  return mutant_.act_without_lease || leader.election->is_leader();
}

void SimEtcd::stir() {
  etcd_.run_delayed();
  if (happens("compaction", 30)) etcd_.compact_all();
  if (happens("lease lost", 10)) etcd_.expire_lease_of(fmt::format("{}/leader", kPrefix));
}

void SimEtcd::heal() {
  healed_ = true;
  etcd_.set_no_space(false);
  etcd_.run_delayed();
}

bool SimEtcd::follow(store::CopyStore& copy, bool& begins_again) {
  quiet_ = true;
  Result<std::optional<store::FollowerUpdate>> update = follower_->step(Duration());
  quiet_ = false;
  begins_again = false;
  if (!update.ok()) return false;
  if (!update->has_value()) return true;
  begins_again = (*update)->begins_again;
  if (begins_again) {
    store::JournalCopy journal;
    journal.first = (*update)->first;
    for (std::string& record : (*update)->records) journal.records.push_back(std::move(record));
    copy.begin(std::move((*update)->snapshot), std::move(journal));
  } else {
    copy.add(std::move((*update)->records));
  }
  return true;
}

}  // namespace weft::world

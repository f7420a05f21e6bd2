// Leader election over a key that is bound to a lease of etcd: of several processes, the one whose key it is leads. The
// leader counts its time from the moment at which it *sent* its last successful renewal, by its own clock, and stops a
// margin before etcd could give the key to another: two never lead at once, as long as clocks run at the same rate. A
// lease does not fence what was sent before; for writes to etcd, compare the key's create revision (fence()).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "etcd/client.h"

namespace weft::etcd {

struct ElectionOptions {
  std::string key;
  std::string identity;  // unique per process
  std::string address;   // where the others find it; "": not given
  std::int64_t ttl_s = 8;
  Duration margin = milliseconds(2'000);  // of the lease, at whose end the leader does not act anymore
  Duration renew = milliseconds(1'500);   // between renewals
  Duration look = milliseconds(500);      // between looks at the key of another leader
};

// The key whose create revision proves a leadership.
struct Fence {
  std::string key;
  Revision create_revision = 0;
};

class Election {
 public:
  // The client must outlive it.
  Election(Client& client, ElectionOptions options);

  // Acquires, renews or looks, if it is time to; at most a few requests.
  void step();
  // When the next step() has something to do.
  [[nodiscard]] Duration next_step() const { return next_step_; }
  // Lets go of the leadership: the next leader need not wait for the lease to expire. Stop all work first.
  void resign();

  // When this leadership ends unless it is renewed, by the client's clock; 0: it does not lead.
  [[nodiscard]] Duration leads_until() const { return leading_ ? until_ : Duration(); }
  [[nodiscard]] bool is_leader() const { return leading_ && client_.now() < until_; }
  // Of the present leadership.
  [[nodiscard]] const Fence& fence() const { return fence_; }
  // The leader as last seen: identity and address; "": none or not known.
  [[nodiscard]] const std::string& leader() const { return leader_; }
  [[nodiscard]] const std::string& leader_address() const { return leader_address_; }
  // Why the last step did not do what it wanted; "": it did.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void campaign();
  void take_key();
  void renew();
  void lose(std::string why);
  void note_holder(const RangeReply& reply);
  void note_leadership(Revision create_revision);

  Client& client_;
  ElectionOptions options_;
  Fence fence_;
  std::string value_;
  LeaseId lease_ = 0;
  Duration granted_{};  // when the grant or the last successful renewal was sent
  Duration until_{};
  Duration next_step_{};
  bool leading_ = false;
  std::string leader_;
  std::string leader_address_;
  std::string problem_;
};

}  // namespace weft::etcd

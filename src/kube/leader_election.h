// Leader election through a Lease object, with the timing of Kubernetes' own components: a lease of 15 s, renewed every
// 2 s, given up by its holder if it could not be renewed for 10 s. Time is measured by the local steady clock only (the
// timestamps in the object may come from a clock that is wrong), so clocks may differ but must not run at different
// rates. A Lease does not fence: work that was sent before the loss may still arrive, so what must not happen twice
// needs a fencing token (transitions()) or a precondition of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/result.h"
#include "base/value.h"
#include "kube/client.h"

namespace weft::kube {

struct ElectionOptions {
  ObjectName lease;      // namespace and name
  std::string identity;  // unique per process: host name and a random part
  Duration lease_duration = milliseconds(15'000);
  Duration renew_deadline = milliseconds(10'000);
  Duration retry_period = milliseconds(2'000);
};
// "": none.
[[nodiscard]] std::string problem_of(const ElectionOptions& options);

class LeaderElection {
 public:
  // The client must outlive it; its requests need a deadline below the renew deadline. The options must be valid.
  LeaderElection(Client& client, ElectionOptions options);

  // Acquires or renews if it is time to; at most a few requests. Call it at least every retry period.
  void step();
  // Whether this process leads now. Ends by itself at the renew deadline, without a call of step().
  [[nodiscard]] bool is_leader() const;
  // When that ends unless it is renewed, by the client's clock; 0: it does not lead.
  [[nodiscard]] Duration leads_until() const { return leading_ ? renewed_at_ + options_.renew_deadline : Duration(0); }
  // Another process holds the lease and has renewed it since this one first saw it: it is alive.
  [[nodiscard]] bool is_renewed() const { return renewed_ && !leading_; }
  // Lets go of the lease, so that another process need not wait until it expires. Stop all work first.
  [[nodiscard]] Status release();

  // Holder as last read; "": none or not known.
  [[nodiscard]] const std::string& holder() const { return observed_holder_; }
  // Number of the current leadership, which grows with every change of the holder.
  [[nodiscard]] std::int64_t transitions() const { return transitions_; }
  // How long there has been no holder, as far as this process can see: an alarm if it grows.
  [[nodiscard]] Duration without_leader() const;
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] Duration idle_for() const;

 private:
  void acquire_or_renew(Duration now);
  void create_lease(Duration now);
  void observe(const Value& lease, Duration now);
  [[nodiscard]] bool is_free(Duration now) const;
  void write_lease(const Value& lease, Duration now);
  [[nodiscard]] Value lease_spec(bool taking_over, const Value& before) const;
  void lose(std::string why);

  Client& client_;
  ElectionOptions options_;
  std::string observed_holder_;
  std::string observed_version_;
  Duration observed_at_{};     // when this version was first seen
  Duration observed_lasts_{};  // as its holder promised
  std::int64_t transitions_ = 0;
  bool observed_any_ = false;
  bool renewed_ = false;  // by the observed holder
  bool leading_ = false;
  Duration renewed_at_{};  // start of the request that renewed it
  Duration next_step_{};
  Duration last_leader_{};  // when a valid holder was last seen
  std::string problem_;
};

}  // namespace weft::kube

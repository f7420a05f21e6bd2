// Runs `weft oob` for the API: one child process per operation, with the same journal, locks and credentials as the
// command line, so that an operation that crashes or hangs cannot harm the control plane. Readings are answered with
// their result. Changes have two steps: a plan with its blast radius, then an operation that is answered at once and
// continues.
//
// When the server stops: readings are ended. Changes that wait are not begun. Those that run continue, and stop() and
// the destructor wait for them until OobRunnerOptions::stop_limit; then they get SIGTERM, upon which weft oob begins no
// further step, records what is unverified, and leaves the operation incomplete in the journal: resumable. SIGKILL
// follows after change_grace. If the server itself is killed, its children continue; the next start lists their
// operations as interrupted.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "oob/durable/clock.h"
#include "serve/oob/blast_radius.h"
#include "serve/oob/child_process.h"
#include "serve/oob/operation.h"
#include "serve/oob/work_queue.h"

namespace weft::serve {

struct OobRequest {
  std::string route;  // "oob.power"
  OobValues values;   // of path, query and body, with "plan", "plan_id" and "reason"
  std::string user;
  std::string request_id;
  Duration plan_age = kOobPlanAge;  // longer if it waited for a second person; at most a day
};

// What the API answers: the body is the JSON document, or the members of the problem besides its detail.
struct OobAnswer {
  int status = 200;
  Value body;
  std::string detail;     // of a problem
  std::string parameter;  // that is wrong; "" otherwise
};

struct OobRunnerOptions {
  OobConfig config;
  std::shared_ptr<const model::Cluster> cluster;
  oob::Inventory inventory;
  std::string folder;                               // of the operations
  std::function<void(std::function<void()>)> post;  // calls on the thread of the event loop; from any thread
  OobJobsOn jobs_on;                                // may be null
  std::function<void(std::string_view)> log;        // what an operator should know; from any thread; may be null
  oob::Clock* clock = nullptr;                      // must outlive the runner
  std::size_t readers = 4;
  std::size_t changers = 4;      // on disjoint devices
  std::size_t max_waiting = 32;  // of each
  std::size_t max_output = 16U << 20U;
  std::optional<Duration> deadline;  // instead of the verbs', for tests
  Duration read_grace = milliseconds(5'000);
  Duration change_grace = milliseconds(60'000);
  Duration stop_limit = milliseconds(600'000);
};

class OobRunner {
 public:
  using Answer = std::function<void(OobAnswer)>;

  // Reads the operations of earlier runs.
  [[nodiscard]] static Result<std::unique_ptr<OobRunner>> open(OobRunnerOptions options);
  OobRunner(const OobRunner&) = delete;
  OobRunner& operator=(const OobRunner&) = delete;
  OobRunner(OobRunner&&) = delete;
  OobRunner& operator=(OobRunner&&) = delete;
  ~OobRunner();

  // Every route of oob_route_rows(). The answer is called once, through `post`, also while stopping.
  void handle(const OobRequest& request, const Answer& answer);
  // Begins nothing more; returns at once. The destructor waits.
  void stop();

 private:
  // A plan that was shown.
  struct Plan {
    std::string key;  // of the call
    Duration made{};
    BlastRadius radius;
  };
  // The result of a child, as far as it could be read.
  struct Reply {
    OobAnswer answer;
    std::string result;
    std::optional<int> exit_code;
    std::string out;
    bool is_document = false;
  };

  explicit OobRunner(OobRunnerOptions options);
  void post(const Answer& answer, OobAnswer what) const;
  void log(std::string_view line) const;

  void read(OobCall call, const OobRequest& request, const Answer& answer);
  void plan(OobCall call, const OobRequest& request, const Answer& answer);
  void make_plan(const OobCall& call, const OobRequest& request, const Answer& answer);
  [[nodiscard]] std::optional<OobAnswer> add_listed(const OobCall& call, const Value& list, BlastRadius& radius) const;
  void execute(OobCall call, const OobRequest& request, const Answer& answer);
  void carry_out(const OobCall& call, const std::string& id, bool run);
  void finish(const std::string& id, OobState state, const Reply& reply);
  void list_operations(const Answer& answer);
  void show_operation(const std::string& id, const Answer& answer);

  [[nodiscard]] Reply run(const OobCall& call, OobMode mode, const OobOperation& operation,
                          std::deque<std::string>& lines, const std::function<void(std::string_view)>& on_line);
  [[nodiscard]] Reply reply_of(const OobCall& call, const ChildOutcome& outcome,
                               const std::deque<std::string>& lines) const;
  [[nodiscard]] bool must_stop(bool changes) const;
  // The plan is then used up. Nullopt after `problem` was set.
  [[nodiscard]] std::optional<BlastRadius> use_plan(const OobCall& call, const OobRequest& request, OobAnswer& problem);
  [[nodiscard]] OobOperation* find(const std::string& id);
  void prune();

  OobRunnerOptions options_;
  OobOperationStore store_;
  mutable std::mutex mutex_;  // for what follows
  std::map<std::string, Plan> plans_;
  std::deque<OobOperation> operations_;  // oldest first
  bool stopping_ = false;
  Duration stop_at_{};
  WorkQueue readers_;  // last: their threads use the others
  WorkQueue changers_;
};

}  // namespace weft::serve

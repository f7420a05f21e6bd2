// Control loop: reads the journal, then turns events into records, makes them durable, and only then sends commands and
// answers. The one place where the order "journal first" is kept; the simulator and `weft serve` run the same loop.
#pragma once

#include <memory>
#include <vector>

#include "control/controller.h"
#include "store/store.h"
#include "world/core/world.h"

namespace weft::world {

// What a turn had to report.
struct TurnResult {
  std::vector<control::Answer> answers;
  std::string store_full;  // why nothing could be made durable; "": all is durable. Commands and answers wait
};

class ControlLoop {
 public:
  // Reads the store. An error if the journal is damaged or contradicts itself: the caller must not start.
  static Result<std::unique_ptr<ControlLoop>> open(const std::shared_ptr<const sched::Machine>& machine,
                                                   control::ControllerOptions options, store::Store& store,
                                                   World& world);

  // `now` is a clock that never goes back while the process runs. If it is behind the journal (the clock was set back
  // between two starts), time continues from the last record.
  Status begin(sched::Moment now, TurnResult& result);
  // One batch: requests, the world's events, deadlines, scheduling. An error: stop, and read the journal again.
  Status turn(sched::Moment now, std::vector<control::Request> requests, bool tick, TurnResult& result);

  // Of a controller that does not lead, and has not begun: applies the records that were added to the store. `now` as
  // for begin().
  Status follow(sched::Moment now);

  [[nodiscard]] const control::Controller& controller() const { return *controller_; }
  // The journal's time for a time of the caller's clock.
  [[nodiscard]] sched::Moment journal_time(sched::Moment now) const { return now + offset_; }
  // The journal's time of the last turn: the scheduler is as it was then, and knows nothing earlier.
  [[nodiscard]] sched::Moment turned_at() const { return now_; }
  [[nodiscard]] store::Sequence sequence() const { return store_.durable(); }

  // Whether so many records since the last snapshot, of so many bytes, are worth a new one. The journal must have grown
  // in proportion to the snapshot: then the cost of snapshots is proportional to the journal, however large the state
  // is, and a restart reads at most some records more than the state has lines.
  [[nodiscard]] static constexpr bool is_snapshot_due(std::uint64_t records, std::uint64_t bytes,
                                                      std::uint64_t snapshot_bytes) {
    return records >= kMinRecordsPerSnapshot && bytes >= snapshot_bytes / 2;
  }
  static constexpr std::uint64_t kMinRecordsPerSnapshot = 20'000;

 private:
  ControlLoop(store::Store& store, World& world) : store_(store), world_(world) {}
  Status commit(TurnResult& result);
  Status save_snapshot();

  store::Store& store_;
  World& world_;
  std::unique_ptr<control::Controller> controller_;
  control::Step step_;  // what has not been made durable or sent
  bool unsynced_ = false;
  bool held_ = false;  // commands wait because the disk is full
  Duration offset_{};
  sched::Moment now_{};
  store::Sequence applied_ = 0;  // the last record that open() and follow() have applied
  store::Sequence snapshot_ = 0;
  std::uint64_t snapshot_bytes_ = 0;
  std::uint64_t journal_bytes_ = 0;  // since the snapshot
  std::vector<control::Event> events_;
};

}  // namespace weft::world

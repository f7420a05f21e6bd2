// CopyStore: a Store that only reads a copy of another controller's journal, which a follower brings up to date. Writes
// are refused.
#pragma once

#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/etcd_reader.h"
#include "store/store.h"

namespace weft::store {

class CopyStore final : public Store {
 public:
  // Begins again from a snapshot and the records after it.
  void begin(std::optional<Snapshot> snapshot, JournalCopy journal) {
    snapshot_ = std::move(snapshot);
    journal_ = std::move(journal);
  }
  void add(std::vector<std::string> records) {
    std::move(records.begin(), records.end(), std::back_inserter(journal_.records));
  }

  Sequence append(std::span<const std::string> /*records*/) override { return last(); }
  Status sync() override { return refuse(); }
  [[nodiscard]] Sequence last() const override { return journal_.extent().durable; }
  [[nodiscard]] Sequence durable() const override { return journal_.extent().durable; }
  [[nodiscard]] Sequence first() const override { return journal_.first; }
  Status read(Sequence from, const std::function<Status(const Entry&)>& each) override {
    return journal_.read(from, each, "copy of the journal");
  }
  Result<std::optional<Snapshot>> load_snapshot() override { return snapshot_; }
  Status save_snapshot(const Snapshot& /*snapshot*/) override { return refuse(); }
  Status compact(Sequence /*up_to*/) override { return refuse(); }

 private:
  static Status refuse() { return Error{ErrorCode::refused, "this controller does not lead", {}}; }
  std::optional<Snapshot> snapshot_;
  JournalCopy journal_;
};

}  // namespace weft::store

// Slurm for watch mode: passes every query on, and of the changes only those that were enabled for the node. Whatever
// the rest of weft does, a change that was not enabled does not reach Slurm.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/stages.h"
#include "world/slurm/slurm_client.h"

namespace weft::world {

class GuardedClient final : public SlurmClient {
 public:
  using Permits = std::function<bool(control::Stage stage, const std::string& node)>;
  // `permits` is called from the thread of the calls.
  GuardedClient(std::shared_ptr<SlurmClient> client, Permits permits)
      : client_(std::move(client)), permits_(std::move(permits)) {}

  [[nodiscard]] Result<std::vector<SlurmJob>> list_jobs(const std::string& comment) override {
    return client_->list_jobs(comment);
  }
  [[nodiscard]] Result<std::vector<ObservedJob>> list_observed_jobs() override { return client_->list_observed_jobs(); }
  [[nodiscard]] Result<std::vector<SlurmNode>> list_nodes() override { return client_->list_nodes(); }
  [[nodiscard]] Result<std::vector<SlurmPartition>> list_partitions() override { return client_->list_partitions(); }

  [[nodiscard]] Result<std::uint32_t> submit(const SlurmSubmission& /*job*/) override { return refuse("submit"); }
  [[nodiscard]] std::vector<Status> release(const std::vector<std::uint32_t>& jobs) override {
    return std::vector<Status>(jobs.size(), Status(refuse("release")));
  }
  [[nodiscard]] Status cancel(std::uint32_t /*job*/) override { return refuse("cancel"); }
  [[nodiscard]] Status signal(std::uint32_t /*job*/, int /*signal*/) override { return refuse("signal"); }

  [[nodiscard]] Status drain(const std::string& node, const std::string& reason) override {
    if (!permits_(control::Stage::quarantine, node)) return refuse(control::Stage::quarantine, node);
    return client_->drain(node, reason);
  }
  [[nodiscard]] Status resume(const std::string& node) override {
    if (!permits_(control::Stage::quarantine, node)) return refuse(control::Stage::quarantine, node);
    return client_->resume(node);
  }
  [[nodiscard]] Status requeue(const std::string& job, const std::string& node) override {
    if (!permits_(control::Stage::drain, node)) return refuse(control::Stage::drain, node);
    return client_->requeue(job, node);
  }

  [[nodiscard]] std::vector<std::string> take_notes() override { return client_->take_notes(); }
  void stop() override { client_->stop(); }

 private:
  static Error refuse(std::string_view what) {
    return {ErrorCode::invalid_input, fmt::format("watch mode: weft does not {} jobs", what), {}};
  }
  static Error refuse(control::Stage stage, const std::string& node) {
    return {ErrorCode::invalid_input, fmt::format("watch mode: {} is not enabled for {}", to_text(stage), node), {}};
  }

  std::shared_ptr<SlurmClient> client_;
  Permits permits_;
};

}  // namespace weft::world

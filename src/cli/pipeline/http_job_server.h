// A `weft serve` as a pipeline sees it, over its HTTP API.
#pragma once

#include <optional>
#include <string>

#include "cli/operate/server_client.h"
#include "pipeline/job_server.h"

namespace weft::cli {

class HttpJobServer final : public pipeline::JobServer {
 public:
  // `server`: its URL, the name of a context, or the path of its socket. `step_engine`: of the steps that are submitted
  // to it, for a server with two engines.
  HttpJobServer(Context& context, const std::string& server, std::string step_engine = {})
      : client_(context, server), step_engine_(std::move(step_engine)) {}

  // "slurm", "kubernetes", "slurm and kubernetes", "local": what the server runs jobs with.
  [[nodiscard]] Result<std::string> engine() const;
  [[nodiscard]] Result<std::uint64_t> submit(const pipeline::JobSubmission& submission) override;
  [[nodiscard]] Result<pipeline::JobStatus> job(std::uint64_t number) override;
  [[nodiscard]] Status cancel(std::uint64_t number, const std::string& reason) override;
  [[nodiscard]] Result<std::string> output(std::uint64_t number, std::int64_t attempt) override;

 private:
  ServerClient client_;
  std::string step_engine_;
  std::optional<bool> has_two_;  // engines; nullopt: not asked yet
};

}  // namespace weft::cli

// A `weft serve` as a pipeline sees it, over its HTTP API.
#pragma once

#include <string>

#include "cli/operate/server_client.h"
#include "pipeline/job_server.h"

namespace weft::cli {

class HttpJobServer final : public pipeline::JobServer {
 public:
  HttpJobServer(Context& context, std::string socket) : client_(context, std::move(socket)) {}

  // "slurm", "kubernetes", "local": what the server runs jobs with.
  [[nodiscard]] Result<std::string> engine() const;
  [[nodiscard]] Result<std::uint64_t> submit(const pipeline::JobSubmission& submission) override;
  [[nodiscard]] Result<pipeline::JobStatus> job(std::uint64_t number) override;
  [[nodiscard]] Status cancel(std::uint64_t number, const std::string& reason) override;
  [[nodiscard]] Result<std::string> output(std::uint64_t number, std::int64_t attempt) override;

 private:
  ServerClient client_;
};

}  // namespace weft::cli

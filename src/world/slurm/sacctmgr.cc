#include "world/slurm/sacctmgr.h"

#include <fmt/format.h>

#include <iterator>

#include "base/process.h"
#include "base/text.h"

namespace weft::world {
namespace {

constexpr std::size_t kMaxOutput = std::size_t{256} << 20U;

}  // namespace

RunSacctmgr make_sacctmgr(CliOptions options) {
  return [options = std::move(options)](std::vector<std::string> arguments) -> Result<std::string> {
    ProcessRequest request;
    request.words = {"env", "-i", "LC_ALL=C", "PATH=" + options.path};
    if (!options.conf.empty()) request.words.push_back("SLURM_CONF=" + options.conf);
    request.words.emplace_back("sacctmgr");
    request.words.insert(request.words.end(), std::make_move_iterator(arguments.begin()),
                         std::make_move_iterator(arguments.end()));
    request.limit = options.change_deadline;
    request.most_output = kMaxOutput;
    Result<ProcessOutcome> outcome = run_process(request);
    if (!outcome.ok()) return Error{ErrorCode::unavailable, outcome.error().text(), "sacctmgr"};
    const std::string_view problem = trim(outcome->err.empty() ? outcome->out : outcome->err);
    if (outcome->code != 0)
      return Error{ErrorCode::unavailable, fmt::format("exit status {}: {}", outcome->code, problem), "sacctmgr"};
    return outcome->out.empty() ? std::move(outcome->err) : std::move(outcome->out);
  };
}

}  // namespace weft::world

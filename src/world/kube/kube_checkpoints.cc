#include "world/kube/kube_checkpoints.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "world/core/rank_environment.h"

namespace weft::world {

std::string request_file(const std::vector<std::string>& directories, const control::AttemptName& name) {
  if (directories.empty()) return {};
  return fmt::format("{}/.weft-request-{}", directories.front(), name.attempt);
}

void KubeCheckpoints::run(const std::vector<std::string>& arguments, std::function<void(Status)> done) {
  Result<HelperProcess> helper = HelperProcess::start(program_, arguments);
  if (!helper.ok()) return done(helper.error());
  pending_.push_back({std::move(helper).value(), std::move(done)});
}

void KubeCheckpoints::prepare(const control::StartAttempt& command, const std::string& token,
                              std::function<void(Status)> done) {
  std::vector<std::string> arguments{"mark", std::to_string(command.spec->uid), std::to_string(command.spec->gid),
                                     token};
  for (const std::string& directory : job_checkpoint_directories(*command.spec, command.name.job))
    arguments.push_back(fmt::format("{}/{}", directory, kVolumeToken));
  run(arguments, std::move(done));
}

void KubeCheckpoints::request(const control::RequestCheckpoint& command, std::function<void(Status)> done) {
  const auto found = places_.find(command.name);
  if (found == places_.end()) {
    return done(Error{ErrorCode::invalid_input,
                      fmt::format("attempt {} does not run, or has no checkpoint volume", to_text(command.name)),
                      {}});
  }
  const CheckpointPlace& place = found->second;
  if (place.notice != control::CheckpointNotice::file) {
    return done(Error{ErrorCode::invalid_input,
                      "engine kubernetes asks for checkpoints by a file only: set `notice: file` in the job",
                      {}});
  }
  watch_.hurry(command.name);
  run({"mark", std::to_string(place.uid), std::to_string(place.gid), std::to_string(command.operation),
       request_file(place.directories, command.name)},
      std::move(done));
}

void KubeCheckpoints::verify(const control::VerifyCheckpoint& command) {
  CheckpointWatch::Verification request;
  request.operation = command.operation;
  request.job = command.job;
  request.uid = command.spec->uid;
  request.gid = command.spec->gid;
  request.directories = job_checkpoint_directories(*command.spec, command.job);
  watch_.verify(request);
}

void KubeCheckpoints::add(const control::AttemptName& name, const CheckpointPlace& place) {
  if (place.directories.empty()) return;
  places_[name] = place;
  watch_.add(name, place.directories, place.uid, place.gid);
}

void KubeCheckpoints::end(const control::AttemptName& name) {
  places_.erase(name);
  watch_.end(name);
}

void KubeCheckpoints::poll(sched::Moment now, std::vector<control::Event>& events) {
  watch_.poll(now, events);
  for (std::size_t i = 0; i < pending_.size();) {
    const std::optional<Result<std::vector<std::string>>> fields = pending_[i].helper.poll();
    if (!fields) {
      ++i;
      continue;
    }
    const std::function<void(Status)> done = std::move(pending_[i].done);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!fields->ok()) {
      done(fields->error());
    } else if (fields->value().size() != 1 || !fields->value().front().empty()) {
      done(Error{ErrorCode::unavailable,
                 fields->value().empty() ? "invalid answer of the helper process" : fields->value().front(),
                 {}});
    } else {
      done({});
    }
  }
}

}  // namespace weft::world

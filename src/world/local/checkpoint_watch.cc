#include "world/local/checkpoint_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "world/local/process_table.h"

namespace weft::world {
namespace {

constexpr std::int64_t kScanInterval = 1'000'000'000;
constexpr std::int64_t kHurriedInterval = 100'000'000;
constexpr std::int64_t kClockSlack = 600'000'000'000;  // between the clocks of the volumes of a job
constexpr std::size_t kScanFields = 6;
constexpr std::size_t kMaxVerifications = 4;  // at a time: each reads a disk as fast as it can

template <class Number>
Number to_number(const std::string& text) {
  Number number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void CheckpointWatch::add(const control::AttemptName& name, const std::vector<std::string>& directories,
                          std::uint32_t uid, std::uint32_t gid) {
  if (directories.empty()) return;
  Watched& watched = watched_[name];
  watched.directories = directories;
  watched.uid = uid;
  watched.gid = gid;
  watched.ended = watched.last_scan = false;
}

void CheckpointWatch::end(const control::AttemptName& name) {
  if (const auto found = watched_.find(name); found != watched_.end()) found->second.ended = true;
}

void CheckpointWatch::hurry(const control::AttemptName& name) {
  if (const auto found = watched_.find(name); found != watched_.end()) found->second.hurried = true;
}

void CheckpointWatch::verify(const Verification& request) {
  const auto same = [&](const Verification& other) { return other.operation == request.operation; };
  if (std::any_of(not_started_.begin(), not_started_.end(), same)) return;
  if (std::any_of(verifications_.begin(), verifications_.end(), [&](const auto& other) { return same(other.request); }))
    return;
  not_started_.push_back(request);
}

bool CheckpointWatch::is_due() const {
  std::int64_t interval = kScanInterval;
  for (const auto& [name, watched] : watched_) {
    if (watched.hurried || watched.ended) interval = kHurriedInterval;
  }
  return !watched_.empty() && !scan_ && monotonic_ns() - scanned_at_ >= interval;
}

void CheckpointWatch::start_scan() {
  scanned_at_ = monotonic_ns();
  std::vector<std::string> arguments{"scan"};
  for (auto& [name, watched] : watched_) {
    watched.last_scan = watched.ended;
    arguments.insert(arguments.end(),
                     {std::to_string(name.job), std::to_string(name.attempt), std::to_string(watched.uid),
                      std::to_string(watched.gid), std::to_string(watched.newest_ns - kClockSlack),
                      std::to_string(watched.directories.size())});
    arguments.insert(arguments.end(), watched.directories.begin(), watched.directories.end());
  }
  Result<HelperProcess> helper = HelperProcess::start(program_, arguments);
  if (helper.ok()) scan_ = std::move(helper).value();  // otherwise the next scan will find the same
}

void CheckpointWatch::finish_scan(const std::vector<std::string>& fields, sched::Moment now,
                                  std::vector<control::Event>& events) {
  for (std::size_t at = 0; at + kScanFields <= fields.size(); at += kScanFields) {
    const control::AttemptName name{to_number<control::JobNumber>(fields[at]),
                                    to_number<control::AttemptNumber>(fields[at + 1])};
    const auto found = watched_.find(name);
    if (found == watched_.end()) continue;
    Watched& watched = found->second;
    const auto written = to_number<std::int64_t>(fields[at + 5]);
    if (!watched.seen.emplace(fields[at + 2], written).second) continue;
    watched.newest_ns = std::max(watched.newest_ns, written);
    events.emplace_back(control::CheckpointWritten{name, fields[at + 2], to_number<std::int64_t>(fields[at + 3]),
                                                   Duration(to_number<std::int64_t>(fields[at + 4])), now});
  }
  for (auto at = watched_.begin(); at != watched_.end();) {
    Watched& watched = at->second;
    std::erase_if(watched.seen, [&](const auto& entry) { return entry.second < watched.newest_ns - kClockSlack; });
    at = watched.last_scan ? watched_.erase(at) : std::next(at);
  }
}

control::CheckpointVerified CheckpointWatch::answer(const Verification& request,
                                                    const Result<std::vector<std::string>>& fields) {
  control::CheckpointVerified verified;
  verified.operation = request.operation;
  verified.job = request.job;
  if (!fields.ok() || fields->size() != 5) {
    verified.readable = false;
    verified.rejected = fields.ok() ? "invalid answer of the helper process" : fields.error().text();
    return verified;
  }
  verified.checkpoint = (*fields)[0];
  verified.path = (*fields)[1];
  verified.step = to_number<std::int64_t>((*fields)[2]);
  verified.rejected = (*fields)[3];
  verified.readable = (*fields)[4] == "1" || request.may_be_missing;
  return verified;
}

void CheckpointWatch::poll(sched::Moment now, std::vector<control::Event>& events) {
  if (scan_) {
    if (const std::optional<Result<std::vector<std::string>>> fields = scan_->poll()) {
      scan_.reset();
      if (fields->ok()) finish_scan(fields->value(), now, events);
    }
  }
  if (is_due()) start_scan();
  while (!not_started_.empty() && verifications_.size() < kMaxVerifications) {
    const Verification request = not_started_.front();
    not_started_.erase(not_started_.begin());
    std::vector<std::string> arguments{"verify", std::to_string(request.job), std::to_string(request.uid),
                                       std::to_string(request.gid)};
    arguments.insert(arguments.end(), request.directories.begin(), request.directories.end());
    Result<HelperProcess> helper = HelperProcess::start(program_, arguments);
    if (helper.ok()) {
      verifications_.push_back({request, std::move(helper).value()});
    } else {
      control::CheckpointVerified failed = answer(request, helper.error());
      failed.observed = now;
      events.emplace_back(std::move(failed));
    }
  }
  for (std::size_t i = 0; i < verifications_.size();) {
    const std::optional<Result<std::vector<std::string>>> fields = verifications_[i].helper.poll();
    if (!fields) {
      ++i;
      continue;
    }
    control::CheckpointVerified verified = answer(verifications_[i].request, *fields);
    verified.observed = now;
    events.emplace_back(std::move(verified));
    verifications_.erase(verifications_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::int64_t CheckpointWatch::last_written_ns(const control::AttemptName& name) const {
  const auto found = watched_.find(name);
  return found == watched_.end() ? 0 : found->second.newest_ns;
}

}  // namespace weft::world

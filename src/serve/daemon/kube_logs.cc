#include "serve/daemon/kube_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <utility>

#include "kube/json_fields.h"
#include "kube/timestamp.h"
#include "world/kube/pod_plan.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxWaiting = 32;
constexpr std::int64_t kMaxLines = 20'000;  // of a request without a position
constexpr std::int64_t kMaxRead = std::int64_t{64} << 20U;
constexpr std::uint64_t kSecond = 1'000'000'000;

// "2025-10-09T08:53:20.123456789Z text": nanoseconds since the epoch, and what follows the space.
std::optional<std::uint64_t> take_time(std::string_view& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos || space < 20 || space > 40) return std::nullopt;
  const std::string_view text = line.substr(0, space);
  const std::size_t zone = text.find_first_of("Z+-", 19);
  if (zone == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> whole =
      kube::parse_timestamp(std::string(text.substr(0, 19)) + std::string(text.substr(zone)));
  if (!whole || *whole < 0) return std::nullopt;
  std::uint64_t nanoseconds = 0;
  if (text[19] == '.') {
    std::string digits(text.substr(20, zone - 20));
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    digits.resize(9, '0');
    (void)std::from_chars(digits.data(), digits.data() + digits.size(), nanoseconds);
  }
  line.remove_prefix(space + 1);
  return static_cast<std::uint64_t>(*whole) / 1000 * kSecond + nanoseconds;
}

struct Found {
  std::string pod;
  std::string container;
};

// The pod of the attempt that has a container of this task.
Result<Found> find_container(kube::Client& client, const std::string& engine, const std::string& kube_namespace,
                             const LogRequest& request) {
  const Result<kube::ObjectList> pods =
      client.list(kube::kPods, {kube_namespace, world::select_attempt(engine, request.name), {}});
  if (!pods.ok()) return pods.error();
  const std::string wanted = world::container_name(request.task);
  for (const Value& pod : pods->items) {
    for (const Value& container : kube::list(pod, {"spec", "containers"})) {
      if (kube::raw_text(container, {"name"}) == wanted)
        return Found{kube::raw_text(pod, {"metadata", "name"}), wanted};
    }
  }
  return Error{ErrorCode::not_found,
               fmt::format("the pod of task {} of attempt {} is deleted or was never created; Kubernetes keeps the "
                           "output of a container as long as its pod",
                           request.task, request.name.attempt),
               {}};
}

}  // namespace

std::string since_text(const LogPosition& position) {
  return kube::format_timestamp(static_cast<std::int64_t>(position.inode / kSecond * 1000));
}

LogPiece take_log_lines(std::string_view text, const std::optional<LogPosition>& after, std::size_t limit) {
  LogPiece piece;
  if (after) piece.end = *after;
  std::uint64_t time = 0;       // of the line, or of the one that it belongs to
  std::uint64_t same_time = 0;  // lines with that time
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const std::size_t size = newline == std::string_view::npos ? text.size() : newline + 1;
    std::string_view line = text.substr(0, size);
    text.remove_prefix(size);
    if (const std::optional<std::uint64_t> own = take_time(line)) {
      same_time = *own == time ? same_time : 0;
      time = *own;
    }
    ++same_time;
    const bool seen = after && (time < after->inode || (time == after->inode && same_time <= after->offset));
    if (seen) continue;
    if (after && !piece.text.empty() && piece.text.size() + line.size() > limit) break;
    piece.text += line.substr(0, after ? std::max(limit, std::size_t{1}) : line.size());
    piece.end = {time, same_time};
  }
  if (!after && piece.text.size() > limit) {
    piece.text.erase(0, piece.text.size() - limit);
    piece.skipped = true;
  }
  return piece;
}

Result<LogPiece> read_pod_log(kube::Client& client, const std::string& engine, const std::string& kube_namespace,
                              const LogRequest& request) {
  const Result<Found> found = find_container(client, engine, kube_namespace, request);
  if (!found.ok()) return found.error();
  kube::LogQuery query;
  query.container = found->container;
  query.timestamps = true;
  query.limit_bytes = kMaxRead;
  if (request.after) {
    query.since = since_text(*request.after);
  } else {
    query.tail_lines = kMaxLines;
  }
  Result<std::string> text = client.read_log({kube_namespace, found->pod}, query);
  if (text.ok() && !request.after && text->size() >= static_cast<std::size_t>(kMaxRead)) {
    query.tail_lines = kMaxLines / 100;  // very long lines: the server would cut off the end
    text = client.read_log({kube_namespace, found->pod}, query);
  }
  if (!text.ok() && text.error().code == ErrorCode::conflict) {
    return Error{ErrorCode::not_found,
                 fmt::format("task {} has not started yet: its container is being created", request.task),
                 {}};
  }
  if (!text.ok()) return text.error();
  return take_log_lines(*text, request.after, request.limit);
}

KubeLogs::KubeLogs(const kube::ClusterAccess& access, std::string engine, std::string kube_namespace)
    : connection_(std::make_unique<KubeConnection>(access, "logs")),
      engine_(std::move(engine)),
      kube_namespace_(std::move(kube_namespace)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

KubeLogs::~KubeLogs() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  connection_->clock.stop();
  changed_.notify_all();
  thread_.join();
}

void KubeLogs::read(const LogRequest& request, Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    if (asked_.size() < kMaxWaiting) {
      asked_.emplace_back(request, std::move(answer));
      answer = nullptr;
    }
  }
  if (answer) return answer(Error{ErrorCode::unavailable, "too many logs are being read; try again", {}});
  changed_.notify_all();
}

void KubeLogs::deliver() {
  std::vector<std::pair<Result<LogPiece>, Answer>> answered;
  {
    const std::lock_guard lock(mutex_);
    answered.swap(answered_);
  }
  for (const auto& [piece, answer] : answered) answer(piece);
}

void KubeLogs::work() {
  for (;;) {
    std::pair<LogRequest, Answer> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
      if (stopping_) return;
      next = std::move(asked_.front());
      asked_.pop_front();
    }
    Result<LogPiece> piece = read_pod_log(connection_->client, engine_, kube_namespace_, next.first);
    const std::lock_guard lock(mutex_);
    answered_.emplace_back(std::move(piece), std::move(next.second));
  }
}

}  // namespace weft::serve

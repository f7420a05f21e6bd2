#include "oob/journal/syslog.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "oob/durable/file.h"
#include "oob/journal/scan.h"
#include "oob/journal/syslog_link.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxBatch = 512U << 10U;    // bytes of messages between two cursor updates
constexpr std::size_t kReadAhead = 1U << 20U;     // bytes of the journal read at once
constexpr auto kRetry = std::chrono::seconds(5);  // while the command runs and the server is down

std::string default_cursor(const SyslogOptions& options) {
  std::string host = options.target.host;
  for (char& c : host) c = c == '/' || c == ':' ? '_' : c;
  return fmt::format("{}.syslog-{}-{}", options.journal, host, options.target.port);
}

std::string own_hostname() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

// "NUMBER HASH OFFSET\n": the last entry on the server, and where its line ends.
Result<ChainPlace> read_cursor(const std::string& path) {
  const Result<FileDescriptor> file = open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.ok() && file.error().code == ErrorCode::not_found) return ChainPlace{};
  if (!file.ok()) return file.error();
  const Result<std::string> text = read_at(file.value(), 0, 256, path);
  if (!text.ok()) return text.error();
  const Error bad{ErrorCode::invalid_input, "is not a cursor: remove it, and everything is sent once more", path};
  const std::size_t first = text->find(' ');
  const std::size_t second = first == std::string::npos ? first : text->find(' ', first + 1);
  if (second == std::string::npos || text->back() != '\n') return bad;
  ChainPlace place;
  const char* begin = text->data();
  place.hash = text->substr(first + 1, second - first - 1);
  const auto number = std::from_chars(begin, begin + first, place.number);
  const auto offset = std::from_chars(begin + second + 1, begin + text->size() - 1, place.offset);
  if (number.ptr != begin + first || offset.ptr != begin + text->size() - 1 || !is_hash_text(place.hash)) return bad;
  return place;
}

Status write_cursor(const std::string& path, const ChainPlace& place) {
  return replace_file(path, fmt::format("{} {} {}\n", place.number, place.hash, place.offset));
}

class Forwarding {
 public:
  explicit Forwarding(const SyslogOptions& options)
      : options_(options),
        cursor_path_(options.cursor.empty() ? default_cursor(options) : options.cursor),
        hostname_(options.hostname.empty() ? own_hostname() : options.hostname) {}

  SyslogReport run() {
    Status status = try_run();
    if (!status.ok()) report_.problem = status.error().text();
    return report_;
  }

 private:
  [[nodiscard]] Status try_run() {
    Result<FileDescriptor> journal = open_file(options_.journal, O_RDONLY);
    if (!journal.ok()) return journal.error();
    journal_ = std::move(journal).value();
    const std::string lock_path = cursor_path_ + ".lock";
    const Result<FileDescriptor> lock_file = open_file(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!lock_file.ok()) return lock_file.error();
    // Another process that is sending now also sends our entries.
    if (Status held = lock(lock_file.value(), LockKind::exclusive, lock_path, options_.limit); !held.ok()) return held;
    const Result<std::uint64_t> size = settled_size(journal_, options_.journal);
    if (!size.ok()) return size.error();
    size_ = size.value();
    Result<ChainPlace> from = read_cursor(cursor_path_);
    if (!from.ok()) return from.error();
    place_ = std::move(from).value();
    if (Status placed = check_cursor(); !placed.ok()) return placed;
    const Result<ChainPlace> newest = find_chain_end(journal_, size_, options_.journal);
    if (!newest.ok()) return newest.error();
    last_ = newest->number;
    report_.left = last_ - std::min(last_, place_.number);
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options_.longest.count());
    while (place_.number < last_ && std::chrono::steady_clock::now() < end) {
      if (Status sent = send_batch(); !sent.ok()) return sent;
    }
    return {};
  }

  // The line that ends at the cursor's offset must be the entry that the cursor names.
  [[nodiscard]] Status check_cursor() const {
    if (place_.number == 0) return {};
    const Error replaced{
        ErrorCode::conflict,
        fmt::format("entry {} with the hash that the log server was sent is not in the journal: it was "
                    "cut or replaced. Remove {} to send all of the new one",
                    place_.number, cursor_path_),
        options_.journal};
    if (place_.offset > size_ || place_.offset == 0) return replaced;
    const Result<ChainPlace> there = find_chain_end(journal_, place_.offset, options_.journal);
    if (!there.ok() || there->offset != place_.offset || there->number != place_.number || there->hash != place_.hash)
      return replaced;
    return {};
  }

  [[nodiscard]] Status send_batch() {
    std::string batch;
    std::uint64_t count = 0;
    ChainPlace reached = place_;
    if (Status read = read_batch(batch, count, reached); !read.ok()) return read;
    Result<std::unique_ptr<SyslogLink>> link = SyslogLink::open(options_.target, options_.ca_file, options_.limit);
    if (!link.ok()) return link.error();
    if (Status sent = (*link)->send(batch); !sent.ok()) return sent;
    // TCP syslog has no acknowledgments. A clean close by the server after our shutdown is the best available proof.
    if (Status closed = (*link)->close(); !closed.ok()) return closed;
    if (Status kept = write_cursor(cursor_path_, reached); !kept.ok()) return kept;
    place_ = reached;
    report_.sent += count;
    report_.left = last_ - std::min(last_, place_.number);
    return {};
  }

  [[nodiscard]] Status read_batch(std::string& batch, std::uint64_t& count, ChainPlace& reached) {
    JournalScan scan(place_);
    bool full = false;
    scan.on_entry = [&](JournalLine&& line) {
      if (full) return;
      const std::string message = syslog_message(line.entry, hostname_);
      batch += fmt::format("{} {}", message.size(), message);  // octet counting, RFC 6587 section 3.4.1
      ++count;
      reached.number = line.entry.number;
      full = batch.size() >= kMaxBatch;
    };
    // Only the scan knows where each entry ends, so lines are fed one by one.
    std::uint64_t at = place_.offset;
    while (!full && at < size_) {
      const Result<std::string> bytes = read_at(
          journal_, at, static_cast<std::size_t>(std::min<std::uint64_t>(kReadAhead, size_ - at)), options_.journal);
      if (!bytes.ok()) return bytes.error();
      if (bytes->empty()) break;
      at += bytes->size();
      std::string_view rest = bytes.value();
      while (!rest.empty() && !full) {
        const std::size_t end = rest.find('\n');
        const std::size_t take = end == std::string_view::npos ? rest.size() : end + 1;
        scan.feed(rest.substr(0, take));
        rest.remove_prefix(take);
      }
    }
    if (!scan.problems().empty())
      return Error{ErrorCode::conflict,
                   fmt::format("is damaged after entry {}, and nothing behind that is sent: see `weft oob journal "
                               "--verify`",
                               place_.number),
                   options_.journal};
    reached = scan.place();
    if (count == 0) return Error{ErrorCode::conflict, "ended before its last entry", options_.journal};
    return {};
  }

  const SyslogOptions& options_;
  std::string cursor_path_;
  std::string hostname_;
  FileDescriptor journal_;
  std::uint64_t size_ = 0;
  std::uint64_t last_ = 0;
  ChainPlace place_;
  SyslogReport report_;
};

}  // namespace

SyslogReport forward_journal(const SyslogOptions& options) { return Forwarding(options).run(); }

class SyslogForwarder::Worker {
 public:
  explicit Worker(SyslogOptions options) : options_(std::move(options)), thread_([this] { work(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() { (void)finish(); }

  void wake() {
    {
      const std::lock_guard guard(mutex_);
      if (more_) return;
      more_ = true;
    }
    changed_.notify_one();
  }

  SyslogReport finish() {
    {
      const std::lock_guard guard(mutex_);
      ending_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
    return last_;
  }

 private:
  void work() {
    std::unique_lock guard(mutex_);
    bool failing = false;
    for (;;) {
      // While the server is down, not every new entry triggers a retry.
      if (failing) {
        changed_.wait_for(guard, kRetry, [&] { return ending_; });
      } else {
        changed_.wait(guard, [&] { return more_ || ending_; });
      }
      const bool ending = ending_;
      more_ = false;
      guard.unlock();
      SyslogReport report = forward_journal(options_);
      guard.lock();
      failing = !report.problem.empty();
      more_ = more_ || (!failing && report.left > 0);
      report.sent += last_.sent;
      last_ = std::move(report);
      if (ending) return;
    }
  }

  SyslogOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool more_ = false;
  bool ending_ = false;
  SyslogReport last_;
  std::thread thread_;
};

SyslogForwarder::SyslogForwarder(SyslogOptions options) : worker_(std::make_unique<Worker>(std::move(options))) {}
SyslogForwarder::~SyslogForwarder() = default;
void SyslogForwarder::wake() { worker_->wake(); }
SyslogReport SyslogForwarder::finish() { return worker_->finish(); }

}  // namespace weft::oob

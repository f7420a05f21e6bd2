#include "oob/console/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "oob/console/program_console.h"

namespace weft::oob {
namespace {

constexpr Duration kFirstPause = milliseconds(1'000);
constexpr Duration kLongestPause = milliseconds(30'000);  // a restarting BMC is down for a minute or two
constexpr Duration kReadWait = milliseconds(200);
constexpr std::size_t kTailLines = 25;

bool worth_trying_again(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::timeout || code == ErrorCode::conflict;
}

}  // namespace

Status ConsoleSession::open() {
  stream_.reset();
  bmc_.reset();
  const Endpoint& endpoint = fleet_.inventory.targets()[target_].endpoint;
  if (!endpoint.console.empty()) {
    // A console server does not need the BMC, which may be what failed.
    Result<std::unique_ptr<ConsoleStream>> program = open_program_console(endpoint.console, endpoint.device);
    if (!program.ok()) return program.error();
    stream_ = std::move(program).value();
  } else {
    Result<OpenBmc> bmc = open_bmc(fleet_, target_);
    if (!bmc.ok()) return bmc.error();
    Result<std::unique_ptr<ConsoleStream>> stream = bmc->bmc->console();
    if (!stream.ok()) return stream.error();
    bmc_ = std::move(bmc->bmc);
    stream_ = std::move(stream).value();
  }
  pause_ = kFirstPause;
  return {};
}

void ConsoleSession::lose(const Error& error) {
  stream_.reset();
  bmc_.reset();
  if (pause_ < kFirstPause) pause_ = kFirstPause;
  next_try_ = fleet_.clock.now() + pause_;
  // Repeating the same message every 30 seconds adds no information.
  if (error.message != last_problem_)
    note_(fmt::format("the console is disconnected: {}; retrying in {}", error.message, to_text(pause_)));
  last_problem_ = error.message;
  pause_ = std::min(pause_ * 2, kLongestPause);
}

std::string ConsoleSession::read(Duration wait) {
  if (stream_ == nullptr) {
    const Duration left = next_try_ - fleet_.clock.now();
    if (left > Duration(0)) {
      (void)fleet_.clock.sleep(std::min(left, wait));
      return {};
    }
    if (fleet_.clock.stopped()) return {};
    if (const Status opened = open(); !opened.ok()) {
      lose(opened.error());
      return {};
    }
    ++reopened_;
    last_problem_.clear();
    note_("the console is connected again");
  }
  Result<std::string> bytes = stream_->read(wait);
  if (bytes.ok()) return std::move(bytes).value();
  lose(bytes.error());
  return {};
}

Status ConsoleSession::write(std::string_view text) {
  if (stream_ == nullptr)
    return Error{ErrorCode::unavailable, "the console is disconnected", fleet_.inventory.targets()[target_].name};
  Status written = stream_->write(text);
  if (!written.ok()) lose(written.error());
  return written;
}

ConsoleAccess::ConsoleAccess(Journal& journal, std::string device)
    : journal_(journal), device_(std::move(device)), operation_(new_operation_id()) {}

ConsoleAccess::~ConsoleAccess() {
  if (!begun_) return;
  JournalEntry entry;
  entry.operation = operation_;
  entry.phase = Phase::end;
  entry.verb = std::string(kConsoleVerb);
  entry.device = device_;
  entry.detail = Value::map({{"bytes_read", read_}, {"bytes_written", written_}});
  (void)journal_.append(std::move(entry));
}

Status ConsoleAccess::begin(std::string_view mode, std::string_view why) {
  JournalEntry entry;
  entry.operation = operation_;
  entry.phase = Phase::begin;
  entry.verb = std::string(kConsoleVerb);
  entry.device = device_;
  entry.detail = Value::map({{"mode", mode}, {"reason", why}});
  Status written = journal_.append(std::move(entry));
  begun_ = written.ok();
  return written;
}

Result<ConsoleCapture> capture_console(Fleet& fleet, std::uint32_t target, Duration limit,
                                       const std::string& until_regex, ConsoleLog& log) {
  std::optional<ConsoleMatcher> matcher;
  if (!until_regex.empty()) {
    Result<ConsoleMatcher> made = ConsoleMatcher::make(until_regex);
    if (!made.ok()) return made.error();
    matcher = std::move(made).value();
  }
  ConsoleAccess access(fleet.journal, log.device());
  if (const Status begun = access.begin("capture", {}); !begun.ok()) return begun.error();
  ConsoleSession session(fleet, target, [&](const std::string& text) { (void)log.note(text); });
  const Duration start = fleet.clock.now();
  const auto left = [&] { return limit == Duration(0) ? kReadWait : start + limit - fleet.clock.now(); };
  const Status opened = session.open();
  if (!opened.ok() && !worth_trying_again(opened.error().code)) return opened.error();
  bool ever_open = opened.ok();
  ConsoleCapture capture;
  while (left() > Duration(0) && !fleet.clock.stopped()) {
    const std::string bytes = session.read(std::min(kReadWait, left()));
    ever_open = ever_open || session.is_open();
    capture.bytes += bytes.size();
    access.count(bytes.size(), 0);
    // A full disk must not prevent seeing the pattern.
    (void)(bytes.empty() ? log.tick() : log.append(bytes));
    if (matcher && matcher->feed(bytes)) break;
  }
  if (!ever_open) return opened.error();
  if (matcher) {
    capture.seen = matcher->seen();
    capture.line = matcher->line();
  }
  capture.reopened = session.reopened();
  capture.took = fleet.clock.now() - start;
  (void)log.flush();
  capture.tail = log.recent(kTailLines);
  return capture;
}

}  // namespace weft::oob

// The journal at a log server as well (row H6): RFC 5424 messages over TCP with octet counting (RFC 6587 section 3.4.1)
// or over TLS (RFC 5425). What is sent is read from the journal itself, from a cursor on: when the server is down
// nothing is lost and nobody waits, and the next command sends the backlog. Each entry arrives at least once; the hash
// in each message lets the server's copy be held against the journal. Plain UDP loses messages, so there is none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "oob/durable/clock.h"
#include "oob/journal/journal.h"

namespace weft::oob {

struct SyslogTarget {
  std::string host{};
  std::uint16_t port = 0;
  bool tls = false;
};
// "tcp://host:port", "tls://host:port", "host:port", "host" or "[2001:db8::1]:port". Without a scheme: tcp. Without a
// port: 6514 for TLS (RFC 5425 section 4.1), 514 for TCP. The registered port for syslog over TCP is 601 (RFC 3195),
// but what collectors listen on with RFC 6587 is 514.
[[nodiscard]] Result<SyslogTarget> parse_syslog_target(std::string_view text);
[[nodiscard]] std::string to_text(const SyslogTarget& target);

// One entry as an RFC 5424 message, without its framing. At most 8192 bytes, which receivers should take (RFC 5425
// section 4.3.1): a longer text is cut.
[[nodiscard]] std::string syslog_message(const JournalEntry& entry, std::string_view hostname);

struct SyslogOptions {
  SyslogTarget target{};
  std::string ca_file{};                    // PEM, for TLS; empty: the system's
  std::string journal{};                    // path
  std::string cursor{};                     // path; empty: JOURNAL.syslog-HOST-PORT, one for each server
  std::string hostname{};                   // of this machine; empty: asked from the system
  Duration limit = milliseconds(5'000);     // to connect, and for the server to take one batch
  Duration longest = milliseconds(10'000);  // of one attempt; what is left is sent in the next
};

struct SyslogReport {
  std::uint64_t sent = 0;  // entries, by this forwarder
  std::uint64_t left = 0;  // entries of the journal that are not at the server
  std::string problem{};   // why the last attempt failed; empty: it did not
  // "3 entries not yet at the log server tcp://...: connection refused; the next command sends them"; empty: all there.
  [[nodiscard]] std::string text(const SyslogTarget& target) const;
};

// Sends in a thread of its own while the command runs.
class SyslogForwarder {
 public:
  // Starts the thread. Nothing is looked up or connected here; what fails is in the report.
  explicit SyslogForwarder(SyslogOptions options);
  SyslogForwarder(const SyslogForwarder&) = delete;
  SyslogForwarder& operator=(const SyslogForwarder&) = delete;
  ~SyslogForwarder();

  // There is more to send: for open_journal's `on_append`. Never waits.
  void wake();
  // Sends what is left, in one attempt, and ends the thread.
  SyslogReport finish();

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

// One attempt to bring the server up to date, in the calling thread.
[[nodiscard]] SyslogReport forward_journal(const SyslogOptions& options);

}  // namespace weft::oob

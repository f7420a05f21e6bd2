// Forwards the journal to a syslog server: RFC 5424 messages over TCP with octet counting (RFC 6587 section 3.4.1) or
// over TLS (RFC 5425). Messages are read from the journal itself, starting at a cursor: if the server is down, nothing
// is lost or blocked, and the next command sends the backlog. Each entry is delivered at least once; the hash in each
// message allows checking the server's copy against the journal. Plain UDP loses messages and is not supported.
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
// "tcp://host:port", "tls://host:port", "host:port", "host" or "[2001:db8::1]:port". Default scheme: tcp. Default port:
// 6514 for TLS (RFC 5425 section 4.1), 514 for TCP. The registered port for syslog over TCP is 601 (RFC 3195), but
// collectors with RFC 6587 listen on 514.
[[nodiscard]] Result<SyslogTarget> parse_syslog_target(std::string_view text);
[[nodiscard]] std::string to_text(const SyslogTarget& target);

// One entry as an RFC 5424 message, without framing. At most 8192 bytes, which receivers should accept (RFC 5425
// section 4.3.1): longer text is truncated.
[[nodiscard]] std::string syslog_message(const JournalEntry& entry, std::string_view hostname);

struct SyslogOptions {
  SyslogTarget target{};
  std::string ca_file{};                    // PEM, for TLS; empty: the system's
  std::string journal{};                    // path
  std::string cursor{};                     // path; empty: JOURNAL.syslog-HOST-PORT, one per server
  std::string hostname{};                   // of this machine; empty: taken from the system
  Duration limit = milliseconds(5'000);     // to connect, and for the server to accept one batch
  Duration longest = milliseconds(10'000);  // of one attempt; the rest is sent in the next
};

struct SyslogReport {
  std::uint64_t sent = 0;  // entries sent by this forwarder
  std::uint64_t left = 0;  // journal entries not yet on the server
  std::string problem{};   // why the last attempt failed; empty: it succeeded
  // "3 entries not yet at the log server tcp://...: connection refused; the next command sends them"; empty: all sent.
  [[nodiscard]] std::string text(const SyslogTarget& target) const;
};

// Sends from its own thread while the command runs.
class SyslogForwarder {
 public:
  // Starts the thread. Does not resolve or connect yet; failures are in the report.
  explicit SyslogForwarder(SyslogOptions options);
  SyslogForwarder(const SyslogForwarder&) = delete;
  SyslogForwarder& operator=(const SyslogForwarder&) = delete;
  ~SyslogForwarder();

  // Signals that there is more to send: for open_journal's `on_append`. Never blocks.
  void wake();
  // Sends the remaining entries in one attempt and ends the thread.
  SyslogReport finish();

 private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

// One attempt to bring the server up to date, in the calling thread.
[[nodiscard]] SyslogReport forward_journal(const SyslogOptions& options);

}  // namespace weft::oob

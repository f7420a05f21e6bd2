// One connection to a syslog server, TCP or TLS, with a timeout on every operation. Private to syslog.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "oob/durable/file.h"
#include "oob/journal/syslog.h"

namespace weft::oob {

class SyslogLink {
 public:
  // `limit` covers the whole lifetime of the link.
  [[nodiscard]] static Result<std::unique_ptr<SyslogLink>> open(const SyslogTarget& target, const std::string& ca_file,
                                                                Duration limit);
  SyslogLink(const SyslogLink&) = delete;
  SyslogLink& operator=(const SyslogLink&) = delete;
  ~SyslogLink();

  [[nodiscard]] Status send(std::string_view bytes);
  // Shuts down sending and waits until the server has received everything: it closes its side too or, if it keeps the
  // connection open, its TCP has acknowledged every byte. An error means that messages may be lost.
  [[nodiscard]] Status close();

 private:
  struct Tls;
  using Moment = std::chrono::steady_clock::time_point;
  SyslogLink(std::string name, Moment end);

  [[nodiscard]] Status connect(const SyslogTarget& target);
  [[nodiscard]] Status start_tls(const SyslogTarget& target, const std::string& ca_file);
  // Moves pending TLS output to the socket and, if `wants_read`, received bytes to TLS.
  [[nodiscard]] Status pump(bool wants_read);
  [[nodiscard]] Status send_raw(std::string_view bytes);
  // Bytes received; empty at the end of the stream.
  [[nodiscard]] Result<std::string> receive();
  [[nodiscard]] Status wait_for(short events);
  [[nodiscard]] Error failed(std::string_view what, int code) const;
  [[nodiscard]] Error failed_to_wait(int code) const;
  [[nodiscard]] bool all_acknowledged() const;

  std::string name_;
  Moment end_;
  FileDescriptor socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace weft::oob

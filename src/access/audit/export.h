// Export of the audit log to a syslog server: every file of it, in order, by the forwarder of oob/journal, from a
// thread of its own. A server that is down delays nothing: the thread retries, and what is missing is sent later, also
// after a restart.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "oob/journal/syslog.h"

namespace weft::access {

class AuditExport {
 public:
  // `options.journal` and `options.cursor` are set per file.
  AuditExport(std::string folder, oob::SyslogOptions options);
  AuditExport(const AuditExport&) = delete;
  AuditExport& operator=(const AuditExport&) = delete;
  ~AuditExport();  // makes one last attempt

  void wake();  // there is more to send; never blocks
  [[nodiscard]] std::string problem() const;

 private:
  void work();
  [[nodiscard]] std::string send_all();

  std::string folder_;
  oob::SyslogOptions options_;
  std::uint64_t complete_ = 0;  // files up to this one are at the server and grow no more
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool more_ = true;
  bool ending_ = false;
  std::string problem_;
  std::thread thread_;
};

}  // namespace weft::access

#include "access/audit/export.h"

#include <algorithm>
#include <chrono>

#include "access/audit/read.h"

namespace weft::access {
namespace {

constexpr auto kRetry = std::chrono::seconds(5);

}  // namespace

AuditExport::AuditExport(std::string folder, oob::SyslogOptions options)
    : folder_(std::move(folder)), options_(std::move(options)), thread_([this] { work(); }) {}

AuditExport::~AuditExport() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void AuditExport::wake() {
  {
    const std::lock_guard guard(mutex_);
    if (more_) return;
    more_ = true;
  }
  changed_.notify_one();
}

std::string AuditExport::problem() const {
  const std::lock_guard guard(mutex_);
  return problem_;
}

// The problem of the first file that could not be sent; empty: all are at the server.
std::string AuditExport::send_all() {
  const Result<std::vector<AuditFile>> files = find_audit_files(folder_);
  if (!files.ok()) return files.error().text();
  for (const AuditFile& file : *files) {
    if (file.index <= complete_) continue;
    oob::SyslogOptions options = options_;
    options.journal = file.path;
    options.cursor.clear();
    const oob::SyslogReport report = oob::forward_journal(options);
    if (!report.problem.empty() || report.left > 0) return report.text(options_.target);
    if (file.index != files->back().index) complete_ = file.index;
  }
  return {};
}

void AuditExport::work() {
  std::unique_lock guard(mutex_);
  for (;;) {
    if (problem_.empty()) {
      changed_.wait(guard, [&] { return more_ || ending_; });
    } else {
      changed_.wait_for(guard, kRetry, [&] { return ending_; });
    }
    const bool ending = ending_;
    more_ = false;
    guard.unlock();
    std::string problem = send_all();
    guard.lock();
    problem_ = std::move(problem);
    if (ending) return;
  }
}

}  // namespace weft::access

#include "world/local/rotating_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "world/local/user_rights.h"

namespace weft::world {

bool RotatingLog::open() {
  if (file_.ok()) return true;
  // Without waiting: a user may name a FIFO.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  {
    const ActAsUser rights(options_.as_user ? options_.uid : 0, options_.gid);
    if (!rights.ok()) return false;
    file_ = open_descriptor(path_, kFlags, 0640);
  }
  struct stat info {};
  if (!file_.ok() || ::fstat(file_.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    file_.close();
    return false;
  }
  size_ = info.st_size;
  if (!options_.as_user && ::geteuid() == 0 && ::fchown(file_.get(), options_.uid, options_.gid) != 0)
    size_ = info.st_size;  // the owner cannot read it then; the log is complete all the same
  return true;
}

void RotatingLog::rotate() {
  file_.close();
  const ActAsUser rights(options_.as_user ? options_.uid : 0, options_.gid);
  const auto numbered = [&](int n) { return n == 0 ? path_ : fmt::format("{}.{}", path_, n); };
  for (int n = options_.files - 1; n > 0; --n) (void)std::rename(numbered(n - 1).c_str(), numbered(n).c_str());
  if (options_.files <= 1) (void)::unlink(path_.c_str());
}

std::size_t RotatingLog::write(std::string_view bytes) {
  const std::size_t done = write_all(file_.get(), bytes).bytes;
  size_ += static_cast<std::int64_t>(done);
  return done;
}

void RotatingLog::note_dropped() {
  if (dropped_ == noted_) return;
  const std::string note = fmt::format("\n[weft: {} bytes of output could not be written]\n", dropped_ - noted_);
  // All of it or nothing: a note that is cut off would be taken for output of the job.
  if (write(note) == note.size()) noted_ = dropped_;
}

void RotatingLog::append(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!open()) {
      dropped_ += bytes.size();
      return;
    }
    if (size_ >= options_.bytes) {
      rotate();
      continue;
    }
    note_dropped();
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(options_.bytes - size_, 1));
    const std::string_view piece = bytes.substr(0, room);
    const std::size_t done = write(piece);
    bytes.remove_prefix(done);
    if (done < piece.size()) {
      dropped_ += bytes.size();
      return;
    }
  }
}

void RotatingLog::finish() {
  if (file_.ok()) note_dropped();
  file_.close();
}

}  // namespace weft::world

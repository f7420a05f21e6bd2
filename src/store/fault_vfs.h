// A file system layer for SQLite that injects faults: full disk, failed fsync, and power loss, which keeps what was
// synced and any part of what was written since. For tests only.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"

namespace weft::store {

class FaultVfs {
 public:
  FaultVfs() : real_(sqlite3_vfs_find(nullptr)), vfs_{*real_, this} {
    vfs_.zName = "weft-faults";
    vfs_.pNext = nullptr;
    vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
    vfs_.xOpen = open_file;
    sqlite3_vfs_register(&vfs_, 0);
  }
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;
  ~FaultVfs() { sqlite3_vfs_unregister(&vfs_); }
  [[nodiscard]] std::string name() const { return vfs_.zName; }

  void set_full(bool full) { full_ = full; }
  void fail_after_writes(std::uint64_t writes) { writes_left_ = writes; }  // then the disk is full
  void set_sync_fails(bool fails) { sync_fails_ = fails; }
  // Power is lost after this many more writes and syncs: the program continues, but the disk no longer changes.
  void lose_power_after(std::uint64_t operations) { operations_left_ = operations; }
  [[nodiscard]] bool has_power() const { return operations_left_ > 0; }

  // The files after the power loss, by path: of the changes that were not synced, each happened entirely, up to the end
  // of a sector, or not at all.
  [[nodiscard]] std::map<std::string, std::string> surviving_files(RandomStream& random) const {
    constexpr std::size_t kSector = 512;
    std::map<std::string, std::string> files;
    for (const auto& [path, state] : files_) {
      std::string content = state.synced;
      for (const Change& change : state.changes) {
        if (random.chance(0.3)) continue;
        const bool torn = random.chance(0.2);
        const std::size_t sectors = change.bytes.size() / kSector;
        apply(content, change, torn && sectors > 0 ? kSector * random.below(sectors) : change.bytes.size());
      }
      files[path] = std::move(content);
    }
    return files;
  }

 private:
  struct Change {
    std::uint64_t offset = 0;
    std::string bytes;
    bool truncates = false;  // to `offset`
  };
  struct FileState {
    std::string synced;
    std::vector<Change> changes;
  };
  struct Vfs : sqlite3_vfs {
    FaultVfs* owner;
  };
  // SQLite allocates it, with the real file behind it.
  struct File : sqlite3_file {
    FaultVfs* owner;
    FileState* state;
  };

  static File* find_file(sqlite3_file* file) { return static_cast<File*>(file); }
  static sqlite3_file* find_real(sqlite3_file* file) { return reinterpret_cast<sqlite3_file*>(find_file(file) + 1); }

  template <auto kMethod>
  struct Forward;
  template <class... Args, int (*sqlite3_io_methods::*kMethod)(sqlite3_file*, Args...)>
  struct Forward<kMethod> {
    static int call(sqlite3_file* file, Args... args) {
      sqlite3_file* real = find_real(file);
      return (real->pMethods->*kMethod)(real, args...);
    }
  };

  static const sqlite3_io_methods* methods() {
    using Methods = sqlite3_io_methods;
    static const Methods table = [] {
      Methods made{};
      made.iVersion = 1;  // without shared memory and mmap
      made.xClose = Forward<&Methods::xClose>::call;
      made.xRead = Forward<&Methods::xRead>::call;
      made.xWrite = write_file;
      made.xTruncate = truncate_file;
      made.xSync = sync_file;
      made.xFileSize = Forward<&Methods::xFileSize>::call;
      made.xLock = Forward<&Methods::xLock>::call;
      made.xUnlock = Forward<&Methods::xUnlock>::call;
      made.xCheckReservedLock = Forward<&Methods::xCheckReservedLock>::call;
      made.xFileControl = Forward<&Methods::xFileControl>::call;
      made.xSectorSize = Forward<&Methods::xSectorSize>::call;
      made.xDeviceCharacteristics = Forward<&Methods::xDeviceCharacteristics>::call;
      return made;
    }();
    return &table;
  }

  static void apply(std::string& content, const Change& change, std::size_t size) {
    if (change.truncates) {
      content.resize(std::min<std::size_t>(content.size(), change.offset));
      return;
    }
    content.resize(std::max<std::size_t>(content.size(), change.offset + size));
    content.replace(change.offset, size, change.bytes, 0, size);
  }

  // Whether the operation happens before the power loss.
  bool count_operation() {
    if (operations_left_ > 0) --operations_left_;
    return has_power();
  }

  static int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
    FaultVfs* owner = static_cast<Vfs*>(vfs)->owner;
    File* opened = find_file(file);
    opened->pMethods = nullptr;
    opened->owner = owner;
    const std::string name = path == nullptr ? "" : path;
    if (owner->files_.count(name) == 0)  // opened again, it is still what it was
      owner->files_[name].synced = read_file(name).value_or({});
    opened->state = &owner->files_[name];
    const int code = owner->real_->xOpen(owner->real_, path, find_real(file), flags, out_flags);
    if (code == SQLITE_OK) opened->pMethods = methods();
    return code;
  }

  static int write_file(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
    FaultVfs* owner = find_file(file)->owner;
    if (owner->writes_left_ > 0) --owner->writes_left_;
    if (owner->full_ || owner->writes_left_ == 0) return SQLITE_FULL;
    if (owner->count_operation()) {
      find_file(file)->state->changes.push_back(
          {static_cast<std::uint64_t>(offset), {static_cast<const char*>(bytes), static_cast<std::size_t>(size)}});
    }
    return Forward<&sqlite3_io_methods::xWrite>::call(file, bytes, size, offset);
  }

  static int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
    if (find_file(file)->owner->count_operation())
      find_file(file)->state->changes.push_back({static_cast<std::uint64_t>(size), {}, true});
    return Forward<&sqlite3_io_methods::xTruncate>::call(file, size);
  }

  static int sync_file(sqlite3_file* file, int flags) {
    FaultVfs* owner = find_file(file)->owner;
    if (owner->sync_fails_) return SQLITE_IOERR_FSYNC;
    if (owner->count_operation()) {
      FileState& state = *find_file(file)->state;
      for (const Change& change : state.changes) apply(state.synced, change, change.bytes.size());
      state.changes.clear();
    }
    return Forward<&sqlite3_io_methods::xSync>::call(file, flags);
  }

  sqlite3_vfs* real_;
  Vfs vfs_;
  std::map<std::string, FileState> files_;
  std::uint64_t operations_left_ = UINT64_MAX;
  std::uint64_t writes_left_ = UINT64_MAX;
  bool full_ = false;
  bool sync_fails_ = false;
};

}  // namespace weft::store

// A folder that is written under a temporary name and replaces the target atomically: readers see either all of the old
// files or all of the new ones. Without a commit, nothing is left behind, also when a signal ends the process.
#pragma once

#include <csignal>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace weft {

// While one exists, SIGINT, SIGTERM and SIGHUP wait in this thread: for the time in which a temporary file exists. In a
// process with other threads they have to be blocked there too, or one of those threads gets the signal.
class SignalBlock {
 public:
  SignalBlock();
  SignalBlock(SignalBlock&& other) noexcept;
  SignalBlock& operator=(SignalBlock&&) = delete;
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
  ~SignalBlock();  // a waiting signal is delivered here

  [[nodiscard]] static bool is_signal_waiting();

 private:
  sigset_t previous_{};
  bool active_ = false;
};

// add() and commit() fail once a signal waits; it is delivered when the writer is destroyed.
class FolderWriter {
 public:
  // Creates a temporary folder next to `path`, in the same file system, and the folders above it that are missing.
  [[nodiscard]] static Result<FolderWriter> begin(const std::string& path);
  FolderWriter(FolderWriter&& other) noexcept;
  FolderWriter& operator=(FolderWriter&&) = delete;
  FolderWriter(const FolderWriter&) = delete;
  FolderWriter& operator=(const FolderWriter&) = delete;
  ~FolderWriter();  // discards the folder unless it was committed

  // `relative` is separated by '/', without ".." or empty parts; missing folders are created. `mode`: permission bits.
  [[nodiscard]] Status add(std::string_view relative, std::string_view content, unsigned mode = 0644);
  // Syncs everything to stable storage, then moves it into place; the previous folder is removed.
  [[nodiscard]] Status commit();

 private:
  explicit FolderWriter(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status create();

  SignalBlock signals_;  // first: outlives the folders
  std::string path_;
  std::string aside_;                 // "" once committed
  std::vector<std::string> parents_;  // folders above it that were created, the outermost first
  std::unordered_set<std::string> made_;
};

// Whether `relative` may be joined to a folder: not absolute, no "." or "..", no empty part, no control characters.
[[nodiscard]] bool is_safe_relative_path(std::string_view relative);

}  // namespace weft

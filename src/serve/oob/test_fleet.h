// For tests of the out-of-band operations: the inventory of an example cluster, and scripts in the place of weft. For
// tests only.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "base/test_places.h"
#include "model/load.h"
#include "serve/oob/runner.h"

namespace weft::serve {

inline std::shared_ptr<const model::Cluster> test_cluster() {
  static const std::shared_ptr<const model::Cluster> cluster =
      model::load_cluster(source_dir() + "/examples/pod16.yaml", {})->cluster;
  return cluster;
}

inline const oob::Inventory& test_inventory() {
  static const oob::Inventory inventory = [] {
    Diagnostics diagnostics;
    return *oob::make_inventory(*test_cluster(), diagnostics);
  }();
  return inventory;
}

// A folder that is removed at the end.
class OobTestFolder {
 public:
  OobTestFolder() {
    static int count = 0;
    path_ = std::filesystem::path(::testing::TempDir()) /
            ("weft_oob_" + std::to_string(::getpid()) + "_" + std::to_string(++count));
    std::filesystem::create_directories(path_);
  }
  OobTestFolder(const OobTestFolder&) = delete;
  OobTestFolder& operator=(const OobTestFolder&) = delete;
  ~OobTestFolder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] bool has(const std::string& name) const { return std::filesystem::exists(path_ / name); }
  [[nodiscard]] std::string text(const std::string& name) const {
    std::ifstream in(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // A program: lines of a shell script. Another name each time: one that runs cannot be written.
  [[nodiscard]] std::string script(const std::string& lines) {
    std::string path = file("script" + std::to_string(++scripts_));
    std::ofstream(path) << "#!/bin/sh\n" << lines << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }

 private:
  std::filesystem::path path_;
  int scripts_ = 0;
};

// The thread of an event loop: runs what is posted until an answer is there.
class TestLoop {
 public:
  void post(std::function<void()> call) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
    }
    changed_.notify_all();
  }
  OobAnswer ask(OobRunner& runner, const OobRequest& request) {
    std::optional<OobAnswer> answer;
    runner.handle(request, [&](OobAnswer given) { answer = std::move(given); });
    while (!answer) run_one();
    return std::move(*answer);
  }
  void run_one() {
    std::function<void()> call;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !calls_.empty(); });
      call = std::move(calls_.front());
      calls_.pop_front();
    }
    call();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;
};

}  // namespace weft::serve

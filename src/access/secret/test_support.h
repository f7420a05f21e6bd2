// For tests: random bytes that are the same in each run, and a temporary folder per test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "access/secret/random.h"
#include "base/random.h"

namespace weft::access {

inline RandomFill make_test_random(std::uint64_t seed = 1) {
  return [stream = std::make_shared<RandomStream>(seed, "tokens")](std::span<unsigned char> out) {
    for (unsigned char& byte : out) byte = static_cast<unsigned char>(stream->below(256));
  };
}

class StoreFolder {
 public:
  StoreFolder()
      : path_(fmt::format("{}/weft-access-{}-{}",
                          ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : testing::TempDir(), ::getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  StoreFolder(const StoreFolder&) = delete;
  StoreFolder& operator=(const StoreFolder&) = delete;
  ~StoreFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Writes the file with this mode, and returns its path.
  std::string write(const std::string& name, const std::string& content, mode_t mode = 0600) const {
    std::ofstream(file(name), std::ios::binary) << content;
    EXPECT_EQ(::chmod(file(name).c_str(), mode), 0);
    return file(name);
  }

 private:
  std::string path_;
};

}  // namespace weft::access

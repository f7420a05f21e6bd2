// The control plane's store: records per second and latency of sync() with SQLite, compared with write(2) and
// fdatasync(2) of the same bytes to a plain file, turn by turn in the same run, for several group sizes; then the time
// to open, read and compact a large store. Usage: store_bench [DIRECTORY [RECORDS]], on the disk to measure.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/file_descriptor.h"
#include "store/memory_store.h"
#include "store/sqlite_store.h"

namespace {

using namespace weft;
using namespace weft::store;

constexpr std::size_t kRecordBytes = 200;

double measure(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

struct Latencies {
  std::vector<double> seconds;
  [[nodiscard]] double total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }
  [[nodiscard]] double percentile(double part) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1))];
  }
};

std::unique_ptr<SqliteStore> open_store(const std::string& directory) {
  Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open({directory, "bench", true});
  CHECK(opened.ok(), opened.error().text().c_str());
  return std::move(opened).value();
}

void print_row(std::size_t group, const char* name, Latencies& taken, double ratio) {
  const double records = static_cast<double>(group * taken.seconds.size());
  fmt::print("{:>6} {:<18} {:>8} {:>12.0f} {:>10.2f} {:>10.2f} {:>8.2f}\n", group, name, taken.seconds.size(),
             records / taken.total(), 1e3 * taken.percentile(0.5), 1e3 * taken.percentile(0.99), ratio);
}

void compare_sync(const std::string& directory, std::size_t group, int syncs) {
  const std::unique_ptr<SqliteStore> store = open_store(directory + "/sync-" + std::to_string(group));
  const FileDescriptor file = open_descriptor(directory + "/plain", O_WRONLY | O_CREAT | O_APPEND | O_TRUNC, 0600);
  CHECK(file.ok(), "cannot create a file");
  const std::vector<std::string> records(group, std::string(kRecordBytes, 'r'));
  const std::string bytes(group * kRecordBytes, 'r');
  Latencies sqlite;
  Latencies plain;
  for (int i = 0; i < syncs; ++i) {
    sqlite.seconds.push_back(measure([&] {
      store->append(records);
      CHECK(store->sync().ok(), "sync failed");
    }));
    plain.seconds.push_back(measure([&] {
      CHECK(write_all(file.get(), bytes).error == 0, "write failed");
      CHECK(::fdatasync(file.get()) == 0, "fdatasync failed");
    }));
  }
  print_row(group, "SQLite", sqlite, sqlite.total() / plain.total());
  print_row(group, "write + fdatasync", plain, 1);
}

void measure_large(const std::string& directory, Sequence count) {
  constexpr Sequence kGroup = 10'000;
  std::unique_ptr<SqliteStore> store = open_store(directory + "/large");
  const std::vector<std::string> records(kGroup, std::string(kRecordBytes, 'r'));
  const double written = measure([&] {
    while (store->last() < count) {
      store->append(records);
      CHECK(store->sync().ok(), "sync failed");
    }
  });
  const Sequence last = store->durable();
  fmt::print("\n{} records of {} bytes\n", last, kRecordBytes);
  fmt::print("{:<34} {:>8.2f} s\n", "append and sync, groups of 10,000", written);
  store.reset();
  fmt::print("{:<34} {:>8.2f} s\n", "open, with its checks",
             measure([&] { store = open_store(directory + "/large"); }));
  fmt::print("{:<34} {:>8.2f} s\n", "read all",
             measure([&] { CHECK(store->read(1, [](const Entry&) { return Status(); }).ok(), "read failed"); }));
  const std::string state(std::size_t{50} << 20U, 's');
  CHECK(store->save_snapshot({last - 1, state}).ok(), "save failed");
  fmt::print("{:<34} {:>8.2f} s\n", "save a snapshot of 50 MiB", measure([&] {
               CHECK(store->save_snapshot({last, state}).ok(), "save failed");
             }));
  fmt::print("{:<34} {:>8.2f} s\n", "compact all but one",
             measure([&] { CHECK(store->compact(last - 1).ok(), "compact failed"); }));
  MemoryStore memory;
  const double in_memory = measure([&] {
    while (memory.last() < last) {
      memory.append(std::span(records).first(16));
      CHECK(memory.sync().ok(), "sync failed");
    }
  });
  fmt::print("{:<34} {:>8.2f} s\n", "MemoryStore, groups of 16", in_memory);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string parent = count > 1 ? arguments[1] : std::filesystem::temp_directory_path().string();
  const Sequence records = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1'000'000;
  std::string directory = parent + "/weft-store-bench-XXXXXX";
  CHECK(::mkdtemp(directory.data()) != nullptr, "cannot create a directory");
  fmt::print("{:>6} {:<18} {:>8} {:>12} {:>10} {:>10} {:>8}\n", "group", "store", "syncs", "records/s", "p50 ms",
             "p99 ms", "time x");
  compare_sync(directory, 1, 3000);
  compare_sync(directory, 16, 2000);
  compare_sync(directory, 256, 1000);
  measure_large(directory, records);
  std::filesystem::remove_all(directory);
  return 0;
}

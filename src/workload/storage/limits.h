// The chain of limits between drives and GPUs: rates that several plans share, each with its source, and a list that
// collects them and then computes remedies in terms of the user's own keys.
#pragma once

#include <string>
#include <vector>

#include "model/catalog.h"
#include "workload/storage/io.h"
#include "workload/storage/path.h"

namespace weft::workload {

// Kernel TCP moves about 42 Gb/s per core, and a connection is bound to one core (Cai et al., "Understanding host
// network stack overheads", SIGCOMM 2021): bytes/s.
inline constexpr double kTcpConnection = 42e9 / 8;
// Pinned copies between host and GPU: 53.7 and 55.2 GB/s measured on an H200 behind PCIe 5 x16, whose 16 lanes of
// 32 GT/s carry 63.0 GB/s.
inline constexpr double kToDeviceShare = 53.7 / 63.0;
inline constexpr double kToHostShare = 55.2 / 63.0;
[[nodiscard]] double pcie_rate(const model::GpuModel* gpu);  // bytes/s per direction; PCIe 5 x16 if unknown
// Memory bandwidth of one socket: 8 channels of DDR5-4800 are 307 GB/s; STREAM reaches about 80 % of that.
inline constexpr double kSocketMemory = 250e9;
// Memory copy rate of one core (6.4 and 6.8 GB/s measured on the same server): the upper bound for a thread that reads
// through the page cache.
inline constexpr double kCoreCopy = 6.5e9;

// Rate of one process that serializes tensors: torch.save 1.4 GB/s to memory, torch.load 1.3 GB/s, measured on the same
// server.
inline constexpr double kSaveStream = 1.4e9;
inline constexpr double kLoadStream = 1.3e9;

// One limit and the key that raises it.
struct Limit {
  std::string what;
  double rate = 0;  // bytes/s, all servers of the job together
  std::string key;  // "pools.store.count"; the remedy is this key with a value that raises the limit to the next one
  double value = 0;
  std::string remedy;  // instead of a key: shown verbatim
};

class Limits {
 public:
  void add(std::string what, double rate, std::string key, double value);
  void add(std::string what, double rate, std::string remedy);
  [[nodiscard]] bool empty() const { return limits_.empty(); }
  [[nodiscard]] double least() const;
  // Slowest first, with remedies. The highest limit is raised to twice its rate.
  [[nodiscard]] std::vector<IoLimit> finish() const;

 private:
  std::vector<Limit> limits_;
};

// Limits that reads and checkpoints share: drives and controllers, links of the storage servers, uplinks, links of the
// job's servers, sockets. `copies`: how often a written byte is stored; `clients`: how many of the job's servers take
// part.
void add_path_limits(const StoragePath& path, bool write, double copies, std::size_t clients, Limits& limits);
// Number of targets kept busy by files that are open at once, each on `stripes` targets picked at random.
void add_stripe_limit(const StoragePath& path, bool write, double open_files, double stripes, const std::string& key,
                      double value, Limits& limits);

// The full key, such as "storage.scratch.stripe_count", for the system of this path.
[[nodiscard]] std::string system_key(const StoragePath& path, std::string_view key);

[[nodiscard]] model::ByteRate byte_rate(double bytes_per_second);
[[nodiscard]] SimTime sim_time(double seconds);
[[nodiscard]] inline double seconds_of(SimTime time) { return static_cast<double>(time.count()) / 1e12; }

}  // namespace weft::workload

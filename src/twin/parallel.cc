#include "twin/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace weft::twin {

void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& each) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) each(i);
  };
  std::vector<std::thread> workers;
  const std::size_t all = std::min<std::size_t>(std::max(1U, threads), count);
  workers.reserve(all);
  for (std::size_t i = 1; i < all; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace weft::twin

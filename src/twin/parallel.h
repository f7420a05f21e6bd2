// Calls a function for every number below a count, on several threads. Each call has a place of its own to write its
// result to, so that the result does not depend on the number of threads or on the order. No queue, no cancellation:
// a function that is to stop early checks a flag.
#pragma once

#include <cstddef>
#include <functional>

namespace weft::twin {

// `each` is called from up to `threads` threads at once, this one included; it must not throw.
void parallel_for(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& each);

}  // namespace weft::twin

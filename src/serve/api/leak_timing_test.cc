// A foreign job is answered like one that does not exist, by the same work: counted in heap allocations, which do not
// depend on the machine's load. bench/tenant_timing_bench.cc compares times.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "serve/api/leak_test_support.h"

// Sanitizers have an operator `new` of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WEFT_OWN_NEW 0
#endif
#endif
#ifndef WEFT_OWN_NEW
#define WEFT_OWN_NEW 1
#endif

#if WEFT_OWN_NEW

namespace {
std::uint64_t allocations = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): counted in every `new`
}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc): what replaces `new` cannot use it. Not inlined: GCC would see a mismatch
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
// NOLINTEND(cppcoreguidelines-no-malloc)

namespace weft::serve {
namespace {

template <class Work>
std::uint64_t count_allocations(const Work& work) {
  const std::uint64_t before = allocations;
  work();
  return allocations - before;
}

class LeakTiming : public ::testing::Test {
 protected:
  LeakTiming() : lab_(4, {}) {
    std::vector<control::Request> requests;
    requests.reserve(8);
    for (int i = 0; i < 8; ++i) {
      requests.push_back(TenantLab::submission(kForeign, "someone-with-a-long-name-that-is-allocated",
                                               "job-with-a-long-name-that-is-allocated", 1, 8, sched::seconds(100)));
    }
    (void)lab_.turn(std::move(requests));
    (void)lab_.turn();
    (void)lab_.turn();
    lab_.world.finish(lab_.world.running.begin()->first, lab_.now());
    for (int i = 0; i < 3; ++i) (void)lab_.turn();
  }

  static constexpr const char* kForeign = "a-tenant-with-a-long-name-that-is-allocated";
  static constexpr control::JobNumber kAbsent = 1000;
  TenantLab lab_;
};

TEST_F(LeakTiming, AForeignJobCostsWhatAnAbsentOneCosts) {
  ASSERT_FALSE(lab_.state().ended().empty());
  ASSERT_FALSE(lab_.state().jobs().empty());
  const access::Access red = user_of("red", "bob");
  const ViewContext context = lab_.view(red);
  const auto cost = [&](auto& view, control::JobNumber number) {
    return count_allocations([&] { EXPECT_FALSE(view(context, number)); });
  };
  for (control::JobNumber number = 1; number <= lab_.state().last_job(); ++number) {  // they run, wait, and have ended
    EXPECT_EQ(cost(job_view, number), cost(job_view, kAbsent)) << number;
    EXPECT_EQ(cost(why_view, number), cost(why_view, kAbsent)) << number;
  }
}

// Positive control: what looks first and decides then is noticed.
TEST_F(LeakTiming, WorkForAForeignJobIsNoticed) {
  const access::Access red = user_of("red", "bob");
  const access::Access admin = administrator();
  const auto leaking_view = [&](control::JobNumber number) {
    const std::optional<Document> document = job_view(lab_.view(admin), number);
    return find_visible(lab_.state(), red, number).exists() ? document : std::nullopt;
  };
  const auto cost = [&](control::JobNumber number) {
    return count_allocations([&] { EXPECT_FALSE(leaking_view(number)); });
  };
  EXPECT_GT(cost(1), cost(kAbsent));
}

}  // namespace
}  // namespace weft::serve

#endif  // WEFT_OWN_NEW

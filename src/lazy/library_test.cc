#include "lazy/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(LazyLibrary, CallsAFunctionWithItsArguments) {
  LazyLibrary library("libc.so.6");
  LazyFunction<long(const char*, char**, int)> parse(library, "strtol");
  EXPECT_EQ(parse("2a", nullptr, 16), 42);
  EXPECT_EQ(parse("101", nullptr, 2), 5);
}

TEST(LazyLibrary, PassesVariableArguments) {
  LazyLibrary library("libc.so.6");
  LazyFunction<int(char*, std::size_t, const char*, ...)> format(library, "snprintf");
  std::array<char, 32> text{};
  EXPECT_EQ(format(text.data(), text.size(), "%d %s %.1f", 7, "nodes", 2.5), 11);
  EXPECT_STREQ(text.data(), "7 nodes 2.5");
}

TEST(LazyLibrary, NamesALibraryThatCannotBeLoaded) {
  LazyLibrary library("libweft-absent.so.9");
  EXPECT_EQ(library.load(),
            "cannot load libweft-absent.so.9: cannot open shared object file: No such file or directory; install the "
            "package that has it");
  EXPECT_TRUE(library.load().has_value());
}

TEST(LazyLibrary, LoadsOnceForAllThreadsConcurrently) {
  LazyLibrary library("libc.so.6");
  LazyFunction<int(int)> absolute(library, "abs");
  std::vector<std::thread> threads;
  std::array<int, 4> results{};
  threads.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = library.load() ? 0 : absolute(-static_cast<int>(i) - 1); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(results, ::testing::ElementsAre(1, 2, 3, 4));
}

TEST(LazyLibraryDeathTest, EndsTheProgramIfAFunctionIsMissing) {
  LazyLibrary library("libc.so.6");
  LazyFunction<int()> missing(library, "weft_has_no_such_function");
  EXPECT_DEATH((void)missing(), "libc.so.6 has no function weft_has_no_such_function");
  LazyLibrary absent("libweft-absent.so.9");
  LazyFunction<int()> unloaded(absent, "abs");
  EXPECT_DEATH((void)unloaded(), "cannot load libweft-absent.so.9");
}

}  // namespace
}  // namespace weft

#include "lease/model_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::lease {
namespace {

// Two jugs of 3 and 5 liters: fill, empty, pour. The reachable amounts are known.
struct Jugs {
  struct State {
    int small = 0;
    int large = 0;
  };
  int forbidden = -1;  // liters in the large jug
  int wanted = 0;
  bool pouring_is_a_fault = false;

  static State initial() { return {}; }
  template <class Emit>
  void successors(const State& s, Emit emit) const {
    const int to_large = std::min(s.small, 5 - s.large);
    const int to_small = std::min(s.large, 3 - s.small);
    emit(State{3, s.large}, false, [] { return "fill the small jug"; });
    emit(State{s.small, 5}, false, [] { return "fill the large jug"; });
    emit(State{0, s.large}, false, [] { return "empty the small jug"; });
    emit(State{s.small, 0}, false, [] { return "empty the large jug"; });
    emit(State{s.small - to_large, s.large + to_large}, pouring_is_a_fault, [] { return "pour into the large jug"; });
    emit(State{s.small + to_small, s.large - to_small}, pouring_is_a_fault, [] { return "pour into the small jug"; });
  }
  static void encode(const State& s, std::string& bytes) {
    bytes += static_cast<char>(s.small);
    bytes += static_cast<char>(s.large);
  }
  [[nodiscard]] std::string violation(const State& s) const {
    return s.large == forbidden ? "the large jug holds what it must not" : "";
  }
  [[nodiscard]] bool goal(const State& s) const { return s.small == wanted; }
};

TEST(ModelCheck, VisitsEveryReachableStateOnce) {
  // Reachable: at least one jug is empty or full. 6 * 4 pairs in total, minus the 4 * 2 with both in between.
  Jugs jugs;
  const ModelCheckResult result = check_model(jugs);
  EXPECT_TRUE(result.clean()) << result.text();
  EXPECT_EQ(result.states, 16U);
  EXPECT_EQ(result.steps, 16U * 6U);
}

TEST(ModelCheck, CounterexampleIsShortest) {
  // Four liters take six steps: the puzzle's known solution.
  Jugs jugs;
  jugs.forbidden = 4;
  const ModelCheckResult result = check_model(jugs);
  EXPECT_EQ(result.violation, "the large jug holds what it must not");
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.trace,
            (std::vector<std::string>{"fill the large jug", "pour into the small jug", "empty the small jug",
                                      "pour into the small jug", "fill the large jug", "pour into the small jug"}));
  EXPECT_NE(result.text().find("\n  6. pour into the small jug"), std::string::npos);
}

TEST(ModelCheck, DeadEndsIgnoreFaultySteps) {
  Jugs jugs;
  jugs.wanted = 1;  // reached by pouring alone
  EXPECT_TRUE(check_model(jugs).clean());
  jugs.pouring_is_a_fault = true;
  const ModelCheckResult result = check_model(jugs);
  EXPECT_EQ(result.violation, "a dead end: no steps without faults lead from here to a goal");
  EXPECT_TRUE(check_model(jugs, {1000, false}).clean());
}

TEST(ModelCheck, ReportsIncompleteSearch) {
  Jugs jugs;
  const ModelCheckResult result = check_model(jugs, {10, true});
  EXPECT_EQ(result.states, 10U);
  EXPECT_FALSE(result.complete);
  EXPECT_FALSE(result.clean());
  EXPECT_TRUE(result.violation.empty());
}

}  // namespace
}  // namespace weft::lease

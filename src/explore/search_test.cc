// The search against an exhaustive one, against its own limits, and against the twin on the files that it writes.
#include "explore/search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "explore/build.h"
#include "explore/page.h"
#include "explore/simulate.h"
#include "explore/test_question.h"
#include "explore/view.h"

namespace weft::explore {
namespace {

SearchResult searched(const Question& question) {
  Result<SearchResult> result = search(question);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? std::move(result).value() : SearchResult();
}

TEST(SearchTest, FrontMeetsTheGoalAndTheLimits) {
  Question question = small_question();
  question.limits.power = watts(400'000);
  const SearchResult result = searched(question);
  ASSERT_TRUE(result.met) << headline(result);
  ASSERT_FALSE(result.front.empty());
  for (std::size_t p = 0; p < result.front.size(); ++p) {
    const Candidate& each = result.candidates[result.front[p]];
    EXPECT_LE(each.figures.power, *question.limits.power);
    EXPECT_LE(each.mean_days().mean, 12);
    EXPECT_EQ(each.runs.size(), 2U);
    if (p == 0) continue;
    const Candidate& before = result.candidates[result.front[p - 1]];
    EXPECT_GT(each.figures.power, before.figures.power);
    EXPECT_LT(each.mean_days().mean, before.mean_days().mean);
  }
  const SearchCounts& counts = result.counts;
  EXPECT_EQ(counts.considered, counts.unbuildable + counts.over_limits + counts.late + counts.dominated +
                                   counts.simulated - counts.refined);
}

// What the bounds exclude would not have been on the front: simulate all of it.
TEST(SearchTest, ExcludedDesignsAreCoveredByTheFront) {
  const Question question = small_question();
  SearchResult result = searched(question);
  ASSERT_TRUE(result.met);
  std::vector<Candidate*> rest;
  for (Candidate& each : result.candidates) {
    if (!each.simulated()) rest.push_back(&each);
  }
  ASSERT_TRUE(simulate(question, rest, {}).ok());
  for (const Candidate* each : rest) {
    EXPECT_GE(each->mean_days().mean, each->figures.optimistic_days * 0.97);  // a lower bound, up to chance
    if (each->mean_days().mean > result.deadline_days()) continue;
    const bool covered = std::any_of(result.front.begin(), result.front.end(), [&](std::size_t kept) {
      const Candidate& other = result.candidates[kept];
      constexpr double kShare = kFrontSlack + 2 * kSlack;
      return is_no_larger(other.figures, each->figures, kShare) && is_no_slower(other.days(), each->days(), kShare);
    });
    EXPECT_TRUE(covered) << each->choice.nodes << " nodes, " << each->mean_days().mean << " d";
  }
}

TEST(SearchTest, ThreadsDoNotChangeTheResult) {
  Question question = small_question();
  question.seeds = {7};
  question.threads = 1;
  const std::string once = write(search_document(searched(question), true), {OutputFormat::json, false, 0});
  question.threads = 3;
  EXPECT_EQ(once, write(search_document(searched(question), true), {OutputFormat::json, false, 0}));
}

TEST(SearchTest, SaysWhatIsNearestWhereNothingMeetsTheGoal) {
  Question question = small_question();
  question.seeds = {1};
  question.limits.power = watts(62'000);
  const SearchResult result = searched(question);
  EXPECT_FALSE(result.met);
  ASSERT_FALSE(result.front.empty());
  bool within = false;
  bool in_time = false;
  for (const std::size_t i : result.front) {
    const Candidate& each = result.candidates[i];
    EXPECT_TRUE(each.simulated());
    within = within || result.limits.allow(each.figures);
    in_time = in_time || !result.limits.allow(each.figures);
  }
  EXPECT_TRUE(within);
  EXPECT_TRUE(in_time);
  EXPECT_NE(headline(result).find("No design meets the goal"), std::string::npos);
}

// A search that fixes what another found gets the same design: the result depends on nothing else.
TEST(SearchTest, FixedSparesAndIntervalAreKept) {
  Question question = small_question();
  question.seeds = {1};
  question.spares = 3;
  question.interval = sched::seconds(900);
  const SearchResult result = searched(question);
  EXPECT_EQ(result.counts.refined, 0U);
  for (const Candidate& each : result.candidates) {
    EXPECT_EQ(each.choice.spares, 3);
    EXPECT_EQ(each.choice.interval, sched::seconds(900));
  }
}

TEST(SearchTest, CostIsAnObjectiveWithPrices) {
  Question question = small_question();
  question.seeds = {1};
  Diagnostics diagnostics;
  Sources sources;
  const FileId file = sources.add(
      "prices.yaml", "items:\n" + [] {
        std::string items;
        for (const char* category : {"switch", "storage", "server", "manager", "transceiver", "cable", "pdu", "rack"})
          items += std::string("  - {item: ") + category + ", price: 1000}\n";
        return items;
      }());
  const std::optional<design::Prices> prices =
      design::read_prices(*parse_yaml(sources, file, diagnostics), *question.catalog, diagnostics);
  ASSERT_TRUE(prices.has_value());
  question.prices = &*prices;
  question.limits.cost = Money(100);  // one unit of the currency
  const SearchResult result = searched(question);
  EXPECT_FALSE(result.met);
  EXPECT_GT(result.counts.over_limits, 0U);
  const std::string text = write(search_document(result, false), {OutputFormat::table, false, 0});
  EXPECT_NE(text.find("USD over"), std::string::npos) << text;
}

TEST(SearchTest, AnUnknownModelIsAnErrorWithNeighbors) {
  Question question = small_question("train llama-3.1-9b on 1T tokens in 9 days");
  const Result<SearchResult> result = search(question);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("llama-3.1-8b"), std::string::npos) << result.error().message;
}

TEST(SearchTest, StopsWhenAsked) {
  SearchHooks hooks;
  hooks.go_on = [] { return false; };
  const Result<SearchResult> result = search(small_question(), hooks);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::unavailable);
}

TEST(SearchTest, LabelsContinueAfterZ) {
  EXPECT_EQ(SearchResult::label(0), "A");
  EXPECT_EQ(SearchResult::label(25), "Z");
  EXPECT_EQ(SearchResult::label(26), "AA");
  EXPECT_EQ(SearchResult::label(27), "AB");
}

TEST(SearchTest, PageShowsTheFrontAndEscapesTheGoal) {
  Question question = small_question();
  question.seeds = {1};
  SearchResult result = searched(question);
  result.goal.model = "<b>&";
  const std::string page = search_page(result);
  EXPECT_EQ(page.find("<b>&"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&amp;"), std::string::npos);
  EXPECT_NE(page.find("days until trained"), std::string::npos);
  EXPECT_NE(page.find("Power (MW)"), std::string::npos);
}

}  // namespace
}  // namespace weft::explore

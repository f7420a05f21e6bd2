#include "base/host_range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/random.h"

namespace weft {
namespace {

using Names = std::vector<std::string>;

Names expanded(std::string_view text) {
  const Result<Names> hosts = expand_hosts(text);
  EXPECT_TRUE(hosts.ok()) << text << ": " << (hosts.ok() ? "" : hosts.error().message);
  return hosts.value_or({});
}

std::string error_of(std::string_view text) {
  const Result<Names> hosts = expand_hosts(text);
  EXPECT_FALSE(hosts.ok()) << text;
  if (hosts.ok()) return "";
  EXPECT_EQ(hosts.error().code, ErrorCode::invalid_input);
  return hosts.error().message;
}

TEST(ExpandHosts, KeepsOrderAndPadding) {
  EXPECT_EQ(expanded("login1"), (Names{"login1"}));
  EXPECT_EQ(expanded("train[001-003]"), (Names{"train001", "train002", "train003"}));
  EXPECT_EQ(expanded("train[8-11]"), (Names{"train8", "train9", "train10", "train11"}));
  EXPECT_EQ(expanded("train[08-11]"), (Names{"train08", "train09", "train10", "train11"}));
  EXPECT_EQ(expanded("t[98-101]"), (Names{"t98", "t99", "t100", "t101"}));
  EXPECT_EQ(expanded("t[099-100]"), (Names{"t099", "t100"}));
  EXPECT_EQ(expanded("t[099-1000]").back(), "t1000");
  EXPECT_EQ(expanded("t[0-2]"), (Names{"t0", "t1", "t2"}));
  EXPECT_EQ(expanded("t[00-02]"), (Names{"t00", "t01", "t02"}));
  EXPECT_EQ(expanded("b,a"), (Names{"b", "a"}));
  EXPECT_EQ(expanded("a,a"), (Names{"a", "a"}));
}

TEST(ExpandHosts, AcceptsListsAndSeveralBrackets) {
  EXPECT_EQ(expanded("train[001-002,007],login1"), (Names{"train001", "train002", "train007", "login1"}));
  EXPECT_EQ(expanded("r[1-2]n[01-02]"), (Names{"r1n01", "r1n02", "r2n01", "r2n02"}));
  EXPECT_EQ(expanded("[1-2][3-4]"), (Names{"13", "14", "23", "24"}));
  EXPECT_EQ(expanded("a[1-2]-ib0.example.org"), (Names{"a1-ib0.example.org", "a2-ib0.example.org"}));
  EXPECT_EQ(expanded(" a , b[1 , 3-4] "), (Names{"a", "b1", "b3", "b4"}));
}

TEST(ExpandHosts, MixesWidthsInOneBracket) {
  const Names names = expanded("train[001-999,1000]");
  ASSERT_EQ(names.size(), 1000U);
  EXPECT_EQ(names.front(), "train001");
  EXPECT_EQ(names[99], "train100");
  EXPECT_EQ(names.back(), "train1000");
}

struct Bad {
  std::string text;
  std::string message;
};

TEST(ExpandHosts, SaysWhatIsWrong) {
  const Bad cases[] = {
      {"", "the host list is empty"},
      {"  ", "the host list is empty"},
      {",", "an empty name in the host list"},
      {"a,", "an empty name in the host list"},
      {"a,,b", "an empty name in the host list"},
      {"a b", "`a b` is not a host name or range"},
      {"a\nb", "`a?b` is not a host name or range"},
      {"a]", "`a]` is not a host name or range"},
      {"a[1]]", "`a[1]]` is not a host name or range"},
      {"a[1-2", "`a[1-2` has `[` without `]`"},
      {"a[1,2", "`a[1,2` has `[` without `]`"},
      {"a[1[2]]", "`a[1[2]]` has `[` inside `[`"},
      {"a[]", "`[]` is not a range: expected one such as [001-128]"},
      {"a[x]", "`[x]` is not a range: expected one such as [001-128]"},
      {"a[1-]", "`[1-]` is not a range: expected one such as [001-128]"},
      {"a[-1]", "`[-1]` is not a range: expected one such as [001-128]"},
      {"a[1-2-3]", "`[1-2-3]` is not a range: expected one such as [001-128]"},
      {"a[1 - 2]", "`[1 - 2]` is not a range: expected one such as [001-128]"},
      {"a[1,]", "`[]` is not a range: expected one such as [001-128]"},
      {"a[1234567890123456789]", "`[1234567890123456789]` is not a range: expected one such as [001-128]"},
      {"a[5-2]", "`[5-2]` counts down: write [2-5]"},
      {"a[05-02]", "`[05-02]` counts down: write [02-05]"},
      {"a[001-20]", "the bounds of `[001-20]` are padded differently"},
      {"a[1-020]", "the bounds of `[1-020]` are padded differently"},
      {"a[1-1000001]", "the host list is longer than 1000000 hosts at `a[1-1000001]`"},
      {"a[1-1000][1-1001]", "the host list is longer than 1000000 hosts at `a[1-1000][1-1001]`"},
      {"a,b[1-1000000]", "the host list is longer than 1000000 hosts at `b[1-1000000]`"},
      {"a[0-999999999999999999]", "the host list is longer than 1000000 hosts at `a[0-999999999999999999]`"},
  };
  for (const Bad& c : cases) EXPECT_EQ(error_of(c.text), c.message) << c.text;
}

TEST(ExpandHosts, RejectsRangesOfLongNames) {
  const std::string name(255, 'n');
  EXPECT_EQ(expanded(name).size(), 1U);
  EXPECT_EQ(error_of(name + "[1-1000000]"),
            "`" + std::string(60, 'n') + "...` is longer than a host name can be (255 bytes)");
}

TEST(ExpandHosts, ReachesTheLimit) { EXPECT_EQ(expanded("n[1-1000000]").size(), kMaxHosts); }

TEST(FoldHosts, ReturnsTheRangeForm) {
  EXPECT_EQ(fold_hosts({}), "");
  EXPECT_EQ(fold_hosts({"login1"}), "login1");
  EXPECT_EQ(fold_hosts({"b", "a"}), "a,b");
  EXPECT_EQ(fold_hosts({"n1", "n2"}), "n[1-2]");
  EXPECT_EQ(fold_hosts({"n3", "n1", "n2", "n7", "n1"}), "n[1-3,7]");
  EXPECT_EQ(fold_hosts({"train001", "train002", "train004", "login1"}), "login1,train[001-002,004]");
  EXPECT_EQ(fold_hosts({"train998", "train999", "train1000"}), "train[998-1000]");
  EXPECT_EQ(fold_hosts({"r1n1", "r1n2", "r2n1", "r2n2"}), "r1n[1-2],r2n[1-2]");
  EXPECT_EQ(fold_hosts({"n1-ib", "n2-ib", "n1"}), "n1,n[1-2]-ib");
  EXPECT_EQ(fold_hosts({"n09", "n10"}), "n[09-10]");
  EXPECT_EQ(fold_hosts({"n9", "n10"}), "n[9-10]");
  EXPECT_EQ(fold_hosts({"n9", "n010"}), "n[9,010]");
  EXPECT_EQ(fold_hosts({"n1", "n01", "n2", "n02"}), "n[01-02,1-2]");
  EXPECT_EQ(fold_hosts({"rack", "rack1", "rack2"}), "rack,rack[1-2]");
  EXPECT_EQ(fold_hosts({"7", "8"}), "[7-8]");
}

TEST(FoldHosts, ChangesWidthBetweenItems) {
  Names names;
  for (int i = 1; i <= 1000; ++i) {
    std::string digits = std::to_string(i);
    names.push_back("train" + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits);
  }
  EXPECT_EQ(fold_hosts(names), "train[001-999,1000]");
  EXPECT_EQ(expanded(fold_hosts(names)), names);
}

TEST(FoldHosts, LeavesHugeNumbersAlone) {
  EXPECT_EQ(fold_hosts({"n99999999999999999999", "n99999999999999999998"}),
            "n99999999999999999998,n99999999999999999999");
}

TEST(FoldHosts, RoundTripsRanges) {
  for (const char* text : {"train[001-128]", "login1,train[001-004,007]", "a[1-9],b[01-10]", "r1n[1-4],r2n[1-4]",
                           "train[001-999,1000-1024]", "n[1-3]-ib0"}) {
    const std::string folded = fold_hosts(expanded(text));
    if (std::string_view(text).find("-ib0") == std::string_view::npos) {
      EXPECT_EQ(folded, text);
    }
    EXPECT_EQ(fold_hosts(expanded(folded)), folded);
  }
}

// For any list: the folded form expands to the same set, and folding again changes nothing.
TEST(FoldHosts, RoundTripsRandomLists) {
  static constexpr std::string_view kPrefixes[] = {"n", "train", "r1n", "r01-", "", "a.b-"};
  static constexpr std::string_view kSuffixes[] = {"", "", "", "-ib", ".x"};
  RandomStream random(11, "hosts");
  for (int round = 0; round < 3000; ++round) {
    Names names;
    const std::uint64_t count = 1 + random.below(30);
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string digits = std::to_string(random.below(random.chance(0.5) ? 15 : 120));
      const std::uint64_t width = random.below(5);
      if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
      std::string name(kPrefixes[random.below(std::size(kPrefixes))]);
      name += digits;
      name += kSuffixes[random.below(std::size(kSuffixes))];
      names.push_back(std::move(name));
    }
    const std::string folded = fold_hosts(names);
    Names again = expanded(folded);
    ASSERT_EQ(std::set<std::string>(again.begin(), again.end()), std::set<std::string>(names.begin(), names.end()))
        << folded;
    ASSERT_EQ(again.size(), std::set<std::string>(names.begin(), names.end()).size()) << folded;
    ASSERT_EQ(fold_hosts(std::move(again)), folded);
  }
}

TEST(FoldHosts, FoldsAHundredThousandAtOnce) {
  Names names = expanded("train[000000-099999]");
  std::reverse(names.begin(), names.end());
  EXPECT_EQ(fold_hosts(std::move(names)), "train[000000-099999]");
}

TEST(NaturalLess, ComparesNumbersByValue) {
  EXPECT_TRUE(natural_less("n2", "n10"));
  EXPECT_FALSE(natural_less("n10", "n2"));
  EXPECT_TRUE(natural_less("n2a", "n2b"));
  EXPECT_TRUE(natural_less("n", "n1"));
  EXPECT_TRUE(natural_less("", "a"));
  EXPECT_FALSE(natural_less("", ""));
  EXPECT_FALSE(natural_less("n1", "n1"));
  EXPECT_TRUE(natural_less("r1n9", "r2n1"));
  EXPECT_TRUE(natural_less("n01", "n1"));
  EXPECT_FALSE(natural_less("n1", "n01"));
  EXPECT_TRUE(natural_less("n01", "n2"));
  EXPECT_TRUE(natural_less("n99999999999999999999998", "n99999999999999999999999"));
}

TEST(NaturalLess, IsATotalOrder) {
  RandomStream random(13, "order");
  static constexpr std::string_view kPieces[] = {"a", "b", "0", "1", "9", "-", "00", "\xC3\xBC"};
  Names names;
  for (int i = 0; i < 60; ++i) {
    std::string name;
    for (std::uint64_t n = random.below(5); n > 0; --n) name += kPieces[random.below(std::size(kPieces))];
    names.push_back(std::move(name));
  }
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      ASSERT_EQ(natural_less(a, b) || natural_less(b, a), a != b) << a << " " << b;
      ASSERT_FALSE(natural_less(a, b) && natural_less(b, a)) << a << " " << b;
      for (const std::string& c : names) {
        if (natural_less(a, b) && natural_less(b, c)) {
          ASSERT_TRUE(natural_less(a, c)) << a << " " << b << " " << c;
        }
      }
    }
  }
}

// As `echo` in bash prints them expanded.
TEST(HostRange, AsWordsOfAShell) {
  EXPECT_EQ(as_shell_words("train[001-128]"), "train{001..128}");
  EXPECT_EQ(as_shell_words("train[001-004,007],login1"), "train{{001..004},007} login1");
  EXPECT_EQ(as_shell_words("r1n[01,03]"), "r1n{01,03}");
  EXPECT_EQ(as_shell_words("jump1"), "jump1");
  EXPECT_EQ(as_shell_words(""), "");
}

}  // namespace
}  // namespace weft

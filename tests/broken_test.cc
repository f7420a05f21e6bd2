// Messages for invalid files. tests/broken/NNN-name.yaml is a cluster file, NNN-name.catalog.yaml a catalog file, and
// NNN-name.txt has every message for it, verbatim. WEFT_UPDATE_GOLDEN=1 in the environment rewrites the .txt files:
// review the diff before committing it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "model/load.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kCatalog = ".catalog";

struct Case {
  std::string name;  // 012-unknown-pool
  fs::path file;
  bool catalog = false;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.file.filename().string(); }  // NOLINT: gtest's name

// WEFT_UPDATE_GOLDEN writes the expected messages and compares nothing. This skip is not permitted in test runs.
constexpr const char* kGolden = "expectations to compare with";
bool updating() { return std::getenv("WEFT_UPDATE_GOLDEN") != nullptr; }  // NOLINT(concurrency-mt-unsafe): one thread

fs::path folder() { return fs::path(source_dir()) / "tests" / "broken"; }

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(folder())) {
    if (entry.path().extension() != ".yaml") continue;
    Case one{entry.path().stem().string(), entry.path()};
    one.catalog = one.name.ends_with(kCatalog);
    if (one.catalog) one.name.resize(one.name.size() - kCatalog.size());
    cases.push_back(std::move(one));
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
  return text;
}

std::string messages(const Case& one) {
  const std::string path = one.file.string();
  const auto loaded = one.catalog ? model::load_catalog({path}) : model::load_cluster(path, {});
  EXPECT_FALSE(loaded->read_error.has_value());
  EXPECT_TRUE(loaded->diagnostics.has_errors()) << "this file is fine";
  EXPECT_EQ(loaded->cluster, nullptr);
  EXPECT_EQ(one.catalog, loaded->catalog == nullptr);
  return without(render_all(loaded->diagnostics, loaded->sources, false), folder().string() + "/");
}

class Broken : public ::testing::TestWithParam<Case> {};

TEST_P(Broken, SaysWhatIsWrongAndWhere) {
  const std::string shown = messages(GetParam());
  EXPECT_THAT(shown, Not(HasSubstr("internal")));
  const std::string golden = (folder() / (GetParam().name + ".txt")).string();
  if (updating()) {
    ASSERT_TRUE(write_file(golden, shown).ok());
    WEFT_NEEDS(false, kGolden);
  }
  auto expected = read_file(golden);
  ASSERT_TRUE(expected.ok()) << expected.error().text() << "\nWEFT_UPDATE_GOLDEN=1 writes it:\n" << shown;
  EXPECT_EQ(shown, *expected) << "--- expected ---\n" << *expected << "--- shown ---\n" << shown;
}

INSTANTIATE_TEST_SUITE_P(Files, Broken, ::testing::ValuesIn(all_cases()), [](const auto& one) {
  std::string name = one.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(BrokenFolder, EveryExpectationHasACaseWithAUniqueNumber) {
  WEFT_NEEDS(!updating(), kGolden);
  std::set<std::string> names;
  std::set<std::string> numbers;
  for (const Case& one : all_cases()) {
    names.insert(one.name);
    EXPECT_TRUE(numbers.insert(one.name.substr(0, 3)).second) << one.name << ": its number is taken";
    EXPECT_TRUE(fs::exists(folder() / (one.name + ".txt"))) << one.name << " has no .txt";
  }
  EXPECT_GE(names.size(), 60U);
  for (const auto& entry : fs::directory_iterator(folder())) {
    const fs::path& path = entry.path();
    EXPECT_TRUE(path.extension() == ".yaml" || path.extension() == ".txt") << path;
    const bool orphan = path.extension() == ".txt" && !names.contains(path.stem().string());
    EXPECT_FALSE(orphan) << path << " has no .yaml";
  }
}

}  // namespace
}  // namespace weft

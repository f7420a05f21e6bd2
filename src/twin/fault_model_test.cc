#include "twin/fault_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::twin {
namespace {

// Errors as "line:column message".
std::vector<std::string> errors_of(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("faults.yaml", text);
  const std::optional<FaultModel> model = read_faults(sources, file, diagnostics);
  EXPECT_EQ(model.has_value(), !diagnostics.has_errors());
  std::vector<std::string> errors;
  for (const Diagnostic& each : diagnostics.sorted()) {
    errors.push_back(std::to_string(each.place.line) + ":" + std::to_string(each.place.column) + " " + each.message);
  }
  return errors;
}

std::string with_cause(const std::string& cause) { return "faults: 1\ncauses:\n  - {" + cause + "}\n"; }

// Grattafiori et al., 2024, table 5: 419 unexpected interruptions in 54 days on 2,048 servers.
TEST(FaultModelTest, DefaultRatesAreThePublishedCounts) {
  const FaultModel model = default_faults();
  EXPECT_NEAR(model.rate(), 419 / (2.048 * 54), 0.01);
  const auto rate = [&](std::string_view name) {
    for (const Cause& cause : model.causes) {
      if (cause.name == name) return cause.rate;
    }
    return -1.0;
  };
  const std::pair<std::string_view, int> counts[] = {
      {"gpu", 148},        {"hbm", 72},    {"software", 54}, {"network", 35},   {"host", 32},   {"sram", 19},
      {"gsp", 17},         {"nic", 7},     {"watchdog", 7},  {"corruption", 6}, {"thermal", 6}, {"ssd", 3},
      {"power_supply", 3}, {"chassis", 2}, {"io_board", 2},  {"dependency", 2}, {"cpu", 2},     {"dimm", 2}};
  ASSERT_EQ(model.causes.size(), std::size(counts));
  for (const auto& [name, count] : counts) EXPECT_NEAR(rate(name), count / (2.048 * 54), 0.0006) << name;
}

TEST(FaultModelTest, ErrorsHaveTheirPlace) {
  using testing::ElementsAre;
  using testing::HasSubstr;
  EXPECT_THAT(errors_of("causes: []\n"), ElementsAre(HasSubstr("faults")));
  EXPECT_THAT(errors_of(with_cause("name: a, rte: 3")), testing::Contains(HasSubstr("3:15 unknown key `rte`")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: -3")), ElementsAre(HasSubstr("3:21")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, effect: explode")), ElementsAre(HasSubstr("3:32")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, effect: slow, restart: 100")),
              ElementsAre(HasSubstr("needs `slowdown` and `lasts`")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, effect: hang, restart: 100")),
              ElementsAre(HasSubstr("never be noticed")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, restart: 60, power_cycle: 50, detect: 1s, repair: 1h")),
              ElementsAre(HasSubstr("at most 100 together")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, power_cycle: 50, detect: 1s")),
              ElementsAre(HasSubstr("`repair` is needed")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, power_cycle: 100")),
              ElementsAre(HasSubstr("`detect` is needed")));
  EXPECT_THAT(
      errors_of("faults: 1\ncauses:\n  - {name: a, rate: 1, restart: 100}\n  - {name: a, rate: 1, restart: 100}\n"),
      ElementsAre("4:12 cause `a` is listed twice"));
  EXPECT_THAT(errors_of("faults: 2\ncauses: []\n"), ElementsAre(HasSubstr("1:9")));
  EXPECT_THAT(errors_of(with_cause("name: a, rate: 3, restart: 100")), testing::IsEmpty());
}

}  // namespace
}  // namespace weft::twin

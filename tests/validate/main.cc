// `make validate`: weft compared with published figures, with the error of each, good and bad; exits with 1 if a
// threshold is missed. With --markdown it prints the generated tables of docs/validation.md; with --steps FILE only the
// training steps of another file in the format of steps.csv, with --collectives only collectives.
#include <fmt/format.h>

#include <string_view>

#include "base/test_places.h"
#include "report.h"

int main(int argc, char** argv) {
  using namespace weft::validation;
  const std::string_view first = argc > 1 ? argv[1] : "";
  Report report(first == "--markdown");
  if (first == "--steps" && argc > 2) {
    steps(report, argv[2]);
    return 0;
  }
  if (first == "--collectives") {
    collectives(report);
    return 0;
  }
  counts(report);
  steps(report, weft::source_dir() + "/tests/validate/steps.csv");
  own_steps(report);
  activations(report);
  collectives(report);
  checkpoints(report);
  reliability(report);
  for (const std::string& line : report.missed()) fmt::print(stderr, "{}\n", line);
  return report.missed().empty() ? 0 : 1;
}

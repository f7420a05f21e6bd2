// `make validate`: weft compared with published figures, with the error of each, good and bad; exits with 1 if a
// threshold is missed. With --markdown it prints the generated tables of docs/validation.md.
#include <fmt/format.h>

#include <string_view>

#include "report.h"

int main(int argc, char** argv) {
  using namespace weft::validation;
  Report report(argc > 1 && std::string_view(argv[1]) == "--markdown");
  counts(report);
  steps(report);
  own_steps(report);
  activations(report);
  collectives(report);
  checkpoints(report);
  reliability(report);
  for (const std::string& line : report.missed()) fmt::print(stderr, "{}\n", line);
  return report.missed().empty() ? 0 : 1;
}

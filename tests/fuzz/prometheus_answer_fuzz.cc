// Bytes as a JSON answer of a Prometheus server. Any input must yield an error, or a text whose lines are all sound.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "health/readers/exposition.h"
#include "health/readers/prometheus_answer.h"

namespace weft::health {
namespace {

void run_answer(std::string json) {
  const Result<std::string> text = exposition_of_answer(std::move(json));
  if (!text.ok()) return;
  ExpositionReader reader(*text, ExpositionFormat::openmetrics);
  for (ExpositionReader::Item item = reader.next(); item != ExpositionReader::Item::end; item = reader.next()) {
    // A value may be refused only now: only its letters were checked.
    CHECK(item == ExpositionReader::Item::sample || std::string(reader.problem()) == "the value is not a number",
          "a line is sound");
  }
  CHECK(reader.is_complete(), "the text is whole");
}

}  // namespace
}  // namespace weft::health

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::health::run_answer(std::string(data, data + size));
  return 0;
}

// Bytes as a journal of the control plane, one record per line, and as a snapshot. Any input must yield a state or an
// error; a state must be restored by its own text.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "control/state.h"

namespace weft::control {
namespace {

std::shared_ptr<const sched::Machine> machine() {
  static const std::shared_ptr<const sched::Machine> built = [] {
    std::vector<sched::NodeShape> nodes(4);
    std::vector<sched::NodeLabels> labels(4);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      nodes[n].name = "n" + std::to_string(n);
      nodes[n].cpu = 64'000;
      nodes[n].memory_mib = 1 << 20;
      nodes[n].gpus = 8;
      nodes[n].model = 0;
      labels[n].rack = "r";
    }
    return std::make_shared<const sched::Machine>(*sched::Machine::build(nodes, labels, {"gpu"}, {"pool"}));
  }();
  return built;
}

void check_text(const ControlState& state) {
  const std::string text = state.to_text();
  const Result<ControlState> parsed = ControlState::parse(machine(), text);
  CHECK(parsed.ok() && parsed->to_text() == text, "a state is restored by its text");
}

void replay(std::string_view text) {
  ControlState state(machine());
  for (const std::string_view line : split_lines(text)) {
    const Result<Record> record = parse_record(line);
    if (!record.ok()) {
      CHECK(!record.error().message.empty(), "an error says what");
      continue;
    }
    const Result<Record> again = parse_record(to_text(*record));
    CHECK(again.ok() && *again == *record, "a record is restored by its text");
    const std::string before = state.to_text();
    if (!state.apply(*record).ok()) CHECK(state.to_text() == before, "a refused record changes nothing");
  }
  check_text(state);
}

}  // namespace
}  // namespace weft::control

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::control::replay(text);
  const auto parsed = weft::control::ControlState::parse(weft::control::machine(), text);
  if (parsed.ok()) weft::control::check_text(*parsed);
  return 0;
}

// Reads what `weft gate status --output json` printed on a node.
#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "world/lease/gate_client.h"

namespace weft::world {
namespace {

using nlohmann::json;

Error invalid(std::string_view what) {
  return {ErrorCode::unavailable, fmt::format("invalid answer of `weft gate`: {}", what), {}};
}

bool read_number(const json& object, const char* name, std::uint64_t limit, std::uint64_t& number) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return false;
  number = found->get<std::uint64_t>();
  return number <= limit;
}

bool read_hex(const json& object, const char* name, std::uint64_t& number) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return false;
  const std::string& text = found->get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && end == text.data() + text.size() && number != 0;
}

std::string text_of(const json& object, const char* name) {
  constexpr std::size_t kMaxText = 500;
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>().substr(0, kMaxText) : std::string();
}

bool read_engine(const json& row, control::GateReport& report) {
  if (!row.is_object()) return false;
  const std::string name = text_of(row, "engine");
  for (int owner = 1; owner < lease::kLeaseOwners; ++owner) {
    if (name != lease::to_text(static_cast<lease::LeaseOwner>(owner))) continue;
    control::EngineGate& gate = report.engines[static_cast<std::size_t>(owner)];
    std::uint64_t entries = 0;
    std::uint64_t steps = 0;
    if (!read_number(row, "open", UINT64_MAX, gate.open) || !read_number(row, "floor", UINT64_MAX, gate.floor) ||
        !read_number(row, "entries", UINT32_MAX, entries) || !read_number(row, "steps", UINT32_MAX, steps)) {
      return false;
    }
    gate.steps = static_cast<std::uint32_t>(std::max(entries, steps));
    if (entries > steps && report.text.empty())
      report.text = fmt::format("{} passed the gate and has not left", entries);
    return true;
  }
  return false;
}

}  // namespace

Result<NodeLook> parse_node_look(std::string_view text) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return invalid("no JSON object");
  const auto facts = root.find("gate");
  const auto engines = root.find("engines");
  if (facts == root.end() || !facts->is_object()) return invalid("no section `gate`");
  if (engines == root.end() || !engines->is_array()) return invalid("no list `engines`");
  NodeLook look;
  std::uint64_t holders = 0;
  if (!read_hex(*facts, "boot", look.report.boot)) return invalid("no boot of the gate");
  if (!read_hex(*facts, "kernel_boot", look.kernel_boot)) return invalid("no boot of the kernel");
  if (!read_number(*facts, "term", UINT64_MAX, look.report.term)) return invalid("no term");
  if (!read_number(*facts, "holders", UINT32_MAX, holders)) return invalid("no number of holders");
  look.report.holders = static_cast<std::uint32_t>(holders);
  look.report.text = text_of(*facts, "running");
  if (const std::string holding = text_of(*facts, "holding"); !holding.empty()) {
    look.report.text += (look.report.text.empty() ? "" : ", ") + holding;
  }
  std::size_t read = 0;
  for (const json& row : *engines) {
    if (!read_engine(row, look.report)) return invalid("an engine is incomplete or not known");
    ++read;
  }
  if (read < 2) return invalid("an engine is missing");
  return look;
}

}  // namespace weft::world

// Bytes as YAML, and every string in it as each other format that a cluster file contains: whatever a parser accepts,
// its printer must write such that the parser reads the same value again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/host_range.h"
#include "base/ip.h"
#include "base/quantity.h"
#include "base/quoting.h"
#include "base/yaml.h"

namespace weft {
namespace {

constexpr std::size_t kMaxScalars = 64;
constexpr std::size_t kMaxFolded = 2000;

std::optional<YamlNode> parse(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("quoted.yaml", std::move(text));
  return parse_yaml(sources, file, diagnostics);
}

void check_is(const YamlNode* node, std::string_view text) {
  CHECK(node != nullptr, "quoted text can be read");
  CHECK(node->kind == YamlNode::Kind::scalar, "quoted text is text");
  CHECK(node->scalar == text, "quoted text stays the same");
  CHECK(std::string_view(describe_kind(*node)) == "text", "quoted text is no number");
}

void check_quoting(const std::string& text) {
  const std::string quoted = yaml_quote(text);
  CHECK(is_plain_yaml_text(text) == (quoted == text), "plain text is not quoted, all else is");
  const auto value = parse("key: " + quoted + "\n");
  check_is(value ? value->find("key") : nullptr, text);
  const auto list = parse("[a, " + quoted + ", b]\n");
  check_is(list && list->items.size() == 3 ? &list->items[1] : nullptr, text);
  if (quoted.size() > 500) return;  // a key that is not introduced with '?' has at most 1024 bytes
  const auto key = parse(quoted + ": 1\n");
  CHECK(key && key->entries.size() == 1 && key->entries[0].key == text, "quoted text can be a key");
}

void check_hosts(const std::string& text) {
  auto hosts = expand_hosts(text);
  if (!hosts.ok()) return;
  CHECK(!hosts->empty() && hosts->size() <= kMaxHosts, "a list has between one and kMaxHosts names");
  if (hosts->size() > kMaxFolded) return;
  auto again = expand_hosts(fold_hosts(*hosts));
  CHECK(again.ok(), "what was folded can be expanded");
  std::sort(hosts->begin(), hosts->end());
  hosts->erase(std::unique(hosts->begin(), hosts->end()), hosts->end());
  std::sort(again->begin(), again->end());
  CHECK(*hosts == *again, "folding keeps every name");
}

template <class Parse, class Print>
void check_round_trip(const std::string& text, Parse parse_text, Print print) {
  auto value = parse_text(text);
  if (!value.ok()) {
    CHECK(!value.error().message.empty(), "a refusal says why");
    return;
  }
  const std::string printed = print(value.value());
  auto again = parse_text(printed);
  CHECK(again.ok(), "the printed form can be read");
  CHECK(again.value() == value.value(), "the printed form means the same");
  CHECK(print(again.value()) == printed, "there is one printed form");
}

void check_values(const std::string& text) {
  const auto print = [](const auto& value) { return to_text(value); };
  check_round_trip(text, parse_bytes, print);
  check_round_trip(text, parse_bit_rate, print);
  check_round_trip(text, parse_byte_rate, byte_rate_text);
  check_round_trip(text, parse_duration, print);
  check_round_trip(text, parse_power, print);
  check_round_trip(text, parse_length, print);
  check_round_trip(text, parse_flops, print);
  check_round_trip(text, parse_ratio, print);
  check_round_trip(text, parse_integer, [](std::int64_t value) { return std::to_string(value); });
  check_round_trip(text, parse_money, [](Money value) {
    std::string printed = to_text(value);
    printed.erase(std::remove(printed.begin(), printed.end(), ','), printed.end());
    return printed;
  });
  check_round_trip(text, parse_ipv4, print);
  check_round_trip(text, parse_ipv4_prefix, print);
  check_round_trip(text, parse_ipv6, print);
  check_round_trip(text, parse_ipv6_prefix, print);
}

void check_text(const std::string& text) {
  check_quoting(text);
  check_hosts(text);
  check_values(text);
}

void walk(const YamlNode& node, std::size_t& left) {
  if (left == 0) return;
  if (node.kind == YamlNode::Kind::scalar) {
    --left;
    check_text(node.scalar);
  }
  for (const YamlNode& item : node.items) walk(item, left);
  for (const YamlEntry& entry : node.entries) {
    if (left > 0) check_text(entry.key);
    walk(entry.value, left);
  }
}

void run_yaml(std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("input.yaml", std::move(text));
  const auto root = parse_yaml(sources, file, diagnostics);
  CHECK(root.has_value() != diagnostics.has_errors(), "a file that cannot be read says why");
  (void)render_all(diagnostics, sources, false);
  std::size_t left = kMaxScalars;
  if (root) walk(*root, left);
}

}  // namespace
}  // namespace weft

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::run_yaml(std::string(data, data + size));
  return 0;
}
